//! Tests of objects that lost their metadata: at the server, in bare copies, in replicas, and after
//! a rotation of keys.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use endseal_kms::ring::RingFile;
use endseal_s3proxy::admin::{
    Outcome, Recover, RecoverReport, Recovered, Rewrap, RewrapEvent, Scrub, Scrubbed, recover,
    rewrap, scrub,
};
use endseal_s3proxy::bucket::{Binding, BucketRule, Buckets, Plaintext};
use endseal_s3proxy::{Config, Glob, Proxy};

use crate::client::Client;
use crate::fixture::{Front, World, content, serve};
use crate::metrics;
use crate::multipart::{PART, begin, complete, part};
use crate::named::Named;
use crate::rewrap::{forget, rotate, run};

const HEADER: &str = "x-amz-meta-endseal";

/// Puts the bytes of an object back without its metadata, as most copies of a bucket do.
async fn strip(backend: &Client, target: &str) {
    let stored = backend.ask("GET", target).await.expect(200);
    backend.put(target, &stored.body).await.expect(200);
}

/// Creates objects of each form that has a body. Returns their keys and contents.
async fn filled(client: &Client) -> BTreeMap<&'static str, Vec<u8>> {
    let mut all = BTreeMap::new();
    for (key, len) in [("short", 5), ("empty", 0), ("dir/chunk", 16_384), ("dir/long", 700_000)] {
        all.insert(key, content(len, len as u64));
        client.put(&format!("/bucket/{key}"), &all[key]).await.expect(200);
    }
    let bodies = [content(PART, 2), content(9, 3)];
    in_parts(client, "/bucket/parts", &bodies).await;
    all.insert("parts", bodies.concat());
    all
}

async fn in_parts(client: &Client, target: &str, bodies: &[Vec<u8>]) {
    let id = begin(client, target, &[]).await;
    let mut parts = Vec::new();
    for (number, body) in (1..).zip(bodies) {
        parts.push((number, part(client, target, &id, number, body).await));
    }
    complete(client, target, &id, &parts).await.expect(200);
}

async fn count(front: &Front, name: &str) -> u64 {
    let got = metrics::ask(metrics::listen(front).await, "GET", "/metrics").await.expect(200);
    metrics::value(str::from_utf8(&got.body).unwrap(), &format!("endseal_s3_{name}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_without_its_header_is_read_by_the_copy() {
    let (world, front) = World::with_bucket().await;
    let (client, backend) = (&front.client, world.backend());
    let all = filled(client).await;
    for key in all.keys() {
        strip(&backend, &format!("/bucket/{key}")).await;
    }
    for (key, data) in &all {
        let target = format!("/bucket/{key}");
        let got = client.ask("GET", &target).await.expect(200);
        assert!(got.body == *data, "{key}");
        let head = client.ask("HEAD", &target).await.expect(200);
        assert_eq!(head.header("content-length").unwrap(), data.len().to_string(), "{key}");
        assert_eq!(head.header(HEADER), None);
        if data.len() > 100 {
            let range = [("range", "bytes=50-99")];
            let got = client.ask_with("GET", &target, &range).await.expect(206);
            assert_eq!(got.body, data[50..100], "{key}");
        }
        let copy = [("x-amz-copy-source", target.as_str())];
        client.ask_with("PUT", "/bucket/copy", &copy).await.expect(200);
        assert!(client.ask("GET", "/bucket/copy").await.expect(200).body == *data, "{key}");
        client.ask("DELETE", "/bucket/copy").await.expect(204);
    }
    assert!(count(&front, "headers_missing_total").await >= 5);
    assert_eq!(count(&front, "authentication_failures_total").await, 0);

    // It is found and mended.
    let proxy = Arc::new(Proxy::start(&world.config()).unwrap());
    let all_of_it = Scrub::default();
    let report = scrub(&proxy, &all_of_it, |event| {
        if let endseal_s3proxy::admin::ScrubEvent::Object { outcome, .. } = event {
            assert_eq!(*outcome, Scrubbed::HeaderMissing);
        }
    });
    let report = report.await.unwrap();
    assert_eq!((report.headers_missing, report.is_sound()), (5, false));
    let mut options = Rewrap::default();
    options.missing_only = true;
    let (report, _) = run(&world.config(), &options).await;
    assert_eq!((report.restored, report.newest, report.is_complete()), (5, 0, true));
    let (report, _) = run(&world.config(), &options).await;
    assert_eq!((report.restored, report.newest), (0, 5));
    assert!(scrub(&proxy, &Scrub::default(), |_| {}).await.unwrap().is_sound());
    let before = count(&front, "headers_missing_total").await;
    for (key, data) in &all {
        let got = client.ask("GET", &format!("/bucket/{key}")).await.expect(200);
        assert!(got.body == *data, "{key}");
    }
    assert_eq!(count(&front, "headers_missing_total").await, before, "the header is used again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_header_is_replaced_by_the_copy() {
    let (world, front) = World::with_bucket().await;
    let (client, backend) = (&front.client, world.backend());
    let data = content(40_000, 1);
    client.put("/bucket/key", &data).await.expect(200);
    client.put("/bucket/other", b"other").await.expect(200);
    let stored = backend.ask("GET", "/bucket/key").await.expect(200);
    let header = stored.header(HEADER).unwrap().to_owned();
    let other = backend.ask("HEAD", "/bucket/other").await.expect(200);
    let flipped = |at: usize| {
        let other = if &header[at..=at] == "A" { "B" } else { "A" };
        format!("{}{other}{}", &header[..at], &header[at + 1..])
    };
    let damaged = (0..header.len()).step_by(7).map(flipped);
    let others = ["?".to_owned(), other.header(HEADER).unwrap().to_owned()];
    for header in damaged.chain(others) {
        backend.send("PUT", "/bucket/key", &[(HEADER, &header)], &stored.body).await.expect(200);
        let got = client.ask("GET", "/bucket/key").await.expect(200);
        assert!(got.body == data, "{header}");
    }
    // Without a copy that opens, it is the error of an object that is not authentic.
    let mut cut = stored.body.clone();
    let len = cut.len();
    cut[len - 600] ^= 1;
    backend.send("PUT", "/bucket/key", &[(HEADER, "?")], &cut).await.expect(200);
    let refused = client.ask("GET", "/bucket/key").await.expect(500);
    assert_eq!(refused.element("Code"), "ObjectNotAuthentic");
}

/// The copy of the header is bound to its place like the header.
#[tokio::test(flavor = "multi_thread")]
async fn bytes_at_another_place_do_not_open() {
    let (world, front) = World::with_bucket().await;
    let (client, backend) = (&front.client, world.backend());
    client.ask("PUT", "/second").await.expect(200);
    client.put("/bucket/key", &content(40_000, 1)).await.expect(200);
    let stored = backend.ask("GET", "/bucket/key").await.expect(200).body;
    for target in ["/bucket/moved", "/second/key"] {
        backend.put(target, &stored).await.expect(200);
        let refused = client.ask("GET", target).await.expect(403);
        assert_eq!(refused.element("Code"), "InvalidObjectState");
        assert!(refused.element("Message").contains("header is missing"), "{target}");
        client.ask("HEAD", target).await.expect(403);
    }
    // Plaintext has another message.
    backend.put("/bucket/plain", &content(40_000, 1)).await.expect(200);
    let refused = client.ask("GET", "/bucket/plain").await.expect(403);
    assert!(!refused.element("Message").contains("header"));
}

/// Sealed bytes are never given out as the plaintext that a bucket may have.
#[tokio::test(flavor = "multi_thread")]
async fn sealed_bytes_without_a_header_are_no_plaintext() {
    let (world, front) = World::with_bucket().await;
    let backend = world.backend();
    front.client.put("/bucket/key", &content(40_000, 1)).await.expect(200);
    let stored = backend.ask("GET", "/bucket/key").await.expect(200).body;
    backend.put("/bucket/key", &stored).await.expect(200);
    backend.put("/bucket/moved", &stored).await.expect(200);
    backend.put("/bucket/plain", &content(50_000, 2)).await.expect(200);
    for plaintext in [Plaintext::ReadOnly, Plaintext::Allow] {
        let mut config = world.config();
        let mut rule = BucketRule::new(Glob::new("*"));
        rule.plaintext = plaintext;
        config.buckets = Buckets::new(vec![rule]);
        let front = serve(&config).await;
        let client = &front.client;
        assert!(client.ask("GET", "/bucket/key").await.expect(200).body == content(40_000, 1));
        client.ask("GET", "/bucket/moved").await.expect(403);
        client.ask_with("GET", "/bucket/moved", &[("range", "bytes=0-9")]).await.expect(403);
        assert!(client.ask("GET", "/bucket/plain").await.expect(200).body == content(50_000, 2));
    }
}

/// Copies the bytes of all objects of a bucket at the backend into a folder.
async fn bare_copy(backend: &Client, bucket: &str, folder: &Path) {
    let list = backend.ask("GET", &format!("/{bucket}")).await.expect(200);
    for key in list.elements("Key") {
        if key.ends_with('/') {
            continue;
        }
        let path = folder.join(&key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let stored = backend.ask("GET", &format!("/{bucket}/{key}")).await.expect(200);
        fs::write(path, stored.body).unwrap();
    }
}

async fn opened(
    config: &Config,
    rule: &BucketRule,
    options: &Recover,
) -> (RecoverReport, BTreeMap<String, Recovered>) {
    let mut seen = BTreeMap::new();
    let report = recover(&config.keys, rule, options, |key, outcome| {
        seen.insert(key.to_owned(), outcome.clone());
    });
    (report.await.unwrap(), seen)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_copy_and_the_ring_are_enough() {
    let (world, front) = World::with_bucket().await;
    let all = filled(&front.client).await;
    let folder = world.scratch.folder().to_owned();
    let (from, to) = (folder.join("copy"), folder.join("opened"));
    bare_copy(&world.backend(), "bucket", &from).await;
    fs::write(from.join("note.txt"), b"not sealed").unwrap();
    drop(front);
    let config = world.config();
    let rule = BucketRule::new(Glob::new("bucket"));
    let bucket = "bucket".to_owned();
    let options = Recover { from: from.clone(), to: to.clone(), bucket, moved: false };
    let (report, seen) = opened(&config, &rule, &options).await;
    assert_eq!((report.written, report.plaintext, report.is_complete()), (5, 1, false), "{seen:?}");
    for (key, data) in &all {
        let path = to.join(key);
        assert!(fs::read(&path).unwrap() == *data, "{key}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(fs::metadata(to.join("dir")).unwrap().permissions().mode() & 0o777, 0o700);

    // Another run writes what is missing, and nothing else.
    fs::remove_file(to.join("short")).unwrap();
    fs::remove_file(to.join("dir/long")).unwrap();
    fs::write(to.join("empty"), b"changed").unwrap();
    let (report, seen) = opened(&config, &rule, &options).await;
    assert_eq!((report.written, report.present, report.failed), (2, 2, 1), "{seen:?}");
    assert_eq!(fs::read(to.join("empty")).unwrap(), b"changed");
    assert!(fs::read(to.join("dir/long")).unwrap() == all["dir/long"]);
    let left = |folder: &Path| fs::read_dir(folder).unwrap().count();
    assert_eq!(left(&to.join("dir")), 2, "nothing but the files of objects");

    // Exchanged, damaged and cut objects are named, and leave no file.
    fs::copy(from.join("short"), from.join("moved")).unwrap();
    let sealed = fs::read(from.join("dir/long")).unwrap();
    let mut flipped = sealed.clone();
    flipped[400_000] ^= 1;
    fs::write(from.join("flipped"), &flipped).unwrap();
    fs::write(from.join("dir/long"), &flipped).unwrap();
    let mut of_copy = fs::read(from.join("dir/chunk")).unwrap();
    let len = of_copy.len();
    of_copy[len - 660] ^= 1;
    fs::write(from.join("dir/chunk"), &of_copy).unwrap();
    let to = folder.join("again");
    let options = Recover { to: to.clone(), ..options };
    let (report, seen) = opened(&config, &rule, &options).await;
    assert_eq!(seen["moved"], Recovered::Moved);
    assert_eq!(seen["flipped"], Recovered::Moved);
    assert_eq!(seen["dir/long"], Recovered::NotAuthentic);
    assert_eq!(seen["dir/chunk"], Recovered::NotAuthentic);
    assert_eq!((report.written, report.moved, report.not_authentic), (3, 2, 2));
    assert!(!to.join("moved").exists() && !to.join("dir/long").exists());
    assert_eq!(fs::read_dir(to.join("dir")).unwrap().count(), 0, "nothing half-written");
    let options = Recover { moved: true, ..options };
    let (_, seen) = opened(&config, &rule, &options).await;
    assert_eq!(seen["moved"], Recovered::Written(5));
    assert_eq!(seen["flipped"], Recovered::NotAuthentic);
    assert!(fs::read(to.join("moved")).unwrap() == all["short"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_copy_with_encrypted_names_gets_its_names_back() {
    let named = Named::new(Plaintext::Forbid).await;
    for key in ["a/b", "secret%20file"] {
        named.front.client.put(&format!("/bucket/{key}"), key.as_bytes()).await.expect(200);
    }
    let folder = named.world.scratch.folder().to_owned();
    let options = Recover {
        from: folder.join("copy"),
        to: folder.join("opened"),
        bucket: "bucket".to_owned(),
        moved: false,
    };
    bare_copy(&named.world.backend(), "bucket", &options.from).await;
    let config = crate::named::named(&named.world, Plaintext::Forbid);
    let (report, seen) = opened(&config, config.buckets.rule("bucket"), &options).await;
    assert!(report.is_complete(), "{seen:?}");
    assert_eq!(seen.keys().collect::<Vec<_>>(), ["a/b", "secret file"]);
    assert_eq!(fs::read(options.to.join("secret file")).unwrap(), b"secret%20file");
    // The bucket's name is part of each name and place.
    let options = Recover { bucket: "second".to_owned(), to: folder.join("other"), ..options };
    let (report, _) = opened(&config, config.buckets.rule("second"), &options).await;
    assert_eq!((report.written, report.moved), (0, 2));
}

/// A replica has the same bytes and metadata in a bucket of another name.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_opens_under_the_name_of_its_source() {
    for named in [false, true] {
        let world = World::new();
        let mut config = match named {
            true => crate::named::named(&world, Plaintext::Forbid),
            false => world.config(),
        };
        let front = serve(&config).await;
        for bucket in ["/bucket", "/replica"] {
            front.client.ask("PUT", bucket).await.expect(200);
        }
        let all = filled(&front.client).await;
        let backend = world.backend();
        for key in backend.ask("GET", "/bucket").await.expect(200).elements("Key") {
            let copy = [("x-amz-copy-source", format!("bucket/{key}"))];
            let copy = copy.each_ref().map(|(name, value)| (*name, value.as_str()));
            backend.ask_with("PUT", &format!("/replica/{key}"), &copy).await.expect(200);
        }
        if !named {
            front.client.ask("GET", "/replica/short").await.expect(500);
        }
        let mut rule = config.buckets.rule("replica").clone();
        rule.name = Glob::new("replica");
        rule.sealed_as = Some("bucket".to_owned());
        let others = config.buckets.rule("bucket").clone();
        config.buckets = Buckets::new(vec![rule, others]);
        let front = serve(&config).await;
        let client = &front.client;
        for (key, data) in &all {
            let got = client.ask("GET", &format!("/replica/{key}")).await.expect(200);
            assert!(got.body == *data, "{key}");
        }
        // It is a bucket like others: also for uploads, and for what comes back.
        client.put("/replica/new", b"new").await.expect(200);
        in_parts(client, "/replica/parts2", &[content(PART, 7), content(1, 8)]).await;
        client.ask("GET", "/replica/parts2").await.expect(200);
        assert_eq!(client.ask("GET", "/replica/new").await.expect(200).body, b"new");
        let keys = client.ask("GET", "/replica").await.expect(200).elements("Key");
        assert!(keys.contains(&"new".to_owned()) && keys.len() == all.len() + 2, "{keys:?}");
    }
}

/// The review's case: an upload that was started before a rotation, and completed behind the last
/// run that wraps anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_waits_for_unfinished_uploads() {
    let (world, front) = World::with_bucket().await;
    let body = content(PART, 2);
    let target = "/bucket/a%20b";
    let id = begin(&front.client, target, &[]).await;
    let one = part(&front.client, target, &id, 1, &body).await;
    front.client.put("/bucket/other", b"other").await.expect(200);
    rotate(&world.ring());
    let front = world.proxy().await;
    let (report, _) = run(&world.config(), &Rewrap::default()).await;
    assert_eq!((report.rewrapped, report.unfinished, report.is_complete()), (1, 1, false));
    let proxy = Arc::new(Proxy::start(&world.config()).unwrap());
    let mut named = Vec::new();
    let mut note = |event: RewrapEvent<'_>| {
        if let RewrapEvent::Unfinished { bucket, key } = event {
            named.push((bucket.to_owned(), key.to_owned()));
        }
    };
    rewrap(&proxy, &Rewrap::default(), &mut note).await.unwrap();
    assert_eq!(named, [("bucket".to_owned(), "a b".to_owned())]);

    // If the key is removed all the same, nothing that was completed is lost.
    complete(&front.client, target, &id, &[(1, one)]).await.expect(200);
    let ring = fs::read(world.ring()).unwrap();
    forget(&world.ring());
    let lone = world.proxy().await;
    assert!(lone.client.ask("GET", target).await.expect(200).body == body);
    assert_eq!(lone.client.ask("GET", "/bucket/other").await.expect(200).body, b"other");
    // The next run gives it the header of the new key, with either ring.
    let (report, seen) = run(&world.config(), &Rewrap::default()).await;
    assert!(report.is_complete(), "{seen:?}");
    assert_eq!((report.rewrapped, report.restored, report.unfinished), (1, 1, 0));
    let restored = Outcome::Rewrapped { is_retagged: true, is_restored: true };
    assert!(seen.contains(&("a b".to_owned(), restored)), "{seen:?}");
    fs::write(world.ring(), ring).unwrap();
    let (report, _) = run(&world.config(), &Rewrap::default()).await;
    assert_eq!((report.rewrapped, report.is_complete()), (0, true));
}

/// Bare copies need the key under which an object was written, also where it was wrapped anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_removed_key_is_named() {
    let (world, front) = World::with_bucket().await;
    front.client.put("/bucket/key", b"content").await.expect(200);
    let [old, _] = rotate(&world.ring());
    run(&world.config(), &Rewrap::default()).await;
    let folder = world.scratch.folder().to_owned();
    let before = folder.join("before");
    fs::copy(world.ring(), &before).unwrap();
    forget(&world.ring());
    assert_eq!(RingFile::at(&world.ring()).load(None).unwrap().entries().count(), 1);
    let options = Recover {
        from: folder.join("copy"),
        to: folder.join("opened"),
        bucket: "bucket".to_owned(),
        moved: false,
    };
    bare_copy(&world.backend(), "bucket", &options.from).await;
    let mut rule = BucketRule::new(Glob::new("bucket"));
    rule.binding = Binding::None;
    let (_, seen) = opened(&world.config(), &rule, &options).await;
    let Recovered::Failed(fault) = &seen["key"] else { panic!("{seen:?}") };
    assert!(fault.message().contains(&old) && fault.message().contains("the ring from before"));
    let (report, _) = opened(&world.config_with(&before), &rule, &options).await;
    assert!(report.is_complete());
    assert_eq!(fs::read(options.to.join("key")).unwrap(), b"content");
}

/// Requests that need two responses at once do not wait for each other's connections.
#[tokio::test(flavor = "multi_thread")]
async fn reads_and_copies_of_many_need_few_connections() {
    let (world, front) = World::with_bucket().await;
    let data = content(600_000, 1);
    front.client.put("/bucket/lost", &data).await.expect(200);
    front.client.put("/bucket/copied", &data).await.expect(200);
    in_parts(&front.client, "/bucket/parts", &[content(PART, 2), content(9, 3)]).await;
    let id = begin(&front.client, "/bucket/target", &[]).await;
    strip(&world.backend(), "/bucket/lost").await;
    let mut config = world.config();
    config.limits.backend_connections = 2;
    let front = serve(&config).await;
    let (client, id) = (&front.client, &id);
    crate::fixture::at_once(48, async |number| match number % 4 {
        0 => assert!(client.ask("GET", "/bucket/lost").await.expect(200).body == data),
        1 => {
            let range = [("range", "bytes=5242870-")];
            client.ask_with("GET", "/bucket/parts", &range).await.expect(206);
        }
        2 => {
            let checksum = [("x-amz-checksum-mode", "ENABLED")];
            client.ask_with("GET", "/bucket/copied", &checksum).await.expect(200);
        }
        _ => {
            let copy = [("x-amz-copy-source", "bucket/copied")];
            let target = format!("/bucket/target?partNumber={}&uploadId={id}", number + 1);
            client.ask_with("PUT", &target, &copy).await.expect(200);
        }
    })
    .await;
}
