//! Tests of parts that are sent twice.

use base64ct::{Base64, Encoding as _};
use endseal_crypto::sha256;
use endseal_s3_protocol::sigv4::PayloadHash;
use endseal_s3proxy::bucket::Plaintext;

use crate::client::{Answer, Client};
use crate::fixture::{World, content, serve};
use crate::multipart::{PART, begin, complete, part};
use crate::named::{Named, at};
use crate::recorded_upkeep::counter;

fn base64(digest: &[u8]) -> String {
    Base64::encode_string(digest)
}

/// Way in which a client announces the digest of a part.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Announced {
    Signed,
    Checksum,
    Trailer,
    SignedAndOther,
}

async fn send(client: &Client, target: &str, body: &[u8], announced: Announced) -> Answer {
    let digest = sha256::digest(body);
    let sum = base64(&digest);
    let hash = PayloadHash::Sha256(digest);
    match announced {
        Announced::Signed => {
            let head = client.head_of("PUT", target, &[], body.len(), hash);
            client.exchange(&head, body, false).await
        }
        Announced::SignedAndOther => {
            let mut md5 = endseal_crypto::legacy_hash::Md5::new();
            md5.update(body);
            let headers = [("content-md5", &*base64(&md5.finish()))];
            let head = client.head_of("PUT", target, &headers, body.len(), hash);
            client.exchange(&head, body, false).await
        }
        Announced::Checksum => {
            client.send("PUT", target, &[("x-amz-checksum-sha256", &sum)], body).await
        }
        Announced::Trailer => {
            let framed = [
                format!("{:x}\r\n", body.len()).as_bytes(),
                body,
                format!("\r\n0\r\nx-amz-checksum-sha256:{sum}\r\n\r\n").as_bytes(),
            ]
            .concat();
            let len = body.len().to_string();
            let headers = [
                ("content-encoding", "aws-chunked"),
                ("x-amz-decoded-content-length", &*len),
                ("x-amz-trailer", "x-amz-checksum-sha256"),
            ];
            let hash = PayloadHash::StreamingUnsignedTrailer;
            let head = client.head_of("PUT", target, &headers, framed.len(), hash);
            client.exchange(&head, &framed, false).await
        }
    }
}

/// Uploads a part whose digest the client announces.
pub(crate) async fn sent(
    client: &Client,
    target: &str,
    id: &str,
    number: u16,
    body: &[u8],
) -> String {
    let target = format!("{target}?partNumber={number}&uploadId={id}");
    send(client, &target, body, Announced::Checksum).await.expect(200).etag()
}

/// Returns the proxy's own keys in the bucket.
pub(crate) async fn own(world: &World) -> Vec<String> {
    let listed = world.backend().ask("GET", "/bucket?prefix=.endseal/").await.expect(200);
    listed.elements("Key")
}

/// Returns those of the proxy's own keys that are receipts.
async fn receipts(world: &World) -> Vec<String> {
    let own = own(world).await;
    own.into_iter().filter(|key| key.starts_with(".endseal/upload/") && key.contains('-')).collect()
}

/// Returns the bytes of an object at the backend.
async fn stored(backend: &Client, key: &str) -> Vec<u8> {
    backend.ask("GET", &format!("/bucket/{key}")).await.expect(200).body
}

async fn put_back(backend: &Client, key: &str, body: &[u8]) {
    backend.put(&format!("/bucket/{key}"), body).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tag_of_either_upload_of_a_part_names_it() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    let (one, last) = (content(PART + 3, 1), content(7, 2));
    for (number, announced) in
        [Announced::Signed, Announced::Checksum, Announced::Trailer, Announced::SignedAndOther]
            .into_iter()
            .enumerate()
    {
        let target = &format!("/bucket/key%20{number}");
        let id = begin(client, target, &[]).await;
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for tags in [&mut first, &mut second] {
            for (number, body) in [(1, &one), (10_000, &last)] {
                let target = format!("{target}?partNumber={number}&uploadId={id}");
                let tag = send(client, &target, body, announced).await.expect(200).etag();
                tags.push((number, tag));
            }
        }
        assert!(first.iter().zip(&second).all(|(one, two)| one.1 != two.1));
        assert_eq!(receipts(&world).await.len(), 4, "{announced:?}");
        // The second upload of a parked part, combined with the first of another part.
        let mixed = vec![first[0].clone(), second[1].clone()];
        let wanted = [&first, &second, &mixed][number % 3];
        complete(client, target, &id, wanted).await.expect(200);
        let got = client.ask("GET", target).await.expect(200);
        assert!(got.body == [&one[..], &last].concat(), "{announced:?}");
        let range = [("range", "bytes=5242870-5242889")];
        client.ask_with("GET", target, &range).await.expect(206);
        assert!(own(&world).await.is_empty(), "nothing stays of it");
        // The record contains the salts of the stored parts, as if the client had named them.
        complete(client, target, &id, &second).await.expect(200);
        complete(client, target, &id, &first).await.expect(404);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn any_proxy_knows_what_another_one_received() {
    let (world, front) = World::with_bucket().await;
    let (second, third) = (serve(&world.config()).await, serve(&world.config()).await);
    let target = "/bucket/key";
    let id = begin(&front.client, target, &[]).await;
    let body = content(PART, 4);
    // The uploads run at the same time, so it is not known which one the backend has.
    let (one, two, other) = tokio::join!(
        sent(&front.client, target, &id, 1, &body),
        sent(&second.client, target, &id, 1, &body),
        sent(&third.client, target, &id, 2, &body),
    );
    let again = sent(&front.client, target, &id, 2, &body).await;
    assert_eq!(receipts(&world).await.len(), 4);
    let parts = [(1, if one < two { one } else { two }), (2, other)];
    complete(&third.client, target, &id, &parts).await.expect(200);
    let got = second.client.ask("GET", target).await.expect(200);
    assert!(got.body == [&body[..], &body].concat());
    assert_ne!(parts[1].1, again);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_content_is_another_part() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    let target = "/bucket/key";
    let one = content(PART, 1);
    let mut flipped = one.clone();
    flipped[PART / 2] ^= 1;
    let longer = [&one[..], b"x"].concat();
    for other in [&flipped, &longer, &one[..PART - 1].to_vec(), &content(9, 1)] {
        let id = begin(client, target, &[]).await;
        let old = sent(client, target, &id, 1, &one).await;
        let new = sent(client, target, &id, 1, other).await;
        let refused = complete(client, target, &id, &[(1, old.clone())]).await;
        if other.len() < PART {
            // It is parked beside the first one, which still exists.
            refused.expect(200);
            continue;
        }
        assert_eq!(refused.expect(400).code(), "InvalidPart");
        // The tag of the existing part with the salt of the other.
        let (tag, salt) = (new.rsplit_once('-').unwrap().0, old.rsplit_once('-').unwrap().1);
        let (gone, late) = (old.rsplit_once('-').unwrap().0, new.rsplit_once('-').unwrap().1);
        for strange in [format!("{gone}-{late}"), format!("{gone}-0\"")] {
            let refused = complete(client, target, &id, &[(1, strange)]).await;
            assert_eq!(refused.expect(400).code(), "InvalidPart");
        }
        complete(client, target, &id, &[(1, format!("{tag}-{salt}"))]).await.expect(200);
        // Without receipts the result is the same: the part is bound to an upload that does not
        // exist.
        assert_eq!(client.ask("GET", target).await.expect(500).code(), "ObjectNotAuthentic");
    }
    // A part with the same content but without an announced digest, and a copied part.
    client.put("/bucket/source", &one).await.expect(200);
    let id = begin(client, target, &[]).await;
    let announced = sent(client, target, &id, 1, &one).await;
    let silent = part(client, target, &id, 1, &one).await;
    let query = format!("{target}?partNumber=1&uploadId={id}");
    let refused = complete(client, target, &id, &[(1, announced)]).await.expect(400);
    assert_eq!(refused.code(), "InvalidPart");
    let copy = [("x-amz-copy-source", "bucket/source")];
    client.ask_with("PUT", &query, &copy).await.expect(200);
    let refused = complete(client, target, &id, &[(1, silent)]).await.expect(400);
    assert_eq!(refused.code(), "InvalidPart");
    // A wrong digest leaves neither part nor receipt.
    let id = begin(client, target, &[]).await;
    let query = format!("{target}?partNumber=1&uploadId={id}");
    let sum = base64(&sha256::digest(b"other"));
    let wrong = client.send("PUT", &query, &[("x-amz-checksum-sha256", &sum)], &one).await;
    assert_eq!(wrong.expect(400).code(), "BadDigest");
    let listed = client.ask("GET", &format!("{target}?uploadId={id}")).await.expect(200);
    assert!(listed.elements("PartNumber").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn receipts_that_were_changed_or_moved_are_none() {
    let (world, front) = World::with_bucket().await;
    let (client, backend) = (&front.client, &world.backend());
    let body = content(PART, 1);
    let target = "/bucket/key";
    // In one upload, a part twice and another part with the same content. In another upload of the
    // key, and in one of another key, the same part.
    let id = begin(client, target, &[]).await;
    let first = sent(client, target, &id, 1, &body).await;
    let [old] = receipts(&world).await.try_into().unwrap();
    let second = sent(client, target, &id, 1, &body).await;
    let new = receipts(&world).await.into_iter().find(|key| *key != old).unwrap();
    sent(client, target, &id, 2, &body).await;
    let sibling = begin(client, target, &[]).await;
    sent(client, target, &sibling, 1, &body).await;
    let outsider = begin(client, "/bucket/other", &[]).await;
    sent(client, "/bucket/other", &outsider, 1, &body).await;
    let others: Vec<String> =
        receipts(&world).await.into_iter().filter(|key| *key != old && *key != new).collect();
    assert_eq!(others.len(), 3);
    // A valid tag with the salt of another upload of the same content.
    let salt = |tag: &str| tag.rsplit_once('-').unwrap().1.to_owned();
    let strange = format!("{}-{}", first.rsplit_once('-').unwrap().0, salt(&second));
    assert_eq!(salt(&strange), salt(&second));
    let unknown = complete(client, target, &id, &[(1, strange)]).await.expect(400);
    assert_eq!(unknown.code(), "InvalidPart");
    let refused = async |what: &str| {
        let refused = complete(client, target, &id, &[(1, first.clone())]).await.expect(400);
        assert_eq!(refused.code(), "InvalidPart", "{what}");
    };
    for key in [&old, &new] {
        let good = stored(backend, key).await;
        let mut changed = vec![good[1..].to_vec(), good[..good.len() - 1].to_vec(), Vec::new()];
        changed.push([&good[..], b"x"].concat());
        changed.push(vec![b'x'; 100_000]);
        for at in [0, 23, 24, good.len() / 2, good.len() - 1] {
            let mut flipped = good.clone();
            flipped[at] ^= 1;
            changed.push(flipped);
        }
        for other in others.iter().chain([&old, &new]).filter(|other| *other != key) {
            changed.push(stored(backend, other).await);
        }
        for (number, changed) in changed.iter().enumerate() {
            put_back(backend, key, changed).await;
            refused(&format!("{key} {number}")).await;
        }
        backend.ask("DELETE", &format!("/bucket/{key}")).await.expect(204);
        refused("deleted").await;
        put_back(backend, key, &good).await;
    }
    let counted = counter(&front, "endseal_s3_records_refused_total");
    assert_eq!(counted, 2 * (4 + 5 + 4), "all of those that are there, and not too long to be one");
    complete(client, target, &id, &[(1, first)]).await.expect(200);
    assert!(client.ask("GET", target).await.expect(200).body == body);
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_are_found_again_under_encrypted_names() {
    let named = Named::new(Plaintext::Forbid).await;
    let front = serve(&crate::named::named(&named.world, Plaintext::Forbid)).await;
    let (client, target) = (&front.client, &at("zebrafish/z\u{fc}ge"));
    let (one, last) = (content(PART, 1), content(100, 2));
    let id = begin(client, target, &[]).await;
    let parts = [
        (1, sent(client, target, &id, 1, &one).await),
        (2, sent(client, target, &id, 2, &last).await),
    ];
    sent(client, target, &id, 1, &one).await;
    sent(client, target, &id, 2, &last).await;
    let recorded: Vec<String> = named.stored("bucket").await;
    assert_eq!(recorded.len(), 6, "{recorded:?}");
    assert!(recorded.iter().all(|key| key.starts_with(".endseal/")));
    assert!(client.ask("GET", "/bucket").await.expect(200).elements("Key").is_empty());
    complete(client, target, &id, &parts).await.expect(200);
    assert!(client.ask("GET", target).await.expect(200).body == [one, last].concat());
    assert_eq!(named.stored("bucket").await, [named.sealed("zebrafish/z\u{fc}ge")]);
}
