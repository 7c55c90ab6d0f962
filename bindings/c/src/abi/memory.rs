//! Memory of the caller.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::slice;

use zeroize::Zeroizing;

use crate::status::{Failure, Outcome};

/// Function that takes the next bytes of output. It returns 0, or another number to give up. It is
/// not called for no bytes. It does not throw, and calls no function of this library.
pub type Write =
    Option<unsafe extern "C" fn(user: *mut c_void, data: *const u8, len: usize) -> c_int>;

/// Returns the bytes of the caller. A null pointer stands for no bytes.
pub(crate) unsafe fn bytes<'a>(data: *const u8, len: usize) -> Outcome<&'a [u8]> {
    match (data.is_null(), len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::argument("a null pointer with a length")),
        // SAFETY: the caller of the header says that there are so many bytes.
        (false, _) if len <= isize::MAX as usize => Ok(unsafe { slice::from_raw_parts(data, len) }),
        _ => Err(Failure::argument("a length beyond memory")),
    }
}

/// Returns the elements of an array of pointers, none of which is null.
pub(crate) unsafe fn handles<'a, T>(of: *const *const T, count: usize) -> Outcome<Vec<&'a T>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if of.is_null() || count > isize::MAX as usize / size_of::<*const T>() {
        return Err(Failure::argument("an array that cannot be"));
    }
    // SAFETY: the caller of the header says that there are so many pointers, each to a handle.
    let all = unsafe { slice::from_raw_parts(of, count) };
    all.iter().map(|it| unsafe { handle(*it) }).collect()
}

/// Returns what a handle, or the pointer to a structure, points to.
pub(crate) unsafe fn handle<'a, T>(of: *const T) -> Outcome<&'a T> {
    // SAFETY: the caller of the header says what it points to.
    unsafe { of.as_ref() }.ok_or_else(|| Failure::argument("a null pointer"))
}

/// Returns what a handle points to that a call changes.
pub(crate) unsafe fn handle_mut<'a, T>(of: *mut T) -> Outcome<&'a mut T> {
    // SAFETY: the caller of the header says what it points to, and that no other call uses it.
    unsafe { of.as_mut() }.ok_or_else(|| Failure::argument("a null pointer"))
}

/// Stores a value at the caller's place.
pub(crate) unsafe fn store<T>(place: *mut T, value: T) -> Outcome {
    if place.is_null() {
        return Err(Failure::argument("a null pointer for a result"));
    }
    // SAFETY: the caller of the header says that there is such a place. It may be uninitialised.
    unsafe { place.write(value) };
    Ok(())
}

/// Makes an object, and stores its handle. The handle is null if that fails.
pub(crate) unsafe fn give<T>(place: *mut *mut T, make: impl FnOnce() -> Outcome<T>) -> Outcome {
    // SAFETY: as for the caller of this function.
    unsafe { store(place, ptr::null_mut()) }?;
    let made = Box::into_raw(Box::new(make()?));
    // SAFETY: as above.
    unsafe { store(place, made) }
}

/// Drops an object. A null pointer is none.
pub(crate) unsafe fn free<T>(object: *mut T) {
    if !object.is_null() {
        // SAFETY: the caller of the header says that it is one of ours and is not used again.
        drop(unsafe { Box::from_raw(object) });
    }
}

/// A buffer of the caller, and the place for the length that was used or is needed.
pub(crate) struct Output {
    data: *mut u8,
    capacity: usize,
    len: *mut usize,
}

impl Output {
    pub(crate) unsafe fn new(data: *mut u8, capacity: usize, len: *mut usize) -> Self {
        Self { data, capacity, len }
    }

    /// Stores the length, and lets `fill` write so many bytes. What was there is zeroed before.
    pub(crate) unsafe fn fill(
        self,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> Outcome,
    ) -> Outcome {
        // SAFETY: the caller of the header says that there is such a place.
        unsafe { store(self.len, len) }?;
        if len > self.capacity || self.data.is_null() && len > 0 {
            return Err(Failure::buffer(len));
        }
        if len == 0 {
            return fill(&mut []);
        }
        // SAFETY: the caller of the header says that there are so many bytes, which no one else
        // uses; after the first line they are initialised.
        let buffer = unsafe {
            self.data.write_bytes(0, len);
            slice::from_raw_parts_mut(self.data, len)
        };
        fill(buffer)
    }

    /// Copies bytes.
    pub(crate) unsafe fn copy(self, from: &[u8]) -> Outcome {
        let copy = |to: &mut [u8]| {
            to.copy_from_slice(from);
            Ok(())
        };
        // SAFETY: as for `fill`.
        unsafe { self.fill(from.len(), copy) }
    }
}

/// A stream until its output is lost: when the function of the caller has given up.
pub(crate) struct Stream<T>(Option<T>);

impl<T> Stream<T> {
    pub(crate) fn new(stream: T) -> Self {
        Self(Some(stream))
    }

    /// Returns what is known of the stream; `None` if its output was lost.
    pub(crate) fn inner(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// Gives what the stream returns to the function of the caller.
    pub(crate) unsafe fn pass(
        &mut self,
        to: Write,
        user: *mut c_void,
        call: impl FnOnce(&mut T) -> Outcome<Vec<u8>>,
    ) -> Outcome {
        let to = to.ok_or_else(|| Failure::argument("no function takes the output"))?;
        // The function may not return: the stream is then lost, too.
        let lost = || Failure::argument("output of the stream was lost");
        let mut stream = self.0.take().ok_or_else(lost)?;
        let output = call(&mut stream).map(Zeroizing::new);
        let is_taken = match &output {
            // SAFETY: the caller of the header says that the function takes this.
            Ok(bytes) if !bytes.is_empty() => unsafe { to(user, bytes.as_ptr(), bytes.len()) == 0 },
            _ => true,
        };
        if !is_taken {
            return Err(Failure::write());
        }
        self.0 = Some(stream);
        output.map(drop)
    }
}
