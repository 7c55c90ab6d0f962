//! Results of calls.

use std::cell::RefCell;
use std::ffi::{CStr, CString};

use endseal_facade::Error;

/// Result of a call. Numbers do not change, and later versions may have more.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The call succeeded.
    Ok = 0,
    /// A fault of the caller: a null pointer, a context, recipients, a suite or a call that cannot
    /// be.
    Argument = 1,
    /// The bytes are no envelope, or no identity file.
    Header = 2,
    /// The envelope is of another version of the format.
    Version = 3,
    /// The envelope exceeds a limit of the format.
    Limit = 4,
    /// The envelope is not for this identity, or was sealed under another context, or was changed,
    /// or cut short.
    Authentication = 5,
    /// Refused by the options: the suite.
    Suite = 6,
    /// Refused by the options: the sender.
    Sender = 7,
    /// Refused by the options: the time is too long ago, or not stated.
    TooOld = 8,
    /// Refused by the options: the time is too far ahead.
    TooNew = 9,
    /// It was opened before. This library does not say so: a program that keeps sender and message
    /// id of what it opened can.
    Replayed = 10,
    /// The source of randomness failed.
    Random = 11,
    /// The identity file does not open with this passphrase.
    Passphrase = 12,
    /// The buffer is too small. The length that is needed was stored.
    Buffer = 13,
    /// The function that takes output returned another number than 0. Free the stream: what it gave
    /// is of no use.
    Write = 14,
}

/// Names of the results, in the order of their numbers: the codes of docs/spec/envelope.md.
const NAMES: [&CStr; 15] = [
    c"ok",
    c"argument",
    c"header",
    c"version",
    c"limit",
    c"authentication",
    c"suite",
    c"sender",
    c"too-old",
    c"too-new",
    c"replayed",
    c"random",
    c"passphrase",
    c"buffer",
    c"write",
];

const ALL: [Status; 15] = [
    Status::Ok,
    Status::Argument,
    Status::Header,
    Status::Version,
    Status::Limit,
    Status::Authentication,
    Status::Suite,
    Status::Sender,
    Status::TooOld,
    Status::TooNew,
    Status::Replayed,
    Status::Random,
    Status::Passphrase,
    Status::Buffer,
    Status::Write,
];

/// Reason why a call failed.
pub(crate) struct Failure {
    status: Status,
    text: String,
}

pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    pub(crate) fn argument(text: &str) -> Self {
        Self { status: Status::Argument, text: text.to_owned() }
    }

    pub(crate) fn buffer(needed: usize) -> Self {
        Self { status: Status::Buffer, text: format!("the buffer needs {needed} bytes") }
    }

    pub(crate) fn write() -> Self {
        let text = "the function that takes output failed".to_owned();
        Self { status: Status::Write, text }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let named = |name: &CStr| name.to_bytes() == error.code().as_bytes();
        let found = NAMES.iter().position(|name| named(name));
        // A test compares the codes with the specification.
        let status = found.map_or(Status::Argument, |at| ALL[at]);
        Self { status, text: error.to_string() }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Returns the status of a call, and keeps the text of its error.
pub(crate) fn settle(outcome: Outcome) -> Status {
    let (status, text) = match outcome {
        Ok(()) => (Status::Ok, String::new()),
        Err(failure) => (failure.status, failure.text),
    };
    // Texts of errors have no NUL.
    // At the end of a thread there is no place for it any more.
    let _ = LAST.try_with(|last| last.replace(CString::new(text).unwrap_or_default()));
    status
}

/// Returns the text of the last call's error on this thread. It stays until the next one.
pub(crate) fn last_text() -> *const std::ffi::c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Returns the name of a status; `unknown` for another number.
pub(crate) fn name(status: i32) -> &'static CStr {
    usize::try_from(status).ok().and_then(|at| NAMES.get(at)).copied().unwrap_or(c"unknown")
}

#[cfg(test)]
mod tests {
    use super::{ALL, NAMES, Status, name};

    /// Every code of the specification has a status, and the numbers are those of the names.
    #[test]
    fn every_code_has_a_status() {
        let spec = include_str!("../../../docs/spec/envelope.md");
        let table = spec.split("| code | meaning |").nth(1).unwrap();
        let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        let codes: Vec<_> = rows.map(|row| row.split('`').nth(1).unwrap()).collect();
        assert_eq!(codes.len(), 11);
        for code in codes.into_iter().chain(["passphrase"]) {
            assert!(NAMES.iter().any(|name| name.to_str() == Ok(code)), "{code}");
        }
        for (at, status) in ALL.iter().enumerate() {
            assert_eq!(*status as usize, at);
        }
        assert_eq!(name(Status::TooOld as i32), c"too-old");
        for other in [-1, 15, i32::MAX] {
            assert_eq!(name(other), c"unknown");
        }
    }
}
