//! NIP-01 and NIP-11 between client and relay.

use std::time::Duration;

use endseal_nostr::event::Event;
use endseal_relay::client::Notification;
use endseal_relay::message::{ClientMessage, Filter};
use endseal_test_relay::Settings as ServerSettings;

use super::bad_relays::{Peer, listen};
use super::fixture::*;

#[tokio::test]
async fn an_event_reaches_those_who_subscribed_to_it() {
    let server = server().await;
    let mut bob = Client::subscribed(&server, &["bob", "bob2"]).await;
    let mut carol = Client::subscribed(&server, &["carol"]).await;
    let mut sender = Client::start(settings(&server.url()));
    for receiver in ["bob", "bob2"] {
        let event = message_to(receiver, "hello");
        sender.publish(&event);
        assert_eq!(sender.result(&event).await, (true, String::new()));
        let json = bob.event().await;
        assert_eq!(json, event.json);
        Event::parse(&json).unwrap().verify().unwrap();
    }
    carol.hears_nothing().await;
}

#[tokio::test]
async fn the_subscription_changes_while_it_runs() {
    let server = server().await;
    let mut client = Client::subscribed(&server, &["bob"]).await;
    client.relay.subscribe(Some(filter(&["carol"])));
    let sender = Client::start(settings(&server.url()));
    // The relay may receive the new request after the first messages.
    let heard = async {
        for number in 0.. {
            sender.publish(&message_to("carol", &number.to_string()));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        _ = client.event() => {}
        () = heard => {}
    }
    sender.publish(&message_to("bob", "no more"));
    client.relay.subscribe(None);
    until(async || server.subscriptions() == 0).await;
}

/// Returns the next request of a subscription, or the id of one that is closed.
async fn asked(peer: &mut Peer) -> (String, bool) {
    let text = peer.text().await;
    match ClientMessage::parse(text.as_bytes()).unwrap() {
        ClientMessage::Request { subscription, .. } => (subscription.to_string(), true),
        ClientMessage::Close(id) => (id.to_string(), false),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_subscription_ends_when_its_successor_is_confirmed() {
    let (url, mut relay) = listen().await;
    let mut client = Client::start(settings(&url));
    let mut peer = relay.accept().await;
    assert_eq!(client.relay.subscribe(Some(filter(&["bob"]))), 1);
    assert_eq!(asked(&mut peer).await, ("1".into(), true));
    peer.say(r#"["EOSE","1"]"#).await;
    assert_eq!(client.subscribed_to().await, 1);
    assert_eq!(client.relay.subscribe(Some(filter(&["bob", "carol"]))), 2);
    assert_eq!(asked(&mut peer).await, ("2".into(), true));
    // Events arrive on both subscriptions. A message about the first one confirms nothing.
    peer.say(r#"["EVENT","1",{"a":1}]"#).await;
    peer.say(r#"["EOSE","1"]"#).await;
    peer.say(r#"["EVENT","2",{"a":2}]"#).await;
    assert_eq!(client.event().await, br#"{"a":1}"#);
    assert_eq!(client.subscribed_to().await, 1);
    assert_eq!(client.event().await, br#"{"a":2}"#);
    peer.say(r#"["EOSE","2"]"#).await;
    assert_eq!(client.subscribed_to().await, 2);
    assert_eq!(asked(&mut peer).await, ("1".into(), false));
    peer.say(r#"["EVENT","1",{"a":3}]"#).await;
    client.hears_nothing().await;
}

#[tokio::test]
async fn unconfirmed_subscriptions_do_not_pile_up() {
    let (url, mut relay) = listen().await;
    let client = Client::start(settings(&url));
    let mut peer = relay.accept().await;
    for number in 1..=4 {
        client.relay.subscribe(Some(filter(&["bob"])));
        assert_eq!(asked(&mut peer).await, (number.to_string(), true));
        if number > 2 {
            assert_eq!(asked(&mut peer).await, ((number - 1).to_string(), false));
        }
    }
    client.relay.subscribe(None);
    assert_eq!(asked(&mut peer).await, ("1".into(), false));
    assert_eq!(asked(&mut peer).await, ("4".into(), false));
}

#[tokio::test]
async fn a_relay_of_one_subscription_gets_the_new_one() {
    let (url, mut relay) = listen().await;
    let mut settings = settings(&url);
    // The event arrives before the next attempt.
    settings.timing.first_wait = Duration::from_secs(2);
    settings.timing.longest_wait = Duration::from_secs(2);
    let mut client = Client::start(settings);
    let mut peer = relay.accept().await;
    client.relay.subscribe(Some(filter(&["bob"])));
    assert_eq!(asked(&mut peer).await, ("1".into(), true));
    client.relay.subscribe(Some(filter(&["carol"])));
    assert_eq!(asked(&mut peer).await, ("2".into(), true));
    peer.say(r#"["CLOSED","2","error: too many subscriptions"]"#).await;
    peer.say(r#"["EVENT","1",{"a":1}]"#).await;
    assert_eq!(client.event().await, br#"{"a":1}"#);
    assert_eq!(asked(&mut peer).await, ("1".into(), false));
    assert_eq!(asked(&mut peer).await, ("2".into(), true));
}

#[tokio::test]
async fn events_are_stored_replaced_or_neither() {
    let server = server().await;
    let mut sender = Client::start(settings(&server.url()));
    let at = now();
    let events = [
        event_of("a", 1, at - 9, &[&["t", "x"]], "regular"),
        event_of("a", 0, at - 8, &[], "profile"),
        event_of("a", 0, at - 7, &[], "new profile"),
        event_of("a", 0, at - 9, &[], "old profile"),
        event_of("a", 30_000, at - 6, &[&["d", "1"]], "address"),
        event_of("a", 30_000, at - 5, &[&["d", "2"]], "other address"),
        event_of("a", 30_000, at - 4, &[&["d", "1"]], "new address"),
        event_of("a", 20_001, at - 3, &[], "ephemeral"),
        event_of("b", 0, at - 2, &[], "profile of b"),
    ];
    for event in &events {
        sender.publish(event);
        assert!(sender.result(event).await.0);
    }
    sender.publish(&events[0]);
    let (accepted, reason) = sender.result(&events[0]).await;
    assert!(accepted && reason.starts_with("duplicate:"), "{reason}");

    let found = async |filter: Filter, expected: &[&str]| {
        let mut client = Client::start(settings(&server.url()));
        client.relay.subscribe(Some(Filter { since: Some(0), ..filter }));
        assert_eq!(client.contents(expected.len()).await, expected);
        client.hears_nothing().await;
    };
    let all = ["profile of b", "new address", "other address", "new profile", "regular"];
    found(Filter::default(), &all).await;
    found(Filter { limit: Some(2), ..Filter::default() }, &all[..2]).await;
    let tags = vec![('t', vec!["y".to_owned(), "x".to_owned()])];
    found(Filter { tags, ..Filter::default() }, &["regular"]).await;
    let authors = Some(vec![key("b").public_key().to_bytes()]);
    found(Filter { authors, ..Filter::default() }, &["profile of b"]).await;
    found(
        Filter { ids: Some(vec![events[4].id, events[5].id]), ..Filter::default() },
        &["other address"],
    )
    .await;
    found(Filter { until: Some(at - 7), ..Filter::default() }, &["new profile", "regular"]).await;
}

#[tokio::test]
async fn an_event_that_is_not_authentic_is_refused() {
    let server = server().await;
    let mut bob = Client::subscribed(&server, &["bob"]).await;
    let mut event = message_to("bob", "hello");
    let json = String::from_utf8(event.json.to_vec()).unwrap();
    event.json = json.replace("hello", "hallo").into();
    bob.publish(&event);
    let (accepted, reason) = bob.result(&event).await;
    assert!(!accepted && reason.starts_with("invalid:"), "{reason}");
    bob.hears_nothing().await;
    assert_eq!(server.accepted(), 0);
}

#[tokio::test]
async fn the_information_document_has_the_longest_message() {
    let mut server_settings = ServerSettings::default();
    server_settings.limits.message = 54_321;
    let server = server_with(server_settings).await;
    let mut settings = settings(&server.url());
    settings.information = true;
    let mut client = Client::start(settings);
    client.connected().await;
    until(async || client.relay.max_message_length() == Some(54_321)).await;
}

#[tokio::test]
async fn a_stop_sends_what_is_queued() {
    let server = server().await;
    let mut bob = Client::subscribed(&server, &["bob"]).await;
    let mut sender = Client::start(settings(&server.url()));
    sender.connected().await;
    for number in 0..50 {
        sender.publish(&message_to("bob", &number.to_string()));
    }
    sender.relay.stop(LATE).await;
    let expected: Vec<_> = (0..50).map(|number| number.to_string()).collect();
    assert_eq!(bob.contents(50).await, expected);
    // The relay sends a close message.
    server.stop().await;
    let code = bob
        .find(|notification| match notification {
            Notification::Disconnected { reason, .. } => Some(reason.to_string()),
            _ => None,
        })
        .await;
    assert!(code.contains("1001"), "{code}");
}
