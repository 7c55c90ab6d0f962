//! Tests of the elements of error documents that clients read.

use std::time::{Duration, SystemTime};

use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::sigv4::SignatureError;
use endseal_s3proxy::bucket::Plaintext;
use http::HeaderMap;

use crate::client::Answer;
use crate::fixed_answer::FixedAnswer;
use crate::fixture::{World, serve};
use crate::named::{MARK, Named};

/// Checks elements of an error document, and that it has the others of S3's.
#[track_caller]
fn has(refused: &Answer, code: &str, details: &[(&str, &str)]) {
    assert_eq!(refused.code(), code, "{}", refused.text());
    for (name, value) in details {
        assert_eq!(refused.elements(name), [*value], "{name} in {}", refused.text());
    }
    assert!(refused.header("x-amz-request-id").unwrap().starts_with(&refused.element("HostId")));
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_have_the_elements_that_clients_read() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    client.put("/bucket/key", b"content").await.expect(200);
    let long_ago = "Sat, 01 Jan 2000 00:00:00 GMT";
    let from = ("x-amz-copy-source", "bucket/key");
    let of_source = ("x-amz-copy-source-if-match", "\"x\"");
    let wrong = ("x-amz-metadata-directive", "KEEP");
    for (method, target, headers, code, details) in [
        (
            "PUT",
            "/bucket/key",
            &[("if-none-match", "*")][..],
            "PreconditionFailed",
            &[("Condition", "If-None-Match")][..],
        ),
        (
            "PUT",
            "/bucket/key",
            &[("if-match", "\"x\"")],
            "PreconditionFailed",
            &[("Condition", "If-Match")],
        ),
        (
            "GET",
            "/bucket/key",
            &[("if-match", "\"x\""), ("if-none-match", "\"y\"")],
            "PreconditionFailed",
            &[("Condition", "If-Match")],
        ),
        (
            "GET",
            "/bucket/key",
            &[("if-unmodified-since", long_ago)],
            "PreconditionFailed",
            &[("Condition", "If-Unmodified-Since")],
        ),
        (
            "PUT",
            "/bucket/copy",
            &[from, of_source],
            "PreconditionFailed",
            &[("Condition", "x-amz-copy-source-If-Match")],
        ),
        (
            "PUT",
            "/bucket/key",
            &[from, wrong],
            "InvalidArgument",
            &[("ArgumentName", wrong.0), ("ArgumentValue", "KEEP")],
        ),
        (
            "GET",
            "/bucket/a%26b",
            &[],
            "NoSuchKey",
            &[("Key", "a&b"), ("Resource", "/bucket/a%26b")],
        ),
        (
            "PUT",
            "/bucket/copy",
            &[("x-amz-copy-source", "bucket/none")],
            "NoSuchKey",
            &[("Key", "none")],
        ),
        ("GET", "/missing", &[], "NoSuchBucket", &[("BucketName", "missing")]),
        ("DELETE", "/bucket", &[], "BucketNotEmpty", &[("BucketName", "bucket")]),
        ("DELETE", "/bucket/key?uploadId=u1", &[], "NoSuchUpload", &[("UploadId", "u1")]),
        (
            "GET",
            "/bucket/key",
            &[("range", "bytes=9-")],
            "InvalidRange",
            &[("RangeRequested", "bytes=9-"), ("ActualObjectSize", "7")],
        ),
        (
            "GET",
            "/bucket/key?partNumber=0",
            &[],
            "InvalidArgument",
            &[("ArgumentName", "partNumber"), ("ArgumentValue", "0")],
        ),
    ] {
        has(&client.ask_with(method, target, headers).await, code, details);
    }
    // Conditions on both: it is not certain which one did not hold.
    let both = [from, of_source, ("if-match", "\"y\"")];
    let refused = client.ask_with("PUT", "/bucket/copy", &both).await.expect(412);
    assert!(refused.elements("Condition").is_empty(), "{}", refused.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_signatures_say_what_the_proxy_expects() {
    let (_world, front) = World::with_bucket().await;
    let mut headers = HeaderMap::new();
    headers.insert("host", front.client.address.to_string().parse().unwrap());
    let late = SystemTime::now() - Duration::from_secs(3_600);
    let hash = endseal_s3_protocol::sigv4::PayloadHash::Unsigned;
    front.client.signer.sign("GET", "/bucket/key", None, &mut headers, hash, late).unwrap();
    let lines =
        headers.iter().map(|(name, value)| format!("{name}: {}\r\n", value.to_str().unwrap()));
    let lines: String = lines.collect();
    let head = format!("GET /bucket/key HTTP/1.1\r\n{lines}connection: close\r\n\r\n");
    let refused = front.client.exchange(&head, b"", false).await.expect(403);
    has(&refused, "RequestTimeTooSkewed", &[("MaxAllowedSkewMilliseconds", "900000")]);
    assert!(refused.element("ServerTime").ends_with('Z'));
    let region = SignatureError::WrongRegion { expected: "eu-west-1".to_owned(), query: false };
    assert_eq!(S3Error::from(region).details(), [("Region", "eu-west-1".to_owned())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn elements_have_the_names_of_clients_and_nothing_of_the_backend() {
    let named = Named::new(Plaintext::Forbid).await;
    let refused = named.front.client.ask("GET", &format!("/bucket/{MARK}")).await.expect(404);
    has(&refused, "NoSuchKey", &[("Key", MARK)]);
    assert!(!refused.text().contains(&named.sealed(MARK)));
    let world = World::new();
    let backend = FixedAnswer::start().await;
    let front = serve(&backend.config(&world)).await;
    let error = |name: &str| {
        format!(
            "<Error><Code>InvalidArgument</Code><Message>no</Message><Key>hidden</Key>\
             <ArgumentName>{name}</ArgumentName><ArgumentValue>hidden</ArgumentValue></Error>"
        )
    };
    backend.set(400, &error("max-keys"));
    let refused = front.client.ask("GET", "/bucket?list-type=2&max-keys=x").await.expect(400);
    has(&refused, "InvalidArgument", &[("ArgumentName", "max-keys"), ("ArgumentValue", "x")]);
    assert!(!refused.text().contains("hidden"), "{}", refused.text());
    backend.set(400, &error("hidden"));
    let refused = front.client.ask("GET", "/bucket?list-type=2&max-keys=x").await.expect(400);
    assert!(!refused.text().contains("hidden"), "{}", refused.text());
    assert!(refused.elements("ArgumentName").is_empty());
}
