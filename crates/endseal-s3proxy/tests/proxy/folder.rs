//! Tests of the folder's files, which a proxy does not see.

use std::fs;

use endseal_s3_folder::FolderServer;
use endseal_s3proxy::config::Backend;
use endseal_testing::Scratch;

use crate::client::Client;
use crate::fixture::{World, content};
use crate::multipart::{PART, begin, complete, part};

fn client(server: &FolderServer) -> Client {
    let backend = Backend::served(server);
    let address = backend.url.strip_prefix("http://").unwrap().parse().unwrap();
    Client { address, signer: backend.signer() }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_do_not_share_a_folder() {
    let scratch = Scratch::new();
    let folder = scratch.folder().join("objects");
    let first = FolderServer::start(&folder).unwrap();
    let error = FolderServer::start(&folder).err().unwrap();
    assert!(error.to_string().contains("another process"), "{error}");
    drop(first);
    crate::fixture::eventually("the lock is given back", || FolderServer::start(&folder).is_ok())
        .await;
    let strange = scratch.folder().join("strange");
    fs::create_dir(&strange).unwrap();
    fs::write(strange.join("letter"), b"precious").unwrap();
    let error = FolderServer::start(&strange).err().unwrap();
    assert!(error.to_string().contains("neither empty"), "{error}");
    assert_eq!(fs::read_dir(&strange).unwrap().count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_process_left_is_tidied_up() {
    let scratch = Scratch::new();
    let folder = scratch.folder().join("objects");
    let server = FolderServer::start(&folder).unwrap();
    let first = client(&server);
    first.ask("PUT", "/bucket").await.expect(200);
    first.put("/bucket/key", b"content").await.expect(200);
    let id = begin(&first, "/bucket/large", &[]).await;
    let tag = part(&first, "/bucket/large", &id, 1, &content(PART, 1)).await;
    drop(server);
    // The process was killed while it received a body ...
    fs::write(folder.join("temporary/3"), b"half").unwrap();
    // ... with data in place but no entry yet ...
    let lost = "0123456789abcdef0123456789abcdef";
    fs::create_dir_all(folder.join("data/01")).unwrap();
    fs::write(folder.join("data/01").join(lost), b"lost").unwrap();
    let pending = "endseal-folder pending 1\nbucket bucket\nkey other\nend\n";
    fs::write(folder.join("pending").join(lost), pending).unwrap();
    // ... and with parts that were to become an object.
    let moved = "11111111111111111111111111111111";
    let upload = folder.join("buckets/bucket/uploads").join(&id);
    fs::create_dir_all(folder.join("data/11")).unwrap();
    fs::rename(upload.join("parts"), folder.join("data/11").join(moved)).unwrap();
    let pending = format!("endseal-folder pending 1\nbucket bucket\nkey large\nupload {id}\nend\n");
    fs::write(folder.join("pending").join(moved), pending).unwrap();

    let mut server = None;
    crate::fixture::eventually("the folder is free", || {
        server = FolderServer::start(&folder).ok();
        server.is_some()
    })
    .await;
    let server = server.unwrap();
    for emptied in ["temporary", "pending"] {
        assert_eq!(fs::read_dir(folder.join(emptied)).unwrap().count(), 0, "{emptied}");
    }
    // The object that stays may lie beside them.
    for (place, name) in [("data/01", lost), ("data/11", moved)] {
        assert!(!folder.join(place).join(name).exists(), "{place}");
    }
    let second = client(&server);
    assert_eq!(second.ask("GET", "/bucket/key").await.expect(200).body, b"content");
    complete(&second, "/bucket/large", &id, &[(1, tag)]).await.expect(200);
    assert!(second.ask("GET", "/bucket/large").await.expect(200).body == content(PART, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_are_checked_as_s3_does() {
    let world = World::new();
    let client = world.backend();
    client.ask("PUT", "/bucket").await.expect(200);
    let target = "/bucket/key";
    let id = begin(&client, target, &[("content-type", "x/y")]).await;
    let one = part(&client, target, &id, 1, &content(PART, 1)).await;
    let two = part(&client, target, &id, 2, &content(100, 2)).await;
    let three = part(&client, target, &id, 3, &content(5, 3)).await;
    for (parts, code) in [
        (vec![(2, two.clone()), (1, one.clone())], "InvalidPartOrder"),
        (vec![(1, one.clone()), (2, two.clone()), (3, three.clone())], "EntityTooSmall"),
        (vec![(1, two.clone())], "InvalidPart"),
        (vec![(7, one.clone())], "InvalidPart"),
    ] {
        assert_eq!(complete(&client, target, &id, &parts).await.expect(400).code(), code);
    }
    let done = complete(&client, target, &id, &[(1, one), (3, three)]).await.expect(200);
    assert!(done.element("ETag").ends_with("-2\""));
    let expected = [content(PART, 1), content(5, 3)].concat();
    assert!(client.ask("GET", target).await.expect(200).body == expected);
    let range = format!("bytes={}-{}", PART - 2, PART + 1);
    let got = client.ask_with("GET", target, &[("range", &range)]).await.expect(206);
    assert!(got.body == expected[PART - 2..PART + 2]);
    let second = client.ask("GET", &format!("{target}?partNumber=2")).await.expect(206);
    assert!(second.body == expected[PART..]);
    // The part that the completion did not name was removed.
    assert_eq!(world.data().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_are_listed_in_pages() {
    let world = World::new();
    let client = world.backend();
    client.ask("PUT", "/bucket").await.expect(200);
    let mut expected = Vec::new();
    for key in ["a", "a", "b/x", "b/y", "c"] {
        expected.push((key.to_owned(), begin(&client, &format!("/bucket/{key}"), &[]).await));
    }
    expected.sort();
    let (mut found, mut marker) = (Vec::new(), String::new());
    loop {
        let page = client.ask("GET", &format!("/bucket?uploads&max-uploads=2{marker}")).await;
        found.extend(page.elements("Key").into_iter().zip(page.elements("UploadId")));
        if page.element("IsTruncated") == "false" {
            break;
        }
        let (key, id) = (page.element("NextKeyMarker"), page.element("NextUploadIdMarker"));
        marker = format!("&key-marker={key}&upload-id-marker={id}");
    }
    assert_eq!(found, expected);
    let grouped = client.ask("GET", "/bucket?uploads&delimiter=/").await.expect(200);
    assert_eq!(grouped.elements("Key"), ["a", "a", "c"]);
    assert_eq!(grouped.elements("CommonPrefixes"), ["<Prefix>b/</Prefix>"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_folder_cannot_keep_is_refused() {
    let world = World::new();
    let client = world.backend();
    client.ask("PUT", "/bucket").await.expect(200);
    for (method, target, headers) in [
        ("PUT", "/bucket/key", &[("x-amz-tagging", "a=b")][..]),
        ("PUT", "/locked", &[("x-amz-bucket-object-lock-enabled", "true")]),
        ("PUT", "/bucket/key", &[("x-amz-object-lock-mode", "COMPLIANCE")]),
        ("PUT", "/bucket/key", &[("x-amz-server-side-encryption", "aws:kms")]),
        ("PUT", "/bucket/key", &[("x-amz-server-side-encryption-aws-kms-key-id", "k")]),
        ("PUT", "/bucket/key", &[("x-amz-storage-class", "GLACIER")]),
        ("POST", "/bucket/key?uploads", &[("x-amz-storage-class", "STANDARD_IA")]),
        ("PUT", "/public", &[("x-amz-acl", "public-read")]),
        ("PUT", "/bucket/key", &[("x-amz-grant-read", "uri=\"x\"")]),
        ("PUT", "/bucket/key?tagging", &[]),
        ("PUT", "/bucket/key?acl", &[]),
        ("GET", "/bucket?versions", &[]),
        ("PUT", "/bucket?versioning", &[]),
    ] {
        let refused = client.ask_with(method, target, headers).await.expect(501);
        assert_eq!(refused.code(), "NotImplemented", "{method} {target}");
    }
    client.ask("HEAD", "/locked").await.expect(404);
    client.ask("HEAD", "/public").await.expect(404);
    for (name, value) in [
        ("x-amz-bucket-object-lock-enabled", "false"),
        ("x-amz-storage-class", "STANDARD"),
        ("x-amz-server-side-encryption", "AES256"),
        ("x-amz-acl", "private"),
        ("x-amz-acl", "bucket-owner-full-control"),
    ] {
        client.ask_with("PUT", "/bucket/other", &[(name, value)]).await.expect(200);
    }
    for bucket in ["/ab", "/Upper", "/a_", "/x.y"] {
        let made = client.ask("PUT", bucket).await.status;
        assert_eq!(made == 200, bucket == "/x.y", "{bucket} {made}");
    }
    client.ask("HEAD", "/bucket/key").await.expect(404);
}
