//! Tests of the removal of leftovers of uploads.

use core::time::Duration;

use endseal_s3proxy::Proxy;
use endseal_s3proxy::admin::{Clean, CleanEvent, CleanReport, clean};

use crate::client::Client;
use crate::fixture::{World, at_once, content};
use crate::multipart::{PART, begin, complete, part};

/// Uploads that were inactive for this long are removed. It is longer than any test takes.
const AGE: Duration = Duration::from_secs(3_600);

async fn run(world: &World, options: &Clean) -> (CleanReport, Vec<String>) {
    let proxy = Proxy::start(&world.config()).unwrap();
    let mut told = Vec::new();
    let report = clean(&proxy, options, |event| {
        told.push(match event {
            CleanEvent::Upload { bucket, key } => format!("upload {bucket}/{key}"),
            CleanEvent::Part { bucket, key } => format!("part {bucket}/{key}"),
            CleanEvent::Unknown { bucket, key } => format!("unknown {bucket}/{key}"),
            // recorded_clean.rs tests these.
            CleanEvent::Record { .. } => return,
            other => panic!("{other:?}"),
        });
    });
    let report = report.await.unwrap();
    told.sort();
    (report, told)
}

fn older_than(age: Duration) -> Clean {
    let mut options = Clean::default();
    options.older_than = age;
    options
}

/// Creates an upload with one ordinary part and one parked part.
async fn left(client: &Client, target: &str) -> String {
    let id = begin(client, target, &[]).await;
    part(client, target, &id, 1, &content(PART, 1)).await;
    part(client, target, &id, 2, &content(9, 1)).await;
    id
}

async fn counts(world: &World, bucket: &str) -> (usize, usize) {
    let backend = world.backend();
    let uploads = backend.ask("GET", &format!("/{bucket}?uploads")).await.expect(200);
    let keys = backend.ask("GET", &format!("/{bucket}")).await.expect(200);
    let parked =
        keys.elements("Key").iter().filter(|key| key.starts_with(".endseal/parked/")).count();
    (uploads.elements("UploadId").len(), parked)
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_uploads_go_and_live_ones_stay() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    client.ask("PUT", "/other").await.expect(200);
    left(client, "/bucket/old").await;
    left(client, "/other/old").await;
    // Uploads that were started long ago but still get parts: one parked, one ordinary.
    let parked = begin(client, "/bucket/slow", &[]).await;
    let first = part(client, "/bucket/slow", &parked, 1, &content(PART, 2)).await;
    let large = begin(client, "/bucket/slower", &[]).await;
    let short = part(client, "/bucket/slower", &large, 2, &content(7, 2)).await;
    client.put("/bucket/object", b"object").await.expect(200);
    world.age(2 * AGE);
    let last = part(client, "/bucket/slow", &parked, 2, &content(8, 3)).await;
    let started = part(client, "/bucket/slower", &large, 1, &content(PART, 4)).await;
    left(client, "/bucket/young").await;
    assert_eq!(counts(&world, "bucket").await, (4, 4));

    let mut options = older_than(AGE);
    options.dry_run = true;
    let (would, told) = run(&world, &options).await;
    assert_eq!(counts(&world, "bucket").await, (4, 4), "a dry run removes nothing");
    assert_eq!((would.uploads_removed, would.parts_removed), (2, 2), "{told:?}");
    options.dry_run = false;
    let (report, done) = run(&world, &options).await;
    assert_eq!(report, would, "it says before what it does");
    assert_eq!(done, told);
    assert_eq!(&done[2..], ["upload bucket/old", "upload other/old"]);
    assert_eq!((report.uploads_kept, report.parts_kept, report.buckets), (3, 3, 2));
    assert_eq!(counts(&world, "bucket").await, (3, 3));
    assert_eq!(counts(&world, "other").await, (0, 0));

    let parts = [(1, first), (2, last)];
    complete(client, "/bucket/slow", &parked, &parts).await.expect(200);
    let got = client.ask("GET", "/bucket/slow").await.expect(200);
    assert!(got.body == [content(PART, 2), content(8, 3)].concat());
    complete(client, "/bucket/slower", &large, &[(1, started), (2, short)]).await.expect(200);
    let got = client.ask("GET", "/bucket/slower").await.expect(200);
    assert!(got.body == [content(PART, 4), content(7, 2)].concat());
    assert_eq!(client.ask("GET", "/bucket/object").await.expect(200).body, b"object");
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_uploads_that_are_gone_go() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    let backend = world.backend();
    left(client, "/bucket/key").await;
    // The upload is aborted directly at the backend, as a lifecycle rule does. The parked part
    // stays.
    let uploads = backend.ask("GET", "/bucket?uploads").await.expect(200);
    let id = uploads.element("UploadId");
    backend.ask("DELETE", &format!("/bucket/key?uploadId={id}")).await.expect(204);
    assert_eq!(counts(&world, "bucket").await, (0, 1));
    let (young, _) = run(&world, &older_than(AGE)).await;
    assert_eq!((young.parts_kept, young.parts_removed), (1, 0));
    world.age(2 * AGE);
    let mut elsewhere = older_than(AGE);
    elsewhere.bucket = Some("bucket".to_owned());
    let (report, told) = run(&world, &elsewhere).await;
    assert_eq!((report.parts_removed, report.uploads_removed), (1, 0), "{told:?}");
    assert_eq!(counts(&world, "bucket").await, (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_known_stays() {
    let (world, front) = World::with_bucket().await;
    let backend = world.backend();
    left(&front.client, "/bucket/key").await;
    let parked = backend.ask("GET", "/bucket").await.expect(200).element("Key");
    let head = backend.ask("HEAD", &format!("/bucket/{parked}")).await.expect(200);
    let owner = head.header("x-amz-meta-endseal-upload").unwrap().to_owned();
    let id = "0123456789abcdef0123456789abcdef";
    let strange = [
        // Parked parts without the name of their upload, and with that of another upload.
        (format!(".endseal/parked/{id}/00001"), Vec::new()),
        (
            format!(".endseal/parked/{id}/00002"),
            vec![("x-amz-meta-endseal-upload", owner.as_str())],
        ),
        (".endseal/parked/other".to_owned(), Vec::new()),
        (".endseal/later".to_owned(), Vec::new()),
    ];
    for (key, headers) in &strange {
        backend.send("PUT", &format!("/bucket/{key}"), headers, b"x").await.expect(200);
    }
    // Test object of a run that was killed.
    backend.put("/bucket/.endseal/trial/0123456789abcdef", b"x").await.expect(200);
    world.age(2 * AGE);
    let (report, told) = run(&world, &older_than(AGE)).await;
    assert_eq!(
        (report.unknown, report.parts_removed, report.uploads_removed),
        (4, 2, 1),
        "{told:?}"
    );
    let left = backend.ask("GET", "/bucket").await.expect(200).elements("Key");
    assert_eq!(left.len(), 4, "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_many_pages_are_gone_through() {
    let (world, front) = World::with_page_size(50).with_its_bucket().await;
    let client = &front.client;
    at_once(103, |number| async move {
        let target = format!("/bucket/{number:04}");
        let id = begin(client, &target, &[]).await;
        part(client, &target, &id, 1, b"short").await;
    })
    .await;
    world.age(2 * AGE);
    let (report, _) = run(&world, &older_than(AGE)).await;
    assert_eq!((report.uploads_removed, report.parts_removed), (103, 103));
    assert_eq!(counts(&world, "bucket").await, (0, 0));
}
