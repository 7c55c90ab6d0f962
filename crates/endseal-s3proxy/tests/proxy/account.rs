//! Tests of a backend that refuses the account of the proxy, or that of a client.

use endseal_s3proxy::Config;
use endseal_s3proxy::access::{Client as Known, SecretAccessKey};
use endseal_s3proxy::config::Backend;

use crate::client::Client;
use crate::fixed_answer::FixedAnswer;
use crate::fixture::{SECRET, World, config, serve};
use crate::logged::Lines;

const PROXY: &str = "endseal_s3_backend_account_refused_total{account=\"proxy\"}";
const CLIENT: &str = "endseal_s3_backend_account_refused_total{account=\"client\"}";

/// Returns a configuration whose secret at the backend is wrong.
fn with_wrong_secret(world: &World) -> Config {
    let mut backend = Backend::served(&world.folder);
    backend.secret_key = SecretAccessKey::new("another secret".to_owned());
    config(backend, &world.ring())
}

fn count(text: &str, series: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series));
    line.unwrap_or_else(|| panic!("{series} in\n{text}")).trim().parse().unwrap()
}

#[tokio::test]
async fn a_wrong_secret_of_the_proxy_is_no_fault_of_its_clients() {
    let (world, right) = World::with_bucket().await;
    right.client.put("/bucket/key", b"content").await.expect(200);
    let lines = Lines::default();
    let _until = lines.collect();
    let front = serve(&with_wrong_secret(&world)).await;
    for (method, target, body) in [
        ("GET", "/bucket/key", &b""[..]),
        ("PUT", "/bucket/new", b"new"),
        ("GET", "/bucket?list-type=2", b""),
        ("POST", "/bucket/key?uploads", b""),
        ("DELETE", "/bucket/key", b""),
    ] {
        let refused = front.client.send(method, target, &[], body).await.expect(503);
        assert_eq!(refused.code(), "ServiceUnavailable", "{method}");
        assert!(refused.text().contains("the account of the proxy"), "{}", refused.text());
    }
    // The answer to HEAD has no code.
    for target in ["/bucket/key", "/bucket"] {
        assert_eq!(front.client.ask("HEAD", target).await.status, 503, "{target}");
    }
    let warnings = lines.warnings();
    assert_eq!(warnings.len(), 7, "{warnings:?}");
    for warning in &warnings {
        let cause = "kind=backend_account cause=the backend answered ";
        assert!(warning.contains(cause), "{warning}");
        assert!(warning.contains("SignatureDoesNotMatch"), "{warning}");
    }
    assert_eq!(count(&front.proxy.metrics_text(), PROXY), 7);
    let unready = Err("the backend does not accept the proxy's account");
    assert_eq!(front.proxy.ready().await, unready);
    let text = front.proxy.metrics_text();
    assert_eq!((count(&text, PROXY), count(&text, CLIENT)), (8, 0));
    assert_eq!(right.proxy.ready().await, Ok(()));
}

#[tokio::test]
async fn a_wrong_account_of_one_client_leaves_the_proxy_ready() {
    let (world, right) = World::with_bucket().await;
    let mut config = world.config();
    let secret = || SecretAccessKey::new(SECRET.to_owned());
    config.clients.push(Known::new("MAPPED", secret()).mapped("UNKNOWN", secret()));
    let front = serve(&config).await;
    right.client.put("/bucket/key", b"content").await.expect(200);
    let mapped = Client::new(front.client.address, "MAPPED", SECRET);
    mapped.ask("GET", "/bucket/key").await.expect(503);
    assert_eq!(mapped.ask("HEAD", "/bucket/key").await.status, 503);
    front.client.ask("GET", "/bucket/key").await.expect(200);
    assert_eq!(front.proxy.ready().await, Ok(()));
    let text = front.proxy.metrics_text();
    assert_eq!((count(&text, PROXY), count(&text, CLIENT)), (0, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_of_an_account_is_known() {
    let world = World::new();
    let backend = FixedAnswer::start().await;
    let front = serve(&backend.config(&world)).await;
    let put = |status: u16, code: &str| {
        let document = format!("<Error><Code>{code}</Code><Message>no</Message></Error>");
        backend.set(status, &document);
    };
    for (status, code) in [
        (403, "SignatureDoesNotMatch"),
        (403, "InvalidAccessKeyId"),
        (400, "ExpiredToken"),
        (400, "InvalidToken"),
        (403, "RequestTimeTooSkewed"),
        (400, "AuthorizationHeaderMalformed"),
        (403, "InvalidSecurity"),
        (403, "NotSignedUp"),
        (403, "AccountProblem"),
    ] {
        put(status, code);
        for method in ["GET", "HEAD"] {
            let refused = front.client.ask(method, "/bucket/key").await;
            assert_eq!(refused.status, 503, "{method} {code}");
        }
        assert!(front.proxy.ready().await.is_err(), "{code}");
    }
    // These are about the request.
    for (status, code) in [(403, "AccessDenied"), (400, "InvalidArgument"), (404, "NoSuchBucket")] {
        put(status, code);
        let refused = front.client.ask("GET", "/bucket/key").await.expect(status);
        assert_eq!(refused.code(), code);
        assert_eq!(front.client.ask("HEAD", "/bucket/key").await.status, status);
        assert_eq!(front.proxy.ready().await, Ok(()), "{code}");
    }
    // A path that the server takes for a bucket.
    let mut below = backend.config(&world);
    below.backend.url = format!("{}/s3", backend.url());
    let below = serve(&below).await;
    let unready = Err("the path of backend.url leads to a bucket that does not exist");
    assert_eq!(below.proxy.ready().await, unready);
}
