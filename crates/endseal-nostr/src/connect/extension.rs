//! The extension `nip17_unwrap_batch`: it takes gift wraps and returns rumors with their senders.
//!
//! [`Request::call`] refuses the method: a signer that has the extension checks for it first.

use super::{CallError, Method, Request};
use crate::gift_wrap::{self, Lifetime, UnwrapError, Unwrapped};
use crate::json::JsonError;
use crate::json::scan::Scanner;
use crate::json::write;
use crate::key::SecretKey;
use crate::output::{Output, OutputTooSmall, Sink as _};

/// Most gift wraps of a request.
pub const MAX_BATCH: usize = 100;

const METHOD: &str = "nip17_unwrap_batch";

/// A list of gift wraps: a valid JSON array with elements that are not checked yet.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "as a request")]
pub struct UnwrapBatch<'a> {
    json: &'a str,
    len: usize,
}

impl<'a> UnwrapBatch<'a> {
    /// The list of a request; nothing for another method.
    ///
    /// # Errors
    /// [`CallError::Params`], [`CallError::Batch`].
    pub fn of(request: &Request<'a>) -> Option<Result<Self, CallError>> {
        (request.method == Method::Other(METHOD)).then(|| Self::parse(request.params()))
    }

    /// Parses the parameters of the method: a JSON array of [`MAX_BATCH`] events at most.
    ///
    /// # Errors
    /// [`CallError::Params`], [`CallError::Batch`].
    pub fn parse(params: &[&'a str]) -> Result<Self, CallError> {
        let json = params.first().copied().ok_or(CallError::Params)?;
        let mut scanner = Scanner::over(json);
        let mut len = 0;
        let valid = scanner.array(|scanner| {
            len += 1;
            if len > MAX_BATCH { Err(JsonError::Members) } else { scanner.skip() }
        });
        valid.and_then(|()| scanner.end()).map_err(|_| CallError::Batch)?;
        Ok(Self { json, len })
    }

    /// Number of elements in the list.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the list is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The JSON of each, for [`unwrap_item`].
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let mut scanner = Scanner::over(self.json);
        scanner.take(b'[');
        // The array was found valid, so it ends with the closing bracket, where no element can be
        // read.
        core::iter::from_fn(move || {
            scanner.take(b',');
            scanner.raw().ok()
        })
    }
}

/// Opens one gift wrap of kind 1059. `scratch` has its length at least; the caller MUST wipe it
/// after use, and MUST judge the rumor by its kind before it releases it.
///
/// # Errors
/// [`UnwrapError`]. The caller answers all of them alike.
pub fn unwrap_item<'s>(
    wrap: &str,
    user: &SecretKey,
    scratch: &'s mut [u8],
) -> Result<Unwrapped<'s>, UnwrapError> {
    let copy = scratch.get_mut(..wrap.len()).ok_or(UnwrapError::Wrap)?;
    copy.copy_from_slice(wrap.as_bytes());
    let unwrapped = gift_wrap::unwrap(copy, user)?;
    match unwrapped.lifetime {
        Lifetime::Stored => Ok(unwrapped),
        Lifetime::Ephemeral => Err(UnwrapError::Kind),
    }
}

/// The list of results, which grows.
#[derive(Debug)]
pub struct UnwrapResults<'o> {
    out: Output<'o>,
    separator: &'static [u8],
}

impl<'o> UnwrapResults<'o> {
    /// Begins a list at the front of `out`, which the caller MUST wipe.
    #[must_use]
    pub fn new(out: &'o mut [u8]) -> Self {
        Self { out: Output::new(out), separator: b"[" }
    }

    /// Adds a rumor and its sender.
    pub fn rumor(&mut self, unwrapped: &Unwrapped<'_>) {
        self.begin();
        self.out.put(b"{\"rumor\":");
        unwrapped.rumor.write_to(&mut self.out);
        self.out.put(b",\"sender\":");
        write::hex(&mut self.out, &unwrapped.rumor.pubkey);
        self.out.put(b"}");
    }

    /// Adds an error in the place of a rumor that could not be unwrapped.
    pub fn error(&mut self, text: &str) {
        self.begin();
        self.out.put(b"{\"error\":");
        write::text(&mut self.out, text.into());
        self.out.put(b"}");
    }

    fn begin(&mut self) {
        self.out.put(self.separator);
        self.separator = b",";
    }

    /// Ends the list and returns its JSON.
    ///
    /// # Errors
    /// [`OutputTooSmall`]; the buffer is wiped.
    pub fn finish(mut self) -> Result<&'o str, OutputTooSmall> {
        if self.separator == b"[" {
            self.out.put(b"[");
        }
        self.out.put(b"]");
        self.out.finish_text()
    }
}
