//! Tests of the files in deploy/s3: they must match the program.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use endseal_crypto::random::OsRandom;
use endseal_s3proxy::config::Keys;
use endseal_s3proxy::name_secret::{CreateNameSecretError, NameSecretFile};
use endseal_s3proxy::{Config, Proxy};
use endseal_testing::Scratch;
use serde_json::Value;

use crate::fixture::{World, new_ring};

/// Folder in which the systemd unit provides secrets.
const CREDENTIALS: &str = "/run/credentials/endseal-s3.service/";
/// Folder in which containers see secrets.
const COMPOSE_SECRETS: &str = "/run/secrets/";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/s3")
}

fn read(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the names that follow `start` in a text.
fn names(text: &str, start: &str, is_part: impl Fn(char) -> bool) -> BTreeSet<String> {
    let found = text.split(start).skip(1);
    found.map(|rest| rest.split(|c| !is_part(c)).next().unwrap().to_owned()).collect()
}

fn secrets(text: &str, shown: &str) -> BTreeSet<String> {
    names(text, shown, |c| c.is_ascii_alphanumeric() || c == '.' || c == '-')
}

/// Parses an example like the service, with secrets in a temporary folder.
fn example(name: &str, shown: &str, scratch: &Scratch) -> Config {
    let text = read(name);
    for secret in secrets(&text, shown) {
        let path = scratch.folder().join(&secret);
        if secret == "ring.key" {
            new_ring(&path);
        } else {
            fs::write(path, "0123456789abcdef\n").unwrap();
        }
    }
    let text = text.replace(shown, &format!("{}/", scratch.folder().display()));
    let read = Config::parse(&text, Path::new("/etc/endseal"), |_| None);
    read.unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[tokio::test]
async fn the_example_for_minio_starts() {
    let scratch = Scratch::new();
    let config = example("minio.toml", CREDENTIALS, &scratch);
    assert_eq!(config.metrics, Some("127.0.0.1:9091".parse().unwrap()));
    assert!(config.listen.ip().is_loopback());
    assert!(Proxy::start(&config).is_ok());
}

#[tokio::test]
async fn the_configuration_of_compose_starts() {
    let scratch = Scratch::new();
    let config = example("compose/s3.toml", COMPOSE_SECRETS, &scratch);
    assert!(Proxy::start(&config).is_ok());
    let compose = read("compose.yml");
    for secret in secrets(&read("compose/s3.toml"), COMPOSE_SECRETS) {
        assert!(compose.contains(&format!("file: compose/secret/{secret}")), "{secret}");
    }
    for listener in [config.listen, config.metrics.unwrap()] {
        let named = if listener == config.listen { "haproxy.cfg" } else { "prometheus.yml" };
        let text = read(&format!("compose/{named}"));
        assert!(text.contains(&format!("proxy-2:{}", listener.port())), "{listener}");
    }
}

#[test]
fn the_example_for_minio_can_have_encrypted_names() {
    let scratch = Scratch::new();
    example("minio.toml", CREDENTIALS, &scratch);
    let secret = scratch.folder().join("names.secret");
    let text = read("minio.toml").replace(CREDENTIALS, &format!("{}/", scratch.folder().display()));
    let text =
        text.replace("#names = ", "names = ").replace("#name_secret_file", "name_secret_file");
    let text = text.replace(".../names.secret", secret.to_str().unwrap());
    let read = |text: &str| Config::parse(text, Path::new("/etc/endseal"), |_| None);
    let missing = read(&text).err().unwrap();
    assert_eq!(missing.entry(), "bucket.name_secret_file", "{missing}");
    NameSecretFile::at(&secret).create(&mut OsRandom).unwrap();
    let config = read(&text).unwrap();
    assert!(config.buckets.rule("photos-1").names.is_some());
    assert!(config.buckets.rule("other").names.is_none());
    for (from, to, entry) in [
        ("names = \"encrypt\"", "", "bucket.name_secret_file"),
        ("names = \"encrypt\"", "names = \"plain\"", "bucket.name_secret_file"),
        ("name_secret_file", "#", "bucket.name_secret_file"),
    ] {
        let wrong = text.replace(from, to);
        assert_ne!(wrong, text);
        assert_eq!(read(&wrong).err().unwrap().entry(), entry, "{to}");
    }
    let unknown = read(&text.replace("encrypt", "hash")).err().unwrap().to_string();
    assert!(unknown.contains("unknown variant `hash`"), "{unknown}");
    let file = NameSecretFile::at(&secret);
    assert!(matches!(file.create(&mut OsRandom), Err(CreateNameSecretError::Exists)));
    fs::write(&secret, "endseal s3-name-secret v1\n").unwrap();
    assert_eq!(read(&text).err().unwrap().entry(), "bucket.name_secret_file");
}

#[tokio::test]
async fn the_example_for_aws_starts() {
    let scratch = Scratch::new();
    let mut config = example("aws.toml", CREDENTIALS, &scratch);
    assert!(config.backend.url.contains(&config.backend.region));
    let Keys::Vault { token_file, .. } = &mut config.keys else { panic!("another provider") };
    *token_file = scratch.folder().join("token");
    fs::write(token_file, "token\n").unwrap();
    assert!(Proxy::start(&config).is_ok());
}

#[test]
fn the_unit_shows_the_secrets_that_the_examples_name() {
    let unit = read("endseal-s3.service");
    let named: BTreeSet<String> = ["minio.toml", "aws.toml"]
        .iter()
        .flat_map(|name| secrets(&read(name), CREDENTIALS))
        .collect();
    assert!(named.len() >= 3, "{named:?}");
    for secret in named {
        let line = format!("LoadCredential={secret}:/etc/endseal/{secret}");
        assert!(unit.lines().any(|known| known == line), "{line}");
    }
    // Running requests have as much time to end as the configuration allows.
    let drain = endseal_s3proxy::config::Limits::default().drain.as_secs();
    let stop =
        unit.lines().find_map(|line| line.strip_prefix("TimeoutStopSec=")?.strip_suffix('s'));
    assert!(stop.unwrap().parse::<u64>().unwrap() > drain);
}

#[tokio::test(flavor = "multi_thread")]
async fn dashboard_and_alerts_name_metrics_that_exist() {
    let world = World::new();
    let text = world.proxy().await.proxy.metrics_text();
    let mut known = BTreeSet::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        match kind {
            "histogram" => {
                known.extend(["bucket", "sum", "count"].map(|it| format!("{name}_{it}")))
            }
            _ => drop(known.insert(name.to_owned())),
        }
    }
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let dashboard: Value = serde_json::from_str(&read("grafana.json")).unwrap();
    let mut expressions = Vec::new();
    let panels = dashboard["panels"].as_array().unwrap();
    for panel in panels {
        for target in panel["targets"].as_array().unwrap() {
            expressions.push(target["expr"].as_str().unwrap().to_owned());
        }
    }
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        expressions.push(variable["query"].as_str().unwrap().to_owned());
    }
    assert!(panels.len() >= 10 && expressions.len() > panels.len());
    let mut used = BTreeSet::new();
    for text in expressions.iter().chain([&read("alerts.yml")]) {
        for name in names(text, "endseal_s3_", is_part) {
            let name = format!("endseal_s3_{name}");
            assert!(known.contains(&name), "{name} in {text}");
            used.insert(name);
        }
    }
    assert!(used.len() > 20, "{used:?}");
    // A row of the README about a group of metrics must match at least one.
    for name in names(&read("README.md"), "`endseal_s3_", |c| is_part(c) || c == '*') {
        let name = format!("endseal_s3_{}", name.trim_end_matches('*'));
        assert!(known.iter().any(|known| known.starts_with(&name)), "{name}");
    }
}

#[test]
fn policies_name_what_the_proxy_does() {
    let iam: Value = serde_json::from_str(&read("policy-iam.json")).unwrap();
    let mut actions = BTreeSet::new();
    for statement in iam["Statement"].as_array().unwrap() {
        for action in statement["Action"].as_array().unwrap() {
            let action = action.as_str().unwrap();
            assert!(action.starts_with("s3:") && !action.contains('*'), "{action}");
            actions.insert(action.to_owned());
        }
    }
    for needed in [
        "s3:ListMultipartUploadParts",
        "s3:ListBucketMultipartUploads",
        "s3:GetBucketVersioning",
        "s3:PutObjectTagging",
        "s3:AbortMultipartUpload",
    ] {
        assert!(actions.contains(needed), "{needed}");
    }
    let bucket: Value = serde_json::from_str(&read("policy-bucket.json")).unwrap();
    assert!(bucket["Statement"].as_array().unwrap().iter().all(|it| it["Effect"] == "Deny"));
    let rules: Value = serde_json::from_str(&read("lifecycle.json")).unwrap();
    let rules = rules["Rules"].as_array().unwrap();
    let days = |rule: &Value, what: &str, name: &str| rule[what][name].as_u64().unwrap();
    let upload = days(&rules[0], "AbortIncompleteMultipartUpload", "DaysAfterInitiation");
    // Files of an upload must not be removed before the upload.
    let folders = [endseal_s3_format::parked_folder("x"), endseal_s3_format::recorded_folder("x")];
    assert_eq!(rules.len(), 1 + folders.len());
    for (rule, folder) in rules[1..].iter().zip(folders) {
        assert!(days(rule, "Expiration", "Days") > upload);
        assert!(folder.starts_with(rule["Filter"]["Prefix"].as_str().unwrap()), "{folder}");
    }
}
