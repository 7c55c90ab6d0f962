//! Groups: the rosters that are known, epoch by epoch.
//!
//! `groups/NAME/EPOCH.roster`: nothing is replaced, so that the history stays and the newest epoch
//! is the largest number. NAME is this side's name of the group, by default the owner's.

use alloc::rc::Rc;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use endseal_crypto::ed25519;
use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_crypto::secret::Zeroizing;
use endseal_envelope::{Opener, Policy, Recipients, RecipientsError, Sealer};
use endseal_keyring::roster::{EpochKey, GroupId, MAX_LEN, Member, RosterChanges, RosterDraft};
use endseal_keyring::{Name, Roster};

use crate::atomic::{Existing, Readers, write_file};
use crate::error::FileError;
use crate::home::{Home, HomeLock, read_private};

mod error;

pub use error::{GroupError, ImportError};

const FOLDER: &str = "groups";
/// End of the name of a roster's file; before it is the epoch.
pub(crate) const SUFFIX: &str = ".roster";
/// Groups and epochs that are listed at most.
const MAX_LISTED: usize = 1 << 20;

/// The groups of a state directory.
#[derive(Clone, Copy, Debug)]
pub struct Groups<'a>(&'a Home);

/// A roster that was taken from somebody else.
#[derive(Debug)]
#[non_exhaustive]
pub struct Imported {
    /// The name that the group has here.
    pub name: Name,
    /// The roster.
    pub roster: Roster,
    /// The newest roster that was known before, if the group was.
    pub previous: Option<Roster>,
    /// Epochs that are missing since the one that was known.
    pub missing: u64,
}

impl Home {
    /// The groups that are known.
    #[must_use]
    pub fn groups(&self) -> Groups<'_> {
        Groups(self)
    }
}

impl Groups<'_> {
    /// The names of all groups, sorted.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn list(&self) -> Result<Vec<Name>, GroupError> {
        let mut names: Vec<_> =
            entries(&self.0.file(FOLDER))?.iter().filter_map(|name| Name::new(name).ok()).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// The epochs of a group that are known, the newest last.
    ///
    /// # Errors
    /// [`GroupError::Unknown`], those of the file system.
    pub fn epochs(&self, group: &Name) -> Result<Vec<u64>, GroupError> {
        let epochs = epochs_in(&self.folder_of(group))?;
        if epochs.is_empty() { Err(GroupError::Unknown(group.clone())) } else { Ok(epochs) }
    }

    /// The newest roster of a group.
    ///
    /// # Errors
    /// [`GroupError`].
    pub fn current(&self, group: &Name) -> Result<Roster, GroupError> {
        let newest = self.epochs(group)?.last().copied().unwrap_or_default();
        self.epoch(group, newest)
    }

    /// [`Self::current`]; `known`, if it has the same bytes: parsing verifies each member's keys.
    pub(crate) fn renew(
        &self,
        group: &Name,
        known: Option<&Rc<Roster>>,
    ) -> Result<Rc<Roster>, GroupError> {
        let newest = self.epochs(group)?.last().copied().unwrap_or_default();
        let content = self.content(group, newest)?;
        match known {
            Some(known) if known.as_bytes() == content.as_slice() => Ok(Rc::clone(known)),
            _ => self.parse(group, newest, &content).map(Rc::new),
        }
    }

    /// The roster of one epoch.
    ///
    /// # Errors
    /// [`GroupError`].
    pub fn epoch(&self, group: &Name, epoch: u64) -> Result<Roster, GroupError> {
        self.parse(group, epoch, &self.content(group, epoch)?)
    }

    fn content(&self, group: &Name, epoch: u64) -> Result<Zeroizing<Vec<u8>>, GroupError> {
        let content = read_private(&self.path_of(group, epoch), MAX_LEN)?;
        content.ok_or_else(|| GroupError::Unknown(group.clone()))
    }

    fn parse(&self, group: &Name, epoch: u64, content: &[u8]) -> Result<Roster, GroupError> {
        let path = self.path_of(group, epoch);
        Roster::parse(content).map_err(|error| GroupError::Parse { path, error })
    }

    /// Creates a group with those members and a fresh epoch key.
    ///
    /// # Errors
    /// [`GroupError`].
    pub fn create(
        &self,
        owner: &Identity,
        group: Name,
        members: Vec<Member>,
        lock: &HomeLock,
    ) -> Result<Roster, GroupError> {
        self.unused(&group)?;
        let id = GroupId::generate(&mut OsRandom, owner, &group).map_err(|_| GroupError::Random)?;
        let draft = Roster::create(group.clone(), id, *owner.public().ed25519(), members)
            .map_err(GroupError::Members)?;
        let roster = sign(draft, owner)?;
        self.store(&group, &roster, lock)?;
        Ok(roster)
    }

    /// Begins the next epoch of a group, with a fresh epoch key that only those who are members
    /// then can open.
    ///
    /// # Errors
    /// [`GroupError`].
    pub fn change(
        &self,
        owner: &Identity,
        group: &Name,
        changes: &RosterChanges,
        lock: &HomeLock,
    ) -> Result<Roster, GroupError> {
        let current = self.current(group)?;
        if current.owner() != owner.public().ed25519() {
            return Err(GroupError::NotOwner(group.clone()));
        }
        let draft = current.next_epoch(changes).map_err(GroupError::Change)?;
        let roster = sign(draft, owner)?;
        self.store(group, &roster, lock)?;
        Ok(roster)
    }

    /// Takes a roster from somebody else. A group is known by its id: its roster must come after
    /// the newest one under whatever name it has here. For another group `trusted` is asked whether
    /// its owner is trusted.
    ///
    /// # Errors
    /// [`ImportError`].
    pub fn import(
        &self,
        content: &[u8],
        name: Option<Name>,
        trusted: impl FnOnce(&ed25519::PublicKey) -> bool,
        lock: &HomeLock,
    ) -> Result<Imported, ImportError> {
        let roster = Roster::parse(content).map_err(ImportError::Parse)?;
        let (name, previous) = match self.known(roster.id()).map_err(ImportError::Group)? {
            Some((known, _)) if name.as_ref().is_some_and(|name| *name != known) => {
                return Err(ImportError::OtherName(known));
            }
            Some((known, current)) => {
                roster.supersedes(&current).map_err(ImportError::Chain)?;
                (known, Some(current))
            }
            None if !trusted(roster.owner()) => {
                return Err(ImportError::UnknownOwner(*roster.owner()));
            }
            None => {
                let name = name.unwrap_or_else(|| roster.group().clone());
                self.unused(&name).map_err(ImportError::Group)?;
                (name, None)
            }
        };
        self.store(&name, &roster, lock).map_err(ImportError::Group)?;
        let held = previous.as_ref().map_or(0, Roster::epoch);
        let missing = roster.epoch() - held - 1;
        Ok(Imported { name, roster, previous, missing })
    }

    /// The group with that id: its name here, and its newest roster.
    fn known(&self, id: &GroupId) -> Result<Option<(Name, Roster)>, GroupError> {
        for name in self.list()? {
            match self.current(&name) {
                Ok(roster) if roster.id() == id => return Ok(Some((name, roster))),
                Ok(_) | Err(GroupError::Unknown(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Fails with [`GroupError::Exists`] if a group has that name.
    fn unused(&self, name: &Name) -> Result<(), GroupError> {
        match self.epochs(name) {
            Err(GroupError::Unknown(_)) => Ok(()),
            Ok(_) => Err(GroupError::Exists(name.clone())),
            Err(error) => Err(error),
        }
    }

    fn store(&self, group: &Name, roster: &Roster, _lock: &HomeLock) -> Result<(), GroupError> {
        self.0.folder(FOLDER)?;
        self.0.folder(&format!("{FOLDER}/{group}"))?;
        let path = self.path_of(group, roster.epoch());
        Ok(write_file(&path, roster.as_bytes(), Existing::Keep, Readers::Owner)?)
    }

    fn folder_of(&self, group: &Name) -> PathBuf {
        self.0.file(FOLDER).join(group.as_str())
    }

    fn path_of(&self, group: &Name, epoch: u64) -> PathBuf {
        self.folder_of(group).join(format!("{epoch}{SUFFIX}"))
    }
}

/// Returns the recipients of an envelope that the members of a roster can open.
///
/// # Errors
/// [`RecipientsError::ConflictingKeys`] does not happen: a roster has no key twice.
pub fn recipients(roster: &Roster) -> Result<Recipients, RecipientsError> {
    Recipients::from_identities(roster.members().iter().map(Member::identity))
}

/// Opens the epoch key of a roster.
///
/// # Errors
/// [`GroupError::EpochKey`] if `identity` is no member, or the owner did not seal the key.
pub fn epoch_key(identity: &Identity, roster: &Roster) -> Result<EpochKey, GroupError> {
    let context = roster.context();
    let opener = Opener::new(identity, &context);
    let mut policy = Policy::new().senders([*roster.owner()]);
    let opened =
        opener.open(roster.sealed_epoch_key(), &mut policy).map_err(GroupError::EpochKey)?;
    let key = Zeroizing::new(opened.content);
    let key = key.as_slice().try_into();
    key.map(EpochKey::from_bytes).map_err(|_| GroupError::EpochKeyLength)
}

/// Seals a fresh epoch key to the members of a draft and signs it.
fn sign(draft: RosterDraft, owner: &Identity) -> Result<Roster, GroupError> {
    let key = EpochKey::generate(&mut OsRandom, owner, &draft).map_err(|_| GroupError::Random)?;
    let sealed = seal_epoch_key(owner, &key, draft.members(), &draft.context())?;
    draft.sign(owner, &sealed).map_err(GroupError::Sign)
}

/// Seals an epoch key to members. The suite is hybrid if each member has the key for it: callers
/// tell the owner who has none (docs/spec/roster.md).
pub(crate) fn seal_epoch_key(
    owner: &Identity,
    key: &EpochKey,
    members: &[Member],
    context: &[u8],
) -> Result<Vec<u8>, GroupError> {
    let to = Recipients::from_identities(members.iter().map(Member::identity))
        .map_err(GroupError::Recipients)?;
    let sealer = Sealer::new(owner, &to, context).suite(to.suite());
    sealer.seal(key.expose_secret(), &mut OsRandom).map_err(GroupError::Seal)
}

/// Epochs of the rosters in a folder, the newest last; none if there is no such folder.
pub(crate) fn epochs_in(folder: &Path) -> Result<Vec<u64>, FileError> {
    let mut epochs: Vec<u64> = entries(folder)?
        .iter()
        .filter_map(|name| name.strip_suffix(SUFFIX)?.parse().ok())
        .collect();
    epochs.sort_unstable();
    Ok(epochs)
}

/// Names in a folder that are text; none if there is no such folder.
fn entries(folder: &Path) -> Result<Vec<String>, FileError> {
    let failed = |source| FileError::io("read", folder, source);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut names = Vec::new();
    for entry in entries.take(MAX_LISTED) {
        names.extend(entry.map_err(failed)?.file_name().into_string().ok());
    }
    Ok(names)
}
