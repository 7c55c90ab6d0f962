//! Several hubs with one key before one database, and its failures. Only an engine for several
//! processes has these tests (`tests/node/postgres.py`).

use std::thread;
use std::time::{Duration, Instant};

use endseal_codec::hub::{Acknowledge, Answer, Code, Hello, Publish, Request, Stored};
use endseal_hub::migrate;
use endseal_testing::Scratch;
use endseal_transport::ConnectError;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use crate::database::Database;
use crate::directory::next_record;
use crate::metrics::ask;
use crate::puts::{put_one, subscribe};
use crate::world::{Exchange, Node, World, identity, put};

async fn delivered(exchange: &mut Exchange) -> Vec<u8> {
    match exchange.receive().await {
        Some(Answer::Deliver(deliver)) => deliver.frame.to_vec(),
        other => panic!("{other:?}"),
    }
}

async fn caught_up(exchange: &mut Exchange) {
    let answer = exchange.receive().await;
    assert!(matches!(answer, Some(Answer::CaughtUp(_))), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_put_at_one_hub_is_delivered_by_another() {
    let world = World::new();
    if world.path().is_some() {
        return;
    }
    let other = world.beside();
    let (alice, mut bob) = (world.registered().await, world.registered().await);
    bob.reconnect(&other).await;
    let mut exchange = subscribe(&bob, 0, 100).await;
    caught_up(&mut exchange).await;
    let mut longest = Duration::ZERO;
    for sequence in 1..=20 {
        let begin = Instant::now();
        let answer = put_one(&alice, put(&[&bob], &alice.frame(sequence, b"text"))).await;
        assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
        assert_eq!(delivered(&mut exchange).await, alice.frame(sequence, b"text"));
        longest = longest.max(begin.elapsed());
        caught_up(&mut exchange).await;
    }
    // Without announcements, the look at all mailboxes takes up to a second.
    assert!(longest < Duration::from_millis(900), "{longest:?}");
    // The other hub knows the number of a frame, and stores it once.
    let mut alice = alice;
    alice.reconnect(&other).await;
    let answer = put_one(&alice, put(&[&bob], &alice.frame(20, b"text"))).await;
    assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
    assert!(exchange.is_silent().await);
    assert!(world.faults().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_hub_revokes_another_refuses() {
    let world = World::new();
    if world.path().is_some() {
        return;
    }
    let other = world.beside();
    let root = identity();
    let (first, mut second) =
        (world.unregistered(&root, 1).await, world.unregistered(&root, 2).await);
    let token = world.invite(2, u64::MAX / 4);
    assert!(matches!(first.register(&token).await, Answer::Welcome(_)));
    let both = next_record(&root, &first.person, &[], &[(2, &second.device)]);
    let answer = second.register_as(&token, &second.certificate, &both).await;
    assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");
    second.reconnect(&other).await;
    let mut exchange = subscribe(&second, 0, 100).await;
    caught_up(&mut exchange).await;
    let person = next_record(&root, &both, &[2], &[]).as_bytes().into();
    let answer = first.ask(Request::Publish(Publish { person, ..Publish::default() })).await;
    assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");
    // Its next request is refused at once, and its subscription ends within seconds.
    let answer = second.ask(Request::Hello(Hello { version: 1, ..Hello::default() })).await;
    assert!(matches!(&answer, Answer::Refused(it) if it.code == Code::REVOKED), "{answer:?}");
    let ended = timeout(Duration::from_secs(5), exchange.receive()).await.expect("it ends");
    assert!(matches!(&ended, Some(Answer::Refused(it)) if it.code == Code::REVOKED), "{ended:?}");
}

/// Sends frames one after the other, and again with a new connection when one is not confirmed.
async fn send_all(node: &mut Node, worlds: [&World; 2], to: &[&Node], count: u64) {
    let mut next = 1;
    let mut round = 0;
    while next <= count {
        let mut exchange = node.exchange().await;
        let last = count.min(next + 39);
        for sequence in next..=last {
            exchange.send(put(to, &node.frame(sequence, &sequence.to_le_bytes()))).await;
        }
        while next <= last {
            match exchange.receive().await {
                Some(Answer::Stored(Stored { sequence })) => next = sequence + 1,
                // The database failed: the rest is put again.
                _ => break,
            }
        }
        round += 1;
        // A hub whose database is away for a moment says that it is busy.
        let world = worlds[round % 2];
        while let Err(error) = node.endpoint.connect(world.peer, world.address).await.map(|it| {
            node.connection = it;
        }) {
            assert!(matches!(error, ConnectError::Busy), "{error}");
        }
    }
}

/// Receives the frames of a sender, acknowledges each tenth, and checks that none is missing.
async fn receive_all(node: &Node, senders: usize, count: u64) {
    let mut next = vec![1; senders];
    let mut exchange = subscribe(node, 0, 1_000_000).await;
    let mut received = 0;
    while received < senders as u64 * count {
        match exchange.receive().await {
            Some(Answer::Deliver(deliver)) => {
                let sealed = &deliver.frame;
                let frames = next.iter_mut().enumerate();
                let mut found = false;
                for (sender, next) in frames {
                    // The text is the number; each sender has a length of its own.
                    let text = text_of(sender, *next);
                    if sealed.windows(text.len()).any(|part| part == text) {
                        *next += 1;
                        found = true;
                        break;
                    }
                }
                assert!(found, "a frame that is not the next one of its sender");
                received += 1;
                if received % 10 == 0 {
                    let position = deliver.position;
                    exchange.send(Request::Acknowledge(Acknowledge { position })).await;
                }
            }
            Some(Answer::CaughtUp(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

fn text_of(sender: usize, sequence: u64) -> Vec<u8> {
    format!("<{sender}:{sequence}>").into_bytes()
}

/// Three senders at two hubs put frames into the same two mailboxes, whose owners acknowledge at
/// the other hub. Nothing is lost or stored twice, and nothing is left over.
#[tokio::test(flavor = "multi_thread")]
async fn frames_of_two_hubs_meet_in_the_same_mailboxes() {
    const COUNT: u64 = 120;
    let world = World::new();
    if world.path().is_some() {
        return;
    }
    let other = world.beside();
    let mut senders = Vec::new();
    for number in 0..3 {
        let mut node = world.registered().await;
        node.reconnect([&world, &other][number % 2]).await;
        senders.push(node);
    }
    let (bob, mut carol) = (world.registered().await, world.registered().await);
    carol.reconnect(&other).await;
    let targets = [&bob, &carol];
    let send = async |number: usize, node: &Node| {
        for sequence in 1..=COUNT {
            let request = put(&targets, &node.frame(sequence, &text_of(number, sequence)));
            let answer = put_one(node, request).await;
            assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
        }
    };
    let all = async {
        tokio::join!(
            send(0, &senders[0]),
            send(1, &senders[1]),
            send(2, &senders[2]),
            receive_all(&bob, 3, COUNT),
            receive_all(&carol, 3, COUNT),
        )
    };
    timeout(Duration::from_secs(60), all).await.expect("no hub waits for the other");
    let mut open = Vec::new();
    for node in [&bob, &carol] {
        let mut exchange = subscribe(node, 0, 1_000_000).await;
        let mut last = 0;
        while let Some(Answer::Deliver(deliver)) = exchange.receive().await {
            last = deliver.position;
        }
        exchange.send(Request::Acknowledge(Acknowledge { position: last })).await;
        open.push(exchange);
    }
    sleep(Duration::from_millis(500)).await;
    assert!(world.faults().is_empty(), "{:?}", world.faults());
    let left = "SELECT count(*) FROM message WHERE $1::bytea IS NOT NULL";
    assert_eq!(world.database.count(left, b""), 0, "no message is left over");
}

/// The server ends connections of the hubs while frames are put, also between a commit and its
/// answer. Each frame is stored once.
#[tokio::test(flavor = "multi_thread")]
async fn a_frame_is_stored_once_although_connections_of_the_database_end() {
    const COUNT: u64 = 400;
    let world = World::new();
    if world.path().is_some() {
        return;
    }
    let other = world.beside();
    let (mut alice, bob) = (world.registered().await, world.registered().await);
    let ending = async {
        loop {
            sleep(Duration::from_millis(40)).await;
            end_connections(&world);
        }
    };
    let (worlds, targets) = ([&world, &other], [&bob]);
    let sending = send_all(&mut alice, worlds, &targets, COUNT);
    tokio::select! {
        () = ending => {}
        sent = timeout(Duration::from_secs(60), sending) => sent.expect("frames are stored"),
    }
    let sql =
        "SELECT count(*) FROM delivery WHERE device = (SELECT id FROM device WHERE peer = $1)";
    assert_eq!(world.database.count(sql, bob.peer.as_bytes()), COUNT.cast_signed());
    assert!(world.faults().is_empty(), "{:?}", world.faults());
}

/// Ends the connections of all hubs, as a restart of the server does.
fn end_connections(world: &World) {
    let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND application_name = 'endseal-hub' AND $1::bytea IS NOT NULL";
    world.database.count(sql, b"");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_frame_after_the_connections_ended_is_stored() {
    let world = World::new();
    if world.path().is_some() {
        return;
    }
    let (alice, bob) = (world.registered().await, world.registered().await);
    for sequence in 1..=5 {
        end_connections(&world);
        let answer = put_one(&alice, put(&[&bob], &alice.frame(sequence, b"text"))).await;
        assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
    }
}

/// A copy that PostgreSQL's tools made hands out nothing that the first database may have handed
/// out since.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_the_database_gives_nothing_out_twice() {
    let mut world = World::new();
    if world.path().is_some() {
        return;
    }
    let _token = world.invite(3, u64::MAX / 4);
    world.stop().await;
    let invitations = |database: &Database| {
        thread::scope(|scope| {
            scope.spawn(|| database.open().invitations().unwrap().len()).join().unwrap()
        })
    };
    assert_eq!(invitations(&world.database), 1);
    let copy = world.database.copied();
    assert_eq!(invitations(&copy), 0);
    assert_eq!(invitations(&world.database), 1);
}

/// A process that was stopped while the database was moved does not serve from it afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_comes_back_to_a_moved_database_writes_nothing() {
    let world = World::new();
    if world.path().is_some() {
        return;
    }
    let alice = world.registered().await;
    let bob = world.registered().await;
    let folder = Scratch::new();
    let to = Database::Sqlite(folder.path("one.db"));
    // The server takes the connections of a process that does not answer.
    world.database.without_others(|| {
        thread::scope(|scope| {
            let work = || migrate(&mut *world.database.open(), &mut *to.open());
            scope.spawn(work).join().unwrap()
        })
        .unwrap();
    });
    let answer = put_one(&alice, put(&[&bob], &alice.frame(1, b"text"))).await;
    assert!(matches!(&answer, Answer::Refused(it) if it.code == Code::STORAGE), "{answer:?}");
    let sql = "SELECT count(*) FROM message WHERE $1 <> ''::bytea";
    assert_eq!(world.database.count(sql, b"x"), 0);
}

/// A hub is not ready while its server is away, although no one writes.
#[tokio::test(flavor = "multi_thread")]
async fn a_hub_without_its_server_is_not_ready() {
    let world = World::new();
    if world.path().is_some() {
        return;
    }
    let hub = world.hub.as_ref().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asking = async {
        let ready = || async { ask(address, b"GET /readyz HTTP/1.1\r\nHost: hub\r\n\r\n").await };
        assert!(ready().await.starts_with("HTTP/1.1 200"));
        world.database.close();
        let answer = ready().await;
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        world.database.reopen();
        let answer = ready().await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    };
    tokio::select! {
        () = hub.serve_metrics(listener) => unreachable!(),
        () = asking => {}
    }
}

/// A hub is not ready while its server has no space for frames, although its probe of the database
/// needs none.
#[tokio::test(flavor = "multi_thread")]
async fn a_hub_whose_server_is_full_is_not_ready() {
    let world = World::new();
    if world.path().is_some() {
        return;
    }
    let (alice, bob) = (world.registered().await, world.registered().await);
    let hub = world.hub.as_ref().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let request = |sequence| put(&[&bob], &alice.frame(sequence, b"text"));
    let asking = async {
        let ready = || async { ask(address, b"GET /readyz HTTP/1.1\r\nHost: hub\r\n\r\n").await };
        world.database.fill_disk();
        // No one has put a frame.
        assert!(ready().await.starts_with("HTTP/1.1 200"));
        let answer = put_one(&alice, request(1)).await;
        assert!(matches!(&answer, Answer::Refused(it) if it.code == Code::STORAGE), "{answer:?}");
        for _ in 0..2 {
            let answer = ready().await;
            assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
            // All else than frames goes on.
            let answer = bob.ask(Request::Hello(Hello { version: 1, ..Hello::default() })).await;
            assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");
        }
        world.database.free_disk();
        let answer = ready().await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let answer = put_one(&alice, request(1)).await;
        assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
        assert!(world.faults().is_empty());
    };
    tokio::select! {
        () = hub.serve_metrics(listener) => unreachable!(),
        () = asking => {}
    }
}
