//! Groups: their known rosters, one file for each epoch.
//!
//! Rosters are stored as `groups/NAME/EPOCH.roster`. No file is ever replaced, so that the history
//! stays and the newest epoch is the largest number. A roster that did not come into force is
//! `EPOCH.refused`. NAME is the local name of the group; the default is the name in the first
//! roster that is stored.

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

/// Name of a person's notes to oneself, which no group has: another person chooses the name of a
/// team, and notes would go to its members.
pub const OWN_NAME: &str = "me";
/// Name of the folder with the groups.
pub(crate) const FOLDER: &str = "groups";
/// Suffix of a roster's file name, after the epoch.
pub(crate) const SUFFIX: &str = ".roster";
/// Extension of the file name of a roster that did not come into force.
const REFUSED: &str = "refused";
/// Limit on the entries that are read from a folder.
const MAX_LISTED: usize = 1 << 20;

/// Access to the groups of a state directory.
#[derive(Clone, Copy, Debug)]
pub struct Groups<'a>(&'a Home);

/// Result of [`Groups::import`]: a roster that another identity owns was stored.
#[derive(Debug)]
#[non_exhaustive]
pub struct Imported {
    /// Local name of the group.
    pub name: Name,
    /// Roster that was imported and stored.
    pub roster: Roster,
    /// Newest roster that was known before; `None` if the group was not known.
    pub previous: Option<Roster>,
    /// Number of epochs between the previous roster and this one whose rosters are not known.
    pub missing: u64,
}

impl Home {
    /// Returns access to the groups of this state directory.
    #[must_use]
    pub fn groups(&self) -> Groups<'_> {
        Groups(self)
    }
}

impl Groups<'_> {
    /// Returns the local names of all groups, sorted.
    ///
    /// # Errors
    /// Returns [`GroupError::File`] if the folder cannot be read.
    pub fn list(&self) -> Result<Vec<Name>, GroupError> {
        let mut names: Vec<_> =
            entries(&self.0.file(FOLDER))?.iter().filter_map(|name| Name::new(name).ok()).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Returns the known epochs of a group in ascending order.
    ///
    /// # Errors
    /// Returns [`GroupError::Unknown`] if no roster of the group is known, and [`GroupError::File`]
    /// if the folder cannot be read.
    pub fn epochs(&self, group: &Name) -> Result<Vec<u64>, GroupError> {
        let epochs = epochs_in(&self.folder_of(group))?;
        if epochs.is_empty() { Err(GroupError::Unknown(group.clone())) } else { Ok(epochs) }
    }

    /// Reads the newest known roster of a group.
    ///
    /// # Errors
    /// Returns [`GroupError`] if the group is unknown, or its roster cannot be read or is damaged.
    pub fn current(&self, group: &Name) -> Result<Roster, GroupError> {
        let newest = self.epochs(group)?.last().copied().unwrap_or_default();
        self.epoch(group, newest)
    }

    /// Like [`Self::current`], but returns `known` if it has the same bytes. This saves the
    /// verification of all members' keys.
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

    /// Reads the roster of one epoch.
    ///
    /// # Errors
    /// Returns [`GroupError`] if that roster is unknown, cannot be read or is damaged.
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

    /// Creates a group with these members and a fresh epoch key, and stores its first roster.
    ///
    /// # Errors
    /// Returns [`GroupError`] if the name is in use, the members are not valid, or the roster
    /// cannot be sealed, signed or written.
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

    /// Starts the next epoch of a group. It has a fresh epoch key, which only the members of the
    /// new epoch can open.
    ///
    /// # Errors
    /// Returns [`GroupError`] if the group is unknown, `signer` is neither its owner nor an admin,
    /// the change is not possible, or the roster cannot be sealed, signed or written.
    pub fn change(
        &self,
        signer: &Identity,
        group: &Name,
        changes: &RosterChanges,
        lock: &HomeLock,
    ) -> Result<Roster, GroupError> {
        let current = self.current(group)?;
        if !current.may_change(signer.public().ed25519()) {
            return Err(GroupError::NotPermitted(group.clone()));
        }
        let draft = current.next_epoch(changes).map_err(GroupError::Change)?;
        let roster = sign(draft, signer)?;
        self.store(group, &roster, lock)?;
        // What did not come into force was made again, or is not wanted any more.
        for epoch in self.refused(group)? {
            let path = self.path_of(group, epoch).with_extension(REFUSED);
            fs::remove_file(&path).map_err(|source| FileError::io("delete", &path, source))?;
        }
        Ok(roster)
    }

    /// Returns the epochs of the rosters that this person made since the last change, and that did
    /// not come into force, in ascending order.
    ///
    /// # Errors
    /// Returns [`GroupError::File`] if the folder cannot be read.
    pub fn refused(&self, group: &Name) -> Result<Vec<u64>, GroupError> {
        Ok(epochs_with(&self.folder_of(group), &format!(".{REFUSED}"))?)
    }

    /// Gives a group another local name.
    ///
    /// # Errors
    /// Returns [`GroupError`] if the group is unknown, the new name is in use, or the folder cannot
    /// be renamed.
    pub fn rename(&self, group: &Name, to: &Name, _lock: &HomeLock) -> Result<(), GroupError> {
        self.epochs(group)?;
        self.unused(to)?;
        let folder = self.folder_of(group);
        fs::rename(&folder, self.folder_of(to))
            .map_err(|source| FileError::io("rename", &folder, source).into())
    }

    /// Deletes the rosters of a group.
    ///
    /// # Errors
    /// Returns [`GroupError`] if the group is unknown, or the folder cannot be deleted.
    pub fn delete(&self, group: &Name, _lock: &HomeLock) -> Result<(), GroupError> {
        self.epochs(group)?;
        let folder = self.folder_of(group);
        // No name of a group: if this process is killed, no earlier epoch is the newest one.
        let aside = self.0.file(FOLDER).join(format!("{group}~"));
        let failed = |source| FileError::io("delete", &folder, source);
        if aside.exists() {
            fs::remove_dir_all(&aside).map_err(failed)?;
        }
        fs::rename(&folder, &aside).map_err(failed)?;
        Ok(fs::remove_dir_all(&aside).map_err(failed)?)
    }

    /// Stores a roster that another identity signed. A group is identified by its id, whatever its
    /// local name is: a known group accepts only a roster that supersedes its newest one. For an
    /// unknown group, `trusted` decides whether its owner is trusted, or the former owner if the
    /// roster hands the group on.
    ///
    /// # Errors
    /// Returns [`ImportError`] if the content is not a roster, does not supersede the known one,
    /// its owner is not trusted, or `name` conflicts with a known name.
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
            None if !trusted(roster.signing_owner()) => {
                return Err(ImportError::UnknownOwner(*roster.signing_owner()));
            }
            None => {
                let name = name.unwrap_or_else(|| roster.group().clone());
                self.unused(&name).map_err(ImportError::Group)?;
                (name, None)
            }
        };
        self.store(&name, &roster, lock).map_err(ImportError::Group)?;
        // It follows the owner's name as long as this person has not chosen another one.
        let has_new_name =
            previous.as_ref().is_some_and(|it| *it.group() == name && it.group() != roster.group());
        let has_new_name = has_new_name
            && self.0.contacts().is_ok_and(|it| it.find(roster.group().as_str()).is_none());
        let name = match has_new_name && self.rename(&name, roster.group(), lock).is_ok() {
            true => roster.group().clone(),
            false => name,
        };
        let held = previous.as_ref().map_or(0, Roster::epoch);
        let missing = roster.epoch() - held - 1;
        Ok(Imported { name, roster, previous, missing })
    }

    /// Stores the roster that is in force in the place of those that were made at the same time and
    /// did not come into force. `in_force` is the latest epoch that is known to have been in force.
    ///
    /// # Errors
    /// Returns [`ImportError`] if the group is unknown, the roster does not supersede the one from
    /// which it departs, or a file cannot be written.
    pub(crate) fn replace(
        &self,
        roster: &Roster,
        in_force: u64,
        lock: &HomeLock,
    ) -> Result<(), ImportError> {
        let Some((name, _)) = self.known(roster.id()).map_err(ImportError::Group)? else {
            return Err(ImportError::UnknownOwner(*roster.signing_owner()));
        };
        let epochs = self.epochs(&name).map_err(ImportError::Group)?;
        // Of a group that was never in force anywhere, the first roster is the one of all.
        let last = epochs.first().map_or(0, |first| in_force.max(*first)).min(roster.epoch() - 1);
        let base = epochs.iter().rfind(|epoch| **epoch <= last).copied().unwrap_or_default();
        let known = self.epoch(&name, base).map_err(ImportError::Group)?;
        roster.supersedes(&known).map_err(ImportError::Chain)?;
        self.put_aside(&name, base, lock).map_err(ImportError::Group)?;
        self.store(&name, roster, lock).map_err(ImportError::Group)
    }

    /// Puts the rosters of a group with epochs above `base` aside: they did not come into force.
    pub(crate) fn put_aside(
        &self,
        group: &Name,
        base: u64,
        _lock: &HomeLock,
    ) -> Result<(), GroupError> {
        for epoch in self.epochs(group)?.into_iter().filter(|epoch| *epoch > base) {
            let path = self.path_of(group, epoch);
            fs::rename(&path, path.with_extension(REFUSED))
                .map_err(|source| FileError::io("rename", &path, source))?;
        }
        Ok(())
    }

    /// Finds the group with this id. Returns its local name and its newest roster.
    pub(crate) fn known(&self, id: &GroupId) -> Result<Option<(Name, Roster)>, GroupError> {
        for name in self.list()? {
            match self.current(&name) {
                Ok(roster) if roster.id() == id => return Ok(Some((name, roster))),
                Ok(_) | Err(GroupError::Unknown(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Checks that a group can get this local name.
    ///
    /// # Errors
    /// Returns [`GroupError::Exists`] if a group has the name, and [`GroupError::Reserved`] for
    /// [`OWN_NAME`].
    pub fn unused(&self, name: &Name) -> Result<(), GroupError> {
        if name.as_str() == OWN_NAME {
            return Err(GroupError::Reserved(name.clone()));
        }
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

/// Returns the recipients of an envelope that all members of a roster can open.
///
/// # Errors
/// [`RecipientsError::ConflictingKeys`] does not happen: a roster has no key twice.
pub fn recipients(roster: &Roster) -> Result<Recipients, RecipientsError> {
    Recipients::from_identities(roster.members().iter().map(Member::identity))
}

/// Opens the epoch key of a roster as one of its members.
///
/// # Errors
/// Returns [`GroupError::EpochKey`] if `identity` is not a member or the signer of the roster did
/// not seal the key, and [`GroupError::EpochKeyLength`] if the sealed content has another length
/// than a key.
pub fn epoch_key(identity: &Identity, roster: &Roster) -> Result<EpochKey, GroupError> {
    let context = roster.context();
    let opener = Opener::new(identity, &context);
    let mut policy = Policy::new().senders([*roster.signer()]);
    let opened =
        opener.open(roster.sealed_epoch_key(), &mut policy).map_err(GroupError::EpochKey)?;
    let key = Zeroizing::new(opened.content);
    let key = key.as_slice().try_into();
    key.map(EpochKey::from_bytes).map_err(|_| GroupError::EpochKeyLength)
}

/// Seals a fresh epoch key to the members of a draft, and signs the roster. The suite is hybrid if
/// every member has the keys for it; otherwise callers inform the signer which members lack them
/// (docs/spec/roster.md).
fn sign(draft: RosterDraft, signer: &Identity) -> Result<Roster, GroupError> {
    let key = EpochKey::generate(&mut OsRandom, signer, &draft).map_err(|_| GroupError::Random)?;
    let to = Recipients::from_identities(draft.members().iter().map(Member::identity))
        .map_err(GroupError::Recipients)?;
    let context = draft.context();
    let sealer = Sealer::new(signer, &to, &context).suite(to.suite());
    let sealed = sealer.seal(key.expose_secret(), &mut OsRandom).map_err(GroupError::Seal)?;
    draft.sign(signer, &sealed).map_err(GroupError::Sign)
}

/// Returns the epochs of the rosters in a folder, in ascending order; none if the folder does not
/// exist.
pub(crate) fn epochs_in(folder: &Path) -> Result<Vec<u64>, FileError> {
    epochs_with(folder, SUFFIX)
}

fn epochs_with(folder: &Path, suffix: &str) -> Result<Vec<u64>, FileError> {
    let mut epochs: Vec<u64> = entries(folder)?
        .iter()
        .filter_map(|name| name.strip_suffix(suffix)?.parse().ok())
        .collect();
    epochs.sort_unstable();
    Ok(epochs)
}

/// Returns the entries of a folder whose names are UTF-8; none if the folder does not exist.
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
