//! Group changes: membership, and concurrent commits.

use endseal_session::group::{GroupError, OpenError, Opened};

use super::device::{NOW, device, group_of};

#[test]
fn a_hundred_members_change_and_speak() {
    let mut groups = group_of(100);
    let leaving = device(50).address();
    let commit = groups[7].remove(&[leaving], NOW).unwrap().commit;
    groups[7].accept_pending().unwrap();
    for (i, group) in groups.iter_mut().enumerate().filter(|(i, _)| *i != 7) {
        let Ok(Opened::Change(change)) = group.open(&commit) else { panic!("{i}") };
        assert_eq!((change.removed.as_slice(), change.is_removed), ([leaving].as_slice(), i == 49));
        assert_eq!(change.by, device(8).address());
    }
    let message = groups[99].seal(b"without you").unwrap();
    for (i, group) in groups[..99].iter_mut().enumerate() {
        let opened = group.open(&message);
        if i == 49 {
            assert_eq!(opened, Err(OpenError::NotMember));
        } else {
            assert!(opened.is_ok(), "{i}: {opened:?}");
            assert_eq!(group.members().len(), 99);
        }
    }
}

#[test]
fn who_was_removed_reads_and_says_nothing_more() {
    let mut groups = group_of(3);
    let mut unaware = groups[2].fork();
    let commit = groups[0].remove(&[device(3).address()], NOW).unwrap().commit;
    groups[0].accept_pending().unwrap();
    groups[1].open(&commit).unwrap();
    let message = groups[0].seal(b"secret").unwrap();
    // The removed device cannot open the message, with or without the commit.
    assert_eq!(unaware.open(&message), Err(OpenError::LaterEpoch(2)));
    groups[2].open(&commit).unwrap();
    assert!(!groups[2].is_member());
    assert_eq!(groups[2].open(&message), Err(OpenError::NotMember));
    assert_eq!(groups[2].seal(b"hello?"), Err(GroupError::NotMember));
    assert!(matches!(groups[2].update(NOW), Err(GroupError::NotMember)));
    // Messages that the removed member sends in the old epoch are refused.
    let stale = unaware.seal(b"still here").unwrap();
    assert_eq!(groups[0].open(&stale), Err(OpenError::OldEpoch));
    assert!(groups[1].open(&message).is_ok());
}

#[test]
fn of_two_commits_one_is_accepted_and_one_discarded() {
    let mut groups = group_of(3);
    let first = groups[0].update(NOW).unwrap().commit;
    let second = groups[1].update(NOW).unwrap().commit;
    assert!(matches!(groups[1].update(NOW), Err(GroupError::CommitPending)));
    // The service orders the first commit first. Its maker receives it back, and the other maker
    // drops its own.
    for (i, group) in groups.iter_mut().enumerate() {
        let Ok(Opened::Change(change)) = group.open(&first) else { panic!("{i}") };
        assert_eq!((change.epoch, change.by), (2, device(1).address()));
        assert!(!group.has_pending());
    }
    for group in [0, 2] {
        assert_eq!(groups[group].open(&second), Err(OpenError::OldEpoch));
    }
    let message = groups[1].seal(b"agreed").unwrap();
    assert!(groups[0].open(&message).is_ok());
    assert!(groups[2].open(&message).is_ok());
}

#[test]
fn an_own_commit_that_was_accepted_is_known() {
    let mut groups = group_of(2);
    let commit = groups[0].update(NOW).unwrap().commit;
    groups[0].accept_pending().unwrap();
    assert_eq!(groups[0].open(&commit), Err(OpenError::Own));
    groups[1].open(&commit).unwrap();
    assert_eq!(groups[1].open(&commit), Err(OpenError::OldEpoch));
}

#[test]
fn a_discarded_commit_changes_nothing() {
    let mut groups = group_of(2);
    let commit = groups[0].remove(&[device(2).address()], NOW).unwrap().commit;
    groups[0].discard_pending();
    assert_eq!(groups[0].accept_pending(), Err(GroupError::NothingPending));
    // No member may apply it now, and its maker cannot.
    assert_eq!(groups[0].open(&commit), Err(OpenError::Own));
    assert_eq!((groups[0].epoch(), groups[0].members().len()), (1, 2));
    let message = groups[0].seal(b"as before").unwrap();
    assert!(groups[1].open(&message).is_ok());
}

#[test]
fn texts_flow_while_a_commit_is_pending() {
    let mut groups = group_of(2);
    let _ = groups[0].update(NOW).unwrap();
    let there = groups[0].seal(b"there").unwrap();
    let back = groups[1].seal(b"back").unwrap();
    assert!(groups[1].open(&there).is_ok());
    assert!(groups[0].open(&back).is_ok());
    groups[0].accept_pending().unwrap();
    assert_eq!(groups[0].open(&back), Err(OpenError::KeyGone));
}

#[test]
fn what_cannot_be_done_is_refused_and_changes_nothing() {
    let mut groups = group_of(2);
    let (own, outsider) = (device(1).address(), device(9).address());
    let none = |result: Result<_, GroupError>| result.err();
    assert_eq!(none(groups[0].remove(&[own], NOW)), Some(GroupError::RemovesItself));
    assert_eq!(none(groups[0].remove(&[outsider], NOW)), Some(GroupError::NoSuchMember));
    assert_eq!(none(groups[0].add([b"junk".as_slice()], NOW)), Some(GroupError::InvalidKeyPackage));
    assert!(!groups[0].has_pending());
    let too_long = vec![0; 1 << 20];
    assert_eq!(groups[0].seal(&too_long), Err(GroupError::TooLong));
    for id in [&[][..], &[1; 64], &[1; 65]] {
        assert_eq!(device(1).create(id, NOW).err(), Some(GroupError::InvalidId));
    }
    for id in [&[1][..], &[1; 32], &[1; 63]] {
        let mut group = device(1).create(id, NOW).unwrap();
        let message = group.seal(b"x").unwrap();
        assert_eq!(endseal_session::group::Group::peek_epoch(&message).unwrap().id, id);
    }
    let message = groups[0].seal(&vec![1; 700_000]).unwrap();
    assert!(message.len() <= 1 << 20);
    assert!(groups[1].open(&message).is_ok());
}
