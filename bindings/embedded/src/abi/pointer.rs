//! Pointers of a call, checked and made slices.

use core::ffi::c_char;
use core::marker::PhantomData;
use core::slice;

use crate::status::{ENDSEAL_NOSTR_TOO_SMALL, Failure, WriteFailure};

/// Most pointers that a function takes.
const MOST: usize = 12;

/// All memory that a call reads and writes. Two pieces overlap only if the call writes neither.
pub(super) struct Memory<'a> {
    pieces: [Piece; MOST],
    count: usize,
    lifetime: PhantomData<&'a mut [u8]>,
}

#[derive(Clone, Copy)]
struct Piece {
    start: usize,
    len: usize,
    is_written: bool,
}

impl Piece {
    const NONE: Self = Self { start: 0, len: 0, is_written: false };

    const fn overlaps(&self, other: &Self) -> bool {
        // Neither sum overflows: a piece ends within the address space.
        self.start < other.start + other.len && other.start < self.start + self.len
    }
}

impl<'a> Memory<'a> {
    /// Starts a call with the memory of its context.
    ///
    /// # Safety
    /// Each pointer that is passed to a method is null, or valid during `'a` for reads of its
    /// length, or for writes if the method says so. Nothing else writes there meanwhile.
    pub(super) const unsafe fn new(context: usize, len: usize) -> Self {
        let mut pieces = [Piece::NONE; MOST];
        pieces[0] = Piece { start: context, len, is_written: true };
        Self { pieces, count: 1, lifetime: PhantomData }
    }

    /// Registers a piece.
    fn register(&mut self, start: usize, len: usize, is_written: bool) -> Result<(), Failure> {
        let most = isize::MAX.unsigned_abs();
        if start == 0 || len > most || start.checked_add(len).is_none() {
            return Err(Failure::Argument);
        }
        let piece = Piece { start, len, is_written };
        let clashes = |it: &Piece| (it.is_written || is_written) && it.overlaps(&piece);
        if self.pieces.iter().take(self.count).any(clashes) {
            return Err(Failure::Argument);
        }
        *self.pieces.get_mut(self.count).ok_or(Failure::Argument)? = piece;
        self.count += 1;
        Ok(())
    }

    /// Bytes that the call reads. The pointer may be null if there are none.
    pub(super) fn bytes(&mut self, start: *const u8, len: usize) -> Result<&'a [u8], Failure> {
        if len == 0 {
            return Ok(&[]);
        }
        self.register(start.addr(), len, false)?;
        // SAFETY: it is not null, no longer than a slice can be, and overlaps nothing that is
        // written; the rest is the contract of `new`.
        Ok(unsafe { slice::from_raw_parts(start, len) })
    }

    /// A text that the call reads, as its bytes.
    pub(super) fn text(&mut self, start: *const c_char, len: usize) -> Result<&'a [u8], Failure> {
        self.bytes(start.cast(), len)
    }

    /// An array that the call reads.
    pub(super) fn array<const N: usize>(
        &mut self,
        start: *const u8,
    ) -> Result<&'a [u8; N], Failure> {
        self.bytes(start, N)?.as_array().ok_or(Failure::Argument)
    }

    /// Bytes that the call writes.
    pub(super) fn bytes_mut(
        &mut self,
        start: *mut u8,
        len: usize,
    ) -> Result<&'a mut [u8], Failure> {
        if len == 0 {
            return Ok(&mut []);
        }
        self.register(start.addr(), len, true)?;
        // SAFETY: as in `bytes`; it overlaps nothing that the call uses.
        Ok(unsafe { slice::from_raw_parts_mut(start, len) })
    }

    /// An array that the call writes.
    pub(super) fn array_mut<const N: usize>(
        &mut self,
        start: *mut u8,
    ) -> Result<&'a mut [u8; N], Failure> {
        self.bytes_mut(start, N)?.as_mut_array().ok_or(Failure::Argument)
    }

    /// A value that the call reads.
    pub(super) fn value<T>(&mut self, start: *const T) -> Result<&'a T, Failure> {
        if !start.is_aligned() {
            return Err(Failure::Argument);
        }
        self.register(start.addr(), size_of::<T>(), false)?;
        // SAFETY: it is aligned and not null; the rest is the contract of `new`.
        Ok(unsafe { &*start })
    }

    /// A value that the call writes.
    pub(super) fn value_mut<T>(&mut self, start: *mut T) -> Result<&'a mut T, Failure> {
        if !start.is_aligned() {
            return Err(Failure::Argument);
        }
        self.register(start.addr(), size_of::<T>(), true)?;
        // SAFETY: it is aligned, not null, and overlaps nothing that the call uses.
        Ok(unsafe { &mut *start })
    }

    /// A buffer for a text, with the place of its length.
    pub(super) fn output(
        &mut self,
        start: *mut c_char,
        capacity: usize,
        len: *mut usize,
    ) -> Result<TextOutput<'a>, Failure> {
        let len = self.value_mut(len)?;
        *len = 0;
        Ok(TextOutput { buffer: self.bytes_mut(start.cast(), capacity)?, len })
    }
}

/// A buffer of the caller for a text and the zero byte behind it.
pub(super) struct TextOutput<'a> {
    buffer: &'a mut [u8],
    len: &'a mut usize,
}

impl TextOutput<'_> {
    /// Lets `write` fill the buffer. Stores the length that it returns or that is needed.
    ///
    /// # Errors
    /// The status of the call.
    pub(super) fn write(
        self,
        write: impl FnOnce(&mut [u8]) -> Result<usize, WriteFailure>,
    ) -> Result<(), i32> {
        // Without space for the zero byte there is no space for a text.
        let (room, has_end) = match self.buffer.split_last_mut() {
            Some((_, room)) => (room, true),
            None => (&mut [][..], false),
        };
        let (end, len, status) = match write(room) {
            Ok(len) if has_end => (len, len, Ok(())),
            Ok(len) | Err(WriteFailure::TooSmall(len)) => (0, len, Err(ENDSEAL_NOSTR_TOO_SMALL)),
            Err(WriteFailure::Other(failure)) => (0, 0, Err(failure.into())),
        };
        // After a failure the buffer holds the empty text.
        if let Some(byte) = self.buffer.get_mut(end) {
            *byte = 0;
        }
        *self.len = len;
        status
    }
}
