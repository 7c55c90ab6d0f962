//! Processing of a batch: blocks of messages, the conversations that open them, the rows to write
//! and the result of each message. Access to the store and the threads are in other modules.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::accept_context::{AcceptContext, AccountSlot, Own, UnknownSenders};
use super::body_digest::{BodyDigest, Recognizer};
use super::changeset::Changeset;
use super::conversation::Conversation;
use super::conversation_state::{
    BatchDedup, ConversationState, DirectConversation, GroupConversation, Loaded, parked_outcome,
    parked_row,
};
use super::parking_budget::ParkingBudget;
use super::store_request::{Load, Question, Write};
use super::task::{Entry, Opened, Task};
use endseal_store::Seen;

use crate::envelope::MAX_ID_LEN;
use crate::{
    BatchOptions, BatchReport, EngineError, Envelope, Failure, Origin, Outcome, PairwiseAccount,
    Released,
};

/// Number of origins in a block that are compared before the map is used.
const RECENT: usize = 8;

/// Cached devices and groups above which the cache is emptied after a batch.
const MAX_LANES: usize = 1_024;

/// Cached sessions, groups and account. Every failure drops the cache; the store is authoritative.
pub(super) struct StateCache<A: PairwiseAccount> {
    pub(super) conversation_states: HashMap<Conversation, (ConversationState<A>, BatchDedup)>,
    pub(super) account: Arc<Mutex<AccountSlot<A>>>,
    pub(super) unknown_senders: UnknownSenders,
    own: Own,
    pub(super) budget: Arc<ParkingBudget>,
    recognizer: Recognizer,
}

impl<A: PairwiseAccount> StateCache<A> {
    pub(super) fn new(
        account: A,
        unknown_senders: UnknownSenders,
        own: Own,
        budget: Arc<ParkingBudget>,
        recognizer: Recognizer,
    ) -> Self {
        Self {
            conversation_states: HashMap::new(),
            account: Arc::new(Mutex::new(AccountSlot::new(account))),
            unknown_senders,
            own,
            budget,
            recognizer,
        }
    }

    /// Cached state of one conversation. Created empty when the cache has no entry for it.
    pub(super) fn conversation_state(
        &mut self,
        conversation: &Conversation,
    ) -> &mut (ConversationState<A>, BatchDedup) {
        if !self.conversation_states.contains_key(conversation) {
            let conversation_state = match conversation.group_id() {
                Some(id) => ConversationState::Group(GroupConversation::new(id)),
                None => ConversationState::Person(DirectConversation::new()),
            };
            let dedup = BatchDedup::new(self.recognizer.clone());
            self.conversation_states.insert(conversation.clone(), (conversation_state, dedup));
        }
        match self.conversation_states.get_mut(conversation) {
            Some(conversation_state) => conversation_state,
            None => unreachable!("it was put there"),
        }
    }

    /// Returns the digest of a ciphertext, or of a content that was opened outside of the sessions.
    pub(super) fn digest(&self, body: &[u8]) -> BodyDigest {
        self.recognizer.digest(body)
    }

    /// Returns the state that conversations share while their messages are opened.
    pub(super) fn accept_context(&self) -> AcceptContext<A> {
        let (account, budget) = (Arc::clone(&self.account), Arc::clone(&self.budget));
        AcceptContext::new(account, self.unknown_senders, self.own, budget)
    }

    /// Adds to `loads` the states that must be read before messages of a conversation can be
    /// opened.
    pub(super) fn need(
        &mut self,
        conversation: &Conversation,
        sender: Option<endseal_keyring::device::Address>,
        loads: &mut Vec<Load>,
    ) {
        let nothing_parked = self.budget.is_unused();
        let (conversation_state, dedup) = self.conversation_state(conversation);
        match (conversation_state, sender) {
            (ConversationState::Person(person), Some(address)) if !person.has(address.device) => {
                let asked = loads.iter().any(|it| matches!(it, Load::Device(a) if *a == address));
                if !asked {
                    loads.push(Load::Device(address));
                }
            }
            (ConversationState::Group(group), None) if !group.is_loaded() => {
                let asked =
                    loads.iter().any(|it| matches!(it, Load::Group(c) if c == conversation));
                if !asked {
                    loads.push(Load::Group(conversation.clone()));
                }
            }
            _ => {}
        }
        if dedup.parking.is_loaded() {
            return;
        }
        if nothing_parked {
            dedup.parking.load(Vec::new());
            return;
        }
        let asked = loads.iter().any(|it| matches!(it, Load::Parked(c) if c == conversation));
        if !asked {
            // After its group, whose epoch decides which parked messages are early.
            loads.push(Load::Parked(conversation.clone()));
        }
    }

    /// Adds states that were read from the store to the cache.
    pub(super) fn take_in(&mut self, loaded: Vec<(Conversation, Loaded<A::Ratchet>)>) {
        for (conversation, loaded) in loaded {
            let (conversation_state, dedup) = self.conversation_state(&conversation);
            conversation_state.load(loaded, dedup);
        }
    }

    /// Returns the changes since the last transaction.
    pub(super) fn states(&mut self) -> Result<Changeset, EngineError> {
        let mut states = Changeset::default();
        for (conversation_state, _) in self.conversation_states.values_mut() {
            conversation_state.save(&mut states)?;
        }
        let mut slot = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        if core::mem::take(&mut slot.changed) {
            states.account = Some(slot.account.save());
        }
        Ok(states)
    }

    /// Ends a batch that was committed: limits the size of the cache and clears the delivered ids.
    pub(super) fn settle(&mut self) {
        // The addresses come from unauthenticated envelopes, so their number must be limited.
        if self
            .conversation_states
            .values()
            .map(|(conversation_state, _)| conversation_state.len())
            .sum::<usize>()
            > MAX_LANES
        {
            self.conversation_states.clear();
        }
        for (_, dedup) in self.conversation_states.values_mut() {
            dedup.clear();
        }
    }
}

/// Messages of one block, grouped by conversation.
pub(super) struct Block<'e> {
    range: Range<usize>,
    groups: Vec<(Conversation, Vec<Task<'e>>)>,
    /// Indices of messages with an invalid id, position or origin.
    malformed: Vec<usize>,
}

/// Messages of one conversation in one block, with its state.
pub(super) struct ConversationWork<'e, A: PairwiseAccount> {
    pub(super) conversation: Conversation,
    pub(super) conversation_state: ConversationState<A>,
    pub(super) dedup: BatchDedup,
    pub(super) tasks: Vec<Task<'e>>,
}

/// Results of one conversation in one block, with its state.
pub(super) struct ConversationDone<'e, A: PairwiseAccount> {
    pub(super) conversation: Conversation,
    pub(super) conversation_state: ConversationState<A>,
    pub(super) dedup: BatchDedup,
    pub(super) entries: Vec<Entry<'e>>,
}

/// A batch of messages in progress: decides what is read and written, and collects the results.
pub(super) struct Batch<'e, A: PairwiseAccount> {
    envelopes: &'e [Envelope<'e>],
    pub(super) state_cache: &'e mut StateCache<A>,
    outcomes: Vec<Option<Outcome>>,
    released: Vec<(usize, Released)>,
    /// Results that wait for the number of their delivery, in the order in which the rows were
    /// written.
    numbers_due: VecDeque<Due>,
    /// Results that repeat those of another message: index of the message, index of the message
    /// under which the other was opened, and the id of both.
    repeated: Vec<(usize, usize, Vec<u8>)>,
    written: usize,
}

enum Due {
    Outcome(usize),
    Released(usize),
}

impl<'e, A: PairwiseAccount> Batch<'e, A> {
    pub(super) fn new(envelopes: &'e [Envelope<'e>], state_cache: &'e mut StateCache<A>) -> Self {
        Self {
            envelopes,
            state_cache,
            outcomes: alloc::vec![None; envelopes.len()],
            released: Vec::new(),
            numbers_due: VecDeque::new(),
            repeated: Vec::new(),
            written: 0,
        }
    }

    /// Groups the messages of `range` by conversation, and returns what must be read from the
    /// store.
    pub(super) fn plan(&mut self, range: Range<usize>) -> (Block<'e>, Question<'e>) {
        let len = range.len();
        let mut block = Block { range: range.clone(), groups: Vec::new(), malformed: Vec::new() };
        let mut question = Question { loads: Vec::new(), ids: Vec::new() };
        let mut places: HashMap<Conversation, usize> = HashMap::new();
        // Most blocks have few conversations: comparing with some of them is cheaper than hashing.
        let mut recent: Vec<(Origin<'e>, usize)> = Vec::with_capacity(RECENT);
        for index in range {
            let Some(envelope) = self.envelopes.get(index) else { continue };
            let valid = (1..=MAX_ID_LEN).contains(&envelope.id.len())
                && envelope.position.len() <= MAX_ID_LEN;
            if !valid {
                block.malformed.push(index);
                continue;
            }
            let sender = match envelope.origin {
                Origin::Device(address) => Some(address),
                Origin::Group(_) => None,
            };
            let known = recent.iter().find(|(origin, _)| *origin == envelope.origin);
            let place = match known.map(|(_, place)| *place) {
                Some(place) => place,
                None => {
                    let Some(conversation) = Conversation::of(envelope.origin) else {
                        block.malformed.push(index);
                        continue;
                    };
                    self.state_cache.need(&conversation, sender, &mut question.loads);
                    // Expected size if the messages are spread evenly over the conversations seen
                    // so far.
                    let room = len / (block.groups.len() + 1);
                    let place = *places.entry(conversation).or_insert_with_key(|conversation| {
                        block.groups.push((conversation.clone(), Vec::with_capacity(room)));
                        question.ids.push((conversation.clone(), Vec::with_capacity(room)));
                        block.groups.len() - 1
                    });
                    if recent.len() < RECENT {
                        recent.push((envelope.origin, place));
                    }
                    place
                }
            };
            if let (Some((_, tasks)), Some((_, ids))) =
                (block.groups.get_mut(place), question.ids.get_mut(place))
            {
                tasks.push(Task {
                    index,
                    id: envelope.id,
                    sender,
                    body: envelope.body,
                    seen: None,
                });
                ids.push(envelope.id);
            }
        }
        (block, question)
    }

    /// Takes the states of a block out of the cache, and adds the stored deliveries of the ids.
    pub(super) fn begin(
        &mut self,
        block: Block<'e>,
        seen: Vec<Vec<Option<Seen>>>,
    ) -> Vec<ConversationWork<'e, A>> {
        for index in block.malformed {
            self.set(index, Outcome::Failed(Failure::Malformed));
        }
        let mut work = Vec::with_capacity(block.groups.len());
        for ((conversation, mut tasks), seen) in block.groups.into_iter().zip(seen) {
            for (task, seen) in tasks.iter_mut().zip(seen) {
                task.seen = seen;
            }
            self.state_cache.conversation_state(&conversation);
            if let Some((conversation_state, dedup)) =
                self.state_cache.conversation_states.remove(&conversation)
            {
                work.push(ConversationWork { conversation, conversation_state, dedup, tasks });
            }
        }
        debug_assert!(block.range.end <= self.outcomes.len());
        work
    }

    /// Puts the states back, and returns the rows to write, in the order of delivery.
    pub(super) fn end(&mut self, done: Vec<ConversationDone<'e, A>>) -> Vec<Write<'e>> {
        let mut conversation_states = Vec::with_capacity(done.len());
        let (mut start, mut end, mut count) = (usize::MAX, 0, 0);
        for ConversationDone { conversation, conversation_state, dedup, mut entries } in done {
            // They are nearly sorted. The sort is stable, so a released parked message stays after
            // the message that released it.
            entries.sort_by_key(|entry| entry.index);
            if let (Some(first), Some(last)) = (entries.first(), entries.last()) {
                (start, end) = (start.min(first.index), end.max(last.index + 1));
            }
            count += entries.len();
            conversation_states.push((conversation.clone(), entries));
            self.state_cache.conversation_states.insert(conversation, (conversation_state, dedup));
        }
        // A counting sort: the indices of a block are few and lie in one range.
        let mut ends = alloc::vec![0; end.saturating_sub(start) + 1];
        for entry in conversation_states.iter().flat_map(|(_, entries)| entries) {
            if let Some(at) = ends.get_mut(entry.index - start + 1) {
                *at += 1;
            }
        }
        let mut sum = 0;
        for at in &mut ends {
            sum += *at;
            *at = sum;
        }
        let mut order = alloc::vec![0; count];
        for (conversation_state, (_, entries)) in conversation_states.iter().enumerate() {
            for entry in entries {
                if let Some(at) = ends.get_mut(entry.index - start)
                    && let Some(place) = order.get_mut(*at)
                {
                    *place = conversation_state;
                    *at += 1;
                }
            }
        }
        let mut conversation_states: Vec<_> = conversation_states
            .into_iter()
            .map(|(it, entries)| (it, entries.into_iter()))
            .collect();
        let mut writes = Vec::with_capacity(count);
        for conversation_state in order {
            if let Some((conversation, entries)) = conversation_states.get_mut(conversation_state)
                && let Some(entry) = entries.next()
            {
                let conversation = conversation.clone();
                self.settle_entry(conversation, entry, &mut writes);
            }
        }
        writes
    }

    fn settle_entry(
        &mut self,
        conversation: Conversation,
        entry: Entry<'e>,
        writes: &mut Vec<Write<'e>>,
    ) {
        let Entry { index, id, was_parked, replaces, decided, result } = entry;
        if was_parked || replaces {
            let (conversation, id) = (conversation.clone(), id.clone());
            writes.push(Write::Unpark { conversation, id });
        }
        if let Some(accepted) = decided {
            writes.push(Write::Decide { conversation: conversation.clone(), accepted });
        }
        match result {
            Opened::Delivery(delivery) => {
                if was_parked {
                    self.numbers_due.push_back(Due::Released(self.released.len()));
                    let outcome = Outcome::Delivered(0);
                    self.released.push((index, Released { id: id.to_vec(), outcome }));
                } else {
                    self.numbers_due.push_back(Due::Outcome(index));
                }
                writes.push(Write::Deliver { conversation, id, delivery });
            }
            Opened::Park { device, reason, epoch, body } => {
                self.set(index, parked_outcome(reason, epoch));
                let row = parked_row(&id, device, reason, epoch, &body);
                writes.push(Write::Park { conversation, row });
            }
            Opened::Waits(outcome) => self.set(index, outcome),
            Opened::Known(number) => self.set(index, Outcome::AlreadyDelivered(number)),
            Opened::Repeated(first) => self.repeated.push((index, first, id.into_owned())),
            Opened::Failed(failure) if was_parked => {
                let outcome = Outcome::Failed(failure);
                self.released.push((index, Released { id: id.to_vec(), outcome }));
            }
            Opened::Failed(failure) => self.set(index, Outcome::Failed(failure)),
        }
    }

    /// Assigns the numbers of deliveries, in the order of the writes.
    pub(super) fn number(&mut self, numbers: Vec<u64>) {
        for number in numbers {
            match self.numbers_due.pop_front() {
                Some(Due::Outcome(index)) => self.set(index, Outcome::Delivered(number)),
                Some(Due::Released(place)) => {
                    if let Some((_, released)) = self.released.get_mut(place) {
                        released.outcome = Outcome::Delivered(number);
                    }
                }
                None => debug_assert!(false, "more numbers than deliveries"),
            }
        }
        for (index, first, id) in core::mem::take(&mut self.repeated) {
            match self.outcome_of(first, &id) {
                Some(Outcome::Delivered(number)) if number > 0 => {
                    self.set(index, Outcome::AlreadyDelivered(number));
                }
                // The number of the other message is not known yet.
                _ => self.repeated.push((index, first, id)),
            }
        }
    }

    /// Returns the result of the message with this id that was released by message `first`, or of
    /// `first` itself.
    fn outcome_of(&self, first: usize, id: &[u8]) -> Option<Outcome> {
        let released = self.released.iter().find(|(index, it)| *index == first && it.id == id);
        match released {
            Some((_, released)) => Some(released.outcome),
            None => self.outcomes.get(first).copied().flatten(),
        }
    }

    /// Returns the writes for parked messages that were released without a message of the batch.
    pub(super) fn release(
        &mut self,
        conversation: &Conversation,
        entries: Vec<Entry<'e>>,
    ) -> Vec<Write<'e>> {
        let mut writes = Vec::with_capacity(entries.len());
        for entry in entries {
            self.settle_entry(conversation.clone(), entry, &mut writes);
        }
        writes
    }

    /// Returns the parked messages that were released, with their results.
    pub(super) fn into_released(self) -> Vec<Released> {
        self.released.into_iter().map(|(_, released)| released).collect()
    }

    /// Notes that the writes of all messages before `at` were passed to the store.
    pub(super) fn write_up_to(&mut self, at: usize) {
        self.written = at;
    }

    /// Number of messages whose writes were passed to the store.
    pub(super) fn written(&self) -> usize {
        self.written
    }

    /// Returns the changed states, and the position of the queue after the messages before `at`.
    pub(super) fn states(
        &mut self,
        at: usize,
        options: &BatchOptions,
    ) -> Result<Changeset, EngineError> {
        let mut states = self.state_cache.states()?;
        if !options.queue.is_empty() {
            let done = self.envelopes.get(..at).unwrap_or_default();
            let position = done.iter().rev().map(|it| it.position).find(|it| !it.is_empty());
            states.cursor = position.map(|it| (options.queue.clone(), it.to_vec()));
        }
        Ok(states)
    }

    /// Returns the results of the messages in `range`.
    pub(super) fn outcomes(&self, range: Range<usize>) -> Vec<Outcome> {
        let done = self.outcomes.get(range).unwrap_or_default();
        done.iter().map(|it| it.unwrap_or(UNFINISHED)).collect()
    }

    /// Returns the report on the first `done` messages.
    pub(super) fn finish(self, done: usize, commits: u32) -> BatchReport {
        let outcomes = self.outcomes(0..done);
        let released = self.released.into_iter().filter(|(index, _)| *index < done);
        let released = released.map(|(_, released)| released).collect();
        BatchReport { outcomes, released, commits }
    }

    fn set(&mut self, index: usize, outcome: Outcome) {
        if let Some(place) = self.outcomes.get_mut(index) {
            *place = Some(outcome);
        }
    }
}

/// Placeholder for a missing result; finished blocks have none.
const UNFINISHED: Outcome = Outcome::Failed(Failure::NoSession);

impl<'e, A: PairwiseAccount> ConversationWork<'e, A> {
    /// Opens the messages of the conversation.
    pub(super) fn run(mut self, accept_context: &AcceptContext<A>) -> ConversationDone<'e, A> {
        let entries = self.conversation_state.work(&mut self.dedup, self.tasks, accept_context);
        ConversationDone {
            conversation: self.conversation,
            conversation_state: self.conversation_state,
            dedup: self.dedup,
            entries,
        }
    }
}
