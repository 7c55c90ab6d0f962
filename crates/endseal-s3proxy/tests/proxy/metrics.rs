//! Tests of metrics and health checks on their own listener.

use std::net::SocketAddr;
use std::path::Path;

use endseal_s3proxy::Config;
use tokio::net::TcpListener;

use crate::client::{Answer, Client};
use crate::fixture::{ACCESS_KEY, Front, SECRET, World, stop};

pub(crate) async fn listen(front: &Front) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(front.metrics.clone().serve(listener));
    address
}

pub(crate) async fn ask(address: SocketAddr, method: &str, path: &str) -> Answer {
    let head = format!("{method} {path} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n");
    Client::new(address, "", "").exchange(&head, b"", method == "HEAD").await
}

/// Returns the value of a series.
pub(crate) fn value(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} in\n{text}")).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_told_at_their_own_address_alone() {
    let (world, front) = World::with_bucket().await;
    let address = listen(&front).await;
    front.client.put("/bucket/giraffe", b"content").await.expect(200);
    front.client.ask("GET", "/bucket/giraffe").await.expect(200);
    world.backend().put("/bucket/plain", b"plain").await.expect(200);
    front.client.ask("GET", "/bucket/plain").await.expect(403);
    let got = ask(address, "GET", "/metrics").await.expect(200);
    assert_eq!(got.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = got.text();
    let series = "endseal_s3_requests_total{operation=\"PutObject\",status=\"2xx\"}";
    assert_eq!(value(text, series), 1);
    assert_eq!(value(text, "endseal_s3_sealed_bytes_total"), 7);
    assert_eq!(value(text, "endseal_s3_opened_bytes_total"), 7);
    assert_eq!(value(text, "endseal_s3_plaintext_refused_total"), 1);
    // A key ring is not cached.
    assert_eq!(value(text, "endseal_s3_keys_cached"), 0);
    assert!(value(text, "endseal_s3_backend_requests_total") >= 4);
    for nobodys_business in [SECRET, ACCESS_KEY, "giraffe", "\"bucket\""] {
        assert!(!text.contains(nobodys_business), "{nobodys_business}");
    }
    // Each series belongs to a metric with exactly one type line.
    let mut types = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("# TYPE ") {
            Some(rest) => types.push(rest.split(' ').next().unwrap()),
            None if line.starts_with("# HELP ") => {}
            None => {
                let name = line.split(['{', ' ']).next().unwrap();
                assert!(name.starts_with(types.last().unwrap()), "{line}");
            }
        }
    }
    let count = types.len();
    types.sort_unstable();
    types.dedup();
    assert_eq!(types.len(), count);
    // For clients it is a bucket with that name.
    assert_eq!(
        ask(front.client.address, "GET", "/metrics").await.expect(403).code(),
        "AccessDenied"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_else_is_told_there() {
    let (world, front) = World::with_bucket().await;
    let address = listen(&front).await;
    assert_eq!(ask(address, "GET", "/healthz").await.expect(200).body, b"ok\n");
    assert_eq!(ask(address, "GET", "/readyz").await.expect(200).body, b"ok\n");
    ask(address, "HEAD", "/metrics").await.expect(200);
    for path in ["/", "/bucket", "/metrics/", "/bucket/key"] {
        assert_eq!(ask(address, "GET", path).await.status, 404, "{path}");
    }
    let refused = ask(address, "POST", "/metrics").await;
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD")));
    stop(world.folder).await;
    assert_eq!(
        ask(address, "GET", "/readyz").await.expect(503).body,
        b"the backend does not answer\n"
    );
    assert_eq!(ask(address, "GET", "/metrics").await.status, 200);
}

#[test]
fn the_listener_is_configured_by_file_and_environment() {
    let read = |more: &str, variable: Option<&str>| {
        let text = format!(
            "[backend]\nfolder = \"f\"\n[keys]\nprovider = \"ring\"\nfile = \"r\"\n\
             [[client]]\naccess_key = \"A\"\nsecret_key = \"0123456789abcdef\"\n{more}"
        );
        let environment = |name: &str| {
            variable.filter(|_| name == "ENDSEAL_S3_METRICS_LISTEN").map(str::to_owned)
        };
        Config::parse(&text, Path::new("/etc/x"), environment)
    };
    let listener = |more, variable| read(more, variable).ok().unwrap().metrics;
    let table = "[metrics]\nlisten = \"127.0.0.1:9091\"";
    assert_eq!(listener("", None), None);
    assert_eq!(listener(table, None), Some("127.0.0.1:9091".parse().unwrap()));
    assert_eq!(listener("", Some("[::1]:1")), Some("[::1]:1".parse().unwrap()));
    assert_eq!(listener(table, Some("[::1]:1")), Some("[::1]:1".parse().unwrap()));
    for (wrong, message) in [
        ("[metrics]", "line 9, column 1: missing field `listen`"),
        ("[metrics]\nlisten = \"here\"", "line 10, column 10: invalid socket address syntax"),
        (
            "[metrics]\nlisten = \"127.0.0.1:1\"\npath = \"/m\"",
            "line 11, column 1: unknown field `path`, expected `listen`",
        ),
    ] {
        assert_eq!(read(wrong, None).err().unwrap().to_string(), message, "{wrong}");
    }
    let wrong = read(table, Some("here")).err().unwrap();
    assert_eq!(wrong.entry(), "metrics.listen");
}
