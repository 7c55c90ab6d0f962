//! base64url (RFC 4648, section 5) without padding, in the one encoding that a value has.
//!
//! Only for public values: its time depends on the value.

use endseal_crypto::base64::URL_SAFE_NO_PAD;

use crate::AuthenticationFailed;

pub(super) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode_to_string(bytes)
}

/// Decodes `text`, if that is `max` bytes at most: padding, other characters and bits set behind
/// the last byte are refused, and so is a longer text, before it is decoded.
pub(super) fn decode(text: &str, max: usize) -> Result<Vec<u8>, AuthenticationFailed> {
    if text.len() > encoded_len(max) {
        return Err(AuthenticationFailed);
    }
    URL_SAFE_NO_PAD.decode_to_vec(text).map_err(|_| AuthenticationFailed)
}

/// Characters for that many bytes.
pub(super) const fn encoded_len(bytes: usize) -> usize {
    (bytes * 4).div_ceil(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_encoding_that_is_written_is_read() {
        for len in 0..70 {
            let bytes: Vec<u8> = (0..len).map(|i: u8| i.wrapping_mul(91) ^ 0xfb).collect();
            let text = encode(&bytes);
            assert_eq!(text.len(), encoded_len(bytes.len()));
            assert_eq!(decode(&text, bytes.len()), Ok(bytes.clone()));
            if len > 0 {
                assert_eq!(decode(&text, bytes.len() - 1), Err(AuthenticationFailed));
            }
        }
        // Padding, the other alphabet, blanks, a length that nothing has, bits behind the last
        // byte.
        for text in
            ["AA==", "AA=", "A", "AAAAA", "A+AA", "A/AA", " AAA", "AAA\n", "AB", "AAB", "\u{e9}"]
        {
            assert_eq!(decode(text, 100), Err(AuthenticationFailed), "{text:?}");
        }
        assert_eq!(decode("-_8", 2), Ok(vec![0xfb, 0xff]));
    }
}
