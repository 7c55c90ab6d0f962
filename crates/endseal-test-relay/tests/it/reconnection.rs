//! Loss of the connection, and reconnecting.

use std::time::{Duration, Instant};

use endseal_relay::client::{Disconnect, Notification};
use endseal_relay::message::{ClientMessage, Filter};
use endseal_test_relay::Settings as ServerSettings;
use endseal_test_relay::faults::Faults;

use super::bad_relays::{Peer, listen};
use super::fixture::*;

#[tokio::test]
async fn a_relay_that_comes_back_on_its_port_is_subscribed_to_again() {
    let mut server = server().await;
    let mut bob = Client::subscribed(&server, &["bob"]).await;
    for round in 0..3 {
        server.suspend().await;
        bob.find(|notification| match notification {
            Notification::Disconnected { reason: Disconnect::Connect(_), .. } => Some(()),
            _ => None,
        })
        .await;
        assert_eq!(server.connections(), 0);
        // The event waits in the queue until there is a connection.
        let event = message_to("bob", &round.to_string());
        bob.publish(&event);
        server.resume().await.unwrap();
        assert!(bob.result(&event).await.0);
        until(async || server.subscriptions() == 1).await;
        bob.publish(&message_to("bob", "again"));
        bob.find(|notification| match notification {
            Notification::Event(json) => (content(json) == "again").then_some(()),
            _ => None,
        })
        .await;
    }
}

#[tokio::test]
async fn stored_events_of_the_gap_arrive() {
    let mut server = server().await;
    let mut bob = Client::start(settings(&server.url()));
    let kinds = Some(vec![1]);
    bob.relay.subscribe(Some(Filter { kinds, since: Some(0), ..Filter::default() }));
    until(async || server.subscriptions() == 1).await;
    let old = event_of("a", 1, now() - 600, &[], "ten minutes old");
    let mut sender = Client::start(settings(&server.url()));
    sender.publish(&old);
    assert!(sender.result(&old).await.0);
    assert_eq!(bob.contents(1).await, ["ten minutes old"]);
    server.suspend().await;
    server.resume().await.unwrap();
    let recent = event_of("a", 1, now() - 60, &[], "a minute old");
    sender.publish(&recent);
    assert!(sender.result(&recent).await.0);
    assert_eq!(bob.contents(1).await, ["a minute old"]);
    bob.hears_nothing().await;
}

#[tokio::test]
async fn requests_ask_for_the_overlap() {
    let (url, mut relay) = listen().await;
    let mut settings = settings(&url);
    settings.timing.overlap = Duration::from_secs(100);
    let client = Client::start(settings);
    let since = Some(5);
    client.relay.subscribe(Some(Filter { since, ..filter(&["bob"]) }));
    let asked = async |peer: &mut Peer| {
        let text = peer.text().await;
        match ClientMessage::parse(text.as_bytes()).unwrap() {
            ClientMessage::Request { filters, .. } => filters[0].since.unwrap(),
            other => panic!("{other:?}"),
        }
    };
    let mut peer = relay.accept().await;
    // The start time that the caller passed applies to the first request.
    assert_eq!(asked(&mut peer).await, 5);
    peer.say(r#"["NOTICE","hello"]"#).await;
    drop(peer);
    let mut peer = relay.accept().await;
    assert!((now() - 110..=now() - 100).contains(&asked(&mut peer).await));
}

#[tokio::test]
async fn unsent_events_are_dropped_in_time_and_reported() {
    let mut server = server().await;
    server.suspend().await;
    let mut settings = settings(&server.url());
    settings.timing.keep_unsent = Duration::from_millis(200);
    let mut client = Client::start(settings);
    let event = message_to("bob", "late");
    client.publish(&event);
    let id = client
        .find(|notification| match notification {
            Notification::Unsent(id) => Some(*id),
            _ => None,
        })
        .await;
    assert_eq!(id, event.id);
    server.resume().await.unwrap();
    client.connected().await;
    let next = message_to("bob", "next");
    client.publish(&next);
    assert!(client.result(&next).await.0);
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_full_queue_drops_its_oldest_events() {
    let mut server = server().await;
    server.suspend().await;
    let mut settings = settings(&server.url());
    settings.limits.queued_events = 3;
    let client = Client::start(settings);
    let events: Vec<_> = (0..5).map(|number| message_to("bob", &number.to_string())).collect();
    let dropped: Vec<_> = events.iter().flat_map(|event| client.relay.publish(event)).collect();
    assert_eq!(dropped, [events[0].id, events[1].id]);
}

#[tokio::test]
async fn a_silent_relay_is_left_and_one_that_answers_pings_is_not() {
    let server = server_with(ServerSettings::default()).await;
    let mut lively = settings(&server.url());
    lively.timing.ping = Duration::from_millis(100);
    lively.timing.silence = Duration::from_millis(1_000);
    let (url, mut relay) = listen().await;
    let mut silent = settings(&url);
    silent.timing = lively.timing;
    let mut lively = Client::start(lively);
    let mut silent = Client::start(silent);
    lively.connected().await;
    let began = Instant::now();
    // The relay reads nothing, so it answers nothing.
    let _peer = relay.accept().await;
    silent
        .find(|notification| match notification {
            Notification::Disconnected { reason: Disconnect::Silent, .. } => Some(()),
            _ => None,
        })
        .await;
    assert!(began.elapsed() >= Duration::from_millis(1_000));
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!(lively.notifications.is_empty());
}

#[tokio::test]
async fn an_event_that_was_lost_with_its_connection_is_sent_again() {
    let server = server().await;
    let mut bob = Client::subscribed(&server, &["bob"]).await;
    let mut sender = Client::start(settings(&server.url()));
    sender.connected().await;
    // The relay forwards nothing and ends the connection without a report.
    let (drop_every, close_after) = (Some(1), Some(1));
    server.set_faults(Faults { drop_every, no_result: true, close_after, ..Faults::default() });
    let event = message_to("bob", "lost");
    sender.publish(&event);
    let disconnected = |it: &Notification| matches!(it, Notification::Disconnected { .. });
    for _ in 0..3 {
        sender.find(|it| disconnected(it).then_some(())).await;
    }
    server.set_faults(Faults::default());
    assert!(sender.result(&event).await.0);
    assert_eq!(bob.contents(1).await, ["lost"]);
    // An event with a report is not sent again.
    server.set_faults(Faults { close_after, ..Faults::default() });
    sender.publish(&message_to("bob", "heard"));
    sender.find(|it| disconnected(it).then_some(())).await;
    sender.connected().await;
    assert_eq!(bob.contents(1).await, ["heard"]);
    bob.hears_nothing().await;
}

#[tokio::test]
async fn an_event_that_was_refused_for_the_moment_is_sent_again() {
    let server = server().await;
    let mut bob = Client::subscribed(&server, &["bob"]).await;
    let mut sender = Client::start(settings(&server.url()));
    let reason = "rate-limited: slow down";
    server.set_faults(Faults { refuse: Some(reason.into()), ..Faults::default() });
    let event = message_to("bob", "later");
    sender.publish(&event);
    for _ in 0..3 {
        let postponed = |it: &Notification| match it {
            Notification::Postponed { id, reason } => Some((*id, reason.clone())),
            Notification::Result { .. } => panic!("the report is final"),
            _ => None,
        };
        assert_eq!(sender.find(postponed).await, (event.id, reason.to_owned()));
    }
    server.set_faults(Faults::default());
    assert!(sender.result(&event).await.0);
    assert_eq!(bob.contents(1).await, ["later"]);
    // Another reason is final.
    server.set_faults(Faults { refuse: Some("blocked: no".into()), ..Faults::default() });
    let event = message_to("bob", "never");
    sender.publish(&event);
    assert_eq!(sender.result(&event).await, (false, "blocked: no".to_owned()));
}
