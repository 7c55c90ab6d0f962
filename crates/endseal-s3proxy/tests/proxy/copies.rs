//! Tests of copies.

use endseal_s3proxy::Glob;
use endseal_s3proxy::bucket::{BucketRule, Buckets, Plaintext};
use endseal_s3proxy::config::Backend;

use crate::client::Client;
use crate::fixture::{World, config, content, serve};
use crate::multipart::{PART, begin, complete};
use crate::odd_server::{OddServer, Oddity};

#[tokio::test(flavor = "multi_thread")]
async fn copies_are_opened_at_their_own_place_alone() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    client.ask("PUT", "/second").await.expect(200);
    let content = content(150_000, 4);
    let beside = [("content-type", "text/plain"), ("x-amz-meta-a", "1")];
    let put = client.send("PUT", "/bucket/a b", &beside, &content).await;
    assert_eq!(put.status, 400, "a space is no part of a request's line");
    client.send("PUT", "/bucket/a%20b", &beside, &content).await.expect(200);
    // Callers of aws-sdk-go encode bucket and key as one name.
    let escaped = [("x-amz-copy-source", "%2Fbucket%2fa%20b")];
    client.ask_with("PUT", "/bucket/escaped", &escaped).await.expect(200);
    assert!(client.ask("GET", "/bucket/escaped").await.expect(200).body == content);
    let from = [("x-amz-copy-source", "/bucket/a%20b")];
    for target in ["/bucket/copy", "/second/copy"] {
        let copied = client.ask_with("PUT", target, &from).await.expect(200);
        let got = client.ask("GET", target).await.expect(200);
        assert!(got.body == content, "{target}");
        assert_eq!(got.etag(), copied.element("ETag"), "{target}");
        assert_eq!(got.header("x-amz-meta-a"), Some("1"), "{target}");
        assert_eq!(got.header("content-type"), Some("text/plain"), "{target}");
    }
    let replaced = [
        ("x-amz-copy-source", "bucket/a%20b"),
        ("x-amz-metadata-directive", "REPLACE"),
        ("x-amz-meta-b", "2"),
    ];
    for target in ["/bucket/replaced", "/bucket/a%20b"] {
        client.ask_with("PUT", target, &replaced).await.expect(200);
        let got = client.ask("GET", target).await.expect(200);
        assert!(got.body == content, "{target}");
        assert_eq!((got.header("x-amz-meta-a"), got.header("x-amz-meta-b")), (None, Some("2")));
    }
    let same = client.ask_with("PUT", "/bucket/a%20b", &from).await.expect(400);
    assert_eq!(same.code(), "InvalidRequest");
    // The bytes of an object are stored under another name directly at the backend.
    let moved = [("x-amz-copy-source", "bucket/copy"), ("x-amz-metadata-directive", "COPY")];
    world.backend().ask_with("PUT", "/bucket/moved", &moved).await.expect(200);
    let refused = client.ask("GET", "/bucket/moved").await.expect(500);
    assert_eq!(refused.code(), "ObjectNotAuthentic");
}

/// Clients encode the source as a form, where a plus is a space: s5cmd and boto 2, for example.
#[tokio::test(flavor = "multi_thread")]
async fn a_plus_in_a_source_is_a_space() {
    let (world, front) = World::with_bucket().await;
    let there = world.backend();
    for (client, bucket) in [(&front.client, "bucket"), (&there, "bare")] {
        if bucket == "bare" {
            client.ask("PUT", "/bare").await.expect(200);
        }
        for (key, content) in [("a%20b", "space"), ("a%2Bb", "plus")] {
            client.put(&format!("/{bucket}/{key}"), content.as_bytes()).await.expect(200);
        }
        for (source, content) in [("a+b", "space"), ("a%20b", "space"), ("a%2Bb", "plus")] {
            let source = format!("{bucket}/{source}");
            let from = [("x-amz-copy-source", source.as_str())];
            client.ask_with("PUT", &format!("/{bucket}/copy"), &from).await.expect(200);
            let target = format!("/{bucket}/parts");
            let id = begin(client, &target, &[]).await;
            let part = format!("{target}?partNumber=1&uploadId={id}");
            let tag = client.ask_with("PUT", &part, &from).await.expect(200).element("ETag");
            complete(client, &target, &id, &[(1, tag)]).await.expect(200);
            for key in ["copy", "parts"] {
                let got = client.ask("GET", &format!("/{bucket}/{key}")).await.expect(200);
                assert_eq!(got.text(), content, "{key} of {source}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_heed_conditions_and_missing_sources() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    let tag = client.put("/bucket/a", b"content").await.expect(200).etag();
    for (condition, value, status) in [
        ("x-amz-copy-source-if-match", tag.as_str(), 200),
        ("x-amz-copy-source-if-match", "\"x-0\"", 412),
        ("x-amz-copy-source-if-none-match", &tag, 412),
        ("x-amz-copy-source-if-none-match", "\"x-0\"", 200),
        ("x-amz-copy-source-if-modified-since", "Fri, 24 May 2013 00:00:00 GMT", 200),
        ("x-amz-copy-source-if-unmodified-since", "Fri, 24 May 2013 00:00:00 GMT", 412),
    ] {
        let headers = [("x-amz-copy-source", "bucket/a"), (condition, value)];
        let copied = client.ask_with("PUT", "/bucket/b", &headers).await;
        assert_eq!(copied.status, status, "{condition} {value}: {}", copied.text());
    }
    for (source, code) in [
        ("bucket/missing", "NoSuchKey"),
        ("nobucket/a", "NoSuchKey"),
        ("bucket", "InvalidArgument"),
        ("bucket/.endseal/parked/x", "AccessDenied"),
    ] {
        let refused = client.ask_with("PUT", "/bucket/c", &[("x-amz-copy-source", source)]).await;
        assert!(matches!(refused.status, 400 | 403 | 404), "{source}");
        let known = refused.code();
        assert!(
            known == code || (known == "NoSuchBucket" && source.starts_with("no")),
            "{source} {known}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_are_copied_into_uploads_of_plaintext() {
    let world = World::new();
    let mut rule = BucketRule::new(Glob::new("open"));
    rule.plaintext = Plaintext::Allow;
    let mut config = world.config();
    config.buckets = Buckets::new(vec![rule]);
    let front = serve(&config).await;
    let client = &front.client;
    for bucket in ["/open", "/bucket"] {
        client.ask("PUT", bucket).await.expect(200);
    }
    let [plain, sealed] = [content(PART + 9, 6), content(90_000, 7)];
    client.put("/open/plain", &plain).await.expect(200);
    client.put("/bucket/sealed", &sealed).await.expect(200);
    let target = "/open/copied";
    let id = begin(client, target, &[]).await;
    let last = format!("bytes=1-{}", PART);
    let mut parts = Vec::new();
    for (number, source, range) in [
        (1, "open/plain", None),
        (2, "open/plain", Some(last.as_str())),
        (3, "bucket/sealed", Some("bytes=10000-69999")),
    ] {
        let target = format!("{target}?partNumber={number}&uploadId={id}");
        let mut headers = vec![("x-amz-copy-source", source)];
        headers.extend(range.map(|range| ("x-amz-copy-source-range", range)));
        let copied = client.ask_with("PUT", &target, &headers).await.expect(200);
        parts.push((number, copied.element("ETag")));
    }
    let beyond =
        [("x-amz-copy-source", "bucket/sealed"), ("x-amz-copy-source-range", "bytes=0-90000")];
    let wrong = format!("{target}?partNumber=4&uploadId={id}");
    let refused = client.ask_with("PUT", &wrong, &beyond).await.expect(400);
    assert_eq!(refused.code(), "InvalidArgument");
    complete(client, target, &id, &parts).await.expect(200);
    let expected = [&plain[..], &plain[1..=PART], &sealed[10_000..70_000]].concat();
    assert!(client.ask("GET", target).await.expect(200).body == expected);
    // The bytes are stored unsealed at the backend.
    assert!(world.backend().ask("GET", target).await.expect(200).body == expected);
    let strange = format!("{target}?partNumber=1&uploadId={id}");
    let gone = client.ask_with("PUT", &strange, &[("x-amz-copy-source", "open/plain")]).await;
    assert_eq!(gone.expect(404).code(), "NoSuchUpload");
}

/// The proxy writes these copies itself, so that the backend does not copy the tags.
#[tokio::test(flavor = "multi_thread")]
async fn copies_that_are_sealed_anew_keep_their_tags() {
    let (world, _) = World::with_bucket().await;
    let odd = OddServer::start(&world, Oddity::HasTags).await;
    let mut backend = Backend::served(&world.folder);
    backend.url = format!("http://{}", odd.address);
    let mut rule = BucketRule::new(Glob::new("*"));
    rule.plaintext = Plaintext::ReadOnly;
    let mut config = config(backend.clone(), &world.ring());
    config.buckets = Buckets::new(vec![rule]);
    let front = serve(&config).await;
    let client = &front.client;
    let there = Client { address: odd.address, signer: backend.signer() };
    let tags = async |path: &str| {
        let answer = client.ask("GET", &format!("{path}?tagging")).await.expect(200);
        answer.elements("Key").into_iter().zip(answer.elements("Value")).collect::<Vec<_>>()
    };
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let tagged = ("x-amz-tagging", "a=1&b=two");
    let both = [pair("a", "1"), pair("b", "two")];
    there.send("PUT", "/bucket/plain", &[tagged], b"plaintext").await.expect(200);
    client.send("PUT", "/bucket/folder/", &[tagged], b"").await.expect(200);
    let replaces = ("x-amz-metadata-directive", "REPLACE");
    let new = ("x-amz-tagging", "c=3");
    for (source, target, headers, expected) in [
        ("bucket/plain", "/bucket/copy", &[][..], &both[..]),
        ("bucket/plain", "/bucket/ignored", &[new], &both),
        ("bucket/plain", "/bucket/named", &[("x-amz-tagging-directive", "COPY"), new], &both),
        (
            "bucket/plain",
            "/bucket/other",
            &[("x-amz-tagging-directive", "REPLACE"), new],
            &[pair("c", "3")],
        ),
        ("bucket/plain", "/bucket/none", &[("x-amz-tagging-directive", "REPLACE")], &[]),
        ("bucket/folder/", "/bucket/folder", &[], &both),
        ("bucket/folder", "/bucket/again/", &[], &both),
        ("bucket/plain", "/bucket/plain", &[replaces], &both),
    ] {
        let headers = [&[("x-amz-copy-source", source)], headers].concat();
        client.ask_with("PUT", target, &headers).await.expect(200);
        assert_eq!(tags(target).await, expected, "{source} {target} {headers:?}");
    }
    let wrong = [("x-amz-copy-source", "bucket/folder"), ("x-amz-tagging-directive", "KEEP")];
    let refused = client.ask_with("PUT", "/bucket/wrong/", &wrong).await.expect(400);
    assert_eq!(refused.element("ArgumentValue"), "KEEP");
}
