//! "Copy of the header": the end of every object that has a body, so that its bytes and the
//! provider are enough to open it.

use super::{Header, MAX_HEADER};
use crate::AuthenticationFailed;
use crate::size::HEADER_COPY_LEN;

/// Last bytes of an object: a name that is found without a key, and the version.
const MAGIC: [u8; 8] = *b"endseal\x01";
const LENGTH_LEN: usize = 2;

const _: () = assert!(HEADER_COPY_LEN == MAX_HEADER + LENGTH_LEN + MAGIC.len());

impl Header {
    /// `header || zeros || u16(|header|) || magic`: the last bytes of the object.
    #[must_use]
    pub fn to_copy(&self) -> [u8; HEADER_COPY_LEN] {
        let mut out = [0; HEADER_COPY_LEN];
        let header = self.to_bytes();
        // The longest header fits, and its length is below 2^16.
        let [.., high, low] = header.len().to_be_bytes();
        let (front, end) = out.split_at_mut(MAX_HEADER);
        if let Some(place) = front.get_mut(..header.len()) {
            place.copy_from_slice(&header);
        }
        end.copy_from_slice(&[&[high, low][..], &MAGIC].concat());
        out
    }

    /// Returns true if an object with these last bytes has a copy of a header, which need not be
    /// authentic. Everything else was never sealed, or was cut.
    #[must_use]
    pub fn has_copy(end: &[u8]) -> bool {
        end.len() >= HEADER_COPY_LEN && end.ends_with(&MAGIC)
    }

    /// Parses the copy in the last bytes of an object, of which at least [`HEADER_COPY_LEN`] must
    /// be given.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] for everything that [`to_copy`](Self::to_copy) does not write.
    pub fn parse_copy(end: &[u8]) -> Result<Self, AuthenticationFailed> {
        let copy: &[u8; HEADER_COPY_LEN] = end.last_chunk().ok_or(AuthenticationFailed)?;
        let (before, magic) = copy.split_last_chunk().ok_or(AuthenticationFailed)?;
        let (before, length) =
            before.split_last_chunk::<LENGTH_LEN>().ok_or(AuthenticationFailed)?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (header, zeros) = before.split_at_checked(length).ok_or(AuthenticationFailed)?;
        if *magic != MAGIC || zeros.iter().any(|byte| *byte != 0) {
            return Err(AuthenticationFailed);
        }
        Self::from_bytes(header)
    }

    /// Returns true if another header is one of the same object: under any key of the provider,
    /// and for any place.
    #[must_use]
    pub fn is_of_same_object(&self, other: &Self) -> bool {
        other.form == self.form
            && other.plaintext_len == self.plaintext_len
            && other.salt == self.salt
            && other.commitment == self.commitment
    }

    /// Parses the copy in the last bytes of an object, which must be one of a header of this
    /// object.
    pub(crate) fn same_object(&self, end: &[u8]) -> Result<Self, AuthenticationFailed> {
        let copy = Self::parse_copy(end)?;
        if self.is_of_same_object(&copy) { Ok(copy) } else { Err(AuthenticationFailed) }
    }
}
