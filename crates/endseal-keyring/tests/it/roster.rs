//! Rosters.

use crate::common::{identity, name, short};
use endseal_keyring::Roster;
use endseal_keyring::roster::{GroupId, Member, RosterChanges};

fn first() -> Roster {
    let owner = identity(1);
    let members = vec![
        Member::new(name("bob"), identity(2).public().clone()),
        Member::new(name("alice"), short(1)),
    ];
    let draft = Roster::create(
        name("team"),
        GroupId::from_bytes([9; 16]),
        *owner.public().ed25519(),
        members,
    );
    draft.unwrap().sign(&owner, b"sealed").unwrap()
}

#[test]
fn rosters_round_trip() {
    let roster = first();
    assert_eq!(Roster::parse(roster.as_bytes()).unwrap(), roster);
}

#[test]
fn an_epoch_follows_the_one_before() {
    let first = first();
    let draft = first
        .next_epoch(
            RosterChanges::new().remove(name("bob")).add(Member::new(name("carol"), short(3))),
        )
        .unwrap();
    assert_ne!(draft.context(), first.context());
    let context = draft.context();
    let second = draft.sign(&identity(1), b"sealed").unwrap();
    assert_eq!(second.context(), context);
    let second = Roster::parse(second.as_bytes()).unwrap();
    assert_eq!(second.context(), context);
    second.follows(&first).unwrap();
}
