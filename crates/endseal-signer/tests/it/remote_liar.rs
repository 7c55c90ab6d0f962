//! Tests of a client whose signer sends wrong responses.

use core::cell::RefCell;
use core::time::Duration;

use endseal_nostr::connect::Request;
use endseal_nostr::event::{Event, Tags, Template};
use endseal_nostr::key::{SecretKey, SigningKey};
use endseal_nostr::nip44::{Conversation, Lengths, payload_len};
use endseal_relay::address::Address;
use endseal_relay::auth::SignedEvent;
use endseal_relay::client::{self, Notification, Relay};
use endseal_relay::message::Filter;
use endseal_signer::client::{RemoteError, RemoteSigner};
use endseal_test_relay::{Server, Settings};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::remote::{client, hex, note, now, parse, with_relay};
use crate::world::{public_key, secret_key};

/// Number of the key of the lying signer.
const LIAR: u32 = 5;

/// Signer that sends the responses that a test chooses.
struct Liar {
    key: SigningKey,
    relay: Relay,
    notifications: mpsc::Receiver<(usize, Notification)>,
}

impl Liar {
    async fn start(server: &Server) -> Self {
        let key = SigningKey::new(secret_key(LIAR));
        let (sender, notifications) = mpsc::channel(64);
        let address = Address::parse(&server.url()).unwrap();
        let relay = Relay::start(client::Settings::new(address), 0, sender);
        let own = hex(&key.public_key().to_bytes());
        relay.subscribe(Some(Filter { tags: vec![('p', vec![own])], ..Filter::default() }));
        while server.subscriptions() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Self { key, relay, notifications }
    }

    fn uri(&self, server: &Server) -> String {
        let relay = server.url().replace(':', "%3A").replace('/', "%2F");
        format!("bunker://{}?relay={relay}", hex(&self.key.public_key().to_bytes()))
    }

    /// Waits for the next request and sends these responses to it.
    async fn answer(&mut self, answers: &[Value]) {
        while let Some((_, notification)) = self.notifications.recv().await {
            let Notification::Event(event) = notification else { continue };
            let event = Event::parse(&event).unwrap();
            let author = event.verify().unwrap();
            let conversation = Conversation::new(self.key.secret_key(), &author);
            let mut content = event.content.to_string().into_bytes();
            let request = Request::parse(conversation.open(&mut content).unwrap()).unwrap();
            for answer in answers {
                let mut answer = answer.clone();
                answer["id"] = request.id.into();
                let answer = answer.to_string();
                let mut out = vec![0; payload_len(answer.len(), Lengths::Extended).unwrap()];
                let bytes = answer.as_bytes();
                let payload = conversation.seal(bytes, &[1; 32], Lengths::Extended, &mut out);
                let receiver = hex(&author.to_bytes());
                let (tags, content): (&[&[&str]], _) = (&[&["p", &receiver]], payload.unwrap());
                let (tags, content) = (Tags::List(tags), content.into());
                let (pubkey, created_at, kind) = (None, now(), 24_133);
                let template = Template { pubkey, created_at, kind, tags, content };
                let event = template.sign(&self.key, &[0; 32]).unwrap();
                assert!(self.relay.publish(&SignedEvent::from(&event)).is_empty());
            }
        }
    }
}

fn signed(template: &Template<'_>, key: &SecretKey) -> String {
    let key = SigningKey::new(SecretKey::from_bytes(key.expose_secret()).unwrap());
    let mut json = Vec::new();
    template.sign(&key, &[0; 32]).unwrap().write_to(&mut json);
    String::from_utf8(json).unwrap()
}

/// Requests a signature of `template`, lets the signer send `answer`, and returns the error.
async fn ask(server: &Server, template: &Template<'_>, answer: &str) -> Option<RemoteError> {
    let mut liar = Liar::start(server).await;
    let mut client = client(&liar.uri(server), 7);
    let answers = [json!({ "result": answer })];
    tokio::select! {
        signed = client.sign(template, now()) => signed.err(),
        () = liar.answer(&answers) => panic!("the relay is gone"),
    }
}

#[test]
fn another_event_than_the_requested_one_is_refused() {
    with_relay(Settings::default(), async |server| {
        let user = secret_key(1);
        assert!(ask(server, &note(1), &signed(&note(1), &user)).await.is_none());
        let other_tag: &[&[&str]] = &[&["t", "noon"]];
        for template in [
            note(2),
            Template { created_at: 2, ..note(1) },
            Template { content: "at noon".into(), ..note(1) },
            Template { tags: Tags::List(other_tag), ..note(1) },
        ] {
            let outcome = ask(server, &note(1), &signed(&template, &user)).await;
            assert!(matches!(outcome, Some(RemoteError::Event)), "{outcome:?}");
        }
        // The author is not the one that the template names.
        let named = Template { pubkey: Some(public_key(2).to_bytes()), ..note(1) };
        let outcome = ask(server, &named, &signed(&note(1), &user)).await;
        assert!(matches!(outcome, Some(RemoteError::Event)), "{outcome:?}");
        // The signature is wrong, or the result is not an event.
        let mut forged: Value = serde_json::from_str(&signed(&note(1), &user)).unwrap();
        forged["sig"] = "7".repeat(128).into();
        for answer in [forged.to_string(), "ack".to_owned(), String::new()] {
            let outcome = ask(server, &note(1), &answer).await;
            assert!(matches!(outcome, Some(RemoteError::Event)), "{outcome:?}");
        }
    });
}

#[test]
fn pages_are_shown_once_and_texts_without_commands() {
    with_relay(Settings::default(), async |server| {
        let mut liar = Liar::start(server).await;
        let pages = RefCell::new(Vec::new());
        let uri = liar.uri(server);
        let mut buffer = vec![0; uri.len()];
        let key = SigningKey::new(secret_key(7));
        let show = |url: &str| pages.borrow_mut().push(url.to_owned());
        let bunker = parse(&uri, &mut buffer);
        let mut client = RemoteSigner::new(&bunker, key, now(), |_| {}, show).unwrap();
        let page = |url: &str| json!({"result": "auth_url", "error": url});
        let text = format!("\u{1b}[2J\u{202e}{}", "x".repeat(10_000));
        let answers = [
            page("javascript:alert(1)"),
            page("https://signer.example/\u{1b}[2J"),
            page("https://signer.example/1"),
            page("https://signer.example/2"),
            json!({ "error": text }),
        ];
        let outcome = tokio::select! {
            outcome = client.connect(None, now()) => outcome,
            () = liar.answer(&answers) => panic!("the relay is gone"),
        };
        let Err(RemoteError::Refused(text)) = outcome else { panic!("{outcome:?}") };
        assert!(text.starts_with("\u{fffd}[2J\u{fffd}xxx") && text.len() < 1_000, "{text}");
        drop(client);
        assert_eq!(*pages.borrow(), ["https://signer.example/1"]);
    });
}

/// Some signers answer a second `connect` of a client that they know with an error.
#[test]
fn a_signer_may_say_that_its_client_is_already_connected() {
    with_relay(Settings::default(), async |server| {
        for (text, is_connected) in [("Already connected", true), ("connection refused", false)] {
            let mut liar = Liar::start(server).await;
            let mut client = client(&liar.uri(server), 7);
            let answers = [json!({ "error": text })];
            let outcome = tokio::select! {
                outcome = client.connect(None, now()) => outcome,
                () = liar.answer(&answers) => panic!("the relay is gone"),
            };
            assert_eq!(outcome.is_ok(), is_connected, "{outcome:?}");
        }
    });
}
