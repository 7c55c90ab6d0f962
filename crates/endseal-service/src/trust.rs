//! The certificate authorities that a client trusts, and TLS connections to servers that they vouch
//! for.

use core::fmt;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

/// The certificate authorities that a client trusts.
#[derive(Clone)]
pub struct Trust(RootCertStore);

impl Trust {
    /// Returns the authorities whose root certificates Mozilla trusts.
    #[must_use]
    pub fn public() -> Self {
        Self(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.into() })
    }

    /// Adds the certificates in a PEM file, such as that of a private authority.
    ///
    /// # Errors
    /// [`InvalidAuthority`] if the file contains no certificate, or one that cannot be used.
    pub fn with_authorities(mut self, pem: &[u8]) -> Result<Self, InvalidAuthority> {
        let mut found = false;
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|_| InvalidAuthority)?;
            self.0.add(certificate).map_err(|_| InvalidAuthority)?;
            found = true;
        }
        if found { Ok(self) } else { Err(InvalidAuthority) }
    }

    /// Returns a connector for TLS 1.3 and 1.2 that offers HTTP/1.1 and prefers post-quantum key
    /// agreement.
    #[must_use]
    pub fn connector(self) -> TlsConnector {
        let mut config = self.config();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        TlsConnector::from(Arc::new(config))
    }

    /// Returns settings for TLS 1.3 and 1.2 that prefer post-quantum key agreement and name no
    /// application protocol.
    #[allow(
        clippy::expect_used,
        clippy::missing_panics_doc,
        reason = "the suites of the provider are for both versions"
    )]
    #[must_use]
    pub fn config(self) -> ClientConfig {
        let provider = CryptoProvider {
            kx_groups: vec![
                aws_lc_rs::kx_group::X25519MLKEM768,
                aws_lc_rs::kx_group::X25519,
                aws_lc_rs::kx_group::SECP256R1,
                aws_lc_rs::kx_group::SECP384R1,
            ],
            ..aws_lc_rs::default_provider()
        };
        ClientConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .expect("the suites of the provider are for both versions")
            .with_root_certificates(self.0)
            .with_no_client_auth()
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trust({} authorities)", self.0.len())
    }
}

/// The text contains no PEM certificate, or one that is not the certificate of an authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidAuthority;

impl fmt::Display for InvalidAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a PEM file with certificates of authorities")
    }
}

impl core::error::Error for InvalidAuthority {}
