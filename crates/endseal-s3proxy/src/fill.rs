//! Memory that is filled from a connection, or from what was read of it before.

use core::pin::pin;
use core::task::{Context, Poll};
use std::io;

use bytes::{BufMut as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Reads to the end of `room`, as long as something is there, at most `most` bytes and what `room` has capacity
/// for. How many came; none at the end of the stream.
pub(crate) fn poll_fill(
    stream: &mut (impl AsyncRead + Unpin),
    cx: &mut Context<'_>,
    room: &mut BytesMut,
    most: usize,
) -> Poll<io::Result<usize>> {
    let start = room.len();
    let end = room.capacity().min(start.saturating_add(most));
    // Over TLS a record comes at a time. A socket that gave less than was asked for is not asked again.
    while room.len() < end {
        let free = end - room.len();
        let mut free = (&mut *room).limit(free);
        match pin!(stream.read_buf(&mut free)).poll(cx) {
            Poll::Ready(Ok(0)) => break,
            Poll::Ready(Ok(_)) => {}
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending if room.len() == start => return Poll::Pending,
            Poll::Pending => break,
        }
    }
    Poll::Ready(Ok(room.len() - start))
}

/// Moves bytes from the start of `rest` to the end of `room`, at most `most` and what `room` has capacity for. How many.
pub(crate) fn fill_from(rest: &mut Bytes, room: &mut BytesMut, most: usize) -> usize {
    let free = room.capacity() - room.len();
    let piece = rest.split_to(rest.len().min(most).min(free));
    room.extend_from_slice(&piece);
    piece.len()
}
