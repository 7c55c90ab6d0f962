//! Tests of a running signer and its client over a relay.

use core::net::SocketAddr;
use core::time::Duration;
use std::thread;
use std::time::SystemTime;

use endseal_crypto::secret::Zeroizing;
use endseal_nostr::Relays;
use endseal_nostr::connect::{Answer, Bunker, Call, ConnectUri, Message, Response};
use endseal_nostr::event::{Event, Tags, Template};
use endseal_nostr::key::{SecretKey, SigningKey};
use endseal_nostr::nip44::Conversation;
use endseal_relay::address::Address;
use endseal_relay::client::{self, Notification};
use endseal_relay::message::Filter;
use endseal_signer::client::{RemoteError, RemoteSigner};
use endseal_signer::control::{
    CallError, Command, Grant, GrantEffect, GreetedRelay, Reply, Request, SecretText, call,
};
use endseal_signer::{Listening, Options, RunError, Signer};
use endseal_store::KdfParams;
use endseal_test_relay::{Server, Settings, faults::Faults};
use endseal_testing::Scratch;
use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use crate::world::{PASSPHRASE, public_key, secret_key};

/// Timeout for responses that do not arrive.
pub(crate) const SHORT: Duration = Duration::from_secs(1);

/// Signer with user 1 that runs on a thread.
pub(crate) struct Serving {
    directory: Scratch,
    /// Address of its metrics.
    pub(crate) metrics: SocketAddr,
    stop: oneshot::Sender<()>,
    ended: oneshot::Receiver<Result<(), RunError>>,
}

impl Serving {
    pub(crate) async fn start(relay: &Server) -> Self {
        let directory = Scratch::new();
        let mut signer =
            Signer::init(&directory.path("signer"), PASSPHRASE, KdfParams::MINIMUM).unwrap();
        let secret = [&secret_key(1).expose_secret()[..], PASSPHRASE.as_bytes()].concat();
        let command = Command::Import { label: String::new() };
        signer.command(now(), Request { command, secret: Zeroizing::new(secret) }).unwrap();
        let (stop, stopped) = oneshot::channel();
        let (begin, started) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let metrics = Some(([127, 0, 0, 1], 0).into());
        let page = metrics;
        let options = Options { relays: vec![relay.url()], metrics, page, ..Options::default() };
        let mut begin = Some(begin);
        thread::spawn(move || {
            let mut started = |listening: Listening| {
                begin.take().unwrap().send(listening.metrics.unwrap()).is_ok()
            };
            let stop = async { stopped.await.unwrap() };
            end.send(signer.serve(now(), &options, &mut started, stop)).unwrap();
        });
        let metrics = started.await.unwrap();
        Self { directory, metrics, stop, ended }
    }

    /// Creates an app with these rules and returns its `bunker://` URI.
    pub(crate) async fn invite(&self, rules: &str) -> String {
        self.invite_as("notes", rules).await
    }

    /// Creates an app for which a person decides requests that match these rules.
    pub(crate) async fn invite_to_ask(&self, rules: &str) -> String {
        self.invite_with("notes", GrantEffect::Ask, rules).await
    }

    async fn invite_as(&self, name: &str, rules: &str) -> String {
        self.invite_with(name, GrantEffect::Allow, rules).await
    }

    /// Executes a command over the socket of the signer.
    pub(crate) async fn command(&self, command: Command) -> Result<Reply, CallError> {
        let request = Request { command, secret: Zeroizing::new(Vec::new()) };
        let directory = self.directory.path("signer");
        // The relay runs on this thread, so the call must not block it.
        spawn_blocking(move || call(&directory, &request)).await.unwrap()
    }

    async fn invite_with(&self, name: &str, effect: GrantEffect, rules: &str) -> String {
        let rules = rules.to_owned();
        let grant = Grant { effect, rules, lifetime: None, uses: None, rate: None };
        let command = Command::Invite {
            name: name.to_owned(),
            user: None,
            grants: vec![grant],
            lifetime: None,
            invitation: 60,
            relays: Vec::new(),
            as_user_key: false,
        };
        match self.command(command).await {
            Ok(Reply::Invited { uri: Some(uri), .. }) => uri.expose_secret().to_owned(),
            _ => panic!("no invitation"),
        }
    }

    /// Adds an app by a client's URI and returns the relays that were greeted.
    async fn connect(&self, uri: &str) -> Vec<GreetedRelay> {
        let command = Command::Connect {
            uri: SecretText::new(uri.to_owned()),
            name: None,
            user: None,
            grants: Vec::new(),
            lifetime: None,
            allow_private: true,
            as_user_key: false,
            grant_requested: false,
        };
        match self.command(command).await {
            Ok(Reply::Invited { greeted, .. }) => greeted,
            _ => panic!("no app"),
        }
    }

    pub(crate) async fn end(self) {
        self.stop.send(()).unwrap();
        self.ended.await.unwrap().unwrap();
    }
}

pub(crate) fn now() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs()
}

/// Runs a test with a relay on one thread.
pub(crate) fn with_relay(settings: Settings, test: impl AsyncFnOnce(&mut Server)) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut relay = Server::bind(([127, 0, 0, 1], 0).into(), settings).await.unwrap();
        test(&mut relay).await;
    });
}

/// Creates client `number` of a URI without connecting it.
pub(crate) fn client(uri: &str, number: u32) -> RemoteSigner<'static> {
    client_of(&parse(uri, &mut vec![0; uri.len()]), number)
}

fn client_of(bunker: &Bunker<'_>, number: u32) -> RemoteSigner<'static> {
    let key = SigningKey::new(secret_key(number));
    RemoteSigner::new(bunker, key, now(), |_| {}, |_| panic!("no page is named")).unwrap()
}

pub(crate) fn parse<'b>(uri: &str, buffer: &'b mut [u8]) -> Bunker<'b> {
    match ConnectUri::parse(uri, buffer) {
        Ok(ConnectUri::Bunker(bunker)) => bunker,
        _ => panic!("{uri}"),
    }
}

/// Creates client `number` of a URI and connects it.
pub(crate) async fn connected(uri: &str, number: u32) -> RemoteSigner<'static> {
    let mut buffer = vec![0; uri.len()];
    let bunker = parse(uri, &mut buffer);
    let mut client = client_of(&bunker, number);
    client.connect(bunker.secret, now()).await.unwrap();
    client
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn note(kind: u16) -> Template<'static> {
    let tags = Tags::List(&[&["t", "\"noon\""]]);
    Template { pubkey: None, created_at: 1, kind, tags, content: "at noon\n".into() }
}

#[test]
fn a_client_has_events_signed_and_texts_encrypted() {
    with_relay(Settings::default(), async |relay| {
        let signer = Serving::start(relay).await;
        let uri =
            signer.invite("sign:1,nip44_encrypt,nip44_decrypt,nip04_encrypt,nip04_decrypt").await;
        let mut client = connected(&uri, 7).await;
        let (json, author) = client.sign(&note(1), now()).await.unwrap();
        assert_eq!(author, public_key(1));
        let event = Event::parse(json.as_bytes()).unwrap();
        assert_eq!((event.kind, event.created_at), (1, 1));
        assert!(event.content.is("at noon\n"));
        let own = Template { pubkey: Some(author.to_bytes()), ..note(1) };
        client.sign(&own, now()).await.unwrap();
        for template in [note(4), Template { pubkey: Some([7; 32]), ..note(1) }] {
            let refused = client.sign(&template, now()).await;
            assert!(matches!(refused, Err(RemoteError::Refused(_))));
        }
        let peer = public_key(2);
        let message = |text| Message { peer, text };
        let payload = client.call(&Call::Nip44Encrypt(message("é\"\n")), now()).await.unwrap();
        let text = client.call(&Call::Nip44Decrypt(message(&payload)), now()).await.unwrap();
        assert_eq!(*text, "é\"\n");
        let payload = client.call(&Call::Nip04Encrypt(message("é\"\n")), now()).await.unwrap();
        let text = client.call(&Call::Nip04Decrypt(message(&payload)), now()).await.unwrap();
        assert_eq!(*text, "é\"\n");
        client.close().await;
        // The signer recognises the client by its key and refuses any other.
        let mut again = connected(&uri, 7).await;
        again.sign(&note(1), now()).await.unwrap();
        let mut buffer = vec![0; uri.len()];
        let bunker = parse(&uri, &mut buffer);
        let mut other = client_of(&bunker, 8);
        other.set_timeout(SHORT);
        let silent = other.connect(bunker.secret, now()).await;
        assert!(matches!(silent, Err(RemoteError::Silent)), "{silent:?}");
        signer.end().await;
    });
}

#[test]
fn an_invitation_appears_when_the_relay_forwards_its_requests() {
    with_relay(Settings::default(), async |relay| {
        let signer = Serving::start(relay).await;
        let delay_subscriptions = Some(Duration::from_millis(500));
        // The first app creates the connection; the second changes its subscription.
        for (name, number) in [("notes", 7), ("mail", 8)] {
            relay.set_faults(Faults { delay_subscriptions, ..Faults::default() });
            let uri = signer.invite_as(name, "sign:1").await;
            // The client's subscription is not delayed; the signer's has arrived.
            sleep(Duration::from_millis(100)).await;
            relay.set_faults(Faults::default());
            timeout(SHORT, connected(&uri, number)).await.expect("an answer");
        }
        signer.end().await;
    });
}

#[test]
fn a_client_proves_its_key_to_a_relay_that_asks() {
    let mut settings = Settings::default();
    settings.auth = true;
    with_relay(settings, async |relay| {
        relay.set_faults(Faults { demand_auth: true, ..Faults::default() });
        let signer = Serving::start(relay).await;
        let mut client = connected(&signer.invite("sign:1").await, 7).await;
        client.sign(&note(1), now()).await.unwrap();
        signer.end().await;
    });
}

/// The key of an app that comes later logs in on the connection that is there.
#[test]
fn later_apps_log_in_to_a_relay_that_asked_before() {
    let mut settings = Settings::default();
    settings.auth = true;
    with_relay(settings, async |relay| {
        let signer = Serving::start(relay).await;
        for (name, number) in [("notes", 7), ("mail", 8), ("chat", 9)] {
            let uri = signer.invite_as(name, "sign:1").await;
            let client = timeout(SHORT, connected(&uri, number)).await;
            client.expect("an answer").sign(&note(1), now()).await.unwrap();
        }
        signer.end().await;
    });
}

#[test]
fn a_client_connects_to_a_signer_that_comes_later() {
    with_relay(Settings::default(), async |relay| {
        let signer = Serving::start(relay).await;
        let uri = signer.invite("sign:1").await;
        let Serving { directory, stop, ended, .. } = signer;
        stop.send(()).unwrap();
        ended.await.unwrap().unwrap();
        let (stop, stopped) = oneshot::channel();
        let path = directory.path("signer");
        let thread = thread::spawn(move || {
            thread::sleep(Duration::from_millis(500));
            let signer = Signer::open(&path, PASSPHRASE).unwrap();
            let stop = async { stopped.await.unwrap() };
            signer.serve(now(), &Options::default(), &mut |_| true, stop).unwrap();
        });
        // The first request arrives while the signer is not running.
        let mut client = connected(&uri, 7).await;
        client.sign(&note(1), now()).await.unwrap();
        stop.send(()).unwrap();
        while !thread.is_finished() {
            sleep(Duration::from_millis(10)).await;
        }
        thread.join().unwrap();
    });
}

/// Returns the URI of a signer that does not run.
fn uri_of(relay: &str) -> String {
    let relay = relay.replace(':', "%3A").replace('/', "%2F");
    let key = hex(&public_key(9).to_bytes());
    format!("bunker://{key}?relay={relay}&secret=0123456789")
}

#[test]
fn a_client_tells_an_absent_relay_from_an_absent_signer() {
    with_relay(Settings::default(), async |relay| {
        let uri = uri_of(&relay.url());
        let mut silent = client(&uri, 7);
        silent.set_timeout(SHORT);
        let outcome = silent.connect(None, now()).await;
        assert!(matches!(outcome, Err(RemoteError::Silent)), "{outcome:?}");
        relay.set_faults(Faults { refuse: Some("blocked: \u{1b}[2J".into()), ..Faults::default() });
        let outcome = client(&uri, 7).connect(None, now()).await;
        let Err(RemoteError::Rejected(reason)) = outcome else { panic!("{outcome:?}") };
        assert!(reason.starts_with("blocked: ") && !reason.contains('\u{1b}'), "{reason}");
        relay.suspend().await;
        // The second relay's name cannot be resolved.
        let both = format!("{uri}&relay=wss%3A%2F%2Frelay.invalid");
        let outcome = client(&both, 7).connect(None, now()).await;
        assert!(matches!(outcome, Err(RemoteError::Unreachable(Some(_)))), "{outcome:?}");
    });
}

#[test]
fn a_client_connects_to_few_relays_and_to_none_without_protection() {
    with_relay(Settings::default(), async |_| {
        let new = |uri: &str| {
            let key = SigningKey::new(SecretKey::from_bytes(&[7; 32]).unwrap());
            let mut buffer = vec![0; uri.len()];
            RemoteSigner::new(&parse(uri, &mut buffer), key, now(), |_| {}, |_| {}).err()
        };
        let plain = uri_of("ws://192.168.1.5:4848");
        let outcome = new(&plain);
        assert!(matches!(outcome, Some(RemoteError::Relay(_))), "{outcome:?}");
        let key = SigningKey::new(secret_key(7));
        let mut buffer = vec![0; plain.len()];
        let bunker = parse(&plain, &mut buffer);
        assert!(RemoteSigner::new_insecure(&bunker, key, now(), |_| {}, |_| {}).is_ok());
        let more = "&relay=wss%3A%2F%2Fa.example".repeat(8);
        // One relay that is acceptable suffices.
        assert!(new(&format!("{plain}{more}")).is_none());
    });
}

/// Relays that filter live events by `since` deliver the requests of late clocks, too.
#[test]
fn a_client_five_minutes_off_gets_its_error() {
    with_relay(Settings::default(), async |relay| {
        let signer = Serving::start(relay).await;
        let mut client = connected(&signer.invite("sign:1").await, 7).await;
        for (late, is_answered) in [(0, true), (200, true), (290, true), (310, false)] {
            let outcome = client.sign(&note(1), now() - late).await;
            match outcome {
                Ok(_) => assert!(is_answered, "{late}"),
                Err(RemoteError::Refused(text)) => {
                    assert!(!is_answered && text.contains("five minutes"), "{late}: {text}");
                }
                other => panic!("{late}: {:?}", other.err()),
            }
        }
        // The subscription of the next connection begins as early.
        let subscriptions = relay.subscriptions();
        relay.suspend().await;
        relay.resume().await.unwrap();
        while relay.subscriptions() < subscriptions {
            sleep(Duration::from_millis(10)).await;
        }
        client.set_timeout(Duration::from_secs(5));
        client.sign(&note(1), now() - 200).await.unwrap();
        signer.end().await;
    });
}

/// The relay ends the connection at each answer, which is longer than its request.
#[test]
fn an_answer_that_was_lost_with_its_connection_is_sent_again() {
    with_relay(Settings::default(), async |relay| {
        let signer = Serving::start(relay).await;
        let mut client = connected(&signer.invite("sign:1").await, 7).await;
        relay.set_faults(Faults { close_longer: Some(1_100), ..Faults::default() });
        let relay = &*relay;
        let repair = async {
            while relay.connections() > 1 {
                sleep(Duration::from_millis(5)).await;
            }
            relay.set_faults(Faults::default());
        };
        let content = "x".repeat(100);
        let template = Template { content: content.as_str().into(), ..note(1) };
        let (signed, ()) = tokio::join!(client.sign(&template, now()), repair);
        signed.unwrap();
        signer.end().await;
    });
}

/// Client of a `nostrconnect://` URI that listens at a relay.
struct UriClient {
    relay: client::Relay,
    notifications: mpsc::Receiver<(usize, Notification)>,
}

impl UriClient {
    fn start(relay: &Server, key: &SigningKey) -> Self {
        let (sender, notifications) = mpsc::channel(64);
        let address = Address::parse(&relay.url()).unwrap();
        let relay = client::Relay::start(client::Settings::new(address), 0, sender);
        let own = hex(&key.public_key().to_bytes());
        relay.subscribe(Some(Filter { tags: vec![('p', vec![own])], ..Filter::default() }));
        Self { relay, notifications }
    }

    /// Returns the result of the next response, and the signer's key.
    async fn result(&mut self, key: &SigningKey) -> (String, [u8; 32]) {
        loop {
            let (_, notification) = self.notifications.recv().await.unwrap();
            let Notification::Event(event) = notification else { continue };
            let event = Event::parse(&event).unwrap();
            let author = event.verify().unwrap();
            let conversation = Conversation::new(key.secret_key(), &author);
            let mut content = event.content.to_string().into_bytes();
            let response = Response::parse(conversation.open(&mut content).unwrap()).unwrap();
            let Answer::Text(text) = response.answer else { panic!("no result") };
            return (text.to_owned(), author.to_bytes());
        }
    }
}

/// A client in the background listens late, and a relay may be away when its app is added.
#[test]
fn a_client_of_its_own_uri_is_greeted_until_it_answers() {
    with_relay(Settings::default(), async |relay| {
        let signer = Serving::start(relay).await;
        // The connection to the relay of the URI exists.
        signer.invite("sign:1").await;
        let key = SigningKey::new(secret_key(7));
        let uri = |secret: &str, name: &str| {
            let relay = relay.url().replace(':', "%3A").replace('/', "%2F");
            let own = hex(&key.public_key().to_bytes());
            format!("nostrconnect://{own}?relay={relay}&secret={secret}&name={name}")
        };
        let (first, second) = (uri("first", "one"), uri("second", "two"));
        let greeted = signer.connect(&first).await;
        let taken = GreetedRelay { relay: relay.url(), failure: None };
        assert_eq!(greeted, [taken]);
        // Greetings do not reach the client until it listens.
        let mut client = UriClient::start(relay, &key);
        let (secret, transport) = client.result(&key).await;
        assert_eq!(secret, "first");
        let (again, _) = client.result(&key).await;
        assert_eq!(again, "first");
        // A request of the client ends the greetings.
        let url = relay.url();
        let relays = [url.as_str()];
        let bunker = Bunker {
            signer: endseal_nostr::key::PublicKey::from_bytes(&transport).unwrap(),
            relays: Relays::new(&relays),
            ignored_relays: 0,
            secret: None,
        };
        let mut app = client_of(&bunker, 7);
        assert_eq!(*app.call(&Call::Ping, now()).await.unwrap(), "pong");
        assert_eq!(client.result(&key).await.0, "pong");
        relay.suspend().await;
        let greeted = signer.connect(&second).await;
        let [GreetedRelay { failure: Some(_), .. }] = &greeted[..] else { panic!("{greeted:?}") };
        relay.resume().await.unwrap();
        let secret = timeout(Duration::from_secs(20), client.result(&key)).await.unwrap();
        assert_eq!(secret.0, "second");
        drop(client.relay);
        signer.end().await;
    });
}
