//! Tests of reading all objects completely.

use std::sync::Arc;

use endseal_s3proxy::Glob;
use endseal_s3proxy::admin::{Checkpoint, Scrub, ScrubEvent, ScrubReport, Scrubbed, scrub};
use endseal_s3proxy::bucket::{BucketRule, Buckets, Plaintext};
use endseal_s3proxy::config::Backend;
use endseal_s3proxy::{Config, Proxy};

use crate::client::Client;
use crate::fixture::{World, config, content};
use crate::multipart::{PART, begin, complete, part};
use crate::odd_server::{OddServer, Oddity};

/// Reads objects. Returns the report, the result for each object, and the checkpoints.
async fn run(
    config: &Config,
    options: &Scrub,
) -> (ScrubReport, Vec<(String, Scrubbed)>, Vec<Checkpoint>) {
    let proxy = Arc::new(Proxy::start(config).unwrap());
    let (mut seen, mut places) = (Vec::new(), Vec::new());
    let report = scrub(&proxy, options, |event| match event {
        ScrubEvent::Object { key, outcome, .. } => seen.push((key.to_owned(), outcome.clone())),
        ScrubEvent::Checkpoint(place) => places.push(place.clone()),
        _ => {}
    });
    let report = report.await.unwrap();
    seen.sort_by(|one, other| one.0.cmp(&other.0));
    (report, seen, places)
}

/// Creates objects of each form: short, long, empty, folder marker, in parts, with metadata.
async fn filled() -> World {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    client.put("/bucket/a-short", b"short").await.expect(200);
    client.put("/bucket/b-empty", b"").await.expect(200);
    client.put("/bucket/c-folder/", b"").await.expect(200);
    let metadata = [("x-amz-meta-a", "b")];
    client.send("PUT", "/bucket/d-long", &metadata, &content(700_000, 1)).await.expect(200);
    let id = begin(client, "/bucket/e-parts", &[]).await;
    let one = part(client, "/bucket/e-parts", &id, 1, &content(PART, 2)).await;
    let two = part(client, "/bucket/e-parts", &id, 2, &content(9, 3)).await;
    complete(client, "/bucket/e-parts", &id, &[(1, one), (2, two)]).await.expect(200);
    world
}

/// Changes one byte of an object at the backend.
async fn flip(backend: &Client, target: &str, at: usize) {
    let stored = backend.ask("GET", target).await.expect(200);
    let own = ["x-amz-meta-endseal", "x-amz-meta-endseal-m"];
    let headers = own.map(|name| (name, stored.header(name).unwrap()));
    let mut body = stored.body.clone();
    body[at] ^= 1;
    backend.send("PUT", target, &headers, &body).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_every_form_are_authenticated_to_their_ends() {
    let world = filled().await;
    let (report, seen, places) = run(&world.config(), &Scrub::default()).await;
    assert!(report.is_sound(), "{seen:?}");
    let bytes = 5 + 700_000 + PART as u64 + 9;
    assert_eq!((report.buckets, report.authentic, report.bytes), (1, 5, bytes));
    let last = Checkpoint { bucket: "bucket".to_owned(), stored_key: "e-parts".to_owned() };
    assert_eq!(places.last(), Some(&last));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_byte_anywhere_is_found() {
    let world = filled().await;
    let backend = world.backend();
    for target in ["/bucket/a-short", "/bucket/b-empty", "/bucket/d-long", "/bucket/e-parts"] {
        let len = backend.ask("GET", target).await.expect(200).body.len();
        for at in [0, len / 2, len - 1] {
            flip(&backend, target, at).await;
            let (report, seen, _) = run(&world.config(), &Scrub::default()).await;
            assert!(!report.is_sound());
            let damaged: Vec<&str> = seen
                .iter()
                .filter(|(_, outcome)| *outcome == Scrubbed::NotAuthentic)
                .map(|(key, _)| key.as_str())
                .collect();
            assert_eq!(damaged, [&target["/bucket/".len()..]], "byte {at} of {target}");
            assert_eq!((report.authentic, report.not_authentic, report.failed), (4, 1, 0));
            flip(&backend, target, at).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_run_goes_on_behind_its_checkpoint() {
    let world = filled().await;
    let place = |key: &str| {
        let after = Checkpoint { bucket: "bucket".to_owned(), stored_key: key.to_owned() };
        let mut options = Scrub::default();
        options.after = Some(after);
        options
    };
    let (report, seen, _) = run(&world.config(), &place("c-folder/")).await;
    let keys: Vec<&str> = seen.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!((keys, report.authentic), (vec!["d-long", "e-parts"], 2));
    let (report, ..) = run(&world.config(), &place("e-parts")).await;
    assert_eq!((report.buckets, report.authentic), (1, 0));
    let mut options = Scrub::default();
    options.prefix = "d".to_owned();
    assert_eq!(run(&world.config(), &options).await.0.authentic, 1);
    // Damage before the start position is not reported.
    flip(&world.backend(), "/bucket/a-short", 0).await;
    assert!(run(&world.config(), &place("a-short")).await.0.is_sound());
}

#[tokio::test(flavor = "multi_thread")]
async fn plaintext_is_counted_where_it_may_be() {
    let world = filled().await;
    world.backend().put("/bucket/plain", b"not sealed").await.expect(200);
    let mut config = world.config();
    let mut rule = BucketRule::new(Glob::new("bucket"));
    rule.plaintext = Plaintext::ReadOnly;
    config.buckets = Buckets::new(vec![rule]);
    let (report, ..) = run(&config, &Scrub::default()).await;
    assert_eq!((report.authentic, report.plaintext, report.is_sound()), (5, 1, true));
}

/// A server that has lost the bytes of an object may still list it.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_listed_and_not_found_is_not_gone() {
    let world = filled().await;
    let config = config_of(&world, Oddity::LosesObjects).await;
    let (report, seen, _) = run(&config, &Scrub::default()).await;
    assert!(!report.is_sound(), "{seen:?}");
    assert_eq!((report.authentic, report.gone, report.failed), (4, 0, 1), "{seen:?}");
}

async fn config_of(world: &World, oddity: Oddity) -> Config {
    let mut backend = Backend::served(&world.folder);
    backend.url = format!("http://{}", OddServer::start(world, oddity).await.address);
    config(backend, &world.ring())
}
