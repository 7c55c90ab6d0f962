//! Members and hubs that violate the protocol.

use endseal_codec::frame::{Stamp, StoredFrame};
use endseal_codec::hub::{Answer, HubAnswer, HubRequest, Put, Request};
use endseal_codec::{Codec as _, Message, Scheme, Sealed, SealedMessage};
use endseal_delivery::{payload_limits, stored_limits};
use endseal_node::messages::problems;
use endseal_transport::{Frame, Kind};

use super::world::{Person, World};

/// Sends a frame with any payload to the mailbox of `to`.
pub(super) async fn put(
    world: &World,
    from: &Person,
    to: &Person,
    sequence: u64,
    message: SealedMessage,
) {
    put_many(world, from, to, vec![(sequence, message)]).await;
}

/// Sends frames with the given sequences in one exchange.
pub(super) async fn put_many(
    world: &World,
    from: &Person,
    to: &Person,
    messages: Vec<(u64, SealedMessage)>,
) {
    let (_endpoint, connection) = world.connect(&from.key()).await;
    let (mut exchange, mut answers) = connection.open_exchange().await.unwrap();
    let sender = *from.engine.certificate().keys().peer_id.as_bytes();
    for (sequence, message) in messages {
        let sealed = Sealed::<Message>::from_message(message);
        let stamp = Stamp { sequence, timestamp: 0, sender };
        let frame = StoredFrame::vouched(&sealed, stamp, stored_limits()).unwrap();
        let targets = to.engine.certificate().keys().peer_id.as_bytes()[..].into();
        let put = Put { targets, frame: frame.into(), ..Put::default() };
        let request = HubRequest::from(Request::Put(put)).to_vec(payload_limits()).unwrap();
        exchange.send(&Frame::new(Kind::Control, request)).await.unwrap();
        let frame = answers.receive().await.unwrap().unwrap();
        let answer = HubAnswer::decode(&frame.payload, payload_limits()).unwrap().answer;
        assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_that_cannot_be_opened_cost_no_other() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let mallory = world.member("mallory").await;
    // The group of Alice and Bob.
    alice.say(&bob.identity, "0");
    alice.sync(&world).await;
    bob.sync(&world).await;
    let [of_alice]: [_; 1] = bob.engine.groups().unwrap().try_into().unwrap();
    let context = |kind: u8, group: &[u8]| [&[kind], group].concat();
    let message = |scheme, context: &[u8]| SealedMessage {
        scheme,
        context: context.into(),
        ciphertext: [7; 100].into(),
        ..SealedMessage::default()
    };
    let hostile = [
        message(Scheme::PAIRWISE, &context(1, &of_alice)),
        message(Scheme::MLS, &context(0, &of_alice)),
        message(Scheme::MLS, b"short"),
        // No message of a group, for an unknown group and for one of others.
        message(Scheme::MLS, &context(1, &[7; 16])),
        message(Scheme::MLS, &context(1, &of_alice)),
        message(Scheme::MLS, &context(2, &of_alice)),
    ];
    let mut sequence = 0;
    for hostile in hostile {
        sequence += 1;
        put(&world, &mallory, &bob, sequence, hostile).await;
        alice.say(&bob.identity, &sequence.to_string());
        alice.sync(&world).await;
    }
    let report = bob.sync(&world).await;
    assert_eq!((report.received, report.problems), (6, 6));
    let texts: Vec<_> = bob.read().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["0", "1", "2", "3", "4", "5", "6"]);
    let found = problems(&mut bob.engine).unwrap();
    let classes: Vec<_> = found.iter().map(|it| it.class.as_str()).collect();
    assert_eq!(classes, ["welcome", "frame", "frame", "frame", "malformed", "malformed"]);
    let peer = mallory.engine.certificate().keys().peer_id;
    assert!(found.iter().all(|it| it.peer == peer));
    // They are acknowledged, and are not delivered again.
    assert_eq!(bob.sync(&world).await.problems, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ciphertext_that_another_repeats_is_no_second_text() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let mallory = world.member("mallory").await;
    alice.say(&bob.identity, "once");
    alice.sync(&world).await;
    // Frames that a hub in collusion with Mallory would hand out.
    let mut store = world.store();
    let bytes = endseal_hub::HubStore::devices(&mut store).unwrap();
    let row = bytes.iter().find(|it| it.frames > 0).unwrap().row;
    let mut reader = endseal_hub::HubStore::reader(&store).unwrap();
    let deliveries = reader.deliveries(row, 0, 10, 1 << 20).unwrap();
    // The welcome, and the text.
    let mut sequence = 0;
    for delivery in &deliveries {
        let frame = StoredFrame::parse(&delivery.frame, stored_limits()).unwrap();
        let sender = frame.sender();
        let frame = frame.vouched_by(&sender).unwrap();
        let message = SealedMessage::decode(frame.payload(), stored_limits()).unwrap();
        sequence += 1;
        put(&world, &mallory, &bob, sequence, message).await;
    }
    assert_eq!(sequence, 2);
    let report = bob.sync(&world).await;
    assert_eq!((report.received, report.problems), (1, 1));
    assert_eq!(bob.read(), [(alice.identity, "once".to_owned())]);
}
