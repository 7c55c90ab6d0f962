//! Tests of long uploads in chunks, several per connection.

use base64ct::{Base64, Encoding as _};
use endseal_crypto::sha256;
use endseal_s3_protocol::sigv4::{Payload, PayloadHash};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{Answer, Client, parse};
use crate::fixture::{World, content, eventually};

const TARGET: &str = "/bucket/key";

/// Fault in an upload.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrong {
    Nothing,
    /// The trailing checksum is wrong, or the last chunk's signature if there is no checksum.
    End,
    /// A byte between two chunks is wrong.
    Framing,
}

/// Returns a request as bytes for the socket.
fn upload(client: &Client, hash: PayloadHash, body: &[u8], chunk: usize, wrong: Wrong) -> Vec<u8> {
    let has_trailer = !matches!(hash, PayloadHash::Streaming);
    let is_signed = !matches!(hash, PayloadHash::StreamingUnsignedTrailer);
    let len = body.len().to_string();
    let mut headers =
        vec![("content-encoding", "aws-chunked"), ("x-amz-decoded-content-length", &*len)];
    if has_trailer {
        headers.push(("x-amz-trailer", "x-amz-checksum-sha256"));
    }
    // The length is computed first. It does not depend on the values of the signatures.
    let lines = |len| client.lines("PUT", TARGET, &headers, len, hash);
    let (_, payload) = lines(0);
    let len = frame(payload, body, chunk, has_trailer, Wrong::Nothing).len();
    let (head, payload) = lines(len);
    assert_eq!(matches!(payload, Payload::StreamingSigned { .. }), is_signed);
    let framed = frame(payload, body, chunk, has_trailer, wrong);
    assert_eq!(framed.len(), len);
    [head.as_bytes(), b"\r\n", &framed].concat()
}

/// Returns the chunks and what follows them.
fn frame(payload: Payload, body: &[u8], chunk: usize, has_trailer: bool, wrong: Wrong) -> Vec<u8> {
    let mut seed = match payload {
        Payload::StreamingSigned { seed, .. } => Some(seed),
        _ => None,
    };
    let mut framed = Vec::new();
    for data in body.chunks(chunk).chain([&[][..]]) {
        framed.extend_from_slice(format!("{:x}", data.len()).as_bytes());
        if let Some(seed) = &mut seed {
            let mut signature = seed.chunk(&sha256::digest(data));
            let is_wrong = wrong == Wrong::End && !has_trailer && data.is_empty();
            signature[31] ^= u8::from(is_wrong);
            framed.extend_from_slice(format!(";chunk-signature={}", hex(&signature)).as_bytes());
        }
        framed.extend_from_slice(b"\r\n");
        framed.extend_from_slice(data);
        if !data.is_empty() {
            framed.extend_from_slice(if wrong == Wrong::Framing { b"\r\r" } else { b"\r\n" });
        }
    }
    if has_trailer {
        let mut sum = sha256::digest(body);
        sum[0] ^= u8::from(wrong == Wrong::End);
        let line = format!("x-amz-checksum-sha256:{}", Base64::encode_string(&sum));
        framed.extend_from_slice(format!("{line}\r\n").as_bytes());
        if let Some(seed) = &mut seed {
            let signature = hex(&seed.trailer(format!("{line}\n").as_bytes()));
            framed.extend_from_slice(format!("x-amz-trailer-signature:{signature}\r\n").as_bytes());
        }
    }
    framed.extend_from_slice(b"\r\n");
    framed
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sends a request over a connection that can be reused, and reads its response.
async fn exchange(stream: &mut TcpStream, request: &[u8]) -> Answer {
    // A server that refuses the request may close before it has received everything.
    let _ = stream.write_all(request).await;
    let mut received = Vec::new();
    loop {
        if received.windows(4).any(|it| it == b"\r\n\r\n") {
            let answer = parse(&received, false);
            if answer.whole {
                return answer;
            }
        }
        let came = stream.read_buf(&mut received).await.unwrap();
        assert!(came > 0, "{}", String::from_utf8_lossy(&received));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_uploads_in_chunks_of_all_forms_follow_each_other() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    let mut stream = TcpStream::connect(client.address).await.unwrap();
    for hash in [
        PayloadHash::StreamingUnsignedTrailer,
        PayloadHash::Streaming,
        PayloadHash::StreamingTrailer,
    ] {
        for (len, chunk) in [(70_000, 8_192), (3_000_017, 65_536), (5_000_000, 3_000_000)] {
            let body = content(len, chunk as u64);
            let request = upload(client, hash, &body, chunk, Wrong::Nothing);
            let put = exchange(&mut stream, &request).await.expect(200);
            assert_eq!(put.header("connection"), None, "it serves again");
            let sum = (!matches!(hash, PayloadHash::Streaming))
                .then(|| Base64::encode_string(&sha256::digest(&body)));
            assert_eq!(put.header("x-amz-checksum-sha256"), sum.as_deref(), "{hash:?} {len}");
            let asked = [("x-amz-checksum-mode", "ENABLED")];
            let head = client.ask_with("HEAD", TARGET, &asked).await.expect(200);
            assert_eq!(head.header("x-amz-checksum-sha256"), sum.as_deref(), "{hash:?} {len}");
            assert!(client.ask("GET", TARGET).await.expect(200).body == body, "{hash:?} {len}");
            // A fault at the end keeps the object and the connection.
            let other = content(len, 99);
            let request = upload(client, hash, &other, chunk, Wrong::End);
            let refused = exchange(&mut stream, &request).await;
            let code = if matches!(hash, PayloadHash::Streaming) {
                "SignatureDoesNotMatch"
            } else {
                "BadDigest"
            };
            assert_eq!(refused.code(), code, "{hash:?} {len}");
            // A fault between chunks keeps the object, but not the connection.
            let request = upload(client, hash, &other, chunk, Wrong::Framing);
            let mut broken = TcpStream::connect(client.address).await.unwrap();
            assert_eq!(exchange(&mut broken, &request).await.status, 400, "{hash:?} {len}");
            assert!(client.ask("GET", TARGET).await.expect(200).body == body, "{hash:?} {len}");
        }
    }
    eventually("nothing stays", || world.unfinished().is_empty()).await;
    assert_eq!(world.data().len(), 1);
}
