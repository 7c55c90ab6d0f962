//! Functions for tests and test vectors that are easy to misuse: they take values that must
//! otherwise be random, return secrets that must otherwise stay inside, or change limits that are
//! otherwise constants.

use endseal_crypto::argon2id::{self, NoMemory};
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::segment;

use crate::delivered_index;
use crate::error::OpenStoreError;
use crate::inbox_table::pack::{Before, Messages};
use crate::key_file::{self, Protection, StoreKey, Unlock};
use crate::store::{Housekeeping, OpenOptions};

/// A key file of `key`, the store key and its salt. `salt` and `chunk_salt` MUST be random and used
/// for nothing else.
///
/// # Errors
/// If there is not as much memory as `protection` asks for.
pub fn seal_key_file(
    key: &[u8; 48],
    protection: &Protection<'_>,
    salt: &[u8; argon2id::SALT_LEN],
    chunk_salt: &[u8; segment::SALT_LEN],
) -> Result<Vec<u8>, NoMemory> {
    key_file::seal_with(&StoreKey::from_bytes(key), protection, salt, chunk_salt)
        .map(|file| file.to_vec())
}

/// Opens a key file and returns the store key and its salt. They open the store even after the
/// passphrase was changed.
///
/// # Errors
/// [`OpenStoreError::Authentication`], [`OpenStoreError::NoMemory`].
pub fn open_key_file(
    file: &[u8],
    unlock: Unlock<'_>,
) -> Result<Zeroizing<[u8; 48]>, OpenStoreError> {
    key_file::open(file, unlock).map(|key| Zeroizing::new(*key.expose_secret()))
}

/// Changes the sizes beyond which the store does work of its own before a transaction begins: the
/// length of the log in bytes, and the number of recent messages. A test reaches that work with
/// small numbers.
#[must_use]
pub fn with_housekeeping(
    mut options: OpenOptions,
    max_log_len: u64,
    many_recent: usize,
) -> OpenOptions {
    options.housekeeping = Housekeeping { max_log_len, many_recent };
    options
}

/// The pack of the inbox that `pack` is, written again; `None` if it is of another form. `first` is
/// the number of its first message. Fuzzing reads packs through it.
#[must_use]
pub fn rewrite_inbox_pack(first: u64, pack: &[u8]) -> Option<Vec<u8>> {
    let (mut messages, mut before) = (Messages::new(first, pack), Before::default());
    let mut out = Vec::new();
    for message in messages.by_ref() {
        message.push(&mut before, &mut out);
    }
    messages.is_whole().then_some(out)
}

/// The pack of recent messages that `pack` is, written again; `None` if it is of another form.
#[must_use]
pub fn rewrite_recent_pack(mut pack: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    while !pack.is_empty() {
        delivered_index::pack::push(&mut out, delivered_index::pack::next(&mut pack)?);
    }
    Some(out)
}
