//! The measured operations, each with a check of its result.

mod cipher;
mod curve;
mod event;
mod nip04;
mod nip44;

pub(crate) use cipher::{
    AES_DECRYPT, AES_ENCRYPT, AES_FIVE_ROUNDS, BASE64_DECODE, BASE64_ENCODE, CHACHA20, HKDF_EXPAND,
    HMAC, SHA256, aes_round,
};
pub(crate) use curve::{CONVERSATION_KEY, PUBLIC_KEY, SIGN, VERIFY};
pub(crate) use event::{FULL_NIP04, FULL_NIP44};
pub(crate) use nip04::{
    NIP04_DECRYPT, NIP04_DECRYPT_KEY, NIP04_ENCRYPT, NIP04_ENCRYPT_KEY, NIP04_ROUND_KEY,
};
pub(crate) use nip44::{NIP44_DECRYPT, NIP44_DECRYPT_KEY, NIP44_ENCRYPT, NIP44_ENCRYPT_KEY};

use crate::workbench::Workbench;

pub(crate) struct Operation {
    pub(crate) name: &'static str,
    /// Builds the input, once for each size.
    pub(crate) setup: fn(&mut Workbench),
    /// Restores everything that a run overwrites. Not counted.
    pub(crate) prepare: fn(&mut Workbench),
    pub(crate) run: fn(&mut Workbench),
    /// Returns true if the operation gives a published vector or its inverse gives the input.
    pub(crate) check: fn(&mut Workbench) -> bool,
    /// True if it takes millions of instructions, so that one run is enough for any counter.
    pub(crate) is_long: bool,
}

/// Preparation of operations that need none.
fn nothing(_: &mut Workbench) {}
