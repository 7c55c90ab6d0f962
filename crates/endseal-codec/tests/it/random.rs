//! Random messages within the bounds, and mutants of encodings. They depend only on a seed, so that
//! a failure can be repeated.

use endseal_codec::{
    Attachment, BlobReference, Body, Content, Edit, FileAnswer, FileEnd, FileOffer, Mention,
    Message, Metadata, Reaction, Receipt, ReceiptKind, RevokeNotice, RichMessage, ShareNotice,
    Source, Typing, Verdict,
};

/// The pseudorandom generator SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn size(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Returns a number of any magnitude.
    fn number(&mut self) -> u64 {
        let shift = self.below(65);
        self.next().checked_shr(shift as u32).unwrap_or(0)
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        core::array::from_fn(|_| self.next() as u8)
    }

    /// Returns a length within the bounds, which is seldom long.
    fn len(&mut self, min: usize, max: usize) -> usize {
        let max = if self.below(16) == 0 { max } else { max.min(min + 12) };
        min + self.size(max - min + 1)
    }

    fn bytes(&mut self, min: usize, max: usize) -> Box<[u8]> {
        (0..self.len(min, max)).map(|_| self.next() as u8).collect()
    }

    /// Returns a text of `min` to `max` bytes, with characters of all lengths.
    fn text(&mut self, min: usize, max: usize) -> Box<str> {
        let target = self.len(min, max);
        let mut text = String::new();
        while text.len() < target {
            let c = ['a', '\0', '\u{e9}', '\u{4f60}', '\u{1f44d}'][self.size(5)];
            let c = if text.len() + c.len_utf8() <= target { c } else { 'z' };
            text.push(c);
        }
        text.into()
    }

    fn list<T>(&mut self, min: usize, max: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let max = if self.below(64) == 0 { max } else { max.min(3) };
        (0..min + self.size(max - min + 1)).map(|_| one(self)).collect()
    }

    fn some<T>(&mut self, one: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.below(2) == 0 { None } else { Some(one(self)) }
    }

    fn body(&mut self) -> Body {
        let text = self.text(0, 3_000);
        if self.below(2) == 0 { Body::Text(text) } else { Body::Markdown(text) }
    }

    fn blob(&mut self) -> BlobReference {
        BlobReference {
            digest: self.array(),
            location: self.text(1, 1024),
            wrapped_key: self.bytes(0, 256),
        }
    }

    fn attachment(&mut self) -> Attachment {
        Attachment {
            name: self.text(1, 255),
            media_type: self.text(0, 127),
            size: self.number(),
            source: if self.below(2) == 0 {
                Source::Inline(self.bytes(0, 3_000))
            } else {
                Source::Referenced(Box::new(self.blob()))
            },
        }
    }

    fn metadata(&mut self) -> Metadata {
        let mut metadata = Metadata::default();
        for _ in 0..self.list(0, 32, |_| ()).len() {
            let (key, value) = (self.text(1, 64), self.bytes(0, 4096));
            metadata.insert(&key, value);
        }
        metadata
    }

    fn rich(&mut self) -> RichMessage {
        RichMessage {
            id: self.array(),
            conversation: self.bytes(1, 64),
            sender: self.array(),
            timestamp: self.number(),
            body: self.some(Self::body),
            attachments: self.list(0, 32, Self::attachment),
            reactions: self.list(0, 256, |random| Reaction {
                sender: random.array(),
                emoji: random.text(1, 64),
                timestamp: random.number(),
            }),
            mentions: self.list(0, 256, |random| Mention {
                peer: random.array(),
                start: random.number() as u32,
                length: random.number() as u32,
            }),
            reply_to: self.some(Self::array),
            edits: self
                .list(0, 32, |random| Edit { timestamp: random.number(), body: random.body() }),
            metadata: self.metadata(),
            ..RichMessage::default()
        }
    }

    pub(crate) fn message(&mut self) -> Message {
        Message::from(match self.below(12) {
            0 => Content::Receipt(Receipt {
                conversation: self.bytes(1, 64),
                sender: self.array(),
                kind: ReceiptKind::from_value(self.number() as u32 >> 1).unwrap(),
                messages: self.list(1, 1024, Self::array),
                timestamp: self.number(),
                ..Receipt::default()
            }),
            1 => Content::Typing(Typing {
                conversation: self.bytes(1, 64),
                sender: self.array(),
                active: self.below(2) == 0,
                timestamp: self.number(),
                ..Typing::default()
            }),
            2 => Content::Share(ShareNotice {
                group: self.bytes(1, 64),
                epoch: self.number(),
                sender: self.array(),
                name: self.text(1, 255),
                size: self.number(),
                object: self.blob(),
                timestamp: self.number(),
                ..ShareNotice::default()
            }),
            3 => Content::Revoke(RevokeNotice {
                group: self.bytes(1, 64),
                epoch: self.number(),
                sender: self.array(),
                removed: self.list(1, 1024, Self::array),
                timestamp: self.number(),
                ..RevokeNotice::default()
            }),
            4 => Content::FileOffer(FileOffer {
                transfer: self.array(),
                name: self.text(1, 255),
                size: self.some(Self::number),
                timestamp: self.number(),
                ..FileOffer::default()
            }),
            5 => Content::FileAnswer(FileAnswer {
                transfer: self.array(),
                verdict: Verdict::from_value(self.below(8) as u32).unwrap(),
                ..FileAnswer::default()
            }),
            6 => Content::FileEnd(FileEnd {
                transfer: self.array(),
                size: self.number(),
                digest: self.array(),
                ..FileEnd::default()
            }),
            _ => Content::Rich(self.rich()),
        })
    }

    /// Returns a changed copy of `bytes`, with flipped bits, cuts, pieces of itself or of `other`,
    /// or large lengths.
    pub(crate) fn mutant(&mut self, bytes: &[u8], other: &[u8]) -> Vec<u8> {
        let mut mutant = bytes.to_vec();
        for _ in 0..1 + self.below(3) {
            let at = self.size(mutant.len() + 1);
            let piece = self.size(other.len() + 1);
            let piece = &other[piece..other.len().min(piece + self.size(40))];
            match self.below(7) {
                0 => mutant.truncate(at),
                1 => mutant.splice(at..at, piece.iter().copied()).for_each(drop),
                2 => {
                    let end = mutant.len().min(at + piece.len());
                    mutant.splice(at..end, piece.iter().copied()).for_each(drop);
                }
                3 if at < mutant.len() => {
                    mutant[at] = mutant[at].wrapping_add(1 + self.next() as u8 % 8)
                }
                4 if at < mutant.len() => {
                    // A large varint, up to the largest, replaces a byte that may be a length.
                    let len = 1 + self.size(9);
                    let large = [vec![0xff; len], vec![self.next() as u8 % 0x80]].concat();
                    mutant.splice(at..=at, large).for_each(drop);
                }
                5 => {
                    let end = mutant.len().min(at + self.size(9));
                    mutant.drain(at..end).for_each(drop);
                }
                _ if at < mutant.len() => mutant[at] ^= 1 << self.below(8),
                _ => {}
            }
        }
        mutant
    }
}
