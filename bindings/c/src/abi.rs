//! The functions of the header. These modules have the only unsafe code of this crate: the
//! attributes, because names of functions are unique in a program, and the pointers of the caller.
//!
//! The header says what a caller has to keep to, for all functions at once: pointers that are not
//! null point to what their types say, lengths are those of what is pointed to, and handles were
//! returned by this library and not freed. Functions refuse null pointers where a value is needed.
#![allow(clippy::missing_safety_doc, reason = "the header says it once")]

mod identity;
mod memory;
mod open;
mod open_stream;
mod seal;
mod seal_stream;

use std::ffi::c_char;

pub use identity::*;
pub use memory::Write;
pub use open::*;
pub use open_stream::*;
pub use seal::*;
pub use seal_stream::*;

use crate::status;

/// Version of this interface. It changes when a program has to be compiled anew.
pub const ENDSEAL_ABI_VERSION: u32 = 1;

/// Returns the version of the interface of the library. A program that was compiled with another
/// ENDSEAL_ABI_VERSION does not work with it.
#[unsafe(no_mangle)]
pub extern "C" fn endseal_abi_version() -> u32 {
    ENDSEAL_ABI_VERSION
}

/// Returns the name of a status, such as "too-old". It stays for ever.
#[unsafe(no_mangle)]
pub extern "C" fn endseal_status_name(status: i32) -> *const c_char {
    status::name(status).as_ptr()
}

/// Returns what was wrong with the last call on this thread, for people; "" if nothing was. The
/// text stays until the next call on this thread that returns a status.
#[unsafe(no_mangle)]
pub extern "C" fn endseal_last_error() -> *const c_char {
    status::last_text()
}
