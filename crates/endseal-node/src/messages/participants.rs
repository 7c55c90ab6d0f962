//! Persons of a conversation, with their newest records and the devices that are at the hub.

use alloc::rc::Rc;
use std::collections::HashMap;

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::device::{Address, Certificate};
use endseal_keyring::{PersonRecord, Roster};
use endseal_session::EngineError;
use endseal_session::group::{Evidence, Members, MembershipState};

use super::conversation::Conversation;
use super::departure;
use super::directory::{self, Found};
use super::error::SyncError;
use super::hub::HubClient;
use super::known_record::known_in;
use super::node_files::NodeFiles;
use super::records::Transaction;
use super::report::{Skipped, SkippedReason, SyncReport};
use super::send_state::SendState;
use super::shared_engine::SharedEngine;

/// Persons of a conversation, as rosters and the hub's directory name them.
pub(super) struct Participants {
    /// Newest roster of a team.
    pub(super) roster: Option<Rc<Roster>>,
    identities: Vec<PublicKey>,
    /// Members who have left the team.
    departed: Vec<PublicKey>,
    records: HashMap<PublicKey, PersonRecord>,
    /// Devices at the hub of persons for whom it was asked.
    devices: HashMap<PublicKey, Vec<Certificate>>,
}

impl Participants {
    /// Finds the persons of a conversation, and notes those who are left out. `None` if nothing can
    /// be sent.
    pub(super) async fn find(
        hub: &HubClient<'_>,
        engine: &SharedEngine<'_>,
        files: &NodeFiles<'_>,
        state: &SendState,
        conversation: &Conversation,
        report: &mut SyncReport,
    ) -> Result<Option<Self>, SyncError> {
        let own = engine.address().identity;
        let mut skip = |to, reason| report.skipped.push(Skipped { to, device: None, reason });
        let (roster, identities) = match conversation {
            Conversation::Person(person) if *person == own => (None, vec![own]),
            Conversation::Person(person) => (None, vec![own, *person]),
            Conversation::Group(id) => {
                let Some(roster) = files.roster(id) else {
                    skip(*conversation, SkippedReason::Group);
                    return Ok(None);
                };
                let members = roster.members().iter().map(|it| *it.identity().ed25519());
                (Some(Rc::clone(&roster)), members.collect::<Vec<_>>())
            }
        };
        if !identities.contains(&own) {
            skip(*conversation, SkippedReason::NotMember);
            return Ok(None);
        }
        let departed = match conversation {
            Conversation::Group(id) => engine.transaction(|it| departure::departed(it, id))?,
            Conversation::Person(_) => Vec::new(),
        };
        let (records, devices) = (HashMap::new(), HashMap::new());
        let mut found = Self { roster, identities, departed, records, devices };
        let (mut asked, is_team) = (Vec::new(), found.roster.is_some());
        for identity in &found.identities {
            let known = engine.with(|engine| directory::known(engine, identity))?;
            let is_due =
                *identity != own && (!is_team || known.is_none() || state.is_due(identity));
            found.records.extend(known.map(|known| (*identity, known)));
            if is_due {
                asked.push(*identity);
            }
        }
        for (identity, of_hub) in found.ask(hub, engine, state, asked).await? {
            let reason = match of_hub {
                Found::Refused => SkippedReason::Directory,
                // The others get the text, and nothing waits for this member.
                _ if is_team => SkippedReason::NoDevice,
                _ => SkippedReason::Unknown,
            };
            skip(Conversation::Person(identity), reason);
            if !is_team {
                return Ok(None);
            }
        }
        Ok(Some(found))
    }

    /// Asks the hub for persons. Returns those whom it does not know, or whose records are refused.
    async fn ask(
        &mut self,
        hub: &HubClient<'_>,
        engine: &SharedEngine<'_>,
        state: &SendState,
        identities: Vec<PublicKey>,
    ) -> Result<Vec<(PublicKey, Found)>, SyncError> {
        let found = directory::find_many(hub, engine, &identities).await?;
        let mut missing = Vec::new();
        for (identity, found) in identities.into_iter().zip(found) {
            match found {
                Found::Person(record, devices) => {
                    state.note_asked(&identity, devices.clone());
                    self.records.insert(identity, *record);
                    self.devices.insert(identity, devices);
                }
                other => {
                    state.note_asked(&identity, Vec::new());
                    missing.push((identity, other));
                }
            }
        }
        Ok(missing)
    }

    /// Reads again what commits and records that were opened meanwhile have brought. Returns true
    /// if it was the same.
    pub(super) fn renew(&mut self, transaction: &Transaction<'_, '_>) -> Result<bool, EngineError> {
        let mut is_same = true;
        if let Some(roster) = &self.roster {
            let departed = departure::departed(transaction, roster.id())?;
            is_same &= departed == self.departed;
            self.departed = departed;
        }
        for identity in &self.identities {
            let Some(newest) = known_in(transaction, identity)? else { continue };
            if self.records.get(identity).is_none_or(|it| it.epoch() < newest.epoch()) {
                self.records.insert(*identity, newest);
                is_same = false;
            }
        }
        Ok(is_same)
    }

    /// Returns the certificates of those of these devices that are at the hub. Persons about whom
    /// the hub was asked lately are asked again only if `asks_again`.
    pub(super) async fn certificates(
        &mut self,
        hub: &HubClient<'_>,
        engine: &SharedEngine<'_>,
        state: &SendState,
        devices: &[Address],
        asks_again: bool,
    ) -> Result<Vec<Certificate>, SyncError> {
        let mut unknown = Vec::new();
        for device in devices {
            let person = device.identity;
            if self.devices.contains_key(&person) || unknown.contains(&person) {
                continue;
            }
            if asks_again || state.is_due(&person) {
                unknown.push(person);
            } else {
                self.devices.insert(person, state.devices(&person));
            }
        }
        self.ask(hub, engine, state, unknown).await?;
        let all = self.devices.values().flatten();
        Ok(all.filter(|it| devices.contains(&it.address())).cloned().collect())
    }

    /// Returns the devices of a person that are at the hub; none if it was not asked.
    pub(super) fn at_hub(&self, person: &PublicKey) -> &[Certificate] {
        self.devices.get(person).map_or(&[], Vec::as_slice)
    }

    /// Returns true if the person has a record here.
    pub(super) fn has_record(&self, person: &PublicKey) -> bool {
        self.records.contains_key(person)
    }

    /// Returns the persons, this one included.
    pub(super) fn identities(&self) -> &[PublicKey] {
        &self.identities
    }

    /// Makes the state of a new group. `None` if a person has no record.
    pub(super) fn new_state(&self) -> Option<MembershipState> {
        let members = match (&self.roster, self.identities.as_slice()) {
            (Some(roster), _) => Members::Team(Box::new(Roster::clone(roster))),
            (None, [one]) => Members::Oneself(*one),
            (None, [one, other]) => Members::of_two(*one, *other),
            (None, _) => return None,
        };
        let records: Vec<_> =
            self.identities.iter().filter_map(|it| self.records.get(it)).cloned().collect();
        Some(MembershipState::new(members, &records).ok()?.without(&self.departed))
    }

    /// Returns the documents that the state of a group lacks, and the state with them. `None` if
    /// the state contradicts the documents, or has later ones: nothing must be sent then.
    pub(super) fn evidence_for(
        &self,
        state: &MembershipState,
    ) -> Option<(Evidence, MembershipState)> {
        let roster = match (state.members(), &self.roster) {
            (Members::Team(known), Some(newest)) if **known == **newest => None,
            (Members::Team(known), Some(newest)) => {
                newest.supersedes(known).ok()?;
                Some(Roster::clone(newest))
            }
            (Members::Team(_), None) | (_, Some(_)) => return None,
            (_, None) => None,
        };
        // The maker of the group says that someone has left, and this device has not seen it.
        if self.identities.iter().any(|it| state.has_departed(it) && !self.departed.contains(it)) {
            return None;
        }
        let mut records = Vec::new();
        for identity in self.identities.iter().filter(|it| !state.has_departed(it)) {
            let record = self.records.get(identity);
            match (state.record_of(identity), record) {
                (None, None) => {}
                (Some((epoch, digest)), Some(record)) if record.epoch() == epoch => {
                    if *record.digest().as_bytes() != digest {
                        return None;
                    }
                }
                (Some((epoch, _)), Some(record)) if record.epoch() < epoch => return None,
                (_, Some(record)) => records.push(record.clone()),
                (Some(_), None) => return None,
            }
        }
        let evidence = Evidence::new(roster, records);
        let after = match evidence.is_empty() {
            true => state.clone(),
            // No departure is among it, so that the committer does not matter.
            false => state.after(&evidence, self.identities.first()?).ok()?,
        };
        Some((evidence, after))
    }
}
