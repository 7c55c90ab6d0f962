//! What a client sends, and what is left of it when nobody wants it any more.

use core::future::poll_fn;
use core::time::Duration;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Body as _;
use hyper::body::Incoming;
use tokio::time::timeout;

use crate::client::Growth;
use crate::error::S3Error;
use crate::front::{Gate, Intake, Rate};

/// Bytes of a refused body that are still read: a client that is cut off while it writes often does
/// not read why.
const MAX_LEFT: usize = 64 << 20;

/// And how long.
const PATIENCE: Duration = Duration::from_secs(10);

/// The body of a request. Dropped before its end, it goes to its [`Leftover`].
pub(crate) struct Upload {
    incoming: Option<Incoming>,
    /// Whether the client waits for a word before it sends anything (`Expect: 100-continue`).
    waits: bool,
    leftover: Leftover,
    rate: Rate,
    /// Bytes a second.
    least: u64,
    growth: Growth,
    gate: Gate,
}

/// Where the rest of a body is put.
#[derive(Clone, Default)]
pub(crate) struct Leftover(Arc<Mutex<Left>>);

#[derive(Default)]
enum Left {
    /// It was read to its end.
    #[default]
    Nothing,
    /// The client was not told to send it, and may do so or not.
    Unsent,
    /// It is on its way.
    Body(Incoming),
}

impl Upload {
    /// A body, of which at least `least` bytes a second have to come. `intake` is that of its connection.
    pub(crate) fn new(
        incoming: Incoming,
        expects_continue: bool,
        leftover: Leftover,
        least: u64,
        intake: Intake,
    ) -> Self {
        if expects_continue && incoming.is_end_stream() {
            // Nothing to be waited for, so that no word will be given.
            leftover.put(Left::Unsent);
        }
        Self {
            incoming: Some(incoming),
            waits: expects_continue,
            leftover,
            rate: Rate::default(),
            least,
            growth: Growth::new(intake.kept),
            gate: intake.gate,
        }
    }

    /// The next piece; `None` after the last.
    ///
    /// # Errors
    /// If the client went away, or its framing broke.
    pub(crate) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, S3Error>>> {
        self.waits = false;
        // Who asks has nothing of the last piece any more, or little.
        self.gate.open();
        while let Some(incoming) = &mut self.incoming {
            let Poll::Ready(frame) = Pin::new(&mut *incoming).poll_frame(cx) else {
                self.rate.waits();
                return Poll::Pending;
            };
            match frame {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => {
                        if incoming.is_end_stream() {
                            self.growth.ended();
                        } else {
                            self.growth.came(&data);
                            self.gate.close();
                        }
                        if self.rate.moved(data.len(), self.least) {
                            return Poll::Ready(Some(Ok(data)));
                        }
                        return Poll::Ready(Some(Err(S3Error::request_timeout())));
                    }
                    _ => {}
                },
                Some(Err(_)) => {
                    self.incoming = None;
                    return Poll::Ready(Some(Err(S3Error::incomplete_body())));
                }
                None => self.incoming = None,
            }
        }
        Poll::Ready(None)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.gate.open();
        if let Some(incoming) = self.incoming.take()
            && !incoming.is_end_stream()
        {
            self.leftover.put(if self.waits { Left::Unsent } else { Left::Body(incoming) });
        }
    }
}

impl Leftover {
    fn put(&self, left: Left) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = left;
    }

    /// Whether the client asked for a word before its body and gets an answer instead. It may or may
    /// not send the body then, and botocore takes the next answer over the same connection for this
    /// one: the connection has to end.
    pub(crate) fn is_unsent(&self) -> bool {
        matches!(*self.0.lock().unwrap_or_else(PoisonError::into_inner), Left::Unsent)
    }

    /// Reads what is left, within bounds, so that the client comes to read its answer. Whether the
    /// connection can serve again.
    pub(crate) async fn drain(&self) -> bool {
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
