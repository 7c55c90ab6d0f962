//! Tests of many connections of clients that send nothing.

use core::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::fixture::{World, eventually, serve};
use crate::logged::Lines;

async fn silent(front: &crate::fixture::Front) -> TcpStream {
    TcpStream::connect(front.client.address).await.unwrap()
}

#[tokio::test]
async fn silent_connections_make_way_for_others_and_are_told() {
    let lines = Lines::default();
    let _until = lines.collect();
    let world = World::new();
    let mut config = world.config();
    config.limits.connections = 8;
    config.limits.connections_per_peer = Some(8);
    config.limits.header_timeout = Duration::from_secs(3_600);
    let front = serve(&config).await;
    let mut kept = Vec::new();
    for _ in 0..8 {
        kept.push(silent(&front).await);
    }
    let all = || front.proxy.metrics_text().contains("endseal_s3_client_connections 8\n");
    eventually("all connections are accepted", all).await;
    assert!(front.proxy.metrics_text().contains("endseal_s3_client_connections_limit 8\n"));
    let asked = timeout(Duration::from_secs(60), front.client.ask("PUT", "/bucket")).await;
    asked.expect("another client is served").expect(200);
    let warnings = lines.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let cause = "kind=connections cause=limits.connections = 8 is reached";
    assert!(warnings[0].contains(cause), "{warnings:?}");
}

#[tokio::test]
async fn one_address_has_some_of_the_connections() {
    let lines = Lines::default();
    let _until = lines.collect();
    let world = World::new();
    let mut config = world.config();
    config.limits.connections = 5;
    let front = serve(&config).await;
    let mut kept = Vec::new();
    for _ in 0..3 {
        kept.push(silent(&front).await);
    }
    for _ in 0..2 {
        let mut further = silent(&front).await;
        let read = timeout(Duration::from_secs(60), further.read(&mut [0])).await;
        assert_eq!(read.expect("it is closed").unwrap(), 0);
    }
    let text = front.proxy.metrics_text();
    assert!(text.contains("endseal_s3_client_connections 3\n"), "{text}");
    assert!(text.contains("endseal_s3_client_connections_refused_total 2\n"), "{text}");
    let warnings = lines.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let cause = "kind=connections_per_peer peer=127.0.0.1:";
    assert!(warnings[0].contains(cause), "{warnings:?}");
    kept.pop();
    let fewer = || front.proxy.metrics_text().contains("endseal_s3_client_connections 2\n");
    eventually("a connection has ended", fewer).await;
    front.client.ask("PUT", "/bucket").await.expect(200);
}
