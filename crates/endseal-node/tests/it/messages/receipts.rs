//! Receipts: confirmations that texts have arrived at a device of their receiver.

use core::num::NonZeroU32;

use endseal_codec::frame::StoredFrame;
use endseal_codec::{
    Codec as _, Content, Limits, Message, Receipt, ReceiptKind, Scheme, SealedMessage,
};
use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use endseal_delivery::{MessageId, stored_limits};
use endseal_hub::{HubLimits, HubStore as _};
use endseal_keyring::person::PersonChanges;
use endseal_node::api::Request;
use endseal_node::messages::{
    Conversation, HistoryRow, HubGroupId, TextDelivery, history, mark_read, problems, settle_inbox,
    status, unread,
};
use endseal_session::group::Members;
use endseal_session::{BatchOptions, Engine, EngineError, Envelope};

use TextDelivery::{Delivered, Undelivered, Unsent};

use super::faults::{Lies, lying_hub};
use super::hostile::put_many;
use super::service::{Caller, ask, serving};
use super::teams::second_device;
use super::teams::{group, name, write};
use super::world::{People, Person, World};

/// Kinds of records in the store: rows of the history, and texts that are not encrypted yet.
const HISTORY: u16 = 3;
const UNSENT: u16 = 4;
/// Bytes of a row before its plaintext: direction, address and time.
const ROW_HEADER: usize = 1 + 36 + 8;

/// Makes `other` a contact.
fn know(person: &Person, other: &Person) {
    let mut contacts = person.home.contacts().unwrap();
    let as_name = name(&format!("c{}", contacts.len()));
    contacts.add(as_name, other.root.public().clone()).unwrap();
    person.home.store_contacts(&contacts, &person.home.lock().unwrap()).unwrap();
}

fn rows(engine: &mut Engine, with: &PublicKey) -> Vec<HistoryRow> {
    history(engine, &Conversation::Person(*with), 0, 10_000).unwrap()
}

/// The inbox is read all the time, also between the opening of a text and the comparison of its new
/// group with what the hub knows of its members.
#[tokio::test(flavor = "multi_thread")]
async fn a_first_text_is_confirmed_whenever_the_inbox_is_read() {
    let world = World::new();
    let mut bob = world.member("bob").await;
    let mut writers = Vec::new();
    for number in 0..6 {
        let mut writer = world.member(&format!("writer{number}")).await;
        know(&bob, &writer);
        writer.say(&bob.identity, "first");
        writer.sync(&world).await;
        writers.push(writer);
    }
    serving(&world, &mut bob, async |client| {
        let reads = async |after| {
            let read = move |it: Caller| it.texts(&Request::Unread { after });
            ask(&client, read).await
        };
        let (mut after, mut shown) = (0, 0);
        while shown < writers.len() {
            let (rows, next) = reads(after).await;
            shown += rows.len();
            after = next.unwrap_or(after);
        }
        // The receipts are sent.
        ask(&client, |it| it.sync(1)).await;
    })
    .await;
    for mut writer in writers {
        writer.sync(&world).await;
        assert_eq!(deliveries(&mut writer, &bob.identity), [Delivered]);
    }
}

/// Returns the delivery of the texts to a person, in the order of writing.
fn deliveries(person: &mut Person, to: &PublicKey) -> Vec<TextDelivery> {
    let sent = rows(&mut person.engine, to).into_iter().filter(|row| row.is_sent);
    sent.map(|row| row.delivery.unwrap()).collect()
}

fn undelivered(person: &mut Person) -> u64 {
    status(&mut person.engine).unwrap().undelivered
}

/// Counts the frames of the outbox, including receipts.
fn outbox(person: &mut Person) -> usize {
    person.engine.outbox().pending(0, 1_000).unwrap().len()
}

/// Returns the id of the last text to a person.
fn last_id(person: &mut Person, to: &PublicKey) -> [u8; 16] {
    let rows = rows(&mut person.engine, to);
    let row = rows.iter().rfind(|row| row.is_sent).unwrap();
    let message = Message::decode(&row.plaintext, Limits::default()).unwrap();
    let Some(Content::Rich(rich)) = message.content else { panic!("no text") };
    rich.id
}

fn with_number(mut id: [u8; 16], number: u64) -> [u8; 16] {
    id[8..].copy_from_slice(&number.to_be_bytes());
    id
}

/// Makes a receipt of `from` for texts of `to`, from number `first` to `last`.
fn receipt(from: &Person, to: &Person, id: [u8; 16], first: u64, last: u64) -> Receipt {
    Receipt {
        conversation: to.identity.as_bytes()[..].into(),
        sender: *from.identity.as_bytes(),
        kind: ReceiptKind::DELIVERED,
        messages: vec![with_number(id, first), with_number(id, last)],
        ..Receipt::default()
    }
}

/// Returns the id of the group of a person's conversation with another one.
fn group_with(person: &mut Person, other: &PublicKey) -> HubGroupId {
    let members = Members::of_two(person.identity, *other);
    let groups = person.engine.groups().unwrap().into_iter();
    let mut groups = groups.filter(|id| {
        let state = person.engine.group(id).unwrap().unwrap().conversation;
        state.is_some_and(|it| *it.members() == members)
    });
    let group = groups.next().unwrap();
    assert!(groups.next().is_none());
    group.try_into().unwrap()
}

/// Makes a note with a receipt in the group of `from` with `to`, and takes it out of the outbox.
/// Returns its number and its body.
fn note(from: &mut Person, to: &Person, receipt: Receipt) -> (u64, Vec<u8>) {
    let group = group_with(from, &to.identity);
    let plaintext = Message::from(Content::Receipt(receipt)).to_vec(Limits::default()).unwrap();
    let to = to.engine.address();
    let sent =
        from.engine.transaction(|it| it.send_note(&group, to, &plaintext, &mut OsRandom)).unwrap();
    let note = from.engine.outbox().pending(sent - 1, 1).unwrap().remove(0);
    assert!(from.engine.outbox().sent(sent).unwrap());
    (sent, note.body)
}

/// Sends receipts in the group of `from` with `to`.
async fn forge(world: &World, from: &mut Person, to: &Person, receipts: Vec<Receipt>) {
    let group = group_with(from, &to.identity);
    let mut frames = Vec::new();
    for receipt in receipts {
        let (number, body) = note(from, to, receipt);
        let sealed = SealedMessage {
            scheme: Scheme::MLS,
            context: [&[1], &group[..]].concat().into(),
            ciphertext: body.into(),
            ..SealedMessage::default()
        };
        frames.push((number, sealed));
    }
    put_many(world, from, to, frames).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_delivered_when_a_device_has_confirmed_it() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    know(&bob, &alice);
    for text in ["one", "two", "three"] {
        alice.say(&bob.identity, text);
    }
    assert_eq!(deliveries(&mut alice, &bob.identity), [Unsent; 3]);
    assert_eq!(undelivered(&mut alice), 0);
    alice.sync(&world).await;
    assert_eq!(deliveries(&mut alice, &bob.identity), [Undelivered; 3]);
    assert_eq!(undelivered(&mut alice), 3);
    // One receipt for the batch, which is not counted as a text.
    let report = bob.sync(&world).await;
    assert_eq!((report.received, report.sent, report.receipts), (3, 0, 1));
    assert_eq!(status(&mut bob.engine).unwrap().frames, 0);
    alice.say(&bob.identity, "four");
    let report = alice.sync(&world).await;
    assert_eq!((report.received, report.sent, report.receipts), (0, 1, 1));
    let expected = [Delivered, Delivered, Delivered, Undelivered];
    assert_eq!(deliveries(&mut alice, &bob.identity), expected);
    assert_eq!(undelivered(&mut alice), 1);
    bob.sync(&world).await;
    alice = alice.restart();
    assert_eq!(alice.sync(&world).await.receipts, 1);
    assert_eq!(deliveries(&mut alice, &bob.identity), [Delivered; 4]);
    // A receipt is not a message to read, and does not move the read position.
    let now = status(&mut alice.engine).unwrap();
    assert_eq!((now.unread, now.undelivered, now.problems), (0, 0, 0));
    assert_eq!(alice.read(), []);
    assert_eq!(rows(&mut alice.engine, &bob.identity).len(), 4);
    for _ in 0..2 {
        for person in [&mut bob, &mut alice] {
            let report = person.sync(&world).await;
            assert_eq!((report.received, report.sent, report.receipts), (0, 0, 0));
        }
    }
    // Texts that were read are not confirmed again.
    assert_eq!(bob.read().len(), 4);
    assert_eq!(bob.sync(&world).await.receipts, 0);
    assert!(rows(&mut bob.engine, &alice.identity).iter().all(|row| row.delivery.is_none()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outsider_learns_nothing_of_what_arrived() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    alice.say(&bob.identity, "hello?");
    alice.sync(&world).await;
    assert_eq!(bob.sync(&world).await.receipts, 0);
    assert_eq!(alice.sync(&world).await.receipts, 0);
    assert_eq!(deliveries(&mut alice, &bob.identity), [Undelivered]);
    // After Bob's answer she is a known sender, and the next receipt confirms all texts.
    bob.say(&alice.identity, "yes");
    bob.sync(&world).await;
    alice.say(&bob.identity, "good");
    alice.sync(&world).await;
    // Her receipt arrives, and one is sent.
    assert_eq!(bob.sync(&world).await.receipts, 2);
    alice.sync(&world).await;
    assert_eq!(deliveries(&mut alice, &bob.identity), [Delivered; 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_to_a_team_is_delivered_when_each_member_has_confirmed_it() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let mut carol = world.member("carol").await;
    let absent = world.person("absent");
    let id = *group(&mut [&mut alice, &mut bob, &mut carol], &[&absent]).id();
    write(&mut alice, &id, "to all");
    let with = Conversation::Group(id);
    let delivery = |person: &mut Person| {
        let row = &history(&mut person.engine, &with, 0, 9).unwrap()[0];
        (row.delivery, row.confirmed.map(|it| (it.by, it.of)))
    };
    assert_eq!(delivery(&mut alice).0, Some(Unsent));
    alice.sync(&world).await;
    // A member who has not joined confirms nothing, and is not counted.
    assert_eq!(delivery(&mut alice), (Some(Undelivered), Some((0, 2))));
    for (person, expected) in [
        (&mut bob, (Some(Undelivered), Some((1, 2)))),
        (&mut carol, (Some(Delivered), Some((2, 2)))),
    ] {
        let report = person.sync(&world).await;
        assert_eq!((report.received, report.receipts), (1, 1), "{report:?}");
        assert_eq!(alice.sync(&world).await.receipts, 1);
        assert_eq!(delivery(&mut alice), expected);
    }
    assert_eq!(undelivered(&mut alice), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_marks_no_text_that_it_cannot_speak_of() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let mut mallory = world.member("mallory").await;
    for text in ["one", "two"] {
        alice.say(&bob.identity, text);
    }
    alice.say(&mallory.identity, "to you");
    alice.sync(&world).await;
    for person in [&mut bob, &mut mallory] {
        person.sync(&world).await;
        person.say(&alice.identity, "hello");
        person.sync(&world).await;
    }
    alice.sync(&world).await;
    assert_eq!(alice.read().len(), 2);
    let (to_bob, to_mallory) =
        (last_id(&mut alice, &bob.identity), last_id(&mut alice, &mallory.identity));
    let good = receipt(&bob, &alice, to_bob, 1, 2);
    let other_series = with_number([7; 16], 1);
    // In Mallory's group: receipts for the texts to Bob, in her name and in his.
    let of_mallory = vec![receipt(&mallory, &alice, to_bob, 1, 2), good.clone()];
    forge(&world, &mut mallory, &alice, of_mallory).await;
    // In Bob's group: receipts of another series, for texts that were never written, of another
    // kind, without an end, and of another writer or sender.
    for receipt in [
        receipt(&bob, &alice, other_series, 1, 2),
        receipt(&bob, &alice, to_mallory, 1, 1),
        receipt(&bob, &alice, to_bob, 1, 3),
        receipt(&bob, &alice, to_bob, 1, u64::MAX),
        receipt(&bob, &alice, to_bob, 0, 2),
        receipt(&bob, &alice, to_bob, 2, 1),
        Receipt { kind: ReceiptKind::READ, ..good.clone() },
        Receipt { messages: vec![to_bob], ..good.clone() },
        Receipt { conversation: bob.identity.as_bytes()[..].into(), ..good.clone() },
        Receipt { sender: *mallory.identity.as_bytes(), ..good.clone() },
    ] {
        forge(&world, &mut bob, &alice, vec![receipt]).await;
        let report = alice.sync(&world).await;
        assert_eq!((report.received, report.problems), (0, 0));
        assert_eq!(deliveries(&mut alice, &bob.identity), [Undelivered; 2]);
        assert_eq!(deliveries(&mut alice, &mallory.identity), [Undelivered]);
    }
    assert_eq!((alice.read(), undelivered(&mut alice)), (vec![], 3));
    forge(&world, &mut bob, &alice, vec![good]).await;
    alice.sync(&world).await;
    assert_eq!(deliveries(&mut alice, &bob.identity), [Delivered; 2]);
    // A lower receipt does not revoke a confirmation.
    let lower = receipt(&bob, &alice, to_bob, 1, 1);
    forge(&world, &mut bob, &alice, vec![lower]).await;
    alice.sync(&world).await;
    assert_eq!(deliveries(&mut alice, &bob.identity), [Delivered; 2]);
    assert_eq!(deliveries(&mut alice, &mallory.identity), [Undelivered]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_receipts_leaves_one_record() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    alice.say(&bob.identity, "one");
    alice.sync(&world).await;
    bob.sync(&world).await;
    bob.say(&alice.identity, "hello");
    bob.sync(&world).await;
    alice.sync(&world).await;
    let id = last_id(&mut alice, &bob.identity);
    let records = |person: &mut Person| {
        let counted = person.engine.transaction(|transaction| {
            let count = |kind| Ok(transaction.records_after(kind, &[], 1_000)?.len());
            (6..13).map(count).collect::<Result<Vec<_>, EngineError>>()
        });
        counted.unwrap()
    };
    let before = records(&mut alice);
    // Every other receipt is for texts that were never written.
    let flood = (0..300).map(|number| receipt(&bob, &alice, id, 1, 2 - number % 2));
    let flood = flood.collect();
    forge(&world, &mut bob, &alice, flood).await;
    let report = alice.sync(&world).await;
    assert_eq!((report.received, report.problems, report.receipts), (0, 0, 300));
    let after = records(&mut alice);
    assert_eq!(
        before.iter().sum::<usize>() + 1,
        after.iter().sum::<usize>(),
        "{before:?} {after:?}"
    );
    assert_eq!(status(&mut alice.engine).unwrap().unread, 1);
    assert_eq!(deliveries(&mut alice, &bob.identity), [Delivered]);
}

/// With a watermark alone, the text would count as delivered.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_the_hub_withholds_is_not_delivered() {
    let world = World::new();
    // A welcome and a text come before it.
    let (hub, _) = lying_hub(Lies { withheld: 2..3, ..Lies::default() });
    let (mut alice, mut bob) = (hub.member(&world, "alice").await, hub.member(&world, "bob").await);
    know(&bob, &alice);
    for text in ["one", "two", "three"] {
        alice.say(&bob.identity, text);
    }
    hub.visit(&mut alice).await.1.unwrap();
    hub.visit(&mut bob).await.1.unwrap();
    hub.visit(&mut alice).await.1.unwrap();
    let expected = [Delivered, Undelivered, Delivered];
    assert_eq!(deliveries(&mut alice, &bob.identity), expected);
    assert_eq!(undelivered(&mut alice), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn receipts_for_a_full_mailbox_do_not_pile_up() {
    let mut limits = HubLimits::default();
    limits.mailbox_frames = 1;
    let world = World::with(limits);
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let mut carol = world.member("carol").await;
    know(&bob, &alice);
    // The welcomes of both groups take the one place of a mailbox first.
    alice.say(&bob.identity, "zero");
    alice.sync(&world).await;
    carol.say(&alice.identity, "spam");
    carol.sync(&world).await;
    bob.sync(&world).await;
    assert_eq!(alice.sync(&world).await.sent, 1);
    assert_eq!(carol.sync(&world).await.sent, 1);
    assert_eq!(bob.sync(&world).await.received, 1);
    for text in ["one", "two", "three"] {
        alice.say(&bob.identity, text);
        alice.sync(&world).await;
        carol.say(&alice.identity, "spam");
        assert_eq!(carol.sync(&world).await.sent, 1);
        let report = bob.sync(&world).await;
        assert_eq!((report.received, report.receipts, report.mailbox_full), (1, 0, false));
        let now = status(&mut bob.engine).unwrap();
        assert_eq!((outbox(&mut bob), now.frames, now.problems), (1, 0, 0));
    }
    // A text takes the one free slot, although the receipt has waited longer.
    alice.sync(&world).await;
    bob.say(&alice.identity, "text");
    let report = bob.sync(&world).await;
    assert_eq!((report.sent, report.receipts, report.mailbox_full), (1, 0, false));
    assert_eq!(alice.sync(&world).await.received, 1);
    assert_eq!(deliveries(&mut alice, &bob.identity), [Undelivered; 4]);
    // The receipt for the text arrives, and the waiting one is sent.
    assert_eq!(bob.sync(&world).await.receipts, 2);
    alice.sync(&world).await;
    assert_eq!(deliveries(&mut alice, &bob.identity), [Delivered; 4]);
    assert_eq!(problems(&mut bob.engine).unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_a_device_confirmed_stays_delivered() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    bob.people = People::default();
    let mut second = second_device(&world, &bob, "second");
    second.join(&world).await;
    bob.record = second.record.clone();
    // Only the second device sends receipts: the first one is away until it is lost.
    know(&second, &alice);
    alice.say(&bob.identity, "one");
    // One frame for both devices.
    assert_eq!(alice.sync(&world).await.sent, 1);
    // A receipt, and a note to the first device that Alice is known.
    assert_eq!(second.sync(&world).await.receipts, 2);
    alice.sync(&world).await;
    assert_eq!(deliveries(&mut alice, &bob.identity), [Delivered]);
    // The device is lost after its last receipt has left.
    alice.say(&bob.identity, "two");
    alice.sync(&world).await;
    assert_eq!(second.sync(&world).await.receipts, 1);
    let mut changes = PersonChanges::new();
    changes.remove(NonZeroU32::new(2).unwrap());
    bob.record = bob.record.next_epoch(&bob.root, &changes).unwrap();
    bob.sync(&world).await;
    alice.say(&bob.identity, "three");
    alice.sync(&world).await;
    alice.sync(&world).await;
    assert_eq!(deliveries(&mut alice, &bob.identity), [Delivered, Delivered, Undelivered]);
    assert_eq!(undelivered(&mut alice), 1);
    // The other device has received all of them, and confirms them when it may.
    know(&bob, &alice);
    bob.sync(&world).await;
    alice.sync(&world).await;
    assert_eq!(deliveries(&mut alice, &bob.identity), [Delivered; 3]);
}

/// The process is killed after the transaction in which the engine opened texts, and before the one
/// that records them. The texts are read after that.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_before_a_receipt_is_noted_loses_none() {
    for is_read in [false, true] {
        let world = World::new();
        let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
        know(&bob, &alice);
        alice.say(&bob.identity, "zero");
        alice.sync(&world).await;
        assert_eq!(bob.sync(&world).await.received, 1);
        alice.sync(&world).await;
        assert_eq!(bob.read().len(), 1);
        let group = group_with(&mut bob, &alice.identity);
        alice.say(&bob.identity, "one");
        alice.say(&bob.identity, "two");
        alice.sync(&world).await;
        let mut store = world.store();
        let row = store.devices().unwrap().iter().find(|it| it.frames > 0).unwrap().row;
        let deliveries_of_hub = store.reader().unwrap().deliveries(row, 0, 10, 1 << 20).unwrap();
        for delivery in &deliveries_of_hub {
            let frame = StoredFrame::parse(&delivery.frame, stored_limits()).unwrap();
            let sender = frame.sender();
            let frame = frame.vouched_by(&sender).unwrap();
            let id = MessageId::of(&PeerId::from_bytes(&sender), frame.stamp().sequence);
            let sealed = SealedMessage::decode(frame.payload(), stored_limits()).unwrap();
            let envelope = [Envelope::from_group(id.as_bytes(), &group, &sealed.ciphertext)];
            bob.engine.decrypt_batch(&envelope, &BatchOptions::whole()).unwrap();
        }
        bob = bob.restart();
        assert!(unread(&mut bob.engine, 0).unwrap().0.is_empty());
        if is_read {
            settle_inbox(&mut bob.engine, &bob.home).unwrap();
            let (page, _) = unread(&mut bob.engine, 0).unwrap();
            let numbers: Vec<_> = page.iter().map(|it| it.number).collect();
            assert_eq!(numbers.len(), 2);
            mark_read(&mut bob.engine, &numbers).unwrap();
        }
        let report = bob.sync(&world).await;
        assert_eq!((report.received, report.receipts), (0, 1));
        alice.sync(&world).await;
        assert_eq!(deliveries(&mut alice, &bob.identity), [Delivered; 3]);
    }
}

/// A process was killed and left a receipt in the inbox.
#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_that_was_opened_before_a_crash_is_not_shown() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    alice.say(&bob.identity, "one");
    alice.sync(&world).await;
    bob.sync(&world).await;
    bob.say(&alice.identity, "hello");
    bob.sync(&world).await;
    alice.sync(&world).await;
    assert_eq!(alice.read().len(), 1);
    let id = last_id(&mut alice, &bob.identity);
    let receipt = receipt(&bob, &alice, id, 1, 1);
    let (_, body) = note(&mut bob, &alice, receipt);
    let group = group_with(&mut alice, &bob.identity);
    let envelope = [Envelope::from_group(b"left", &group, &body)];
    alice.engine.decrypt_batch(&envelope, &BatchOptions::whole()).unwrap();
    assert_eq!(alice.engine.inbox().len().unwrap(), 1);
    assert!(unread(&mut alice.engine, 0).unwrap().0.is_empty());
    settle_inbox(&mut alice.engine, &alice.home).unwrap();
    assert_eq!(status(&mut alice.engine).unwrap().unread, 0);
    assert_eq!(deliveries(&mut alice, &bob.identity), [Delivered]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_stays_confirms_at_once() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    know(&bob, &alice);
    let of_bob = bob.identity;
    let (found, _) = serving(&world, &mut bob, async |client| {
        ask(&client, |client| client.sync(1)).await;
        alice.say(&of_bob, "one");
        alice.sync(&world).await;
        loop {
            alice.sync(&world).await;
            let found = deliveries(&mut alice, &of_bob);
            if found == [Delivered] {
                return found;
            }
        }
    })
    .await;
    assert_eq!(found, [Delivered]);
}

/// Queues a text of the history to be encrypted again.
fn say_again(person: &mut Person, row: &[u8], to: &PublicKey) {
    let value = [&[1], &to.as_bytes()[..]].concat();
    person.engine.transaction(|it| it.put_record(UNSENT, row, &value)).unwrap();
}

/// A hub that has delivered a text can claim that the mailbox does not exist, so that the text is
/// encrypted again.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_in_another_ciphertext_is_no_second_text() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    alice.say(&bob.identity, "once");
    alice.sync(&world).await;
    bob.sync(&world).await;
    let row = rows(&mut alice.engine, &bob.identity)[0].number.to_be_bytes();
    for _ in 0..2 {
        say_again(&mut alice, &row, &bob.identity);
        alice.sync(&world).await;
    }
    bob.sync(&world).await;
    assert_eq!(bob.read(), [(alice.identity, "once".to_owned())]);
    assert_eq!(status(&mut bob.engine).unwrap().unread, 0);
    // The same holds after the text was read.
    say_again(&mut alice, &row, &bob.identity);
    alice.sync(&world).await;
    bob.sync(&world).await;
    assert_eq!(bob.read(), []);
}

/// A member can send a receipt in the place of a text to a team. It is either consumed, or shown so
/// that it can be marked as read.
#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_in_the_place_of_a_text_to_a_team_does_not_stay_in_the_inbox() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let id = *group(&mut [&mut alice, &mut bob], &[]).id();
    write(&mut alice, &id, "to all");
    let content = Content::Receipt(receipt(&alice, &bob, [7; 16], 1, 1));
    let content = Message::from(content).to_vec(Limits::default()).unwrap();
    let replaced = alice.engine.transaction(|it| {
        let (name, mut row) = it.records_after(HISTORY, &[], 1)?.pop().unwrap();
        row.truncate(ROW_HEADER);
        row.extend_from_slice(&content);
        it.put_record(HISTORY, &name, &row)
    });
    replaced.unwrap();
    alice.sync(&world).await;
    let report = bob.sync(&world).await;
    assert_eq!(report.received + report.receipts, 1, "{report:?}");
    let (found, _) = unread(&mut bob.engine, 0).unwrap();
    let found: Vec<_> = found.iter().map(|it| it.number).collect();
    mark_read(&mut bob.engine, &found).unwrap();
    assert_eq!(status(&mut bob.engine).unwrap().unread, 0);
}
