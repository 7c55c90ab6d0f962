//! The examples of AWS's documentation: "Authenticating Requests (AWS Signature Version 4)".

use endseal_s3_protocol::aws_chunked::{Decoder, Limits};
use endseal_s3_protocol::checksum::{ChecksumKind, Digests};
use endseal_s3_protocol::sigv4::{FormAccess, Payload, Timestamp};

use super::*;

pub(crate) const NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const DATE: &str = "20130524T000000Z";

pub(crate) fn now() -> i64 {
    Timestamp::from_basic(DATE).unwrap().seconds()
}

fn authorization(signed: &str, signature: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/20130524/us-east-1/s3/aws4_request,\
         SignedHeaders={signed},Signature={signature}"
    )
}

fn request(
    method: &str,
    target: &str,
    more: &[(&str, &str)],
    signed: &str,
    signature: &str,
) -> Request {
    let authorization = authorization(signed, signature);
    let mut pairs = vec![("x-amz-date", DATE), ("authorization", &authorization)];
    pairs.extend_from_slice(more);
    Request { method: method.into(), target: target.into(), headers: headers(&pairs), now: now() }
}

pub(crate) fn get_object() -> Request {
    request(
        "GET",
        "/test.txt",
        &[
            ("host", "examplebucket.s3.amazonaws.com"),
            ("range", "bytes=0-9"),
            ("x-amz-content-sha256", NOTHING),
        ],
        "host;range;x-amz-content-sha256;x-amz-date",
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    )
}

pub(crate) fn presigned() -> Request {
    Request {
        method: "GET".into(),
        target: "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE\
                 %2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z\
                 &X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=\
                 aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
            .into(),
        headers: headers(&[("host", "examplebucket.s3.amazonaws.com")]),
        now: now(),
    }
}

#[test]
fn get_an_object() {
    let verified = get_object().verify().unwrap();
    assert_eq!(verified.access_key, ACCESS_KEY);
    assert_eq!(verified.region, "us-east-1");
    assert!(!verified.presigned);
    let digest = endseal_crypto::sha256::digest(b"");
    assert_eq!(verified.payload.sha256(), Some(digest));
}

#[test]
fn put_an_object() {
    let digest = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
    let verified = request(
        "PUT",
        "/test$file.text",
        &[
            ("host", "examplebucket.s3.amazonaws.com"),
            ("date", "Fri, 24 May 2013 00:00:00 GMT"),
            ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
            ("x-amz-content-sha256", digest),
        ],
        "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    )
    .verify()
    .unwrap();
    let mut digests = Digests::of_request(&HeaderMap::new(), verified.payload.sha256()).unwrap();
    digests.update(b"Welcome to Amazon S3.");
    digests.finish(None).unwrap();
}

#[test]
fn get_a_lifecycle() {
    request(
        "GET",
        "/?lifecycle",
        &[("host", "examplebucket.s3.amazonaws.com"), ("x-amz-content-sha256", NOTHING)],
        "host;x-amz-content-sha256;x-amz-date",
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
    )
    .verify()
    .unwrap();
}

#[test]
fn list_objects() {
    request(
        "GET",
        "/?max-keys=2&prefix=J",
        &[("host", "examplebucket.s3.amazonaws.com"), ("x-amz-content-sha256", NOTHING)],
        "host;x-amz-content-sha256;x-amz-date",
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    )
    .verify()
    .unwrap();
}

#[test]
fn get_by_a_presigned_url() {
    let verified = presigned().verify().unwrap();
    assert!(verified.presigned);
    assert!(matches!(verified.payload, Payload::Unsigned));
}

const COMMON: [(&str, &str); 5] = [
    ("host", "s3.amazonaws.com"),
    ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
    ("content-encoding", "aws-chunked"),
    ("x-amz-decoded-content-length", "66560"),
    ("content-length", "66824"),
];

fn body(signatures: [&str; 3]) -> Vec<u8> {
    let mut body = Vec::new();
    for (len, signature) in [65_536, 1_024, 0].into_iter().zip(signatures) {
        body.extend_from_slice(format!("{len:x};chunk-signature={signature}\r\n").as_bytes());
        body.resize(body.len() + len, b'a');
        if len > 0 {
            body.extend_from_slice(b"\r\n");
        }
    }
    body
}

/// Returns the request and its content in chunks, as they are sent.
pub(crate) fn chunked() -> (Request, Vec<u8>) {
    let mut pairs = COMMON.to_vec();
    pairs.push(("x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"));
    let request = request(
        "PUT",
        "/examplebucket/chunkObject.txt",
        &pairs,
        "content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;\
         x-amz-decoded-content-length;x-amz-storage-class",
        "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
    );
    let mut body = body([
        "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
        "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
        "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
    ]);
    body.extend_from_slice(b"\r\n");
    (request, body)
}

pub(crate) fn chunked_with_trailer() -> (Request, Vec<u8>) {
    let mut pairs = COMMON[..4].to_vec();
    pairs.push(("x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"));
    pairs.push(("x-amz-trailer", "x-amz-checksum-crc32c"));
    let request = request(
        "PUT",
        "/examplebucket/chunkObject.txt",
        &pairs,
        "content-encoding;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;\
         x-amz-storage-class;x-amz-trailer",
        "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e",
    );
    let mut body = body([
        "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
        "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
        "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992",
    ]);
    body.extend_from_slice(
        b"x-amz-checksum-crc32c:sOO8/Q==\r\nx-amz-trailer-signature:\
          d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435\r\n\r\n",
    );
    (request, body)
}

#[test]
fn put_in_signed_chunks() {
    let (request, body) = chunked();
    assert_eq!(body.len(), 66_824);
    let verified = request.verify().unwrap();
    let decoder = Decoder::of_request(&verified.payload, &request.headers, Limits::default());
    let (content, trailers) = decode(decoder.unwrap().unwrap(), &body, &[]).unwrap();
    assert_eq!(content, [b'a'; 66_560]);
    assert!(trailers.is_empty());
}

#[test]
fn put_in_signed_chunks_with_a_trailer() {
    let (request, body) = chunked_with_trailer();
    let verified = request.verify().unwrap();
    let mut digests = Digests::of_request(&request.headers, verified.payload.sha256()).unwrap();
    let decoder = Decoder::of_request(&verified.payload, &request.headers, Limits::default());
    let (content, trailers) = decode(decoder.unwrap().unwrap(), &body, &[]).unwrap();
    digests.update(&content);
    let outcome = digests.finish(Some(&trailers)).unwrap();
    assert_eq!(outcome.checksum.map(|it| it.kind()), Some(ChecksumKind::Crc32c));
}

/// "Example: Browser-Based Upload using HTTP POST". The policy has CRLF.
pub(crate) const POLICY: &str = concat!(
    "{ \"expiration\": \"2015-12-30T12:00:00.000Z\",\r\n",
    "  \"conditions\": [\r\n",
    "    {\"bucket\": \"sigv4examplebucket\"},\r\n",
    "    [\"starts-with\", \"$key\", \"user/user1/\"],\r\n",
    "    {\"acl\": \"public-read\"},\r\n",
    "    {\"success_action_redirect\": ",
    "\"http://sigv4examplebucket.s3.amazonaws.com/successful_upload.html\"},\r\n",
    "    [\"starts-with\", \"$Content-Type\", \"image/\"],\r\n",
    "    {\"x-amz-meta-uuid\": \"14365123651274\"},\r\n",
    "    {\"x-amz-server-side-encryption\": \"AES256\"},\r\n",
    "    [\"starts-with\", \"$x-amz-meta-tag\", \"\"],\r\n",
    "\r\n",
    "    {\"x-amz-credential\": ",
    "\"AKIAIOSFODNN7EXAMPLE/20151229/us-east-1/s3/aws4_request\"},\r\n",
    "    {\"x-amz-algorithm\": \"AWS4-HMAC-SHA256\"},\r\n",
    "    {\"x-amz-date\": \"20151229T000000Z\" }\r\n",
    "  ]\r\n",
    "}",
);

#[test]
fn upload_by_a_form() {
    use base64ct::{Base64, Encoding as _};
    let policy = Base64::encode_string(POLICY.as_bytes());
    let fields = [
        ("key", "user/user1/photo.jpg"),
        ("acl", "public-read"),
        (
            "success_action_redirect",
            "http://sigv4examplebucket.s3.amazonaws.com/successful_upload.html",
        ),
        ("Content-Type", "image/jpeg"),
        ("x-amz-meta-uuid", "14365123651274"),
        ("x-amz-server-side-encryption", "AES256"),
        ("X-Amz-Credential", "AKIAIOSFODNN7EXAMPLE/20151229/us-east-1/s3/aws4_request"),
        ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
        ("X-Amz-Date", "20151229T000000Z"),
        ("x-amz-meta-tag", ""),
        ("Policy", &policy),
        ("X-Amz-Signature", "8afdbf4008c03f22c2cd3cdb72e4afbb1f6a588f3255ac628749a66d7f09699e"),
    ];
    let now = at(Timestamp::from_basic("20151230T115959Z").unwrap().seconds());
    let access = verifier().verify_form("sigv4examplebucket", &fields, now).unwrap();
    let FormAccess::Signed(form) = access else { panic!("it is signed") };
    assert_eq!(form.access_key, ACCESS_KEY);
    assert_eq!(form.content_length, None);
    let later = at(Timestamp::from_basic("20151230T120001Z").unwrap().seconds());
    let refused = verifier().verify_form("sigv4examplebucket", &fields, later);
    assert_eq!(refused.err(), Some(SignatureError::PolicyExpired));
}
