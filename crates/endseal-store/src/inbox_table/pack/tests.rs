use super::*;

const HERE: Origin = Origin { conversation: 1, sender: 1, kind: 0 };
const AWAY: Origin = Origin { conversation: 300, sender: 1 << 40, kind: 255 };

fn pack(messages: &[Packed<'_>]) -> Vec<u8> {
    let (mut before, mut pack) = (Before::default(), Vec::new());
    messages.iter().for_each(|message| message.push(&mut before, &mut pack));
    pack
}

/// All messages of a pack, if it is one.
fn read(first: u64, pack: &[u8]) -> Option<Vec<Packed<'_>>> {
    let mut messages = Messages::new(first, pack);
    let read: Vec<_> = messages.by_ref().collect();
    messages.is_whole().then_some(read)
}

fn some() -> Vec<Packed<'static>> {
    let message = |seq, origin, message, plaintext| Packed { seq, origin, message, plaintext };
    vec![
        message(5, HERE, b"a", b"text"),
        message(6, HERE, &[7; MAX_NAME_LEN], b""),
        message(7, AWAY, b"a", &[9; 200]),
        message(300, AWAY, b"b", b"after some that were consumed"),
        message(1 << 40, HERE, b"c", b"last"),
    ]
}

#[test]
fn what_was_packed_comes_out_and_a_part_of_it_is_no_pack() {
    let messages = some();
    for len in 1..=messages.len() {
        let messages = &messages[..len];
        let pack = pack(messages);
        let most: usize =
            messages.iter().map(|it| Packed::most(it.message.len(), it.plaintext.len())).sum();
        assert!(pack.len() <= most);
        assert_eq!(read(5, &pack).unwrap(), messages);
        let whole = (0..pack.len()).filter(|end| read(5, &pack[..*end]).is_some()).count();
        // Cut between two messages it is the pack of those before.
        assert_eq!(whole, len - 1);
    }
}

/// Changes each byte of a pack. A changed pack that is still valid is exactly the encoding of the
/// messages in it.
#[test]
fn there_is_one_encoding_of_the_same_messages() {
    let good = pack(&some());
    let mut accepted = 0;
    for at in 0..good.len() {
        for value in 0..=255 {
            let mut other = good.clone();
            other[at] = value;
            if let Some(messages) = read(5, &other) {
                assert_eq!(pack(&messages), other, "byte {at} is {value}");
                accepted += 1;
            }
        }
    }
    assert!(accepted > good.len());
}

#[test]
fn other_encodings_are_refused() {
    let good = [ORIGIN, 1, 1, 0, 1, b'a', 1, b'x'];
    let next = [0, 1, b'b', 0];
    assert!(read(1, &good).is_some());
    assert!(read(1, &[&good[..], &next].concat()).is_some());
    assert!(read(0, &good).is_none(), "a number that is none");
    assert!(read(1 << 63, &good).is_none(), "a number beyond the last");
    assert!(read((1 << 63) - 1, &good).is_some());
    assert!(read((1 << 63) - 1, &[&good[..], &next].concat()).is_none(), "beyond the last");
    for (bad, what) in [
        (&[][..], "nothing"),
        (&[0, 1, b'a', 1, b'x'], "the first without its origin"),
        (&[ORIGIN | GAP, 1, 1, 1, 0, 1, b'a', 1, b'x'], "a gap before the first"),
        (&[ORIGIN | 4, 1, 1, 0, 1, b'a', 1, b'x'], "an unknown flag"),
        (&[ORIGIN, 0, 1, 0, 1, b'a', 1, b'x'], "no conversation"),
        (&[ORIGIN, 1, 0, 0, 1, b'a', 1, b'x'], "no sender"),
        (&[ORIGIN, 0x81, 0, 1, 0, 1, b'a', 1, b'x'], "a number that is longer than it need be"),
        (&[ORIGIN, 1, 1, 0, 0, 1, b'x'], "no id"),
        (&[ORIGIN, 1, 1, 0, 1, b'a', 0x80, 0], "a length that is longer than it need be"),
        (&[ORIGIN, 1, 1, 0, 1, b'a', 2, b'x'], "a plaintext that is cut"),
        (&[ORIGIN, 1, 1, 0, 1, b'a'], "no plaintext"),
    ] {
        assert!(read(1, bad).is_none(), "{what}");
    }
    for (bad, what) in [
        (&[ORIGIN, 1, 1, 0, 1, b'b', 0][..], "an origin that is that of the message before"),
        (&[GAP, 0, 1, b'b', 0], "a gap of nothing"),
        (&[GAP, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, b'b', 0], "too high"),
        (&[0], "a message that is cut"),
    ] {
        assert!(read(1, &[&good[..], bad].concat()).is_none(), "{what}");
    }
    let long = [&[ORIGIN, 1, 1, 0, 65][..], &[7; 65], &[0]].concat();
    assert!(read(1, &long).is_none(), "a long id");
}

fn message(seq: u64, plaintext: &[u8]) -> Packed<'_> {
    Packed { seq, origin: HERE, message: b"a", plaintext }
}

#[test]
fn only_one_message_alone_is_longer_than_a_page() {
    for len in [MAX_LEN - 8, MAX_LEN, 2 * MAX_LEN, MAX_BODY_LEN] {
        let text = vec![7; len];
        let alone = pack(&[message(1, &text)]);
        assert_eq!(read(1, &alone).unwrap().len(), 1, "{len}");
        let two = pack(&[message(1, &text), message(2, b"")]);
        assert_eq!(read(1, &two).is_some(), two.len() <= MAX_LEN, "{len}");
        let two = pack(&[message(1, b""), message(2, &text)]);
        assert_eq!(read(1, &two).is_some(), two.len() <= MAX_LEN, "{len}");
    }
    let text = vec![7; MAX_BODY_LEN + 1];
    assert!(read(1, &pack(&[message(1, &text)])).is_none());
    // The most that there can be is read, and nothing longer is looked at.
    let most = vec![ORIGIN; Packed::most(MAX_NAME_LEN, MAX_BODY_LEN) + 1];
    assert!(!Messages::new(1, &most).is_whole());
}
