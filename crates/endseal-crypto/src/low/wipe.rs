//! Bytes that are wiped as fast as memory is written.

use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};

use zeroize::optimization_barrier;

/// Zeroes `bytes`; the compiler cannot remove it.
///
/// `Zeroize` of bytes writes them one by one, and the keys of one cipher have 816: they took a
/// sixth of the time in which the keys of an object are derived.
pub fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    optimization_barrier(bytes);
}

/// A value whose bytes are zeroed after it was dropped. A move leaves a copy behind, as always.
///
/// For hashes: the `Zeroize` of `blake3::Hasher` writes 1.9 KB byte by byte, which takes longer
/// than a short hash.
#[derive(Clone)]
pub(crate) struct WipeOnDrop<T>(ManuallyDrop<T>);

impl<T> WipeOnDrop<T> {
    #[inline(always)]
    pub(crate) fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }
}

impl<T> Deref for WipeOnDrop<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for WipeOnDrop<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Drop for WipeOnDrop<T> {
    fn drop(&mut self) {
        // SAFETY: the value is dropped here alone, and nothing reads it afterwards.
        unsafe { ManuallyDrop::drop(&mut self.0) };
        let value = &raw mut self.0;
        // SAFETY: the pointer is that of an exclusive borrow.
        unsafe { value.write_bytes(0, 1) };
        // The address escapes, so the zeros may be read.
        optimization_barrier(&value);
    }
}

#[cfg(test)]
mod tests {
    use core::mem::ManuallyDrop;

    use super::{WipeOnDrop, wipe};

    #[test]
    fn the_bytes_of_a_dropped_value_are_zero() {
        let mut value = ManuallyDrop::new(WipeOnDrop::new([0x5a_u32; 300]));
        assert_eq!(value[7], 0x5a);
        value[8] = 1;
        // SAFETY: it is dropped once.
        unsafe { ManuallyDrop::drop(&mut value) };
        // Every bit pattern is a value of this type, and its memory is still there.
        assert!(value.0.iter().all(|word| *word == 0));
    }

    #[test]
    fn all_bytes_are_wiped_and_no_others() {
        for len in 0..200 {
            let mut bytes = [1; 202];
            wipe(&mut bytes[1..=len]);
            assert_eq!(bytes.iter().filter(|byte| **byte == 1).count(), 202 - len);
            assert!(bytes[1..=len].iter().all(|byte| *byte == 0));
        }
    }
}
