//! Sealing content that comes in pieces.

use std::ffi::c_void;

use endseal_facade::{OsRandom, SealStream};

use super::memory::{Write, bytes, free, give, handle_mut, write};
use super::seal::SealOptions;
use crate::status::{Status, settle};

/// Begins an envelope. It is used by one thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_seal_stream_new(
    options: *const SealOptions,
    made: *mut *mut SealStream,
) -> Status {
    let make = || {
        let options = unsafe { SealOptions::read(options) }?;
        Ok(SealStream::new(&options, &mut OsRandom)?)
    };
    settle(unsafe { give(made, make) })
}

/// Seals the next bytes of the content, and gives the next bytes of the envelope to `to`. If
/// `to` gives up, the envelope is lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_seal_stream_push(
    stream: *mut SealStream,
    content: *const u8,
    content_len: usize,
    to: Write,
    user: *mut c_void,
) -> Status {
    settle((|| {
        let content = unsafe { bytes(content, content_len) }?;
        let sealed = unsafe { handle_mut(stream) }?.push(content)?;
        unsafe { write(to, user, &sealed) }
    })())
}

/// Gives the last bytes of the envelope to `to`. Without them no one opens it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_seal_stream_finish(
    stream: *mut SealStream,
    to: Write,
    user: *mut c_void,
) -> Status {
    settle((|| {
        let sealed = unsafe { handle_mut(stream) }?.finish()?;
        unsafe { write(to, user, &sealed) }
    })())
}

/// Frees an envelope that was being sealed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_seal_stream_free(stream: *mut SealStream) {
    unsafe { free(stream) }
}
