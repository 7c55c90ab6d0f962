//! Messages of members arrive with the sender's address.

use endseal_session::group::{Group, Opened};

use super::device::{admit, device, group_of};

/// Every member sends a text, and every other member opens it.
fn everybody_hears_everybody(groups: &mut [Group]) {
    for sender in 0..groups.len() {
        let text = format!("from {sender}").into_bytes();
        let message = groups[sender].seal(&text).unwrap();
        for (receiver, group) in groups.iter_mut().enumerate() {
            let opened = group.open(&message);
            if receiver == sender {
                continue;
            }
            let Ok(Opened::Message { sender: by, plaintext, .. }) = opened else {
                panic!("{opened:?}")
            };
            assert_eq!(by, device(u8::try_from(sender + 1).unwrap()).address());
            assert_eq!(plaintext[..], text);
        }
    }
}

#[test]
fn members_hear_each_other() {
    for count in [2, 10] {
        let mut groups = group_of(count);
        assert!(groups.iter().all(|group| group.members().len() == usize::from(count)));
        everybody_hears_everybody(&mut groups);
    }
}

#[test]
fn who_joins_later_is_heard() {
    let mut groups = group_of(2);
    for number in 3..=6 {
        let (joined, commit) = admit(&mut groups[0], &device(number));
        for group in &mut groups[1..] {
            let Ok(Opened::Change(change)) = group.open(&commit.commit) else { panic!() };
            assert_eq!(change.added, [device(number).address()]);
            assert_eq!(change.by, device(1).address());
            assert_eq!(change.epoch, group.epoch());
        }
        groups.push(joined);
        everybody_hears_everybody(&mut groups);
    }
}
