//! Damaged or forged messages change nothing.

use endseal_session::group::{Group, OpenError, Opened};

use super::device::{NOW, admit, device, group_of};

/// Returns copies of the bytes, each with one inverted bit.
fn damaged(body: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    (0..body.len()).map(|at| {
        let mut copy = body.to_vec();
        copy[at] ^= 1 << (at % 8);
        copy
    })
}

fn is_refused(group: &mut Group, copy: &[u8]) {
    let opened = group.open(copy);
    let is_expected = matches!(
        opened,
        Err(OpenError::Authentication
            | OpenError::Malformed
            | OpenError::OtherGroup
            | OpenError::LaterEpoch(_)
            | OpenError::OldEpoch)
    );
    assert!(is_expected, "{opened:?}");
}

#[test]
fn a_text_damaged_anywhere_leaves_the_true_one_readable() {
    let mut groups = group_of(3);
    let before = groups[0].seal(b"before").unwrap();
    let message = groups[0].seal(&[7; 100]).unwrap();
    let after = groups[0].seal(b"after").unwrap();
    let mut authentication = 0;
    for copy in damaged(&message) {
        is_refused(&mut groups[1], &copy);
        authentication += u32::from(groups[1].open(&copy) == Err(OpenError::Authentication));
    }
    // Damage of all bytes after the header.
    assert!(authentication > 200, "{authentication}");
    for message in [&after, &message, &before] {
        assert!(matches!(groups[1].open(message), Ok(Opened::Message { .. })));
        assert_eq!(groups[1].open(message), Err(OpenError::KeyGone));
    }
}

#[test]
fn what_was_opened_before_a_damaged_one_stays_opened() {
    let mut groups = group_of(2);
    let messages: Vec<_> = (0..20_u8).map(|i| groups[0].seal(&[i]).unwrap()).collect();
    for (i, message) in messages.iter().enumerate() {
        let mut copy = message.clone();
        let end = copy.len() - 1;
        copy[end] ^= 1;
        assert_eq!(groups[1].open(&copy), Err(OpenError::Authentication));
        assert!(groups[1].open(message).is_ok());
        for seen in &messages[..=i] {
            assert_eq!(groups[1].open(seen), Err(OpenError::KeyGone));
        }
    }
}

#[test]
fn a_commit_damaged_anywhere_leaves_the_true_one_acceptable() {
    let mut groups = group_of(3);
    let text = groups[2].seal(b"in between").unwrap();
    let (_, commit) = admit(&mut groups[0], &device(4));
    for copy in damaged(&commit.commit).step_by(7) {
        is_refused(&mut groups[1], &copy);
        assert_eq!(groups[1].epoch(), 1);
    }
    assert!(groups[1].open(&text).is_ok());
    assert!(matches!(groups[1].open(&commit.commit), Ok(Opened::Change(_))));
    assert_eq!(groups[1].members().len(), 4);
    let message = groups[0].seal(b"new").unwrap();
    assert!(groups[1].open(&message).is_ok());
}

#[test]
fn a_welcome_damaged_anywhere_is_refused_and_the_true_one_still_joins() {
    let mut groups = group_of(2);
    let newcomer = device(3);
    let (package, secret) = newcomer.key_package(Default::default(), NOW).unwrap();
    let commit = groups[0].add([package.as_slice()], NOW).unwrap();
    groups[0].accept_pending().unwrap();
    let find = |id: &[u8]| (id == secret.id).then(|| secret.data.clone());
    for copy in damaged(&commit.welcome[0]).step_by(11) {
        assert!(newcomer.join(&copy, find).is_err());
    }
    assert!(newcomer.join(&commit.welcome[0], find).is_ok());
}

#[test]
fn bytes_of_no_group_are_malformed() {
    let mut groups = group_of(2);
    let (package, _) = device(3).key_package(Default::default(), NOW).unwrap();
    for body in [&[][..], &[0; 40], &[0xff; 400], b"hello", &package, &vec![0; (1 << 20) + 1]] {
        assert_eq!(groups[1].open(body), Err(OpenError::Malformed));
    }
}
