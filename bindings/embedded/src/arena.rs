//! The scratch memory of a context: 8 KiB and 16 KiB, as the buffers of the published baseline.

use endseal_crypto::secret::wipe;

use crate::status::Failure;

/// Bytes of the part for plaintexts.
pub(crate) const SMALL: usize = 8192;
/// Bytes of the part for payloads and events.
pub(crate) const LARGE: usize = 16384;

/// Scratch memory. It is all zero between calls.
#[repr(C)]
pub(crate) struct Arena {
    small: [u8; SMALL],
    large: [u8; LARGE],
    small_used: usize,
    large_used: usize,
}

impl Arena {
    /// Copies `bytes` to the front of the large part.
    pub(crate) fn copy(&mut self, bytes: &[u8]) -> Result<&mut [u8], Failure> {
        let copy = self.large.get_mut(..bytes.len()).ok_or(Failure::Length)?;
        copy.copy_from_slice(bytes);
        self.large_used = self.large_used.max(bytes.len());
        Ok(copy)
    }

    /// Both parts, whole.
    pub(crate) fn parts(&mut self) -> (&mut [u8], &mut [u8]) {
        self.small_used = SMALL;
        self.large_used = LARGE;
        (&mut self.small, &mut self.large)
    }

    /// Wipes all bytes that were in use since the last call of this function.
    pub(crate) fn wipe(&mut self) {
        wipe(self.small.get_mut(..self.small_used).unwrap_or_default());
        wipe(self.large.get_mut(..self.large_used).unwrap_or_default());
        (self.small_used, self.large_used) = (0, 0);
    }
}
