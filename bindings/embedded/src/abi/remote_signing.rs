//! The signer's side of NIP-46.

use core::ffi::{c_char, c_void};
use core::ptr;

use endseal_nostr::connect::Method;

use super::context::{Context, call};
use super::pointer::Memory;
use crate::remote_signing::{self, Decision, Question};
use crate::status::Failure;

/// Method `connect`: a client asks to be paired. If it is allowed, add its key to `clients`
/// after the call.
pub const ENDSEAL_NOSTR_CONNECT: i32 = 1;
/// Method `sign_event`: the user's key signs the event in `text`.
pub const ENDSEAL_NOSTR_SIGN_EVENT: i32 = 2;
/// Method `get_public_key`: the client learns the user's public key.
pub const ENDSEAL_NOSTR_GET_PUBLIC_KEY: i32 = 3;
/// Method `nip04_encrypt`: `text` is the plaintext.
pub const ENDSEAL_NOSTR_NIP04_ENCRYPT: i32 = 4;
/// Method `nip04_decrypt`: `text` is the content. The client learns the plaintext.
pub const ENDSEAL_NOSTR_NIP04_DECRYPT: i32 = 5;
/// Method `nip44_encrypt`: `text` is the plaintext.
pub const ENDSEAL_NOSTR_NIP44_ENCRYPT: i32 = 6;
/// Method `nip44_decrypt`: `text` is the payload. The client learns the plaintext.
pub const ENDSEAL_NOSTR_NIP44_DECRYPT: i32 = 7;
/// Method `logout`: the client ends its session. Remove its key from `clients` after the call.
pub const ENDSEAL_NOSTR_LOGOUT: i32 = 8;

/// Decision: answer with an error, `not allowed`.
pub const ENDSEAL_NOSTR_REFUSE: i32 = 0;
/// Decision: execute the request and answer with its result.
pub const ENDSEAL_NOSTR_ALLOW: i32 = 1;
/// Decision: do not answer, because the event or the request was answered before.
pub const ENDSEAL_NOSTR_IGNORE: i32 = 2;

/// A request that is to be allowed or refused. Its memory is valid during the decision only. The
/// client is authentic, all else is its claim.
#[repr(C)]
pub struct Request {
    /// One of the methods above.
    pub method: i32,
    /// Name of the method in NIP-46.
    pub method_name: *const c_char,
    /// Kind of the event to be signed; -1 for other methods.
    pub kind: i32,
    /// Public key of the client (32 bytes).
    pub client: *const u8,
    /// Public key of the other side of an encryption (32 bytes); NULL for other methods.
    pub peer: *const u8,
    /// Id of the event with the request (32 bytes). A signer ignores ids that it has seen in the
    /// last 600 seconds.
    pub event_id: *const u8,
    /// Digest of the request (32 bytes): its repetition in another event has the same.
    pub digest: *const u8,
    /// Time of the event in seconds since 1970.
    pub created_at: u64,
    /// Parameter of the request, UTF-8 without a zero byte behind it.
    pub text: *const c_char,
    /// Length of `text` in bytes.
    pub text_len: usize,
    /// Text for a display, UTF-8 without a zero byte behind it: the content of the event, the
    /// relay or URL that a log-in is for, the plaintext, or the name of a new client. At most 500
    /// characters, except for a URL; control characters but line feeds and tabs are replaced.
    pub shown: *const c_char,
    /// Length of `shown` in bytes.
    pub shown_len: usize,
}

/// Decides about a request: ENDSEAL_NOSTR_ALLOW, ENDSEAL_NOSTR_REFUSE or ENDSEAL_NOSTR_IGNORE. Any
/// other number refuses. It may wait for a button; the time limit of clients is often 30 seconds.
pub type DecideFn = Option<unsafe extern "C" fn(user: *mut c_void, request: *const Request) -> i32>;

/// Keys and state of a remote signer, which the caller keeps.
#[repr(C)]
pub struct Signer {
    /// Secret key of the user (32 bytes), which signs events and encrypts messages.
    pub user_key: *const u8,
    /// Secret key of the signer (32 bytes), which clients encrypt to. It can be the same pointer.
    pub transport_key: *const u8,
    /// Public keys of the paired clients, 32 bytes each. Requests of others are ignored, except
    /// `connect` with the right secret. They must not be changed before the call has returned.
    pub clients: *const u8,
    /// Number of paired clients.
    pub client_count: usize,
    /// Secret in the `bunker://` URI, by which one new client connects; at most 256 bytes. NULL if
    /// none can. Replace it once it was used.
    pub secret: *const c_char,
    /// Length of `secret` in bytes.
    pub secret_len: usize,
    /// The time now, in seconds since 1970. Requests that are more than 300 seconds older or newer
    /// are refused, so a wrong clock refuses all.
    pub now: u64,
    /// Greatest `created_at` of the events whose ids were forgotten, which are those of more than
    /// 600 seconds ago; 0 at first. Requests up to this time are refused, so that a clock that was
    /// put back executes none twice. Keep it over restarts, like the ids.
    pub floor: u64,
    /// Decides about requests. `ping` and `switch_relays` are answered without it.
    pub decide: DecideFn,
}

/// Answers a request of NIP-46: takes the JSON of an event of kind 24133, verifies and decrypts it,
/// asks `signer->decide`, and writes the JSON of the event with the answer, which is to be sent to
/// the same relay. `out` should have ENDSEAL_NOSTR_MAX_TEXT + 1 bytes: an answer that does not fit
/// becomes an error to the client.
///
/// Returns ENDSEAL_NOSTR_IGNORED for every event that must not be answered: malformed, forged, of
/// another signer or of a client that is not paired.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_nostr_answer(
    context: *mut Context,
    signer: *const Signer,
    event: *const c_char,
    event_len: usize,
    out: *mut c_char,
    out_cap: usize,
    out_len: *mut usize,
) -> i32 {
    // SAFETY: the contract of the header.
    unsafe {
        call(context, |memory, arena, chip| {
            let out = memory.output(out, out_cap, out_len)?;
            let signer = memory.value(signer)?;
            let decide = signer.decide.ok_or(Failure::Argument)?;
            let signer = read(memory, signer)?;
            let event = memory.text(event, event_len)?;
            let user = chip.user();
            let mut ask = |question: &Question<'_>| ask(decide, user, question);
            out.write(|out| remote_signing::answer(arena, chip, &signer, event, &mut ask, out))
        })
    }
}

/// Reads the signer of the caller.
fn read<'a>(
    memory: &mut Memory<'a>,
    signer: &Signer,
) -> Result<remote_signing::Signer<'a>, Failure> {
    let len = signer.client_count.checked_mul(32).ok_or(Failure::Length)?;
    let secret = memory.text(signer.secret, signer.secret_len)?;
    Ok(remote_signing::Signer {
        user: memory.array(signer.user_key)?,
        transport: memory.array(signer.transport_key)?,
        clients: memory.bytes(signer.clients, len)?.as_chunks().0,
        secret: (!secret.is_empty()).then_some(secret),
        now: signer.now,
        floor: signer.floor,
    })
}

fn ask(
    decide: unsafe extern "C" fn(*mut c_void, *const Request) -> i32,
    user: *mut c_void,
    question: &Question<'_>,
) -> Decision {
    let (method, method_name) = match question.method {
        Method::Connect => (ENDSEAL_NOSTR_CONNECT, c"connect"),
        Method::SignEvent => (ENDSEAL_NOSTR_SIGN_EVENT, c"sign_event"),
        Method::GetPublicKey => (ENDSEAL_NOSTR_GET_PUBLIC_KEY, c"get_public_key"),
        Method::Nip04Encrypt => (ENDSEAL_NOSTR_NIP04_ENCRYPT, c"nip04_encrypt"),
        Method::Nip04Decrypt => (ENDSEAL_NOSTR_NIP04_DECRYPT, c"nip04_decrypt"),
        Method::Nip44Encrypt => (ENDSEAL_NOSTR_NIP44_ENCRYPT, c"nip44_encrypt"),
        Method::Nip44Decrypt => (ENDSEAL_NOSTR_NIP44_DECRYPT, c"nip44_decrypt"),
        Method::Logout => (ENDSEAL_NOSTR_LOGOUT, c"logout"),
        // No caller decides about the others.
        _ => return Decision::Refuse,
    };
    let request = Request {
        method,
        method_name: method_name.as_ptr(),
        kind: question.kind.map_or(-1, i32::from),
        client: question.client.as_ptr(),
        peer: question.peer.as_ref().map_or(ptr::null(), |peer| peer.as_ptr()),
        event_id: question.event_id.as_ptr(),
        digest: question.digest.as_ptr(),
        created_at: question.created_at,
        text: question.text.as_ptr().cast(),
        text_len: question.text.len(),
        shown: question.shown.as_ptr().cast(),
        shown_len: question.shown.len(),
    };
    // SAFETY: the function of the caller gets a request that outlives the call.
    match unsafe { decide(user, &raw const request) } {
        ENDSEAL_NOSTR_ALLOW => Decision::Allow,
        ENDSEAL_NOSTR_IGNORE => Decision::Ignore,
        _ => Decision::Refuse,
    }
}
