//! Tests of CORS preflights without a signature, and of responses to pages of other origins.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use endseal_s3proxy::access::SecretAccessKey;
use endseal_s3proxy::config::Backend;
use endseal_testing::Scratch;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::client::{Answer, Client};
use crate::fixture::{Front, config, new_ring, serve};

/// Backend that sends a chosen response and records the heads of requests.
pub(crate) struct Told {
    address: SocketAddr,
    answer: Arc<Mutex<String>>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Told {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (answer, heads) = (Arc::<Mutex<String>>::default(), Arc::<Mutex<Vec<_>>>::default());
        let told = Self { address, answer: Arc::clone(&answer), heads: Arc::clone(&heads) };
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut received = Vec::new();
                while !received.windows(4).any(|it| it == b"\r\n\r\n") {
                    if !matches!(stream.read_buf(&mut received).await, Ok(1..)) {
                        break;
                    }
                }
                heads.lock().unwrap().push(String::from_utf8_lossy(&received).into_owned());
                let answer = answer.lock().unwrap().clone();
                // The proxy may have closed the connection.
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        told
    }

    pub(crate) fn answers(&self, status: u16, lines: &str, body: &str) {
        let len = body.len();
        *self.answer.lock().unwrap() = format!(
            "HTTP/1.1 {status} Any\r\n{lines}connection: close\r\ncontent-length: {len}\r\n\r\n{body}"
        );
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        core::mem::take(&mut self.heads.lock().unwrap())
    }

    pub(crate) async fn proxy(&self, scratch: &Scratch) -> Front {
        new_ring(&scratch.folder().join("ring"));
        let secret = SecretAccessKey::new("secret".to_owned());
        let backend = Backend::new(&format!("http://{}", self.address), "BACKEND", secret);
        serve(&config(backend, &scratch.folder().join("ring"))).await
    }
}

const ALLOWED: &str = "access-control-allow-origin: https://page.example\r\n\
    access-control-allow-methods: PUT\r\naccess-control-max-age: 60\r\nvary: Origin\r\n";

const ASKS: &str = "origin: https://page.example\r\naccess-control-request-method: PUT\r\n\
    access-control-request-headers: x-amz-date\r\ncookie: secret\r\n";

async fn options(client: &Client, target: &str, lines: &str) -> Answer {
    let head = format!("OPTIONS {target} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n{lines}\r\n");
    client.exchange(&head, b"", false).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preflight_is_the_backends_word_about_its_bucket() {
    let (told, scratch) = (Told::start().await, Scratch::new());
    let front = told.proxy(&scratch).await;
    let elsewhere = "location: http://elsewhere\r\nset-cookie: a=b\r\nx-other: c\r\n";
    for status in [200, 204] {
        let body = if status == 200 { "FOREIGN" } else { "" };
        told.answers(status, &format!("{ALLOWED}{elsewhere}"), body);
        let target = "/bucket/a/secret-key?X-Amz-Signature=abc";
        let answer = options(&front.client, target, ASKS).await.expect(200);
        assert!(answer.body.is_empty());
        assert_eq!(answer.header("access-control-allow-origin"), Some("https://page.example"));
        assert_eq!(answer.header("access-control-max-age"), Some("60"));
        assert_eq!(answer.header("vary"), Some("Origin"));
        for name in ["location", "set-cookie", "x-other"] {
            assert_eq!(answer.header(name), None);
        }
        let [head] = &told.heads()[..] else { panic!("one request") };
        assert!(head.starts_with("OPTIONS /bucket HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("access-control-request-headers: x-amz-date\r\n"), "{head}");
        for word in ["secret", "X-Amz-Signature", "cookie"] {
            assert!(!head.contains(word), "{head}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preflight_passes_no_other_status() {
    let (told, scratch) = (Told::start().await, Scratch::new());
    let front = told.proxy(&scratch).await;
    for status in [101, 199, 201, 202, 206, 301, 302, 307, 308, 400, 403, 404, 500, 503, 600, 999] {
        told.answers(status, ALLOWED, "FOREIGN");
        let answer = options(&front.client, "/bucket/key", ASKS).await;
        assert!(matches!(answer.status, 400..=599), "{status}: {}", answer.status);
        assert!(!answer.text().contains("FOREIGN"), "{status}: {}", answer.text());
        assert_eq!(answer.header("access-control-allow-methods"), None, "{status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_preflight_needs_a_signature() {
    let (told, scratch) = (Told::start().await, Scratch::new());
    let front = told.proxy(&scratch).await;
    told.answers(200, ALLOWED, "");
    for (target, lines) in [
        ("/bucket/key", "origin: https://page.example\r\n"),
        ("/bucket/key", "access-control-request-method: PUT\r\n"),
        ("/", ASKS),
    ] {
        options(&front.client, target, lines).await.expect(403);
    }
    let get = format!("GET /bucket/key HTTP/1.1\r\nhost: h\r\nconnection: close\r\n{ASKS}\r\n");
    front.client.exchange(&get, b"", false).await.expect(403);
    assert!(told.heads().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_origins_can_read_answers_and_errors() {
    let (told, scratch) = (Told::start().await, Scratch::new());
    let front = told.proxy(&scratch).await;
    for status in [200, 404] {
        told.answers(status, ALLOWED, "");
        let origin = [("origin", "https://page.example")];
        let answer = front.client.send("DELETE", "/bucket/key", &origin, b"").await.expect(status);
        assert_eq!(answer.header("access-control-allow-origin"), Some("https://page.example"));
        let [head] = &told.heads()[..] else { panic!("one request") };
        assert!(head.contains("\r\norigin: https://page.example\r\n"), "{head}");
    }
}
