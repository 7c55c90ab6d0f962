//! The functions of `endseal_nostr.h`: pointers become slices here, and nowhere else.
//!
//! The module has all `unsafe` code of the crate. Each function checks its pointers for null,
//! alignment and overlap before it makes a slice; that they point to as many bytes as the caller
//! says cannot be checked.
#![allow(clippy::missing_safety_doc, reason = "the header has one contract for all pointers")]

mod context;
mod pointer;
mod remote_signing;

use core::ffi::c_char;
use core::panic::PanicInfo;

pub use context::{AesFn, Callbacks, Context, ENDSEAL_NOSTR_CONTEXT_LEN, RandomFn, StepFn};
use context::{State, call};
use pointer::Memory;
pub use remote_signing::{
    DecideFn, ENDSEAL_NOSTR_ALLOW, ENDSEAL_NOSTR_CONNECT, ENDSEAL_NOSTR_GET_PUBLIC_KEY,
    ENDSEAL_NOSTR_IGNORE, ENDSEAL_NOSTR_LOGOUT, ENDSEAL_NOSTR_NIP04_DECRYPT,
    ENDSEAL_NOSTR_NIP04_ENCRYPT, ENDSEAL_NOSTR_NIP44_DECRYPT, ENDSEAL_NOSTR_NIP44_ENCRYPT,
    ENDSEAL_NOSTR_REFUSE, ENDSEAL_NOSTR_SIGN_EVENT, Request, Signer, endseal_nostr_answer,
};

use crate::encryption::Keys;
use crate::event::Draft;
use crate::status::{self, ENDSEAL_NOSTR_OK, Failure};
use crate::{aes, encryption, event, keys};

/// Version of this interface. A library of another version must not be used with this header.
pub const ENDSEAL_NOSTR_ABI_VERSION: u32 = 1;
/// Longest plaintext, content of a new event, and list of tags in bytes.
pub const ENDSEAL_NOSTR_MAX_PLAINTEXT: usize = 8192;
/// Longest payload and longest JSON of an event in bytes.
pub const ENDSEAL_NOSTR_MAX_TEXT: usize = 16384;

const _: () = assert!(ENDSEAL_NOSTR_MAX_PLAINTEXT == crate::arena::SMALL);
const _: () = assert!(ENDSEAL_NOSTR_MAX_TEXT == crate::arena::LARGE);

/// Members of an event that its author chooses.
#[repr(C)]
pub struct EventDraft {
    /// Time of creation, in seconds since 1970.
    pub created_at: u64,
    /// Kind (NIP-01).
    pub kind: u16,
    /// JSON array of arrays of strings, as `[["p","79be…"]]`. NULL for no tags.
    pub tags: *const c_char,
    /// Length of `tags` in bytes.
    pub tags_len: usize,
    /// Content as plain UTF-8, without the escapes of JSON.
    pub content: *const c_char,
    /// Length of `content` in bytes.
    pub content_len: usize,
}

unsafe extern "C" {
    // A function of the application. The text of the header is in cbindgen.toml.
    safe fn endseal_nostr_panic();
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    endseal_nostr_panic();
    loop {
        core::hint::spin_loop();
    }
}

/// Returns ENDSEAL_NOSTR_ABI_VERSION of the library that is linked.
#[unsafe(no_mangle)]
pub extern "C" fn endseal_nostr_abi_version() -> u32 {
    ENDSEAL_NOSTR_ABI_VERSION
}

/// Returns a text for a status, in English, for a log.
#[unsafe(no_mangle)]
pub extern "C" fn endseal_nostr_status_text(status: i32) -> *const c_char {
    status::text(status).as_ptr()
}

/// Returns the length of the NIP-44 payload of `plaintext_len` bytes, without the zero byte behind
/// it; 0 if the plaintext is empty or longer than ENDSEAL_NOSTR_MAX_PLAINTEXT.
#[unsafe(no_mangle)]
pub extern "C" fn endseal_nostr_nip44_len(plaintext_len: usize) -> usize {
    encryption::nip44_len(plaintext_len).unwrap_or(0)
}

/// Returns the length of the NIP-04 content of `plaintext_len` bytes, without the zero byte behind
/// it; 0 if the plaintext is longer than ENDSEAL_NOSTR_MAX_PLAINTEXT.
#[unsafe(no_mangle)]
pub extern "C" fn endseal_nostr_nip04_len(plaintext_len: usize) -> usize {
    encryption::nip04_len(plaintext_len).unwrap_or(0)
}

/// Sets up a context in memory of the caller. `context_len` is `sizeof(endseal_nostr)`; another
/// length is refused, so that a header and a library of different versions are noticed. `callbacks`
/// is copied.
///
/// A context serves one call at a time. It holds no secret between calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_nostr_init(
    context: *mut Context,
    context_len: usize,
    callbacks: *const Callbacks,
) -> i32 {
    // SAFETY: the contract of the header.
    let written = unsafe { State::write(context, context_len, callbacks) };
    written.map_or_else(i32::from, |()| ENDSEAL_NOSTR_OK)
}

/// Wipes a context. It has to be set up again before its next use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_nostr_wipe(context: *mut Context) {
    // SAFETY: the contract of the header.
    unsafe { State::wipe(context) };
}

/// Writes the public key (32 bytes, x-only) of a secret key (32 bytes).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_nostr_public_key(
    context: *mut Context,
    secret_key: *const u8,
    public_key: *mut u8,
) -> i32 {
    // SAFETY: the contract of the header.
    unsafe {
        call(context, |memory, _, chip| {
            let out = memory.array_mut(public_key)?;
            keys::public_of(chip, memory.array(secret_key)?, out)?;
            Ok(())
        })
    }
}

/// Writes the NIP-44 conversation key (32 bytes, secret) between a secret key and a public key (32
/// bytes each). The same key serves both directions. The agreement is nearly all the work of a
/// short message, so keep the key if many messages follow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_nostr_conversation_key(
    context: *mut Context,
    secret_key: *const u8,
    public_key: *const u8,
    conversation_key: *mut u8,
) -> i32 {
    // SAFETY: the contract of the header.
    unsafe {
        call(context, |memory, _, chip| {
            let out = memory.array_mut(conversation_key)?;
            let (own, peer) = (memory.array(secret_key)?, memory.array(public_key)?);
            keys::conversation(chip, own, peer, out)?;
            Ok(())
        })
    }
}

/// Encrypts a text by NIP-44 to the owner of a public key, and writes the payload with a zero byte
/// behind it. `out` needs endseal_nostr_nip44_len(plaintext_len) + 1 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_nostr_nip44_encrypt(
    context: *mut Context,
    secret_key: *const u8,
    public_key: *const u8,
    plaintext: *const c_char,
    plaintext_len: usize,
    out: *mut c_char,
    out_cap: usize,
    out_len: *mut usize,
) -> i32 {
    // SAFETY: the contract of the header.
    unsafe {
        call(context, |memory, _, chip| {
            let out = memory.output(out, out_cap, out_len)?;
            let (own, peer) = (memory.array(secret_key)?, memory.array(public_key)?);
            let keys = Keys::Pair { own, peer };
            let plaintext = memory.text(plaintext, plaintext_len)?;
            out.write(|out| encryption::nip44_encrypt(chip, keys, plaintext, out))
        })
    }
}

/// Decrypts a NIP-44 payload, and writes the plaintext with a zero byte behind it. The plaintext
/// can contain zero bytes itself. Verify the event around the payload first: a payload alone proves
/// that one of the two keys made it, not when and for what.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_nostr_nip44_decrypt(
    context: *mut Context,
    secret_key: *const u8,
    public_key: *const u8,
    payload: *const c_char,
    payload_len: usize,
    out: *mut c_char,
    out_cap: usize,
    out_len: *mut usize,
) -> i32 {
    // SAFETY: the contract of the header.
    unsafe {
        call(context, |memory, arena, chip| {
            let out = memory.output(out, out_cap, out_len)?;
            let (own, peer) = (memory.array(secret_key)?, memory.array(public_key)?);
            let keys = Keys::Pair { own, peer };
            let payload = memory.text(payload, payload_len)?;
            out.write(|out| encryption::nip44_decrypt(arena, chip, keys, payload, out))
        })
    }
}

/// Does the same as endseal_nostr_nip44_encrypt with a key of endseal_nostr_conversation_key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_nostr_nip44_encrypt_with(
    context: *mut Context,
    conversation_key: *const u8,
    plaintext: *const c_char,
    plaintext_len: usize,
    out: *mut c_char,
    out_cap: usize,
    out_len: *mut usize,
) -> i32 {
    // SAFETY: the contract of the header.
    unsafe {
        call(context, |memory, _, chip| {
            let out = memory.output(out, out_cap, out_len)?;
            let keys = Keys::Conversation(memory.array(conversation_key)?);
            let plaintext = memory.text(plaintext, plaintext_len)?;
            out.write(|out| encryption::nip44_encrypt(chip, keys, plaintext, out))
        })
    }
}

/// Does the same as endseal_nostr_nip44_decrypt with a key of endseal_nostr_conversation_key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_nostr_nip44_decrypt_with(
    context: *mut Context,
    conversation_key: *const u8,
    payload: *const c_char,
    payload_len: usize,
    out: *mut c_char,
    out_cap: usize,
    out_len: *mut usize,
) -> i32 {
    // SAFETY: the contract of the header.
    unsafe {
        call(context, |memory, arena, chip| {
            let out = memory.output(out, out_cap, out_len)?;
            let keys = Keys::Conversation(memory.array(conversation_key)?);
            let payload = memory.text(payload, payload_len)?;
            out.write(|out| encryption::nip44_decrypt(arena, chip, keys, payload, out))
        })
    }
}

/// Encrypts a text by NIP-04, for clients that know nothing newer, and writes the content with a
/// zero byte behind it. `out` needs endseal_nostr_nip04_len(plaintext_len) + 1 bytes. Nothing is
/// authenticated by NIP-04.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_nostr_nip04_encrypt(
    context: *mut Context,
    secret_key: *const u8,
    public_key: *const u8,
    plaintext: *const c_char,
    plaintext_len: usize,
    out: *mut c_char,
    out_cap: usize,
    out_len: *mut usize,
) -> i32 {
    // SAFETY: the contract of the header.
    unsafe {
        call(context, |memory, _, chip| {
            let out = memory.output(out, out_cap, out_len)?;
            let (own, peer) = (memory.array(secret_key)?, memory.array(public_key)?);
            let plaintext = memory.text(plaintext, plaintext_len)?;
            out.write(|out| encryption::nip04_encrypt(chip, own, peer, plaintext, out))
        })
    }
}

/// Decrypts a content of NIP-04, and writes the plaintext with a zero byte behind it. Neither its
/// author nor its integrity is known. Verify the event first, and answer all failures alike: a
/// sender who sees which contents fail can read the messages of others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_nostr_nip04_decrypt(
    context: *mut Context,
    secret_key: *const u8,
    public_key: *const u8,
    content: *const c_char,
    content_len: usize,
    out: *mut c_char,
    out_cap: usize,
    out_len: *mut usize,
) -> i32 {
    // SAFETY: the contract of the header.
    unsafe {
        call(context, |memory, arena, chip| {
            let out = memory.output(out, out_cap, out_len)?;
            let (own, peer) = (memory.array(secret_key)?, memory.array(public_key)?);
            let content = memory.text(content, content_len)?;
            out.write(|out| encryption::nip04_decrypt(arena, chip, own, peer, content, out))
        })
    }
}

/// Writes the id (32 bytes) that an event has if the owner of a public key (32 bytes) signs it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_nostr_event_id(
    context: *mut Context,
    public_key: *const u8,
    draft: *const EventDraft,
    id: *mut u8,
) -> i32 {
    // SAFETY: the contract of the header.
    unsafe {
        call(context, |memory, _, chip| {
            let out = memory.array_mut(id)?;
            let author = memory.array(public_key)?;
            let draft = draft_of(memory, draft)?;
            event::id(chip, author, &draft, out)?;
            Ok(())
        })
    }
}

/// Signs an event, and writes its JSON with a zero byte behind it, as relays take it. It is at most
/// 400 bytes longer than tags and content, whose characters may be written as escapes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_nostr_sign(
    context: *mut Context,
    secret_key: *const u8,
    draft: *const EventDraft,
    out: *mut c_char,
    out_cap: usize,
    out_len: *mut usize,
) -> i32 {
    // SAFETY: the contract of the header.
    unsafe {
        call(context, |memory, _, chip| {
            let out = memory.output(out, out_cap, out_len)?;
            let own = memory.array(secret_key)?;
            let draft = draft_of(memory, draft)?;
            out.write(|out| event::sign(chip, own, &draft, out))
        })
    }
}

/// Verifies the id and the signature of the JSON of an event. Writes the public key (32 bytes) of
/// its author if `author` is not NULL. `author` is left as it is after a failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_nostr_verify(
    context: *mut Context,
    event: *const c_char,
    event_len: usize,
    author: *mut u8,
) -> i32 {
    // SAFETY: the contract of the header.
    unsafe {
        call(context, |memory, _, chip| {
            let out = if author.is_null() { None } else { Some(memory.array_mut(author)?) };
            let verified = event::verify(chip, memory.text(event, event_len)?)?;
            if let Some(out) = out {
                *out = verified;
            }
            Ok(())
        })
    }
}

/// Pads and encrypts the first `len` of `capacity` bytes by AES-256-CBC where they lie, with the
/// caller's peripheral if there is one, and stores the length of the ciphertext. `capacity` is at
/// least `len` + 16, rounded down to blocks of 16. `key` has 32 bytes, `iv` 16. It serves to
/// compare a peripheral with the software and to measure both: CBC authenticates nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_nostr_aes256_cbc_encrypt(
    context: *mut Context,
    key: *const u8,
    iv: *const u8,
    buffer: *mut u8,
    len: usize,
    capacity: usize,
    out_len: *mut usize,
) -> i32 {
    // SAFETY: the contract of the header.
    unsafe {
        call(context, |memory, _, chip| {
            let out_len = memory.value_mut(out_len)?;
            let (key, iv) = (memory.array(key)?, memory.array(iv)?);
            let buffer = memory.bytes_mut(buffer, capacity)?;
            *out_len = aes::encrypt(chip, key, iv, buffer, len)?;
            Ok(())
        })
    }
}

/// Decrypts `len` bytes of AES-256-CBC where they lie, and stores the length of the plaintext
/// without its padding. After a failure the buffer is zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_nostr_aes256_cbc_decrypt(
    context: *mut Context,
    key: *const u8,
    iv: *const u8,
    buffer: *mut u8,
    len: usize,
    out_len: *mut usize,
) -> i32 {
    // SAFETY: the contract of the header.
    unsafe {
        call(context, |memory, _, chip| {
            let out_len = memory.value_mut(out_len)?;
            let (key, iv) = (memory.array(key)?, memory.array(iv)?);
            let buffer = memory.bytes_mut(buffer, len)?;
            *out_len = aes::decrypt(chip, key, iv, buffer)?;
            Ok(())
        })
    }
}

/// Reads the draft of the caller.
fn draft_of<'a>(memory: &mut Memory<'a>, draft: *const EventDraft) -> Result<Draft<'a>, Failure> {
    let draft = memory.value(draft)?;
    Ok(Draft {
        created_at: draft.created_at,
        kind: draft.kind,
        tags: memory.text(draft.tags, draft.tags_len)?,
        content: memory.text(draft.content, draft.content_len)?,
    })
}
