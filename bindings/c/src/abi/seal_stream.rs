//! Sealing content that comes in pieces.

use std::ffi::c_void;

use endseal_facade as facade;
use endseal_facade::OsRandom;

use super::memory::{Stream, Write, bytes, free, give, handle_mut};
use super::seal::SealOptions;
use crate::status::{Status, settle};

/// An envelope that is being sealed.
#[allow(missing_debug_implementations, reason = "has secrets")]
pub struct SealStream(Stream<facade::SealStream>);

/// Begins an envelope. It is used by one thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_seal_stream_new(
    options: *const SealOptions,
    made: *mut *mut SealStream,
) -> Status {
    let make = || {
        let options = unsafe { SealOptions::read(options) }?;
        Ok(SealStream(Stream::new(facade::SealStream::new(&options, &mut OsRandom)?)))
    };
    settle(unsafe { give(made, make) })
}

/// Seals the next bytes of the content, and gives the next bytes of the envelope to `to`. If that
/// gives up, the envelope is lost: every later call fails.
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
        unsafe { handle_mut(stream)?.0.pass(to, user, |stream| Ok(stream.push(content)?)) }
    })())
}

/// Gives the last bytes of the envelope to `to`. Without them no one opens it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_seal_stream_finish(
    stream: *mut SealStream,
    to: Write,
    user: *mut c_void,
) -> Status {
    settle((|| unsafe { handle_mut(stream)?.0.pass(to, user, |stream| Ok(stream.finish()?)) })())
}

/// Frees an envelope that was being sealed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_seal_stream_free(stream: *mut SealStream) {
    unsafe { free(stream) }
}
