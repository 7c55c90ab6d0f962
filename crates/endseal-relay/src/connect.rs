//! Makes a connection to the relay of a URL.

mod frames;
mod message_limit;
mod socks5;
mod upgrade;

use core::net::SocketAddr;
use core::time::Duration;
use std::io;

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_websockets::{ClientBuilder, Limits, WebSocketStream};

pub(crate) use frames::Skipped;
pub(crate) use message_limit::MessageLimit;
pub use socks5::{Proxy, SocksError};
pub use upgrade::UpgradeError;
pub(crate) use upgrade::{ask, get};

use crate::address::{Address, Host, Reach, is_public};

/// The connection below WebSocket: TCP, with or without TLS.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// The client's end of a WebSocket connection.
pub(crate) type Socket = WebSocketStream<MessageLimit<TokioIo<Upgraded>>>;

/// A relay and the route to it.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) address: Address,
    pub(crate) reach: Reach,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) tls: TlsConnector,
    pub(crate) timeout: Duration,
}

impl Route {
    /// Connects up to and including TLS, within the timeout.
    pub(crate) async fn dial(&self) -> Result<Box<dyn Io>, ConnectError> {
        let deadline = Instant::now() + self.timeout;
        timeout_at(deadline, self.dial_until(deadline)).await.map_err(|_| ConnectError::Timeout)?
    }

    /// Connects up to and including WebSocket. Messages longer than `max_message` bytes
    /// are skipped.
    pub(crate) async fn open(&self, max_message: usize) -> Result<Socket, ConnectError> {
        let deadline = Instant::now() + self.timeout;
        let open = async {
            let stream = self.dial_until(deadline).await?;
            let stream = upgrade::upgrade(stream, self.address.uri()).await;
            let limits = Limits::default().max_payload_len(Some(max_message));
            let builder = ClientBuilder::new().limits(limits);
            let stream = stream.map_err(ConnectError::WebSocket)?;
            Ok(builder.take_over(MessageLimit::new(stream, max_message)))
        };
        timeout_at(deadline, open).await.map_err(|_| ConnectError::Timeout)?
    }

    async fn dial_until(&self, deadline: Instant) -> Result<Box<dyn Io>, ConnectError> {
        let stream = match &self.proxy {
            Some(proxy) => {
                if let Host::Ip(ip) = self.address.host() {
                    self.check(SocketAddr::new(*ip, self.address.port()))?;
                }
                let stream = TcpStream::connect(proxy.address).await.map_err(ConnectError::Io)?;
                proxy.ask(stream, &self.address).await?
            }
            None if self.address.is_onion() => return Err(ConnectError::NeedsProxy),
            None => self.tcp(deadline).await?,
        };
        // A small message is sent without waiting for an acknowledgement of the previous one.
        stream.set_nodelay(true).map_err(ConnectError::Io)?;
        if !self.address.is_tls() {
            return Ok(Box::new(stream));
        }
        let name = match self.address.host() {
            Host::Name(name) => {
                ServerName::try_from(name.clone()).map_err(|_| ConnectError::Name)?
            }
            Host::Ip(ip) => ServerName::IpAddress((*ip).into()),
        };
        match self.tls.connect(name, stream).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(tls_error(error)),
        }
    }

    /// Tries one address after another. The remaining time is divided among the remaining
    /// addresses.
    async fn tcp(&self, deadline: Instant) -> Result<TcpStream, ConnectError> {
        let port = self.address.port();
        let addresses: Vec<SocketAddr> = match self.address.host() {
            Host::Ip(ip) => vec![SocketAddr::new(*ip, port)],
            Host::Name(name) => {
                let found = lookup_host((name.as_str(), port)).await;
                found.map_err(ConnectError::Resolve)?.collect()
            }
        };
        let mut failure =
            ConnectError::Resolve(io::Error::new(io::ErrorKind::NotFound, "no address"));
        for (tried, address) in addresses.iter().enumerate() {
            // The connection goes to the address that was checked: the name is not resolved again.
            if let Err(refused) = self.check(*address) {
                failure = refused;
                continue;
            }
            let now = Instant::now();
            let others = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
            let share = now + deadline.saturating_duration_since(now) / others;
            match timeout_at(share, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => failure = ConnectError::Io(error),
                Err(_) => failure = ConnectError::Timeout,
            }
        }
        Err(failure)
    }

    fn check(&self, address: SocketAddr) -> Result<(), ConnectError> {
        match self.reach {
            Reach::Public if !is_public(address.ip()) => Err(ConnectError::NotPublic),
            // `localhost` without TLS must not lead to another machine, even if a resolver says so.
            _ if !self.address.is_tls()
                && self.address.is_local()
                && !address.ip().is_loopback() =>
            {
                Err(ConnectError::NotLocal)
            }
            _ => Ok(()),
        }
    }
}

fn tls_error(error: io::Error) -> ConnectError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(tls) => ConnectError::Tls(tls.clone()),
        None => ConnectError::Io(error),
    }
}

/// The reason why no connection to a relay was made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The host name could not be resolved.
    #[error("the relay's name was not resolved: {0}")]
    Resolve(io::Error),
    /// The address is not of the public Internet, but [`Reach::Public`] requires it.
    #[error("the relay's address is not public")]
    NotPublic,
    /// `localhost` resolved to an address of another machine.
    #[error("'localhost' is another machine")]
    NotLocal,
    /// The host is in `.onion`, but there is no proxy.
    #[error("a .onion name needs a SOCKS5 proxy")]
    NeedsProxy,
    /// The TCP connection failed.
    #[error("the connection failed: {0}")]
    Io(io::Error),
    /// The connection took longer than the timeout.
    #[error("the connection took too long")]
    Timeout,
    /// The SOCKS5 proxy refused the connection.
    #[error("{0}")]
    Proxy(SocksError),
    /// The host cannot be the name in a certificate.
    #[error("the relay's name cannot be in a certificate")]
    Name,
    /// TLS failed: usually the certificate is invalid.
    #[error("TLS failed: {0}")]
    Tls(rustls::Error),
    /// The relay does not support WebSocket, or not at this path.
    #[error("the WebSocket handshake failed: {0}")]
    WebSocket(UpgradeError),
}
