//! Contents that were encrypted and decrypted outside of the sessions.

use endseal_crypto::secret::Zeroizing;
use endseal_session::{ConversationId, EngineError, Failure, Outcome};

use super::party::Party;

#[test]
fn a_content_is_delivered_once_for_each_id_and_conversation() {
    let (one, mut other) = (Party::new(1), Party::new(2));
    let [group, second] = [[1; 16], [2; 16]].map(|id| ConversationId::Group(id.to_vec()));
    let deliver = |party: &mut Party, to: &ConversationId, id: &[u8], text: &[u8]| {
        let text = Zeroizing::new(text.to_vec());
        let outcome = party.engine().transaction(|it| it.deliver(to, id, one.address, text));
        outcome.map_err(|error: EngineError| error).unwrap()
    };
    let Outcome::Delivered(first) = deliver(&mut other, &group, b"a", b"one") else { panic!() };
    assert_eq!(deliver(&mut other, &group, b"a", b"one"), Outcome::AlreadyDelivered(first));
    assert_eq!(deliver(&mut other, &group, b"a", b"two"), Outcome::Failed(Failure::IdReused));
    assert!(matches!(deliver(&mut other, &second, b"a", b"two"), Outcome::Delivered(_)));
    assert!(matches!(deliver(&mut other, &group, b"b", b""), Outcome::Delivered(_)));
    for id in [&b""[..], &[7; 65]] {
        assert_eq!(deliver(&mut other, &group, id, b"x"), Outcome::Failed(Failure::Malformed));
    }
    assert_eq!(other.texts(), [&b"one"[..], b"two", b""]);
    // Its tombstone stays.
    assert!(other.engine().inbox().consume(first).unwrap());
    other.kill();
    assert_eq!(deliver(&mut other, &group, b"a", b"one"), Outcome::AlreadyDelivered(first));
    // A failed transaction leaves nothing.
    let failed = other.engine().transaction(|it| {
        let text = Zeroizing::new(b"three".to_vec());
        it.deliver(&group, b"c", one.address, text)?;
        it.post(&group, b"sealed".to_vec())?;
        Err::<(), _>(EngineError::Ended)
    });
    assert!(failed.is_err());
    assert!(other.engine().outbox().pending(0, 10).unwrap().is_empty());
    assert!(matches!(deliver(&mut other, &group, b"c", b"three"), Outcome::Delivered(_)));
}

#[test]
fn what_was_sealed_outside_waits_in_the_outbox() {
    let mut one = Party::new(1);
    let group = ConversationId::Group(vec![1; 16]);
    let post = |party: &mut Party, to: &ConversationId, body: &[u8]| {
        party.engine().transaction(|it| it.post(to, body.to_vec()))
    };
    let number = post(&mut one, &group, b"sealed").unwrap();
    one.kill();
    let pending = one.engine().outbox().pending(0, 10).unwrap();
    let [waits] = pending.as_slice() else { panic!("one") };
    assert_eq!(
        (waits.number, &waits.conversation, &waits.body[..]),
        (number, &group, &b"sealed"[..])
    );
    assert_eq!(waits.recipient, None);
    // The same ciphertext gets another number.
    let again = one.engine().transaction(|it| it.post_again(number));
    let again = again.map_err(|error: EngineError| error).unwrap().unwrap();
    let pending = one.engine().outbox().pending(number, 10).unwrap();
    assert_eq!((pending[0].number, &pending[0].body[..]), (again, &b"sealed"[..]));
    let missing = one.engine().transaction(|it| it.post_again(again + 1));
    assert_eq!(missing.map_err(|error: EngineError| error).unwrap(), None);
    assert!(one.engine().outbox().sent(again).unwrap());
    assert!(one.engine().outbox().sent(number).unwrap());
    assert!(post(&mut one, &group, b"next").unwrap() > number);
    let no_one = ConversationId::Group(Vec::new());
    assert!(matches!(post(&mut one, &no_one, b"x"), Err(EngineError::Damaged(_))));
}
