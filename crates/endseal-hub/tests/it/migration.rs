//! The database of a hub is copied to another engine.

use std::thread;

use endseal_codec::hub::{Answer, Hello, Request};
use endseal_hub::{Hub, Quota, StorageError, migrate};
use endseal_testing::Scratch;
use endseal_transport::Policy;

use crate::database::Database;
use crate::puts::{put_one, subscribe};
use crate::world::{Node, World, put};

fn copy(from: &Database, to: &Database) -> Result<u64, StorageError> {
    let work = || migrate(&mut *from.open(), &mut *to.open());
    thread::scope(|scope| scope.spawn(work).join().unwrap())
}

async fn receive(bob: &Node, after: u64, count: usize) -> u64 {
    let mut exchange = subscribe(bob, after, 1_000).await;
    let mut position = 0;
    for _ in 0..count {
        let Some(Answer::Deliver(deliver)) = exchange.receive().await else { panic!() };
        position = deliver.position;
    }
    assert!(matches!(exchange.receive().await, Some(Answer::CaughtUp(_))));
    position
}

/// From a file to the engine of this run, and back to a file.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_moves_to_another_engine_and_back() {
    let mut world = World::new();
    let (mut alice, mut bob) = (world.registered().await, world.registered().await);
    for sequence in 1..=5 {
        let answer = put_one(&alice, put(&[&bob], &alice.frame(sequence, b"text"))).await;
        assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
    }
    let (of, quota) = (*alice.person.identity().ed25519().as_bytes(), Quota::default());
    let quota = Quota { from: Some(1 << 30), ..quota };
    world.transact(move |it| it.set_quota(&of, quota));
    let folder = Scratch::new();
    let places =
        [Database::Sqlite(folder.path("one.db")), Database::new(&folder), world.database.clone()];
    let (mut sequence, mut acknowledged) = (5, receive(&bob, 0, 5).await);
    // The owner of the mailbox has the first five, and one more waits at each move.
    for to in &places[..2] {
        world.stop().await;
        assert!(copy(&world.database, to).unwrap() > 10);
        assert_eq!(copy(&world.database, to).unwrap(), 0, "it was complete");
        let error = copy(&world.database, &places[2]).unwrap_err();
        assert!(error.to_string().contains("moved"), "{error}");
        let here = "127.0.0.1:0".parse().unwrap();
        let limits = world.limits.clone();
        let former = thread::scope(|scope| scope.spawn(|| world.database.open()).join().unwrap());
        let served = Hub::serve(here, world.key(), Policy::default(), former, limits);
        assert!(served.is_err(), "no hub serves from the former database");
        world.database = to.clone();
        let mut quotas = Vec::new();
        world.in_store(|store| {
            let read = store.transact(&mut |it| it.quotas().map(|found| quotas = found));
            read.unwrap();
        });
        assert_eq!(quotas, [(of, quota)]);
        world.start();
        alice.reconnect(&world).await;
        bob.reconnect(&world).await;
        let Answer::Welcome(welcome) =
            alice.ask(Request::Hello(Hello { version: 1, ..Hello::default() })).await
        else {
            panic!()
        };
        assert_eq!(welcome.sequence, Some(sequence));
        sequence += 1;
        let answer = put_one(&alice, put(&[&bob], &alice.frame(sequence, b"text"))).await;
        assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
        // A subscription acknowledges what came before it.
        let waiting = if sequence == 6 { 1 } else { 2 };
        let position = receive(&bob, acknowledged, waiting).await;
        assert!(position > acknowledged);
        acknowledged = if sequence == 6 { acknowledged } else { position };
        assert!(world.faults().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_with_another_key_is_refused() {
    let mut world = World::new();
    world.stop().await;
    let mut other = World::new();
    other.stop().await;
    let store = thread::scope(|scope| scope.spawn(|| world.database.open()).join().unwrap());
    let here = "127.0.0.1:0".parse().unwrap();
    let limits = world.limits.clone();
    let served = Hub::serve(here, other.key(), Policy::default(), store, limits);
    assert!(served.is_err_and(|error| error.to_string().contains("another key")));
}

/// A database that is not empty is refused before the first one is closed.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_target_leaves_the_hub_as_it_was() {
    let (mut world, mut other) = (World::new(), World::new());
    let alice = world.registered().await;
    drop(other.registered().await);
    (world.stop().await, other.stop().await);
    let error = copy(&world.database, &other.database).unwrap_err();
    assert!(error.to_string().contains("not empty"), "{error}");
    world.start();
    let mut alice = alice;
    alice.reconnect(&world).await;
    assert!(matches!(
        alice.ask(Request::Hello(Hello { version: 1, ..Hello::default() })).await,
        Answer::Welcome(_)
    ));
}
