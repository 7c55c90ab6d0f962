//! A text that is read and the text that is written: in two buffers, or within one.
//!
//! Within one buffer, writing begins at or before the start of reading. So the first n written
//! bytes end at or before the end of the first n read bytes. Code that loads each vector before it
//! stores it overwrites nothing that is still to be loaded, for every distance. Memory is safe in
//! any order: there are no references to these bytes, only pointers to borrowed memory.

use core::arch::x86_64::{
    __m512i, _MM_HINT_ET0, _MM_HINT_T0, _mm_prefetch, _mm512_loadu_si512, _mm512_mask_storeu_epi8,
    _mm512_maskz_loadu_epi8, _mm512_storeu_si512,
};
use core::marker::PhantomData;

use super::ghash::BLOCKS;
use super::memory::{VECTOR, mask};

/// 32 blocks: eight vectors, which are needed to keep two AES units busy that take four cycles
/// each.
pub(super) const GROUP: usize = 16 * BLOCKS;
pub(super) const VECTORS: usize = GROUP / VECTOR;
/// Distance of prefetching, in bytes. The hardware sees each chunk of a stream as a new one and
/// would have to detect it again; this prefetch continues into the next chunk.
const AHEAD: usize = 8192;

/// `len` bytes that can be read at `from`, and as many that can be written at `to`.
pub(super) struct Text<'a> {
    from: *const u8,
    to: *mut u8,
    len: usize,
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a> Text<'a> {
    /// # Panics
    /// If the lengths differ.
    pub(super) fn between(from: &'a [u8], to: &'a mut [u8]) -> Self {
        assert_eq!(from.len(), to.len(), "ciphertext is as long as plaintext");
        let len = from.len();
        Self { from: from.as_ptr(), to: to.as_mut_ptr(), len, memory: PhantomData }
    }

    /// From `buffer[from..]` to the beginning of `buffer`.
    ///
    /// # Panics
    /// If `from` is beyond the end.
    pub(super) fn within(buffer: &'a mut [u8], from: usize) -> Self {
        assert!(from <= buffer.len(), "text begins in its buffer");
        let len = buffer.len() - from;
        let to = buffer.as_mut_ptr();
        Self { from: to.wrapping_add(from), to, len, memory: PhantomData }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn next_group(&mut self) -> Option<Group<'a>> {
        (self.len >= GROUP).then(|| Group(self.split(GROUP)))
    }

    /// A vector, or what is left of one.
    #[inline]
    pub(super) fn next_part(&mut self) -> Option<Part<'a>> {
        (self.len > 0).then(|| Part(self.split(self.len.min(VECTOR))))
    }

    /// The first `len` bytes, at most as many as there are.
    #[inline]
    fn split(&mut self, len: usize) -> Self {
        debug_assert!(len <= self.len);
        let first = Self { len, ..*self };
        self.from = self.from.wrapping_add(len);
        self.to = self.to.wrapping_add(len);
        self.len -= len;
        first
    }
}

/// A group of [`VECTORS`] whole vectors, which one step of a kernel processes.
pub(super) struct Group<'a>(Text<'a>);

impl Group<'_> {
    /// Vector i of what is read.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn load(&self, i: usize) -> __m512i {
        assert!(i < VECTORS);
        // SAFETY: reads 64 bytes of a group's 512, which need no alignment.
        unsafe { _mm512_loadu_si512(self.0.from.wrapping_add(VECTOR * i).cast()) }
    }

    /// Vector i of what was written.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn load_stored(&self, i: usize) -> __m512i {
        assert!(i < VECTORS);
        // SAFETY: reads 64 bytes of a group's 512, which need no alignment.
        unsafe { _mm512_loadu_si512(self.0.to.wrapping_add(VECTOR * i).cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn store(&mut self, i: usize, vector: __m512i) {
        assert!(i < VECTORS);
        // SAFETY: writes 64 bytes of a group's 512, which need no alignment.
        unsafe { _mm512_storeu_si512(self.0.to.wrapping_add(VECTOR * i).cast(), vector) }
    }

    /// Asks for what will be read and written soon, if it is there: an address that is not is
    /// ignored.
    #[inline]
    pub(super) fn prefetch(&self, i: usize) {
        let ahead = VECTOR * i + AHEAD;
        // SAFETY: a prefetch changes nothing that a program can see, and faults nowhere.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(self.0.from.wrapping_add(ahead).cast()) }
        // SAFETY: likewise.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(self.0.to.wrapping_add(ahead).cast()) }
    }
}

/// The end of a text: at most one vector, read and written under a mask.
pub(super) struct Part<'a>(Text<'a>);

impl Part<'_> {
    /// One bit for each byte.
    #[inline]
    pub(super) const fn mask(&self) -> u64 {
        mask(self.0.len)
    }

    /// Returns the bytes that are read, and zeros behind them.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn load(&self) -> __m512i {
        // SAFETY: the mask lets as many bytes be read as there are, and others are not touched.
        unsafe { _mm512_maskz_loadu_epi8(self.mask(), self.0.from.cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn store(&mut self, vector: __m512i) {
        // SAFETY: the mask lets as many bytes be written as there are, and others are not touched.
        unsafe { _mm512_mask_storeu_epi8(self.0.to.cast(), self.mask(), vector) }
    }
}
