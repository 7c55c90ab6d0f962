//! Letters to groups.

use endseal_codec::Codec as _;
use endseal_codec::frame::{Stamp, StoredFrame};
use endseal_codec::hub::{Answer, HubAnswer, HubRequest, Put, Request};
use endseal_crypto::identity::Identity;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use endseal_delivery::{payload_limits, stored_limits};
use endseal_envelope::{Envelope, Recipients, Sealer};
use endseal_hub::HubLimits;
use endseal_keyring::person::PersonChanges;
use endseal_keyring::roster::{GroupId, Member, RosterChanges};
use endseal_keyring::{Name, Roster};
use endseal_node::messages::{
    self, Conversation, Letter, LetterHead, SkippedReason, history, problems, status,
};
use endseal_session::{ConversationId, EngineError};
use endseal_transport::{Frame, Kind};

use super::world::{Person, World};

pub(super) fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// A group of the first person, whose roster all of them have.
pub(super) fn group(people: &mut [&mut Person], others: &[&Person]) -> Roster {
    let member = |at: usize, person: &Person| {
        Member::new(name(&format!("m{at}")), person.root.public().clone())
    };
    let all = people.iter().map(|it| &**it).chain(others.iter().copied());
    let members = all.enumerate().map(|(at, person)| member(at, person)).collect();
    let owner = &people[0];
    let lock = owner.home.lock().unwrap();
    let groups = owner.home.groups();
    let roster = groups.create(&owner.root, name("team"), members, &lock).unwrap();
    for person in &people[1..] {
        import(person, &roster);
    }
    roster
}

pub(super) fn import(person: &Person, roster: &Roster) {
    let lock = person.home.lock().unwrap();
    person.home.groups().import(roster.as_bytes(), None, |_| true, &lock).unwrap();
}

/// The next epoch, without a member.
pub(super) fn without(owner: &Person, member: &str) -> Roster {
    let mut changes = RosterChanges::new();
    changes.remove(name(member));
    let lock = owner.home.lock().unwrap();
    owner.home.groups().change(&owner.root, &name("team"), &changes, &lock).unwrap()
}

pub(super) fn write(person: &mut Person, group: &GroupId, text: &str) {
    let to = Conversation::Group(*group);
    messages::say(&mut person.engine, &to, &[text]).unwrap();
}

pub(super) fn classes(person: &mut Person) -> Vec<String> {
    problems(&mut person.engine).unwrap().iter().map(|it| it.class.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_reaches_all_members_with_one_frame() {
    let world = World::new();
    let mut alice = world.member("alice").await;
    let (mut bob, mut carol) = (world.member("bob").await, world.member("carol").await);
    let id = *group(&mut [&mut alice, &mut bob, &mut carol], &[]).id();
    write(&mut alice, &id, "to all");
    write(&mut alice, &id, "again");
    let report = alice.sync(&world).await;
    assert_eq!((report.encrypted, report.sent, report.skipped.len()), (2, 2, 0));
    for person in [&mut bob, &mut carol] {
        assert_eq!(person.sync(&world).await.received, 2);
        let (page, _) = messages::unread(&mut person.engine, 0).unwrap();
        assert!(page.iter().all(|it| it.conversation == Conversation::Group(id)));
        let texts = ["to all", "again"].map(|text| (alice.identity, text.to_owned()));
        assert_eq!(person.read(), texts);
    }
    write(&mut bob, &id, "from bob");
    bob.sync(&world).await;
    for person in [&mut alice, &mut carol] {
        assert_eq!(person.sync(&world).await.received, 1);
        assert_eq!(person.read(), [(bob.identity, "from bob".to_owned())]);
    }
    for person in [&mut alice, &mut bob, &mut carol] {
        let rows = history(&mut person.engine, &Conversation::Group(id), 0, 10).unwrap();
        let text = |row: &messages::HistoryRow| {
            row.text(&person.identity, &Conversation::Group(id)).unwrap().text.to_owned()
        };
        assert_eq!(rows.iter().map(text).collect::<Vec<_>>(), ["to all", "again", "from bob"]);
        assert_eq!(classes(person), [""; 0]);
    }
    // A text to one of them is in another conversation.
    assert_eq!(
        history(&mut bob.engine, &Conversation::Person(alice.identity), 0, 10).unwrap().len(),
        0
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_waits_for_the_roster() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let roster = group(&mut [&mut alice], &[&bob]);
    for text in ["one", "two"] {
        write(&mut alice, roster.id(), text);
    }
    alice.sync(&world).await;
    let report = bob.sync(&world).await;
    assert_eq!((report.received, report.parked, report.problems), (0, 2, 0));
    bob = bob.restart();
    assert_eq!((bob.sync(&world).await.parked, status(&mut bob.engine).unwrap().parked), (0, 2));
    import(&bob, &roster);
    assert_eq!(bob.sync(&world).await.received, 2);
    let texts = ["one", "two"].map(|text| (alice.identity, text.to_owned()));
    assert_eq!(bob.read(), texts);
    assert_eq!(status(&mut bob.engine).unwrap().parked, 0);
    assert_eq!(bob.sync(&world).await.received, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_no_member_writes_and_reads_nothing() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let mut mallory = world.member("mallory").await;
    let first = group(&mut [&mut alice, &mut bob, &mut mallory], &[]);
    let second = without(&alice, "m2");
    import(&bob, &second);
    // She does not know that she was removed.
    write(&mut mallory, first.id(), "still here");
    mallory.sync(&world).await;
    write(&mut alice, first.id(), "without her");
    assert_eq!(alice.sync(&world).await.problems, 1);
    let report = bob.sync(&world).await;
    assert_eq!((report.received, report.problems), (1, 1));
    assert_eq!(bob.read(), [(alice.identity, "without her".to_owned())]);
    assert_eq!(classes(&mut bob), ["member"]);
    // Nothing of the later epoch was for her.
    let report = mallory.sync(&world).await;
    assert_eq!((report.received, report.parked, report.problems), (0, 0, 0));
    import(&mallory, &second);
    write(&mut mallory, first.id(), "again");
    let report = mallory.sync(&world).await;
    assert_eq!((report.encrypted, report.sent), (0, 0));
    assert_eq!(report.skipped[0].reason, SkippedReason::NotMember);
    assert_eq!(report.skipped[0].to, Conversation::Group(*first.id()));
}

#[tokio::test(flavor = "multi_thread")]
async fn members_who_have_not_joined_are_left_out() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let carol = world.person("carol");
    let roster = group(&mut [&mut alice, &mut bob], &[&carol]);
    write(&mut alice, roster.id(), "hello");
    let report = alice.sync(&world).await;
    assert_eq!(report.skipped.len(), 1);
    assert_eq!(report.skipped[0].to, Conversation::Person(carol.identity));
    assert_eq!(report.skipped[0].reason, SkippedReason::Unknown);
    assert_eq!(bob.sync(&world).await.received, 1);
    // A group without anybody to write to: the text waits.
    let mut dave = world.member("dave").await;
    let roster = group(&mut [&mut dave], &[&carol]);
    write(&mut dave, roster.id(), "hello");
    assert_eq!(dave.sync(&world).await.encrypted, 0);
    assert_eq!(status(&mut dave.engine).unwrap().unsent, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_mailbox_does_not_keep_a_letter_from_others() {
    let mut limits = HubLimits::default();
    // One sender has half of it.
    limits.mailbox_frames = 4;
    let world = World::with(limits);
    let mut alice = world.member("alice").await;
    let (mut bob, mut carol) = (world.member("bob").await, world.member("carol").await);
    let roster = group(&mut [&mut alice, &mut bob, &mut carol], &[]);
    for text in ["1", "2"] {
        alice.say(&bob.identity, text);
    }
    alice.sync(&world).await;
    for text in ["a", "b", "c"] {
        write(&mut alice, roster.id(), text);
    }
    let report = alice.sync(&world).await;
    assert!(report.mailbox_full);
    // Her mailbox has two places as well.
    assert_eq!(carol.sync(&world).await.received, 2);
    for _ in 0..3 {
        bob.sync(&world).await;
        carol.sync(&world).await;
        alice.sync(&world).await;
    }
    bob.sync(&world).await;
    carol.sync(&world).await;
    let of =
        |person: &mut Person| person.read().into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    assert_eq!(of(&mut carol), ["a", "b", "c"]);
    assert_eq!(of(&mut bob), ["1", "2", "a", "b", "c"]);
    let waits = status(&mut alice.engine).unwrap();
    assert_eq!((waits.frames, waits.problems), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_is_gone_does_not_keep_a_letter_from_others() {
    let mut limits = HubLimits::default();
    limits.mailbox_frames = 1;
    let world = World::with(limits);
    let mut alice = world.member("alice").await;
    let (mut bob, mut carol) = (world.member("bob").await, world.member("carol").await);
    let roster = group(&mut [&mut alice, &mut bob, &mut carol], &[]);
    for person in [bob.identity, carol.identity] {
        alice.say(&person, "fills the mailbox");
    }
    alice.sync(&world).await;
    write(&mut alice, roster.id(), "waits");
    assert!(alice.sync(&world).await.mailbox_full);
    // Carol's device is replaced.
    let (number, _) = carol.record.devices().next().unwrap();
    let other = Identity::generate(&mut OsRandom).unwrap();
    let mut changes = PersonChanges::new();
    changes.remove(number).add(number.checked_add(1).unwrap(), other.public().clone());
    let draft = carol.record.next_epoch(&carol.root, &changes, &mut OsRandom).unwrap();
    carol.record = endseal_node::person::sign(draft, &carol.root).unwrap();
    // The hub closes the mailbox when the record is published.
    let _ = carol.try_sync(&world).await;
    bob.sync(&world).await;
    let report = alice.sync(&world).await;
    assert_eq!((report.sent, report.problems), (1, 1));
    assert_eq!(classes(&mut alice), ["mailbox"]);
    bob.sync(&world).await;
    assert_eq!(bob.read().last().unwrap().1, "waits");
    // The text that bob, who does not know her, did not confirm is sent again.
    assert_eq!(alice.sync(&world).await.sent, 1);
    bob.sync(&world).await;
    assert_eq!(bob.read(), []);
    assert_eq!(status(&mut alice.engine).unwrap().frames, 0);
}

/// A letter of a writer that waits in the outbox.
pub(super) struct Waiting {
    pub(super) head: LetterHead,
    pub(super) envelope: Vec<u8>,
    pub(super) slots: Vec<(PeerId, Vec<u8>)>,
}

/// Reads the first letter of the outbox as its record says (docs/spec/node.md, "Store").
pub(super) fn waiting(person: &mut Person) -> Waiting {
    let pending = person.engine.outbox().pending(0, 10).unwrap();
    let is_letter =
        |it: &&endseal_session::Pending| matches!(it.conversation, ConversationId::Group(_));
    let letter = pending.iter().find(is_letter).unwrap();
    let name = letter.number.to_be_bytes();
    let record = person.engine.transaction(|it| it.record(5, &name)).unwrap().unwrap();
    let epoch = u64::from_le_bytes(record[8..16].try_into().unwrap());
    let count = usize::from(u16::from_le_bytes(record[16..18].try_into().unwrap()));
    let (peers, slots) = record[18..].split_at(32 * count);
    let len = slots.len() / count;
    let ConversationId::Group(id) = &letter.conversation else { panic!("a group") };
    let group = GroupId::from_bytes(id.as_slice().try_into().unwrap());
    Waiting {
        head: LetterHead::new(person.engine.address(), group, epoch),
        envelope: letter.body.clone(),
        slots: peers
            .chunks(32)
            .zip(slots.chunks(len))
            .map(|(peer, slot)| (PeerId::from_bytes(peer.try_into().unwrap()), slot.to_vec()))
            .collect(),
    }
}

/// Has the outbox of a person give a number under which it sends nothing: the first one is 1.
pub(super) fn used_number(person: &mut Person) {
    let used = person.engine.transaction(|transaction| {
        let number = transaction.post(&ConversationId::Group(vec![9; 16]), vec![0])?;
        transaction.sent(number)?;
        Ok::<_, EngineError>(())
    });
    used.unwrap();
}

/// Puts letters for one device, as another program of the sender would.
pub(super) async fn put(
    world: &World,
    from: &Person,
    to: PeerId,
    letters: &[(LetterHead, &[u8], &[u8])],
) {
    let (_endpoint, connection) = world.connect(&from.key()).await;
    let (mut sender, mut receiver) = connection.open_exchange().await.unwrap();
    for (sequence, (head, envelope, slot)) in (1..).zip(letters) {
        let stamp = Stamp { sequence, timestamp: 0, sender: *from.key().peer_id().as_bytes() };
        let sealed = Letter::seal(*head, envelope.to_vec());
        let frame = StoredFrame::vouched(&sealed, stamp, stored_limits()).unwrap();
        let targets = to.as_bytes()[..].into();
        let put =
            Put { targets, slots: slot.to_vec().into(), frame: frame.into(), conversation: None };
        let payload = HubRequest::from(Request::Put(put)).to_vec(payload_limits()).unwrap();
        sender.send(&Frame::new(Kind::Control, payload)).await.unwrap();
        let answer = receiver.receive().await.unwrap().unwrap();
        let answer = HubAnswer::decode(&answer.payload, payload_limits()).unwrap().answer;
        assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
    }
    sender.end().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_can_forward_and_not_forge() {
    let mut limits = HubLimits::default();
    // One sender has half of it.
    limits.mailbox_frames = 40;
    let world = World::with(limits);
    let mut alice = world.member("alice").await;
    let (mut bob, mut mallory) = (world.member("bob").await, world.member("mallory").await);
    let roster = group(&mut [&mut alice, &mut bob, &mut mallory], &[]);
    for _ in 0..20 {
        alice.say(&bob.identity, "fills the mailbox");
    }
    alice.sync(&world).await;
    write(&mut alice, roster.id(), "from alice");
    // The letter is sealed, and the part for bob waits.
    alice.sync(&world).await;
    bob.sync(&world).await;
    bob.read();
    mallory.sync(&world).await;
    assert_eq!(mallory.read(), [(alice.identity, "from alice".to_owned())]);
    let letter = waiting(&mut alice);
    let (to, slot) = letter.slots[0].clone();
    assert_eq!(to, bob.key().peer_id());
    let flipped = |bytes: &[u8], at: usize| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 1;
        bytes
    };
    let (head, envelope) = (letter.head, &letter.envelope[..]);
    let own = LetterHead::new(mallory.engine.address(), head.group, head.epoch);
    // A letter of her own in the name of alice, sealed to bob as a letter of the group.
    let recipients = Recipients::from_identities([bob.record.user()]).unwrap();
    let context = head.context(&roster.digest());
    let sealer = Sealer::new(&mallory.device, &recipients, &context).suite(recipients.suite());
    let signed = sealer.seal(b"forged", &mut OsRandom).unwrap();
    let signed = Envelope::parse(&signed).unwrap();
    let forged = [
        (head, signed.detached(), signed.slot(0).unwrap()),
        (own, envelope.to_vec(), slot.clone()),
        (LetterHead::new(head.sender, head.group, head.epoch), flipped(envelope, 40), slot.clone()),
        (head, flipped(envelope, envelope.len() - 1), slot.clone()),
        (head, envelope.to_vec(), flipped(&slot, 50)),
    ];
    let forged: Vec<_> =
        forged.iter().map(|(head, envelope, slot)| (*head, &envelope[..], &slot[..])).collect();
    forged.iter().for_each(|_| used_number(&mut mallory));
    put(&world, &mallory, to, &forged).await;
    let report = bob.sync(&world).await;
    assert_eq!((report.received, report.problems), (0, 5));
    assert_eq!(classes(&mut bob), ["letter"; 5]);
    // What she forwards is alice's, and comes once.
    let mut outsider = world.member("outsider").await;
    (0..2).for_each(|_| used_number(&mut outsider));
    put(&world, &outsider, to, &[(head, envelope, &slot), (head, envelope, &slot)]).await;
    assert_eq!(bob.sync(&world).await.received, 1);
    assert_eq!(alice.sync(&world).await.sent, 1);
    let report = bob.sync(&world).await;
    assert_eq!((report.received, report.problems), (0, 0));
    assert_eq!(bob.read(), [(alice.identity, "from alice".to_owned())]);
    // Who is no member has no use of the group's id.
    let id = *roster.id();
    import(&outsider, &roster);
    write(&mut outsider, &id, "from outside");
    assert_eq!(outsider.sync(&world).await.skipped[0].reason, SkippedReason::NotMember);
}
