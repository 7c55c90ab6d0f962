//! Errors of a request, and of the body of a response.

use std::io;

use endseal_s3_protocol::S3Error;

use super::body::SourceError;

/// Reason why a request got no response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// All connections were in use for too long. The server may be available.
    #[error("every connection to the server is in use")]
    Busy,
    /// The connection broke before a response arrived, because the server stopped or is overloaded.
    #[error("the connection broke before a response came")]
    Broken,
    /// The connection was refused or is blocked.
    #[error("no connection to the server: {0}")]
    Connect(#[source] io::Error),
    /// The connection was not established in time.
    #[error("no connection to the server in time")]
    ConnectTimeout,
    /// The name of the server could not be resolved.
    #[error("the address of the server cannot be resolved: {0}")]
    Resolve(#[source] io::Error),
    /// The request cannot be sent, for instance because its body does not have the announced
    /// length.
    #[error("the request cannot be sent")]
    InvalidRequest,
    /// The response is not HTTP/1.1, switches protocols, or has too long or too many headers.
    #[error("the server's answer is not HTTP/1.1")]
    InvalidResponse,
    /// The source of the request's body failed. The server saw a broken connection.
    #[error("the source of the request's body failed: {0}")]
    Source(#[source] SourceError),
    /// The source of the request's body returned nothing for too long.
    #[error("the source of the request's body stalled")]
    SourceStalled,
    /// The server accepted no bytes of the request for too long.
    #[error("the server stalled in the middle of the request")]
    Stalled,
    /// The server accepted the request but did not respond in time.
    #[error("the server did not respond in time")]
    ResponseTimeout,
    /// The server's certificate is not trusted, or no common TLS version or cipher exists.
    #[error("TLS with the server failed: {0}")]
    Tls(#[source] rustls::Error),
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

/// Reason why the body of a response is incomplete. The bytes before the error are a prefix of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResponseError {
    /// The connection broke, or the framing is invalid.
    #[error("the response broke in the middle of the body")]
    Broken,
    /// No bytes arrived for too long.
    #[error("the response stalled in the middle of the body")]
    Stalled,
}

/// Converts the error of an incomplete backend response.
pub(crate) fn broken(error: &ResponseError) -> S3Error {
    let kind = match error {
        ResponseError::Broken => "response_broken",
        ResponseError::Stalled => "response_stalled",
    };
    S3Error::unavailable().because(kind, error.to_string())
}
