//! Secret keys that commands read from files.

use std::path::{Path, PathBuf};

use endseal_node::read_bounded;
use endseal_nostr::encrypted_key::{DEFAULT_MAX_LOG_N, EncryptedKey, Handling, MAX_LOG_N};
use endseal_nostr::key::{self, SecretKey};

use crate::ctx::Ctx;
use crate::exposed;
use crate::failure::Failure;
use crate::output::{DASH, Input};
use crate::passphrase;
use crate::typed::may_be_key;

/// Limit on the length of a key file in bytes.
const MAX_LEN: usize = 4096;

/// Option that names the key file of a command.
#[derive(clap::Args, Debug)]
pub(super) struct KeyFile {
    /// File with the secret key; - is standard input
    ///
    /// It holds nsec1..., ncryptsec1... or 64 hexadecimal digits. An encrypted key asks for its
    /// passphrase as other commands do: on the terminal, from --passphrase-file, --passphrase-fd or
    /// ENDSEAL_PASSPHRASE.
    #[arg(short, long, value_name = "FILE")]
    key: PathBuf,
    #[command(flatten)]
    cost: MaxCost,
}

/// Option for the greatest cost of an encrypted key that is read.
#[derive(clap::Args, Debug)]
pub(in crate::cmd) struct MaxCost {
    /// Read an encrypted key that takes up to 2^N KiB of memory, and as much time
    ///
    /// 22 is 4 GiB and some ten seconds. The key says what it costs: raise this only for a key
    /// whose origin you know.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_LOG_N)]
    #[arg(value_parser = clap::value_parser!(u8).range(i64::from(DEFAULT_MAX_LOG_N)..=i64::from(MAX_LOG_N)))]
    max_log_n: u8,
}

impl KeyFile {
    /// Reads the key. `input` is the other file of the command: at most one of them may be standard
    /// input.
    pub(super) fn read(&self, input: Option<&Path>, ctx: &mut Ctx) -> Result<SecretKey, Failure> {
        check_streams(&self.key, "key", input)?;
        self.read_alone(ctx)
    }

    /// Reads the key of a command that has no other input.
    pub(super) fn read_alone(&self, ctx: &mut Ctx) -> Result<SecretKey, Failure> {
        self.read_with_handling(ctx).map(|(key, _)| key)
    }

    /// Reads the key and its handling so far. A key without a passphrase is known to have been
    /// stored unencrypted.
    pub(super) fn read_with_handling(
        &self,
        ctx: &mut Ctx,
    ) -> Result<(SecretKey, Handling), Failure> {
        read(&self.key, &self.cost, ctx)
    }
}

/// Checks that `path` and the input are not both standard input. `name` says in the error what
/// `path` contains.
pub(super) fn check_streams(path: &Path, name: &str, input: Option<&Path>) -> Result<(), Failure> {
    let is_standard = |path: &Path| path.as_os_str() == DASH;
    if is_standard(path) && input.is_none_or(is_standard) {
        let message = format!("the {name} and the input cannot both be standard input");
        return Err(Failure::usage(message).hint("name a file for one of them"));
    }
    Ok(())
}

/// Reads a key from a file; `-` is standard input.
pub(in crate::cmd) fn read(
    path: &Path,
    cost: &MaxCost,
    ctx: &mut Ctx,
) -> Result<(SecretKey, Handling), Failure> {
    if path.as_os_str() != DASH {
        if path.to_str().is_some_and(may_be_key) && !path.exists() {
            return Err(Failure::usage("a key is read from a file, and a key was typed")
                .hint("the shell may keep it: make another one, with: endseal nostr key new"));
        }
        exposed::warn(path, ctx);
    }
    let input = Input::open(Some(path), ctx)?;
    let content = read_bounded(input.reader, path, MAX_LEN)?;
    let text = core::str::from_utf8(content.trim_ascii()).unwrap_or_default();
    let no_key = |error: &dyn core::error::Error| {
        Failure::usage(format!("'{}' holds no secret key", path.display())).because(error)
    };
    if starts_with(text, "ncryptsec1") {
        let encrypted = EncryptedKey::from_text(text).map_err(|error| no_key(&error))?;
        let passphrase = passphrase::of_key(ctx)?;
        // A passphrase is always made from text.
        let text = core::str::from_utf8(passphrase.expose_secret()).unwrap_or_default();
        return Ok((encrypted.open(text, cost.max_log_n)?, encrypted.handling()));
    }
    let key = match starts_with(text, "nsec1") {
        true => key::secret_from_nsec(text),
        false => key::secret_from_hex(text),
    };
    key.map(|key| (key, Handling::KnownInsecure)).map_err(|error| no_key(&error))
}

/// Compares the start of a text without case, because Bech32 may be in upper or lower case.
fn starts_with(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}
