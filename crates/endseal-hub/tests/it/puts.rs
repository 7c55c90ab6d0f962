//! Frames that are stored, and frames that are refused.

use endseal_codec::hub::{Answer, Code, Refused, Request, Stored, Subscribe};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::limit::{MAX_STORED_PAYLOAD, MAX_TARGETS};
use endseal_hub::HubLimits;

use crate::world::{Exchange, Node, World, frame, put, put_to};

/// Puts one frame in an exchange of its own.
pub(crate) async fn put_one(node: &Node, request: Request) -> Answer {
    let mut exchange = node.exchange().await;
    exchange.send(request).await;
    exchange.receive().await.expect("an answer")
}

fn code(answer: &Answer) -> Option<Code> {
    match answer {
        Answer::Refused(refused) => Some(refused.code),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_frames_are_stored_in_order_and_answered_together() {
    let world = World::new();
    let (alice, bob) = (world.registered().await, world.registered().await);
    let mut exchange = alice.exchange().await;
    for sequence in 1..=500 {
        exchange.send(put(&[&bob], &alice.frame(sequence, b"text"))).await;
    }
    let mut last = 0;
    while last < 500 {
        let Some(Answer::Stored(Stored { sequence })) = exchange.receive().await else { panic!() };
        assert!(sequence > last);
        last = sequence;
    }
    let mut subscription = subscribe(&bob, 0, 1_000).await;
    let mut position = 0;
    for sequence in 1..=500 {
        let Some(Answer::Deliver(deliver)) = subscription.receive().await else { panic!() };
        assert_eq!(deliver.frame[..], alice.frame(sequence, b"text"));
        assert!(deliver.position > position);
        position = deliver.position;
    }
    assert!(matches!(subscription.receive().await, Some(Answer::CaughtUp(_))));
    assert!(world.faults().is_empty());
}

pub(crate) async fn subscribe(node: &Node, after: u64, frames: u64) -> Exchange {
    let mut exchange = node.exchange().await;
    let bytes = 1 << 30;
    exchange.send(Request::Subscribe(Subscribe { after, frames, bytes })).await;
    exchange
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sequence_is_stored_once_and_an_old_one_never() {
    let mut world = World::new();
    let (mut alice, mut bob) = (world.registered().await, world.registered().await);
    for _ in 0..2 {
        let answer = put_one(&alice, put(&[&bob], &alice.frame(7, b"first"))).await;
        assert_eq!(answer, Answer::Stored(Stored { sequence: 7 }));
    }
    // Other bytes under the number are another copy of the device's state.
    let answer = put_one(&alice, put(&[&bob], &alice.frame(7, b"other"))).await;
    assert_eq!(code(&answer), Some(Code::USED));
    world.stop().await;
    world.start();
    alice.reconnect(&world).await;
    bob.reconnect(&world).await;
    let answer = put_one(&alice, put(&[&bob], &alice.frame(7, b"first"))).await;
    assert_eq!(answer, Answer::Stored(Stored { sequence: 7 }));
    let answer = put_one(&alice, put(&[&bob], &alice.frame(2_000, b"later"))).await;
    assert_eq!(answer, Answer::Stored(Stored { sequence: 2_000 }));
    let answer = put_one(&alice, put(&[&bob], &alice.frame(8, b"too late"))).await;
    let Answer::Refused(refused) = answer else { panic!() };
    assert_eq!((refused.code, refused.sequence), (Code::OLD, Some(8)));
    let mut subscription = subscribe(&bob, 0, 10).await;
    for text in [&b"first"[..], b"later"] {
        let Some(Answer::Deliver(deliver)) = subscription.receive().await else { panic!() };
        assert!(deliver.frame.ends_with(text));
    }
    assert!(matches!(subscription.receive().await, Some(Answer::CaughtUp(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_of_another_is_refused() {
    let world = World::new();
    let (alice, bob) = (world.registered().await, world.registered().await);
    let answer = put_one(&alice, put(&[&bob], &bob.frame(1, b"as bob"))).await;
    assert_eq!(code(&answer), Some(Code::FRAME));
    let mut damaged = alice.frame(1, b"text");
    damaged[66] ^= 1;
    assert_eq!(code(&put_one(&alice, put(&[&bob], &damaged)).await), Some(Code::FRAME));
    let mut subscription = subscribe(&bob, 0, 10).await;
    assert!(matches!(subscription.receive().await, Some(Answer::CaughtUp(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn targets_that_cannot_take_a_frame_refuse_all_of_it() {
    let mut limits = HubLimits::default();
    limits.mailbox_frames = 4;
    let world = World::with(limits);
    let (alice, bob, carol) =
        (world.registered().await, world.registered().await, world.registered().await);
    let unregistered = PeerId::from_bytes(&[9; 32]);
    let targets = [bob.peer, unregistered];
    let answer = put_one(&alice, put_to(&targets, &alice.frame(1, b"text"))).await;
    let Answer::Refused(Refused { code, mailboxes, sequence, .. }) = answer else { panic!() };
    assert_eq!((code, mailboxes, sequence), (Code::MAILBOX, vec![[9; 32]], Some(1)));
    for sequence in 2..=3 {
        let answer = put_one(&alice, put(&[&bob], &alice.frame(sequence, b"text"))).await;
        assert_eq!(answer, Answer::Stored(Stored { sequence }));
    }
    let answer = put_one(&alice, put(&[&carol, &bob], &alice.frame(4, b"text"))).await;
    let Answer::Refused(Refused { code, mailboxes, .. }) = answer else { panic!() };
    assert_eq!((code, mailboxes), (Code::FULL, vec![*bob.peer.as_bytes()]));
    // The frame was not delivered to the other target either.
    let mut subscription = subscribe(&carol, 0, 10).await;
    assert!(matches!(subscription.receive().await, Some(Answer::CaughtUp(_))));
    // An acknowledgement frees the quota, and the same sequence number may be used again.
    let mut subscription = subscribe(&bob, 0, 10).await;
    let Some(Answer::Deliver(_)) = subscription.receive().await else { panic!() };
    let Some(Answer::Deliver(deliver)) = subscription.receive().await else { panic!() };
    let position = deliver.position;
    let acknowledge = endseal_codec::hub::Acknowledge { position };
    subscription.send(Request::Acknowledge(acknowledge)).await;
    while waiting(&bob).await > 0 {}
    let answer = put_one(&alice, put(&[&carol, &bob], &alice.frame(4, b"text"))).await;
    assert_eq!(answer, Answer::Stored(Stored { sequence: 4 }));
    assert!(world.faults().is_empty());
}

/// Returns the number of frames in the mailbox of a node.
async fn waiting(node: &Node) -> u64 {
    let hello = Request::Hello(endseal_codec::hub::Hello { version: 1, ..Default::default() });
    let Answer::Welcome(welcome) = node.ask(hello).await else { panic!() };
    welcome.waiting
}

#[tokio::test(flavor = "multi_thread")]
async fn bounds_of_targets_and_payloads_hold() {
    let world = World::new();
    let (alice, bob) = (world.registered().await, world.registered().await);
    let one = [bob.peer];
    let many: Vec<PeerId> = (0..=MAX_TARGETS)
        .map(|number| {
            let mut id = [0; 32];
            id[..8].copy_from_slice(&(number as u64).to_le_bytes());
            PeerId::from_bytes(&id)
        })
        .collect();
    let small = alice.frame(1, b"text");
    for (request, expected) in [
        (put_to(&[bob.peer, bob.peer], &small), Code::TARGETS),
        (put_to(&many[1..], &small), Code::MAILBOX),
    ] {
        assert_eq!(code(&put_one(&alice, request).await), Some(expected));
    }
    // A request with 1,025 peer ids is invalid.
    let mut exchange = alice.exchange().await;
    let targets: Vec<u8> = many.iter().flat_map(|it| *it.as_bytes()).collect();
    let targets_field = [&[0x0a][..], &varint(targets.len()), &targets].concat();
    let put_field = [targets_field, [&[0x12][..], &varint(small.len()), &small].concat()].concat();
    let payload = [&[0x1a][..], &varint(put_field.len()), &put_field].concat();
    exchange.send_bytes(payload).await;
    assert_eq!(code(&exchange.receive().await.unwrap()), Some(Code::REQUEST));

    // A sealed message is 6 bytes longer than its ciphertext at this length.
    let most = MAX_STORED_PAYLOAD as usize;
    let largest = alice.frame(2, &vec![7; most - 6]);
    assert_eq!(largest.len(), 64 + most);
    let answer = put_one(&alice, put_to(&one, &largest)).await;
    assert_eq!(answer, Answer::Stored(Stored { sequence: 2 }));
    let mut longer = largest.clone();
    longer.push(7);
    longer[4..8].copy_from_slice(&(MAX_STORED_PAYLOAD + 1).to_le_bytes());
    assert_eq!(code(&put_one(&alice, put_to(&one, &longer)).await), Some(Code::FRAME));
    let mut subscription = subscribe(&bob, 0, 10).await;
    let Some(Answer::Deliver(deliver)) = subscription.receive().await else { panic!() };
    assert_eq!(deliver.frame[..], largest);
}

fn varint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap());
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_has_a_rate_that_counts_targets() {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (4, 1);
    let world = World::with(limits);
    let (alice, bob, carol) =
        (world.registered().await, world.registered().await, world.registered().await);
    for sequence in 1..=2 {
        let answer = put_one(&alice, put(&[&bob, &carol], &alice.frame(sequence, b"text"))).await;
        assert_eq!(answer, Answer::Stored(Stored { sequence }));
    }
    let answer = put_one(&alice, put(&[&bob], &alice.frame(3, b"text"))).await;
    let Answer::Refused(refused) = answer else { panic!() };
    assert_eq!(refused.code, Code::RATE);
    assert!((1..=1_000).contains(&refused.wait), "{}", refused.wait);
    // Other senders are not affected.
    let answer = put_one(&bob, put(&[&carol], &bob.frame(1, b"text"))).await;
    assert_eq!(answer, Answer::Stored(Stored { sequence: 1 }));
    tokio::time::sleep(std::time::Duration::from_millis(refused.wait + 100)).await;
    let answer = put_one(&alice, put(&[&bob], &alice.frame(3, b"text"))).await;
    assert_eq!(answer, Answer::Stored(Stored { sequence: 3 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_changed_byte_of_a_request_has_an_answer() {
    let world = World::new();
    let (alice, bob) = (world.registered().await, world.registered().await);
    let payload = {
        use endseal_codec::Codec as _;
        let request = put(&[&bob], &frame(alice.peer, 1, b"text"));
        let request = endseal_codec::hub::HubRequest::from(request);
        request.to_vec(endseal_delivery::payload_limits()).unwrap()
    };
    for at in 0..payload.len() {
        let mut flipped = payload.clone();
        flipped[at] ^= 1 << (at % 8);
        for bytes in [payload[..at].to_vec(), flipped] {
            let mut exchange = alice.exchange().await;
            exchange.send_bytes(bytes).await;
            let answer = exchange.receive().await.expect("an answer");
            assert!(code(&answer).is_some(), "{at}: {answer:?}");
        }
    }
    // The connection still works.
    let answer = put_one(&alice, put(&[&bob], &alice.frame(1, b"text"))).await;
    assert_eq!(answer, Answer::Stored(Stored { sequence: 1 }));
}

/// The digest of a frame takes the place of the one that left the window.
#[tokio::test(flavor = "multi_thread")]
async fn a_frame_is_repeated_after_a_whole_window() {
    let world = World::new();
    let (alice, bob) = (world.registered().await, world.registered().await);
    for sequence in [5, 1_030, 1_030, 1_031, 2_055, 2_055] {
        let frame = alice.frame(sequence, format!("{sequence}").as_bytes());
        let answer = put_one(&alice, put(&[&bob], &frame)).await;
        assert!(matches!(answer, Answer::Stored(_)), "{sequence}: {answer:?}");
    }
}
