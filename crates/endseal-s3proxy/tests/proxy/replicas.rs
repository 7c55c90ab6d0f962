//! Tests of several proxies for one backend, and of the shutdown of one.

use core::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::parse;
use crate::fixture::{World, content};
use crate::multipart::{PART, begin, complete, part};

#[tokio::test(flavor = "multi_thread")]
async fn two_proxies_share_one_upload() {
    let (world, first) = World::with_bucket().await;
    let second = world.proxy().await;
    let target = "/bucket/key";
    let id = begin(&first.client, target, &[]).await;
    let one = part(&second.client, target, &id, 1, &content(PART, 1)).await;
    let two = part(&first.client, target, &id, 2, &content(PART, 2)).await;
    let last = part(&second.client, target, &id, 3, &content(3, 3)).await;
    drop(second);
    let third = world.proxy().await;
    complete(&third.client, target, &id, &[(1, one), (2, two), (3, last)]).await.expect(200);
    let expected = [content(PART, 1), content(PART, 2), content(3, 3)].concat();
    assert!(first.client.ask("GET", target).await.expect(200).body == expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_on_their_way_end_before_the_proxy_does() {
    let (_world, front) = World::with_bucket().await;
    let address = front.client.address;
    let content = content(500_000, 6);
    let head = front.client.head("PUT", "/bucket/key", &[], content.len());
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&content[..200_000]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    front.stop.send(true).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
    assert!(!front.serving.is_finished());
    stream.write_all(&content[200_000..]).await.unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await.unwrap();
    parse(&received, false).expect(200);
    assert_eq!(front.serving.await.unwrap().unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_does_not_keep_the_proxy() {
    let world = World::new();
    let front = world.proxy().await;
    let _idle = TcpStream::connect(front.client.address).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    front.stop.send(true).unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(60), front.serving).await;
    assert_eq!(ended.unwrap().unwrap().unwrap(), 0);
}
