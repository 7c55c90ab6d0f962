//! Server in front of the folder that imitates the behaviour of other servers.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use core::time::Duration;
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::client::{Answer, Client};
use crate::fixture::World;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Oddity {
    /// `If-Match` of copies is ignored: the request is forwarded without it.
    HeedlessOfCopies,
    /// A response with status 412 to a write contains the entity tag of the existing object.
    TellsTags,
    /// Some time before an upload is completed, its parts lose their bytes and tags, and most leave
    /// the list. If the client disconnects meanwhile, they stay so. MinIO behaves like this.
    TakesPartsFirst,
    /// Completions and copies take seconds.
    TakesLong,
    /// An upload disappears some time before it becomes an object. versitygw behaves like this.
    HidesUploads,
    /// The first write into a folder of the proxy is refused with 409, because the folder was just
    /// removed with its last file. versitygw behaves like this.
    LosesFolders,
    /// The middle byte of every body of more than 1,000 bytes is changed.
    ChangesBytes,
    /// Objects whose keys begin with `d` are listed but not found.
    LosesObjects,
    /// Reads of a range find that the object was replaced.
    RefusesConditions,
    /// Uploads are listed only for the prefix that is their whole key. MinIO behaves like this.
    ListsWholeKeys,
    /// Objects can have tags, which the folder does not support.
    HasTags,
    /// The root elements of all documents have other names.
    RenamesRoots,
    /// A folder is listed in itself.
    ListsFoldersInThemselves,
    /// Every response states the stored length, has a hop-by-hop header, and lists the request's
    /// headers.
    TellsHeaders,
    /// The first attempt to send a part is answered with 503.
    RefusesPartsOnce,
    /// The fourth part is refused with 403.
    RefusesAPart,
    /// A part takes some time.
    TakesPartsSlowly,
    /// The first abort of an upload succeeds, and the upload is still there. versitygw behaves like
    /// this if it stores a part meanwhile.
    KeepsAborted,
}

pub(crate) struct OddServer {
    pub(crate) address: SocketAddr,
    /// Signals that the completion of an upload has started.
    pub(crate) completing: mpsc::UnboundedReceiver<()>,
    /// Targets of all requests.
    pub(crate) targets: Arc<Mutex<Vec<String>>>,
    /// Maximum number of parts that were on their way at the same time.
    pub(crate) most_parts: Arc<AtomicUsize>,
    /// Maximum number of parts that were on their way when an upload was aborted.
    pub(crate) parts_at_abort: Arc<AtomicUsize>,
}

/// Duration of a step: longer than a client needs to disconnect, or to send another request.
const STEP: Duration = Duration::from_millis(200);

/// Duration of a long request: longer than the proxy waits before it starts its answer.
const LONG: Duration = Duration::from_secs(7);

struct Shared {
    oddity: Oddity,
    backend: Client,
    is_completing: AtomicBool,
    completing: mpsc::UnboundedSender<()>,
    /// Folders that were already lost once.
    lost: Mutex<HashSet<String>>,
    targets: Arc<Mutex<Vec<String>>>,
    parts: AtomicUsize,
    most_parts: Arc<AtomicUsize>,
    parts_at_abort: Arc<AtomicUsize>,
    /// Tags of objects as the last writer sent them, by path.
    tags: Mutex<HashMap<String, String>>,
}

struct Request {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl OddServer {
    pub(crate) async fn start(world: &World, oddity: Oddity) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, completing) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            oddity,
            backend: world.backend(),
            is_completing: AtomicBool::new(false),
            completing: tell,
            lost: Mutex::default(),
            targets: Arc::default(),
            parts: AtomicUsize::new(0),
            most_parts: Arc::default(),
            parts_at_abort: Arc::default(),
            tags: Mutex::default(),
        });
        let targets = Arc::clone(&shared.targets);
        let most_parts = Arc::clone(&shared.most_parts);
        let parts_at_abort = Arc::clone(&shared.parts_at_abort);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&shared).serve(stream));
            }
        });
        Self { address, completing, targets, most_parts, parts_at_abort }
    }
}

impl Shared {
    /// Serves one request and closes the connection.
    async fn serve(self: Arc<Self>, mut stream: TcpStream) {
        let Some(request) = Request::read(&mut stream).await else { return };
        self.targets.lock().unwrap().push(request.target.clone());
        let in_steps = matches!(self.oddity, Oddity::TakesPartsFirst | Oddity::HidesUploads);
        if in_steps && request.completes() {
            self.is_completing.store(true, SeqCst);
            let _ = self.completing.send(());
            // The client sends nothing more, so a readable socket means that it has disconnected.
            let is_gone = tokio::time::timeout(STEP, stream.peek(&mut [0])).await.is_ok();
            if is_gone && self.oddity == Oddity::TakesPartsFirst {
                return;
            }
            tokio::time::sleep(STEP).await;
        }
        let copies = request.header("x-amz-copy-source").is_some();
        if self.oddity == Oddity::TakesLong && (request.completes() || copies) {
            let _ = self.completing.send(());
            tokio::time::sleep(LONG).await;
        }
        let mut request = request;
        let middle = request.body.len() / 2;
        if self.oddity == Oddity::ChangesBytes && middle > 500 {
            request.body[middle] ^= 1;
        }
        if self.oddity == Oddity::LosesFolders && self.loses(&request) {
            let document = "<Error><Code>ExistingObjectIsDirectory</Code></Error>";
            let length = document.len();
            let answer = format!("HTTP/1.1 409 ...\r\ncontent-length: {length}\r\n\r\n{document}");
            let _ = stream.write_all(answer.as_bytes()).await;
            return;
        }
        if let Some(status) = self.refusal_of_part(&request) {
            let answer = format!("HTTP/1.1 {status} ...\r\ncontent-length: 0\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
            return;
        }
        if request.method == "DELETE" && request.target.contains("uploadId=") {
            self.parts_at_abort.fetch_max(self.parts.load(SeqCst), SeqCst);
            if self.oddity == Oddity::KeepsAborted
                && self.lost.lock().unwrap().insert(request.target.clone())
            {
                let _ = stream.write_all(b"HTTP/1.1 204 ...\r\n\r\n").await;
                return;
            }
        }
        if self.oddity == Oddity::TakesPartsSlowly && request.target.contains("partNumber=") {
            let parts = self.parts.fetch_add(1, SeqCst) + 1;
            self.most_parts.fetch_max(parts, SeqCst);
            tokio::time::sleep(STEP).await;
            self.parts.fetch_sub(1, SeqCst);
        }
        let is_pinned = |name: &str| request.headers.iter().any(|(it, _)| it == name);
        if self.oddity == Oddity::RefusesConditions && is_pinned("range") && is_pinned("if-match") {
            let answer = "HTTP/1.1 412 ...\r\ncontent-length: 0\r\n\r\n";
            let _ = stream.write_all(answer.as_bytes()).await;
            return;
        }
        if self.oddity == Oddity::LosesObjects && request.target.starts_with("/bucket/d") {
            request.target = "/bucket/missing".to_owned();
        }
        if self.oddity == Oddity::HasTags
            && let Some(answer) = self.tagging(&mut request)
        {
            let _ = stream.write_all(answer.as_bytes()).await;
            return;
        }
        let mut answer = self.ask(&request).await;
        let path = request.target.split('?').next().unwrap();
        let prefix = request.target.split("prefix=").nth(1).unwrap_or_default();
        let prefix = prefix.split('&').next().unwrap().replace("%2F", "/");
        if self.oddity == Oddity::ListsWholeKeys && request.target.contains("?uploads") {
            answer.keep_uploads(&prefix);
        }
        let is_by_folder = request.target.contains("delimiter=");
        if self.oddity == Oddity::ListsFoldersInThemselves && is_by_folder {
            answer.add_folder(&prefix);
        }
        if self.oddity == Oddity::TellsTags && answer.status == 412 {
            let there = self.backend.ask("HEAD", path).await.expect(200);
            answer.headers.insert("etag", there.etag().parse().unwrap());
        }
        if self.oddity == Oddity::RenamesRoots && request.method != "HEAD" {
            answer.rename_root();
        }
        if self.oddity == Oddity::TellsHeaders {
            let came: Vec<&str> = request.headers.iter().map(|(name, _)| name.as_str()).collect();
            answer.headers.insert("x-amz-came", came.join(" ").parse().unwrap());
            answer.headers.insert("x-amz-hop", "of the server".parse().unwrap());
            answer.headers.insert("connection", "close, X-Amz-Hop".parse().unwrap());
            answer.headers.insert("x-amz-object-size", "188".parse().unwrap());
        }
        if self.is_completing.load(SeqCst) && request.lists_parts() && answer.status == 200 {
            match self.oddity {
                Oddity::HidesUploads => {
                    answer = self.backend.ask("GET", &format!("{path}?uploadId=0")).await;
                    assert_eq!(answer.status, 404);
                }
                _ => answer.take_parts(),
            }
        }
        if request.completes() {
            self.is_completing.store(false, SeqCst);
        }
        let mut out = format!("HTTP/1.1 {} ...\r\n", answer.status);
        for (name, value) in &answer.headers {
            out.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap()));
        }
        out.push_str("\r\n");
        // The client may have disconnected.
        let _ = stream.write_all(out.as_bytes()).await;
        let _ = stream.write_all(&answer.body).await;
    }

    /// Remembers the tags of a write, and returns the answer to a request for them.
    fn tagging(&self, request: &mut Request) -> Option<String> {
        let path = request.target.split('?').next().unwrap().to_owned();
        let mut tags = self.tags.lock().unwrap();
        if request.method == "PUT" {
            let sent = request.header("x-amz-tagging").unwrap_or_default().to_owned();
            tags.insert(path, sent);
            request.headers.retain(|(name, _)| name != "x-amz-tagging");
            return None;
        }
        if !request.target.contains("?tagging") {
            return None;
        }
        let known = tags.get(&path).cloned().unwrap_or_default();
        let tag = |pair: &str| {
            let (key, value) = pair.split_once('=').unwrap();
            format!("<Tag><Key>{key}</Key><Value>{value}</Value></Tag>")
        };
        let known: String = known.split('&').filter(|pair| !pair.is_empty()).map(tag).collect();
        let document = format!("<Tagging><TagSet>{known}</TagSet></Tagging>");
        Some(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{document}", document.len()))
    }

    fn loses(&self, request: &Request) -> bool {
        let mut components = request.target.split('/').skip(2);
        let folder = components.next().zip(components.next());
        let Some((".endseal", folder)) = folder else { return false };
        request.method == "PUT" && self.lost.lock().unwrap().insert(folder.to_owned())
    }

    fn refusal_of_part(&self, request: &Request) -> Option<u16> {
        let number = request.target.split("partNumber=").nth(1)?.split('&').next().unwrap();
        match self.oddity {
            Oddity::RefusesPartsOnce => {
                let is_first = self.lost.lock().unwrap().insert(number.to_owned());
                is_first.then_some(503)
            }
            Oddity::RefusesAPart if number == "4" => Some(403),
            _ => None,
        }
    }

    async fn ask(&self, request: &Request) -> Answer {
        let copies = request.header("x-amz-copy-source").is_some();
        let is_passed = |name: &str| {
            let own = [
                "host",
                "authorization",
                "connection",
                "content-length",
                "x-amz-date",
                "x-amz-content-sha256",
            ];
            let is_hidden = self.oddity == Oddity::HeedlessOfCopies && copies && name == "if-match";
            // Checksum algorithm that the folder does not support.
            let is_unknown =
                self.oddity == Oddity::TellsHeaders && name == "x-amz-checksum-xxhash64";
            !own.contains(&name) && !is_hidden && !is_unknown
        };
        let headers = request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let headers: Vec<_> = headers.filter(|(name, _)| is_passed(name)).collect();
        self.backend.send(&request.method, &request.target, &headers, &request.body).await
    }
}

impl Answer {
    /// Adds a common prefix to a list.
    fn add_folder(&mut self, prefix: &str) {
        let end = "</ListBucketResult>";
        let folder = format!("<CommonPrefixes><Prefix>{prefix}</Prefix></CommonPrefixes>{end}");
        let text = self.text().replace(end, &folder);
        self.headers.insert("content-length", text.len().into());
        self.body = text.into_bytes();
    }

    /// Removes the uploads that have another key.
    fn keep_uploads(&mut self, key: &str) {
        let key = format!("<Key>{key}</Key>");
        let pieces = self.text().split_inclusive("</Upload>").map(|piece| {
            let (before, upload) = piece.split_once("<Upload>").unwrap_or((piece, ""));
            if upload.contains(&key) { piece } else { before }
        });
        let text: String = pieces.collect();
        self.headers.insert("content-length", text.len().into());
        self.body = text.into_bytes();
    }

    /// Shortens the name of the root element of a result.
    fn rename_root(&mut self) {
        let text = String::from_utf8_lossy(&self.body);
        if !text.starts_with("<?xml") || text.contains("<Error>") {
            return;
        }
        let text = text.replace("Result>", ">").replace("Result xmlns", " xmlns");
        self.headers.insert("content-length", text.len().into());
        self.body = text.into_bytes();
    }

    fn take_parts(&mut self) {
        let text = self.text();
        let (first, last) = (text.find("<Part>").unwrap(), text.rfind("</Part>").unwrap());
        let taken = "<Part><PartNumber>1</PartNumber><ETag></ETag><Size>0</Size>";
        let text = [&text[..first], taken, &text[last..]].concat();
        self.headers.insert("content-length", text.len().into());
        self.body = text.into_bytes();
    }
}

impl Request {
    async fn read(stream: &mut TcpStream) -> Option<Self> {
        let mut head = Vec::new();
        let end = loop {
            if let Some(end) = head.windows(4).position(|it| it == b"\r\n\r\n") {
                break end;
            }
            if stream.read_buf(&mut head).await.unwrap() == 0 {
                return None;
            }
        };
        let body = head.split_off(end + 4);
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let mut first = lines.next().unwrap().split(' ').map(str::to_owned);
        let (method, target) = (first.next().unwrap(), first.next().unwrap());
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_owned(), value.to_owned())
        });
        let mut request = Self { method, target, headers: headers.collect(), body };
        let len = request.header("content-length").map_or(0, |len| len.parse().unwrap());
        while request.body.len() < len {
            assert_ne!(stream.read_buf(&mut request.body).await.unwrap(), 0);
        }
        Some(request)
    }

    fn header(&self, wanted: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    }

    fn completes(&self) -> bool {
        self.method == "POST" && self.target.contains("uploadId=")
    }

    fn lists_parts(&self) -> bool {
        self.method == "GET" && self.target.contains("uploadId=")
    }
}
