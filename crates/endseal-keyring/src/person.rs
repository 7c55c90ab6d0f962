//! Devices of a person, epoch by epoch, signed by the person's root identity (docs/spec/roster.md,
//! "Person record").
//!
//! ```text
//! PersonRecord::create(…) ──> PersonDraft ── seal draft.epoch_key() under draft.context() ──┐
//!       ┌── record.next_epoch(changes) <── PersonRecord <── draft.sign(root, sealed key) <──┘
//! ```
//!
//! A record is a [`Roster`] with rules of its own. The reader MUST check that
//! [`PersonRecord::identity`] is the person it asked for, MUST keep the newest record and MUST
//! refuse older ones.

use core::num::NonZeroU32;

use alloc::format;
use alloc::vec;

use endseal_crypto::ed25519;
use endseal_crypto::identity::{Identity, PublicIdentity, RootSeed};
use endseal_crypto::random::Random;
use endseal_crypto::{hash, label};

use crate::name::Name;
use crate::numerals::decimal;
use crate::roster::{
    ChangeRosterError, EpochKey, GroupId, Member, Roster, RosterChainError, RosterChanges,
    RosterDigest,
};

mod draft;
mod error;

pub use draft::PersonDraft;
pub use error::{ChangePersonError, InvalidPerson, OtherUser, ParsePersonError};

/// Devices of a person at most.
pub const MAX_DEVICES: usize = 16;
/// Greatest length of a person record in bytes.
pub const MAX_LEN: usize = 65_536;

/// The devices of a person in one epoch, signed by the root identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonRecord(Roster);

impl PersonRecord {
    /// The draft of a person's first epoch, with one device and a fresh epoch key.
    ///
    /// # Errors
    /// [`ChangePersonError`] if the device lacks an ML-KEM-768 key or is the root, or the random
    /// source fails.
    pub fn create(
        root: &Identity,
        number: NonZeroU32,
        device: PublicIdentity,
        random: &mut impl Random,
    ) -> Result<PersonDraft, ChangePersonError> {
        let group = name(GROUP);
        let id = GroupId::generate(random, root, &group)?;
        let key = draft::epoch_key(random, root, &id, 1)?;
        let members = vec![
            Member::new(device_name(number), device),
            Member::new(name(ROOT), root.public().clone()),
            Member::new(name(USER), user_identity(&key).public().clone()),
        ];
        check_members(&members, root.public().ed25519())?;
        let draft = Roster::create(group, id, *root.public().ed25519(), members);
        Ok(PersonDraft::new(draft.map_err(ChangeRosterError::Members)?, key))
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
        check_members(roster.members(), roster.owner())?;
        Ok(Self(roster))
    }

    /// The draft of the next epoch: the same person with those changes, a fresh epoch key and
    /// another user identity. Devices that were removed can open neither.
    ///
    /// # Errors
    /// [`ChangePersonError`] if a device is removed that is not there, or the result is not valid.
    pub fn next_epoch(
        &self,
        root: &Identity,
        changes: &PersonChanges,
        random: &mut impl Random,
    ) -> Result<PersonDraft, ChangePersonError> {
        let epoch = self.epoch().checked_add(1).ok_or(ChangeRosterError::LastEpoch)?;
        let key = draft::epoch_key(random, root, self.id(), epoch)?;
        let mut changes = changes.0.clone();
        changes.remove(name(USER));
        changes.add(Member::new(name(USER), user_identity(&key).public().clone()));
        let draft = self.0.next_epoch(&changes)?;
        check_members(draft.members(), self.0.owner())?;
        Ok(PersonDraft::new(draft, key))
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
        let keeps = |(number, key): (NonZeroU32, &PublicIdentity)| {
            before.device(number).is_none_or(|it| it.ed25519() == key.ed25519())
        };
        if self.devices().all(keeps) { Ok(()) } else { Err(RosterChainError::OtherDevice) }
    }

    /// The devices, sorted by their names: by the digits of their numbers.
    pub fn devices(&self) -> impl Iterator<Item = (NonZeroU32, &PublicIdentity)> {
        let members = self.0.members().iter();
        members.filter_map(|it| Some((device_number(it.name().as_str())?, it.identity())))
    }

    /// Returns the public identity of the device with that number.
    #[must_use]
    pub fn device(&self, number: NonZeroU32) -> Option<&PublicIdentity> {
        self.0.member(device_name(number).as_str()).map(Member::identity)
    }

    /// The identity to which letters to the person are sealed in this epoch.
    #[must_use]
    pub fn user(&self) -> &PublicIdentity {
        self.named(USER)
    }

    /// The person's root identity, in the long form. The caller MUST check that it is the person's:
    /// everyone can sign a record of themselves.
    #[must_use]
    pub fn identity(&self) -> &PublicIdentity {
        self.named(ROOT)
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

    /// The record as a roster, to open its epoch key.
    #[must_use]
    pub fn roster(&self) -> &Roster {
        &self.0
    }

    /// The record as it is stored and sent.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The user identity of an opened epoch key, after the comparison with [`Self::user`].
    ///
    /// # Errors
    /// [`OtherUser`] if letters to the person would be sealed to another one.
    pub fn user_of(&self, key: &EpochKey) -> Result<Identity, OtherUser> {
        let user = user_identity(key);
        if user.public() == self.user() { Ok(user) } else { Err(OtherUser) }
    }

    #[allow(clippy::expect_used)]
    fn named(&self, name: &str) -> &PublicIdentity {
        self.0.member(name).expect("a record has root and user").identity()
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

    /// Adds a device, whose identity has both keys.
    pub fn add(&mut self, number: NonZeroU32, identity: PublicIdentity) -> &mut Self {
        self.0.add(Member::new(device_name(number), identity));
        self
    }
}

/// The identity of a root seed that follows from an epoch key:
/// `BLAKE3-derive("endseal/person@v1 user seed", epoch key)`.
fn user_identity(key: &EpochKey) -> Identity {
    Identity::from_root_seed(RootSeed::init_with(|out| {
        hash::derive_into(label::PERSON_USER, &[key.expose_secret()], out);
    }))
}

fn check_members(members: &[Member], owner: &ed25519::PublicKey) -> Result<(), InvalidPerson> {
    let find = |name| members.iter().find(|member| member.name().as_str() == name);
    find(ROOT).filter(|root| root.identity().ed25519() == owner).ok_or(InvalidPerson::Root)?;
    find(USER).ok_or(InvalidPerson::User)?;
    let mut devices = 0;
    for member in members {
        match member.name().as_str() {
            ROOT | USER => {}
            name if device_number(name).is_some() => devices += 1,
            _ => return Err(InvalidPerson::Member(member.name().clone())),
        }
        if member.identity().mlkem768().is_none() {
            return Err(InvalidPerson::Short(member.name().clone()));
        }
    }
    match devices {
        0 => Err(InvalidPerson::NoDevice),
        1..=MAX_DEVICES => Ok(()),
        _ => Err(InvalidPerson::TooManyDevices),
    }
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
const USER: &str = "user";
const DEVICE: &str = "device-";
