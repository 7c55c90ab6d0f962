//! Members, former members and admins who use what teams let them do, and unlucky moments.

use core::time::Duration;

use endseal_keyring::roster::{GroupId, RosterChanges};
use endseal_node::messages::{self, Conversation, departures};
use endseal_session::EngineError;
use endseal_session::group::Evidence;

use super::hostile::put;
use super::intruders::*;
use super::teams::{change, change_as, group, member, name, texts, write};
use super::world::{People, Person, World};

const DEPARTED: u16 = 41;

fn give_up_all(person: &mut Person, team: &GroupId) {
    let to = Conversation::Group(*team);
    for (group, _) in groups_of(person, &to) {
        set_given_up(person, &to, &group, now());
    }
}

fn leaves(person: &mut Person, team: &GroupId) {
    messages::leave(&mut person.engine, &person.home, &Conversation::Group(*team)).unwrap();
}

fn epoch(person: &Person) -> u64 {
    person.home.groups().current(&name("team")).unwrap().epoch()
}

async fn three(world: &World, last: &str) -> ([Person; 3], GroupId) {
    let mut alice = world.member("alice").await;
    let (mut bob, mut carol) = (world.member("bob").await, world.member(last).await);
    let id = *group(&mut [&mut alice, &mut bob, &mut carol], &[]).id();
    write(&mut alice, &id, "to all");
    alice.sync(world).await;
    for person in [&mut bob, &mut carol] {
        person.sync(world).await;
        assert_eq!(texts(person), ["to all"]);
    }
    alice.sync(world).await;
    ([alice, bob, carol], id)
}

/// A member begins a group whose state says that the owner has left.
#[tokio::test(flavor = "multi_thread")]
async fn a_member_evicts_no_one_by_a_forged_departure() {
    let world = World::new();
    let ([mut alice, mut bob, mut mallory], id) = three(&world, "mallory").await;
    let record = [id.as_bytes(), &alice.identity.as_bytes()[..]].concat();
    mallory.engine.transaction(|it| it.put_record(DEPARTED, &record, &[])).unwrap();
    give_up_all(&mut mallory, &id);
    write(&mut mallory, &id, "a new group");
    mallory.sync(&world).await;
    bob.sync(&world).await;
    assert_eq!(texts(&mut bob), ["a new group"]);
    write(&mut bob, &id, "to the owner");
    let report = bob.sync(&world).await;
    let mut read = Vec::new();
    for _ in 0..4 {
        alice.sync(&world).await;
        read.extend(texts(&mut alice));
        bob.sync(&world).await;
    }
    assert!(departures(&mut bob.engine).unwrap().is_empty());
    assert!(read.contains(&"to the owner".to_owned()) || !report.skipped.is_empty(), "{report:?}");
}

/// An admin has made three changes offline when the owner removes a member.
#[tokio::test(flavor = "multi_thread")]
async fn three_changes_offline_bring_no_removed_member_back() {
    let world = World::new();
    let ([mut alice, mut bob, mut mallory], id) = three(&world, "mallory").await;
    let mut changes = RosterChanges::new();
    change_as(&alice, changes.appoint(name("m1")));
    for _ in 0..2 {
        for person in [&mut alice, &mut bob, &mut mallory] {
            person.sync(&world).await;
        }
    }
    for _ in 0..3 {
        change_as(&bob, &RosterChanges::new());
    }
    change(&alice, Some("m2"), None);
    write(&mut alice, &id, "without her");
    alice.sync(&world).await;
    let report = bob.sync(&world).await;
    alice.sync(&world).await;
    write(&mut alice, &id, "secret");
    alice.sync(&world).await;
    mallory.sync(&world).await;
    let read = texts(&mut mallory);
    assert!(!read.contains(&"secret".to_owned()), "{read:?} {:?}", report.replaced);
    assert_eq!(report.replaced.len(), 1);
}

/// Another process changes the contacts while the commit that removes a member arrives.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_lock_shows_no_text_to_a_removed_member() {
    for is_busy in [false, true] {
        let world = World::new();
        let ([mut alice, mut bob, mut mallory], id) = three(&world, "mallory").await;
        change(&alice, Some("m2"), None);
        write(&mut alice, &id, "without her");
        alice.sync(&world).await;
        write(&mut bob, &id, "secret");
        let lock = is_busy.then(|| bob.home.lock().unwrap());
        bob.sync(&world).await;
        drop(lock);
        mallory.sync(&world).await;
        let read = texts(&mut mallory);
        assert!(!read.contains(&"secret".to_owned()), "busy {is_busy}: {read:?}");
    }
}

/// The same while the roster in force arrives after a change of one's own.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_lock_ends_in_the_same_roster() {
    let world = World::new();
    let ([mut alice, mut bob, mut carol], id) = three(&world, "carol").await;
    let mut changes = RosterChanges::new();
    change_as(&alice, changes.appoint(name("m1")));
    for _ in 0..2 {
        for person in [&mut alice, &mut bob, &mut carol] {
            person.sync(&world).await;
        }
    }
    change_as(&bob, &RosterChanges::new());
    change(&alice, Some("m2"), None);
    alice.sync(&world).await;
    let lock = bob.home.lock().unwrap();
    let mut report = bob.sync(&world).await.replaced;
    drop(lock);
    for _ in 0..4 {
        report.extend(bob.sync(&world).await.replaced);
        alice.sync(&world).await;
        write(&mut bob, &id, "to alice");
    }
    let current = |person: &Person| person.home.groups().current(&name("team")).unwrap();
    assert!(current(&alice) == current(&bob), "{} {}", epoch(&alice), epoch(&bob));
    assert_eq!(report.len(), 1);
}

/// A former admin commits a roster of her own in a group of her own.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_roster_is_not_noted_as_in_force() {
    for hostile in [false, true] {
        let world = World::new();
        let ([mut alice, mut bob, mut mallory], _) = three(&world, "mallory").await;
        let mut changes = RosterChanges::new();
        change_as(&alice, changes.appoint(name("m1")).appoint(name("m2")));
        for _ in 0..2 {
            for person in [&mut alice, &mut bob, &mut mallory] {
                person.sync(&world).await;
            }
        }
        let second = mallory.home.groups().current(&name("team")).unwrap();
        assert_eq!(second.epoch(), 2);
        change(&alice, Some("m2"), None);
        for _ in 0..2 {
            for person in [&mut alice, &mut bob, &mut mallory] {
                person.sync(&world).await;
            }
        }
        assert_eq!((epoch(&alice), epoch(&bob)), (3, 3));
        if hostile {
            let mut forged = second.clone();
            for _ in 0..7 {
                let draft = forged.next_epoch(&RosterChanges::new()).unwrap();
                forged = draft.sign(&mallory.root, b"no key").unwrap();
            }
            let state = team_state(&second, &[&alice.record, &bob.record, &mallory.record]);
            let package = key_package(&mut alice, Duration::from_millis(now()));
            let (number, welcome) = make(&mut mallory, &[9; 16], state, &[package]);
            put(&world, &mallory, &alice, number, sealed(2, &[9; 16], welcome)).await;
            alice.sync(&world).await;
            let evidence = Evidence::new(Some(forged), Vec::new());
            let time = Duration::from_millis(now());
            let number = mallory.engine.transaction(|it| {
                Ok::<_, EngineError>(
                    it.commit_group(&[9; 16], |group| group.change(&evidence, [], time)).unwrap(),
                )
            });
            let number = number.unwrap();
            let body = mallory.engine.outbox().pending(number - 1, 1).unwrap().remove(0).body;
            put(&world, &mallory, &alice, number, sealed(1, &[9; 16], body)).await;
            alice.sync(&world).await;
        }
        // Now two changes at once.
        change_as(&alice, &RosterChanges::new());
        change_as(&bob, &RosterChanges::new());
        bob.sync(&world).await;
        let mut replaced = 0;
        for _ in 0..3 {
            replaced += alice.sync(&world).await.replaced.len();
            bob.sync(&world).await;
        }
        let current = |person: &Person| person.home.groups().current(&name("team")).unwrap();
        assert!(
            current(&alice) == current(&bob) && replaced == 1,
            "hostile {hostile}: {} {} {replaced}",
            epoch(&alice),
            epoch(&bob)
        );
    }
}

/// A new member, who has never opened the departure, begins a new group.
#[tokio::test(flavor = "multi_thread")]
async fn who_left_is_not_added_again_by_a_new_member() {
    let world = World::new();
    let ([mut alice, mut bob, mut carol], id) = three(&world, "carol").await;
    leaves(&mut bob, &id);
    bob.sync(&world).await;
    // Alice has not learned of it, so that her program does not take him out.
    let mut dave = world.member("dave").await;
    dave.knows(&alice, "alice");
    change(&alice, None, Some(member(7, &dave)));
    write(&mut alice, &id, "with dave");
    alice.sync(&world).await;
    dave.sync(&world).await;
    assert_eq!(texts(&mut dave), ["with dave"]);
    carol.sync(&world).await;
    give_up_all(&mut dave, &id);
    write(&mut dave, &id, "in a new group");
    dave.sync(&world).await;
    for _ in 0..3 {
        bob.sync(&world).await;
        dave.sync(&world).await;
    }
    assert_eq!(texts(&mut bob), [""; 0]);
    assert_eq!(departures(&mut bob.engine).unwrap().len(), 1);
}

/// The owner of a team renames it to the name of a contact of a member.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_name_takes_no_name_of_a_contact() {
    let world = World::new();
    let (mut mallory, mut bob) = (world.member("mallory").await, world.member("bob").await);
    let carol = world.member("carol").await;
    bob.knows(&carol, "carol");
    let id = *group(&mut [&mut mallory, &mut bob], &[]).id();
    write(&mut mallory, &id, "hello");
    for _ in 0..2 {
        for person in [&mut mallory, &mut bob] {
            person.sync(&world).await;
        }
    }
    let mut changes = RosterChanges::new();
    change_as(&mallory, changes.rename(name("carol")));
    for _ in 0..2 {
        for person in [&mut mallory, &mut bob] {
            person.sync(&world).await;
        }
    }
    assert_eq!(bob.home.groups().list().unwrap(), [name("team")]);
}

/// A former member brings a team back that the owner has deleted, by the old roster.
#[tokio::test(flavor = "multi_thread")]
async fn no_old_roster_after_a_team_was_deleted() {
    let world = World::new();
    let (mut alice, mut mallory) = (world.member("alice").await, world.member("mallory").await);
    let first = group(&mut [&mut alice, &mut mallory], &[]);
    let id = *first.id();
    write(&mut alice, &id, "hello");
    for _ in 0..2 {
        for person in [&mut alice, &mut mallory] {
            person.sync(&world).await;
        }
    }
    change(&alice, Some("m1"), None);
    for _ in 0..2 {
        for person in [&mut alice, &mut mallory] {
            person.sync(&world).await;
        }
    }
    alice.home.groups().delete(&name("team"), &alice.home.lock().unwrap()).unwrap();
    let state = team_state(&first, &[&alice.record, &mallory.record]);
    let to = Conversation::Group(id);
    intrude(&world, &mut mallory, &mut alice, [0; 16], state, (&to, "still here")).await;
    alice.sync(&world).await;
    let list = alice.home.groups().list().unwrap();
    assert!(list.is_empty(), "{list:?} {:?}", alice.read());
}

/// The only group was given up when the person leaves.
#[tokio::test(flavor = "multi_thread")]
async fn a_departure_from_a_group_that_was_given_up_is_learned() {
    let world = World::new();
    let ([mut alice, mut bob, _], id) = three(&world, "carol").await;
    give_up_all(&mut bob, &id);
    leaves(&mut bob, &id);
    let mut learned = Vec::new();
    for _ in 0..3 {
        bob.sync(&world).await;
        learned.extend(alice.sync(&world).await.departures);
        write(&mut alice, &id, "for bob?");
    }
    assert_eq!(learned.len(), 1);
}

/// The owner has made three changes when the one of an admin is found not to be in force.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_is_passed_over_is_kept_beside_the_others() {
    let world = World::new();
    let ([mut alice, mut bob, mut carol], _) = three(&world, "carol").await;
    let mut changes = RosterChanges::new();
    change_as(&alice, changes.appoint(name("m1")));
    for _ in 0..2 {
        for person in [&mut alice, &mut bob, &mut carol] {
            person.sync(&world).await;
        }
    }
    let mut changes = RosterChanges::new();
    change_as(&bob, changes.remove(name("m2")));
    for _ in 0..3 {
        change_as(&alice, &RosterChanges::new());
    }
    alice.sync(&world).await;
    let report = bob.sync(&world).await;
    assert_eq!((report.replaced.len(), epoch(&bob)), (1, 5));
    assert_eq!(bob.home.groups().refused(&name("team")).unwrap(), [3]);
}

/// A former member sends welcomes of the old roster, one a visit: none makes a member repeat a
/// notice to all others.
#[tokio::test(flavor = "multi_thread")]
async fn welcomes_of_a_former_member_cost_no_notices() {
    let world = World::new();
    let mut alice = world.member("alice").await;
    let (mut bob, mut mallory) = (world.member("bob").await, world.member("mallory").await);
    let first = group(&mut [&mut alice, &mut bob, &mut mallory], &[]);
    write(&mut alice, first.id(), "to all");
    for _ in 0..2 {
        for person in [&mut alice, &mut bob, &mut mallory] {
            person.sync(&world).await;
        }
    }
    change(&alice, Some("m2"), None);
    for _ in 0..2 {
        for person in [&mut alice, &mut bob, &mut mallory] {
            person.sync(&world).await;
        }
    }
    let before = alice.engine.outbox().last_number().unwrap();
    for at in 0..10 {
        let state = team_state(&first, &[&alice.record, &mallory.record, &bob.record]);
        let id = [0xff - at; 16];
        let package = key_package(&mut alice, Duration::from_millis(now()));
        let (number, welcome) = make(&mut mallory, &id, state, &[package]);
        put(&world, &mallory, &alice, number, sealed(2, &id, welcome)).await;
        alice.sync(&world).await;
        bob.sync(&world).await;
    }
    let sent = alice.engine.outbox().last_number().unwrap() - before;
    assert!(sent < 3, "{sent}");
}

/// Killed after one file of two was put aside.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_between_the_renames_loses_no_report() {
    let world = World::new();
    let ([mut alice, mut bob, mut carol], _) = three(&world, "carol").await;
    let mut changes = RosterChanges::new();
    change_as(&alice, changes.appoint(name("m1")));
    for _ in 0..2 {
        for person in [&mut alice, &mut bob, &mut carol] {
            person.sync(&world).await;
        }
    }
    for _ in 0..2 {
        change_as(&bob, &RosterChanges::new());
    }
    change(&alice, Some("m2"), None);
    alice.sync(&world).await;
    let folder = bob.home.path().join("groups/team");
    // The second rename and the store did not happen.
    std::fs::rename(folder.join("3.roster"), folder.join("3.refused")).unwrap();
    let report = bob.sync(&world).await;
    let current = |person: &Person| person.home.groups().current(&name("team")).unwrap();
    assert!(current(&alice) == current(&bob), "{} {}", epoch(&alice), epoch(&bob));
    assert_eq!(report.replaced.len(), 1);
}

/// Killed after both renames: before the store.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_before_the_store_loses_no_report() {
    let world = World::new();
    let ([mut alice, mut bob, mut carol], _) = three(&world, "carol").await;
    let mut changes = RosterChanges::new();
    change_as(&alice, changes.appoint(name("m1")));
    for _ in 0..2 {
        for person in [&mut alice, &mut bob, &mut carol] {
            person.sync(&world).await;
        }
    }
    change_as(&bob, &RosterChanges::new());
    change(&alice, Some("m2"), None);
    alice.sync(&world).await;
    let folder = bob.home.path().join("groups/team");
    std::fs::rename(folder.join("3.roster"), folder.join("3.refused")).unwrap();
    let report = bob.sync(&world).await;
    let current = |person: &Person| person.home.groups().current(&name("team")).unwrap();
    assert!(current(&alice) == current(&bob), "{} {}", epoch(&alice), epoch(&bob));
    // The visit or `group show` says so.
    let refused = bob.home.groups().refused(&name("team")).unwrap();
    assert!(report.replaced.len() == 1 || refused == [3], "{refused:?}");
}

/// Takes the place of the roster of a hidden team, as a former admin.
#[tokio::test(flavor = "multi_thread")]
async fn no_roster_of_a_former_admin_in_a_hidden_team() {
    for hostile in [false, true] {
        let world = World::new();
        let (mut alice, mut mallory) = (world.member("alice").await, world.member("mallory").await);
        let mut bob = world.member("bob").await;
        bob.people = People::default();
        let id = *group(&mut [&mut alice, &mut mallory], &[&bob]).id();
        let mut changes = RosterChanges::new();
        let second = change_as(&alice, changes.appoint(name("m1")));
        for person in [&mut alice, &mut mallory, &mut bob] {
            person.sync(&world).await;
        }
        change(&alice, Some("m1"), None);
        write(&mut alice, &id, "without her");
        alice.sync(&world).await;
        bob.sync(&world).await;
        if hostile {
            let draft = second.next_epoch(&RosterChanges::new()).unwrap();
            let mut forged = draft.sign(&mallory.root, b"no key").unwrap();
            for _ in 0..5 {
                let draft = forged.next_epoch(&RosterChanges::new()).unwrap();
                forged = draft.sign(&mallory.root, b"no key").unwrap();
            }
            let state = team_state(&second, &[&alice.record, &bob.record, &mallory.record]);
            let package = key_package(&mut bob, Duration::from_millis(now()));
            let (number, welcome) = make(&mut mallory, &[9; 16], state, &[package]);
            put(&world, &mallory, &bob, number, sealed(2, &[9; 16], welcome)).await;
            bob.sync(&world).await;
            let evidence = Evidence::new(Some(forged), Vec::new());
            let time = Duration::from_millis(now());
            let number = mallory.engine.transaction(|it| {
                Ok::<_, EngineError>(
                    it.commit_group(&[9; 16], |group| group.change(&evidence, [], time)).unwrap(),
                )
            });
            let number = number.unwrap();
            let body = mallory.engine.outbox().pending(number - 1, 1).unwrap().remove(0).body;
            put(&world, &mallory, &bob, number, sealed(1, &[9; 16], body)).await;
            bob.sync(&world).await;
        }
        bob.knows(&alice, "alice");
        bob.sync(&world).await;
        write(&mut alice, &id, "next");
        change(&alice, None, None);
        for _ in 0..2 {
            alice.sync(&world).await;
            bob.sync(&world).await;
        }
        write(&mut bob, &id, "secret");
        for person in [&mut bob, &mut alice, &mut mallory] {
            person.sync(&world).await;
        }
        let (of_bob, of_alice) = (texts(&mut bob), texts(&mut alice));
        assert!(
            epoch(&alice) == epoch(&bob),
            "hostile {hostile}: {} {}, bob {of_bob:?}, alice {of_alice:?}, mallory {:?}",
            epoch(&alice),
            epoch(&bob),
            texts(&mut mallory),
        );
    }
}
