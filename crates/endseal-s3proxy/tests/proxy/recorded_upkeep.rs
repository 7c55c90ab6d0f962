//! Tests of the cost of recorded uploads, and of failures to write records.

use std::fs;
use std::path::PathBuf;

use endseal_s3proxy::Glob;
use endseal_s3proxy::bucket::{BucketRule, Buckets, Plaintext};

use crate::fixture::{Front, World, content, files_below, serve};
use crate::multipart::{PART, begin, complete};
use crate::resent::{own, sent};

/// Returns the value of a counter.
pub(crate) fn counter(front: &Front, name: &str) -> u64 {
    let text = front.proxy.metrics_text();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name}")).parse().unwrap()
}

/// Returns the number of backend requests that some work causes.
async fn requests<T>(front: &Front, work: impl Future<Output = T>) -> (T, u64) {
    let name = "endseal_s3_backend_requests_total";
    let before = counter(front, name);
    let done = work.await;
    (done, counter(front, name) - before)
}

/// Returns the numbers of requests to start an upload, upload a part, list uploads, complete it,
/// and abort another one.
async fn costs(front: &Front) -> [u64; 5] {
    let client = &front.client;
    let target = "/bucket/key";
    let (id, create) = requests(front, begin(client, target, &[])).await;
    let body = content(PART, 1);
    let (tag, upload) = requests(front, sent(client, target, &id, 1, &body)).await;
    let (_, list) = requests(front, client.ask("GET", "/bucket?uploads")).await;
    let parts = [(1, tag)];
    let (done, complete) = requests(front, complete(client, target, &id, &parts)).await;
    done.expect(200);
    let id = begin(client, target, &[]).await;
    let abort = format!("{target}?uploadId={id}");
    let (done, abort) = requests(front, client.ask("DELETE", &abort)).await;
    done.expect(204);
    [create, upload, list, complete, abort]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_recorded_costs_few_requests() {
    let (world, front) = World::with_bucket().await;
    // Start: the upload and its id. Part: the part and its receipt. List: the list and one id. A
    // completion lists the parts, writes the end, completes, looks for parked parts, and lists and
    // deletes the records. An abort does the last three and the abort itself.
    assert_eq!(costs(&front).await, [2, 2, 2, 6, 4]);
    assert!(own(&world).await.is_empty());
}

/// Returns the folder in which the backend stores the records.
fn folder_of_records(world: &World) -> PathBuf {
    let mut files = Vec::new();
    files_below(&world.scratch.folder().join("objects"), &mut files);
    let upload = files.iter().flat_map(|file| file.ancestors());
    let mut found = upload.filter(|folder| folder.to_str().unwrap().ends_with("/upload=d"));
    found.next().unwrap_or_else(|| panic!("{files:?}")).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_recorded() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    let target = "/bucket/key";
    let id = begin(client, target, &[]).await;
    let body = content(PART, 1);
    let first = sent(client, target, &id, 1, &body).await;
    assert_eq!(counter(&front, "endseal_s3_records_failed_total"), 0);
    // A disk on which records can no longer be written.
    let folder = folder_of_records(&world);
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, b"").unwrap();
    // The client gets no id that would be missing in lists, and the upload is removed.
    let uploads = async || world.backend().ask("GET", "/bucket?uploads").await.expect(200);
    let refused = client.ask("POST", "/bucket/other?uploads").await;
    assert_eq!(refused.expect(500).code(), "InternalError");
    assert_eq!(uploads().await.elements("Key"), ["key"]);
    assert_eq!(counter(&front, "endseal_s3_records_failed_total"), 1);
    // A part is valid without a receipt.
    let second = sent(client, target, &id, 1, &body).await;
    assert_eq!(counter(&front, "endseal_s3_records_failed_total"), 2);
    fs::remove_file(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    let refused = complete(client, target, &id, &[(1, first)]).await.expect(400);
    assert_eq!(refused.code(), "InvalidPart");
    complete(client, target, &id, &[(1, second)]).await.expect(200);
    assert!(client.ask("GET", target).await.expect(200).body == body);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_forgotten_fails_no_request() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    let one = begin(client, "/bucket/one", &[]).await;
    let two = begin(client, "/bucket/two", &[]).await;
    let tag = sent(client, "/bucket/one", &one, 1, b"short").await;
    let folder = folder_of_records(&world);
    // Records that the backend can neither list nor delete, because its files are damaged.
    for upload in fs::read_dir(&folder).unwrap() {
        for entry in fs::read_dir(upload.unwrap().path()).unwrap() {
            fs::write(entry.unwrap().path(), b"damaged").unwrap();
        }
    }
    complete(client, "/bucket/one", &one, &[(1, tag)]).await.expect(200);
    client.ask("DELETE", &format!("/bucket/two?uploadId={two}")).await.expect(204);
    assert_eq!(client.ask("GET", "/bucket/one").await.expect(200).body, b"short");
    assert_eq!(counter(&front, "endseal_s3_records_failed_total"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_with_nothing_but_records_can_be_deleted() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    let id = begin(client, "/bucket/key", &[]).await;
    sent(client, "/bucket/key", &id, 1, b"short").await;
    assert_eq!(own(&world).await.len(), 3);
    assert!(client.ask("GET", "/bucket").await.expect(200).elements("Key").is_empty());
    for key in own(&world).await {
        let refused = client.ask("GET", &format!("/bucket/{key}")).await.expect(403);
        assert_eq!(refused.code(), "AccessDenied");
    }
    client.ask("DELETE", "/bucket").await.expect(204);
    client.ask("HEAD", "/bucket").await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_plaintext_is_written_uploads_are_the_backends_own() {
    let world = World::new();
    let mut config = world.config();
    let mut rule = BucketRule::new(Glob::new("*"));
    rule.plaintext = Plaintext::Allow;
    config.buckets = Buckets::new(vec![rule]);
    let front = serve(&config).await;
    let client = &front.client;
    client.ask("PUT", "/bucket").await.expect(200);
    let id = begin(client, "/bucket/key", &[]).await;
    let (list, asked) = requests(&front, client.ask("GET", "/bucket?uploads")).await;
    assert_eq!(list.expect(200).element("UploadId"), id);
    assert_eq!(asked, 1, "there is nothing to look for");
    let tag = sent(client, "/bucket/key", &id, 1, b"short").await;
    assert!(own(&world).await.is_empty());
    complete(client, "/bucket/key", &id, &[(1, tag)]).await.expect(200);
}
