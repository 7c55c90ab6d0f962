//! Tests of MD5 entity tags: the objects that have them, and the responses that contain them.

use base64ct::{Base64, Encoding as _};
use endseal_crypto::legacy_hash::Md5;
use endseal_s3proxy::admin::Rewrap;
use endseal_s3proxy::bucket::{BucketRule, Buckets, EntityTags, Plaintext};
use endseal_s3proxy::{Config, Glob};

use crate::client::Client;
use crate::fixture::{Front, World, content, eventually, files_below, serve};
use crate::forms::{CONDITIONS, Form};
use crate::multipart::{PART, begin, complete, part};
use crate::rewrap::{rotate, run};

/// Maximum number of bytes that are buffered to compute an MD5.
const MOST: usize = 256 * 1024;

pub(crate) fn md5(content: &[u8]) -> [u8; 16] {
    let mut md5 = Md5::new();
    md5.update(content);
    md5.finish()
}

/// Returns the MD5 as an entity tag.
pub(crate) fn tag(content: &[u8]) -> String {
    let digits: String = md5(content).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digits}\"")
}

fn base64(content: &[u8]) -> String {
    Base64::encode_string(&md5(content))
}

/// Returns a configuration with MD5 tags in all buckets except `plain`, which has the default rule.
pub(crate) fn config(world: &World, change: impl Fn(&mut BucketRule)) -> Config {
    let mut rule = BucketRule::new(Glob::new("*"));
    rule.entity_tags = EntityTags::Md5;
    change(&mut rule);
    let mut config = world.config();
    config.buckets = Buckets::new(vec![BucketRule::new(Glob::new("plain")), rule]);
    config
}

pub(crate) async fn with_bucket(change: impl Fn(&mut BucketRule)) -> (World, Front) {
    let world = World::new();
    let front = serve(&config(&world, change)).await;
    for bucket in ["/bucket", "/plain"] {
        front.client.ask("PUT", bucket).await.expect(200);
    }
    (world, front)
}

/// Returns the tag of an object and checks that all responses about it agree.
async fn one_tag(client: &Client, target: &str, len: usize) -> String {
    let tag = client.ask("HEAD", target).await.expect(200).etag();
    let listed = in_list(client, target).await;
    let mut asked = vec![("GET", None, "", 200), ("HEAD", None, "?partNumber=1", 206)];
    asked.push(("GET", None, "?partNumber=1", 206));
    for range in ["bytes=0-0", "bytes=0-", "bytes=-1"] {
        asked.extend([("GET", Some(range), "", 206), ("HEAD", Some(range), "", 206)]);
    }
    for (method, range, query, status) in asked {
        if len == 0 && status == 206 {
            continue;
        }
        let headers: Vec<_> = range.map(|range| ("range", range)).into_iter().collect();
        let got = client.ask_with(method, &format!("{target}{query}"), &headers).await;
        // For plaintext, a backend may not treat the whole object as a part.
        let status = if query.is_empty() { status } else { got.status };
        assert!(matches!(status, 200 | 206), "{method} {target} {query}: {status}");
        assert_eq!(got.expect(status).etag(), tag, "{method} {target} {query} {range:?}");
    }
    for known in [&tag, &listed] {
        let headers = [("if-none-match", known.as_str())];
        for method in ["GET", "HEAD"] {
            let unchanged = client.ask_with(method, target, &headers).await.expect(304);
            assert_eq!(unchanged.etag(), tag, "{method} {target} {known}");
        }
    }
    tag
}

/// Returns the tag of an object in lists.
pub(crate) async fn in_list(client: &Client, target: &str) -> String {
    let (bucket, key) = target[1..].split_once('/').unwrap();
    let list = client.ask("GET", &format!("/{bucket}?prefix={key}&list-type=2")).await.expect(200);
    list.element("ETag")
}

#[tokio::test(flavor = "multi_thread")]
async fn short_objects_and_those_whose_md5_is_said_are_called_by_it() {
    let (world, front) = with_bucket(|_| {}).await;
    let client = &front.client;
    let target = "/bucket/key";
    for (len, said, is_called) in [
        (0, false, true),
        (3, false, true),
        (MOST - 1, false, true),
        (MOST, false, true),
        (MOST + 1, false, false),
        (0, true, true),
        (MOST + 1, true, true),
        (2_000_000, true, true),
        (2_000_000, false, false),
    ] {
        let content = content(len, 7);
        let said = said.then(|| base64(&content));
        let headers: Vec<_> = said.iter().map(|md5| ("content-md5", md5.as_str())).collect();
        let put = client.send("PUT", target, &headers, &content).await.expect(200);
        assert_eq!(put.etag() == tag(&content), is_called, "{len} {}", put.etag());
        assert_eq!(put.etag().ends_with("-0\""), !is_called, "{len} {}", put.etag());
        assert_eq!(one_tag(client, target, len).await, put.etag(), "{len}");
        let got = client.ask("GET", target).await.expect(200);
        assert!(got.body == content, "{len}");
        assert_eq!(got.header("x-amz-meta-endseal-md5"), None);
        let listed = in_list(client, target).await;
        assert!(listed.ends_with("-0\"") && !listed.contains(&tag(&content)[1..33]), "{listed}");
        let stored = world.backend().ask("HEAD", target).await.expect(200);
        let entry = stored.header("x-amz-meta-endseal-md5").map(str::len);
        assert_eq!(entry, is_called.then_some(75), "{len}");
    }
    // Two writes of the same content have different sealed entries.
    let entry = async || {
        client.put(target, b"same").await.expect(200);
        let stored = world.backend().ask("HEAD", target).await.expect(200);
        stored.header("x-amz-meta-endseal-md5").unwrap().to_owned()
    };
    let [one, other] = [entry().await, entry().await];
    assert!(one.get(..8) != other.get(..8) && one.get(40..48) != other.get(40..48));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_backend_does_not_learn_an_md5() {
    let (world, front) = with_bucket(|_| {}).await;
    let contents = [&b"bar"[..], b"", &content(100_000, 1)];
    for (number, content) in contents.iter().enumerate() {
        let md5 = base64(content);
        let headers = [("content-md5", md5.as_str())];
        for (key, headers) in [("a", &headers[..]), ("b", &[])] {
            let target = format!("/bucket/{key}{number}");
            front.client.send("PUT", &target, headers, content).await.expect(200);
        }
    }
    let mut files = Vec::new();
    files_below(&world.scratch.folder().join("objects"), &mut files);
    assert!(files.len() >= 12);
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        for content in contents {
            let (digits, said) = (tag(content), base64(content));
            let forms = [&digits.as_bytes()[1..33], &said.as_bytes()[..21], &md5(content)];
            for form in forms {
                assert!(!bytes.windows(form.len()).any(|it| it == form), "{}", path.display());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn content_of_another_md5_is_refused_and_leaves_nothing() {
    let (world, front) = with_bucket(|_| {}).await;
    let client = &front.client;
    let md5 = base64(b"other content");
    let digest = [("content-md5", md5.as_str())];
    for len in [0, 3, 16_384, MOST, MOST + 1, 1_000_000] {
        let content = content(len, 2);
        let refused = client.send("PUT", "/bucket/key", &digest, &content).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "BadDigest"), "{len}");
        let wrong = [("x-amz-checksum-crc32c", "AAAAAQ==")];
        let refused = client.send("PUT", "/bucket/key", &wrong, &content).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "BadDigest"), "{len}");
    }
    client.ask("HEAD", "/bucket/key").await.expect(404);
    eventually("nothing stays", || world.unfinished().is_empty()).await;
    assert!(world.data().is_empty());
    // Content that ends early is refused, whether it is buffered or not.
    for (len, sent) in [(1_000, 999), (MOST, 0), (MOST + 1, MOST)] {
        let head = client.head("PUT", "/bucket/key", &[], len);
        let mut stream = tokio::net::TcpStream::connect(client.address).await.unwrap();
        use tokio::io::AsyncWriteExt as _;
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&content(sent, 3)).await.unwrap();
        drop(stream);
    }
    eventually("nothing stays", || world.unfinished().is_empty()).await;
    client.ask("HEAD", "/bucket/key").await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn checksums_of_held_content_are_kept() {
    let (_world, front) = with_bucket(|_| {}).await;
    let client = &front.client;
    let headers = [("x-amz-checksum-sha256", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=")];
    let put = client.send("PUT", "/bucket/key", &headers, b"abc").await.expect(200);
    assert_eq!(put.etag(), "\"900150983cd24fb0d6963f7d28e17f72\"");
    assert_eq!(put.header("x-amz-checksum-sha256"), Some(headers[0].1));
    let got = client.ask_with("GET", "/bucket/key", &[("x-amz-checksum-mode", "ENABLED")]).await;
    assert_eq!(got.expect(200).header("x-amz-checksum-sha256"), Some(headers[0].1));
}

#[tokio::test(flavor = "multi_thread")]
async fn all_others_keep_their_tags() {
    let (world, front) = with_bucket(|rule| rule.plaintext = Plaintext::ReadOnly).await;
    let (client, backend) = (&front.client, world.backend());
    let target = "/bucket/parts";
    let id = begin(client, target, &[]).await;
    let parts = [
        (1, part(client, target, &id, 1, &content(PART, 1)).await),
        (2, part(client, target, &id, 2, b"bar").await),
    ];
    let done = complete(client, target, &id, &parts).await.expect(200).element("ETag");
    assert_eq!(one_tag(client, target, 3).await, done);
    // Plaintext has no MD5 tag, even if its tag at the server is the MD5 of its content.
    let open = backend.put("/bucket/open", b"bar").await.expect(200).etag();
    let shown = one_tag(client, "/bucket/open", 3).await;
    assert_eq!(shown, format!("{}-0\"", open.trim_end_matches('"')));
    // The object was written before the rule existed.
    let before = world.proxy().await;
    let old = before.client.put("/bucket/old", b"bar").await.expect(200).etag();
    assert_eq!(one_tag(client, "/bucket/old", 3).await, old);
    for target in [target, "/bucket/open", "/bucket/old"] {
        for (name, status) in [("if-match", 412), ("if-none-match", 200)] {
            let got = client.ask_with("GET", target, &[(name, &tag(b"bar"))]).await;
            assert_eq!(got.status, status, "{target} {name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_rule_the_entry_means_nothing() {
    let (world, front) = with_bucket(|_| {}).await;
    let plain = world.proxy().await;
    let client = &plain.client;
    front.client.put("/bucket/key", b"bar").await.expect(200);
    let tag_of_old = in_list(&front.client, "/bucket/key").await;
    assert_eq!(one_tag(client, "/bucket/key", 3).await, tag_of_old);
    let got = client.ask("GET", "/bucket/key").await.expect(200);
    assert_eq!(got.header("x-amz-meta-endseal-md5"), None);
    let md5 = tag(b"bar");
    for (name, value, status) in [
        ("if-match", md5.as_str(), 412),
        ("if-none-match", &md5, 200),
        ("if-match", &tag_of_old, 200),
    ] {
        let got = client.ask_with("GET", "/bucket/key", &[(name, value)]).await;
        assert_eq!(got.status, status, "{name} {value}");
    }
    let put = client.put("/bucket/key", b"bar").await.expect(200).etag();
    assert!(put.ends_with("-0\""), "{put}");
    let stored = world.backend().ask("HEAD", "/bucket/key").await.expect(200);
    assert_eq!(stored.header("x-amz-meta-endseal-md5"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_carry_the_md5_with_the_content_key() {
    let (world, front) = with_bucket(|rule| rule.plaintext = Plaintext::ReadOnly).await;
    let client = &front.client;
    let (md5, large) = (tag(b"bar"), content(MOST + 9, 1));
    let said = base64(&large);
    client.put("/bucket/source", b"bar").await.expect(200);
    let headers = [("content-md5", said.as_str())];
    client.send("PUT", "/bucket/large", &headers, &large).await.expect(200);
    let copy = async |from: &str, to: &str, more: &[(&str, &str)]| {
        let headers = [&[("x-amz-copy-source", from)], more].concat();
        client.ask_with("PUT", to, &headers).await
    };
    let replaces = [("x-amz-metadata-directive", "REPLACE"), ("x-amz-meta-b", "2")];
    for (from, to, more, expected) in [
        ("bucket/source", "/bucket/copy", &[][..], md5.clone()),
        ("bucket/source", "/bucket/replaced", &replaces, md5.clone()),
        ("bucket/source", "/bucket/source", &replaces, md5.clone()),
        ("bucket/large", "/bucket/large-copy", &[], tag(&large)),
        ("bucket/large", "/plain/between", &[], String::new()),
        ("plain/between", "/bucket/again", &[], tag(&large)),
    ] {
        let copied = copy(from, to, more).await.expect(200).element("ETag");
        assert_eq!(copied, one_tag(client, to, 3).await, "{to}");
        if to.starts_with("/plain") {
            assert!(copied.ends_with("-0\""), "{copied}");
        } else {
            assert_eq!(copied, expected, "{to}");
        }
        let entry = world.backend().ask("HEAD", to).await.expect(200);
        assert!(entry.header("x-amz-meta-endseal-md5").is_some(), "{to}");
        assert_eq!(client.ask("GET", to).await.expect(200).header("x-amz-meta-endseal-md5"), None);
    }
    // Conditions on the source of a copy, by either tag.
    let listed = in_list(client, "/bucket/source").await;
    let other = tag(b"other");
    let both = format!("{other}, {md5}");
    for (name, value, status) in [
        ("x-amz-copy-source-if-match", md5.as_str(), 200),
        ("x-amz-copy-source-if-match", &listed, 200),
        ("x-amz-copy-source-if-match", &both, 200),
        ("x-amz-copy-source-if-match", &other, 412),
        ("x-amz-copy-source-if-none-match", &md5, 412),
        ("x-amz-copy-source-if-none-match", &listed, 412),
        ("x-amz-copy-source-if-none-match", &other, 200),
    ] {
        let copied = copy("bucket/source", "/bucket/conditional", &[(name, value)]).await;
        assert_eq!(copied.status, status, "{name} {value}");
        let id = begin(client, "/bucket/part", &[]).await;
        let target = format!("/bucket/part?partNumber=1&uploadId={id}");
        let copied = copy("bucket/source", &target, &[(name, value)]).await;
        assert_eq!(copied.status, status, "a part: {name} {value}");
    }
    // Plaintext that is sealed by a copy gets an entry if it is short.
    for (len, is_called) in [(3, true), (MOST, true), (MOST + 1, false)] {
        let content = content(len, 4);
        world.backend().put("/bucket/open", &content).await.expect(200);
        let copied = copy("bucket/open", "/bucket/sealed", &[]).await.expect(200).element("ETag");
        assert_eq!(copied == tag(&content), is_called, "{len}");
        assert_eq!(one_tag(client, "/bucket/sealed", len).await, copied, "{len}");
        assert!(client.ask("GET", "/bucket/sealed").await.expect(200).body == content);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_are_called_by_the_md5_of_their_file() {
    let (_world, front) = with_bucket(|_| {}).await;
    let client = &front.client;
    let conditions = format!(
        "{CONDITIONS}, {{\"success_action_status\": \"201\"}}, [\"starts-with\", \"$content-md5\", \"\"]"
    );
    for (len, said, is_called) in
        [(0, false, true), (1_000, false, true), (300_000, false, false), (300_000, true, true)]
    {
        let file = content(len, 3);
        let md5 = base64(&file);
        let mut fields = vec![("key", "up/x"), ("success_action_status", "201")];
        fields.extend(said.then_some(("content-md5", md5.as_str())));
        let posted = Form::signed(client, &conditions, &fields, &file).post(client).await;
        let shown = posted.expect(201).element("ETag");
        assert_eq!(shown == tag(&file), is_called, "{len} {shown}");
        assert_eq!(one_tag(client, "/bucket/up/x", len).await, shown, "{len}");
        assert!(client.ask("GET", "/bucket/up/x").await.expect(200).body == file, "{len}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrapped_anew_keeps_its_md5() {
    let (world, front) = with_bucket(|_| {}).await;
    let client = &front.client;
    client.put("/bucket/key", b"bar").await.expect(200);
    client.put("/plain/key", b"bar").await.expect(200);
    let entry = async || {
        let stored = world.backend().ask("HEAD", "/bucket/key").await.expect(200);
        stored.header("x-amz-meta-endseal-md5").unwrap().to_owned()
    };
    let (before, listed) = (entry().await, in_list(client, "/bucket/key").await);
    rotate(&world.ring());
    let (report, _) = run(&config(&world, |_| {}), &Rewrap::default()).await;
    // The folder gives copies new tags. Clients see this only for the object without an MD5 tag.
    assert_eq!((report.rewrapped, report.retagged), (2, 1));
    assert_eq!(entry().await, before);
    let front = serve(&config(&world, |_| {})).await;
    assert_eq!(one_tag(&front.client, "/bucket/key", 3).await, tag(b"bar"));
    assert_ne!(in_list(&front.client, "/bucket/key").await, listed);
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_that_do_not_open_are_errors() {
    let (world, front) = with_bucket(|_| {}).await;
    let (client, backend) = (&front.client, world.backend());
    let plain = world.proxy().await;
    client.put("/bucket/key", b"bar").await.expect(200);
    client.put("/bucket/other", b"bar").await.expect(200);
    let id = begin(client, "/bucket/parts", &[]).await;
    let tag_of_part = part(client, "/bucket/parts", &id, 1, b"bar").await;
    complete(client, "/bucket/parts", &id, &[(1, tag_of_part)]).await.expect(200);
    let stored = backend.ask("GET", "/bucket/key").await.expect(200);
    let [header, entry] = ["x-amz-meta-endseal", "x-amz-meta-endseal-md5"]
        .map(|name| stored.header(name).unwrap().to_owned());
    let other = backend.ask("HEAD", "/bucket/other").await.expect(200);
    let other = other.header("x-amz-meta-endseal-md5").unwrap().to_owned();
    let flipped = entry.replacen(&entry[40..41], if &entry[40..41] == "A" { "B" } else { "A" }, 1);
    let cut = &entry[..entry.len() - 4];
    let (digits, said) = (tag(b"bar"), base64(b"bar"));
    for wrong in [other.as_str(), &flipped, cut, &digits[1..33], &said, "x", "A", " "] {
        let beside = [("x-amz-meta-endseal", header.as_str()), ("x-amz-meta-endseal-md5", wrong)];
        let written = backend.send("PUT", "/bucket/key", &beside, &stored.body).await.expect(200);
        let listed = format!("\"{}-0\"", written.etag().trim_matches('"'));
        let refused = client.ask("GET", "/bucket/key").await.expect(500);
        assert_eq!(refused.code(), "ObjectNotAuthentic", "{wrong}");
        client.ask("HEAD", "/bucket/key").await.expect(500);
        let known = [("if-none-match", listed.as_str())];
        client.ask_with("GET", "/bucket/key", &known).await.expect(500);
        for (method, name) in [
            ("GET", "if-match"),
            ("PUT", "if-match"),
            ("PUT", "if-none-match"),
            ("DELETE", "if-match"),
        ] {
            let refused = client.send(method, "/bucket/key", &[(name, &digits)], b"").await;
            assert_eq!(refused.expect(500).code(), "ObjectNotAuthentic", "{method} {name} {wrong}");
        }
        let from = [("x-amz-copy-source", "bucket/key")];
        let refused = client.ask_with("PUT", "/bucket/copy", &from).await.expect(500);
        assert_eq!(refused.code(), "ObjectNotAuthentic", "{wrong}");
        // The entry is ignored in buckets without MD5 tags.
        let got = plain.client.ask("GET", "/bucket/key").await.expect(200);
        assert_eq!((got.etag(), &got.body[..]), (listed, &b"bar"[..]));
    }
    client.ask("HEAD", "/bucket/copy").await.expect(404);
    // The entry is stored beside a multipart object.
    let parts = backend.ask("GET", "/bucket/parts").await.expect(200);
    let header = parts.header("x-amz-meta-endseal").unwrap();
    let beside = [("x-amz-meta-endseal", header), ("x-amz-meta-endseal-md5", entry.as_str())];
    backend.send("PUT", "/bucket/parts", &beside, &parts.body).await.expect(200);
    let refused = client.ask("GET", "/bucket/parts").await.expect(500);
    assert_eq!(refused.code(), "ObjectNotAuthentic");
    // Without the entry, clients see the other tag.
    let beside = [("x-amz-meta-endseal", stored.header("x-amz-meta-endseal").unwrap())];
    backend.send("PUT", "/bucket/key", &beside, &stored.body).await.expect(200);
    assert!(one_tag(client, "/bucket/key", 3).await.ends_with("-0\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_entry_counts_towards_metadata_and_belongs_to_the_proxy() {
    for seals in [false, true] {
        let (world, front) = with_bucket(|rule| rule.seal_metadata = seals).await;
        let client = &front.client;
        let own = [("x-amz-meta-endseal-md5", "x")];
        let refused = client.send("PUT", "/bucket/key", &own, b"bar").await.expect(400);
        assert_eq!(refused.code(), "InvalidArgument");
        let longest = async |bucket: &str| {
            let (mut fits, mut too_long) = (0, 2_048);
            while too_long - fits > 1 {
                let len = (fits + too_long) / 2;
                let value = "v".repeat(len);
                let headers = [("x-amz-meta-a", value.as_str())];
                let put = client.send("PUT", &format!("{bucket}/key"), &headers, b"bar").await;
                match put.status {
                    200 => fits = len,
                    status => {
                        assert_eq!((status, put.code().as_str()), (400, "MetadataTooLarge"));
                        too_long = len;
                    }
                }
            }
            let got = client.ask("GET", &format!("{bucket}/key")).await.expect(200);
            assert_eq!(got.header("x-amz-meta-a").map(str::len), Some(fits));
            let head = world.backend().ask("HEAD", &format!("{bucket}/key")).await.expect(200);
            let metadata = head.headers.iter().filter_map(|(name, value)| {
                Some(name.as_str().strip_prefix("x-amz-meta-")?.len() + value.len())
            });
            let all: usize = metadata.sum();
            assert!(all <= 2_048 && all > 2_040, "{all}");
            fits
        };
        let (with, without) = (longest("/bucket").await, longest("/plain").await);
        match seals {
            false => assert_eq!(without - with, 86),
            // In the other bucket metadata is not sealed.
            true => assert!(with < 1_300 && without > 1_600, "{with} {without}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn encrypted_names_and_sealed_metadata_make_no_difference() {
    let world = World::new();
    let file = world.scratch.folder().join("names.secret");
    let file = endseal_s3proxy::name_secret::NameSecretFile::at(&file);
    let secret = file.create(&mut endseal_crypto::random::OsRandom).unwrap();
    let names = endseal_s3proxy::bucket::BucketNames::new(secret);
    let config = config(&world, |rule| {
        rule.names = Some(names.clone());
        rule.seal_metadata = true;
    });
    let front = serve(&config).await;
    let client = &front.client;
    client.ask("PUT", "/bucket").await.expect(200);
    let target = "/bucket/folder/key";
    let beside = [("x-amz-meta-a", "1")];
    let put = client.send("PUT", target, &beside, b"bar").await.expect(200).etag();
    assert_eq!(
        (put.as_str(), one_tag(client, target, 3).await),
        (tag(b"bar").as_str(), put.clone())
    );
    let from = [("x-amz-copy-source", "bucket/folder/key"), ("x-amz-copy-source-if-match", &put)];
    let copied = client.ask_with("PUT", "/bucket/copy", &from).await.expect(200);
    assert_eq!(copied.element("ETag"), put);
    let got = client.ask_with("GET", "/bucket/copy", &[("if-match", &put)]).await.expect(200);
    assert_eq!((got.header("x-amz-meta-a"), got.etag()), (Some("1"), put.clone()));
    let written =
        client.send("PUT", target, &[("if-match", &put)], b"new").await.expect(200).etag();
    assert_eq!(written, tag(b"new"));
    client.send("PUT", target, &[("if-match", &put)], b"late").await.expect(412);
    client.ask_with("DELETE", target, &[("if-match", &written)]).await.expect(204);
    client.ask("HEAD", target).await.expect(404);
}
