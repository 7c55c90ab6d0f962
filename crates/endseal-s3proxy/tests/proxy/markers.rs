//! Tests of folder markers: empty objects whose keys end in `/`.

use endseal_s3proxy::bucket::Plaintext;

use crate::client::{Answer, Client};
use crate::fixture::{World, content};
use crate::named::{Named, at};

const HEADER: &str = "x-amz-meta-endseal";

async fn put_raw(backend: &Client, target: &str, of: &Answer, body: &[u8]) {
    let headers = [(HEADER, of.header(HEADER).unwrap())];
    backend.send("PUT", target, &headers, body).await.expect(200);
}

async fn is_refused(client: &Client, target: &str) {
    assert_eq!(client.ask("GET", target).await.expect(500).code(), "ObjectNotAuthentic");
    assert_eq!(client.ask("HEAD", target).await.status, 500);
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_objects_whose_keys_end_in_a_slash_have_no_body() {
    let (world, front) = World::with_bucket().await;
    let (client, backend) = (&front.client, world.backend());
    let target = "/bucket/folder/";
    let headers = [
        ("x-amz-meta-a", "1"),
        ("content-type", "application/x-directory"),
        ("x-amz-checksum-crc32c", "AAAAAA=="),
    ];
    let put = client.ask_with("PUT", target, &headers).await.expect(200);
    assert_eq!(put.header("x-amz-checksum-crc32c"), Some("AAAAAA=="));
    let stored = backend.ask("GET", target).await.expect(200);
    assert!(stored.body.is_empty() && stored.header(HEADER).is_some());
    for method in ["GET", "HEAD"] {
        let asked = [("x-amz-checksum-mode", "ENABLED")];
        let got = client.ask_with(method, target, &asked).await.expect(200);
        assert_eq!(got.header("content-length"), Some("0"));
        assert_eq!(got.header("x-amz-meta-a"), Some("1"));
        assert_eq!(got.header("content-type"), Some("application/x-directory"));
        assert_eq!((got.etag(), got.header(HEADER)), (put.etag(), None));
    }
    let list = client.ask("GET", "/bucket").await.expect(200);
    assert_eq!((list.element("Key").as_str(), list.element("Size").as_str()), ("folder/", "0"));
    for range in ["bytes=0-9", "bytes=-9", "bytes=3-"] {
        let refused = client.ask_with("GET", target, &[("range", range)]).await.expect(416);
        assert_eq!(refused.header("content-range"), Some("bytes */0"), "{range}");
    }
    // With content it is an ordinary object.
    client.put("/bucket/full/", b"content").await.expect(200);
    assert!(backend.ask("GET", "/bucket/full/").await.expect(200).body.len() > 877);
    assert_eq!(client.ask("GET", "/bucket/full/").await.expect(200).body, b"content");
    let wrong = [("x-amz-checksum-crc32c", "AAAAAQ==")];
    let refused = client.ask_with("PUT", "/bucket/wrong/", &wrong).await.expect(400);
    assert_eq!(refused.code(), "BadDigest");
    client.ask("HEAD", "/bucket/wrong/").await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_body_opens_for_nothing_else() {
    let (world, front) = World::with_bucket().await;
    let (client, backend) = (&front.client, world.backend());
    client.put("/bucket/folder/", b"").await.expect(200);
    client.put("/bucket/empty", b"").await.expect(200);
    client.put("/bucket/full/", b"content").await.expect(200);
    let [marker, empty, full] = [
        backend.ask("GET", "/bucket/folder/").await,
        backend.ask("GET", "/bucket/empty").await,
        backend.ask("GET", "/bucket/full/").await,
    ];
    // The empty and the full object without their bodies, and the marker's header for another key.
    put_raw(&backend, "/bucket/empty", &empty, b"").await;
    is_refused(client, "/bucket/empty").await;
    put_raw(&backend, "/bucket/full/", &full, b"").await;
    is_refused(client, "/bucket/full/").await;
    put_raw(&backend, "/bucket/other/", &marker, b"").await;
    is_refused(client, "/bucket/other/").await;
    put_raw(&backend, "/bucket/folder/", &marker, b"x").await;
    is_refused(client, "/bucket/folder/").await;
    backend.put("/bucket/bare/", b"").await.expect(200);
    let refused = client.ask("GET", "/bucket/bare/").await.expect(403);
    assert_eq!(refused.code(), "InvalidObjectState");
}

#[tokio::test(flavor = "multi_thread")]
async fn markers_are_copied_to_other_keys_and_back() {
    let (world, front) = World::with_bucket().await;
    let (client, backend) = (&front.client, world.backend());
    client.ask_with("PUT", "/bucket/folder/", &[("x-amz-meta-a", "1")]).await.expect(200);
    for (source, target, len) in
        [("folder/", "other/", 0), ("folder/", "file", 877), ("file", "again/", 0)]
    {
        let source = format!("bucket/{source}");
        let target = format!("/bucket/{target}");
        let copy = [("x-amz-copy-source", source.as_str())];
        let copied = client.ask_with("PUT", &target, &copy).await.expect(200);
        let got = client.ask("GET", &target).await.expect(200);
        assert!(got.body.is_empty());
        assert_eq!(got.header("x-amz-meta-a"), Some("1"), "{target}");
        assert_eq!(copied.element("ETag"), got.etag(), "{target}");
        let stored = backend.ask("GET", &target).await.expect(200);
        assert_eq!(stored.body.len(), len, "{target}");
    }
    client.put("/bucket/full", &content(9, 1)).await.expect(200);
    let copy = [("x-amz-copy-source", "bucket/full")];
    client.ask_with("PUT", "/bucket/full/", &copy).await.expect(200);
    assert_eq!(client.ask("GET", "/bucket/full/").await.expect(200).body, content(9, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn markers_have_encrypted_names_like_all_objects() {
    let named = Named::new(Plaintext::Forbid).await;
    let client = &named.front.client;
    client.put(&at("a/b/"), b"").await.expect(200);
    assert!(client.ask("GET", &at("a/b/")).await.expect(200).body.is_empty());
    assert_eq!(named.stored("bucket").await, [named.sealed("a/b/")]);
    assert!(named.sealed("a/b/").ends_with('/'));
}
