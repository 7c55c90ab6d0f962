//! Lists, in terms of content.

use crate::fixture::{World, content};

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
