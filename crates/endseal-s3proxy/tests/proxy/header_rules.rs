//! Headers that do not go from one side to the other.

use endseal_s3proxy::config::Backend;

use crate::client::Client;
use crate::fixture::{Front, World, config, content, serve};
use crate::forms::{CONDITIONS, Form};
use crate::multipart::{PART, begin, complete, part};
use crate::odd_server::{OddServer, Oddity};

async fn before(world: &World, oddity: Oddity) -> Front {
    let server = OddServer::start(world, oddity).await;
    let mut backend: Backend = world.folder.backend();
    backend.url = format!("http://{}", server.address);
    serve(&config(backend, &world.ring())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_of_a_connection_end_with_it() {
    let (world, _front) = World::with_bucket().await;
    let front = before(&world, Oddity::TellsHeaders).await;
    let client = &front.client;
    let headers = [("connection", "close, X-Own"), ("x-own", "1"), ("x-other", "2")];
    let head = client.head("PUT", "/bucket/key", &headers, 7).replace("connection: close\r\n", "");
    for (head, body) in [
        (head, &b"content"[..]),
        (client.head("GET", "/bucket/key", &headers, 0), b""),
        (client.head("GET", "/bucket?location", &headers, 0), b""),
    ] {
        let answer = client.exchange(&head, body, false).await.expect(200);
        let came = answer.header("x-came").unwrap();
        assert!(came.contains("x-other") && !came.contains("x-own"), "{came}");
        assert_eq!(answer.header("x-hop"), None);
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
        ("PUT", "/bucket/new", &[copy, ("x-amz-server-side-encryption-customer-algorithm", "AES256")]),
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
