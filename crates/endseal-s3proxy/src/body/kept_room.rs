//! Memory for sealed objects of one chunk, which a thread uses again and again.
//!
//! They are longer than what an allocator has at hand for a thread: to take so much and to give it back made it look
//! through its free memory, and join it, for each of them.

use core::cell::RefCell;
use core::mem;

use bytes::Bytes;
use endseal_crypto::segment::SEALED_CHUNK_LEN;

/// Memory of one object that is kept at most: a chunk, and what else an object has.
const LONGEST: usize = SEALED_CHUNK_LEN + 1024;

/// Objects whose memory a thread keeps: each has its own until the backend has answered.
const KEPT: usize = 8;

thread_local! {
    /// Of objects before. Only sealed bytes were ever in it.
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// So much memory, which goes back to the thread that drops it.
pub(crate) struct KeptRoom {
    memory: Vec<u8>,
    len: usize,
}

impl KeptRoom {
    /// Room for `len` bytes, in which there is anything: zeros, or what was in it before.
    ///
    /// Nothing but sealed bytes may be written to it.
    pub(crate) fn take(len: usize) -> Self {
        let mut memory = SPARE.with_borrow_mut(Vec::pop).unwrap_or_default();
        if memory.len() < len {
            // Not made longer: what is in it is of no use any more.
            memory = vec![0; len];
        }
        Self { memory, len }
    }

    /// What was written, without a copy.
    pub(crate) fn freeze(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for KeptRoom {
    fn as_ref(&self) -> &[u8] {
        &self.memory[..self.len]
    }
}

impl AsMut<[u8]> for KeptRoom {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.memory[..self.len]
    }
}

impl Drop for KeptRoom {
    fn drop(&mut self) {
        if self.memory.capacity() > LONGEST {
            return;
        }
        // A thread that ends keeps nothing.
        let _ended = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < KEPT {
                spare.push(mem::take(&mut self.memory));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_one_object_is_that_of_the_next() {
        let mut first = KeptRoom::take(4_284);
        first.as_mut().fill(7);
        let first = first.freeze();
        let place = first.as_ptr();
        assert_ne!(KeptRoom::take(100).as_ref().as_ptr(), place, "it is somebody's");
        let again = first.clone();
        drop(first);
        assert!(again.iter().all(|byte| *byte == 7) && again.len() == 4_284);
        drop(again);
        let shorter = KeptRoom::take(10);
        assert_eq!((shorter.as_ref().as_ptr(), shorter.as_ref().len()), (place, 10));
    }

    #[test]
    fn a_thread_keeps_no_more_than_some_objects_of_one_chunk_need() {
        drop(KeptRoom::take(LONGEST + 1).freeze());
        assert!(SPARE.take().is_empty());
        drop((0..KEPT + 3).map(|_| KeptRoom::take(LONGEST)).collect::<Vec<_>>());
        let spare = SPARE.take();
        assert_eq!((spare.len(), spare[0].capacity()), (KEPT, LONGEST));
    }
}
