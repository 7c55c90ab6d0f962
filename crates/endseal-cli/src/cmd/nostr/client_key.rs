//! Keys of this client, by which a remote signer recognises it.

use std::io::Write as _;

use base16ct::lower::encode_string as hex;
use endseal_crypto::random::OsRandom;
use endseal_crypto::secret::Zeroizing;
use endseal_node::{AtomicFile, Existing, FileError, Home, Readers, read_private};
use endseal_nostr::key::{self, PublicKey, SecretKey, SigningKey};

use crate::ctx::Ctx;
use crate::failure::{Failure, Kind};

/// Folder in the state directory. Each file in it is named after the key of a signer.
const FOLDER: &str = "nostr-clients";
/// Limit on the length of a key file in bytes.
const MAX_LEN: usize = 128;

/// Returns the client's key for a signer. The first call creates and stores it.
pub(super) fn of(signer: &PublicKey, ctx: &Ctx) -> Result<SigningKey, Failure> {
    let home = Home::create(&ctx.home_path()?)?;
    // Two concurrent first calls would create two keys.
    let _lock = home.lock()?;
    let path = home.folder(FOLDER)?.join(hex(&signer.to_bytes()));
    if let Some(content) = read_private(&path, MAX_LEN)? {
        let text = core::str::from_utf8(content.trim_ascii()).unwrap_or_default();
        let key = key::secret_from_hex(text).map_err(|error| {
            Failure::new(Kind::Configuration, format!("'{}' holds no secret key", path.display()))
                .because(&error)
                .hint("put a copy in its place, or remove it and ask the signer for a new URL")
        })?;
        return Ok(SigningKey::new(key));
    }
    let key = SecretKey::generate(&mut OsRandom)
        .map_err(|error| Failure::of(Kind::Environment, &error))?;
    let mut digits = Zeroizing::new([0; key::HEX_LEN]);
    key::secret_to_hex(&key, &mut digits);
    let mut file = AtomicFile::create(&path, Existing::Keep, Readers::Owner)?;
    file.write_all(&digits[..]).map_err(|source| FileError::io("write", &path, source))?;
    // If the key were lost after its secret was used, this client could not connect again.
    file.commit_durably()?;
    Ok(SigningKey::new(key))
}
