//! Members and unknown senders who use what the protocol lets them do against others.

use alloc::sync::Arc;
use core::time::Duration;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use endseal_codec::{
    Body, Codec as _, Content, ContentView, Limits, Message, RichMessage, Scheme, SealedMessage,
};
use endseal_keyring::person::PersonChanges;
use endseal_keyring::{PersonRecord, Roster};
use endseal_node::messages::{self, Conversation, HubClient, NodeFiles, SyncReport, sync};
use endseal_session::group::{Evidence, Members, MembershipState, Suite};
use endseal_session::{BatchOptions, EngineError, Envelope};

use super::faults::{Lies, Memory};
use super::hostile::put;
use super::liar::Liar;
use super::lives::friends;
use super::lost_devices::devices;
use super::teams::{change, classes, group, import, texts, write};
use super::world::{People, Person, TIMEOUT, World};
const SAID: u16 = 11;
pub(super) const GROUPS: u16 = 32;
/// Length of a group in the record of a conversation.
pub(super) const GROUP_LEN: usize = 59;
pub(super) const DAY: u64 = 24 * 3_600_000;

pub(super) fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

pub(super) fn name_of(conversation: &Conversation) -> Vec<u8> {
    match conversation {
        Conversation::Person(it) => [&[1], &it.as_bytes()[..]].concat(),
        Conversation::Group(it) => [&[2], &it.as_bytes()[..]].concat(),
    }
}

/// Id, time of giving up, and position in the record, of the groups of a conversation.
pub(super) fn groups_of(person: &mut Person, conversation: &Conversation) -> Vec<([u8; 16], u64)> {
    let name = name_of(conversation);
    let value = person.engine.transaction(|it| it.record(GROUPS, &name)).unwrap();
    let value = value.map(|it| it.to_vec()).unwrap_or_default();
    let groups = value.get(16..).unwrap_or_default().chunks(GROUP_LEN);
    groups
        .map(|it| {
            (it[..16].try_into().unwrap(), u64::from_le_bytes(it[16..24].try_into().unwrap()))
        })
        .collect()
}

/// Sets the time at which a group was given up: what time and another cause would do.
pub(super) fn set_given_up(
    person: &mut Person,
    conversation: &Conversation,
    id: &[u8; 16],
    time: u64,
) {
    let name = name_of(conversation);
    person
        .engine
        .transaction(|it| {
            let mut value = it.record(GROUPS, &name)?.unwrap().to_vec();
            for group in value[16..].chunks_mut(GROUP_LEN).filter(|group| group[..16] == id[..]) {
                group[16..24].copy_from_slice(&time.to_le_bytes());
            }
            it.put_record(GROUPS, &name, &value)?;
            Ok::<_, EngineError>(())
        })
        .unwrap();
}

pub(super) fn key_package(person: &mut Person, time: Duration) -> Vec<u8> {
    person.engine.transaction(|it| it.key_package(Suite::MlKem768X25519, time)).unwrap()
}

/// Makes a group with these devices, and returns the welcome.
pub(super) fn make(
    maker: &mut Person,
    id: &[u8; 16],
    state: MembershipState,
    packages: &[Vec<u8>],
) -> (u64, Vec<u8>) {
    let time = Duration::from_millis(now());
    let number = maker
        .engine
        .transaction(|it| {
            it.create_conversation(id, state, time).unwrap();
            let evidence = Evidence::new(None, Vec::new());
            let packages = packages.iter().map(|it| &it[..]);
            let number = it.commit_group(id, |group| group.change(&evidence, packages, time));
            Ok::<_, EngineError>(number.unwrap())
        })
        .unwrap();
    let welcome = maker.engine.outbox().welcome_of(number).unwrap().unwrap();
    maker.engine.transaction(|it| Ok::<_, EngineError>(it.accept_commit(id).unwrap())).unwrap();
    (number + 1, welcome)
}

pub(super) fn sealed(kind: u8, group: &[u8; 16], body: Vec<u8>) -> SealedMessage {
    SealedMessage {
        scheme: Scheme::MLS,
        context: [&[kind], &group[..]].concat().into(),
        ciphertext: body.into(),
        ..SealedMessage::default()
    }
}

pub(super) fn plaintext(from: &Person, to: &Conversation, text: &str) -> Vec<u8> {
    let mut id = [7; 16];
    id[8..].copy_from_slice(&now().to_be_bytes());
    Message::from(Content::Rich(RichMessage {
        id,
        conversation: to.as_bytes().into(),
        sender: *from.identity.as_bytes(),
        timestamp: now(),
        body: Some(Body::Text(text.into())),
        ..RichMessage::default()
    }))
    .to_vec(Limits::default())
    .unwrap()
}

/// Encrypts a text in a group, and takes it out of the outbox.
pub(super) fn seal(
    from: &mut Person,
    group: &[u8; 16],
    to: &Conversation,
    text: &str,
) -> (u64, Vec<u8>) {
    let plaintext = plaintext(from, to, text);
    let sent = from
        .engine
        .transaction(|it| Ok::<_, EngineError>(it.encrypt_group(group, &plaintext).unwrap()));
    let sent = sent.unwrap();
    let body = from.engine.outbox().pending(sent - 1, 1).unwrap().remove(0).body;
    assert!(from.engine.outbox().sent(sent).unwrap());
    (sent, body)
}

/// Sends a welcome of a group that the hub does not know, and a text in it.
pub(super) async fn intrude(
    world: &World,
    from: &mut Person,
    to: &mut Person,
    id: [u8; 16],
    state: MembershipState,
    (conversation, text): (&Conversation, &str),
) {
    let package = key_package(to, Duration::from_millis(now()));
    let (number, welcome) = make(from, &id, state, &[package]);
    put(world, from, to, number, sealed(2, &id, welcome)).await;
    let (number, body) = seal(from, &id, conversation, text);
    put(world, from, to, number, sealed(1, &id, body)).await;
}

pub(super) fn team_state(roster: &Roster, records: &[&PersonRecord]) -> MembershipState {
    let records: Vec<_> = records.iter().map(|it| (*it).clone()).collect();
    MembershipState::new(Members::Team(Box::new(roster.clone())), &records).unwrap()
}

/// A member who was removed writes nothing that is shown in the team.
#[tokio::test(flavor = "multi_thread")]
async fn a_removed_member_begins_no_group_by_the_old_roster() {
    let world = World::new();
    let (mut alice, mut mallory) = (world.member("alice").await, world.member("mallory").await);
    let mut bob = world.member("bob").await;
    let first = group(&mut [&mut alice, &mut mallory, &mut bob], &[]);
    write(&mut alice, first.id(), "to all");
    for person in [&mut alice, &mut mallory, &mut bob] {
        person.sync(&world).await;
    }
    change(&alice, Some("m1"), None);
    write(&mut alice, first.id(), "without her");
    for person in [&mut alice, &mut mallory, &mut bob] {
        person.sync(&world).await;
    }
    assert_eq!(texts(&mut bob), ["to all", "without her"]);
    let state = team_state(&first, &[&alice.record, &mallory.record, &bob.record]);
    let to = Conversation::Group(*first.id());
    intrude(&world, &mut mallory, &mut bob, [0; 16], state, (&to, "still here")).await;
    bob.sync(&world).await;
    assert_eq!(bob.read(), []);
}

/// A member who was removed writes nothing that is shown in a group from before, in which no one
/// committed the removal.
#[tokio::test(flavor = "multi_thread")]
async fn a_removed_member_writes_in_no_group_from_before() {
    let world = World::new();
    let (mut alice, mut mallory) = (world.member("alice").await, world.member("mallory").await);
    let mut bob = world.member("bob").await;
    let first = group(&mut [&mut alice, &mut mallory, &mut bob], &[]);
    let to = Conversation::Group(*first.id());
    write(&mut alice, first.id(), "to all");
    for person in [&mut alice, &mut mallory, &mut bob] {
        person.sync(&world).await;
    }
    // While she is a member.
    let state = team_state(&first, &[&alice.record, &mallory.record, &bob.record]);
    intrude(&world, &mut mallory, &mut bob, [0xff; 16], state, (&to, "a member")).await;
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), ["to all", "a member"]);
    change(&alice, Some("m1"), None);
    write(&mut alice, first.id(), "without her");
    for person in [&mut alice, &mut bob] {
        person.sync(&world).await;
    }
    assert_eq!(texts(&mut bob), ["without her"]);
    let (number, body) = seal(&mut mallory, &[0xff; 16], &to, "still here");
    put(&world, &mallory, &bob, number, sealed(1, &[0xff; 16], body)).await;
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), [""; 0]);
    assert_eq!(classes(&mut bob), ["record"]);
}

/// The id of a group that was forgotten leads no other group into its conversation.
#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_group_id_is_no_way_into_a_team() {
    let world = World::new();
    let (mut alice, mut mallory) = (world.member("alice").await, world.member("mallory").await);
    let mut bob = world.member("bob").await;
    bob.people = People::default();
    let team = group(&mut [&mut alice, &mut bob], &[]);
    let to = Conversation::Group(*team.id());
    write(&mut alice, team.id(), "to all");
    for person in [&mut alice, &mut bob] {
        person.sync(&world).await;
    }
    texts(&mut bob);
    let [(id, _)]: [_; 1] = groups_of(&mut bob, &to).try_into().unwrap();
    set_given_up(&mut bob, &to, &id, now() - 8 * DAY);
    bob.sync(&world).await;
    // Mallory was never a member. Her own team has bob.
    let hers = group(&mut [&mut mallory], &[&bob]);
    let state = team_state(&hers, &[&mallory.record, &bob.record]);
    intrude(&world, &mut mallory, &mut bob, id, state, (&to, "an order of the team")).await;
    bob.sync(&world).await;
    assert_eq!(bob.read(), []);
}

/// A team whose owner is not known is compared with the roster that waits.
#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_team_takes_no_foreign_group() {
    let world = World::new();
    let (mut alice, mut mallory) = (world.member("alice").await, world.member("mallory").await);
    let mut bob = world.member("bob").await;
    bob.people = People::default();
    let first = group(&mut [&mut alice, &mut mallory], &[&bob]);
    let second = change(&alice, Some("m1"), None);
    write(&mut alice, first.id(), "without her");
    alice.sync(&world).await;
    bob.sync(&world).await;
    let state = team_state(&first, &[&alice.record, &mallory.record, &bob.record]);
    let to = Conversation::Group(*first.id());
    intrude(&world, &mut mallory, &mut bob, [0; 16], state, (&to, "still here")).await;
    bob.sync(&world).await;
    import(&bob, &second);
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), ["without her"]);
}

/// A member suppresses no text of another one.
#[tokio::test(flavor = "multi_thread")]
async fn a_member_suppresses_no_text_of_another() {
    let world = World::new();
    let (mut alice, mut mallory) = (world.member("alice").await, world.member("mallory").await);
    let mut bob = world.member("bob").await;
    let team = *group(&mut [&mut alice, &mut bob, &mut mallory], &[]).id();
    write(&mut bob, &team, "one");
    for person in [&mut bob, &mut alice, &mut mallory] {
        person.sync(&world).await;
    }
    // She learns the series of bob from his text, and goes on in it.
    let (page, _) = messages::unread(&mut mallory.engine, 0).unwrap();
    let message = Message::view(&page[0].plaintext, Limits::default()).unwrap();
    let Some(ContentView::Rich(rich)) = message.content else { panic!() };
    let id = *rich.id;
    let name = name_of(&Conversation::Group(team));
    mallory.engine.transaction(|it| it.put_record(SAID, &name, &id)).unwrap();
    let many = vec!["x"; 1_026];
    messages::say(&mut mallory.engine, &Conversation::Group(team), &many).unwrap();
    for person in [&mut mallory, &mut alice] {
        person.sync(&world).await;
    }
    alice.read();
    write(&mut bob, &team, "important");
    bob.sync(&world).await;
    alice.sync(&world).await;
    assert_eq!(texts(&mut alice), ["important"]);
}

/// A text of a team that comes before its welcome loses no text of others.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_before_the_welcome_loses_no_text_of_a_team() {
    let world = World::new();
    let memory = Arc::<Mutex<Memory>>::default();
    let held = Arc::clone(&memory);
    let hub = Liar::new(move |peer, request| {
        Some(held.lock().unwrap().answers(*peer.as_bytes(), request, &Lies::default()))
    });
    let mut alice = hub.member(&world, "alice").await;
    let (mut bob, mut carol) = (hub.member(&world, "bob").await, hub.member(&world, "carol").await);
    let team = *group(&mut [&mut alice, &mut bob, &mut carol], &[]).id();
    bob.say(&alice.identity, "hello");
    for person in [&mut bob, &mut alice] {
        hub.visit(person).await.1.unwrap();
    }
    write(&mut alice, &team, "one");
    hub.visit(&mut alice).await.1.unwrap();
    let peer = *bob.engine.certificate().keys().peer_id.as_bytes();
    let frames = memory.lock().unwrap().boxes.remove(&peer).unwrap();
    let (welcome, others) = frames.split_first().unwrap();
    let (welcome, others) = (welcome.clone(), others.to_vec());
    memory.lock().unwrap().boxes.insert(peer, others);
    hub.visit(&mut bob).await.1.unwrap();
    memory.lock().unwrap().boxes.entry(peer).or_default().insert(0, welcome);
    hub.visit(&mut carol).await.1.unwrap();
    write(&mut carol, &team, "from carol");
    hub.visit(&mut carol).await.1.unwrap();
    let mut read = Vec::new();
    for _ in 0..4 {
        for person in [&mut bob, &mut alice, &mut carol] {
            hub.visit(person).await.1.unwrap();
        }
        read.extend(texts(&mut bob));
    }
    assert!(read.contains(&"from carol".to_owned()), "{read:?}");
}

/// Killed after texts were opened and before the group was compared; then the user reads.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_before_a_group_is_compared_shows_no_unknown_sender() {
    let world = World::new();
    let (mut alice, mut mallory) = (world.member("alice").await, world.member("mallory").await);
    let to = Conversation::Person(alice.identity);
    // What `join` and `open` of a batch do, each in its own transaction.
    let package = key_package(&mut alice, Duration::from_millis(now()));
    let members = Members::of_two(alice.identity, mallory.identity);
    let state =
        MembershipState::new(members, &[alice.record.clone(), mallory.record.clone()]).unwrap();
    let (_, welcome) = make(&mut mallory, &[5; 16], state, &[package]);
    let (_, body) = seal(&mut mallory, &[5; 16], &to, "from an unknown sender");
    let mut joined = vec![0, 0];
    joined.extend_from_slice(mallory.engine.certificate().keys().peer_id.as_bytes());
    joined.extend_from_slice(&1_u64.to_le_bytes());
    joined.extend_from_slice(&0_u64.to_le_bytes());
    alice
        .engine
        .transaction(|it| {
            it.join_group(&welcome).unwrap();
            it.put_record(37, &[5; 16], &joined)
        })
        .unwrap();
    let envelope = Envelope::from_group(b"id of the frame", &[5; 16], &body);
    let opened = alice.engine.decrypt_batch(&[envelope], &BatchOptions::whole()).unwrap();
    assert_eq!(opened.outcomes.len(), 1);
    // The process is killed here. The user reads with another one.
    let mut alice = alice.restart();
    messages::settle_inbox(&mut alice.engine, &alice.home).unwrap();
    assert_eq!(alice.read(), []);
    // The next visit, in which no one was accepted.
    let (_endpoint, connection) = world.connect(&alice.key()).await;
    let hub = HubClient::new(&connection, TIMEOUT);
    let mut report = SyncReport::default();
    let files = NodeFiles::new(&alice.home);
    sync(&hub, &mut alice.engine, &alice.record, &files, &mut report).await.unwrap();
    assert_eq!(alice.read(), []);
}

/// The thief of a device that was revoked writes nothing in the name of its owner. The frames come
/// from an account of the thief's own.
#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_device_writes_nothing_by_a_new_group() {
    let world = World::new();
    let [mut alice, mut stolen] = friends(&world).await;
    let thief = world.member("thief").await;
    let mut changes = PersonChanges::new();
    changes.remove(core::num::NonZeroU32::MIN);
    let (_, mut others) = devices(&world, &stolen, 2, 1, &mut changes);
    let mut bob = others.pop().unwrap();
    bob.join(&world).await;
    alice.say(&bob.identity, "are you well?");
    for _ in 0..2 {
        alice.sync(&world).await;
        bob.sync(&world).await;
    }
    alice.read();
    let members = Members::of_two(alice.identity, stolen.identity);
    let state = MembershipState::new(members, &[alice.record.clone(), stolen.record.clone()]);
    let to = Conversation::Person(alice.identity);
    let package = key_package(&mut alice, Duration::from_millis(now()));
    let (number, welcome) = make(&mut stolen, &[0; 16], state.unwrap(), &[package]);
    put(&world, &thief, &alice, number, sealed(2, &[0; 16], welcome)).await;
    let (number, body) = seal(&mut stolen, &[0; 16], &to, "send money");
    put(&world, &thief, &alice, number, sealed(1, &[0; 16], body)).await;
    alice.sync(&world).await;
    assert_eq!(alice.read(), []);
}

/// A roster that removes a member is brought into the group in which members send, also if the
/// owner joined another group meanwhile whose state has it.
#[tokio::test(flavor = "multi_thread")]
async fn a_removal_is_committed_in_the_group_in_which_members_send() {
    let world = World::new();
    let (mut alice, mut mallory) = (world.member("alice").await, world.member("mallory").await);
    let (mut bob, mut carol) = (world.member("bob").await, world.member("carol").await);
    let first = group(&mut [&mut alice, &mut mallory, &mut bob, &mut carol], &[]);
    let to = Conversation::Group(*first.id());
    write(&mut alice, first.id(), "to all");
    for person in [&mut alice, &mut mallory, &mut bob, &mut carol] {
        person.sync(&world).await;
    }
    let [(sending, _)]: [_; 1] = groups_of(&mut alice, &to).try_into().unwrap();
    let second = change(&alice, Some("m1"), None);
    // Carol has it already, and begins another group. Its id is the greatest.
    let state = team_state(&second, &[&alice.record, &bob.record, &carol.record]);
    intrude(&world, &mut carol, &mut alice, [0xff; 16], state, (&to, "hello")).await;
    for _ in 0..3 {
        alice.sync(&world).await;
    }
    // Bob, who does not know the roster, goes on.
    write(&mut bob, first.id(), "a secret of the team");
    bob.sync(&world).await;
    mallory.sync(&world).await;
    mallory.sync(&world).await;
    let there = alice.engine.group(&sending).unwrap().unwrap().members.len();
    assert_eq!(there, 3);
}
