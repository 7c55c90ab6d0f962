//! A buffer whose front is handed out while its end is filled.
//!
//! A pipeline of bytes fills the buffer, converts bytes in place and splits them off its front.
//! Split bytes are written to a socket without a copy. When all of them are dropped, the buffer
//! reclaims their memory. The producer waits for that, so a stream has one allocation however slow
//! its reader is.

use alloc::sync::Arc;
use core::mem;
use core::ops::{Deref, DerefMut};
use core::task::{Context, Poll, Waker};
use std::sync::{Mutex, PoisonError};

use bytes::{Bytes, BytesMut};

/// Growable buffer whose front can be split off without copying.
#[derive(Default)]
pub(super) struct SharedBuffer {
    bytes: BytesMut,
    /// Size of the allocation in bytes.
    len: usize,
    /// Each split-off piece holds a clone, so the count shows if pieces exist.
    released: Arc<Released>,
}

/// Wakes the producer when a piece is dropped.
#[derive(Default)]
struct Released(Mutex<Option<Waker>>);

impl Released {
    fn replace(&self, waker: Option<Waker>) -> Option<Waker> {
        mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), waker)
    }
}

/// Bytes that were split off a buffer.
struct Piece {
    bytes: Bytes,
    released: Arc<Released>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // The bytes are dropped before the producer is woken, so that it can reclaim them.
        self.bytes = Bytes::new();
        if let Some(waker) = self.released.replace(None) {
            waker.wake();
        }
    }
}

impl SharedBuffer {
    /// Splits `len` bytes off the front.
    pub(super) fn split_frozen(&mut self, len: usize) -> Bytes {
        let bytes = self.bytes.split_to(len).freeze();
        Bytes::from_owner(Piece { bytes, released: Arc::clone(&self.released) })
    }

    /// Waits until the buffer can hold `len` bytes, its content included. A longer allocation is
    /// made at once.
    pub(super) fn poll_reserve(&mut self, cx: &Context<'_>, len: usize) -> Poll<()> {
        if self.reclaims(len) {
            return Poll::Ready(());
        }
        if self.len >= len {
            self.released.replace(Some(cx.waker().clone()));
            // Pieces that are dropped from here on wake the task.
            if self.reclaims(len) {
                return Poll::Ready(());
            }
            if Arc::strong_count(&self.released) > 1 {
                return Poll::Pending;
            }
        }
        // The allocation is too small, or the content is larger than the free memory before it.
        let mut bytes = BytesMut::with_capacity(len);
        bytes.extend_from_slice(&self.bytes);
        *self = Self { bytes, len, released: Arc::default() };
        Poll::Ready(())
    }

    /// Returns true if the buffer can hold `len` bytes, reclaiming those that no piece references.
    fn reclaims(&mut self, len: usize) -> bool {
        self.bytes.capacity() >= len || self.bytes.try_reclaim(len.saturating_sub(self.bytes.len()))
    }
}

impl Deref for SharedBuffer {
    type Target = BytesMut;

    fn deref(&self) -> &BytesMut {
        &self.bytes
    }
}

impl DerefMut for SharedBuffer {
    fn deref_mut(&mut self) -> &mut BytesMut {
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use core::task::{Context, Poll, Waker};
    use std::task::Wake;

    use super::SharedBuffer;

    const LEN: usize = 64 * 1024;

    fn of(len: usize) -> SharedBuffer {
        let mut buffer = SharedBuffer::default();
        assert!(buffer.poll_reserve(&Context::from_waker(Waker::noop()), len).is_ready());
        assert!(buffer.capacity() >= len);
        buffer
    }

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn it_waits_until_its_pieces_are_dropped() {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let cx = &Context::from_waker(&waker);
        let mut buffer = of(LEN);
        let place = buffer.as_ptr();
        buffer.extend_from_slice(&[1; 1_000]);
        let pieces = [buffer.split_frozen(100), buffer.split_frozen(500)];
        assert_eq!(buffer.poll_reserve(cx, buffer.capacity()), Poll::Ready(()), "it has that");
        assert_eq!((buffer.poll_reserve(cx, LEN), buffer.len()), (Poll::Pending, 400));
        assert!(pieces.iter().flatten().chain(buffer.iter()).all(|byte| *byte == 1));
        let [first, second] = pieces;
        drop(first);
        assert_eq!(woken.0.load(Relaxed), 1);
        assert_eq!(buffer.poll_reserve(cx, LEN), Poll::Pending, "one piece is left");
        drop(second);
        assert_eq!(woken.0.load(Relaxed), 2);
        assert_eq!(buffer.poll_reserve(cx, LEN), Poll::Ready(()));
        assert_eq!((buffer.as_ptr(), &buffer[..]), (place, &[1; 400][..]), "its content stays");
        drop(buffer.split_frozen(400));
        assert_eq!(woken.0.load(Relaxed), 2, "nothing waits");
    }

    #[test]
    fn it_has_a_new_allocation_where_waiting_is_of_no_use() {
        let cx = &Context::from_waker(Waker::noop());
        let mut buffer = of(LEN);
        buffer.resize(LEN, 1);
        let piece = buffer.split_frozen(60_000);
        assert_eq!(buffer.poll_reserve(cx, LEN + 1), Poll::Ready(()), "it is too short");
        assert!(buffer.capacity() > LEN && piece.iter().chain(buffer.iter()).all(|it| *it == 1));
        assert_eq!(buffer.len(), LEN - 60_000);
        // The content is larger than the free memory before it, so it cannot be moved there.
        let mut buffer = of(2 * LEN);
        buffer.resize(2 * LEN, 1);
        drop(buffer.split_frozen(1_000));
        assert_eq!(buffer.poll_reserve(cx, 2 * LEN), Poll::Ready(()));
        assert_eq!(buffer.len(), 2 * LEN - 1_000);
    }
}
