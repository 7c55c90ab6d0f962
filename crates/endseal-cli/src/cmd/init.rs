//! `endseal init`: creates an identity and a device.

use core::num::NonZeroU32;
use core::time::Duration;
use std::io;
use std::path::{Path, PathBuf};

use endseal_crypto::identity::{Identity, RootSeed};
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::{OsRandom, RandomError};
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::DeviceId;
use endseal_keyring::{
    IdentityFile, IdentityText, KdfParams, PaperText, Passphrase, PeerIdText, PersonRecord,
};
use endseal_node::messages::DeviceName;
use endseal_node::{
    Existing, FileError, Home, IdentityError, NewIdentity, OtherDevices, read_bounded,
};

use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::output::Input;
use crate::sessions::{open, work_and_close};
use crate::terminal::Terminal;
use crate::{device_name, json, passphrase};

/// Limit in bytes on 24 words and the blanks between them.
const MAX_WORDS_LEN: usize = 4096;
/// Number of words of an identity.
const WORDS: usize = 24;

/// Make an identity with this device, and print its public half
///
/// The identity is a person's: others seal to it, and it signs which devices it has. Its passphrase
/// is asked for then, and not when messages come and go. The device has keys of its own: its peer
/// id, and the store of its conversations. The state directory is made if it is missing.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    creation: Creation,
    /// Make the identity of 24 words on standard input again, with a new device
    ///
    /// The words open sealed files. They bring back neither conversations, contacts nor groups. If
    /// the person is registered at a hub, use endseal recover in the place of this.
    #[arg(long)]
    paper: bool,
}

/// Options of a new identity and device.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Creation {
    /// Use no passphrase: anyone who can read the identity file has the identity
    #[arg(long)]
    #[arg(conflicts_with_all = ["passphrase_file", "passphrase_fd", "passphrase_command"])]
    no_passphrase: bool,
    /// Protect the device's keys and store by a passphrase, too
    ///
    /// Commands that send and receive ask for it then. A person chooses one for the device; one
    /// that is given, as by --passphrase-file, serves for both.
    #[arg(long, conflicts_with = "no_passphrase")]
    protect_device: bool,
    /// Number of this device [default: random]
    #[arg(long, value_name = "N")]
    device: Option<NonZeroU32>,
    /// Name of this device in endseal devices list [default: the host's name]
    ///
    /// Neither the hub nor contacts learn it.
    #[arg(long, value_parser = device_name::parse)]
    name: Option<DeviceName>,
    /// Begin anew if there is an identity; the old files are kept under other names
    #[arg(short, long)]
    force: bool,
}

impl Creation {
    /// The choices for a first identity.
    pub(super) const fn new(no_passphrase: bool) -> Self {
        Self { no_passphrase, protect_device: false, device: None, name: None, force: false }
    }

    /// The same choices, for an identity that takes the place of another.
    pub(super) fn forced(&self) -> Self {
        Self { force: true, ..self.clone() }
    }

    /// Fails if there is an identity already, before the user is asked for a passphrase.
    pub(crate) fn check(&self, ctx: &Ctx) -> Result<(), Failure> {
        let Ok(home) = Home::open(&ctx.home_path()?) else { return Ok(()) };
        let path = home.identity_path();
        if !self.force && path.symlink_metadata().is_ok() {
            return Err(IdentityError::File(FileError::Exists(path)).into());
        }
        Ok(())
    }
}

/// Returns true if the state directory has neither an identity nor a device.
pub(super) fn is_new(ctx: &Ctx) -> Result<bool, Failure> {
    let Ok(home) = Home::open(&ctx.home_path()?) else { return Ok(true) };
    let exists = |path: PathBuf| path.symlink_metadata().is_ok();
    Ok(!exists(home.identity_path()) && !exists(home.device_path()))
}

/// Makes a first identity, and prints nothing but notes.
pub(super) fn store_new(creation: &Creation, ctx: &mut Ctx) -> Result<(), Failure> {
    let seed = RootSeed::generate(&mut OsRandom).map_err(|error| no_random(&error))?;
    store(&Identity::from_root_seed(seed), creation, ctx).map(|_| ())
}

pub(crate) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    args.creation.check(ctx)?;
    let seed = match args.paper {
        true => of_paper(ctx)?,
        false => RootSeed::generate(&mut OsRandom).map_err(|error| no_random(&error))?,
    };
    store(&Identity::from_root_seed(seed), &args.creation, ctx)
}

/// Reads 24 words: from a terminal without showing them, or else from standard input.
pub(super) fn of_paper(ctx: &mut Ctx) -> Result<RootSeed, Failure> {
    let words = if ctx.stdin_is_terminal {
        type_words().map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => Failure::new(Kind::Interrupted, "interrupted"),
            _ => Failure::new(Kind::Environment, "cannot ask for the words").because(&error),
        })?
    } else {
        let input = Input::open(None, ctx)?;
        let content = read_bounded(input.reader, Path::new("standard input"), MAX_WORDS_LEN)?;
        Zeroizing::new(core::str::from_utf8(&content).unwrap_or_default().to_owned())
    };
    PaperText::decode(words.trim_start_matches('\u{feff}'))
        .map_err(|error| Failure::usage("these are not the words of an identity").because(&error))
}

/// Asks for words until there are 24: people type them in lines, as endseal id paper prints them.
fn type_words() -> io::Result<Zeroizing<String>> {
    let terminal = Terminal::open()?;
    // Never reallocated, so that no copy stays in memory.
    let mut words = Zeroizing::new(String::with_capacity(2 * MAX_WORDS_LEN));
    loop {
        let count = words.split_whitespace().count();
        if count >= WORDS || words.len() >= MAX_WORDS_LEN {
            return Ok(words);
        }
        let line = match count {
            0 => terminal.ask("24 words, in one line or several: ")?,
            _ => terminal.ask(&format!("{count} of 24 words; the next ones: "))?,
        };
        if line.trim().is_empty() || words.len() + line.len() >= words.capacity() {
            return Ok(words);
        }
        words.push_str(&line);
        words.push(' ');
    }
}

/// Formats the peer id of a device.
pub(super) fn peer_id(device: &Identity) -> String {
    let key = device.transport_key();
    PeerIdText::from(PeerId::of_spki(&key.public_key().to_spki())).to_string()
}

pub(super) fn seal(
    identity: &Identity,
    passphrase: Option<&Passphrase>,
) -> Result<IdentityFile, Failure> {
    Ok(match passphrase {
        Some(passphrase) => {
            IdentityFile::seal(identity, passphrase, KdfParams::RECOMMENDED, &mut OsRandom)?
        }
        None => IdentityFile::seal_without_passphrase(identity, &mut OsRandom)?,
    })
}

fn no_random(error: &RandomError) -> Failure {
    Failure::of(Kind::Environment, error)
}

/// Stores an identity with a new device in the state directory, and reports it.
pub(crate) fn store(
    root: &Identity,
    creation: &Creation,
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    let keys = Keys::make(root, creation, ctx)?;
    keys.install(root, creation, None, OtherDevices::Revoke, ctx)
}

/// Files of a new identity and device, sealed and not yet in the state directory.
pub(super) struct Keys {
    root_file: IdentityFile,
    pub(super) device: Identity,
    device_file: IdentityFile,
}

/// The file of a new device under the passphrase that its owner chooses, or under none.
pub(super) fn make_device(
    protect: bool,
    ctx: &mut Ctx,
) -> Result<(Identity, IdentityFile), Failure> {
    let passphrase = match protect {
        true => Some(passphrase::choose_for("Passphrase for this device: ", ctx)?),
        false => None,
    };
    let device = Identity::generate(&mut OsRandom).map_err(|error| no_random(&error))?;
    let file = seal(&device, passphrase.as_ref())?;
    Ok((device, file))
}

impl Keys {
    /// Chooses passphrases and makes a device.
    pub(super) fn make(
        root: &Identity,
        creation: &Creation,
        ctx: &mut Ctx,
    ) -> Result<Self, Failure> {
        let passphrase = if creation.no_passphrase { None } else { Some(passphrase::choose(ctx)?) };
        let root_file = seal(root, passphrase.as_ref())?;
        let passphrase = match passphrase {
            Some(passphrase) if creation.protect_device => {
                Some(passphrase::choose_for_device(passphrase, ctx)?)
            }
            _ => None,
        };
        let device = Identity::generate(&mut OsRandom).map_err(|error| no_random(&error))?;
        let device_file = seal(&device, passphrase.as_ref())?;
        drop(passphrase);
        if creation.no_passphrase {
            ctx.note(
                "warning: without a passphrase, whoever can read the identity file has the identity",
            );
        }
        Ok(Self { root_file, device, device_file })
    }

    /// Puts the files into the state directory, and says so. `at_hub` is the person record that the
    /// hub has.
    pub(super) fn install(
        &self,
        root: &Identity,
        creation: &Creation,
        at_hub: Option<&PersonRecord>,
        others: OtherDevices,
        ctx: &mut Ctx,
    ) -> Result<Outcome, Failure> {
        let new = NewIdentity {
            root,
            root_file: &self.root_file,
            device: &self.device,
            device_file: &self.device_file,
            number: creation.device.map(Into::into),
            at_hub,
            others,
            now: ctx.now,
        };
        let home = Home::create(&ctx.home_path()?)?;
        let existing = if creation.force { Existing::Replace } else { Existing::Keep };
        let made = home.install(&new, existing, &home.lock()?)?;
        work_and_close(open(&home, &self.device, Duration::ZERO)?, ctx, |engine, _| {
            device_name::name_this(engine, creation.name.as_ref())
        })?;
        let path = home.identity_path();
        ctx.note(&format!("identity in '{}', device {} beside it", path.display(), made.number));
        for aside in made.old_identity.iter().chain(&made.old) {
            ctx.note(&format!("the old one is kept as '{}'", aside.display()));
        }
        if !creation.protect_device && !creation.no_passphrase {
            ctx.note(
                "note: the device's file has no passphrase, so that its mode protects it; with \
                 --protect-device it has one",
            );
        }
        ctx.note("the line below is public: give it to those who seal to you");
        Ok(identity_made(root, &self.device, made.number, &home, made.old_identity.as_deref()))
    }
}

/// Result of a command that makes a device of an identity.
pub(super) fn identity_made(
    root: &Identity,
    device: &Identity,
    number: DeviceId,
    home: &Home,
    old: Option<&Path>,
) -> Outcome {
    let long = IdentityText::from(root.public().clone());
    let short = long.short().to_string();
    let json = json::object([
        ("identity", short.clone().into()),
        ("identity_pq", long.to_string().into()),
        ("device", number.number().into()),
        ("peer_id", peer_id(device).into()),
        ("file", home.identity_path().display().to_string().into()),
        ("old_file", old.map(|aside| aside.display().to_string()).into()),
    ]);
    Outcome::new(short + "\n", json)
}
