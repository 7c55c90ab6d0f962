//! Tests of SIGHUP: the configuration is replaced without a failed request.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use endseal_crypto::random::OsRandom;
use endseal_kms::Ring;
use endseal_kms::ring::RingFile;
use endseal_s3proxy::Config;
use endseal_s3proxy::access::{Client as Known, SecretAccessKey};
use endseal_s3proxy::config::{Keys, TlsFiles};
use endseal_s3proxy::upstream::{self, Body, Target, Trust};
use http::Request;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::client::Client;
use crate::fixture::{ACCESS_KEY, SECRET, World, content, new_ring};
use crate::objects::next_answer;

/// Configuration that the next reload reads.
type Files = Arc<Mutex<Result<Config, String>>>;

/// Starts a whole server on its own thread, until SIGTERM.
fn start(files: &Files) -> (SocketAddr, thread::JoinHandle<usize>) {
    let files = Arc::clone(files);
    let (tell, told) = mpsc::channel();
    let serving = thread::spawn(move || {
        let config = files.lock().unwrap().clone().unwrap();
        let read = || files.lock().unwrap().clone();
        let mut started =
            |listening: endseal_s3proxy::Listening| tell.send(listening.address).is_ok();
        endseal_s3proxy::run(&config, &read, &mut started).unwrap()
    });
    (told.recv().unwrap(), serving)
}

fn signal(name: &str) {
    let pid = std::process::id().to_string();
    assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
}

fn tls(name: &str) -> TlsFiles {
    let file = |end: &str| {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/client/tls");
        folder.join(format!("{name}.{end}"))
    };
    TlsFiles::new(file("pem"), file("key"))
}

/// Returns true if the server presents a certificate of this authority.
async fn shows(address: SocketAddr, authority: &[u8]) -> bool {
    let target = Target::parse(&format!("https://localhost:{}", address.port())).unwrap();
    let trust = Trust::public().with_authorities(authority).unwrap();
    let client = upstream::Client::new(target, trust, upstream::Limits::default());
    let request = Request::get("/healthz").header("host", "localhost");
    client.send(request.body(Body::empty()).unwrap()).await.is_ok()
}

/// Waits for the effect of a reload.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..6_000 {
        if is_so().await {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("not in time: {what}");
}

async fn asks(address: SocketAddr, access_key: &str) -> u16 {
    Client::new(address, access_key, SECRET).ask("GET", "/bucket/key").await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_changes_clients_and_certificates_and_no_request_fails() {
    let world = World::new();
    let with = |access_key: &str| {
        let mut config = world.config();
        config.listen = SocketAddr::from(([127, 0, 0, 1], 0));
        config.clients.push(Known::new(access_key, SecretAccessKey::new(SECRET.to_owned())));
        config
    };
    let files: Files = Arc::new(Mutex::new(Ok(with("OLD"))));
    let put = |next: Result<Config, String>| {
        *files.lock().unwrap() = next;
        signal("-HUP");
    };
    let (address, serving) = start(&files);
    let client = Client::new(address, ACCESS_KEY, SECRET);
    client.ask("PUT", "/bucket").await.expect(200);
    client.put("/bucket/key", &content(70_000, 1)).await.expect(200);
    assert_eq!((asks(address, "OLD").await, asks(address, "NEW").await), (200, 403));

    // Eight clients that send requests without pause over one connection each, and an upload in
    // progress.
    let (done, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let busy: Vec<_> = (0..8)
        .map(|_| {
            let (done, asked) = (Arc::clone(&done), Arc::clone(&asked));
            let client = Client::new(address, ACCESS_KEY, SECRET);
            tokio::spawn(async move {
                let mut stream = TcpStream::connect(address).await.unwrap();
                while !done.load(Ordering::Relaxed) {
                    let head = client.head("GET", "/bucket/key", &[], 0);
                    let head = head.replace("connection: close\r\n", "");
                    stream.write_all(head.as_bytes()).await.unwrap();
                    assert_eq!(next_answer(&mut stream).await.expect(200).body.len(), 70_000);
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let body = content(1_000_000, 2);
    let old = Client::new(address, "OLD", SECRET);
    let head = old.head("PUT", "/bucket/long", &[], body.len());
    let mut upload = TcpStream::connect(address).await.unwrap();
    upload.write_all(&[head.as_bytes(), &body[..300_000]].concat()).await.unwrap();
    until("requests before", async || asked.load(Ordering::Relaxed) > 50).await;
    put(Ok(with("NEW")));
    until("a new client", async || asks(address, "NEW").await == 200).await;
    assert_eq!(asks(address, "OLD").await, 403);
    let before = asked.load(Ordering::Relaxed);
    until("requests after", async || asked.load(Ordering::Relaxed) > before + 50).await;
    upload.write_all(&body[300_000..]).await.unwrap();
    next_answer(&mut upload).await.expect(200);
    assert_eq!(client.ask("GET", "/bucket/long").await.expect(200).body, body);
    done.store(true, Ordering::Relaxed);
    for busy in busy {
        busy.await.unwrap();
    }

    // A certificate, another one, and files that cannot be used.
    let first: &[u8] = include_bytes!("../client/tls/ca.pem");
    let other: &[u8] = include_bytes!("../client/tls/other.pem");
    let with_tls = |files: TlsFiles| {
        let mut config = with("NEW");
        config.tls = Some(files);
        config
    };
    put(Ok(with_tls(tls("server"))));
    until("a certificate", async || shows(address, first).await).await;
    assert!(!shows(address, other).await);
    put(Ok(with_tls(tls("other"))));
    until("another certificate", async || shows(address, other).await).await;
    assert!(!shows(address, first).await);
    // A file that is being written may have no `[tls]` yet. The server must not fall back to plain
    // HTTP.
    let without_tls = Ok(with("NEW"));
    for unusable in [Ok(with_tls(tls("missing"))), Err("not TOML".to_owned()), without_tls] {
        put(unusable);
        sleep(Duration::from_millis(200)).await;
        assert!(shows(address, other).await);
    }
    // A ring without the key that wraps could not open what was written. With it, it may be used.
    let with_ring = |ring: &str| {
        let file = world.scratch.folder().join(ring);
        let mut config = with_tls(tls("server"));
        config.keys = Keys::ring(&file);
        config
    };
    new_ring(&world.scratch.folder().join("other"));
    put(Ok(with_ring("other")));
    sleep(Duration::from_millis(200)).await;
    assert!(shows(address, other).await);
    let rotated = RingFile::at(&world.ring());
    let add = |ring: &mut Ring| ring.add(1_800_000_000, &mut OsRandom).map(drop);
    assert!(rotated.change(None, &mut OsRandom, add).is_ok());
    put(Ok(with_ring("ring")));
    until("a ring with one key more", async || shows(address, first).await).await;
    signal("-TERM");
    assert_eq!(serving.join().unwrap(), 0);
}
