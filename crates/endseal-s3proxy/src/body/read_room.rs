//! Memory that sealed bytes are read into, and in which they are opened.
//!
//! What was opened leaves while the next bytes come: behind it in the same memory, as long as there is room. Then who
//! reads waits until what was opened is written. So a download has one room, however slow its client is; what the backend
//! sends meanwhile waits in the socket.

use alloc::sync::Arc;
use core::cell::RefCell;
use core::mem;
use core::ops::{Deref, DerefMut};
use core::task::{Context, Poll, Waker};
use std::sync::{Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use endseal_crypto::segment::{CHUNK_LEN, SALT_LEN, SEALED_CHUNK_LEN};

/// Shorter ones are not worth being kept, or waited for.
const LEAST: usize = 64 * 1024;

/// Kept for the next downloads of the thread.
const KEPT: usize = 2;

thread_local! {
    static KEPT_ROOMS: RefCell<Vec<(BytesMut, usize)>> = const { RefCell::new(Vec::new()) };
}

/// Sealed bytes, with room for more.
#[derive(Default)]
pub(super) struct ReadRoom {
    bytes: BytesMut,
    /// Bytes of all of its memory.
    len: usize,
    /// Has clones in all that was given out of it and is still somebody's. None of a short one.
    waiting: Option<Arc<Waiting>>,
}

/// Who waits until what was given out of a room is let go.
#[derive(Default)]
struct Waiting(Mutex<Option<Waker>>);

impl Waiting {
    fn replace(&self, waker: Option<Waker>) -> Option<Waker> {
        mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), waker)
    }
}

/// Bytes that were given out of a room.
struct Given {
    bytes: Bytes,
    waiting: Arc<Waiting>,
}

impl AsRef<[u8]> for Given {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        // First, so that whoever is woken finds room.
        self.bytes = Bytes::new();
        if let Some(waker) = self.waiting.replace(None) {
            waker.wake();
        }
    }
}

/// Chunks of a room, whose content is as long as `reads` of `read` bytes: what is opened or sealed in it then leaves in
/// one write, and hyper, which gathers as much as it reads at once, writes it before it asks for more.
pub(super) const fn chunks(reads: usize, read: usize) -> usize {
    (reads * read).div_ceil(CHUNK_LEN)
}

/// Bytes of them, sealed. A salt fits too, so that uploads can have the rooms of downloads.
pub(super) const fn len(reads: usize, read: usize) -> usize {
    chunks(reads, read) * SEALED_CHUNK_LEN + SALT_LEN
}

impl ReadRoom {
    /// Takes `len` bytes off its start. When they are let go, there is room where they are.
    pub(super) fn give(&mut self, len: usize) -> Bytes {
        let bytes = self.bytes.split_to(len).freeze();
        match &self.waiting {
            Some(waiting) => Bytes::from_owner(Given { bytes, waiting: Arc::clone(waiting) }),
            None => bytes,
        }
    }

    /// Waits until it has room for `len` bytes in all, those included that are in it and stay. It has that at once, in
    /// other memory, where its own is too short.
    pub(super) fn poll_has(&mut self, cx: &Context<'_>, len: usize) -> Poll<()> {
        if self.has(len) {
            return Poll::Ready(());
        }
        if self.len >= len
            && let Some(waiting) = self.waiting.clone()
        {
            waiting.replace(Some(cx.waker().clone()));
            // What is let go from here on wakes.
            if self.has(len) {
                return Poll::Ready(());
            }
            // One is the room's, one is here.
            if Arc::strong_count(&waiting) > 2 {
                return Poll::Pending;
            }
        }
        let mut other = Self::other(len);
        other.bytes.extend_from_slice(&self.bytes);
        *self = other;
        Poll::Ready(())
    }

    /// Whether there is room for `len` bytes in all; or could be, as nobody has what was before those that are in it.
    fn has(&mut self, len: usize) -> bool {
        self.bytes.capacity() >= len || self.bytes.try_reclaim(len.saturating_sub(self.bytes.len()))
    }

    /// One of the thread's that is free, or else a new one, in place of one that is free and too short.
    fn other(len: usize) -> Self {
        let kept = (len >= LEAST).then(|| {
            KEPT_ROOMS.with_borrow_mut(|rooms| {
                let free = rooms.iter_mut().position(|(room, _)| room.try_reclaim(len));
                if free.is_none() {
                    let short = rooms.iter_mut().position(|(room, len)| room.try_reclaim(*len));
                    drop(short.map(|at| rooms.swap_remove(at)));
                }
                free.map(|at| rooms.swap_remove(at))
            })
        });
        let (bytes, len) = kept.flatten().unwrap_or_else(|| (BytesMut::with_capacity(len), len));
        Self { bytes, len, waiting: (len >= LEAST).then(Arc::default) }
    }
}

impl Drop for ReadRoom {
    /// It serves again when nobody has what was given out of it.
    fn drop(&mut self) {
        if self.len < LEAST {
            return;
        }
        let (mut bytes, len) = (mem::take(&mut self.bytes), self.len);
        bytes.clear();
        // Where the thread ends, memory does.
        let _ = KEPT_ROOMS.try_with(|rooms| {
            let rooms = &mut *rooms.borrow_mut();
            if rooms.len() == KEPT {
                rooms.remove(0);
            }
            rooms.push((bytes, len));
        });
    }
}

impl Deref for ReadRoom {
    type Target = BytesMut;

    fn deref(&self) -> &BytesMut {
        &self.bytes
    }
}

impl DerefMut for ReadRoom {
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

    use super::{KEPT, KEPT_ROOMS, LEAST, ReadRoom, chunks, len};

    fn kept() -> usize {
        KEPT_ROOMS.with_borrow(Vec::len)
    }

    /// A room that has so many bytes, as nobody has any of it.
    fn of(len: usize) -> ReadRoom {
        let mut room = ReadRoom::default();
        assert!(room.poll_has(&Context::from_waker(Waker::noop()), len).is_ready());
        assert!(room.capacity() >= len);
        room
    }

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn a_room_is_as_long_as_its_content_sealed() {
        assert_eq!((chunks(2, 768 * 1024), len(2, 768 * 1024)), (96, 96 * 16_400 + 24));
        assert_eq!(chunks(3, 768 * 1024), 144);
        assert_eq!(len(2, 1), 16_424);
    }

    #[test]
    fn it_waits_until_what_was_given_is_let_go() {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let cx = &Context::from_waker(&waker);
        let mut room = of(LEAST);
        let place = room.as_ptr();
        room.extend_from_slice(&[1; 1_000]);
        let given = [room.give(100), room.give(500)];
        assert_eq!(room.poll_has(cx, room.capacity()), Poll::Ready(()), "behind it is room");
        assert_eq!((room.poll_has(cx, LEAST), room.len()), (Poll::Pending, 400));
        assert!(given.iter().flatten().chain(room.iter()).all(|byte| *byte == 1));
        let [first, second] = given;
        drop(first);
        assert_eq!(woken.0.load(Relaxed), 1);
        assert_eq!(room.poll_has(cx, LEAST), Poll::Pending, "half of it is still given");
        drop(second);
        assert_eq!(woken.0.load(Relaxed), 2);
        assert_eq!(room.poll_has(cx, LEAST), Poll::Ready(()));
        assert_eq!((room.as_ptr(), &room[..]), (place, &[1; 400][..]), "what is in it stays");
        drop(room.give(400));
        assert_eq!(woken.0.load(Relaxed), 2, "nobody waited");
    }

    #[test]
    fn there_is_other_memory_where_waiting_is_of_no_use() {
        let cx = &Context::from_waker(Waker::noop());
        let mut room = of(LEAST);
        room.resize(LEAST, 1);
        let given = room.give(60_000);
        assert_eq!(room.poll_has(cx, LEAST + 1), Poll::Ready(()), "it is too short");
        assert!(room.capacity() > LEAST && given.iter().chain(room.iter()).all(|byte| *byte == 1));
        assert_eq!((room.len(), kept()), (LEAST - 60_000, 1));
        // More is left than was before it, so that it cannot move there, and nobody has that.
        let mut room = of(2 * LEAST);
        room.resize(2 * LEAST, 1);
        drop(room.give(1_000));
        assert_eq!(room.poll_has(cx, 2 * LEAST), Poll::Ready(()));
        assert_eq!(room.len(), 2 * LEAST - 1_000);
        let mut short = of(LEAST - 1);
        short.resize(LEAST - 1, 1);
        let given = short.give(1_000);
        assert_eq!(short.poll_has(cx, LEAST - 1), Poll::Ready(()), "a short one is not waited for");
        drop(given);
    }

    #[test]
    fn few_are_kept_and_no_short_ones() {
        let mut rooms: Vec<_> = (0..3 * KEPT).map(|_| of(LEAST)).collect();
        rooms.push(of(LEAST - 1));
        let place = rooms[0].as_ptr();
        drop(rooms.remove(0));
        assert_eq!((kept(), of(LEAST).as_ptr()), (1, place), "the one that is free");
        drop(rooms);
        assert_eq!(kept(), KEPT);
        let mut longer = of(4 * LEAST);
        assert_eq!(kept(), KEPT - 1, "it has the place of one that is too short");
        longer.resize(4 * LEAST, 1);
        let given = longer.give(4 * LEAST);
        drop(longer);
        assert_eq!(kept(), KEPT);
        assert_ne!(of(4 * LEAST).as_ptr(), given.as_ptr(), "none of them is long enough and free");
    }
}
