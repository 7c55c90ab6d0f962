//! The HTTP client that providers ask a key server through.

use core::future::Future;
use core::pin::Pin;

use bytes::Bytes;
use endseal_crypto::secret::Zeroizing;
use http::{Request, Response};

/// A response that is on its way.
pub type Pending<'a> =
    Pin<Box<dyn Future<Output = Result<Response<Zeroizing<Vec<u8>>>, HttpFailure>> + Send + 'a>>;

/// A client of one key server, which verifies the server and limits how long it waits.
pub trait HttpClient: Send + Sync {
    /// Sends a request and returns its response with the whole body, of at most `max_len` bytes.
    ///
    /// The URI is a path on the server. The buffer of the body never grows, so that no copy of a
    /// secret stays behind.
    fn send(&self, request: Request<Bytes>, max_len: usize) -> Pending<'_>;
}

/// The server gave no complete response: the connection failed, it was too slow, or its response
/// breaks off or is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(clippy::exhaustive_structs, reason = "causes are the client's to log")]
#[error("the key server gave no response")]
pub struct HttpFailure;
