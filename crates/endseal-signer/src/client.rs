//! Client of a remote signer (NIP-46).
//!
//! A [`RemoteSigner`] publishes requests as events on the signer's relays and waits for the
//! response with the request's id. It verifies the signature of each response and ignores events of
//! other keys.

mod error;
mod path;

use core::time::Duration;

use base16ct::lower::encode_string as hex;
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_crypto::secret::Zeroizing;
use endseal_nostr::connect::{
    Answer, Bunker, Call, Connect, ConnectSecret, KIND, MAX_EVENT, MAX_SKEW, Metadata, Permissions,
    Response,
};
use endseal_nostr::event::{Event, Tags, Template};
use endseal_nostr::json::unescape;
use endseal_nostr::key::{PublicKey, SigningKey};
use endseal_nostr::nip44::{Conversation, Lengths, payload_len};
use endseal_nostr::output::OutputTooSmall;
use endseal_relay::address::{Address, AddressError};
use endseal_relay::auth::{self, SignedEvent};
use endseal_relay::client::{Notification, Relay, Settings};
use endseal_relay::message::Filter;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

pub use self::error::RemoteError;
use self::path::Path;
use crate::engine::{PERSON, PERSON_WITH_PAGE};
use crate::limit::MAX_RELAYS;

/// Default response timeout. A signer that asks a person first responds within this time, too.
const TIMEOUT: Duration = Duration::from_secs(10 + PERSON);
/// Response timeout once the signer has named a page on which a person decides.
const APPROVAL_TIMEOUT: Duration = Duration::from_secs(10 + PERSON_WITH_PAGE);
/// Delay before `connect` is sent again, because the signer may have been offline. It doubles each
/// time.
const AGAIN: Duration = Duration::from_secs(2);
/// Time that a closing connection has to send its queued events.
const GRACE: Duration = Duration::from_secs(1);
/// Initial size of the buffer for a request in bytes; most requests fit.
const SHORT: usize = 4_096;
/// Maximum length of the URL of an approval page in bytes.
const MAX_PAGE: usize = 2_048;

/// Connection to a remote signer over the relays of its URI.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct RemoteSigner<'u> {
    key: SigningKey,
    signer: PublicKey,
    conversation: Conversation,
    paths: Vec<Path>,
    notifications: mpsc::Receiver<(usize, Notification)>,
    timeout: Duration,
    /// Called with the URL of the page on which a person decides.
    on_page: Box<dyn FnMut(&str) + 'u>,
}

/// Returns the relays of a URI that [`RemoteSigner::new`] passes over, with the reasons.
pub fn refused_relays<'b>(bunker: &Bunker<'b>) -> impl Iterator<Item = (&'b str, AddressError)> {
    bunker.relays.iter().filter_map(|url| Some((url, Address::parse(url).err()?)))
}

impl<'u> RemoteSigner<'u> {
    /// Starts to connect to the relays of a URI, on the current runtime. `key` is the client's key:
    /// the caller keeps it, because the signer recognises the client by it. `now` is in seconds
    /// since 1970. `configure` changes the settings of each relay connection. `on_page` is called
    /// at most once per request, with the URL of a page on which a person decides; the caller MUST
    /// show it as untrusted text. Relays are passed over if they are malformed, or `ws://` and
    /// neither local nor in `.onion`, and so are those after the first eight.
    ///
    /// # Errors
    /// [`RemoteError::Relay`] if no relay is left.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime.
    pub fn new(
        bunker: &Bunker<'_>,
        key: SigningKey,
        now: u64,
        configure: impl Fn(&mut Settings),
        on_page: impl FnMut(&str) + 'u,
    ) -> Result<Self, RemoteError> {
        Self::start(bunker, key, now, Address::parse, configure, on_page)
    }

    /// Starts to connect as [`Self::new`] does, and accepts `ws://` relays of every host, because
    /// the user consents: others on the way can read who communicates, and drop messages.
    ///
    /// # Errors
    /// As [`Self::new`], except for `ws://` relays.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime.
    pub fn new_insecure(
        bunker: &Bunker<'_>,
        key: SigningKey,
        now: u64,
        configure: impl Fn(&mut Settings),
        on_page: impl FnMut(&str) + 'u,
    ) -> Result<Self, RemoteError> {
        Self::start(bunker, key, now, Address::parse_insecure, configure, on_page)
    }

    fn start(
        bunker: &Bunker<'_>,
        key: SigningKey,
        now: u64,
        parse: impl Fn(&str) -> Result<Address, AddressError>,
        configure: impl Fn(&mut Settings),
        on_page: impl FnMut(&str) + 'u,
    ) -> Result<Self, RemoteError> {
        let (events, notifications) = mpsc::channel(64);
        let filter = Filter {
            authors: Some(vec![bunker.signer.to_bytes()]),
            kinds: Some(vec![KIND]),
            tags: vec![('p', vec![hex(&key.public_key().to_bytes())])],
            // The signer's clock may be behind.
            since: Some(now.saturating_sub(MAX_SKEW)),
            ..Filter::default()
        };
        let mut paths = Vec::new();
        let mut refused = None;
        let mut accept = |url| parse(url).map_err(|error| refused = Some(error)).ok();
        let addresses: Vec<_> = bunker.relays.iter().filter_map(&mut accept).collect();
        if let Some(error) = refused.filter(|_| addresses.is_empty()) {
            return Err(RemoteError::Relay(error));
        }
        for (number, address) in addresses.into_iter().take(MAX_RELAYS).enumerate() {
            let mut settings = Settings::new(address.clone());
            settings.information = false;
            settings.timing.overlap = Duration::from_secs(MAX_SKEW);
            configure(&mut settings);
            let relay = Relay::start(settings, number, events.clone());
            relay.subscribe(Some(filter.clone()));
            paths.push(Path::new(address, relay));
        }
        let conversation = Conversation::new(key.secret_key(), &bunker.signer);
        let (signer, on_page) = (bunker.signer, Box::new(on_page));
        let timeout = TIMEOUT;
        Ok(Self { key, signer, conversation, paths, notifications, timeout, on_page })
    }

    /// Sets the response timeout; the default is 70 seconds. Once the signer names a page, the
    /// timeout is two minutes from then on.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Connects to the signer. The signer pairs this client if `secret` is right, or recognises a
    /// client that it has paired before. A signer that answers that the client is already connected
    /// has recognised it, too.
    ///
    /// # Errors
    /// [`RemoteError`] if no relay can be used, or if the signer refuses or does not respond. A
    /// signer does not respond to a wrong secret, so that case is [`RemoteError::Silent`].
    pub async fn connect(
        &mut self,
        secret: Option<ConnectSecret>,
        now: u64,
    ) -> Result<(), RemoteError> {
        let signer = hex(&self.signer.to_bytes());
        let metadata = Metadata { name: Some("endseal".into()), ..Metadata::default() };
        let connect =
            Connect { signer: &signer, secret, permissions: Permissions::default(), metadata };
        match self.call(&Call::Connect(connect), now).await {
            Err(RemoteError::Refused(text)) if is_connected_already(&text) => Ok(()),
            answer => answer.map(drop),
        }
    }

    /// Has an event signed and returns its JSON and its author after verifying both. The event
    /// equals the template except for author, id and signature. If the template names an author, it
    /// is that one.
    ///
    /// # Errors
    /// [`RemoteError::Event`] if the signer returns another event or a wrong signature; otherwise
    /// as for [`Self::call`].
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

    /// Sends a request to the signer and returns the result that it responds with.
    ///
    /// # Errors
    /// [`RemoteError`] if the request is too long, if no relay accepts it, or if the signer refuses
    /// it or does not respond within the timeout.
    pub async fn call(
        &mut self,
        call: &Call<'_>,
        now: u64,
    ) -> Result<Zeroizing<String>, RemoteError> {
        let mut id = [0; 16];
        OsRandom.fill(&mut id)?;
        let id = hex(&id);
        let begin = Instant::now();
        let mut deadline = begin + self.timeout;
        // Pairing is idempotent, so only `connect` is sent again. For other requests a signer might
        // ask its user twice.
        let mut again = matches!(call, Call::Connect(_)).then_some(begin + AGAIN);
        let mut is_waiting_for_person = false;
        self.paths.iter_mut().for_each(Path::begin);
        let mut request = self.send(call, &id, now)?;
        loop {
            let wake = again.map_or(deadline, |again| again.min(deadline));
            // A relay that sends without pause would keep the timeout from firing.
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
                        (deadline, again) = (Instant::now() + APPROVAL_TIMEOUT, None);
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

    /// Closes the connections after their queued events were sent, or after one second.
    pub async fn close(self) {
        let mut stopping = JoinSet::new();
        for path in self.paths.into_iter().filter(|path| path.was_connected) {
            stopping.spawn(path.relay.stop(GRACE));
        }
        stopping.join_all().await;
    }

    /// Publishes a request on all relays and returns the event's id.
    fn send(&self, call: &Call<'_>, id: &str, now: u64) -> Result<[u8; 32], RemoteError> {
        let event = self.event(call, id, now)?;
        for path in &self.paths {
            // No other event of this client is queued, so the queue has space.
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
        let signer = hex(&self.signer.to_bytes());
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

    /// Returns the signer's response to request `id`, or `None` if the event is not one.
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

/// Returns true for the error by which some signers answer `connect` of a client that they know.
fn is_connected_already(text: &str) -> bool {
    text.to_ascii_lowercase().contains("already connected")
}

/// Returns true for a URL that a browser opens as a page.
fn is_page(url: &str) -> bool {
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    is_web && url.len() <= MAX_PAGE && url.bytes().all(|byte| byte.is_ascii_graphic())
}
