//! TLS 1.3 as QUIC uses it: one group, one signature scheme, raw keys both ways, no certificates.

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

/// The application protocol (RFC 7301).
pub(crate) const ALPN: &[u8] = b"endseal/1";
/// Sessions that a side keeps for early data.
pub(crate) const SESSIONS: usize = 256;

/// For connections to one peer.
pub(crate) fn client(
    key: &TransportKey,
    policy: Policy,
    peer: PeerId,
    early: bool,
) -> Result<QuicClientConfig, BindError> {
    let config = Arc::new(client_config(key, policy, peer, early)?);
    QuicClientConfig::with_initial(config, initial()?).map_err(|_| BindError::Tls)
}

/// For connections from others.
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
    // The name would tell an observer whom the client means; raw keys need none.
    config.enable_sni = false;
    config.enable_early_data = early;
    // A resumed handshake has no signature in it. It exists for early data alone.
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
        // Kept here and taken out when used, so that no flight of early data is accepted twice.
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

/// The suite of Initial packets (RFC 9001, 5.2). It is not among those that TLS negotiates.
fn initial() -> Result<Suite, BindError> {
    TLS13_AES_128_GCM_SHA256.tls13().and_then(|suite| suite.quic_suite()).ok_or(BindError::Tls)
}

pub(crate) mod in_memory;
#[cfg(test)]
mod tests;
