//! Tests of multipart uploads.

use base64ct::{Base64, Encoding as _};
use endseal_crypto::sha256;
use endseal_s3proxy::Glob;
use endseal_s3proxy::bucket::{BucketRule, Buckets, Plaintext};
use endseal_s3proxy::config::Backend;

use crate::client::{Answer, Client};
use crate::fixture::{World, config, content, serve};
use crate::odd_server::{OddServer, Oddity};

pub(crate) const PART: usize = 5 << 20;

pub(crate) async fn begin(client: &Client, target: &str, headers: &[(&str, &str)]) -> String {
    let started = client.ask_with("POST", &format!("{target}?uploads"), headers).await.expect(200);
    started.element("UploadId")
}

pub(crate) async fn part(
    client: &Client,
    target: &str,
    id: &str,
    number: u16,
    body: &[u8],
) -> String {
    let target = format!("{target}?partNumber={number}&uploadId={id}");
    client.put(&target, body).await.expect(200).etag()
}

pub(crate) async fn complete(
    client: &Client,
    target: &str,
    id: &str,
    parts: &[(u16, String)],
) -> Answer {
    complete_with(client, target, id, parts, &[]).await
}

pub(crate) async fn complete_with(
    client: &Client,
    target: &str,
    id: &str,
    parts: &[(u16, String)],
    headers: &[(&str, &str)],
) -> Answer {
    let parts: String = parts
        .iter()
        .map(|(number, tag)| {
            format!("<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>")
        })
        .collect();
    let body = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
    client.send("POST", &format!("{target}?uploadId={id}"), headers, body.as_bytes()).await
}

/// Clients resolve it against nothing, so that a path alone is no location.
#[tokio::test(flavor = "multi_thread")]
async fn the_location_of_an_upload_is_its_url_at_the_proxy() {
    let world = World::new();
    let mut config = world.config();
    let mut open = BucketRule::new(Glob::new("open"));
    open.plaintext = Plaintext::Allow;
    config.buckets = Buckets::new(vec![open]);
    let front = serve(&config).await;
    let client = &front.client;
    for bucket in ["sealed", "open"] {
        client.ask("PUT", &format!("/{bucket}")).await.expect(200);
        let target = format!("/{bucket}/a%20b");
        let id = begin(client, &target, &[]).await;
        let parts = [(1, part(client, &target, &id, 1, &content(PART, 1)).await)];
        let done = complete(client, &target, &id, &parts).await.expect(200);
        let url = format!("http://{}{target}", client.address);
        assert_eq!(done.element("Location"), url);
        if bucket == "sealed" {
            let again = complete(client, &target, &id, &parts).await.expect(200);
            assert_eq!(again.element("Location"), url);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_in_any_order_become_one_object() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    let target = "/bucket/large%20one";
    let beside = [("content-type", "video/x"), ("x-amz-meta-a", "1")];
    let id = begin(client, target, &beside).await;
    let (one, two, last) = (content(PART, 1), content(PART + 12_345, 2), content(7, 3));
    // Parts out of order and with gaps. The last one is shorter than the minimum, so it is parked.
    let short = part(client, target, &id, 9, &last).await;
    let late = part(client, target, &id, 5, &two).await;
    let lost = part(client, target, &id, 2, &content(PART, 99)).await;
    let early = part(client, target, &id, 2, &one).await;
    assert_ne!(lost, early);
    let listed = client.ask("GET", &format!("{target}?uploadId={id}")).await.expect(200);
    assert_eq!(listed.elements("PartNumber"), ["2", "5", "9"]);
    let sizes = [one.len(), two.len(), last.len()].map(|len| len.to_string());
    assert_eq!(listed.elements("Size"), sizes);
    let hidden = client.ask("GET", "/bucket").await.expect(200);
    assert!(hidden.elements("Key").is_empty(), "{}", hidden.text());

    let parts = [(2, early), (5, late), (9, short)];
    let done = complete(client, target, &id, &parts).await.expect(200);
    let content = [one, two, last].concat();
    let got = client.ask("GET", target).await.expect(200);
    assert!(got.body == content);
    assert_eq!(got.etag(), done.element("ETag"));
    assert_eq!(got.header("content-type"), Some("video/x"));
    assert_eq!(got.header("x-amz-meta-a"), Some("1"));
    let list = client.ask("GET", "/bucket").await.expect(200);
    assert_eq!(list.elements("Size"), [content.len().to_string()]);
    assert_eq!(list.elements("ETag"), [got.etag()]);
    let len = content.len();
    for (first, last) in [
        (0, 0),
        (PART - 1, PART),
        (PART, PART),
        (len - 8, len - 1),
        (len - 7, len - 7),
        (PART - 20_000, PART + 20_000),
        (len - 1, len - 1),
        (1, len - 2),
    ] {
        let range = format!("bytes={first}-{last}");
        let got = client.ask_with("GET", target, &[("range", &range)]).await.expect(206);
        assert!(got.body == content[first..=last], "{range}");
    }
    let ends = [0, PART, len - 7, len];
    for number in 1..=3 {
        let query = format!("{target}?partNumber={number}");
        let got = client.ask("GET", &query).await.expect(206);
        assert!(got.body == content[ends[number - 1]..ends[number]], "{number}");
        let head = client.ask("HEAD", &query).await.expect(206);
        assert_eq!(head.header("x-amz-mp-parts-count"), Some("3"));
    }
    assert_eq!(client.ask("GET", &format!("{target}?partNumber=4")).await.status, 416);
    // Nothing is left of the upload, including its parked parts.
    let listed = world.backend().ask("GET", "/bucket").await.expect(200);
    assert_eq!(listed.elements("Key"), ["large one"]);
    let gone = client.ask("GET", &format!("{target}?uploadId={id}")).await.expect(404);
    assert_eq!(gone.code(), "NoSuchUpload");
    let copy = [("x-amz-copy-source", "bucket/large%20one")];
    client.ask_with("PUT", "/bucket/copy", &copy).await.expect(200);
    client.ask("DELETE", target).await.expect(204);
    assert!(client.ask("GET", "/bucket/copy").await.expect(200).body == content);
    client.ask("DELETE", "/bucket/copy").await.expect(204);
    assert!(world.data().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_short_part_is_an_object_too() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    for len in [0, 1, 16_384, 1_000_000] {
        let target = "/bucket/short";
        let id = begin(client, target, &[]).await;
        let body = content(len, 5);
        let tag = part(client, target, &id, 1, &body).await;
        complete(client, target, &id, &[(1, tag)]).await.expect(200);
        assert!(client.ask("GET", target).await.expect(200).body == body, "{len}");
    }
    assert_eq!(world.backend().ask("GET", "/bucket").await.elements("Key"), ["short"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_lists_of_parts_complete_nothing() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    let target = "/bucket/key";
    let id = begin(client, target, &[]).await;
    let one = part(client, target, &id, 1, &content(PART, 1)).await;
    let two = part(client, target, &id, 2, &content(100, 2)).await;
    let three = part(client, target, &id, 3, &content(PART, 3)).await;
    let old = one.clone();
    let one = part(client, target, &id, 1, &content(PART, 4)).await;
    for (parts, code) in [
        (vec![(3, three.clone()), (1, one.clone())], "InvalidPartOrder"),
        (vec![(1, one.clone()), (1, one.clone())], "InvalidPartOrder"),
        (vec![(1, one.clone()), (2, two), (3, three.clone())], "EntityTooSmall"),
        (vec![(1, three.clone())], "InvalidPart"),
        (vec![(1, old)], "InvalidPart"),
        (vec![(1, one.clone()), (4, three.clone())], "InvalidPart"),
        (vec![(1, "\"nonsense\"".to_owned())], "InvalidPart"),
        (vec![], "MalformedXML"),
    ] {
        let refused = complete(client, target, &id, &parts).await.expect(400);
        assert_eq!(refused.code(), code, "{parts:?}");
    }
    client.ask("HEAD", target).await.expect(404);
    // An id belongs to its key.
    let other = client.put(&format!("/bucket/other?partNumber=1&uploadId={id}"), b"x").await;
    assert_eq!((other.status, other.code().as_str()), (404, "NoSuchUpload"));
    complete(client, target, &id, &[(1, one), (3, three)]).await.expect(200);
    let expected = [content(PART, 4), content(PART, 3)].concat();
    assert!(client.ask("GET", target).await.expect(200).body == expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_is_given_up_leaves_nothing() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    let target = "/bucket/key";
    let id = begin(client, target, &[]).await;
    part(client, target, &id, 1, &content(PART, 1)).await;
    part(client, target, &id, 2, &content(9, 1)).await;
    let own = world.backend().ask("GET", "/bucket").await.elements("Key");
    assert_eq!(own.len(), 2, "the parked part, and the id of the upload");
    let uploads = client.ask("GET", "/bucket?uploads").await.expect(200);
    assert_eq!(uploads.elements("Key"), ["key"]);
    client.ask("DELETE", &format!("{target}?uploadId={id}")).await.expect(204);
    assert!(world.backend().ask("GET", "/bucket").await.elements("Key").is_empty());
    assert!(client.ask("GET", "/bucket?uploads").await.elements("Key").is_empty());
    let gone = client.put(&format!("{target}?partNumber=1&uploadId={id}"), b"x").await;
    assert_eq!((gone.status, gone.code().as_str()), (404, "NoSuchUpload"));
    client.ask("DELETE", "/bucket").await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_parts_tell_the_checksums_that_clients_gave() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    let target = "/bucket/key";
    let id = begin(client, target, &[("x-amz-checksum-algorithm", "SHA256")]).await;
    let bodies = [content(PART, 1), content(PART + 1, 2), content(9, 3)];
    let sums: Vec<String> =
        bodies.iter().map(|body| Base64::encode_string(&sha256::digest(body))).collect();
    let mut parts = Vec::new();
    for (number, (body, sum)) in (1..).zip(bodies.iter().zip(&sums)) {
        let to = format!("{target}?partNumber={number}&uploadId={id}");
        let headers = [("x-amz-checksum-sha256", sum.as_str())];
        parts.push((number, client.send("PUT", &to, &headers, body).await.expect(200).etag()));
    }
    let list = async || client.ask("GET", &format!("{target}?uploadId={id}")).await.expect(200);
    let listed = list().await;
    assert_eq!(listed.elements("PartNumber"), ["1", "2", "3"]);
    assert_eq!(listed.elements("ChecksumSHA256"), sums);
    assert_eq!(listed.elements("ChecksumAlgorithm"), ["SHA256"]);
    // A part that replaces one with a checksum has none itself.
    parts[1].1 = part(client, target, &id, 2, &bodies[1]).await;
    let listed = list().await;
    assert_eq!(listed.elements("ChecksumSHA256"), [sums[0].as_str(), &sums[2]]);
    let first = client.ask("GET", &format!("{target}?uploadId={id}&max-parts=1")).await.expect(200);
    assert_eq!(first.elements("ChecksumSHA256"), [sums[0].as_str()]);
    complete(client, target, &id, &parts).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_of_other_objects_become_parts() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    let source = content(PART + 100_000, 8);
    client.put("/bucket/source", &source).await.expect(200);
    let target = "/bucket/key";
    let id = begin(client, target, &[]).await;
    let mut parts = Vec::new();
    for (number, range) in [(1, format!("bytes=7-{}", PART + 6)), (2, "bytes=0-99".to_owned())] {
        let headers = [("x-amz-copy-source", "bucket/source"), ("x-amz-copy-source-range", &range)];
        let query = format!("{target}?partNumber={number}&uploadId={id}");
        let copied = client.ask_with("PUT", &query, &headers).await.expect(200);
        parts.push((number, copied.element("ETag")));
    }
    complete(client, target, &id, &parts).await.expect(200);
    let expected = [&source[7..PART + 7], &source[..100]].concat();
    assert!(client.ask("GET", target).await.expect(200).body == expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_that_is_asked_for_again_is_answered_again() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    let target = "/bucket/a%20key";
    for last in [7, PART] {
        let id = begin(client, target, &[]).await;
        let one = part(client, target, &id, 1, &content(PART, 1)).await;
        let two = part(client, target, &id, 2, &content(last, 2)).await;
        let parts = [(1, one.clone()), (2, two.clone())];
        let first = complete(client, target, &id, &parts).await.expect(200);
        let second = complete(client, target, &id, &parts).await.expect(200);
        for name in ["Bucket", "Key", "ETag"] {
            assert_eq!(first.element(name), second.element(name), "{name}");
        }
        // Another list of parts is not the completed one.
        for parts in [vec![(1, one.clone())], vec![(1, two.clone()), (2, one.clone())]] {
            let refused = complete(client, target, &id, &parts).await.expect(404);
            assert_eq!(refused.code(), "NoSuchUpload", "{parts:?}");
        }
        // Another object under the key is not the completed one.
        client.put(target, b"another").await.expect(200);
        let refused = complete(client, target, &id, &parts).await.expect(404);
        assert_eq!(refused.code(), "NoSuchUpload");
        assert_eq!(client.ask("GET", target).await.expect(200).body, b"another");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_with_nothing_but_parked_parts_can_be_deleted() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    let id = begin(client, "/bucket/key", &[]).await;
    part(client, "/bucket/key", &id, 2, &content(9, 1)).await;
    client.put("/bucket/other", b"content").await.expect(200);
    // A bucket with an object is not deleted, and its parked parts are kept.
    let refused = client.ask("DELETE", "/bucket").await.expect(409);
    assert_eq!(refused.code(), "BucketNotEmpty");
    let listed = client.ask("GET", &format!("/bucket/key?uploadId={id}")).await.expect(200);
    assert_eq!(listed.elements("PartNumber"), ["2"]);
    client.ask("DELETE", "/bucket/other").await.expect(204);
    let own = world.backend().ask("GET", "/bucket").await.elements("Key");
    assert_eq!(own.len(), 2, "the parked part, and the id of the upload");
    client.ask("DELETE", "/bucket").await.expect(204);
    client.ask("HEAD", "/bucket").await.expect(404);
}

/// Content that is damaged between proxy and backend would otherwise be noticed only when it is
/// read, and lost by then.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_damaged_on_the_way_to_the_backend_is_not_stored() {
    let (world, _front) = World::with_bucket().await;
    let server = OddServer::start(&world, Oddity::ChangesBytes).await;
    let mut backend = Backend::served(&world.folder);
    backend.url = format!("http://{}", server.address);
    backend.trailers = true;
    let front = serve(&config(backend, &world.ring())).await;
    let client = &front.client;
    for len in [10_000, 100_000] {
        let put = client.put("/bucket/key", &content(len, 1)).await.expect(400);
        assert_eq!(put.code(), "BadDigest", "{len}");
    }
    let id = begin(client, "/bucket/key", &[]).await;
    for len in [10_000, PART] {
        let target = format!("/bucket/key?partNumber=1&uploadId={id}");
        let put = client.put(&target, &content(len, 1)).await.expect(400);
        assert_eq!(put.code(), "BadDigest", "{len}");
    }
    assert_eq!(client.ask("GET", "/bucket/key").await.status, 404);
}

/// SDKs repeat a request after 503, but not after 409. That one concerns a key that clients do not
/// know.
#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_about_a_key_of_the_proxys_own_is_temporary() {
    let (world, _front) = World::with_bucket().await;
    let server = OddServer::start(&world, Oddity::LosesFolders).await;
    let mut backend = Backend::served(&world.folder);
    backend.url = format!("http://{}", server.address);
    let front = serve(&config(backend, &world.ring())).await;
    let client = &front.client;
    let refused = client.ask("POST", "/bucket/key?uploads").await.expect(503);
    assert_eq!(refused.code(), "ServiceUnavailable");
    let id = begin(client, "/bucket/key", &[]).await;
    let target = format!("/bucket/key?partNumber=1&uploadId={id}");
    let refused = client.put(&target, b"parked").await.expect(503);
    assert_eq!(refused.code(), "ServiceUnavailable");
    let tag = part(client, "/bucket/key", &id, 1, b"parked").await;
    complete(client, "/bucket/key", &id, &[(1, tag)]).await.expect(200);
    assert_eq!(client.ask("GET", "/bucket/key").await.expect(200).body, b"parked");
}
