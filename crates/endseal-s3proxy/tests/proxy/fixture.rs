//! Folder backend with proxies.

use core::time::Duration;
use std::fs;
use std::io::Read as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use endseal_crypto::random::OsRandom;
use endseal_kms::Ring;
use endseal_kms::ring::{Protection, RingFile};
use endseal_s3_folder::FolderServer;
use endseal_s3proxy::access::{Client as Known, SecretAccessKey};
use endseal_s3proxy::config::{Backend, Config, Keys};
use endseal_s3proxy::{MetricsServer, Proxy, Server};
use endseal_testing::Scratch;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::client::Client;

pub(crate) const ACCESS_KEY: &str = "CLIENT";
pub(crate) const SECRET: &str = "secret of the client";

/// First bytes of the backend's files that describe objects and uploads.
const TITLE: &[u8; 15] = b"endseal-folder ";

/// Backend with a key ring.
pub(crate) struct World {
    pub(crate) folder: FolderServer,
    pub(crate) scratch: Scratch,
}

/// Stops a folder server and waits until its listener is closed.
pub(crate) async fn stop(folder: FolderServer) {
    let address = folder.url().split_off("http://".len());
    drop(folder);
    while TcpStream::connect(&address).await.is_ok() {
        sleep(Duration::from_millis(10)).await;
    }
}

/// Running proxy with a client.
pub(crate) struct Front {
    pub(crate) client: Client,
    pub(crate) proxy: Arc<Proxy>,
    pub(crate) metrics: MetricsServer,
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) serving: JoinHandle<std::io::Result<usize>>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with_page_size(1_000)
    }

    /// Creates a backend whose lists have at most `page_size` entries per page.
    pub(crate) fn with_page_size(page_size: usize) -> Self {
        let scratch = Scratch::new();
        let objects = scratch.folder().join("objects");
        let folder = FolderServer::start_with_page_size(&objects, page_size).unwrap();
        let world = Self { folder, scratch };
        new_ring(&world.ring());
        world
    }

    pub(crate) fn ring(&self) -> PathBuf {
        self.scratch.folder().join("ring")
    }

    pub(crate) fn config(&self) -> Config {
        self.config_with(&self.ring())
    }

    pub(crate) fn config_with(&self, ring: &Path) -> Config {
        config(Backend::served(&self.folder), ring)
    }

    pub(crate) async fn proxy(&self) -> Front {
        serve(&self.config()).await
    }

    /// Creates a backend, a proxy and a bucket.
    pub(crate) async fn with_bucket() -> (Self, Front) {
        Self::new().with_its_bucket().await
    }

    /// Creates a proxy and a bucket for this backend.
    pub(crate) async fn with_its_bucket(self) -> (Self, Front) {
        let world = self;
        let front = world.proxy().await;
        front.client.ask("PUT", "/bucket").await.expect(200);
        (world, front)
    }

    /// Moves the times of all objects, uploads and parts at the backend into the past.
    pub(crate) fn age(&self, by: Duration) {
        let mut files = Vec::new();
        files_below(&self.scratch.folder().join("objects/buckets"), &mut files);
        for path in files {
            let mut file = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
            let mut title = [0; TITLE.len()];
            if file.read_exact(&mut title).is_err() || title != *TITLE {
                let modified = file.metadata().unwrap().modified().unwrap();
                file.set_modified(modified - by).unwrap();
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let lines = text.lines().map(|line| match line.split_once(' ') {
                Some((word @ ("begun" | "modified"), time)) => {
                    format!("{word} {}\n", time.parse::<u128>().unwrap() - by.as_micros())
                }
                _ => format!("{line}\n"),
            });
            fs::write(&path, lines.collect::<String>()).unwrap();
        }
    }

    /// Returns a client that accesses the backend directly.
    pub(crate) fn backend(&self) -> Client {
        let backend = Backend::served(&self.folder);
        let address = backend.url.strip_prefix("http://").unwrap().parse().unwrap();
        Client { address, signer: backend.signer() }
    }

    /// Returns the files with the bytes of objects.
    pub(crate) fn data(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        files_below(&self.scratch.folder().join("objects/data"), &mut files);
        files.sort();
        files
    }

    /// Returns the files of unfinished writes.
    pub(crate) fn unfinished(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for folder in ["temporary", "pending"] {
            files_below(&self.scratch.folder().join("objects").join(folder), &mut files);
        }
        files
    }
}

pub(crate) fn config(backend: Backend, ring: &Path) -> Config {
    let keys = Keys::ring(ring);
    let client = Known::new(ACCESS_KEY, SecretAccessKey::new(SECRET.to_owned()));
    Config::new(backend, keys, vec![client])
}

pub(crate) fn new_ring(path: &Path) {
    let ring = Ring::generate(1_700_000_000, &mut OsRandom).unwrap();
    RingFile::at(path).create(&ring, Protection::None, &mut OsRandom).unwrap();
}

pub(crate) async fn serve(config: &Config) -> Front {
    serve_with(config, |server| server).await
}

/// Serves a configuration with a server that the test changes.
pub(crate) async fn serve_with(config: &Config, set_up: impl FnOnce(Server) -> Server) -> Front {
    let proxy = Arc::new(Proxy::start(config).unwrap());
    let server = set_up(Server::new(Arc::clone(&proxy), None).unwrap());
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address: SocketAddr = listener.local_addr().unwrap();
    let (stop, stopped) = watch::channel(false);
    let metrics = server.metrics();
    let serving = tokio::spawn(server.serve(listener, stopped));
    Front { client: Client::new(address, ACCESS_KEY, SECRET), proxy, metrics, stop, serving }
}

pub(crate) fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => files_below(&entry.path(), files),
            false => files.push(entry.path()),
        }
    }
}

/// Returns pseudorandom bytes.
pub(crate) fn content(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Runs `work` `times` times, six at once.
pub(crate) async fn at_once<F: Future<Output = ()>>(times: usize, work: impl Fn(usize) -> F) {
    for start in (0..times).step_by(6) {
        let one = async |number: usize| {
            if number < times {
                work(number).await;
            }
        };
        tokio::join!(
            one(start),
            one(start + 1),
            one(start + 2),
            one(start + 3),
            one(start + 4),
            one(start + 5)
        );
    }
}

/// Waits until `done` returns true, for effects that occur after a response.
pub(crate) async fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    // The limit is longer than a loaded machine needs.
    for _ in 0..3_000 {
        if done() {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("not in time: {what}");
}
