//! Tests of writes while keys are rewrapped. A relay between the run and the folder lets a client
//! write at the worst moment.

use core::sync::atomic::{AtomicBool, Ordering};
use std::net::SocketAddr;
use std::sync::Arc;

use endseal_crypto::random::OsRandom;
use endseal_kms::ring::RingFile;
use endseal_s3proxy::admin::{Rewrap, rewrap};
use endseal_s3proxy::bucket::{BucketRule, Buckets, Plaintext};
use endseal_s3proxy::config::{Backend, Config};
use endseal_s3proxy::{Glob, Proxy};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::fixture::{World, config, content, serve};
use crate::multipart::{PART, begin, complete, part};
use crate::odd_server::{OddServer, Oddity};

/// Relay to the folder. Before it forwards a request of a certain kind, it reports this and waits
/// until it may continue.
pub(crate) struct Relay {
    address: SocketAddr,
    pub(crate) arrived: mpsc::Receiver<()>,
    pub(crate) go_on: mpsc::Sender<()>,
}

impl Relay {
    pub(crate) async fn before(folder: SocketAddr, wanted: fn(&str) -> bool) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (arriving, arrived) = mpsc::channel(1);
        let (go_on, going_on) = mpsc::channel(1);
        let going_on = Arc::new(tokio::sync::Mutex::new(going_on));
        let is_done = Arc::new(AtomicBool::new(false));
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let far = TcpStream::connect(folder).await.unwrap();
                let (mut read, mut answer) = near.into_split();
                let (mut answers, mut write) = far.into_split();
                tokio::spawn(async move { tokio::io::copy(&mut answers, &mut answer).await });
                let (arriving, going_on) = (arriving.clone(), Arc::clone(&going_on));
                let is_done = Arc::clone(&is_done);
                tokio::spawn(async move {
                    let mut buffer = vec![0; 64 * 1024];
                    // A request without a body arrives in one read over the loopback interface.
                    while let Ok(len @ 1..) = read.read(&mut buffer).await {
                        let piece = &buffer[..len];
                        if wanted(&String::from_utf8_lossy(piece))
                            && !is_done.swap(true, Ordering::SeqCst)
                        {
                            arriving.send(()).await.unwrap();
                            going_on.lock().await.recv().await.unwrap();
                        }
                        if write.write_all(piece).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, arrived, go_on }
    }

    pub(crate) fn config(&self, world: &World) -> Config {
        config_of(world, self.address)
    }
}

/// Returns a configuration with the folder at another address.
pub(crate) fn config_of(world: &World, address: SocketAddr) -> Config {
    let folder = Backend::served(&world.folder);
    let url = format!("http://{address}");
    let mut backend = Backend::new(&url, &folder.access_key, folder.secret_key.clone());
    backend.trailers = false;
    config(backend, &world.ring())
}

pub(crate) fn folder(world: &World) -> SocketAddr {
    Backend::served(&world.folder).url.strip_prefix("http://").unwrap().parse().unwrap()
}

/// Every operation of several requests to the backend begins again if the object is replaced
/// between two of them. Clients that set no condition would take 412 for the answer to one.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_replaced_meanwhile_is_read_anew() {
    let pinned = |request: &str| request.to_lowercase().contains("if-match: ");
    let copied = [("x-amz-copy-source", "bucket/key")];
    let ranged = [("x-amz-copy-source", "bucket/key"), ("x-amz-copy-source-range", "bytes=0-9")];
    for (method, target, headers) in [
        ("GET", "/bucket/key", &[("range", "bytes=-1000")][..]),
        ("GET", "/bucket/key?partNumber=1", &[]),
        ("GET", "/bucket/key", &[]),
        ("HEAD", "/bucket/key?partNumber=1", &[]),
        ("PUT", "/bucket/copy", &copied),
        ("PUT", "/bucket/parts?partNumber=1&uploadId=", &ranged),
    ] {
        let (world, front) = World::with_bucket().await;
        let writer = &front.client;
        let id = begin(writer, "/bucket/key", &[]).await;
        let tag = part(writer, "/bucket/key", &id, 1, &content(100_000, 1)).await;
        complete(writer, "/bucket/key", &id, &[(1, tag)]).await.expect(200);
        let upload = begin(writer, "/bucket/parts", &[]).await;
        let mut relay = Relay::before(folder(&world), pinned).await;
        let reader = serve(&relay.config(&world)).await;
        let name = if target.ends_with('=') { format!("{target}{upload}") } else { target.into() };
        let asked = async { reader.client.ask_with(method, &name, headers).await };
        let replaced = async {
            relay.arrived.recv().await.unwrap();
            writer.put("/bucket/key", &content(50_000, 2)).await.expect(200);
            relay.go_on.send(()).await.unwrap();
        };
        let (answer, ()) = tokio::join!(asked, replaced);
        assert!(matches!(answer.status, 200 | 206), "{method} {target}: {}", answer.status);
        match (method, target) {
            ("GET", _) => assert!(content(50_000, 2).ends_with(&answer.body), "{target}"),
            ("HEAD", _) => assert_eq!(answer.header("content-length"), Some("50000")),
            ("PUT", "/bucket/copy") => {
                let copy = writer.ask("GET", "/bucket/copy").await.expect(200);
                assert!(copy.body == content(50_000, 2));
            }
            _ => {
                let parts = [(1, answer.element("ETag"))];
                complete(writer, "/bucket/parts", &upload, &parts).await.expect(200);
                let got = writer.ask("GET", "/bucket/parts").await.expect(200);
                assert!(got.body == content(50_000, 2)[..10]);
            }
        }
    }
}

/// A source that is replaced at each attempt ends in an answer that says so.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_replaced_without_end_is_asked_for_later() {
    let (world, _front) = World::with_bucket().await;
    let server = OddServer::start(&world, Oddity::RefusesConditions).await;
    let front = serve(&config_of(&world, server.address)).await;
    let id = begin(&front.client, "/bucket/key", &[]).await;
    let tag = part(&front.client, "/bucket/key", &id, 1, &content(100_000, 1)).await;
    complete(&front.client, "/bucket/key", &id, &[(1, tag)]).await.expect(200);
    let answer = front.client.ask_with("GET", "/bucket/key", &[("range", "bytes=-10")]).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
    // A condition of the client is answered as before.
    let other = [("if-match", "\"other-0\"")];
    front.client.ask_with("GET", "/bucket/key", &other).await.expect(412);
}

fn rotate(world: &World) {
    RingFile::at(&world.ring())
        .change(None, &mut OsRandom, |ring| ring.add(1_800_000_000, &mut OsRandom).map(drop))
        .unwrap();
}

/// Rewraps keys, and writes at the moment that the relay waits for.
async fn overtaken(world: &World, options: Rewrap, wanted: fn(&str) -> bool) {
    let mut relay = Relay::before(folder(world), wanted).await;
    let config = relay.config(world);
    let proxy = Arc::new(Proxy::start(&config).unwrap());
    let run = tokio::spawn(async move { rewrap(&proxy, &options, |_| {}).await });
    relay.arrived.recv().await.unwrap();
    let front = world.proxy().await;
    front.client.put("/bucket/key", b"new").await.expect(200);
    relay.go_on.send(()).await.unwrap();
    let report = run.await.unwrap().unwrap();
    assert_eq!((report.changed, report.rewrapped, report.failed), (1, 0, 0));
    assert!(!report.is_complete());
    assert_eq!(front.client.ask("GET", "/bucket/key").await.expect(200).body, b"new");
    let uploads = world.backend().ask("GET", "/bucket?uploads").await.expect(200);
    assert!(uploads.elements("UploadId").is_empty());
}

/// Some servers keep checksums of plaintext and return them on request.
#[tokio::test(flavor = "multi_thread")]
async fn checksums_of_plaintext_are_asked_for_where_it_may_be_read() {
    let (world, _front) = World::with_bucket().await;
    world.backend().put("/bucket/open", b"plaintext").await.expect(200);
    let mode = [("x-amz-checksum-mode", "ENABLED")];
    for (method, range) in [("GET", None), ("GET", Some("bytes=-2")), ("HEAD", None)] {
        for (plaintext, is_asked) in
            [(Plaintext::ReadOnly, true), (Plaintext::Allow, true), (Plaintext::Forbid, false)]
        {
            let mut relay = Relay::before(folder(&world), |request| {
                request.contains("/bucket/open ")
                    && request.contains("x-amz-checksum-mode: ENABLED")
            })
            .await;
            let mut config = relay.config(&world);
            let mut rule = BucketRule::new(Glob::new("*"));
            rule.plaintext = plaintext;
            config.buckets = Buckets::new(vec![rule]);
            let front = serve(&config).await;
            let mut headers = mode.to_vec();
            headers.extend(range.map(|range| ("range", range)));
            let asking = front.client.ask_with(method, "/bucket/open", &headers);
            let arrival = async {
                let arrives = relay.arrived.recv();
                let timeout = core::time::Duration::from_millis(500);
                let is_there = tokio::time::timeout(timeout, arrives).await.is_ok();
                relay.go_on.send(()).await.unwrap();
                is_there
            };
            let (answer, arrived) = tokio::join!(asking, arrival);
            assert_eq!(arrived, is_asked, "{method} {range:?} {plaintext:?}");
            assert_eq!(matches!(answer.status, 200 | 206), is_asked, "{method} {plaintext:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_writes_before_the_copy_wins() {
    let (world, front) = World::with_bucket().await;
    front.client.put("/bucket/key", &content(100_000, 1)).await.expect(200);
    rotate(&world);
    overtaken(&world, Rewrap::default(), |request| {
        request.starts_with("PUT /bucket/key ") && request.contains("x-amz-copy-source")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_writes_between_copied_parts_or_before_their_end_wins() {
    let (world, front) = World::with_bucket().await;
    let large = async || {
        let client = &front.client;
        let id = begin(client, "/bucket/key", &[]).await;
        let mut parts = Vec::new();
        for number in 1..=2 {
            let body = content(PART, u64::from(number));
            parts.push((number, part(client, "/bucket/key", &id, number, &body).await));
        }
        complete(client, "/bucket/key", &id, &parts).await.expect(200);
    };
    let mut options = Rewrap::default();
    options.largest_copy = PART as u64;
    options.part = PART as u64;
    let moments: [fn(&str) -> bool; 2] = [
        |request| request.contains("partNumber=2&"),
        |request| request.starts_with("POST ") && !request.contains("?uploads"),
    ];
    for moment in moments {
        large().await;
        rotate(&world);
        overtaken(&world, options.clone(), moment).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_deleted_meanwhile_does_not_come_back() {
    let (world, front) = World::with_bucket().await;
    front.client.put("/bucket/key", b"content").await.expect(200);
    rotate(&world);
    let mut relay = Relay::before(folder(&world), |request| {
        request.starts_with("PUT /bucket/key ") && request.contains("x-amz-copy-source")
    })
    .await;
    let proxy = Arc::new(Proxy::start(&relay.config(&world)).unwrap());
    let run = tokio::spawn(async move { rewrap(&proxy, &Rewrap::default(), |_| {}).await });
    relay.arrived.recv().await.unwrap();
    front.client.ask("DELETE", "/bucket/key").await.expect(204);
    relay.go_on.send(()).await.unwrap();
    let report = run.await.unwrap().unwrap();
    assert_eq!((report.gone, report.changed, report.rewrapped), (1, 0, 0));
    assert!(world.backend().ask("GET", "/bucket").await.elements("Key").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_heeds_no_conditions_of_copies_is_left_alone() {
    let (world, front) = World::with_bucket().await;
    front.client.put("/bucket/key", b"content").await.expect(200);
    rotate(&world);
    let before = world.backend().ask("HEAD", "/bucket/key").await.expect(200).etag();
    let address = OddServer::start(&world, Oddity::HeedlessOfCopies).await.address;
    let config = config_of(&world, address);
    let proxy = Arc::new(Proxy::start(&config).unwrap());
    let report = rewrap(&proxy, &Rewrap::default(), |_| {}).await.unwrap();
    assert_eq!((report.failed, report.rewrapped), (1, 0));
    let backend = world.backend();
    assert_eq!(backend.ask("HEAD", "/bucket/key").await.expect(200).etag(), before);
    let mut options = Rewrap::default();
    options.unconditional = true;
    let report = rewrap(&proxy, &options, |_| {}).await.unwrap();
    assert_eq!((report.failed, report.rewrapped), (0, 1));
    assert_eq!(backend.ask("GET", "/bucket").await.expect(200).elements("Key"), ["key"]);
    assert_eq!(world.proxy().await.client.ask("GET", "/bucket/key").await.body, b"content");
}
