//! Single rosters. Cases that need a signed roster of a wrong form are in the vectors.

use std::collections::HashSet;

use endseal_crypto::random::{Random, RandomError};
use endseal_keyring::Roster;
use endseal_keyring::roster::{
    ChangeRosterError, EpochKey, GroupId, InvalidMembers, MAX_LEN, MAX_MEMBERS, Member,
    ParseRosterError, RosterChanges, RosterDraft, SignRosterError,
};

use crate::people::{identity, member, name, numbered, short};

fn draft(members: Vec<Member>) -> Result<RosterDraft, InvalidMembers> {
    let owner = *identity(1).public().ed25519();
    Roster::create(name("team"), GroupId::from_bytes([9; 16]), owner, members)
}

fn three() -> Vec<Member> {
    let bob = Member::new(name("bob"), identity(2).public().clone());
    vec![member("carol", 3), bob, member("alice", 1)]
}

fn roster() -> Roster {
    draft(three()).unwrap().sign(&identity(1), b"sealed").unwrap()
}

/// A random source that fails by returning the same bytes again.
struct Stuck;

impl Random for Stuck {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), RandomError> {
        out.fill(7);
        Ok(())
    }
}

#[test]
fn a_stuck_source_does_not_repeat_epoch_keys() {
    let draft = |group, id, owner, members| {
        let owner = *identity(owner).public().ed25519();
        Roster::create(name(group), GroupId::from_bytes([id; 16]), owner, members).unwrap()
    };
    let first = draft("team", 9, 1, three());
    let signed = first.clone().sign(&identity(1), b"sealed").unwrap();
    let second = signed.next_epoch(&RosterChanges::new()).unwrap();
    let drafts = [
        (1, first.clone()),
        (1, second),
        (1, draft("team", 8, 1, three())),
        (1, draft("other", 9, 1, three())),
        (1, draft("team", 9, 1, vec![member("carol", 3)])),
        (2, draft("team", 9, 2, three())),
        // The draft of one owner with the identity of another one.
        (2, first.clone()),
    ];
    let key = |owner, draft| EpochKey::generate(&mut Stuck, &identity(owner), draft).unwrap();
    let mut seen = HashSet::from([[7; 32]]);
    for (owner, draft) in &drafts {
        assert!(seen.insert(*key(*owner, draft).expose_secret()));
    }
    assert!(key(1, &first) == key(1, &first));
}

#[test]
fn a_stuck_source_does_not_repeat_group_ids() {
    let id = |owner, group| GroupId::generate(&mut Stuck, &identity(owner), &name(group)).unwrap();
    let ids = [id(1, "team"), id(1, "tea"), id(2, "team"), GroupId::from_bytes([7; 16])];
    assert_eq!(HashSet::from(ids).len(), ids.len());
}

#[cfg(feature = "std")]
#[test]
fn epoch_keys_and_group_ids_are_random() {
    let mut random: endseal_crypto::random::OsRandom = Default::default();
    let (owner, draft) = (identity(1), draft(three()).unwrap());
    let mut key = || EpochKey::generate(&mut random, &owner, &draft).unwrap();
    assert!(key() != key());
    let mut id = || GroupId::generate(&mut random, &owner, &name("team")).unwrap();
    assert_ne!(id(), id());
}

#[test]
fn rosters_round_trip() {
    let roster = roster();
    let read = Roster::parse(roster.as_bytes()).unwrap();
    assert_eq!(read, roster);
    assert_eq!((read.context(), read.digest()), (roster.context(), roster.digest()));
    let names: Vec<&str> = read.members().iter().map(|member| member.name().as_str()).collect();
    assert_eq!(names, ["alice", "bob", "carol"]);
    assert_eq!(read.member("bob").unwrap().identity(), identity(2).public());
    assert_eq!(read.member("dave"), None);
    assert_eq!(read.member_of_key(short(3).ed25519()).unwrap().name(), &name("carol"));
    assert_eq!(read.sealed_epoch_key(), b"sealed");
    assert_eq!((read.epoch(), read.previous()), (1, None));
    assert_eq!(read.id().to_string().parse(), Ok(*read.id()));
    assert_eq!(read.digest().to_string().parse(), Ok(read.digest()));
}

#[test]
fn every_changed_byte_is_refused() {
    let good = roster().as_bytes().to_vec();
    let mut signatures = 0;
    for at in 0..good.len() {
        for flip in [0x01, 0x20, 0x80] {
            let mut bad = good.clone();
            bad[at] ^= flip;
            let error = Roster::parse(&bad).unwrap_err();
            signatures += usize::from(error == ParseRosterError::Signature);
        }
    }
    // Most mutants of the right form are refused by the signature: a changed group, id, name, key,
    // or signature.
    assert!(signatures > 50, "{signatures}");
}

#[test]
fn every_truncation_and_extension_is_refused() {
    let roster = roster();
    let good = roster.as_bytes();
    for len in 0..good.len() {
        assert!(Roster::parse(&good[..len]).is_err(), "{len}");
    }
    for extra in [&b"\n"[..], b"x", b"\0", good] {
        assert!(Roster::parse(&[good, extra].concat()).is_err());
    }
    assert_eq!(Roster::parse(&vec![b'x'; MAX_LEN + 1]), Err(ParseRosterError::TooLong));
}

#[test]
fn lists_of_members_are_checked_when_they_are_made() {
    assert_eq!(draft(vec![]).unwrap_err(), InvalidMembers::Empty);
    let twice = draft(vec![member("bob", 2), member("alice", 1), member("bob", 3)]);
    assert_eq!(twice.unwrap_err(), InvalidMembers::DuplicateName(name("bob")));
    let long = Member::new(name("bob"), identity(1).public().clone());
    let same_key = draft(vec![long, member("alice", 1)]).unwrap_err();
    let (first, second) = (name("alice"), name("bob"));
    assert_eq!(same_key, InvalidMembers::DuplicateKey { first, second });
    let bob = short(2);
    let many = (0..=MAX_MEMBERS).map(|n| Member::new(name(&format!("n{n}")), bob.clone()));
    assert_eq!(draft(many.collect()).unwrap_err(), InvalidMembers::TooMany);
}

#[test]
fn only_the_owner_signs() {
    let sign = |n, key: &[u8]| draft(three()).unwrap().sign(&identity(n), key).err();
    assert_eq!(sign(2, b"sealed"), Some(SignRosterError::NotPermitted));
    assert_eq!(sign(1, b""), Some(SignRosterError::NoEpochKey));
    assert_eq!(sign(1, &vec![0; MAX_LEN]), Some(SignRosterError::TooLong));
    // Short enough itself, but too long in Base64.
    assert_eq!(sign(1, &vec![0; MAX_LEN / 4 * 3]), Some(SignRosterError::TooLong));
}

#[test]
fn a_draft_has_the_context_of_the_roster_it_becomes() {
    let draft = draft(three()).unwrap();
    let context = draft.context();
    assert!(context.len() <= 1024);
    assert!(context.starts_with(b"endseal/roster@v1 epoch key\0"));
    assert_eq!(draft.members().len(), 3);
    assert_eq!(draft.sign(&identity(1), b"sealed").unwrap().context(), context);
}

#[test]
fn the_context_differs_with_group_id_owner_epoch_and_members() {
    let create = |group, id, owner: u8, members| {
        let owner = *short(owner).ed25519();
        Roster::create(name(group), GroupId::from_bytes([id; 16]), owner, members).unwrap()
    };
    let next = roster().next_epoch(&RosterChanges::new()).unwrap();
    let mut contexts = vec![
        create("team", 9, 1, three()).context(),
        create("tean", 9, 1, three()).context(),
        create("team", 8, 1, three()).context(),
        create("team", 9, 2, three()).context(),
        create("team", 9, 1, three().split_off(1)).context(),
        create("team", 9, 1, vec![member("alice", 1), member("bob", 2), member("carol", 3)])
            .context(),
        next.context(),
    ];
    let count = contexts.len();
    contexts.sort();
    contexts.dedup();
    assert_eq!(contexts.len(), count);
}

#[test]
fn changes_that_make_no_sense_are_refused() {
    let next = |changes: &mut RosterChanges| roster().next_epoch(changes).err();
    let mut changes = RosterChanges::new();
    assert_eq!(
        next(changes.remove(name("dave"))),
        Some(ChangeRosterError::NotAMember(name("dave")))
    );
    let duplicate = InvalidMembers::DuplicateName(name("bob"));
    let error = next(RosterChanges::new().add(member("bob", 4)));
    assert_eq!(error, Some(ChangeRosterError::Members(duplicate)));
    let mut no_one = RosterChanges::new();
    no_one.remove(name("alice")).remove(name("bob")).remove(name("carol"));
    assert_eq!(next(&mut no_one), Some(ChangeRosterError::Members(InvalidMembers::Empty)));
    // Removing twice has the effect of removing once; removing and adding replaces the member.
    let mut replaced = RosterChanges::new();
    replaced.add(member("bob", 4)).remove(name("bob")).remove(name("bob"));
    let draft = roster().next_epoch(&replaced).unwrap();
    assert_eq!(draft.members()[1], member("bob", 4));
}

#[test]
fn ten_thousand_members_are_read() {
    let members = (0..10_000).map(|n| Member::new(name(&format!("n{n}")), numbered(n)));
    let roster = draft(members.collect()).unwrap().sign(&identity(1), &[7; 360_000]).unwrap();
    assert_eq!(Roster::parse(roster.as_bytes()).unwrap(), roster);
}
