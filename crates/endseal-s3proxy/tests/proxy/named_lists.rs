//! Tests of lists in buckets with encrypted names.

use std::collections::{BTreeMap, BTreeSet};

use endseal_s3proxy::bucket::Plaintext;

use crate::client::{Answer, Client};
use crate::fixture::{World, at_once, content, serve};
use crate::multipart::{begin, part};
use crate::named::{Named, at, escaped, named};

/// Maximum number of entries per page of the backend, for tests with more objects.
const PAGE: usize = 100;

/// Returns the keys and common prefixes of a page.
fn lines(page: &Answer) -> Vec<String> {
    let folders = page.elements("CommonPrefixes");
    let folders = folders.iter().map(|it| it.replace("<Prefix>", "").replace("</Prefix>", ""));
    page.elements("Key").into_iter().chain(folders).collect()
}

/// Returns all pages of a list with `max` entries each.
async fn all(client: &Client, version: u8, query: &str, max: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut next = String::new();
    for _ in 0..5_000 {
        let kind = if version == 2 { "list-type=2&" } else { "" };
        let target = format!("/bucket?{kind}max-keys={max}{query}{next}");
        let page = client.ask("GET", &target).await.expect(200);
        let lines = lines(&page);
        assert!(lines.len() <= max, "{target}: {}", lines.len());
        assert_eq!(page.element("MaxKeys"), max.to_string());
        if version == 2 {
            assert_eq!(page.element("KeyCount"), lines.len().to_string());
        }
        found.extend(lines.iter().cloned());
        if page.element("IsTruncated") == "false" {
            assert!(page.elements("NextContinuationToken").is_empty());
            return found;
        }
        assert!(!lines.is_empty(), "a page of nothing: {target}");
        next = match version {
            2 => format!("&continuation-token={}", escaped(&page.element("NextContinuationToken"))),
            _ => {
                // Clients continue with this element, or with the last key if there is no
                // delimiter.
                let marker = match query.contains("delimiter") {
                    true => page.element("NextMarker"),
                    false => page.elements("Key").pop().unwrap(),
                };
                format!("&marker={}", escaped(&marker))
            }
        };
    }
    panic!("{query} does not end");
}

/// Returns the entries of a list of these keys by the rules of S3.
fn expected(keys: &[String], prefix: &str, delimited: bool) -> BTreeSet<String> {
    let begin = keys.iter().filter(|key| key.starts_with(prefix));
    begin
        .map(|key| match key[prefix.len()..].find('/') {
            Some(slash) if delimited => key[..=prefix.len() + slash].to_owned(),
            _ => key.clone(),
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_a_large_list_follow_each_other() {
    let named = Named::before(World::with_page_size(PAGE), Plaintext::Forbid).await;
    let client = &named.front.client;
    let mut keys: Vec<String> =
        (0..240).map(|n| format!("f{}/{}/k{n:04} x", n % 8, n % 3)).collect();
    keys.extend((0..15).map(|n| format!("top+{n:02}%")));
    keys.extend(["f1/".to_owned(), "f1//x".to_owned(), "/".to_owned()]);
    keys.extend(["f1x".to_owned(), "f".to_owned()]);
    assert_eq!(keys.len(), 260);
    at_once(keys.len(), |n| {
        let target = at(&keys[n]);
        async move { drop(client.put(&target, b"x").await.expect(200)) }
    })
    .await;
    for version in [1, 2] {
        for (prefix, delimited, max) in [
            ("", true, 7),
            ("", true, PAGE),
            ("", false, 7),
            ("", false, PAGE),
            ("f1", true, 7),
            ("f1", true, 1),
            ("f1", false, 7),
            ("f1/", true, 1),
            ("f1/", true, 7),
            ("f1/", false, 7),
            ("f7/2", true, 1),
            ("f7/2/k0", false, 3),
            ("f7/2/k00", true, 3),
            ("top+0", true, 3),
            ("top+", false, 7),
            ("/", true, 2),
            ("nothing", true, 7),
            ("nothing/at all", false, 7),
        ] {
            let mut query = format!("&prefix={}", escaped(prefix));
            if delimited {
                query.push_str("&delimiter=/");
            }
            let found = all(client, version, &query, max).await;
            let known = expected(&keys, prefix, delimited);
            let set: BTreeSet<String> = found.iter().cloned().collect();
            assert_eq!(found.len(), set.len(), "an entry twice: {version} {prefix} {max}");
            assert!(set == known, "{version} {prefix} {delimited} {max}");
        }
    }
    // The order does not depend on the page size.
    let one = all(client, 2, "", PAGE).await;
    assert_eq!(all(client, 1, "", 33).await, one);
    let mut by_name = one.clone();
    by_name.sort();
    assert_ne!(by_name, one, "it is not that of the names");
    // A list that starts after an entry returns the entries that follow it in this order.
    let list = format!("/bucket?list-type=2&start-after={}", escaped(&one[170]));
    let page = client.ask("GET", &list).await.expect(200);
    assert_eq!(page.element("StartAfter"), one[170]);
    assert_eq!(page.elements("Key"), one[171..]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_say_what_was_asked_for() {
    let named = Named::new(Plaintext::Forbid).await;
    let client = &named.front.client;
    let sizes = BTreeMap::from([("a/b", 1_usize), ("a/c d", 20_000), ("a/e&f", 400_000), ("g", 0)]);
    for (key, size) in &sizes {
        client.put(&at(key), &content(*size, 1)).await.expect(200);
    }
    for query in ["", "list-type=2", "encoding-type=url", "list-type=2&encoding-type=url"] {
        let target = format!("/bucket?{query}&prefix=a/&delimiter=/&max-keys=50");
        let list = client.ask("GET", &target).await.expect(200);
        assert_eq!((list.element("Prefix"), list.element("MaxKeys")), ("a/".into(), "50".into()));
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
        assert!(!list.text().contains(&named.sealed("a")), "{}", list.text());
    }
    let none = client.ask("GET", "/bucket?list-type=2&max-keys=0").await.expect(200);
    assert_eq!((none.elements("Key").len(), none.element("IsTruncated")), (0, "false".into()));
    for delimiter in ["b", "//", "%20"] {
        let refused = client.ask("GET", &format!("/bucket?delimiter={delimiter}")).await;
        assert_eq!(refused.expect(501).code(), "NotImplemented", "{delimiter}");
    }
    let refused = client.ask("GET", "/bucket?list-type=2&continuation-token=outsider").await;
    assert_eq!(refused.expect(400).code(), "InvalidArgument");
    let missing = client.ask("GET", "/missing?list-type=2").await.expect(404);
    assert_eq!(missing.code(), "NoSuchBucket");
    // None of this applies to buckets without encrypted names.
    client.put("/plain/abc", b"x").await.expect(200);
    let list = client.ask("GET", "/plain?delimiter=b").await.expect(200);
    assert_eq!(list.elements("CommonPrefixes"), ["<Prefix>ab</Prefix>"]);
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

/// There are so many of them that one request cannot skip all their pages.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_goes_on_from_where_no_client_can_name_a_key() {
    let named = Named::new(Plaintext::Forbid).await;
    let (client, backend) = (&named.front.client, named.world.backend());
    // They sort before all encrypted names, except for one in 64^4.
    for number in 0..80 {
        backend.put(&format!("/bucket/----{number:02}"), b"foreign").await.expect(200);
    }
    client.put("/bucket/key", b"content").await.expect(200);
    let (mut marker, mut empty) = (String::new(), 0);
    let page = loop {
        let page = client.ask("GET", &format!("/bucket?max-keys=1{marker}")).await.expect(200);
        if !page.elements("Key").is_empty() {
            break page;
        }
        assert_eq!(page.element("IsTruncated"), "true");
        let next = page.element("NextMarker");
        assert!(next.starts_with(".endseal/next/"), "{next}");
        marker = format!("&marker={}", next.replace('/', "%2F"));
        empty += 1;
    };
    assert_eq!((page.elements("Key"), empty), (vec!["key".to_owned()], 2));
    assert_eq!(page.element("IsTruncated"), "false");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_without_anything_to_show_are_passed_over() {
    let named = Named::before(World::with_page_size(PAGE), Plaintext::Forbid).await;
    let client = &named.front.client;
    at_once(123, |n| async move {
        client.put(&at(&format!("folder/many{n}")), b"").await.expect(200);
    })
    .await;
    client.put(&at("folder/one"), b"").await.expect(200);
    let sealed: BTreeSet<String> = named.stored("bucket").await.into_iter().collect();
    let is_behind = sealed.contains(&named.sealed("folder/one"));
    for query in ["", "list-type=2&"] {
        let target = format!("/bucket?{query}prefix=folder/o&max-keys=1");
        let list = client.ask("GET", &target).await.expect(200);
        assert_eq!(list.elements("Key"), ["folder/one"], "{query} {is_behind}");
    }
    // The proxy's own objects come first at the backend and do not end the list.
    let id = begin(client, &at("upload"), &[]).await;
    part(client, &at("upload"), &id, 1, b"parked").await;
    for query in ["max-keys=1", "list-type=2&max-keys=1"] {
        let list = client.ask("GET", &format!("/bucket?{query}")).await.expect(200);
        assert_eq!(list.elements("Key").len(), 1, "{query}");
    }
    let folded = client.ask("GET", "/bucket?list-type=2&delimiter=/&max-keys=1").await.expect(200);
    assert_eq!(folded.elements("CommonPrefixes"), ["<Prefix>folder/</Prefix>"]);
    let metrics = named.front.proxy.metrics_text();
    assert!(metrics.contains("endseal_s3_foreign_names_total 0"), "{metrics}");
}
