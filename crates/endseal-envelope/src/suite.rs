//! The suites and the lengths that they give a slot.

/// Length of a slot's tag in bytes.
pub(crate) const TAG_LEN: usize = 4;

/// Encryption of the content key to each recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Suite {
    /// X25519; 36 bytes a recipient.
    X25519,
    /// X25519 with a 16-byte seed; 20 bytes a recipient.
    X25519Compact,
    /// X25519 and ML-KEM-768; 1,124 bytes a recipient. Secret while either scheme holds.
    X25519MlKem768,
}

impl Suite {
    pub(crate) const fn id(self) -> u8 {
        match self {
            Self::X25519 => 1,
            Self::X25519Compact => 2,
            Self::X25519MlKem768 => 3,
        }
    }

    pub(crate) const fn from_id(id: u8) -> Option<Self> {
        match id {
            1 => Some(Self::X25519),
            2 => Some(Self::X25519Compact),
            3 => Some(Self::X25519MlKem768),
            _ => None,
        }
    }

    /// The name that the specification uses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::X25519 => "x25519",
            Self::X25519Compact => "x25519-compact",
            Self::X25519MlKem768 => "x25519-mlkem768",
        }
    }

    /// Bytes of key material in a slot.
    pub(crate) const fn material_len(self) -> usize {
        match self {
            Self::X25519 | Self::X25519MlKem768 => 32,
            Self::X25519Compact => 16,
        }
    }

    /// Bytes of a slot's body.
    pub(crate) const fn body_len(self) -> usize {
        match self {
            Self::X25519 | Self::X25519Compact => self.material_len(),
            Self::X25519MlKem768 => endseal_crypto::mlkem768::CIPHERTEXT_LEN + self.material_len(),
        }
    }

    /// Bytes that one recipient adds to an envelope.
    #[must_use]
    pub const fn slot_len(self) -> usize {
        TAG_LEN + self.body_len()
    }
}
