//! Tests of lists of uploads with the ids that clients got.

use endseal_s3proxy::bucket::Plaintext;

use crate::client::{Answer, Client};
use crate::fixture::{World, content, serve};
use crate::multipart::{PART, begin, complete, part};
use crate::named::{Named, at, escaped};
use crate::resent::own;

async fn uploads(client: &Client, query: &str) -> Answer {
    client.ask("GET", &format!("/bucket?uploads{query}")).await.expect(200)
}

/// Returns the keys and ids of a list in its order.
fn lines(list: &Answer) -> Vec<(String, String)> {
    list.elements("Key").into_iter().zip(list.elements("UploadId")).collect()
}

fn sorted(mut lines: Vec<(String, String)>) -> Vec<(String, String)> {
    lines.sort();
    lines
}

/// Returns the backend's ids of the uploads of a key.
async fn backends(world: &World, key: &str) -> Vec<String> {
    let list = world.backend().ask("GET", "/bucket?uploads").await.expect(200);
    let lines = lines(&list).into_iter();
    lines.filter(|(listed, _)| listed == key).map(|(_, id)| id).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_have_the_ids_that_were_given_and_these_work() {
    let (world, first) = World::with_bucket().await;
    let second = serve(&world.config()).await;
    let third = serve(&world.config()).await;
    let mut given = Vec::new();
    for key in ["a key", "a key", "other", "third/&"] {
        let id = begin(&first.client, &format!("/bucket/{}", escaped(key)), &[]).await;
        given.push((key.to_owned(), id));
    }
    for query in ["", "&encoding-type=url", "&max-uploads=4", "&prefix=&delimiter="] {
        let list = uploads(&second.client, query).await;
        let mut expected = given.clone();
        if query.contains("url") {
            expected.iter_mut().for_each(|(key, _)| *key = escaped(key));
        }
        assert_eq!(sorted(lines(&list)), sorted(expected), "{query}");
        assert_eq!(list.element("IsTruncated"), "false");
        assert_eq!(list.elements("Initiated").len(), 4, "all else stays");
    }
    let list = uploads(&second.client, "&prefix=third/").await;
    assert_eq!(lines(&list), given[3..]);
    let list = uploads(&second.client, "&delimiter=/").await;
    assert_eq!(list.elements("CommonPrefixes"), ["<Prefix>third/</Prefix>"]);
    assert_eq!(sorted(lines(&list)), sorted(given[..3].to_vec()));

    // A client that only has the list can continue an upload from it.
    let (target, client) = ("/bucket/a%20key", &third.client);
    part(&first.client, target, &given[0].1, 1, &content(PART, 1)).await;
    let found = lines(&uploads(client, "&prefix=a").await);
    let (_, id) = found.into_iter().find(|line| *line == given[0]).unwrap();
    part(client, target, &id, 2, &content(9, 2)).await;
    let parts = client.ask("GET", &format!("{target}?uploadId={id}")).await.expect(200);
    assert_eq!(parts.elements("PartNumber"), ["1", "2"]);
    let tags: Vec<(u16, String)> = (1..).zip(parts.elements("ETag")).collect();
    complete(client, target, &id, &tags).await.expect(200);
    let expected = [content(PART, 1), content(9, 2)].concat();
    assert!(client.ask("GET", target).await.expect(200).body == expected);
    // The other uploads are unchanged. They can be aborted by their ids, or by those of the
    // backend.
    let left = lines(&uploads(client, "").await);
    assert_eq!(sorted(left), sorted(given[1..].to_vec()));
    let abort = async |key: &str, id: &str| {
        client.ask("DELETE", &format!("/bucket/{}?uploadId={id}", escaped(key))).await.expect(204)
    };
    abort("a key", &given[1].1).await;
    abort("third/&", &given[3].1).await;
    abort("other", &backends(&world, "other").await[0]).await;
    assert!(lines(&uploads(client, "").await).is_empty());
    assert!(own(&world).await.is_empty(), "{:?}", own(&world).await);
}

/// Returns all pages of a list; `next` returns the markers of the next page.
async fn all(
    client: &Client,
    query: &str,
    mut next: impl AsyncFnMut(&Answer) -> (String, String),
) -> Vec<(String, String)> {
    let (mut found, mut marker) = (Vec::new(), String::new());
    for _ in 0..100 {
        let page = uploads(client, &format!("{query}{marker}")).await;
        found.extend(lines(&page));
        if page.element("IsTruncated") == "false" {
            return found;
        }
        let (key, id) = next(&page).await;
        marker = format!("&key-marker={}&upload-id-marker={}", escaped(&key), escaped(&id));
    }
    panic!("{query} does not end");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_go_on_behind_ids_of_either_form() {
    let (world, front) = World::with_bucket().await;
    let named = Named::new(Plaintext::Forbid).await;
    let sealed = serve(&crate::named::named(&named.world, Plaintext::Forbid)).await;
    let worlds = [(&front.client, &world, false), (&sealed.client, &named.world, true)];
    for (client, world, is_sealed) in worlds {
        let mut given = Vec::new();
        for number in 0..11 {
            // Keys with two and with three uploads.
            let key = format!("f/key {}", number / 5 * 2 + number % 2);
            let id = begin(client, &at(&key), &[]).await;
            given.push((key, id));
        }
        let given = sorted(given);
        for max in [1, 2, 3, 7, 11, 1_000] {
            let query = format!("&max-uploads={max}");
            let by_element = all(client, &query, async |page| {
                (page.element("NextKeyMarker"), page.element("NextUploadIdMarker"))
            });
            assert_eq!(sorted(by_element.await), given, "{max}");
            let by_last = all(client, &query, async |page| lines(page).pop().unwrap());
            assert_eq!(sorted(by_last.await), given, "{max}, behind the last entry");
            // A client that started with the backend's ids, before they were recorded.
            let mut seen = Vec::new();
            let by_backend = all(client, &query, async |page| {
                seen.extend(lines(page));
                let (key, _) = seen.last().unwrap().clone();
                let count = seen.iter().filter(|(seen, _)| *seen == key).count();
                let stored = if is_sealed { named.sealed(&key) } else { key.clone() };
                (key, backends(world, &stored).await.swap_remove(count - 1))
            });
            assert_eq!(sorted(by_backend.await), given, "{max}, by the backend's ids");
        }
        let page = uploads(client, "&max-uploads=2&encoding-type=url").await;
        assert_eq!(page.element("NextUploadIdMarker"), page.elements("UploadId")[1]);
        let marker = format!(
            "&max-uploads=1&key-marker={}&upload-id-marker={}",
            escaped(&given[0].0),
            given[0].1
        );
        let page = uploads(client, &marker).await;
        assert_eq!(page.element("UploadIdMarker"), given[0].1, "as the client has it");
        // An id of another key is not a valid marker, and an id without a key is ignored.
        let strange = format!("/bucket?uploads&key-marker=other&upload-id-marker={}", given[0].1);
        let refused = client.ask("GET", &strange).await.expect(400);
        assert_eq!(refused.code(), "InvalidArgument");
        let all = uploads(client, &format!("&upload-id-marker={}", given[0].1)).await;
        assert_eq!(sorted(lines(&all)), given);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_that_were_changed_or_moved_are_not_shown() {
    let (world, front) = World::with_bucket().await;
    let (client, backend) = (&front.client, &world.backend());
    let id_keys = async || -> Vec<String> {
        own(&world).await.into_iter().filter(|key| key.ends_with("/id")).collect()
    };
    let begin_recorded = async |target: &str| {
        let before = id_keys().await;
        let id = begin(client, target, &[]).await;
        let record = id_keys().await.into_iter().find(|key| !before.contains(key)).unwrap();
        let stored = backend.ask("GET", &format!("/bucket/{record}")).await.expect(200);
        assert_eq!(stored.text(), id, "nothing else is in it");
        (id, record)
    };
    let (id, record) = begin_recorded("/bucket/key").await;
    let own_id = backends(&world, "key").await.remove(0);
    let (sibling, _) = begin_recorded("/bucket/key").await;
    let (outsider, _) = begin_recorded("/bucket/other").await;
    client.ask("PUT", "/second").await.expect(200);
    let elsewhere = begin(client, "/second/key", &[]).await;
    let shown = async || {
        let listed = lines(&uploads(client, "&prefix=key").await);
        assert_eq!(listed.len(), 2);
        assert!(
            listed.contains(&("key".to_owned(), sibling.clone())),
            "the other one is as it was"
        );
        listed.into_iter().find(|(_, listed)| *listed != sibling).unwrap().1
    };
    assert_eq!(shown().await, id);
    let flipped = |at: usize| {
        let mut bytes = id.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        String::from_utf8(bytes).unwrap()
    };
    let mut others = vec![sibling.clone(), outsider, elsewhere, own_id.clone(), String::new()];
    others.extend([flipped(id.len() / 2), flipped(id.len() - 30), flipped(0), format!("{id}\n")]);
    others.extend([format!("{id}{id}"), "x".repeat(1 << 20), id[1..].to_owned()]);
    for other in &others {
        backend.put(&format!("/bucket/{record}"), other.as_bytes()).await.expect(200);
        assert_eq!(shown().await, own_id, "{}", &other[..other.len().min(80)]);
    }
    backend.put(&format!("/bucket/{record}"), b"\xff\xfe").await.expect(200);
    assert_eq!(shown().await, own_id);
    backend.ask("DELETE", &format!("/bucket/{record}")).await.expect(204);
    assert_eq!(shown().await, own_id);
    // The client's id can still be used, and the backend's id aborts the upload.
    part(client, "/bucket/key", &id, 1, b"short").await;
    backend.put(&format!("/bucket/{record}"), id.as_bytes()).await.expect(200);
    assert_eq!(shown().await, id);
    client.ask("DELETE", &format!("/bucket/key?uploadId={own_id}")).await.expect(204);
    let gone = client.ask("GET", &format!("/bucket/key?uploadId={id}")).await.expect(404);
    assert_eq!(gone.code(), "NoSuchUpload");
}
