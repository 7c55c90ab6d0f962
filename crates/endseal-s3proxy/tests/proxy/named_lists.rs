//! Tests of lists in buckets with encrypted names.

use std::collections::{BTreeMap, BTreeSet};

use endseal_s3proxy::bucket::Plaintext;

use crate::client::{Answer, Client};
use crate::fixture::{World, at_once, content, serve};
use crate::multipart::{begin, part};
use crate::named::{Named, at, escaped, named};
use crate::odd_server::{OddServer, Oddity};

/// Maximum number of entries per page of the backend, for tests with more objects.
const PAGE: usize = 10;

/// Lists that are compared with the model.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ListKind {
    Objects1,
    Objects2,
    Uploads,
}

/// Request for a list.
#[derive(Clone, Debug, Default)]
struct Asked {
    prefix: String,
    delimiter: String,
    after: String,
    max: usize,
}

/// Pseudorandom numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    fn one_of<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

impl ListKind {
    /// Returns the target of a request; `next` continues after an earlier page.
    fn target(self, asked: &Asked, next: Option<&str>) -> String {
        let Asked { prefix, delimiter, after, max } = asked;
        let (kind, size, marker) = match self {
            Self::Objects1 => ("", "max-keys", "marker"),
            Self::Objects2 => ("list-type=2&", "max-keys", "start-after"),
            Self::Uploads => ("uploads&", "max-uploads", "key-marker"),
        };
        let next = next.map_or_else(|| format!("{marker}={}", escaped(after)), str::to_owned);
        let (prefix, delimiter) = (escaped(prefix), escaped(delimiter));
        format!("/bucket?{kind}prefix={prefix}&delimiter={delimiter}&{size}={max}&{next}")
    }

    /// Returns the parameters with which a client requests the next page.
    fn next(self, page: &Answer) -> String {
        match self {
            Self::Objects1 => format!("marker={}", escaped(&page.element("NextMarker"))),
            Self::Objects2 => {
                format!("continuation-token={}", escaped(&page.element("NextContinuationToken")))
            }
            Self::Uploads => {
                let id = page.elements("NextUploadIdMarker").pop().unwrap_or_default();
                format!(
                    "key-marker={}&upload-id-marker={}",
                    escaped(&page.element("NextKeyMarker")),
                    escaped(&id)
                )
            }
        }
    }
}

/// Returns the list of a server that has `keys` in their order: all entries from the start of the
/// request on.
fn model(keys: &BTreeSet<String>, asked: &Asked) -> Vec<String> {
    let mut lines = Vec::new();
    for key in keys.iter().filter(|key| **key > asked.after) {
        let Some(rest) = key.strip_prefix(&asked.prefix) else { continue };
        let group = rest.find(&asked.delimiter).filter(|_| !asked.delimiter.is_empty());
        let end = group.map_or(key.len(), |at| asked.prefix.len() + at + asked.delimiter.len());
        let line = &key[..end];
        // A marker that is a common prefix is behind everything in it.
        if lines.last().map(String::as_str) != Some(line) && line != asked.after {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// Returns the keys and the common prefixes of a page in their order. They are two lists in the
/// document, each of which must be sorted.
fn lines(page: &Answer) -> Vec<String> {
    let folders = page.elements("CommonPrefixes");
    let folders: Vec<String> =
        folders.iter().map(|it| it.replace("<Prefix>", "").replace("</Prefix>", "")).collect();
    let keys = page.elements("Key");
    for lines in [&keys, &folders] {
        assert!(lines.is_sorted(), "{lines:?}");
    }
    let mut lines = [keys, folders].concat();
    lines.sort();
    lines
}

/// Compares a list, page by page to its end, with the model.
async fn compare(client: &Client, kind: ListKind, keys: &BTreeSet<String>, asked: &Asked) {
    let expected = model(keys, asked);
    let (mut found, mut next) = (Vec::new(), None);
    loop {
        let target = kind.target(asked, next.as_deref());
        let page = client.ask("GET", &target).await.expect(200);
        let lines = lines(&page);
        let rest = &expected[found.len()..];
        let count = rest.len().min(asked.max);
        assert_eq!(lines, rest[..count], "{target}");
        let is_truncated = page.element("IsTruncated") == "true";
        assert_eq!(is_truncated, rest.len() > asked.max, "{target}");
        if kind == ListKind::Objects2 {
            assert_eq!(page.element("KeyCount"), count.to_string(), "{target}");
        }
        found.extend(lines);
        if !is_truncated {
            return;
        }
        next = Some(kind.next(&page));
    }
}

const PIECES: [&str; 16] = [
    "a",
    "b",
    "a b",
    "a+b",
    "/",
    "/",
    "/",
    "//",
    "-",
    ".x",
    "0",
    "\u{e9}",
    "\u{fffd}",
    "\u{10ffff}",
    "%2F",
    "z",
];

/// Returns a key, or a part of one.
fn text(numbers: &mut Numbers) -> String {
    (0..1 + numbers.below(4)).map(|_| *numbers.one_of(&PIECES)).collect()
}

fn keys(numbers: &mut Numbers, count: usize) -> BTreeSet<String> {
    let mut keys: BTreeSet<String> =
        ["a b", "a+b", "a/", "a//b", "a/b", "a", "a0"].map(str::to_owned).into();
    while keys.len() < count {
        keys.insert(text(numbers));
    }
    keys
}

/// Returns a request. Its texts are often beginnings of keys that exist.
fn request(numbers: &mut Numbers, keys: &[String]) -> Asked {
    let part = |numbers: &mut Numbers| match numbers.below(4) {
        0 => String::new(),
        1 => text(numbers),
        2 => numbers.one_of(keys).clone(),
        _ => {
            let key = numbers.one_of(keys);
            key.chars().take(1 + numbers.below(key.chars().count())).collect()
        }
    };
    Asked {
        prefix: part(numbers),
        after: part(numbers),
        delimiter: (*numbers.one_of(&["", "/", "/", "a", "//", "\u{e9}"])).to_owned(),
        max: *numbers.one_of(&[1, 2, 3, 7, 50, 1_000]),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_those_of_a_sorted_server() {
    let named = Named::before(World::with_page_size(PAGE), Plaintext::Forbid).await;
    let client = &named.front.client;
    let mut numbers = Numbers(0x5eed);
    let keys = keys(&mut numbers, 60);
    let known: Vec<String> = keys.iter().cloned().collect();
    at_once(known.len(), |n| {
        let target = at(&known[n]);
        async move { drop(client.put(&target, b"x").await.expect(200)) }
    })
    .await;
    let sealed = named.all_sealed(&known);
    let opened: Vec<String> = sealed.iter().map(|key| named.names.open_key(key).unwrap()).collect();
    assert_ne!(opened, known, "the backend has them in another order");
    // The proxy's own objects are between them at the backend.
    let id = begin(client, &at("upload"), &[]).await;
    for number in 1..=3 {
        part(client, &at("upload"), &id, number, b"parked").await;
    }
    for kind in [ListKind::Objects1, ListKind::Objects2] {
        for delimiter in ["", "/"] {
            for max in [1, 7, 59, 60, 1_000] {
                let asked = Asked { delimiter: delimiter.to_owned(), max, ..Asked::default() };
                compare(client, kind, &keys, &asked).await;
            }
        }
    }
    for number in 0..150 {
        let asked = request(&mut numbers, &known);
        let kind = if number % 2 == 0 { ListKind::Objects1 } else { ListKind::Objects2 };
        compare(client, kind, &keys, &asked).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_uploads_are_those_of_a_sorted_server() {
    let named = Named::before(World::with_page_size(PAGE), Plaintext::Forbid).await;
    let client = &named.front.client;
    let mut numbers = Numbers(0x10ad);
    let keys = keys(&mut numbers, 50);
    let known: Vec<String> = keys.iter().cloned().collect();
    at_once(known.len(), |n| {
        let target = at(&known[n]);
        async move { drop(begin(client, &target, &[]).await) }
    })
    .await;
    for _ in 0..60 {
        compare(client, ListKind::Uploads, &keys, &request(&mut numbers, &known)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_has_what_was_written_before_it() {
    let named = Named::before(World::with_page_size(PAGE), Plaintext::Forbid).await;
    let client = &named.front.client;
    let key = |number: usize| format!("k{number:02}");
    let mut asked = Asked { max: 5, ..Asked::default() };
    for number in 0..30 {
        client.put(&at(&key(number * 3)), b"x").await.expect(200);
    }
    let first = client.ask("GET", &ListKind::Objects2.target(&asked, None)).await.expect(200);
    assert_eq!(lines(&first), ["k00", "k03", "k06", "k09", "k12"]);
    // Keys behind the first page come and go; the next page has those that are there.
    for number in [13, 14, 11] {
        client.put(&at(&key(number)), b"x").await.expect(200);
    }
    client.ask("DELETE", &at(&key(15))).await.expect(204);
    client.ask("DELETE", &at(&key(12))).await.expect(204);
    let next = ListKind::Objects2.next(&first);
    let second =
        client.ask("GET", &ListKind::Objects2.target(&asked, Some(&next))).await.expect(200);
    assert_eq!(lines(&second), ["k13", "k14", "k18", "k21", "k24"]);
    asked.after = key(86);
    let last = client.ask("GET", &ListKind::Objects1.target(&asked, None)).await.expect(200);
    assert_eq!(lines(&last), ["k87"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_repeat_what_was_asked_for() {
    let named = Named::new(Plaintext::Forbid).await;
    let client = &named.front.client;
    let sizes = BTreeMap::from([("a/b", 1_usize), ("a/c d", 20_000), ("a/e&f", 400_000), ("g", 0)]);
    for (key, size) in &sizes {
        client.put(&at(key), &content(*size, 1)).await.expect(200);
    }
    for query in ["", "list-type=2", "encoding-type=url", "list-type=2&encoding-type=url"] {
        let target = format!("/bucket?{query}&prefix=a/&delimiter=/&max-keys=50");
        let list = client.ask("GET", &target).await.expect(200);
        for (name, text) in [("Name", "bucket"), ("Prefix", "a/"), ("Delimiter", "/")] {
            assert_eq!(list.elements(name), [text], "{query}");
        }
        assert_eq!(list.elements("MaxKeys"), ["50"], "{query}");
        let keys = list.elements("Key");
        for (key, size) in keys.iter().zip(list.elements("Size")) {
            let key = key.replace("%20", " ").replace("%26", "&");
            assert_eq!(sizes[key.as_str()].to_string(), size, "{query}");
            let head = client.ask("HEAD", &at(&key)).await.expect(200);
            assert!(list.elements("ETag").contains(&head.etag()), "{query}");
        }
        assert_eq!(keys.len(), 3, "{query}");
        let encoded = keys.iter().any(|key| key == "a/c%20d");
        assert_eq!(encoded, query.contains("url"), "{query}");
        let encoding = query.contains("url").then_some("url".to_owned());
        assert_eq!(list.elements("EncodingType").pop(), encoding, "{query}");
        assert!(!list.text().contains(&named.sealed("a")), "{}", list.text());
    }
    let page = client.ask("GET", "/bucket?list-type=2&start-after=a/b&max-keys=1").await;
    let page = page.expect(200);
    assert_eq!((page.element("StartAfter"), page.element("Key")), ("a/b".into(), "a/c d".into()));
    let page = client.ask("GET", "/bucket?marker=a/c%20d&max-keys=1").await.expect(200);
    assert_eq!(
        (page.element("Marker"), page.element("NextMarker")),
        ("a/c d".into(), "a/e&f".into())
    );
    let none = client.ask("GET", "/bucket?list-type=2&max-keys=0").await.expect(200);
    assert_eq!((none.elements("Key").len(), none.element("IsTruncated")), (0, "false".into()));
    for refused in [
        "list-type=2&continuation-token=!",
        "list-type=2&continuation-token=_w",
        "max-keys=many",
        "encoding-type=base64",
        "versions&version-id-marker=v",
    ] {
        let refused = client.ask("GET", &format!("/bucket?{refused}")).await.expect(400);
        assert_eq!(refused.code(), "InvalidArgument");
    }
    let missing = client.ask("GET", "/missing?list-type=2").await.expect(404);
    assert_eq!(missing.code(), "NoSuchBucket");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_more_keys_than_the_limit_is_refused() {
    let named = Named::before(World::with_page_size(PAGE), Plaintext::Forbid).await;
    for number in 0..45 {
        let target = at(&format!("folder {}/k{number}", usize::from(number > 40)));
        named.front.client.put(&target, b"x").await.expect(200);
    }
    let mut config = self::named(&named.world, Plaintext::Forbid);
    // The folders have 41 and 4 keys, and 2 folders are at the top.
    for (limit, is_refused) in [(40, true), (47, false)] {
        config.limits.list_keys = limit;
        let front = serve(&config).await;
        for query in [
            "max-keys=3",
            "list-type=2&prefix=f",
            "marker=f&delimiter=0",
            "prefix=folder%200/&delimiter=/",
        ] {
            let list = front.client.ask("GET", &format!("/bucket?{query}")).await;
            if is_refused {
                let list = list.expect(400);
                assert_eq!(list.code(), "InvalidRequest", "{query}");
                let text = list.element("Message");
                assert!(text.contains("40") && text.contains("list_keys"), "{text}");
            } else {
                list.expect(200);
            }
        }
        // It counts the keys that have to be read.
        for query in ["delimiter=/", "prefix=folder%201/", "marker=folder%201/"] {
            front.client.ask("GET", &format!("/bucket?{query}")).await.expect(200);
        }
    }
}

/// A list of many keys in folders costs the folders of the page.
#[tokio::test(flavor = "multi_thread")]
async fn only_the_folders_of_a_page_are_read() {
    let named = Named::before(World::with_page_size(PAGE), Plaintext::Forbid).await;
    let server = OddServer::start(&named.world, Oddity::ListsWholeKeys).await;
    let mut config = self::named(&named.world, Plaintext::Forbid);
    config.backend.url = format!("http://{}", server.address);
    let front = serve(&config).await;
    let keys: Vec<String> = (0..90).map(|n| format!("top/f{}/k{n:02}", n / 9)).collect();
    at_once(keys.len(), |n| {
        let target = at(&keys[n]);
        let client = &named.front.client;
        async move { drop(client.put(&target, b"x").await.expect(200)) }
    })
    .await;
    for (asked, expected, folders) in [
        ("max-keys=5", &keys[..5], &["", "top/", "top/f0/"][..]),
        ("max-keys=9", &keys[..9], &["", "top/", "top/f0/", "top/f1/"]),
        ("max-keys=5&marker=top/f4/k41", &keys[42..47], &["", "top/", "top/f4/", "top/f5/"]),
        ("max-keys=5&prefix=top/f9", &keys[81..86], &["top/", "top/f9/"]),
        ("max-keys=5&list-type=2&start-after=top/f9", &keys[81..86], &["", "top/", "top/f9/"]),
    ] {
        server.targets.lock().unwrap().clear();
        let list = front.client.ask("GET", &format!("/bucket?{asked}")).await.expect(200);
        assert_eq!(list.elements("Key"), expected, "{asked}");
        let targets = server.targets.lock().unwrap();
        let prefix = |target: &str| {
            let prefix = target.split("prefix=").nth(1).unwrap_or_default();
            let prefix = prefix.split('&').next().unwrap().replace("%2F", "/");
            named.names.open_key(&prefix).unwrap()
        };
        let by_folder = targets.iter().filter(|it| it.contains("delimiter="));
        let mut read: Vec<String> = by_folder.map(|target| prefix(target)).collect();
        read.dedup();
        assert_eq!(read, folders, "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_lists_a_folder_in_itself_is_not_followed() {
    let named = Named::before(World::with_page_size(PAGE), Plaintext::Forbid).await;
    let server = OddServer::start(&named.world, Oddity::ListsFoldersInThemselves).await;
    let mut config = self::named(&named.world, Plaintext::Forbid);
    config.backend.url = format!("http://{}", server.address);
    let front = serve(&config).await;
    for number in 0..45 {
        named.front.client.put(&at(&format!("f/k{number:02}")), b"x").await.expect(200);
    }
    let list = front.client.ask("GET", "/bucket?prefix=f/").await.expect(200);
    assert_eq!(list.elements("Key").len(), 45);
    let count = server.targets.lock().unwrap().len();
    assert!(count < 20, "{count}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_backend_learns_no_marker_and_no_token() {
    let named = Named::before(World::with_page_size(PAGE), Plaintext::Forbid).await;
    let server = OddServer::start(&named.world, Oddity::ListsWholeKeys).await;
    let mut config = self::named(&named.world, Plaintext::Forbid);
    config.backend.url = format!("http://{}", server.address);
    let front = serve(&config).await;
    for number in 0..25 {
        front.client.put(&at(&format!("zebra/fish{number}")), b"x").await.expect(200);
    }
    let asked = Asked { prefix: "zebra/f".into(), max: 4, ..Asked::default() };
    let keys = (0..25).map(|number| format!("zebra/fish{number}")).collect();
    for delimiter in ["", "/", "i"] {
        let asked = Asked { delimiter: delimiter.to_owned(), ..asked.clone() };
        for kind in [ListKind::Objects1, ListKind::Objects2] {
            compare(&front.client, kind, &keys, &asked).await;
        }
        let token = "/bucket?list-type=2&continuation-token=emVicmEvZmlzaDE";
        let page = front.client.ask("GET", token).await.expect(200);
        assert_eq!(page.elements("Key")[0], "zebra/fish10");
    }
    let targets = server.targets.lock().unwrap();
    assert!(targets.iter().filter(|it| it.contains("/bucket?")).count() > 50);
    for target in targets.iter() {
        for text in ["zebra", "fish", "emVicmEvZmlzaD", "delimiter=i"] {
            assert!(!target.contains(text), "{target}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_are_found_where_only_whole_keys_are_listed() {
    let named = Named::new(Plaintext::Forbid).await;
    let server = OddServer::start(&named.world, Oddity::ListsWholeKeys).await;
    let mut config = self::named(&named.world, Plaintext::Forbid);
    config.backend.url = format!("http://{}", server.address);
    let front = serve(&config).await;
    let ids = [
        begin(&front.client, &at("f/upload"), &[]).await,
        begin(&front.client, &at("f/upload"), &[]).await,
    ];
    begin(&front.client, &at("f/upload2"), &[]).await;
    let list = front.client.ask("GET", "/bucket?uploads&prefix=f/upload").await.expect(200);
    assert_eq!(list.elements("Key"), ["f/upload"; 2]);
    let found: BTreeSet<String> = list.elements("UploadId").into_iter().collect();
    assert_eq!(found, BTreeSet::from(ids));
    // Other servers list an upload once, too.
    let list = named.front.client.ask("GET", "/bucket?uploads&prefix=f/upload").await.expect(200);
    assert_eq!(list.elements("Key"), ["f/upload", "f/upload", "f/upload2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_client_can_name_is_not_shown_but_counted() {
    for plaintext in [Plaintext::Forbid, Plaintext::ReadOnly, Plaintext::Allow] {
        let named = Named::new(plaintext).await;
        let client = &named.front.client;
        let backend = named.world.backend();
        client.put(&at("own/object"), b"own").await.expect(200);
        // Objects that were written directly to the backend: with plain names, a name of another
        // bucket, and a name of another folder.
        let elsewhere = named.sealed("x/y").split_once('/').unwrap().1.to_owned();
        for key in ["foreign", "foreign/object", "AAAA", &elsewhere] {
            backend.put(&format!("/bucket/{key}"), b"foreign").await.expect(200);
        }
        for query in ["", "?list-type=2", "?list-type=2&max-keys=1", "?max-keys=1"] {
            let list = client.ask("GET", &format!("/bucket{query}")).await.expect(200);
            assert_eq!(list.elements("Key"), ["own/object"], "{query}");
        }
        let list = client.ask("GET", "/bucket?delimiter=/&list-type=2").await.expect(200);
        assert_eq!(list.elements("CommonPrefixes"), ["<Prefix>own/</Prefix>"]);
        assert_eq!(list.element("KeyCount"), "1");
        let counted = named.front.proxy.metrics_text();
        let counted = counted.lines().find(|it| it.starts_with("endseal_s3_foreign_names_total "));
        let counted: u64 = counted.unwrap().rsplit(' ').next().unwrap().parse().unwrap();
        assert!(counted >= 4 + 4 + 3, "{counted}");
        assert_eq!(client.ask("GET", "/bucket/foreign").await.status, 404);
        let full = client.ask("DELETE", "/bucket").await.expect(409);
        assert_eq!(full.code(), "BucketNotEmpty");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn under_another_secret_there_is_nothing() {
    let named = Named::new(Plaintext::Forbid).await;
    named.front.client.put(&at("a/b"), b"content").await.expect(200);
    std::fs::remove_file(named.world.scratch.folder().join("names.secret")).unwrap();
    let other = serve(&self::named(&named.world, Plaintext::Forbid)).await;
    assert_eq!(other.client.ask("GET", &at("a/b")).await.status, 404);
    let list = other.client.ask("GET", "/bucket").await.expect(200);
    assert!(list.elements("Key").is_empty());
    assert_eq!(list.element("IsTruncated"), "false");
}
