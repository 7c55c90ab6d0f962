//! Sources of passphrases: a file, a file descriptor, the environment, the configuration or the
//! terminal. An argument is never a source, because every process could read it.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use endseal_crypto::identity::Identity;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::{IdentityFile, Passphrase};
use endseal_node::{FileError, Home};

use crate::ctx::Ctx;
use crate::exposed;
use crate::failure::{Failure, Kind};
use crate::terminal::Terminal;

const VARIABLE: &str = "ENDSEAL_PASSPHRASE";
/// Attempts that a user has.
const TRIES: u32 = 3;
/// Bytes of a passphrase file that are read: the longest passphrase and its line end.
const MAX_LEN: u64 = Passphrase::MAX_LEN as u64 + 2;

/// Names of standard input, which may also carry the content of a file.
const STANDARD_INPUT: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// Returns the passphrase for a new identity file: a given one, or one that is typed twice.
pub(crate) fn choose(ctx: &mut Ctx) -> Result<Passphrase, Failure> {
    choose_for("Passphrase for the new identity: ", ctx)
}

/// Returns a new passphrase: a given one, or one that is typed twice.
pub(crate) fn choose_for(prompt: &str, ctx: &mut Ctx) -> Result<Passphrase, Failure> {
    match given(ctx)? {
        Some(given) => Ok(given),
        None => ask_twice(prompt),
    }
}

/// Reads the passphrase that takes the place of another, which may be given: asked for twice.
pub(crate) fn type_new(ctx: &mut Ctx) -> Result<Passphrase, Failure> {
    ctx.detail("the new passphrase from the terminal");
    ask_twice("New passphrase: ")
}

/// Reads the passphrase that takes the place of another from the first line of a file.
pub(crate) fn new_in(file: &Path, ctx: &mut Ctx) -> Result<Passphrase, Failure> {
    exposed::warn(file, ctx);
    from_file(file, ctx)
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
    let global = &ctx.global;
    let is_given = global.passphrase_file.is_some()
        || global.passphrase_fd.is_some()
        || (ctx.environment)(VARIABLE).is_some()
        || ctx.config()?.passphrase_file.is_some();
    if is_given { Ok(root) } else { choose_for("Passphrase for this device: ", ctx) }
}

/// Opens the root identity of the state directory. A user at the terminal has three attempts.
pub(crate) fn unlock(ctx: &mut Ctx, home: &Home) -> Result<Identity, Failure> {
    let file = ctx.identity(home)?;
    unlock_file(&file, "Passphrase: ", ctx)
}

/// Opens the device identity of the state directory, which often has no passphrase.
pub(crate) fn unlock_device(ctx: &mut Ctx, home: &Home) -> Result<Identity, Failure> {
    ctx.detail(&format!("device file '{}'", home.device_path().display()));
    unlock_file(&home.device()?, "Passphrase of this device: ", ctx)
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
    mut with: impl FnMut(&Passphrase) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(passphrase) = given(ctx)? {
        return with(&passphrase);
    }
    let terminal = terminal()?;
    let mut attempt = || with(&checked(&ask(&terminal, prompt)?)?);
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
    let path = match (&ctx.global.passphrase_file, ctx.global.passphrase_fd) {
        (Some(path), _) => Some(path.clone()),
        (None, Some(number)) => return Ok(number == 0),
        (None, None) if (ctx.environment)(VARIABLE).is_some() => None,
        (None, None) => ctx.config()?.passphrase_file,
    };
    Ok(path.is_some_and(|path| STANDARD_INPUT.iter().any(|name| path == Path::new(name))))
}

/// Returns true if the passphrase is given in another way than on the terminal.
pub(crate) fn is_given(ctx: &mut Ctx) -> Result<bool, Failure> {
    let is_option = ctx.global.passphrase_file.is_some() || ctx.global.passphrase_fd.is_some();
    let is_given = is_option || (ctx.environment)(VARIABLE).is_some();
    Ok(is_given || ctx.config()?.passphrase_file.is_some())
}

/// Returns the passphrase if it is given in another way than on the terminal.
fn given(ctx: &mut Ctx) -> Result<Option<Passphrase>, Failure> {
    if let Some(path) = ctx.global.passphrase_file.clone() {
        exposed::warn(&path, ctx);
        return from_file(&path, ctx).map(Some);
    }
    if let Some(number) = ctx.global.passphrase_fd {
        return from_file(&PathBuf::from(format!("/dev/fd/{number}")), ctx).map(Some);
    }
    let Some(value) = (ctx.environment)(VARIABLE) else {
        let Some(path) = ctx.config()?.passphrase_file else { return Ok(None) };
        exposed::warn(&path, ctx);
        return from_file(&path, ctx).map(Some);
    };
    let value = Zeroizing::new(value.into_vec());
    let text = core::str::from_utf8(&value);
    let text = text.map_err(|_| Failure::usage(format!("{VARIABLE} is not text in UTF-8")))?;
    checked(text).map(Some)
}

/// Reads the first line of a file. Bytes of standard input after the line are not consumed, because
/// they are content.
fn from_file(path: &Path, ctx: &mut Ctx) -> Result<Passphrase, Failure> {
    ctx.detail(&format!("passphrase from '{}'", path.display()));
    let failed = |source| FileError::io("read", path, source);
    let mut file = match STANDARD_INPUT.iter().any(|name| path == Path::new(name)) {
        // Opening standard input again could start at its first byte, and the passphrase would
        // become content.
        true => io::stdin().as_fd().try_clone_to_owned().map(File::from),
        false => File::open(path),
    }
    .map_err(failed)?;
    let mut line = Zeroizing::new(Vec::with_capacity(Passphrase::MAX_LEN + 3));
    let mut byte = Zeroizing::new([0; 1]);
    while line.len() as u64 <= MAX_LEN {
        match file.read(&mut *byte) {
            Ok(1) if byte[0] != b'\n' => line.push(byte[0]),
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error).into()),
        }
    }
    let text = line.strip_suffix(b"\r").unwrap_or(&line);
    let text = core::str::from_utf8(text);
    checked(text.map_err(|_| Failure::usage("the passphrase is not text in UTF-8"))?)
}

fn checked(text: &str) -> Result<Passphrase, Failure> {
    Passphrase::new(text).map_err(|error| Failure::of(Kind::Usage, &error))
}

fn terminal() -> Result<Terminal, Failure> {
    Terminal::open().map_err(|_| {
        Failure::usage("a passphrase is needed, and there is no terminal to ask for it").hint(
            "give --passphrase-file FILE, --passphrase-fd N or the variable ENDSEAL_PASSPHRASE",
        )
    })
}

fn ask(terminal: &Terminal, prompt: &str) -> Result<Zeroizing<String>, Failure> {
    terminal.ask(prompt).map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => Failure::new(Kind::Interrupted, "interrupted"),
        _ => Failure::new(Kind::Environment, "cannot ask for the passphrase").because(&error),
    })
}
