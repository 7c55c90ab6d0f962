//! Tests of conditional requests with the entity tags that clients see.

use endseal_s3proxy::Glob;
use endseal_s3proxy::bucket::{BucketRule, Buckets, Plaintext};

use crate::client::Client;
use crate::fixture::{World, content, serve};
use crate::multipart::{PART, begin, complete, complete_with, part};
use crate::odd_server::{OddServer, Oddity};
use crate::races::config_of;

#[tokio::test(flavor = "multi_thread")]
async fn reads_heed_conditions() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    let put = client.put("/bucket/key", b"content").await.expect(200);
    let tag = put.etag();
    let date = client.ask("HEAD", "/bucket/key").await.expect(200);
    let date = date.header("last-modified").unwrap().to_owned();
    let past = "Fri, 24 May 2013 00:00:00 GMT";
    for method in ["GET", "HEAD"] {
        for (name, value, status) in [
            ("if-match", tag.as_str(), 200),
            ("if-match", "*", 200),
            ("if-match", "\"other-0\"", 412),
            ("if-none-match", &tag, 304),
            ("if-none-match", "*", 304),
            ("if-none-match", "\"other-0\"", 200),
            ("if-modified-since", &date, 304),
            ("if-modified-since", past, 200),
            ("if-unmodified-since", &date, 200),
            ("if-unmodified-since", past, 412),
        ] {
            let got = client.ask_with(method, "/bucket/key", &[(name, value)]).await;
            assert_eq!(got.status, status, "{method} {name} {value}");
            if status == 304 {
                assert_eq!(got.etag(), tag, "{method} {name}");
            }
        }
    }
    let got = client
        .ask_with("GET", "/bucket/key", &[("range", "bytes=0-1"), ("if-range", &tag)])
        .await
        .expect(206);
    assert_eq!(got.body, b"co");
}

/// A client that resumes a download gets the rest of the same object, or the whole new object.
#[tokio::test(flavor = "multi_thread")]
async fn a_range_of_another_object_is_answered_with_all() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    let old = client.send("PUT", "/bucket/key", &[], &[b'o'; 70_000]).await.expect(200).etag();
    client.send("PUT", "/bucket/key", &[], b"content").await.expect(200);
    let head = client.ask("HEAD", "/bucket/key").await.expect(200);
    let (tag, date) = (head.etag(), head.header("last-modified").expect("it was modified"));
    let weak = format!("W/{tag}");
    let others = [old.as_str(), &weak, "\"other-0\"", "Thu, 01 Jan 1970 00:00:00 GMT"];
    // Ranges within the new object, at its end, and beyond it.
    for range in ["bytes=2-5", "bytes=2-", "bytes=-3", "bytes=65000-65010", "bytes=65000-"] {
        for other in others {
            let headers = [("range", range), ("if-range", other)];
            let got = client.ask_with("GET", "/bucket/key", &headers).await.expect(200);
            assert_eq!(got.body, b"content", "{headers:?}");
            assert_eq!(got.etag(), tag, "{headers:?}");
            let got = client.ask_with("HEAD", "/bucket/key", &headers).await.expect(200);
            assert_eq!(got.header("content-length"), Some("7"), "{headers:?}");
        }
    }
    for same in [tag.as_str(), date] {
        for (range, content) in [("bytes=2-5", &b"nten"[..]), ("bytes=-3", b"ent")] {
            let headers = [("range", range), ("if-range", same)];
            let got = client.ask_with("GET", "/bucket/key", &headers).await.expect(206);
            assert_eq!(got.body, content, "{headers:?}");
            client.ask_with("HEAD", "/bucket/key", &headers).await.expect(206);
        }
        let headers = [("range", "bytes=65000-65010"), ("if-range", same)];
        client.ask_with("GET", "/bucket/key", &headers).await.expect(416);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_create_one_does() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    let create = async |body: Vec<u8>| {
        client.send("PUT", "/bucket/key", &[("if-none-match", "*")], &body).await.status
    };
    let (a, b, c, d) = tokio::join!(
        create(vec![b'a'; 70_000]),
        create(vec![b'b'; 70_000]),
        create(vec![b'c'; 70_000]),
        create(vec![b'd'; 70_000])
    );
    let mut statuses = [a, b, c, d];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412, 412, 412]);
    let winner = b"abcd"[[a, b, c, d].iter().position(|status| *status == 200).unwrap()];
    let got = client.ask("GET", "/bucket/key").await.expect(200);
    assert_eq!(got.body, vec![winner; 70_000]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_meant_for_another_object_is_none() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    let missing = client.send("PUT", "/bucket/key", &[("if-match", "\"x-0\"")], b"1").await;
    assert_eq!((missing.status, missing.code().as_str()), (404, "NoSuchKey"));
    let first = client.put("/bucket/key", b"1").await.expect(200).etag();
    let second = client.send("PUT", "/bucket/key", &[("if-match", &first)], b"2").await.expect(200);
    assert_ne!(second.etag(), first);
    let late = client.send("PUT", "/bucket/key", &[("if-match", &first)], b"3").await;
    assert_eq!((late.status, late.code().as_str()), (412, "PreconditionFailed"));
    assert_eq!(client.ask("GET", "/bucket/key").await.expect(200).body, b"2");
}

/// Several lines of one condition are one list (RFC 9110, 5.3), in requests of all kinds.
#[tokio::test(flavor = "multi_thread")]
async fn several_lines_of_a_condition_are_one_list() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    let target = "/bucket/key";
    let other = "\"other-0\"";
    for (lines, is_it) in [
        (&[other, "TAG"][..], true),
        (&["TAG", other], true),
        (&[other, "\"a,b-3\"", "TAG"], true),
        (&[other, "\"a,b-3\", TAG"], true),
        (&[other, "*"], true),
        (&["*", other], true),
        (&[other, "\"a,b-3\""], false),
        (&[other, ""], false),
    ] {
        let tag = client.put(target, b"content").await.expect(200).etag();
        let lines: Vec<String> = lines.iter().map(|line| line.replace("TAG", &tag)).collect();
        let asking = |name| lines.iter().map(|line| (name, line.as_str())).collect::<Vec<_>>();
        for method in ["GET", "HEAD"] {
            for (name, yes, no) in [("if-match", 200, 412), ("if-none-match", 304, 200)] {
                let got = client.ask_with(method, target, &asking(name)).await;
                assert_eq!(got.status, if is_it { yes } else { no }, "{method} {name} {lines:?}");
            }
        }
        let mut headers = asking("x-amz-copy-source-if-match");
        headers.push(("x-amz-copy-source", "bucket/key"));
        let got = client.ask_with("PUT", "/bucket/copy", &headers).await;
        assert_eq!(got.status, if is_it { 200 } else { 412 }, "copy {lines:?}");
        let got = client.ask_with("DELETE", target, &asking("if-match")).await;
        assert_eq!(got.status, if is_it { 204 } else { 412 }, "DELETE {lines:?}");
        let tag = client.put(target, b"content").await.expect(200).etag();
        let mut lines = [("if-match", other), ("if-match", tag.as_str())];
        lines[..].rotate_left(usize::from(is_it));
        client.send("PUT", target, &lines, b"new").await.expect(200);
    }
    let tag = client.put(target, b"content").await.expect(200).etag();
    // A write that must not replace anything does not, whatever else is in the list.
    for lines in [
        [("if-none-match", "*"), ("if-none-match", other)],
        [("if-none-match", other), ("if-none-match", "*")],
    ] {
        client.send("PUT", target, &lines, b"lost").await.expect(412);
    }
    client.send("PUT", target, &[("if-none-match", "\"x-0\", *")], b"lost").await.expect(412);
    // Two lines are a condition that does not hold, so the whole content is returned.
    let headers = [("range", "bytes=0-1"), ("if-range", tag.as_str()), ("if-range", other)];
    assert_eq!(client.ask_with("GET", target, &headers).await.expect(200).body, b"content");
}

/// No client ever got a tag with such bytes, so a list with one is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_condition_that_is_no_text_is_refused() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    client.put("/bucket/key", b"content").await.expect(200);
    let (empty, marked) = (client.head("GET", "/bucket/key", &[], 0), "if-match: \"\u{e9}-0\"\r\n");
    let (first, rest) = empty.split_once("\r\n").unwrap();
    let head = format!("{first}\r\n{marked}{rest}");
    let refused = client.exchange(&head, b"", false).await.expect(400);
    assert_eq!(refused.code(), "InvalidArgument");
}

/// Some servers state the tag of the existing object with status 412. Clients see their form of it,
/// or none.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_is_refused_tells_no_tag_of_the_backend() {
    let (world, front) = World::with_bucket().await;
    let mut tag = front.client.put("/bucket/key", b"content").await.expect(200).etag();
    front.client.put("/bucket/source", b"source").await.expect(200);
    world.backend().put("/bucket/open", b"plaintext").await.expect(200);
    let address = OddServer::start(&world, Oddity::TellsTags).await.address;
    let mut config = config_of(&world, address);
    let mut told = 0;
    for plaintext in [Plaintext::Forbid, Plaintext::ReadOnly, Plaintext::Allow] {
        let mut rule = BucketRule::new(Glob::new("*"));
        rule.plaintext = plaintext;
        config.buckets = Buckets::new(vec![rule]);
        let front = serve(&config).await;
        let client = &front.client;
        let wrong = ("if-match", "\"other-0\"");
        let mut answers = vec![
            client.send("PUT", "/bucket/key", &[wrong], b"new").await,
            client.ask_with("DELETE", "/bucket/key", &[wrong]).await,
        ];
        let sources = match plaintext {
            Plaintext::Forbid => &["/bucket/source"][..],
            _ => &["/bucket/source", "/bucket/open"],
        };
        for source in sources {
            let headers = [("x-amz-copy-source", *source), wrong];
            answers.push(client.ask_with("PUT", "/bucket/key", &headers).await);
        }
        let id = begin(client, "/bucket/key", &[]).await;
        let parts = [(1, part(client, "/bucket/key", &id, 1, b"new").await)];
        answers.push(complete_with(client, "/bucket/key", &id, &parts, &[wrong]).await);
        for (at, answer) in answers.into_iter().enumerate() {
            assert_eq!(answer.expect(412).etag(), tag, "{plaintext:?} {at}");
            told += 1;
        }
        // A client continues with that tag.
        let again = client.send("PUT", "/bucket/key", &[("if-match", &tag)], b"content").await;
        tag = again.expect(200).etag();
    }
    assert_eq!(told, 4 + 5 + 5);
}

/// Stores an object in parts, and returns the tag of the completion's response.
async fn in_parts(client: &Client, target: &str) -> String {
    let id = begin(client, target, &[]).await;
    let parts = [
        (1, part(client, target, &id, 1, &content(PART, 1)).await),
        (2, part(client, target, &id, 2, &content(70_000, 2)).await),
    ];
    complete(client, target, &id, &parts).await.expect(200).element("ETag")
}

/// Returns the tag of an object and checks that all responses agree.
async fn one_tag(client: &Client, target: &str) -> String {
    let head = client.ask("HEAD", target).await.expect(200);
    let tag = head.etag();
    assert!(tag.contains('-'), "{target} {tag}: it looks like an MD5");
    let range = [("range", "bytes=2-5")];
    let suffix = [("range", "bytes=-5")];
    for method in ["GET", "HEAD"] {
        assert_eq!(client.ask(method, target).await.expect(200).etag(), tag, "{method} {target}");
        for range in [range, suffix] {
            let got = client.ask_with(method, target, &range).await.expect(206);
            assert_eq!(got.etag(), tag, "{method} {target} {range:?}");
        }
        let got = client.ask(method, &format!("{target}?partNumber=1")).await;
        assert!(matches!(got.status, 200 | 206), "{method} {target}: {}", got.status);
        assert_eq!(got.etag(), tag, "{method} {target}, a part");
    }
    let (bucket, key) = target[1..].split_once('/').unwrap();
    for query in ["", "&list-type=2", "&list-type=2&encoding-type=url"] {
        let list = client.ask("GET", &format!("/{bucket}?prefix={key}{query}")).await.expect(200);
        assert_eq!(list.elements("ETag"), [tag.as_str()], "{target} {query}");
    }
    tag
}

/// Checks that conditions hold for exactly this tag.
async fn heeds(client: &Client, target: &str, tag: &str) {
    let plain = tag.trim_matches('"');
    let other = format!("\"{}\"", plain.trim_end_matches("-0").chars().rev().collect::<String>());
    let stripped = format!("\"{}\"", plain.strip_suffix("-0").unwrap_or("0"));
    for range in [None, Some(("range", "bytes=2-5")), Some(("range", "bytes=-5"))] {
        let found = if range.is_some() { 206 } else { 200 };
        for method in ["GET", "HEAD"] {
            for (name, value, status) in [
                ("if-match", tag, found),
                ("if-match", plain, found),
                ("if-match", &other, 412),
                ("if-match", &stripped, 412),
                ("if-none-match", tag, 304),
                ("if-none-match", &other, found),
                ("if-none-match", &stripped, found),
            ] {
                let mut headers = vec![(name, value)];
                headers.extend(range);
                let got = client.ask_with(method, target, &headers).await;
                assert_eq!(got.status, status, "{method} {target} {headers:?}");
                if status != 412 {
                    assert_eq!(got.etag(), tag, "{method} {target} {headers:?}");
                }
            }
        }
    }
    let headers = [("range", "bytes=2-5"), ("if-range", tag)];
    let got = client.ask_with("GET", target, &headers).await.expect(206);
    assert_eq!(got.etag(), tag, "{target} {headers:?}");
    for (name, value, status) in [
        ("x-amz-copy-source-if-match", tag, 200),
        ("x-amz-copy-source-if-match", &other, 412),
        ("x-amz-copy-source-if-match", &stripped, 412),
        ("x-amz-copy-source-if-none-match", tag, 412),
        ("x-amz-copy-source-if-none-match", &other, 200),
    ] {
        for to in ["/forbid", "/read-only", "/allow"] {
            let copy = format!("{to}/copied");
            let id = begin(client, &copy, &[]).await;
            let upload = format!("{copy}?partNumber=1&uploadId={id}");
            let headers = [("x-amz-copy-source", target), (name, value)];
            for at in [copy.as_str(), &upload] {
                let got = client.ask_with("PUT", at, &headers).await;
                assert_eq!(got.status, status, "{target} {at} {name} {value}: {}", got.text());
                if status == 200 && at == copy {
                    assert_eq!(got.element("ETag"), one_tag(client, &copy).await, "{target} {to}");
                }
            }
            client.ask("DELETE", &format!("{copy}?uploadId={id}")).await.expect(204);
        }
    }
}

/// Checks that conditional writes replace the object with this tag and no other.
async fn is_replaced(client: &Client, target: &str, tag: &str) {
    for value in ["\"other-0\"", "\"other\""] {
        let refused = client.send("PUT", target, &[("if-match", value)], b"new").await;
        assert_eq!(refused.expect(412).code(), "PreconditionFailed", "{target}");
        let refused = client.ask_with("DELETE", target, &[("if-match", value)]).await;
        assert_eq!(refused.expect(412).code(), "PreconditionFailed", "{target}");
    }
    let put = client.send("PUT", target, &[("if-match", tag)], b"replaced").await.expect(200);
    let tag = one_tag(client, target).await;
    assert_eq!(put.etag(), tag, "{target}");
    // All ways of copying: within the backend, rewrapped, and with content that passes through the
    // proxy.
    for source in ["/forbid/source", "/read-only/open", "/allow/open"] {
        let tag = one_tag(client, target).await;
        let copy = async |value| {
            let headers = [("x-amz-copy-source", source), ("if-match", value)];
            client.ask_with("PUT", target, &headers).await
        };
        assert_eq!(copy("\"other-0\"").await.expect(412).code(), "PreconditionFailed", "{target}");
        let copied = copy(&tag).await.expect(200).element("ETag");
        assert_eq!(copied, one_tag(client, target).await, "{target} {source}");
    }
    let tag = one_tag(client, target).await;
    client.ask_with("DELETE", target, &[("if-match", &tag)]).await.expect(204);
    client.ask("HEAD", target).await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_has_one_tag_where_plaintext_is_forbidden() {
    have_one_tag("forbid").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_has_one_tag_where_plaintext_is_read() {
    have_one_tag("read-only").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_has_one_tag_where_plaintext_is_allowed() {
    have_one_tag("allow").await;
}

/// Checks objects of each kind that the bucket with this name can contain.
async fn have_one_tag(bucket: &str) {
    let world = World::new();
    let rules = [
        ("forbid", Plaintext::Forbid),
        ("read-only", Plaintext::ReadOnly),
        ("allow", Plaintext::Allow),
    ];
    let rules = rules.map(|(name, plaintext)| {
        let mut rule = BucketRule::new(Glob::new(name));
        rule.plaintext = plaintext;
        rule
    });
    let mut config = world.config();
    config.buckets = Buckets::new(rules.into());
    let front = serve(&config).await;
    let (client, backend) = (&front.client, world.backend());
    for bucket in ["/forbid", "/read-only", "/allow"] {
        client.ask("PUT", bucket).await.expect(200);
    }
    client.put("/forbid/source", b"sealed").await.expect(200);
    backend.put("/read-only/open", b"plaintext").await.expect(200);
    client.put("/allow/open", b"plaintext").await.expect(200);
    let mut known = Vec::new();
    let (whole, large) = (format!("/{bucket}/whole"), format!("/{bucket}/large"));
    known.push((client.put(&whole, &content(50_000, 3)).await.expect(200).etag(), whole));
    known.push((in_parts(client, &large).await, large));
    if bucket == "allow" {
        let (source, target) = ("forbid/source", "/allow/sealed");
        let copied = client.ask_with("PUT", target, &[("x-amz-copy-source", source)]).await;
        known.push((copied.expect(200).element("ETag"), target.to_owned()));
        let header = backend.ask("HEAD", target).await.expect(200);
        assert!(header.header("x-amz-meta-endseal").is_some(), "a sealed copy");
    }
    if bucket == "read-only" {
        backend.put("/read-only/plain", &content(50_000, 4)).await.expect(200);
        let shown = one_tag(client, "/read-only/plain").await;
        known.push((shown, "/read-only/plain".to_owned()));
        known.push((in_parts(&backend, "/read-only/parts").await, "/read-only/parts".to_owned()));
    }
    for (tag, target) in &known {
        assert_eq!(one_tag(client, target).await, *tag, "{target}");
        heeds(client, target, tag).await;
    }
    for (tag, target) in &known {
        is_replaced(client, target, tag).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_plaintext_have_one_tag() {
    let world = World::new();
    let mut rule = BucketRule::new(Glob::new("allow"));
    rule.plaintext = Plaintext::Allow;
    let mut config = world.config();
    config.buckets = Buckets::new(vec![rule]);
    let front = serve(&config).await;
    let client = &front.client;
    client.ask("PUT", "/allow").await.expect(200);
    client.put("/allow/source", &content(PART, 5)).await.expect(200);
    let target = "/allow/key";
    let id = begin(client, target, &[]).await;
    let sent = part(client, target, &id, 1, &content(PART, 6)).await;
    let numbered = format!("{target}?partNumber=2&uploadId={id}");
    let copied = client
        .ask_with("PUT", &numbered, &[("x-amz-copy-source", "allow/source")])
        .await
        .expect(200);
    let copied = copied.element("ETag");
    let listed = client.ask("GET", &format!("{target}?uploadId={id}")).await.expect(200);
    assert_eq!(listed.elements("ETag"), [sent.as_str(), &copied]);
    let done = complete(client, target, &id, &[(1, sent), (2, copied)]).await.expect(200);
    assert_eq!(done.element("ETag"), one_tag(client, target).await);
}
