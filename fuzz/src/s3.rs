//! Fuzz targets of formats of S3 and of sealed objects, as clients and servers write them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use endseal_s3_format::Header;
use endseal_s3_protocol::aws_chunked::{ChunkError, Decoder, Form, Limits};
use endseal_s3_protocol::sigv4::{
    Access, Payload, PayloadHash, Rules, SecretKey, SecretKeys, SignedRequest, Signer, Verifier,
};
use endseal_s3_protocol::xml;
use endseal_testing::hex;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::choice;

/// Fuzzes headers of sealed objects: each has exactly one text.
pub fn s3_object_header(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    if let Ok(header) = Header::parse(text) {
        assert_eq!(header.encode(), text);
    }
}

pub(crate) const SECRET: &str = "secret of the fuzzer";

/// Returns the time of all signatures, 2026-01-01.
fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600)
}

pub(crate) fn signer(secret: &str) -> Signer {
    Signer::new("CLIENT".into(), SecretKey::new(secret.into()), "us-east-1".into())
}

fn seed(choice: usize) -> Form {
    let hash = match choice % 3 {
        0 => PayloadHash::Streaming,
        1 => PayloadHash::StreamingTrailer,
        _ => PayloadHash::StreamingUnsignedTrailer,
    };
    let mut headers = HeaderMap::new();
    headers.insert("host", HeaderValue::from_static("h"));
    let signed = signer(SECRET).sign("PUT", "/b/k", None, &mut headers, hash, now());
    match signed.expect("it can be signed") {
        Payload::StreamingSigned { seed, trailer: false } => Form::Signed(seed),
        Payload::StreamingSigned { seed, trailer: true } => Form::SignedTrailer(seed),
        _ => Form::Unsigned,
    }
}

fn decoder(choice: usize, length: u64) -> Decoder {
    let announced = match choice % 3 {
        0 => Vec::new(),
        _ => vec![HeaderName::from_static("x-amz-checksum-crc32")],
    };
    Decoder::new(seed(choice), length, announced, Limits::with_hold(16))
}

/// Decodes an upload that arrives in pieces of this many bytes. Returns its content and trailers.
fn decoded(
    mut decoder: Decoder,
    body: &[u8],
    step: usize,
) -> Result<(Vec<u8>, HeaderMap), ChunkError> {
    let mut out = VecDeque::new();
    for piece in body.chunks(step) {
        decoder.push(Bytes::copy_from_slice(piece), &mut out)?;
    }
    let trailers = decoder.finish()?;
    Ok((out.iter().flatten().copied().collect(), trailers))
}

/// Fuzzes chunked uploads: content, trailers and errors must not depend on the pieces in which they
/// arrive.
pub fn s3_aws_chunked(data: &[u8]) {
    let (form, data) = choice(data);
    let (length, data) = choice(data);
    let (step, body) = choice(data);
    let outcome = |step| decoded(decoder(form, length as u64), body, step);
    let whole = outcome(usize::MAX);
    assert_eq!(outcome(step.max(1)), whole);
    assert_eq!(outcome(1), whole);
    if let Ok((content, _)) = whole {
        assert_eq!(content.len(), length);
    }
}

struct Known(Arc<SecretKey>);

impl SecretKeys for Known {
    fn secret_key(&self, access_key: &str) -> Option<Arc<SecretKey>> {
        (access_key == "CLIENT").then(|| Arc::clone(&self.0))
    }
}

/// Fuzzes signatures in headers and queries: only those made with the secret may authorise a
/// request.
///
/// The input is a query, a line feed and the headers. Kept inputs are signed with another secret.
pub fn s3_authorization(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let mut lines = text.lines();
    let query = lines.next().filter(|query| !query.is_empty());
    let mut headers = HeaderMap::new();
    for line in lines {
        let Some((name, value)) = line.split_once(": ") else { continue };
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>()) {
            headers.append(name, value);
        }
    }
    let request = SignedRequest { method: "GET", path: "/b/k", query, headers: &headers };
    let secrets = Known(Arc::new(SecretKey::new(SECRET.into())));
    let access = Verifier::new(secrets, Rules::default()).verify(request, now());
    assert!(!matches!(access, Ok(Access::Signed(_))), "nothing was signed with the secret");
}

/// Fuzzes XML documents: every reader must end, and rewriting must be stable.
pub fn s3_xml(data: &[u8]) {
    let _ = xml::root_name(data);
    // XML 1.0 has no control characters, and readers differ: tags that contain one are refused
    // before they are written.
    let is_text = !data.iter().any(|byte| *byte < 0x20 && !b"\t\r\n".contains(byte));
    if let Ok(parts) = xml::read_complete(data)
        && is_text
        && !data.contains(&b'&')
    {
        let written = xml::write_complete(&parts);
        assert_eq!(xml::read_complete(&written).expect("it was written"), parts);
    }
    let _ = xml::read_delete(data);
    let _ = xml::read_parts(data);
    let _ = xml::read_tags(data);
    let _ = xml::selects(data);
    let _ = xml::read_objects(data);
    let _ = xml::read_versions(data);
    let _ = xml::read_uploads(data);
    let _ = xml::read_buckets(data);
    let _ = xml::read_versioning(data);
    let _ = xml::ListHead::read(data);
    if let Ok(fields) = xml::Fields::read(data) {
        let key = Some("a<&>\"b".to_owned());
        let change = xml::ResultChange { key, ..xml::ResultChange::default() };
        let written = xml::rewrite_result(data, &change).expect("it was read");
        let again = xml::rewrite_result(&written, &change).expect("it was written");
        assert_eq!(again, written);
        let read = xml::Fields::read(&written).expect("it was written");
        assert_eq!(read.key, fields.key.and(change.key));
        assert_eq!(read.etag, fields.etag);
    }
    let keep = |_: &xml::Entry<'_>| xml::Change::Keep;
    if let Ok(kept) = xml::rewrite(data, keep) {
        assert_eq!(xml::rewrite(&kept, keep).expect("it was written"), kept);
        let drop = |_: &xml::Entry<'_>| xml::Change::Drop;
        // Counts of entries are only read if they change.
        if let Ok(without) = xml::rewrite(data, drop) {
            let mut left = 0;
            xml::entries(&without, |_| left += 1).expect("it was written");
            assert_eq!(left, 0, "all entries were taken out");
        }
    }
}

/// Returns valid uploads, as inputs of [`s3_aws_chunked`].
pub(crate) fn uploads() -> Vec<Vec<u8>> {
    const CRC32: &str = "x-amz-checksum-crc32:NhCmhg==";
    let mut inputs = Vec::new();
    for form in 0..3_u8 {
        let mut body = Vec::new();
        let mut seed = match seed(form.into()) {
            Form::Signed(seed) | Form::SignedTrailer(seed) => Some(seed),
            _ => None,
        };
        for data in [&b"hel"[..], b"lo", b""] {
            body.extend_from_slice(format!("{:x}", data.len()).as_bytes());
            if let Some(seed) = &mut seed {
                let signature = hex(&seed.chunk(&endseal_crypto::sha256::digest(data)));
                body.extend_from_slice(format!(";chunk-signature={signature}").as_bytes());
            }
            body.extend_from_slice(b"\r\n");
            body.extend_from_slice(data);
            if !data.is_empty() {
                body.extend_from_slice(b"\r\n");
            }
        }
        if form > 0 {
            body.extend_from_slice(format!("{CRC32}\r\n").as_bytes());
        }
        if let (1, Some(seed)) = (form, &mut seed) {
            let signature = hex(&seed.trailer(format!("{CRC32}\n").as_bytes()));
            body.extend_from_slice(format!("x-amz-trailer-signature:{signature}\r\n").as_bytes());
        }
        body.extend_from_slice(b"\r\n");
        let (content, _) =
            decoded(decoder(form.into(), 5), &body, usize::MAX).expect("the upload is right");
        assert_eq!(content, b"hello");
        inputs.push([&[form, 5, 3][..], &body].concat());
    }
    inputs
}

/// Returns requests signed with another secret, as inputs of [`s3_authorization`].
pub(crate) fn signed_requests() -> Vec<Vec<u8>> {
    let hashes = [PayloadHash::Unsigned, PayloadHash::Streaming, PayloadHash::Sha256([7; 32])];
    let mut inputs: Vec<Vec<u8>> = hashes
        .map(|hash| {
            let mut headers = HeaderMap::new();
            headers.insert("host", HeaderValue::from_static("h"));
            let signer = signer("another secret");
            signer.sign("GET", "/b/k", None, &mut headers, hash, now()).expect("it can be signed");
            let lines = headers.iter().map(|(name, value)| {
                [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\n"].concat()
            });
            [b"\n".to_vec()].into_iter().chain(lines).collect::<Vec<_>>().concat()
        })
        .to_vec();
    inputs.push(b"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=CLIENT%2F20260101%2Fus-east-1%2Fs3%2Faws4_request&\
        X-Amz-Date=20260101T000000Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Signature=\
        0000000000000000000000000000000000000000000000000000000000000000\nhost: h\n".to_vec());
    inputs
}

/// Documents of each kind, as inputs of [`s3_xml`].
pub(crate) const DOCUMENTS: [&str; 10] = [
    "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\"a\"</ETag></Part></CompleteMultipartUpload>",
    "<Delete><Object><Key>a&amp;b</Key><VersionId>v</VersionId></Object><Quiet>true</Quiet></Delete>",
    "<?xml version=\"1.0\"?><ListBucketResult><Prefix>p</Prefix><KeyCount>2</KeyCount><EncodingType>url</EncodingType>\
     <Contents><Key>p%2Fa</Key><Size>1</Size><ETag>\"e\"</ETag></Contents>\
     <CommonPrefixes><Prefix>p%2F</Prefix></CommonPrefixes></ListBucketResult>",
    "<ListVersionsResult><Version><Key>k</Key><VersionId>1</VersionId><Size>2</Size></Version>\
     <DeleteMarker><Key>k</Key></DeleteMarker></ListVersionsResult>",
    "<ListMultipartUploadsResult><Upload><Key>k</Key><UploadId>u</UploadId></Upload></ListMultipartUploadsResult>",
    "<ListPartsResult><Key>k</Key><UploadId>u</UploadId><Part><PartNumber>1</PartNumber><Size>9</Size></Part>\
     <IsTruncated>false</IsTruncated></ListPartsResult>",
    "<DeleteResult><Deleted><Key>k</Key></Deleted><Error><Key>l</Key><Code>AccessDenied</Code></Error></DeleteResult>",
    "<Error><Code>NoSuchKey</Code><Message>m</Message><Key>k</Key></Error>",
    "<CopyObjectResult><ETag>e</ETag><LastModified>2026-01-01T00:00:00Z</LastModified></CopyObjectResult>",
    "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>",
];
