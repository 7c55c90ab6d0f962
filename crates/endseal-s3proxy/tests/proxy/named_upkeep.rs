//! Tests of `clean` and `rewrap` in buckets with encrypted names.

use core::time::Duration;

use endseal_crypto::random::OsRandom;
use endseal_kms::ring::RingFile;
use endseal_s3_format::ParkedUpload;
use endseal_s3proxy::Proxy;
use endseal_s3proxy::admin::{Clean, CleanEvent, Rewrap, clean};
use endseal_s3proxy::bucket::Plaintext;

use crate::fixture::{content, serve};
use crate::multipart::{PART, begin, complete, part};
use crate::named::{MARK, Named, at, named};
use crate::rewrap::run;

#[tokio::test(flavor = "multi_thread")]
async fn parked_parts_name_the_backends_key_and_are_cleaned() {
    let named = Named::new(Plaintext::Forbid).await;
    let client = &named.front.client;
    let target = at("zebrafish/left");
    let id = begin(client, &target, &[]).await;
    part(client, &target, &id, 1, &content(PART, 1)).await;
    part(client, &target, &id, 2, b"short").await;
    // Only the parked part of this upload is left.
    let gone = at("zebrafish/gone");
    let id = begin(client, &gone, &[]).await;
    part(client, &gone, &id, 1, b"short").await;
    let backend = named.world.backend();
    let uploads = backend.ask("GET", "/bucket?uploads").await.expect(200);
    let sealed = named.sealed("zebrafish/gone");
    let ids = uploads.elements("UploadId");
    let own = uploads.elements("Key").iter().position(|key| *key == sealed).unwrap();
    backend.ask("DELETE", &format!("/bucket/{sealed}?uploadId={}", ids[own])).await.expect(204);
    for key in named.stored("bucket").await {
        assert!(key.starts_with(".endseal/"), "{key}");
        let head = backend.ask("HEAD", &format!("/bucket/{key}")).await.expect(200);
        let upload = ParkedUpload::parse(head.header("x-amz-meta-endseal-upload").unwrap());
        assert!(!upload.unwrap().key.contains(MARK));
    }
    named.world.age(Duration::from_secs(7_200));
    let config = self::named(&named.world, Plaintext::Forbid);
    let proxy = Proxy::start(&config).unwrap();
    let mut options = Clean::default();
    options.older_than = Duration::from_secs(3_600);
    let mut told = Vec::new();
    let report = clean(&proxy, &options, |event| {
        if let CleanEvent::Upload { key, .. } = event {
            told.push(key.to_owned());
        }
    });
    let report = report.await.unwrap();
    assert_eq!((report.uploads_removed, report.parts_removed), (1, 2), "{report:?}");
    assert_eq!((report.unknown, report.failed), (0, 0));
    assert_eq!(told, ["zebrafish/left"]);
    assert!(named.stored("bucket").await.is_empty());
    let uploads = backend.ask("GET", "/bucket?uploads").await.expect(200);
    assert!(uploads.elements("UploadId").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_wrapped_anew_whatever_name_they_have() {
    let named = Named::new(Plaintext::Forbid).await;
    let client = &named.front.client;
    let bodies = [content(PART, 2), content(9, 3)];
    // The object was written before names were encrypted.
    let before = serve(&named.world.config()).await;
    before.client.put("/bucket/older/one", b"older").await.expect(200);
    let beside = [("x-amz-website-redirect-location", "/zebrafish")];
    client.send("PUT", &at("zebrafish/one"), &beside, b"content").await.expect(200);
    client.put(&at("zebras/two"), b"other").await.expect(200);
    let id = begin(client, &at("zebrafish/parts"), &[]).await;
    let mut parts = Vec::new();
    for (number, body) in (1..).zip(&bodies) {
        parts.push((number, part(client, &at("zebrafish/parts"), &id, number, body).await));
    }
    complete(client, &at("zebrafish/parts"), &id, &parts).await.expect(200);
    let ring = RingFile::at(&named.world.ring());
    let old = ring.load(None).unwrap().entries().next().unwrap().id;
    ring.change(None, &mut OsRandom, |ring| ring.add(1_800_000_000, &mut OsRandom).map(drop))
        .unwrap();
    let config = self::named(&named.world, Plaintext::Forbid);

    let mut some = Rewrap::default();
    some.prefix = "zebrafish/p".to_owned();
    some.largest_copy = 1 << 20;
    some.part = 5 << 20;
    let (report, seen) = run(&config, &some).await;
    assert_eq!(report.rewrapped, 1, "{seen:?}");
    assert_eq!(seen[0].0, "zebrafish/parts");
    let (report, seen) = run(&config, &Rewrap::default()).await;
    assert!(report.is_complete(), "{seen:?}");
    assert_eq!((report.rewrapped, report.newest), (3, 1), "{seen:?}");
    let keys: Vec<&str> = seen.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["older/one", "zebrafish/one", "zebrafish/parts", "zebras/two"]);
    let (again, _) = run(&config, &Rewrap::default()).await;
    assert_eq!((again.rewrapped, again.newest), (0, 4));

    // The old key is not needed any more.
    let (_, kept) = ring.retire(None, &old, &mut OsRandom).unwrap();
    assert!(RingFile::at(&kept).load(None).unwrap().entries().any(|entry| entry.id == old));
    let front = serve(&self::named(&named.world, Plaintext::Forbid)).await;
    let got = front.client.ask("GET", &at("zebrafish/one")).await.expect(200);
    assert_eq!(got.body, b"content");
    assert_eq!(got.header("x-amz-website-redirect-location"), Some("/zebrafish"));
    let got = front.client.ask("GET", &at("zebrafish/parts")).await.expect(200);
    assert!(got.body == bodies.concat());
    let older = serve(&named.world.config()).await;
    assert_eq!(older.client.ask("GET", "/bucket/older/one").await.expect(200).body, b"older");
    let stored = named.stored("bucket").await;
    assert_eq!(stored.iter().filter(|key| key.contains("zebra")).count(), 0, "{stored:?}");
}
