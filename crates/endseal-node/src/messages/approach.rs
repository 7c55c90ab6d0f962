//! Brings the group of a conversation nearer to the devices of its persons, or makes one
//! (docs/spec/node.md, "Groups of a conversation").

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_delivery::MembersDigest;
use endseal_keyring::device::{Address, Certificate};
use endseal_session::group::{Evidence, GroupDevice, Members, MembershipState};
use endseal_session::{EngineError, GroupChangeError};

use super::arrivals;
use super::clock;
use super::conversation::Conversation;
use super::departure::{self, LeftTeam};
use super::error::SyncError;
use super::frame_target::Target;
use super::hub::HubClient;
use super::hub_groups::{HubGroup, HubGroups};
use super::in_force;
use super::known_persons::KnownPersons;
use super::lost_member;
use super::node_files::{NodeFiles, RosterResult};
use super::participants::Participants;
use super::payload::HubGroupId;
use super::pending_commit::{Decision, PendingCommit, put_commit};
use super::records::{self, Transaction};
use super::replaced::Replaced;
use super::report::{Skipped, SkippedReason, SyncReport};
use super::resend::give_up_group;
use super::send_state::SendState;
use super::shared_engine::SharedEngine;

/// Limit on the commits for one conversation in a visit. One suffices, unless the hub refuses it.
const ATTEMPTS: usize = 4;
/// Time in milliseconds after which this device renews its keys in a group with its next text.
const RENEWED: u64 = 24 * 60 * 60 * 1_000;
/// Greatest number of members of a group in which each device renews its keys after that time.
const SMALL: u64 = 10;
/// Members of a group to whom a renewal is at most 200 KB long. In a larger one fewer are made.
const AFFORDABLE: u64 = 150;

/// Hub, engine and files with which texts are sent.
pub(super) struct Sender<'s, 'e> {
    pub(super) hub: &'s HubClient<'s>,
    pub(super) engine: &'s SharedEngine<'e>,
    pub(super) files: &'s NodeFiles<'s>,
    pub(super) state: &'s SendState,
    /// Address of this device.
    pub(super) own: Address,
}

/// A change of a group.
struct Plan {
    /// Group to change; `None` if one must be made.
    group: Option<HubGroup>,
    epoch: u64,
    /// Members before the change, with their peer ids.
    before: Vec<(Address, PeerId)>,
    evidence: Evidence,
    /// Members who are no device any more.
    removed: Vec<Address>,
    /// Devices that shall be members and are not.
    missing: Vec<Address>,
    /// Members who got no welcome.
    lost: Vec<PeerId>,
    /// True if the keys of this device are to be renewed.
    is_old: bool,
}

/// A device to add.
struct Added {
    certificate: Certificate,
    key_package: Box<[u8]>,
}

impl Sender<'_, '_> {
    /// Returns the group in which texts of a conversation can be encrypted now. Before, it makes
    /// the commits that are needed. `None` if nothing can be sent; the report says why.
    pub(super) async fn reach(
        &self,
        conversation: &Conversation,
        report: &mut SyncReport,
    ) -> Result<Option<HubGroupId>, SyncError> {
        let Self { hub, engine, files, state, .. } = *self;
        if !self.keep_rosters(conversation)? {
            skip(conversation, None, SkippedReason::Behind, report);
            return Ok(None);
        }
        let found = Participants::find(hub, engine, files, state, conversation, report).await?;
        let Some(mut participants) = found else { return Ok(None) };
        let (mut gone, mut is_full) = (Vec::new(), false);
        for _ in 0..ATTEMPTS {
            let own = engine.with(|engine| engine.certificate().clone());
            let plan = engine.transaction(|transaction: &mut Transaction<'_, '_>| {
                let known = KnownPersons::new(files.home());
                report.add_noted(arrivals::note(
                    transaction,
                    &own.address().identity,
                    files,
                    &known,
                )?);
                participants.renew(transaction)?;
                match has_left(transaction, conversation)? {
                    true => Ok(None),
                    false => Plan::of(transaction, conversation, &participants, &own),
                }
            })?;
            // A commit that was opened meanwhile may have brought another roster.
            if !self.is_newest_roster(conversation, &participants) {
                skip(conversation, None, SkippedReason::Behind, report);
                return Ok(None);
            }
            let Some(plan) = plan else {
                skip(conversation, None, SkippedReason::NotMember, report);
                return Ok(None);
            };
            if let Some(group) = &plan.group
                && state.is_behind(&group.id, plan.epoch)
            {
                skip(conversation, None, SkippedReason::Behind, report);
                return Ok(None);
            }
            let at_hub = plan.group.and_then(|group| state.at_hub(&group.id));
            let wanted = plan.wanted(at_hub.as_deref());
            let is_new = plan.group.is_none();
            let asks_again = is_new || participants.roster.is_none() || at_hub.is_some();
            let mut added =
                self.key_packages(&mut participants, &wanted, &gone, asks_again).await?;
            let made = loop {
                let is_needed = !added.is_empty() || at_hub.is_some() || plan.is_needed();
                if let Some(group) = plan.group.filter(|_| !is_needed) {
                    return Ok(Some(group.id));
                }
                let is_receiver = |it: &Added| {
                    *conversation == Conversation::Person(own.address().identity)
                        || it.certificate.address().identity != own.address().identity
                };
                if is_new && !added.iter().any(is_receiver) {
                    if is_full {
                        // The text waits until a mailbox has room.
                        report.skipped.retain(|it| it.reason != SkippedReason::Full);
                        return Ok(None);
                    }
                    skip_all(conversation, &participants, &own, report);
                    return Ok(None);
                }
                let made = engine.transaction(|transaction: &mut Transaction<'_, '_>| {
                    // Something may have been opened, or the team left, while the hub was asked.
                    let is_same = participants.renew(transaction)?
                        && !has_left(transaction, conversation)?
                        && self.is_newest_roster(conversation, &participants);
                    match is_same {
                        true => plan
                            .commit(
                                transaction,
                                conversation,
                                &participants,
                                &added,
                                at_hub.clone(),
                            )
                            .map(Some),
                        false => Ok(None),
                    }
                });
                match made {
                    Ok(made) => break made,
                    Err(GroupChangeError::Engine(error)) => return Err(error.into()),
                    // Some of the key packages cannot be used.
                    Err(_) if !added.is_empty() => {
                        let mut left_out = Vec::new();
                        for at in (0..added.len()).rev() {
                            let one = &added[at..=at];
                            if !self.is_usable(&plan, conversation, &participants, one)? {
                                left_out.push(added.swap_remove(at));
                            }
                        }
                        if left_out.is_empty() {
                            left_out.extend(added.pop());
                        }
                        for it in left_out {
                            let device = Some(it.certificate.address());
                            skip(conversation, device, SkippedReason::Directory, report);
                        }
                    }
                    Err(_) => {
                        skip(conversation, None, SkippedReason::NoSession, report);
                        return Ok(None);
                    }
                }
            };
            let Some(number) = made else { continue };
            match put_commit(hub, engine, state, number).await? {
                Decision::Accepted | Decision::Members => {}
                Decision::Gone(peers) => gone.extend(peers),
                Decision::Refused => {
                    // The hub has other members, and not all of them can be brought back.
                    let Some(group) = plan.group.filter(|_| at_hub.is_some()) else { break };
                    if !self.give_up(conversation, &group.id)? {
                        break;
                    }
                }
                // They are added when they have room; the others need not wait.
                Decision::Full(peers) => {
                    report.mailbox_full = true;
                    is_full = true;
                    for it in
                        added.iter().filter(|it| peers.contains(&it.certificate.keys().peer_id))
                    {
                        let device = Some(it.certificate.address());
                        skip(conversation, device, SkippedReason::Full, report);
                    }
                    gone.extend(peers);
                }
                Decision::Behind => {
                    skip(conversation, None, SkippedReason::Behind, report);
                    return Ok(None);
                }
                Decision::NoGroup => {
                    if let Some(group) = plan.group {
                        engine.transaction(|transaction: &mut Transaction<'_, '_>| {
                            let mut groups = HubGroups::of(transaction, conversation)?;
                            groups.give_up(transaction, &group.id)
                        })?;
                    }
                }
            }
        }
        skip(conversation, None, SkippedReason::NoSession, report);
        Ok(None)
    }

    /// Returns true if no other roster of a team has come than the one that was read.
    fn is_newest_roster(&self, conversation: &Conversation, participants: &Participants) -> bool {
        match (conversation, &participants.roster) {
            (Conversation::Group(id), Some(known)) => {
                self.files.roster(id).is_some_and(|newest| *newest == **known)
            }
            _ => true,
        }
    }

    /// Returns true if a device can be added by its key package. Nothing is changed.
    fn is_usable(
        &self,
        plan: &Plan,
        conversation: &Conversation,
        participants: &Participants,
        added: &[Added],
    ) -> Result<bool, EngineError> {
        let tried = self.engine.transaction(|transaction: &mut Transaction<'_, '_>| {
            match plan.commit(transaction, conversation, participants, added, None) {
                // The error ends the transaction without a change.
                Ok(_) => Err(GroupChangeError::NoGroup),
                Err(GroupChangeError::Engine(error)) => Err(error.into()),
                Err(_) => Ok(()),
            }
        });
        match tried {
            Ok(()) => Ok(false),
            Err(GroupChangeError::Engine(error)) => Err(error),
            Err(_) => Ok(true),
        }
    }

    /// Keeps the rosters that came in the groups of a team, if they are later than those that are
    /// here: a process may have been killed before it did. A team is not handed to who has left it.
    /// Returns false if another process changes the files.
    pub(super) fn keep_rosters(&self, conversation: &Conversation) -> Result<bool, EngineError> {
        let own = self.engine.address().identity;
        self.engine.transaction(|transaction: &mut Transaction<'_, '_>| {
            let (mut states, mut is_busy) = (Vec::new(), false);
            if matches!(conversation, Conversation::Group(_)) {
                for group in HubGroups::of(transaction, conversation)?.groups {
                    states.extend(transaction.group(&group.id)?.and_then(|it| it.conversation));
                }
            }
            for state in states {
                if let Members::Team(roster) = state.members() {
                    is_busy |= in_force::keep(transaction, self.files, roster, &own)?
                        == RosterResult::Busy;
                }
            }
            if let Conversation::Group(team) = conversation {
                let in_force = in_force::of(transaction, team)?;
                departure::settle_if(transaction, team, |person| {
                    self.files.is_left_out(team, person, in_force)
                })?;
                let departed = departure::departed(transaction, team)?;
                let has_left = |person: &PublicKey| departed.contains(person);
                is_busy |= !self.files.refuse_hand_over(team, &own, in_force, has_left);
            }
            Ok::<_, EngineError>(!is_busy)
        })
    }

    /// Gives a group up, so that another one is made. Returns false if too many were given up.
    fn give_up(
        &self,
        conversation: &Conversation,
        group: &HubGroupId,
    ) -> Result<bool, EngineError> {
        self.state.forget_at_hub(group);
        self.engine.transaction(|transaction: &mut Transaction<'_, '_>| {
            let groups = HubGroups::of(transaction, conversation)?;
            let own = &self.own.identity;
            Ok(groups.may_give_up() && give_up_group(transaction, own, conversation, group)?)
        })
    }

    /// Takes key packages of devices from the hub. Devices without one, and those that are not at
    /// the hub, are left out.
    async fn key_packages(
        &self,
        participants: &mut Participants,
        wanted: &[Address],
        gone: &[PeerId],
        asks_again: bool,
    ) -> Result<Vec<Added>, SyncError> {
        let Self { hub, engine, state, .. } = *self;
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let mut devices = participants.certificates(hub, engine, state, wanted, asks_again).await?;
        devices.retain(|it| !gone.contains(&it.keys().peer_id));
        let peers: Vec<_> = devices.iter().map(|it| it.keys().peer_id).collect();
        let taken = hub.take_many(&peers).await?;
        let added = devices.into_iter().zip(taken).filter_map(|(certificate, key_package)| {
            let key_package = key_package?;
            let of = GroupDevice::certificate_in(&key_package).ok()?;
            let is_of_device = of.address() == certificate.address()
                && of.keys().peer_id == certificate.keys().peer_id;
            is_of_device.then_some(Added { certificate, key_package })
        });
        Ok(added.collect())
    }
}

/// Returns true if this person has left a team, and the others have learned of it or need not.
fn has_left(
    transaction: &Transaction<'_, '_>,
    conversation: &Conversation,
) -> Result<bool, EngineError> {
    Ok(LeftTeam::of(transaction, conversation)?.is_some_and(|left| !left.is_due))
}

impl Plan {
    /// Plans a change. `None` if this device is no device of the conversation any more.
    fn of(
        transaction: &mut Transaction<'_, '_>,
        conversation: &Conversation,
        participants: &Participants,
        own: &Certificate,
    ) -> Result<Option<Self>, EngineError> {
        let groups = HubGroups::of(transaction, conversation)?;
        let is_usable = |state: &MembershipState| participants.evidence_for(state).is_some();
        let group = groups.sending(transaction, is_usable)?;
        let (state, before, epoch) = match &group {
            Some(group) => {
                let before = transaction.group_peers(&group.id)?;
                let summary = transaction.group(&group.id)?;
                let epoch = summary.as_ref().map_or(0, |it| it.epoch);
                (summary.and_then(|it| it.conversation), before, epoch)
            }
            None => (participants.new_state(), vec![(own.address(), own.keys().peer_id)], 0),
        };
        let next = state.and_then(|state| participants.evidence_for(&state));
        let Some((evidence, after)) = next else { return Ok(None) };
        if !after.has_device(&own.address()) {
            return Ok(None);
        }
        let is_member = |device: &Address| before.iter().any(|(member, _)| member == device);
        let missing = after.devices().filter(|it| !is_member(it)).collect();
        let members = before.iter().map(|(member, _)| *member);
        let removed = members.filter(|it| !after.has_device(it)).collect();
        let mut is_old = group.is_some_and(|group| needs_new_keys(&group, before.len() as u64));
        if is_old {
            // What waits for a full mailbox would have to be sent again in the next epoch.
            Target::each(transaction, &mut |_, target| {
                is_old &= target.group.is_none() || target.group != group.map(|it| it.id);
            })?;
        }
        let lost = match &group {
            Some(group) => lost_member::all(transaction, &group.id)?,
            None => Vec::new(),
        };
        Ok(Some(Self { group, epoch, before, evidence, removed, missing, lost, is_old }))
    }

    /// Returns true if there is something to commit beside devices that are added.
    fn is_needed(&self) -> bool {
        self.is_old || !self.removed.is_empty() || !self.evidence.is_empty()
    }

    /// Returns the devices of which key packages are needed. If the hub has other members, those
    /// that it lacks are brought back.
    fn wanted(&self, at_hub: Option<&[PeerId]>) -> Vec<Address> {
        let mut wanted = self.missing.clone();
        let is_lost = |peer: &PeerId| {
            self.lost.contains(peer) || at_hub.is_some_and(|at_hub| !at_hub.contains(peer))
        };
        let lost = self
            .before
            .iter()
            .filter(|(member, peer)| is_lost(peer) && !self.removed.contains(member));
        wanted.extend(lost.map(|(member, _)| *member));
        wanted
    }

    /// Makes the commit, and the group if there is none. Returns the number of the commit.
    fn commit(
        &self,
        transaction: &mut Transaction<'_, '_>,
        conversation: &Conversation,
        participants: &Participants,
        added: &[Added],
        at_hub: Option<Vec<PeerId>>,
    ) -> Result<u64, GroupChangeError> {
        let (now, time) = (records::now(), clock::time(transaction)?);
        let id = match &self.group {
            Some(group) => {
                let mut groups = HubGroups::of(transaction, conversation)?;
                let replaced = groups.last_given_up();
                if let Some(group) = groups.group_mut(&group.id)
                    && let (false, Some(replaced)) = (added.is_empty(), replaced)
                {
                    // Devices that are added may be members of the group that was given up.
                    group.announce(replaced);
                    groups.put(transaction)?;
                }
                group.id
            }
            None => {
                let mut id = [0; 16];
                OsRandom.fill(&mut id).map_err(|_| EngineError::Random)?;
                let state = participants.new_state().ok_or(GroupChangeError::NoGroup)?;
                transaction.create_conversation(&id, state, time)?;
                let mut groups = HubGroups::of(transaction, conversation)?;
                let announces = groups.last_given_up().unwrap_or_default();
                Replaced { conversation: *conversation, group: announces, sequence: 0 }
                    .remove(transaction)?;
                let group = HubGroup { announces, ..HubGroup::new(id, now) };
                groups.add(transaction, group)?;
                id
            }
        };
        let packages = added.iter().map(|it| &it.key_package[..]);
        let number =
            transaction.commit_group(&id, |group| group.change(&self.evidence, packages, time))?;
        let mut before = at_hub.unwrap_or_else(|| self.before.iter().map(|it| it.1).collect());
        before.sort_unstable();
        let new = |address: &Address| added.iter().any(|it| it.certificate.address() == *address);
        let stays = |it: &&(Address, PeerId)| !self.removed.contains(&it.0) && !new(&it.0);
        let mut after: Vec<_> = self.before.iter().filter(stays).map(|it| it.1).collect();
        after.extend(added.iter().map(|it| it.certificate.keys().peer_id));
        after.sort_unstable();
        let replaced = added.iter().map(|it| it.certificate.keys().peer_id);
        let replaced = replaced.filter(|it| before.binary_search(it).is_ok()).collect();
        let before = MembersDigest::of(&before);
        PendingCommit { group: id, epoch: self.epoch, before, replaced, after }
            .put(transaction, number)?;
        Ok(number)
    }
}

/// Returns true if this device must renew its keys in a group of so many members. In a large group
/// each renewal is long, and goes to all: one is made a day, by a device whose turn it is.
fn needs_new_keys(group: &HubGroup, members: u64) -> bool {
    let since = |time: u64| records::now().saturating_sub(time);
    let (turn, pause) = match members <= SMALL {
        true => (RENEWED, 0),
        false => (RENEWED * members, RENEWED * members.div_ceil(AFFORDABLE)),
    };
    group.renewed == 0 || (since(group.renewed) > turn && since(group.changed) >= pause)
}

fn skip(
    to: &Conversation,
    device: Option<Address>,
    reason: SkippedReason,
    report: &mut SyncReport,
) {
    report.skipped.push(Skipped { to: *to, device, reason });
}

/// Says why a group cannot be made: no one else can be added.
fn skip_all(
    conversation: &Conversation,
    participants: &Participants,
    own: &Certificate,
    report: &mut SyncReport,
) {
    for person in participants.identities() {
        let devices = participants.at_hub(person).iter().map(Certificate::address);
        let mut devices = devices.filter(|it| *it != own.address()).peekable();
        let is_other = *person != own.address().identity || participants.identities().len() == 1;
        if !is_other || !participants.has_record(person) {
            continue;
        }
        let to = match conversation {
            Conversation::Person(_) => *conversation,
            Conversation::Group(_) => Conversation::Person(*person),
        };
        if devices.peek().is_none() {
            skip(&to, None, SkippedReason::NoDevice, report);
        }
        for device in devices {
            skip(&to, Some(device), SkippedReason::NoPrekey, report);
        }
    }
}
