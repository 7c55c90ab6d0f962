//! Errors of a request, and of the body of a response.

use core::fmt;
use std::io;

use endseal_s3_protocol::S3Error;

use super::body::SourceError;

/// Why a request got no response.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// Every connection was in use for too long. The server may be well.
    Busy,
    /// The connection broke before a response came: the server died, or an overload.
    Broken,
    /// No connection: a wrong port, nobody listens, a wall between.
    Connect(io::Error),
    /// No connection in time.
    ConnectTimeout,
    /// The name of the server has no address.
    Resolve(io::Error),
    /// The request cannot be sent: an upgrade, a body whose length is not the announced one.
    InvalidRequest,
    /// The response is not HTTP/1.1, changes the protocol, or has a head that is too long or has
    /// too many headers.
    InvalidResponse,
    /// The source of the request's body failed; the server saw the connection break.
    Source(SourceError),
    /// The source of the request's body gave nothing for too long.
    SourceStalled,
    /// The server took nothing of the request's body for too long.
    Stalled,
    /// The server took the request, and no response came in time.
    ResponseTimeout,
    /// The server's certificate is not trusted, or the two have no TLS in common.
    Tls(rustls::Error),
}

impl ClientError {
    /// The kind, as logs name it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Busy => "connections_in_use",
            Self::Broken => "connection_broken",
            Self::Connect(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                "connection_refused"
            }
            Self::Connect(_) => "connect",
            Self::ConnectTimeout => "connect_timeout",
            Self::Resolve(_) => "dns",
            Self::InvalidRequest => "invalid_request",
            Self::InvalidResponse => "invalid_response",
            Self::Source(_) => "client",
            Self::SourceStalled => "client_timeout",
            Self::Stalled => "request_timeout",
            Self::ResponseTimeout => "response_timeout",
            Self::Tls(_) => "tls",
        }
    }

    /// Returns true if a timeout ended it.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(
            self,
            Self::ConnectTimeout | Self::SourceStalled | Self::Stalled | Self::ResponseTimeout
        )
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("every connection to the server is in use"),
            Self::Broken => f.write_str("the connection broke before a response came"),
            Self::Connect(error) => write!(f, "no connection to the server: {error}"),
            Self::Resolve(error) => write!(f, "no address of the server: {error}"),
            Self::ConnectTimeout => f.write_str("no connection to the server in time"),
            Self::InvalidRequest => f.write_str("the request cannot be sent"),
            Self::InvalidResponse => f.write_str("the server's answer is not HTTP/1.1"),
            Self::Source(error) => write!(f, "the source of the request's body failed: {error}"),
            Self::SourceStalled => f.write_str("the source of the request's body stalled"),
            Self::Stalled => f.write_str("the server stalled in the middle of the request"),
            Self::ResponseTimeout => f.write_str("the server gave no response in time"),
            Self::Tls(error) => write!(f, "no TLS with the server: {error}"),
        }
    }
}

impl core::error::Error for ClientError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Connect(error) | Self::Resolve(error) => Some(error),
            Self::Source(error) => Some(&**error),
            Self::Tls(error) => Some(error),
            _ => None,
        }
    }
}

/// Why the body of a response has no end. What came before is a prefix of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponseError {
    /// The connection broke, or the framing did.
    Broken,
    /// Nothing came for too long.
    Stalled,
}

impl fmt::Display for ResponseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broken => "the response broke in the middle of the body",
            Self::Stalled => "the response stalled in the middle of the body",
        })
    }
}

impl core::error::Error for ResponseError {}

/// The error of an answer of the backend that has no end.
pub(crate) fn broken(error: &ResponseError) -> S3Error {
    let kind = match error {
        ResponseError::Broken => "response_broken",
        ResponseError::Stalled => "response_stalled",
    };
    S3Error::unavailable().because(kind, error.to_string())
}
