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
    /// 0xFE4C, a private number: ML-KEM-768 with X25519, AES-128-GCM, SHA-256, Ed25519
    /// (draft-ietf-mls-pq-ciphersuites). The suite of conversations over a hub.
    MlKem768X25519,
}

impl Suite {
    /// Suites that a device supports. The first one is that of groups in files.
    pub const ALL: &'static [Self] =
        &[Self::X25519Aes128, Self::X25519ChaCha20, Self::MlKem768X25519];

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

    pub(super) fn to_mls(self) -> CipherSuite {
        match self {
            Self::X25519Aes128 => CipherSuite::CURVE25519_AES128,
            Self::X25519ChaCha20 => CipherSuite::CURVE25519_CHACHA,
            Self::MlKem768X25519 => CipherSuite::ML_KEM_768_X25519,
        }
    }
}
