//! Transactions of several processes that need the same rows at the same time. Most of these tests
//! need an engine for several processes (`tests/node/postgres.py`).

use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use endseal_codec::hub::{Acknowledge, Answer, Hello, Register, Request};
use endseal_crypto::peer_id::PeerId;
use endseal_hub::{Quota, StorageError};
use endseal_testing::Scratch;
use tokio::time::sleep;

use crate::database::Database;
use crate::directory::next_record;
use crate::puts::{put_one, subscribe};
use crate::world::{Node, World, identity, put};

/// A member whose devices acknowledge at two hubs, in opposite orders, does not stop their writers:
/// messages are locked in the order of their numbers.
#[tokio::test(flavor = "multi_thread")]
async fn a_member_makes_no_deadlocks() {
    const PAIRS: usize = 8;
    let world = World::new();
    if world.path().is_some() {
        return;
    }
    let other = world.beside();
    let (alice, victim) = (world.registered().await, world.registered().await);
    let (mut here, mut there) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        here.push(world.registered().await);
        let mut node = world.registered().await;
        node.reconnect(&other).await;
        there.push(node);
    }
    let mut mine = Vec::new();
    for node in here.iter().chain(&there) {
        mine.push(subscribe(node, 0, 1_000_000).await);
    }
    let mut sequence = 0;
    for _ in 0..20 {
        let mut exchange = alice.exchange().await;
        for pair in 0..PAIRS {
            sequence += 1;
            let targets = [&here[pair], &there[pair]];
            exchange.send(put(&targets, &alice.frame(sequence, b"text"))).await;
        }
        let mut positions = Vec::new();
        for exchange in &mut mine {
            loop {
                if let Some(Answer::Deliver(it)) = exchange.receive().await {
                    positions.push(it.position);
                    break;
                }
            }
        }
        let (left, right) = mine.split_at_mut(PAIRS);
        let acknowledge = |at: usize| Request::Acknowledge(Acknowledge { position: positions[at] });
        let ahead = async {
            for (at, exchange) in left.iter_mut().enumerate() {
                exchange.send(acknowledge(at)).await;
            }
        };
        let back = async {
            for (at, exchange) in right.iter_mut().enumerate().rev() {
                exchange.send(acknowledge(PAIRS + at)).await;
            }
        };
        tokio::join!(ahead, back);
        let answer = victim.ask(Request::Hello(Hello { version: 1, ..Hello::default() })).await;
        assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");
        sleep(Duration::from_millis(50)).await;
    }
    sleep(Duration::from_secs(2)).await;
    let sql = "SELECT deadlocks FROM pg_stat_database
        WHERE datname = current_database() AND $1::bytea IS NOT NULL";
    assert_eq!(world.database.count(sql, b""), 0, "deadlocks");
}

/// Two transactions delete the last two deliveries of a message at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_two_deliveries_of_a_message_leave_together() {
    let world = World::new();
    if world.path().is_some() {
        return;
    }
    let (alice, bob, carol) =
        (world.registered().await, world.registered().await, world.registered().await);
    let answer = put_one(&alice, put(&[&bob, &carol], &alice.frame(1, b"text"))).await;
    assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
    let devices = world.in_store(|store| store.devices()).unwrap();
    let row = |node: &Node| devices.iter().find(|it| it.peer == node.peer).unwrap().row;
    let (first, second) = (row(&bob), row(&carol));
    let (locked, waits) = mpsc::channel();
    let waits = Mutex::new(waits);
    let work = || {
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                let mut frames = 0;
                let mut store = world.database.open();
                waits.lock().unwrap().recv().unwrap();
                store
                    .transact(&mut |it| {
                        let deleted = it.delete_deliveries(second, u64::MAX / 4)?;
                        frames = deleted.shares.iter().map(|it| it.frames).sum();
                        Ok(())
                    })
                    .unwrap();
                frames
            });
            let mut store = world.database.open();
            store
                .transact(&mut |it| {
                    it.delete_deliveries(first, u64::MAX / 4)?;
                    locked.send(()).unwrap();
                    thread::sleep(Duration::from_millis(500));
                    Ok(())
                })
                .unwrap();
            other.join().unwrap()
        })
    };
    let counted = thread::scope(|scope| scope.spawn(work).join().unwrap());
    let left = "SELECT count(*) FROM message WHERE $1::bytea IS NOT NULL";
    assert_eq!((counted, world.database.count(left, b"")), (1, 0));
}

/// Two hubs with two keys start at once before a new database.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_database_gets_one_owner() {
    let database = Database::new(&Scratch::new());
    let Database::Postgres(_) = &database else { return };
    let claim = |key: u8, after: u64| {
        let database = database.clone();
        thread::spawn(move || {
            let mut store = database.open();
            thread::sleep(Duration::from_millis(1_000 + after));
            store.transact(&mut |it| {
                it.claim(&PeerId::from_bytes(&[key; 32]))?;
                thread::sleep(Duration::from_millis(600));
                Ok(())
            })
        })
    };
    let (first, second) = (claim(1, 0), claim(2, 200));
    let both = [first.join().unwrap(), second.join().unwrap()];
    assert!(both.iter().any(Result::is_err), "{both:?}");
}

/// Two stores lock two devices in opposite order. Both commit.
#[tokio::test(flavor = "multi_thread")]
async fn transactions_that_wait_for_each_other_are_repeated() {
    let world = World::new();
    if world.path().is_some() {
        return;
    }
    let nodes = [world.registered().await, world.registered().await];
    let locks = |peers: [_; 2]| {
        let database = world.database.clone();
        move || {
            let mut runs = 0;
            let done = database.open().transact(&mut |it| {
                runs += 1;
                it.mailboxes(&peers[..1])?;
                if runs == 1 {
                    thread::sleep(Duration::from_millis(500));
                }
                it.mailboxes(&peers[1..])?;
                Ok(())
            });
            done.map(|()| runs)
        }
    };
    let [one, two] = [nodes[0].peer, nodes[1].peer];
    let threads = [thread::spawn(locks([one, two])), thread::spawn(locks([two, one]))];
    let runs = threads.map(|it| it.join().unwrap());
    let runs: Result<Vec<i32>, StorageError> = runs.into_iter().collect();
    // The one that was aborted may begin before the other goes on, and meet it again.
    let runs: i32 = runs.unwrap().iter().sum();
    assert!((3..=6).contains(&runs), "{runs} runs of two transactions");
}

/// A device registers at two hubs at once, with an invitation for one.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_registers_at_two_hubs_at_once() {
    let world = World::new();
    if world.path().is_some() {
        return;
    }
    let other = world.beside();
    for round in 0..10 {
        let here = world.unregistered(&identity(), 1).await;
        let connection = here.endpoint.connect(other.peer, other.address).await.unwrap();
        let register = |token| {
            Request::Register(Register {
                token,
                certificate: here.certificate.as_bytes()[..].into(),
                person: here.person.as_bytes().into(),
            })
        };
        let token = world.invite(1, u64::MAX / 4);
        let there = Node {
            endpoint: here.endpoint.clone(),
            connection,
            peer: here.peer,
            device: identity(),
            certificate: here.certificate.clone(),
            person: here.person.clone(),
        };
        let ask = |node| put_one(node, register(Some(*token.expose_secret())));
        let (one, two) = tokio::join!(ask(&here), ask(&there));
        for answer in [one, two] {
            assert!(matches!(answer, Answer::Welcome(_)), "{round}: {answer:?}");
        }
    }
    assert!(world.faults().is_empty());
}

/// Two devices continue one person record at two hubs at once. One of them is accepted.
#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_not_forked_at_two_hubs() {
    let world = World::new();
    if world.path().is_some() {
        return;
    }
    let other = world.beside();
    for round in 0..10 {
        let root = identity();
        let first = world.unregistered(&root, 1).await;
        assert!(matches!(first.register(&world.invite(1, u64::MAX / 4)).await, Answer::Welcome(_)));
        let (one, mut two) =
            (world.unregistered(&root, 2).await, world.unregistered(&root, 2).await);
        two.reconnect(&other).await;
        let ask = async |node: &Node| {
            let record = next_record(&root, &first.person, &[], &[(2, &node.device)]);
            let register = Register {
                token: None,
                certificate: node.certificate.as_bytes()[..].into(),
                person: record.as_bytes().into(),
            };
            put_one(node, Request::Register(register)).await
        };
        let answers = tokio::join!(ask(&one), ask(&two));
        let welcome = [&answers.0, &answers.1].map(|it| matches!(it, Answer::Welcome(_)));
        assert_eq!(welcome.iter().filter(|it| **it).count(), 1, "{round}: {answers:?}");
    }
}

/// Commands of the operator change quotas at the same time: none undoes another.
#[tokio::test(flavor = "multi_thread")]
async fn quotas_are_changed_at_once() {
    let world = World::new();
    // Persons, and the limits that commands give them.
    let changes = [(1, Some(7), None), (1, None, Some(9)), (2, Some(8), None)];
    let start = Arc::new(Barrier::new(changes.len()));
    let threads = changes.map(|(person, from, mailbox): (u8, Option<u64>, Option<u64>)| {
        let (database, start) = (world.database.clone(), Arc::clone(&start));
        thread::spawn(move || {
            let mut store = database.open();
            start.wait();
            let done = store.transact(&mut |it| {
                it.change_quota(&[person; 32], &|before| Quota {
                    from: from.or(before.from),
                    mailbox: mailbox.or(before.mailbox),
                })?;
                thread::sleep(Duration::from_millis(300));
                Ok(())
            });
            done.unwrap();
        })
    });
    for it in threads {
        it.join().unwrap();
    }
    let mut quotas = Vec::new();
    world.transact(|it| it.quotas().map(|all| quotas = all));
    quotas.sort_unstable_by_key(|it| it.0);
    let both = Quota { from: Some(7), mailbox: Some(9) };
    assert_eq!(quotas, [([1; 32], both), ([2; 32], Quota { from: Some(8), mailbox: None })]);
}
