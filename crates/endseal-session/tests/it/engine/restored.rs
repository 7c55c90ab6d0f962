//! A restored store has no prekeys and key packages, because messages that are delivered again may
//! have used them.

use endseal_keyring::device::Address;
use endseal_session::group::GroupError;
use endseal_session::{EngineError, Envelope, Failure, GroupChangeError, Outcome, SendError};

use super::party::{NOW, Party, blake};

const GROUP: &[u8] = b"team";

fn receive(party: &mut Party, from: Address, body: &[u8]) -> Outcome {
    party.receive(&[Envelope::from_device(&blake(body), from, body)])[0]
}

/// A backup is made. A first message uses a prekey, and the session continues. After the restore,
/// the queue delivers the first message again.
#[test]
fn a_first_message_that_comes_again_makes_no_session() {
    for fallback in [false, true] {
        let (mut carol, mut reader) = (Party::new(3), Party::new(1));
        let bundle = if fallback { reader.fallback() } else { reader.bundles(1).remove(0) };
        reader.backup();
        carol.begin_with(&bundle);
        let hello = carol.send(reader.address, b"hello");
        assert!(matches!(receive(&mut reader, carol.address, &hello), Outcome::Delivered(_)));
        for _ in 0..3 {
            let answer = reader.send(carol.address, b"answer");
            assert!(receive(&mut carol, reader.address, &answer).is_kept());
            let next = carol.send(reader.address, b"next");
            assert!(receive(&mut reader, carol.address, &next).is_kept());
        }
        reader.restore();
        assert!(reader.engine().prekeys_lost().unwrap());
        let again = receive(&mut reader, carol.address, &hello);
        assert_eq!(again, Outcome::Failed(Failure::NoPrekey));
        let to = carol.address;
        assert!(matches!(reader.engine().encrypt(to, b"no"), Err(SendError::NoSession)));
        assert!(reader.engine().transaction(|t| t.sessions(to)).unwrap().is_empty());
    }
}

/// A backup with a key package is made, then a welcome and texts are received. After the restore,
/// the welcome is delivered again. The sender's ratchet would start at generation 0 again.
#[test]
fn a_welcome_that_comes_again_joins_nothing() {
    let (mut one, mut other) = (Party::new(1), Party::new(2));
    let package = other.key_package();
    other.backup();
    one.engine().transaction(|t| t.create_group(GROUP, NOW)).unwrap();
    let (_, welcome) = one.change(GROUP, |group| group.add([package.as_slice()], NOW));
    other.engine().transaction(|t| t.join_group(&welcome[0])).unwrap();
    for body in other.send_group(GROUP, &[b"0".to_vec(), b"1".to_vec()]) {
        assert!(one.receive_group(GROUP, &blake(&body), &body).is_kept());
    }
    other.restore();
    let joined = other.engine().transaction(|t| t.join_group(&welcome[0]));
    let refused = matches!(joined, Err(GroupChangeError::Group(GroupError::NoKeyPackage)));
    assert!(refused, "{:?}", joined.err());
    assert!(matches!(other.engine().encrypt_group(GROUP, b"no"), Err(SendError::NoGroup)));
    // With a key package that was made after the restore, it joins.
    let package = other.key_package();
    let own = other.address;
    one.change(GROUP, |group| group.remove(&[own], NOW));
    let (_, welcome) = one.change(GROUP, |group| group.add([package.as_slice()], NOW));
    other.engine().transaction(|t| t.join_group(&welcome[0])).unwrap();
    let body = other.send_group(GROUP, &[b"back".to_vec()]).remove(0);
    assert!(one.receive_group(GROUP, &blake(&body), &body).is_kept());
}

/// The loss is reported until new bundles were published. Prekeys made after the restore stay.
#[test]
fn lost_prekeys_are_reported_until_new_ones_are_published() {
    let (mut one, mut other) = (Party::new(1), Party::new(2));
    assert!(!other.engine().prekeys_lost().unwrap());
    other.restart();
    assert!(!other.engine().prekeys_lost().unwrap());
    other.backup();
    other.restore();
    let made = other.engine().transaction(|t| t.prekey_bundles(1, 7)).unwrap();
    other.kill();
    assert!(other.engine().prekeys_lost().unwrap());
    assert_eq!(other.engine().transaction(|t| t.prekey_bundles(1, 7)).unwrap(), made);
    other.engine().transaction(|t| t.published(&made)).map_err(|it: EngineError| it).unwrap();
    other.restart();
    assert!(!other.engine().prekeys_lost().unwrap());
    one.begin_with(&made[0]);
    let body = one.send(other.address, b"hello");
    other.receive_one(one.address, b"id", &body);
    // The same backup is restored once more.
    other.restore();
    assert!(other.engine().prekeys_lost().unwrap());
    let again = receive(&mut other, one.address, &body);
    assert_eq!(again, Outcome::Failed(Failure::NoPrekey));
}
