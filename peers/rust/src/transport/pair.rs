//! Messages, each preceded by its length, on the two halves of a QUIC stream. quinn and libraries
//! derived from it have the same methods under different names, which each library declares.

use core::future::Future;

use bytes::{Bytes, BytesMut};

use super::carrier::{Failure, PIECE, Stream};

/// Largest number of pieces that are taken from the library at once.
const PIECES: usize = 32;

/// Sending half of a stream.
pub(crate) trait Sender: Send + 'static {
    /// Sends all pieces without copying them. When this returns, the library has all of them.
    fn give(&mut self, pieces: &mut [Bytes]) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// Receiving half of a stream.
pub(crate) trait Receiver: Send + 'static {
    /// Fills `buffer`. Returns `false` if the stream ended before its first byte.
    fn fill(&mut self, buffer: &mut [u8]) -> impl Future<Output = Result<bool, Failure>> + Send;

    /// Takes the next pieces without copying them. Returns their number; `None` at the end.
    fn take(
        &mut self,
        pieces: &mut [Bytes],
    ) -> impl Future<Output = Result<Option<usize>, Failure>> + Send;
}

/// Implements both traits for the types of a library: its halves, its error for an early end, and
/// its method that takes pieces.
macro_rules! halves {
    ($send:ty, $receive:ty, $ended:path, $pieces:ident) => {
        impl $crate::transport::pair::Sender for $send {
            async fn give(&mut self, pieces: &mut [Bytes]) -> Result<(), Failure> {
                Ok(self.write_all_chunks(pieces).await?)
            }
        }

        impl $crate::transport::pair::Receiver for $receive {
            async fn fill(&mut self, buffer: &mut [u8]) -> Result<bool, Failure> {
                match self.read_exact(buffer).await {
                    Ok(()) => Ok(true),
                    Err($ended(0)) => Ok(false),
                    Err(error) => Err(error.into()),
                }
            }

            async fn take(&mut self, pieces: &mut [Bytes]) -> Result<Option<usize>, Failure> {
                Ok(self.$pieces(pieces).await?)
            }
        }
    };
}

pub(crate) use halves;

/// Both halves of a stream.
pub(crate) struct Pair<S, R> {
    send: S,
    receive: R,
    /// Lengths and messages that are held back, and the number of their bytes.
    waiting: Vec<Bytes>,
    bytes: usize,
}

impl<S, R> Pair<S, R> {
    pub(crate) fn new((send, receive): (S, R)) -> Self {
        Self { send, receive, waiting: Vec::new(), bytes: 0 }
    }
}

impl<S: Sender, R: Receiver> Stream for Pair<S, R> {
    async fn send(&mut self, message: &Bytes) -> Result<(), Failure> {
        self.feed(message).await?;
        self.flush().await
    }

    async fn feed(&mut self, message: &Bytes) -> Result<(), Failure> {
        let length = u32::try_from(message.len())?.to_be_bytes();
        self.waiting.extend([Bytes::copy_from_slice(&length), message.clone()]);
        self.bytes += length.len() + message.len();
        if self.bytes < PIECE {
            return Ok(());
        }
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), Failure> {
        self.send.give(&mut self.waiting).await?;
        self.waiting.clear();
        self.bytes = 0;
        Ok(())
    }

    async fn receive(&mut self) -> Result<Option<Bytes>, Failure> {
        let mut length = [0; 4];
        if !self.receive.fill(&mut length).await? {
            return Ok(None);
        }
        let mut message = BytesMut::zeroed(usize::try_from(u32::from_be_bytes(length))?);
        if !self.receive.fill(&mut message).await? {
            return Err("the stream ended in the middle".into());
        }
        Ok(Some(message.freeze()))
    }

    async fn send_bulk(&mut self, content: &Bytes) -> Result<(), Failure> {
        self.send.give(&mut [content.clone()]).await
    }

    async fn receive_bulk(
        &mut self,
        bytes: usize,
        taker: &mut (impl FnMut(&[u8]) + Send),
    ) -> Result<bool, Failure> {
        let mut left = bytes;
        while left > 0 {
            let mut pieces = [const { Bytes::new() }; PIECES];
            match self.receive.take(&mut pieces).await? {
                None if left == bytes => return Ok(false),
                None => return Err("the stream ended in the middle".into()),
                Some(count) => {
                    for piece in &pieces[..count] {
                        taker(piece);
                        left = left.checked_sub(piece.len()).ok_or("more came than was sent")?;
                    }
                }
            }
        }
        Ok(true)
    }
}
