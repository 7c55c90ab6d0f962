//! The demonstration: four people, one file, one removed member, two flipped bytes.
//!
//! Nothing is staged: four state directories are made in a folder, files are written and read by
//! the functions that the commands use, and each expectation is checked. What must be refused and
//! is not makes the demonstration fail.

mod steps;

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_envelope::{Malformed, OpenError, Policy, Sealer};
use endseal_keyring::roster::{self, EpochKey, Member, RosterChainError, RosterChanges};
use endseal_keyring::{IdentityFile, IdentityText, KdfParams, Name, Passphrase};

use crate::atomic::{AtomicFile, Existing, Readers, write_file};
use crate::file::{self, FILE_CONTEXT, Incoming, OpenFileError};
use crate::groups::{self, GroupError, ImportError};
use crate::home::{Home, read_public};
use crate::inspect::Inspection;

pub use self::steps::{Outcome, Step, StepFailed, Steps};

/// Runs the demonstration in `folder`, which must be empty, with the file `input`. `show` is told
/// of each step when it is over; the first that fails is the last.
pub fn run(folder: &Path, input: &Path, kdf: KdfParams, show: &mut dyn FnMut(&Step)) -> Vec<Step> {
    let mut demo = Demo { folder, input, kdf, steps: Steps::new(show) };
    // The failed step tells.
    let _ = demo.run();
    demo.steps.into_vec()
}

/// Result of a step in figures or words, or the reason of its failure.
type Shown = Result<String, String>;

struct Demo<'a> {
    folder: &'a Path,
    input: &'a Path,
    kdf: KdfParams,
    steps: Steps<'a>,
}

struct Person {
    name: &'static str,
    home: Home,
    identity: Identity,
}

struct Cast<'a> {
    alice: &'a Person,
    bob: &'a Person,
    carol: &'a Person,
    dave: &'a Person,
    team: Name,
}

impl Demo<'_> {
    fn run(&mut self) -> Result<(), StepFailed> {
        let people = self.meet()?;
        let [alice, bob, carol, dave] = &people[..] else { return Err(StepFailed) };
        let cast =
            Cast { alice, bob, carol, dave, team: Name::new("team").map_err(|_| StepFailed)? };
        self.first_epoch(&cast)?;
        self.changed_bits(&cast)?;
        self.second_epoch(&cast)
    }

    fn meet(&mut self) -> Result<Vec<Person>, StepFailed> {
        let (folder, kdf, mut people) = (self.folder, self.kdf, Vec::new());
        self.steps.done("alice, bob, carol and dave make identities", || {
            for name in ["alice", "bob", "carol", "dave"] {
                people.push(meet(&folder.join(name), name, kdf)?);
            }
            let memory = kdf.memory_kib() / 1024;
            Ok(format!("4 identity files, Argon2id {memory} MiB"))
        })?;
        self.steps.done("they exchange public identities", || exchange(&people))?;
        Ok(people)
    }

    fn first_epoch(&mut self, cast: &Cast<'_>) -> Result<(), StepFailed> {
        let Cast { alice, bob, carol, dave, team } = cast;
        let (roster, sealed, input) = (self.path(ROSTER_1), self.path(SEALED_1), self.input);
        self.steps.done("alice founds the group \"team\" of all four", || {
            found(alice, team, &[bob, carol, dave], &roster)
        })?;
        self.steps.done("the others take its signed roster, epoch 1", || {
            take(&[bob, carol, dave], &roster)?;
            epoch_keys(&[alice, bob, carol, dave], team)
        })?;
        let title = format!("alice seals {} to the team", short_name(input));
        self.steps.done(&title, || seal(alice, team, input, &sealed))?;
        [alice, bob, carol, dave].iter().try_for_each(|who| self.opens(who, alice, &sealed))
    }

    fn changed_bits(&mut self, Cast { bob, .. }: &Cast<'_>) -> Result<(), StepFailed> {
        let (sealed, output) = (self.path(SEALED_1), self.path(ABSENT));
        for (place, name) in [(Place::Content, "content"), (Place::Header, "header")] {
            let changed = self.path(&format!("changed-{name}.es"));
            self.steps.refused(&format!("one bit of the {name} flipped, bob opens it"), || {
                flip(&sealed, &changed, place)?;
                refuses(bob, &changed, &output)
            })?;
        }
        Ok(())
    }

    fn second_epoch(&mut self, cast: &Cast<'_>) -> Result<(), StepFailed> {
        let Cast { alice, bob, carol, dave, team } = cast;
        let (roster, sealed, input) = (self.path(ROSTER_2), self.path(SEALED_2), self.input);
        self.steps.done("alice removes dave: epoch 2, with a new key", || {
            remove(alice, team, dave, &roster)
        })?;
        self.steps.done("the others take the new roster", || {
            take(&[bob, carol, dave], &roster)?;
            epoch_keys(&[alice, bob, carol], team)
        })?;
        self.steps.refused("dave asks for the key of epoch 2", || no_epoch_key(dave, team))?;
        self.steps
            .done("alice seals the file to the team again", || seal(alice, team, input, &sealed))?;
        let output = self.path(ABSENT);
        self.steps.refused("dave opens that", || refuses(dave, &sealed, &output))?;
        [alice, bob, carol].iter().try_for_each(|who| self.opens(who, alice, &sealed))?;
        let old = self.path(ROSTER_1);
        self.steps.refused("bob is offered the old roster again", || no_rollback(bob, &old))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn opens(&mut self, person: &Person, sender: &Person, sealed: &Path) -> Result<(), StepFailed> {
        let original = self.input;
        self.steps.done(&format!("{} opens it", person.name), || {
            let opened = sealed.with_extension(person.name);
            open(person, sealed, &opened, Some(sender)).map_err(text)?;
            same_content(original, &opened)
        })
    }
}

/// Makes a state directory with an identity, and unlocks it as a command does.
fn meet(folder: &Path, name: &'static str, kdf: KdfParams) -> Result<Person, String> {
    let home = Home::create(folder).map_err(text)?;
    let passphrase = Passphrase::new(&format!("{name} and nobody else")).map_err(text)?;
    let made = Identity::generate(&mut OsRandom).map_err(text)?;
    let file = IdentityFile::seal(&made, &passphrase, kdf, &mut OsRandom).map_err(text)?;
    let lock = home.lock().map_err(text)?;
    home.store_identity(&file, Existing::Keep, &lock).map_err(text)?;
    let identity = home.identity().map_err(text)?.open(&passphrase).map_err(text)?;
    if identity.public() != made.public() {
        return Err("the identity file holds another identity".into());
    }
    Ok(Person { name, home, identity })
}

/// Everybody enters everybody else, from the text form, into the address book.
fn exchange(people: &[Person]) -> Shown {
    for person in people {
        let lock = person.home.lock().map_err(text)?;
        let mut contacts = person.home.contacts().map_err(text)?;
        for other in people.iter().filter(|other| other.name != person.name) {
            let printed = IdentityText::from(other.identity.public().clone()).to_string();
            let read: IdentityText = printed.parse().map_err(text)?;
            let name = Name::new(other.name).map_err(text)?;
            contacts.add(name, read.into_identity()).map_err(text)?;
        }
        person.home.store_contacts(&contacts, &lock).map_err(text)?;
    }
    Ok("4 address books".into())
}

fn found(owner: &Person, team: &Name, others: &[&Person], roster_file: &Path) -> Shown {
    let contacts = owner.home.contacts().map_err(text)?;
    let mut members =
        vec![Member::new(Name::new(owner.name).map_err(text)?, owner.identity.public().clone())];
    for other in others {
        let identity = contacts.find(other.name).ok_or("not a contact")?;
        members.push(Member::new(Name::new(other.name).map_err(text)?, identity.clone()));
    }
    let lock = owner.home.lock().map_err(text)?;
    let roster =
        owner.home.groups().create(&owner.identity, team.clone(), members, &lock).map_err(text)?;
    write(roster_file, roster.as_bytes())?;
    Ok(format!("epoch {}, {} members", roster.epoch(), roster.members().len()))
}

fn remove(owner: &Person, team: &Name, who: &Person, roster_file: &Path) -> Shown {
    let mut changes = RosterChanges::new();
    changes.remove(Name::new(who.name).map_err(text)?);
    let lock = owner.home.lock().map_err(text)?;
    let roster =
        owner.home.groups().change(&owner.identity, team, &changes, &lock).map_err(text)?;
    write(roster_file, roster.as_bytes())?;
    Ok(format!("epoch {}, {} members", roster.epoch(), roster.members().len()))
}

fn take(people: &[&Person], roster_file: &Path) -> Result<(), String> {
    people.iter().try_for_each(|person| import(person, roster_file).map_err(text))
}

fn import(person: &Person, roster_file: &Path) -> Result<(), ImportError> {
    let lock = person.home.lock().map_err(|e| ImportError::Group(e.into()))?;
    let known = person.home.contacts().ok();
    let content =
        read_public(roster_file, roster::MAX_LEN).map_err(|e| ImportError::Group(e.into()))?;
    let trusted = |owner: &_| known.as_ref().is_some_and(|known| known.name_of(owner).is_some());
    person.home.groups().import(&content, None, trusted, &lock).map(|_| ())
}

/// All of them have the same key of the current epoch.
fn epoch_keys(people: &[&Person], team: &Name) -> Shown {
    let mut first: Option<EpochKey> = None;
    for person in people {
        let roster = person.home.groups().current(team).map_err(text)?;
        let key = groups::epoch_key(&person.identity, &roster).map_err(text)?;
        match &first {
            Some(first) if *first != key => return Err(format!("{} has another key", person.name)),
            Some(_) => {}
            None => first = Some(key),
        }
    }
    Ok(format!("{} members open the group's key", people.len()))
}

/// That somebody who was removed does not get the key of the current epoch.
fn no_epoch_key(person: &Person, team: &Name) -> Shown {
    let roster = person.home.groups().current(team).map_err(text)?;
    match groups::epoch_key(&person.identity, &roster) {
        Err(GroupError::EpochKey(OpenError::Authentication)) => Ok("authentication failed".into()),
        Err(other) => Err(text(other)),
        Ok(_) => Err(format!("{} opened the key", person.name)),
    }
}

/// That a roster older than the known one is not taken.
fn no_rollback(person: &Person, old: &Path) -> Shown {
    match import(person, old) {
        Err(ImportError::Chain(RosterChainError::Rollback { held, .. })) => {
            Ok(format!("older than epoch {held}, which he has"))
        }
        Err(other) => Err(text(other)),
        Ok(()) => Err(format!("{} took it", person.name)),
    }
}

fn seal(sender: &Person, team: &Name, input: &Path, output: &Path) -> Shown {
    let roster = sender.home.groups().current(team).map_err(text)?;
    let to = groups::recipients(&roster).map_err(text)?;
    let sealer = Sealer::new(&sender.identity, &to, FILE_CONTEXT);
    let source = fs::File::open(input).map_err(text)?;
    let mut out = AtomicFile::create(output, Existing::Keep, Readers::Umask).map_err(text)?;
    let len = file::seal(&sealer, source, &mut out, &mut |_| ()).map_err(text)?;
    out.commit().map_err(text)?;
    let sealed = fs::metadata(output).map_err(text)?.len();
    Ok(format!("{len} bytes became {sealed}"))
}

fn open(
    person: &Person,
    sealed: &Path,
    output: &Path,
    sender: Option<&Person>,
) -> Result<u64, OpenFileError> {
    let policy = match sender {
        Some(sender) => Policy::new().senders([*sender.identity.public().ed25519()]),
        None => Policy::new(),
    };
    let source = fs::File::open(sealed).map_err(OpenFileError::Input)?;
    let incoming = Incoming::open(&person.identity, policy, source)?;
    let failed = |error| OpenFileError::Output(io::Error::other(error));
    let mut out = AtomicFile::create(output, Existing::Keep, Readers::Umask).map_err(failed)?;
    let len = incoming.copy_to(&mut out, &mut |_| ())?;
    out.commit().map_err(failed)?;
    Ok(len)
}

/// That `sealed` does not open, and that no output appears.
fn refuses(person: &Person, sealed: &Path, output: &Path) -> Shown {
    match open(person, sealed, output, None) {
        Ok(_) => Err(format!("{} opened it", person.name)),
        Err(_) if output.exists() => Err("refused, but there is an output".into()),
        Err(OpenFileError::Envelope(OpenError::Authentication)) => {
            Ok("authentication failed, no output".into())
        }
        Err(other) => Err(text(other)),
    }
}

#[derive(Clone, Copy)]
enum Place {
    Content,
    Header,
}

fn flip(sealed: &Path, changed: &Path, place: Place) -> Result<(), String> {
    let mut bytes = fs::read(sealed).map_err(text)?;
    let at = match place {
        // In the salt: nothing but the commitment can tell.
        Place::Header => 50,
        Place::Content => {
            let seen = Inspection::of(&bytes[..]).map_err(text)?;
            // The middle of what follows the slots.
            let slots = 100 + seen.slots as usize * seen.suite.slot_len();
            slots + (bytes.len() - slots) / 2
        }
    };
    let byte = bytes.get_mut(at).ok_or_else(|| text(Malformed::Truncated))?;
    *byte ^= 1;
    write(changed, &bytes)
}

fn same_content(original: &Path, opened: &Path) -> Shown {
    let mut a = fs::File::open(original).map_err(text)?;
    let mut b = fs::File::open(opened).map_err(text)?;
    let (mut of_a, mut of_b) = (vec![0; PIECE_LEN], vec![0; PIECE_LEN]);
    let mut len = 0_u64;
    loop {
        let got = a.read(&mut of_a).map_err(text)?;
        if got == 0 {
            let more = b.read(&mut of_b[..1]).map_err(text)?;
            let same = format!("{len} bytes, as the original");
            return if more == 0 { Ok(same) } else { Err("longer than the original".into()) };
        }
        b.read_exact(&mut of_b[..got]).map_err(text)?;
        if of_a[..got] != of_b[..got] {
            return Err(format!("differs from the original after byte {len}"));
        }
        len += got as u64;
    }
}

fn write(path: &Path, content: &[u8]) -> Result<(), String> {
    write_file(path, content, Existing::Keep, Readers::Umask).map_err(text)
}

/// The name of a file, cut so that it fits into a table.
fn short_name(path: &Path) -> String {
    const MAX: usize = 20;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let clean = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    name.chars().take(MAX).map(clean).collect()
}

/// An error with its causes.
#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn text(error: impl core::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

const ROSTER_1: &str = "team-1.roster";
const ROSTER_2: &str = "team-2.roster";
const SEALED_1: &str = "epoch-1.es";
const SEALED_2: &str = "epoch-2.es";
/// Name of the output that a refused envelope must not leave.
const ABSENT: &str = "absent";
const PIECE_LEN: usize = 64 * 1024;
