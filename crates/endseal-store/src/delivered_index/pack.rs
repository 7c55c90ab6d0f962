//! Tombstones of messages that were delivered together, one after the other
//! (docs/spec/store.md, "Packs").

use crate::limits::MAX_NAME_LEN;
use crate::varint;

/// Messages of one pack at most.
pub(crate) const MAX_LEN: usize = 4_096;

/// One message of a pack. Its number follows from its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark<'a> {
    pub(crate) conversation: i64,
    pub(crate) message: &'a [u8],
    pub(crate) digest: &'a [u8; 16],
}

/// Appends a message. Its id has 1 to [`MAX_NAME_LEN`] bytes, and numbers of conversations are
/// positive.
pub(crate) fn push(pack: &mut Vec<u8>, mark: Mark<'_>) {
    varint::push(pack, mark.conversation.cast_unsigned());
    let [len, ..] = mark.message.len().to_le_bytes();
    pack.push(len);
    pack.extend_from_slice(mark.message);
    pack.extend_from_slice(mark.digest);
}

/// The first message of what is left of a pack; none if it does not begin with one.
pub(crate) fn next<'a>(rest: &mut &'a [u8]) -> Option<Mark<'a>> {
    let mut after = *rest;
    let conversation = varint::next(&mut after).filter(|number| *number > 0)?.cast_signed();
    let (&len, after) = after.split_first()?;
    let len = usize::from(len);
    if !(1..=MAX_NAME_LEN).contains(&len) {
        return None;
    }
    let (message, after) = after.split_at_checked(len)?;
    let (digest, after) = after.split_first_chunk()?;
    *rest = after;
    Some(Mark { conversation, message, digest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_pushed_comes_out_and_nothing_else_is_a_pack() {
        let mut pack = Vec::new();
        let marks = [(1, 1), (127, 16), (128, 63), (16_384, 64), (i64::MAX, 2)];
        for (conversation, len) in marks {
            let message = &[7; MAX_NAME_LEN][..len];
            push(&mut pack, Mark { conversation, message, digest: &[9; 16] });
        }
        let mut rest = &pack[..];
        for (conversation, len) in marks {
            let mark = next(&mut rest).unwrap();
            assert_eq!((mark.conversation, mark.message.len()), (conversation, len));
            assert_eq!((mark.message[0], mark.digest), (7, &[9; 16]));
        }
        assert!(rest.is_empty());
        // Cut anywhere but between two, it is none.
        let mut whole = 0;
        for end in 0..pack.len() {
            let mut rest = &pack[..end];
            while !rest.is_empty() && next(&mut rest).is_some() {}
            whole += usize::from(rest.is_empty());
        }
        assert_eq!(whole, marks.len());
    }

    #[test]
    fn other_encodings_are_refused() {
        let good = [&[1, 1, 7][..], &[9; 16]].concat();
        assert!(next(&mut &good[..]).is_some());
        for (head, what) in [
            (&[0, 1, 7][..], "no conversation"),
            (&[0x81, 0, 1, 7], "a number that is longer than it need be"),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 7], "too high a number"),
            (&[1, 0], "an empty id"),
        ] {
            let bad = [head, &[9; 16]].concat();
            assert!(next(&mut &bad[..]).is_none(), "{what}");
        }
        let long = [&[1, 65][..], &[7; 65], &[9; 16]].concat();
        assert!(next(&mut &long[..]).is_none());
    }
}
