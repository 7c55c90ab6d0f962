//! Tests of the access rules of clients.

use std::time::SystemTime;

use endseal_s3proxy::Glob;
use endseal_s3proxy::access::{Client as Known, Permissions, SecretAccessKey};
use http::HeaderMap;

use crate::client::Client;
use crate::fixture::{ACCESS_KEY, SECRET, World, serve, stop};

#[tokio::test(flavor = "multi_thread")]
async fn only_who_signs_comes_in() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    client.put("/bucket/key", b"content").await.expect(200);
    let wrong = Client::new(client.address, ACCESS_KEY, "another secret");
    let refused = wrong.ask("GET", "/bucket/key").await.expect(403);
    assert_eq!(refused.code(), "SignatureDoesNotMatch");
    let unknown = Client::new(client.address, "NOBODY", SECRET);
    let refused = unknown.ask("GET", "/bucket/key").await.expect(403);
    assert_eq!(refused.code(), "InvalidAccessKeyId");
    let head = format!(
        "GET /bucket/key HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
        client.address
    );
    let refused = client.exchange(&head, b"", false).await.expect(403);
    assert_eq!(refused.code(), "AccessDenied");
    let signed = client.head("GET", "/bucket/key", &[], 0);
    for (from, to) in [("/bucket/key", "/bucket/kex"), ("GET", "DELETE"), ("HTTP", "HTTP")] {
        let head = signed.replacen(from, to, 1);
        let answer = client.exchange(&head, b"", false).await;
        assert_eq!(answer.status == 200, from == to, "{from} {to}");
    }
    // The client's secret is not valid at the backend, and the backend's not at the proxy.
    let backend = world.backend();
    let refused = Client::new(backend.address, ACCESS_KEY, SECRET).ask("GET", "/bucket/key").await;
    assert_eq!(refused.status, 403);
    let strange = Client { address: client.address, signer: backend.signer };
    assert_eq!(strange.ask("GET", "/bucket/key").await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn presigned_requests_are_good_for_what_they_name() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    let mut headers = HeaderMap::new();
    headers.insert("host", client.address.to_string().parse().unwrap());
    let now = SystemTime::now();
    let presign =
        |method, path| client.signer.presign(method, path, None, &headers, 60, now).unwrap();
    let plain = |method: &str, target: &str, len: usize| {
        format!(
            "{method} {target} HTTP/1.1\r\nhost: {}\r\ncontent-length: {len}\r\nconnection: close\r\n\r\n",
            client.address
        )
    };
    let query = presign("PUT", "/bucket/key");
    let head = plain("PUT", &format!("/bucket/key?{query}"), 7);
    client.exchange(&head, b"content", false).await.expect(200);
    let query = presign("GET", "/bucket/key");
    let head = plain("GET", &format!("/bucket/key?{query}"), 0);
    assert_eq!(client.exchange(&head, b"", false).await.expect(200).body, b"content");
    let head = plain("GET", &format!("/bucket/other?{query}"), 0);
    client.exchange(&head, b"", false).await.expect(403);
    let head = plain("DELETE", &format!("/bucket/key?{query}"), 0);
    client.exchange(&head, b"", false).await.expect(403);
    let query = client.signer.presign("GET", "/bucket/key", None, &headers, 0, now).unwrap();
    let head = plain("GET", &format!("/bucket/key?{query}"), 0);
    let expired = client.exchange(&head, b"", false).await.expect(403);
    assert_eq!(expired.element("Message"), "Request has expired.");
    assert!(expired.element("ServerTime").starts_with("20"), "{}", expired.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_do_what_they_may() {
    let world = World::new();
    let mut config = world.config();
    let reader = Known::new("READER", SecretAccessKey::new("r".to_owned()))
        .with_buckets(vec![Glob::new("open-*")])
        .with_permissions(Permissions::READ.with(Permissions::LIST));
    config.clients.push(reader);
    let front = serve(&config).await;
    let all = &front.client;
    for bucket in ["/open-a", "/closed"] {
        all.ask("PUT", bucket).await.expect(200);
        all.put(&format!("{bucket}/key"), b"content").await.expect(200);
    }
    let reader = Client::new(all.address, "READER", "r");
    reader.ask("GET", "/open-a/key").await.expect(200);
    reader.ask("GET", "/open-a").await.expect(200);
    for (method, target) in [
        ("GET", "/closed/key"),
        ("GET", "/closed"),
        ("GET", "/"),
        ("PUT", "/open-a/key"),
        ("DELETE", "/open-a/key"),
        ("DELETE", "/open-a"),
        ("PUT", "/open-b"),
        ("POST", "/open-a/key?uploads"),
    ] {
        let refused = reader.ask(method, target).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (403, "AccessDenied"),
            "{method} {target}"
        );
    }
    let stolen = [("x-amz-copy-source", "closed/key")];
    assert_eq!(reader.ask_with("PUT", "/open-a/copy", &stolen).await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn health_needs_no_signature() {
    let world = World::new();
    let front = world.proxy().await;
    let ask = async |path: &str| {
        let head = format!("GET {path} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n");
        front.client.exchange(&head, b"", false).await
    };
    assert_eq!(ask("/healthz").await.expect(200).body, b"ok");
    assert_eq!(ask("/readyz").await.expect(200).body, b"ok");
    stop(world.folder).await;
    let unready = ask("/readyz").await.expect(503);
    assert_eq!(unready.body, b"the backend does not answer");
    assert_eq!(ask("/healthz").await.expect(200).body, b"ok");
}
