//! Metrics: the counters follow events and identify no peer, and the pages answer correctly.

use std::collections::BTreeMap;
use std::time::Duration;

use endseal_codec::hub::{Acknowledge, Answer, Request};
use endseal_crypto::peer_id::PeerId;
use endseal_hub::{Hub, HubLimits};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use crate::puts::{put_one, subscribe};
use crate::world::{World, identity, put, put_to};

/// Returns the values by name and labels.
async fn values(world: &World) -> BTreeMap<String, f64> {
    let text = world.hub.as_ref().unwrap().metrics_text().await;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let value = |line: &str| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        let name = name.strip_prefix("endseal_hub_").unwrap_or(name);
        (name.to_owned(), value.parse().unwrap())
    };
    let count = lines.clone().count();
    let values: BTreeMap<String, f64> = lines.map(value).collect();
    assert_eq!(values.len(), count, "a series is there twice: {text}");
    values
}

#[tokio::test(flavor = "multi_thread")]
async fn counters_follow_what_happens() {
    let mut world = World::new();
    let (mut alice, mut bob) = (world.registered().await, world.registered().await);
    let _unregistered = world.unregistered(&identity(), 1).await;
    let frames = [1, 2, 3].map(|sequence| alice.frame(sequence, b"text"));
    let bytes = frames.iter().map(Vec::len).sum::<usize>() as f64;
    for (frame, times) in frames.iter().zip([2, 1, 1]) {
        for _ in 0..times {
            let answer = put_one(&alice, put(&[&bob], frame)).await;
            assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
        }
    }
    let nowhere = [PeerId::from_bytes(&[9; 32])];
    put_one(&alice, put_to(&nowhere, &alice.frame(4, b"text"))).await;
    sleep(Duration::from_millis(1_100)).await;
    let values_before = values(&world).await;
    for (name, expected) in [
        ("connections{peer=\"registered\"}", 2.0),
        ("connections{peer=\"unregistered\"}", 1.0),
        ("requests_total{kind=\"register\"}", 2.0),
        ("requests_total{kind=\"put\"}", 5.0),
        ("refusals_total{code=\"mailbox\"}", 1.0),
        ("refusals_total{code=\"full\"}", 0.0),
        ("put_frames_total", 3.0),
        ("put_bytes_total", bytes),
        ("put_seconds_count", 4.0),
        ("commit_frames_sum", 3.0),
        ("delivered_frames_total", 0.0),
        ("waiting_frames", 3.0),
        ("waiting_bytes", bytes),
        ("storage_errors_total{operation=\"write\"}", 0.0),
    ] {
        assert_eq!(values_before[name], expected, "{name}");
    }
    let age = values_before["oldest_seconds"];
    assert!((1.0..60.0).contains(&age), "{age}");
    assert!(values_before["database_bytes"] >= 4_096.0);
    assert!(values_before["commit_seconds_sum"] > 0.0);
    assert!(values_before["commit_seconds_count"] >= 6.0);

    let mut subscription = subscribe(&bob, 0, 10).await;
    let mut last = 0;
    for _ in 0..3 {
        let Some(Answer::Deliver(deliver)) = subscription.receive().await else { panic!() };
        last = deliver.position;
    }
    let acknowledge = Request::Acknowledge(Acknowledge { position: last });
    subscription.send(acknowledge).await;
    while values(&world).await["waiting_frames"] > 0.0 {
        sleep(Duration::from_millis(10)).await;
    }
    let values_after = values(&world).await;
    for (name, expected) in [
        ("requests_total{kind=\"subscribe\"}", 1.0),
        ("requests_total{kind=\"acknowledge\"}", 1.0),
        ("delivered_frames_total", 3.0),
        ("delivered_bytes_total", bytes),
        ("waiting_bytes", 0.0),
        ("oldest_seconds", 0.0),
    ] {
        assert_eq!(values_after[name], expected, "{name}");
    }

    // After a restart the gauges have the values from the database.
    put_one(&alice, put(&[&bob], &alice.frame(5, b"text"))).await;
    world.stop().await;
    world.start();
    let values = values(&world).await;
    assert_eq!((values["waiting_frames"], values["put_frames_total"]), (1.0, 0.0));
    assert_eq!(values["connections{peer=\"registered\"}"], 0.0);
    alice.reconnect(&world).await;
    bob.reconnect(&world).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn peers_who_do_not_register_are_counted() {
    let world = World::new();
    let unregistered = world.unregistered(&identity(), 1).await;
    let answer = unregistered
        .ask(Request::Hello(endseal_codec::hub::Hello { version: 1, ..Default::default() }))
        .await;
    assert!(matches!(answer, Answer::Refused(_)), "{answer:?}");
    while values(&world).await["connections{peer=\"unregistered\"}"] > 0.0 {
        sleep(Duration::from_millis(10)).await;
    }
    let values = values(&world).await;
    assert_eq!(values["refusals_total{code=\"registered\"}"], 1.0);
    assert_eq!(values["unregistered_refused_total"], 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_of_the_database_are_counted() {
    let world = World::with(HubLimits::default());
    let Some(path) = world.path() else { return };
    let bob = world.registered().await;
    let person = *bob.person.identity().ed25519().as_bytes();
    world.transact(|it| it.put_person(&person, b"damaged"));
    let answer = bob
        .ask(Request::Hello(endseal_codec::hub::Hello { version: 1, ..Default::default() }))
        .await;
    assert!(matches!(answer, Answer::Refused(_)), "{answer:?}");
    assert_eq!(values(&world).await["storage_errors_total{operation=\"write\"}"], 1.0);
    let database = rusqlite::Connection::open(path).unwrap();
    database.execute_batch("DROP TABLE delivery").unwrap();
    let values = values(&world).await;
    assert_eq!(values["storage_errors_total{operation=\"read\"}"], 1.0);
    assert!(!values.contains_key("oldest_seconds"), "it is not known");
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_name_no_one() {
    let world = World::new();
    let (alice, bob) = (world.registered().await, world.registered().await);
    put_one(&alice, put(&[&bob], &alice.frame(1, b"text"))).await;
    let text = world.hub.as_ref().unwrap().metrics_text().await;
    let mut labels = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((_, rest)) = line.split_once('{') else { continue };
        let (name, value) = rest.split_once("=\"").unwrap();
        let known = ["version", "peer", "kind", "code", "operation", "le"];
        assert!(known.contains(&name), "{line}");
        // Ids are longer than this, and addresses contain colons.
        let value = value.split_once('"').unwrap().0;
        assert!(value.len() <= 12 && !value.contains(':'), "{line}");
        labels += 1;
    }
    assert!(labels > 40, "{labels}");
}

/// Sends the bytes of a request and returns the answer.
pub(crate) async fn ask(address: std::net::SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut answer = String::new();
    // The server may close the connection before all of it is read.
    let _ = stream.read_to_string(&mut answer).await;
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_answers_what_it_should_and_waits_for_no_one() {
    let world = World::new();
    let hub: &Hub = world.hub.as_ref().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asking = async {
        // These are fewer silent connections than the server accepts at once.
        let mut silent = Vec::new();
        for _ in 0..8 {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        for (request, status, body) in [
            ("GET /healthz HTTP/1.1", "200 OK", "\r\n\r\nok\n"),
            ("GET /metrics HTTP/1.1", "200 OK", "\nendseal_hub_waiting_frames 0\n"),
            ("GET /metrics HTTP/1.1", "200 OK", "\nendseal_transport_accepted_total 0\n"),
            ("HEAD /healthz HTTP/1.1", "200 OK", "content-length: 3\r\n"),
            ("GET / HTTP/1.1", "404 Not Found", "content-length: 0"),
            ("GET", "400 Bad Request", ""),
            ("POST /metrics HTTP/1.1", "405 Method Not Allowed", "allow: GET, HEAD"),
            ("\0\x01", "400 Bad Request", ""),
        ] {
            let answer = ask(address, format!("{request}\r\nHost: hub\r\n\r\n").as_bytes()).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request}: {answer}");
            assert!(answer.contains(body), "{request}: {answer}");
        }
        let answer = ask(address, format!("GET /{}", "x".repeat(10_000)).as_bytes()).await;
        assert!(!answer.contains("200 OK"), "a request has a longest length: {answer}");
        drop(silent);
    };
    let asking = timeout(Duration::from_secs(9), asking);
    tokio::select! {
        () = hub.serve_metrics(listener) => panic!("it ended"),
        done = asking => done.expect("those that are silent hold it up"),
    }
    assert!(TcpStream::connect(address).await.is_err(), "it listens no more");
}
