//! The sample message of the suite `codec`, as docs/spec/bench-peer.md defines it.

use endseal_codec::{
    Attachment, Body, Content, Edit, Mention, Message, Metadata, Reaction, RichMessage, Source,
};

use crate::stats::SplitMix64;

/// Words of the texts. Three of them have characters of two or three bytes.
const WORDS: &str = "the and to of a in is that for it on we you with this are be at have not will from \
    by can if please when all key keys message messages group meeting tomorrow today \
    file sealed send sent report draft thanks team call later review change signed \
    member members station before after where which about could should great question \
    caf\u{e9} na\u{ef}ve \u{6771}\u{4eac}";
/// Letter that the published tables repeat.
const LETTER: &str = "x";
const EMOJI: [&str; 4] = ["\u{1f44d}", "\u{1f389}", "\u{1f602}", "\u{1f680}"];
/// Positions in the text of the words that are mentioned.
const MENTIONED: [usize; 3] = [0, 8, 16];

/// Sizes of a message in bytes, and the kind of its text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// Bytes of text and blob together.
    pub(super) bytes: usize,
    /// Bytes of the blob.
    pub(super) blob: usize,
    /// True if the text is one repeated letter instead of words.
    pub(super) letter: bool,
}

/// Builds the message of input `index`.
pub(super) fn sample(index: u64, size: Size) -> Message {
    let mut random = SplitMix64::new(index);
    let id = bytes(&mut random);
    let conversation: [u8; 16] = bytes(&mut random);
    let sender = bytes(&mut random);
    let timestamp = 1_700_000_000_000 + (random.draw() >> 34);
    let len = size.bytes - size.blob;
    let (text, mentioned) = if size.letter { letters(len) } else { text(&mut random, len) };
    let attachments = if size.blob > 0 { vec![photo(&mut random, size.blob)] } else { Vec::new() };
    let reaction = |(emoji, seconds): (&str, u64)| Reaction {
        sender: bytes(&mut random),
        emoji: emoji.into(),
        timestamp: timestamp + 1000 * seconds,
    };
    let reactions = EMOJI.into_iter().zip(1..).map(reaction).collect();
    let mention = |(start, length)| Mention { peer: bytes(&mut random), start, length };
    let mentions = mentioned.into_iter().map(mention).collect();
    let mut metadata = Metadata::default();
    metadata.insert("app", *b"cli");
    metadata.insert("lang", *b"en");
    metadata.insert("tz", *b"+01");
    Message::from(Content::Rich(RichMessage {
        id,
        conversation: conversation.into(),
        sender,
        timestamp,
        body: Some(Body::Text(text.into())),
        attachments,
        reactions,
        mentions,
        reply_to: Some(bytes(&mut random)),
        edits: vec![Edit { timestamp: timestamp + 60_000, body: Body::Text("draft".into()) }],
        metadata,
        ..RichMessage::default()
    }))
}

/// Returns words of `len` bytes together, with start and length of the mentioned ones.
fn text(random: &mut SplitMix64, len: usize) -> (String, Vec<(u32, u32)>) {
    let mut text = String::with_capacity(len);
    let mut mentioned = Vec::new();
    let words: Vec<&str> = WORDS.split(' ').collect();
    for number in 0.. {
        let word = words[(random.draw() >> 58) as usize];
        if text.len() + word.len() + 1 > len {
            break;
        }
        if MENTIONED.contains(&number) {
            let short = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
            mentioned.push((short(text.len()), short(word.len())));
        }
        text.push_str(word);
        text.push(' ');
    }
    text.extend(core::iter::repeat_n('.', len - text.len()));
    (text, mentioned)
}

/// Returns one letter `len` times, with start and length of the mentioned parts.
fn letters(len: usize) -> (String, Vec<(u32, u32)>) {
    (LETTER.repeat(len), vec![(0, 8), (8, 8), (16, 8)])
}

fn photo(random: &mut SplitMix64, len: usize) -> Attachment {
    let mut blob = Vec::with_capacity(len + 8);
    while blob.len() < len {
        blob.extend_from_slice(&random.draw().to_le_bytes());
    }
    blob.truncate(len);
    Attachment {
        name: "photo.jpg".into(),
        media_type: "image/jpeg".into(),
        size: len as u64,
        source: Source::Inline(blob.into()),
    }
}

/// Returns pseudorandom bytes.
fn bytes<const N: usize>(random: &mut SplitMix64) -> [u8; N] {
    let mut bytes = [0; N];
    for eight in bytes.chunks_mut(8) {
        eight.copy_from_slice(&random.draw().to_le_bytes()[..eight.len()]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    /// Concatenates the raw bytes of all fields, in the order of the specification's table.
    fn raw(message: &Message) -> Vec<u8> {
        let Some(Content::Rich(rich)) = &message.content else { panic!("another message") };
        let mut raw = [&rich.id[..], &rich.conversation, &rich.sender].concat();
        raw.extend(rich.timestamp.to_le_bytes());
        raw.extend(rich.body.as_ref().unwrap().as_str().as_bytes());
        for attachment in &rich.attachments {
            let Source::Inline(blob) = &attachment.source else { panic!("it is elsewhere") };
            raw.extend(attachment.name.as_bytes());
            raw.extend(attachment.media_type.as_bytes());
            raw.extend(attachment.size.to_le_bytes());
            raw.extend(&**blob);
        }
        for reaction in &rich.reactions {
            raw.extend(reaction.sender);
            raw.extend(reaction.emoji.as_bytes());
            raw.extend(reaction.timestamp.to_le_bytes());
        }
        for mention in &rich.mentions {
            raw.extend(mention.peer);
            raw.extend(mention.start.to_le_bytes());
            raw.extend(mention.length.to_le_bytes());
        }
        raw.extend(rich.reply_to.unwrap());
        for edit in &rich.edits {
            raw.extend(edit.timestamp.to_le_bytes());
            raw.extend(edit.body.as_str().as_bytes());
        }
        for (key, value) in rich.metadata.iter() {
            raw.extend(key.as_bytes());
            raw.extend(value);
        }
        raw
    }

    /// Programs that produce these digests build the same messages.
    #[test]
    fn raw_fields_have_the_digests_of_the_specification() {
        let specification = include_str!("../../../../docs/spec/bench-peer.md");
        let (small, large) = ((8192, "8,192"), (262_144, "262,144"));
        for (index, (bytes, written), blob_percent, text) in [
            (0, small, 0, "words"),
            (0, small, 75, "words"),
            (15, large, 75, "words"),
            (0, small, 0, "letter"),
            (15, large, 0, "letter"),
        ] {
            let letter = text == "letter";
            let size = Size { bytes, blob: bytes * blob_percent / 100, letter };
            let digest = Sha256::digest(raw(&sample(index, size)));
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            let row = format!("| {index} | {written} | {blob_percent} | {text} | `{digest}` |\n");
            assert!(specification.contains(&row), "{row}");
        }
    }

    #[test]
    fn mentions_cover_words() {
        let message = sample(7, Size { bytes: 8192, blob: 0, letter: false });
        let Some(Content::Rich(rich)) = &message.content else { panic!("another message") };
        let text = rich.body.as_ref().unwrap().as_str();
        assert_eq!(rich.mentions.len(), MENTIONED.len());
        for mention in &rich.mentions {
            assert!(WORDS.split(' ').any(|it| Some(it) == mention.of(text)));
        }
    }
}
