//! Remaining body of a request that was answered before all of it was read.

use core::future::poll_fn;
use core::pin::Pin;
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::Response;
use http::header::{CONNECTION, HeaderValue};
use http_body::Body as _;
use hyper::body::Incoming;
use tokio::time::timeout;

/// Maximum number of bytes that are read of a refused body. A client whose connection is closed
/// while it writes often does not read the response.
const MAX_LEFT: usize = 64 << 20;

/// Timeout for reading a refused body.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Holder of the remaining body.
#[derive(Clone, Default)]
pub(crate) struct Leftover(Arc<Mutex<Left>>);

#[derive(Default)]
pub(super) enum Left {
    /// The body was read to its end.
    #[default]
    Nothing,
    /// The client expected "100 Continue" and gets the response instead. It may or may not send the
    /// body then, and botocore confuses the next response on this connection. The connection must
    /// be closed.
    Unsent,
    /// The body is still being sent.
    Body(Incoming),
}

impl Leftover {
    pub(super) fn put(&self, left: Left) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = left;
    }

    /// Requests that the connection is closed after the response.
    pub(crate) fn end_connection(&self) {
        self.put(Left::Unsent);
    }

    /// Reads the remaining body up to the limits, so that the client reads its response. Sets
    /// `Connection: close` if the connection cannot be reused.
    pub(crate) async fn end<B>(&self, response: &mut Response<B>) {
        if !self.drain().await {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }

    async fn drain(&self) -> bool {
        let left = core::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut incoming = match left {
            Left::Nothing => return true,
            Left::Unsent => return false,
            Left::Body(incoming) => incoming,
        };
        let mut read = 0;
        let drained = async {
            while let Some(Ok(frame)) = poll_fn(|cx| Pin::new(&mut incoming).poll_frame(cx)).await {
                read += frame.data_ref().map_or(0, Bytes::len);
                if read > MAX_LEFT {
                    break;
                }
            }
        };
        timeout(TIMEOUT, drained).await.is_ok() && incoming.is_end_stream()
    }
}
