//! Tests of requests that could bypass the proxy.

use crate::fixture::World;

type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const RENAME: (&str, &str) = ("x-amz-rename-source", "/bucket/key");
const COPY: (&str, &str) = ("x-amz-copy-source", "bucket/key");

const CASES: [Case; 21] = [
    ("PUT", "/bucket/new?renameObject", &[RENAME]),
    ("PUT", "/bucket/new?renameObject", &[("x-amz-rename-source", "/bucket/.endseal/parked/x")]),
    ("PUT", "/bucket/new", &[RENAME]),
    ("PUT", "/bucket/key", &[("x-amz-write-offset-bytes", "187")]),
    ("PUT", "/bucket/key?append&position=187", &[]),
    ("POST", "/bucket/key?append&position=187", &[]),
    ("POST", "/bucket/key?select&select-type=2", &[]),
    ("POST", "/bucket/key?uploads&select&select-type=2", &[]),
    ("GET", "/bucket/key?torrent", &[]),
    ("PUT", "/bucket/new.tar", &[("x-minio-extract", "true")]),
    ("PUT", "/bucket/new.tar", &[("x-amz-meta-snowball-auto-extract", "true")]),
    ("DELETE", "/bucket/k", &[("x-minio-force-delete", "true")]),
    ("PUT", "/bucket/new?tagging", &[COPY]),
    ("PUT", "/bucket/new?acl", &[COPY]),
    ("PUT", "/bucket/new?encryption", &[]),
    ("PUT", "/bucket/new?website", &[]),
    ("POST", "/bucket/new", &[]),
    ("POST", "/bucket", &[]),
    ("GET", "/bucket?session", &[]),
    ("POST", "/WriteGetObjectResponse", &[("x-amz-request-route", "r")]),
    ("POST", "/?Action=CreateAccessKey", &[]),
];

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_would_get_round_the_proxy_are_refused() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    client.put("/bucket/key", b"content").await.expect(200);
    let before = world.data();
    for (method, target, headers) in CASES {
        let body: &[u8] = if matches!(method, "PUT" | "POST") { b"plaintext" } else { b"" };
        let refused = client.send(method, target, headers, body).await.expect(501);
        assert_eq!(refused.code(), "NotImplemented", "{method} {target}");
        assert_eq!(refused.element("Message"), MESSAGE, "{method} {target}: the backend was asked");
    }
    assert_eq!(world.data(), before);
    assert_eq!(client.ask("GET", "/bucket/key").await.expect(200).body, b"content");
}

#[tokio::test(flavor = "multi_thread")]
async fn methods_that_s3_does_not_have_are_refused() {
    let (_world, front) = World::with_bucket().await;
    for (method, target, kind) in [
        ("PATCH", "/bucket/key", "OBJECT"),
        ("TRACE", "/bucket", "BUCKET"),
        ("PROPFIND", "/", "SERVICE"),
    ] {
        let refused = front.client.ask(method, target).await.expect(405);
        assert_eq!(refused.code(), "MethodNotAllowed", "{method}");
        assert_eq!(refused.header("allow"), Some("GET, HEAD, PUT, POST, DELETE, OPTIONS"));
        assert_eq!(refused.element("Method"), method);
        assert_eq!(refused.element("ResourceType"), kind);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_too_long_are_refused_with_their_size() {
    let (_world, front) = World::with_bucket().await;
    let key = "k".repeat(1_024);
    front.client.ask("GET", &format!("/bucket/{key}")).await.expect(404);
    let refused = front.client.ask("GET", &format!("/bucket/{key}k")).await.expect(400);
    assert_eq!(refused.code(), "KeyTooLongError");
    assert_eq!(
        (refused.element("Size"), refused.element("MaxSizeAllowed")),
        ("1025".into(), "1024".into())
    );
}

const MESSAGE: &str = "The proxy cannot do this with sealed objects.";

#[tokio::test(flavor = "multi_thread")]
async fn a_restoration_goes_through_and_a_query_does_not() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    client.put("/bucket/key", b"content").await.expect(200);
    for (inner, refused) in [
        ("<Days>1</Days>", false),
        ("<Type>SELECT</Type><SelectParameters/>", true),
        ("<OutputLocation><S3><BucketName>bucket</BucketName></S3></OutputLocation>", true),
    ] {
        let body = format!("<RestoreRequest>{inner}</RestoreRequest>");
        let answer = client.send("POST", "/bucket/key?restore", &[], body.as_bytes()).await;
        // The folder has no archive and responds with its own message.
        assert_eq!(answer.element("Message") == MESSAGE, refused, "{inner}: {}", answer.text());
    }
    let wrong = client.send("POST", "/bucket/key?restore", &[], b"<Other/>").await.expect(400);
    assert_eq!(wrong.code(), "MalformedXML");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_leave_the_bucket_or_hide_the_proxys_folder_are_refused() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    for (target, status, code) in [
        ("/bucket/../other/key", 400, "InvalidURI"),
        ("/bucket/a/%2E%2E/../key", 400, "InvalidURI"),
        ("/bucket/.endseal", 403, "AccessDenied"),
        ("/bucket/a/../.endseal", 403, "AccessDenied"),
    ] {
        for method in ["PUT", "GET", "DELETE"] {
            let refused = client.ask(method, target).await.expect(status);
            assert_eq!(refused.code(), code, "{method} {target}");
        }
        let key = target.strip_prefix("/bucket/").unwrap().replace("%2E", ".");
        let body = format!("<Delete><Object><Key>{key}</Key></Object></Delete>");
        let refused = client.send("POST", "/bucket?delete", &[], body.as_bytes()).await;
        assert_eq!((refused.status, refused.code().as_str()), (status, code), "{key}");
        let source = format!("bucket/{}", target.strip_prefix("/bucket/").unwrap());
        let headers = [("x-amz-copy-source", source.as_str())];
        let refused = client.ask_with("PUT", "/bucket/copy", &headers).await;
        assert_eq!((refused.status, refused.code().as_str()), (status, code), "{source}");
    }
    assert!(world.data().is_empty());
    client.put("/bucket/a/b/../c", b"content").await.expect(200);
    assert_eq!(client.ask("GET", "/bucket/a/b/../c").await.expect(200).body, b"content");
}
