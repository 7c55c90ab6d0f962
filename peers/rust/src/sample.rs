//! The sample message of the suite `codec`, as `docs/spec/bench-peer.md` defines it.

use crate::message::{Attachment, Body, Edit, Entry, Mention, Message, Reaction, Source};

/// Words of the texts. Three of them have characters of two or three bytes.
const WORDS: [&str; 64] = [
    "the", "and", "to", "of", "a", "in", "is", "that", "for", "it", "on", "we", "you", "with",
    "this", "are", "be", "at", "have", "not", "will", "from", "by", "can", "if", "please", "when",
    "all", "key", "keys", "message", "messages", "group", "meeting", "tomorrow", "today", "file",
    "sealed", "send", "sent", "report", "draft", "thanks", "team", "call", "later", "review",
    "change", "signed", "member", "members", "station", "before", "after", "where", "which",
    "about", "could", "should", "great", "question", "café", "naïve", "東京",
];

/// Letter that the published tables repeat.
const LETTER: &str = "x";
/// Number of letters that one mention covers.
const LETTERS_A_MENTION: u8 = 8;

const EMOJI: [&str; 4] = ["👍", "🎉", "😂", "🚀"];
const MENTIONS: usize = 3;
/// Distance between two mentioned words: the words 0, 8 and 16 are mentioned.
const WORDS_A_MENTION: usize = 8;

const NAME: &str = "photo.jpg";
const MEDIA_TYPE: &str = "image/jpeg";
const EDIT: &str = "draft";
const METADATA: [(&str, &[u8]); 3] = [("app", b"cli"), ("lang", b"en"), ("tz", b"+01")];

/// Sizes that the parameters of a case request.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    /// Bytes of body text and inline blob together.
    pub(crate) bytes: usize,
    /// Percentage of these bytes that the blob has.
    pub(crate) blob_percent: usize,
    /// True if the text is one repeated letter instead of words.
    pub(crate) letter: bool,
}

impl Size {
    pub(crate) fn blob(self) -> usize {
        self.bytes * self.blob_percent / 100
    }

    pub(crate) fn text(self) -> usize {
        self.bytes - self.blob()
    }
}

/// Builds the message at that position of the inputs.
pub(crate) fn sample(index: u64, size: Size) -> Message {
    let mut random = SplitMix64(index);
    let id = random.bytes();
    let conversation = random.bytes();
    let sender = random.bytes();
    let timestamp = 1_700_000_000_000 + (random.draw() >> 34);
    let (text, places) = match size.letter {
        true => letters(size.text()),
        false => text(&mut random, size.text()),
    };
    let attachments = if size.blob() == 0 { Vec::new() } else { vec![photo(&mut random, size)] };
    let reaction = |(emoji, seconds): (&&str, u64)| Reaction {
        sender: random.bytes(),
        emoji: (*emoji).to_owned(),
        timestamp: timestamp + 1000 * seconds,
    };
    let reactions = EMOJI.iter().zip(1..).map(reaction).collect();
    let mention = |(start, length)| Mention { peer: random.bytes(), start, length };
    let mentions = places.into_iter().map(mention).collect();
    let reply_to = Some(random.bytes());
    let edits = vec![Edit { timestamp: timestamp + 60_000, body: Body::Text(EDIT.to_owned()) }];
    let entry = |(key, value): (&str, &[u8])| Entry { key: key.to_owned(), value: value.to_vec() };
    let metadata = METADATA.map(entry).into();
    Message {
        id,
        conversation,
        sender,
        timestamp,
        body: Body::Text(text),
        attachments,
        reactions,
        mentions,
        reply_to,
        edits,
        metadata,
    }
}

/// Returns words of that length in bytes together, with the positions of the mentioned ones.
fn text(random: &mut SplitMix64, length: usize) -> (String, Vec<(u32, u32)>) {
    let mut text = String::with_capacity(length);
    let mut places = Vec::new();
    for number in 0.. {
        let word = WORDS[usize::from((random.draw() >> 58).to_le_bytes()[0])];
        if text.len() + word.len() + 1 > length {
            break;
        }
        if number % WORDS_A_MENTION == 0 && places.len() < MENTIONS {
            let fits = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
            places.push((fits(text.len()), fits(word.len())));
        }
        text.push_str(word);
        text.push(' ');
    }
    text.extend(std::iter::repeat_n('.', length - text.len()));
    (text, places)
}

/// Returns the letter repeated, with the positions of the mentions, which follow each other.
fn letters(length: usize) -> (String, Vec<(u32, u32)>) {
    let places = (0..).step_by(LETTERS_A_MENTION.into()).take(MENTIONS);
    (LETTER.repeat(length), places.map(|start| (start, LETTERS_A_MENTION.into())).collect())
}

fn photo(random: &mut SplitMix64, size: Size) -> Attachment {
    let mut blob = Vec::with_capacity(size.blob() + 8);
    while blob.len() < size.blob() {
        blob.extend_from_slice(&random.draw().to_le_bytes());
    }
    blob.truncate(size.blob());
    Attachment {
        name: NAME.to_owned(),
        media_type: MEDIA_TYPE.to_owned(),
        size: blob.len() as u64,
        source: Source::Inline(blob),
    }
}

/// Pseudorandom generator of Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014.
struct SplitMix64(u64);

impl SplitMix64 {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.draw().to_le_bytes()[..chunk.len()]);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::digest::{SHA256, digest};

    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        // Values of the reference implementation, https://prng.di.unimi.it/splitmix64.c, with x =
        // 1234567.
        let mut random = SplitMix64(1_234_567);
        let drawn = [random.draw(), random.draw(), random.draw()];
        let expected =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(drawn, expected);
    }

    #[test]
    fn lengths_are_those_of_the_specification() {
        for bytes in [1024, 1025, 8192, 65_536, 262_144, 1_000_000] {
            for (blob_percent, around) in [(0, 414), (75, 441)] {
                for index in 0..16 {
                    let letter = blob_percent == 0 && index % 2 == 1;
                    let size = Size { bytes, blob_percent, letter };
                    let message = sample(index, size);
                    assert_eq!(message.body.text().len(), size.text());
                    assert_eq!(message.raw().len(), around + bytes, "{bytes}, {blob_percent} %");
                    let shape = [&message.reactions.len(), &message.mentions.len()];
                    assert_eq!(shape, [&4, &3]);
                    assert_eq!(message.attachments.len(), usize::from(blob_percent > 0));
                }
            }
        }
    }

    #[test]
    fn mentions_cover_words() {
        for index in 0..100 {
            let message = sample(index, Size { bytes: 1024, blob_percent: 75, letter: false });
            for mention in &message.mentions {
                let start = mention.start as usize;
                let word = &message.body.text()[start..start + mention.length as usize];
                assert!(WORDS.contains(&word), "{word}");
            }
        }
    }

    #[test]
    fn inputs_differ() {
        for (blob_percent, letter) in [(75, false), (0, true)] {
            let size = Size { bytes: 8192, blob_percent, letter };
            assert!(sample(0, size) != sample(1, size));
        }
    }

    /// Peers in other languages that produce these digests build the same messages.
    #[test]
    fn raw_fields_have_the_digests_of_the_specification() {
        let specification = include_str!("../../../docs/spec/bench-peer.md");
        let (small, large) = ((8192, "8,192"), (262_144, "262,144"));
        for (index, (bytes, written), blob_percent, text) in [
            (0, small, 0, "words"),
            (0, small, 75, "words"),
            (15, large, 75, "words"),
            (0, small, 0, "letter"),
            (15, large, 0, "letter"),
        ] {
            let letter = text == "letter";
            let raw = sample(index, Size { bytes, blob_percent, letter }).raw();
            let hex = |byte: &u8| format!("{byte:02x}");
            let digest: String = digest(&SHA256, &raw).as_ref().iter().map(hex).collect();
            let row = format!("| {index} | {written} | {blob_percent} | {text} | `{digest}` |\n");
            assert!(specification.contains(&row), "{row}");
        }
    }
}
