//! Tests of conditions in buckets with MD5 entity tags, by either tag of an object.

use base64ct::{Base64, Encoding as _};
use endseal_crypto::sha256;
use endseal_s3proxy::access::{Client as Known, Permissions, SecretAccessKey};

use crate::client::Client;
use crate::fixture::content;
use crate::fixture::serve;
use crate::md5_tags::{config, in_list, tag, with_bucket};
use crate::multipart::{PART, begin, complete_with, part};
use crate::races::{Relay, folder};

#[tokio::test(flavor = "multi_thread")]
async fn reads_heed_either_name() {
    let (_world, front) = with_bucket(|_| {}).await;
    let client = &front.client;
    let target = "/bucket/key";
    let md5 = client.put(target, b"content").await.expect(200).etag();
    assert_eq!(md5, tag(b"content"));
    let listed = in_list(client, target).await;
    let other = tag(b"other");
    let backend = listed.replace("-0\"", "\"");
    for (value, is_it) in [
        (md5.clone(), true),
        (md5.trim_matches('"').to_owned(), true),
        (listed.clone(), true),
        ("*".to_owned(), true),
        (format!("{other}, {md5}"), true),
        (format!("{md5},{other}"), true),
        (format!("{other},\"x-0\" , {listed}"), true),
        (format!("\"a-3\", {md5}, {listed}"), true),
        (other.clone(), false),
        (md5.to_uppercase(), false),
        (format!("\"{}-0\"", md5.trim_matches('"')), false),
        (format!("\"{}-1\"", md5.trim_matches('"')), false),
        (format!("\"{}0\"", md5.trim_matches('"')), false),
        (format!("\"x,{}\"", md5.trim_matches('"')), false),
        (format!("{other}, \"x-0\""), false),
        // The tag at the backend is not known to clients.
        (backend, false),
    ] {
        for method in ["GET", "HEAD"] {
            for (name, yes, no) in [("if-match", 200, 412), ("if-none-match", 304, 200)] {
                let got = client.ask_with(method, target, &[(name, &value)]).await;
                assert_eq!(got.status, if is_it { yes } else { no }, "{method} {name} {value}");
                if got.status != 412 {
                    assert_eq!(got.etag(), md5, "{method} {name} {value}");
                }
            }
        }
    }
    // Weak comparison applies to conditions that avoid a repeated transfer.
    for weak in [format!("W/{md5}"), format!("{other}, W/{md5}"), format!("W/{listed}")] {
        let got = client.ask_with("GET", target, &[("if-none-match", &weak)]).await.expect(304);
        assert_eq!(got.etag(), md5, "{weak}");
    }
    let got = client.ask_with("GET", "/bucket/missing", &[("if-match", &md5)]).await.expect(404);
    assert_eq!(got.code(), "NoSuchKey");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_md5_is_found_in_any_line_of_a_condition() {
    let (_world, front) = with_bucket(|_| {}).await;
    let client = &front.client;
    let target = "/bucket/key";
    let md5 = client.put(target, b"content").await.expect(200).etag();
    let other = tag(b"other");
    for lines in [[&other, &md5], [&md5, &other]] {
        let asking = |name| lines.map(|line| (name, line.as_str()));
        client.ask_with("GET", target, &asking("if-match")).await.expect(200);
        client.ask_with("HEAD", target, &asking("if-none-match")).await.expect(304);
        client.send("PUT", target, &asking("if-none-match"), b"lost").await.expect(412);
        client.send("PUT", target, &asking("if-match"), b"content").await.expect(200);
        let mut copy = asking("x-amz-copy-source-if-match").to_vec();
        copy.push(("x-amz-copy-source", "bucket/key"));
        client.ask_with("PUT", "/bucket/copy", &copy).await.expect(200);
    }
    // A write that must not replace anything does not, whatever else is in the list.
    let lines = [("if-none-match", other.as_str()), ("if-none-match", "*")];
    client.send("PUT", target, &lines, b"lost").await.expect(412);
    let listed = in_list(client, target).await;
    let lines = [("if-match", listed.as_str()), ("if-none-match", "*"), ("if-none-match", &other)];
    client.send("PUT", target, &lines, b"lost").await.expect(412);
    assert_eq!(client.ask("GET", target).await.expect(200).body, b"content");
}

#[tokio::test(flavor = "multi_thread")]
async fn downloads_go_on_by_either_name() {
    let (_world, front) = with_bucket(|_| {}).await;
    let client = &front.client;
    let target = "/bucket/key";
    let old = client.put(target, &[b'o'; 70_000]).await.expect(200).etag();
    let md5 = client.put(target, b"content").await.expect(200).etag();
    let listed = in_list(client, target).await;
    let weak = format!("W/{md5}");
    for (range, expected) in
        [("bytes=2-5", &b"nten"[..]), ("bytes=-3", b"ent"), ("bytes=4-", b"ent")]
    {
        for (value, is_it) in [(&md5, true), (&listed, true), (&old, false), (&weak, false)] {
            let headers = [("range", range), ("if-range", value.as_str())];
            for method in ["GET", "HEAD"] {
                let got = client.ask_with(method, target, &headers).await;
                let got = got.expect(if is_it { 206 } else { 200 });
                assert_eq!(got.etag(), md5, "{method} {headers:?}");
                if method == "GET" {
                    assert_eq!(got.body, if is_it { expected } else { b"content" }, "{headers:?}");
                }
            }
        }
    }
    let headers = [("range", "bytes=65000-"), ("if-range", old.as_str())];
    assert_eq!(client.ask_with("GET", target, &headers).await.expect(200).body, b"content");
    let headers = [("range", "bytes=65000-"), ("if-range", md5.as_str())];
    client.ask_with("GET", target, &headers).await.expect(416);
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_heed_either_name() {
    let (_world, front) = with_bucket(|_| {}).await;
    let client = &front.client;
    let target = "/bucket/key";
    let other = tag(b"other");
    let missing = client.send("PUT", target, &[("if-match", &other)], b"x").await.expect(404);
    assert_eq!(missing.code(), "NoSuchKey");
    let mut held = client.put(target, b"0").await.expect(200).etag();
    for (number, by) in ["md5", "listed", "both", "md5"].iter().enumerate() {
        let listed = in_list(client, target).await;
        let value = match *by {
            "md5" => held.clone(),
            "listed" => listed.clone(),
            _ => format!("{other}, {held}, \"x-0\""),
        };
        let content = format!("{}", number + 1);
        for wrong in [other.as_str(), "\"x-0\"", &format!("{other}, \"x-0\"")] {
            let refused =
                client.send("PUT", target, &[("if-match", wrong)], b"x").await.expect(412);
            assert_eq!(refused.code(), "PreconditionFailed");
        }
        let headers = [("if-match", value.as_str())];
        let put = client.send("PUT", target, &headers, content.as_bytes()).await.expect(200);
        held = put.etag();
        assert_eq!(held, tag(content.as_bytes()), "{by}");
        client.send("PUT", target, &headers, b"late").await.expect(412);
        assert_eq!(client.ask("GET", target).await.expect(200).body, content.as_bytes());
    }
    // Conditions of copies and completions.
    client.put("/bucket/source", b"source").await.expect(200);
    for (value, status) in [(other.clone(), 412), (held, 200)] {
        let headers = [("x-amz-copy-source", "bucket/source"), ("if-match", value.as_str())];
        client.ask_with("PUT", target, &headers).await.expect(status);
    }
    let id = begin(client, target, &[]).await;
    let one = part(client, target, &id, 1, &content(PART, 1)).await;
    let list = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{one}</ETag></Part>\
         </CompleteMultipartUpload>"
    );
    let completion = format!("{target}?uploadId={id}");
    for (value, status) in [(other.clone(), 412), (tag(b"source"), 200)] {
        let headers = [("if-match", value.as_str())];
        let done = client.send("POST", &completion, &headers, list.as_bytes()).await;
        done.expect(status);
    }
    // An object that was uploaded in parts has no MD5 tag.
    let listed = in_list(client, target).await;
    assert_eq!(client.ask("HEAD", target).await.expect(200).etag(), listed);
    client.send("PUT", target, &[("if-match", &listed)], b"short").await.expect(200);
    for (value, status) in [(other, 412), (tag(b"short"), 204)] {
        client.ask_with("DELETE", target, &[("if-match", &value)]).await.expect(status);
    }
    client.ask("HEAD", target).await.expect(404);
}

/// Like S3, a folder supports only `*` in `If-None-Match` of writes.
#[tokio::test(flavor = "multi_thread")]
async fn writes_spare_content_with_an_md5() {
    let (_world, front) = with_bucket(|_| {}).await;
    let client = &front.client;
    let target = "/bucket/key";
    let (spared, other) = (tag(b"spared"), tag(b"other"));
    let put = async |headers: &[(&str, &str)], body: &[u8]| {
        client.send("PUT", target, headers, body).await.status
    };
    assert_eq!(put(&[("if-none-match", &spared)], b"first").await, 200);
    assert_eq!(put(&[("if-none-match", &spared)], b"spared").await, 200);
    assert_eq!(put(&[("if-none-match", &spared)], b"lost").await, 412);
    assert_eq!(put(&[("if-none-match", &format!("{other}, {spared}"))], b"lost").await, 412);
    let listed = in_list(client, target).await;
    assert_eq!(put(&[("if-none-match", &format!("{other}, {listed}"))], b"lost").await, 412);
    assert_eq!(client.ask("GET", target).await.expect(200).body, b"spared");
    // Two conditions in one request.
    assert_eq!(put(&[("if-none-match", &other), ("if-match", "\"x-0\"")], b"lost").await, 412);
    assert_eq!(put(&[("if-none-match", &other), ("if-match", &spared)], b"second").await, 200);
    assert_eq!(client.ask("GET", target).await.expect(200).body, b"second");
}

/// Another client writes between the lookup of the tag and the conditional write.
#[tokio::test(flavor = "multi_thread")]
async fn the_backend_decides_at_the_moment_of_the_write() {
    let (world, front) = with_bucket(|_| {}).await;
    let client = &front.client;
    let target = "/bucket/key";
    let [first, spared] = [tag(b"first"), tag(b"spared")];
    for (before, condition, value, meanwhile) in [
        // The object to be replaced is another one now, even if it has the same content.
        (Some("first"), "if-match", &first, "second"),
        (Some("first"), "if-match", &first, "first"),
        // The content that must not be replaced exists now.
        (Some("first"), "if-none-match", &spared, "spared"),
        (None, "if-none-match", &spared, "spared"),
    ] {
        client.ask("DELETE", target).await.expect(204);
        if let Some(before) = before {
            client.put(target, before.as_bytes()).await.expect(200);
        }
        let mut relay =
            Relay::before(folder(&world), |it| it.starts_with("PUT /bucket/key ")).await;
        let mut config = relay.config(&world);
        config.buckets = crate::md5_tags::config(&world, |_| {}).buckets;
        let late = serve(&config).await;
        let headers = [(condition, value.as_str())];
        let write = late.client.send("PUT", target, &headers, b"lost");
        let meanwhile = async {
            relay.arrived.recv().await.unwrap();
            client.put(target, meanwhile.as_bytes()).await.expect(200);
            relay.go_on.send(()).await.unwrap();
            meanwhile
        };
        // A write that is refused early would never arrive at the backend.
        let both = async { tokio::join!(write, meanwhile) };
        let timeout = core::time::Duration::from_secs(20);
        let (written, meanwhile) = tokio::time::timeout(timeout, both).await.unwrap();
        assert_eq!(written.expect(412).code(), "PreconditionFailed", "{before:?} {condition}");
        let got = client.ask("GET", target).await.expect(200);
        assert_eq!(got.body, meanwhile.as_bytes(), "{before:?} {condition}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_replace_an_object_by_its_md5_one_does() {
    let (_world, front) = with_bucket(|_| {}).await;
    let client = &front.client;
    for round in 0..8_u8 {
        let first = client.put("/bucket/key", &[round; 9]).await.expect(200).etag();
        let listed = in_list(client, "/bucket/key").await;
        let replace = async |value: &str, body: Vec<u8>| {
            client.send("PUT", "/bucket/key", &[("if-match", value)], &body).await.status
        };
        // All writers use the same content, so its MD5 does not distinguish them.
        let (a, b, c, d) = tokio::join!(
            replace(&first, vec![b'a'; 70_000]),
            replace(&first, vec![b'a'; 70_000]),
            replace(&listed, vec![b'a'; 70_000]),
            replace(&listed, vec![b'a'; 70_000])
        );
        let mut statuses = [a, b, c, d];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 412, 412, 412]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_among_many_are_deleted_by_either_name() {
    let (_world, front) = with_bucket(|_| {}).await;
    let client = &front.client;
    for key in ["a", "b", "c", "d"] {
        client.put(&format!("/bucket/{key}"), key.as_bytes()).await.expect(200);
    }
    let listed = in_list(client, "/bucket/b").await;
    let object =
        |key: &str, etag: &str| format!("<Object><Key>{key}</Key><ETag>{etag}</ETag></Object>");
    let document = format!(
        "<Delete>{}{}{}<Object><Key>d</Key></Object></Delete>",
        object("a", &tag(b"a")),
        object("b", &listed),
        object("c", &tag(b"other"))
    );
    let done = client.send("POST", "/bucket?delete", &[], document.as_bytes()).await.expect(200);
    assert_eq!(done.elements("Deleted").len(), 3, "{}", done.text());
    assert_eq!(done.elements("Code"), ["PreconditionFailed"]);
    let list = client.ask("GET", "/bucket").await.expect(200);
    assert_eq!(list.elements("Key"), ["c"]);
}

/// The result of a condition on an MD5 reveals the content.
#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_read_does_not_learn_what_is_there() {
    let (world, _) = with_bucket(|_| {}).await;
    let mut config = config(&world, |_| {});
    let writer = Known::new("WRITER", SecretAccessKey::new("secret".to_owned()))
        .with_permissions(Permissions::WRITE);
    config.clients.push(writer);
    let front = serve(&config).await;
    let writer = Client::new(front.client.address, "WRITER", "secret");
    let put = writer.put("/bucket/key", b"guess").await.expect(200).etag();
    assert_eq!(put, tag(b"guess"));
    let mut told = Vec::new();
    for guess in [tag(b"guess"), tag(b"other")] {
        for (method, name) in
            [("PUT", "if-match"), ("PUT", "if-none-match"), ("DELETE", "if-match")]
        {
            let answer = writer.send(method, "/bucket/key", &[(name, &guess)], b"x").await;
            told.push((answer.status, answer.code()));
        }
        let document =
            format!("<Delete><Object><Key>key</Key><ETag>{guess}</ETag></Object></Delete>");
        let answer = writer.send("POST", "/bucket?delete", &[], document.as_bytes()).await;
        told.push((answer.status, answer.code()));
    }
    assert!(told.iter().all(|it| *it == (403, "AccessDenied".to_owned())), "{told:?}");
    // A tag of the backend reveals nothing about the content.
    let listed = in_list(&front.client, "/bucket/key").await;
    writer.send("PUT", "/bucket/key", &[("if-match", &listed)], b"x").await.expect(200);
}

/// A listed upload with a part that was sent twice replaces objects with and without MD5 tags.
#[tokio::test(flavor = "multi_thread")]
async fn recorded_uploads_replace_what_is_called_by_its_md5() {
    let (world, front) = with_bucket(|_| {}).await;
    let client = &front.client;
    let target = "/bucket/key";
    let md5 = client.put(target, b"content").await.expect(200).etag();
    assert_eq!(md5, tag(b"content"));
    let id = begin(client, target, &[]).await;
    let body = content(PART, 7);
    let sum = Base64::encode_string(&sha256::digest(&body));
    let to = format!("{target}?partNumber=1&uploadId={id}");
    let headers = [("x-amz-checksum-sha256", sum.as_str())];
    let first = client.send("PUT", &to, &headers, &body).await.expect(200).etag();
    let again = client.send("PUT", &to, &headers, &body).await.expect(200).etag();
    assert_ne!(first, again);
    let listed = client.ask("GET", "/bucket?uploads").await.expect(200);
    assert_eq!(listed.elements("UploadId"), [id.as_str()]);
    let parts = [(1, first), (2, part(client, target, &id, 2, b"end").await)];
    let other = tag(b"other");
    let wrong = [("if-match", other.as_str())];
    complete_with(client, target, &id, &parts, &wrong).await.expect(412);
    assert_eq!(client.ask("GET", target).await.expect(200).body, b"content");
    let right = [("if-match", other.as_str()), ("if-match", &md5)];
    let completed = complete_with(client, target, &id, &parts, &right).await.expect(200);
    let head = client.ask("HEAD", target).await.expect(200);
    assert_eq!(head.etag(), completed.element("ETag"));
    assert_ne!(head.etag().len(), md5.len(), "it has no MD5");
    assert!(client.ask("GET", target).await.expect(200).body == [&body[..], b"end"].concat());
    let left = world.backend().ask("GET", "/bucket").await.expect(200);
    assert_eq!(left.elements("Key"), ["key"], "nothing is left of what was recorded");
}
