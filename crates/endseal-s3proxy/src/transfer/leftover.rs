//! The rest of a body that is not wanted any more.

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

/// Bytes of a refused body that are still read: a client that is cut off while it writes often does
/// not read why.
const MAX_LEFT: usize = 64 << 20;

/// And how long.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the rest of a body is put.
#[derive(Clone, Default)]
pub(crate) struct Leftover(Arc<Mutex<Left>>);

#[derive(Default)]
pub(super) enum Left {
    /// It was read to its end.
    #[default]
    Nothing,
    /// The client asked for a word before it and gets an answer instead. It may or may not send it
    /// then, and botocore takes the next answer over the same connection for this one: the
    /// connection has to end.
    Unsent,
    /// It is on its way.
    Body(Incoming),
}

impl Leftover {
    pub(super) fn put(&self, left: Left) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = left;
    }

    /// Has the connection end after the answer.
    pub(crate) fn end_connection(&self) {
        self.put(Left::Unsent);
    }

    /// Reads what is left, within bounds, so that the client comes to read its answer. The answer
    /// says if the connection cannot serve again.
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
        timeout(PATIENCE, drained).await.is_ok() && incoming.is_end_stream()
    }
}
