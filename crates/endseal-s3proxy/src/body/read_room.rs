//! Memory that sealed bytes are read into, and in which they are opened.
//!
//! What was opened leaves while the next bytes come: behind it in the same memory, as long as there is room, or else
//! in another one of the thread's. So a download whose client keeps up has one.

use core::cell::RefCell;
use core::mem;
use core::ops::{Deref, DerefMut};
use core::task::{Context, Poll};

use bytes::BytesMut;
use endseal_crypto::segment::{CHUNK_LEN, SALT_LEN, SEALED_CHUNK_LEN, TAG_LEN};

/// Shorter ones are not worth being kept.
const LEAST: usize = 64 * 1024;

/// Kept for the next download of the thread: the one that is read into, and one whose bytes wait for a socket.
const KEPT: usize = 2;

/// Bytes that a room has more than what it holds, when all that are kept wait for a socket.
const SPARE: usize = 8 * SEALED_CHUNK_LEN + SALT_LEN + 8 * TAG_LEN;

thread_local! {
    static KEPT_ROOMS: RefCell<Vec<(BytesMut, usize)>> = const { RefCell::new(Vec::new()) };
}

/// Sealed bytes, with room for more.
#[derive(Default)]
pub(super) struct ReadRoom {
    bytes: BytesMut,
    /// Bytes of all of its memory.
    len: usize,
    /// Whether somebody waited for it already.
    waited: bool,
    /// Whether it is a little one beside others.
    spare: bool,
}

/// Bytes of a room for sealed chunks whose content is as long as one read, so that a connection that gathers as much
/// before it writes waits for no more. A salt fits too, so that uploads can have the same rooms.
pub(super) const fn len(read: usize) -> usize {
    read.div_ceil(CHUNK_LEN) * SEALED_CHUNK_LEN + SALT_LEN
}

impl ReadRoom {
    /// Whether it has room for `len` bytes in all, those included that are in it and stay, or could make some of what
    /// was before them, as nobody has that any more.
    pub(super) fn has(&mut self, len: usize) -> bool {
        self.bytes.capacity() >= len || self.bytes.try_reclaim(len.saturating_sub(self.bytes.len()))
    }

    /// [`Self::has`], once: if not, whoever is polled with `cx` is polled again, and may have let go of what was split
    /// off of it by then. So there is one room where there would be two, unless somebody is slow.
    pub(super) fn poll_has(&mut self, cx: &Context<'_>, len: usize) -> Poll<bool> {
        if self.has(len) {
            self.waited = false;
            return Poll::Ready(true);
        }
        if self.len < LEAST || mem::replace(&mut self.waited, true) {
            return Poll::Ready(false);
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Has room for `len` bytes in all, those included that are in it and stay; or for less, but some more than those,
    /// as long as somebody is slow.
    pub(super) fn grow(&mut self, len: usize) {
        if self.has(len) {
            return;
        }
        let mut other = if len < LEAST { Self::of(len) } else { self.other(len) };
        other.bytes.extend_from_slice(&self.bytes);
        *self = other;
    }

    fn of(len: usize) -> Self {
        Self { bytes: BytesMut::with_capacity(len), len, waited: false, spare: false }
    }

    /// One of the thread's that is free; or else a new one, which is little if the others wait for a socket.
    fn other(&self, len: usize) -> Self {
        let kept = KEPT_ROOMS.with_borrow_mut(|rooms| {
            let free = rooms.iter_mut().position(|(room, _)| room.try_reclaim(len));
            free.map(|at| rooms.swap_remove(at)).ok_or_else(|| {
                rooms
                    .iter_mut()
                    .map(|(room, len)| usize::from(!room.try_reclaim(*len)))
                    .sum::<usize>()
            })
        });
        match kept {
            Ok((bytes, len)) => Self { bytes, len, waited: false, spare: false },
            Err(waiting) if waiting + usize::from(self.is_kept()) >= KEPT => {
                let mut room = Self::of(len.min(self.bytes.len().saturating_add(SPARE)));
                room.spare = true;
                room
            }
            Err(_) => Self::of(len),
        }
    }

    /// Whether it serves again.
    fn is_kept(&self) -> bool {
        self.len >= LEAST && !self.spare
    }
}

impl Drop for ReadRoom {
    /// It serves again when nobody has what was split off of it.
    fn drop(&mut self) {
        if !self.is_kept() {
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
    use core::task::{Context, Poll, Waker};

    use super::{KEPT, KEPT_ROOMS, LEAST, ReadRoom, SPARE, len};

    fn kept() -> usize {
        KEPT_ROOMS.with_borrow(Vec::len)
    }

    #[test]
    fn a_room_is_as_long_as_its_content_sealed() {
        assert_eq!(len(768 * 1024), 48 * 16_400 + 24);
        assert_eq!(len(1), 16_424);
    }

    #[test]
    fn what_is_in_it_stays_when_it_grows() {
        let mut room = ReadRoom::default();
        room.grow(LEAST);
        room.extend_from_slice(&[1; 1_000]);
        let given = room.split_to(600).freeze();
        room.grow(LEAST);
        assert_eq!(
            (room.len(), room.capacity()),
            (400, LEAST),
            "other memory: the first is in use"
        );
        let place = given.as_ptr();
        assert!(given.iter().chain(room.iter()).all(|byte| *byte == 1));
        assert_eq!(kept(), 1);
        drop(given);
        let split = room.split_to(100).freeze();
        room.grow(LEAST);
        assert_eq!(room.as_ptr(), place, "the first one again, which is free");
        assert!(room.len() == 300 && room.iter().chain(&split).all(|byte| *byte == 1));
        drop(split);
        let start = room.split_to(250);
        drop(start);
        room.grow(LEAST);
        assert_eq!((room.as_ptr(), room.len()), (place, 50), "in its place, as nobody has it");
    }

    #[test]
    fn there_is_a_little_one_as_long_as_all_others_wait() {
        let of = |len| {
            let mut room = ReadRoom::default();
            room.grow(len);
            room
        };
        let mut given = Vec::new();
        for _ in 0..KEPT {
            let mut room = of(4 * LEAST);
            assert!(room.capacity() >= 4 * LEAST);
            room.resize(4 * LEAST, 1);
            given.push(room.split().freeze());
        }
        let little = of(4 * LEAST);
        assert!((SPARE..4 * LEAST).contains(&little.capacity()));
        drop(little);
        assert_eq!(kept(), KEPT, "it is not kept");
        drop(given.pop());
        let place = of(4 * LEAST).as_ptr();
        assert_eq!(of(4 * LEAST).as_ptr(), place, "the one that is free");
        drop(given);
        // Those that are too short hinder nobody.
        assert!(of(8 * LEAST).capacity() >= 8 * LEAST);
    }

    #[test]
    fn it_is_waited_for_once() {
        let mut cx = Context::from_waker(Waker::noop());
        let cx = &mut cx;
        let mut room = ReadRoom::default();
        assert_eq!(room.poll_has(cx, LEAST), Poll::Ready(false), "there is nothing to wait for");
        room.grow(LEAST);
        assert_eq!(room.poll_has(cx, LEAST), Poll::Ready(true));
        for lets_go in [true, false] {
            room.resize(LEAST, 1);
            let given = room.split().freeze();
            assert_eq!(room.poll_has(cx, LEAST), Poll::Pending);
            let kept = (!lets_go).then_some(given);
            assert_eq!(room.poll_has(cx, LEAST), Poll::Ready(lets_go));
            drop(kept);
        }
        assert_eq!(room.poll_has(cx, LEAST), Poll::Ready(true));
    }

    #[test]
    fn few_are_kept_and_no_short_ones() {
        let mut rooms = Vec::new();
        for _ in 0..3 * KEPT {
            let mut room = ReadRoom::default();
            room.grow(LEAST);
            rooms.push(room);
        }
        let mut short = ReadRoom::default();
        short.grow(LEAST - 1);
        rooms.push(short);
        drop(rooms);
        assert_eq!(kept(), KEPT);
        let mut longer = ReadRoom::default();
        longer.grow(4 * LEAST);
        assert_eq!(kept(), KEPT, "none of them is long enough");
    }
}
