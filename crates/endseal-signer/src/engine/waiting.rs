//! Queue of requests that wait for a person's decision.

use core::mem;

use endseal_crypto::secret::Zeroizing;
use endseal_nostr::connect::{Answer, Refusal, Request};
use endseal_nostr::key::PublicKey;
use endseal_nostr::policy::{Action, Bound, Effect, Kinds, MAX_SCOPE_LIFETIME, Pattern};

use super::arrival::Carrier;
use super::batch::{Batch, record};
use super::request::{Decided, ended};
use super::{entry_of, holds};
use crate::control::{CommandError, Remember};
use crate::error::StateError;
use crate::metrics::Outcome;
use crate::records::line::{LogVerdict, Matter};
use crate::state::State;
use crate::text::BoundedText;

/// Timeout in seconds after which a waiting request is refused.
pub(crate) const PERSON: u64 = 60;
/// Timeout of a signer with a page, to which the app sends its user. The user may have to sign a
/// browser in first.
pub(crate) const PERSON_WITH_PAGE: u64 = 300;
/// Maximum number of waiting requests of one app.
const MAX_OF_APP: usize = 8;
/// Maximum number of waiting requests of all apps.
const MAX: usize = 64;
/// Smallest number of a waiting request. Numbers have six digits for at least 800,000 requests.
const FIRST: u32 = 100_000;

/// Request that waits for a decision.
pub(super) struct Entry {
    pub(super) number: u32,
    pub(super) transport: [u8; 32],
    digest: [u8; 32],
    carrier: Carrier,
    pub(super) action: Action,
    /// JSON of the request, from which it is parsed again.
    pub(super) json: Zeroizing<Vec<u8>>,
    pub(super) until: u64,
    /// The device that executes the request; none if a person decides it here.
    pub(super) device: Option<AtDevice>,
}

/// Allowed request that waits for the device with the user's key.
#[derive(Clone, Copy)]
pub(super) struct AtDevice {
    pub(super) user: PublicKey,
    /// Rule that allowed the request, 0 for none.
    pub(super) rule: u32,
    /// False for a repetition, which has its line already.
    pub(super) is_new: bool,
    /// True once the device has it.
    pub(super) is_sent: bool,
}

impl Entry {
    /// The entry as a request that is decided. `request` is parsed from its JSON.
    pub(super) const fn decided<'r, 'a>(&self, request: &'r Request<'a>) -> Decided<'r, 'a> {
        let Self { transport, digest, carrier, .. } = self;
        Decided { transport: *transport, digest: *digest, carrier: *carrier, request }
    }
}

/// Queue of the requests that wait. It is in memory only, so a restart empties it.
#[derive(Default)]
pub(super) struct Waiting {
    entries: Vec<Entry>,
    last: u32,
    /// Number of the newest request before the current transaction.
    last_before: u32,
    /// Requests that the current transaction removes. They wait again if it fails.
    removed: Vec<Entry>,
}

impl Waiting {
    /// Creates an empty queue whose numbers start at a place that `first` selects. It differs for
    /// each start of the process, so that a number does not name two requests.
    pub(super) fn from(first: u32) -> Self {
        Self { last: FIRST + first % FIRST, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the same request of this app is already waiting.
    pub(super) fn has(&self, transport: &[u8; 32], digest: &[u8; 32]) -> bool {
        self.entries.iter().any(|it| it.transport == *transport && it.digest == *digest)
    }

    /// Returns the waiting requests in the order of their arrival.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn entries_mut(&mut self) -> &mut [Entry] {
        &mut self.entries
    }

    fn next_number(&mut self) -> u32 {
        self.last = self.last.wrapping_add(1).max(1);
        self.last
    }

    /// Queues an allowed request for a device. Returns false if the queue is full.
    pub(super) fn push_for_device(
        &mut self,
        decided: &Decided<'_, '_>,
        action: &Action,
        device: AtDevice,
        now: u64,
    ) -> bool {
        if !self.has_room(&decided.transport) {
            return false;
        }
        let number = self.next_number();
        self.entries.push(Entry {
            number,
            transport: decided.transport,
            digest: decided.digest,
            carrier: decided.carrier,
            action: *action,
            json: json(decided.request),
            until: now.saturating_add(PERSON),
            device: Some(device),
        });
        true
    }

    /// Removes a request that waits for a device.
    pub(super) fn take_from_device(&mut self, number: u32) -> Option<Entry> {
        let at = self.entries.iter().position(|it| it.number == number && it.device.is_some())?;
        Some(self.entries.remove(at))
    }

    /// Remembers the state of the queue at the start of a transaction.
    pub(super) fn begin(&mut self) {
        self.last_before = self.last;
        self.removed.clear();
    }

    /// Restores the queue after a transaction that failed. Requests that the transaction added are
    /// dropped, because they are answered with an error.
    pub(super) fn roll_back(&mut self) {
        self.entries.append(&mut self.removed);
        let added = self.last.wrapping_sub(self.last_before);
        let last = self.last;
        self.entries.retain(|it| last.wrapping_sub(it.number) >= added);
        self.entries.sort_by_key(|it| it.number);
    }

    /// Removes requests that were decided by a transaction whose commit reported failure but is
    /// durable nevertheless.
    pub(super) fn forget_decided(&mut self, state: &State) {
        self.entries.retain(|it| {
            let app = state.app(&it.transport).map(|app| app.app().number());
            let decision = app.and_then(|app| state.request(app, &it.digest));
            decision.is_none_or(|it| it.verdict == LogVerdict::Asks)
        });
    }

    /// Returns true if a request has waited longer than the timeout.
    pub(super) fn has_late(&self, now: u64) -> bool {
        self.entries.iter().any(|it| is_late(it, now))
    }

    fn has_room(&self, transport: &[u8; 32]) -> bool {
        let of_app = self.entries.iter().filter(|it| it.transport == *transport).count();
        of_app < MAX_OF_APP && self.entries.len() < MAX
    }

    /// Returns the transport key of the app whose request waits under a number.
    pub(super) fn transport_of(&self, number: u32) -> Option<[u8; 32]> {
        self.entries.iter().find(|it| it.number == number).map(|it| it.transport)
    }

    fn is_at_device(&self, number: u32) -> bool {
        self.entries.iter().any(|it| it.number == number && it.device.is_some())
    }

    fn take(&mut self, number: u32) -> Option<Entry> {
        let at = self.entries.iter().position(|it| it.number == number)?;
        Some(self.entries.remove(at))
    }

    /// Removes the requests of an app and returns their JSON.
    fn take_of(&mut self, transport: &[u8; 32]) -> Vec<Zeroizing<Vec<u8>>> {
        let is_of = |it: &Entry| it.transport == *transport;
        let (mut of, kept): (Vec<_>, _) = mem::take(&mut self.entries).into_iter().partition(is_of);
        self.entries = kept;
        let json = of.iter().map(|it| it.json.clone()).collect();
        self.removed.append(&mut of);
        json
    }

    fn take_late(&mut self, now: u64) -> Vec<Entry> {
        let is_late = |it: &Entry| is_late(it, now);
        let (late, kept) = mem::take(&mut self.entries).into_iter().partition(is_late);
        self.entries = kept;
        late
    }
}

/// A request also times out if the clock was set back, so that none waits longer than it should.
fn is_late(entry: &Entry, now: u64) -> bool {
    entry.until <= now || entry.until > now.saturating_add(PERSON_WITH_PAGE)
}

impl Batch<'_> {
    /// Refuses the waiting requests of an app that ends.
    pub(super) fn refuse_waiting(&mut self, transport: &[u8; 32]) {
        for mut json in self.parts.waiting.take_of(transport) {
            if let Ok(request) = Request::parse(&mut json) {
                self.refuse_request(transport, &request, Refusal::Revoked);
            }
        }
    }

    /// Refuses all waiting requests, because the signer is stopping.
    pub(super) fn refuse_all(&mut self) -> Result<(), StateError> {
        let entries = mem::take(&mut self.parts.waiting.entries);
        self.refuse_late(&entries)
    }

    /// Queues a request until a person decides, unless the queue is full.
    pub(super) fn ask(
        &mut self,
        decided: &Decided<'_, '_>,
        action: &Action,
        rule: u32,
    ) -> Result<(), StateError> {
        let Decided { transport, request, .. } = decided;
        if !self.parts.waiting.has_room(transport) {
            self.refuse_request(transport, request, Refusal::Busy);
            return Ok(());
        }
        let waiting = &mut self.parts.waiting;
        let number = waiting.next_number();
        waiting.entries.push(Entry {
            number,
            transport: *transport,
            digest: decided.digest,
            carrier: decided.carrier,
            action: *action,
            json: json(request),
            until: self.now.saturating_add(match self.parts.page {
                Some(_) => PERSON_WITH_PAGE,
                None => PERSON,
            }),
            device: None,
        });
        self.parts.metrics.request(request.method.name(), Outcome::Asked);
        let entry = self.entry(decided, Some(action), LogVerdict::Asks, rule);
        self.append(entry)?;
        if let Some(page) = &self.parts.page {
            let url = format!("{page}/request/{number}");
            self.answer(transport, request.id, &Answer::AuthUrl(&url));
        }
        Ok(())
    }

    /// Executes or refuses a waiting request as a person decided. With `remember` a rule is added,
    /// too.
    pub(super) fn resolve(
        &mut self,
        number: u32,
        effect: Effect,
        remember: Option<Remember>,
    ) -> Result<Result<(), CommandError>, StateError> {
        if effect == Effect::Allow && self.parts.waiting.is_at_device(number) {
            let cause = "the request waits for the button of the device";
            return Ok(Err(CommandError::Invalid(cause.to_owned())));
        }
        let Some(entry) = self.parts.waiting.take(number) else {
            return Ok(Err(CommandError::NotWaiting(number)));
        };
        let app = self.transaction.app(&entry.transport);
        let has_ended = app.is_none_or(|app| ended(app.app(), self.now).is_some());
        if is_late(&entry, self.now) || (effect == Effect::Allow && has_ended) {
            // The request or its app has expired since the last tick.
            let timed_out = self.refuse_late(core::slice::from_ref(&entry));
            self.parts.waiting.removed.push(entry);
            return timed_out.map(|()| Err(CommandError::NotWaiting(number)));
        }
        let resolved = self.resolve_entry(&entry, effect, remember);
        let waiting = &mut self.parts.waiting;
        match resolved {
            // The decision failed, so the request keeps waiting at its place in the queue.
            Ok(Err(_)) => {
                waiting.entries.push(entry);
                waiting.entries.sort_by_key(|it| it.number);
            }
            // If the decision cannot be written, a rollback restores the request.
            _ => waiting.removed.push(entry),
        }
        resolved
    }

    fn resolve_entry(
        &mut self,
        entry: &Entry,
        effect: Effect,
        remember: Option<Remember>,
    ) -> Result<Result<(), CommandError>, StateError> {
        let app = self.transaction.app(&entry.transport);
        let is_locked = app.is_none_or(|it| !holds(&self.parts.keys, it.app()));
        if effect == Effect::Allow && is_locked {
            return Ok(Err(CommandError::Locked));
        }
        let rule = match remember {
            Some(remember) => match self.remember(entry, effect, remember)? {
                Ok(number) => number,
                Err(error) => return Ok(Err(error)),
            },
            None => 0,
        };
        let matter = if effect == Effect::Allow { Matter::Approved } else { Matter::Denied };
        if let Some(app) = self.transaction.app(&entry.transport) {
            let mut line = entry_of(app.app(), matter, self.now);
            line.rule = rule;
            line.request = entry.digest;
            self.append(line)?;
        }
        let verdict =
            if effect == Effect::Allow { LogVerdict::Allowed } else { LogVerdict::Denied };
        self.end(entry, verdict, rule)?;
        Ok(Ok(()))
    }

    /// Refuses the requests whose timeout has passed.
    pub(super) fn time_out(&mut self) -> Result<(), StateError> {
        let entries = self.parts.waiting.take_late(self.now);
        self.refuse_late(&entries)
    }

    /// Refuses requests without a decision. If one fails, the others are still noted, so that each
    /// gets an error.
    fn refuse_late(&mut self, entries: &[Entry]) -> Result<(), StateError> {
        let mut outcome = Ok(());
        for entry in entries {
            let transport = entry.transport;
            if let Ok(request) = Request::parse(&mut entry.json.clone()) {
                self.note(&transport, request.id);
            }
            outcome = outcome.and_then(|()| self.end(entry, LogVerdict::Timeout, 0));
        }
        outcome
    }

    fn end(&mut self, entry: &Entry, verdict: LogVerdict, rule: u32) -> Result<(), StateError> {
        let Entry { transport, action, json, .. } = entry;
        let mut json = json.clone();
        // The JSON was written from a parsed request, so it parses.
        let Ok(request) = Request::parse(&mut json) else { return Ok(()) };
        let decided = entry.decided(&request);
        // If the app expired while its request waited, the request is not executed.
        let app = self.transaction.app(transport);
        let end = app.and_then(|app| ended(app.app(), self.now));
        if let Some(refusal) = end.filter(|_| verdict == LogVerdict::Allowed) {
            self.refuse_request(transport, &request, refusal);
            return Ok(());
        }
        if verdict == LogVerdict::Allowed {
            return match request.call() {
                Ok(call) => self.execute(&decided, &call, Some(action), rule, true),
                Err(_) => Ok(()),
            };
        }
        let line = self.entry(&decided, Some(action), verdict, rule);
        self.append(line)?;
        let refusal =
            if verdict == LogVerdict::Timeout { Refusal::Timeout } else { Refusal::Denied };
        self.refuse_request(transport, &request, refusal);
        Ok(())
    }

    /// Adds a rule for requests like this one and returns the number of the rule.
    fn remember(
        &mut self,
        entry: &Entry,
        effect: Effect,
        remember: Remember,
    ) -> Result<Result<u32, CommandError>, StateError> {
        let number = self.rules(&entry.transport).iter().map(|it| it.number).max();
        let number = number.unwrap_or_default().saturating_add(1);
        let pattern = pattern(&entry.action);
        let mut rule = pattern.rule(effect, number, self.now);
        let lifetime = match entry.action.scope() {
            // A rule for a login or token ends, even if none was requested.
            Some(_) if effect == Effect::Allow => {
                Some(remember.lifetime.unwrap_or(MAX_SCOPE_LIFETIME).min(MAX_SCOPE_LIFETIME))
            }
            _ => remember.lifetime,
        };
        rule.expires = lifetime.map(|seconds| self.now.saturating_add(seconds.max(1)));
        let Some(record) = rule.check().ok().and_then(|()| record(&rule)) else {
            let cause = "no rule can remember this decision";
            return Ok(Err(CommandError::Invalid(cause.to_owned())));
        };
        match self.transaction.put_rule(&entry.transport, record) {
            Ok(()) => {}
            Err(StateError::Limit(limit)) => {
                return Ok(Err(CommandError::Limit(limit.to_string())));
            }
            Err(error) => return Err(error),
        }
        if let Some(app) = self.transaction.app(&entry.transport) {
            let mut line = entry_of(app.app(), Matter::RuleAdded, self.now);
            line.rule = number;
            line.text = BoundedText::cut(&format!("{effect} {pattern}"));
            self.append(line)?;
        }
        Ok(Ok(number))
    }
}

/// Returns the narrowest pattern that matches an action.
pub(super) fn pattern(action: &Action) -> Pattern {
    let bound = match (action.peer(), action.scope()) {
        (Some(peer), _) => Bound::Peer(*peer),
        (None, Some(scope)) => Bound::Scope(*scope),
        (None, None) => Bound::None,
    };
    let kinds = action.kind().map_or(Kinds::NONE, Kinds::one);
    Pattern { subject: action.subject(), kinds, bound }
}

/// Writes the JSON of a request, from which it can be parsed again.
fn json(request: &Request<'_>) -> Zeroizing<Vec<u8>> {
    use endseal_nostr::json::write;
    let len: usize = request.params().iter().map(|it| 2 * it.len() + 8).sum();
    let mut out = Zeroizing::new(Vec::with_capacity(len + 2 * request.id.len() + 128));
    out.extend_from_slice(b"{\"id\":");
    write::text(&mut *out, request.id.into());
    out.extend_from_slice(b",\"method\":");
    write::text(&mut *out, request.method.name().into());
    out.extend_from_slice(b",\"params\":[");
    for (i, param) in request.params().iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write::text(&mut *out, (*param).into());
    }
    out.extend_from_slice(b"]}");
    out
}
