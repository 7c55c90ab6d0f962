//! Memory for what is sealed or opened next.
//!
//! It is needed until a socket has taken what was made, which mostly is at once. So each thread has some
//! rooms for all of its connections, instead of one room for each connection: a room is in the caches when
//! it is needed, and many connections take no more memory than few.

use core::cell::RefCell;

use bytes::{Bytes, BytesMut};

/// Bytes that are sealed or opened together at most. What was read may be longer; several rooms of that
/// length would take more memory than they save time.
pub(super) const PIECE: usize = 128 * 1024;

/// Bytes of a room: for a piece, what was left over from the one before, and tags.
const LEN: usize = PIECE + 17 * 1024;

/// Shorter ones are not worth being kept.
const LEAST: usize = 64 * 1024;

/// Rooms of a thread. Those whose bytes still wait for a socket are passed over.
const KEPT: usize = 2;

thread_local! {
    static ROOMS: RefCell<Vec<BytesMut>> = const { RefCell::new(Vec::new()) };
}

/// Lets an empty `room` have room for so many bytes, if it has not: another room.
pub(super) fn make(room: &mut BytesMut, len: usize) {
    if room.capacity() >= len {
        return;
    }
    *room = if (LEAST..=LEN).contains(&len) { take() } else { BytesMut::with_capacity(len) };
}

fn take() -> BytesMut {
    ROOMS.with_borrow_mut(|rooms| {
        let free = rooms.iter_mut().position(|room| room.try_reclaim(LEN));
        free.map_or_else(|| BytesMut::with_capacity(LEN), |at| rooms.swap_remove(at))
    })
}

/// All that is in `room`, which is left and serves again when nobody has these bytes any more.
pub(super) fn leave(room: &mut BytesMut) -> Bytes {
    let mut room = core::mem::take(room);
    let is_long = room.capacity() >= LEAST;
    let bytes = room.split().freeze();
    if is_long {
        ROOMS.with_borrow_mut(|rooms| {
            if rooms.len() == KEPT {
                rooms.remove(0);
            }
            rooms.push(room);
        });
    }
    bytes
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::{KEPT, LEAST, LEN, leave, make};

    fn take(len: usize) -> BytesMut {
        let mut room = BytesMut::new();
        make(&mut room, len);
        room
    }

    #[test]
    fn a_room_serves_again_when_nobody_has_its_bytes() {
        let mut room = take(LEN);
        room.resize(LEN, 1);
        let first = leave(&mut room);
        let place = first.as_ptr();
        let mut other = take(LEN);
        other.resize(LEN, 2);
        let second = leave(&mut other);
        assert_ne!(second.as_ptr(), place);
        assert!(first.iter().all(|byte| *byte == 1), "what somebody has stays as it is");
        drop(first);
        let mut again = take(LEAST);
        assert!(again.is_empty() && again.capacity() >= LEN);
        again.resize(LEAST, 3);
        assert_eq!(again.as_ptr(), place);
        assert!(second.iter().all(|byte| *byte == 2));
    }

    #[test]
    fn no_more_rooms_are_kept_than_that() {
        let all: Vec<_> = (0..3 * KEPT)
            .map(|number| {
                let mut room = take(LEN);
                room.resize(LEN, u8::try_from(number).unwrap());
                leave(&mut room)
            })
            .collect();
        super::ROOMS.with_borrow(|rooms| assert_eq!(rooms.len(), KEPT));
        for (number, bytes) in all.iter().enumerate() {
            assert!(bytes.iter().all(|byte| usize::from(*byte) == number));
        }
    }

    #[test]
    fn short_and_long_ones_have_their_own_memory() {
        for len in [0, 1, LEAST - 1, LEN + 1] {
            let mut room = take(len);
            assert!(room.capacity() >= len && (len > LEN || room.capacity() < LEAST));
            room.resize(len.min(100), 1);
            leave(&mut room);
        }
        super::ROOMS.with_borrow(|rooms| assert!(rooms.len() <= 1));
    }
}
