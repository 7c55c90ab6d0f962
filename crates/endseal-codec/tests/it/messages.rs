//! Properties of every message.

use endseal_codec::{
    Attachment, Body, Codec, Content, DecodeError, EncodeError, Limits, Message, Metadata,
    Reaction, Receipt, RichMessage, Scheme, SealedMessage, Source,
};

use crate::random::Random;

fn rich() -> RichMessage {
    RichMessage { conversation: (*b"c").into(), ..RichMessage::default() }
}

#[test]
fn random_messages_come_back_owned_and_borrowed() {
    let limits = Limits::with_maximum(Limits::LARGEST_MAXIMUM).unwrap();
    let mut random = Random::new(5);
    for _ in 0..5_000 {
        let message = random.message();
        let bytes = message.to_vec(limits).unwrap();
        assert_eq!(message.encoded_len(limits), Ok(bytes.len()));
        assert_eq!(Message::decode(&bytes, limits).as_ref(), Ok(&message));
        let view = Message::view(&bytes, limits).unwrap();
        assert_eq!(view.to_owned(), message);
        assert_eq!(view, Message::view(&bytes.clone(), limits).unwrap());

        let mut buffer = vec![0xee; bytes.len() + 3];
        assert_eq!(message.encode(limits, &mut buffer), Ok(bytes.len()));
        assert_eq!((&buffer[..bytes.len()], &buffer[bytes.len()..]), (&bytes[..], &[0xee; 3][..]));
        let short = &mut buffer[..bytes.len() - 1];
        assert_eq!(message.encode(limits, short), Err(EncodeError::Buffer));
        let mut appended = b"front".to_vec();
        assert_eq!(message.append_to(limits, &mut appended), Ok(bytes.len()));
        assert_eq!(appended, [b"front", &bytes[..]].concat());
    }
}

#[test]
fn a_view_borrows_what_it_shows() {
    let mut message = rich();
    message.body = Some(Body::Text("a text".into()));
    let bytes = Message::from(Content::Rich(message)).to_vec(Limits::default()).unwrap();
    let view = Message::view(&bytes, Limits::default()).unwrap();
    let Some(endseal_codec::ContentView::Rich(rich)) = view.content else { panic!("it is rich") };
    let text = rich.body.unwrap().as_str();
    assert_eq!(text, "a text");
    assert!(bytes.as_ptr_range().contains(&text.as_ptr()));
}

#[test]
fn unknown_fields_survive_two_programs() {
    let known = Message::from(Content::Rich(rich())).to_vec(Limits::default()).unwrap();
    // Unknown fields before the content, after it, and inside: numbers 99, 98 and 97.
    let inside = [&known[2..], &[0x88, 0x06, 0x07]].concat();
    let content = [&[0x0a, u8::try_from(inside.len()).unwrap()], &inside[..]].concat();
    let bytes = [&[0x98, 0x06, 0x01], &content[..], &[0x92, 0x06, 0x01, 0xff]].concat();
    let first = Message::decode(&bytes, Limits::default()).unwrap();
    assert_eq!(first.unknown.as_bytes(), [0x98, 0x06, 0x01, 0x92, 0x06, 0x01, 0xff]);
    let passed_on = first.to_vec(Limits::default()).unwrap();
    assert_eq!(passed_on, [&content[..], first.unknown.as_bytes()].concat());
    assert_eq!(Message::decode(&passed_on, Limits::default()).unwrap(), first);
    let view = Message::view(&bytes, Limits::default()).unwrap();
    assert_eq!(view.unknown.iter().collect::<Vec<_>>(), [&bytes[..3], &bytes[bytes.len() - 4..]]);
}

#[test]
fn what_a_reader_refuses_is_not_written() {
    let refused = |message: RichMessage| {
        Message::from(Content::Rich(message)).to_vec(Limits::default()).unwrap_err()
    };
    let length = |field| EncodeError::Length { field };
    let count = |field| EncodeError::Count { field };
    assert_eq!(refused(RichMessage::default()), length("conversation"));
    assert_eq!(
        refused(RichMessage { conversation: [0; 65].into(), ..rich() }),
        length("conversation")
    );
    let attachment = |name: &str| Attachment {
        name: name.into(),
        source: Source::Inline([].into()),
        ..Attachment::default()
    };
    assert_eq!(
        refused(RichMessage { attachments: vec![attachment("")], ..rich() }),
        length("name")
    );
    let many = vec![attachment("a"); 33];
    assert_eq!(refused(RichMessage { attachments: many, ..rich() }), count("attachments"));
    let no_emoji = vec![Reaction::default()];
    assert_eq!(refused(RichMessage { reactions: no_emoji, ..rich() }), length("emoji"));
    let mut metadata = Metadata::default();
    metadata.insert("", []);
    assert_eq!(refused(RichMessage { metadata, ..rich() }), length("key"));
    let mut metadata = Metadata::default();
    metadata.insert("k", [0; 4097]);
    assert_eq!(refused(RichMessage { metadata, ..rich() }), length("value"));
    let mut metadata = Metadata::default();
    (0..33).for_each(|i| drop(metadata.insert(&format!("{i}"), [])));
    assert_eq!(refused(RichMessage { metadata, ..rich() }), count("metadata"));
    let body = Some(Body::Text("x".repeat(1 << 20).into()));
    assert_eq!(refused(RichMessage { body, ..rich() }), EncodeError::Limit);

    let receipt = Receipt { conversation: (*b"c").into(), ..Receipt::default() };
    let receipt = Message::from(Content::Receipt(receipt)).to_vec(Limits::default());
    assert_eq!(receipt, Err(count("messages")));
    let empty = Message::default().to_vec(Limits::default());
    assert_eq!(empty, Err(EncodeError::Missing { field: "content" }));
    let sealed = SealedMessage { ciphertext: [1].into(), ..SealedMessage::default() };
    let missing = Err(EncodeError::Missing { field: "scheme" });
    assert_eq!(sealed.to_vec(Limits::default()), missing);
    let sealed = SealedMessage { scheme: Scheme::MLS, ..SealedMessage::default() };
    assert_eq!(sealed.to_vec(Limits::default()), Err(length("ciphertext")));
}

#[test]
fn the_maximum_holds_on_both_sides() {
    let message = Message::from(Content::Rich(rich()));
    let bytes = message.to_vec(Limits::default()).unwrap();
    let len = u32::try_from(bytes.len()).unwrap();
    let (enough, short) =
        (Limits::with_maximum(len).unwrap(), Limits::with_maximum(len - 1).unwrap());
    assert_eq!(message.to_vec(enough).as_ref(), Ok(&bytes));
    assert_eq!(message.to_vec(short), Err(EncodeError::Limit));
    assert_eq!(Message::decode(&bytes, enough), Ok(message));
    assert_eq!(Message::decode(&bytes, short), Err(DecodeError::Limit));
    assert_eq!(Limits::with_maximum(1 << 31), None);
}
