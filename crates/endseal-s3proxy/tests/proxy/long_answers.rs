//! Tests of completions and copies that take the backend seconds.

use core::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::Client;
use crate::fixture::{World, content, serve};
use crate::multipart::{PART, begin, complete, part};
use crate::odd_server::{OddServer, Oddity};
use crate::races::config_of;

/// Sends a request and reads until the answer has started. Returns what was read.
async fn started(client: &Client, head: &str, body: &[u8]) -> (TcpStream, Vec<u8>) {
    let mut stream = TcpStream::connect(client.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body).await.unwrap();
    let mut received = Vec::new();
    let start = async {
        while !received.ends_with(b"?>\n\r\n") {
            assert_ne!(stream.read_buf(&mut received).await.unwrap(), 0);
        }
    };
    timeout(Duration::from_secs(60), start).await.expect("the answer starts");
    (stream, received)
}

async fn rest(mut stream: TcpStream) -> String {
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await.unwrap();
    String::from_utf8(received).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_completion_keeps_its_client_and_a_second_one_joins_it() {
    let (world, _) = World::with_bucket().await;
    let mut odd = OddServer::start(&world, Oddity::TakesLong).await;
    let front = serve(&config_of(&world, odd.address)).await;
    let client = &front.client;
    let (target, content) = ("/bucket/key", content(PART, 1));
    let id = begin(client, target, &[]).await;
    let tag = part(client, target, &id, 1, &content).await;
    let parts = [(1, tag.clone())];
    let body = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{tag}</ETag></Part>\
         </CompleteMultipartUpload>"
    );
    let head = client.head("POST", &format!("{target}?uploadId={id}"), &[], body.len());
    let (stream, received) = started(client, &head, body.as_bytes()).await;
    let head = String::from_utf8(received).unwrap().to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 200 ") && head.contains("x-amz-request-id: "), "{head}");
    assert!(head.contains("content-type: application/xml\r\n"), "{head}");
    odd.completing.recv().await.unwrap();
    client.ask("GET", target).await.expect(404);
    // The same client tries again.
    let (first, second) = tokio::join!(rest(stream), complete(client, target, &id, &parts));
    assert_eq!(first.matches("<?xml").count(), 0, "{first}");
    assert!(first.contains("<CompleteMultipartUploadResult"), "{first}");
    assert!(second.text().contains("<CompleteMultipartUploadResult"), "{}", second.text());
    assert!(odd.completing.try_recv().is_err(), "the backend completed it once");
    assert!(client.ask("GET", target).await.expect(200).body == content);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_copy_keeps_its_client_and_tells_its_errors_in_the_document() {
    let (world, _) = World::with_bucket().await;
    let odd = OddServer::start(&world, Oddity::TakesLong).await;
    let front = serve(&config_of(&world, odd.address)).await;
    let client = &front.client;
    client.put("/bucket/key", b"content").await.expect(200);
    let source = [("x-amz-copy-source", "bucket/key")];
    let of = async |target: &str| {
        let head = client.head("PUT", target, &source, 0);
        let (stream, head) = started(client, &head, b"").await;
        assert!(head.starts_with(b"HTTP/1.1 200 "));
        rest(stream).await
    };
    let (copied, refused) = tokio::join!(of("/bucket/copy"), of("/missing/copy"));
    assert!(copied.contains("<CopyObjectResult"), "{copied}");
    assert!(refused.contains("<Error><Code>NoSuchBucket</Code>"), "{refused}");
    assert_eq!(client.ask("GET", "/bucket/copy").await.expect(200).body, b"content");
}
