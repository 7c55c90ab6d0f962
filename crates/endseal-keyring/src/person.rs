//! Devices of a person, epoch by epoch, signed by the person's root identity (docs/spec/roster.md,
//! "Person record").
//!
//! A record is a [`Roster`] with rules of its own, and without an epoch key. The reader MUST check
//! that [`PersonRecord::identity`] is the person it asked for, MUST keep the newest record and MUST
//! refuse older ones.

use core::num::NonZeroU32;

use alloc::format;
use alloc::vec;

use endseal_crypto::ed25519;
use endseal_crypto::identity::{Identity, PublicIdentity};
use endseal_crypto::random::Random;

use crate::name::Name;
use crate::numerals::decimal;
use crate::roster::{
    ChangeRosterError, GroupId, Member, Roster, RosterChainError, RosterChanges, RosterDigest,
    RosterDraft,
};

mod error;

pub use error::{ChangePersonError, InvalidPerson, ParsePersonError};

/// Devices of a person at most.
pub const MAX_DEVICES: usize = 16;
/// Greatest length of a person record in bytes.
pub const MAX_LEN: usize = 8_192;

/// The devices of a person in one epoch, signed by the root identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonRecord(Roster);

impl PersonRecord {
    /// Signs a person's first epoch, with one device.
    ///
    /// # Errors
    /// [`ChangePersonError`] if `root` lacks an ML-KEM-768 key or is the device, or the random
    /// source fails.
    pub fn create(
        root: &Identity,
        number: NonZeroU32,
        device: &PublicIdentity,
        random: &mut impl Random,
    ) -> Result<Self, ChangePersonError> {
        let group = name(GROUP);
        let id = GroupId::generate(random, root, &group)?;
        let members =
            vec![device_member(number, device), Member::new(name(ROOT), root.public().clone())];
        let draft = Roster::create(group, id, *root.public().ed25519(), members);
        Self::sign(draft.map_err(ChangeRosterError::Members)?, root)
    }

    /// Reads a record and verifies its signature.
    ///
    /// # Errors
    /// [`ParsePersonError`], which says what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParsePersonError> {
        if bytes.len() > MAX_LEN {
            return Err(ParsePersonError::TooLong);
        }
        let roster = Roster::parse(bytes).map_err(ParsePersonError::Roster)?;
        if roster.group().as_str() != GROUP {
            return Err(InvalidPerson::Group.into());
        }
        if roster.has_rights() {
            return Err(InvalidPerson::Rights.into());
        }
        check_members(roster.members(), roster.owner())?;
        if roster.sealed_epoch_key() != NO_KEY {
            return Err(InvalidPerson::Key.into());
        }
        Ok(Self(roster))
    }

    /// Signs the next epoch: the same person with those changes.
    ///
    /// # Errors
    /// [`ChangePersonError`] if `root` is not the root of this person, a device is removed that is
    /// not there, or the result is not valid.
    pub fn next_epoch(
        &self,
        root: &Identity,
        changes: &PersonChanges,
    ) -> Result<Self, ChangePersonError> {
        Self::sign(self.0.next_epoch(&changes.0)?, root)
    }

    fn sign(draft: RosterDraft, root: &Identity) -> Result<Self, ChangePersonError> {
        let roster = draft.sign(root, NO_KEY)?;
        check_members(roster.members(), roster.owner())?;
        Ok(Self(roster))
    }

    /// Checks that this is the epoch right after `previous`, which the caller trusts.
    ///
    /// # Errors
    /// [`RosterChainError`], which says what does not fit.
    pub fn follows(&self, previous: &Self) -> Result<(), RosterChainError> {
        self.0.follows(&previous.0)?;
        self.keeps_numbers(previous)
    }

    /// Checks that this is a later epoch of the same person than `known`, which the caller trusts,
    /// though epochs between them may be missing.
    ///
    /// # Errors
    /// [`RosterChainError`], which says what does not fit.
    pub fn supersedes(&self, known: &Self) -> Result<(), RosterChainError> {
        self.0.supersedes(&known.0)?;
        self.keeps_numbers(known)
    }

    /// Checks that no number of a device has another key than before: certificates name devices by
    /// their numbers, and one of the earlier key would count for the later.
    fn keeps_numbers(&self, before: &Self) -> Result<(), RosterChainError> {
        let keeps = |(number, key): (NonZeroU32, &ed25519::PublicKey)| {
            before.device(number).is_none_or(|it| it == key)
        };
        if self.devices().all(keeps) { Ok(()) } else { Err(RosterChainError::OtherDevice) }
    }

    /// The numbers and keys of the devices, sorted by their names: by the digits of their numbers.
    pub fn devices(&self) -> impl Iterator<Item = (NonZeroU32, &ed25519::PublicKey)> {
        let members = self.0.members().iter();
        members.filter_map(|it| Some((device_number(it.name().as_str())?, it.identity().ed25519())))
    }

    /// Returns the key of the device with that number.
    #[must_use]
    pub fn device(&self, number: NonZeroU32) -> Option<&ed25519::PublicKey> {
        self.0.member(device_name(number).as_str()).map(|it| it.identity().ed25519())
    }

    /// The person's root identity, in the long form. The caller MUST check that it is the person's:
    /// everyone can sign a record of themselves.
    #[must_use]
    pub fn identity(&self) -> &PublicIdentity {
        self.root().identity()
    }

    /// Returns the id, the same in all epochs.
    #[must_use]
    pub fn id(&self) -> &GroupId {
        self.0.id()
    }

    /// The epoch of the record; the first one is 1, and each change adds 1.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.0.epoch()
    }

    /// The digest that the next epoch names.
    #[must_use]
    pub fn digest(&self) -> RosterDigest {
        self.0.digest()
    }

    /// The record as a roster, which names the epoch before.
    #[must_use]
    pub fn roster(&self) -> &Roster {
        &self.0
    }

    /// The record as it is stored and sent.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
    #[allow(clippy::expect_used)]
    fn root(&self) -> &Member {
        self.0.member(ROOT).expect("a record has a member root")
    }
}

/// Changes of a person's devices from one epoch to the next. Removals come first.
#[derive(Clone, Debug, Default)]
pub struct PersonChanges(RosterChanges);

impl PersonChanges {
    /// Makes an empty set of changes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes the device with this number.
    pub fn remove(&mut self, number: NonZeroU32) -> &mut Self {
        self.0.remove(device_name(number));
        self
    }

    /// Adds a device. The record has the short form of its identity.
    pub fn add(&mut self, number: NonZeroU32, device: &PublicIdentity) -> &mut Self {
        self.0.add(device_member(number, device));
        self
    }
}

fn check_members(members: &[Member], owner: &ed25519::PublicKey) -> Result<(), InvalidPerson> {
    let root = members.iter().find(|it| it.name().as_str() == ROOT).map(Member::identity);
    root.filter(|it| it.ed25519() == owner && it.mlkem768().is_some())
        .ok_or(InvalidPerson::Root)?;
    let devices = || members.iter().filter(|it| it.name().as_str() != ROOT);
    if let Some(other) = devices().find(|it| device_number(it.name().as_str()).is_none()) {
        return Err(InvalidPerson::Member(other.name().clone()));
    }
    match devices().count() {
        0 => return Err(InvalidPerson::NoDevice),
        1..=MAX_DEVICES => {}
        _ => return Err(InvalidPerson::TooManyDevices),
    }
    match devices().find(|it| it.identity().mlkem768().is_some()) {
        Some(long) => Err(InvalidPerson::Long(long.name().clone())),
        None => Ok(()),
    }
}

fn device_member(number: NonZeroU32, device: &PublicIdentity) -> Member {
    Member::new(device_name(number), PublicIdentity::short(*device.ed25519()))
}

fn device_number(name: &str) -> Option<NonZeroU32> {
    NonZeroU32::new(decimal(name.strip_prefix(DEVICE)?)?.try_into().ok()?)
}

fn device_name(number: NonZeroU32) -> Name {
    name(&format!("{DEVICE}{number}"))
}

#[allow(clippy::expect_used)]
fn name(text: &str) -> Name {
    Name::new(text).expect("these names have small letters, digits and a hyphen")
}

const GROUP: &str = "person";
const ROOT: &str = "root";
const DEVICE: &str = "device-";
/// Value of the line `key`: a roster needs one, and a person has no epoch key.
const NO_KEY: &[u8] = &[0];
