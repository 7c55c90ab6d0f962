//! Conditional requests, with the entity tags that clients see.

use crate::fixture::World;

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
