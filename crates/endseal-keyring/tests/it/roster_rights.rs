//! Owners who hand a group on, and admins who sign for them.

use endseal_keyring::Roster;
use endseal_keyring::roster::{
    ChangeRosterError, GroupId, MAX_ADMIN_STEP, MAX_TRANSFERS, Member, OwnerOnly, ParseRosterError,
    RosterChainError, RosterChanges, SignRosterError,
};

use crate::people::{identity, member, name, short, signed_again};

/// Returns the first epoch of a group that alice (1) owns, with bob (2) and carol (3).
fn first() -> Roster {
    let members = vec![member("alice", 1), member("bob", 2), member("carol", 3)];
    let id = GroupId::from_bytes([9; 16]);
    let draft = Roster::create(name("team"), id, *short(1).ed25519(), members);
    draft.unwrap().sign(&identity(1), b"sealed").unwrap()
}

fn changes(make: impl FnOnce(&mut RosterChanges) -> &mut RosterChanges) -> RosterChanges {
    let mut changes = RosterChanges::new();
    make(&mut changes);
    changes
}

fn appoints(names: &[&str]) -> RosterChanges {
    changes(|it| names.iter().fold(it, |it, admin| it.appoint(name(admin))))
}

fn hands_on(to: &str) -> RosterChanges {
    changes(|it| it.hand_on(name(to)))
}

fn sign(roster: &Roster, n: u8, changes: &RosterChanges) -> Result<Roster, SignRosterError> {
    roster.next_epoch(changes).unwrap().sign(&identity(n), b"sealed")
}

/// Signs the next epoch, and checks that it is read as it was signed and that it follows.
fn next(roster: &Roster, n: u8, changes: &RosterChanges) -> Roster {
    let signed = sign(roster, n, changes).unwrap();
    let read = Roster::parse(signed.as_bytes()).unwrap();
    assert_eq!(read, signed);
    assert_eq!(read.context(), roster.next_epoch(changes).unwrap().context());
    assert_eq!(read.follows(roster), Ok(()));
    assert_eq!(read.signer(), short(n).ed25519());
    read
}

/// Returns a group with bob and carol as admins.
fn with_admins() -> Roster {
    next(&first(), 1, &appoints(&["carol", "bob"]))
}

fn admins(roster: &Roster) -> Vec<&str> {
    roster.admins().map(|admin| admin.name().as_str()).collect()
}

#[test]
fn admins_are_appointed_and_dismissed_by_the_owner() {
    let roster = with_admins();
    assert_eq!(admins(&roster), ["bob", "carol"]);
    let [alice, bob, dave] = [1, 2, 4].map(|n| *short(n).ed25519());
    assert!(roster.is_admin(&bob) && !roster.is_admin(&alice) && !roster.is_admin(&dave));
    assert!(roster.may_change(&alice) && roster.may_change(&bob) && !roster.may_change(&dave));
    assert!(!first().may_change(&bob));
    let dismissed = next(&roster, 1, &changes(|it| it.dismiss(name("bob"))));
    assert_eq!(admins(&dismissed), ["carol"]);
    assert!(!dismissed.may_change(&bob));
    assert_eq!(dismissed.member("bob"), roster.member("bob"));
    // Dismissals come first, so that an appointment can be renewed.
    let renewed = changes(|it| it.appoint(name("bob")).dismiss(name("bob")));
    assert_eq!(admins(&next(&roster, 1, &renewed)), ["bob", "carol"]);
}

#[test]
fn admins_change_name_members_and_key() {
    let roster = with_admins();
    let changed =
        changes(|it| it.rename(name("crew")).remove(name("carol")).add(member("dave", 4)));
    let by_bob = next(&roster, 2, &changed);
    assert_eq!(by_bob.group(), &name("crew"));
    assert_eq!(admins(&by_bob), ["bob"]);
    assert_eq!((by_bob.owner(), by_bob.signing_owner()), (roster.owner(), roster.owner()));
    let by_owner = next(&by_bob, 1, &RosterChanges::new());
    assert_eq!(by_owner.signer(), by_owner.owner());
    next(&by_owner, 2, &RosterChanges::new());
}

#[test]
fn admins_cannot_make_changes_of_the_owner() {
    let roster = with_admins();
    let long_owner = Member::new(name("alice"), identity(1).public().clone());
    for (change, refused) in [
        (changes(|it| it.add(member("dave", 4)).appoint(name("dave"))), OwnerOnly::Appoint),
        (changes(|it| it.dismiss(name("carol"))), OwnerOnly::Dismiss),
        (changes(|it| it.dismiss(name("bob"))), OwnerOnly::Dismiss),
        (hands_on("bob"), OwnerOnly::HandOn),
        (changes(|it| it.remove(name("alice"))), OwnerOnly::RemoveOwner),
        (changes(|it| it.remove(name("alice")).add(member("alicia", 1))), OwnerOnly::RemoveOwner),
        (changes(|it| it.remove(name("alice")).add(long_owner)), OwnerOnly::RemoveOwner),
    ] {
        assert_eq!(sign(&roster, 2, &change), Err(SignRosterError::OwnerOnly(refused)));
        assert!(refused.to_string().contains("ask the owner"));
        next(&roster, 1, &change);
    }
    for removes in [
        changes(|it| it.remove(name("bob"))),
        changes(|it| it.remove(name("bob")).add(member("bobby", 2))),
        changes(|it| it.remove(name("bob")).add(member("bob", 4))),
    ] {
        assert_eq!(sign(&roster, 2, &removes), Err(SignRosterError::RemovesSigner));
        assert_eq!(admins(&next(&roster, 3, &removes)), ["carol"]);
    }
    let long = Member::new(name("bob"), identity(2).public().clone());
    let completes = changes(|it| it.remove(name("bob")).add(long));
    assert_eq!(admins(&next(&roster, 2, &completes)), ["bob", "carol"]);
    assert_eq!(sign(&roster, 4, &RosterChanges::new()), Err(SignRosterError::NotPermitted));
    assert_eq!(sign(&first(), 2, &RosterChanges::new()), Err(SignRosterError::NotPermitted));
}

#[test]
fn the_former_owner_signs_the_transfer_and_the_next_owner_what_follows() {
    let roster = with_admins();
    let handed_on = next(&roster, 1, &hands_on("bob"));
    let [alice, bob] = [1, 2].map(|n| *short(n).ed25519());
    assert_eq!((handed_on.owner(), handed_on.signing_owner()), (&bob, &alice));
    assert!(admins(&handed_on).is_empty());
    assert!(handed_on.may_change(&bob) && !handed_on.may_change(&alice));
    assert_eq!(sign(&handed_on, 1, &RosterChanges::new()), Err(SignRosterError::NotPermitted));
    let after = changes(|it| it.appoint(name("alice")).appoint(name("carol")));
    let by_bob = next(&handed_on, 2, &after);
    assert_eq!((by_bob.owner(), by_bob.signing_owner()), (&bob, &bob));
    let by_carol = next(&by_bob, 3, &changes(|it| it.remove(name("alice"))));
    let back = next(&by_carol, 2, &hands_on("carol"));
    // A reader can follow over transfers that it missed.
    let later = next(&back, 3, &RosterChanges::new());
    for held in [&first(), &roster, &handed_on, &by_bob, &by_carol] {
        assert_eq!(later.supersedes(held), Ok(()));
        let old = held.supersedes(&later);
        assert!(matches!(old, Err(RosterChainError::Rollback { .. })), "{old:?}");
        assert!(held.precedes(&later) && !later.precedes(held) && !held.precedes(held));
    }
    // So it can over appointments by an owner whom it did not know.
    for held in [&first(), &roster, &handed_on] {
        assert_eq!(by_carol.supersedes(held), Ok(()));
    }
    // The next owner can join in the same epoch.
    let joins = changes(|it| it.add(member("dave", 4)).hand_on(name("dave")));
    assert_eq!(next(&roster, 1, &joins).owner(), short(4).ed25519());
}

#[test]
fn a_group_is_handed_on_a_limited_number_of_times() {
    let mut roster = first();
    for at in 0..MAX_TRANSFERS {
        let (from, to) = if at % 2 == 0 { (1, "bob") } else { (2, "alice") };
        roster = next(&roster, from, &hands_on(to));
    }
    let over = roster.next_epoch(&hands_on("bob"));
    assert_eq!(over.unwrap_err(), ChangeRosterError::TooManyTransfers);
    next(&roster, 1, &appoints(&["bob"]));
}

#[test]
fn changes_of_rights_that_make_no_sense_are_refused() {
    let roster = with_admins();
    let both = changes(|it| it.add(member("dave", 4)).appoint(name("dave")));
    let mut and_hands_on = both.clone();
    and_hands_on.hand_on(name("bob"));
    let dave = || name("dave");
    for (change, refused) in [
        (appoints(&["dave"]), ChangeRosterError::NotAMember(dave())),
        (appoints(&["alice"]), ChangeRosterError::IsOwner(name("alice"))),
        (appoints(&["bob"]), ChangeRosterError::IsAdmin(name("bob"))),
        (changes(|it| it.dismiss(name("alice"))), { ChangeRosterError::NotAnAdmin(name("alice")) }),
        (hands_on("dave"), ChangeRosterError::NotAMember(dave())),
        (hands_on("alice"), ChangeRosterError::IsOwner(name("alice"))),
        (and_hands_on, ChangeRosterError::AppointsForNextOwner),
        (
            changes(|it| it.remove(name("bob")).hand_on(name("bob"))),
            ChangeRosterError::NotAMember(name("bob")),
        ),
    ] {
        assert_eq!(roster.next_epoch(&change).unwrap_err(), refused);
    }
    assert_eq!(admins(&next(&first(), 1, &appoints(&["bob", "bob"]))), ["bob"]);
}

#[test]
fn readers_follow_admins_whose_appointment_they_missed() {
    let first = first();
    let plain = RosterChanges::new();
    let appointed = next(&first, 1, &appoints(&["bob"]));
    let by_bob = next(&appointed, 2, &plain);
    assert_eq!(appointed.supersedes(&first), Ok(()));
    assert_eq!(by_bob.supersedes(&first), Ok(()));
    assert_eq!(by_bob.follows(&first), Err(RosterChainError::Gap { held: 1, offered: 3 }));
    // An admin who signs lists another one who was appointed meanwhile.
    let both = next(&by_bob, 1, &appoints(&["carol"]));
    let after = next(&both, 2, &plain);
    for held in [&first, &appointed, &by_bob, &both] {
        assert_eq!(after.supersedes(held), Ok(()));
    }
    // A former admin shows a roster to readers that missed the dismissal, and to no others.
    let dismissed = next(&after, 1, &changes(|it| it.dismiss(name("bob"))));
    let former = signed_again(&after, 2, "\nepoch 5\n", "\nepoch 7\n");
    assert_eq!(former.supersedes(&first), Ok(()));
    assert_eq!(former.supersedes(&dismissed), Err(RosterChainError::Admin));
}

#[test]
fn the_next_owner_stays_a_member_for_readers_that_missed_the_transfer() {
    let held = with_admins();
    let handed_on = next(&held, 1, &hands_on("bob"));
    let removes_former = changes(|it| it.appoint(name("carol")).remove(name("alice")));
    let by_carol = next(&next(&handed_on, 2, &removes_former), 3, &RosterChanges::new());
    assert_eq!(by_carol.supersedes(&held), Ok(()));
    let renamed = signed_again(&by_carol, 3, "member bob ", "member bobby ");
    assert_eq!(renamed.supersedes(&held), Err(RosterChainError::Admin));
}

#[test]
fn admins_cannot_use_up_the_epochs() {
    let held = with_admins();
    let next = next(&held, 2, &RosterChanges::new());
    let at = |epoch: u64, n| {
        signed_again(&next, n, "\nepoch 3\n", &format!("\nepoch {epoch}\n")).supersedes(&held)
    };
    assert_eq!(at(2 + MAX_ADMIN_STEP, 2), Ok(()));
    for offered in [3 + MAX_ADMIN_STEP, u64::MAX] {
        assert_eq!(at(offered, 2), Err(RosterChainError::Gap { held: 2, offered }));
    }
    let by_owner = signed_again(&next, 1, "signer bob\n", "");
    let last = signed_again(&by_owner, 1, "\nepoch 3\n", &format!("\nepoch {}\n", u64::MAX));
    assert_eq!(last.supersedes(&held), Ok(()));
    let none = last.next_epoch(&RosterChanges::new()).unwrap_err();
    assert_eq!(none, ChangeRosterError::LastEpoch);
}

/// A roster with transfers, admins and a signer.
fn with_all_lines() -> Roster {
    let handed_on = next(&with_admins(), 1, &hands_on("bob"));
    let appointed = next(&handed_on, 2, &appoints(&["alice", "carol"]));
    next(&appointed, 3, &RosterChanges::new())
}

#[test]
fn every_changed_byte_of_a_roster_with_rights_is_refused() {
    let roster = with_all_lines();
    let good = roster.as_bytes();
    let mut signatures = 0;
    for at in 0..good.len() {
        assert!(Roster::parse(&good[..at]).is_err(), "cut at {at}");
        for flip in [0x01, 0x20, 0x80] {
            let mut bad = good.to_vec();
            bad[at] ^= flip;
            let error = Roster::parse(&bad).unwrap_err();
            signatures += usize::from(matches!(
                error,
                ParseRosterError::Signature
                    | ParseRosterError::AppointmentSignature(_)
                    | ParseRosterError::TransferSignature { .. }
            ));
        }
    }
    // Most mutants of the right form are refused by a signature.
    assert!(signatures > 100, "{signatures}");
}

#[test]
fn every_line_without_which_a_roster_is_another_is_signed() {
    let roster = with_all_lines();
    let lines: Vec<&[u8]> = roster.as_bytes().split_inclusive(|byte| *byte == b'\n').collect();
    for at in 0..lines.len() {
        let mut without = lines.clone();
        let line = without.remove(at);
        assert!(Roster::parse(&without.concat()).is_err(), "without line {at}");
        for to in 0..lines.len() {
            let mut moved = without.clone();
            moved.insert(to, line);
            assert!(to == at || Roster::parse(&moved.concat()).is_err(), "line {at} at {to}");
        }
        let mut twice = lines.clone();
        twice.insert(at, line);
        assert!(Roster::parse(&twice.concat()).is_err(), "line {at} twice");
    }
}
