//! Options for the key of a command: a key file or a remote signer.

use core::time::Duration;
use std::path::{Path, PathBuf};

use clap::ArgGroup;
use endseal_nostr::key::SecretKey;

use super::bunker::Bunker;
use super::secret::{self, MaxCost};
use crate::ctx::Ctx;
use crate::duration::{self, MINUTE, SECOND};
use crate::failure::Failure;

/// Options that name the holder of the key.
#[derive(clap::Args, Debug)]
#[group(skip)]
#[command(group(ArgGroup::new("holder").required(true)))]
pub(super) struct HolderArgs {
    /// File with the secret key; - is standard input
    ///
    /// It holds nsec1..., ncryptsec1... or 64 hexadecimal digits. An encrypted key asks for its
    /// passphrase as other commands do: on the terminal, from --passphrase-file, --passphrase-fd or
    /// ENDSEAL_PASSPHRASE.
    #[arg(short, long, value_name = "FILE", group = "holder")]
    key: Option<PathBuf>,
    /// bunker:// URL of a remote signer, a file with it, or - for standard input
    ///
    /// The signer (NIP-46) is asked over the relays of the URL. It knows this client again by a key
    /// in the state directory, so that the URL works again. Other processes can read the secret of
    /// a URL that is an argument: give a file.
    #[arg(long, value_name = "URL", group = "holder")]
    bunker: Option<String>,
    /// Give up if the remote signer has not answered after this time
    ///
    /// A signer that asks its user answers within 60s; if it shows a page, this command waits for
    /// two minutes.
    #[arg(long, value_name = "TIME", default_value = "70s")]
    #[arg(value_parser = duration::between(SECOND, 10 * MINUTE))]
    timeout: Duration,
    /// Accept ws:// relays in the URL beyond this machine and .onion names, too
    ///
    /// Others on the way can read which keys communicate and when, and no content.
    #[arg(long, requires = "bunker")]
    allow_private: bool,
    #[command(flatten)]
    cost: MaxCost,
}

/// Holder of a secret key.
pub(super) enum Holder {
    /// This process has read the key from a file.
    Local(SecretKey),
    /// A remote signer holds the key.
    Remote(Bunker),
}

impl HolderArgs {
    /// Reads the key or the URL. `input` is the other file of the command: at most one of them may
    /// be standard input.
    pub(super) fn read(&self, input: Option<&Path>, ctx: &mut Ctx) -> Result<Holder, Failure> {
        match (&self.key, &self.bunker) {
            (Some(key), _) => {
                secret::check_streams(key, "key", input)?;
                secret::read(key, &self.cost, ctx).map(|(key, _)| Holder::Local(key))
            }
            (None, Some(bunker)) => {
                secret::check_streams(Path::new(bunker), "URL", input)?;
                let bunker = Bunker::read(bunker, self.timeout, self.allow_private, ctx);
                bunker.map(Holder::Remote)
            }
            // The argument group requires one of them.
            (None, None) => Err(Failure::usage("name a key with --key or --bunker")),
        }
    }
}
