//! The message that is timed: a body, and about 415 bytes of other fields.

use endseal_codec::{
    Attachment, Body, Content, Mention, Message, Metadata, Reaction, RichMessage, Source,
};

/// The field that holds most of a message.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// ASCII text.
    Text,
    /// Text in several scripts.
    Scripts,
    /// A quarter is ASCII text, the rest an inline attachment.
    Mixed,
}

pub(crate) fn message(shape: Shape, bulk: usize) -> Message {
    let (text, blob) = match shape {
        Shape::Text => (repeat("All bytes are equal, but some are sealed. ", bulk), 0),
        Shape::Scripts => (repeat("Grüße aus Köln, привет, 你好, ", bulk), 0),
        Shape::Mixed => {
            (repeat("All bytes are equal, but some are sealed. ", bulk / 4), bulk * 3 / 4)
        }
    };
    let key = |n: u8| [n; 32];
    let mut metadata = Metadata::default();
    metadata.insert("client", *b"endseal 0.1.0");
    metadata.insert("thread", [7; 16]);
    let reaction =
        |n| Reaction { sender: key(n), emoji: "👍".into(), timestamp: 1_770_000_000_000 };
    let mut rich = RichMessage {
        id: [1; 16],
        conversation: [2; 32].into(),
        sender: key(3),
        timestamp: 1_769_700_000_000,
        body: Some(Body::Text(text.into())),
        reactions: (0..3).map(reaction).collect(),
        mentions: vec![
            Mention { peer: key(4), start: 4, length: 5 },
            Mention { peer: key(5), start: 300, length: 5 },
        ],
        reply_to: Some([9; 16]),
        metadata,
        ..RichMessage::default()
    };
    if blob > 0 {
        let content: Vec<u8> = (0..blob).map(|i| (i * 167 >> 3) as u8).collect();
        rich.attachments.push(Attachment {
            name: "figure.png".into(),
            media_type: "image/png".into(),
            size: blob as u64,
            source: Source::Inline(content.into()),
        });
    }
    Message::from(Content::Rich(rich))
}

/// Repeats the phrase as often as it fits, and fills up with blanks.
fn repeat(phrase: &str, len: usize) -> String {
    let mut text = phrase.repeat(len / phrase.len());
    text.push_str(&" ".repeat(len - text.len()));
    text
}
