//! SOCKS5 (RFC 1928) with names that the proxy resolves, as Tor requires.

use core::net::{IpAddr, SocketAddr};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::ConnectError;
use crate::address::{Address, Host};

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const USERNAME: u8 = 2;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// A SOCKS5 proxy (RFC 1928), through which connections are made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Proxy {
    /// The address and port of the proxy.
    pub address: SocketAddr,
    /// The user name (RFC 1929) of 1 to 255 bytes. Tor uses a separate circuit for each user name.
    pub isolation: Option<String>,
}

impl Proxy {
    /// Asks the proxy for a connection to the host and port of `target`.
    pub(super) async fn ask(
        &self,
        mut stream: TcpStream,
        target: &Address,
    ) -> Result<TcpStream, ConnectError> {
        let method = if self.isolation.is_some() { USERNAME } else { NO_AUTHENTICATION };
        stream.write_all(&[VERSION, 1, method]).await.map_err(ConnectError::Io)?;
        let mut chosen = [0; 2];
        stream.read_exact(&mut chosen).await.map_err(ConnectError::Io)?;
        if chosen != [VERSION, method] {
            return Err(ConnectError::Proxy(SocksError::Method));
        }
        if let Some(name) = &self.isolation {
            let mut request = vec![1, length(name)?];
            request.extend_from_slice(name.as_bytes());
            // Some proxies refuse an empty password. Proxies that are used for isolation ignore its
            // value.
            request.extend_from_slice(&[1, b'x']);
            stream.write_all(&request).await.map_err(ConnectError::Io)?;
            let mut status = [0; 2];
            stream.read_exact(&mut status).await.map_err(ConnectError::Io)?;
            if status[1] != 0 {
                return Err(ConnectError::Proxy(SocksError::Authentication));
            }
        }
        let mut request = vec![VERSION, CONNECT, 0];
        match target.host() {
            Host::Ip(IpAddr::V4(ip)) => {
                request.push(IPV4);
                request.extend_from_slice(&ip.octets());
            }
            Host::Ip(IpAddr::V6(ip)) => {
                request.push(IPV6);
                request.extend_from_slice(&ip.octets());
            }
            Host::Name(name) => {
                request.extend_from_slice(&[NAME, length(name)?]);
                request.extend_from_slice(name.as_bytes());
            }
        }
        request.extend_from_slice(&target.port().to_be_bytes());
        stream.write_all(&request).await.map_err(ConnectError::Io)?;
        reply(&mut stream).await?;
        Ok(stream)
    }
}

/// Reads the reply and the address in it. The address is ignored.
async fn reply(stream: &mut TcpStream) -> Result<(), ConnectError> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).await.map_err(ConnectError::Io)?;
    let [version, reply, _, kind] = head;
    if version != VERSION {
        return Err(ConnectError::Proxy(SocksError::Method));
    }
    if reply != 0 {
        return Err(ConnectError::Proxy(SocksError::Refused(reply)));
    }
    let len = match kind {
        IPV4 => 4,
        IPV6 => 16,
        NAME => usize::from(stream.read_u8().await.map_err(ConnectError::Io)?),
        _ => return Err(ConnectError::Proxy(SocksError::Method)),
    };
    let mut bound = [0; 255 + 2];
    stream.read_exact(&mut bound[..len + 2]).await.map(drop).map_err(ConnectError::Io)
}

fn length(text: &str) -> Result<u8, ConnectError> {
    match u8::try_from(text.len()) {
        Ok(len @ 1..) => Ok(len),
        _ => Err(ConnectError::Proxy(SocksError::Length)),
    }
}

/// The reason why a SOCKS5 proxy made no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SocksError {
    /// The proxy does not speak SOCKS5, or requires another method of authentication.
    #[error("the proxy does not speak SOCKS5 as asked")]
    Method,
    /// The proxy refused the user name.
    #[error("the proxy refused the user name")]
    Authentication,
    /// The proxy did not connect. The number is the reply of RFC 1928, section 6.
    #[error("the proxy did not connect (reply {0})")]
    Refused(u8),
    /// The user name or the host is empty or longer than 255 bytes.
    #[error("a name for the proxy is empty or too long")]
    Length,
}
