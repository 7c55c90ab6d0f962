//! Tests of uploads by HTML forms.

use std::time::SystemTime;

use base64ct::{Base64, Encoding as _};

use crate::client::{Answer, Client};
use crate::fixture::{World, content, eventually};

const BOUNDARY: &str = "----WebKitFormBoundaryA1";

/// Form as a browser sends it.
pub(crate) struct Form<'a> {
    fields: Vec<(String, String)>,
    filename: &'a str,
    file: &'a [u8],
    /// Bytes behind the last boundary.
    end: &'a str,
}

impl<'a> Form<'a> {
    /// Creates a form that the client signs, with a policy that has these conditions.
    pub(crate) fn signed(
        client: &Client,
        conditions: &str,
        fields: &[(&str, &str)],
        file: &'a [u8],
    ) -> Self {
        let now = SystemTime::now();
        let own: Vec<String> = client
            .signer
            .form(None, now)
            .into_iter()
            .map(|(name, value)| format!("{{\"{name}\": \"{value}\"}}"))
            .collect();
        let policy = format!(
            "{{\"expiration\": \"2099-01-01T00:00:00Z\", \"conditions\": [{conditions}, {}]}}",
            own.join(", ")
        );
        let policy = Base64::encode_string(policy.as_bytes());
        let mut all: Vec<(String, String)> =
            fields.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let own = client.signer.form(Some(&policy), now);
        all.extend(own.into_iter().map(|(name, value)| (name.to_owned(), value)));
        Self { fields: all, filename: "photo.jpg", file, end: "--\r\n" }
    }

    fn body(&self) -> Vec<u8> {
        let mut body = String::new();
        for (name, value) in &self.fields {
            body.push_str(&format!(
                "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
            ));
        }
        body.push_str(&format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{}\"\r\n\
             Content-Type: image/jpeg\r\n\r\n",
            self.filename
        ));
        let end = format!("\r\n--{BOUNDARY}{}", self.end);
        [body.as_bytes(), self.file, end.as_bytes()].concat()
    }

    pub(crate) async fn post(&self, client: &Client) -> Answer {
        post(client, &self.body()).await
    }
}

async fn post(client: &Client, body: &[u8]) -> Answer {
    let head = format!(
        "POST /bucket HTTP/1.1\r\nhost: {}\r\ncontent-type: multipart/form-data; boundary={BOUNDARY}\
         \r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        client.address,
        body.len()
    );
    client.exchange(&head, body, false).await
}

pub(crate) const CONDITIONS: &str =
    "{\"bucket\": \"bucket\"}, [\"starts-with\", \"$key\", \"up/\"]";

#[tokio::test(flavor = "multi_thread")]
async fn forms_of_any_size_become_sealed_objects() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    let conditions = format!(
        "{CONDITIONS}, {{\"success_action_status\": \"201\"}}, {{\"content-type\": \"image/jpeg\"}}, \
         [\"starts-with\", \"$x-amz-meta-a\", \"\"]"
    );
    let fields = [
        ("key", "up/${filename}"),
        ("Content-Type", "image/jpeg"),
        ("x-amz-meta-a", "b c"),
        ("success_action_status", "201"),
    ];
    for len in [0, 1, 1_000, 262_000, 263_000, 2_000_000] {
        let file = content(len, 3);
        let mut form = Form::signed(client, &conditions, &fields, &file);
        form.filename = "C:\\fakepath\\photo 1.jpg";
        let posted = form.post(client).await.expect(201);
        assert_eq!(posted.element("Key"), "up/photo 1.jpg", "{len}");
        let url = format!("http://{}/bucket/up/photo%201.jpg", client.address);
        assert_eq!(posted.header("location"), Some(&*url));
        assert_eq!(posted.element("Location"), url);
        let got = client.ask("GET", "/bucket/up/photo%201.jpg").await.expect(200);
        assert!(got.body == file, "{len}");
        assert_eq!(got.etag(), posted.element("ETag"));
        assert_eq!(got.header("content-type"), Some("image/jpeg"));
        assert_eq!(got.header("x-amz-meta-a"), Some("b c"));
    }
    let stored = world.backend().ask("HEAD", "/bucket/up/photo%201.jpg").await.expect(200);
    assert!(stored.header("x-amz-meta-endseal").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_those_that_the_form_wants() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    for (field, value, status) in [
        ("success_action_status", "200", 200),
        ("success_action_status", "204", 204),
        ("success_action_status", "999", 204),
        ("success_action_redirect", "http://example.org/done?x=1", 303),
        ("success_action_redirect", "javascript:alert(1)", 204),
    ] {
        let conditions = format!("{CONDITIONS}, [\"starts-with\", \"${field}\", \"\"]");
        let form = Form::signed(client, &conditions, &[("key", "up/a b"), (field, value)], b"x");
        let posted = form.post(client).await.expect(status);
        assert!(posted.body.is_empty());
        if status == 303 {
            let location = posted.header("location").unwrap();
            let start = "http://example.org/done?x=1&bucket=bucket&key=up%2Fa%20b&etag=%22";
            assert!(location.starts_with(start), "{location}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_without_right_or_shape_store_nothing() {
    let (world, front) = World::with_bucket().await;
    let client = &front.client;
    let file = content(500_000, 1);
    let good = || Form::signed(client, CONDITIONS, &[("key", "up/x")], &file);
    let refused = async |what: &str, form: Form<'_>, status: u16, code: &str| {
        let answer = form.post(client).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{what}");
    };
    let mut form = good();
    form.fields.retain(|(name, _)| name == "key");
    refused("anonymous", form, 403, "AccessDenied").await;
    let wrong = Client::new(client.address, crate::fixture::ACCESS_KEY, "another secret");
    let form = Form::signed(&wrong, CONDITIONS, &[("key", "up/x")], &file);
    refused("another secret", form, 403, "SignatureDoesNotMatch").await;
    let form = Form::signed(client, CONDITIONS, &[("key", "down/x")], &file);
    refused("another key", form, 403, "AccessDenied").await;
    let form = Form::signed(client, CONDITIONS, &[("key", "up/x"), ("acl", "public")], &file);
    refused("a field without a condition", form, 403, "AccessDenied").await;
    let reserved = "{\"bucket\": \"bucket\"}, [\"starts-with\", \"$key\", \"\"]";
    let form = Form::signed(client, reserved, &[("key", ".endseal/x")], &file);
    refused("a key of the proxy's", form, 403, "AccessDenied").await;
    for (low, high, code) in
        [(0, 499_999, "EntityTooLarge"), (500_001, 9_000_000, "EntityTooSmall")]
    {
        let conditions = format!("{CONDITIONS}, [\"content-length-range\", {low}, {high}]");
        let form = Form::signed(client, &conditions, &[("key", "up/x")], &file);
        refused("length", form, 400, code).await;
    }
    let conditions = format!("{CONDITIONS}, [\"starts-with\", \"$x-amz-checksum-crc32c\", \"\"]");
    let fields = [("key", "up/x"), ("x-amz-checksum-crc32c", "AAAAAA==")];
    refused("checksum", Form::signed(client, &conditions, &fields, &file), 400, "BadDigest").await;
    let mut form = good();
    form.fields.push(("x-ignore-a".to_owned(), "x".repeat(21_000)));
    refused("long fields", form, 400, "MaxPostPreDataLengthExceededError").await;
    // A long form must end like all forms, without fields behind its file.
    for end in ["--", "--\r\nmore", "\r\nx"] {
        let mut form = good();
        form.end = end;
        refused(end, form, 400, "MalformedPOSTRequest").await;
    }
    let mut form = good();
    let delimiter = format!("\r\n--{BOUNDARY}\r\n");
    let split = [&file[..300_000], delimiter.as_bytes(), &file[300_000..]].concat();
    form.file = &split;
    refused("a delimiter within", form, 400, "MalformedPOSTRequest").await;
    let body = good().body();
    let cut = post(client, &body[..body.len() - 2]).await;
    assert_eq!((cut.status, cut.code().as_str()), (400, "MalformedPOSTRequest"));
    client.ask("HEAD", "/bucket/up/x").await.expect(404);
    eventually("nothing stays", || world.unfinished().is_empty()).await;
    assert!(world.data().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn short_forms_may_end_without_a_line_end_or_go_on() {
    let (_world, front) = World::with_bucket().await;
    let client = &front.client;
    let more = format!(
        "\r\nContent-Disposition: form-data; name=\"submit\"\r\n\r\nUpload\r\n--{BOUNDARY}--\r\n"
    );
    for end in ["--", "--\r\n", &more] {
        let mut form = Form::signed(client, CONDITIONS, &[("key", "up/x")], b"a short file");
        form.end = end;
        form.post(client).await.expect(204);
        let got = client.ask("GET", "/bucket/up/x").await.expect(200);
        assert_eq!(got.body, b"a short file");
    }
}
