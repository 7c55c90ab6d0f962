//! Tests of user metadata and content headers that are sealed with the object.

use endseal_s3proxy::Glob;
use endseal_s3proxy::bucket::{BucketRule, Buckets};

use crate::client::{Answer, Client};
use crate::fixture::{Front, World, content, serve};
use crate::multipart::{PART, begin, complete, part};

const HEADER: &str = "x-amz-meta-endseal";
const SEALED: &str = "x-amz-meta-endseal-m";

const BESIDE: [(&str, &str); 7] = [
    ("content-type", "text/plain"),
    ("content-disposition", "attachment"),
    ("content-encoding", "identity"),
    ("content-language", "de"),
    ("cache-control", "no-store"),
    ("expires", "Fri, 24 May 2030 00:00:00 GMT"),
    ("x-amz-meta-author", "Ann"),
];

/// Creates a proxy with the buckets `bucket`, and `clear`, where metadata are not sealed.
async fn world() -> (World, Front) {
    let world = World::new();
    let mut config = world.config();
    let mut clear = BucketRule::new(Glob::new("clear"));
    clear.seal_metadata = false;
    config.buckets = Buckets::new(vec![clear]);
    let front = serve(&config).await;
    for bucket in ["/bucket", "/clear"] {
        front.client.ask("PUT", bucket).await.expect(200);
    }
    (world, front)
}

fn shows_all(answer: &Answer) -> bool {
    BESIDE.iter().all(|(name, value)| answer.header(name) == Some(value))
}

fn shows_none(answer: &Answer) -> bool {
    let kind = answer.header("content-type");
    let is_default = kind.is_none_or(|kind| kind == "binary/octet-stream");
    is_default && BESIDE[1..].iter().all(|(name, _)| answer.header(name).is_none())
}

/// Puts an object at the backend with its own header and other headers.
async fn put_with(backend: &Client, target: &str, stored: &Answer, others: &[(&str, &str)]) {
    let own = [HEADER, SEALED].map(|name| (name, stored.header(name).unwrap()));
    let headers = [&own[..], others].concat();
    backend.send("PUT", target, &headers, &stored.body).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_backend_neither_sees_nor_changes_metadata() {
    let (world, front) = world().await;
    let (client, backend) = (&front.client, world.backend());
    client.send("PUT", "/bucket/key", &BESIDE, &content(40_000, 1)).await.expect(200);
    let id = begin(client, "/bucket/parts", &BESIDE).await;
    let one = part(client, "/bucket/parts", &id, 1, &content(PART, 2)).await;
    complete(client, "/bucket/parts", &id, &[(1, one)]).await.expect(200);
    client.put("/bucket/bare", b"bare").await.expect(200);
    for target in ["/bucket/key", "/bucket/parts"] {
        let stored = backend.ask("GET", target).await.expect(200);
        assert!(shows_none(&stored) && stored.header(SEALED).is_some(), "{target}");
        let others = [
            ("content-type", "text/html"),
            ("content-disposition", "inline"),
            ("cache-control", "public"),
            ("x-amz-meta-author", "Eve"),
            ("x-amz-meta-more", "x"),
        ];
        put_with(&backend, target, &stored, &others).await;
        for method in ["GET", "HEAD"] {
            let got = client.ask(method, target).await.expect(200);
            assert!(shows_all(&got), "{method} {target}");
            assert_eq!(got.header("x-amz-meta-more"), None);
        }
        let range = [("range", "bytes=0-9")];
        assert!(shows_all(&client.ask_with("GET", target, &range).await.expect(206)));

        // Without the entry, or with that of another object, it is not the object any more.
        let bare = backend.ask("GET", "/bucket/bare").await.expect(200);
        let header = (HEADER, stored.header(HEADER).unwrap());
        for entry in [None, Some((SEALED, bare.header(SEALED).unwrap())), Some((SEALED, "AAAA"))] {
            let headers: Vec<_> = [Some(header), entry].into_iter().flatten().collect();
            backend.send("PUT", target, &headers, &stored.body).await.expect(200);
            let refused = client.ask("GET", target).await.expect(500);
            assert_eq!(refused.code(), "ObjectNotAuthentic");
            assert_eq!(client.ask("HEAD", target).await.status, 500);
        }
        put_with(&backend, target, &stored, &[]).await;
        assert!(shows_all(&client.ask("GET", target).await.expect(200)));
    }
    let got = client.ask("GET", "/bucket/bare").await.expect(200);
    assert!(shows_none(&got));
    assert_eq!(got.header("content-type"), Some("binary/octet-stream"), "as S3 has it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_can_ask_for_other_headers() {
    let (_world, front) = world().await;
    let client = &front.client;
    client.send("PUT", "/bucket/key", &BESIDE, b"content").await.expect(200);
    let query = "response-content-type=image%2Fpng&response-cache-control=max-age%3D7";
    for method in ["GET", "HEAD"] {
        let got = client.ask(method, &format!("/bucket/key?{query}")).await.expect(200);
        assert_eq!(got.header("content-type"), Some("image/png"));
        assert_eq!(got.header("cache-control"), Some("max-age=7"));
        assert_eq!(got.header("content-disposition"), Some("attachment"));
    }
    let refused = client.ask("GET", "/bucket/key?response-content-type=a%0Ab").await;
    assert_eq!(refused.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_keep_or_replace_metadata_by_the_rule_of_their_bucket() {
    let (world, front) = world().await;
    let (client, backend) = (&front.client, world.backend());
    client.send("PUT", "/bucket/key", &BESIDE, b"content").await.expect(200);
    let copy = |source| [("x-amz-copy-source", source)];
    for (source, target) in [
        ("bucket/key", "/bucket/copy"),
        ("bucket/key", "/clear/copy"),
        ("clear/copy", "/clear/again"),
        ("clear/again", "/bucket/back"),
    ] {
        client.ask_with("PUT", target, &copy(source)).await.expect(200);
        assert!(shows_all(&client.ask("GET", target).await.expect(200)), "{target}");
        let stored = backend.ask("GET", target).await.expect(200);
        let is_clear = target.starts_with("/clear");
        assert_eq!(shows_all(&stored), is_clear, "{target}");
        assert_eq!(stored.header(SEALED).is_none(), is_clear, "{target}");
    }
    let replaced = [
        ("x-amz-copy-source", "bucket/key"),
        ("x-amz-metadata-directive", "REPLACE"),
        ("content-type", "text/x"),
        ("x-amz-meta-b", "2"),
    ];
    client.ask_with("PUT", "/bucket/key", &replaced).await.expect(200);
    let got = client.ask("HEAD", "/bucket/key").await.expect(200);
    assert_eq!(
        (got.header("content-type"), got.header("x-amz-meta-b")),
        (Some("text/x"), Some("2"))
    );
    assert_eq!((got.header("x-amz-meta-author"), got.header("cache-control")), (None, None));
}

/// Where metadata are not sealed, the entry means nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_the_header_does_not_demand_is_ignored() {
    let (world, front) = world().await;
    let (client, backend) = (&front.client, world.backend());
    client.send("PUT", "/clear/key", &BESIDE, b"content").await.expect(200);
    let stored = backend.ask("GET", "/clear/key").await.expect(200);
    let headers =
        [(HEADER, stored.header(HEADER).unwrap()), (SEALED, "AAAA"), ("x-amz-meta-a", "1")];
    backend.send("PUT", "/clear/key", &headers, &stored.body).await.expect(200);
    let got = client.ask("GET", "/clear/key").await.expect(200);
    assert_eq!((got.header("x-amz-meta-a"), got.header(SEALED)), (Some("1"), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_that_find_no_room_are_refused() {
    let (_world, front) = world().await;
    let client = &front.client;
    let put = async |len: usize| {
        let value = "v".repeat(len);
        client.send("PUT", "/bucket/key", &[("x-amz-meta-a", &value)], b"content").await
    };
    put(1_000).await.expect(200);
    let refused = put(1_500).await.expect(400);
    assert_eq!(refused.code(), "MetadataTooLarge");
    assert_eq!(
        client.ask("HEAD", "/bucket/key").await.header("x-amz-meta-a").unwrap().len(),
        1_000
    );
}
