//! Tests of checksums that were announced when an upload was created.

use base64ct::{Base64, Encoding as _};
use endseal_s3_protocol::checksum::{ChecksumKind, Hasher};

use crate::client::Client;
use crate::fixture::{World, content, serve};
use crate::multipart::{PART, part};

/// Returns the CRC-32 of these bytes in base64.
fn crc32(pieces: &[&[u8]]) -> String {
    let mut hasher = Hasher::new(ChecksumKind::Crc32);
    pieces.iter().for_each(|piece| hasher.update(piece));
    hasher.finish().to_base64()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_type_of_the_creation_holds_at_every_proxy() {
    let (world, front) = World::with_bucket().await;
    let other = serve(&world.config()).await;
    let [first, last] = [content(PART, 1), content(9, 2)];
    let sums = [crc32(&[&first]), crc32(&[&last])];
    let composite = sums.each_ref().map(|sum| Base64::decode_vec(sum).unwrap()).concat();
    let composite = format!("{}-2", crc32(&[&composite]));
    let whole = crc32(&[&first, &last]);
    for (checksum_type, expected) in
        [(None, &composite), (Some("COMPOSITE"), &composite), (Some("FULL_OBJECT"), &whole)]
    {
        let target = "/bucket/key";
        let mut headers = vec![("x-amz-checksum-algorithm", "CRC32")];
        headers.extend(checksum_type.map(|name| ("x-amz-checksum-type", name)));
        let client = &front.client;
        let started = client.ask_with("POST", &format!("{target}?uploads"), &headers).await;
        let started = started.expect(200);
        let checksum_type = checksum_type.unwrap_or("COMPOSITE");
        assert_eq!(started.header("x-amz-checksum-algorithm"), Some("CRC32"));
        assert_eq!(started.header("x-amz-checksum-type"), Some(checksum_type));
        let id = started.element("UploadId");
        let tags =
            [part(client, target, &id, 1, &first).await, part(client, target, &id, 2, &last).await];
        let list = other.client.ask("GET", &format!("{target}?uploadId={id}")).await.expect(200);
        assert_eq!(list.elements("ChecksumAlgorithm"), ["CRC32"]);
        assert_eq!(list.elements("ChecksumType"), [checksum_type]);
        let complete = async |client: &Client, headers: &[(&str, &str)]| {
            let parts = tags.iter().zip(&sums).zip(1..).map(|((tag, sum), number)| {
                format!(
                    "<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag>\
                     <ChecksumCRC32>{sum}</ChecksumCRC32></Part>"
                )
            });
            let parts: String = parts.collect();
            let body = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
            let target = format!("{target}?uploadId={id}");
            client.send("POST", &target, headers, body.as_bytes()).await
        };
        let not_it = if expected == &whole { "COMPOSITE" } else { "FULL_OBJECT" };
        for (headers, code) in [
            (("x-amz-checksum-type", not_it), "InvalidRequest"),
            (("x-amz-checksum-sha1", "x"), "InvalidRequest"),
            (("x-amz-checksum-crc32", "AAAAAA=="), "BadDigest"),
        ] {
            let refused = complete(&other.client, &[headers]).await.expect(400);
            assert_eq!(refused.code(), code, "{headers:?}");
        }
        let done = complete(&other.client, &[("x-amz-checksum-crc32", expected)]).await.expect(200);
        let again = complete(client, &[]).await.expect(200);
        for done in [done, again] {
            assert_eq!(done.elements("ChecksumCRC32"), [expected.as_str()]);
            assert_eq!(done.elements("ChecksumType"), [checksum_type]);
        }
    }
}
