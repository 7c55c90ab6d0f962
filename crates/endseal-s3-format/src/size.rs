//! "Sizes" of the specification: one function for both forms, and its inverse.

use endseal_crypto::segment::{CHUNK_LEN, SALT_LEN, SEALED_CHUNK_LEN, TAG_LEN, chunks_len};

/// Content of a part that is not the last, at least: 5 MiB.
pub const MIN_PART: u64 = 5 << 20;
/// Parts of an object at most, and the greatest part number.
pub const MAX_PARTS: u16 = 10_000;
/// Content of an object at most: 5 TiB.
pub const MAX_CONTENT: u64 = 5 << 40;

const CHUNK: u64 = CHUNK_LEN as u64;
const SEALED_CHUNK: u64 = SEALED_CHUNK_LEN as u64;
const TAG: u64 = TAG_LEN as u64;
const SALT: u64 = SALT_LEN as u64;
/// Length of the tail of a whole object without pad and copy: salt, a record without entries, its
/// tag, length.
pub(super) const SHORT_TAIL: u64 = SHORT_TAIL_LEN as u64;
/// The length [`SHORT_TAIL`] as a `usize`, for arrays and slices.
pub(super) const SHORT_TAIL_LEN: usize = SALT_LEN + 48 + TAG_LEN + 4;
const SLOT: u64 = 80;
const COPY: u64 = HEADER_COPY_LEN as u64;
/// Length in bytes of the copy of the header at the end of an object.
pub const HEADER_COPY_LEN: usize = 689;
/// Bytes that 5 MiB of content add to the length of an object, with their slot.
const SEALED_SLOT: u64 = MIN_PART / CHUNK * SEALED_CHUNK + SLOT;

/// `T(P) = P + 16 chunks(P) + 781 + 80 slots(P)`: the length of the object that holds `plaintext`
/// bytes. `None` beyond [`MAX_CONTENT`].
#[must_use]
pub const fn sealed_len(plaintext: u64) -> Option<u64> {
    if plaintext > MAX_CONTENT {
        return None;
    }
    match chunks_len(plaintext) {
        Some(chunks) => Some(chunks + tail_len_max(plaintext)),
        None => None,
    }
}

/// The P with `T(P) = sealed`: how much content an object of that length holds. `None` if `sealed`
/// is no value of T, which is no object of this format.
#[must_use]
pub const fn plaintext_len(sealed: u64) -> Option<u64> {
    let Some(beyond_empty) = sealed.checked_sub(TAG + SHORT_TAIL + SLOT + COPY) else {
        return None;
    };
    // Whole slots; behind the last one only chunks follow.
    let last_slot = MAX_PARTS as u64 - 1;
    let slots = beyond_empty / SEALED_SLOT;
    let slots = if slots < last_slot { slots } else { last_slot };
    let rest = beyond_empty - slots * SEALED_SLOT;
    // A full chunk's tag would be the next chunk's.
    if rest % SEALED_CHUNK >= CHUNK {
        return None;
    }
    let behind = rest / SEALED_CHUNK * CHUNK + rest % SEALED_CHUNK;
    if slots < last_slot && behind >= MIN_PART {
        return None;
    }
    let plaintext = slots * MIN_PART + behind;
    if plaintext > MAX_CONTENT { None } else { Some(plaintext) }
}

/// `slots(P) = min(floor(P / 5 MiB) + 1, 10000)`: the number of parts that the content can have.
#[must_use]
pub const fn slots(plaintext: u64) -> u64 {
    let slots = plaintext / MIN_PART + 1;
    if slots < MAX_PARTS as u64 { slots } else { MAX_PARTS as u64 }
}

/// The length of a sealed part with that much content: salt and chunks. `None` beyond
/// [`MAX_CONTENT`].
#[must_use]
pub const fn part_len(plaintext: u64) -> Option<u64> {
    if plaintext > MAX_CONTENT {
        return None;
    }
    match chunks_len(plaintext) {
        Some(chunks) => Some(SALT + chunks),
        None => None,
    }
}

/// Returns the length of the content in a sealed part of that length. `None` if no part has that
/// length.
#[must_use]
pub const fn part_plaintext_len(sealed: u64) -> Option<u64> {
    let Some(chunks) = sealed.checked_sub(SALT) else { return None };
    match endseal_crypto::segment::plaintext_len(chunks) {
        Some(plaintext) if plaintext <= MAX_CONTENT => Some(plaintext),
        _ => None,
    }
}

/// Returns the largest length of the tail of an object with that much content: `781 + 80 slots(P)`,
/// which is the length of a whole object's tail.
///
/// As many bytes from the end of a multipart object hold its pad, its record and the copy of its
/// header.
#[must_use]
pub const fn tail_len_max(plaintext: u64) -> u64 {
    SHORT_TAIL + SLOT * slots(plaintext) + COPY
}

#[cfg(test)]
mod tests;
