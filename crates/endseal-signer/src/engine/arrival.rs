//! From an event to a request: steps 1 to 8 of `docs/spec/nostr-connect.md`.

use endseal_nostr::connect::{
    Answer, Call, ConnectSecret, Ignored as UnreadEvent, Incoming, MAX_NAME as SHOWN, Metadata,
    Method, Refusal, Request, Verified, is_fresh, sanitise,
};
use endseal_nostr::key::PublicKey;
use endseal_nostr::nip04;
use endseal_nostr::nip44::Conversation;

use super::batch::Batch;
use super::{address_key, addressed, answer, entry_of, is_invited};
use crate::error::{StateError, StateLimit};
use crate::metrics::{Ignored, Outcome};
use crate::records::app::{App, AppState};
use crate::records::line::Matter;
use crate::state::AppRules;
use crate::text::BoundedText;

/// Metadata of an incoming event: the app it is for, its id and its time.
#[derive(Clone, Copy)]
pub(super) struct Carrier {
    pub(super) transport: [u8; 32],
    pub(super) id: [u8; 32],
    pub(super) created_at: u64,
}

impl Batch<'_> {
    /// Processes one event: responds to it, queues it for a decision, or ignores it.
    pub(super) fn arrive(&mut self, json: &mut [u8]) -> Result<(), StateError> {
        let mut number = None;
        match self.receive(json, &mut number) {
            Ok(()) => Ok(()),
            Err(Unanswered::Ignored(cause)) => {
                self.parts.ignore(cause, number, 1);
                Ok(())
            }
            Err(Unanswered::Failed(error)) => Err(error),
        }
    }

    /// Processes an event. `number` becomes the number of its app, once that is known.
    fn receive(&mut self, json: &mut [u8], number: &mut Option<u32>) -> Result<(), Unanswered> {
        let len = json.len();
        let incoming = Incoming::read(json).map_err(|error| match error {
            UnreadEvent::Length => Ignored::Size,
            _ => Ignored::Shape,
        })?;
        let app = addressed(&self.transaction, incoming.recipient(), incoming.author(), self.now);
        let app = app.ok_or(Ignored::Shape)?.app();
        let transport = app.record_name();
        *number = Some(app.number());
        let is_known = match app.client() {
            Some(client) if client.to_bytes() == *incoming.author() => true,
            Some(_) => return Err(Ignored::UnknownSender.into()),
            None if !is_invited(app, self.now) => return Err(Ignored::NoInvitation.into()),
            None if !self.parts.unknown_senders.take(&transport, len, self.parts.clock.now()) => {
                return Err(Ignored::Flood.into());
            }
            None => false,
        };
        let carrier = Carrier { transport, id: *incoming.id(), created_at: incoming.created_at() };
        let is_refused = self.parts.unrecorded.has(&carrier.id);
        if is_refused || self.transaction.has_event(&carrier.id) {
            return Err(Ignored::Repeated.into());
        }
        // The budget is given back when a request is accepted. Before verification the author is
        // only a claim, and time and method are free to choose.
        if is_known && !self.parts.verifications.take(&transport, len, self.parts.clock.now()) {
            return Err(Ignored::Flood.into());
        }
        let verified = incoming.verify().map_err(|_| Ignored::Signature)?;
        if !is_known {
            return self.meet(&carrier, verified);
        }
        let settings = self.transaction.settings();
        let (floor, refuses_nip04) = (settings.floor, settings.refuses_nip04);
        let app = self.transaction.app(&transport).ok_or(Ignored::Shape)?.app();
        let author = *verified.author();
        let key = address_key(&self.parts.keys, app).ok_or(Ignored::Locked)?;
        let legacy = verified.is_nip04().then(|| verified.nip04_key(key.secret_key()));
        let opened = match &legacy {
            Some(key) => verified.open_nip04(key).map_err(|_| Ignored::Encryption)?,
            None => {
                let conversations = &mut self.parts.app_conversations;
                let conversation = answer::conversation(conversations, key, &author);
                verified.open(conversation).map_err(|_| Ignored::Encryption)?
            }
        };
        let request = opened.request().map_err(|_| Ignored::NoRequest)?;
        // At a user's key `connect` is for the app whose secret it names, which may be another one.
        if self.meant(&transport, &request).is_some() {
            return self.introduce(&carrier, author, legacy.as_ref(), &request);
        }
        self.parts.greetings.answered(&transport);
        if let Some(key) = &legacy
            && let Some(refusal) = match is_fresh(carrier.created_at, self.now, floor) {
                _ if refuses_nip04 => Some(Refusal::Nip04Transport),
                false => Some(Refusal::Stale),
                true => None,
            }
        {
            self.may_refuse(&carrier)?;
            self.refuse_nip04(&transport, &author, &request, refusal, key);
            return Ok(());
        }
        self.note(&transport, request.id);
        if !is_fresh(carrier.created_at, self.now, floor) {
            self.may_refuse(&carrier)?;
            self.refuse_request(&transport, &request, Refusal::Stale);
            return Ok(());
        }
        // Refused requests are not noted, since the events of one app would take the place of all.
        // Those that have an error are known by it, and not executed when a relay repeats them.
        if !self.parts.quotas.take(&transport) {
            self.may_refuse(&carrier)?;
            self.refuse_request(&transport, &request, Refusal::Busy);
            return Ok(());
        }
        let number = self.transaction.app(&transport).map_or(0, |it| it.app().number());
        match self.transaction.note_event(carrier.id, carrier.created_at, number) {
            Ok(_) => {
                self.note_encryption(&transport, legacy.is_some())?;
                self.parts.verifications.give_back(&transport, len);
                Ok(self.decide(&carrier, &request)?)
            }
            Err(StateError::Limit(StateLimit::Events)) => {
                self.may_refuse(&carrier)?;
                self.refuse_request(&transport, &request, Refusal::Busy);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Checks that an event may have an error that leaves no record.
    fn may_refuse(&mut self, carrier: &Carrier) -> Result<(), Unanswered> {
        let now = self.parts.clock.now();
        match self.parts.unrecorded.take(&carrier.transport, &carrier.id, now) {
            true => Ok(()),
            false => Err(Ignored::Flood.into()),
        }
    }

    /// Returns another app at the address of this one that waits for a client, and whose secret
    /// `connect` names.
    fn meant(&self, transport: &[u8; 32], request: &Request<'_>) -> Option<[u8; 32]> {
        let app = self.transaction.app(transport)?.app();
        let is_connect = app.is_at_user_key && request.method == Method::Connect;
        let secret = request.params().get(1).filter(|_| is_connect)?;
        let secret = ConnectSecret::new(secret).ok()?;
        let is_other = |it: &&App| {
            it.record_name() != *transport
                && it.address() == app.address()
                && is_invited(it, self.now)
                && it.has_secret(&secret)
        };
        self.transaction.apps().map(AppRules::app).find(is_other).map(App::record_name)
    }

    /// Pairs a client that the app does not know yet, if it presents the secret.
    fn meet(&mut self, carrier: &Carrier, verified: Verified<'_>) -> Result<(), Unanswered> {
        let author = *verified.author();
        let app = self.transaction.app(&carrier.transport).ok_or(Ignored::Shape)?.app();
        let key = address_key(&self.parts.keys, app).ok_or(Ignored::Locked)?;
        let legacy = verified.is_nip04().then(|| verified.nip04_key(key.secret_key()));
        let opened = match &legacy {
            Some(key) => verified.open_nip04(key).map_err(|_| Ignored::Encryption)?,
            None => {
                // Not cached: unknown senders would evict the conversations of apps.
                let conversation = Conversation::new(key.secret_key(), &author);
                verified.open(&conversation).map_err(|_| Ignored::Encryption)?
            }
        };
        let request = opened.request().map_err(|_| Ignored::NoRequest)?;
        self.introduce(carrier, author, legacy.as_ref(), &request)
    }

    /// Pairs the author of a request with the app whose secret it presents.
    fn introduce(
        &mut self,
        carrier: &Carrier,
        author: PublicKey,
        legacy: Option<&nip04::Key>,
        request: &Request<'_>,
    ) -> Result<(), Unanswered> {
        let app = self.transaction.app(&carrier.transport).ok_or(Ignored::Shape)?.app();
        // The secret is checked first. A client that knows it is answered even if its request is
        // malformed.
        let secret = request.params().get(1).and_then(|text| ConnectSecret::new(text).ok());
        // Several apps that wait can have one address.
        let is_of = |it: &&App| {
            it.address() == app.address()
                && is_invited(it, self.now)
                && secret.as_ref().is_some_and(|secret| it.has_secret(secret))
        };
        let meant = self.transaction.apps().map(AppRules::app).find(is_of);
        let is_meant = meant.is_some();
        let transport = &meant.map_or(carrier.transport, App::record_name);
        let carrier = &Carrier { transport: *transport, ..*carrier };
        let settings = self.transaction.settings();
        let (floor, refuses_nip04) = (settings.floor, settings.refuses_nip04);
        if request.method != Method::Connect || !is_meant {
            return Err(Ignored::Secret.into());
        }
        if let Some(key) = legacy.filter(|_| refuses_nip04) {
            self.may_refuse(carrier)?;
            self.refuse_nip04(transport, &author, request, Refusal::Nip04Transport, key);
            return Err(Ignored::Nip04.into());
        }
        if !is_fresh(carrier.created_at, self.now, floor) {
            return Err(Ignored::Stale.into());
        }
        let (metadata, wishes) = match request.call() {
            Ok(Call::Connect(connect)) => (connect.metadata, connect.permissions.as_str()),
            _ => Default::default(),
        };
        match self.pair(carrier, author, &metadata, wishes) {
            Err(StateError::Limit(_)) => return Err(Ignored::Flood.into()),
            paired => paired?,
        }
        self.note_encryption(transport, legacy.is_some())?;
        self.note(transport, request.id);
        self.parts.metrics.request(request.method.name(), Outcome::Allowed);
        self.answer(transport, request.id, &Answer::Text("ack"));
        Ok(())
    }

    fn pair(
        &mut self,
        carrier: &Carrier,
        client: PublicKey,
        metadata: &Metadata<'_>,
        wishes: &str,
    ) -> Result<(), StateError> {
        let number = self.transaction.app(&carrier.transport).map_or(0, |it| it.app().number());
        self.transaction.note_event(carrier.id, carrier.created_at, number)?;
        let shown = |text: Option<_>| {
            text.map(|text| sanitise(text, SHOWN).to_string()).unwrap_or_default()
        };
        let name = BoundedText::cut(&shown(metadata.name));
        let url = BoundedText::cut(&shown(metadata.url));
        let entry = self.transaction.update_app(&carrier.transport, |app| {
            // The app waits for a client: `receive` has checked this.
            let _ = app.pair(client);
            app.claimed_name = name;
            app.claimed_url = url;
            app.set_wishes(wishes);
            entry_of(app, Matter::AppConnected, 0)
        })?;
        let mut entry = entry;
        entry.time = self.now;
        entry.peer = client.to_bytes();
        (entry.carrier, entry.created_at) = (carrier.id, carrier.created_at);
        self.append(entry)?;
        self.log_wishes(&carrier.transport)?;
        self.replace_others(&carrier.transport, &client)
    }

    /// Ends other apps of this client at the same address, the user's key: a request says by its
    /// author alone which app is meant.
    fn replace_others(
        &mut self,
        transport: &[u8; 32],
        client: &PublicKey,
    ) -> Result<(), StateError> {
        let Some(app) = self.transaction.app(transport).map(AppRules::app) else { return Ok(()) };
        let is_replaced = |it: &&App| {
            it.address() == app.address()
                && it.record_name() != *transport
                && matches!(it.state(), AppState::Paired { client: other } if other == client)
        };
        let replaced = self.transaction.apps().map(AppRules::app).filter(is_replaced);
        let replaced: Vec<_> = replaced.map(App::record_name).collect();
        for transport in replaced {
            self.refuse_waiting(&transport);
            let now = self.now;
            let line = self.transaction.update_app(&transport, |app| {
                app.log_out(now);
                entry_of(app, Matter::AppLoggedOut, now)
            })?;
            self.append(line)?;
        }
        Ok(())
    }

    /// Notes in which encryption a client is answered from now on: that of its last request.
    fn note_encryption(&mut self, transport: &[u8; 32], is_legacy: bool) -> Result<(), StateError> {
        let app = self.transaction.app(transport).map(|it| (it.app().is_legacy, it.app().number()));
        let Some((before, number)) = app else { return Ok(()) };
        if before == is_legacy {
            return Ok(());
        }
        if is_legacy && self.parts.warned_legacy.insert(number) {
            tracing::warn!(target: "signer", app = number, "the client encrypts with NIP-04");
        }
        self.transaction.update_app(transport, |app| app.is_legacy = is_legacy)
    }

    /// Refuses a NIP-04 request in an encryption that its client can read.
    fn refuse_nip04(
        &mut self,
        transport: &[u8; 32],
        client: &PublicKey,
        request: &Request<'_>,
        refusal: Refusal,
        key: &nip04::Key,
    ) {
        self.parts.metrics.request(request.method.name(), Outcome::Failed);
        let Some(app) = self.transaction.app(transport) else { return };
        let (id, now) = (request.id, self.now);
        let event = answer::refuse_nip04(app.app(), client, id, refusal, key, self.parts, now);
        if let Some(event) = event {
            self.send(event);
        }
    }

    /// Responds to a request with an error and counts it.
    pub(super) fn refuse_request(
        &mut self,
        transport: &[u8; 32],
        request: &Request<'_>,
        refusal: Refusal,
    ) {
        let outcome = match refusal {
            Refusal::Denied | Refusal::Limit | Refusal::Timeout => Outcome::Refused,
            _ => Outcome::Failed,
        };
        self.parts.metrics.request(request.method.name(), outcome);
        self.refuse(transport, request.id, refusal);
    }
}

/// Reason why an event was not answered: it is ignored, or the store failed.
enum Unanswered {
    Ignored(Ignored),
    Failed(StateError),
}

impl From<Ignored> for Unanswered {
    fn from(cause: Ignored) -> Self {
        Self::Ignored(cause)
    }
}

impl From<StateError> for Unanswered {
    fn from(error: StateError) -> Self {
        Self::Failed(error)
    }
}
