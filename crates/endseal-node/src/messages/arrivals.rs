//! Messages that arrived in the inbox, before they are shown.
//!
//! A scan of the new messages records the texts, takes receipts and changes of groups, and hides
//! what is not to be shown. It is part of each transaction in which messages arrive or are read. If
//! a process is killed before its scan, the next one scans the messages that it left.

use std::collections::{HashMap, HashSet};

use endseal_codec::ReceiptKind;
use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::device::Address;
use endseal_keyring::roster::GroupId;
use endseal_session::{ConversationId, EngineError, Notice, Outcome, Received, ReceivedKind};

use super::confirmation;
use super::conversation::Conversation;
use super::departure::{self, Departure, LeftTeam};
use super::directory::note_record;
use super::due::{Due, Subject};
use super::hidden_team::{HiddenTeam, MAX_TEXTS, TeamRequest, show_known};
use super::history::HistoryRow;
use super::hub_groups::{Documents, HubGroups, conversation_of};
use super::in_force;
use super::joined::note_passed;
use super::known_persons::KnownPersons;
use super::known_record::known_in;
use super::lost_member;
use super::node_files::{NodeFiles, RosterResult};
use super::payload::HubGroupId;
use super::problem::{self, ProblemClass};
use super::read_marks;
use super::read_texts;
use super::receipt::{MAX_RUNS, TextReceipt};
use super::records::{self, NOTED, Transaction};
use super::replacement;
use super::request::{Held, Requests, release_known};
use super::rule::{self, Rule};
use super::rule_note::{self, RuleNote};
use super::runs::Runs;
use super::team_change::TeamChange;
use super::text::Text;
use super::text_id::{OfSeries, TextId};
use super::unconfirmed::Arrived;
use super::unfollowed::{announce_again, give_up_by_notice};

/// Messages of the inbox that are read at once.
const PAGE: usize = 32;
/// Time in milliseconds after which a text in a group that was given up repeats the notice.
const NOTICED: u64 = 60_000;
/// Start of the ids under which messages are delivered again.
const AGAIN: &[u8] = b"again";

/// Messages that [`note`] took out of the inbox.
#[derive(Default)]
pub(super) struct Noted {
    /// Number of receipts, notices, copies of texts that other devices of this person wrote, and
    /// texts that had arrived before.
    pub(super) receipts: u64,
    /// Number of texts of blocked persons and unknown senders.
    pub(super) others: u64,
    /// Texts of blocked persons, which were dropped.
    pub(super) blocked: TextsOf,
    /// Texts of unknown senders, which wait in requests.
    pub(super) requests: TextsOf,
    /// Texts of unknown senders for which there was no room.
    pub(super) no_room: TextsOf,
    /// Teams whose texts wait, because their owners are no contacts.
    pub(super) teams: Vec<TeamRequest>,
    /// Conversations of which this device is no member any more.
    pub(super) left: Vec<Conversation>,
    /// Members who have left teams.
    pub(super) departures: Vec<Departure>,
    /// Teams whose changes were made here and did not come into force.
    pub(super) replaced: Vec<GroupId>,
    /// Changes of teams that others made.
    pub(super) team_changes: Vec<TeamChange>,
}

/// Numbers of texts by their writers.
pub(super) type TextsOf = HashMap<PublicKey, u64>;

/// Treatment of the texts of a person.
#[derive(Clone, Copy)]
enum Treatment {
    Shown,
    Requested,
    Dropped,
}

impl Treatment {
    fn of(
        transaction: &Transaction<'_, '_>,
        person: &PublicKey,
        known: &KnownPersons<'_>,
    ) -> Result<Self, EngineError> {
        if Rule::of(transaction, person)?.blocked.is_on() {
            return Ok(Self::Dropped);
        }
        Ok(if known.has(transaction, person)? { Self::Shown } else { Self::Requested })
    }
}

/// Further treatment of a message of the inbox.
enum Fate {
    /// It is shown.
    Stays,
    /// It was no text, or was taken over.
    Consumed,
    /// It is a text that is not shown.
    Hidden,
}

/// Returns true if the newest documents that are here have a device among those of a conversation,
/// and its person has not left.
pub(super) fn is_newest(
    transaction: &Transaction<'_, '_>,
    files: &NodeFiles<'_>,
    conversation: &Conversation,
    device: &Address,
) -> Result<bool, EngineError> {
    if let Conversation::Group(id) = conversation {
        let newest = match HiddenTeam::of(transaction, id)? {
            Some(team) => team.roster.member_of_key(&device.identity).is_some(),
            None => files.roster(id).is_none_or(|it| it.member_of_key(&device.identity).is_some()),
        };
        if !newest || departure::departed(transaction, id)?.contains(&device.identity) {
            return Ok(false);
        }
    }
    let record = known_in(transaction, &device.identity)?;
    Ok(record.is_none_or(|record| record.device(device.device.into()).is_some()))
}

/// Returns true if a device of this person is a member of a group by a later record than the one
/// that is here, which comes from the hub.
fn is_later(
    transaction: &mut Transaction<'_, '_>,
    group: &ConversationId,
    device: &Address,
) -> Result<bool, EngineError> {
    let ConversationId::Group(group) = group else { return Ok(false) };
    let state = transaction.group(group)?.and_then(|it| it.conversation);
    let known = known_in(transaction, &device.identity)?.map_or(0, |it| it.epoch());
    Ok(state.is_some_and(|state| {
        let stated = state.record_of(&device.identity).map_or(0, |(epoch, _)| epoch);
        stated > known && state.has_device(device)
    }))
}

/// Returns true if a device is a member of a group in its present epoch.
fn is_member_of(
    transaction: &mut Transaction<'_, '_>,
    group: &HubGroupId,
    device: &Address,
) -> Result<bool, EngineError> {
    Ok(transaction.group_peers(group)?.iter().any(|(member, _)| member == device))
}

/// Returns the number in the inbox up to which messages were noted.
pub(super) fn noted(transaction: &Transaction<'_, '_>) -> Result<u64, EngineError> {
    records::counter(transaction, NOTED)
}

/// Shows what was hidden and is known now: requests of persons, and teams. Then processes the
/// messages that arrived, as [`note`] does.
pub(super) fn settle(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    files: &NodeFiles<'_>,
) -> Result<Noted, EngineError> {
    let known = KnownPersons::new(files.home());
    release_known(transaction, own, &known)?;
    let end = noted(transaction)?;
    show_teams(transaction, own, files, end)?;
    note(transaction, own, files, &known)
}

/// Shows the teams that are known now: their messages with numbers up to `end` are processed again.
/// Returns true if there are any.
fn show_teams(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    files: &NodeFiles<'_>,
    end: u64,
) -> Result<bool, EngineError> {
    let teams = show_known(transaction, files, own)?;
    for team in &teams {
        for group in HubGroups::of(transaction, &Conversation::Group(*team))?.groups {
            deliver_again(transaction, &group.id, (0, end))?;
        }
    }
    Ok(!teams.is_empty())
}

/// Gives the messages of a group with numbers above `after` and up to `end` that are in the inbox
/// numbers above all others, so that they are processed behind them, also if they were before.
fn deliver_again(
    transaction: &mut Transaction<'_, '_>,
    group: &HubGroupId,
    (mut after, end): (u64, u64),
) -> Result<(), EngineError> {
    let id = ConversationId::Group(group.to_vec());
    while after < end {
        let page = transaction.inbox(after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.number;
        for received in page {
            let Received { number, conversation, sender, kind, plaintext, .. } = received;
            if number > end || conversation != id || kind != ReceivedKind::Text {
                continue;
            }
            transaction.consume(number)?;
            let name = [AGAIN, &number.to_be_bytes()].concat();
            match transaction.deliver(&id, &name, sender, plaintext)? {
                Outcome::Delivered(_) | Outcome::AlreadyDelivered(_) => {}
                _ => return Err(EngineError::Damaged("inbox")),
            }
        }
    }
    Ok(())
}

/// Processes the messages of a group with numbers above `after` that were passed over in the inbox
/// before the group was compared.
pub(super) fn note_passed_over(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    files: &NodeFiles<'_>,
    group: &HubGroupId,
    mut after: u64,
) -> Result<Noted, EngineError> {
    let (begin, end) = (after, noted(transaction)?);
    let known = KnownPersons::new(files.home());
    let mut scan = Scan::new(own, files, &known);
    while after < end {
        let page = transaction.inbox(after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.number;
        for received in page {
            let is_of_group = received.conversation == ConversationId::Group(group.to_vec());
            // Texts are processed with the next ones.
            if is_of_group && received.number <= end && received.kind != ReceivedKind::Text {
                scan.note(transaction, &received)?;
                transaction.consume(received.number)?;
                scan.result.receipts += 1;
            }
        }
    }
    let result = scan.finish(transaction)?;
    deliver_again(transaction, group, (begin, end))?;
    Ok(result)
}

/// Drops the messages with numbers above `after` of a group that is not taken for one of a
/// conversation.
pub(super) fn drop_messages(
    transaction: &mut Transaction<'_, '_>,
    group: &HubGroupId,
    mut after: u64,
) -> Result<(), EngineError> {
    loop {
        let page = transaction.inbox(after, PAGE)?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.number;
        for received in page {
            if received.conversation == ConversationId::Group(group.to_vec()) {
                transaction.consume(received.number)?;
            }
        }
    }
}

/// Processes the messages that arrived in the inbox since the last call. Records the texts of known
/// persons as arrived. Takes out receipts, changes of groups, repeated texts, texts of blocked
/// persons, and texts of unknown senders, which become requests. `own` is this identity.
pub(super) fn note(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    files: &NodeFiles<'_>,
    known: &KnownPersons<'_>,
) -> Result<Noted, EngineError> {
    let noted = noted(transaction)?;
    let mut after = noted;
    let mut scan = Scan::new(own, files, known);
    loop {
        let page = transaction.inbox(after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.number;
        let mut fates = Vec::with_capacity(page.len());
        for received in &page {
            fates.push((received.number, scan.note(transaction, received)?));
            if scan.has_new_rules {
                after = received.number;
                break;
            }
        }
        drop(page);
        for (number, fate) in fates {
            match fate {
                Fate::Stays => {}
                Fate::Consumed => scan.result.receipts += u64::from(transaction.consume(number)?),
                Fate::Hidden => scan.result.others += u64::from(transaction.consume(number)?),
            }
        }
        if scan.has_new_rules {
            scan.apply_rules(transaction, after)?;
        }
    }
    let mut result = scan.finish(transaction)?;
    result.replaced = files.take_replaced();
    result.team_changes = files.take_changes();
    if after > noted {
        transaction.put_record(NOTED, &[], &after.to_le_bytes())?;
    }
    Ok(result)
}

/// A scan of the inbox.
struct Scan<'s> {
    own: &'s PublicKey,
    files: &'s NodeFiles<'s>,
    known: &'s KnownPersons<'s>,
    conversations: HashMap<ConversationId, Option<Conversation>>,
    treatments: HashMap<PublicKey, Treatment>,
    arrived: HashMap<OfSeries, Arrived>,
    /// Groups that were given up and in which texts came, with the writers.
    given_up: HashSet<(Conversation, HubGroupId, Address)>,
    /// Writers of groups, and whether their texts are shown.
    writers: HashMap<(HubGroupId, Address), bool>,
    due: HashSet<Due>,
    receipts: HashMap<(Conversation, Address), Vec<TextReceipt>>,
    /// Texts that were read on other devices of this person.
    marks: HashMap<OfSeries, Runs>,
    /// True if rules changed after the last message. What comes behind it is treated by them.
    has_new_rules: bool,
    requests: Option<Requests>,
    hidden: HashMap<Conversation, Option<HiddenTeam>>,
    result: Noted,
}

impl<'s> Scan<'s> {
    fn new(own: &'s PublicKey, files: &'s NodeFiles<'s>, known: &'s KnownPersons<'s>) -> Self {
        Self {
            own,
            files,
            known,
            conversations: HashMap::new(),
            treatments: HashMap::new(),
            arrived: HashMap::new(),
            given_up: HashSet::new(),
            writers: HashMap::new(),
            due: HashSet::new(),
            receipts: HashMap::new(),
            marks: HashMap::new(),
            has_new_rules: false,
            requests: None,
            hidden: HashMap::new(),
            result: Noted::default(),
        }
    }

    fn note(
        &mut self,
        transaction: &mut Transaction<'_, '_>,
        received: &Received,
    ) -> Result<Fate, EngineError> {
        let id = &received.conversation;
        let conversation = match self.conversations.get(id) {
            Some(known) => *known,
            None => {
                let found = conversation_of(transaction, id)?;
                if found.is_none() {
                    note_passed(transaction, id)?;
                }
                self.conversations.insert(id.clone(), found);
                found
            }
        };
        // Messages of sessions that are carried in files stay as they are.
        let Some(conversation) = conversation else { return Ok(Fate::Stays) };
        if LeftTeam::of(transaction, &conversation)?.is_some() {
            return Ok(match received.kind {
                ReceivedKind::Text => Fate::Hidden,
                _ => Fate::Consumed,
            });
        }
        let group = match id {
            ConversationId::Group(group) => group.as_slice().try_into().ok(),
            _ => None,
        };
        match (received.kind, group) {
            (ReceivedKind::Note, _) => {
                self.note_receipt(transaction, &conversation, received)?;
                Ok(Fate::Consumed)
            }
            (ReceivedKind::Change, Some(_)) => {
                self.note_change(transaction, &conversation, received)?;
                Ok(Fate::Consumed)
            }
            (ReceivedKind::Text, Some(group)) => {
                if let Some(replaced) = replacement::read(&received.plaintext) {
                    self.note_replaced(transaction, received, group, &replaced)?;
                    return Ok(Fate::Consumed);
                }
                if !self.is_writer(transaction, &conversation, &group, &received.sender)? {
                    return Ok(Fate::Hidden);
                }
                self.note_text(transaction, conversation, received)
            }
            (ReceivedKind::Text, None) => self.note_text(transaction, conversation, received),
            (_, Some(_)) => Ok(Fate::Consumed),
            (_, None) => Ok(Fate::Stays),
        }
    }

    /// Takes a receipt in, or a mark or the rules of another device of this person.
    fn note_receipt(
        &mut self,
        transaction: &mut Transaction<'_, '_>,
        conversation: &Conversation,
        received: &Received,
    ) -> Result<(), EngineError> {
        let sender = received.sender;
        if sender.identity == *self.own {
            let is_newest = is_newest(transaction, self.files, conversation, &sender)?;
            if let Some((writer, mark)) = TextReceipt::read_mark(&received.plaintext, self.own)
                && is_newest
            {
                let runs = self.marks.entry((*conversation, writer, mark.series)).or_default();
                runs.add_all(&mark.runs, MAX_RUNS);
            } else if *conversation == Conversation::Person(*self.own)
                && let Some(rules) = RuleNote::read(&received.plaintext, self.own)
                && (is_newest || is_later(transaction, &received.conversation, &sender)?)
            {
                self.has_new_rules |= rule_note::take(transaction, &sender, &rules)?;
            }
            return Ok(());
        }
        if let Conversation::Person(person) = conversation
            && *person != sender.identity
        {
            return Ok(());
        }
        let kind = ReceiptKind::DELIVERED;
        let receipt = TextReceipt::read(kind, &received.plaintext, &sender.identity, self.own);
        if let Some(receipt) = receipt {
            self.receipts.entry((*conversation, sender)).or_default().push(receipt);
        }
        Ok(())
    }

    /// Takes the documents of a change, which every member has verified.
    fn note_change(
        &mut self,
        transaction: &mut Transaction<'_, '_>,
        conversation: &Conversation,
        received: &Received,
    ) -> Result<(), EngineError> {
        // A device that the change revokes has confirmed before.
        self.take_receipts(transaction)?;
        if let ConversationId::Group(id) = &received.conversation
            && let Ok(id) = id.as_slice().try_into()
        {
            let mut groups = HubGroups::of(transaction, conversation)?;
            if let Some(group) = groups.group_mut(id) {
                group.changed = records::now();
                groups.put(transaction)?;
            }
        }
        let notice = Notice::parse(&received.plaintext);
        let Some(Notice::Changed { is_removed, evidence, .. }) = notice else { return Ok(()) };
        if let Some(evidence) = evidence {
            if evidence.is_departure()
                && let Conversation::Group(team) = conversation
            {
                self.note_departure(transaction, team, &received.sender.identity)?;
            }
            for record in evidence.records() {
                note_record(transaction, self.own, record)?;
            }
            let mut result = RosterResult::Kept;
            if let Some(roster) = evidence.roster() {
                departure::settle(transaction, roster)?;
                // One change may leave a person out and take the person back.
                if let ConversationId::Group(id) = &received.conversation
                    && let Some(state) = transaction.group(id)?.and_then(|it| it.conversation)
                {
                    departure::settle_if(transaction, roster.id(), |person| {
                        state.record_of(person).is_some()
                    })?;
                }
                result = in_force::keep(transaction, self.files, roster, self.own)?;
            }
            if let Some(roster) = evidence.roster()
                && result == RosterResult::UnknownOwner
                && let Some(team) = HiddenTeam::of(transaction, roster.id())?
                && roster.supersedes(&team.roster).is_ok()
            {
                HiddenTeam { roster: roster.clone(), ..team }.put(transaction)?;
                self.hidden.clear();
            }
        }
        if is_removed && !self.result.left.contains(conversation) {
            self.result.left.push(*conversation);
        }
        Ok(())
    }

    /// Notes that a member has left a team: this person on another device, or someone else. The
    /// owner's device removes the devices of the member with its next visit.
    fn note_departure(
        &mut self,
        transaction: &mut Transaction<'_, '_>,
        team: &GroupId,
        person: &PublicKey,
    ) -> Result<(), EngineError> {
        let conversation = Conversation::Group(*team);
        let roster = self.files.roster(team);
        if person == self.own {
            if !self.result.left.contains(&conversation) {
                self.result.left.push(conversation);
            }
            return departure::finish(transaction, team, roster.map_or(0, |it| it.epoch()));
        }
        departure::note(transaction, team, person)?;
        self.result.departures.push(Departure {
            team: conversation,
            person: *person,
            is_pending: false,
        });
        if roster.is_some_and(|it| it.owner() == self.own) {
            let mut groups = HubGroups::of(transaction, &conversation)?;
            groups.documents = Documents::default();
            groups.put(transaction)?;
        }
        Ok(())
    }

    /// Gives up a group that another one replaces, if the device that says so is a member of it.
    fn note_replaced(
        &mut self,
        transaction: &mut Transaction<'_, '_>,
        received: &Received,
        group: HubGroupId,
        replaced: &HubGroupId,
    ) -> Result<(), EngineError> {
        let id = ConversationId::Group(replaced.to_vec());
        let Some(conversation) = conversation_of(transaction, &id)? else { return Ok(()) };
        let members = transaction.group_peers(replaced)?;
        let is_member = members.iter().any(|(member, _)| *member == received.sender);
        if is_member && group != *replaced {
            let groups = (&group, replaced);
            give_up_by_notice(transaction, self.own, &conversation, groups)?;
        }
        Ok(())
    }

    /// Returns true if a device may write in a conversation. The hub's order of a group tells what
    /// was written before a device was removed. A group in which this device does not send, and
    /// one that is older than the documents that are here, may never learn of the removal: in it
    /// the newest documents decide.
    fn is_writer(
        &mut self,
        transaction: &mut Transaction<'_, '_>,
        conversation: &Conversation,
        group: &HubGroupId,
        writer: &Address,
    ) -> Result<bool, EngineError> {
        let of = (*group, *writer);
        if let Some(known) = self.writers.get(&of) {
            return Ok(*known);
        }
        let mut groups = HubGroups::of(transaction, conversation)?;
        let listed = groups.group_mut(group).copied();
        if let Some(listed) = listed
            && listed.given_up > 0
            && records::now().saturating_sub(listed.given_up) > NOTICED
        {
            self.given_up.insert((*conversation, *group, *writer));
        }
        let learns = groups.first() == Some(*group) && listed.is_some_and(|it| !it.was_late);
        let is_writer = learns
            || is_newest(transaction, self.files, conversation, writer)?
            || !is_member_of(transaction, group, writer)?;
        if !is_writer {
            let members = transaction.group_peers(group)?;
            if let Some((_, peer)) = members.iter().find(|(member, _)| member == writer) {
                problem::note(transaction, ProblemClass::RECORD, peer, 0)?;
            }
        }
        self.writers.insert(of, is_writer);
        Ok(is_writer)
    }

    fn note_text(
        &mut self,
        transaction: &mut Transaction<'_, '_>,
        conversation: Conversation,
        received: &Received,
    ) -> Result<Fate, EngineError> {
        let writer = received.sender;
        let is_own = writer.identity == *self.own;
        if TextReceipt::is_in(&received.plaintext) {
            return Ok(Fate::Consumed);
        }
        match conversation {
            // A person who was answered on another device is known.
            Conversation::Person(person) if is_own => {
                self.has_new_rules |= rule::infer_accepted(transaction, &person)?;
            }
            // A text of another person than the one with whom the conversation is.
            Conversation::Person(person) if person != writer.identity => return Ok(Fate::Hidden),
            Conversation::Person(person) => match self.treatment(transaction, &person)? {
                Treatment::Shown => {}
                Treatment::Requested => return self.hold(transaction, received),
                Treatment::Dropped => {
                    *self.result.blocked.entry(person).or_default() += 1;
                    return Ok(Fate::Hidden);
                }
            },
            Conversation::Group(_) => {
                // It is noted when the team is shown.
                if let Some(fate) = self.hide(transaction, &conversation, &writer.identity)? {
                    return Ok(fate);
                }
            }
        }
        let to = match conversation {
            Conversation::Person(_) if !is_own => Conversation::Person(*self.own),
            other => other,
        };
        let text = Text::read(&received.plaintext, &writer.identity, &to);
        let id = text.and_then(|text| TextId::read(text.id()));
        let mut is_read = is_own;
        if let Some(id) = id {
            let of = (conversation, writer.identity, id.series);
            let known = match self.arrived.remove(&of) {
                Some(known) => Some(known),
                None => Arrived::of(transaction, &of)?,
            };
            let mut known = known.unwrap_or_default();
            if !is_own && !known.has(id.number) {
                let read = read_texts::of(transaction, &of)?;
                is_read = read.is_some_and(|it| it.contains(id.number));
            }
            let is_new = known.add(id.number, &received.plaintext);
            known.time = records::now();
            self.arrived.insert(of, known);
            if !is_own {
                let series = id.series;
                let subject = Subject::Texts { conversation, series, read_of: None };
                self.due.insert(Due { to: writer, subject });
            }
            // It came in another ciphertext: its writer did not get the receipt, or has new keys,
            // or a hub says that the mailbox of one that it has delivered does not exist.
            if !is_new {
                return Ok(Fate::Consumed);
            }
        }
        if !is_read {
            return Ok(Fate::Stays);
        }
        // Another device of this person wrote it, which is where it was read, or has shown it.
        if text.is_some() {
            let number = records::next_number(transaction)?;
            let plaintext = received.plaintext.clone();
            HistoryRow::new(number, false, writer, records::now(), plaintext)
                .put(transaction, &conversation)?;
        }
        Ok(Fate::Consumed)
    }

    fn treatment(
        &mut self,
        transaction: &Transaction<'_, '_>,
        person: &PublicKey,
    ) -> Result<Treatment, EngineError> {
        if let Some(treatment) = self.treatments.get(person) {
            return Ok(*treatment);
        }
        let treatment = Treatment::of(transaction, person, self.known)?;
        self.treatments.insert(*person, treatment);
        Ok(treatment)
    }

    /// Puts a text of an unknown sender into a request.
    fn hold(
        &mut self,
        transaction: &Transaction<'_, '_>,
        received: &Received,
    ) -> Result<Fate, EngineError> {
        let writer = received.sender;
        let requests = match &mut self.requests {
            Some(requests) => requests,
            None => self.requests.insert(Requests::load(transaction)?),
        };
        match requests.hold(transaction, writer, &received.plaintext)? {
            Held::Waits(dropped) => {
                *self.result.requests.entry(writer.identity).or_default() += 1;
                for (person, texts) in dropped {
                    *self.result.no_room.entry(person).or_default() += texts;
                }
            }
            Held::Repeated => {}
            Held::Dropped => *self.result.no_room.entry(writer.identity).or_default() += 1,
        }
        Ok(Fate::Hidden)
    }

    /// Returns what happens to a text of a hidden team, of which only some wait. `None` if the team
    /// is not hidden.
    fn hide(
        &mut self,
        transaction: &Transaction<'_, '_>,
        conversation: &Conversation,
        writer: &PublicKey,
    ) -> Result<Option<Fate>, EngineError> {
        let Conversation::Group(id) = conversation else { return Ok(None) };
        if !self.hidden.contains_key(conversation) {
            self.hidden.insert(*conversation, HiddenTeam::of(transaction, id)?);
        }
        let Some(Some(team)) = self.hidden.get_mut(conversation) else { return Ok(None) };
        if team.texts >= MAX_TEXTS {
            *self.result.no_room.entry(*writer).or_default() += 1;
            return Ok(Some(Fate::Hidden));
        }
        team.texts += 1;
        team.put(transaction)?;
        let request = team.request();
        if !self.result.teams.contains(&request) {
            self.result.teams.push(request);
        }
        Ok(Some(Fate::Stays))
    }

    /// Writes what was noted.
    fn finish(mut self, transaction: &mut Transaction<'_, '_>) -> Result<Noted, EngineError> {
        for (person, texts) in &self.result.blocked {
            rule::count_dropped(transaction, person, *texts)?;
        }
        for (of, arrived) in &self.arrived {
            arrived.put(transaction, of)?;
            Arrived::forget_old(transaction, &of.0)?;
        }
        for due in &self.due {
            due.put(transaction)?;
        }
        for (conversation, group, writer) in &self.given_up {
            announce_again(transaction, conversation, group)?;
            lost_member::note(transaction, conversation, |it, _| it == writer)?;
        }
        self.take_receipts(transaction)?;
        read_marks::take(transaction, self.own, &self.marks)?;
        Ok(self.result)
    }

    /// Treats what is behind the message `after` by the rules that changed with it. Requests of
    /// persons who are accepted now move to the inbox, and behind them what these persons wrote
    /// later. Their teams are shown.
    fn apply_rules(
        &mut self,
        transaction: &mut Transaction<'_, '_>,
        after: u64,
    ) -> Result<(), EngineError> {
        self.has_new_rules = false;
        self.treatments.clear();
        self.requests = None;
        let mut end = after;
        while let Some(last) = transaction.inbox(end, PAGE)?.last() {
            end = last.number;
        }
        for person in release_known(transaction, self.own, self.known)? {
            self.result.requests.remove(&person);
            for group in HubGroups::of(transaction, &Conversation::Person(person))?.groups {
                deliver_again(transaction, &group.id, (after, end))?;
            }
        }
        if show_teams(transaction, self.own, self.files, end)? {
            self.hidden.clear();
            self.result.teams.clear();
        }
        Ok(())
    }

    fn take_receipts(&mut self, transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
        for ((conversation, from), receipts) in self.receipts.drain() {
            confirmation::take(transaction, &conversation, &from, &receipts)?;
        }
        Ok(())
    }
}
