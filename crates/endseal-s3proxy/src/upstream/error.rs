//! Errors of a request, and of the body of a response.

use core::fmt;
use std::io;

use endseal_s3_protocol::S3Error;

use super::body::SourceError;

/// Reason why a request got no response.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// All connections were in use for too long. The server may be available.
    Busy,
    /// The connection broke before a response arrived, because the server stopped or is overloaded.
    Broken,
    /// The connection was refused or is blocked.
    Connect(io::Error),
    /// The connection was not established in time.
    ConnectTimeout,
    /// The name of the server could not be resolved.
    Resolve(io::Error),
    /// The request cannot be sent, for instance because its body does not have the announced
    /// length.
    InvalidRequest,
    /// The response is not HTTP/1.1, switches protocols, or has too long or too many headers.
    InvalidResponse,
    /// The source of the request's body failed. The server saw a broken connection.
    Source(SourceError),
    /// The source of the request's body returned nothing for too long.
    SourceStalled,
    /// The server accepted no bytes of the request for too long.
    Stalled,
    /// The server accepted the request but did not respond in time.
    ResponseTimeout,
    /// The server's certificate is not trusted, or no common TLS version or cipher exists.
    Tls(rustls::Error),
}

impl ClientError {
    /// Returns the kind of the error, as it is named in logs.
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

    /// Returns true if the error is a timeout.
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
            Self::Resolve(error) => {
                write!(f, "the address of the server cannot be resolved: {error}")
            }
            Self::ConnectTimeout => f.write_str("no connection to the server in time"),
            Self::InvalidRequest => f.write_str("the request cannot be sent"),
            Self::InvalidResponse => f.write_str("the server's answer is not HTTP/1.1"),
            Self::Source(error) => write!(f, "the source of the request's body failed: {error}"),
            Self::SourceStalled => f.write_str("the source of the request's body stalled"),
            Self::Stalled => f.write_str("the server stalled in the middle of the request"),
            Self::ResponseTimeout => f.write_str("the server did not respond in time"),
            Self::Tls(error) => write!(f, "TLS with the server failed: {error}"),
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

/// Reason why the body of a response is incomplete. The bytes before the error are a prefix of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponseError {
    /// The connection broke, or the framing is invalid.
    Broken,
    /// No bytes arrived for too long.
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

/// Converts the error of an incomplete backend response.
pub(crate) fn broken(error: &ResponseError) -> S3Error {
    let kind = match error {
        ResponseError::Broken => "response_broken",
        ResponseError::Stalled => "response_stalled",
    };
    S3Error::unavailable().because(kind, error.to_string())
}
