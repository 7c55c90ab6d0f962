//! Tests of buckets with encrypted names, for all requests with a key.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use base64ct::{Base64UrlUnpadded, Encoding as _};
use endseal_crypto::random::OsRandom;
use endseal_s3_format::names::Names;
use endseal_s3proxy::bucket::{BucketNames, BucketRule, Buckets, Plaintext};
use endseal_s3proxy::name_secret::NameSecretFile;
use endseal_s3proxy::{Config, Glob};

use crate::client::Client;
use crate::fixture::{Front, World, content, files_below, serve};
use crate::forms::{CONDITIONS, Form};
use crate::multipart::{PART, begin, complete, part};

/// Part of each name that must stay secret.
pub(crate) const MARK: &str = "zebrafish";

/// Backend with the name key of its bucket `bucket`, and a proxy. Names in `plain` are not
/// encrypted.
pub(crate) struct Named {
    pub(crate) world: World,
    pub(crate) front: Front,
    pub(crate) names: Names,
}

/// Returns a configuration in which all names except those in the bucket `plain` are encrypted.
pub(crate) fn named(world: &World, plaintext: Plaintext) -> Config {
    let file = NameSecretFile::at(&world.scratch.folder().join("names.secret"));
    let secret = file.load().or_else(|_| file.create(&mut OsRandom)).unwrap();
    let mut plain = BucketRule::new(Glob::new("plain"));
    plain.plaintext = plaintext;
    let mut rule = BucketRule::new(Glob::new("*"));
    rule.plaintext = plaintext;
    rule.names = Some(BucketNames::new(secret));
    let mut config = world.config();
    config.buckets = Buckets::new(vec![plain, rule]);
    config
}

impl Named {
    pub(crate) async fn new(plaintext: Plaintext) -> Self {
        Self::before(World::new(), plaintext).await
    }

    /// Creates the fixture with this backend.
    pub(crate) async fn before(world: World, plaintext: Plaintext) -> Self {
        let front = serve(&named(&world, plaintext)).await;
        for bucket in ["bucket", "second", "plain"] {
            front.client.ask("PUT", &format!("/{bucket}")).await.expect(200);
        }
        let secret =
            NameSecretFile::at(&world.scratch.folder().join("names.secret")).load().unwrap();
        let names = Names::new(&secret, "bucket");
        Self { world, front, names }
    }

    pub(crate) fn sealed(&self, key: &str) -> String {
        self.names.seal_key(key).unwrap()
    }

    /// Returns the keys of the bucket at the backend for these keys of clients, in its order.
    pub(crate) fn all_sealed(&self, keys: &[String]) -> Vec<String> {
        let mut sealed: Vec<String> = keys.iter().map(|key| self.sealed(key)).collect();
        sealed.sort();
        sealed
    }

    /// Returns the keys of a bucket at the backend.
    pub(crate) async fn stored(&self, bucket: &str) -> Vec<String> {
        let list = self.world.backend().ask("GET", &format!("/{bucket}")).await.expect(200);
        list.elements("Key")
    }

    /// Returns true if the backend's folder contains the mark: in file names or contents, directly
    /// or in base64.
    fn shows_the_mark(&self) -> bool {
        let mut files = Vec::new();
        files_below(&self.world.scratch.folder().join("objects"), &mut files);
        assert!(!files.is_empty());
        let mut wanted = vec![MARK.as_bytes().to_vec(), hex(MARK).into_bytes()];
        for shift in 0..3 {
            let text = [&vec![0; shift], MARK.as_bytes()].concat();
            let text = Base64UrlUnpadded::encode_string(&text);
            // Characters that also depend on neighbouring bytes are left out.
            wanted.push(text.as_bytes()[2 + shift..text.len() - 1].to_vec());
        }
        let has = |bytes: &[u8]| {
            wanted.iter().any(|it| bytes.windows(it.len()).any(|window| window == it.as_slice()))
        };
        files.iter().any(|file| has(file.as_os_str().as_bytes()) || has(&fs::read(file).unwrap()))
    }
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Percent-encodes a key for a request.
pub(crate) fn escaped(key: &str) -> String {
    let own = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte);
    let encode = |byte| match own(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    key.bytes().map(encode).collect()
}

/// Returns the target of a key in the bucket.
pub(crate) fn at(key: &str) -> String {
    format!("/bucket/{}", escaped(key))
}

const KEYS: [&str; 16] = [
    "zebrafish",
    "zebrafish/",
    "/zebrafish",
    "zebrafish//zebrafish",
    "a/b/c/zebrafish",
    "zebrafish one two",
    "zebrafish+plus%25%2F",
    "z\u{fc}ge/zebrafish \u{1f993}",
    "zebrafish&<>\"'",
    "zebrafish\ttab",
    ".zebrafish",
    "zebrafish/./x",
    "zebrafish/x/../y",
    "zebrafish#?=&;",
    "//",
    "/",
];

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_found_under_their_names_and_the_backend_knows_none() {
    let named = Named::new(Plaintext::Forbid).await;
    let client = &named.front.client;
    for (number, key) in KEYS.iter().enumerate() {
        let beside = [("x-amz-website-redirect-location", "/zebrafish/elsewhere")];
        let body = content(number * 9_000, 3);
        let put = client.send("PUT", &at(key), &beside, &body).await.expect(200);
        let got = client.ask("GET", &at(key)).await.expect(200);
        assert!(got.body == body && got.etag() == put.etag(), "{key}");
        let moved = got.header("x-amz-website-redirect-location");
        assert_eq!(moved, Some("/zebrafish/elsewhere"), "{key}");
        let head = client.ask("HEAD", &at(key)).await.expect(200);
        assert_eq!(head.header("content-length"), Some(&*body.len().to_string()), "{key}");
        if body.len() > 30_000 {
            let range = [("range", "bytes=20000-29999")];
            let got = client.ask_with("GET", &at(key), &range).await.expect(206);
            assert!(got.body == body[20_000..30_000], "{key}");
        }
    }
    let mut stored = named.stored("bucket").await;
    let mut expected: Vec<String> = KEYS.iter().map(|key| named.sealed(key)).collect();
    stored.sort();
    expected.sort();
    assert_eq!(stored, expected);
    for target in ["", "?list-type=2", "?encoding-type=url"] {
        let list = client.ask("GET", &format!("/bucket{target}")).await.expect(200);
        let mut keys = list.elements("Key");
        let mut known: Vec<String> = match target.contains("url") {
            true => KEYS.iter().map(|key| escaped(key)).collect(),
            false => KEYS.iter().map(|key| (*key).to_owned()).collect(),
        };
        keys.sort();
        known.sort();
        assert_eq!(keys, known, "{target}");
        assert!(!list.text().contains(&named.sealed("zebrafish")), "{target}");
    }
    client.ask("GET", &format!("{}?tagging", at("zebrafish"))).await.expect(200);
    // The same objects cannot be accessed by the backend's names.
    let raw = client.ask("GET", &format!("/bucket/{}", named.sealed("zebrafish"))).await;
    assert_eq!(raw.expect(404).code(), "NoSuchKey");
    assert!(!named.shows_the_mark(), "{stored:?}");
    client.put("/plain/zebrafish", b"").await.expect(200);
    assert!(named.shows_the_mark(), "the search finds nothing at all");
    for key in KEYS {
        client.ask("DELETE", &at(key)).await.expect(204);
        assert_eq!(client.ask("HEAD", &at(key)).await.status, 404, "{key}");
    }
    assert!(named.stored("bucket").await.is_empty());
    client.ask("DELETE", "/bucket").await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_without_room_are_refused_before_the_backend_is_asked() {
    let Named { world, front, names } = Named::new(Plaintext::Forbid).await;
    let client = &front.client;
    let longest = "k".repeat(752);
    client.put(&at(&longest), b"content").await.expect(200);
    assert_eq!(client.ask("GET", &at(&longest)).await.expect(200).body, b"content");
    let list = world.backend().ask("GET", "/bucket").await.expect(200);
    assert_eq!(list.elements("Key"), [names.seal_key(&longest).unwrap()]);
    assert_eq!(list.element("Key").len(), 1_024);
    let deep = format!("{}z", "k/".repeat(41));
    client.put(&at(&deep), b"content").await.expect(200);
    assert_eq!(client.ask("GET", "/bucket").await.expect(200).elements("Key").len(), 2);
    client.put("/bucket/k", b"content").await.expect(200);
    // The backend is stopped, so requests must be refused before it is asked.
    drop(world);
    for key in [format!("{longest}k"), "k/".repeat(43), "k".repeat(1_024)] {
        let target = at(&key);
        let objects = format!("<Delete><Object><Key>{key}</Key></Object></Delete>");
        let from = format!("/bucket/{key}");
        let source = [("x-amz-copy-source", from.as_str())];
        for (answer, what) in [
            (client.put(&target, b"x").await, "PUT"),
            (client.ask("GET", &target).await, "GET"),
            (client.ask("DELETE", &target).await, "DELETE"),
            (client.ask("GET", &format!("{target}?tagging")).await, "tags"),
            (client.ask("POST", &format!("{target}?uploads")).await, "upload"),
            (client.ask_with("PUT", "/bucket/copy", &source).await, "copy"),
            (client.send("POST", "/bucket?delete", &[], objects.as_bytes()).await, "delete"),
            (client.ask("GET", &format!("/bucket?prefix={key}/")).await, "prefix"),
        ] {
            assert_eq!((answer.status, answer.code().as_str()), (400, "KeyTooLongError"), "{what}");
        }
    }
    assert_eq!(client.ask("GET", "/bucket/k").await.status, 503);
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_go_between_buckets_with_and_without_names() {
    let named = Named::new(Plaintext::Forbid).await;
    let client = &named.front.client;
    let body = content(100_000, 5);
    let beside = [("x-amz-meta-a", "1"), ("x-amz-website-redirect-location", "/zebrafish")];
    client.send("PUT", &at("zebrafish/one two"), &beside, &body).await.expect(200);
    client.send("PUT", "/plain/open", &beside, &body).await.expect(200);
    for (from, to) in [
        ("bucket/zebrafish/one%20two", "/bucket/zebrafish/copy"),
        ("/bucket/zebrafish/one%20two", "/second/zebrafish"),
        ("second/zebrafish", "/bucket/back"),
        ("bucket/back", "/plain/zebra"),
        ("plain/open", "/second/zebrafish/from"),
    ] {
        let copied = client.ask_with("PUT", to, &[("x-amz-copy-source", from)]).await.expect(200);
        let got = client.ask("GET", to).await.expect(200);
        assert!(got.body == body && got.etag() == copied.element("ETag"), "{to}");
        assert_eq!(got.header("x-amz-meta-a"), Some("1"), "{to}");
        assert_eq!(got.header("x-amz-website-redirect-location"), Some("/zebrafish"), "{to}");
    }
    let there = named.world.backend();
    let list = there.ask("GET", "/second").await.expect(200).text().to_owned();
    assert!(!list.contains(MARK), "{list}");
    assert!(!list.contains(&named.sealed("zebrafish")), "a name in two buckets looks the same");
    // Errors contain the client's names.
    let source = "bucket/zebrafish/missing";
    for target in ["/bucket/x", "/plain/x"] {
        let missing = client.ask_with("PUT", target, &[("x-amz-copy-source", source)]).await;
        let text = missing.expect(404).text().to_owned();
        assert!(text.contains("NoSuchKey") && text.contains(target), "{text}");
        assert!(!text.contains(&named.sealed("zebrafish/missing")), "{text}");
    }
    let missing = client.ask("GET", &at("zebrafish&more")).await.expect(404).text().to_owned();
    assert!(missing.contains("zebrafish&amp;more") || missing.contains("zebrafish%26more"));
    assert!(!missing.contains(&named.sealed("zebrafish&more")), "{missing}");
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_in_parts_have_the_names_that_clients_know() {
    let named = Named::new(Plaintext::Forbid).await;
    let client = &named.front.client;
    let target = at("zebrafish/large one");
    let started = client.ask("POST", &format!("{target}?uploads")).await.expect(200);
    assert_eq!(started.element("Key"), "zebrafish/large one");
    let id = started.element("UploadId");
    let first = part(client, &target, &id, 1, &content(PART, 1)).await;
    // The part is copied from another object of the bucket, and is short enough to be parked.
    client.put(&at("zebrafish/source"), &content(9_000, 2)).await.expect(200);
    let source = [("x-amz-copy-source", "bucket/zebrafish/source")];
    let copied = client
        .ask_with("PUT", &format!("{target}?partNumber=2&uploadId={id}"), &source)
        .await
        .expect(200);
    let parts = client.ask("GET", &format!("{target}?uploadId={id}")).await.expect(200);
    assert_eq!(parts.element("Key"), "zebrafish/large one");
    assert_eq!(parts.elements("PartNumber"), ["1", "2"]);
    for key in ["zebrafish/a", "zebrafish/b", "other/c", "d"] {
        begin(client, &at(key), &[]).await;
    }
    assert!(!named.shows_the_mark(), "started");
    let list = client.ask("GET", "/bucket?uploads").await.expect(200);
    let mut keys = list.elements("Key");
    keys.sort();
    assert_eq!(keys, ["d", "other/c", "zebrafish/a", "zebrafish/b", "zebrafish/large one"]);
    let list = client.ask("GET", "/bucket?uploads&prefix=zebrafish/l").await.expect(200);
    assert_eq!(list.elements("Key"), ["zebrafish/large one"]);
    assert_eq!(list.element("Prefix"), "zebrafish/l");
    let list = client.ask("GET", "/bucket?uploads&delimiter=/").await.expect(200);
    assert_eq!(list.elements("Key"), ["d"]);
    assert_eq!(list.elements("CommonPrefixes").len(), 2, "{}", list.text());
    let (mut found, mut marker) = (Vec::new(), String::new());
    for _ in 0..9 {
        let page = client.ask("GET", &format!("/bucket?uploads&max-uploads=2{marker}")).await;
        let page = page.expect(200);
        found.extend(page.elements("Key"));
        if page.element("IsTruncated") == "false" {
            break;
        }
        let (key, id) = (page.element("NextKeyMarker"), page.element("NextUploadIdMarker"));
        marker = format!("&key-marker={}&upload-id-marker={id}", escaped(&key));
    }
    found.sort();
    assert_eq!(found, ["d", "other/c", "zebrafish/a", "zebrafish/b", "zebrafish/large one"]);

    let parts = [(1, first), (2, copied.element("ETag"))];
    let done = complete(client, &target, &id, &parts).await.expect(200);
    assert_eq!(done.element("Key"), "zebrafish/large one");
    assert!(done.element("Location").ends_with("/bucket/zebrafish/large%20one"), "{}", done.text());
    let again = complete(client, &target, &id, &parts).await.expect(200);
    assert_eq!(again.element("Key"), "zebrafish/large one");
    let got = client.ask("GET", &target).await.expect(200);
    assert!(got.body == [content(PART, 1), content(9_000, 2)].concat());
    assert!(!named.shows_the_mark(), "completed");
    let unknown = client.ask("GET", &format!("{target}?uploadId={id}")).await.expect(404);
    assert_eq!(unknown.code(), "NoSuchUpload");
    for key in ["zebrafish/a", "zebrafish/b"] {
        let list = client.ask("GET", &format!("/bucket?uploads&prefix={key}")).await.expect(200);
        // The id is the one that the backend lists.
        let id = list.element("UploadId");
        client.ask("DELETE", &format!("{}?uploadId={id}", at(key))).await.expect(204);
    }
    let list = client.ask("GET", "/bucket?uploads&prefix=zebrafish").await.expect(200);
    assert!(list.elements("Key").is_empty(), "{}", list.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn many_objects_are_deleted_by_the_names_that_clients_know() {
    let named = Named::new(Plaintext::Forbid).await;
    let client = &named.front.client;
    for key in ["zebrafish", "zebrafish & co", "a/zebrafish", "stays"] {
        client.put(&at(key), b"content").await.expect(200);
    }
    let request = "<Delete><Object><Key>zebrafish</Key></Object><Object><Key>zebrafish &amp; co</Key>\
                   </Object><Object><Key>a/zebrafish</Key></Object><Object><Key>never</Key></Object>\
                   </Delete>";
    let done = client.send("POST", "/bucket?delete", &[], request.as_bytes()).await.expect(200);
    let mut deleted = done.elements("Key");
    deleted.sort();
    assert_eq!(deleted, ["a/zebrafish", "never", "zebrafish", "zebrafish & co"]);
    assert_eq!(named.stored("bucket").await, [named.sealed("stays")]);
    let own = "<Delete><Object><Key>.endseal/parked/x</Key></Object></Delete>";
    let refused = client.send("POST", "/bucket?delete", &[], own.as_bytes()).await.expect(403);
    assert_eq!(refused.code(), "AccessDenied");
}

#[tokio::test(flavor = "multi_thread")]
async fn presigned_requests_and_forms_name_what_clients_call_it() {
    let named = Named::new(Plaintext::Forbid).await;
    let client = &named.front.client;
    let path = at("zebrafish/presigned one");
    let mut headers = http::HeaderMap::new();
    headers.insert("host", client.address.to_string().parse().unwrap());
    for (method, body, status) in [("PUT", &b"content"[..], 200), ("GET", b"", 200)] {
        let now = SystemTime::now();
        let query = client.signer.presign(method, &path, None, &headers, 60, now).unwrap();
        let head = format!(
            "{method} {path}?{query} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            client.address,
            body.len()
        );
        let answer = client.exchange(&head, body, false).await.expect(status);
        assert!(method == "PUT" || answer.body == b"content");
    }
    let fields = [("key", "up/zebrafish ${filename}"), ("success_action_status", "201")];
    let conditions = format!("{CONDITIONS}, [\"eq\", \"$success_action_status\", \"201\"]");
    let form = Form::signed(client, &conditions, &fields, b"by a form");
    let posted = form.post(client).await.expect(201);
    assert_eq!(posted.element("Key"), "up/zebrafish photo.jpg");
    let got = client.ask("GET", &at("up/zebrafish photo.jpg")).await.expect(200);
    assert_eq!(got.body, b"by a form");
    let mut stored = named.stored("bucket").await;
    stored.sort();
    let mut known =
        ["zebrafish/presigned one", "up/zebrafish photo.jpg"].map(|it| named.sealed(it));
    known.sort();
    assert_eq!(stored, known);
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_name_keys_are_refused() {
    let named = Named::new(Plaintext::Forbid).await;
    let client = &named.front.client;
    let rule =
        "<LifecycleConfiguration><Rule><Prefix>zebrafish/</Prefix></Rule></LifecycleConfiguration>";
    for setting in ["lifecycle", "policy", "notification", "replication", "website", "metrics&id=x"]
    {
        let put = client.send("PUT", &format!("/bucket?{setting}"), &[], rule.as_bytes()).await;
        assert_eq!((put.status, put.code().as_str()), (501, "NotImplemented"), "{setting}");
        assert!(put.text().contains("encrypted"), "{setting}");
    }
    // In other buckets, and for reads, the backend responds.
    let asked = client.ask("GET", "/bucket?lifecycle").await.text().to_owned();
    assert!(!asked.contains("encrypted"), "{asked}");
    let put = client.send("PUT", "/plain?lifecycle", &[], rule.as_bytes()).await;
    assert!(!put.text().contains("encrypted"), "{}", put.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn plaintext_has_encrypted_names_where_it_is_allowed() {
    let named = Named::new(Plaintext::Allow).await;
    let client = &named.front.client;
    client.put(&at("zebrafish/open"), b"plaintext").await.expect(200);
    let list = client.ask("GET", "/bucket?prefix=zebrafish/").await.expect(200);
    assert_eq!((list.element("Key"), list.element("Size")), ("zebrafish/open".into(), "9".into()));
    // Uploads of the backend's own.
    let target = at("zebrafish/parts");
    let started = client.ask("POST", &format!("{target}?uploads")).await.expect(200);
    assert_eq!(started.element("Key"), "zebrafish/parts");
    let id = started.element("UploadId");
    let source = [("x-amz-copy-source", "bucket/zebrafish/open")];
    let numbered = format!("{target}?partNumber=1&uploadId={id}");
    let copied = client.ask_with("PUT", &numbered, &source).await.expect(200).element("ETag");
    let listed = client.ask("GET", &format!("{target}?uploadId={id}")).await.expect(200);
    assert_eq!(listed.element("Key"), "zebrafish/parts");
    let done = complete(client, &target, &id, &[(1, copied)]).await.expect(200);
    assert_eq!(done.element("Key"), "zebrafish/parts");
    assert_eq!(client.ask("GET", &target).await.expect(200).body, b"plaintext");
    assert!(!named.stored("bucket").await.iter().any(|key| key.contains(MARK)));
}

#[tokio::test(flavor = "multi_thread")]
async fn several_proxies_know_the_same_names() {
    let named = Named::new(Plaintext::Forbid).await;
    named.front.client.put(&at("zebrafish"), b"content").await.expect(200);
    let other = serve(&self::named(&named.world, Plaintext::Forbid)).await;
    assert_eq!(other.client.ask("GET", &at("zebrafish")).await.expect(200).body, b"content");
    let seen = AtomicUsize::new(0);
    let read = async |client: &Client| {
        client.ask("GET", &at("zebrafish")).await.expect(200);
        seen.fetch_add(1, Ordering::Relaxed);
    };
    tokio::join!(read(&other.client), read(&named.front.client), read(&other.client));
    assert_eq!(seen.load(Ordering::Relaxed), 3);
}
