//! Handshake without sockets. For QUIC, rustls outputs its messages before encryption, so they can
//! be measured one by one.

use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::quic::{ClientConnection, Connection, ServerConnection, Version};

use super::{client_config, server_config};
use crate::error::BindError;
use crate::key::TransportKey;
use crate::pin::Accept;
use crate::policy::Policy;

/// Upper bound of flights, more than any handshake needs.
const FLIGHTS: usize = 16;

/// TLS messages of a handshake (RFC 8446, 4), concatenated, without QUIC framing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandshakeMessages {
    /// Messages sent by the client.
    pub from_client: Vec<u8>,
    /// Messages sent by the server.
    pub from_server: Vec<u8>,
}

/// Returns the messages of a handshake between two keys that accept each other, for measurements.
///
/// # Errors
/// [`BindError::Tls`] if the keys do not fit the policy.
pub fn handshake_in_memory(
    policy: Policy,
    client: &TransportKey,
    server: &TransportKey,
) -> Result<HandshakeMessages, BindError> {
    run(policy, client, server).map(|(_, messages)| messages)
}

/// Runs the handshake, and returns the client's connection and the messages.
pub(super) fn run(
    policy: Policy,
    client: &TransportKey,
    server: &TransportKey,
) -> Result<(Connection, HandshakeMessages), BindError> {
    let tls = |_: rustls::Error| BindError::Tls;
    let accept = Accept::pinned([client.peer_id()]);
    let own = Arc::new(client_config(client, policy, server.peer_id(), false)?);
    let other = Arc::new(server_config(server, policy, accept, false)?);
    let name = ServerName::try_from("peer.invalid").map_err(|_| BindError::Tls)?;
    let client = ClientConnection::new(own, Version::V1, name, Vec::new()).map_err(tls)?;
    let server = ServerConnection::new(other, Version::V1, Vec::new()).map_err(tls)?;
    let (mut client, mut server) = (Connection::from(client), Connection::from(server));
    let mut messages = HandshakeMessages::default();
    for _ in 0..FLIGHTS {
        if !client.is_handshaking() && !server.is_handshaking() {
            return Ok((client, messages));
        }
        messages.from_client.extend(pass(&mut client, &mut server).map_err(tls)?);
        messages.from_server.extend(pass(&mut server, &mut client).map_err(tls)?);
    }
    Err(BindError::Tls)
}

/// Passes the pending messages of one side to the other, and returns their bytes.
fn pass(from: &mut Connection, to: &mut Connection) -> Result<Vec<u8>, rustls::Error> {
    let mut said = Vec::new();
    loop {
        let mut part = Vec::new();
        let keys = from.write_hs(&mut part);
        if part.is_empty() && keys.is_none() {
            return Ok(said);
        }
        to.read_hs(&part)?;
        said.extend(part);
    }
}
