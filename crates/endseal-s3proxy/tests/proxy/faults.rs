//! Tests with damaged objects and broken connections.

use std::fs;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::parse;
use crate::fixture::{World, content, eventually, new_ring, serve, stop};
use crate::multipart::{PART, begin, complete, part};

/// Size of a sealed chunk in bytes.
const SEALED: usize = 16_400;

#[tokio::test(flavor = "multi_thread")]
async fn no_changed_byte_leaves_the_proxy() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    let content = content(10 * 16_384 + 77, 1);
    client.put("/bucket/key", &content).await.expect(200);
    let [file] = world.data().try_into().unwrap();
    let sealed = fs::read(&file).unwrap();
    for at in (0..sealed.len()).step_by(SEALED / 2).chain([sealed.len() - 1]) {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        fs::write(&file, &changed).unwrap();
        let got = client.ask("GET", "/bucket/key").await;
        let chunk = at / SEALED;
        if matches!(got.status, 0 | 200) {
            // The response broke off before the damaged chunk, and does not look complete.
            assert!(!got.whole, "{at}");
            assert!(got.body.len() <= chunk * 16_384, "{at}");
            assert!(content.starts_with(&got.body), "{at}");
        } else {
            assert_eq!((got.status, got.code().as_str()), (500, "ObjectNotAuthentic"), "{at}");
        }
        if chunk == 0 {
            assert_eq!(got.status, 500, "the first chunk is verified before the status line");
        }
        // Ranges outside of the damaged chunk can be read.
        let other = if chunk > 3 { 0..100 } else { 100_000..100_100 };
        let range = format!("bytes={}-{}", other.start, other.end - 1);
        let got = client.ask_with("GET", "/bucket/key", &[("range", &range)]).await.expect(206);
        assert!(got.body == content[other], "{at}");
    }
    fs::write(&file, &sealed).unwrap();
    assert!(client.ask("GET", "/bucket/key").await.expect(200).body == content);
    assert!(front.proxy.metrics_text().contains("endseal_s3_authentication_failures_total"));
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_that_were_moved_are_no_content() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    let content = content(8 * 16_384, 2);
    client.put("/bucket/key", &content).await.expect(200);
    let [file] = world.data().try_into().unwrap();
    let sealed = fs::read(&file).unwrap();
    let chunk = |at: usize| sealed[at * SEALED..(at + 1) * SEALED].to_vec();
    let swapped = [chunk(1), chunk(0), sealed[2 * SEALED..].to_vec()].concat();
    let doubled = [chunk(0), chunk(1), chunk(1), sealed[3 * SEALED..].to_vec()].concat();
    for (what, changed) in [("swapped", swapped), ("doubled", doubled)] {
        assert_eq!(changed.len(), sealed.len());
        fs::write(&file, changed).unwrap();
        let got = client.ask("GET", "/bucket/key").await;
        assert!(got.status == 500 || !got.whole, "{what}");
        assert!(got.status == 500 || content[..2 * 16_384].starts_with(&got.body), "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_put_past_the_proxy_is_refused() {
    let (world, front) = World::with_bucket().await;
    let (client, backend) = (&front.client, world.backend());
    backend.put("/bucket/plain", b"not sealed").await.expect(200);
    let refused = client.ask("GET", "/bucket/plain").await.expect(403);
    assert_eq!(refused.code(), "InvalidObjectState");
    assert_eq!(client.ask("HEAD", "/bucket/plain").await.status, 403);
    let copy = [("x-amz-copy-source", "bucket/plain")];
    assert_eq!(client.ask_with("PUT", "/bucket/copy", &copy).await.status, 403);
    // Objects truncated at a chunk boundary, with the metadata of another object, and too long.
    for len in [40_000, 50_000] {
        client.put(&format!("/bucket/{len}"), &content(len, 1)).await.expect(200);
    }
    let header =
        |head: crate::client::Answer| head.header("x-amz-meta-endseal").unwrap().to_owned();
    let first = header(backend.ask("HEAD", "/bucket/40000").await);
    let second = header(backend.ask("HEAD", "/bucket/50000").await);
    let sealed = backend.ask("GET", "/bucket/40000").await.body;
    let longer = [&sealed[..], b"x"].concat();
    for (what, body, header) in [
        ("cut", &sealed[..2 * SEALED], &first),
        ("one byte less", &sealed[..sealed.len() - 1], &first),
        ("longer", &longer, &first),
        ("longer, and of another", &longer, &second),
        ("cut, and nonsense", &sealed[..2 * SEALED], &"AAAA".to_owned()),
    ] {
        let headers = [("x-amz-meta-endseal", header.as_str())];
        backend.send("PUT", "/bucket/40000", &headers, body).await.expect(200);
        let refused = client.ask("GET", "/bucket/40000").await.expect(500);
        assert_eq!(refused.code(), "ObjectNotAuthentic", "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_that_were_swapped_are_no_object() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    let id = begin(client, "/bucket/key", &[]).await;
    let one = part(client, "/bucket/key", &id, 1, &content(PART, 1)).await;
    let two = part(client, "/bucket/key", &id, 2, &content(PART, 2)).await;
    complete(client, "/bucket/key", &id, &[(1, one), (2, two)]).await.expect(200);
    let files: Vec<_> = world
        .data()
        .into_iter()
        .filter(|file| fs::metadata(file).unwrap().len() > 1_000_000)
        .collect();
    let [one, two] = files.try_into().unwrap();
    let (first, second) = (fs::read(&one).unwrap(), fs::read(&two).unwrap());
    fs::write(&one, second).unwrap();
    fs::write(&two, first).unwrap();
    let refused = client.ask("GET", "/bucket/key").await;
    assert!(refused.status == 500 && refused.code() == "ObjectNotAuthentic", "{}", refused.status);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_key_opens_nothing() {
    let (world, front) = World::with_bucket().await;
    front.client.put("/bucket/key", b"content").await.expect(200);
    let ring = world.scratch.folder().join("another");
    new_ring(&ring);
    let other = serve(&world.config_with(&ring)).await;
    let refused = other.client.ask("GET", "/bucket/key").await.expect(500);
    assert_eq!(refused.code(), "ObjectNotAuthentic");
    let id = begin(&front.client, "/bucket/key", &[]).await;
    let strange = other.client.put(&format!("/bucket/key?partNumber=1&uploadId={id}"), b"x").await;
    assert_eq!((strange.status, strange.code().as_str()), (404, "NoSuchUpload"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_vanishes_leaves_nothing() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    client.put("/bucket/key", b"old").await.expect(200);
    let content = content(3_000_000, 3);
    let id = begin(client, "/bucket/large", &[]).await;
    let targets = ["/bucket/key".to_owned(), format!("/bucket/large?partNumber=1&uploadId={id}")];
    for target in &targets {
        for sent in [0, 1, 100_000, content.len() - 1] {
            let head = client.head("PUT", target, &[], content.len());
            let mut stream = TcpStream::connect(client.address).await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(&content[..sent]).await.unwrap();
            stream.flush().await.unwrap();
            tokio::time::sleep(core::time::Duration::from_millis(50)).await;
        }
    }
    eventually("nothing is left", || world.unfinished().is_empty()).await;
    let counted = || front.proxy.metrics_text().contains("endseal_s3_in_flight 0\n");
    eventually("no request is counted any more", counted).await;
    assert_eq!(client.ask("GET", "/bucket/key").await.expect(200).body, b"old");
    let parts = client.ask("GET", &format!("/bucket/large?uploadId={id}")).await.expect(200);
    assert!(parts.elements("PartNumber").is_empty());
    assert_eq!(world.data().len(), 2, "the object, and the id of the upload");
}

/// A client that closes its sending side still gets its response.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_no_more_gets_its_answer() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    for len in [1, 4_096, 3_000_000] {
        let content = content(len, 5);
        for (method, body, expected) in [("PUT", &content[..], &[][..]), ("GET", &[], &content)] {
            let head = client.head(method, "/bucket/key", &[], body.len());
            let mut stream = TcpStream::connect(client.address).await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(body).await.unwrap();
            stream.shutdown().await.unwrap();
            let mut received = Vec::new();
            stream.read_to_end(&mut received).await.unwrap();
            let answer = parse(&received, false).expect(200);
            assert!(answer.body == expected, "{method} {len}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_is_gone_is_unavailable() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    client.put("/bucket/key", b"content").await.expect(200);
    stop(world.folder).await;
    for (method, body) in [("GET", &b""[..]), ("PUT", b"new")] {
        let refused = client.send(method, "/bucket/key", &[], body).await;
        assert_eq!((refused.status, refused.code().as_str()), (503, "ServiceUnavailable"));
        assert!(refused.header("retry-after").is_some());
    }
}
