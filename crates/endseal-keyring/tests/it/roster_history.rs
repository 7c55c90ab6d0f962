//! Random histories of a group: what can be signed is what readers accept.

use endseal_keyring::Roster;
use endseal_keyring::roster::{GroupId, RosterChanges};

use crate::people::{identity, member, name, short};

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

#[test]
fn signed_changes_follow_and_no_one_else_signs() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut by_admins, mut transfers) = (0, 0);
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
                assert!(by_admin || signed.supersedes(earlier).is_ok());
                assert!(earlier.supersedes(&signed).is_err() && earlier.precedes(&signed));
            }
            held.push(signed);
        }
    }
    assert!(by_admins > 10 && transfers > 10, "{by_admins} {transfers}");
}
