//! Tests of every status with which a backend can respond, for each operation.

use core::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use endseal_s3proxy::Glob;
use endseal_s3proxy::access::SecretAccessKey;
use endseal_s3proxy::admin::{Clean, Rewrap, clean, rewrap};
use endseal_s3proxy::bucket::{BucketRule, Buckets, Plaintext};
use endseal_s3proxy::config::Backend;
use endseal_testing::Scratch;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::client::{Answer, Client};
use crate::fixture::{Front, config, content, new_ring, serve};
use crate::forms::{CONDITIONS, Form};
use crate::multipart::PART;

/// Bytes of the backend that no client may get.
const FOREIGN: &str = "FOREIGN";

/// Host in every response header that could lead a client elsewhere.
const ELSEWHERE: &str = "elsewhere.example";

/// Value instead of a status: responds like to the start of an upload.
const BEGINS: u32 = 0;

const UPLOAD: &str = "<InitiateMultipartUploadResult><Bucket>bucket</Bucket><Key>key</Key>\
    <UploadId>its-own</UploadId></InitiateMultipartUploadResult>";

/// Backend that responds to every request with one status.
struct Backdrop {
    address: SocketAddr,
    /// The status, plus 1 << 16 if there is a body.
    answer: Arc<AtomicU32>,
}

impl Backdrop {
    async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = Arc::new(AtomicU32::new(BEGINS));
        let own = Arc::clone(&answer);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(one_request(stream, Arc::clone(&own)));
            }
        });
        Self { address, answer }
    }

    fn set(&self, status: u16, body: bool) {
        self.answer.store(u32::from(status) | u32::from(body) << 16, SeqCst);
    }

    fn backend(&self) -> Backend {
        let secret = SecretAccessKey::new("secret".to_owned());
        Backend::new(&format!("http://{}", self.address), "BACKEND", secret)
    }
}

async fn one_request(mut stream: TcpStream, answer: Arc<AtomicU32>) {
    let mut received = Vec::new();
    let end = loop {
        if let Some(end) = received.windows(4).position(|it| it == b"\r\n\r\n") {
            break end + 4;
        }
        if !matches!(stream.read_buf(&mut received).await, Ok(1..)) {
            return;
        }
    };
    let head = String::from_utf8(received[..end].to_vec()).unwrap().to_ascii_lowercase();
    let len = head
        .split_once("content-length: ")
        .map_or(0, |(_, rest)| rest.split("\r\n").next().unwrap().parse::<usize>().unwrap());
    let mut left = (end + len).saturating_sub(received.len());
    let mut buffer = vec![0; 64 * 1024];
    while left > 0 {
        match stream.read(&mut buffer).await {
            Ok(read @ 1..) => left = left.saturating_sub(read),
            _ => return,
        }
    }
    let chosen = answer.load(SeqCst);
    let (status, has_body) = (chosen & 0xffff, chosen >> 16 == 1);
    let body = match chosen {
        BEGINS => UPLOAD.to_owned(),
        _ if has_body => format!(
            "<Error><Code>TestCode</Code><Message>a &lt;message&gt;</Message>\
             <Endpoint>{ELSEWHERE}</Endpoint><Extra>{FOREIGN}</Extra></Error>"
        ),
        _ => String::new(),
    };
    let status = if chosen == BEGINS { 200 } else { status };
    let mut out = format!("HTTP/1.1 {status} Any\r\nconnection: close\r\netag: \"0123\"\r\n");
    for name in ["location", "content-location", "refresh", "alt-svc", "x-amz-bucket-region"] {
        write!(out, "{name}: {ELSEWHERE}\r\n").unwrap();
    }
    if status == 206 {
        write!(out, "content-range: bytes 0-{}/{}\r\n", body.len().max(1) - 1, body.len()).unwrap();
    }
    write!(out, "content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    // The proxy may have closed the connection.
    let _ = stream.write_all(out.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// Request with the responses of the backend that it accepts.
struct Case {
    name: &'static str,
    method: &'static str,
    target: String,
    headers: Vec<(&'static str, &'static str)>,
    body: Vec<u8>,
    /// Success statuses of the operation at the backend.
    successes: &'static [u16],
    /// True if the request has a condition.
    is_conditional: bool,
    /// True if the client may get the backend's document, or plaintext where this is allowed.
    passes_content: bool,
}

impl Case {
    fn new(
        name: &'static str,
        method: &'static str,
        target: &str,
        successes: &'static [u16],
    ) -> Self {
        Self {
            name,
            method,
            target: target.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            successes,
            is_conditional: false,
            passes_content: false,
        }
    }

    fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.is_conditional |= name.contains("if-");
        self.headers.push((name, value));
        self
    }

    fn sends(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    fn passes_content(mut self) -> Self {
        self.passes_content = true;
        self
    }

    async fn ask(&self, client: &Client) -> Answer {
        if self.name == "PostObject" {
            let fields = [("key", "up/a"), ("bucket", "bucket")];
            return Form::signed(client, CONDITIONS, &fields, &self.body).post(client).await;
        }
        client.send(self.method, &self.target, &self.headers, &self.body).await
    }

    /// Checks that the response contains nothing that must not be forwarded.
    fn check(&self, status: u16, has_body: bool, answer: &Answer) {
        let what = format!("{} at status {status}, body {has_body}", self.name);
        let text = String::from_utf8_lossy(&answer.body);
        for (name, value) in &answer.headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            assert!(!value.contains(ELSEWHERE), "{what}: {name}: {value}");
        }
        let is_success = self.successes.contains(&status);
        if !(is_success && self.passes_content) {
            assert!(!text.contains(FOREIGN) && !text.contains(ELSEWHERE), "{what}: {text}");
        }
        let got = answer.status;
        // A copy requests its source with HEAD.
        let reads = matches!(self.method, "GET" | "HEAD") || self.name.starts_with("CopyObject");
        let is_asked = self.is_conditional && (status == 412 || (status == 304 && reads));
        let is_error = matches!(status, 400..=599) && status != 412;
        if is_success {
            // The proxy may find that the document does not fit the request.
            let may_be = got == status || (self.name == "PostObject" && got == 204);
            assert!(may_be || matches!(got, 400..=599), "{what}: {got}");
        } else if is_asked {
            // If the source of a copy was not modified, its condition does not hold.
            assert!(got == status || (status == 304 && got == 412), "{what}: {got}");
        } else if is_error {
            assert!(matches!(got, 400..=599), "{what}: {got}");
        } else {
            // A copy requests the reason again.
            assert!(matches!(got, 502 | 503), "{what}: {got}");
        }
        if matches!(got, 400..) && self.method != "HEAD" {
            assert!(text.starts_with("<?xml") && text.contains("<Error><Code>"), "{what}: {text}");
            assert!(answer.whole, "{what}");
        }
    }
}

fn cases(id: &str) -> Vec<Case> {
    let parts = "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\"a\"</ETag></Part>\
         </CompleteMultipartUpload>";
    let delete = "<Delete><Object><Key>key</Key></Object></Delete>";
    let of_upload = format!("/bucket/key?uploadId={id}");
    let part = format!("/bucket/key?partNumber=1&uploadId={id}");
    let copy = ("x-amz-copy-source", "bucket/other");
    let new = Case::new;
    vec![
        new("PutObject", "PUT", "/bucket/key", &[200]).sends("content"),
        new("PutObject on a condition", "PUT", "/bucket/key", &[200])
            .with("if-none-match", "*")
            .sends("content"),
        new("PutObject of several chunks", "PUT", "/bucket/key", &[200]).sends(content(70_000, 1)),
        new("PutObject of plaintext", "PUT", "/plain/key", &[200]).sends("content"),
        new("PostObject", "POST", "/bucket", &[200]).sends("content"),
        new("GetObject", "GET", "/bucket/key", &[200]),
        new("GetObject on a condition", "GET", "/bucket/key", &[200])
            .with("if-none-match", "\"a\""),
        new("GetObject, a range", "GET", "/bucket/key", &[200, 206]).with("range", "bytes=1-2"),
        new("GetObject, a suffix", "GET", "/bucket/key", &[200]).with("range", "bytes=-2"),
        new("GetObject, a part", "GET", "/bucket/key?partNumber=1", &[200]),
        new("GetObject of plaintext", "GET", "/plain/key", &[200]).passes_content(),
        new("GetObject of plaintext, a range", "GET", "/plain/key", &[200, 206])
            .with("range", "bytes=0-2")
            .passes_content(),
        new("HeadObject", "HEAD", "/bucket/key", &[200]),
        new("HeadObject on a condition", "HEAD", "/bucket/key", &[200])
            .with("if-modified-since", "Tue, 24 Nov 2026 00:00:00 GMT"),
        new("HeadObject of plaintext", "HEAD", "/plain/key", &[200]),
        new("HeadObject of plaintext, a range", "HEAD", "/plain/key", &[200, 206])
            .with("range", "bytes=0-2"),
        new("GetObjectAttributes", "GET", "/bucket/key?attributes", &[200])
            .with("x-amz-object-attributes", "ETag"),
        new("CopyObject", "PUT", "/bucket/key", &[200]).with(copy.0, copy.1),
        new("CopyObject on a condition", "PUT", "/bucket/key", &[200])
            .with(copy.0, copy.1)
            .with("x-amz-copy-source-if-none-match", "\"a\""),
        new("CopyObject of plaintext", "PUT", "/plain/key", &[200]).with(copy.0, "plain/other"),
        new("CreateMultipartUpload", "POST", "/bucket/key?uploads", &[200]),
        new("CreateMultipartUpload of plaintext", "POST", "/plain/key?uploads", &[200]),
        new("UploadPart", "PUT", &part, &[200]).sends("content"),
        new("UploadPart of plaintext", "PUT", "/plain/key?partNumber=1&uploadId=u", &[200])
            .sends("content"),
        new("UploadPartCopy", "PUT", &part, &[200]).with(copy.0, copy.1),
        new("UploadPartCopy of plaintext", "PUT", "/plain/key?partNumber=1&uploadId=u", &[200])
            .with(copy.0, "plain/other"),
        new("ListParts", "GET", &of_upload, &[200]),
        new("ListParts of plaintext", "GET", "/plain/key?uploadId=u", &[200]).passes_content(),
        new("CompleteMultipartUpload", "POST", &of_upload, &[200]).sends(parts),
        new("CompleteMultipartUpload of plaintext", "POST", "/plain/key?uploadId=u", &[200])
            .sends(parts),
        new("AbortMultipartUpload", "DELETE", &of_upload, &[200, 204]),
        new("AbortMultipartUpload of plaintext", "DELETE", "/plain/key?uploadId=u", &[200, 204]),
        new("ListObjects", "GET", "/bucket", &[200]),
        new("ListObjectsV2", "GET", "/bucket?list-type=2", &[200]),
        new("ListObjectVersions", "GET", "/bucket?versions", &[200]),
        new("ListMultipartUploads", "GET", "/bucket?uploads", &[200]),
        new("DeleteObjects", "POST", "/bucket?delete", &[200]).sends(delete),
        new("DeleteObject", "DELETE", "/bucket/key", &[200, 204]),
        new("RestoreObject", "POST", "/bucket/key?restore", &[200, 202])
            .sends("<RestoreRequest><Days>1</Days></RestoreRequest>"),
        new("GetObjectAcl", "GET", "/bucket/key?acl", &[200]).passes_content(),
        new("PutObjectTagging", "PUT", "/bucket/key?tagging", &[200]).sends("<Tagging/>"),
        new("DeleteObjectTagging", "DELETE", "/bucket/key?tagging", &[200, 204]),
        new("ListBuckets", "GET", "/", &[200]).passes_content(),
        new("CreateBucket", "PUT", "/bucket", &[200]),
        new("HeadBucket", "HEAD", "/bucket", &[200]),
        new("GetBucketLocation", "GET", "/bucket?location", &[200]).passes_content(),
        new("PutBucketPolicy", "PUT", "/bucket?policy", &[200, 204]).sends("{}"),
        new("DeleteBucketPolicy", "DELETE", "/bucket?policy", &[200, 204]),
        new("DeleteBucket", "DELETE", "/bucket", &[200, 204]),
    ]
}

/// Starts a proxy for such a backend, with a bucket that contains plaintext.
async fn proxy(backdrop: &Backdrop, scratch: &Scratch) -> Front {
    let mut config = config(backdrop.backend(), &scratch.folder().join("ring"));
    let mut plain = BucketRule::new(Glob::new("plain"));
    plain.plaintext = Plaintext::Allow;
    config.buckets = Buckets::new(vec![plain]);
    serve(&config).await
}

/// Returns an upload id for `/bucket/key` that every proxy with this ring accepts.
async fn upload_id(scratch: &Scratch) -> String {
    let backdrop = Backdrop::start().await;
    let front = proxy(&backdrop, scratch).await;
    let started = front.client.ask("POST", "/bucket/key?uploads").await.expect(200);
    started.element("UploadId")
}

/// Statuses that the rules distinguish, and their neighbours.
const STATUSES: [u16; 25] = [
    100, 101, 199, 200, 201, 202, 204, 206, 299, 300, 301, 304, 307, 308, 399, 400, 403, 404, 409,
    412, 416, 500, 503, 599, 999,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backend_passes_no_status_that_its_operation_does_not_have() {
    answer_with(&STATUSES).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: 900 statuses of 49 operations take minutes"]
async fn a_backend_passes_none_of_all_statuses_that_its_operation_does_not_have() {
    answer_with(&(100..=999).collect::<Vec<u16>>()).await;
}

/// Runs every operation with each of these statuses.
async fn answer_with(statuses: &[u16]) {
    let scratch = Arc::new(Scratch::new());
    new_ring(&scratch.folder().join("ring"));
    let id = upload_id(&scratch).await;
    // As many at once as keep two cores busy, because a completion pauses between its attempts.
    let tasks: Vec<_> = statuses
        .chunks(statuses.len().div_ceil(50))
        .map(<[u16]>::to_vec)
        .map(|statuses| {
            let (scratch, cases) = (Arc::clone(&scratch), cases(&id));
            tokio::spawn(async move {
                let backdrop = Backdrop::start().await;
                let front = proxy(&backdrop, &scratch).await;
                for status in statuses {
                    for has_body in [false, true] {
                        backdrop.set(status, has_body);
                        for case in &cases {
                            let answer = case.ask(&front.client).await;
                            case.check(status, has_body, &answer);
                        }
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_parts_are_stored_by_status_200_alone() {
    let scratch = Scratch::new();
    new_ring(&scratch.folder().join("ring"));
    let target = format!("/bucket/key?partNumber=1&uploadId={}", upload_id(&scratch).await);
    let backdrop = Backdrop::start().await;
    let front = proxy(&backdrop, &scratch).await;
    let case = Case::new("UploadPart", "PUT", &target, &[200]).sends(content(PART, 1));
    for status in [101, 199, 200, 201, 202, 204, 206, 226, 299, 300, 304, 307, 308, 404, 412, 503]
        .into_iter()
        .chain([600, 999])
    {
        backdrop.set(status, true);
        case.check(status, true, &case.ask(&front.client).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_the_backend_are_written_anew() {
    let scratch = Scratch::new();
    new_ring(&scratch.folder().join("ring"));
    let backdrop = Backdrop::start().await;
    let front = proxy(&backdrop, &scratch).await;
    let client = &front.client;
    backdrop.set(409, true);
    let refused = client.put("/bucket/key", b"content").await.expect(409);
    assert_eq!(
        (refused.code().as_str(), refused.element("Message").as_str()),
        ("TestCode", "a <message>")
    );
    assert_eq!(refused.element("Resource"), "/bucket/key");
    // There is a code even without a document.
    for (status, code) in [(403, "AccessDenied"), (404, "NoSuchKey"), (503, "ServiceUnavailable")] {
        backdrop.set(status, false);
        assert_eq!(client.ask("GET", "/bucket/key").await.expect(status).code(), code);
    }
    backdrop.set(404, false);
    assert_eq!(client.ask("GET", "/bucket").await.expect(404).code(), "NoSuchBucket");
}

#[tokio::test(flavor = "multi_thread")]
async fn maintenance_follows_no_status_that_is_none() {
    let scratch = Scratch::new();
    new_ring(&scratch.folder().join("ring"));
    let backdrop = Backdrop::start().await;
    let front = proxy(&backdrop, &scratch).await;
    for status in [101, 201, 202, 204, 206, 299, 300, 301, 302, 303, 304, 307, 308, 412, 600, 999] {
        backdrop.set(status, true);
        let mut options = Rewrap::default();
        options.bucket = Some("bucket".to_owned());
        let report = rewrap(&front.proxy, &options, |_| {}).await;
        assert!(report.is_err() || report.is_ok_and(|report| report.failed > 0), "{status}");
        let mut options = Clean::default();
        options.bucket = Some("bucket".to_owned());
        let report = clean(&front.proxy, &options, |_| {}).await;
        assert!(report.is_err() || report.is_ok_and(|report| report.failed > 0), "{status}");
        assert!(front.proxy.ready().await.is_err() || matches!(status, 412), "{status}");
    }
    backdrop.set(403, true);
    front.proxy.ready().await.unwrap();
}
