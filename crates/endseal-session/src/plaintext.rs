//! Head of every pairwise plaintext, which states for which kind of message the text was encrypted.

use alloc::vec::Vec;

use zeroize::Zeroizing;

use crate::binding::Binding;

const PLAIN: u8 = 0;
const BOUND: u8 = 1;

/// Head before the text in a pairwise plaintext (docs/spec/session.md, "Plaintexts").
///
/// The MAC of a ratchet covers the plaintext, but not the kind of the message around it, which the
/// delivery service could change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "the heads of the format")]
pub enum PlaintextHead {
    /// `00`, in a message of kind 2.
    Plain,
    /// `01 || binding`, in a message of kind 1.
    Bound(Binding),
}

impl PlaintextHead {
    /// Length of the longest head, in bytes.
    pub const MAX_LEN: usize = 1 + Binding::LEN;

    /// Returns `head || text`.
    #[must_use]
    pub fn before(&self, text: &[u8]) -> Zeroizing<Vec<u8>> {
        let mut plaintext = Zeroizing::new(Vec::with_capacity(self.len() + text.len()));
        match self {
            Self::Plain => plaintext.push(PLAIN),
            Self::Bound(binding) => {
                plaintext.push(BOUND);
                plaintext.extend_from_slice(binding.as_bytes());
            }
        }
        plaintext.extend_from_slice(text);
        plaintext
    }

    /// Returns true if an authenticated plaintext starts with this head. The caller MUST refuse
    /// every other plaintext as an authentication error.
    #[must_use]
    pub fn is_before(&self, plaintext: &[u8]) -> bool {
        match (self, plaintext.split_first()) {
            (Self::Plain, Some((&PLAIN, _))) => true,
            (Self::Bound(binding), Some((&BOUND, rest))) => rest.starts_with(binding.as_bytes()),
            _ => false,
        }
    }

    /// Returns the text after this head; `None` if the plaintext does not start with it.
    #[must_use]
    pub fn strip(&self, mut plaintext: Zeroizing<Vec<u8>>) -> Option<Zeroizing<Vec<u8>>> {
        if !self.is_before(&plaintext) {
            return None;
        }
        plaintext.drain(..self.len());
        Some(plaintext)
    }

    fn len(&self) -> usize {
        match self {
            Self::Plain => 1,
            Self::Bound(_) => Self::MAX_LEN,
        }
    }
}
