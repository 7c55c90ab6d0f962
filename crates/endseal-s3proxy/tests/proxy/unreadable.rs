//! Tests of documents of the backend that cannot be read, and of those with other root elements.

use crate::client::Client;
use crate::fixed_answer::FixedAnswer;
use crate::fixture::{World, config, content, serve};
use crate::logged::Lines;
use crate::multipart::{PART, begin, complete, part};
use crate::odd_server::{OddServer, Oddity};

const LIST: &str = "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>k</Key>\
    <ETag>&quot;t&quot;</ETag><Size>7</Size></Contents></ListBucketResult>";

#[tokio::test]
async fn what_is_no_document_of_s3_is_a_fault_of_the_backend_with_its_cause() {
    let world = World::new();
    let backend = FixedAnswer::start().await;
    let lines = Lines::default();
    let _until = lines.collect();
    let front = serve(&backend.config(&world)).await;
    let delete = "<Delete><Object><Key>k</Key></Object></Delete>";
    let list = ("GET", "/bucket?list-type=2", "");
    let versions = ("GET", "/bucket?versions", "");
    let begins = ("POST", "/bucket/key?uploads", "");
    let deletes = ("POST", "/bucket?delete", delete);
    backend.set(200, LIST);
    front.client.ask(list.0, list.1).await.expect(200);
    let long = "x".repeat(70_000);
    for ((method, target, body), document, cause) in [
        (list, LIST.replace('7', "abc"), "Size is invalid"),
        (list, LIST[..60].to_owned(), "it is not well-formed"),
        (list, "<html><body>Welcome</body></html>".to_owned(), "it is another document"),
        (list, "<!DOCTYPE html><html></html>".to_owned(), "it has a document type"),
        (list, String::new(), "it is not well-formed"),
        (versions, "{}".to_owned(), "it is not well-formed"),
        (begins, "<html><body>Welcome</body></html>".to_owned(), "UploadId is missing"),
        (begins, long, "it is too long"),
        (deletes, "<html><body>Welcome</body></html>".to_owned(), "it is another document"),
    ] {
        let before = lines.warnings().len();
        backend.set(200, &document);
        let refused = front.client.send(method, target, &[], body.as_bytes()).await.expect(502);
        assert_eq!(refused.code(), "BadGateway", "{document}");
        let warnings = lines.warnings().split_off(before);
        assert_eq!(warnings.len(), 1, "{document}: {warnings:?}");
        let line = "kind=invalid_response cause=the backend's document cannot be read: ";
        assert!(warnings[0].contains(&format!("{line}{cause}")), "{document}: {warnings:?}");
    }
}

/// moto answers ListParts with another root element, and rclone CreateMultipartUpload.
#[tokio::test(flavor = "multi_thread")]
async fn names_of_root_elements_are_not_compared() {
    let (world, front) = World::with_bucket().await;
    let odd = OddServer::start(&world, Oddity::RenamesRoots).await;
    let mut backend = endseal_s3proxy::config::Backend::served(&world.folder);
    backend.url = format!("http://{}", odd.address);
    let before = serve(&config(backend, &world.ring())).await;
    let client: &Client = &before.client;
    let (one, two) = (content(PART, 1), content(1_000, 2));
    let id = begin(client, "/bucket/key", &[]).await;
    let first = part(client, "/bucket/key", &id, 1, &one).await;
    let second = part(client, "/bucket/key", &id, 2, &two).await;
    let listed = client.ask("GET", &format!("/bucket/key?uploadId={id}")).await.expect(200);
    assert_eq!(listed.elements("PartNumber"), ["1", "2"]);
    complete(client, "/bucket/key", &id, &[(1, first), (2, second)]).await.expect(200);
    let copy = [("x-amz-copy-source", "bucket/key")];
    client.ask_with("PUT", "/bucket/copy", &copy).await.expect(200);
    let listed = client.ask("GET", "/bucket?list-type=2").await.expect(200);
    assert_eq!(listed.elements("Key"), ["copy", "key"]);
    assert_eq!(listed.element("Size"), (PART + 1_000).to_string());
    let got = front.client.ask("GET", "/bucket/copy").await.expect(200);
    assert!(got.body == [one, two].concat());
}
