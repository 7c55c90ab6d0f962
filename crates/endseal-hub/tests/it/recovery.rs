//! A person who lost every device comes back, and another copy of a device is told apart.

use std::num::NonZeroU32;

use endseal_codec::hub::{Answer, Code, Hello, Publish, Recover, Register, Request, Welcome};
use endseal_crypto::identity::Identity;
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::RecoveryProof;
use endseal_hub::HubLimits;
use endseal_keyring::PersonRecord;
use endseal_keyring::device::{Certificate, DeviceKeys, PrekeyKind};
use endseal_keyring::person::PersonChanges;

use crate::puts::{put_one, subscribe};
use crate::world::{Node, World, identity, put};

fn code(answer: &Answer) -> Option<Code> {
    match answer {
        Answer::Refused(refused) => Some(refused.code),
        _ => None,
    }
}

fn recover(root: &Identity, hub: &PeerId, peer: &PeerId) -> Request {
    let proof = RecoveryProof::sign(root.signing(), hub, peer);
    let identity = *root.public().ed25519().as_bytes();
    Request::Recover(Recover { identity, signature: proof.as_bytes()[..].into() })
}

/// The next epoch of a record, with this device in the place of the first.
fn replaced(record: &PersonRecord, root: &Identity, node: &Node, number: u32) -> PersonRecord {
    let mut changes = PersonChanges::new();
    changes.remove(NonZeroU32::new(1).unwrap());
    changes.add(NonZeroU32::new(number).unwrap(), node.device.public());
    record.next_epoch(root, &changes).unwrap()
}

fn register(node: &Node, record: &PersonRecord) -> Request {
    Request::Register(Register {
        token: None,
        certificate: node.certificate.as_bytes()[..].into(),
        person: record.as_bytes().into(),
    })
}

/// A certificate of a device whose prekeys `signing` signs.
fn signed_by(node: &Node, root: &Identity, signing: &Identity) -> Certificate {
    let keys = DeviceKeys { signing: *signing.public().ed25519(), ..*node.certificate.keys() };
    Certificate::issue(root.signing(), &keys, node.certificate.made_at())
}

async fn welcome(node: &Node) -> Welcome {
    match node.ask(Request::Hello(Hello { version: 1, ..Hello::default() })).await {
        Answer::Welcome(welcome) => welcome,
        other => panic!("{other:?}"),
    }
}

/// The lost laptop: the root alone gets the record, continues it, and revokes the lost device.
#[tokio::test(flavor = "multi_thread")]
async fn a_root_comes_back_without_an_invitation() {
    let world = World::new();
    let root = identity();
    let lost = world.unregistered(&root, 1).await;
    assert!(matches!(lost.register(&world.invite(1, u64::MAX / 4)).await, Answer::Welcome(_)));

    let mut new = world.unregistered(&root, 2).await;
    let answer = new.ask(recover(&root, &world.peer, &new.peer)).await;
    let Answer::Person(person) = answer else { panic!("{answer:?}") };
    let record = PersonRecord::parse(&person.person).unwrap();
    assert_eq!((&record, person.certificates.len()), (&lost.person, 1));

    new.reconnect(&world).await;
    let next = replaced(&record, &root, &new, 2);
    assert!(matches!(new.ask(register(&new, &next)).await, Answer::Welcome(_)));
    assert_eq!(
        code(&lost.ask(Request::Hello(Hello { version: 1, ..Hello::default() })).await),
        Some(Code::REVOKED)
    );
    assert_eq!(welcome(&new).await.epoch, 2);
}

/// A proof serves the peer and the hub for which it was made, and no other.
#[tokio::test(flavor = "multi_thread")]
async fn a_proof_of_another_connection_is_refused() {
    let world = World::new();
    let root = identity();
    let owner = world.unregistered(&root, 1).await;
    assert!(matches!(owner.register(&world.invite(1, u64::MAX / 4)).await, Answer::Welcome(_)));
    for (hub, peer) in [(world.peer, owner.peer), (owner.peer, world.peer)] {
        let thief = world.unregistered(&identity(), 1).await;
        let answer = thief.ask(recover(&root, &hub, &peer)).await;
        assert_eq!(code(&answer), Some(Code::CERTIFICATE), "{answer:?}");
    }
    let thief = world.unregistered(&identity(), 1).await;
    let answer = thief.ask(recover(&identity(), &world.peer, &thief.peer)).await;
    // Another root proves itself, and is not known.
    assert_eq!(code(&answer), Some(Code::NONE), "{answer:?}");
}

/// Without a token a device is refused if its person is not known, if its record does not follow
/// the hub's, and if the hub asks for invitations.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_only_a_next_record_registers() {
    let world = World::new();
    let root = identity();
    let unknown = world.unregistered(&root, 1).await;
    let answer = unknown.ask(register(&unknown, &unknown.person)).await;
    assert_eq!(code(&answer), Some(Code::TOKEN), "{answer:?}");
    let known = world.unregistered(&root, 1).await;
    assert!(matches!(known.register(&world.invite(1, u64::MAX / 4)).await, Answer::Welcome(_)));
    // A record of its own chain forks the person.
    let fork = world.unregistered(&root, 2).await;
    let answer = fork.ask(register(&fork, &fork.person)).await;
    assert_eq!(code(&answer), Some(Code::PERSON), "{answer:?}");

    let mut limits = HubLimits::default();
    limits.invites_devices = true;
    let strict = World::with(limits);
    let known = strict.unregistered(&root, 1).await;
    assert!(matches!(known.register(&strict.invite(1, u64::MAX / 4)).await, Answer::Welcome(_)));
    let new = strict.unregistered(&root, 2).await;
    let next = replaced(&known.person, &root, &new, 2);
    let answer = new.ask(register(&new, &next)).await;
    assert_eq!(code(&answer), Some(Code::TOKEN), "{answer:?}");
}

/// Two copies of a device that greet before either sends: the second frame of a number is refused.
#[tokio::test(flavor = "multi_thread")]
async fn other_bytes_under_a_used_number_are_refused() {
    let world = World::new();
    let (sender, receiver) = (world.registered().await, world.registered().await);
    let frame = sender.frame(5, b"one");
    for _ in 0..2 {
        assert!(matches!(put_one(&sender, put(&[&receiver], &frame)).await, Answer::Stored(_)));
    }
    let other = sender.frame(5, b"two");
    let answer = put_one(&sender, put(&[&receiver], &other)).await;
    assert_eq!(code(&answer), Some(Code::USED), "{answer:?}");
    // Up to the end of the window, also the number with which it begins.
    for sequence in [6, 1_029] {
        let frame = sender.frame(sequence, b"one");
        assert!(matches!(put_one(&sender, put(&[&receiver], &frame)).await, Answer::Stored(_)));
    }
    assert_eq!(code(&put_one(&sender, put(&[&receiver], &other)).await), Some(Code::USED));
    assert!(matches!(put_one(&sender, put(&[&receiver], &frame)).await, Answer::Stored(_)));
    assert_eq!(welcome(&receiver).await.waiting, 3);
}

/// The numbers by which a node finds out that its state went back in time.
#[tokio::test(flavor = "multi_thread")]
async fn a_greeting_has_what_was_acknowledged_and_published() {
    let mut world = World::new();
    let sender = world.registered().await;
    let (root, signing) = (identity(), identity());
    let mut receiver = world.unregistered(&root, 1).await;
    receiver.certificate = signed_by(&receiver, &root, &signing);
    let answer = receiver.register(&world.invite(1, u64::MAX / 4)).await;
    assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");
    receiver.reconnect(&world).await;
    let greeting = welcome(&receiver).await;
    assert_eq!((greeting.acknowledged, greeting.published), (0, 0));
    let frame = sender.frame(0, b"one");
    assert!(matches!(put_one(&sender, put(&[&receiver], &frame)).await, Answer::Stored(_)));
    let mut exchange = subscribe(&receiver, 0, 10).await;
    let Some(Answer::Deliver(delivered)) = exchange.receive().await else { panic!("a frame") };
    let mut exchange = subscribe(&receiver, delivered.position, 10).await;
    // The answer follows the acknowledgement.
    assert!(matches!(exchange.receive().await, Some(Answer::CaughtUp(_))));
    let bundle = receiver.bundle(PrekeyKind::OneTime, &signing);
    let bundles = vec![bundle.as_bytes()[..].into(); 1];
    let publish = Request::Publish(Publish { prekeys: bundles, ..Publish::default() });
    let answer = receiver.ask(publish).await;
    let Answer::Welcome(said) = answer else { panic!("{answer:?}") };
    assert_eq!((said.acknowledged, said.published), (delivered.position, 1));
    // They outlive a restart.
    world.stop().await;
    world.start();
    receiver.reconnect(&world).await;
    let greeting = welcome(&receiver).await;
    assert_eq!((greeting.acknowledged, greeting.published), (delivered.position, 1));
}
