//! Response events and the cache of responses that a relay may refuse.

use alloc::collections::VecDeque;
use core::time::Duration;
use std::collections::HashMap;
use std::time::Instant;

use endseal_nostr::connect::{
    Answer, Encryption, MAX_REFUSAL, Refusal, RespondError, ResponseKeys, Stamp, respond,
    response_len,
};
use endseal_nostr::event::Event;
use endseal_nostr::key::{PublicKey, SigningKey};
use endseal_nostr::nip04;
use endseal_nostr::nip44::Conversation;
use endseal_relay::auth::SignedEvent;

use super::{APP_CONVERSATIONS, MAX_EVENT, Outgoing, Parts, address_key, buffer, fresh};
use crate::records::app::App;

/// Returns the cached conversation of an app with its client, and creates it if it is missing.
pub(super) fn conversation<'c>(
    cache: &'c mut endseal_nostr::nip44::Cache<APP_CONVERSATIONS>,
    key: &SigningKey,
    client: &PublicKey,
) -> &'c Conversation {
    let make = || Conversation::new(key.secret_key(), client);
    cache.get_or_insert_with(key.public_key(), client, make)
}

/// Writes a response to the client of an app. A response that is too large for a relay is replaced
/// by an error. Returns `None` if the app has no client or the system has no random bytes.
pub(super) fn write(
    app: &App,
    request_id: &str,
    answer: &Answer<'_>,
    parts: &mut Parts,
    now: u64,
) -> Option<Outgoing> {
    let max = MAX_EVENT;
    let client = app.client()?;
    match try_write(app, client, request_id, answer, None, parts, now, max) {
        Err(RespondError::Length) => {
            let mut text = [0; MAX_REFUSAL];
            let answer = Answer::Error(Refusal::TooLarge.text(&mut text));
            try_write(app, client, request_id, &answer, None, parts, now, usize::MAX).ok().flatten()
        }
        outgoing => outgoing.ok().flatten(),
    }
}

/// Writes an error response, like [`write()`].
pub(super) fn refuse(
    app: &App,
    request_id: &str,
    refusal: Refusal,
    parts: &mut Parts,
    now: u64,
) -> Option<Outgoing> {
    let mut text = [0; MAX_REFUSAL];
    write(app, request_id, &Answer::Error(refusal.text(&mut text)), parts, now)
}

/// Writes the refusal of a request encrypted with NIP-04, so that its client can read it.
pub(super) fn refuse_nip04(
    app: &App,
    client: &PublicKey,
    request_id: &str,
    refusal: Refusal,
    key: &nip04::Key,
    parts: &mut Parts,
    now: u64,
) -> Option<Outgoing> {
    let mut text = [0; MAX_REFUSAL];
    let answer = Answer::Error(refusal.text(&mut text));
    try_write(app, client, request_id, &answer, Some(key), parts, now, usize::MAX).ok().flatten()
}

#[allow(clippy::too_many_arguments, reason = "all of one answer")]
fn try_write(
    app: &App,
    client: &PublicKey,
    request_id: &str,
    answer: &Answer<'_>,
    legacy: Option<&nip04::Key>,
    parts: &mut Parts,
    now: u64,
    max_event: usize,
) -> Result<Option<Outgoing>, RespondError> {
    let Ok((nonce, aux)) = fresh(&mut parts.random) else { return Ok(None) };
    let Some(address) = address_key(&parts.keys, app) else { return Ok(None) };
    let own = app.is_legacy.then(|| nip04::Key::new(address.secret_key(), client));
    let encryption = match legacy {
        Some(key) => Encryption::Nip04(key),
        None => match &own {
            Some(key) => Encryption::Nip04(key),
            None => Encryption::Nip44(conversation(&mut parts.app_conversations, address, client)),
        },
    };
    let len = response_len(answer, request_id, &encryption)?;
    if len.event > max_event {
        return Err(RespondError::Length);
    }
    let (mut scratch, mut event) = (buffer(len.scratch), vec![0; len.event]);
    let keys = ResponseKeys { transport: address, client, encryption };
    let stamp = Stamp { created_at: now, nonce, aux };
    let written = respond(answer, request_id, &keys, &stamp, &mut scratch, &mut event)?.len();
    event.truncate(written);
    // The event was written here, so it parses.
    let Ok(id) = Event::parse(&event).map(|event| event.id) else { return Ok(None) };
    let transport = app.record_name();
    if written > REPLACED && request_id.len() <= MAX_ID {
        let request_id = request_id.to_owned();
        parts.sent.note(id, SentAnswer { transport, request_id, len: written });
    }
    let transport = app.address();
    Ok(Some(Outgoing { transport, event: SignedEvent { id, json: event.into() } }))
}

/// Size in bytes above which a response that a relay refuses is replaced by an error, whatever the
/// reason is.
const LARGE: usize = 16 * 1024;
/// Size in bytes above which a response is replaced by an error if the relay calls it invalid. An
/// error is smaller.
const REPLACED: usize = 1_024;
/// Prefix of a relay's reason (NIP-01) if an event is too large, among others.
const INVALID: &str = "invalid:";
/// Maximum length in bytes of a request id that is remembered with its response.
const MAX_ID: usize = 256;
/// Time after which a relay is no longer expected to refuse an event.
const MEMORY: Duration = Duration::from_secs(30);
/// Maximum number of responses that are remembered.
const MANY: usize = 4_096;

/// Response that a relay may still refuse.
struct SentAnswer {
    transport: [u8; 32],
    request_id: String,
    len: usize,
}

/// Responses that a relay may still refuse, by the ids of their events.
#[derive(Default)]
pub(super) struct Sent {
    answers: HashMap<[u8; 32], SentAnswer>,
    order: VecDeque<([u8; 32], Instant)>,
}

impl Sent {
    fn note(&mut self, event: [u8; 32], answer: SentAnswer) {
        if self.order.len() >= MANY
            && let Some((oldest, _)) = self.order.pop_front()
        {
            self.answers.remove(&oldest);
        }
        self.answers.insert(event, answer);
        self.order.push_back((event, Instant::now()));
    }

    /// Removes a response that a relay refused for this reason, if it is to be replaced by an
    /// error. Returns its app's transport key and its request id.
    pub(super) fn take(&mut self, event: &[u8; 32], reason: &str) -> Option<([u8; 32], String)> {
        let answer = self.answers.get(event)?;
        if answer.len <= LARGE && !reason.starts_with(INVALID) {
            return None;
        }
        self.answers.remove(event).map(|answer| (answer.transport, answer.request_id))
    }

    /// Removes the responses that no relay is expected to refuse any more.
    pub(super) fn prune(&mut self) {
        while let Some((event, at)) = self.order.front()
            && at.elapsed() > MEMORY
        {
            self.answers.remove(event);
            self.order.pop_front();
        }
    }
}
