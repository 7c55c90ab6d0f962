//! Encrypts unsent texts in the groups of their conversations.

use alloc::rc::Rc;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::peer_id::PeerId;
use endseal_keyring::Roster;
use endseal_keyring::roster::GroupId;
use endseal_session::group::Members;
use endseal_session::{EngineError, SendError};

use super::approach::Sender;
use super::conversation::Conversation;
use super::departure::{self, LeftTeam};
use super::device_change;
use super::directory;
use super::due;
use super::error::SyncError;
use super::frame_target::Target;
use super::history::HistoryRow;
use super::hub_groups::{Documents, HubGroups, Notice};
use super::in_force;
use super::lost_member;
use super::payload::HubGroupId;
use super::records::{Transaction, UNSENT};
use super::replaced::{self, Replaced};
use super::replacement;
use super::report::{Skipped, SkippedReason, SyncReport};
use super::undelivered::{is_unsent, new_since, receivers};
use super::waiting::Waiting;

/// Limit on attempts to encrypt texts while records of persons change.
const ATTEMPTS: usize = 8;

impl Sender<'_, '_> {
    /// Changes the groups that must change, and encrypts all texts that can be sent, in the order
    /// in which they were written.
    pub(super) async fn encrypt_unsent(&self, report: &mut SyncReport) -> Result<(), SyncError> {
        let own = self.engine.address().identity;
        let (mut reached, mut changed) = (HashMap::new(), HashMap::new());
        let mut known = KnownDocuments::of(self)?;
        for conversation in self.engine.transaction(|it| known.due(it))? {
            if !self.state.may_try(&conversation) {
                continue;
            }
            if let Conversation::Group(team) = &conversation
                && self.engine.transaction(|it| LeftTeam::of(it, &conversation))?.is_some()
            {
                // The last change that this person made of the team comes first.
                let in_force = self.engine.transaction(|it| in_force::of(it, team))?;
                if known.documents(&conversation).roster > in_force
                    && let Some(group) = self.change(&conversation, report).await?.0
                {
                    self.engine.transaction(|it| known.note(it, &conversation, &group))?;
                }
                self.depart(team).await?;
                continue;
            }
            // The user need not learn whom it does not reach, unless a text waits.
            let (group, not_reached) = self.change(&conversation, report).await?;
            changed.insert(conversation, not_reached);
            if let Some(group) = group {
                self.engine.transaction(|transaction| {
                    known.note(transaction, &conversation, &group)?;
                    announce(transaction, &own, &conversation, &group)
                })?;
                reached.insert(conversation, Some(group));
            }
        }
        let (mut after, mut attempts) = (0, 0);
        loop {
            let change = self.engine.with(device_change::last_number)?;
            let page = self.engine.transaction(|it| Waiting::page(it, after))?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            for (_, Waiting { to, .. }) in &page {
                if let Some((skipped, mailbox_full)) = changed.remove(to)
                    && reached.contains_key(to)
                {
                    report.skipped.extend(skipped);
                    report.mailbox_full |= mailbox_full;
                }
                if let Entry::Vacant(entry) = reached.entry(*to) {
                    let has_left = self.engine.transaction(|it| LeftTeam::of(it, to))?.is_some();
                    let is_alone = known.is_alone && *to == Conversation::Person(own);
                    entry.insert(match has_left || is_alone {
                        true => None,
                        false => self.reach(to, report).await?,
                    });
                }
            }
            let (mut announced, mut left_out) = (HashSet::new(), HashSet::new());
            let done = self.engine.transaction(|transaction: &mut Transaction<'_, '_>| {
                let mut encrypted = 0;
                if device_change::is_any_after(transaction, change)? {
                    // A person has other devices than the groups that were reached.
                    return Ok((encrypted, false));
                }
                for (number, Waiting { to, has_left }) in &page {
                    if known.is_alone && *to == Conversation::Person(own) {
                        // No other device of this person gets it.
                        transaction.remove_record(UNSENT, &number.to_be_bytes())?;
                    }
                    let Some(Some(group)) = reached.get(to) else { continue };
                    // It may have been cancelled while the hub was asked.
                    if !is_unsent(transaction, *number)? {
                        continue;
                    }
                    if LeftTeam::of(transaction, to)?.is_some() {
                        continue;
                    }
                    if announced.insert(*group) {
                        if !known.note(transaction, to, group)? {
                            // Its members are others than those of the newest roster.
                            return Ok((encrypted, false));
                        }
                        // Members who are new get no text that was sent before.
                        receivers(transaction, to, &own)?;
                        announce(transaction, &own, to, group)?;
                    }
                    let row = HistoryRow::of(transaction, to, *number)?;
                    let row = (&row, *has_left);
                    let mailboxes = match self.receivers(transaction, to, group, row)? {
                        Receivers::All => Vec::new(),
                        Receivers::Some(mailboxes) => mailboxes,
                        Receivers::Gone => {
                            left_out.insert(*to);
                            continue;
                        }
                        Receivers::NotNeeded => {
                            transaction.remove_record(UNSENT, &number.to_be_bytes())?;
                            continue;
                        }
                    };
                    let row = row.0;
                    match transaction.encrypt_group(group, &row.plaintext) {
                        Ok(sequence) => {
                            Target { mailboxes, ..Target::members(*group, *number) }
                                .put(transaction, sequence)?;
                            transaction.remove_record(UNSENT, &number.to_be_bytes())?;
                            encrypted += 1;
                        }
                        Err(SendError::Engine(error)) => return Err(error),
                        Err(_) => {
                            left_out.insert(*to);
                        }
                    }
                }
                Ok::<_, EngineError>((encrypted, true))
            })?;
            let (encrypted, is_whole) = done;
            report.encrypted += encrypted;
            if !is_whole {
                attempts += 1;
                if attempts == ATTEMPTS {
                    // The texts wait for the next visit.
                    return Ok(());
                }
                reached.clear();
                known = KnownDocuments::of(self)?;
                continue;
            }
            after = *last;
            report.skipped.extend(left_out.into_iter().map(|to| Skipped {
                to,
                device: None,
                reason: SkippedReason::NoSession,
            }));
        }
    }
}

impl Sender<'_, '_> {
    /// Changes a group as [`Self::reach`] does. Returns apart from the report whom it did not
    /// reach, and whether a mailbox is full.
    async fn change(
        &self,
        conversation: &Conversation,
        report: &mut SyncReport,
    ) -> Result<(Option<HubGroupId>, (Vec<Skipped>, bool)), SyncError> {
        let mut of_change = SyncReport::default();
        let group = self.reach(conversation, &mut of_change).await;
        let skipped = core::mem::take(&mut of_change.skipped);
        let is_full = core::mem::take(&mut of_change.mailbox_full);
        report.add(of_change);
        Ok((group?, (skipped, is_full)))
    }

    /// Returns the receivers of a text in a group. One that is sent again goes to no one who became
    /// a member since.
    fn receivers(
        &self,
        transaction: &mut Transaction<'_, '_>,
        conversation: &Conversation,
        group: &HubGroupId,
        (row, has_left): (&HistoryRow, bool),
    ) -> Result<Receivers, EngineError> {
        let has_new = has_left && matches!(conversation, Conversation::Group(_));
        if !has_new && !self.state.has_gone(group) {
            return Ok(Receivers::All);
        }
        let members = transaction.group_peers(group)?;
        let new = match has_new {
            true => {
                let persons = members.iter().map(|(member, _)| member.identity).collect();
                new_since(transaction, &self.own.identity, conversation, row, &persons)?
            }
            false => HashSet::new(),
        };
        let others: Vec<_> = members.into_iter().filter(|(it, _)| *it != self.own).collect();
        let all = others.len();
        let wanted = others.into_iter().filter(|(it, _)| !new.contains(&it.identity));
        let wanted: Vec<_> = wanted.map(|(_, peer)| peer).collect();
        if wanted.is_empty() && all > 0 {
            return Ok(Receivers::NotNeeded);
        }
        let is_there = |peer: &PeerId| !self.state.is_gone(group, peer);
        let there: Vec<_> = wanted.into_iter().filter(is_there).collect();
        Ok(match there.len() {
            count if count == all => Receivers::All,
            0 => Receivers::Gone,
            _ => Receivers::Some(there),
        })
    }
}

/// Receivers of a text in a group.
enum Receivers {
    /// All members.
    All,
    /// The devices with these mailboxes.
    Some(Vec<PeerId>),
    /// None: they have no mailboxes any more.
    Gone,
    /// None: all who were members when it was sent have left.
    NotNeeded,
}

/// Newest documents that this device brings into groups.
pub(super) struct KnownDocuments {
    identity: PublicKey,
    /// Epoch of the record of this person.
    own: u64,
    /// True if this person has no other device.
    is_alone: bool,
    /// Newest rosters. True if this person begins a group of the team that has none: a member
    /// who owns the team, or made its last change.
    rosters: HashMap<GroupId, (Rc<Roster>, bool)>,
}

impl KnownDocuments {
    pub(super) fn of(sender: &Sender<'_, '_>) -> Result<Self, EngineError> {
        let identity = sender.engine.address().identity;
        let record = sender.engine.with(|engine| directory::known(engine, &identity))?;
        let rosters = sender.files.all_rosters().into_iter().map(|roster| {
            let is_by_own = *roster.owner() == identity || *roster.signer() == identity;
            let begins = is_by_own && roster.member_of_key(&identity).is_some();
            (*roster.id(), (roster, begins))
        });
        let is_alone = record.as_ref().is_some_and(|it| it.devices().count() == 1);
        let own = record.map_or(0, |it| it.epoch());
        Ok(Self { identity, own, is_alone, rosters: rosters.collect() })
    }

    fn documents(&self, conversation: &Conversation) -> Documents {
        let roster = match conversation {
            Conversation::Group(id) => self.rosters.get(id).map_or(0, |(roster, _)| roster.epoch()),
            Conversation::Person(_) => 0,
        };
        Documents { own: self.own, roster }
    }

    /// Returns the conversations whose groups must change though no text waits: those all of whose
    /// groups were given up, those whose documents are later here, those with a group that the
    /// others must learn of or to which members got no welcome, and teams that have no group yet,
    /// which this person owns or has changed last. A team that this person has left is due until
    /// the others have learned of it.
    pub(super) fn due(
        &self,
        transaction: &Transaction<'_, '_>,
    ) -> Result<Vec<Conversation>, EngineError> {
        let all = HubGroups::all(transaction)?;
        let mut lost = HashSet::new();
        for groups in &all {
            if let Some(sending) = groups.first()
                && !lost_member::all(transaction, &sending)?.is_empty()
            {
                lost.insert(groups.conversation);
            }
        }
        let is_due = |it: &HubGroups| {
            let Documents { own, roster } = self.documents(&it.conversation);
            let is_later = own > it.documents.own || roster > it.documents.roster;
            let is_held = it.groups.iter().any(|it| it.given_up == 0);
            let is_due =
                is_later || it.must_announce() || !is_held || lost.contains(&it.conversation);
            Ok::<_, EngineError>(
                !it.groups.is_empty()
                    && (is_due || replaced::is_due(transaction, &it.conversation)?),
            )
        };
        let mut due = Vec::new();
        for it in &all {
            let is_due = match LeftTeam::of(transaction, &it.conversation)? {
                Some(left) => left.is_due,
                None => is_due(it)?,
            };
            due.extend(is_due.then_some(it.conversation));
        }
        let known: HashSet<_> =
            all.iter().filter(|it| !it.groups.is_empty()).map(|it| it.conversation).collect();
        // Rules are sent in the group with oneself alone.
        let with_oneself = Conversation::Person(self.identity);
        if !self.is_alone && !known.contains(&with_oneself) && due::has_rules(transaction)? {
            due.push(with_oneself);
        }
        for (id, (_, begins)) in &self.rosters {
            let team = Conversation::Group(*id);
            let left = LeftTeam::of(transaction, &team)?;
            if *begins && !known.contains(&team) && left.is_none_or(|left| left.is_due) {
                due.push(team);
            }
        }
        Ok(due)
    }

    /// Notes that the group in which texts of a conversation are sent has the documents. Returns
    /// false if it has other ones, or devices that they do not name.
    fn note(
        &self,
        transaction: &mut Transaction<'_, '_>,
        conversation: &Conversation,
        group: &HubGroupId,
    ) -> Result<bool, EngineError> {
        let mut groups = HubGroups::of(transaction, conversation)?;
        let documents = self.documents(conversation);
        if let Conversation::Group(team) = conversation
            && let Some((roster, _)) = self.rosters.get(team)
        {
            let state = transaction.group(group)?.and_then(|it| it.conversation);
            let Some(state) = state else { return Ok(false) };
            let is_newest = matches!(state.members(), Members::Team(it) if **it == **roster)
                && transaction.group_peers(group)?.iter().all(|(it, _)| state.has_device(it));
            if !is_newest {
                return Ok(false);
            }
            in_force::note(transaction, team, roster.epoch())?;
            departure::settle(transaction, roster)?;
        }
        if groups.documents != documents {
            groups.documents = documents;
            groups.put(transaction)?;
        }
        Ok(true)
    }
}

/// Encrypts the notice that a group replaces another one, if the members have not learned of it. A
/// notice that waits in another group of the conversation goes to this one.
fn announce(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    conversation: &Conversation,
    group: &HubGroupId,
) -> Result<(), EngineError> {
    let mut groups = HubGroups::of(transaction, conversation)?;
    if let Some(replaced) = groups.take_announced(group) {
        if encrypt_notice(transaction, (own, conversation), group, &replaced)?.is_some() {
            groups.set_notice(group, Notice::Waits);
        }
        groups.put(transaction)?;
    }
    for replaced in Replaced::of(transaction, conversation)? {
        if replaced.group == *group {
            replaced.remove(transaction)?;
        } else if replaced.sequence == 0
            && let Some(sequence) =
                encrypt_notice(transaction, (own, conversation), group, &replaced.group)?
        {
            Replaced { sequence, ..replaced }.put(transaction)?;
        }
    }
    Ok(())
}

/// Encrypts the notice that a group replaces another one. Returns its number in the outbox, or
/// `None` if the group cannot be used: the next visit tries again.
fn encrypt_notice(
    transaction: &mut Transaction<'_, '_>,
    (own, conversation): (&PublicKey, &Conversation),
    group: &HubGroupId,
    replaced: &HubGroupId,
) -> Result<Option<u64>, EngineError> {
    let Some(plaintext) = replacement::plaintext(own, conversation, replaced) else {
        return Ok(None);
    };
    match transaction.encrypt_group(group, &plaintext) {
        Ok(sequence) => {
            Target::members(*group, 0).put(transaction, sequence)?;
            Ok(Some(sequence))
        }
        Err(SendError::Engine(error)) => Err(error),
        Err(_) => Ok(None),
    }
}
