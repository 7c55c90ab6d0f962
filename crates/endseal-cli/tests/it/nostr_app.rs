//! A relay in this process, and an app that uses it to sign with a remote signer.

use core::time::Duration;
use std::collections::VecDeque;
use std::thread::sleep;
use std::time::{Instant, SystemTime};

use endseal_crypto::random::{OsRandom, Random as _};
use endseal_nostr::event::{Event, Tags, Template};
use endseal_nostr::key::{self, PublicKey, SecretKey, SigningKey};
use endseal_nostr::nip44::{Conversation, Lengths, payload_len};
use endseal_relay::address::Address;
use endseal_relay::auth::SignedEvent;
use endseal_relay::client::{Notification, Relay, Settings};
use endseal_relay::message::Filter;
use endseal_test_relay::{self as server, Server};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time;

/// Kind of the messages of NIP-46.
const KIND: u16 = 24_133;
/// Time that no answer takes, even on a busy machine.
const LATE: Duration = Duration::from_secs(30);

/// A relay that serves until it is dropped.
pub(crate) struct World {
    runtime: Runtime,
    server: Server,
}

impl World {
    pub(crate) fn new() -> Self {
        let runtime = Runtime::new().unwrap();
        let bound = Server::bind(([127, 0, 0, 1], 0).into(), server::Settings::default());
        let server = runtime.block_on(bound).unwrap();
        Self { runtime, server }
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }
}

/// An app with a connection to the relay.
pub(crate) struct App<'w> {
    world: &'w World,
    key: SecretKey,
    signing: SigningKey,
    /// Transport key of the app's signer.
    signer: Option<PublicKey>,
    relay: Relay,
    notifications: Receiver<(usize, Notification)>,
    answers: VecDeque<Value>,
    requests: u32,
}

impl<'w> App<'w> {
    /// Makes an app that listens for messages.
    pub(crate) fn new(world: &'w World) -> Self {
        let key = SecretKey::generate(&mut OsRandom).unwrap();
        let signing = SigningKey::new(SecretKey::from_bytes(key.expose_secret()).unwrap());
        let mut settings = Settings::new(Address::parse(&world.url()).unwrap());
        settings.information = false;
        let (sender, notifications) = channel(64);
        let guard = world.runtime.enter();
        let relay = Relay::start(settings, 0, sender);
        drop(guard);
        let own = hex(&key.public_key().to_bytes());
        let before = world.server.subscriptions();
        let tags = vec![('p', vec![own])];
        relay.subscribe(Some(Filter { kinds: Some(vec![KIND]), tags, ..Filter::default() }));
        wait_until("a subscription", || world.server.subscriptions() > before);
        let (answers, requests) = (VecDeque::new(), 0);
        Self { world, key, signing, signer: None, relay, notifications, answers, requests }
    }

    /// Makes an app that used a `bunker://` URL.
    pub(crate) fn of_bunker(world: &'w World, uri: &str) -> Self {
        let mut app = Self::new(world);
        let (signer, query) = uri.strip_prefix("bunker://").unwrap().split_once('?').unwrap();
        let secret = query.split('&').find_map(|it| it.strip_prefix("secret=")).unwrap();
        app.signer = Some(key::public_from_hex(signer).unwrap());
        let answer = app.ask("connect", &json!([signer, secret.trim_end()]));
        assert_eq!(answer["result"], "ack", "{answer}");
        app
    }

    /// Sends a request to the signer of a `bunker://` URL without a connection.
    pub(crate) fn send_unconnected(world: &'w World, uri: &str) {
        let mut app = Self::new(world);
        let signer = uri.strip_prefix("bunker://").unwrap().get(..64).unwrap();
        app.signer = Some(key::public_from_hex(signer).unwrap());
        let id = app.start("ping", &json!([]));
        // The relay has the request.
        let reported = |it: &(usize, Notification)| matches!(it.1, Notification::Result { .. });
        while !reported(&app.world.runtime.block_on(app.notifications.recv()).expect(&id)) {}
    }

    /// Returns the URI with which the app asks a signer for a connection.
    pub(crate) fn uri(&self, secret: &str) -> String {
        let relay = self.world.url().replace(':', "%3A").replace('/', "%2F");
        let own = hex(&self.key.public_key().to_bytes());
        format!("nostrconnect://{own}?relay={relay}&secret={secret}&name=mail%20app")
    }

    /// Accepts the signer that answers [`Self::uri`].
    pub(crate) fn accept(&mut self, secret: &str) {
        let end = Instant::now() + LATE;
        while self.signer.is_none() {
            let left = end.saturating_duration_since(Instant::now());
            assert!(self.receive(left), "no signer answers");
        }
        assert_eq!(self.answers.pop_front().unwrap()["result"], secret);
    }

    /// Sends a request. Returns its id.
    pub(crate) fn start(&mut self, method: &str, params: &Value) -> String {
        self.requests += 1;
        let id = format!("request-{}", self.requests);
        self.start_as(&id, method, params);
        id
    }

    /// Sends a request with this id, which may be a repetition.
    pub(crate) fn start_as(&mut self, id: &str, method: &str, params: &Value) {
        let request = json!({"id": id, "method": method, "params": params}).to_string();
        let signer = self.signer.as_ref().unwrap();
        let [mut nonce, mut aux] = [[0; 32]; 2];
        OsRandom.fill(&mut nonce).unwrap();
        OsRandom.fill(&mut aux).unwrap();
        let mut out = vec![0; payload_len(request.len(), Lengths::Extended).unwrap()];
        let content = Conversation::new(&self.key, signer)
            .seal(request.as_bytes(), &nonce, Lengths::Extended, &mut out)
            .unwrap();
        let receiver = hex(&signer.to_bytes());
        let tags: &[&[&str]] = &[&["p", &receiver]];
        let created_at = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let (tags, content) = (Tags::List(tags), content.into());
        let template = Template { pubkey: None, created_at, kind: KIND, tags, content };
        let event = template.sign(&self.signing, &aux).unwrap();
        assert!(self.relay.publish(&SignedEvent::from(&event)).is_empty());
    }

    /// Returns the answers that have arrived, or that arrive within `timeout`.
    pub(crate) fn take_answers(&mut self, timeout: Duration) -> Vec<Value> {
        let timeout = if self.answers.is_empty() { timeout } else { Duration::ZERO };
        if self.receive(timeout) {
            while self.receive(Duration::ZERO) {}
        }
        self.answers.drain(..).collect()
    }

    /// Waits for the answer to a request.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: &str) -> Value {
        self.answer_within(id, LATE).expect("the signer answers")
    }

    /// Sends a request, and waits for its answer.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.start(method, params);
        self.answer(&id)
    }

    /// Requests a signature for an event of this kind. Returns its author, or the error.
    #[track_caller]
    pub(crate) fn sign(&mut self, kind: u16) -> String {
        signed(&self.ask("sign_event", &template(kind)), kind)
    }

    /// Like [`Self::answer`], but returns `None` after `timeout`.
    pub(crate) fn answer_within(&mut self, id: &str, timeout: Duration) -> Option<Value> {
        let end = Instant::now() + timeout;
        loop {
            if let Some(at) = self.answers.iter().position(|answer| answer["id"] == id) {
                return self.answers.remove(at);
            }
            if !self.receive(end.saturating_duration_since(Instant::now())) {
                return None;
            }
        }
    }

    /// Waits for one notification of the relay, and stores the answer in it.
    fn receive(&mut self, timeout: Duration) -> bool {
        let next = self.notifications.recv();
        let next = self.world.runtime.block_on(async { time::timeout(timeout, next).await });
        let Ok(Some((_, notification))) = next else { return false };
        if let Notification::Event(json) = notification {
            let event = Event::parse(&json).unwrap();
            let author = event.verify().unwrap();
            assert!(self.signer.as_ref().is_none_or(|signer| *signer == author));
            let mut payload = event.content.to_string().into_bytes();
            let answer = Conversation::new(&self.key, &author).open(&mut payload).unwrap();
            self.answers.push_back(serde_json::from_slice(answer).unwrap());
            self.signer = Some(author);
        }
        true
    }
}

/// Makes the parameters of `sign_event`.
pub(crate) fn template(kind: u16) -> Value {
    let event = json!({"kind": kind, "content": "at noon", "tags": [["t", "noon"]], "created_at": 1_700_000_000});
    json!([event.to_string()])
}

/// Returns the author of the event in an answer, or the error.
pub(crate) fn signed(answer: &Value, kind: u16) -> String {
    let Some(event) = answer["result"].as_str() else {
        return answer["error"].as_str().unwrap().to_owned();
    };
    assert!(answer.get("error").is_none(), "{answer}");
    let event = Event::parse(event.as_bytes()).unwrap();
    assert_eq!((event.kind, &*event.content.to_string()), (kind, "at noon"));
    hex(&event.verify().unwrap().to_bytes())
}

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + LATE;
    while !condition() {
        assert!(Instant::now() < end, "{what} does not come");
        sleep(Duration::from_millis(10));
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
