//! Opening of connections.

use std::io;

use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

use super::error::ClientError;
use super::limits::Limits;
use super::socket::Socket;
use super::target::Target;

/// Resolves the name, connects, and performs the TLS handshake, all within the limit.
pub(super) async fn connect(
    target: &Target,
    tls: Option<&TlsConnector>,
    limits: &Limits,
) -> Result<Socket, ClientError> {
    let deadline = Instant::now() + limits.connect;
    let stream = timeout_at(deadline, tcp(target, deadline))
        .await
        .map_err(|_| ClientError::ConnectTimeout)??;
    let Some(connector) = tls else { return Ok(Socket::plain(stream)) };
    let name = ServerName::try_from(target.host().to_owned()).map_err(|error| {
        ClientError::Connect(io::Error::new(io::ErrorKind::InvalidInput, error))
    })?;
    timeout_at(deadline, connector.connect(name, stream))
        .await
        .map_err(|_| ClientError::ConnectTimeout)?
        .map(Socket::tls)
        .map_err(tls_error)
}

/// Tries one address after another. Each gets an equal share of the remaining time, so that one
/// that does not respond leaves time for the others.
async fn tcp(target: &Target, deadline: Instant) -> Result<TcpStream, ClientError> {
    let addresses: Vec<_> =
        lookup_host((target.host(), target.port())).await.map_err(ClientError::Resolve)?.collect();
    let none = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    let mut failure = ClientError::Resolve(none);
    for (tried, address) in addresses.iter().enumerate() {
        let now = Instant::now();
        let others = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        let share = now + deadline.saturating_duration_since(now) / others;
        match timeout_at(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Without this, the last segment of a request could wait for an acknowledgement.
                stream.set_nodelay(true).map_err(ClientError::Connect)?;
                return Ok(stream);
            }
            Ok(Err(error)) => failure = ClientError::Connect(error),
            Err(_) => failure = ClientError::ConnectTimeout,
        }
    }
    Err(failure)
}

fn tls_error(error: io::Error) -> ClientError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(tls) => ClientError::Tls(tls.clone()),
        None => ClientError::Connect(error),
    }
}
