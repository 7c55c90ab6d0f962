//! Registration, persons and prekeys, and who may use them.

use std::num::NonZeroU32;
use std::time::Duration;

use endseal_codec::Codec as _;
use endseal_codec::hub::{
    Answer, By, Code, Find, Hello, HubRequest, Person, Publish, Put, Recover, Register, Request,
    Subscribe, Take,
};
use endseal_crypto::identity::Identity;
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::hub::Kind;
use endseal_delivery::payload_limits;
use endseal_hub::HubLimits;
use endseal_keyring::PersonRecord;
use endseal_keyring::device::Certificate;
use endseal_keyring::person::PersonChanges;
use endseal_transport::{CloseCode, Closed};
use tokio::time::timeout;

use crate::puts::{put_one, subscribe};
use crate::world::{World, certificate, identity, person_record, put};

fn code(answer: &Answer) -> Option<Code> {
    match answer {
        Answer::Refused(refused) => Some(refused.code),
        _ => None,
    }
}

fn request(kind: Kind) -> Request {
    match kind {
        Kind::Hello => Request::Hello(Hello { version: 1, ..Hello::default() }),
        Kind::Register => Request::Register(Register {
            token: Some([1; 32]),
            certificate: [2; 237].into(),
            person: [3].into(),
        }),
        Kind::Put => {
            Request::Put(Put { targets: [1; 32].into(), frame: [0; 64].into(), conversation: None })
        }
        Kind::Subscribe => Request::Subscribe(Subscribe { after: 0, frames: 1, bytes: 1 }),
        Kind::Find => Request::Find(Find { by: By::Identity([4; 32]) }),
        Kind::Publish => Request::Publish(Publish::default()),
        Kind::Take => Request::Take(Take { peer: [5; 32] }),
        Kind::Recover => Request::Recover(Recover { identity: [6; 32], signature: [7; 64].into() }),
    }
}

/// Checks the table of requests and credentials for every kind of request.
#[tokio::test(flavor = "multi_thread")]
async fn each_credential_gets_what_it_may() {
    let world = World::new();
    let root = identity();
    for kind in Kind::ALL {
        // The first credential is none: the peer is not registered.
        let unregistered = world.unregistered(&root, 1).await;
        let expected = match kind {
            Kind::Register | Kind::Recover => Code::CERTIFICATE,
            _ => Code::REGISTERED,
        };
        assert_eq!(code(&unregistered.ask(request(kind)).await), Some(expected), "{kind:?}");
        // No further exchange is served: the connection is closed.
        let closed = unregistered.connection.closed();
        timeout(Duration::from_secs(60), closed).await.unwrap();
    }
    let registered = world.registered().await;
    for kind in Kind::ALL {
        let mut exchange = registered.exchange().await;
        exchange.send(request(kind)).await;
        let answer = exchange.receive().await.unwrap();
        let expected = match kind {
            Kind::Hello | Kind::Publish | Kind::Subscribe => None,
            Kind::Register | Kind::Recover => Some(Code::CERTIFICATE),
            Kind::Put => Some(Code::FRAME),
            Kind::Find | Kind::Take => Some(Code::NONE),
        };
        assert_eq!(code(&answer), expected, "{kind:?}: {answer:?}");
    }
}

/// A connection that the hub refused, also where the datagram with the reason was lost.
fn is_refused(closed: &Closed) -> bool {
    matches!(closed, Closed::ByPeer(CloseCode::Busy) | Closed::Reset)
}

/// Unregistered peers that stay silent keep out neither registered peers nor those who register.
#[tokio::test(flavor = "multi_thread")]
async fn unregistered_peers_take_no_connection_of_others() {
    let world = World::new();
    let mut node = world.registered().await;
    let mut unregistered = Vec::new();
    for _ in 0..70 {
        unregistered.push(world.unregistered(&identity(), 1).await);
    }
    let newcomer = world.unregistered(&identity(), 1).await;
    assert!(matches!(newcomer.register(&world.invite(1, u64::MAX / 4)).await, Answer::Welcome(_)));
    let oldest = timeout(Duration::from_secs(5), unregistered[0].connection.closed()).await;
    assert!(is_refused(&oldest.unwrap()));
    node.reconnect(&world).await;
    assert!(matches!(node.ask(request(Kind::Hello)).await, Answer::Welcome(_)));
}

/// The end of one connection of a peer lets its others count as before.
#[tokio::test(flavor = "multi_thread")]
async fn connections_of_an_unregistered_peer_count_one_by_one() {
    let world = World::new();
    let peer = world.unregistered(&identity(), 1).await;
    let connect = async || peer.endpoint.connect(world.peer, world.address).await.unwrap();
    let mut others = Vec::new();
    for _ in 0..9 {
        others.push(connect().await);
    }
    assert_eq!(code(&peer.ask(request(Kind::Hello)).await), Some(Code::REGISTERED));
    peer.connection.closed().await;
    let mut unregistered = Vec::new();
    for _ in 0..64 {
        unregistered.push(world.unregistered(&identity(), 1).await);
    }
    for connection in others {
        let closed = timeout(Duration::from_secs(8), connection.closed()).await.unwrap();
        assert!(is_refused(&closed), "{closed:?}");
    }
}

/// A person cannot fill the database with devices that come and go.
#[tokio::test(flavor = "multi_thread")]
async fn a_person_has_a_number_of_devices_in_all() {
    let world = World::new();
    let root = identity();
    let node = world.unregistered(&root, 1).await;
    assert!(matches!(node.register(&world.invite(1, u64::MAX / 4)).await, Answer::Welcome(_)));
    let person = *node.person.identity().ed25519().as_bytes();
    let mut world = world;
    world.stop().await;
    world.transact(|it| {
        for number in 0..255_u8 {
            let peer = PeerId::from_bytes(&[number; 32]);
            let certificate = certificate(&root, 1_000 + u32::from(number), peer);
            let row = it.add_device(&peer, &person, certificate.as_bytes(), "")?;
            it.revoke_device(row)?;
        }
        Ok(())
    });
    world.start();
    let another = world.unregistered(&root, 2).await;
    let record = next_record(&root, &node.person, &[], &[(2, &another.device)]);
    let token = world.invite(1, u64::MAX / 4);
    let answer = another.register_as(&token, &another.certificate, &record).await;
    assert_eq!(code(&answer), Some(Code::SPACE));
}

/// The hub may not see a connection end, for example when a process is killed or the network
/// changes.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_whose_connections_did_not_end_gets_another() {
    let world = World::new();
    let mut node = world.registered().await;
    let mut earlier = vec![node.connection.clone()];
    for _ in 0..20 {
        node.reconnect(&world).await;
        assert!(matches!(node.ask(request(Kind::Hello)).await, Answer::Welcome(_)));
        earlier.push(node.connection.clone());
    }
    // The last ten stay open.
    for connection in earlier.drain(..11) {
        let closed = timeout(Duration::from_secs(60), connection.closed()).await.unwrap();
        // On a busy machine the close message may arrive after the hub has forgotten the
        // connection.
        assert!(is_refused(&closed), "{closed:?}");
    }
    for connection in earlier {
        node.connection = connection;
        assert!(matches!(node.ask(request(Kind::Hello)).await, Answer::Welcome(_)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_request_of_an_unregistered_peer_is_short() {
    let world = World::new();
    let unregistered = world.unregistered(&identity(), 1).await;
    // A valid registration, with a field that is not known and makes it one byte too long.
    let register = Register {
        token: Some([7; 32]),
        certificate: unregistered.certificate.as_bytes()[..].into(),
        person: unregistered.person.as_bytes().into(),
    };
    let request = HubRequest::from(Request::Register(register));
    let mut payload = request.to_vec(payload_limits()).unwrap();
    let padding = 8_192 + 4_097 - payload.len() - 4;
    let low = |number: usize| u8::try_from(number & 0x7f).unwrap();
    payload.extend([0xfa, 0x7f, low(padding) | 0x80, low(padding >> 7)]);
    payload.resize(payload.len() + padding, 0);
    assert_eq!(payload.len(), 8_192 + 4_097);
    let answer = async |payload: &[u8]| {
        let node = world.unregistered(&identity(), 1).await;
        let mut exchange = node.exchange().await;
        exchange.send_bytes(payload.to_vec()).await;
        code(&exchange.receive().await.unwrap())
    };
    assert_eq!(answer(&payload).await, Some(Code::REQUEST));
    // One byte less is read, and refused for another reason: it is of another peer.
    let at = payload.len() - padding - 2;
    let shorter = padding - 1;
    payload[at] = low(shorter) | 0x80;
    payload.pop();
    assert_eq!(answer(&payload).await, Some(Code::CERTIFICATE));
}

/// A device publishes for its own identity alone, and no number is given to another key.
#[tokio::test(flavor = "multi_thread")]
async fn no_one_publishes_for_others_or_takes_their_number() {
    let world = World::new();
    let (root, other) = (identity(), identity());
    let node = world.unregistered(&root, 1).await;
    assert!(matches!(node.register(&world.invite(1, u64::MAX / 4)).await, Answer::Welcome(_)));
    let theirs = world.unregistered(&other, 1).await;
    assert!(matches!(theirs.register(&world.invite(1, u64::MAX / 4)).await, Answer::Welcome(_)));
    // A later record of the other person, as their other devices could show it.
    let later = next_record(&other, &theirs.person, &[], &[(2, &node.device)]);
    let publish = Publish { person: later.as_bytes().into(), ..Publish::default() };
    assert_eq!(code(&node.ask(Request::Publish(publish)).await), Some(Code::CERTIFICATE));
    // Another key under the number of a device, in a record that follows.
    let third = world.unregistered(&root, 3).await;
    let record = next_record(&root, &node.person, &[1], &[(3, &third.device)]);
    let token = world.invite(2, u64::MAX / 4);
    let answer = third.register_as(&token, &third.certificate, &record).await;
    assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");
    let second = world.unregistered(&root, 1).await;
    let record = next_record(&root, &record, &[], &[(1, &second.device)]);
    let answer = second.register_as(&token, &second.certificate, &record).await;
    assert_eq!(code(&answer), Some(Code::CERTIFICATE));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_used_as_often_as_it_says_and_not_too_late() {
    let world = World::new();
    let far = u64::MAX / 4;
    for (uses, expires, expected) in
        [(1, far, None), (0, far, Some(Code::TOKEN)), (1, 5, Some(Code::TOKEN))]
    {
        let token = world.invite(uses, expires);
        let node = world.unregistered(&identity(), 1).await;
        assert_eq!(code(&node.register(&token).await), expected);
        if expected.is_none() {
            // The answer may have been lost, so it is sent again, and the invitation is not used
            // again.
            let mut node = node;
            node.reconnect(&world).await;
            assert!(matches!(node.register(&token).await, Answer::Welcome(_)));
            let other = world.unregistered(&identity(), 1).await;
            assert_eq!(code(&other.register(&token).await), Some(Code::TOKEN));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn certificate_and_record_must_be_the_peers_own() {
    let world = World::new();
    let (root, other) = (identity(), identity());
    let node = world.unregistered(&root, 1).await;
    let theirs = world.unregistered(&other, 1).await;
    let token = world.invite(10, u64::MAX / 4);
    let without = person_record(&root, 2, &node.device);
    for (certificate, person) in [
        (theirs.certificate.clone(), node.person.clone()),
        (node.certificate.clone(), theirs.person.clone()),
        (node.certificate.clone(), without),
        (certificate(&root, 1, theirs.peer), node.person.clone()),
        (certificate(&other, 1, node.peer), node.person.clone()),
    ] {
        let again = world_node(&world, &node).await;
        let answer = again.register_as(&token, &certificate, &person).await;
        assert_eq!(code(&answer), Some(Code::CERTIFICATE));
    }
    let again = world_node(&world, &node).await;
    assert!(matches!(again.register(&token).await, Answer::Welcome(_)));
    // The identity is known now, so a different record for its first epoch is a fork.
    let mut second = world.unregistered(&root, 2).await;
    assert_eq!(code(&second.register(&token).await), Some(Code::PERSON));
    second.reconnect(&world).await;
    let next = next_record(&root, &node.person, &[], &[(2, &second.device)]);
    let answer = second.register_as(&token, &second.certificate, &next).await;
    assert!(matches!(answer, Answer::Welcome(welcome) if welcome.epoch == 2));
}

/// Connects the same device again.
async fn world_node(world: &World, node: &crate::world::Node) -> crate::world::Node {
    let connection = node.endpoint.connect(world.peer, world.address).await.unwrap();
    crate::world::Node {
        endpoint: node.endpoint.clone(),
        connection,
        peer: node.peer,
        device: identity(),
        certificate: node.certificate.clone(),
        person: node.person.clone(),
    }
}

pub(crate) fn next_record(
    root: &Identity,
    held: &PersonRecord,
    remove: &[u32],
    add: &[(u32, &Identity)],
) -> PersonRecord {
    let number = |number: u32| NonZeroU32::new(number).unwrap();
    let mut changes = PersonChanges::new();
    for it in remove {
        changes.remove(number(*it));
    }
    for (it, device) in add {
        changes.add(number(*it), device.public());
    }
    held.next_epoch(root, &changes).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_found_by_identity_and_device() {
    let world = World::new();
    let (alice, bob) = (world.registered().await, world.registered().await);
    let identity = *bob.person.identity().ed25519().as_bytes();
    for by in [By::Identity(identity), By::Peer(*bob.peer.as_bytes())] {
        let Answer::Person(Person { person, certificates }) =
            alice.ask(Request::Find(Find { by })).await
        else {
            panic!()
        };
        assert_eq!(&person[..], bob.person.as_bytes());
        let [certificate] = &certificates[..] else { panic!() };
        assert_eq!(Certificate::from_bytes(certificate).unwrap(), bob.certificate);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_persons_are_found_in_one_exchange() {
    let world = World::new();
    let (alice, bob) = (world.registered().await, world.registered().await);
    let mut exchange = alice.exchange().await;
    let found = By::Identity(*bob.person.identity().ed25519().as_bytes());
    for by in
        [By::Identity([4; 32]), found.clone(), By::Peer(*bob.peer.as_bytes()), By::Peer([5; 32])]
    {
        exchange.send(Request::Find(Find { by })).await;
    }
    assert_eq!(code(&exchange.receive().await.unwrap()), Some(Code::NONE));
    for _ in 0..2 {
        let answer = exchange.receive().await.unwrap();
        assert!(matches!(answer, Answer::Person(it) if &it.person[..] == bob.person.as_bytes()));
    }
    assert_eq!(code(&exchange.receive().await.unwrap()), Some(Code::NONE));
    // These are more requests than may be under way at once.
    for at in 0..100 {
        let by = if at % 3 == 0 { By::Identity([4; 32]) } else { found.clone() };
        exchange.send(Request::Find(Find { by })).await;
    }
    for at in 0..100 {
        let is_none = code(&exchange.receive().await.unwrap()) == Some(Code::NONE);
        assert_eq!(is_none, at % 3 == 0, "{at}");
    }
    exchange.send(Request::Hello(Hello { version: 1, ..Hello::default() })).await;
    assert_eq!(code(&exchange.receive().await.unwrap()), Some(Code::REQUEST));
    assert!(exchange.receive().await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_device_has_no_mailbox_and_asks_for_nothing() {
    let world = World::new();
    let root = identity();
    let (first, second) = (world.unregistered(&root, 1).await, world.unregistered(&root, 2).await);
    let token = world.invite(2, u64::MAX / 4);
    assert!(matches!(first.register(&token).await, Answer::Welcome(_)));
    let both = next_record(&root, &first.person, &[], &[(2, &second.device)]);
    let answer = second.register_as(&token, &second.certificate, &both).await;
    assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");
    let alice = world.registered().await;
    let answer = put_one(&alice, put(&[&second], &alice.frame(1, b"text"))).await;
    assert!(matches!(answer, Answer::Stored(_)));
    let mut open = subscribe(&second, 0, 0).await;

    let publish = |person: &PersonRecord| {
        Request::Publish(Publish { person: person.as_bytes().into(), ..Publish::default() })
    };
    // An earlier record is refused.
    assert_eq!(code(&first.ask(publish(&first.person)).await), Some(Code::PERSON));
    let without = next_record(&root, &both, &[2], &[]);
    assert!(matches!(first.ask(publish(&without)).await, Answer::Welcome(it) if it.epoch == 3));
    // The open subscription of the removed device ends, its requests are refused, and senders are
    // told that it has no mailbox.
    assert_eq!(code(&open.receive().await.unwrap()), Some(Code::REVOKED));
    for kind in Kind::ALL {
        let answer = second.ask(request(kind)).await;
        assert_eq!(code(&answer), Some(Code::REVOKED), "{kind:?}");
    }
    let answer = put_one(&alice, put(&[&second], &alice.frame(2, b"text"))).await;
    assert_eq!(code(&answer), Some(Code::MAILBOX));
    let Answer::Person(Person { certificates, .. }) =
        alice.ask(Request::Find(Find { by: By::Peer(*first.peer.as_bytes()) })).await
    else {
        panic!()
    };
    assert_eq!(certificates.len(), 1);
    assert!(world.faults().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn prekeys_are_bounded_in_bytes_and_given_as_they_came() {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (1_000_000, 1_000_000);
    limits.prekey_interval = Duration::ZERO;
    let world = World::with(limits);
    let (alice, bob) = (world.registered().await, world.registered().await);
    let prekeys = (0..100).map(|number: u8| vec![number; 8_192].into()).collect();
    let publish = Publish { prekeys, last_resort: [0xee; 9].into(), ..Publish::default() };
    let Answer::Welcome(welcome) = bob.ask(Request::Publish(publish)).await else { panic!() };
    // 256 KiB of them.
    assert_eq!((welcome.prekeys, welcome.published), (32, 101));
    let take = || alice.ask(Request::Take(Take { peer: *bob.peer.as_bytes() }));
    for number in 0..34 {
        let Answer::Prekey(prekey) = take().await else { panic!() };
        let expected = if number < 32 { vec![number; 8_192] } else { vec![0xee; 9] };
        assert_eq!(prekey.prekey[..], expected);
    }
    // One of last resort takes the place of the earlier one, also without others.
    let publish = Publish { last_resort: [0xef; 9].into(), ..Publish::default() };
    assert!(matches!(bob.ask(Request::Publish(publish)).await, Answer::Welcome(_)));
    let Answer::Prekey(prekey) = take().await else { panic!() };
    assert_eq!(prekey.prekey[..], [0xef; 9]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_visit_of_a_device_is_noted() {
    let world = World::new();
    let alice = world.registered().await;
    let state = || world.in_store(|store| store.devices()).unwrap().remove(0);
    assert!(state().visited > 1_700_000_000_000_000);
    // Two hours later: the registration was the last visit.
    let earlier = state().visited - 7_200_000_000;
    world.transact(|transaction| {
        let mut device = transaction.mailboxes(&[alice.peer])?.remove(0).state;
        device.visited = earlier;
        transaction.update_device(&device)
    });
    assert_eq!(state().visited, earlier);
    let answer = alice.ask(Request::Hello(Hello { version: 1, ..Hello::default() })).await;
    assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");
    let visited = state().visited;
    assert!(visited > earlier);
    // Visits of one hour are noted once.
    alice.ask(Request::Hello(Hello { version: 1, ..Hello::default() })).await;
    assert_eq!(state().visited, visited);
}
