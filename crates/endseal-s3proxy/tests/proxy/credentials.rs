//! Tests of backend credentials from a chain: each source, renewal, and broken sources.

use core::time::Duration;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use endseal_s3proxy::admin::{Clean, Rewrap, Scrub, clean, rewrap, scrub};
use endseal_s3proxy::config::Backend;
use endseal_s3proxy::credentials::CredentialChain;
use endseal_s3proxy::{Config, Proxy};
use endseal_testing::Scratch;
use tokio::time::sleep;

use crate::credential_servers::{CHAIN_SECRET, Source, Verifying, answer, in_millis, json};
use crate::fixture::{World, config, new_ring, serve};
use crate::logged::Lines;

const TOKEN: &str = "token+of/the=session";

/// Longer than any step takes on a busy machine.
const LATE: Duration = Duration::from_secs(60);

/// Returns a configuration with this chain for this backend.
fn chained(scratch: &Scratch, backend: &Verifying, chain: CredentialChain) -> Config {
    let ring = scratch.folder().join("ring");
    new_ring(&ring);
    config(Backend::with_chain(&backend.source.url(), chain), &ring)
}

fn environment(variables: &[(&str, &str)]) -> CredentialChain {
    CredentialChain::new().with_environment(variables.iter().copied())
}

/// Returns the access key and token with which the backend is used.
async fn used(chain: CredentialChain) -> (String, Option<String>) {
    let (scratch, backend) = (Scratch::new(), Verifying::start().await);
    let front = serve(&chained(&scratch, &backend, chain)).await;
    front.client.ask("HEAD", "/bucket").await.expect(200);
    let first = backend.let_in().remove(0);
    (first.access_key, first.token)
}

fn owned(access_key: &str, token: Option<&str>) -> (String, Option<String>) {
    (access_key.to_owned(), token.map(str::to_owned))
}

#[tokio::test]
async fn credentials_of_the_environment_sign_with_their_session_token() {
    let key = ("AWS_ACCESS_KEY_ID", "ENVIRONMENT");
    let secret = ("AWS_SECRET_ACCESS_KEY", CHAIN_SECRET);
    let token = ("AWS_SESSION_TOKEN", TOKEN);
    let with_token = used(environment(&[key, secret, token])).await;
    assert_eq!(with_token, owned("ENVIRONMENT", Some(TOKEN)));
    assert_eq!(used(environment(&[key, secret])).await, owned("ENVIRONMENT", None));
}

#[tokio::test]
async fn profiles_of_shared_files_are_found_by_name() {
    let scratch = Scratch::new();
    let (shared, settings) =
        (scratch.folder().join("credentials"), scratch.folder().join("config"));
    let profile = |name: &str, key: &str| {
        format!("[{name}]\naws_access_key_id = {key}\naws_secret_access_key = {CHAIN_SECRET}\n")
    };
    let both = profile("default", "DEFAULT") + &profile("other", "OTHER");
    fs::write(&shared, both + &format!("aws_session_token = {TOKEN}\n")).unwrap();
    fs::write(&settings, profile("profile third", "THIRD")).unwrap();
    let files = [
        ("AWS_SHARED_CREDENTIALS_FILE", shared.to_str().unwrap()),
        ("AWS_CONFIG_FILE", settings.to_str().unwrap()),
    ];
    let by_variable = [files[0], files[1], ("AWS_PROFILE", "other")];
    assert_eq!(used(environment(&files)).await, owned("DEFAULT", None));
    assert_eq!(used(environment(&by_variable)).await, owned("OTHER", Some(TOKEN)));
    let third = environment(&by_variable).with_profile("third");
    assert_eq!(used(third).await, owned("THIRD", None));
    let of_machine = [
        files[0],
        files[1],
        ("AWS_ACCESS_KEY_ID", "MACHINE"),
        ("AWS_SECRET_ACCESS_KEY", CHAIN_SECRET),
    ];
    assert_eq!(used(environment(&of_machine)).await, owned("MACHINE", None));
    let third = environment(&of_machine).with_profile("third");
    assert_eq!(used(third).await, owned("THIRD", None));
    // A profile that does not exist is not replaced by another account.
    let told = failed(environment(&of_machine).with_profile("thrid")).await;
    assert!(told.contains("the profile has no credentials"), "{told}");
}

#[tokio::test]
async fn a_web_identity_is_exchanged_for_credentials() {
    let scratch = Scratch::new();
    let file = scratch.folder().join("identity");
    fs::write(&file, "identity-token").unwrap();
    let (_, expiry) = in_millis(3_600_000);
    let xml = format!(
        "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
         <AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>IDENTITY</AccessKeyId>\
         <SecretAccessKey>{CHAIN_SECRET}</SecretAccessKey><SessionToken>{TOKEN}</SessionToken>\
         <Expiration>{expiry}</Expiration></Credentials></AssumeRoleWithWebIdentityResult>\
         </AssumeRoleWithWebIdentityResponse>"
    );
    let sts = Source::start(move |_| answer("200 OK", &xml)).await;
    let chain = environment(&[
        ("AWS_WEB_IDENTITY_TOKEN_FILE", file.to_str().unwrap()),
        ("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/proxy"),
        ("AWS_ENDPOINT_URL_STS", &sts.url()),
    ]);
    assert_eq!(used(chain).await, owned("IDENTITY", Some(TOKEN)));
    let asked = sts.asked();
    assert_eq!((asked.len(), asked[0].method.as_str()), (1, "POST"));
    for part in ["Action=AssumeRoleWithWebIdentity", "identity-token", "role%2Fproxy"] {
        assert!(asked[0].body.contains(part), "{part}: {}", asked[0].body);
    }
}

#[tokio::test]
async fn an_instance_is_asked_by_imds_version_2() {
    let (_, expiry) = in_millis(3_600_000);
    let service = Source::start(move |asked| {
        let has_token = asked.header("x-aws-ec2-metadata-token") == Some("metadata-token");
        match (asked.method.as_str(), asked.target.as_str()) {
            ("PUT", "/latest/api/token") => {
                let head = "HTTP/1.1 200 OK\r\nx-aws-ec2-metadata-token-ttl-seconds: 21600\r\n";
                format!("{head}content-length: 14\r\n\r\nmetadata-token").into_bytes()
            }
            ("GET", _) if !has_token => answer("401 Unauthorized", ""),
            ("GET", "/latest/meta-data/iam/security-credentials/") => answer("200 OK", "role"),
            ("GET", "/latest/meta-data/iam/security-credentials/role") => {
                answer("200 OK", &json("INSTANCE", TOKEN, &expiry))
            }
            _ => answer("404 Not Found", ""),
        }
    });
    let service = service.await;
    let chain = environment(&[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &service.url())]);
    assert_eq!(used(chain).await, owned("INSTANCE", Some(TOKEN)));
    let asked = service.asked();
    let methods: Vec<&str> = asked.iter().map(|asked| asked.method.as_str()).collect();
    assert_eq!(methods, ["PUT", "GET", "GET"]);
    assert!(asked[0].header("x-aws-ec2-metadata-token-ttl-seconds").is_some());
}

/// Creates a chain with a container endpoint that responds with `answer`.
async fn container(
    answer: impl Fn(usize) -> Vec<u8> + Send + Sync + 'static,
) -> (CredentialChain, Source) {
    let count = AtomicUsize::new(0);
    let source = Source::start(move |asked| {
        assert_eq!(asked.header("authorization"), Some("Bearer of-the-container"));
        answer(count.fetch_add(1, SeqCst))
    });
    let source = source.await;
    let chain = environment(&[
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", &format!("{}/role", source.url())),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Bearer of-the-container"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ]);
    (chain, source)
}

#[tokio::test]
async fn credentials_are_renewed_before_they_expire_without_a_failed_request() {
    let (chain, _source) = container(|number| {
        let (_, expiry) = in_millis(3_000);
        answer("200 OK", &json(&format!("CONTAINER{number}"), &format!("token-{number}"), &expiry))
    })
    .await;
    let (scratch, backend) = (Scratch::new(), Verifying::start().await);
    let front = serve(&chained(&scratch, &backend, chain)).await;
    let start = Instant::now();
    while backend.let_in().iter().all(|request| request.access_key == "CONTAINER0") {
        assert!(start.elapsed() < LATE, "no renewal");
        front.client.ask("HEAD", "/bucket").await.expect(200);
        sleep(Duration::from_millis(20)).await;
    }
    for request in backend.let_in() {
        let number = request.access_key.strip_prefix("CONTAINER").unwrap();
        assert_eq!(request.token, Some(format!("token-{number}")));
    }
}

#[tokio::test]
async fn credentials_that_cannot_be_renewed_serve_until_they_expire_and_then_answer_503() {
    let issued = Arc::<Mutex<Option<SystemTime>>>::default();
    let expires = Arc::clone(&issued);
    let (chain, source) = container(move |number| match number {
        0 => {
            let (time, expiry) = in_millis(1_500);
            *expires.lock().unwrap() = Some(time);
            answer("200 OK", &json("CONTAINER", TOKEN, &expiry))
        }
        _ => answer("404 Not Found", "{\"message\":\"not-for-the-log\"}"),
    })
    .await;
    let lines = Lines::default();
    let _until = lines.collect();
    let (scratch, backend) = (Scratch::new(), Verifying::start().await);
    let front = serve(&chained(&scratch, &backend, chain)).await;
    front.client.ask("HEAD", "/bucket").await.expect(200);
    let expiry = issued.lock().unwrap().unwrap();
    while source.asked().len() < 2 || lines.warnings().is_empty() {
        sleep(Duration::from_millis(5)).await;
    }
    // The renewal failed, and the old credentials are still valid.
    let (answered, ready) = (front.client.ask("HEAD", "/bucket").await, front.proxy.ready().await);
    // On a very slow machine they may have expired meanwhile.
    if SystemTime::now() < expiry {
        answered.expect(200);
        assert!(ready.is_ok());
    }
    sleep(expiry.duration_since(SystemTime::now()).unwrap_or_default()).await;
    let refused = front.client.ask("GET", "/bucket").await.expect(503);
    assert_eq!(refused.code(), "ServiceUnavailable");
    assert!(front.proxy.ready().await.is_err());
    let warnings = lines.warnings();
    let cause = format!("{}: answered with 404", source.address);
    let (renewal, request) = (&warnings[0], warnings.last().unwrap());
    for line in [renewal, request] {
        assert!(line.contains("kind=credentials") && line.contains(&cause), "{line}");
    }
    assert!(request.contains("bucket=bucket"), "{request}");
    for secret in [CHAIN_SECRET, TOKEN, "of-the-container", "not-for-the-log"] {
        assert!(!warnings.concat().contains(secret), "{secret}: {warnings:?}");
    }
}

#[tokio::test]
async fn a_chain_that_has_no_credentials_at_first_is_asked_again() {
    let is_up = Arc::new(AtomicBool::new(false));
    let up = Arc::clone(&is_up);
    let (chain, _source) = container(move |_| match up.load(SeqCst) {
        true => answer("200 OK", &json("CONTAINER", TOKEN, &in_millis(3_600_000).1)),
        false => answer("404 Not Found", ""),
    })
    .await;
    let (scratch, backend) = (Scratch::new(), Verifying::start().await);
    let front = serve(&chained(&scratch, &backend, chain)).await;
    front.client.ask("HEAD", "/bucket").await.expect(503);
    is_up.store(true, SeqCst);
    // The first pause is at most a second.
    let start = Instant::now();
    while front.client.ask("HEAD", "/bucket").await.status != 200 {
        assert!(start.elapsed() < LATE);
        sleep(Duration::from_millis(20)).await;
    }
}

/// Returns the warning of a request whose chain uses this web identity service.
async fn with_sts(sts: &Source) -> String {
    let scratch = Scratch::new();
    let file = scratch.folder().join("identity");
    fs::write(&file, "identity-token").unwrap();
    failed(environment(&[
        ("AWS_WEB_IDENTITY_TOKEN_FILE", file.to_str().unwrap()),
        ("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/proxy"),
        ("AWS_ENDPOINT_URL_STS", &sts.url()),
    ]))
    .await
}

/// Returns the warning of a request that fails because there are no credentials.
async fn failed(chain: CredentialChain) -> String {
    let lines = Lines::default();
    let _until = lines.collect();
    let (scratch, backend) = (Scratch::new(), Verifying::start().await);
    let front = serve(&chained(&scratch, &backend, chain)).await;
    front.client.ask("HEAD", "/bucket").await.expect(503);
    assert_eq!(backend.let_in(), []);
    lines.warnings().pop().unwrap()
}

#[tokio::test]
async fn an_endless_answer_of_a_source_is_cut() {
    let sts = Source::start(|_| {
        let mut bytes = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec();
        bytes.resize(64 * 1024 * 1024, b' ');
        bytes
    });
    let told = with_sts(&sts.await).await;
    assert!(told.contains("is incomplete or too long"), "{told}");
}

#[tokio::test]
async fn a_redirect_of_a_source_is_not_followed() {
    let elsewhere = Source::start(|_| answer("200 OK", "")).await;
    let location = elsewhere.url();
    let sts = Source::start(move |_| {
        let head = format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {location}/\r\n");
        format!("{head}content-length: 0\r\n\r\n").into_bytes()
    });
    let told = with_sts(&sts.await).await;
    assert!(told.contains("answered with 307"), "{told}");
    assert!(elsewhere.asked().is_empty());
}

#[tokio::test]
async fn garbage_of_a_source_is_an_error_and_stays_out_of_the_log() {
    for (document, cause) in [
        ("{\"Code\":\"Success\",[\"SecretInGarbage\"]}", "cannot be parsed"),
        // The library's error contains these words.
        ("{\"Code\":\"Failed\",\"Message\":\"SecretInGarbage\"}", "a source failed"),
    ] {
        let service = Source::start(move |asked| match asked.method.as_str() {
            "PUT" => {
                let head = "HTTP/1.1 200 OK\r\nx-aws-ec2-metadata-token-ttl-seconds: 21600\r\n";
                format!("{head}content-length: 14\r\n\r\nmetadata-token").into_bytes()
            }
            _ if asked.target.ends_with('/') => answer("200 OK", "role"),
            _ => answer("200 OK", document),
        });
        let url = service.await.url();
        let told = failed(environment(&[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &url)])).await;
        assert!(told.contains(cause), "{told}");
        assert!(!told.contains("Garbage"), "{told}");
    }
}

#[tokio::test]
async fn a_chain_without_a_source_says_so() {
    let told = failed(environment(&[("AWS_EC2_METADATA_DISABLED", "true")])).await;
    assert!(told.contains("no source of the chain has credentials"), "{told}");
    let file = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/nowhere/token"),
        ("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/proxy"),
    ];
    let told = failed(environment(&file)).await;
    assert!(told.contains("No such file"), "{told}");
}

#[tokio::test]
async fn a_reload_goes_on_with_the_credentials_of_the_same_chain_alone() {
    let (chain, source) = container(move |number| match number {
        0 => answer("200 OK", &json("CONTAINER", TOKEN, &in_millis(3_600_000).1)),
        _ => answer("404 Not Found", ""),
    })
    .await;
    let (scratch, backend) = (Scratch::new(), Verifying::start().await);
    let mut config = chained(&scratch, &backend, chain.clone());
    let front = serve(&config).await;
    front.client.ask("HEAD", "/bucket").await.expect(200);
    let same = front.proxy.renewed(&config).unwrap();
    while source.asked().len() < 2 {
        sleep(Duration::from_millis(5)).await;
    }
    // The new chain was asked without success, and the old credentials are used.
    assert!(same.ready().await.is_ok());
    config.backend.credentials = Some(chain.with_profile("another"));
    let other = front.proxy.renewed(&config).unwrap();
    assert_eq!(other.ready().await, Err("there are no credentials for the backend"));
}

#[tokio::test]
async fn rewrap_scrub_and_clean_use_the_chain() {
    let world = World::new();
    let mut config = world.config();
    let backend = &mut config.backend;
    let key = core::mem::take(&mut backend.access_key);
    let secret = world.folder.expose_secret_access_key();
    backend.credentials =
        Some(environment(&[("AWS_ACCESS_KEY_ID", &key), ("AWS_SECRET_ACCESS_KEY", secret)]));
    let front = serve(&config).await;
    front.client.ask("PUT", "/bucket").await.expect(200);
    front.client.put("/bucket/key", b"content").await.expect(200);
    // The first request of each proxy is also the first of its chain.
    let start = || Arc::new(Proxy::start(&config).unwrap());
    let scrubbed = scrub(&start(), &Scrub::default(), |_| {}).await.unwrap();
    assert_eq!((scrubbed.authentic, scrubbed.failed), (1, 0));
    let rewrapped = rewrap(&start(), &Rewrap::default(), |_| {}).await.unwrap();
    assert_eq!(rewrapped.buckets, 1);
    let cleaned = clean(&start(), &Clean::default(), |_| {}).await.unwrap();
    assert_eq!(cleaned.buckets, 1);
}

#[test]
fn a_configuration_names_a_chain_or_an_access_key() {
    let parse = |backend: &str| {
        let text = format!(
            "[backend]\nurl = \"http://127.0.0.1:1\"\n{backend}\n\
             [keys]\nprovider = \"ring\"\nfile = \"ring\"\n"
        );
        Config::parse(&text, Path::new("/etc/x"), |_| None).map(|config| config.backend)
    };
    let chain = "credentials = \"chain\"";
    assert!(parse(chain).unwrap().credentials == Some(CredentialChain::new()));
    let with_profile = parse(&format!("{chain}\nprofile = \"backup\"")).unwrap().credentials;
    assert!(with_profile == Some(CredentialChain::new().with_profile("backup")));
    let key = "access_key = \"A\"\nsecret_key = \"B\"";
    assert!(parse(key).unwrap().credentials.is_none());
    for (backend, entry) in [
        (format!("{chain}\n{key}"), "backend.credentials"),
        (format!("{chain}\nsecret_key = \"B\""), "backend.credentials"),
        (format!("profile = \"backup\"\n{key}"), "backend.profile"),
        (String::new(), "backend.access_key"),
    ] {
        let error = parse(&backend).err().unwrap();
        assert_eq!(error.entry(), entry, "{backend}");
    }
    assert!(parse("credentials = \"imds\"").is_err());
}
