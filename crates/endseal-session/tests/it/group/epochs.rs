//! Messages of past and later epochs.

use endseal_session::group::{Content, Group, OpenError, Opened};

use super::device::{NOW, group_of};

/// Starts a new epoch for all members by a commit of the first.
fn next_epoch(groups: &mut [Group]) -> Vec<u8> {
    let commit = groups[0].update(NOW).unwrap().commit;
    groups[0].accept_pending().unwrap();
    for group in &mut groups[1..] {
        assert!(matches!(group.open(&commit), Ok(Opened::Change(_))));
    }
    commit
}

#[test]
fn three_past_epochs_open_and_no_more() {
    let mut groups = group_of(3);
    let messages: Vec<_> = (0..5)
        .map(|_| {
            let message = groups[1].seal(b"late").unwrap();
            next_epoch(&mut groups);
            message
        })
        .collect();
    for group in [0, 2] {
        for (i, message) in messages.iter().enumerate() {
            let opened = groups[group].open(message);
            if i < 2 {
                assert_eq!(opened, Err(OpenError::OldEpoch));
            } else {
                assert!(opened.is_ok(), "{i}: {opened:?}");
                assert_eq!(groups[group].open(message), Err(OpenError::KeyGone));
            }
        }
    }
}

#[test]
fn a_later_message_opens_after_its_commits() {
    let mut groups = group_of(2);
    let mut stayed = groups[1].fork();
    let commits = [next_epoch(&mut groups), next_epoch(&mut groups)];
    let message = groups[0].seal(b"early").unwrap();
    assert_eq!(stayed.open(&message), Err(OpenError::LaterEpoch(3)));
    assert_eq!(stayed.open(&commits[1]), Err(OpenError::LaterEpoch(2)));
    assert!(stayed.open(&commits[0]).is_ok());
    assert_eq!(stayed.open(&message), Err(OpenError::LaterEpoch(3)));
    assert!(stayed.open(&commits[1]).is_ok());
    assert!(stayed.open(&message).is_ok());
    assert_eq!(stayed.open(&commits[1]), Err(OpenError::OldEpoch));
}

#[test]
fn the_head_tells_where_a_message_belongs() {
    let mut groups = group_of(2);
    let text = groups[0].seal(b"text").unwrap();
    let commit = groups[0].update(NOW).unwrap().commit;
    for (body, content) in [(&text, Content::Application), (&commit, Content::Commit)] {
        let header = Group::peek_epoch(body).unwrap();
        assert_eq!((header.id, header.epoch, header.content), (b"team".as_slice(), 1, content));
        // No byte may be missing or added.
        assert_eq!(Group::peek_epoch(&[body.as_slice(), &[0]].concat()), None);
        for end in 0..body.len() {
            assert_eq!(Group::peek_epoch(&body[..end]), None, "{end}");
        }
    }
}

#[test]
fn many_epochs_between_two_saves_keep_three() {
    let mut groups = group_of(2);
    let _ = groups[1].save().unwrap();
    for _ in 0..40 {
        next_epoch(&mut groups);
    }
    let changes = groups[1].save().unwrap();
    let epochs: Vec<_> = changes.epoch_inserts.iter().map(|past| past.epoch).collect();
    assert_eq!(epochs, [38, 39, 40]);
    assert!(changes.epoch_updates.is_empty());
    assert_eq!(changes.trim_below, 38);
    assert_eq!(groups[1].epoch(), 41);
}
