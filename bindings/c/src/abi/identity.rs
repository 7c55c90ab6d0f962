//! Identities and recipients.

use std::str;

use endseal_facade::{Identity, OsRandom, Passphrase, PublicIdentity, Recipients};

use super::memory::{Output, bytes, free, give, handle, handles, store};
use crate::status::{Failure, Outcome, Status, settle};

/// Greatest length of the text of a public identity in bytes.
pub const ENDSEAL_IDENTITY_TEXT_MAX: usize = 2064;
/// Greatest length of an identity file in bytes.
pub const ENDSEAL_IDENTITY_FILE_MAX: usize = 4096;

/// Makes a new identity, which endseal_identity_free wipes. It has no 24 words for paper: those are
/// of identities that the program endseal makes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_identity_generate(made: *mut *mut Identity) -> Status {
    let make = || Ok(Identity::generate(&mut OsRandom)?);
    settle(unsafe { give(made, make) })
}

/// Opens an identity file with its passphrase in UTF-8, or with a null pointer if it was made
/// without one. That takes about 0.2 s and 64 MiB of memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_identity_unlock(
    file: *const u8,
    file_len: usize,
    passphrase: *const u8,
    passphrase_len: usize,
    made: *mut *mut Identity,
) -> Status {
    let make = || {
        let file = unsafe { bytes(file, file_len) }?;
        let passphrase = unsafe { passphrase_of(passphrase, passphrase_len) }?;
        Ok(Identity::unlock(file, &passphrase)?)
    };
    settle(unsafe { give(made, make) })
}

/// Writes the identity file of an identity, sealed under a passphrase in UTF-8: text of at most
/// ENDSEAL_IDENTITY_FILE_MAX bytes. The caller writes it to a place that only the owner reads, over
/// no other identity.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_identity_lock(
    identity: *const Identity,
    passphrase: *const u8,
    passphrase_len: usize,
    file: *mut u8,
    capacity: usize,
    file_len: *mut usize,
) -> Status {
    settle((|| {
        let (identity, file) =
            unsafe { (handle(identity)?, Output::new(file, capacity, file_len)) };
        let passphrase = unsafe { passphrase_of(passphrase, passphrase_len) }?;
        let locked = identity.lock(&passphrase, &mut OsRandom)?;
        unsafe { file.copy(locked.as_bytes()) }
    })())
}

/// Makes the public identity of an identity.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_identity_public(
    identity: *const Identity,
    made: *mut *mut PublicIdentity,
) -> Status {
    let make = || Ok(unsafe { handle(identity) }?.public());
    settle(unsafe { give(made, make) })
}

/// Wipes an identity. A null pointer is allowed, here and in all functions that free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_identity_free(identity: *mut Identity) {
    unsafe { free(identity) }
}

/// Reads a public identity from its text, endseal1... or endsealpq1...
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_public_identity_parse(
    text: *const u8,
    text_len: usize,
    made: *mut *mut PublicIdentity,
) -> Status {
    let make = || {
        let text = unsafe { text_of(text, text_len) }?;
        Ok(PublicIdentity::parse(text.trim())?)
    };
    settle(unsafe { give(made, make) })
}

/// Writes the text of a public identity, without a NUL at its end: at most
/// ENDSEAL_IDENTITY_TEXT_MAX bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_public_identity_text(
    of: *const PublicIdentity,
    text: *mut u8,
    capacity: usize,
    text_len: *mut usize,
) -> Status {
    settle((|| {
        let written = unsafe { handle(of) }?.to_string();
        unsafe { Output::new(text, capacity, text_len).copy(written.as_bytes()) }
    })())
}

/// Writes the Ed25519 key of a public identity, which names the person: 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_public_identity_key(
    of: *const PublicIdentity,
    key: *mut [u8; 32],
) -> Status {
    settle((|| unsafe { store(key, *handle(of)?.key()) })())
}

/// Returns 1 if content can be sealed for this identity that stays secret when quantum computers
/// exist, otherwise 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_public_identity_is_post_quantum(of: *const PublicIdentity) -> i32 {
    let is_so = unsafe { of.as_ref() }.is_some_and(PublicIdentity::is_post_quantum);
    i32::from(is_so)
}

/// Frees a public identity.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_public_identity_free(of: *mut PublicIdentity) {
    unsafe { free(of) }
}

/// Prepares recipients for any number of envelopes. One who is named twice counts once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_recipients_new(
    of: *const *const PublicIdentity,
    count: usize,
    made: *mut *mut Recipients,
) -> Status {
    let make = || {
        let of: Vec<_> = unsafe { handles(of, count) }?.into_iter().cloned().collect();
        Ok(Recipients::new(&of)?)
    };
    settle(unsafe { give(made, make) })
}

/// Returns the number of recipients, 0 for a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_recipients_count(of: *const Recipients) -> usize {
    unsafe { of.as_ref() }.map_or(0, Recipients::len)
}

/// Frees recipients. Envelopes that are being sealed for them keep them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_recipients_free(of: *mut Recipients) {
    unsafe { free(of) }
}

/// Makes the identity of a test vector.
#[cfg(feature = "test-vectors")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_identity_from_seeds(
    ed25519: *const [u8; 32],
    mlkem768: *const [u8; 64],
    made: *mut *mut Identity,
) -> Status {
    let make = || unsafe { Ok(Identity::from_seeds(handle(ed25519)?, handle(mlkem768)?)) };
    settle(unsafe { give(made, make) })
}

unsafe fn passphrase_of(text: *const u8, len: usize) -> Outcome<Passphrase> {
    if text.is_null() {
        return Ok(Passphrase::NONE);
    }
    match unsafe { text_of(text, len) }? {
        "" => Err(Failure::argument("the passphrase is empty")),
        text => Ok(Passphrase::new(text)?),
    }
}

unsafe fn text_of<'a>(text: *const u8, len: usize) -> Outcome<&'a str> {
    let text = unsafe { bytes(text, len) }?;
    str::from_utf8(text).map_err(|_| Failure::argument("a text is not UTF-8"))
}
