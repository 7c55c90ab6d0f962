//! First messages to clients that connect by their own URI.
//!
//! A client may not listen when its app is added: its relay is away, or it is in the background. So
//! the message is repeated until the client sends its first request, or for ten minutes. It is kept
//! in memory only: a signer that restarts does not repeat it.

use std::collections::HashMap;

use endseal_nostr::connect::{Answer, ConnectSecret};

use super::{Engine, Outgoing, answer, relays};

/// Seconds for which a client is greeted.
const LIMIT: u64 = 600;

/// Clients that have not sent a request, by the transport key of their app.
#[derive(Default)]
pub(super) struct Greetings {
    waiting: HashMap<[u8; 32], Greeting>,
    /// App that was added by the last command.
    new: Option<[u8; 32]>,
}

struct Greeting {
    request_id: String,
    secret: ConnectSecret,
    made: u64,
}

impl Greetings {
    /// Adds the app of a client whose URI has this secret.
    pub(super) fn add(
        &mut self,
        transport: [u8; 32],
        request_id: String,
        secret: ConnectSecret,
        now: u64,
    ) {
        self.waiting.insert(transport, Greeting { request_id, secret, made: now });
        self.new = Some(transport);
    }

    /// Removes greetings that were made too long ago.
    pub(super) fn prune(&mut self, now: u64) {
        self.waiting.retain(|_, greeting| now.abs_diff(greeting.made) < LIMIT);
    }

    /// Records a request of an app: its client needs no greeting any more.
    pub(super) fn answered(&mut self, transport: &[u8; 32]) {
        self.waiting.remove(transport);
    }
}

impl Engine {
    /// Returns the transport key of the app that the last command added by a client's URI, and
    /// forgets it.
    pub(crate) fn new_greeting(&mut self) -> Option<[u8; 32]> {
        self.parts.greetings.new.take()
    }

    /// Writes a greeting, and returns it with the relays at which the client listens. Returns
    /// `None` if the client needs none: it has sent a request, its app has ended, or ten minutes
    /// have passed.
    pub(crate) fn greet(
        &mut self,
        now: u64,
        transport: &[u8; 32],
    ) -> Option<(Outgoing, Vec<String>)> {
        let Self { store, parts, .. } = self;
        let greeting = parts.greetings.waiting.remove(transport)?;
        let app = store.state().app(transport)?.app();
        if now.abs_diff(greeting.made) >= LIMIT || app.end().is_some_and(|end| end <= now) {
            return None;
        }
        let secret = Answer::Text(greeting.secret.expose_secret());
        let outgoing = answer::write(app, &greeting.request_id, &secret, parts, now)?;
        parts.greetings.waiting.insert(*transport, greeting);
        let named: Vec<_> = app.relays().iter().map(|it| it.as_str().to_owned()).collect();
        let own = relays(store.state().settings());
        Some((outgoing, if named.is_empty() { own } else { named }))
    }
}
