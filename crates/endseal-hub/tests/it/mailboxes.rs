//! Mailboxes: credit, acknowledgements, replaced subscriptions, gaps and restored databases.

use std::fs;
use std::time::Duration;

use endseal_codec::hub::{Acknowledge, Answer, Code, Credit, Gap, GapReason, Request, Subscribe};
use endseal_hub::{HubLimits, SqliteStore};

use crate::puts::{put_one, subscribe};
use crate::world::{Exchange, Node, World, put};

async fn fill(from: &Node, to: &Node, sequences: core::ops::RangeInclusive<u64>) {
    for sequence in sequences {
        let answer = put_one(from, put(&[to], &from.frame(sequence, b"text"))).await;
        assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
    }
}

/// Receives a frame and returns its position.
async fn position(exchange: &mut Exchange) -> u64 {
    match exchange.receive().await {
        Some(Answer::Deliver(deliver)) => deliver.position,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_delivered_beyond_the_credit() {
    let world = World::new();
    let (alice, bob) = (world.registered().await, world.registered().await);
    fill(&alice, &bob, 1..=6).await;
    let mut exchange = bob.exchange().await;
    exchange.send(Request::Subscribe(Subscribe { after: 0, frames: 0, bytes: 0 })).await;
    assert!(exchange.is_silent().await);
    exchange.send(Request::Credit(Credit { frames: 2, bytes: 1 << 20 })).await;
    let first = position(&mut exchange).await;
    assert!(position(&mut exchange).await > first && exchange.is_silent().await);
    // A credit of one byte is enough for one frame, however long it is.
    exchange.send(Request::Credit(Credit { frames: 9, bytes: 0 })).await;
    position(&mut exchange).await;
    let rest = Request::Credit(Credit { frames: 0, bytes: 1 << 20 });
    exchange.send(rest).await;
    for _ in 0..3 {
        position(&mut exchange).await;
    }
    assert!(matches!(exchange.receive().await, Some(Answer::CaughtUp(_))));
    // The subscription continues without a new request.
    fill(&alice, &bob, 7..=7).await;
    position(&mut exchange).await;
    assert!(matches!(exchange.receive().await, Some(Answer::CaughtUp(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_acknowledged_is_gone_and_the_rest_comes_again() {
    let mut world = World::new();
    let (mut alice, mut bob) = (world.registered().await, world.registered().await);
    fill(&alice, &bob, 1..=3).await;
    let mut exchange = subscribe(&bob, 0, 10).await;
    let first = position(&mut exchange).await;
    let second = position(&mut exchange).await;
    exchange.send(Request::Acknowledge(Acknowledge { position: first })).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    world.stop().await;
    assert!(world.faults().is_empty());
    world.start();
    bob.reconnect(&world).await;
    alice.reconnect(&world).await;
    // A subscription from the beginning does not deliver acknowledged frames again.
    let mut exchange = subscribe(&bob, 0, 10).await;
    assert_eq!(position(&mut exchange).await, second);
    let third = position(&mut exchange).await;
    // A subscription that starts after a position acknowledges that position.
    let mut exchange = subscribe(&bob, third, 10).await;
    assert!(matches!(exchange.receive().await, Some(Answer::CaughtUp(_))));
    let welcome = bob
        .ask(Request::Hello(endseal_codec::hub::Hello { version: 1, ..Default::default() }))
        .await;
    let Answer::Welcome(welcome) = welcome else { panic!() };
    assert_eq!(welcome.waiting, 0);
    fill(&alice, &bob, 4..=4).await;
    assert!(position(&mut exchange).await > third);
}

/// A message is kept while any mailbox contains it.
#[tokio::test(flavor = "multi_thread")]
async fn what_one_mailbox_has_acknowledged_stays_in_the_others() {
    let world = World::new();
    let (alice, bob) = (world.registered().await, world.registered().await);
    let (carol, dave) = (world.registered().await, world.registered().await);
    let everybody = [&bob, &carol, &dave];
    for (sequence, targets) in [(1, &everybody[..]), (2, &everybody[..1]), (3, &everybody[..2])] {
        let answer = put_one(&alice, put(targets, &alice.frame(sequence, b"text"))).await;
        assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
    }
    for (node, frames) in everybody.into_iter().zip([3, 2, 1]) {
        let mut exchange = subscribe(node, 0, 10).await;
        let mut last = 0;
        for _ in 0..frames {
            last = position(&mut exchange).await;
        }
        assert!(matches!(exchange.receive().await, Some(Answer::CaughtUp(_))));
        // The node acknowledges by subscribing, and gets its answer once that is done.
        let mut exchange = subscribe(node, last, 10).await;
        assert!(matches!(exchange.receive().await, Some(Answer::CaughtUp(_))));
        let welcome = node
            .ask(Request::Hello(endseal_codec::hub::Hello { version: 1, ..Default::default() }))
            .await;
        let Answer::Welcome(welcome) = welcome else { panic!() };
        assert_eq!(welcome.waiting, 0);
        assert!(world.faults().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_subscription_takes_the_place_of_the_one_before() {
    let world = World::new();
    let (alice, bob) = (world.registered().await, world.registered().await);
    let mut first = subscribe(&bob, 0, 10).await;
    assert!(matches!(first.receive().await, Some(Answer::CaughtUp(_))));
    let mut second = subscribe(&bob, 0, 10).await;
    assert!(matches!(second.receive().await, Some(Answer::CaughtUp(_))));
    assert!(first.receive().await.is_none());
    fill(&alice, &bob, 1..=1).await;
    position(&mut second).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_frames_are_told_until_they_are_acknowledged() {
    let mut limits = HubLimits::default();
    limits.retention = Duration::ZERO;
    let mut world = World::with(limits);
    let (mut alice, mut bob) = (world.registered().await, world.registered().await);
    fill(&alice, &bob, 1..=3).await;
    // The hub deletes expired frames when it starts.
    world.stop().await;
    world.start();
    tokio::time::sleep(Duration::from_millis(300)).await;
    alice.reconnect(&world).await;
    bob.reconnect(&world).await;
    let mut last = 0;
    for _ in 0..2 {
        let mut exchange = subscribe(&bob, 0, 10).await;
        let Some(Answer::Gap(Gap { count, reason, position })) = exchange.receive().await else {
            panic!()
        };
        assert_eq!((count, reason), (3, GapReason::EXPIRED));
        assert!(matches!(exchange.receive().await, Some(Answer::CaughtUp(_))));
        last = position;
    }
    let mut exchange = subscribe(&bob, last, 10).await;
    assert!(matches!(exchange.receive().await, Some(Answer::CaughtUp(_))));
    let mut exchange = subscribe(&bob, 0, 10).await;
    assert!(matches!(exchange.receive().await, Some(Answer::CaughtUp(_))));
    assert!(world.faults().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_database_loses_no_later_frame() {
    let mut world = World::new();
    let Some(path) = world.path() else { return };
    let (mut alice, mut bob) = (world.registered().await, world.registered().await);
    fill(&alice, &bob, 1..=1).await;
    world.stop().await;
    let copy = world.folder.path("copy.db");
    SqliteStore::open(&path).unwrap().copy_to(&copy).unwrap();
    world.start();
    alice.reconnect(&world).await;
    bob.reconnect(&world).await;
    fill(&alice, &bob, 2..=3).await;
    let mut exchange = subscribe(&bob, 0, 10).await;
    let mut passed = 0;
    for _ in 0..3 {
        passed = position(&mut exchange).await;
    }
    world.stop().await;
    for suffix in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(world.folder.path(&format!("hub.db{suffix}")));
    }
    fs::copy(&copy, &path).unwrap();
    world.start();
    alice.reconnect(&world).await;
    bob.reconnect(&world).await;
    // The node can tell that the hub has lost frames that it had confirmed.
    let hello = Request::Hello(endseal_codec::hub::Hello { version: 1, ..Default::default() });
    let Answer::Welcome(welcome) = alice.ask(hello).await else { panic!() };
    assert_eq!(welcome.sequence, Some(1));
    let mut exchange = subscribe(&bob, passed, 10).await;
    let Some(Answer::Gap(gap)) = exchange.receive().await else { panic!() };
    assert_eq!((gap.reason, gap.position), (GapReason::RESTORED, 0));
    // The frames in the restored copy are delivered again, although the node has them: no frame is
    // deleted before it is delivered.
    position(&mut exchange).await;
    assert!(matches!(exchange.receive().await, Some(Answer::CaughtUp(_))));
    fill(&alice, &bob, 4..=4).await;
    assert!(position(&mut exchange).await > passed);
    // After the position has been passed, no gap is reported any more.
    let mut exchange = subscribe(&bob, passed, 10).await;
    position(&mut exchange).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_position_that_was_never_given_deletes_nothing() {
    let world = World::new();
    let (alice, bob) = (world.registered().await, world.registered().await);
    fill(&alice, &bob, 1..=2).await;
    let mut exchange = subscribe(&bob, u64::MAX, 10).await;
    assert!(matches!(exchange.receive().await, Some(Answer::Gap(_))));
    let first = position(&mut exchange).await;
    position(&mut exchange).await;
    exchange.send(Request::Acknowledge(Acknowledge { position: u64::MAX - 1 })).await;
    assert!(matches!(exchange.receive().await, Some(Answer::CaughtUp(_))));
    let mut exchange = subscribe(&bob, 0, 10).await;
    assert_eq!(position(&mut exchange).await, first);
    position(&mut exchange).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_record_is_said_and_hinders_no_other() {
    let world = World::new();
    let (alice, bob) = (world.registered().await, world.registered().await);
    let person = *bob.person.identity().ed25519().as_bytes();
    world.transact(|it| it.put_person(&person, b"damaged"));
    let hello = Request::Hello(endseal_codec::hub::Hello { version: 1, ..Default::default() });
    let Answer::Refused(refused) = bob.ask(hello).await else { panic!() };
    assert_eq!(refused.code, Code::STORAGE);
    // Commands in other transactions still succeed.
    fill(&bob, &alice, 1..=1).await;
}
