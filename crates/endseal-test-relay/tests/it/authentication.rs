//! NIP-42 authentication with several keys on one connection.

use endseal_relay::address::Address;
use endseal_relay::auth::{self, SignedEvent};
use endseal_relay::client::{Disconnect, Notification};
use endseal_test_relay::faults::Faults;
use endseal_test_relay::{Server, Settings as ServerSettings};

use super::bad_relays::listen;
use super::fixture::*;

async fn auth_server() -> Server {
    let mut settings = ServerSettings::default();
    settings.auth = true;
    server_with(settings).await
}

fn answers(server: &Server, challenge: &str, keys: &[&str]) -> Vec<SignedEvent> {
    let address = Address::parse(&server.url()).unwrap();
    let answer = |label: &&str| auth::sign(challenge, &address, &key(label), now(), &[0; 32]);
    keys.iter().map(answer).collect()
}

async fn challenge(client: &mut Client) -> String {
    client
        .find(|notification| match notification {
            Notification::Challenge(challenge) => Some(challenge.clone()),
            _ => None,
        })
        .await
}

#[tokio::test]
async fn messages_reach_the_keys_that_are_authenticated() {
    let server = auth_server().await;
    let mut signer = Client::start(settings(&server.url()));
    signer.relay.subscribe(Some(filter(&["bob", "carol", "dave"])));
    let challenge = challenge(&mut signer).await;
    let answers = answers(&server, &challenge, &["bob", "carol"]);
    signer.relay.authenticate(&challenge, answers.clone());
    for answer in &answers {
        assert_eq!(signer.result(answer).await, (true, String::new()));
    }
    let mut sender = Client::start(settings(&server.url()));
    for receiver in ["bob", "dave", "carol"] {
        let event = message_to(receiver, receiver);
        sender.publish(&event);
        assert!(sender.result(&event).await.0);
    }
    assert_eq!(signer.contents(2).await, ["bob", "carol"]);
    signer.hears_nothing().await;
}

#[tokio::test]
async fn what_was_refused_is_sent_and_requested_again_once() {
    let server = server().await;
    server.set_faults(Faults { demand_auth: true, ..Faults::default() });
    let mut client = Client::start(settings(&server.url()));
    client.relay.subscribe(Some(filter(&["bob"])));
    let event = message_to("bob", "early");
    client.publish(&event);
    let challenge = challenge(&mut client).await;
    client.relay.authenticate(&challenge, answers(&server, &challenge, &["bob"]));
    assert!(client.result(&event).await.0);
    until(async || server.subscriptions() == 1).await;
    client.publish(&message_to("bob", "later"));
    client
        .find(|notification| match notification {
            Notification::Event(json) => (content(json) == "later").then_some(()),
            _ => None,
        })
        .await;
}

#[tokio::test]
async fn a_relay_that_confirms_nothing_is_used_after_a_while() {
    let server = server().await;
    server.set_faults(Faults { demand_auth: true, no_result: true, ..Faults::default() });
    let mut settings = settings(&server.url());
    settings.timing.confirm = SOON;
    let mut client = Client::start(settings);
    client.relay.subscribe(Some(filter(&["bob"])));
    let event = message_to("bob", "early");
    client.publish(&event);
    let challenge = challenge(&mut client).await;
    client.relay.authenticate(&challenge, answers(&server, &challenge, &["bob"]));
    until(async || server.subscriptions() == 1 && server.accepted() == 1).await;
}

#[tokio::test]
async fn an_event_that_is_refused_in_spite_of_an_authentication_is_reported() {
    let server = server().await;
    let reason = Some("auth-required: never enough".to_owned());
    server.set_faults(Faults { demand_auth: true, refuse: reason, ..Faults::default() });
    let mut client = Client::start(settings(&server.url()));
    let event = message_to("bob", "hello");
    client.publish(&event);
    let challenge = challenge(&mut client).await;
    client.relay.authenticate(&challenge, answers(&server, &challenge, &["bob"]));
    assert_eq!(client.result(&event).await, (false, "auth-required: never enough".to_owned()));
}

#[tokio::test]
async fn answers_that_are_false_are_refused() {
    let server = auth_server().await;
    let mut client = Client::start(settings(&server.url()));
    let challenge = challenge(&mut client).await;
    let relay = server.url();
    let tags: &[&[&str]] = &[&["relay", &relay], &["challenge", &challenge]];
    let other: &[&[&str]] = &[&["relay", &relay], &["challenge", "other"]];
    let mut forged = event_of("bob", 22_242, now(), tags, "");
    forged.json = String::from_utf8(forged.json.to_vec())
        .unwrap()
        .replace("\"content\":\"\"", "\"content\":\"x\"")
        .into();
    let answers = vec![
        event_of("bob", 22_243, now(), tags, ""),
        event_of("bob", 22_242, now() - 3_600, tags, ""),
        event_of("bob", 22_242, now(), other, ""),
        event_of("bob", 22_242, now(), &tags[1..], ""),
        forged,
    ];
    client.relay.authenticate(&challenge, answers.clone());
    for answer in &answers {
        let (accepted, reason) = client.result(answer).await;
        assert!(!accepted && reason.starts_with("invalid:"), "{reason}");
    }
}

#[tokio::test]
async fn challenges_without_end_reach_the_caller_a_few_times() {
    let (url, mut relay) = listen().await;
    let mut client = Client::start(settings(&url));
    let mut peer = relay.accept().await;
    for number in 0..100 {
        peer.say(&format!("[\"AUTH\",\"{number}\"]")).await;
    }
    peer.say(&format!("[\"AUTH\",\"{}\"]", "x".repeat(1_000))).await;
    drop(peer);
    let mut challenges = 0;
    loop {
        match client.next().await {
            Notification::Challenge(_) => challenges += 1,
            Notification::Disconnected { reason, .. } => {
                assert!(!matches!(reason, Disconnect::Connect(_)), "{reason}");
                break;
            }
            _ => {}
        }
    }
    assert_eq!(challenges, 8);
}
