//! A device that another device of its person has registered.

use std::num::NonZeroU32;

use endseal_codec::hub::{Answer, By, Code, Find, Hello, Register, Request};
use endseal_crypto::identity::Identity;
use endseal_keyring::PersonRecord;
use endseal_keyring::device::Certificate;
use endseal_keyring::person::PersonChanges;

use crate::puts::{put_one, subscribe};
use crate::world::{Node, World, certificate, identity, put};

fn code(answer: &Answer) -> Option<Code> {
    match answer {
        Answer::Refused(refused) => Some(refused.code),
        _ => None,
    }
}

fn is_welcome(answer: &Answer) -> bool {
    matches!(answer, Answer::Welcome(_))
}

fn register(certificate: &Certificate, record: &PersonRecord) -> Request {
    Request::Register(Register {
        token: None,
        certificate: certificate.as_bytes()[..].into(),
        person: record.as_bytes().into(),
    })
}

fn hello() -> Request {
    Request::Hello(Hello { version: 1, ..Hello::default() })
}

/// The next record, with or without device 2.
fn next(record: &PersonRecord, root: &Identity, device: Option<&Node>) -> PersonRecord {
    let (mut changes, two) = (PersonChanges::new(), NonZeroU32::new(2).unwrap());
    match device {
        Some(node) => changes.add(two, node.device.public()),
        None => changes.remove(two),
    };
    record.next_epoch(root, &changes).unwrap()
}

async fn member(world: &World, root: &Identity) -> Node {
    let node = world.unregistered(root, 1).await;
    assert!(is_welcome(&node.register(&world.invite(1, u64::MAX / 4)).await));
    node
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_device_receives_from_its_person_until_it_registers_itself() {
    let world = World::new();
    let root = identity();
    let (old, other) = (member(&world, &root).await, world.registered().await);
    let mut new = world.unregistered(&root, 2).await;
    let record = next(&old.person, &root, Some(&new));
    for _ in 0..2 {
        assert!(is_welcome(&old.ask(register(&new.certificate, &record)).await));
    }
    new.reconnect(&world).await;
    assert_eq!(code(&new.ask(hello()).await), Some(Code::REGISTERED));
    let by = By::Identity(*root.public().ed25519().as_bytes());
    let Answer::Person(found) = other.ask(Request::Find(Find { by })).await else { panic!() };
    assert_eq!(found.certificates.len(), 1);
    let refused = put_one(&other, put(&[&new], &other.frame(1, b"of another"))).await;
    assert_eq!(code(&refused), Some(Code::MAILBOX));
    assert!(code(&put_one(&old, put(&[&new], &old.frame(1, b"history"))).await).is_none());
    let mut mailbox = subscribe(&new, 0, 9).await;
    assert!(matches!(mailbox.receive().await, Some(Answer::Deliver(_))));
    assert!(is_welcome(&new.ask(register(&new.certificate, &record)).await));
    assert!(is_welcome(&new.ask(hello()).await));
    assert!(code(&put_one(&other, put(&[&new], &other.frame(1, b"of another"))).await).is_none());
}

/// No one keeps a person out by naming their peer id, also if the device was revoked since.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_others_named_registers_as_its_own_persons() {
    for is_revoked in [false, true] {
        let world = World::new();
        let root = identity();
        let thief = member(&world, &root).await;
        let mut victim = world.unregistered(&identity(), 1).await;
        let named = certificate(&root, 2, victim.peer);
        let record = next(&thief.person, &root, Some(&victim));
        assert!(is_welcome(&thief.ask(register(&named, &record)).await));
        assert!(code(&put_one(&thief, put(&[&victim], &thief.frame(1, b"spam"))).await).is_none());
        if is_revoked {
            let record = next(&record, &root, None);
            assert!(is_welcome(&thief.ask(register(&thief.certificate, &thief.person)).await));
            let publish = endseal_codec::hub::Publish {
                person: record.as_bytes().into(),
                ..endseal_codec::hub::Publish::default()
            };
            assert!(is_welcome(&thief.ask(Request::Publish(publish)).await));
        }
        assert!(is_welcome(&victim.register(&world.invite(1, u64::MAX / 4)).await));
        victim.reconnect(&world).await;
        let Answer::Welcome(welcome) = victim.ask(hello()).await else { panic!() };
        assert_eq!((welcome.epoch, welcome.waiting), (1, 0));
        // It is registered now, and cannot be named any more.
        let again = thief.ask(register(&named, &next(&record, &root, None))).await;
        assert_eq!(code(&again), Some(Code::CERTIFICATE), "{again:?}");
    }
}

/// A registration that is refused deletes nothing of what waits for the device.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_registration_leaves_a_pending_mailbox() {
    let world = World::new();
    let root = identity();
    let thief = member(&world, &root).await;
    let mut victim = world.unregistered(&identity(), 1).await;
    let named = certificate(&root, 2, victim.peer);
    let record = next(&thief.person, &root, Some(&victim));
    assert!(is_welcome(&thief.ask(register(&named, &record)).await));
    assert!(code(&put_one(&thief, put(&[&victim], &thief.frame(1, b"waits"))).await).is_none());
    // Its person is not known, and it has no invitation.
    let refused = victim.ask(register(&victim.certificate, &victim.person)).await;
    assert_eq!(code(&refused), Some(Code::TOKEN));
    victim.reconnect(&world).await;
    let mut mailbox = subscribe(&victim, 0, 9).await;
    assert!(matches!(mailbox.receive().await, Some(Answer::Deliver(_))));
}
