//! Members who leave teams.

use core::time::Duration;

use endseal_hub::HubLimits;
use endseal_keyring::roster::GroupId;
use endseal_node::api::Request;
use endseal_node::messages::{
    self, Conversation, LeaveError, SayError, SyncReport, departures, leave, status,
};
use endseal_node::service::Dialed;

use super::intruders::{groups_of, now, set_given_up};
use super::lives::friends;
use super::service::{ask, serving_at};
use super::teams::{change, group, member, name, texts, write};
use super::world::{Person, World};

fn leaves(person: &mut Person, team: &GroupId) -> Result<u64, LeaveError> {
    leave(&mut person.engine, &person.home, &Conversation::Group(*team))
}

/// Persons in `report` who have left.
fn left(report: &SyncReport) -> Vec<endseal_crypto::ed25519::PublicKey> {
    report.departures.iter().map(|it| it.person).collect()
}

/// A team of alice, bob and carol, in which all have read a text.
async fn team(world: &World) -> ([Person; 3], GroupId) {
    let mut alice = world.member("alice").await;
    let (mut bob, mut carol) = (world.member("bob").await, world.member("carol").await);
    let id = *group(&mut [&mut alice, &mut bob, &mut carol], &[]).id();
    write(&mut alice, &id, "to all");
    alice.sync(world).await;
    for person in [&mut bob, &mut carol] {
        person.sync(world).await;
        assert_eq!(texts(person), ["to all"]);
    }
    ([alice, bob, carol], id)
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_gets_no_text_and_all_learn_it() {
    let world = World::new();
    let ([mut alice, mut bob, mut carol], id) = team(&world).await;
    assert!(matches!(leaves(&mut alice, &id), Err(LeaveError::Owner)));
    let unknown = GroupId::from_bytes([9; 16]);
    assert!(matches!(leaves(&mut bob, &unknown), Err(LeaveError::NoGroup)));
    write(&mut bob, &id, "cancelled");
    assert_eq!(leaves(&mut bob, &id).unwrap(), 1);
    assert_eq!(leaves(&mut bob, &id).unwrap(), 0);
    let to = Conversation::Group(id);
    assert!(matches!(messages::say(&mut bob.engine, &to, &["no"]), Err(SayError::Left)));
    // What was said before the others learned of it is dropped.
    write(&mut alice, &id, "on the way");
    alice.sync(&world).await;
    let report = bob.sync(&world).await;
    assert_eq!((report.received, bob.read().len()), (0, 0), "{report:?}");
    for person in [&mut alice, &mut carol] {
        let report = person.sync(&world).await;
        assert_eq!(left(&report), [bob.identity], "{report:?}");
        assert_eq!(departures(&mut person.engine).unwrap()[0].person, bob.identity);
    }
    assert_eq!(texts(&mut carol), ["on the way"]);
    // Carol's device removes bob's before her text.
    write(&mut carol, &id, "without bob");
    carol.sync(&world).await;
    let report = bob.sync(&world).await;
    assert_eq!((report.received, report.problems), (0, 0), "{report:?}");
    alice.sync(&world).await;
    assert_eq!(texts(&mut alice), ["without bob"]);
    carol.sync(&world).await;
    // Of the two who confirm, one is left.
    let rows = messages::history(&mut carol.engine, &to, 0, 9).unwrap();
    let confirmed = rows.last().unwrap().confirmed.unwrap();
    assert_eq!((confirmed.by, confirmed.of), (1, 1));
    for _ in 0..2 {
        let report = bob.sync(&world).await;
        assert_eq!((report.sent, report.receipts, report.problems), (0, 0, 0), "{report:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_while_connected_departs_at_once() {
    let world = World::new();
    let ([mut alice, mut bob, _], id) = team(&world).await;
    let (key, of_bob) = (bob.key(), bob.identity);
    let dial = async |_: &str| {
        let (endpoint, connection) = world.connect(&key).await;
        Ok(Dialed { endpoint, connection, addresses: String::new() })
    };
    let retry = Duration::from_secs(300);
    serving_at(dial, retry, &mut bob, async |client| {
        ask(&client, |it| it.sync(1)).await;
        let team = Conversation::Group(id);
        ask(&client, move |it| it.done(&Request::Leave { team })).await;
        while left(&alice.sync(&world).await) != [of_bob] {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}

/// The text waits to be encrypted again, as one does whose group was given up.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_of_who_left_makes_no_new_group() {
    const UNSENT: u16 = 4;
    let world = World::new();
    let ([mut alice, mut bob, _], id) = team(&world).await;
    let to = Conversation::Group(id);
    write(&mut bob, &id, "before leaving");
    bob.sync(&world).await;
    let row = messages::history(&mut bob.engine, &to, 0, 9).unwrap().last().unwrap().number;
    let value = [&[1], &id.as_bytes()[..]].concat();
    bob.engine.transaction(|it| it.put_record(UNSENT, &row.to_be_bytes(), &value)).unwrap();
    assert_eq!(leaves(&mut bob, &id).unwrap(), 0);
    for _ in 0..3 {
        bob.sync(&world).await;
    }
    assert_eq!(status(&mut bob.engine).unwrap().unsent, 0);
    assert!(groups_of(&mut bob, &to).iter().all(|(_, given_up)| *given_up > 0));
    alice.sync(&world).await;
    assert_eq!(groups_of(&mut alice, &to).len(), 1);
    assert_eq!(texts(&mut alice), ["before leaving"]);
}

/// The owner's device removes the member's without a text.
#[tokio::test(flavor = "multi_thread")]
async fn the_owner_removes_the_devices_of_who_left() {
    let world = World::new();
    let ([mut alice, mut bob, _], id) = team(&world).await;
    leaves(&mut bob, &id).unwrap();
    bob.sync(&world).await;
    alice.sync(&world).await;
    alice.sync(&world).await;
    let [(group, _)]: [_; 1] = groups_of(&mut alice, &Conversation::Group(id)).try_into().unwrap();
    let members = alice.engine.transaction(|it| it.group_peers(&group)).unwrap();
    assert!(!members.iter().any(|(it, _)| it.identity == bob.identity), "{members:?}");
    assert_eq!(members.len(), 2);
}

/// A group that a member makes anew of the same roster is made without who has left.
#[tokio::test(flavor = "multi_thread")]
async fn who_left_stays_away_from_new_groups() {
    let world = World::new();
    let ([mut alice, mut bob, mut carol], id) = team(&world).await;
    leaves(&mut bob, &id).unwrap();
    for person in [&mut bob, &mut alice, &mut carol] {
        person.sync(&world).await;
    }
    let to = Conversation::Group(id);
    for (group, _) in groups_of(&mut carol, &to) {
        set_given_up(&mut carol, &to, &group, now());
    }
    write(&mut carol, &id, "in a new group");
    carol.sync(&world).await;
    let groups = groups_of(&mut carol, &to);
    let (new, _) = groups.iter().find(|(_, given_up)| *given_up == 0).unwrap();
    let members = carol.engine.transaction(|it| it.group_peers(new)).unwrap();
    assert!(!members.iter().any(|(it, _)| it.identity == bob.identity), "{members:?}");
    bob.sync(&world).await;
    alice.sync(&world).await;
    assert_eq!(texts(&mut alice), ["in a new group"]);
    assert_eq!(bob.read(), []);
    // One who does not know of it takes him in, and he leaves again.
    let mut dave = world.member("dave").await;
    change(&alice, None, Some(member(7, &dave)));
    write(&mut alice, &id, "with dave");
    alice.sync(&world).await;
    dave.knows(&alice, "alice");
    dave.sync(&world).await;
    assert_eq!(texts(&mut dave), ["with dave"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_left_comes_back_by_a_later_roster() {
    let world = World::new();
    let ([mut alice, mut bob, mut carol], id) = team(&world).await;
    leaves(&mut bob, &id).unwrap();
    for person in [&mut bob, &mut alice, &mut carol] {
        person.sync(&world).await;
    }
    change(&alice, Some("m1"), None);
    alice.sync(&world).await;
    carol.sync(&world).await;
    for person in [&mut alice, &mut carol] {
        assert_eq!(departures(&mut person.engine).unwrap(), []);
    }
    change(&alice, None, Some(member(1, &bob)));
    write(&mut alice, &id, "welcome back");
    let report = alice.sync(&world).await;
    assert!(report.skipped.is_empty(), "{report:?}");
    for person in [&mut bob, &mut carol] {
        person.sync(&world).await;
        assert_eq!(texts(person), ["welcome back"]);
    }
    write(&mut bob, &id, "thanks");
    bob.sync(&world).await;
    alice.sync(&world).await;
    assert_eq!(texts(&mut alice), ["thanks"]);
    assert_eq!(alice.home.groups().current(&name("team")).unwrap().epoch(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_that_the_hub_deleted_is_sent_again() {
    tokio::join!(deleted_notice(false), deleted_notice(true), deleted_change());
}

/// A hub that soon deletes frames.
pub(super) fn forgetful() -> World {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate) = (1_000_000, 1_000_000);
    limits.retention = Duration::from_secs(2);
    World::with(limits)
}

/// Waits until the hub has deleted what waits.
pub(super) async fn expire(world: &mut World) {
    tokio::time::sleep(Duration::from_secs(3)).await;
    world.stop().await;
    world.start();
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// The hub deletes a change of a team, of which a member learns though no one writes.
async fn deleted_change() {
    let mut world = forgetful();
    let ([mut alice, mut bob, mut carol], _) = team(&world).await;
    change(&alice, Some("m2"), None);
    alice.sync(&world).await;
    expire(&mut world).await;
    for _ in 0..3 {
        for person in [&mut alice, &mut bob, &mut carol] {
            person.sync(&world).await;
        }
    }
    let epoch = |person: &Person| person.home.groups().current(&name("team")).unwrap().epoch();
    assert_eq!((epoch(&alice), epoch(&bob)), (2, 2));
}

/// The hub deletes the notice that a group of a team is not known. Then also the group is replaced
/// in which it was sent.
async fn deleted_notice(is_replaced: bool) {
    let mut world = forgetful();
    let [mut alice, mut bob] = friends(&world).await;
    let id = *group(&mut [&mut alice, &mut bob], &[]).id();
    // The welcome is deleted.
    alice.sync(&world).await;
    expire(&mut world).await;
    write(&mut alice, &id, "to the team");
    alice.sync(&world).await;
    // Then the notice that bob does not know the group.
    bob.sync(&world).await;
    expire(&mut world).await;
    if is_replaced {
        let pair = Conversation::Person(bob.identity);
        for (group, _) in groups_of(&mut alice, &pair) {
            set_given_up(&mut alice, &pair, &group, now());
        }
        alice.say(&bob.identity, "in a new group");
        alice.sync(&world).await;
    }
    for _ in 0..3 {
        bob.sync(&world).await;
        alice.sync(&world).await;
    }
    bob.sync(&world).await;
    let texts = texts(&mut bob);
    assert!(texts.contains(&"to the team".to_owned()), "replaced {is_replaced}: {texts:?}");
    alice.sync(&world).await;
    assert_eq!(status(&mut alice.engine).unwrap().undelivered, 0);
}
