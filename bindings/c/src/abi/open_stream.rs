//! Opening an envelope that comes in pieces.

use std::ffi::c_void;

use endseal_facade::OpenStream;
use zeroize::Zeroizing;

use super::memory::{Write, bytes, free, give, handle, handle_mut, store, write};
use super::open::{Info, OpenOptions};
use crate::status::{Failure, Status, settle};

/// Begins to open an envelope. It is used by one thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_open_stream_new(
    options: *const OpenOptions,
    made: *mut *mut OpenStream,
) -> Status {
    let make = || {
        let options = unsafe { OpenOptions::read(options) }?;
        Ok(OpenStream::new(&options)?)
    };
    settle(unsafe { give(made, make) })
}

/// Takes the next bytes of the envelope, and gives the content of the blocks (4 MiB) that they
/// complete to `to`. What was given is authentic, but it is not all before
/// endseal_open_stream_finish returns ENDSEAL_STATUS_OK: an envelope may have been cut short.
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
        let content = Zeroizing::new(unsafe { handle_mut(stream) }?.feed(envelope)?);
        unsafe { write(to, user, &content) }
    })())
}

/// Ends the envelope, and gives the rest of its content to `to`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_open_stream_finish(
    stream: *mut OpenStream,
    to: Write,
    user: *mut c_void,
) -> Status {
    settle((|| {
        let content = Zeroizing::new(unsafe { handle_mut(stream) }?.finish()?);
        unsafe { write(to, user, &content) }
    })())
}

/// Stores what is known of the message: after the first content, or the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_open_stream_info(
    stream: *const OpenStream,
    info: *mut Info,
) -> Status {
    settle((|| {
        let known = unsafe { handle(stream) }?.info();
        let known = known.ok_or_else(|| Failure::argument("nothing is known yet"))?;
        unsafe { store(info, Info::of(known)) }
    })())
}

/// Frees an envelope that was being opened.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_open_stream_free(stream: *mut OpenStream) {
    unsafe { free(stream) }
}
