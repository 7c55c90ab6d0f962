//! MLS groups in which a conversation is held at the hub (docs/spec/node.md, "Groups of a
//! conversation").

use endseal_session::group::MembershipState;
use endseal_session::{ConversationId, Engine, EngineError};
use endseal_store::SessionStatus;

use super::conversation::Conversation;
use super::payload::HubGroupId;
use super::records::{self, GROUP, GROUPS, JOINED, Transaction};

/// Groups of a conversation that are kept.
const KEPT: usize = 64;
/// Groups that may be given up in a conversation within seven days without a text of the user: a
/// hub that withholds commits causes no more.
const MAX_GIVEN_UP: usize = 4;
/// Time in milliseconds for which a group that was given up still receives: 7 days.
const RECEIVES: u64 = 7 * 24 * 60 * 60 * 1_000;
/// Length of an encoded group: id (16) || time of giving up (8) || time of the last renewal (8) ||
/// id of the announced group (16) || 1 if a notice gave it up (1) || 1 if it was late (1) || state
/// of the notice (1) || time of the last commit (8).
const GROUP_LEN: usize = 59;
/// Conversations that are read at once.
const PAGE: usize = 256;

/// State of the notice by which the members of a group learn which one it replaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Notice {
    /// It must be encrypted.
    #[default]
    Due = 0,
    /// The hub has it.
    Stored = 1,
    /// It waits in the outbox.
    Waits = 2,
}

/// A group of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HubGroup {
    pub(super) id: HubGroupId,
    /// Time at which the group was given up, in milliseconds since 1970; 0 if it was not.
    pub(super) given_up: u64,
    /// Time at which this device renewed its keys in the group; 0 if it must do so at once.
    pub(super) renewed: u64,
    /// Group that this one replaces, of which the other members learn; zeros if there is none.
    pub(super) announces: HubGroupId,
    /// State of the notice of the announced group.
    pub(super) notice: Notice,
    /// True if it was given up because a member said that another group replaces it.
    pub(super) by_notice: bool,
    /// Time of the last commit that this device knows; 0 if it knows none.
    pub(super) changed: u64,
    /// True if it had older documents than this device when this device joined it.
    pub(super) was_late: bool,
}

impl HubGroup {
    pub(super) fn new(id: HubGroupId, renewed: u64) -> Self {
        let (announces, notice) = ([0; 16], Notice::Due);
        let (by_notice, was_late) = (false, false);
        let changed = records::now();
        Self { id, given_up: 0, renewed, announces, notice, by_notice, changed, was_late }
    }

    /// Returns the group of which the others must learn that this one replaces it.
    pub(super) fn announced(&self) -> Option<HubGroupId> {
        (self.announces != [0; 16] && self.notice == Notice::Due).then_some(self.announces)
    }

    /// Returns true if the members have not learned yet that this group replaces another one than
    /// `group`.
    pub(super) fn is_announcing(&self, group: &HubGroupId) -> bool {
        self.announces != [0; 16] && self.announces != *group && self.notice != Notice::Stored
    }

    /// Makes the others learn that this group replaces another one.
    pub(super) fn announce(&mut self, replaced: HubGroupId) {
        (self.announces, self.notice) = (replaced, Notice::Due);
    }

    fn read(bytes: &[u8; GROUP_LEN]) -> Option<Self> {
        let (id, rest) = bytes.split_first_chunk()?;
        let (given_up, rest) = rest.split_first_chunk()?;
        let (renewed, rest) = rest.split_first_chunk()?;
        let (announces, rest) = rest.split_first_chunk()?;
        let (flags, changed) = rest.split_first_chunk()?;
        let &[by_notice @ 0..=1, was_late @ 0..=1, notice] = flags else { return None };
        let notices = [Notice::Due, Notice::Stored, Notice::Waits];
        let notice = notices.into_iter().find(|it| *it as u8 == notice)?;
        Some(Self {
            id: *id,
            given_up: u64::from_le_bytes(*given_up),
            renewed: u64::from_le_bytes(*renewed),
            announces: *announces,
            notice,
            by_notice: by_notice == 1,
            changed: records::number(changed)?,
            was_late: was_late == 1,
        })
    }

    fn to_bytes(self) -> Vec<u8> {
        let times = [self.given_up.to_le_bytes(), self.renewed.to_le_bytes()].concat();
        let flags = [self.by_notice.into(), self.was_late.into(), self.notice as u8];
        [&self.id[..], &times, &self.announces, &flags, &self.changed.to_le_bytes()].concat()
    }
}

/// All groups of a conversation, in the order of their ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HubGroups {
    pub(super) conversation: Conversation,
    /// Documents that the group in which texts are sent had last.
    pub(super) documents: Documents,
    pub(super) groups: Vec<HubGroup>,
}

/// Epochs of the documents that this device brings into a group when they change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Documents {
    /// Epoch of the record of this person.
    pub(super) own: u64,
    /// Epoch of the roster of a team; 0 for other conversations.
    pub(super) roster: u64,
}

impl HubGroups {
    /// Reads the groups of a conversation: none if nothing was said in it over a hub.
    pub(super) fn of(
        transaction: &Transaction<'_, '_>,
        conversation: &Conversation,
    ) -> Result<Self, EngineError> {
        let value = transaction.record(GROUPS, &conversation.name())?;
        Self::read(*conversation, value.as_deref().map_or(&[], Vec::as_slice))
    }

    fn read(conversation: Conversation, value: &[u8]) -> Result<Self, EngineError> {
        let read = || {
            if value.is_empty() {
                return Some((Documents::default(), Vec::new()));
            }
            let (own, rest) = value.split_first_chunk()?;
            let (roster, groups) = rest.split_first_chunk()?;
            let (groups, []) = groups.as_chunks() else { return None };
            let documents =
                Documents { own: u64::from_le_bytes(*own), roster: u64::from_le_bytes(*roster) };
            Some((documents, groups.iter().map(HubGroup::read).collect::<Option<_>>()?))
        };
        let (documents, groups) = read().ok_or(EngineError::Damaged("groups"))?;
        Ok(Self { conversation, documents, groups })
    }

    /// Reads the groups of all conversations.
    pub(super) fn all(transaction: &Transaction<'_, '_>) -> Result<Vec<Self>, EngineError> {
        let (mut after, mut all) = (Vec::new(), Vec::new());
        loop {
            let page = transaction.records_after(GROUPS, &after, PAGE)?;
            let Some((last, _)) = page.last() else { return Ok(all) };
            after.clone_from(last);
            for (name, value) in &page {
                let conversation = Conversation::in_name(name);
                let conversation = conversation.ok_or(EngineError::Damaged("groups"))?;
                all.push(Self::read(conversation, value)?);
            }
        }
    }

    /// Writes the record: epoch of the person record (8) || epoch of the roster (8) || groups.
    pub(super) fn put(&self, transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
        let Documents { own, roster } = self.documents;
        let mut value = [own.to_le_bytes(), roster.to_le_bytes()].concat();
        value.extend(self.groups.iter().flat_map(|it| it.to_bytes()));
        transaction.put_record(GROUPS, &self.conversation.name(), &value)
    }

    /// Adds a group that this device has made or joined. Of more than 64 one is forgotten: the one
    /// that was given up first, or the one with the greatest id.
    pub(super) fn add(
        &mut self,
        transaction: &mut Transaction<'_, '_>,
        group: HubGroup,
    ) -> Result<(), EngineError> {
        self.groups.retain(|it| it.id != group.id);
        self.groups.push(group);
        self.groups.sort_unstable_by_key(|it| it.id);
        if self.groups.len() > KEPT {
            let given_up = self.groups.iter().enumerate().filter(|(_, it)| it.given_up > 0);
            let first = given_up.min_by_key(|(_, it)| it.given_up).map(|(at, _)| at);
            let forgotten = self.groups.remove(first.unwrap_or(KEPT));
            transaction.forget_group(&forgotten.id)?;
        }
        transaction.put_record(GROUP, &group.id, &self.conversation.name())?;
        self.put(transaction)
    }

    /// Notes a group of which this device is no member as given up.
    pub(super) fn add_unknown(
        &mut self,
        transaction: &Transaction<'_, '_>,
        group: &HubGroupId,
    ) -> Result<(), EngineError> {
        if self.groups.len() < KEPT && self.group_mut(group).is_none() {
            let now = records::now();
            self.groups.push(HubGroup { given_up: now, ..HubGroup::new(*group, now) });
            self.groups.sort_unstable_by_key(|it| it.id);
            self.put(transaction)?;
        }
        Ok(())
    }

    /// Returns true if a group may be given up because this device cannot follow it.
    pub(super) fn may_give_up(&self) -> bool {
        let given_up = self.groups.iter().filter(|it| it.given_up > 0 && !it.by_notice);
        given_up.count() < MAX_GIVEN_UP
    }

    /// Returns the group that was given up last.
    pub(super) fn last_given_up(&self) -> Option<HubGroupId> {
        let given_up = self.groups.iter().filter(|it| it.given_up > 0);
        given_up.max_by_key(|it| it.given_up).map(|it| it.id)
    }

    /// Returns the first group that was not given up: texts are sent in it, if this device is a
    /// member.
    pub(super) fn first(&self) -> Option<HubGroupId> {
        self.groups.iter().find(|it| it.given_up == 0).map(|it| it.id)
    }

    /// Sets the state of the notice of a group, if it is a group of the conversation.
    pub(super) fn set_notice(&mut self, id: &HubGroupId, notice: Notice) {
        if let Some(group) = self.group_mut(id) {
            group.notice = notice;
        }
    }

    /// Returns the group with this id.
    pub(super) fn group_mut(&mut self, id: &HubGroupId) -> Option<&mut HubGroup> {
        self.groups.iter_mut().find(|it| it.id == *id)
    }

    /// Returns the group in which texts are sent, with its state: the one with the smallest id in
    /// which this device is a member, and which was not given up. `is_usable` judges the state.
    pub(super) fn sending(
        &self,
        transaction: &mut Transaction<'_, '_>,
        is_usable: impl Fn(&MembershipState) -> bool,
    ) -> Result<Option<HubGroup>, EngineError> {
        for group in self.groups.iter().filter(|it| it.given_up == 0) {
            let Some(summary) = transaction.group(&group.id)? else { continue };
            let has_state = summary.conversation.as_ref().is_some_and(&is_usable);
            if summary.is_member && summary.status == SessionStatus::Active && has_state {
                return Ok(Some(*group));
            }
        }
        Ok(None)
    }

    /// Gives a group up: it receives for seven days, and nothing is sent in it any more. Returns
    /// false if it was given up before.
    pub(super) fn give_up(
        &mut self,
        transaction: &Transaction<'_, '_>,
        id: &HubGroupId,
    ) -> Result<bool, EngineError> {
        let Some(group) = self.group_mut(id).filter(|it| it.given_up == 0) else {
            return Ok(false);
        };
        group.given_up = records::now();
        // Members who cannot follow it have not read what was announced in it.
        group.notice = Notice::Due;
        let is_by_own = !group.by_notice;
        // The others may have said something in it that this device cannot open.
        if let Some(sending) = self.groups.iter_mut().find(|it| it.given_up == 0)
            && is_by_own
            && sending.announced().is_none()
        {
            sending.announce(*id);
        }
        // The group that takes its place may have older documents.
        self.documents = Documents::default();
        self.put(transaction)?;
        Ok(true)
    }
}

impl HubGroups {
    /// Returns true if the members must learn that a group is replaced.
    pub(super) fn must_announce(&self) -> bool {
        let sending = self.first();
        self.groups.iter().any(|it| {
            let is_sending = Some(it.id) == sending;
            it.announced().is_some_and(|replaced| is_sending || Some(replaced) != sending)
        })
    }

    /// Returns the group of which the members of `group` must learn that it is replaced. One that
    /// another group of the conversation should have announced counts as that of this one.
    pub(super) fn take_announced(&mut self, group: &HubGroupId) -> Option<HubGroupId> {
        if let own @ Some(_) = self.group_mut(group)?.announced() {
            return own;
        }
        let mut others = self.groups.iter_mut().filter(|it| it.id != *group);
        let other = others.find(|it| it.announced().is_some_and(|replaced| replaced != *group))?;
        let replaced = other.announced()?;
        other.announces = [0; 16];
        self.group_mut(group)?.announce(replaced);
        Some(replaced)
    }
}

/// Makes the members of all groups learn again which groups these replace: the hub deleted frames
/// of this device. Among them may be the last commit of a team, without which the others do not
/// learn of its roster: a notice in the new epoch makes them find that it is missing.
pub(super) fn announce_all(transaction: &Transaction<'_, '_>) -> Result<(), EngineError> {
    for mut of_conversation in HubGroups::all(transaction)? {
        let is_team = matches!(of_conversation.conversation, Conversation::Group(_));
        let mut is_lost = false;
        for group in &mut of_conversation.groups {
            is_lost |= group.notice != Notice::Due;
            group.notice = Notice::Due;
        }
        let sending = of_conversation.groups.iter_mut().find(|it| it.given_up == 0);
        if let Some(sending) = sending.filter(|it| is_team && it.renewed == it.changed)
            && sending.announced().is_none()
        {
            sending.announce(sending.id);
            is_lost = true;
        }
        if is_lost {
            of_conversation.put(transaction)?;
        }
    }
    Ok(())
}

/// Returns the conversation of a message in the inbox. `None` if it did not come over a hub.
pub(super) fn conversation_of(
    transaction: &Transaction<'_, '_>,
    id: &ConversationId,
) -> Result<Option<Conversation>, EngineError> {
    match id {
        ConversationId::Person(person) => Ok(Some(Conversation::Person(*person))),
        ConversationId::Group(group) => match group.as_slice().try_into() {
            Ok(group) => conversation_of_group(transaction, group),
            Err(_) => Ok(None),
        },
        _ => Ok(None),
    }
}

/// Returns true if a conversation is one of the MLS groups at the hub, also if it was not compared
/// with what is known of its persons yet.
pub(crate) fn is_hub_group(
    transaction: &Transaction<'_, '_>,
    id: &ConversationId,
) -> Result<bool, EngineError> {
    let ConversationId::Group(group) = id else { return Ok(false) };
    Ok(transaction.record(GROUP, group)?.is_some() || transaction.record(JOINED, group)?.is_some())
}

/// Returns the ids of the MLS groups that are carried in files.
///
/// # Errors
/// Returns [`EngineError`] if the store fails.
pub fn carried_groups(engine: &mut Engine) -> Result<Vec<Vec<u8>>, EngineError> {
    let mut groups = engine.groups()?;
    engine.transaction(|transaction| {
        let mut is_carried = Vec::with_capacity(groups.len());
        for group in &groups {
            is_carried.push(!is_hub_group(transaction, &ConversationId::Group(group.clone()))?);
        }
        let mut is_carried = is_carried.into_iter();
        groups.retain(|_| is_carried.next().unwrap_or_default());
        Ok(groups)
    })
}

/// Returns the conversation that is held in a group.
pub(super) fn conversation_of_group(
    transaction: &Transaction<'_, '_>,
    group: &HubGroupId,
) -> Result<Option<Conversation>, EngineError> {
    let Some(name) = transaction.record(GROUP, group)? else { return Ok(None) };
    Conversation::in_name(&name).map(Some).ok_or(EngineError::Damaged("group"))
}

/// Forgets the groups that were given up more than seven days ago.
pub(super) fn forget_old(transaction: &mut Transaction<'_, '_>) -> Result<(), EngineError> {
    let now = records::now();
    for mut of_conversation in HubGroups::all(transaction)? {
        let is_old = |it: &HubGroup| it.given_up > 0 && now.saturating_sub(it.given_up) > RECEIVES;
        let old: Vec<_> = of_conversation.groups.iter().copied().filter(is_old).collect();
        if old.is_empty() {
            continue;
        }
        for group in &old {
            transaction.forget_group(&group.id)?;
        }
        of_conversation.groups.retain(|it| !is_old(it));
        of_conversation.put(transaction)?;
    }
    Ok(())
}
