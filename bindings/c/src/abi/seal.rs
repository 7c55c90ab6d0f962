//! Sealing in memory.

use endseal_facade as facade;
use endseal_facade::{Identity, OsRandom, Recipients, SuiteChoice};

use super::memory::{Output, bytes, handle, store};
use crate::status::{Failure, Outcome, Status, settle};

/// Suite of an envelope that stays secret when quantum computers exist.
pub const ENDSEAL_SUITE_HYBRID: u32 = 0;
/// Suite of an envelope for recipients without a post-quantum key, in which a recipient costs 40
/// bytes.
pub const ENDSEAL_SUITE_X25519: u32 = 1;
/// Suite of an envelope that others made: X25519 in a compact form. It is not for sealing.
pub const ENDSEAL_SUITE_X25519_COMPACT: u32 = 2;

/// Hides the number of recipients among slots that no one can open.
pub const ENDSEAL_SEAL_HIDE_COUNT: u32 = 1;

/// Parts of an envelope beside its content. Set all to zero first, then what you need.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "names a secret")]
pub struct SealOptions {
    /// The identity that seals and signs.
    pub sender: *const Identity,
    /// The readers.
    pub recipients: *const Recipients,
    /// Name of the application and its protocol, at most 1,024 bytes. Both sides give the same.
    pub context: *const u8,
    /// Length of the context.
    pub context_len: usize,
    /// Time to state, in milliseconds since 1970-01-01T00:00:00Z; 0 for none.
    pub time: u64,
    /// ENDSEAL_SUITE_HYBRID, or ENDSEAL_SUITE_X25519 if a recipient has no post-quantum key.
    pub suite: u32,
    /// ENDSEAL_SEAL_HIDE_COUNT or 0.
    pub flags: u32,
}

impl SealOptions {
    /// Reads the options of a caller.
    pub(super) unsafe fn read(of: *const Self) -> Outcome<facade::SealOptions> {
        let of = unsafe { handle(of) }?;
        let suite = match of.suite {
            ENDSEAL_SUITE_HYBRID => SuiteChoice::Hybrid,
            ENDSEAL_SUITE_X25519 => SuiteChoice::X25519,
            _ => return Err(Failure::argument("an unknown suite")),
        };
        if of.flags & !ENDSEAL_SEAL_HIDE_COUNT != 0 {
            return Err(Failure::argument("an unknown flag"));
        }
        Ok(facade::SealOptions {
            sender: unsafe { handle(of.sender) }?.clone(),
            recipients: unsafe { handle(of.recipients) }?.clone(),
            context: unsafe { bytes(of.context, of.context_len) }?.to_vec(),
            time: (of.time > 0).then_some(of.time),
            suite,
            hides_count: of.flags & ENDSEAL_SEAL_HIDE_COUNT != 0,
        })
    }
}

/// Stores the length of an envelope for so many bytes of content. Only sealing finds all mistakes
/// in the options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_sealed_len(
    options: *const SealOptions,
    content_len: usize,
    envelope_len: *mut usize,
) -> Status {
    settle((|| {
        let len = facade::sealed_len(content_len, &unsafe { SealOptions::read(options) }?)?;
        unsafe { store(envelope_len, len) }
    })())
}

/// Seals content. The content and the buffer do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endseal_seal(
    options: *const SealOptions,
    content: *const u8,
    content_len: usize,
    envelope: *mut u8,
    capacity: usize,
    envelope_len: *mut usize,
) -> Status {
    settle((|| {
        let options = unsafe { SealOptions::read(options) }?;
        let content = unsafe { bytes(content, content_len) }?;
        let len = facade::sealed_len(content_len, &options)?;
        let seal = |out: &mut [u8]| Ok(facade::seal_into(content, &options, out, &mut OsRandom)?);
        unsafe { Output::new(envelope, capacity, envelope_len).fill(len, seal) }
    })())
}
