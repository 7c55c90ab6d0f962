//! Members and devices that left, were removed or revoked, and what they get and can do after that.

use core::num::NonZeroU32;

use endseal_hub::HubLimits;
use endseal_keyring::person::PersonChanges;
use endseal_node::messages::{self, Conversation, HubClient, history, publish_person, status};

use super::hostile::put;
use super::intruders::{intrude, seal, sealed, team_state};
use super::lost_devices::devices;
use super::teams::{change, group, member, texts, write};
use super::world::{Person, TIMEOUT, World};

fn limits(of_sender: u64) -> HubLimits {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (1_000_000, 1_000_000);
    limits.mailbox_frames = 2 * of_sender;
    limits
}

pub(super) async fn revoke(world: &World, by: &mut Person, number: u32) {
    let mut changes = PersonChanges::new();
    changes.remove(NonZeroU32::new(number).unwrap());
    by.record = by.record.next_epoch(&by.root, &changes).unwrap();
    let (_endpoint, connection) = world.connect(&by.key()).await;
    publish_person(&HubClient::new(&connection, TIMEOUT), &by.record).await.unwrap();
}

/// A text that waited for a full mailbox when a member came is not for that member.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_waits_for_another_is_not_for_a_new_member() {
    let world = World::with(limits(3));
    let mut alice = world.member("alice").await;
    let (mut bob, mut carol) = (world.member("bob").await, world.member("carol").await);
    let mut dora = world.member("dora").await;
    let first = group(&mut [&mut alice, &mut bob, &mut carol], &[]);
    for person in [&bob, &carol, &dora] {
        person.knows(&alice, "alice");
    }
    write(&mut alice, first.id(), "to all");
    for _ in 0..2 {
        for it in [&mut alice, &mut bob, &mut carol] {
            it.sync(&world).await;
        }
    }
    texts(&mut carol);
    for text in ["1", "2", "3", "before dora"] {
        write(&mut alice, first.id(), text);
        alice.sync(&world).await;
        carol.sync(&world).await;
    }
    change(&alice, None, Some(member(3, &dora)));
    alice.sync(&world).await;
    dora.sync(&world).await;
    carol.sync(&world).await;
    // Bob's phone is lost.
    let mut changes = PersonChanges::new();
    changes.remove(NonZeroU32::MIN);
    let (_, mut others) = devices(&world, &bob, 2, 1, &mut changes);
    let mut next = others.pop().unwrap();
    next.join(&world).await;
    next.knows(&alice, "alice");
    let (mut of_dora, mut of_bob) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        for it in [&mut alice, &mut next, &mut dora, &mut carol] {
            it.sync(&world).await;
        }
        of_dora.extend(texts(&mut dora));
        of_bob.extend(texts(&mut next));
    }
    assert_eq!(of_dora, [""; 0]);
}

/// As `a_removed_member_writes_in_no_group_from_before`, in a group that comes first.
#[tokio::test(flavor = "multi_thread")]
async fn a_removed_member_writes_in_no_group_that_is_first() {
    let world = World::new();
    let (mut alice, mut mallory) = (world.member("alice").await, world.member("mallory").await);
    let mut bob = world.member("bob").await;
    let first = group(&mut [&mut alice, &mut mallory, &mut bob], &[]);
    let to = Conversation::Group(*first.id());
    write(&mut alice, first.id(), "to all");
    for person in [&mut alice, &mut mallory, &mut bob] {
        person.sync(&world).await;
    }
    let state = team_state(&first, &[&alice.record, &mallory.record, &bob.record]);
    intrude(&world, &mut mallory, &mut bob, [0; 16], state, (&to, "a member")).await;
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), ["to all", "a member"]);
    change(&alice, Some("m1"), None);
    write(&mut alice, first.id(), "without her");
    for _ in 0..3 {
        for person in [&mut alice, &mut bob] {
            person.sync(&world).await;
        }
    }
    assert_eq!(texts(&mut bob), ["without her"]);
    let (number, body) = seal(&mut mallory, &[0; 16], &to, "still here");
    put(&world, &mallory, &bob, number, sealed(1, &[0; 16], body)).await;
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), [""; 0]);
}

/// A text that is due again, all of whose receivers are excluded. The record is that of a visit
/// that broke after the text was marked, and before it was encrypted.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_whose_receivers_are_all_excluded_does_not_wait_forever() {
    const UNSENT: u16 = 4;
    let world = World::new();
    let mut alice = world.member("alice").await;
    let (mut bob, mut dora) = (world.member("bob").await, world.member("dora").await);
    let first = group(&mut [&mut alice, &mut bob], &[]);
    for person in [&bob, &dora] {
        person.knows(&alice, "alice");
    }
    write(&mut alice, first.id(), "to all");
    for _ in 0..2 {
        for it in [&mut alice, &mut bob] {
            it.sync(&world).await;
        }
    }
    write(&mut alice, first.id(), "before dora");
    alice.sync(&world).await;
    change(&alice, None, Some(member(3, &dora)));
    alice.sync(&world).await;
    dora.sync(&world).await;
    let to = Conversation::Group(*first.id());
    let row = history(&mut alice.engine, &to, 0, 10).unwrap().pop().unwrap();
    let value = super::intruders::name_of(&to);
    alice
        .engine
        .transaction(|it| {
            it.put_record(UNSENT, &row.number.to_be_bytes(), &{
                let mut v = vec![1];
                v.extend_from_slice(&value[1..]);
                v
            })
        })
        .unwrap();
    change(&alice, Some("m1"), None);
    for _ in 0..3 {
        alice.sync(&world).await;
        dora.sync(&world).await;
    }
    assert_eq!(status(&mut alice.engine).unwrap().unsent, 0);
}

/// The device of a person that is restored from a backup sends nothing to members who came later.
#[tokio::test(flavor = "multi_thread")]
async fn a_backup_knows_who_is_new() {
    use endseal_node::{Archive, ArchiveKeys, write_archive};
    let world = World::new();
    let mut alice = world.member("alice").await;
    let (mut bob, mut carol) = (world.member("bob").await, world.member("carol").await);
    let mut dora = world.member("dora").await;
    let first = group(&mut [&mut alice, &mut bob, &mut carol], &[]);
    for person in [&bob, &carol, &dora] {
        person.knows(&alice, "alice");
    }
    write(&mut alice, first.id(), "to all");
    for _ in 0..2 {
        for it in [&mut alice, &mut bob, &mut carol] {
            it.sync(&world).await;
        }
    }
    // Carol is away.
    write(&mut alice, first.id(), "before dora");
    for _ in 0..2 {
        for it in [&mut alice, &mut bob] {
            it.sync(&world).await;
        }
    }
    change(&alice, None, Some(member(3, &dora)));
    for _ in 0..2 {
        for it in [&mut alice, &mut bob, &mut dora] {
            it.sync(&world).await;
        }
    }
    assert_eq!(texts(&mut dora), [""; 0]);
    let mut archive = Vec::new();
    let keys = ArchiveKeys { device: &alice.device, person: &alice.record, link: None };
    write_archive(&alice.home, keys, &mut alice.engine, 7, &mut archive).unwrap();
    let mut changes = PersonChanges::new();
    changes.remove(NonZeroU32::MIN);
    let (_, mut others) = devices(&world, &alice, 2, 1, &mut changes);
    let mut next = others.pop().unwrap();
    Archive::open(&alice.root, &archive[..]).unwrap().check().unwrap();
    let lock = next.home.lock().unwrap();
    let opened = Archive::open(&alice.root, &archive[..]).unwrap();
    opened.restore(&next.home, &mut next.engine, &lock).unwrap();
    drop(lock);
    next.home.store_person(&next.record, &next.home.lock().unwrap()).unwrap();
    next.join(&world).await;
    let mut of_dora = Vec::new();
    for _ in 0..4 {
        for it in [&mut next, &mut bob, &mut dora, &mut carol] {
            it.sync(&world).await;
        }
        of_dora.extend(texts(&mut dora));
    }
    assert_eq!(of_dora, [""; 0]);
}

/// A visit of a person who has blocked someone, whom [`Person::meet`] would accept.
async fn visit(person: &mut Person, world: &World) -> messages::SyncReport {
    let (_endpoint, connection) = world.connect(&person.key()).await;
    let hub = HubClient::new(&connection, TIMEOUT);
    let mut report = messages::SyncReport::default();
    let files = messages::NodeFiles::new(&person.home);
    messages::sync(&hub, &mut person.engine, &person.record, &files, &mut report).await.unwrap();
    report
}

/// A person who has left a team and blocked its owner is not brought back by the owner.
#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_owner_does_not_bring_back_who_left() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let mut carol = world.member("carol").await;
    let first = group(&mut [&mut alice, &mut bob, &mut carol], &[]);
    let to = Conversation::Group(*first.id());
    write(&mut alice, first.id(), "to all");
    for _ in 0..2 {
        for it in [&mut alice, &mut bob, &mut carol] {
            it.sync(&world).await;
        }
    }
    texts(&mut bob);
    messages::leave(&mut bob.engine, &bob.home, &to).unwrap();
    messages::block(&mut bob.engine, &alice.identity).unwrap();
    for _ in 0..2 {
        visit(&mut bob, &world).await;
        alice.sync(&world).await;
        carol.sync(&world).await;
    }
    change(&alice, Some("m1"), None);
    alice.sync(&world).await;
    carol.sync(&world).await;
    change(&alice, None, Some(member(1, &bob)));
    for round in 0..3 {
        write(&mut alice, first.id(), &format!("you are mine {round}"));
        alice.sync(&world).await;
        carol.sync(&world).await;
        visit(&mut bob, &world).await;
    }
    let shown = texts(&mut bob);
    assert_eq!(shown, [""; 0]);
    messages::say(&mut bob.engine, &to, &["still here"]).unwrap_err();
}

/// A person who left is brought back, also if the owner removes and adds the person between two
/// visits.
async fn brought_back(visits_between: bool) {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let mut carol = world.member("carol").await;
    let first = group(&mut [&mut alice, &mut bob, &mut carol], &[]);
    let to = Conversation::Group(*first.id());
    for person in [&bob, &carol] {
        person.knows(&alice, "alice");
    }
    write(&mut alice, first.id(), "to all");
    for _ in 0..2 {
        for it in [&mut alice, &mut bob, &mut carol] {
            it.sync(&world).await;
        }
    }
    texts(&mut bob);
    messages::leave(&mut bob.engine, &bob.home, &to).unwrap();
    for _ in 0..2 {
        for it in [&mut bob, &mut alice, &mut carol] {
            it.sync(&world).await;
        }
    }
    change(&alice, Some("m1"), None);
    if visits_between {
        for it in [&mut alice, &mut carol, &mut bob] {
            it.sync(&world).await;
        }
    }
    change(&alice, None, Some(member(1, &bob)));
    for round in 0..3 {
        write(&mut alice, first.id(), &format!("welcome back {round}"));
        for it in [&mut alice, &mut bob, &mut carol] {
            it.sync(&world).await;
        }
    }
    let may_write = messages::say(&mut bob.engine, &to, &["thanks"]).is_ok();
    for it in [&mut bob, &mut alice, &mut carol] {
        it.sync(&world).await;
    }
    assert!(may_write);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_left_is_brought_back_by_two_changes_in_two_visits() {
    brought_back(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_left_is_brought_back_by_two_changes_in_one_visit() {
    brought_back(false).await;
}

/// A member who missed the removal of someone who left, and learned of the return, takes its new
/// groups.
#[tokio::test(flavor = "multi_thread")]
async fn who_came_back_may_begin_a_group() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let mut carol = world.member("carol").await;
    let first = group(&mut [&mut alice, &mut bob, &mut carol], &[]);
    let to = Conversation::Group(*first.id());
    for person in [&bob, &carol] {
        person.knows(&alice, "alice");
    }
    write(&mut alice, first.id(), "to all");
    for _ in 0..2 {
        for it in [&mut alice, &mut bob, &mut carol] {
            it.sync(&world).await;
        }
    }
    messages::leave(&mut bob.engine, &bob.home, &to).unwrap();
    for _ in 0..2 {
        for it in [&mut bob, &mut alice, &mut carol] {
            it.sync(&world).await;
        }
    }
    change(&alice, Some("m1"), None);
    alice.sync(&world).await;
    let back = change(&alice, None, Some(member(1, &bob)));
    for _ in 0..2 {
        alice.sync(&world).await;
        bob.sync(&world).await;
    }
    // Carol meets both changes at once.
    for _ in 0..2 {
        carol.sync(&world).await;
    }
    texts(&mut carol);
    let state = team_state(&back, &[&alice.record, &bob.record, &carol.record]);
    intrude(&world, &mut bob, &mut carol, [0xff; 16], state, (&to, "in a new group")).await;
    carol.sync(&world).await;
    let shown = texts(&mut carol);
    assert_eq!(shown, ["in a new group"]);
}

/// A device that was revoked, and was never a member of the group that is known here, takes that
/// group from no one.
#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_device_takes_no_group_away() {
    use super::intruders::{groups_of, key_package, now};
    use core::time::Duration;
    use endseal_session::EngineError;
    use endseal_session::group::{Evidence, Members, MembershipState};
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    for _ in 0..2 {
        alice.say(&bob.identity, "hello");
        for it in [&mut alice, &mut bob] {
            it.sync(&world).await;
        }
    }
    texts(&mut bob);
    let to = Conversation::Person(alice.identity);
    let [(id, _)]: [_; 1] = groups_of(&mut bob, &to).try_into().unwrap();
    let epoch = bob.engine.group(&id).unwrap().unwrap().epoch;
    // A text is on the way to bob in the group.
    alice.say(&bob.identity, "on the way");
    alice.sync(&world).await;
    let (record, mut others) = devices(&world, &alice, 2, 1, &mut PersonChanges::new());
    let mut thief = others.pop().unwrap();
    thief.join(&world).await;
    alice.record = record.clone();
    let package = key_package(&mut bob, Duration::from_millis(now()));
    let mut both = [alice.identity, bob.identity];
    both.sort_by_key(|it| *it.as_bytes());
    let records = [record, bob.record.clone()];
    let state = MembershipState::new(Members::Pair(both), &records).unwrap();
    let time = Duration::from_millis(now());
    let evidence = Evidence::new(None, Vec::new());
    thief
        .engine
        .transaction(|it| {
            it.create_conversation(&id, state, time).unwrap();
            for _ in 0..epoch + 1 {
                it.commit_group(&id, |group| group.change(&evidence, [], time)).unwrap();
                it.accept_commit(&id).unwrap();
            }
            Ok::<_, EngineError>(())
        })
        .unwrap();
    let number = thief
        .engine
        .transaction(|it| {
            let packages = [&package[..]].into_iter();
            let number = it.commit_group(&id, |group| group.change(&evidence, packages, time));
            Ok::<_, EngineError>(number.unwrap())
        })
        .unwrap();
    let welcome = thief.engine.outbox().welcome_of(number).unwrap().unwrap();
    put(&world, &thief, &bob, number + 1, sealed(2, &id, welcome)).await;
    thief.engine.transaction(|it| Ok::<_, EngineError>(it.accept_commit(&id).unwrap())).unwrap();
    let of_bob = Conversation::Person(bob.identity);
    let (number, body) = seal(&mut thief, &id, &of_bob, "forged by the thief");
    put(&world, &thief, &bob, number + 1, sealed(1, &id, body)).await;
    revoke(&world, &mut alice, 2).await;
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), ["on the way"]);
    alice.say(&bob.identity, "later");
    let mut shown = Vec::new();
    for _ in 0..6 {
        alice.sync(&world).await;
        bob.sync(&world).await;
        shown.extend(texts(&mut bob));
    }
    bob.say(&alice.identity, "answer");
    for _ in 0..3 {
        bob.sync(&world).await;
        alice.sync(&world).await;
    }
    assert_eq!(shown, ["later"]);
}

/// A device that came while another one was away, and was revoked, keeps nothing away from a team.
/// Here a member who came with a later roster, and was removed since.
async fn former_member(after_removal: bool) {
    use super::intruders::{groups_of, key_package, now};
    use core::time::Duration;
    use endseal_session::EngineError;
    use endseal_session::group::Evidence;
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let mut mallory = world.member("mallory").await;
    for person in [&bob, &mallory] {
        person.knows(&alice, "alice");
    }
    let first = group(&mut [&mut alice, &mut bob], &[]);
    let to = Conversation::Group(*first.id());
    write(&mut alice, first.id(), "to all");
    for _ in 0..2 {
        for it in [&mut alice, &mut bob] {
            it.sync(&world).await;
        }
    }
    texts(&mut bob);
    let [(id, _)]: [_; 1] = groups_of(&mut bob, &to).try_into().unwrap();
    let epoch = bob.engine.group(&id).unwrap().unwrap().epoch;
    let package = key_package(&mut bob, Duration::from_millis(now()));
    // Bob is away. Mallory comes, and never visits; alice removes her in the same hour.
    let second = change(&alice, None, Some(member(2, &mallory)));
    let state = team_state(&second, &[&alice.record, &bob.record, &mallory.record]);
    let time = Duration::from_millis(now());
    let evidence = Evidence::new(None, Vec::new());
    mallory
        .engine
        .transaction(|it| {
            it.create_conversation(&id, state, time).unwrap();
            for _ in 0..epoch + 1 {
                it.commit_group(&id, |group| group.change(&evidence, [], time)).unwrap();
                it.accept_commit(&id).unwrap();
            }
            Ok::<_, EngineError>(())
        })
        .unwrap();
    let number = mallory
        .engine
        .transaction(|it| {
            let packages = [&package[..]].into_iter();
            let number = it.commit_group(&id, |group| group.change(&evidence, packages, time));
            Ok::<_, EngineError>(number.unwrap())
        })
        .unwrap();
    let welcome = mallory.engine.outbox().welcome_of(number).unwrap().unwrap();
    if after_removal {
        alice.sync(&world).await;
        change(&alice, Some("m2"), None);
        write(&mut alice, first.id(), "without her");
        alice.sync(&world).await;
    }
    put(&world, &mallory, &bob, number + 1, sealed(2, &id, welcome)).await;
    mallory.engine.transaction(|it| Ok::<_, EngineError>(it.accept_commit(&id).unwrap())).unwrap();
    let (number, body) = seal(&mut mallory, &id, &to, "by a former member");
    put(&world, &mallory, &bob, number + 1, sealed(1, &id, body)).await;
    if !after_removal {
        change(&alice, Some("m2"), None);
        write(&mut alice, first.id(), "without her");
    }
    let mut shown = Vec::new();
    for _ in 0..4 {
        alice.sync(&world).await;
        bob.sync(&world).await;
        shown.extend(texts(&mut bob));
    }
    write(&mut alice, first.id(), "later");
    for _ in 0..4 {
        alice.sync(&world).await;
        bob.sync(&world).await;
        shown.extend(texts(&mut bob));
    }
    assert_eq!(shown, ["without her", "later"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_former_member_takes_no_group_away() {
    former_member(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_former_member_takes_no_group_away_later() {
    former_member(true).await;
}

/// A team of which a blocked person is a member.
#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_member_of_an_unknown_team() {
    let world = World::new();
    let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
    let mut carol = world.member("carol").await;
    bob.knows(&alice, "alice");
    messages::block(&mut bob.engine, &carol.identity).unwrap();
    // Carol, who is blocked, is an admin and makes the team's group.
    let first = group(&mut [&mut alice, &mut carol], &[&bob]);
    write(&mut alice, first.id(), "of alice");
    alice.sync(&world).await;
    carol.sync(&world).await;
    write(&mut carol, first.id(), "of carol");
    carol.sync(&world).await;
    visit(&mut bob, &world).await;
}
