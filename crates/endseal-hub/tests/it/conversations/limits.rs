//! Limits on the groups that a person makes.

use endseal_codec::hub::{Answer, Code, Register, Request};
use endseal_hub::{GroupTotals, HubLimits};
use endseal_testing::Scratch;

use super::{GROUP, commit, make, refusal, say};
use crate::database::Database;
use crate::directory::next_record;
use crate::puts::put_one;
use crate::world::{Node, World, certificate, identity};

/// A hub at which a person's groups have this number of members at most.
fn with_members(members: u64) -> World {
    let mut limits = HubLimits::default();
    (limits.burst, limits.rate, limits.group_members) = (1_000_000, 1_000_000, members);
    World::with(limits)
}

fn person(node: &Node) -> [u8; 32] {
    *node.person.identity().ed25519().as_bytes()
}

/// Returns the sums over the groups that a person has made.
fn totals(world: &World, node: &Node) -> (u64, u64) {
    let creator = person(node);
    let mut totals = GroupTotals::default();
    world.transact(|it| {
        totals = it.groups_of(&creator)?;
        Ok(())
    });
    (totals.groups, totals.members)
}

/// A commit in another group than [`GROUP`].
fn in_group(number: u8, request: Request) -> Request {
    let Request::Put(mut put) = request else { panic!() };
    put.conversation.as_mut().unwrap().group = [number; 16];
    Request::Put(put)
}

/// A commit that makes a group of these nodes, the first of which puts its frames `sequence` and,
/// if there are others, the one after it.
fn beginning(number: u8, sequence: u64, members: &[&Node]) -> Request {
    let first = members[0];
    let welcome =
        if members.len() > 1 { first.frame(sequence + 1, b"welcome") } else { Vec::new() };
    let before = say(first.frame(sequence, b"commit"), 0, &[first]);
    in_group(number, commit(before, members, welcome))
}

async fn is_stored(node: &Node, request: Request) -> bool {
    match put_one(node, request).await {
        Answer::Stored(_) => true,
        answer => {
            assert_eq!(refusal(answer).code, Code::SPACE);
            false
        }
    }
}

/// A group without a device that is left is deleted, and a person makes a bounded number of groups.
#[tokio::test(flavor = "multi_thread")]
async fn groups_end_with_their_devices_and_are_bounded() {
    let world = World::new();
    let (alice, bob) = (world.registered().await, world.registered().await);
    make(&[&alice, &bob]).await;
    let creator = person(&alice);
    world.transact(|it| {
        for number in 1_u64..10_000 {
            let id: [u8; 16] = [number.to_le_bytes(), [1; 8]].concat().try_into().unwrap();
            let row = it.add_group(&id, &creator)?;
            it.update_group(row, 0, &[alice.peer])?;
        }
        Ok(())
    });
    let mut begin = say(alice.frame(3, b"commit"), 0, &[&alice]);
    begin.conversation.as_mut().unwrap().group = [9; 16];
    let refused = refusal(put_one(&alice, commit(begin, &[&alice], Vec::new())).await);
    assert_eq!(refused.code, Code::SPACE);
    let remove = |node: &Node| {
        let identity = person(node);
        world.transact(|it| it.remove_person(&identity).map(|_| ()));
    };
    remove(&alice);
    let mut deleted = 0;
    world.transact(|it| {
        deleted = it.delete_abandoned_groups()?;
        Ok(())
    });
    // The group of both stays with Bob.
    assert_eq!((deleted, totals(&world, &alice)), (9_999, (1, 2)));
    remove(&bob);
    // The hub deletes it when it starts, with the frames that have expired.
    let mut world = world;
    world.stop().await;
    world.start();
    let mut is_there = true;
    for _ in 0..100 {
        world.transact(|it| {
            is_there = !it.groups(&[GROUP])?.is_empty();
            Ok(())
        });
        if !is_there {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(!is_there);
    assert!(world.faults().is_empty(), "{:?}", world.faults());
}

/// Members count towards the person who made their group, also if another person adds them.
#[tokio::test(flavor = "multi_thread")]
async fn members_in_the_groups_of_a_person_are_bounded() {
    let world = with_members(5);
    let (alice, bob, carol) =
        (world.registered().await, world.registered().await, world.registered().await);
    let all = [&alice, &bob, &carol];
    make(&all).await;
    assert!(!is_stored(&alice, beginning(1, 3, &all)).await);
    assert!(is_stored(&alice, beginning(1, 5, &[&alice, &bob])).await);
    assert_eq!(totals(&world, &alice), (2, 5));
    assert!(!is_stored(&alice, beginning(2, 7, &[&alice])).await);
    // Bob cannot add to Alice's group, and can make one of his own.
    let add = |sequence, epoch| {
        let before = say(bob.frame(sequence, b"commit"), epoch, &[&alice, &bob]);
        in_group(1, commit(before, &all, bob.frame(sequence + 1, b"welcome")))
    };
    assert!(!is_stored(&bob, add(1, 1)).await);
    assert!(is_stored(&bob, beginning(3, 3, &[&bob, &alice, &carol])).await);
    // Commits that add no one are stored, and a removal makes room.
    let renewal = say(alice.frame(8, b"commit"), 1, &all);
    assert!(is_stored(&alice, commit(renewal, &all, Vec::new())).await);
    let removal = say(alice.frame(9, b"commit"), 2, &all);
    assert!(is_stored(&alice, commit(removal, &[&alice, &bob], Vec::new())).await);
    assert_eq!(totals(&world, &alice), (2, 4));
    assert!(is_stored(&bob, add(5, 1)).await);
    assert_eq!((totals(&world, &alice), totals(&world, &bob)), ((2, 5), (1, 3)));
    assert!(world.faults().is_empty(), "{:?}", world.faults());
}

/// A limit that was lowered refuses what adds, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn groups_above_a_lowered_limit_can_shrink() {
    let mut world = with_members(3);
    let (mut alice, bob, carol) =
        (world.registered().await, world.registered().await, world.registered().await);
    make(&[&alice, &bob, &carol]).await;
    world.stop().await;
    world.limits.group_members = 1;
    world.start();
    alice.reconnect(&world).await;
    let (all, both) = ([&alice, &bob, &carol], [&alice, &bob]);
    let removal = say(alice.frame(3, b"commit"), 1, &all);
    assert!(is_stored(&alice, commit(removal, &both, Vec::new())).await);
    let exchange = say(alice.frame(4, b"commit"), 2, &both);
    let exchange = commit(exchange, &[&alice, &carol], alice.frame(5, b"welcome"));
    assert!(is_stored(&alice, exchange).await, "one goes, and one comes");
    let add = say(alice.frame(6, b"commit"), 3, &[&alice, &carol]);
    assert!(!is_stored(&alice, commit(add, &all, alice.frame(7, b"welcome"))).await);
}

/// Commits that are written in one transaction count for each other.
#[tokio::test(flavor = "multi_thread")]
async fn commits_at_once_do_not_pass_the_limit() {
    let world = with_members(20);
    let (alice, bob) = (world.registered().await, world.registered().await);
    let both = [&alice, &bob];
    let mut exchange = alice.exchange().await;
    for number in 0..30 {
        exchange.send(beginning(number, 1 + 2 * u64::from(number), &both)).await;
    }
    let (mut stored, mut refused) = (0, 0);
    while refused.max(stored) < 59 {
        match exchange.receive().await {
            Some(Answer::Stored(it)) => stored = it.sequence,
            Some(Answer::Refused(it)) if it.code == Code::SPACE => refused = it.sequence.unwrap(),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(totals(&world, &alice), (10, 20));
    assert!(world.faults().is_empty(), "{:?}", world.faults());
}

/// A removal makes room for what comes after it in the same transaction.
#[tokio::test(flavor = "multi_thread")]
async fn a_removal_at_once_with_an_addition_makes_room() {
    let world = with_members(5);
    let (alice, bob, carol) =
        (world.registered().await, world.registered().await, world.registered().await);
    let (all, both) = ([&alice, &bob, &carol], [&alice, &bob]);
    make(&all).await;
    assert!(is_stored(&alice, beginning(1, 3, &both)).await);
    let mut exchange = alice.exchange().await;
    // The first renewals are written while the others come.
    for epoch in 1..=20 {
        let renewal = say(alice.frame(10 + epoch, b"commit"), epoch, &all);
        exchange.send(commit(renewal, &all, Vec::new())).await;
    }
    let removal = say(alice.frame(31, b"commit"), 21, &all);
    exchange.send(commit(removal, &both, Vec::new())).await;
    let addition = say(alice.frame(32, b"commit"), 1, &both);
    let addition = commit(addition, &all, alice.frame(33, b"welcome"));
    exchange.send(in_group(1, addition)).await;
    loop {
        match exchange.receive().await {
            Some(Answer::Stored(it)) if it.sequence == 32 => break,
            Some(Answer::Stored(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(totals(&world, &alice), (2, 5));
    assert!(world.faults().is_empty(), "{:?}", world.faults());
}

/// A device that registers itself leaves groups of others, and counts for them no longer.
#[tokio::test(flavor = "multi_thread")]
async fn devices_that_leave_groups_are_not_counted() {
    let world = with_members(4);
    let root = identity();
    let alice = world.unregistered(&root, 1).await;
    assert!(matches!(alice.register(&world.invite(1, u64::MAX / 4)).await, Answer::Welcome(_)));
    let victim = world.unregistered(&identity(), 1).await;
    let record = next_record(&root, &alice.person, &[], &[(2, &victim.device)]);
    let register = Register {
        token: None,
        certificate: certificate(&root, 2, victim.peer).as_bytes()[..].into(),
        person: record.as_bytes().into(),
    };
    assert!(matches!(alice.ask(Request::Register(register)).await, Answer::Welcome(_)));
    let both = [&alice, &victim];
    make(&both).await;
    assert!(is_stored(&alice, beginning(1, 3, &both)).await);
    assert!(!is_stored(&alice, beginning(2, 5, &both)).await);
    let token = world.invite(1, u64::MAX / 4);
    assert!(matches!(victim.register(&token).await, Answer::Welcome(_)));
    assert_eq!(totals(&world, &alice), (2, 2));
    assert!(is_stored(&alice, beginning(2, 7, &both)).await);
    assert!(world.faults().is_empty(), "{:?}", world.faults());
}

/// The sums move with the database, and the check of a store compares them with the members.
#[tokio::test(flavor = "multi_thread")]
async fn members_are_counted_after_a_move_and_checked() {
    let mut world = with_members(5);
    let (mut alice, bob) = (world.registered().await, world.registered().await);
    make(&[&alice, &bob]).await;
    assert!(is_stored(&alice, beginning(1, 3, &[&alice, &bob])).await);
    let folder = Scratch::new();
    let places = [Database::Sqlite(folder.path("one.db")), Database::new(&folder)];
    for (round, to) in places.into_iter().enumerate() {
        world.stop().await;
        let from = &world.database;
        let copy = || endseal_hub::migrate(&mut *from.open(), &mut *to.open()).unwrap();
        std::thread::scope(|scope| scope.spawn(copy).join().unwrap());
        world.database = to;
        world.start();
        alice.reconnect(&world).await;
        assert_eq!(totals(&world, &alice), (2, 4));
        let sequence = 5 + 2 * round as u64;
        assert!(!is_stored(&alice, beginning(2, sequence, &[&alice, &bob])).await);
        assert!(world.faults().is_empty(), "{:?}", world.faults());
    }
    world.database.change("UPDATE conversation SET members = members + 1");
    assert_eq!(world.faults(), ["groups with a wrong number of members: 2"]);
}
