//! `endseal nostr key`: makes, shows and encrypts keys.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use base16ct::lower::encode_string as hex;
use clap::Subcommand;
use endseal_crypto::random::OsRandom;
use endseal_crypto::secret::Zeroizing;
use endseal_node::{Existing, Readers, write_file};
use endseal_nostr::encrypted_key::{
    DEFAULT_LOG_N, DEFAULT_MAX_LOG_N, EncryptedKey, Handling, TEXT_LEN,
};
use endseal_nostr::key::{self, BECH32_LEN, PublicKey, SecretKey};

use super::peer::npub;
use super::secret::KeyFile;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{self, Failure, Kind};
use crate::json::{self, Value};
use crate::output::DASH;
use crate::passphrase;

/// Make, show and encrypt keys
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a key; its file is one that only you can read
    New {
        #[command(flatten)]
        file: NewFile,
        /// Encrypt it under a passphrase (NIP-49)
        #[arg(long)]
        encrypt: bool,
        #[command(flatten)]
        cost: Cost,
    },
    /// Print the public key
    Show {
        #[command(flatten)]
        key: KeyFile,
    },
    /// Encrypt a key under a passphrase (NIP-49)
    Encrypt {
        #[command(flatten)]
        key: KeyFile,
        #[command(flatten)]
        file: NewFile,
        #[command(flatten)]
        cost: Cost,
    },
    /// Decrypt a key, and write it unencrypted
    Decrypt {
        #[command(flatten)]
        key: KeyFile,
        #[command(flatten)]
        file: NewFile,
    },
}

/// Options for the file of a key.
#[derive(clap::Args, Debug)]
struct NewFile {
    /// Write to a file that only you can read [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file; without one, print to a terminal
    #[arg(short, long)]
    force: bool,
}

/// Option for the cost of guessing a passphrase.
#[derive(clap::Args, Debug)]
struct Cost {
    /// Memory and time: 2^N KiB for scrypt; more than 18 needs --max-log-n to read
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LOG_N)]
    #[arg(value_parser = clap::value_parser!(u8).range(i64::from(DEFAULT_LOG_N)..=i64::from(DEFAULT_MAX_LOG_N)))]
    log_n: u8,
}

pub(super) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    match args.command {
        Command::New { file, encrypt, cost } => {
            file.check(ctx)?;
            if !encrypt && passphrase::is_option(&ctx.global) {
                return Err(Failure::usage("a key that is not encrypted takes no passphrase")
                    .hint("add --encrypt, or leave the option out"));
            }
            let key = SecretKey::generate(&mut OsRandom)
                .map_err(|error| Failure::of(Kind::Environment, &error))?;
            match encrypt {
                true => seal(&key, &file, &cost, Handling::NotKnownInsecure, ctx),
                false => write_plain(&key, &file, ctx),
            }
        }
        Command::Show { key } => {
            let key = key.read_alone(ctx)?.public_key();
            Ok(Outcome::new(format!("{}\n", npub(&key)), public(&key)))
        }
        Command::Encrypt { key, file, cost } => {
            file.check(ctx)?;
            let (key, handling) = key.read_with_handling(ctx)?;
            seal(&key, &file, &cost, handling, ctx)
        }
        Command::Decrypt { key, file } => {
            file.check(ctx)?;
            write_plain(&key.read_alone(ctx)?, &file, ctx)
        }
    }
}

fn public(key: &PublicKey) -> Value {
    json::object([("public_key", hex(&key.to_bytes()).into()), ("npub", npub(key).into())])
}

fn seal(
    key: &SecretKey,
    file: &NewFile,
    cost: &Cost,
    handling: Handling,
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    let passphrase = passphrase::choose_for("Passphrase for the key: ", ctx)?;
    // A passphrase is always made from text.
    let password = core::str::from_utf8(passphrase.expose_secret()).unwrap_or_default();
    let sealed = EncryptedKey::seal(key, password, cost.log_n, handling, &mut OsRandom)?;
    let mut out = [0; TEXT_LEN];
    let text = sealed.write_text(&mut out).map_err(|error| Failure::of(Kind::Usage, &error))?;
    file.write(text, &key.public_key(), ctx)
}

fn write_plain(key: &SecretKey, file: &NewFile, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut out = Zeroizing::new([0; BECH32_LEN]);
    let text = key::secret_to_nsec(key, &mut *out);
    let text = text.map_err(|error| Failure::of(Kind::Usage, &error))?;
    file.write(text, &key.public_key(), ctx)
}

impl NewFile {
    fn path(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| path.as_os_str() != DASH)
    }

    fn check(&self, ctx: &Ctx) -> Result<(), Failure> {
        if self.path().is_none() && ctx.stdout_is_terminal && !self.force {
            return Err(Failure::usage("a secret is not printed to a terminal")
                .hint("write it to a file with -o FILE, or insist with --force"));
        }
        Ok(())
    }

    fn write(&self, text: &str, key: &PublicKey, ctx: &mut Ctx) -> Result<Outcome, Failure> {
        let mut line = Zeroizing::new(String::with_capacity(text.len() + 1));
        line.push_str(text);
        line.push('\n');
        let mut json = public(key);
        if self.path().is_none() && ctx.global.json {
            if let Value::Object(fields) = &mut json {
                fields.insert("secret".to_owned(), text.into());
            }
            return Ok(Outcome::new("", with_output(json, None)));
        }
        let Some(path) = self.path() else {
            ctx.stdout.write_all(line.as_bytes()).map_err(|error| failure::standard(&error))?;
            ctx.note(&format!("public key {}", npub(key)));
            return Ok(Outcome {
                data_on_stdout: true,
                ..Outcome::new("", with_output(json, None))
            });
        };
        let existing = if self.force { Existing::Replace } else { Existing::Keep };
        write_file(path, line.as_bytes(), existing, Readers::Owner)?;
        json = with_output(json, Some(path));
        let mut outcome = Outcome::new(format!("{}\n", npub(key)), json);
        outcome.confirmation = Some(format!("secret key in '{}'", path.display()));
        Ok(outcome)
    }
}

fn with_output(mut json: Value, path: Option<&Path>) -> Value {
    if let Value::Object(fields) = &mut json {
        fields.insert("output".to_owned(), path.map(|path| path.display().to_string()).into());
    }
    json
}
