//! Algorithms that a handshake may use (docs/spec/transport.md, "Handshake").

use core::fmt;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, SupportedKxGroup, WebPkiSupportedAlgorithms, aws_lc_rs};
use rustls::{NamedGroup, SignatureScheme};

/// Key exchange and signature scheme of a handshake. Each policy has exactly one of both, so there
/// is nothing to negotiate and nothing to downgrade to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// X25519MLKEM768 and ML-DSA-65. The session is secret as long as one of the two key exchanges
    /// is secure.
    #[default]
    Hybrid,
    /// MLKEM768 and ML-DSA-65, for environments whose rules exclude classical algorithms.
    MlKem768Only,
    /// X25519 and Ed25519: NOT secure against quantum computers. For comparisons and for peers that
    /// support nothing better. Such a peer has another id, because it has another key.
    Classical,
}

/// TLS 1.3 code point with its name for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodePoint {
    /// Number in the IANA registry.
    pub number: u16,
    /// Name in the IANA registry.
    pub name: &'static str,
}

impl fmt::Display for CodePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:#06x})", self.name, self.number)
    }
}

impl Policy {
    /// Returns the key exchange group.
    #[must_use]
    pub const fn group(self) -> CodePoint {
        match self {
            Self::Hybrid => CodePoint { number: 0x11ec, name: "X25519MLKEM768" },
            Self::MlKem768Only => CodePoint { number: 0x0201, name: "MLKEM768" },
            Self::Classical => CodePoint { number: 0x001d, name: "X25519" },
        }
    }

    /// Returns the signature scheme that both sides use.
    #[must_use]
    pub const fn signature(self) -> CodePoint {
        match self {
            Self::Hybrid | Self::MlKem768Only => CodePoint { number: 0x0905, name: "ML-DSA-65" },
            Self::Classical => CodePoint { number: 0x0807, name: "Ed25519" },
        }
    }

    /// Returns true if a quantum computer helps neither to decrypt sessions nor to impersonate a
    /// peer.
    #[must_use]
    pub const fn is_post_quantum(self) -> bool {
        !matches!(self, Self::Classical)
    }

    pub(crate) fn scheme(self) -> SignatureScheme {
        SignatureScheme::from(self.signature().number)
    }

    /// Returns the rustls provider with this policy's group and with 256-bit ciphers only. (Initial
    /// packets use AES-128-GCM by definition; negotiated traffic does not.)
    pub(crate) fn provider(self) -> Arc<CryptoProvider> {
        let group: &'static dyn SupportedKxGroup = match self {
            Self::Hybrid => aws_lc_rs::kx_group::X25519MLKEM768,
            Self::MlKem768Only => aws_lc_rs::kx_group::MLKEM768,
            Self::Classical => aws_lc_rs::kx_group::X25519,
        };
        debug_assert_eq!(group.name(), NamedGroup::from(self.group().number));
        Arc::new(CryptoProvider {
            cipher_suites: vec![
                aws_lc_rs::cipher_suite::TLS13_AES_256_GCM_SHA384,
                aws_lc_rs::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
            ],
            kx_groups: vec![group],
            // Signatures are verified by endseal-crypto, after the peer's id.
            signature_verification_algorithms: WebPkiSupportedAlgorithms { all: &[], mapping: &[] },
            ..aws_lc_rs::default_provider()
        })
    }
}
