//! Files of a state directory that a visit reads and writes: contacts, rosters, and the record of
//! this person.

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use core::cell::RefCell;

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::roster::GroupId;
use endseal_keyring::{Contacts, Name, PersonRecord, Roster};

use super::team_change::{self, TeamChange};
use crate::groups::{GroupError, ImportError};
use crate::home::Home;
use crate::person::PersonError;

/// Names that are tried for a team whose name is in use, beside the name itself.
const OTHER_NAMES: core::ops::RangeInclusive<u32> = 2..=99;

/// Contacts, rosters and person record of a state directory.
#[allow(missing_debug_implementations, reason = "it has a cache")]
pub struct NodeFiles<'a> {
    home: &'a Home,
    /// Rosters that were read last.
    rosters: RefCell<BTreeMap<Name, Rc<Roster>>>,
    /// Teams whose changes did not come into force.
    replaced: RefCell<Vec<GroupId>>,
    /// Changes of teams that came into force.
    changes: RefCell<Vec<TeamChange>>,
}

/// Result of keeping a roster that came in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RosterResult {
    /// It is here now, or was here, or a later one is.
    Kept,
    /// The team is unknown, and its owner is no contact, or another process changes the files.
    UnknownOwner,
    /// Another process changes the files.
    Busy,
    /// It contradicts the roster that is here, or a file cannot be written.
    Refused,
}

impl<'a> NodeFiles<'a> {
    /// Uses the files of a state directory.
    #[must_use]
    pub const fn new(home: &'a Home) -> Self {
        let rosters = RefCell::new(BTreeMap::new());
        let replaced = RefCell::new(Vec::new());
        Self { home, rosters, replaced, changes: RefCell::new(Vec::new()) }
    }

    /// Returns the state directory.
    pub(crate) fn home(&self) -> &'a Home {
        self.home
    }

    /// Keeps a later record of this person.
    pub(super) fn keep_person(&self, record: &PersonRecord) -> Result<(), PersonError> {
        self.home.store_person(record, &self.home.lock()?)
    }

    /// Returns the contacts; none if they cannot be read.
    pub(super) fn contacts(&self) -> Contacts {
        self.home.contacts().unwrap_or_default()
    }

    /// Returns the newest roster of a team; `None` if there is none, or it cannot be read.
    pub(super) fn roster(&self, id: &GroupId) -> Option<Rc<Roster>> {
        self.all_rosters().into_iter().find(|roster| roster.id() == id)
    }

    /// Returns the newest rosters of all teams. Those that cannot be read are left out.
    pub(super) fn all_rosters(&self) -> Vec<Rc<Roster>> {
        let groups = self.home.groups();
        let known = self.rosters.take();
        let mut rosters = BTreeMap::new();
        for name in groups.list().unwrap_or_default() {
            if let Ok(current) = groups.renew(&name, known.get(&name)) {
                rosters.insert(name, current);
            }
        }
        let all = rosters.values().map(Rc::clone).collect();
        self.rosters.replace(rosters);
        all
    }

    /// Returns true if a roster in force contradicts the one of its epoch that this person made.
    /// Later changes of the person hide that.
    fn is_contradicted(&self, known: &Roster, it: &Roster, own: &PublicKey, in_force: u64) -> bool {
        let groups = self.home.groups();
        let is_held = |name: &Name| {
            groups.epoch(name, it.epoch()).is_ok_and(|held| held.id() == it.id() && held != *it)
        };
        known.signer() == own
            && it.epoch() > in_force
            && groups.list().unwrap_or_default().iter().any(is_held)
    }

    /// Returns true if a roster of a team that is here and not in force yet leaves a person out: a
    /// later one takes the person back.
    pub(super) fn is_left_out(&self, team: &GroupId, person: &PublicKey, in_force: u64) -> bool {
        let groups = self.home.groups();
        let Ok(Some((name, _))) = groups.known(team) else { return false };
        let epochs = groups.epochs(&name).unwrap_or_default();
        let mut later = epochs.into_iter().filter(|epoch| *epoch > in_force);
        later.any(|epoch| {
            groups.epoch(&name, epoch).is_ok_and(|it| it.member_of_key(person).is_none())
        })
    }

    /// Puts aside what this person made of a team since it was changed last, as its owner would be
    /// someone who has left. Returns false if another process changes the files.
    pub(super) fn refuse_hand_over(
        &self,
        team: &GroupId,
        own: &PublicKey,
        in_force: u64,
        has_left: impl Fn(&PublicKey) -> bool,
    ) -> bool {
        let groups = self.home.groups();
        let Ok(Some((name, newest))) = groups.known(team) else { return true };
        let is_made_here = newest.signer() == own && newest.epoch() > in_force && in_force > 0;
        if !is_made_here || newest.owner() == own || !has_left(newest.owner()) {
            return true;
        }
        let Some(lock) = self.home.try_lock() else { return false };
        let is_aside = groups.put_aside(&name, in_force, &lock).is_ok();
        if is_aside {
            self.note_replaced(team);
        }
        is_aside
    }

    fn replaced(&self, roster: &Roster) -> RosterResult {
        self.note_replaced(roster.id());
        RosterResult::Kept
    }

    /// Notes that what this person did with a team has no effect, because others changed it.
    pub(super) fn note_replaced(&self, team: &GroupId) {
        self.replaced.borrow_mut().push(*team);
    }

    /// Returns the teams whose changes were made here and did not come into force, since the last
    /// call: others changed them at the same time.
    pub(super) fn take_replaced(&self) -> Vec<GroupId> {
        self.replaced.take()
    }

    /// Returns the changes of teams that came into force since the last call, and that this device
    /// did not make.
    pub(super) fn take_changes(&self) -> Vec<TeamChange> {
        self.changes.take()
    }

    /// Keeps a roster that came in a conversation, if the team is known, or its signing owner: a
    /// contact, `own`, which is this identity, or a person for whom `is_known` is true. A team
    /// whose name is in use gets another one. `in_force` is the latest epoch that is known to have
    /// been in force.
    pub(super) fn keep_roster(
        &self,
        roster: &Roster,
        own: &PublicKey,
        in_force: u64,
        is_known: bool,
    ) -> RosterResult {
        let known = self.roster(roster.id());
        if let Some(known) = &known
            && (**known == *roster
                || (roster.precedes(known) && !self.is_contradicted(known, roster, own, in_force)))
        {
            return RosterResult::Kept;
        }
        // A team that was deleted does not come back by an old roster.
        if known.is_none() && roster.epoch() < in_force {
            return RosterResult::Refused;
        }
        let Some(lock) = self.home.try_lock() else {
            // It is kept with the next text or visit.
            return match known {
                Some(_) => RosterResult::Busy,
                None => RosterResult::UnknownOwner,
            };
        };
        let contacts = self.contacts();
        let is_trusted = |owner: &PublicKey| {
            is_known && owner == roster.signing_owner()
                || owner == own
                || contacts.name_of(owner).is_some()
        };
        let groups = self.home.groups();
        // A change of this person that no one has seen.
        let is_own = |known: &Roster| known.signer() == own && known.epoch() > in_force;
        let is_after = |known: &Roster| roster.previous() == Some(&known.digest());
        let replaces = known.as_ref().is_some_and(|known| is_own(known) && !is_after(known));
        let other = |number| Name::new(&format!("{}-{number}", roster.group())).ok();
        let names = core::iter::once(None).chain(OTHER_NAMES.filter_map(other).map(Some));
        for name in names {
            // A text to a contact of this name would be to neither.
            let chosen = name.as_ref().unwrap_or_else(|| roster.group());
            if known.is_none() && contacts.find(chosen.as_str()).is_some() {
                continue;
            }
            let not_in_force = known.as_ref().is_some_and(|it| it.epoch() > in_force);
            // What was made here and is passed over is put aside.
            if replaces && groups.replace(roster, in_force, &lock).is_ok() {
                return self.replaced(roster);
            }
            return match groups.import(roster.as_bytes(), name, is_trusted, &lock) {
                Ok(_) if replaces => self.replaced(roster),
                Ok(imported) => {
                    let before = imported.previous.as_ref();
                    self.changes.borrow_mut().extend(team_change::between(before, roster, own));
                    RosterResult::Kept
                }
                Err(ImportError::Chain(_)) if not_in_force => {
                    match groups.replace(roster, in_force, &lock) {
                        Ok(()) => self.replaced(roster),
                        Err(_) => RosterResult::Refused,
                    }
                }
                Err(ImportError::Group(GroupError::Exists(_) | GroupError::Reserved(_))) => {
                    continue;
                }
                Err(ImportError::UnknownOwner(_)) => RosterResult::UnknownOwner,
                Err(_) => RosterResult::Refused,
            };
        }
        RosterResult::Refused
    }
}
