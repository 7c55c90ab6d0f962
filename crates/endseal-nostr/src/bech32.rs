//! Bech32 (BIP-173) with up to 5,000 characters, as NIP-19 has it.
//!
//! Secret keys pass through here: no step depends on the values of the characters behind the
//! prefix, except by the verdict at the end.

use core::fmt;

use endseal_crypto::bech32::{self, CHECKSUM_LEN, Case, DecodeError, Encoder, Variant};

use crate::output::{Output, OutputTooSmall, Sink as _};

/// Most characters of a text (NIP-19).
pub const MAX_LEN: usize = 5_000;

/// Cause why a text is not bech32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bech32Error {
    /// The text has more than [`MAX_LEN`] characters or too few, or another number than a key.
    Length,
    /// The text has no separator `1`, or the part before it is empty or has other characters than
    /// ASCII letters.
    Prefix,
    /// A character behind the separator is none of the 32, or upper and lower case are mixed.
    Character,
    /// The checksum is wrong: a typing error, or another format (bech32m).
    Checksum,
    /// The bits that fill the last character are more than four or not 0.
    Padding,
    /// The buffer is too small.
    Output(OutputTooSmall),
}

impl fmt::Display for Bech32Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "the text has a wrong length",
            Self::Prefix => "the text has no prefix",
            Self::Character => "the text has a character that is not allowed",
            Self::Checksum => "the checksum of the text is wrong",
            Self::Padding => "the text ends with bits that are not 0",
            Self::Output(error) => return error.fmt(f),
        })
    }
}

impl core::error::Error for Bech32Error {}

/// The part before the separator, as it is written.
///
/// # Errors
/// [`Bech32Error::Prefix`].
pub(crate) fn prefix(text: &str) -> Result<&str, Bech32Error> {
    // The first `1`, as no prefix of ours has one: the search ends before the data begin.
    match text.split_once('1') {
        Some((prefix, _))
            if !prefix.is_empty() && prefix.bytes().all(|b| b.is_ascii_alphabetic()) =>
        {
            Ok(prefix)
        }
        _ => Err(Bech32Error::Prefix),
    }
}

/// Decodes the data behind the prefix to the front of `out`.
///
/// # Errors
/// [`Bech32Error`]; `out` then has nothing of the data.
pub(crate) fn decode<'o>(text: &str, out: &'o mut [u8]) -> Result<&'o mut [u8], Bech32Error> {
    if text.len() > MAX_LEN {
        return Err(Bech32Error::Length);
    }
    let prefix = prefix(text)?;
    let data = &text.as_bytes()[prefix.len() + 1..];
    let values = data.len().checked_sub(CHECKSUM_LEN).ok_or(Bech32Error::Length)?;
    let needed = values * 5 / 8;
    let Some(out) = out.get_mut(..needed) else {
        return Err(Bech32Error::Output(OutputTooSmall { needed }));
    };
    let is_upper = prefix.starts_with(|c: char| c.is_ascii_uppercase());
    let case = if is_upper { Case::Upper } else { Case::Lower };
    if !prefix.bytes().all(|c| case.allows(c)) {
        return Err(Bech32Error::Character);
    }
    match bech32::decode(Variant::Bech32, case, prefix, data, out) {
        Ok(()) => Ok(out),
        Err(DecodeError::Length) => Err(Bech32Error::Length),
        Err(DecodeError::Character(_)) => Err(Bech32Error::Character),
        Err(DecodeError::Checksum) => Err(Bech32Error::Checksum),
        Err(DecodeError::Padding) => Err(Bech32Error::Padding),
    }
}

/// Starts a text with a prefix of lower-case letters.
pub(crate) fn encoder(prefix: &str, out: &mut Output<'_>) -> Encoder<impl FnMut(u8)> {
    Encoder::new(Variant::Bech32, Case::Lower, prefix, |character| out.put(&[character]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(prefix: &str, data: &[u8]) -> String {
        let mut buffer = vec![0; MAX_LEN + 10];
        let mut out = Output::new(&mut buffer);
        let mut encoder = encoder(prefix, &mut out);
        encoder.put(data);
        encoder.finish();
        out.finish_text().unwrap().to_owned()
    }

    fn decoded(text: &str) -> Result<Vec<u8>, Bech32Error> {
        decode(text, &mut [0; 4_000]).map(|data| data.to_vec())
    }

    #[test]
    fn letters_are_of_one_case() {
        let text = encoded("note", &[7; 32]);
        assert_eq!(decoded(&text), Ok(vec![7; 32]));
        assert_eq!(decoded(&text.to_uppercase()), Ok(vec![7; 32]));
        let mut mixed = text.clone().into_bytes();
        let at = mixed.iter().rposition(u8::is_ascii_lowercase).unwrap();
        mixed[at].make_ascii_uppercase();
        assert_eq!(decoded(str::from_utf8(&mixed).unwrap()), Err(Bech32Error::Character));
        assert_eq!(decoded(&text.replace("note", "NOTE")), Err(Bech32Error::Character));
        assert_eq!(decoded(&text.replace("note", "Note")), Err(Bech32Error::Character));
        assert_eq!(decoded("note1é"), Err(Bech32Error::Length));
        assert_eq!(decoded("note1éééééé"), Err(Bech32Error::Character));
    }

    #[test]
    fn bech32m_and_other_prefixes_are_refused() {
        assert_eq!(decoded("a12uel5l"), Ok(vec![]));
        assert_eq!(decoded("a1lqfn3a"), Err(Bech32Error::Checksum));
        let text = encoded("nsec", &[0x5a; 32]);
        assert_eq!(decoded(&text.replace("nsec", "npub")), Err(Bech32Error::Checksum));
    }

    #[test]
    fn texts_without_a_prefix_or_a_checksum_are_refused() {
        for text in
            ["", "1", "1qqqqqq", "note", "no te1qqqqqq", "no-te1qqqqqq", "é1qqqqqq", "41qqq"]
        {
            assert_eq!(decoded(text), Err(Bech32Error::Prefix), "{text}");
        }
        for text in ["note1", "note1qqqqq"] {
            assert_eq!(decoded(text), Err(Bech32Error::Length), "{text}");
        }
    }

    #[test]
    fn length_is_bounded() {
        // 3,119 bytes take 4,991 characters.
        let text = |prefix| encoded(prefix, &[0; 3_119]);
        assert_eq!(text("ab").len(), MAX_LEN);
        assert!(decoded(&text("ab")).is_ok());
        assert_eq!(decoded(&text("abc")), Err(Bech32Error::Length));
    }

    #[test]
    fn a_buffer_that_is_too_small_is_an_error_and_a_failure_leaves_nothing() {
        let text = encoded("note", &[7; 32]);
        let error = Bech32Error::Output(OutputTooSmall { needed: 32 });
        assert_eq!(decode(&text, &mut [0; 31]), Err(error));
        let mut out = [0xee; 33];
        let last = text.len() - 1;
        let end = if text.ends_with('q') { "p" } else { "q" };
        let text = format!("{}{end}", &text[..last]);
        assert_eq!(decode(&text, &mut out), Err(Bech32Error::Checksum));
        assert_eq!(out[..32], [0; 32]);
        let mut buffer = [0; 62];
        let mut out = Output::new(&mut buffer);
        let mut encoder = encoder("nsec", &mut out);
        encoder.put(&[1; 32]);
        encoder.finish();
        assert_eq!(out.finish_text(), Err(OutputTooSmall { needed: 63 }));
        assert_eq!(buffer, [0; 62]);
    }
}
