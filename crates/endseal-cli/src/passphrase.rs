//! Sources of passphrases: a file, a file descriptor, a command, the environment, the configuration
//! or the terminal. An argument is never a source, because every process could read it.

mod command;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use endseal_crypto::identity::Identity;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::{IdentityFile, InvalidPassphrase, Passphrase};
use endseal_node::{FileError, Home};

use crate::ctx::Ctx;
use crate::exposed;
use crate::failure::{Failure, Kind};
use crate::global::Global;
use crate::output::DASH;
use crate::printable::plural;
use crate::terminal::Terminal;

const VARIABLE: &str = "ENDSEAL_PASSPHRASE";
/// Attempts that a user has.
const TRIES: u32 = 3;
/// Bytes of a passphrase file that are read: a mark, the longest passphrase and its line end.
const MAX_LEN: u64 = Passphrase::MAX_LEN as u64 + 5;

/// Names of standard input, which may also carry the content of a file.
const STANDARD_INPUT: [&str; 4] = [DASH, "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
/// Characters below which a new passphrase is called short, as in NIST SP 800-63B.
const SHORT: usize = 8;
/// Mark at the start of text files of some Windows editors (U+FEFF in UTF-8).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the passphrase for a new identity file: a given one, or one that is typed twice.
pub(crate) fn choose(ctx: &mut Ctx) -> Result<Passphrase, Failure> {
    choose_for("Passphrase for the new identity: ", ctx)
}

/// Returns a new passphrase: a given one, or one that is typed twice.
pub(crate) fn choose_for(prompt: &str, ctx: &mut Ctx) -> Result<Passphrase, Failure> {
    let chosen = match given(ctx)? {
        Some(given) => given,
        None => ask_twice(prompt)?,
    };
    warn_if_short(&chosen, ctx);
    Ok(chosen)
}

/// Reads the passphrase that takes the place of another, which may be given: asked for twice.
pub(crate) fn type_new(ctx: &mut Ctx) -> Result<Passphrase, Failure> {
    ctx.detail("the new passphrase from the terminal");
    let chosen = ask_twice("New passphrase: ")?;
    warn_if_short(&chosen, ctx);
    Ok(chosen)
}

/// Reads the passphrase that takes the place of another from the first line of a file.
pub(crate) fn new_in(file: &Path, ctx: &mut Ctx) -> Result<Passphrase, Failure> {
    exposed::warn(file, ctx);
    let chosen = from_file(file, ctx)?;
    warn_if_short(&chosen, ctx);
    Ok(chosen)
}

/// Warns of a new passphrase that can be guessed. The choice stays with its owner.
fn warn_if_short(passphrase: &Passphrase, ctx: &mut Ctx) {
    let chars = passphrase.chars();
    if chars < SHORT {
        let chars = plural(chars as u64, "character");
        ctx.note(&format!(
            "warning: a passphrase of {chars} is guessed soon by anyone who gets a copy of the \
             file; several words are better"
        ));
    }
}

fn ask_twice(prompt: &str) -> Result<Passphrase, Failure> {
    let terminal = terminal()?;
    let first = ask(&terminal, prompt)?;
    let passphrase = checked(&first)?;
    let second = ask(&terminal, "The same again: ")?;
    if *first != *second {
        return Err(
            Failure::usage("the two passphrases differ").hint("nothing was made; try again")
        );
    }
    Ok(passphrase)
}

/// Returns the passphrase of an encrypted Nostr key: a given one, or one that is typed once.
pub(crate) fn of_key(ctx: &mut Ctx) -> Result<Passphrase, Failure> {
    match given(ctx)? {
        Some(given) => Ok(given),
        None => checked(&ask(&terminal()?, "Passphrase of the key: ")?),
    }
}

/// Returns the passphrase for the file of a new device: that of its identity if it was given, or
/// one that is typed twice.
pub(crate) fn choose_for_device(root: Passphrase, ctx: &mut Ctx) -> Result<Passphrase, Failure> {
    if is_given(ctx)? { Ok(root) } else { choose_for("Passphrase for this device: ", ctx) }
}

/// Opens the root identity of the state directory. A user at the terminal has three attempts.
pub(crate) fn unlock(ctx: &mut Ctx, home: &Home) -> Result<Identity, Failure> {
    let file = ctx.identity(home)?;
    unlock_file(&file, "Passphrase of the identity: ", ctx).map_err(|failure| {
        let path = home.identity_path();
        wrong(failure, "the identity", &path, "that of the device may be another one")
    })
}

/// Opens the device identity of the state directory, which often has no passphrase.
pub(crate) fn unlock_device(ctx: &mut Ctx, home: &Home) -> Result<Identity, Failure> {
    ctx.detail(&format!("device file '{}'", home.device_path().display()));
    unlock_file(&home.device()?, "Passphrase of this device: ", ctx).map_err(|failure| {
        let path = home.device_path();
        wrong(failure, "this device", &path, "that of the identity may be another one")
    })
}

/// Says which passphrase a file has that was not opened by the one that was given, and what to do.
fn wrong(failure: Failure, of: &str, path: &Path, note: &str) -> Failure {
    if failure.kind != Kind::Refused {
        return failure;
    }
    failure.hint(format!(
        "it is the passphrase of {of}, '{}' ({note}); if it is forgotten, the 24 words bring you \
         back: endseal restore with a backup, endseal recover without one",
        path.display()
    ))
}

/// Opens the new keys of a device that an interrupted command has left.
pub(crate) fn unlock_next_device(file: &IdentityFile, ctx: &mut Ctx) -> Result<Identity, Failure> {
    unlock_file(file, "New passphrase of this device: ", ctx)
}

fn unlock_file(file: &IdentityFile, prompt: &str, ctx: &mut Ctx) -> Result<Identity, Failure> {
    match file.open_without_passphrase()? {
        Some(identity) => Ok(identity),
        None => open(prompt, ctx, |passphrase| Ok(file.open(passphrase)?)),
    }
}

/// Calls `with` with the given or typed passphrase. A user at the terminal has three attempts, as
/// long as the failure is [`Kind::Refused`].
pub(crate) fn open<T>(
    prompt: &str,
    ctx: &mut Ctx,
    with: impl FnMut(&Passphrase) -> Result<T, Failure>,
) -> Result<T, Failure> {
    find(prompt, ctx, with).map(|(_, opened)| opened)
}

/// [`open`], and returns the passphrase, too.
pub(crate) fn find<T>(
    prompt: &str,
    ctx: &mut Ctx,
    mut with: impl FnMut(&Passphrase) -> Result<T, Failure>,
) -> Result<(Passphrase, T), Failure> {
    if let Some(passphrase) = given(ctx)? {
        let opened = with(&passphrase)?;
        return Ok((passphrase, opened));
    }
    let terminal = terminal()?;
    let mut attempt = || -> Result<_, Failure> {
        let passphrase = checked(&ask(&terminal, prompt)?)?;
        let opened = with(&passphrase)?;
        Ok((passphrase, opened))
    };
    for _ in 1..TRIES {
        match attempt() {
            Err(failure) if failure.kind == Kind::Refused => {
                ctx.note("wrong passphrase, try again")
            }
            other => return other,
        }
    }
    attempt()
}

/// Returns true if the passphrase is the first line of standard input.
pub(crate) fn is_on_standard_input(ctx: &mut Ctx) -> Result<bool, Failure> {
    Ok(match Source::of(ctx)? {
        Some(Source::File(path)) => is_standard_input(&path),
        Some(Source::Descriptor(number)) => number == 0,
        Some(Source::Command(_) | Source::Variable(_)) | None => false,
    })
}

fn is_standard_input(path: &Path) -> bool {
    STANDARD_INPUT.iter().any(|name| path == Path::new(name))
}

/// Returns true if the passphrase is given in another way than on the terminal.
pub(crate) fn is_given(ctx: &mut Ctx) -> Result<bool, Failure> {
    Ok(Source::of(ctx)?.is_some())
}

/// Source of a passphrase other than the terminal.
enum Source {
    File(PathBuf),
    Descriptor(u32),
    Command(String),
    Variable(Zeroizing<Vec<u8>>),
}

impl Source {
    /// Finds the source: an option, or else the environment, or else the configuration.
    fn of(ctx: &mut Ctx) -> Result<Option<Self>, Failure> {
        if let Some(path) = &ctx.global.passphrase_file {
            return Ok(Some(Self::File(path.clone())));
        }
        if let Some(number) = ctx.global.passphrase_fd {
            return Ok(Some(Self::Descriptor(number)));
        }
        if let Some(command) = &ctx.global.passphrase_command {
            return Ok(Some(Self::Command(command.clone())));
        }
        if let Some(value) = (ctx.environment)(VARIABLE) {
            return Ok(Some(Self::Variable(Zeroizing::new(value.into_vec()))));
        }
        let config = ctx.config()?;
        Ok(config
            .passphrase_file
            .map(Self::File)
            .or_else(|| config.passphrase_command.map(Self::Command)))
    }
}

/// Returns a passphrase for something new that need not have one: the given one, or none. Nothing
/// is asked.
pub(crate) fn choose_if_given(ctx: &mut Ctx) -> Result<Option<Passphrase>, Failure> {
    let chosen = given(ctx)?;
    if let Some(chosen) = &chosen {
        warn_if_short(chosen, ctx);
    }
    Ok(chosen)
}

/// Returns true if an option of this command gives the passphrase, and not the environment or the
/// configuration, which are the same for all commands.
pub(crate) fn is_option(global: &Global) -> bool {
    let Global { passphrase_file, passphrase_fd, passphrase_command, .. } = global;
    passphrase_file.is_some() || passphrase_fd.is_some() || passphrase_command.is_some()
}

/// Returns the passphrase if it is given in another way than on the terminal.
fn given(ctx: &mut Ctx) -> Result<Option<Passphrase>, Failure> {
    let Some(source) = Source::of(ctx)? else { return Ok(None) };
    let passphrase = match source {
        Source::File(path) => {
            if !is_standard_input(&path) {
                exposed::warn(&path, ctx);
            }
            from_file(&path, ctx)
        }
        Source::Descriptor(number) => from_file(&PathBuf::from(format!("/dev/fd/{number}")), ctx),
        Source::Command(command) => {
            ctx.detail(&format!("passphrase from the command '{command}'"));
            first_line(&command::output(&command, command::TIMEOUT)?)
        }
        Source::Variable(value) => {
            let text = core::str::from_utf8(&value);
            let message = || Failure::usage(format!("{VARIABLE} is not text in UTF-8"));
            checked(text.map_err(|_| message())?)
        }
    };
    passphrase.map(Some)
}

/// Reads the first line of a file. Bytes of standard input after the line are not consumed, because
/// they are content.
fn from_file(path: &Path, ctx: &mut Ctx) -> Result<Passphrase, Failure> {
    ctx.detail(&format!("passphrase from '{}'", path.display()));
    let failed = |source| FileError::io("read", path, source);
    let mut file = match is_standard_input(path) {
        // Opening standard input again could start at its first byte, and the passphrase would
        // become content.
        true => io::stdin().as_fd().try_clone_to_owned().map(File::from),
        false => File::open(path),
    }
    .map_err(failed)?;
    let mut line = Zeroizing::new(Vec::with_capacity(Passphrase::MAX_LEN + 6));
    let mut byte = Zeroizing::new([0; 1]);
    while line.len() as u64 <= MAX_LEN {
        match file.read(&mut *byte) {
            Ok(1) if byte[0] != b'\n' => line.push(byte[0]),
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error).into()),
        }
    }
    first_line(&line)
}

/// Makes a passphrase of the first line of an output or a file.
fn first_line(output: &[u8]) -> Result<Passphrase, Failure> {
    let line = output.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    let text = core::str::from_utf8(line.strip_suffix(b"\r").unwrap_or(line));
    checked(text.map_err(|_| Failure::usage("the passphrase is not text in UTF-8"))?)
}

fn checked(text: &str) -> Result<Passphrase, Failure> {
    Passphrase::new(text).map_err(|error| {
        let failure = Failure::of(Kind::Usage, &error);
        match error {
            InvalidPassphrase::Empty => failure
                .hint("give one of several words")
                .hint_with("no-passphrase", "give one of several words, or --no-passphrase"),
            _ => failure,
        }
    })
}

fn terminal() -> Result<Terminal, Failure> {
    Terminal::open().map_err(|_| {
        Failure::usage("a passphrase is needed, and there is no terminal to ask for it").hint(
            "give --passphrase-file FILE, --passphrase-command CMD, --passphrase-fd N or the \
             variable ENDSEAL_PASSPHRASE",
        )
    })
}

fn ask(terminal: &Terminal, prompt: &str) -> Result<Zeroizing<String>, Failure> {
    terminal.ask(prompt).map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => Failure::new(Kind::Interrupted, "interrupted"),
        _ => Failure::new(Kind::Environment, "cannot ask for the passphrase").because(&error),
    })
}
