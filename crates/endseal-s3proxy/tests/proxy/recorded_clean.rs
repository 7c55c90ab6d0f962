//! Tests of the removal of upload records.

use core::time::Duration;

use endseal_s3proxy::Proxy;
use endseal_s3proxy::admin::{Clean, CleanEvent, CleanReport, clean};

use crate::fixture::{World, content};
use crate::multipart::{PART, begin, complete, part};
use crate::resent::{own, sent};

/// Uploads that were inactive for this long are removed. It is longer than any test takes.
const AGE: Duration = Duration::from_secs(3_600);

async fn run(world: &World, dry_run: bool) -> (CleanReport, Vec<String>) {
    let proxy = Proxy::start(&world.config()).unwrap();
    let mut options = Clean::default();
    options.older_than = AGE;
    options.dry_run = dry_run;
    let mut told = Vec::new();
    let report = clean(&proxy, &options, |event| {
        told.push(match event {
            CleanEvent::Upload { key, .. } => format!("upload {key}"),
            CleanEvent::Part { .. } => "part".to_owned(),
            CleanEvent::Record { .. } => "record".to_owned(),
            CleanEvent::Unknown { key, .. } => format!("unknown {key}"),
            other => panic!("{other:?}"),
        });
    });
    let report = report.await.unwrap();
    told.sort();
    (report, told)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_recorded_of_uploads_is_cleaned_with_them() {
    let (world, front) = World::with_bucket().await;
    let (client, backend) = (&front.client, world.backend());
    let left = async |key: &str| {
        let target = format!("/bucket/{key}");
        let id = begin(client, &target, &[]).await;
        sent(client, &target, &id, 1, &content(PART, 1)).await;
        sent(client, &target, &id, 2, b"short").await;
        id
    };
    left("idle").await;
    left("gone").await;
    let live = left("live").await;
    // One upload is aborted directly at the backend, as a lifecycle rule does.
    let uploads = backend.ask("GET", "/bucket?uploads&prefix=gone").await.expect(200);
    let target = format!("/bucket/gone?uploadId={}", uploads.element("UploadId"));
    backend.ask("DELETE", &target).await.expect(204);
    // An object that names another upload, one that names none, and names that do not belong to the
    // proxy.
    let of_live = own(&world).await.into_iter().find(|key| key.ends_with("/id")).unwrap();
    let head = backend.ask("HEAD", &format!("/bucket/{of_live}")).await.expect(200);
    let owner = head.header("x-amz-meta-endseal-upload").unwrap().to_owned();
    let id = "0123456789abcdef0123456789abcdef";
    for (key, headers) in [
        (format!("{id}/id"), vec![("x-amz-meta-endseal-upload", owner.as_str())]),
        (format!("{id}/00001-{id}"), Vec::new()),
        (format!("{id}/00001-{}", &id[1..]), Vec::new()),
        ("id".to_owned(), Vec::new()),
    ] {
        let target = format!("/bucket/.endseal/upload/{key}");
        backend.send("PUT", &target, &headers, b"x").await.expect(200);
    }
    world.age(2 * AGE);
    let late = part(client, "/bucket/live", &live, 3, b"late").await;
    let young = left("young").await;
    assert_eq!(own(&world).await.len(), 4 * 4 + 1 + 4);
    let (would, told) = run(&world, true).await;
    assert_eq!(own(&world).await.len(), 4 * 4 + 1 + 4, "a dry run removes nothing");
    let (report, done) = run(&world, false).await;
    assert_eq!((&report, &done), (&would, &told), "it says before what it does");
    assert_eq!((report.uploads_removed, report.uploads_kept), (1, 2), "{done:?}");
    assert_eq!((report.parts_removed, report.parts_kept), (2, 3), "{done:?}");
    assert_eq!((report.records_removed, report.records_kept), (6, 6), "{done:?}");
    assert_eq!((report.unknown, report.failed), (4, 0), "{done:?}");
    let list = client.ask("GET", "/bucket?uploads").await.expect(200);
    assert_eq!(list.elements("UploadId"), [live.clone(), young]);
    complete(client, "/bucket/live", &live, &[(3, late)]).await.expect(200);
    assert_eq!(client.ask("GET", "/bucket/live").await.expect(200).body, b"late");
}
