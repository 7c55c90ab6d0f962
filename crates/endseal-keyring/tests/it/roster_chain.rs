//! Successive rosters of a group.

use endseal_keyring::Roster;
use endseal_keyring::roster::{GroupId, RosterChainError, RosterChanges};

use crate::people::{identity, member, name};

fn first(id: u8, owner: u8) -> Roster {
    let owner = identity(owner);
    let members = vec![member("alice", 1), member("bob", 2)];
    let id = GroupId::from_bytes([id; 16]);
    let draft = Roster::create(name("team"), id, *owner.public().ed25519(), members);
    draft.unwrap().sign(&owner, b"sealed").unwrap()
}

fn next(roster: &Roster, owner: u8, sealed: &[u8]) -> Roster {
    let draft = roster.next_epoch(&RosterChanges::new()).unwrap();
    draft.sign(&identity(owner), sealed).unwrap()
}

#[test]
fn epochs_follow_each_other() {
    let mut held = first(9, 1);
    for epoch in 2..6 {
        let new = next(&held, 1, b"sealed");
        let new = Roster::parse(new.as_bytes()).unwrap();
        assert_eq!(new.epoch(), epoch);
        assert_eq!(new.previous(), Some(&held.digest()));
        assert_eq!(new.follows(&held), Ok(()));
        assert_eq!(new.supersedes(&held), Ok(()));
        held = new;
    }
}

#[test]
fn an_older_roster_is_a_rollback() {
    let first = first(9, 1);
    let second = next(&first, 1, b"sealed");
    let error = Err(RosterChainError::Rollback { held: 2, offered: 1 });
    assert_eq!(first.follows(&second), error);
    assert_eq!(first.supersedes(&second), error);
    assert_eq!(second.follows(&second), Err(RosterChainError::Same));
}

#[test]
fn missing_epochs_are_a_gap_that_may_be_skipped() {
    let first = first(9, 1);
    let third = next(&next(&first, 1, b"sealed"), 1, b"sealed");
    assert_eq!(third.follows(&first), Err(RosterChainError::Gap { held: 1, offered: 3 }));
    assert_eq!(third.supersedes(&first), Ok(()));
}

#[test]
fn two_histories_are_a_fork() {
    let first = first(9, 1);
    let (one, other) = (next(&first, 1, b"one"), next(&first, 1, b"other"));
    assert_eq!(one.follows(&other), Err(RosterChainError::Fork));
    assert_eq!(next(&one, 1, b"sealed").follows(&other), Err(RosterChainError::Fork));
    assert_eq!(next(&one, 1, b"sealed").supersedes(&other), Err(RosterChainError::Fork));
    let third = next(&one, 1, b"sealed");
    assert!(first.precedes(&third) && one.precedes(&third) && !other.precedes(&third));
}

#[test]
fn another_owner_or_group_does_not_follow() {
    let held = first(9, 1);
    let by_bob = next(&first(9, 2), 2, b"sealed");
    assert_eq!(by_bob.follows(&held), Err(RosterChainError::OtherOwner));
    let elsewhere = next(&first(8, 1), 1, b"sealed");
    assert_eq!(elsewhere.follows(&held), Err(RosterChainError::OtherGroup));
}

#[test]
fn a_new_name_follows() {
    let held = first(9, 1);
    let mut changes = RosterChanges::new();
    changes.rename(name("crew"));
    let renamed = held.next_epoch(&changes).unwrap().sign(&identity(1), b"sealed").unwrap();
    assert_eq!(renamed.group(), &name("crew"));
    assert_eq!(renamed.follows(&held), Ok(()));
    assert_eq!(next(&renamed, 1, b"sealed").group(), &name("crew"));
}
