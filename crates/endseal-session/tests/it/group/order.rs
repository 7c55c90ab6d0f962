//! Messages that are reordered, repeated or lost.

use endseal_session::group::{Group, OpenError, Opened};

use super::device::group_of;

fn text(opened: Result<Opened, OpenError>) -> Vec<u8> {
    match opened {
        Ok(Opened::Message { plaintext, .. }) => plaintext.to_vec(),
        other => panic!("{other:?}"),
    }
}

fn sealed(group: &mut Group, count: u32) -> Vec<Vec<u8>> {
    (0..count).map(|i| group.seal(&i.to_le_bytes()).unwrap()).collect()
}

#[test]
fn reversed_messages_open() {
    let mut groups = group_of(2);
    let messages = sealed(&mut groups[0], 300);
    for (i, message) in messages.iter().enumerate().rev() {
        assert_eq!(text(groups[1].open(message)), u32::try_from(i).unwrap().to_le_bytes());
    }
}

#[test]
fn a_gap_within_the_limit_is_skipped_and_filled() {
    let mut groups = group_of(2);
    let messages = sealed(&mut groups[0], 1025);
    assert_eq!(text(groups[1].open(&messages[1024])), 1024_u32.to_le_bytes());
    for (i, message) in (0_u32..).zip(&messages[..1024]) {
        assert_eq!(text(groups[1].open(message)), i.to_le_bytes());
    }
}

#[test]
fn a_gap_beyond_the_limit_is_refused_until_it_is_less() {
    let mut groups = group_of(2);
    let messages = sealed(&mut groups[0], 1026);
    let refused = groups[1].open(&messages[1025]);
    assert_eq!(refused, Err(OpenError::TooFarAhead { limit: 1024 }));
    for i in [0_u32, 1025, 1] {
        let message = &messages[usize::try_from(i).unwrap()];
        assert_eq!(text(groups[1].open(message)), i.to_le_bytes());
    }
}

#[test]
fn a_replay_finds_no_key() {
    let mut groups = group_of(2);
    let messages = sealed(&mut groups[0], 3);
    for i in [1_u32, 0] {
        let message = &messages[usize::try_from(i).unwrap()];
        assert_eq!(text(groups[1].open(message)), i.to_le_bytes());
        assert_eq!(groups[1].open(message), Err(OpenError::KeyGone));
    }
    assert_eq!(text(groups[1].open(&messages[2])), 2_u32.to_le_bytes());
}

#[test]
fn an_own_message_is_known() {
    let mut groups = group_of(3);
    let message = groups[0].seal(b"echo").unwrap();
    assert_eq!(groups[0].open(&message), Err(OpenError::Own));
    assert_eq!(text(groups[1].open(&message)), b"echo");
}

/// A hostile member skips as many messages as possible each time.
#[test]
fn the_keys_of_missing_messages_are_bounded() {
    let mut groups = group_of(2);
    let mut opened = 0;
    let refused = loop {
        for _ in 0..1024 {
            let _ = groups[0].seal(b"never sent").unwrap();
        }
        let message = groups[0].seal(b"far").unwrap();
        match groups[1].open(&message) {
            Ok(_) => opened += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((opened, refused), (64, OpenError::TooFarAhead { limit: 65_536 }));
    let changes = groups[1].save().unwrap();
    assert!(changes.state.len() < 5 << 20, "{}", changes.state.len());
    // The count is stored, and a new epoch has its own limit.
    let mut groups = [
        groups.remove(0),
        super::device::device(2).load(&changes.state, &changes.tree.unwrap(), []).unwrap(),
    ];
    let message = groups[0].seal(b"as far").unwrap();
    assert_eq!(groups[1].open(&message), Err(OpenError::TooFarAhead { limit: 65_536 }));
    for _ in 0..4 {
        let commit = groups[1].update(super::device::NOW).unwrap().commit;
        groups[1].accept_pending().unwrap();
        groups[0].open(&commit).unwrap();
    }
    for _ in 0..1024 {
        let _ = groups[0].seal(b"never sent").unwrap();
    }
    let message = groups[0].seal(b"far").unwrap();
    assert_eq!(text(groups[1].open(&message)), b"far");
}
