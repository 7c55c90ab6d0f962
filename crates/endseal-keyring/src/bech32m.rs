//! Bech32m (BIP-350) for payloads of a known length, in one case only.

use alloc::string::String;

use endseal_crypto::bech32::{self, CHECKSUM_LEN, Encoder, Variant};
pub(crate) use endseal_crypto::bech32::{Case, data_len};

/// Reason why a text is not the encoding of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecodeError {
    /// A letter has the other case.
    Case,
    /// Position of a character that is not of the alphabet.
    Character(usize),
    Checksum,
    /// The text has another number of characters than the form.
    Length,
    /// Bits beyond the payload are set.
    Padding,
}

/// Bytes of the payload of an encoding of `data` characters without the prefix. `None` if no
/// payload has that many.
pub(crate) fn payload_len(data: usize) -> Option<usize> {
    let len = data.checked_sub(CHECKSUM_LEN)? * 5 / 8;
    (data_len(len) == data).then_some(len)
}

/// Returns the whole text of a payload. `prefix` is in lower case and without the separator.
pub(crate) fn encode(prefix: &str, payload: &[u8], case: Case) -> String {
    // Never reallocated, so that no copy of a secret stays behind.
    let mut text = String::with_capacity(prefix.len() + 1 + data_len(payload.len()));
    let put = |character| text.push(char::from(character));
    let mut encoder = Encoder::new(Variant::Bech32m, case, prefix, put);
    encoder.put(payload);
    encoder.finish();
    text
}

/// Decodes data part and checksum into `payload`, whose length is that of the form.
///
/// # Errors
/// [`DecodeError`]; `payload` then has nothing of the text.
pub(crate) fn decode(
    prefix: &str,
    data: &str,
    case: Case,
    payload: &mut [u8],
) -> Result<(), DecodeError> {
    if let Some((at, c)) = data.bytes().enumerate().find(|(_, c)| !case.allows(*c)) {
        let letter = c.is_ascii_alphabetic();
        return Err(if letter { DecodeError::Case } else { DecodeError::Character(at) });
    }
    if data.len() != data_len(payload.len()) {
        return Err(DecodeError::Length);
    }
    let decoded = bech32::decode(Variant::Bech32m, case, prefix, data.as_bytes(), payload);
    decoded.map_err(|error| match error {
        bech32::DecodeError::Length => DecodeError::Length,
        bech32::DecodeError::Character(at) => DecodeError::Character(at),
        bech32::DecodeError::Checksum => DecodeError::Checksum,
        bech32::DecodeError::Padding => DecodeError::Padding,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_other_forms_come_before_the_length_and_others_behind_it() {
        let text = encode("test", &[0xa5; 32], Case::Lower);
        let data = text.strip_prefix("test1").unwrap();
        let decode = |data: &str| decode("test", data, Case::Lower, &mut [0; 32]);
        assert_eq!(decode(data), Ok(()));
        assert_eq!(decode(&data[1..]), Err(DecodeError::Length));
        assert_eq!(decode(&[data, "\n"].concat()), Err(DecodeError::Character(data.len())));
        assert_eq!(decode(&[data, "Q"].concat()), Err(DecodeError::Case));
        assert_eq!(decode(&[data, "b"].concat()), Err(DecodeError::Length));
        assert_eq!(decode(&["b", &data[1..]].concat()), Err(DecodeError::Character(0)));
        // BIP-173, without the m.
        let bech32 = super::decode("a", "2uel5l", Case::Lower, &mut []);
        assert_eq!(bech32, Err(DecodeError::Checksum));
    }

    #[test]
    fn payloads_have_one_length() {
        for len in 0..70 {
            assert_eq!(payload_len(data_len(len)), Some(len));
        }
        for data in [0, 5, 7, 9, 12] {
            assert_eq!(payload_len(data), None);
        }
    }
}
