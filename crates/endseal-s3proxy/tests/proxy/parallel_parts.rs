//! Tests of large uploads that are sent to the backend in parallel parts.

use core::sync::atomic::Ordering::SeqCst;
use core::time::Duration;
use std::path::Path;
use std::sync::Arc;

use endseal_s3_protocol::checksum::{ChecksumKind, Hasher};
use endseal_s3proxy::Config;
use endseal_s3proxy::admin::{Rewrap, Scrub, scrub};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::client::{Answer, Client};
use crate::fixture::{Front, World, content, eventually, serve};
use crate::odd_server::{OddServer, Oddity};
use crate::races::config_of;
use crate::rewrap::{forget, rotate, run};

const PART: usize = 5 << 20;

/// Length of content that is sent in six parts.
const LARGE: usize = 5 * PART + 12_345;

/// Switches parallel parts on.
fn in_parts(mut config: Config) -> Config {
    config.backend.parts_at_once = 3;
    config.backend.part_size = PART;
    config.limits.part_memory = 3 * PART;
    config
}

async fn world() -> (World, Front) {
    let world = World::new();
    let front = serve(&in_parts(world.config())).await;
    front.client.ask("PUT", "/bucket").await.expect(200);
    (world, front)
}

async fn unfinished(backend: &Client) -> usize {
    backend.ask("GET", "/bucket?uploads").await.expect(200).elements("UploadId").len()
}

/// Waits until the backend has no upload that was neither completed nor aborted.
async fn all_ended(backend: &Client) {
    for _ in 0..3_000 {
        if unfinished(backend).await == 0 {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("an upload remains");
}

/// Returns the entity tag of an object, if all answers have the same.
async fn tag(client: &Client, target: &str) -> String {
    let head = client.ask("HEAD", target).await.expect(200).etag();
    assert_eq!(client.ask("GET", target).await.expect(200).etag(), head);
    let (bucket, key) = target[1..].split_once('/').unwrap();
    let list = client.ask("GET", &format!("/{bucket}?list-type=2&prefix={key}")).await.expect(200);
    assert_eq!(list.element("ETag"), head);
    head
}

fn metric(front: &Front, name: &str) -> u64 {
    crate::metrics::value(&front.proxy.metrics_text(), &format!("endseal_s3_{name}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_upload_is_the_same_as_one_request() {
    let (world, front) = world().await;
    let (client, backend) = (&front.client, world.backend());
    let data = content(LARGE, 1);
    let mut crc = Hasher::new(ChecksumKind::Crc32);
    crc.update(&data);
    let crc = crc.finish().to_base64();
    let headers =
        [("content-type", "text/x"), ("x-amz-meta-a", "b"), ("x-amz-checksum-crc32", crc.as_str())];
    let put = client.send("PUT", "/bucket/key", &headers, &data).await.expect(200);
    assert!(put.etag().ends_with("-6\""), "{}", put.etag());
    assert!(put.body.is_empty() && put.header("content-type").is_none());
    assert_eq!(put.header("x-amz-checksum-crc32"), Some(crc.as_str()));
    assert_eq!(tag(client, "/bucket/key").await, put.etag());
    let got = client.ask_with("GET", "/bucket/key", &[("x-amz-checksum-mode", "ENABLED")]).await;
    assert!(got.expect(200).body == data);
    let head = client.ask("HEAD", "/bucket/key").await.expect(200);
    assert_eq!(head.header("content-length").unwrap(), LARGE.to_string());
    assert_eq!(
        (head.header("content-type"), head.header("x-amz-meta-a")),
        (Some("text/x"), Some("b"))
    );
    let range = [("range", "bytes=5242870-5242889")];
    let got = client.ask_with("GET", "/bucket/key", &range).await.expect(206);
    assert_eq!(got.body, data[5_242_870..5_242_890]);
    // It has no parts of the client's.
    assert!(client.ask("GET", "/bucket/key?partNumber=1").await.body == data);
    assert_eq!(client.ask("GET", "/bucket/key?partNumber=2").await.status, 416);

    // The bytes are those of an object that was sealed whole.
    serve(&world.config()).await.client.put("/bucket/whole", &data).await.expect(200);
    let len = async |key| {
        let head = backend.ask("HEAD", key).await.expect(200);
        head.header("content-length").unwrap().to_owned()
    };
    assert_eq!(len("/bucket/key").await, len("/bucket/whole").await);
    assert_eq!(unfinished(&backend).await, 0);
    assert_eq!(metric(&front, "uploads_in_parts_total"), 1);
    let short = client.put("/bucket/short", &data[..4 * PART]).await.expect(200);
    assert!(short.etag().ends_with("-0\""), "{}", short.etag());
    assert_eq!(metric(&front, "uploads_in_parts_total"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn content_with_another_checksum_is_not_stored() {
    let (world, front) = world().await;
    let client = &front.client;
    client.put("/bucket/key", b"old").await.expect(200);
    let headers = [("x-amz-checksum-crc32", "AAAAAA==")];
    let refused = client.send("PUT", "/bucket/key", &headers, &content(LARGE, 1)).await;
    assert_eq!((refused.status, refused.code().as_str()), (400, "BadDigest"));
    assert_eq!(client.ask("GET", "/bucket/key").await.expect(200).body, b"old");
    all_ended(&world.backend()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_vanishes_leaves_no_upload() {
    let (world, front) = world().await;
    let (client, backend) = (&front.client, world.backend());
    let data = content(LARGE, 2);
    for sent in [0, 1, PART + 1, 3 * PART, LARGE - 1] {
        let head = client.head("PUT", "/bucket/key", &[], LARGE);
        let mut stream = TcpStream::connect(client.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&data[..sent]).await.unwrap();
        while unfinished(&backend).await == 0 {
            sleep(Duration::from_millis(5)).await;
        }
        drop(stream);
        all_ended(&backend).await;
        // Its memory is free again when the request has ended.
        let counted = || front.proxy.metrics_text().contains("endseal_s3_in_flight 0\n");
        eventually("no request is counted any more", counted).await;
    }
    assert_eq!(client.ask("GET", "/bucket/key").await.status, 404);
    eventually("nothing is left", || world.unfinished().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_stops_sending_is_refused_in_time() {
    let world = World::new();
    let mut config = in_parts(world.config());
    config.limits.idle_timeout = Duration::from_secs(1);
    let front = serve(&config).await;
    let client = &front.client;
    client.ask("PUT", "/bucket").await.expect(200);
    let head = client.head("PUT", "/bucket/key", &[], LARGE);
    let mut stream = TcpStream::connect(client.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&content(2 * PART, 2)).await.unwrap();
    let mut received = Vec::new();
    let reading = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut received);
    let _ = tokio::time::timeout(Duration::from_secs(60), reading).await.expect("it ends");
    let refused = crate::client::parse(&received, false);
    assert_eq!((refused.status, refused.code().as_str()), (400, "RequestTimeout"));
    all_ended(&world.backend()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_hold_before_and_after_the_upload() {
    let (world, front) = world().await;
    let (client, backend) = (&front.client, world.backend());
    let data = content(LARGE, 3);
    let put =
        async |headers: &[(&str, &str)]| client.send("PUT", "/bucket/key", headers, &data).await;
    let refusal = |answer: Answer| (answer.status, answer.code());
    let any = ("if-none-match", "*");
    let missing = put(&[("if-match", "\"a-0\"")]).await;
    assert_eq!(refusal(missing), (404, "NoSuchKey".to_owned()));
    let first = put(&[any]).await.expect(200).etag();
    let refused = (412, "PreconditionFailed".to_owned());
    assert_eq!(refusal(put(&[any]).await), refused);
    assert_eq!(refusal(put(&[("if-match", "\"a-0\"")]).await), refused);
    assert_eq!(metric(&front, "uploads_in_parts_total"), 4);
    let second = put(&[("if-match", &first)]).await.expect(200).etag();
    assert_eq!(refusal(put(&[("if-match", &first)]).await), refused);
    assert_eq!(tag(client, "/bucket/key").await, second);

    // Another writer is faster.
    let head = client.head("PUT", "/bucket/raced", &[any], LARGE);
    let mut stream = TcpStream::connect(client.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&data[..LARGE - 1]).await.unwrap();
    client.put("/bucket/raced", b"faster").await.expect(200);
    stream.write_all(&data[LARGE - 1..]).await.unwrap();
    let mut received = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut received).await.unwrap();
    assert_eq!(refusal(crate::client::parse(&received, false)), refused);
    assert_eq!(client.ask("GET", "/bucket/raced").await.expect(200).body, b"faster");
    assert_eq!(unfinished(&backend).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_is_sent_again_and_a_refused_one_ends_the_upload() {
    let (world, front) = world().await;
    let data = content(LARGE, 4);
    for (oddity, status) in [(Oddity::RefusesPartsOnce, 200), (Oddity::RefusesAPart, 403)] {
        let odd = OddServer::start(&world, oddity).await;
        let front = serve(&in_parts(config_of(&world, odd.address))).await;
        let answer = front.client.put("/bucket/key", &data).await;
        assert_eq!(answer.status, status, "{}", String::from_utf8_lossy(&answer.body));
        all_ended(&world.backend()).await;
        let parts = odd.targets.lock().unwrap();
        let parts = parts.iter().filter(|target| target.contains("partNumber=")).count();
        assert!(status == 403 || parts == 12, "{parts}");
    }
    assert!(front.client.ask("GET", "/bucket/key").await.expect(200).body == data);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_parts_are_on_their_way_than_configured() {
    let world = World::new();
    world.proxy().await.client.ask("PUT", "/bucket").await.expect(200);
    let odd = OddServer::start(&world, Oddity::TakesPartsSlowly).await;
    let front = serve(&in_parts(config_of(&world, odd.address))).await;
    front.client.put("/bucket/key", &content(LARGE, 5)).await.expect(200);
    assert_eq!(odd.most_parts.load(SeqCst), 3);
}

/// A server may store a part after it has aborted the upload, which starts it again.
#[tokio::test(flavor = "multi_thread")]
async fn an_upload_is_aborted_after_its_parts_and_until_it_is_gone() {
    let (world, _) = world().await;
    let wrong = [("x-amz-checksum-crc32", "AAAAAA==")];
    for oddity in [Oddity::TakesPartsSlowly, Oddity::KeepsAborted] {
        let odd = OddServer::start(&world, oddity).await;
        let front = serve(&in_parts(config_of(&world, odd.address))).await;
        let refused = front.client.send("PUT", "/bucket/key", &wrong, &content(LARGE, 8)).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "BadDigest"));
        assert_eq!(unfinished(&world.backend()).await, 0, "{oddity:?}");
        assert_eq!(odd.parts_at_abort.load(SeqCst), 0, "{oddity:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_memory_for_parts_it_is_one_request() {
    let (world, front) = world().await;
    let client = &front.client;
    let data = content(LARGE, 6);
    let head = client.head("PUT", "/bucket/first", &[], LARGE);
    let mut stream = TcpStream::connect(client.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    while unfinished(&world.backend()).await == 0 {
        sleep(Duration::from_millis(5)).await;
    }
    let second = client.put("/bucket/second", &data).await.expect(200);
    assert!(second.etag().ends_with("-0\""), "{}", second.etag());
    assert_eq!(metric(&front, "part_memory_short_total"), 1);
    stream.write_all(&data).await.unwrap();
    let mut received = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut received).await.unwrap();
    let first = crate::client::parse(&received, false).expect(200);
    assert!(first.etag().ends_with("-6\""), "{}", first.etag());
    let third = client.put("/bucket/third", &data).await.expect(200);
    assert!(third.etag().ends_with("-6\""), "the memory is free again");
}

#[tokio::test(flavor = "multi_thread")]
async fn its_header_is_restored_and_wrapped_anew() {
    let (world, front) = world().await;
    let (client, backend) = (&front.client, world.backend());
    let data = content(LARGE, 7);
    client.send("PUT", "/bucket/key", &[("x-amz-meta-a", "b")], &data).await.expect(200);
    let proxy = Arc::new(endseal_s3proxy::Proxy::start(&world.config()).unwrap());
    assert!(scrub(&proxy, &Scrub::default(), |_| {}).await.unwrap().is_sound());
    rotate(&world.ring());
    let (report, _) = run(&world.config(), &Rewrap::default()).await;
    assert_eq!((report.rewrapped, report.is_complete()), (1, true));
    forget(&world.ring());
    let front = serve(&in_parts(world.config())).await;
    let got = front.client.ask("GET", "/bucket/key").await.expect(200);
    assert!(got.body == data && got.header("x-amz-meta-a") == Some("b"));

    // A bare copy of the bytes under the key that wraps now.
    front.client.put("/bucket/key", &data).await.expect(200);
    let stored = backend.ask("GET", "/bucket/key").await.expect(200);
    backend.put("/bucket/key", &stored.body).await.expect(200);
    assert!(front.client.ask("GET", "/bucket/key").await.expect(200).body == data);
    let mut options = Rewrap::default();
    options.missing_only = true;
    let (report, _) = run(&world.config(), &options).await;
    assert_eq!((report.restored, report.is_complete()), (1, true));
}

#[test]
fn the_settings_are_checked() {
    let read = |backend: &str, limits: &str| {
        let text = format!(
            "[backend]\nurl = \"http://h\"\naccess_key = \"B\"\nsecret_key = \"c\"\n{backend}\n\
             [keys]\nprovider = \"ring\"\nfile = \"r\"\n[limits]\n{limits}\n\
             [[client]]\naccess_key = \"A\"\nsecret_key = \"0123456789abcdef\"\n"
        );
        Config::parse(&text, Path::new("/etc/x"), |_| None)
    };
    let config = read("", "").ok().unwrap();
    assert_eq!((config.backend.parts_at_once, config.backend.part_size), (1, 16 << 20));
    let config = read("parts_at_once = 8\npart_size = 5242880", "part_memory = 41943040");
    let config = config.ok().unwrap();
    assert_eq!((config.backend.parts_at_once, config.backend.part_size), (8, 5 << 20));
    for (backend, limits, message) in [
        ("parts_at_once = 0", "", "backend.parts_at_once: is 0, expected a number from 1 to 64"),
        ("parts_at_once = 65", "", "backend.parts_at_once: is 65, expected a number from 1 to 64"),
        (
            "part_size = 5242879",
            "",
            "backend.part_size: is 5242879, expected a number from 5242880 to 1073741824",
        ),
        (
            "parts_at_once = 8\npart_size = 5242880",
            "part_memory = 41943039",
            "limits.part_memory: is 41943039, expected at least backend.parts_at_once times \
             backend.part_size, 41943040",
        ),
    ] {
        assert_eq!(read(backend, limits).err().unwrap().to_string(), message);
    }
    assert!(read("", "part_memory = 1").is_ok(), "it is not used");
}
