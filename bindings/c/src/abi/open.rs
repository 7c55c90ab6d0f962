//! Opening in memory.

use std::time::{SystemTime, UNIX_EPOCH};

use endseal_facade as facade;
use endseal_facade::{AgeLimit, Identity, PublicIdentity};
use zeroize::Zeroizing;

use super::memory::{Output, bytes, handle, handles, store};
use super::seal::{ENDSEAL_SUITE_HYBRID, ENDSEAL_SUITE_X25519, ENDSEAL_SUITE_X25519_COMPACT};
use crate::status::{Failure, Outcome, Status, settle};

/// Refuses envelopes that are not post-quantum.
pub const ENDSEAL_OPEN_REQUIRE_POST_QUANTUM: u32 = 1;

/// Which envelopes are opened, and by whom. Set all to zero first, then what you need.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "names a secret")]
pub struct OpenOptions {
    /// The reader.
    pub identity: *const Identity,
    /// The context under which it was sealed.
    pub context: *const u8,
    /// Length of the context.
    pub context_len: usize,
    /// Senders from whom envelopes are opened. A null pointer stands for all, an array of length 0
    /// for none.
    pub senders: *const *const PublicIdentity,
    /// Number of the senders.
    pub sender_count: usize,
    /// Greatest age in milliseconds, 0 for no limit. With it, envelopes without a time and those
    /// that are dated more than five minutes ahead are refused, too.
    pub max_age: u64,
    /// ENDSEAL_OPEN_REQUIRE_POST_QUANTUM or 0.
    pub flags: u32,
}

impl OpenOptions {
    /// Reads the options of a caller.
    pub(super) unsafe fn read(of: *const Self) -> Outcome<facade::OpenOptions> {
        let of = unsafe { handle(of) }?;
        if of.flags & !ENDSEAL_OPEN_REQUIRE_POST_QUANTUM != 0 {
            return Err(Failure::argument("an unknown flag"));
        }
        let senders = match (of.senders.is_null(), of.sender_count) {
            (true, 0) => None,
            _ => Some(unsafe { handles(of.senders, of.sender_count) }?),
        };
        Ok(facade::OpenOptions {
            identity: unsafe { handle(of.identity) }?.clone(),
            context: unsafe { bytes(of.context, of.context_len) }?.to_vec(),
            senders: senders.map(|all| all.into_iter().cloned().collect()),
            age: (of.max_age > 0).then(|| AgeLimit { now: now(), max: of.max_age }),
            requires_post_quantum: of.flags & ENDSEAL_OPEN_REQUIRE_POST_QUANTUM != 0,
        })
    }
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Authentic facts about an envelope that was opened.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Info {
    /// Ed25519 key of the identity that sealed and signed it.
    pub sender: [u8; 32],
    /// Random name of the message, which the sender chose.
    pub message_id: [u8; 16],
    /// The sender's claim of the time, in milliseconds since 1970-01-01T00:00:00Z; 0 for none.
    pub time: u64,
    /// Suite of the envelope.
    pub suite: u32,
}

impl Info {
    pub(super) fn of(info: &facade::Info) -> Self {
        Self {
            sender: *info.sender.key(),
            message_id: info.message_id,
            time: info.time.unwrap_or(0),
            suite: suite(info.suite),
        }
    }
}

fn suite(name: &str) -> u32 {
    match name {
        "x25519" => ENDSEAL_SUITE_X25519,
        "x25519-compact" => ENDSEAL_SUITE_X25519_COMPACT,
        _ => ENDSEAL_SUITE_HYBRID,
    }
}

/// Opens an envelope. The content is at most as long as the envelope, and nothing is in the buffer
/// unless the call succeeds. `info` may be a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_open(
    options: *const OpenOptions,
    envelope: *const u8,
    envelope_len: usize,
    content: *mut u8,
    capacity: usize,
    content_len: *mut usize,
    info: *mut Info,
) -> Status {
    settle((|| {
        let options = unsafe { OpenOptions::read(options) }?;
        let envelope = unsafe { bytes(envelope, envelope_len) }?;
        let opened = facade::open(envelope, &options)?;
        let found = Zeroizing::new(opened.content);
        unsafe { Output::new(content, capacity, content_len).copy(&found) }?;
        match info.is_null() {
            true => Ok(()),
            false => unsafe { store(info, Info::of(&opened.info)) },
        }
    })())
}

/// The public part of an envelope. Nothing of it is authentic.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Inspected {
    /// Number of slots: of recipients, or more if their number is hidden.
    pub slots: u64,
    /// Length of the content in bytes; UINT64_MAX if the envelope was cut short.
    pub content_len: u64,
    /// Suite of the envelope.
    pub suite: u32,
}

/// Reads the public part of an envelope.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_inspect(
    envelope: *const u8,
    envelope_len: usize,
    inspected: *mut Inspected,
) -> Status {
    settle((|| {
        let found = facade::inspect(unsafe { bytes(envelope, envelope_len) }?)?;
        let found = Inspected {
            slots: found.slots as u64,
            content_len: found.content_len.unwrap_or(u64::MAX),
            suite: suite(found.suite),
        };
        unsafe { store(inspected, found) }
    })())
}
