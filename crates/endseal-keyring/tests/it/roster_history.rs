//! Random histories of a group: what can be signed is what readers accept.

use endseal_keyring::Roster;
use endseal_keyring::roster::{GroupId, RosterChanges};

use crate::people::{identity, member, name, short, signed_again};

/// Number of persons; person `n` is the member `p<n>`.
const PERSONS: u8 = 5;

/// A sequence of numbers that looks random (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u8) -> u8 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u8::try_from(self.0 % u64::from(bound)).unwrap()
    }

    fn person(&mut self) -> u8 {
        1 + self.below(PERSONS)
    }
}

fn member_name(n: u8) -> endseal_keyring::Name {
    name(&format!("p{n}"))
}

/// Makes one or two random changes.
fn changes(numbers: &mut Numbers) -> RosterChanges {
    let mut changes = RosterChanges::new();
    for _ in 0..=numbers.below(2) {
        let n = numbers.person();
        match numbers.below(7) {
            0 => changes.remove(member_name(n)),
            1 | 2 => changes.add(member(&format!("p{n}"), n)),
            3 | 4 => changes.appoint(member_name(n)),
            5 => changes.dismiss(member_name(n)),
            _ => changes.hand_on(member_name(n)),
        };
    }
    changes
}

/// Returns true if the owner of an admin's roster is a member as in the roster held, or was none
/// there. Owners can remove themselves, but readers do not take this from an admin.
fn keeps_owner(offered: &Roster, held: &Roster) -> bool {
    let owner = |roster: &Roster| roster.member_of_key(offered.owner()).cloned();
    owner(held).is_none() || owner(held) == owner(offered)
}

/// Returns the line of the admin who signed, if it was one.
fn signer_line(roster: &Roster) -> Option<&str> {
    let lines = || str::from_utf8(roster.as_bytes()).unwrap().lines();
    let signer = lines().find_map(|line| line.strip_prefix("signer "))?;
    lines().find(|line| line.starts_with(&format!("admin {signer} ")))
}

/// Checks who accepts a roster in a later epoch that an admin of `history[at]` signs: those who
/// hold that one or an earlier one, but no one who holds a roster without its appointment.
/// Returns the numbers of rosters with which it is accepted and refused.
fn check_former_admin(history: &[Roster], at: usize) -> Option<(usize, usize)> {
    let line = signer_line(&history[at])?;
    let last = history.last().unwrap().epoch();
    let from = format!("\nepoch {}\n", history[at].epoch());
    let signer = (1..=PERSONS).find(|n| short(*n).ed25519() == history[at].signer()).unwrap();
    let offered = signed_again(&history[at], signer, &from, &format!("\nepoch {}\n", last + 2));
    let (mut accepted, mut refused) = (0, 0);
    for (index, held) in history.iter().enumerate() {
        let result = offered.supersedes(held);
        let is_admin = str::from_utf8(held.as_bytes()).unwrap().lines().any(|it| it == line);
        if index <= at {
            assert_eq!(result.is_ok(), keeps_owner(&offered, held), "{index} {at}");
        } else if !is_admin {
            assert!(result.is_err(), "{index} {at}");
        }
        accepted += usize::from(result.is_ok());
        refused += usize::from(!is_admin && result.is_err());
    }
    Some((accepted, refused))
}

#[test]
fn signed_changes_follow_and_no_one_else_signs() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut by_admins, mut transfers) = (0, 0);
    let mut former = (0, 0);
    for id in 0..24 {
        let members = (1..=PERSONS).map(|n| member(&format!("p{n}"), n)).collect();
        let id = GroupId::from_bytes([id; 16]);
        let draft = Roster::create(name("team"), id, *short(1).ed25519(), members).unwrap();
        let mut held = vec![draft.sign(&identity(1), b"sealed").unwrap()];
        for _ in 0..60 {
            let current = held.last().unwrap();
            let signer = numbers.person();
            let Ok(draft) = current.next_epoch(&changes(&mut numbers)) else { continue };
            let signed = draft.sign(&identity(signer), b"sealed");
            let may_change = current.may_change(short(signer).ed25519());
            assert!(may_change || signed.is_err());
            let Ok(signed) = signed else { continue };
            let read = Roster::parse(signed.as_bytes());
            assert_eq!(read.as_ref(), Ok(&signed));
            assert_eq!(signed.follows(current), Ok(()));
            let by_admin = signed.signer() != signed.signing_owner();
            by_admins += usize::from(by_admin);
            transfers += usize::from(signed.owner() != current.owner());
            for earlier in &held {
                let is_ok = signed.supersedes(earlier).is_ok();
                assert_eq!(is_ok, !by_admin || keeps_owner(&signed, earlier));
                assert!(earlier.supersedes(&signed).is_err() && earlier.precedes(&signed));
            }
            held.push(signed);
        }
        for (accepted, refused) in (0..held.len()).filter_map(|at| check_former_admin(&held, at)) {
            former = (former.0 + accepted, former.1 + refused);
        }
    }
    assert!(former.0 > 10 && former.1 > 10, "{former:?}");
    assert!(by_admins > 10 && transfers > 10, "{by_admins} {transfers}");
}
