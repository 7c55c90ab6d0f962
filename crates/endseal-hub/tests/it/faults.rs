//! Regression tests for faults that were found in the hub.

use std::time::Duration;

use endseal_codec::hub::{
    Acknowledge, Answer, Code, Credit, Gap, Publish, Request, Subscribe, Take,
};
use endseal_crypto::peer_id::PeerId;
use endseal_hub::HubLimits;
use endseal_keyring::device::PrekeyKind;

use crate::puts::put_one;
use crate::world::{Exchange, World, identity, put, put_to};

/// Advances the timers by 630 s so that old frames expire, in steps that keep connections alive.
async fn wait_for_expiry() {
    for _ in 0..90 {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(7)).await;
        tokio::time::resume();
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
}

async fn drain(exchange: &mut Exchange) -> (Vec<Gap>, Vec<u64>) {
    let (mut gaps, mut frames) = (Vec::new(), Vec::new());
    loop {
        match exchange.receive().await {
            Some(Answer::Gap(gap)) => gaps.push(gap),
            Some(Answer::Deliver(deliver)) => frames.push(deliver.position),
            Some(Answer::CaughtUp(_)) => return (gaps, frames),
            other => panic!("{other:?}"),
        }
    }
}

/// An acknowledgement of later frames does not suppress the report of a gap.
#[tokio::test]
async fn what_expires_under_a_subscription_is_told() {
    let mut limits = HubLimits::default();
    limits.retention = Duration::ZERO;
    let world = World::with(limits);
    let (alice, bob) = (world.registered().await, world.registered().await);
    let mut exchange = bob.exchange().await;
    exchange.send(Request::Subscribe(Subscribe { after: 0, frames: 0, bytes: 0 })).await;
    assert!(exchange.is_silent().await);
    for sequence in 1..=3 {
        let answer = put_one(&alice, put(&[&bob], &alice.frame(sequence, b"text"))).await;
        assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
    }
    wait_for_expiry().await;
    let device = world.in_store(|store| store.devices()).unwrap();
    let device = device.iter().find(|it| it.peer == bob.peer).unwrap();
    assert_eq!((device.frames, device.gap.0), (0, 3), "three frames have expired");
    let answer = put_one(&alice, put(&[&bob], &alice.frame(4, b"text"))).await;
    assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
    exchange.send(Request::Credit(Credit { frames: 9, bytes: 1 << 20 })).await;
    let (mut gaps, frames) = drain(&mut exchange).await;
    assert_eq!(frames.len(), 1);
    let counts: Vec<_> = gaps.iter().map(|gap| gap.count).collect();
    assert_eq!(counts, [3], "this subscription tells the gap");
    exchange.send(Request::Acknowledge(Acknowledge { position: frames[0] })).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    for after in [0, frames[0]] {
        let mut exchange = bob.exchange().await;
        let subscribe = Subscribe { after, frames: 9, bytes: 1 << 20 };
        exchange.send(Request::Subscribe(subscribe)).await;
        gaps.extend(drain(&mut exchange).await.0);
    }
    assert_eq!(
        gaps.first().map(|it| it.count),
        Some(3),
        "the node was not told of three lost frames"
    );
}

/// A node repeats a publication if it received no answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_that_was_given_is_not_given_again() {
    let world = World::new();
    let root = identity();
    let mut bob = world.unregistered(&root, 1).await;
    let signing = bob.new_signing_key(&root);
    assert!(matches!(bob.register(&world.invite(1, u64::MAX / 4)).await, Answer::Welcome(_)));
    let (alice, carol) = (world.registered().await, world.registered().await);
    let bundle = bob.bundle(PrekeyKind::OneTime, &signing);
    let publish = || Publish { prekeys: vec![bundle.as_bytes()[..].into()], ..Publish::default() };
    assert!(matches!(bob.ask(Request::Publish(publish())).await, Answer::Welcome(_)));
    let take = || Request::Take(Take { peer: *bob.peer.as_bytes() });
    assert!(matches!(alice.ask(take()).await, Answer::Prekey(_)));
    // The answer to the publication was lost, so the node repeats it.
    assert!(matches!(bob.ask(Request::Publish(publish())).await, Answer::Welcome(_)));
    let answer = carol.ask(take()).await;
    assert!(matches!(&answer, Answer::Refused(it) if it.code == Code::NONE), "{answer:?}");
}

/// The burst must be at least the maximum number of targets of a frame.
#[tokio::test(flavor = "multi_thread")]
async fn a_frame_for_1_024_mailboxes_can_be_stored() {
    let mut world = World::with(HubLimits::default());
    let mut alice = world.registered().await;
    let mut peers = Vec::new();
    let record = alice.person.as_bytes().to_vec();
    let certificate = alice.certificate.as_bytes().to_vec();
    let identity = *alice.person.identity().ed25519().as_bytes();
    world.stop().await;
    world.transact(|it| {
        for number in 0..1_024_u32 {
            let mut bytes = [7; 32];
            bytes[..4].copy_from_slice(&number.to_le_bytes());
            let peer = PeerId::from_bytes(&bytes);
            it.put_person(&identity, &record)?;
            it.add_device(&peer, &identity, &certificate, "")?;
            peers.push(peer);
        }
        Ok(())
    });
    world.start();
    alice.reconnect(&world).await;
    let request = put_to(&peers[..1_024], &alice.frame(1, b"text"));
    let answer = put_one(&alice, request).await;
    assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
}
