//! Cipher suites that groups may use.

use mls_rs::CipherSuite;

/// MLS cipher suite. All suites sign with Ed25519, as certificates require.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Suite {
    /// 0x0001: X25519, AES-128-GCM, SHA-256, Ed25519.
    #[default]
    X25519Aes128,
    /// 0x0003: X25519, ChaCha20-Poly1305, SHA-256, Ed25519.
    X25519ChaCha20,
    /// ML-KEM-768 with X25519 (X-Wing), AES-128-GCM, SHA-256, Ed25519, under a private number of
    /// the library. This is a draft: its encoding may change, and other implementations may not
    /// support it.
    #[cfg(feature = "draft-pq")]
    DraftXWingAes128,
    /// ML-KEM-768 only, otherwise like [`Self::DraftXWingAes128`].
    #[cfg(feature = "draft-pq")]
    DraftMlKem768Aes128,
}

impl Suite {
    /// Suites that a device supports by default, without drafts.
    pub const DEFAULT: &'static [Self] = &[Self::X25519Aes128, Self::X25519ChaCha20];

    /// Returns the number of the suite in messages.
    #[must_use]
    pub fn number(self) -> u16 {
        self.to_mls().into()
    }

    /// Returns the suite with this number; `None` if this crate does not support it.
    #[must_use]
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.iter().copied().find(|suite| suite.number() == number)
    }

    const ALL: &'static [Self] = &[
        Self::X25519Aes128,
        Self::X25519ChaCha20,
        #[cfg(feature = "draft-pq")]
        Self::DraftXWingAes128,
        #[cfg(feature = "draft-pq")]
        Self::DraftMlKem768Aes128,
    ];

    pub(super) fn to_mls(self) -> CipherSuite {
        match self {
            Self::X25519Aes128 => CipherSuite::CURVE25519_AES128,
            Self::X25519ChaCha20 => CipherSuite::CURVE25519_CHACHA,
            #[cfg(feature = "draft-pq")]
            Self::DraftXWingAes128 => CipherSuite::ML_KEM_768_X25519,
            #[cfg(feature = "draft-pq")]
            Self::DraftMlKem768Aes128 => CipherSuite::ML_KEM_768,
        }
    }
}
