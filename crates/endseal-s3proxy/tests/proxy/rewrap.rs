//! Tests of rewrapping content keys after a key rotation.

use std::path::Path;
use std::sync::Arc;

use endseal_crypto::random::OsRandom;
use endseal_kms::ring::RingFile;
use endseal_s3_format::Header;
use endseal_s3proxy::admin::{Outcome, Rewrap, RewrapEvent, RewrapReport, rewrap};
use endseal_s3proxy::{Config, Proxy};

use crate::client::Client;
use crate::fixture::{Front, World, at_once, content, serve};
use crate::multipart::{PART, begin, complete, part};

/// Adds a key to the ring. Returns the id of the previous and of the new key.
pub(crate) fn rotate(ring: &Path) -> [String; 2] {
    let file = RingFile::at(ring);
    let ring = file
        .change(None, &mut OsRandom, |ring| ring.add(1_800_000_000, &mut OsRandom).map(drop))
        .unwrap();
    let ids: Vec<String> = ring.entries().map(|entry| entry.id.as_str().to_owned()).collect();
    [ids[ids.len() - 2].clone(), ids[ids.len() - 1].clone()]
}

/// Removes all keys except the one that wraps.
pub(crate) fn forget(ring: &Path) {
    let change = |ring: &mut endseal_kms::Ring| {
        let ids: Vec<_> = ring.entries().filter(|it| !it.wraps).map(|it| it.id).collect();
        ids.iter().try_for_each(|id| ring.remove(id))
    };
    RingFile::at(ring).change(None, &mut OsRandom, change).unwrap();
}

/// Rewraps keys. Returns the report and the result for each object.
pub(crate) async fn run(
    config: &Config,
    options: &Rewrap,
) -> (RewrapReport, Vec<(String, Outcome)>) {
    let proxy = Arc::new(Proxy::start(config).unwrap());
    let mut seen = Vec::new();
    let report = rewrap(&proxy, options, |event| {
        if let RewrapEvent::Object { key, outcome, .. } = event {
            seen.push((key.to_owned(), outcome.clone()));
        }
    });
    let report = report.await.unwrap();
    seen.sort_by(|one, other| one.0.cmp(&other.0));
    (report, seen)
}

/// Returns the key id in the header of an object at the backend.
async fn key_id(backend: &Client, target: &str) -> String {
    let head = backend.ask("HEAD", target).await.expect(200);
    Header::parse(head.header("x-amz-meta-endseal").unwrap()).unwrap().key_id().to_owned()
}

async fn in_parts(client: &Client, target: &str, bodies: &[&[u8]]) {
    let id = begin(client, target, &[("x-amz-meta-a", "parts")]).await;
    let mut parts = Vec::new();
    for (number, body) in (1..).zip(bodies) {
        parts.push((number, part(client, target, &id, number, body).await));
    }
    complete(client, target, &id, &parts).await.expect(200);
}

/// Creates objects under an old key and rotates it. Returns the ids of the old and the new key.
async fn rotated() -> (World, Front, [String; 2]) {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    client.ask("PUT", "/other").await.expect(200);
    let beside = [
        ("content-type", "text/x"),
        ("cache-control", "max-age=7"),
        ("content-disposition", "inline"),
        ("content-language", "de"),
        ("expires", "Fri, 24 May 2030 00:00:00 GMT"),
        ("x-amz-meta-a", "1"),
        ("x-amz-meta-b", "two words"),
    ];
    for target in ["/bucket/a%20b%2Bc", "/bucket/d/e", "/other/f"] {
        client.send("PUT", target, &beside, &content(70_000, 1)).await.expect(200);
    }
    client.put("/bucket/empty", b"").await.expect(200);
    in_parts(client, "/bucket/parts", &[&content(PART, 2), &content(9, 3)]).await;
    world.backend().put("/bucket/plain", b"not sealed").await.expect(200);
    let ids = rotate(&world.ring());
    let front = world.proxy().await;
    (world, front, ids)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrapped_anew_opens_without_the_old_key() {
    let (world, front, [old, new]) = rotated().await;
    let (client, backend) = (&front.client, world.backend());
    client.put("/bucket/young", b"young").await.expect(200);
    let names = [
        "content-type",
        "cache-control",
        "content-disposition",
        "content-language",
        "expires",
        "x-amz-meta-a",
        "x-amz-meta-b",
    ];
    let before = client.ask("HEAD", "/bucket/d/e").await.expect(200);
    let sealed = backend.ask("GET", "/bucket/d/e").await.expect(200).body;
    assert_eq!(key_id(&backend, "/bucket/d/e").await, old);
    let (report, seen) = run(&world.config(), &Rewrap::default()).await;
    assert_eq!((report.key_id.as_str(), report.buckets), (new.as_str(), 2));
    assert_eq!((report.rewrapped, report.newest, report.plaintext), (5, 1, 1), "{seen:?}");
    assert!(report.is_complete() && report.versioned_buckets.is_empty());
    // A folder gives each copy a new tag. Other servers keep the tag of a whole object.
    assert_eq!(report.retagged, 5);
    assert_eq!(backend.ask("GET", "/bucket/d/e").await.expect(200).body, sealed);
    assert_eq!(backend.ask("GET", "/bucket/plain").await.expect(200).body, b"not sealed");
    let (again, _) = run(&world.config(), &Rewrap::default()).await;
    assert_eq!((again.rewrapped, again.newest, again.plaintext), (0, 6, 1));

    // The folder remembers that the source of a copy had parts. At most servers the tag shows this.
    let sealed = backend.ask("GET", "/bucket/parts").await.expect(200);
    let header = |name: &'static str| (name, sealed.header(name).unwrap());
    let headers = ["x-amz-meta-endseal", "x-amz-meta-endseal-m"].map(header);
    backend.send("PUT", "/bucket/parts", &headers, &sealed.body).await.expect(200);

    forget(&world.ring());
    let front = world.proxy().await;
    let client = &front.client;
    for target in ["/bucket/a%20b%2Bc", "/bucket/d/e", "/other/f"] {
        let got = client.ask("GET", target).await.expect(200);
        assert!(got.body == content(70_000, 1), "{target}");
        for name in names {
            assert!(got.header(name).is_some(), "{name}");
            assert_eq!(got.header(name), before.header(name), "{name}");
        }
    }
    assert_eq!(client.ask("GET", "/bucket/empty").await.expect(200).body, b"");
    assert_eq!(client.ask("GET", "/bucket/young").await.expect(200).body, b"young");
    // The copy's tag does not show the number of parts any more, but the header has the form.
    let got = client.ask("GET", "/bucket/parts").await.expect(200);
    assert!(got.body == [content(PART, 2), content(9, 3)].concat());
    assert!(got.etag().ends_with("-0\""), "{}", got.etag());
    assert_eq!(got.header("x-amz-meta-a"), Some("parts"));
    let tail = format!("bytes={}-", PART - 5);
    let got = client.ask_with("GET", "/bucket/parts", &[("range", &tail)]).await.expect(206);
    assert!(got.body == [&content(PART, 2)[PART - 5..], &content(9, 3)].concat());
    let got = client.ask("GET", "/bucket/parts?partNumber=2").await.expect(206);
    assert!(got.body == content(9, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn sealed_metadata_and_bindings_stay_as_they_are() {
    let world = World::new();
    let mut config = world.config();
    let mut rule = endseal_s3proxy::bucket::BucketRule::new(endseal_s3proxy::Glob::new("bucket"));
    rule.seal_metadata = true;
    config.buckets = endseal_s3proxy::bucket::Buckets::new(vec![rule.clone()]);
    let front = serve(&config).await;
    front.client.ask("PUT", "/bucket").await.expect(200);
    let beside = [("x-amz-meta-secret", "value")];
    front.client.send("PUT", "/bucket/key", &beside, b"content").await.expect(200);
    rotate(&world.ring());
    // A weaker rule does not weaken the binding of existing objects.
    rule.binding = endseal_s3_format::Binding::None;
    config.buckets = endseal_s3proxy::bucket::Buckets::new(vec![rule]);
    let backend = world.backend();
    let sealed = backend.ask("HEAD", "/bucket/key").await.expect(200);
    let (report, _) = run(&config, &Rewrap::default()).await;
    assert_eq!(report.rewrapped, 1);
    let after = backend.ask("HEAD", "/bucket/key").await.expect(200);
    assert!(sealed.header("x-amz-meta-endseal-m").is_some());
    assert_eq!(after.header("x-amz-meta-endseal-m"), sealed.header("x-amz-meta-endseal-m"));
    let header = Header::parse(after.header("x-amz-meta-endseal").unwrap()).unwrap();
    assert_eq!(header.binding(), endseal_s3_format::Binding::Key);
    forget(&world.ring());
    let got = serve(&config).await.client.ask("GET", "/bucket/key").await.expect(200);
    assert_eq!((got.header("x-amz-meta-secret"), &got.body[..]), (Some("value"), &b"content"[..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_writes_nothing() {
    let (world, _front, [old, _]) = rotated().await;
    let backend = world.backend();
    let tags = async || {
        let mut tags = backend.ask("GET", "/bucket").await.expect(200).elements("ETag");
        tags.extend(backend.ask("GET", "/other").await.expect(200).elements("ETag"));
        tags
    };
    let before = tags().await;
    let mut options = Rewrap::default();
    options.dry_run = true;
    let (report, _) = run(&world.config(), &options).await;
    assert_eq!((report.rewrapped, report.plaintext, report.retagged), (5, 1, 0));
    assert_eq!(tags().await, before);
    assert_eq!(key_id(&backend, "/bucket/d/e").await, old);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_the_trial() {
    let (world, _front, _) = rotated().await;
    let backend = world.backend();
    let keys = backend.ask("GET", "/bucket").await.expect(200).elements("Key");
    run(&world.config(), &Rewrap::default()).await;
    assert_eq!(backend.ask("GET", "/bucket").await.expect(200).elements("Key"), keys);
}

#[tokio::test(flavor = "multi_thread")]
async fn bucket_and_prefix_choose() {
    let (world, _front, [old, new]) = rotated().await;
    let backend = world.backend();
    let mut options = Rewrap::default();
    options.bucket = Some("bucket".to_owned());
    options.prefix = "d/".to_owned();
    let (report, seen) = run(&world.config(), &options).await;
    assert_eq!((report.rewrapped, report.buckets), (1, 1));
    assert_eq!(seen[0].0, "d/e");
    assert_eq!(key_id(&backend, "/bucket/d/e").await, new);
    assert_eq!(key_id(&backend, "/bucket/empty").await, old);
    assert_eq!(key_id(&backend, "/other/f").await, old);
    options.bucket = Some("missing".to_owned());
    let (report, _) = run(&world.config(), &options).await;
    assert_eq!((report.failed, report.is_complete()), (1, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn large_objects_are_copied_in_parts() {
    let (world, front, [_, new]) = rotated().await;
    let (one, two) = (content(PART + 100_000, 5), content(PART + 3, 6));
    in_parts(&front.client, "/bucket/large", &[&one, &two]).await;
    let again = rotate(&world.ring());
    assert_eq!(again[0], new);
    let mut options = Rewrap::default();
    options.prefix = "large".to_owned();
    options.largest_copy = PART as u64;
    options.part = PART as u64;
    let backend = world.backend();
    let sealed = backend.ask("GET", "/bucket/large").await.expect(200).body;
    let (report, seen) = run(&world.config(), &options).await;
    assert_eq!(
        seen,
        [("large".to_owned(), Outcome::Rewrapped { is_retagged: true, is_restored: false })]
    );
    assert!(report.is_complete());
    let after = backend.ask("GET", "/bucket/large").await.expect(200);
    assert!(after.body == sealed);
    // The backend copied three parts, where the proxy had written two and its tail.
    assert!(after.etag().ends_with("-3\""), "{}", after.etag());
    assert!(backend.ask("GET", "/bucket?uploads").await.elements("UploadId").is_empty());
    forget(&world.ring());
    let front = world.proxy().await;
    let got = front.client.ask("GET", "/bucket/large").await.expect(200);
    assert!(got.body == [&one[..], &two].concat());
    assert_eq!(got.header("x-amz-meta-a"), Some("parts"));
    let got = front.client.ask("GET", "/bucket/large?partNumber=2").await.expect(206);
    assert!(got.body == two);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_open_is_told_and_left() {
    let (world, _front, [old, _]) = rotated().await;
    let backend = world.backend();
    let head = backend.ask("HEAD", "/bucket/d/e").await.expect(200);
    let header = head.header("x-amz-meta-endseal").unwrap().to_owned();
    // A header for another key, and one that is not a header.
    for (target, header) in [("/bucket/moved", header.as_str()), ("/bucket/nonsense", "AAAA")] {
        let body = backend.ask("GET", "/bucket/d/e").await.body;
        backend.send("PUT", target, &[("x-amz-meta-endseal", header)], &body).await.expect(200);
    }
    let (report, seen) = run(&world.config(), &Rewrap::default()).await;
    assert_eq!((report.rewrapped, report.failed, report.is_complete()), (5, 2, false));
    for key in ["moved", "nonsense"] {
        let outcome = &seen.iter().find(|(name, _)| name == key).unwrap().1;
        let Outcome::Failed(fault) = outcome else { panic!("{outcome:?}") };
        assert_eq!(fault.code(), "ObjectNotAuthentic");
    }
    assert_eq!(key_id(&backend, "/bucket/moved").await, old);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_objects_are_gone_through_page_by_page() {
    let (world, front) = World::with_page_size(50).with_its_bucket().await;
    let client = &front.client;
    at_once(105, |number| async move {
        client.put(&format!("/bucket/{number:04}"), b"x").await.expect(200);
    })
    .await;
    rotate(&world.ring());
    let (report, seen) = run(&world.config(), &Rewrap::default()).await;
    assert_eq!((report.rewrapped, report.is_complete()), (105, true));
    assert_eq!(seen.len(), 105);
    assert!(seen.windows(2).all(|pair| pair[0].0 < pair[1].0), "each once");
}
