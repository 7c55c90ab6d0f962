//! Tests of headers that must not be forwarded in either direction.

use base64ct::{Base64, Encoding as _};
use endseal_crypto::sha512;
use endseal_s3proxy::Glob;
use endseal_s3proxy::bucket::{BucketRule, Buckets, Plaintext};
use endseal_s3proxy::config::Backend;
use endseal_testing::Scratch;

use crate::client::Client;
use crate::cors::Told;
use crate::fixture::{Front, World, config, content, serve};
use crate::forms::{CONDITIONS, Form};
use crate::multipart::{PART, begin, complete, part};
use crate::odd_server::{OddServer, Oddity};

async fn before(world: &World, oddity: Oddity) -> Front {
    let server = OddServer::start(world, oddity).await;
    let mut backend: Backend = Backend::served(&world.folder);
    backend.url = format!("http://{}", server.address);
    serve(&config(backend, &world.ring())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_of_a_connection_end_with_it() {
    let (world, _front) = World::with_bucket().await;
    let front = before(&world, Oddity::TellsHeaders).await;
    let client = &front.client;
    let headers = [("connection", "close, X-Amz-Own"), ("x-amz-own", "1"), ("x-amz-other", "2")];
    let head = client.head("PUT", "/bucket/key", &headers, 7).replace("connection: close\r\n", "");
    for (head, body) in [
        (head, &b"content"[..]),
        (client.head("GET", "/bucket/key", &headers, 0), b""),
        (client.head("GET", "/bucket?location", &headers, 0), b""),
    ] {
        let answer = client.exchange(&head, body, false).await.expect(200);
        let came = answer.header("x-amz-came").unwrap();
        assert!(came.contains("x-amz-other") && !came.contains("x-amz-own"), "{came}");
        assert_eq!(answer.header("x-amz-hop"), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_tells_the_size_of_a_sealed_object() {
    let (world, _front) = World::with_bucket().await;
    let front = before(&world, Oddity::TellsHeaders).await;
    let client = &front.client;
    let size = "x-amz-object-size";
    for len in [0, 7, 70_000] {
        let put = client.put("/bucket/key", &content(len, 1)).await.expect(200);
        assert_eq!(put.header(size), None, "{len}");
        for method in ["GET", "HEAD"] {
            assert_eq!(client.ask(method, "/bucket/key").await.expect(200).header(size), None);
        }
    }
    let copy = [("x-amz-copy-source", "bucket/key")];
    let copied = client.ask_with("PUT", "/bucket/copy", &copy).await.expect(200);
    assert_eq!(copied.header(size), None);
    let id = begin(client, "/bucket/parts", &[]).await;
    let target = format!("/bucket/parts?partNumber=1&uploadId={id}");
    assert_eq!(client.put(&target, &content(PART, 1)).await.expect(200).header(size), None);
    let tag = part(client, "/bucket/parts", &id, 1, &content(PART, 1)).await;
    let completed = complete(client, "/bucket/parts", &id, &[(1, tag)]).await.expect(200);
    assert_eq!(completed.header(size), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn encryption_keys_of_clients_are_refused() {
    let (world, front) = World::with_bucket().await;
    let client: &Client = &front.client;
    client.put("/bucket/key", b"content").await.expect(200);
    let before = world.data();
    let own = "x-amz-server-side-encryption-customer-key";
    let of_source = "x-amz-copy-source-server-side-encryption-customer-key";
    let copy = ("x-amz-copy-source", "bucket/key");
    let secret = (own, "c2VjcmV0");
    for (method, target, headers) in [
        ("PUT", "/bucket/new", &[secret][..]),
        ("GET", "/bucket/key", &[secret]),
        ("HEAD", "/bucket/key", &[secret]),
        ("PUT", "/bucket/new", &[copy, (of_source, "c2VjcmV0")]),
        (
            "PUT",
            "/bucket/new",
            &[copy, ("x-amz-server-side-encryption-customer-algorithm", "AES256")],
        ),
        ("POST", "/bucket/new?uploads", &[secret]),
        ("PUT", "/bucket/new?x-amz-server-side-encryption-customer-algorithm=AES256", &[]),
    ] {
        let refused = client.ask_with(method, target, headers).await.expect(501);
        if method != "HEAD" {
            assert_eq!(refused.code(), "NotImplemented");
            assert!(refused.element("Message").contains("SSE-C"));
        }
    }
    let conditions = format!("{CONDITIONS}, [\"starts-with\", \"${own}\", \"\"]");
    let fields = [("key", "up/a"), ("bucket", "bucket"), secret];
    let refused = Form::signed(client, &conditions, &fields, b"content").post(client).await;
    assert_eq!(refused.expect(501).code(), "NotImplemented");
    assert_eq!(world.data(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn checksums_are_compared_here_or_where_plaintext_is_stored() {
    let (world, _front) = World::with_bucket().await;
    let server = OddServer::start(&world, Oddity::TellsHeaders).await;
    let mut backend: Backend = Backend::served(&world.folder);
    backend.url = format!("http://{}", server.address);
    let mut config = config(backend, &world.ring());
    let mut plain = BucketRule::new(Glob::new("plain"));
    plain.plaintext = Plaintext::Allow;
    config.buckets = Buckets::new(vec![plain]);
    let front = serve(&config).await;
    let client = &front.client;
    client.ask("PUT", "/plain").await.expect(200);
    let unknown = [("x-amz-checksum-xxhash64", "AAAAAAAAAAA=")];
    let passed = client.send("PUT", "/plain/key", &unknown, b"content").await.expect(200);
    assert!(passed.header("x-amz-came").unwrap().contains(unknown[0].0));
    assert_eq!(client.ask("GET", "/plain/key").await.expect(200).body, b"content");
    let refused = client.send("PUT", "/bucket/key", &unknown, b"content").await.expect(400);
    assert_eq!(refused.code(), "InvalidRequest");
    let algorithm = [("x-amz-checksum-algorithm", "XXHASH64")];
    let refused = client.ask_with("POST", "/bucket/key?uploads", &algorithm).await.expect(400);
    assert_eq!(refused.code(), "InvalidRequest");

    let mut digest = sha512::Digest::new();
    digest.update(b"content");
    let right = Base64::encode_string(&digest.finish());
    let wrong = Base64::encode_string(&[7; 64]);
    let name = "x-amz-checksum-sha512";
    let put = client.send("PUT", "/bucket/key", &[(name, &right)], b"content").await.expect(200);
    assert_eq!(put.header(name), Some(right.as_str()));
    let refused = client.send("PUT", "/bucket/key", &[(name, &wrong)], b"content").await;
    assert_eq!(refused.expect(400).code(), "BadDigest");
    let asked = [("x-amz-checksum-mode", "ENABLED")];
    let got = client.ask_with("GET", "/bucket/key", &asked).await.expect(200);
    assert_eq!((got.body.as_slice(), got.header(name)), (&b"content"[..], None));
}

/// If a page was loaded with a presigned URL, a browser sends that URL as referrer of its links.
/// The backend could read the plaintext with it.
#[tokio::test(flavor = "multi_thread")]
async fn credentials_for_the_proxy_stay_with_it() {
    let (told, scratch) = (Told::start().await, Scratch::new());
    let front = told.proxy(&scratch).await;
    let secret = "https://proxy.example/bucket/page?X-Amz-Signature=0123abcd";
    let credentials = [
        ("referer", secret),
        ("cookie", secret),
        ("x-original-url", secret),
        ("x-forwarded-uri", secret),
        ("x-auth-token", secret),
        ("x-http-method-override", "DELETE"),
    ];
    told.answers(404, "", "");
    for (method, target, body) in [
        ("GET", "/bucket/key", &b""[..]),
        ("HEAD", "/bucket/key", b""),
        ("GET", "/bucket?location", b""),
        ("GET", "/bucket", b""),
        ("PUT", "/bucket/key", b"content"),
        ("DELETE", "/bucket/key", b""),
    ] {
        front.client.send(method, target, &credentials, body).await;
        let heads = told.heads();
        assert!(!heads.is_empty(), "{method} {target}");
        for head in heads {
            assert!(!head.contains("0123abcd"), "{method} {target}: {head}");
            assert!(!head.contains("override"), "{method} {target}: {head}");
        }
    }
}

/// Such headers make a browser report the URLs of its requests, including presigned ones, to a
/// server that the backend names, or change the proxy's origin in other ways.
#[tokio::test(flavor = "multi_thread")]
async fn a_backend_orders_browsers_nothing() {
    let (told, scratch) = (Told::start().await, Scratch::new());
    let front = told.proxy(&scratch).await;
    let orders = [
        "nel",
        "report-to",
        "reporting-endpoints",
        "referrer-policy",
        "content-security-policy",
        "content-security-policy-report-only",
        "clear-site-data",
        "strict-transport-security",
        "service-worker-allowed",
        "speculation-rules",
        "sourcemap",
        "www-authenticate",
    ];
    let lines: String = orders.iter().map(|name| format!("{name}: evil\r\n")).collect();
    for (status, method, target) in [
        (200, "GET", "/bucket?location"),
        (200, "HEAD", "/bucket"),
        (204, "DELETE", "/bucket/key"),
        (404, "GET", "/bucket/key"),
    ] {
        told.answers(status, &format!("{lines}x-amz-version-id: kept\r\n"), "");
        let answer = front.client.ask(method, target).await.expect(status);
        for name in orders {
            assert_eq!(answer.header(name), None, "{method} {target}");
        }
        assert_eq!(answer.header("x-amz-version-id"), Some("kept"));
    }
}
