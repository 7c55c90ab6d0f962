//! Tests of lists with the sizes and tags of the content.

use crate::client::Client;
use crate::fixture::{World, content};
use crate::multipart::{begin, part};

const KEYS: [&str; 10] = ["a", "a-b", "a/", "a/b", "a/c/d", "a0", "b/x", "b/y", "c", "z%20z"];

async fn filled() -> (World, crate::fixture::Front) {
    let (world, front) = World::with_bucket().await;
    for (at, key) in KEYS.iter().enumerate() {
        front.client.put(&format!("/bucket/{key}"), &content(at * 20_000, 9)).await.expect(200);
    }
    (world, front)
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_tell_sizes_and_tags_of_the_content() {
    let (_world, front) = filled().await;
    let client = &front.client;
    for query in ["", "?list-type=2", "?encoding-type=url"] {
        let list = client.ask("GET", &format!("/bucket{query}")).await.expect(200);
        let sizes: Vec<usize> =
            list.elements("Size").iter().map(|size| size.parse().unwrap()).collect();
        assert_eq!(sizes, (0..KEYS.len()).map(|at| at * 20_000).collect::<Vec<_>>(), "{query}");
        for (key, tag) in KEYS.iter().zip(list.elements("ETag")) {
            let head = client.ask("HEAD", &format!("/bucket/{key}")).await.expect(200);
            assert_eq!(head.etag(), tag, "{key}");
        }
        let expected: Vec<String> = KEYS
            .iter()
            .map(|key| if query.contains("url") { (*key).into() } else { key.replace("%20", " ") })
            .collect();
        assert_eq!(list.elements("Key"), expected, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_follow_each_other_whatever_their_size() {
    let (_world, front) = filled().await;
    let client = &front.client;
    let whole = client.ask("GET", "/bucket?list-type=2&delimiter=/").await.expect(200);
    assert_eq!(whole.elements("Key"), ["a", "a-b", "a0", "c", "z z"]);
    let prefixes = whole.elements("CommonPrefixes");
    assert_eq!(prefixes, ["<Prefix>a/</Prefix>", "<Prefix>b/</Prefix>"]);
    for size in 1..8 {
        for delimiter in ["", "&delimiter=/"] {
            let whole =
                client.ask("GET", &format!("/bucket?{}", &delimiter.replace('&', ""))).await;
            let mut expected = whole.elements("Key");
            expected.extend(whole.elements("CommonPrefixes"));
            expected.sort();
            let (mut found, mut token, mut marker) = (Vec::new(), String::new(), String::new());
            let mut first = Vec::new();
            for _ in 0..20 {
                let more = match token.is_empty() {
                    true => String::new(),
                    false => format!("&continuation-token={token}"),
                };
                let target = format!("/bucket?list-type=2&max-keys={size}{delimiter}{more}");
                let page = client.ask("GET", &target).await.expect(200);
                assert!(page.elements("Key").len() <= size);
                found.extend(page.elements("Key"));
                found.extend(page.elements("CommonPrefixes"));
                if page.element("IsTruncated") == "false" {
                    break;
                }
                token = page.element("NextContinuationToken");
            }
            found.sort();
            assert_eq!(found, expected, "{size} {delimiter}");
            for _ in 0..20 {
                let escaped = marker.replace(' ', "%20");
                let target = format!("/bucket?max-keys={size}{delimiter}&marker={escaped}");
                let page = client.ask("GET", &target).await.expect(200);
                first.extend(page.elements("Key"));
                first.extend(page.elements("CommonPrefixes"));
                if page.element("IsTruncated") == "false" {
                    break;
                }
                marker = match page.elements("NextMarker").pop() {
                    Some(next) => next,
                    None => page.elements("Key").pop().unwrap(),
                };
            }
            first.sort();
            assert_eq!(first, expected, "marker {size} {delimiter}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn prefixes_and_bounds_narrow_a_list() {
    let (_world, front) = filled().await;
    let client = &front.client;
    for (query, keys) in [
        ("prefix=a", &KEYS[..6]),
        ("prefix=a/", &["a/", "a/b", "a/c/d"]),
        ("prefix=a/c/d", &["a/c/d"]),
        ("prefix=nothing", &[]),
        ("start-after=b/x", &["b/y", "c", "z z"]),
        ("prefix=b&start-after=b/x", &["b/y"]),
        ("max-keys=0", &[]),
    ] {
        let list = client.ask("GET", &format!("/bucket?list-type=2&{query}")).await.expect(200);
        assert_eq!(list.elements("Key"), keys, "{query}");
        assert_eq!(list.element("IsTruncated"), "false", "{query}");
    }
    let list = client.ask("GET", "/bucket?prefix=a/&delimiter=/").await.expect(200);
    assert_eq!(list.elements("Key"), ["a/", "a/b"]);
    assert_eq!(list.elements("CommonPrefixes"), ["<Prefix>a/c/</Prefix>"]);
    let none = client.ask("GET", "/nobucket?list-type=2").await.expect(404);
    assert_eq!(none.code(), "NoSuchBucket");
}

#[tokio::test(flavor = "multi_thread")]
async fn buckets_are_listed_and_many_objects_deleted() {
    let (_world, front) = filled().await;
    let client = &front.client;
    client.ask("PUT", "/another").await.expect(200);
    let again = client.ask("PUT", "/another").await.expect(409);
    assert_eq!(again.code(), "BucketAlreadyOwnedByYou");
    let list = client.ask("GET", "/").await.expect(200);
    assert_eq!(list.elements("Name"), ["another", "bucket"]);
    let full = client.ask("DELETE", "/bucket").await.expect(409);
    assert_eq!(full.code(), "BucketNotEmpty");
    let objects: String = KEYS
        .iter()
        .chain(&["never"])
        .map(|key| format!("<Object><Key>{}</Key></Object>", key.replace("%20", " ")))
        .collect();
    let request = format!("<Delete>{objects}</Delete>");
    let done = client.send("POST", "/bucket?delete", &[], request.as_bytes()).await.expect(200);
    assert_eq!(done.elements("Deleted").len(), KEYS.len() + 1);
    client.ask("DELETE", "/bucket").await.expect(204);
}

/// Returns the entries of a list, read page by page by the rules of S3.
async fn paged(client: &Client, query: &str, second: bool) -> (Vec<String>, usize) {
    let (mut found, mut more) = (Vec::new(), String::new());
    for pages in 1..40 {
        let page = client.ask("GET", &format!("/bucket?{query}{more}")).await.expect(200);
        let mut here = page.elements("Key");
        let prefixes = page.elements("CommonPrefixes");
        here.extend(prefixes.iter().map(|it| it.replace("<Prefix>", "").replace("</Prefix>", "")));
        here.sort();
        assert!(here.iter().all(|key| !key.starts_with(".endseal/")), "{query}: {here:?}");
        let count = here.len().to_string();
        assert!(!second || page.element("KeyCount") == count, "{query}: {}", page.text());
        if page.element("IsTruncated") == "false" {
            found.extend(here);
            return (found, pages);
        }
        assert!(!here.is_empty(), "nothing to go on from: {query}{more}: {}", page.text());
        more = if second {
            format!("&continuation-token={}", page.element("NextContinuationToken"))
        } else {
            let next = page.elements("NextMarker").pop();
            format!("&marker={}", next.or_else(|| here.last().cloned()).unwrap())
        };
        found.extend(here);
    }
    panic!("no end: {query}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_the_proxys_own_is_no_page() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    // Keys that sort before and after `.endseal/`.
    let keys = ["-a", "-b/x", ".endseal-", "0", "z"];
    let parked = begin(client, "/bucket/large", &[]).await;
    for number in 1..=7 {
        part(client, "/bucket/large", &parked, number, b"short").await;
    }
    for at in 0..=keys.len() {
        for (delimiter, expected) in [
            ("", &keys[..at]),
            ("&delimiter=/", &["-a", "-b/", ".endseal-", "0", "z"][..at]),
            ("&delimiter=-", &["-", ".endseal-", "0", "z"][..at.saturating_sub(1).max(at.min(1))]),
        ] {
            for size in 1..=9 {
                for (list, second) in [("max-keys", false), ("list-type=2&max-keys", true)] {
                    let query = format!("{list}={size}{delimiter}");
                    let (found, pages) = paged(client, &query, second).await;
                    assert_eq!(found, expected, "{query}");
                    assert!(pages <= expected.len() + 1, "{query}: {pages} pages");
                }
            }
        }
        if let Some(key) = keys.get(at) {
            client.put(&format!("/bucket/{key}"), b"content").await.expect(200);
        }
    }
    // The response repeats the client's parameters, not those with which the proxy continued.
    let list = client.ask("GET", "/bucket?max-keys=1&marker=.endseal-").await.expect(200);
    assert_eq!(
        (list.element("Marker").as_str(), list.element("MaxKeys").as_str()),
        (".endseal-", "1")
    );
    assert_eq!(list.elements("Key"), ["0"]);
    let query = "list-type=2&max-keys=1&start-after=.endseal-&encoding-type=url";
    let list = client.ask("GET", &format!("/bucket?{query}")).await.expect(200);
    assert_eq!(list.element("StartAfter"), ".endseal-");
    assert_eq!((list.elements("Key"), list.element("KeyCount")), (vec!["0".into()], "1".into()));
    let none = client.ask("GET", "/bucket?prefix=.endseal/&max-keys=2").await.expect(200);
    assert_eq!((none.elements("Key").len(), none.element("IsTruncated")), (0, "false".into()));
}
