//! Opening an envelope that comes in pieces.

use std::ffi::c_void;

use endseal_facade as facade;

use super::memory::{Stream, Write, bytes, free, give, handle, handle_mut, store};
use super::open::{Info, OpenOptions};
use crate::status::{Failure, Status, settle};

/// An envelope that is being opened.
#[allow(missing_debug_implementations, reason = "has secrets")]
pub struct OpenStream(Stream<facade::OpenStream>);

/// Begins to open an envelope. It is used by one thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_open_stream_new(
    options: *const OpenOptions,
    made: *mut *mut OpenStream,
) -> Status {
    let make = || {
        let options = unsafe { OpenOptions::read(options) }?;
        Ok(OpenStream(Stream::new(facade::OpenStream::new(&options)?)))
    };
    settle(unsafe { give(made, make) })
}

/// Takes the next bytes of the envelope, and gives the content of the blocks (4 MiB) that they
/// complete to `to`. What was given is authentic, but it is not all before
/// endseal_open_stream_finish returns ENDSEAL_STATUS_OK: an envelope may have been cut short. If
/// `to` gives up, every later call fails. Pieces of 64 KiB to 4 MiB keep memory low.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_open_stream_feed(
    stream: *mut OpenStream,
    envelope: *const u8,
    envelope_len: usize,
    to: Write,
    user: *mut c_void,
) -> Status {
    settle((|| {
        let envelope = unsafe { bytes(envelope, envelope_len) }?;
        unsafe { handle_mut(stream)?.0.pass(to, user, |stream| Ok(stream.feed(envelope)?)) }
    })())
}

/// Ends the envelope, and gives the rest of its content to `to`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_open_stream_finish(
    stream: *mut OpenStream,
    to: Write,
    user: *mut c_void,
) -> Status {
    settle((|| unsafe { handle_mut(stream)?.0.pass(to, user, |stream| Ok(stream.finish()?)) })())
}

/// Stores what is known of the message: after the first content, or the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_open_stream_info(
    stream: *const OpenStream,
    info: *mut Info,
) -> Status {
    settle((|| {
        let known = unsafe { handle(stream) }?.0.inner().and_then(facade::OpenStream::info);
        let known = known.ok_or_else(|| Failure::argument("nothing is known yet"))?;
        unsafe { store(info, Info::of(known)) }
    })())
}

/// Frees an envelope that was being opened.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_open_stream_free(stream: *mut OpenStream) {
    unsafe { free(stream) }
}
