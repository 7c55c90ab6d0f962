//! Persons and devices of a conversation, as all members of its group agree on them
//! (docs/spec/conversation.md, "State").

use core::num::NonZeroU32;

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::{hash, label};
use endseal_keyring::device::Address;
use endseal_keyring::{PersonRecord, Roster};

use super::evidence::{Evidence, put};
use super::membership_error::MembershipError;
use crate::fields::Fields;

/// Length limit of an encoded state, in bytes.
const MAX_STATE_LEN: usize = 1 << 20;
const VERSION: u8 = 1;
const ONESELF: u8 = 1;
const PAIR: u8 = 2;
const TEAM: u8 = 3;
/// Epoch of a person who has left a team: no record follows it.
const DEPARTED: u64 = u64::MAX;

/// Persons who belong to a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "kinds of the specification")]
pub enum Members {
    /// The devices of one person: notes, and copies of what the person writes and reads elsewhere.
    Oneself(PublicKey),
    /// Two persons, the one with the smaller key first.
    Pair([PublicKey; 2]),
    /// The members in the roster of a team.
    Team(Box<Roster>),
}

impl Members {
    /// Returns the members of a conversation between two persons, or of one with oneself if both
    /// keys are the same.
    #[must_use]
    pub fn of_two(one: PublicKey, other: PublicKey) -> Self {
        match one.as_bytes().cmp(other.as_bytes()) {
            core::cmp::Ordering::Less => Self::Pair([one, other]),
            core::cmp::Ordering::Equal => Self::Oneself(one),
            core::cmp::Ordering::Greater => Self::Pair([other, one]),
        }
    }

    /// Returns the identities of the members, sorted by their bytes.
    fn identities(&self) -> Vec<PublicKey> {
        match self {
            Self::Oneself(one) => vec![*one],
            Self::Pair(both) => both.to_vec(),
            Self::Team(roster) => {
                let members = roster.members().iter();
                let mut all: Vec<_> = members.map(|it| *it.identity().ed25519()).collect();
                all.sort_unstable_by_key(|it| *it.as_bytes());
                all
            }
        }
    }
}

/// Devices of a person, as one of their person records names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Person {
    identity: PublicKey,
    /// Epoch and digest of the person record. Of a member of a team of whom no record is known, and
    /// of one who has left it, the digest is 0, there is no device, and the epoch is 0 or
    /// [`DEPARTED`].
    epoch: u64,
    digest: [u8; hash::LEN],
    /// Numbers of the devices, in ascending order.
    devices: Vec<NonZeroU32>,
}

impl Person {
    fn without_record(identity: PublicKey) -> Self {
        Self { identity, epoch: 0, digest: [0; hash::LEN], devices: Vec::new() }
    }

    fn departed(identity: PublicKey) -> Self {
        Self { epoch: DEPARTED, ..Self::without_record(identity) }
    }

    fn of(record: &PersonRecord) -> Self {
        let mut devices: Vec<_> = record.devices().map(|(number, _)| number).collect();
        devices.sort_unstable();
        Self {
            identity: *record.identity().ed25519(),
            epoch: record.epoch(),
            digest: *record.digest().as_bytes(),
            devices,
        }
    }
}

/// Persons of a conversation and their devices. The devices are the members of its group, as far as
/// they can be added.
///
/// A digest of the state is in the context of the group, so that members with another state refuse
/// each other's commits. A state changes by [`Evidence`] alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MembershipState {
    members: Members,
    /// One for each member, in the order of their identities.
    persons: Vec<Person>,
}

impl MembershipState {
    /// Makes the state of a new conversation, with one person record for each member. Members of a
    /// team may be without one: they have no device until a record comes as evidence.
    ///
    /// # Errors
    /// [`MembershipError`] if a person of a pair has no record, a record is of no member or twice
    /// there, or the state is too long.
    pub fn new(members: Members, records: &[PersonRecord]) -> Result<Self, MembershipError> {
        // Only sorted identities are found, and are encoded as a reader expects.
        let members = match members {
            Members::Pair([one, other]) => Members::of_two(one, other),
            others => others,
        };
        let mut state = Self { members, persons: Vec::new() };
        state.adopt(records)?;
        Ok(state)
    }

    /// Makes members of a team those who have left it. Others are left out.
    #[must_use]
    pub fn without(mut self, departed: &[PublicKey]) -> Self {
        if matches!(self.members, Members::Team(_)) {
            for person in self.persons.iter_mut().filter(|it| departed.contains(&it.identity)) {
                *person = Person::departed(person.identity);
            }
        }
        self
    }

    /// Returns who belongs to the conversation.
    #[must_use]
    pub const fn members(&self) -> &Members {
        &self.members
    }

    /// Returns the devices that shall be members of the group.
    pub fn devices(&self) -> impl Iterator<Item = Address> {
        self.persons.iter().flat_map(|person| {
            let address = |number: &NonZeroU32| {
                let device = endseal_keyring::device::DeviceId::new(number.get())?;
                Some(Address { identity: person.identity, device })
            };
            person.devices.iter().filter_map(address)
        })
    }

    /// Returns true if a device shall be a member of the group.
    #[must_use]
    pub fn has_device(&self, address: &Address) -> bool {
        let number = NonZeroU32::new(address.device.number());
        let person = self.person(&address.identity);
        person.zip(number).is_some_and(|(person, it)| person.devices.binary_search(&it).is_ok())
    }

    /// Returns epoch and digest of the person record of a member that this state has.
    #[must_use]
    pub fn record_of(&self, identity: &PublicKey) -> Option<(u64, [u8; hash::LEN])> {
        self.person(identity)
            .filter(|person| person.epoch > 0 && person.epoch != DEPARTED)
            .map(|person| (person.epoch, person.digest))
    }

    /// Returns true if a member of the team has left it.
    #[must_use]
    pub fn has_departed(&self, identity: &PublicKey) -> bool {
        self.person(identity).is_some_and(|person| person.epoch == DEPARTED)
    }

    /// Returns the state after a change for which there is evidence. `committer` is the person who
    /// makes the commit.
    ///
    /// # Errors
    /// [`MembershipError`] if a roster or a record does not follow the one in this state, if the
    /// committer cannot leave, or if [`Self::new`] would fail for the result.
    pub fn after(
        &self,
        evidence: &Evidence,
        committer: &PublicKey,
    ) -> Result<Self, MembershipError> {
        if evidence.is_departure() {
            let Members::Team(roster) = &self.members else {
                return Err(MembershipError::NoTeam);
            };
            if roster.owner() == committer || self.record_of(committer).is_none() {
                return Err(MembershipError::Departure);
            }
            return Ok(self.clone().without(&[*committer]));
        }
        let mut next = self.clone();
        if let Some(roster) = evidence.roster() {
            let Members::Team(known) = &self.members else {
                return Err(MembershipError::NoTeam);
            };
            roster.supersedes(known).map_err(MembershipError::Roster)?;
            next.members = Members::Team(Box::new(roster.clone()));
        }
        next.adopt(evidence.records())?;
        Ok(next)
    }

    /// Returns true if `later` may be a later state of the same conversation: no roster and no
    /// record goes back.
    pub(crate) fn may_become(&self, later: &Self) -> bool {
        let is_same = match (&self.members, &later.members) {
            (Members::Team(before), Members::Team(after)) => {
                before == after || after.supersedes(before).is_ok()
            }
            (before, after) => before == after,
        };
        let follows = |before: &Person| {
            let after = later.person(&before.identity);
            // Who has left comes back by a later roster alone.
            let is_back = before.epoch == DEPARTED && self.members != later.members;
            after.is_none_or(|it| it.epoch > before.epoch || it == before || is_back)
        };
        is_same && self.persons.iter().all(follows)
    }

    /// Takes records over, and drops persons who are members no longer.
    fn adopt(&mut self, records: &[PersonRecord]) -> Result<(), MembershipError> {
        let mut new = Vec::with_capacity(records.len());
        for record in records {
            let person = Person::of(record);
            if new.iter().any(|it: &Person| it.identity == person.identity) {
                return Err(MembershipError::RecordTwice);
            }
            if let Some(known) = self.person(&person.identity) {
                let previous = record.roster().previous().map(|it| *it.as_bytes());
                let is_next = known.epoch > 0 && person.epoch - known.epoch.min(person.epoch) == 1;
                let follows =
                    person.epoch > known.epoch && (!is_next || previous == Some(known.digest));
                if !follows {
                    return Err(MembershipError::Record);
                }
            }
            new.push(person);
        }
        let used = new.len();
        let mut taken = 0;
        let identities = self.members.identities();
        let mut persons = Vec::with_capacity(identities.len());
        for identity in identities {
            let person = match new.iter().position(|it| it.identity == identity) {
                Some(at) => {
                    taken += 1;
                    new.swap_remove(at)
                }
                None => match self.person(&identity) {
                    Some(known) => known.clone(),
                    None if matches!(self.members, Members::Team(_)) => {
                        Person::without_record(identity)
                    }
                    None => return Err(MembershipError::NoRecord),
                },
            };
            persons.push(person);
        }
        if taken != used {
            return Err(MembershipError::NoMember);
        }
        self.persons = persons;
        if self.to_bytes().len() > MAX_STATE_LEN {
            return Err(MembershipError::TooLong);
        }
        Ok(())
    }

    fn person(&self, identity: &PublicKey) -> Option<&Person> {
        let at =
            self.persons.binary_search_by(|it| it.identity.as_bytes().cmp(identity.as_bytes()));
        self.persons.get(at.ok()?)
    }

    /// Returns `BLAKE3-derive("endseal/conversation@v1 state", encoded state)`.
    #[must_use]
    pub fn digest(&self) -> [u8; hash::LEN] {
        hash::derive(label::CONVERSATION_STATE, &[&self.to_bytes()])
    }

    /// Encodes the state as the specification says.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        match &self.members {
            Members::Oneself(one) => {
                out.push(ONESELF);
                out.extend_from_slice(one.as_bytes());
            }
            Members::Pair(both) => {
                out.push(PAIR);
                both.iter().for_each(|it| out.extend_from_slice(it.as_bytes()));
            }
            Members::Team(roster) => {
                out.push(TEAM);
                put(&mut out, roster.as_bytes());
            }
        }
        for Person { epoch, digest, devices, .. } in &self.persons {
            out.extend_from_slice(&epoch.to_le_bytes());
            out.extend_from_slice(digest);
            // A person record has at most 16 devices.
            out.push(u8::try_from(devices.len()).unwrap_or(u8::MAX));
            devices.iter().for_each(|it| out.extend_from_slice(&it.get().to_le_bytes()));
        }
        out
    }

    /// Decodes a state, and verifies the signature of its roster.
    ///
    /// # Errors
    /// [`MembershipError::Format`] if the bytes are no state, or not the encoding of one.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MembershipError> {
        let state = Self::read(bytes).ok_or(MembershipError::Format)?;
        if state.to_bytes() == bytes { Ok(state) } else { Err(MembershipError::Format) }
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > MAX_STATE_LEN {
            return None;
        }
        let mut fields = Fields::new(bytes);
        if fields.byte()? != VERSION {
            return None;
        }
        let members = match fields.byte()? {
            ONESELF => Members::Oneself(key(&mut fields)?),
            PAIR => match Members::of_two(key(&mut fields)?, key(&mut fields)?) {
                Members::Oneself(_) => return None,
                pair => pair,
            },
            TEAM => {
                let length = usize::try_from(u32::from_le_bytes(*fields.array()?)).ok()?;
                Members::Team(Box::new(Roster::parse(fields.slice(length)?).ok()?))
            }
            _ => return None,
        };
        let mut persons = Vec::new();
        for identity in members.identities() {
            let epoch = u64::from_le_bytes(*fields.array()?);
            let digest = *fields.array()?;
            let count = fields.byte()?;
            let device = |_| NonZeroU32::new(u32::from_le_bytes(*fields.array()?));
            let devices = (0..count).map(device).collect::<Option<Vec<_>>>()?;
            let person = Person { identity, epoch, digest, devices };
            let is_empty = matches!(members, Members::Team(_))
                && (person == Person::without_record(identity)
                    || person == Person::departed(identity));
            let has_record = (1..DEPARTED).contains(&epoch)
                && !person.devices.is_empty()
                && person.devices.is_sorted_by(|a, b| a < b);
            if !is_empty && !has_record {
                return None;
            }
            persons.push(person);
        }
        fields.rest().is_empty().then_some(Self { members, persons })
    }
}

fn key(fields: &mut Fields<'_>) -> Option<PublicKey> {
    PublicKey::from_bytes(fields.array()?).ok()
}
