//! TLS 1.3 configuration for QUIC: one group, one signature scheme, raw public keys on both sides,
//! no certificates.

use std::sync::Arc;

use endseal_crypto::peer_id::PeerId;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::quic::Suite;
use rustls::server::{
    AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage, ServerSessionMemoryCache,
};
use rustls::version::TLS13;
use rustls::{ClientConfig, ServerConfig};

use crate::error::BindError;
use crate::key::TransportKey;
use crate::pin::{Accept, Verifier};
use crate::policy::Policy;

/// Application protocol name (RFC 7301).
pub(crate) const ALPN: &[u8] = b"endseal/1";
/// Sessions that a side keeps for early data.
pub(crate) const SESSIONS: usize = 256;

/// Returns the configuration for connections to `peer`.
pub(crate) fn client(
    key: &TransportKey,
    policy: Policy,
    peer: PeerId,
    early: bool,
) -> Result<QuicClientConfig, BindError> {
    let config = Arc::new(client_config(key, policy, peer, early)?);
    QuicClientConfig::with_initial(config, initial()?).map_err(|_| BindError::Tls)
}

/// Returns the configuration for incoming connections.
pub(crate) fn server(
    key: &TransportKey,
    policy: Policy,
    accept: Accept,
    early: bool,
) -> Result<QuicServerConfig, BindError> {
    let config = Arc::new(server_config(key, policy, accept, early)?);
    QuicServerConfig::with_initial(config, initial()?).map_err(|_| BindError::Tls)
}

fn client_config(
    key: &TransportKey,
    policy: Policy,
    peer: PeerId,
    early: bool,
) -> Result<ClientConfig, BindError> {
    let mut config = ClientConfig::builder_with_provider(policy.provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(|_| BindError::Tls)?
        .dangerous()
        .with_custom_certificate_verifier(Verifier::new(Accept::pinned([peer]), policy))
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(
            key.certified(),
        )));
    config.alpn_protocols = vec![ALPN.to_vec()];
    // The server name would reveal the peer to an observer; raw public keys need none.
    config.enable_sni = false;
    config.enable_early_data = early;
    // A resumed handshake contains no signature. It is used for early data only.
    config.resumption =
        if early { Resumption::in_memory_sessions(8) } else { Resumption::disabled() };
    Ok(config)
}

fn server_config(
    key: &TransportKey,
    policy: Policy,
    accept: Accept,
    early: bool,
) -> Result<ServerConfig, BindError> {
    let mut config = ServerConfig::builder_with_provider(policy.provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(|_| BindError::Tls)?
        .with_client_cert_verifier(Verifier::new(accept, policy))
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(key.certified())));
    config.alpn_protocols = vec![ALPN.to_vec()];
    if early {
        // Kept in memory and removed on use, so that no flight of early data is accepted twice.
        config.session_storage = ServerSessionMemoryCache::new(SESSIONS);
        config.max_early_data_size = u32::MAX; // the one value that QUIC allows (RFC 9001, 4.6.1)
        config.send_tls13_tickets = 1;
    } else {
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.max_early_data_size = 0;
        config.send_tls13_tickets = 0;
    }
    Ok(config)
}

/// Returns the cipher suite of Initial packets (RFC 9001, 5.2), which is not one of the negotiated
/// suites.
fn initial() -> Result<Suite, BindError> {
    TLS13_AES_128_GCM_SHA256.tls13().and_then(|suite| suite.quic_suite()).ok_or(BindError::Tls)
}

pub(crate) mod in_memory;
#[cfg(test)]
mod tests;
