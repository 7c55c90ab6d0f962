//! Lengths and vectors of messages (RFC 9420, section 2.1.2).

/// Longest group id, in bytes (docs/spec/session.md, "Conversations").
pub const MAX_GROUP_ID_LEN: usize = 63;
/// Longest message, in bytes (docs/spec/session.md, "Messages").
pub(super) const MAX_MESSAGE: usize = 1 << 20;

/// Reads a vector, whose length field must be in its shortest form (RFC 9420, section 2.1.2).
pub(super) fn vector<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let first = *rest.first()?;
    let width = 1_usize << (first >> 6);
    let (length, after) = match width {
        1 | 2 | 4 => rest.split_at_checked(width)?,
        _ => return None,
    };
    let length = length
        .iter()
        .skip(1)
        .fold(usize::from(first & 0x3f), |length, byte| length << 8 | usize::from(*byte));
    let shortest = match width {
        1 => 0,
        2 => 1 << 6,
        _ => 1 << 14,
    };
    if length < shortest {
        return None;
    }
    let (vector, after) = after.split_at_checked(length)?;
    *rest = after;
    Some(vector)
}
