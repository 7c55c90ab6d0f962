//! The other side: a client of a remote signer (NIP-46).
//!
//! A [`RemoteSigner`] asks by events over the signer's relays and waits for the answer with the
//! request's id. It verifies each answer's signature, and takes none of another key.

use core::fmt;
use core::time::Duration;

use endseal_crypto::random::{OsRandom, Random as _, RandomError};
use endseal_crypto::secret::Zeroizing;
use endseal_nostr::connect::{
    Answer, Bunker, Call, Connect, ConnectSecret, KIND, MAX_EVENT, Metadata, Permissions, Response,
};
use endseal_nostr::event::{Event, Tags, Template};
use endseal_nostr::json::unescape;
use endseal_nostr::key::{PublicKey, SigningKey, public_to_hex};
use endseal_nostr::nip44::{Conversation, Lengths, payload_len};
use endseal_nostr::output::OutputTooSmall;
use endseal_relay::address::{Address, AddressError};
use endseal_relay::auth::{self, SignedEvent};
use endseal_relay::client::{Notification, Relay, Settings};
use endseal_relay::message::Filter;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// Longest wait for an answer, and for one that a person gives.
const PATIENCE: Duration = Duration::from_secs(30);
const PATIENCE_OF_PERSONS: Duration = Duration::from_secs(120);
/// Time for the last event to leave.
const GRACE: Duration = Duration::from_secs(1);
/// Bytes of most requests.
const SHORT: usize = 4_096;

/// Cause why a remote signer gave no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum RemoteError {
    /// A relay of the URI is malformed.
    Relay(AddressError),
    /// The system has no randomness.
    Random(RandomError),
    /// The request is longer than any event may be.
    Length,
    /// No relay could be reached in time.
    Unreachable,
    /// The signer did not answer in time.
    Silent,
    /// The signer refused: its text, which may hold anything.
    Refused(String),
    /// The signer answered something else than the method has.
    Answer,
}

impl From<RandomError> for RemoteError {
    fn from(error: RandomError) -> Self {
        Self::Random(error)
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relay(error) => error.fmt(f),
            Self::Random(error) => error.fmt(f),
            Self::Length => f.write_str("the request is too long for an event"),
            Self::Unreachable => f.write_str("no relay of the signer can be reached"),
            Self::Silent => f.write_str("the signer does not answer"),
            Self::Refused(text) => write!(f, "the signer refuses: {text}"),
            Self::Answer => f.write_str("the signer's answer does not fit the request"),
        }
    }
}

impl core::error::Error for RemoteError {}

/// A signer that is reached over relays.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct RemoteSigner<'u> {
    key: SigningKey,
    signer: PublicKey,
    conversation: Conversation,
    relays: Vec<(Address, Relay)>,
    notifications: mpsc::Receiver<(usize, Notification)>,
    is_connected: bool,
    /// Called with the page where a person decides.
    on_page: Box<dyn FnMut(&str) + 'u>,
}

impl<'u> RemoteSigner<'u> {
    /// Begins to connect to the relays of a URI, on the current runtime. `key` is the client's; the
    /// caller keeps it, and the signer knows it again. `now` is in seconds since 1970; `on_page` is
    /// called with the URL of a page where a person decides, which the caller MUST show as a text
    /// from outside.
    ///
    /// # Errors
    /// [`RemoteError::Relay`].
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
            since: Some(now.saturating_sub(10)),
            ..Filter::default()
        };
        let mut relays = Vec::new();
        for (number, url) in bunker.relays.iter().enumerate() {
            let address = Address::parse(url).map_err(RemoteError::Relay)?;
            let mut settings = Settings::new(address.clone());
            configure(&mut settings);
            let relay = Relay::start(settings, number, events.clone());
            relay.subscribe(Some(filter.clone()));
            relays.push((address, relay));
        }
        let conversation = Conversation::new(key.secret_key(), &bunker.signer);
        let (signer, on_page) = (bunker.signer, Box::new(on_page));
        Ok(Self { key, signer, conversation, relays, notifications, is_connected: false, on_page })
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
        let event = self.event(call, &id, now)?;
        let mut deadline = Instant::now() + PATIENCE;
        for (_, relay) in &self.relays {
            // Nothing else waits there.
            let _ = relay.publish(&event);
        }
        loop {
            let notification = timeout_at(deadline, self.notifications.recv()).await;
            let Ok(Some((number, notification))) = notification else {
                let silent = self.is_connected;
                return Err(if silent { RemoteError::Silent } else { RemoteError::Unreachable });
            };
            match notification {
                Notification::Connected => self.is_connected = true,
                Notification::Challenge(challenge) => self.authenticate(number, &challenge, now)?,
                Notification::Event(json) => match self.read(&json, &id) {
                    Some(Outcome::Page(url)) => {
                        (self.on_page)(&url);
                        deadline = Instant::now() + PATIENCE_OF_PERSONS;
                    }
                    Some(Outcome::Result(result)) => return Ok(result),
                    Some(Outcome::Refused(text)) => return Err(RemoteError::Refused(text)),
                    None => {}
                },
                _ => {}
            }
        }
    }

    /// Ends the connections.
    pub async fn close(self) {
        for (_, relay) in self.relays {
            relay.stop(GRACE).await;
        }
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
        let Some((address, relay)) = self.relays.get(number) else { return Ok(()) };
        let mut aux = [0; 32];
        OsRandom.fill(&mut aux)?;
        let event = auth::sign(challenge, address, &self.key, now, &aux);
        relay.authenticate(challenge, vec![event]);
        Ok(())
    }

    /// The outcome of request `id`, if an event is the signer's answer to it.
    fn read(&self, json: &[u8], id: &str) -> Option<Outcome> {
        let mut json = Zeroizing::new(json.to_vec());
        let (event, content) = Event::parse_located(&json).ok()?;
        if event.kind != KIND || event.verify().ok()? != self.signer {
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
            Answer::Error(text) => Outcome::Refused(text.to_owned()),
            _ => Outcome::Result(Zeroizing::new("null".to_owned())),
        })
    }
}

enum Outcome {
    Result(Zeroizing<String>),
    Page(String),
    Refused(String),
}

fn hex(key: &PublicKey) -> String {
    // Digits are ASCII.
    String::from_utf8_lossy(&public_to_hex(key)).into_owned()
}
