//! Bounds on what a member can make the hub keep and do.

use std::time::{Duration, SystemTime};

use endseal_codec::hub::{Acknowledge, Answer, Code, Deliver, Find, Hello, Publish, Request, Take};
use endseal_codec::hub::{By, Gap, Stored};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::limit::MAX_TARGETS;
use endseal_hub::HubLimits;
use endseal_keyring::device::PrekeyKind;
use tokio::time::{sleep, timeout};

use crate::puts::{put_one, subscribe};
use crate::world::{Exchange, Node, World, identity, put, put_to};

fn code(answer: &Answer) -> Option<Code> {
    match answer {
        Answer::Refused(refused) => Some(refused.code),
        _ => None,
    }
}

/// Puts frames until one is refused. Returns how many were stored, and the code of the refusal.
pub(crate) async fn fill(from: &Node, to: &Node, first: u64, length: usize) -> (u64, Code) {
    let text = vec![7; length];
    for sequence in first.. {
        let answer = put_one(from, put(&[to], &from.frame(sequence, &text))).await;
        if let Some(code) = code(&answer) {
            return (sequence - first, code);
        }
        assert_eq!(answer, Answer::Stored(Stored { sequence }));
    }
    unreachable!()
}

/// Receives frames until nothing is left, and acknowledges them.
pub(crate) async fn drain(node: &Node) -> usize {
    let mut subscription = subscribe(node, 0, 1 << 20).await;
    let (mut count, mut last) = (0, 0);
    loop {
        match subscription.receive().await {
            Some(Answer::Deliver(Deliver { position, .. })) => {
                (count, last) = (count + 1, position)
            }
            Some(Answer::Gap(Gap { .. })) => {}
            Some(Answer::CaughtUp(_)) => break,
            other => panic!("{other:?}"),
        }
    }
    subscription.send(Request::Acknowledge(Acknowledge { position: last })).await;
    while waiting(node).await > 0 {}
    count
}

async fn waiting(node: &Node) -> u64 {
    let answer = node.ask(Request::Hello(Hello { version: 1, ..Hello::default() })).await;
    let Answer::Welcome(welcome) = answer else { panic!("{answer:?}") };
    welcome.waiting
}

#[tokio::test(flavor = "multi_thread")]
async fn one_sender_leaves_half_of_a_mailbox_to_others() {
    let mut limits = HubLimits::default();
    limits.mailbox_frames = 16;
    let mut world = World::with(limits);
    let (alice, mut bob, mut carol, dave) = (
        world.registered().await,
        world.registered().await,
        world.registered().await,
        world.registered().await,
    );
    assert_eq!(fill(&alice, &dave, 1, 10).await, (8, Code::FULL));
    assert_eq!(fill(&bob, &dave, 1, 10).await, (4, Code::FULL));
    // The shares are known after a restart too.
    let mut dave = dave;
    world.stop().await;
    world.start();
    bob.reconnect(&world).await;
    carol.reconnect(&world).await;
    dave.reconnect(&world).await;
    assert_eq!(fill(&bob, &dave, 100, 10).await, (0, Code::FULL));
    assert_eq!(fill(&carol, &dave, 1, 10).await, (2, Code::FULL));
    // Nothing is left of the shares when all has been fetched.
    assert_eq!(drain(&dave).await, 14);
    assert_eq!(fill(&bob, &dave, 200, 10).await, (8, Code::FULL));
    assert!(world.faults().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_database_takes_acknowledgements_and_then_frames_again() {
    let mut limits = HubLimits::default();
    limits.database_bytes = 4 << 20;
    let world = World::with(limits);
    let (alice, bob, carol) =
        (world.registered().await, world.registered().await, world.registered().await);
    let (stored, refusal) = fill(&alice, &bob, 1, 100_000).await;
    assert!(refusal == Code::SPACE && (10..30).contains(&stored), "{stored} {refusal:?}");
    // As much is left for others, in which the next one has half.
    let (next, refusal) = fill(&carol, &bob, 1, 100_000).await;
    assert!(refusal == Code::SPACE && (4..=stored / 2).contains(&next), "{next} {refusal:?}");
    let text = world.hub.as_ref().unwrap().metrics_text().await;
    let room = text.lines().find(|line| line.starts_with("endseal_hub_room_bytes")).unwrap();
    let room: f64 = room.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((100_000.0..1_500_000.0).contains(&room), "{room}");
    assert_eq!(drain(&bob).await as u64, stored + next);
    let (again, refusal) = fill(&alice, &bob, 1_000, 100_000).await;
    assert!(refusal == Code::SPACE && again.abs_diff(stored) <= 2, "{again} of {stored}");
}

/// The reserve is of the file system: with one that no disk has, nothing is refused but frames and
/// new devices.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_reserve_frames_and_new_devices_are_refused() {
    let mut world = World::new();
    let (mut alice, mut bob) = (world.registered().await, world.registered().await);
    put_one(&alice, put(&[&bob], &alice.frame(1, b"text"))).await;
    world.stop().await;
    world.limits.reserve = u64::MAX;
    world.start();
    alice.reconnect(&world).await;
    bob.reconnect(&world).await;
    let answer = put_one(&alice, put(&[&bob], &alice.frame(2, b"text"))).await;
    assert_eq!(code(&answer), Some(Code::SPACE));
    let another = world.unregistered(&identity(), 1).await;
    let answer = another.register(&world.invite(1, u64::MAX / 4)).await;
    assert_eq!(code(&answer), Some(Code::SPACE));
    assert_eq!(drain(&bob).await, 1);
    assert_eq!(waiting(&alice).await, 0);
}

/// A mailbox of more than one transaction deletes is deleted in several, and the file gets shorter.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_fetched_leaves_the_disk() {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (1_000_000, 1_000_000);
    let world = World::with(limits);
    let Some(path) = world.path() else { return };
    let (alice, bob) = (world.registered().await, world.registered().await);
    let mut exchange = alice.exchange().await;
    let text = vec![7; 1_000_000];
    for sequence in 1..=24 {
        exchange.send(put(&[&bob], &alice.frame(sequence, &text))).await;
    }
    let mut last = 0;
    while last < 24 {
        let Some(Answer::Stored(Stored { sequence })) = exchange.receive().await else { panic!() };
        last = sequence;
    }
    let length = || std::fs::metadata(&path).unwrap().len();
    assert_eq!(drain(&bob).await, 24);
    let shrinks = async {
        while length() > 8 << 20 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(30), shrinks).await.expect("the file gets shorter");
    assert!(world.faults().is_empty());
}

/// Requests that take the writer cost as frames do.
#[tokio::test(flavor = "multi_thread")]
async fn every_request_has_a_budget() {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (20, 1);
    let world = World::with(limits);
    let bob = world.registered().await;
    let root = identity();
    let mut node = world.unregistered(&root, 1).await;
    let signing = node.new_signing_key(&root);
    let token = world.invite(1, u64::MAX / 4);
    assert!(matches!(node.register(&token).await, Answer::Welcome(_)));
    let hello = || Request::Hello(Hello { version: 1, ..Hello::default() });
    let find = || Request::Find(Find { by: By::Peer(*bob.peer.as_bytes()) });
    let take = || Request::Take(Take { peer: *bob.peer.as_bytes() });
    for (index, request) in [hello(), find(), take()].into_iter().cycle().take(19).enumerate() {
        let answer = put_one(&node, request).await;
        assert_ne!(code(&answer), Some(Code::RATE), "{index}");
    }
    let bundles = |count| {
        let bundles = (0..count).map(|_| node.bundle(PrekeyKind::OneTime, &signing));
        let bundles = bundles.map(|it| it.as_bytes()[..].into()).collect();
        Request::Publish(Publish { prekeys: bundles, ..Publish::default() })
    };
    let mut sequence = 0;
    for kind in ["hello", "find", "take", "publish", "put"] {
        // A refusal comes late, and meanwhile the budget grows by one request.
        let mut refused = None;
        for _ in 0..4 {
            sequence += 1;
            let request = match kind {
                "hello" => hello(),
                "find" => find(),
                "take" => take(),
                "publish" => bundles(1),
                _ => put(&[&bob], &node.frame(sequence, b"text")),
            };
            if let Answer::Refused(refusal) = put_one(&node, request).await
                && refusal.code == Code::RATE
            {
                refused = Some(refusal.wait);
            }
        }
        assert!(refused.is_some_and(|wait| (1..=2_000).contains(&wait)), "{kind}: {refused:?}");
    }
    // The other member has its own budget.
    assert!(waiting(&bob).await <= 4);
}

/// Frames cost by their length.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_frame_costs_as_many_short_ones() {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (40, 1);
    let world = World::with(limits);
    let (alice, bob) = (world.registered().await, world.registered().await);
    // Each costs 1 + 15; joining and these two are within 40, and a third is not.
    assert_eq!(fill(&alice, &bob, 1, 1_000_000).await, (2, Code::RATE));
}

/// A node that does not receive has one page on its way, however often it subscribes.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_subscription_ends_one_that_is_stuck() {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (1_000_000, 1_000_000);
    let world = World::with(limits);
    let (alice, bob) = (world.registered().await, world.registered().await);
    let text = vec![7; 1_000_000];
    for sequence in 1..=8 {
        put_one(&alice, put(&[&bob], &alice.frame(sequence, &text))).await;
    }
    let mut stuck: Vec<Exchange> = Vec::new();
    for _ in 0..6 {
        stuck.push(subscribe(&bob, 0, 100).await);
        // It fills the windows of the stream.
        sleep(Duration::from_millis(100)).await;
    }
    for exchange in &mut stuck[..5] {
        let ends = async { while exchange.receive().await.is_some() {} };
        timeout(Duration::from_secs(5), ends).await.expect("it has ended");
    }
    let mut received = 0;
    while let Some(Answer::Deliver(_)) = stuck[5].receive().await {
        received += 1;
    }
    assert_eq!(received, 8);
}

/// Frames do not expire by a clock that is far ahead of the time that the hub noted.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumped_deletes_nothing() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let now = u64::try_from(now.as_micros()).unwrap();
    for (grace, left) in [(Duration::from_secs(3_600), 1), (Duration::from_secs(360_000), 0)] {
        let mut limits = HubLimits::default();
        limits.retention = Duration::from_millis(1);
        limits.clock_grace = grace;
        let mut world = World::with(limits);
        let (alice, mut bob) = (world.registered().await, world.registered().await);
        put_one(&alice, put(&[&bob], &alice.frame(1, b"text"))).await;
        world.stop().await;
        // The hub ran last a day ago, as far as it knows.
        let a_day = 24 * 3_600_000_000;
        world.transact(|it| it.note_time(now - a_day));
        world.start();
        bob.reconnect(&world).await;
        // The first deletion of expired frames is planned at once, and the second request is behind
        // its execution.
        sleep(Duration::from_millis(200)).await;
        assert_eq!(waiting(&bob).await, left, "{grace:?}");
    }
}

/// Frames for mailboxes that do not exist cost as others do. A frame that is not paid is not looked
/// up.
#[tokio::test(flavor = "multi_thread")]
async fn frames_to_nowhere_cost_their_sender() {
    const EXCHANGES: u64 = 8;
    const FRAMES: u64 = 20;
    let world = World::with(HubLimits::default());
    let (mallory, victim) = (world.registered().await, world.registered().await);
    let (mut looked_up, mut number) = (0, 0_u64);
    for _ in 0..EXCHANGES {
        let mut exchange = mallory.exchange().await;
        for sequence in 1..=FRAMES {
            let mut targets = Vec::new();
            for _ in 0..MAX_TARGETS {
                number += 1;
                let mut peer = [0; 32];
                peer[..8].copy_from_slice(&number.to_le_bytes());
                targets.push(PeerId::from_bytes(&peer));
            }
            exchange.send(put_to(&targets, &mallory.frame(sequence, b"text"))).await;
        }
        for _ in 0..FRAMES {
            match exchange.receive().await {
                Some(Answer::Refused(it)) if it.code == Code::MAILBOX => looked_up += 1,
                Some(Answer::Refused(it)) if it.code == Code::RATE => {}
                other => panic!("{other:?}"),
            }
        }
    }
    // One frame takes the whole budget, which is full again after 20 s.
    assert!((1..=2).contains(&looked_up), "{looked_up} frames");
    assert_eq!(waiting(&victim).await, 0);
}
