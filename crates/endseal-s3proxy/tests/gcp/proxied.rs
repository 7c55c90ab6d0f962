//! Tests of a proxy whose keys are those of a Cloud KMS.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use endseal_s3_format::Header;
use endseal_s3proxy::admin::{Rewrap, RewrapReport, rewrap};
use endseal_s3proxy::config::Keys;
use endseal_s3proxy::{Config, Proxy};

use super::fixture::{World, content, serve};
use super::log::Log;
use super::server::{Api, Fault, GcpServer, ID, KEY, error};

/// Returns the keys of a configuration, as the file of that text has them.
fn keys(text: &str, world: &World) -> Keys {
    let text = format!(
        "[backend]\nfolder = \"objects\"\n[keys]\nprovider = \"gcp-kms\"\nid = \"{ID}\"\nkey = \"{KEY}\"\n\
         {text}\n[[client]]\naccess_key = \"a\"\nsecret_key = \"a secret of the client\"\n"
    );
    Config::parse(&text, world.scratch.folder(), |_| None).unwrap().keys
}

fn config(keys: Keys, world: &World) -> Config {
    let mut config = world.config();
    config.keys = keys;
    config
}

fn account_file(server: &GcpServer, world: &World) -> PathBuf {
    let path = world.scratch.folder().join("account.json");
    fs::write(&path, server.account_file()).unwrap();
    path
}

async fn run(config: &Config) -> RewrapReport {
    rewrap(&Arc::new(Proxy::start(config).unwrap()), &Rewrap::default(), |_| {}).await.unwrap()
}

/// Returns the wrapped key of an object at the backend.
async fn wrapped(world: &World) -> Vec<u8> {
    let head = world.backend().ask("HEAD", "/bucket/key").await.expect(200);
    let header = Header::parse(head.header("x-amz-meta-endseal").unwrap()).unwrap();
    assert_eq!(header.key_id(), ID);
    header.wrapped_key().to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_seals_rewraps_and_opens() {
    let (server, world) = (GcpServer::start().await, World::new());
    account_file(&server, &world);
    let url = server.url();
    for source in
        [format!("metadata_url = \"{url}\""), "service_account_file = \"account.json\"".to_owned()]
    {
        let config = config(keys(&format!("url = \"{url}\"\n{source}"), &world), &world);
        let front = serve(&config).await;
        if world.backend().ask("HEAD", "/bucket").await.status == 404 {
            front.client.ask("PUT", "/bucket").await.expect(200);
        }
        front.client.put("/bucket/key", &content(70_000, 1)).await.expect(200);
        let got = front.client.ask("GET", "/bucket/key").await.expect(200);
        assert!(got.body == content(70_000, 1));
        let old = wrapped(&world).await;

        let report = run(&config).await;
        assert_eq!((report.rewrapped, report.newest), (0, 1));
        server.rotate();
        let report = run(&config).await;
        assert_eq!((report.rewrapped, report.newest), (1, 0));
        assert!(report.is_complete());
        let new = wrapped(&world).await;
        assert_ne!(old, new);
        let primary = server.state().primary;
        assert!(new.starts_with(format!("gcp:v{primary}:").as_bytes()));

        // The older version is destroyed, and another process has nothing in memory.
        server.state().versions.retain(|version, _| *version == primary);
        let front = serve(&config).await;
        let got = front.client.ask("GET", "/bucket/key").await.expect(200);
        assert!(got.body == content(70_000, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_see_the_failures_of_the_service() {
    let (server, world) = (GcpServer::start().await, World::new());
    let url = server.url();
    let keys = keys(&format!("url = \"{url}\"\nmetadata_url = \"{url}\""), &world);
    let config = config(keys, &world);
    let front = serve(&config).await;
    front.client.ask("PUT", "/bucket").await.expect(200);
    front.client.put("/bucket/key", b"content").await.expect(200);
    for (code, name, status) in [
        (503, "UNAVAILABLE", 503),
        (429, "RESOURCE_EXHAUSTED", 503),
        (403, "PERMISSION_DENIED", 403),
        (400, "INVALID_ARGUMENT", 500),
    ] {
        let (code, json) = error(code, name, "marked text of the service");
        // If the header does not open, the proxy tries the copy of it behind the content.
        for _ in 0..4 {
            server.fault(Api::Kms, Fault::Status(code, json.to_string()));
        }
        // Another proxy, as this one has the key in memory.
        let answer = serve(&config).await.client.ask("GET", "/bucket/key").await;
        assert_eq!(answer.status, status, "{name}: {}", answer.text());
        assert!(!answer.text().contains("marked"), "{}", answer.text());
        server.clear_faults();
    }
    let answer = serve(&config).await.client.ask("GET", "/bucket/key").await.expect(200);
    assert_eq!(answer.body, b"content");
}

#[tokio::test]
async fn no_secret_is_logged() {
    let (server, world) = (GcpServer::start().await, World::new());
    account_file(&server, &world);
    let log = Log::default();
    let _collecting = log.collect();
    let text = format!("url = \"{}\"\nservice_account_file = \"account.json\"", server.url());
    let config = config(keys(&text, &world), &world);
    let front = serve(&config).await;
    front.client.ask("PUT", "/bucket").await.expect(200);
    front.client.put("/bucket/key", b"content").await.expect(200);
    for api in [Api::Tokens, Api::Kms] {
        let json = "{\"error\": {\"message\": \"ya29.c.marked\"}}";
        server.fault(api, Fault::Status(403, json.to_owned()));
        serve(&config).await.client.ask("GET", "/bucket/key").await.expect(403);
    }
    serve(&config).await.client.ask("GET", "/bucket/key").await.expect(200);
    let text = log.text();
    assert!(text.matches("the key provider refused the request").count() >= 2, "{text}");
    let account: serde_json::Value = serde_json::from_str(&server.account_file()).unwrap();
    let pem = account["private_key"].as_str().unwrap();
    for secret in ["marked", "ya29", "assertion", "eyJ", pem.lines().nth(1).unwrap(), "PRIVATE"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

#[tokio::test]
async fn configurations_are_complete() {
    let world = World::new();
    let defaults = keys("", &world);
    let Keys::GcpKms { url, service_account_file: None, metadata_url: None, .. } = &defaults else {
        panic!("{defaults:?}")
    };
    assert_eq!(url, "https://cloudkms.googleapis.com");
    let folder = world.scratch.folder().to_owned();
    let of_file = keys("service_account_file = \"account.json\"", &world);
    let path = folder.join("account.json");
    assert!(
        matches!(&of_file, Keys::GcpKms { service_account_file: Some(own), .. } if *own == path)
    );
    let why = |keys: Keys| {
        let error = Proxy::start(&config(keys, &world)).err().unwrap().to_string();
        assert!(!error.contains("marked"), "{error}");
        error
    };
    assert!(why(of_file.clone()).contains("account.json: "));
    fs::write(&path, "{\"type\": \"service_account\", \"private_key\": \"marked\"}").unwrap();
    assert!(why(of_file.clone()).ends_with("account.json: client_email is missing"));
    fs::write(&path, "x".repeat(100_000)).unwrap();
    assert!(why(of_file).contains("not a JSON object"));
    let text = "service_account_file = \"account.json\"\nmetadata_url = \"http://127.0.0.1\"";
    assert!(why(keys(text, &world)).starts_with("keys.metadata_url: "));
    assert!(
        why(keys("metadata_url = \"ftp://127.0.0.1\"", &world)).starts_with("keys.metadata_url")
    );
    assert!(why(keys("url = \"\"", &world)).starts_with("keys.url: "));
    let Keys::GcpKms { id, url, .. } = defaults else { panic!() };
    let wrong = |id, key: &str| Keys::GcpKms {
        id,
        key: key.to_owned(),
        url: url.clone(),
        service_account_file: None,
        metadata_url: None,
        ca_file: None,
    };
    assert!(why(wrong(id, "k")).starts_with("keys.key: a Cloud KMS key is named projects/"));
    assert!(why(wrong("a b".to_owned(), KEY)).starts_with("keys.id: "));
}
