//! From a request to a decision: steps 9 to 13 of `docs/spec/nostr-connect.md`.

use std::collections::HashMap;

use endseal_nostr::Relays;
use endseal_nostr::connect::{
    Answer, Call, CallError, Connect, ExecuteError, MAX_BATCH, MEMORY, Outcome as Executed,
    Refusal, Request, ScopeError, UnwrapBatch, UnwrapResults, aux, execute, execute_len,
    unwrap_item,
};
use endseal_nostr::policy::{
    Action, Effect, MAX_SCOPE_AGE, Rule, Subject, Verdict, charge, decide,
};

use serde::de::IgnoredAny;

use super::arrival::Carrier;
use super::batch::{Batch, record};
use super::{buffer, entry_of, fresh, holds, relays, user_key};
use crate::error::StateError;
use crate::metrics::Outcome;
use crate::records::app::{App, AppState, cut_wishes};
use crate::records::line::{LogEntry, LogMethod, LogVerdict, Matter};
use crate::state::memory::Decision;

/// Error for a wrap that does not decrypt, in the results of `nip17_unwrap_batch`.
const UNWRAP_FAILED: &str = "decryption failed";
const UNWRAP_DENIED: &str = "not allowed";

/// Request with the data that is recorded when it is decided.
pub(super) struct Decided<'r, 'a> {
    pub(super) transport: [u8; 32],
    pub(super) digest: [u8; 32],
    pub(super) carrier: Carrier,
    pub(super) request: &'r Request<'a>,
}

impl Batch<'_> {
    /// Decides a request of a paired app. It is executed, refused, or queued for a person.
    pub(super) fn decide(
        &mut self,
        carrier: &Carrier,
        request: &Request<'_>,
    ) -> Result<(), StateError> {
        let transport = carrier.transport;
        let decided = Decided { transport, digest: request.digest(), carrier: *carrier, request };
        let Some(app) = self.transaction.app(&transport) else { return Ok(()) };
        if let Some(refusal) = ended(app.app(), self.now) {
            self.refuse_request(&transport, request, refusal);
            return Ok(());
        }
        if self.parts.waiting.has(&transport, &decided.digest) {
            // The waiting request has the same id, so its response answers this repetition, too.
            return Ok(());
        }
        let before = self.transaction.request(app.app().number(), &decided.digest).copied();
        let is_kept = |it: &Decision| self.now.abs_diff(it.time) < MEMORY;
        if let Some(before) = before.filter(is_kept)
            && before.verdict != LogVerdict::Asks
        {
            return self.repeat(&decided, before.verdict);
        }
        if self.parts.unwrap_batch
            && let Some(batch) = UnwrapBatch::of(request)
        {
            return match batch {
                Ok(batch) => self.unwrap(&decided, &batch, true),
                Err(error) => {
                    self.refuse_request(&transport, request, error.into());
                    Ok(())
                }
            };
        }
        let call = match request.call() {
            Ok(call) => call,
            Err(error) => {
                self.refuse_request(&transport, request, error.into());
                return Ok(());
            }
        };
        match &call {
            Call::Connect(connect) => return self.connect_again(&decided, connect),
            Call::Ping => self.succeed(&decided, &Answer::Text("pong")),
            Call::GetPublicKey => {
                let user = endseal_nostr::key::public_to_hex(app.app().user());
                let user = str::from_utf8(&user).unwrap_or_default();
                self.succeed(&decided, &Answer::Text(user));
            }
            Call::SwitchRelays => self.switch_relays(&decided),
            Call::Logout => return self.log_out(&decided),
            _ => return self.judge(&decided, &call),
        }
        Ok(())
    }

    pub(super) fn succeed(&mut self, decided: &Decided<'_, '_>, answer: &Answer<'_>) {
        self.parts.metrics.request(decided.request.method.name(), Outcome::Allowed);
        self.answer(&decided.transport, decided.request.id, answer);
    }

    fn connect_again(
        &mut self,
        decided: &Decided<'_, '_>,
        connect: &Connect<'_>,
    ) -> Result<(), StateError> {
        let Some(app) = self.transaction.app(&decided.transport) else { return Ok(()) };
        let wishes = connect.permissions.as_str();
        match &connect.secret {
            Some(secret) if !app.app().has_secret(secret) => {
                self.refuse_request(&decided.transport, decided.request, Refusal::Secret);
                return Ok(());
            }
            _ if wishes.is_empty() || app.app().wishes() == cut_wishes(wishes) => {}
            _ if !self.parts.quotas.deny(&decided.transport) => {
                // Each has a line in the log, as a denial has.
                self.refuse_request(&decided.transport, decided.request, Refusal::Busy);
                return Ok(());
            }
            _ => {
                self.transaction.update_app(&decided.transport, |app| app.set_wishes(wishes))?;
                self.log_wishes(&decided.transport)?;
            }
        }
        self.succeed(decided, &Answer::Text("ack"));
        Ok(())
    }

    fn switch_relays(&mut self, decided: &Decided<'_, '_>) {
        let Some(app) = self.transaction.app(&decided.transport) else { return };
        let own = relays(self.transaction.settings());
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let has_others = !app.app().relays().iter().map(|it| it.as_str()).eq(own.iter().copied());
        if has_others && !app.app().relays().is_empty() && !own.is_empty() {
            self.succeed(decided, &Answer::Relays(Relays::new(&own)));
        } else {
            self.succeed(decided, &Answer::Unchanged);
        }
    }

    fn log_out(&mut self, decided: &Decided<'_, '_>) -> Result<(), StateError> {
        // The response is written before the app loses its client.
        self.succeed(decided, &Answer::Text("ack"));
        self.refuse_waiting(&decided.transport);
        let now = self.now;
        let mut entry = self.transaction.update_app(&decided.transport, |app| {
            app.log_out(now);
            entry_of(app, Matter::AppLoggedOut, now)
        })?;
        entry.method = LogMethod::Logout;
        (entry.carrier, entry.created_at) = (decided.carrier.id, decided.carrier.created_at);
        self.append(entry)
    }

    /// Decides a request by the rules of its app.
    fn judge(&mut self, decided: &Decided<'_, '_>, call: &Call<'_>) -> Result<(), StateError> {
        let Decided { transport, request, .. } = decided;
        let action = match Action::of(call) {
            Ok(Some(action)) => action,
            Ok(None) => {
                self.refuse_request(transport, request, Refusal::Failed(ExecuteError::Method));
                return Ok(());
            }
            Err(error) => {
                self.refuse_request(transport, request, error.into());
                return Ok(());
            }
        };
        if let (Call::SignEvent(template), Some(_)) = (call, action.scope())
            && template.created_at.abs_diff(self.now) > MAX_SCOPE_AGE
        {
            // A token from the future would be valid when its user has forgotten it.
            self.refuse_request(transport, request, ScopeError::Time.into());
            return Ok(());
        }
        let Some(app) = self.transaction.app(transport) else { return Ok(()) };
        if !holds(&self.parts.keys, app.app()) {
            self.refuse_request(transport, request, Refusal::Locked);
            return Ok(());
        }
        if self.is_with_neighbour(transport, &action) {
            return self.deny(decided, Some(&action), LogVerdict::Denied, 0, Refusal::Denied);
        }
        let mut rules = self.rules(transport);
        let decision = decide(&rules, &action, self.now);
        let rule = decision.rule.unwrap_or_default();
        let verdict = match decision.verdict {
            Verdict::Allow => {
                self.charge(transport, &mut rules, rule)?;
                return self.execute(decided, call, Some(&action), rule, true);
            }
            Verdict::Ask => return self.ask(decided, &action, rule),
            Verdict::Deny => LogVerdict::Denied,
            Verdict::Limit => LogVerdict::Limit,
        };
        let refusal = decision.refusal().unwrap_or(Refusal::Denied);
        self.deny(decided, Some(&action), verdict, rule, refusal)
    }

    /// Returns true if the action encrypts to or decrypts from the client of an app that reaches
    /// the signer by the user's key: what it wrote is for the signer, whatever the rules say.
    fn is_with_neighbour(&self, transport: &[u8; 32], action: &Action) -> bool {
        let user = self.transaction.app(transport).map(|it| *it.app().user());
        let is_of = |it: &App| {
            it.is_at_user_key
                && Some(*it.user()) == user
                && it.client().is_some_and(|client| Some(&client.to_bytes()) == action.peer())
        };
        action.peer().is_some() && self.transaction.apps().any(|it| is_of(it.app()))
    }

    /// Refuses a request that no rule allows, and logs it.
    fn deny(
        &mut self,
        decided: &Decided<'_, '_>,
        action: Option<&Action>,
        verdict: LogVerdict,
        rule: u32,
        refusal: Refusal,
    ) -> Result<(), StateError> {
        let Decided { transport, request, .. } = decided;
        if !self.parts.quotas.deny(transport) {
            // Log lines are never removed, so an app must not be able to fill the disk with them.
            self.refuse_request(transport, request, Refusal::Busy);
            return Ok(());
        }
        let entry = self.entry(decided, action, verdict, rule);
        self.append(entry)?;
        self.refuse_request(transport, request, refusal);
        Ok(())
    }

    /// Counts a use of a rule that has limits.
    fn charge(
        &mut self,
        transport: &[u8; 32],
        rules: &mut [Rule],
        number: u32,
    ) -> Result<(), StateError> {
        let Some(rule) = rules.iter_mut().find(|rule| rule.number == number) else {
            return Ok(());
        };
        if rule.uses.is_none() && rule.rate.is_none() {
            // The rule has no limits, so the count is not needed and the write is saved.
            return Ok(());
        }
        charge(rule, self.now);
        match record(rule) {
            Some(record) => self.transaction.put_rule(transport, record),
            None => Ok(()),
        }
    }

    /// Executes a request that is allowed, and responds. With `is_new` it is logged.
    pub(super) fn execute(
        &mut self,
        decided: &Decided<'_, '_>,
        call: &Call<'_>,
        action: Option<&Action>,
        rule: u32,
        is_new: bool,
    ) -> Result<(), StateError> {
        if self.is_on_device(&decided.transport) {
            return self.hand_over(decided, call, rule, is_new);
        }
        let Some(app) = self.transaction.app(&decided.transport) else { return Ok(()) };
        let app = app.app();
        let (user, random) = (user_key(&self.parts.keys, app), fresh(&mut self.parts.random));
        let (Some(user), Ok((nonce, _))) = (user, random) else {
            if is_new {
                // The request is logged as denied, so that a repetition of it is not executed.
                let entry = self.entry(decided, action, LogVerdict::Denied, rule);
                self.append(entry)?;
            }
            self.refuse_request(&decided.transport, decided.request, Refusal::Locked);
            return Ok(());
        };
        let aux = aux(app.transport().secret_key(), &decided.digest);
        let mut out = buffer(execute_len(call).unwrap_or_default());
        let cache = &mut *self.parts.user_conversations;
        let executed = execute(call, user, cache, &aux, &nonce, &mut out);
        let is_shared = self
            .transaction
            .apps()
            .any(|it| it.app().is_at_user_key && it.app().user() == app.user());
        let is_decryption = matches!(call, Call::Nip04Decrypt(_) | Call::Nip44Decrypt(_));
        let executed = match executed {
            // A client that is not paired yet has sent it to the signer, with its secret.
            Ok(Executed::Text(text)) if is_decryption && is_shared && is_message(text) => {
                Err(ExecuteError::Decryption)
            }
            executed => executed,
        };
        let verdict = match &executed {
            Ok(_) => LogVerdict::Allowed,
            Err(_) => LogVerdict::Failed,
        };
        if is_new {
            let mut entry = self.entry(decided, action, verdict, rule);
            if let Ok(Executed::Event(event)) = &executed {
                entry.signed = event.id;
            }
            self.append(entry)?;
        }
        match &executed {
            Ok(outcome) => self.succeed(decided, &outcome.answer()),
            Err(error) => {
                self.refuse_request(&decided.transport, decided.request, (*error).into());
            }
        }
        Ok(())
    }

    /// Responds to a repetition with the decision that was made on the first request.
    fn repeat(&mut self, decided: &Decided<'_, '_>, verdict: LogVerdict) -> Result<(), StateError> {
        let refusal = match verdict {
            LogVerdict::Allowed | LogVerdict::Failed => {
                if self.parts.unwrap_batch
                    && let Some(Ok(batch)) = UnwrapBatch::of(decided.request)
                {
                    return self.unwrap(decided, &batch, false);
                }
                return match decided.request.call() {
                    Ok(call) => self.execute(decided, &call, None, 0, false),
                    Err(error) => {
                        self.refuse_request(&decided.transport, decided.request, error.into());
                        Ok(())
                    }
                };
            }
            LogVerdict::Limit => Refusal::Limit,
            LogVerdict::Timeout => Refusal::Timeout,
            LogVerdict::None | LogVerdict::Denied | LogVerdict::Asks => Refusal::Denied,
        };
        self.refuse_request(&decided.transport, decided.request, refusal);
        Ok(())
    }

    /// Decrypts gift wraps, and logs the request if `is_new`. Each wrap is decided by the kind of
    /// its rumor. Those of a repetition are decided again, because the log does not record which
    /// ones were released before. If the app has no `unwrap` rule, no wrap is decrypted.
    fn unwrap(
        &mut self,
        decided: &Decided<'_, '_>,
        batch: &UnwrapBatch<'_>,
        is_new: bool,
    ) -> Result<(), StateError> {
        let Decided { transport, request, .. } = decided;
        let Some(app) = self.transaction.app(transport) else { return Ok(()) };
        if self.is_on_device(transport) {
            // A device has no such method.
            self.refuse_request(transport, request, CallError::Method.into());
            return Ok(());
        }
        if user_key(&self.parts.keys, app.app()).is_none() {
            self.refuse_request(transport, request, Refusal::Locked);
            return Ok(());
        }
        let mut rules = self.rules(transport);
        let may_any = rules
            .iter()
            .any(|rule| rule.effect == Effect::Allow && rule.pattern().subject == Subject::Unwrap);
        if !may_any && is_new {
            return self.deny(decided, None, LogVerdict::Denied, 0, Refusal::Denied);
        }
        if !may_any {
            self.refuse_request(transport, request, Refusal::Denied);
            return Ok(());
        }
        let len: usize = batch.iter().map(|wrap| wrap.len() + UNWRAP_OVERHEAD).sum();
        let mut list = buffer(len + MAX_BATCH);
        let mut results = UnwrapResults::new(&mut list);
        for wrap in batch.iter() {
            let Some(app) = self.transaction.app(transport) else { return Ok(()) };
            let Some(user) = user_key(&self.parts.keys, app.app()) else { return Ok(()) };
            let mut scratch = buffer(wrap.len());
            let Ok(unwrapped) = unwrap_item(wrap, user.secret_key(), &mut scratch) else {
                results.error(UNWRAP_FAILED);
                continue;
            };
            let action = Action::Unwrap { kind: unwrapped.rumor.kind };
            let decision = decide(&rules, &action, self.now);
            match decision.verdict {
                Verdict::Allow => results.rumor(&unwrapped),
                _ => {
                    results.error(UNWRAP_DENIED);
                    continue;
                }
            }
            self.charge(transport, &mut rules, decision.rule.unwrap_or_default())?;
        }
        if is_new {
            let entry = self.entry(decided, None, LogVerdict::Allowed, 0);
            self.append(entry)?;
        }
        match results.finish() {
            Ok(list) => self.succeed(decided, &Answer::Text(list)),
            Err(_) => self.refuse_request(transport, request, Refusal::TooLarge),
        }
        Ok(())
    }

    /// Creates the log line of a request.
    pub(super) fn entry(
        &self,
        decided: &Decided<'_, '_>,
        action: Option<&Action>,
        verdict: LogVerdict,
        rule: u32,
    ) -> LogEntry {
        let app = self.transaction.app(&decided.transport);
        let mut entry = match app {
            Some(app) => entry_of(app.app(), Matter::Request, self.now),
            None => LogEntry::new(Matter::Request, self.now),
        };
        entry.rule = rule;
        entry.verdict = verdict;
        entry.method = decided.request.method.into();
        entry.kind = action.and_then(Action::kind);
        entry.peer = action.and_then(Action::peer).copied().unwrap_or_default();
        entry.request = decided.digest;
        (entry.carrier, entry.created_at) = (decided.carrier.id, decided.carrier.created_at);
        entry
    }
}

/// Maximum size in bytes of a result besides its rumor: the JSON member names and the sender.
const UNWRAP_OVERHEAD: usize = 100;

/// Returns true for the text of a request to a signer, or of its answer.
fn is_message(text: &str) -> bool {
    let members = serde_json::from_str::<HashMap<String, IgnoredAny>>(text);
    members.is_ok_and(|it| {
        it.contains_key("id")
            && ["method", "result", "error"].iter().any(|name| it.contains_key(*name))
    })
}

/// Returns the refusal for all requests of an app that has ended, and `None` for a live app.
pub(super) fn ended(app: &App, now: u64) -> Option<Refusal> {
    match app.state() {
        AppState::Revoked { .. } | AppState::LoggedOut { .. } => Some(Refusal::Revoked),
        AppState::Invited | AppState::Paired { .. } => {
            app.end().filter(|end| *end <= now).map(|_| Refusal::Expired)
        }
    }
}
