//! The other side: a client of a remote signer (NIP-46).
//!
//! A [`RemoteSigner`] asks by events over the signer's relays and waits for the answer with the
//! request's id. It verifies each answer's signature, and takes none of another key.

mod error;
mod path;

use core::time::Duration;

use endseal_crypto::random::{OsRandom, Random as _};
use endseal_crypto::secret::Zeroizing;
use endseal_nostr::connect::{
    Answer, Bunker, Call, Connect, ConnectSecret, KIND, MAX_EVENT, MAX_SKEW, Metadata, Permissions,
    Response,
};
use endseal_nostr::event::{Event, Tags, Template};
use endseal_nostr::json::unescape;
use endseal_nostr::key::{PublicKey, SigningKey, public_to_hex};
use endseal_nostr::nip44::{Conversation, Lengths, payload_len};
use endseal_nostr::output::OutputTooSmall;
use endseal_relay::address::Address;
use endseal_relay::auth::{self, SignedEvent};
use endseal_relay::client::{Notification, Relay, Settings};
use endseal_relay::message::Filter;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

pub use self::error::RemoteError;
use self::path::Path;
use crate::engine::PERSON;
use crate::limit::MAX_RELAYS;

/// Longest wait for an answer, unless another one is set: a signer that asks a person answers
/// within this time, too.
const PATIENCE: Duration = Duration::from_secs(70);
const _: () = assert!(PATIENCE.as_secs() >= 10 + PERSON, "the signer's answer travels");
/// Longest wait for an answer that a person gives.
const PATIENCE_OF_PERSONS: Duration = Duration::from_secs(120);
/// Time after which `connect` is sent again, as the signer may not have been there; doubled each
/// time.
const AGAIN: Duration = Duration::from_secs(2);
/// Time for the last event to leave.
const GRACE: Duration = Duration::from_secs(1);
/// Bytes of most requests.
const SHORT: usize = 4_096;
/// Longest URL of a page.
const MAX_PAGE: usize = 2_048;

/// A signer that is reached over relays.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct RemoteSigner<'u> {
    key: SigningKey,
    signer: PublicKey,
    conversation: Conversation,
    paths: Vec<Path>,
    notifications: mpsc::Receiver<(usize, Notification)>,
    patience: Duration,
    /// Called with the page where a person decides.
    on_page: Box<dyn FnMut(&str) + 'u>,
}

impl<'u> RemoteSigner<'u> {
    /// Begins to connect to the relays of a URI, on the current runtime. `key` is the client's; the
    /// caller keeps it, and the signer knows it again. `now` is in seconds since 1970; `on_page` is
    /// called with the URL of a page where a person decides, once for a request at most. The caller
    /// MUST show it as a text from outside.
    ///
    /// # Errors
    /// [`RemoteError::Relay`], [`RemoteError::Relays`].
    ///
    /// # Panics
    /// Outside of a runtime of tokio.
    pub fn new(
        bunker: &Bunker<'_>,
        key: SigningKey,
        now: u64,
        configure: impl Fn(&mut Settings),
        on_page: impl FnMut(&str) + 'u,
    ) -> Result<Self, RemoteError> {
        let (events, notifications) = mpsc::channel(64);
        let filter = Filter {
            authors: Some(vec![bunker.signer.to_bytes()]),
            kinds: Some(vec![KIND]),
            tags: vec![('p', vec![hex(key.public_key())])],
            // The signer's clock may be behind.
            since: Some(now.saturating_sub(MAX_SKEW)),
            ..Filter::default()
        };
        let mut paths = Vec::new();
        for (number, url) in bunker.relays.iter().enumerate() {
            if number == MAX_RELAYS {
                return Err(RemoteError::Relays);
            }
            let address = Address::parse(url).map_err(RemoteError::Relay)?;
            let mut settings = Settings::new(address.clone());
            settings.information = false;
            configure(&mut settings);
            let relay = Relay::start(settings, number, events.clone());
            relay.subscribe(Some(filter.clone()));
            paths.push(Path::new(address, relay));
        }
        let conversation = Conversation::new(key.secret_key(), &bunker.signer);
        let (signer, on_page) = (bunker.signer, Box::new(on_page));
        let patience = PATIENCE;
        Ok(Self { key, signer, conversation, paths, notifications, patience, on_page })
    }

    /// Sets the longest wait for an answer, 70 seconds at first. Once the signer names a page, a
    /// person has two minutes.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Connects: the signer pairs this client, if the secret is right, or knows it again.
    ///
    /// # Errors
    /// [`RemoteError`]. A signer gives no answer to a wrong secret.
    pub async fn connect(
        &mut self,
        secret: Option<ConnectSecret>,
        now: u64,
    ) -> Result<(), RemoteError> {
        let signer = hex(&self.signer);
        let metadata = Metadata { name: Some("endseal".into()), ..Metadata::default() };
        let connect =
            Connect { signer: &signer, secret, permissions: Permissions::default(), metadata };
        self.call(&Call::Connect(connect), now).await.map(drop)
    }

    /// Has an event signed. Returns its JSON and its author, after both were verified: the event
    /// differs from the template in author, id and signature alone, and if the template names an
    /// author, it is that one.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub async fn sign(
        &mut self,
        template: &Template<'_>,
        now: u64,
    ) -> Result<(Zeroizing<String>, PublicKey), RemoteError> {
        let json = self.call(&Call::SignEvent(*template), now).await?;
        let event = Event::parse(json.as_bytes()).map_err(|_| RemoteError::Event)?;
        let author = event.verify().map_err(|_| RemoteError::Event)?;
        // The id is a hash of the author and of all that the template has.
        let is_other = event.id != template.id(&event.pubkey)
            || template.pubkey.is_some_and(|pubkey| pubkey != event.pubkey);
        if is_other { Err(RemoteError::Event) } else { Ok((json, author)) }
    }

    /// Asks for the result of a method.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub async fn call(
        &mut self,
        call: &Call<'_>,
        now: u64,
    ) -> Result<Zeroizing<String>, RemoteError> {
        let mut id = [0; 16];
        OsRandom.fill(&mut id)?;
        let id = crate::engine::hex(&id);
        let begin = Instant::now();
        let mut deadline = begin + self.patience;
        // Pairing twice is pairing once. Of other requests a signer might ask its user twice.
        let mut again = matches!(call, Call::Connect(_)).then_some(begin + AGAIN);
        let mut is_waiting_for_person = false;
        self.paths.iter_mut().for_each(Path::begin);
        let mut request = self.send(call, &id, now)?;
        loop {
            let wake = again.map_or(deadline, |again| again.min(deadline));
            // A relay that is never quiet would keep the timer from its turn.
            let next = match Instant::now() < wake {
                true => timeout_at(wake, self.notifications.recv()).await.ok().flatten(),
                false => None,
            };
            let Some((number, notification)) = next else {
                if wake == deadline {
                    let is_connected = self.paths.iter().any(|path| path.was_connected);
                    let silent = RemoteError::Silent;
                    return Err(if is_connected { silent } else { RemoteError::Unreachable(None) });
                }
                request = self.send(call, &id, now + begin.elapsed().as_secs())?;
                again = Some(wake + begin.elapsed());
                continue;
            };
            match &notification {
                Notification::Challenge(challenge) => self.authenticate(number, challenge, now)?,
                Notification::Event(json) => match self.read(json, &id) {
                    Some(Outcome::Page(url)) if !is_waiting_for_person && is_page(&url) => {
                        (self.on_page)(&url);
                        is_waiting_for_person = true;
                        (deadline, again) = (Instant::now() + PATIENCE_OF_PERSONS, None);
                    }
                    Some(Outcome::Page(_)) | None => {}
                    Some(Outcome::Result(result)) => return Ok(result),
                    Some(Outcome::Refused(text)) => return Err(RemoteError::Refused(text)),
                },
                other => {
                    if let Some(path) = self.paths.get_mut(number) {
                        path.note(other, &request);
                    }
                    if let Some(error) = path::blocked(&self.paths) {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Ends the connections, after what is queued was sent.
    pub async fn close(self) {
        let mut stopping = JoinSet::new();
        for path in self.paths.into_iter().filter(|path| path.was_connected) {
            stopping.spawn(path.relay.stop(GRACE));
        }
        stopping.join_all().await;
    }

    /// Sends a request to all relays. Returns the event's id.
    fn send(&self, call: &Call<'_>, id: &str, now: u64) -> Result<[u8; 32], RemoteError> {
        let event = self.event(call, id, now)?;
        for path in &self.paths {
            // Nothing else waits there.
            let _ = path.relay.publish(&event);
        }
        Ok(event.id)
    }

    fn event(&self, call: &Call<'_>, id: &str, now: u64) -> Result<SignedEvent, RemoteError> {
        let mut buffer = Zeroizing::new(vec![0; SHORT]);
        if let Err(OutputTooSmall { needed, .. }) = call.write(id, &mut buffer) {
            if needed > MAX_EVENT {
                return Err(RemoteError::Length);
            }
            buffer = Zeroizing::new(vec![0; needed]);
        }
        let json = call.write(id, &mut buffer).map_err(|_| RemoteError::Length)?;
        let mut random = Zeroizing::new([[0; 32]; 2]);
        OsRandom.fill(random.as_flattened_mut())?;
        let len = payload_len(json.len(), Lengths::Extended).map_err(|_| RemoteError::Length)?;
        let mut payload = vec![0; len];
        let payload = self.conversation.seal(json, &random[0], Lengths::Extended, &mut payload);
        let signer = hex(&self.signer);
        let template = Template {
            pubkey: None,
            created_at: now,
            kind: KIND,
            tags: Tags::List(&[&["p", &signer]]),
            content: payload.map_err(|_| RemoteError::Length)?.into(),
        };
        let event = template.sign(&self.key, &random[1]).map_err(|_| RemoteError::Answer)?;
        Ok(SignedEvent::from(&event))
    }

    fn authenticate(&self, number: usize, challenge: &str, now: u64) -> Result<(), RemoteError> {
        let Some(path) = self.paths.get(number) else { return Ok(()) };
        let mut aux = [0; 32];
        OsRandom.fill(&mut aux)?;
        let event = auth::sign(challenge, &path.address, &self.key, now, &aux);
        path.relay.authenticate(challenge, vec![event]);
        Ok(())
    }

    /// The outcome of request `id`, if an event is the signer's answer to it.
    fn read(&self, json: &[u8], id: &str) -> Option<Outcome> {
        let mut json = Zeroizing::new(json.to_vec());
        let (event, content) = Event::parse_located(&json).ok()?;
        if event.kind != KIND || event.pubkey != self.signer.to_bytes() || event.verify().is_err() {
            return None;
        }
        let content = json.get_mut(content)?;
        let len = unescape::in_place(content).ok()?;
        let plaintext = self.conversation.open(&mut content[..len]).ok()?;
        let response = Response::parse(plaintext).ok()?;
        if response.id != id {
            return None;
        }
        Some(match response.answer {
            Answer::Text(text) => Outcome::Result(Zeroizing::new(text.to_owned())),
            Answer::AuthUrl(url) => Outcome::Page(url.to_owned()),
            Answer::Error(text) => Outcome::Refused(path::shown(text)),
            _ => Outcome::Result(Zeroizing::new("null".to_owned())),
        })
    }
}

enum Outcome {
    Result(Zeroizing<String>),
    Page(String),
    Refused(String),
}

/// Returns true for a URL that a browser opens as a page.
fn is_page(url: &str) -> bool {
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    is_web && url.len() <= MAX_PAGE && url.bytes().all(|byte| byte.is_ascii_graphic())
}

fn hex(key: &PublicKey) -> String {
    // Digits are ASCII.
    String::from_utf8_lossy(&public_to_hex(key)).into_owned()
}
