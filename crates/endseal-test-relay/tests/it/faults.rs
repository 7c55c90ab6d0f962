//! The client's reaction to each fault of the relay.

use std::time::Duration;

use endseal_nostr::event::Event;
use endseal_relay::client::Notification;
use endseal_test_relay::faults::{Faults, Lie};

use super::fixture::*;

#[tokio::test]
async fn dropped_repeated_and_swapped_events_arrive_as_the_fault_says() {
    let server = server().await;
    let mut bob = Client::subscribed(&server, &["bob"]).await;
    let mut sender = Client::start(settings(&server.url()));
    let mut say = async |contents: &[&str]| {
        for content in contents {
            let event = message_to("bob", content);
            sender.publish(&event);
            assert!(sender.result(&event).await.0);
        }
    };
    server.set_faults(Faults { drop_every: Some(2), ..Faults::default() });
    say(&["1", "2", "3", "4"]).await;
    assert_eq!(bob.contents(2).await, ["1", "3"]);
    server.set_faults(Faults { repeat: true, ..Faults::default() });
    say(&["5"]).await;
    assert_eq!(bob.contents(2).await, ["5", "5"]);
    server.set_faults(Faults { swap: true, ..Faults::default() });
    say(&["6", "7", "8", "9"]).await;
    assert_eq!(bob.contents(4).await, ["7", "6", "9", "8"]);
    bob.hears_nothing().await;
}

#[tokio::test]
async fn a_lie_arrives_and_is_not_authentic() {
    let server = server().await;
    let mut bob = Client::subscribed(&server, &["bob"]).await;
    for lie in [Lie::Signature, Lie::Content] {
        server.set_faults(Faults { alter: Some(lie), ..Faults::default() });
        bob.publish(&message_to("bob", "hello"));
        let json = bob.event().await;
        assert!(Event::parse(&json).unwrap().verify().is_err(), "{lie:?}");
    }
}

#[tokio::test]
async fn nothing_waits_for_a_result_or_the_end_of_stored_events() {
    let server = server().await;
    server.set_faults(Faults { no_result: true, no_end_of_stored: true, ..Faults::default() });
    let mut bob = Client::subscribed(&server, &["bob"]).await;
    let expected: Vec<_> = (0..100).map(|number| number.to_string()).collect();
    for content in &expected {
        bob.publish(&message_to("bob", content));
    }
    assert_eq!(bob.contents(100).await, expected);
}

#[tokio::test]
async fn a_refusal_is_reported_with_its_reason() {
    let server = server().await;
    let mut bob = Client::subscribed(&server, &["bob"]).await;
    let reason = "blocked:\u{202e} no\n".to_owned() + &"é".repeat(400);
    server.set_faults(Faults { refuse: Some(reason), ..Faults::default() });
    let event = message_to("bob", "hello");
    bob.publish(&event);
    let (accepted, reason) = bob.result(&event).await;
    assert!(!accepted && reason.starts_with("blocked:  no éé") && reason.len() <= 256, "{reason}");
}

#[tokio::test]
async fn a_connection_that_ends_is_made_again_and_nothing_is_lost() {
    let server = server().await;
    let mut bob = Client::subscribed(&server, &["bob"]).await;
    let mut sender = Client::start(settings(&server.url()));
    server.set_faults(Faults { close_after: Some(3), ..Faults::default() });
    for round in 0..4 {
        for number in 0..3 {
            let event = message_to("bob", &format!("{round} {number}"));
            sender.publish(&event);
            assert!(sender.result(&event).await.0);
            assert_eq!(bob.contents(1).await, [format!("{round} {number}")]);
        }
        sender
            .find(|notification| {
                matches!(notification, Notification::Disconnected { .. }).then_some(())
            })
            .await;
        sender.connected().await;
    }
}

#[tokio::test]
async fn a_closed_subscription_is_made_again() {
    let server = server().await;
    let reason = Some("error: later".to_owned());
    server.set_faults(Faults { close_subscriptions: reason, ..Faults::default() });
    let mut bob = Client::start(settings(&server.url()));
    bob.relay.subscribe(Some(filter(&["bob"])));
    bob.connected().await;
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!(server.subscriptions(), 0);
    server.set_faults(Faults::default());
    until(async || server.subscriptions() == 1).await;
    bob.publish(&message_to("bob", "hello"));
    assert_eq!(bob.contents(1).await, ["hello"]);
}

#[tokio::test]
async fn an_event_that_is_too_large_is_reported_or_suspect() {
    let server = server().await;
    let mut bob = Client::subscribed(&server, &["bob"]).await;
    let large = message_to("bob", &"x".repeat(60_000));
    server.set_faults(Faults { refuse_longer: Some(50_000), ..Faults::default() });
    bob.publish(&large);
    let (accepted, reason) = bob.result(&large).await;
    assert!(!accepted && reason.starts_with("invalid:"), "{reason}");

    server.set_faults(Faults { close_longer: Some(50_000), ..Faults::default() });
    let large = message_to("bob", &"y".repeat(60_000));
    bob.publish(&large);
    let suspect = bob
        .find(|notification| match notification {
            Notification::Disconnected { suspect, .. } => Some(*suspect),
            _ => None,
        })
        .await;
    assert_eq!(suspect, Some(large.id));
    // The event is not sent again, but the following one is sent.
    let small = message_to("bob", "small");
    bob.publish(&small);
    assert!(bob.result(&small).await.0);
    assert_eq!(server.connections(), 1);
}
