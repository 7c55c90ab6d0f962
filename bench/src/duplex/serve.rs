//! The server side of a subject.

use core::sync::atomic::{AtomicBool, Ordering};
use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::carrier::{Carrier, Failure, Stream};

/// The server's answer to messages that it receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// Each message is sent back.
    Echo,
    /// Every such number of messages is answered by a message of one byte.
    Count(usize),
    /// Every such number of bytes is answered by a message of one byte.
    Bulk(usize),
}

/// Content that the receiver got. It is kept only during a check.
#[derive(Debug, Default)]
pub(crate) struct Received {
    keep: AtomicBool,
    bytes: Mutex<Vec<u8>>,
}

impl Received {
    /// Starts to keep everything that is received.
    pub(crate) fn keep(&self) {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.keep.store(true, Ordering::Release);
    }

    /// Returns the content that was kept, and stops keeping it.
    pub(crate) fn take(&self) -> Vec<u8> {
        self.keep.store(false, Ordering::Release);
        core::mem::take(&mut self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, bytes: &[u8]) {
        black_box(bytes);
        if self.keep.load(Ordering::Acquire) {
            self.bytes.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        }
    }
}

/// Serves connections until the listener ends; each has a task of its own.
pub(crate) async fn serve<C: Carrier>(
    listener: C::Listener,
    service: Service,
    received: Arc<Received>,
) -> Result<(), Failure> {
    while let Some(incoming) = C::accept(&listener).await? {
        let received = received.clone();
        tokio::spawn(async move {
            // A client that leaves early or is refused is no error of the server: the client's side
            // judges.
            let (connection, stream) = C::welcome(incoming).await?;
            let served = answer(stream, service, &received).await;
            drop(connection);
            served
        });
    }
    Ok(())
}

async fn answer(
    mut stream: impl Stream,
    service: Service,
    received: &Received,
) -> Result<(), Failure> {
    let acknowledgement = Bytes::from_static(b"!");
    loop {
        match service {
            Service::Echo => {
                let Some(message) = stream.receive().await? else { return Ok(()) };
                received.add(&message);
                stream.send(&message).await?;
            }
            Service::Count(count) => {
                for _ in 0..count {
                    let Some(message) = stream.receive().await? else { return Ok(()) };
                    received.add(&message);
                }
                stream.send(&acknowledgement).await?;
            }
            Service::Bulk(bytes) => {
                if !stream.receive_bulk(bytes, &mut |piece: &[u8]| received.add(piece)).await? {
                    return Ok(());
                }
                stream.send(&acknowledgement).await?;
            }
        }
    }
}
