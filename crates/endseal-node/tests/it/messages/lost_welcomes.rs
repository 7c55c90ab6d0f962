//! Commits that the hub refuses, and devices that welcomes do not reach.

use core::time::Duration;

use endseal_codec::frame::{Stamp, StoredFrame};
use endseal_codec::hub::{
    Answer, Commit, Conversation as HubConversation, HubAnswer, HubRequest, Publish, Put, Request,
};
use endseal_codec::{Codec as _, Content, Limits, Message, Metadata, RichMessage};
use endseal_delivery::{MembersDigest, payload_limits, stored_limits};
use endseal_hub::{HubLimits, HubStore as _};
use endseal_node::messages::{
    Conversation, HubClient, NodeFiles, Payload, PayloadKind, SyncReport, status, sync,
};
use endseal_session::EngineError;
use endseal_session::group::Evidence;
use endseal_transport::{Frame, Kind};

use super::departures::{expire, forgetful};
use super::hostile::put;
use super::intruders::*;
use super::lives::friends;
use super::returns::revoke;
use super::teams::{change, group, group_named, import, member, name, second_device, texts, write};
use super::world::{Person, TIMEOUT, World};

/// Makes a device renew its keys in all groups of a conversation with the next text.
fn make_old(person: &mut Person, conversation: &Conversation) {
    let name = name_of(conversation);
    person
        .engine
        .transaction(|it| {
            let mut value = it.record(GROUPS, &name)?.unwrap().to_vec();
            for group in value[16..].chunks_mut(GROUP_LEN) {
                group[24..32].copy_from_slice(&[0; 8]);
            }
            it.put_record(GROUPS, &name, &value)
        })
        .unwrap();
}

/// Sends a request of a person to the hub, and returns the answer.
async fn ask(world: &World, person: &Person, request: Request) -> Answer {
    let (_endpoint, connection) = world.connect(&person.key()).await;
    let (mut exchange, mut answers) = connection.open_exchange().await.unwrap();
    let request = HubRequest::from(request).to_vec(payload_limits()).unwrap();
    exchange.send(&Frame::new(Kind::Control, request)).await.unwrap();
    let answer = answers.receive().await.unwrap().unwrap();
    HubAnswer::decode(&answer.payload, payload_limits()).unwrap().answer
}

/// A visit of a person who has accepted no one.
async fn visit_alone(person: &mut Person, world: &World) -> SyncReport {
    let (_endpoint, connection) = world.connect(&person.key()).await;
    let hub = HubClient::new(&connection, TIMEOUT);
    let mut report = SyncReport::default();
    let files = NodeFiles::new(&person.home);
    sync(&hub, &mut person.engine, &person.record, &files, &mut report).await.unwrap();
    report
}

/// [`a01_a_wrong_list_of_members_of_a_team_stops_nothing`] by a member with her own commit, and in
/// a conversation of two.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_list_in_a_commit_of_a_member_stops_nothing() {
    let world = World::new();
    let mut alice = world.member("alice").await;
    let (mut mallory, mut carol) = (world.member("mallory").await, world.member("carol").await);
    let mut dave = world.member("dave").await;
    let id = *group(&mut [&mut alice, &mut mallory, &mut carol], &[]).id();
    write(&mut alice, &id, "hello");
    for person in [&mut alice, &mut mallory, &mut carol] {
        person.sync(&world).await;
    }
    // She renews her keys, and names a list without carol.
    let [(group, _)]: [_; 1] =
        groups_of(&mut mallory, &Conversation::Group(id)).try_into().unwrap();
    let peer = |person: &Person| person.engine.certificate().keys().peer_id;
    let mut before = vec![peer(&alice), peer(&mallory), peer(&carol)];
    before.sort_unstable();
    let mut after = [peer(&alice), peer(&mallory)];
    after.sort_unstable();
    let epoch = mallory.engine.group(&group).unwrap().unwrap().epoch;
    let time = Duration::from_millis(now());
    let number = mallory.engine.transaction(|it| {
        let evidence = Evidence::new(None, Vec::new());
        Ok::<_, EngineError>(
            it.commit_group(&group, |group| group.change(&evidence, [], time)).unwrap(),
        )
    });
    let number = number.unwrap();
    let body = mallory.engine.outbox().pending(number - 1, 1).unwrap().remove(0).body;
    let stamp = Stamp { sequence: number, timestamp: 0, sender: *peer(&mallory).as_bytes() };
    let payload = Payload::seal(PayloadKind::Message, &group, body);
    let frame = StoredFrame::vouched(&payload, stamp, stored_limits()).unwrap();
    let members: Vec<u8> = after.iter().flat_map(|it| *it.as_bytes()).collect();
    let request = Request::Put(Put {
        frame: frame.into(),
        conversation: Some(HubConversation {
            group,
            epoch,
            members: *MembersDigest::of(&before).as_bytes(),
            commit: Some(Commit { members: members.into(), welcome: Vec::new().into() }),
        }),
        ..Put::default()
    });
    let answer = ask(&world, &mallory, request).await;
    assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
    write(&mut alice, &id, "to the team");
    for _ in 0..3 {
        alice.sync(&world).await;
    }
    alice.say(&dave.identity, "to dave");
    alice.sync(&world).await;
    for person in [&mut dave, &mut carol] {
        person.sync(&world).await;
    }
    assert_eq!(status(&mut alice.engine).unwrap().unsent, 0);
    assert_eq!(texts(&mut carol).last().unwrap(), "to the team");
}

/// The welcomes of three teams expired, and what is said later comes at once.
#[tokio::test(flavor = "multi_thread")]
async fn several_teams_without_a_welcome_are_healed_by_one_visit() {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (1_000_000, 1_000_000);
    limits.retention = Duration::from_secs(2);
    let mut world = World::with(limits);
    let [mut alice, mut bob] = friends(&world).await;
    let mut teams = Vec::new();
    for name in ["one", "two", "three"] {
        teams.push(*group_named(name, &mut [&mut alice, &mut bob], &[]).id());
    }
    for team in &teams {
        write(&mut alice, team, "expires");
    }
    alice.sync(&world).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    world.stop().await;
    world.start();
    tokio::time::sleep(Duration::from_secs(1)).await;
    for team in &teams {
        write(&mut alice, team, "to the team");
    }
    alice.sync(&world).await;
    for _ in 0..2 {
        bob.sync(&world).await;
        alice.sync(&world).await;
    }
    bob.sync(&world).await;
    let mut said = texts(&mut bob);
    said.retain(|it| it == "to the team");
    assert_eq!(said.len(), 3);
}

/// A person who has lost all devices comes into all conversations on the next one, though its
/// welcomes expired.
#[tokio::test(flavor = "multi_thread")]
async fn a_person_with_another_device_is_welcomed_again() {
    let mut world = forgetful();
    let [mut alice, mut bob] = friends(&world).await;
    let mut teams = Vec::new();
    for name in ["one", "two", "three"] {
        teams.push(*group_named(name, &mut [&mut alice, &mut bob], &[]).id());
    }
    let mut next = second_device(&world, &bob, "next");
    next.join(&world).await;
    revoke(&world, &mut next, 1).await;
    let say = |alice: &mut Person, text: &str| {
        alice.say(&bob.identity, text);
        teams.iter().for_each(|team| write(alice, team, text));
    };
    say(&mut alice, "expires");
    alice.sync(&world).await;
    expire(&mut world).await;
    say(&mut alice, "later");
    for _ in 0..3 {
        alice.sync(&world).await;
        next.sync(&world).await;
    }
    let mut said = texts(&mut next);
    said.sort_unstable();
    assert_eq!(said[4..], ["later"; 4], "{said:?}");
    assert_eq!(said[..4], ["expires"; 4]);
}

/// A new member whose welcome expired comes into the team, though no one writes.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_member_is_welcomed_again() {
    let mut world = forgetful();
    let [mut alice, mut bob] = friends(&world).await;
    let mut carol = world.member("carol").await;
    carol.knows(&alice, "alice");
    let id = *group(&mut [&mut alice, &mut bob], &[]).id();
    write(&mut alice, &id, "before carol");
    for person in [&mut alice, &mut bob] {
        person.sync(&world).await;
    }
    change(&alice, None, Some(member(7, &carol)));
    alice.sync(&world).await;
    expire(&mut world).await;
    for _ in 0..2 {
        alice.sync(&world).await;
        carol.sync(&world).await;
    }
    write(&mut carol, &id, "I am here");
    for person in [&mut carol, &mut alice] {
        person.sync(&world).await;
    }
    assert_eq!(texts(&mut alice), ["I am here"]);
}

/// Another device of the maker of a team, whose welcome expired, comes into the team with the next
/// change or text, and learns of the changes before.
#[tokio::test(flavor = "multi_thread")]
async fn another_device_of_the_maker_is_welcomed_again() {
    for is_change in [true, false] {
        let mut world = forgetful();
        let [mut alice, mut bob] = friends(&world).await;
        let mut other = second_device(&world, &alice, "other");
        other.join(&world).await;
        alice.record = other.record.clone();
        let carol = world.member("carol").await;
        let roster = group(&mut [&mut alice, &mut bob], &[]);
        import(&other, &roster);
        write(&mut alice, roster.id(), "expires");
        alice.sync(&world).await;
        change(&alice, None, Some(member(7, &carol)));
        alice.sync(&world).await;
        expire(&mut world).await;
        other.sync(&world).await;
        match is_change {
            true => drop(change(&alice, Some("m7"), None)),
            false => write(&mut alice, roster.id(), "to the team"),
        }
        for _ in 0..3 {
            for person in [&mut alice, &mut other, &mut bob] {
                person.sync(&world).await;
            }
        }
        let current = |person: &Person| person.home.groups().current(&name("team")).unwrap();
        assert!(current(&other) == current(&alice), "{}", current(&other).epoch());
        write(&mut bob, roster.id(), "of bob");
        bob.sync(&world).await;
        other.sync(&world).await;
        assert_eq!(texts(&mut other), ["of bob"]);
    }
}

/// The hub deletes the welcome and the notice of a new group, and the old group is forgotten.
#[tokio::test(flavor = "multi_thread")]
async fn both_hear_each_other_after_the_hub_let_frames_expire() {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (1_000_000, 1_000_000);
    limits.retention = Duration::from_secs(2);
    let mut world = World::with(limits);
    let [mut alice, mut bob] = friends(&world).await;
    let with_bob = Conversation::Person(bob.identity);
    let before = groups_of(&mut alice, &with_bob);
    for (id, _) in &before {
        set_given_up(&mut alice, &with_bob, id, now());
    }
    alice.say(&bob.identity, "while you are away");
    alice.sync(&world).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    world.stop().await;
    world.start();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let peer = bob.engine.certificate().keys().peer_id;
    let _left = world.store().devices().unwrap().into_iter().find(|it| it.peer == peer).unwrap();
    for (id, _) in &before {
        set_given_up(&mut alice, &with_bob, id, now() - 8 * DAY);
    }
    let (mut of_alice, mut of_bob) = (Vec::new(), Vec::new());
    for round in 0..6 {
        bob.say(&alice.identity, &format!("bob {round}"));
        bob.sync(&world).await;
        alice.say(&bob.identity, &format!("alice {round}"));
        alice.sync(&world).await;
        bob.sync(&world).await;
        of_bob.extend(texts(&mut bob));
        of_alice.extend(texts(&mut alice));
    }
    assert!(of_alice.contains(&"bob 0".to_owned()), "{of_alice:?}");
    assert!(of_bob.contains(&"while you are away".to_owned()), "{of_bob:?}");
}

/// Four notices of a member do not keep a device from coming back after it missed a commit.
#[tokio::test(flavor = "multi_thread")]
async fn notices_of_a_member_do_not_end_healing() {
    let mut reads = Vec::new();
    for notices in [0, 4] {
        let world = World::new();
        let (mut alice, mut mallory) = (world.member("alice").await, world.member("mallory").await);
        let mut bob = world.member("bob").await;
        let team = group(&mut [&mut alice, &mut mallory, &mut bob], &[]);
        let to = Conversation::Group(*team.id());
        write(&mut alice, team.id(), "to all");
        mallory.say(&alice.identity, "hi");
        for _ in 0..2 {
            for person in [&mut alice, &mut mallory, &mut bob] {
                person.sync(&world).await;
            }
        }
        let [(pair, _)]: [_; 1] =
            groups_of(&mut mallory, &Conversation::Person(alice.identity)).try_into().unwrap();
        for _ in 0..notices {
            let groups = groups_of(&mut alice, &to);
            let (sending, _) = groups.iter().find(|it| it.1 == 0).unwrap();
            let mut metadata = Metadata::default();
            metadata.insert("endseal.replaces", &sending[..]);
            let notice = Message::from(Content::Rich(RichMessage {
                conversation: alice.identity.as_bytes()[..].into(),
                sender: *mallory.identity.as_bytes(),
                metadata,
                ..RichMessage::default()
            }));
            let notice = notice.to_vec(Limits::default()).unwrap();
            let sent = mallory
                .engine
                .transaction(|it| Ok::<_, EngineError>(it.encrypt_group(&pair, &notice).unwrap()));
            let sent = sent.unwrap();
            let body = mallory.engine.outbox().pending(sent - 1, 1).unwrap().remove(0).body;
            mallory.engine.outbox().sent(sent).unwrap();
            put(&world, &mallory, &alice, sent, sealed(1, &pair, body)).await;
            alice.sync(&world).await;
            alice.sync(&world).await;
        }
        bob.sync(&world).await;
        alice.sync(&world).await;
        texts(&mut alice);
        // Alice's mailbox was full when bob committed: she does not get the commit.
        make_old(&mut bob, &to);
        write(&mut bob, team.id(), "0");
        bob.sync(&world).await;
        let mut store = world.store();
        let peer = alice.engine.certificate().keys().peer_id;
        let mut state = store.devices().unwrap().into_iter().find(|it| it.peer == peer).unwrap();
        let mut reader = store.reader().unwrap();
        let there = reader.deliveries(state.row, 0, 10, 1 << 20).unwrap();
        let first = there[0].position;
        store.transact(&mut |it| it.delete_deliveries(state.row, first).map(drop)).unwrap();
        state.frames -= 1;
        store.transact(&mut |it| it.update_device(&state)).unwrap();
        drop((reader, store));
        for round in 1..6 {
            alice.sync(&world).await;
            bob.sync(&world).await;
            write(&mut bob, team.id(), &round.to_string());
            bob.sync(&world).await;
            alice.sync(&world).await;
        }
        let read = texts(&mut alice);
        reads.push(read.len());
    }
    assert!(reads[1] >= reads[0], "{reads:?}");
}

/// A member who missed the welcome of a team comes back, also if the maker is no contact.
#[tokio::test(flavor = "multi_thread")]
async fn a_member_who_missed_a_welcome_of_a_team_comes_back() {
    let world = World::new();
    let (mut alice, mut carol) = (world.member("alice").await, world.member("carol").await);
    let mut bob = world.member("bob").await;
    bob.knows(&alice, "alice");
    let team = group(&mut [&mut alice, &mut carol, &mut bob], &[]);
    let to = Conversation::Group(*team.id());
    write(&mut alice, team.id(), "to all");
    for person in [&mut alice, &mut carol] {
        visit_alone(person, &world).await;
    }
    visit_alone(&mut bob, &world).await;
    assert_eq!(texts(&mut bob), ["to all"]);
    // Carol begins another group while bob is away. The welcome and the notice expire.
    let [(before, _)]: [_; 1] = groups_of(&mut carol, &to).try_into().unwrap();
    set_given_up(&mut carol, &to, &before, now());
    visit_alone(&mut carol, &world).await;
    visit_alone(&mut alice, &world).await;
    let mut store = world.store();
    let peer = bob.engine.certificate().keys().peer_id;
    let mut state = store.devices().unwrap().into_iter().find(|it| it.peer == peer).unwrap();
    assert!(state.frames > 0);
    store.transact(&mut |it| it.delete_deliveries(state.row, u64::MAX >> 1).map(drop)).unwrap();
    (state.frames, state.bytes) = (0, 0);
    store.transact(&mut |it| it.update_device(&state)).unwrap();
    drop(store);
    for round in 0..6 {
        write(&mut carol, team.id(), &round.to_string());
        visit_alone(&mut carol, &world).await;
        visit_alone(&mut bob, &world).await;
        visit_alone(&mut alice, &world).await;
    }
    let read = texts(&mut bob);
    assert!(!read.is_empty());
}

/// The notice that a group replaces another one reaches a device that is added later.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_is_added_later_learns_of_the_replaced_group() {
    let world = World::new();
    let mut failed = 0;
    for round in 0..4 {
        let mut alice = world.member(&format!("alice {round}")).await;
        let (mut bob, mut carol) = (
            world.member(&format!("bob {round}")).await,
            world.member(&format!("carol {round}")).await,
        );
        let team = group(&mut [&mut alice, &mut bob, &mut carol], &[]);
        let to = Conversation::Group(*team.id());
        write(&mut alice, team.id(), "to all");
        for person in [&mut alice, &mut bob, &mut carol] {
            person.sync(&world).await;
        }
        let [(before, _)]: [_; 1] = groups_of(&mut alice, &to).try_into().unwrap();
        set_given_up(&mut alice, &to, &before, now());
        // Carol has no key package at the hub just now.
        let peer = carol.engine.certificate().keys().peer_id;
        let mut store = world.store();
        let row = store.devices().unwrap().iter().find(|it| it.peer == peer).unwrap().row;
        store.transact(&mut |it| it.clear_device(row)).unwrap();
        drop(store);
        alice.sync(&world).await;
        bob.sync(&world).await;
        carol.sync(&world).await;
        write(&mut alice, team.id(), "again");
        alice.sync(&world).await;
        carol.sync(&world).await;
        bob.sync(&world).await;
        // Alice forgets the group after seven days.
        set_given_up(&mut alice, &to, &before, now() - 8 * DAY);
        alice.sync(&world).await;
        alice.read();
        for at in 0..3 {
            write(&mut carol, team.id(), &format!("from carol {at}"));
            carol.sync(&world).await;
            alice.sync(&world).await;
        }
        let read = texts(&mut alice);
        failed += usize::from(read.len() < 3);
    }
    assert_eq!(failed, 0, "of 4");
}

/// One member's key package is damaged: the others are added all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_package_that_cannot_be_used_leaves_no_one_else_out() {
    for at in [0, 3] {
        let world = World::new();
        let mut alice = world.member("alice").await;
        let mut members = Vec::new();
        for name in ["bob", "carol", "dave", "erin"] {
            members.push(world.member(name).await);
        }
        let mut package = key_package(&mut members[at], Duration::from_millis(now()));
        // Its signature is wrong.
        *package.last_mut().unwrap() ^= 1;
        let last_resort = package.clone().into();
        let prekeys = vec![package.into_boxed_slice()];
        let publish = Publish { prekeys, last_resort, replace: true, ..Publish::default() };
        let answer = ask(&world, &members[at], Request::Publish(publish)).await;
        assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");
        let [one, two, three, four] = &mut members[..] else { panic!("there are four") };
        let id = *group(&mut [&mut alice, one, two, three, four], &[]).id();
        write(&mut alice, &id, "to four");
        let report = alice.sync(&world).await;
        let skipped: Vec<_> = report.skipped.iter().filter_map(|it| it.device).collect();
        assert_eq!(skipped, [members[at].engine.address()], "{report:?}");
        members.remove(at);
        for other in &mut members {
            other.sync(&world).await;
            assert_eq!(texts(other), ["to four"]);
        }
    }
}
