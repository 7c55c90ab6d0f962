//! Tests of servers that complete an upload in steps, so that neither the upload nor the object
//! exists for a while.

use core::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::client::Client;
use crate::fixture::{Front, World, content, serve};
use crate::multipart::{PART, begin, complete, complete_with, part};
use crate::odd_server::{OddServer, Oddity};
use crate::races::config_of;

const TARGET: &str = "/bucket/key";

/// Upload that is ready to be completed, at a server of this kind.
struct Waiting {
    world: World,
    front: Front,
    server: OddServer,
    id: String,
    parts: Vec<(u16, String)>,
    content: Vec<u8>,
}

impl Waiting {
    async fn new(oddity: Oddity) -> Self {
        let (world, _) = World::with_bucket().await;
        let server = OddServer::start(&world, oddity).await;
        let front = serve(&config_of(&world, server.address)).await;
        let id = begin(&front.client, TARGET, &[]).await;
        let pieces = [content(PART, 1), content(77, 2)];
        let mut parts = Vec::new();
        for (number, piece) in (1..).zip(&pieces) {
            parts.push((number, part(&front.client, TARGET, &id, number, piece).await));
        }
        Self { world, front, server, id, parts, content: pieces.concat() }
    }

    /// Requests the completion, and disconnects as soon as the server works on it.
    async fn vanish(&mut self) {
        let parts: String = self
            .parts
            .iter()
            .map(|(number, tag)| {
                format!("<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>")
            })
            .collect();
        let body = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
        let client = &self.front.client;
        let target = format!("{TARGET}?uploadId={}", self.id);
        let head = client.head("POST", &target, &[], body.len());
        let mut stream = TcpStream::connect(client.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body.as_bytes()).await.unwrap();
        self.server.completing.recv().await.unwrap();
    }

    async fn check(&self, client: &Client) {
        let got = client.ask("GET", TARGET).await.expect(200);
        assert!(got.body == self.content);
        let reserved = client.ask("GET", "/bucket").await.expect(200).elements("Key");
        assert_eq!(reserved, ["key"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_whose_list_lacks_a_part_is_found_by_its_size() {
    let (world, front) = World::with_bucket().await;
    let there = world.backend();
    there.ask("PUT", "/bare").await.expect(200);
    for (client, target) in [(&front.client, "/bucket/key"), (&there, "/bare/key")] {
        let id = begin(client, target, &[]).await;
        let mut parts = Vec::new();
        for (number, len) in [(1, PART), (2, 77)] {
            parts.push((number, part(client, target, &id, number, &content(len, 3)).await));
        }
        let sent = (PART + 77).to_string();
        let of_size = async |parts: &[(u16, String)], size: &str| {
            complete_with(client, target, &id, parts, &[("x-amz-mp-object-size", size)]).await
        };
        let refused = of_size(&parts[..1], &sent).await;
        assert_eq!((refused.status, refused.code()), (400, "InvalidRequest".into()), "{target}");
        for other in ["", "x", "0", &format!("{sent}0")] {
            of_size(&parts, other).await.expect(400);
        }
        client.ask("GET", target).await.expect(404);
        of_size(&parts, &sent).await.expect(200);
        assert_eq!(client.ask("GET", target).await.expect(200).body.len(), PART + 77);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_goes_on_without_its_client() {
    for oddity in [Oddity::TakesPartsFirst, Oddity::HidesUploads] {
        let mut waiting = Waiting::new(oddity).await;
        waiting.vanish().await;
        // Clients that ask meanwhile or afterwards get the result.
        for _ in 0..2 {
            let client = &waiting.front.client;
            complete(client, TARGET, &waiting.id, &waiting.parts).await.expect(200);
            waiting.check(client).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_without_its_client_ends_before_the_proxy_does() {
    let mut waiting = Waiting::new(Oddity::TakesPartsFirst).await;
    waiting.vanish().await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    waiting.front.stop.send(true).unwrap();
    assert_eq!((&mut waiting.front.serving).await.unwrap().unwrap(), 0);
    waiting.check(&waiting.world.proxy().await.client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_on_its_way_into_the_object_is_not_told_to_be_missing() {
    for oddity in [Oddity::TakesPartsFirst, Oddity::HidesUploads] {
        let mut waiting = Waiting::new(oddity).await;
        let config = config_of(&waiting.world, waiting.server.address);
        let other = serve(&config).await;
        let Waiting { front, server, id, parts, .. } = &mut waiting;
        let first = complete(&front.client, TARGET, id, parts);
        let second = async {
            server.completing.recv().await.unwrap();
            complete(&other.client, TARGET, id, parts).await
        };
        let (first, second) = tokio::join!(first, second);
        assert_eq!(first.expect(200).element("ETag"), second.expect(200).element("ETag"));
        waiting.check(&other.client).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_that_are_missing_for_good_are_told_to_be() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    let id = begin(client, TARGET, &[]).await;
    let one = part(client, TARGET, &id, 1, &content(PART, 1)).await;
    let parts = [(1, one.clone()), (2, one.clone())];
    let refused = complete(client, TARGET, &id, &parts).await.expect(400);
    assert_eq!(refused.code(), "InvalidPart");
    assert_eq!(world.data().len(), 1, "the id of the upload");
    complete(client, TARGET, &id, &parts[..1]).await.expect(200);
}
