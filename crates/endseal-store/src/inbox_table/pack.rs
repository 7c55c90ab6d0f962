//! Messages in plaintext that lie in one row (docs/spec/store.md, "Packs of the inbox").

use crate::limits::{MAX_BODY_LEN, MAX_NAME_LEN};
use crate::varint;

/// Most bytes of a pack of several messages: what a page takes without another one. Longer is only
/// a pack of one message.
pub(crate) const MAX_LEN: usize = 4_000;

/// A number other than that of the message before, plus one, comes first.
const GAP: u8 = 1;
/// Conversation, sender and kind are not those of the message before, and come next.
const ORIGIN: u8 = 2;

/// Fields that messages which follow each other often share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// From 1 to 2^63 - 1, as the sender is.
    pub(crate) conversation: i64,
    pub(crate) sender: i64,
    pub(crate) kind: u8,
}

/// One message of a pack.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub(crate) struct Packed<'a> {
    pub(crate) seq: u64,
    pub(crate) origin: Origin,
    pub(crate) message: &'a [u8],
    pub(crate) plaintext: &'a [u8],
}

/// Values of the message before, relative to which the next message of a pack is encoded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before(Option<(u64, Origin)>);

impl Packed<'_> {
    /// Greatest number of bytes that a message of these lengths takes in a pack.
    pub(crate) const fn most(message: usize, plaintext: usize) -> usize {
        1 + 3 * varint::MAX_LEN + 1 + 1 + message + varint::MAX_LEN + plaintext
    }

    /// Appends the message, which has a higher number than the one before, an id of 1 to
    /// [`MAX_NAME_LEN`] bytes and a plaintext of at most [`MAX_BODY_LEN`].
    pub(crate) fn push(&self, before: &mut Before, pack: &mut Vec<u8>) {
        let (gap, origin) = match before.0 {
            // The row has the number of its first message.
            None => (0, true),
            Some((seq, origin)) => (self.seq.saturating_sub(seq + 1), origin != self.origin),
        };
        before.0 = Some((self.seq, self.origin));
        let mut flags = 0;
        if gap > 0 {
            flags |= GAP;
        }
        if origin {
            flags |= ORIGIN;
        }
        pack.push(flags);
        if gap > 0 {
            varint::push(pack, gap);
        }
        if origin {
            varint::push(pack, self.origin.conversation.cast_unsigned());
            varint::push(pack, self.origin.sender.cast_unsigned());
            pack.push(self.origin.kind);
        }
        let [len, ..] = self.message.len().to_le_bytes();
        pack.push(len);
        pack.extend_from_slice(self.message);
        varint::push(pack, self.plaintext.len() as u64);
        pack.extend_from_slice(self.plaintext);
    }
}

/// The messages of a row. After something that is no message comes nothing, and [`Self::is_whole`]
/// is not true.
pub(crate) struct Messages<'a> {
    first: u64,
    rest: &'a [u8],
    before: Before,
    is_whole: bool,
}

impl<'a> Messages<'a> {
    pub(crate) fn new(first: u64, pack: &'a [u8]) -> Self {
        let limit = Packed::most(MAX_NAME_LEN, MAX_BODY_LEN);
        let is_whole = first > 0 && !pack.is_empty() && pack.len() <= limit;
        Self { first, rest: if is_whole { pack } else { &[] }, before: Before(None), is_whole }
    }

    /// Returns true if the part that was read is well-formed and not empty.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn read(&mut self) -> Option<Packed<'a>> {
        let rest = &mut self.rest;
        let long = rest.len() > MAX_LEN;
        let flags = byte(rest)?;
        if flags & !(GAP | ORIGIN) != 0 {
            return None;
        }
        let gap = if flags & GAP == 0 { 0 } else { varint::next(rest).filter(|gap| *gap > 0)? };
        let shown = if flags & ORIGIN == 0 { None } else { Some(origin(rest)?) };
        let (seq, origin) = match (self.before.0, shown) {
            (None, Some(origin)) if gap == 0 => (self.first, origin),
            (Some((seq, origin)), None) => (seq.checked_add(1)?.checked_add(gap)?, origin),
            (Some((seq, origin)), Some(shown)) if shown != origin => {
                (seq.checked_add(1)?.checked_add(gap)?, shown)
            }
            _ => return None,
        };
        if i64::try_from(seq).is_err() {
            return None;
        }
        let len = usize::from(byte(rest)?);
        if !(1..=MAX_NAME_LEN).contains(&len) {
            return None;
        }
        let message = take(rest, len)?;
        let len = usize::try_from(varint::next(rest)?).ok().filter(|len| *len <= MAX_BODY_LEN)?;
        let plaintext = take(rest, len)?;
        if long && !(self.before.0.is_none() && rest.is_empty()) {
            return None;
        }
        self.before.0 = Some((seq, origin));
        Some(Packed { seq, origin, message, plaintext })
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Packed<'a>;

    fn next(&mut self) -> Option<Packed<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let message = self.read();
        if message.is_none() {
            self.is_whole = false;
            self.rest = &[];
        }
        message
    }
}

fn origin(rest: &mut &[u8]) -> Option<Origin> {
    let conversation = reference(rest)?;
    let sender = reference(rest)?;
    Some(Origin { conversation, sender, kind: byte(rest)? })
}

fn reference(rest: &mut &[u8]) -> Option<i64> {
    varint::next(rest).filter(|reference| *reference > 0).map(u64::cast_signed)
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (byte, after) = rest.split_first()?;
    *rest = after;
    Some(*byte)
}

fn take<'a>(rest: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(taken)
}

#[cfg(test)]
mod tests;
