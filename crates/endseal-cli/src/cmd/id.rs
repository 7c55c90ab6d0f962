//! `endseal id`: shows, exports and imports the identity.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use endseal_crypto::identity::Identity;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::{IdentityText, PaperText, SecretText};
use endseal_node::{Existing, Readers, read_bounded, write_file};
use rustix::termios::tcgetwinsize;

use crate::cmd::init::{self, Creation};
use crate::ctx::{Ctx, Outcome};
use crate::failure::{self, Failure, Kind};
use crate::output::{DASH, Input};
use crate::{exposed, json, passphrase, qr};

/// Words on a line, few enough to copy all 24 by hand without mistakes.
const WORDS_OF_A_LINE: usize = 6;
/// Limit on the length of a secret text in bytes.
const MAX_SECRET_LEN: usize = 4096;

/// Show, export or import the identity
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the public identity
    Show {
        /// Print the long form, which post-quantum sealing needs
        #[arg(long)]
        pq: bool,
        /// Print the peer id, by which other machines know this one
        ///
        /// The peer id is derived from the secret key of the device, not of the identity.
        #[arg(long, conflicts_with = "pq")]
        peer: bool,
        /// Draw it as a QR code, which a phone reads from the terminal
        ///
        /// The code of the long form has up to 161 columns and 81 lines: it is drawn if the
        /// terminal is large enough, or to a file.
        #[arg(long)]
        qr: bool,
    },
    /// Print the secret identity, to move it to another machine
    Export {
        /// Confirm that the secret is exported: anyone who has it has your identity
        #[arg(long, required = true)]
        secret: bool,
        /// Write to a file that only you can read
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Replace the file; without one, print to a terminal
        #[arg(short, long)]
        force: bool,
    },
    /// Print the identity as 24 words, to keep on paper
    ///
    /// endseal init --paper makes the identity of these words again, with a new device: it opens
    /// sealed files, and has no conversations, contacts or groups. Write the words by hand: a
    /// printer or a photograph keeps copies.
    Paper {
        /// Print to a file or pipe, too
        #[arg(short, long)]
        force: bool,
    },
    /// Change the passphrase of the identity, or of this device
    ///
    /// The present one is asked for or given as for every command, and the new one is typed twice,
    /// or given in a file. Copies of the file that were made before still open with the old one.
    Passphrase {
        /// Change that of this device, by which its keys and its store open
        #[arg(long)]
        of_device: bool,
        /// Take the new one from the first line of a file
        #[arg(long, value_name = "FILE", conflicts_with = "no_passphrase")]
        new_passphrase_file: Option<PathBuf>,
        /// Use no passphrase: anyone who can read the file has what is in it
        #[arg(long)]
        no_passphrase: bool,
    },
    /// Import a secret identity that was exported, with a new device
    ///
    /// It has no 24 words: those that endseal id paper printed are another form of it.
    /// Conversations, contacts and groups do not come with it. A person who is registered at a hub
    /// uses endseal recover --exported FILE instead.
    Import {
        #[command(flatten)]
        creation: Creation,
        /// File with the secret identity [default: standard input]
        file: Option<PathBuf>,
    },
}

pub(crate) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    match args.command {
        Command::Show { peer: true, qr, .. } => show_peer(qr, ctx),
        Command::Show { pq, qr, .. } => show(pq, qr, ctx),
        Command::Export { secret: _, output, force } => export(output.as_deref(), force, ctx),
        Command::Paper { force } => paper(force, ctx),
        Command::Passphrase { of_device, new_passphrase_file, no_passphrase } => {
            let new = match no_passphrase {
                true => NewPassphrase::None,
                false => new_passphrase_file.map_or(NewPassphrase::Typed, NewPassphrase::File),
            };
            change_passphrase(of_device, &new, ctx)
        }
        Command::Import { creation, file } => import(&creation, file.as_deref(), ctx),
    }
}

fn show(pq: bool, qr: bool, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    // This is the claim of the file, read without a passphrase. An attacker who could change it
    // could replace the file as well.
    let home = ctx.home()?;
    let file = ctx.identity(&home)?;
    let long = IdentityText::from(file.public().clone());
    let short = long.short();
    let json = json::object([
        ("identity", short.to_string().into()),
        ("identity_pq", long.to_string().into()),
        ("kdf_memory_kib", file.params().memory_kib().into()),
    ]);
    let shown = if pq { long } else { short }.to_string();
    let text = if qr && !ctx.global.json { code(&shown, ctx)? } else { shown + "\n" };
    Ok(Outcome::new(text, json))
}

/// Draws a QR code. Fails if the terminal is smaller than the code, because a part of one cannot
/// be read.
fn code(content: &str, ctx: &Ctx) -> Result<String, Failure> {
    let is_coloured = ctx.global.color.is_on(ctx.stdout_is_terminal, ctx.environment);
    let drawn = qr::text(content, is_coloured)
        .ok_or_else(|| Failure::usage("the text is too long for a QR code"))?;
    let rows = drawn.lines().count();
    // Two rows of modules are one line, and a code is a square.
    let columns = qr::text(content, false)
        .map_or(0, |it| it.lines().next().map_or(0, |line| line.chars().count()));
    if ctx.stdout_is_terminal
        && let Ok(size) = tcgetwinsize(std::io::stdout())
        && (usize::from(size.ws_col) < columns || usize::from(size.ws_row) < rows)
    {
        let (wide, high) = (size.ws_col, size.ws_row);
        return Err(Failure::new(
            Kind::Environment,
            format!(
                "the QR code has {columns} columns and {rows} lines, and the terminal {wide} and \
                 {high}"
            ),
        )
        .hint(
            "make the letters smaller; or give the text by mail or file, which contacts add reads",
        ));
    }
    Ok(drawn.to_string())
}

fn show_peer(qr: bool, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    // The peer id is derived from the secret keys, and is not stored in a file.
    let home = ctx.home()?;
    let text = init::peer_id(&passphrase::unlock_device(ctx, &home)?);
    let json = json::object([("peer_id", text.clone().into())]);
    let text = if qr && !ctx.global.json { code(&text, ctx)? } else { text + "\n" };
    Ok(Outcome::new(text, json))
}

fn paper(force: bool, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    if !ctx.stdout_is_terminal && !force {
        return Err(Failure::usage("the words are printed to a terminal only")
            .hint("copy them by hand, or insist with --force"));
    }
    let home = ctx.home()?;
    let identity = passphrase::unlock(ctx, &home)?;
    let Some(seed) = identity.root_seed() else {
        return Err(Failure::new(Kind::Refused, "the identity has no words")
            .because_text("it was imported without the seed that they stand for".to_owned())
            .hint("keep a copy with: endseal id export --secret -o FILE"));
    };
    let words = PaperText::encode(seed);
    let (before, after) = if ctx.global.json { (r#"{"words":""#, "\"}\n") } else { ("", "\n") };
    let len = before.len() + words.expose_secret().len() + after.len();
    let mut text = Zeroizing::new(String::with_capacity(len));
    text.push_str(before);
    for (i, word) in words.expose_secret().split(' ').enumerate() {
        match i {
            0 => {}
            _ if i % WORDS_OF_A_LINE == 0 && !ctx.global.json => text.push('\n'),
            _ => text.push(' '),
        }
        text.push_str(word);
    }
    text.push_str(after);
    ctx.note(
        "warning: these words are the whole identity, without a passphrase; keep them on paper, \
         away from this machine",
    );
    ctx.stdout.write_all(text.as_bytes()).map_err(|error| failure::standard(&error))?;
    Ok(Outcome { data_on_stdout: true, ..Outcome::default() })
}

/// Source of the passphrase that takes the place of the present one.
enum NewPassphrase {
    Typed,
    File(PathBuf),
    None,
}

fn change_passphrase(
    of_device: bool,
    new: &NewPassphrase,
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    let home = ctx.home()?;
    let identity = match of_device {
        true => passphrase::unlock_device(ctx, &home)?,
        false => passphrase::unlock(ctx, &home)?,
    };
    let new = match new {
        NewPassphrase::Typed => Some(passphrase::type_new(ctx)?),
        NewPassphrase::File(file) => Some(passphrase::new_in(file, ctx)?),
        NewPassphrase::None => None,
    };
    let file = init::seal(&identity, new.as_ref())?;
    let (lock, path) = (
        home.lock()?,
        match of_device {
            true => home.device_path(),
            false => home.identity_path(),
        },
    );
    match of_device {
        true => home.reseal_device(&file, &lock)?,
        false => home.reseal_identity(&file, &lock)?,
    }
    let path = path.display().to_string();
    let json = json::object([("file", path.clone().into()), ("protected", new.is_some().into())]);
    let text = if new.is_some() { "has a new passphrase" } else { "has no passphrase any more" };
    Ok(Outcome::done(format!("'{path}' {text}"), json))
}

fn export(output: Option<&Path>, force: bool, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let output = output.filter(|path| path.as_os_str() != DASH);
    if output.is_none() && ctx.stdout_is_terminal && !force {
        return Err(Failure::usage("a secret is not printed to a terminal")
            .hint("write it to a file with -o FILE, or insist with --force"));
    }
    let home = ctx.home()?;
    let identity = passphrase::unlock(ctx, &home)?;
    let secret = SecretText::encode(&identity);
    // The JSON object is written by hand, because the text must be wiped and needs no escaping.
    let (before, after) = match ctx.global.json && output.is_none() {
        true => (r#"{"output":null,"secret":""#, "\"}\n"),
        false => ("", "\n"),
    };
    let len = before.len() + secret.expose_secret().len() + after.len();
    let mut text = Zeroizing::new(String::with_capacity(len));
    for part in [before, secret.expose_secret(), after] {
        text.push_str(part);
    }
    ctx.note("warning: this is the whole identity, without a passphrase; delete it after use");
    let Some(path) = output else {
        ctx.stdout.write_all(text.as_bytes()).map_err(|error| failure::standard(&error))?;
        return Ok(Outcome { data_on_stdout: true, ..Outcome::default() });
    };
    let existing = if force { Existing::Replace } else { Existing::Keep };
    write_file(path, text.as_bytes(), existing, Readers::Owner)?;
    let output = path.display().to_string();
    let json = json::object([("output", output.into()), ("secret", json::Value::Null)]);
    Ok(Outcome::done(format!("secret identity in '{}'", path.display()), json))
}

fn import(creation: &Creation, file: Option<&Path>, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    creation.check(ctx)?;
    let name = file.unwrap_or(Path::new("standard input")).to_owned();
    if let Some(file) = file {
        exposed::warn(file, ctx);
    }
    let identity = read_secret(file, &name, ctx)?;
    init::store(&identity, creation, ctx)
}

/// Reads a secret identity that was exported.
pub(super) fn read_secret(
    file: Option<&Path>,
    name: &Path,
    ctx: &mut Ctx,
) -> Result<Identity, Failure> {
    let input = Input::open(file, ctx)?;
    let content = read_bounded(input.reader, name, MAX_SECRET_LEN)?;
    let text = core::str::from_utf8(&content).unwrap_or_default();
    // Windows editors put a mark at the start.
    let text = text.trim_start_matches('\u{feff}').trim();
    SecretText::decode(text).map_err(|error| {
        Failure::usage(format!("'{}' holds no secret identity", name.display())).because(&error)
    })
}
