//! Status numbers, which never change their meaning.

use core::ffi::CStr;

/// The call succeeded.
pub const ENDSEAL_NOSTR_OK: i32 = 0;
/// A pointer is null or not aligned, an output overlaps an input, or the context was not set up.
pub const ENDSEAL_NOSTR_ARGUMENT: i32 = 1;
/// An input is empty where it must not be, or longer than its limit.
pub const ENDSEAL_NOSTR_LENGTH: i32 = 2;
/// The output buffer is too small; `*out_len` is the length that is needed, without the zero byte.
pub const ENDSEAL_NOSTR_TOO_SMALL: i32 = 3;
/// The function `random` of the caller failed. Nothing was encrypted or signed.
pub const ENDSEAL_NOSTR_RANDOM: i32 = 4;
/// The function `aes256` of the caller failed. The output was wiped.
pub const ENDSEAL_NOSTR_AES: i32 = 5;
/// The secret key is zero or not below the order of the curve.
pub const ENDSEAL_NOSTR_SECRET_KEY: i32 = 6;
/// The public key is not the x-coordinate of a point on the curve.
pub const ENDSEAL_NOSTR_PUBLIC_KEY: i32 = 7;
/// A text is not UTF-8.
pub const ENDSEAL_NOSTR_TEXT: i32 = 8;
/// The JSON of an event or of tags is malformed.
pub const ENDSEAL_NOSTR_JSON: i32 = 9;
/// The id or the signature of an event is wrong.
pub const ENDSEAL_NOSTR_SIGNATURE: i32 = 10;
/// The payload was not decrypted. All causes have this one number, so that an answer to the sender
/// cannot reveal which it was.
pub const ENDSEAL_NOSTR_DECRYPTION: i32 = 11;
/// The event is no request for this signer, or the caller ignored it. It must not be answered.
pub const ENDSEAL_NOSTR_IGNORED: i32 = 12;
/// The context is in use: a function of the caller called back into the library.
pub const ENDSEAL_NOSTR_BUSY: i32 = 13;

/// Cause why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Failure {
    Argument = ENDSEAL_NOSTR_ARGUMENT,
    Length = ENDSEAL_NOSTR_LENGTH,
    Random = ENDSEAL_NOSTR_RANDOM,
    Aes = ENDSEAL_NOSTR_AES,
    SecretKey = ENDSEAL_NOSTR_SECRET_KEY,
    PublicKey = ENDSEAL_NOSTR_PUBLIC_KEY,
    Text = ENDSEAL_NOSTR_TEXT,
    Json = ENDSEAL_NOSTR_JSON,
    Signature = ENDSEAL_NOSTR_SIGNATURE,
    Decryption = ENDSEAL_NOSTR_DECRYPTION,
    Ignored = ENDSEAL_NOSTR_IGNORED,
}

impl From<Failure> for i32 {
    fn from(failure: Failure) -> Self {
        failure as Self
    }
}

/// Cause why a call that writes a text failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteFailure {
    /// The output takes this many bytes.
    TooSmall(usize),
    Other(Failure),
}

impl From<Failure> for WriteFailure {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

/// Text of a status, for a log.
pub(crate) const fn text(status: i32) -> &'static CStr {
    match status {
        ENDSEAL_NOSTR_OK => c"ok",
        ENDSEAL_NOSTR_ARGUMENT => {
            c"a pointer is null, not aligned or overlaps, or the context was not set up"
        }
        ENDSEAL_NOSTR_LENGTH => c"an input is empty or longer than its limit",
        ENDSEAL_NOSTR_TOO_SMALL => c"the output buffer is too small",
        ENDSEAL_NOSTR_RANDOM => c"the random source failed",
        ENDSEAL_NOSTR_AES => c"the AES peripheral failed",
        ENDSEAL_NOSTR_SECRET_KEY => c"the secret key is not in its range",
        ENDSEAL_NOSTR_PUBLIC_KEY => c"the public key is not on the curve",
        ENDSEAL_NOSTR_TEXT => c"a text is not UTF-8",
        ENDSEAL_NOSTR_JSON => c"the JSON is malformed",
        ENDSEAL_NOSTR_SIGNATURE => c"the event is not authentic",
        ENDSEAL_NOSTR_DECRYPTION => c"decryption failed",
        ENDSEAL_NOSTR_IGNORED => c"the event is no request for this signer",
        ENDSEAL_NOSTR_BUSY => c"the context is in use",
        _ => c"this status is not known",
    }
}
