//! Tests of Vault's protocol, and of faulty servers.

use core::time::Duration;

use endseal_kms::VaultProvider;
use endseal_kms::vault::{InvalidVaultSettings, Token, TokenSource};
use endseal_s3proxy::upstream::Limits;

use super::server::{Fault, TOKEN, VaultServer, settings};
use super::*;

const SOON: Duration = Duration::from_millis(500);

fn fixed(token: &str) -> TokenSource {
    TokenSource::Fixed(Token::new(token).ok().unwrap())
}

fn short() -> Limits {
    Limits { first_byte: SOON, idle: SOON, ..Limits::default() }
}

async fn started() -> (VaultServer, VaultProvider, Wrapped) {
    let server = VaultServer::start().await;
    let provider = server.provider(short(), fixed(TOKEN));
    let wrapped = provider.wrap(b"context", &key(7)).await.ok().unwrap();
    server.requests();
    (server, provider, wrapped)
}

fn seconds(error: Option<ProviderError>) -> u64 {
    match error {
        Some(ProviderError::Unavailable { retry_after }) => retry_after.as_secs(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_server_is_a_provider() {
    let server = VaultServer::start().await;
    let provider = server.provider(Limits::default(), fixed(TOKEN));
    let wrapped = opens_what_it_wrapped(&provider).await;
    assert!(wrapped.bytes.starts_with(b"vault:v1:") && wrapped.bytes.len() == 89);
    refuses_changes(&provider, &wrapped, 1).await;
}

#[tokio::test]
async fn a_rotation_at_the_server_makes_what_was_wrapped_before_old() {
    let (_server, provider, wrapped) = started().await;
    let id = wrapped.key_id.as_str();
    assert!(provider.is_as_new(id, &wrapped.bytes, &wrapped));
    let text = String::from_utf8(wrapped.bytes.clone()).unwrap();
    let second = text.replacen("vault:v1:", "vault:v2:", 1).into_bytes();
    let sample = Wrapped { bytes: second.clone(), ..wrapped.clone() };
    assert!(!provider.is_as_new(id, &wrapped.bytes, &sample));
    assert!(provider.is_as_new(id, &second, &sample));
    assert!(!provider.is_as_new("another", &second, &sample));
    assert!(!provider.is_as_new(id, b"vault:v2:", &sample), "no ciphertext at all");
    let others: Vec<std::sync::Arc<dyn KeyProvider>> = Vec::new();
    let several = endseal_kms::Several::new(std::sync::Arc::new(provider), others);
    assert!(!several.is_as_new(id, &wrapped.bytes, &sample));
    let limits = endseal_kms::cache::CacheLimits::default();
    let cached = endseal_kms::Cached::new(std::sync::Arc::new(several), limits);
    assert!(!cached.is_as_new(id, &wrapped.bytes, &sample));
    assert!(cached.is_as_new(id, &second, &sample));
}

#[tokio::test]
async fn what_no_server_made_is_not_sent() {
    let (server, provider, _) = started().await;
    for bad in [
        &b""[..],
        b"vault:v1",
        b"vault:v1:",
        b"vault:v:AAAA",
        b"vault:v12345678901:AAAA",
        b"vault:v0:AAAA",
        b"vault:v01:AAAA",
        b"vault:v1:AAA",
        b"vault:v1:AB==",
        b"vault:v1:AA\"AA",
        b"vault:v1:AA\\u0000",
        b"vault:v1:AA AA",
        b"vault:v1:\xff\xff",
        b"Vault:v1:AAAA",
        &[b"vault:v1:", &[b'A'; 1016][..]].concat(),
    ] {
        let outcome = provider.unwrap(&id("vault.test"), b"", bad).await;
        assert_eq!(outcome.err(), Some(ProviderError::AuthenticationFailed), "{bad:?}");
    }
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn a_server_that_ignores_the_context_is_found() {
    let server = VaultServer::start().await;
    server.ignore_associated_data();
    let provider = server.provider(Limits::default(), fixed(TOKEN));
    let outcome = endseal_kms::check(&provider).await;
    assert_eq!(outcome, Err(ProviderError::Refused));
}

#[tokio::test]
async fn each_failure_of_the_server_has_its_meaning() {
    let (server, provider, wrapped) = started().await;
    let unavailable =
        |seconds| ProviderError::Unavailable { retry_after: Duration::from_secs(seconds) };
    let errors: [(Fault, ProviderError, ProviderError); 13] = {
        use ProviderError::{AuthenticationFailed, Refused, UnknownKey};
        let status = |status, text| Fault::Status(status, text);
        let both = |fault, error| (fault, error, error);
        [
            (
                status(400, r#"{"errors":["cipher: message authentication failed"]}"#),
                Refused,
                AuthenticationFailed,
            ),
            (
                status(400, r#"{"errors":["invalid ciphertext: no prefix"]}"#),
                Refused,
                AuthenticationFailed,
            ),
            (status(400, "garbled"), Refused, AuthenticationFailed),
            both(status(400, r#"{"errors":["encryption key not found"]}"#), UnknownKey),
            both(
                status(
                    400,
                    r#"{"errors":["ciphertext or signature version is disallowed by policy (too old)"]}"#,
                ),
                Refused,
            ),
            both(status(403, r#"{"errors":["permission denied"]}"#), Refused),
            both(status(404, r#"{"errors":["no handler for route"]}"#), UnknownKey),
            both(
                status(429, r#"{"errors":["request path: rate limit quota exceeded"]}"#),
                unavailable(1),
            ),
            both(Fault::Header(429, "retry-after: 7\r\n", "{}"), unavailable(7)),
            both(Fault::Header(503, "retry-after: 86400\r\n", "{}"), unavailable(60)),
            both(status(503, r#"{"errors":["Vault is sealed"]}"#), unavailable(10)),
            both(status(500, r#"{"errors":["internal error"]}"#), unavailable(1)),
            both(status(307, ""), unavailable(1)),
        ]
    };
    for (fault, wrap, unwrap) in errors {
        server.fault(fault.clone());
        let outcome = provider.wrap(b"context", &key(1)).await;
        assert_eq!(outcome.err(), Some(wrap));
        server.fault(fault);
        let outcome = provider.unwrap(&wrapped.key_id, b"context", &wrapped.bytes).await;
        assert_eq!(outcome.err(), Some(unwrap));
    }
    assert!(provider.unwrap(&wrapped.key_id, b"context", &wrapped.bytes).await.is_ok());
}

#[tokio::test]
async fn garbage_is_no_key() {
    let (server, provider, wrapped) = started().await;
    for json in [
        "",
        "garbage",
        "[]",
        "{}",
        r#"{"data":{}}"#,
        r#"{"data":{"ciphertext":1,"plaintext":1}}"#,
        r#"{"data":{"ciphertext":"","plaintext":null}}"#,
        r#"{"data":{"ciphertext":"v1:AAAA"}}"#,
        "[[[[[[[[[[",
    ] {
        server.fault(Fault::Status(200, json));
        assert_eq!(seconds(provider.wrap(b"context", &key(1)).await.err()), 1, "{json}");
        server.fault(Fault::Status(200, json));
        let outcome = provider.unwrap(&wrapped.key_id, b"context", &wrapped.bytes).await;
        assert_eq!(seconds(outcome.err()), 1, "{json}");
    }
    let deep: &'static str = Box::leak("[".repeat(10_000).into_boxed_str());
    let long: &'static str = Box::leak(format!("{:20000}", 1).into_boxed_str());
    for json in [deep, long] {
        server.fault(Fault::Status(200, json));
        assert_eq!(seconds(provider.wrap(b"context", &key(1)).await.err()), 1);
    }
    // A secret of another length or not in base64 was not wrapped by this provider.
    for json in [
        r#"{"data":{"plaintext":""}}"#,
        r#"{"data":{"plaintext":"AAAA"}}"#,
        r#"{"data":{"plaintext":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}"#,
        r#"{"data":{"plaintext":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA!="}}"#,
    ] {
        server.fault(Fault::Status(200, json));
        let outcome = provider.unwrap(&wrapped.key_id, b"context", &wrapped.bytes).await;
        assert_eq!(outcome.err(), Some(ProviderError::AuthenticationFailed), "{json}");
    }
}

#[tokio::test]
async fn a_server_that_breaks_or_stalls_is_not_available() {
    let (server, provider, wrapped) = started().await;
    for raw in [
        &b""[..],
        b"SSH-2.0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"data\":{\"plaintext\":",
    ] {
        // The first request is repeated over a new connection, because it looks like a closed one.
        for _ in 0..2 {
            server.fault(Fault::Raw(raw.to_vec()));
        }
        let outcome = provider.unwrap(&wrapped.key_id, b"context", &wrapped.bytes).await;
        assert_eq!(seconds(outcome.err()), 1, "{raw:?}");
        while provider.unwrap(&wrapped.key_id, b"context", &wrapped.bytes).await.is_err() {}
    }
    server.fault(Fault::Silence);
    let outcome = provider.unwrap(&wrapped.key_id, b"context", &wrapped.bytes).await;
    assert_eq!(seconds(outcome.err()), 1);
    assert!(provider.unwrap(&wrapped.key_id, b"context", &wrapped.bytes).await.is_ok());
}

#[tokio::test]
async fn no_one_there_is_not_available() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let server = VaultServer::start().await.elsewhere(port);
    let provider = server.provider(short(), fixed(TOKEN));
    assert_eq!(seconds(provider.wrap(b"context", &key(1)).await.err()), 1);
}

#[tokio::test]
async fn a_token_in_a_file_is_read_again_when_it_is_refused() {
    let path = std::env::temp_dir().join(format!("endseal-vault-token-{}", std::process::id()));
    let server = VaultServer::start().await;
    let provider = server.provider(Limits::default(), TokenSource::File(path.clone()));
    // The token file does not exist yet.
    let _absent = std::fs::remove_file(&path);
    assert_eq!(seconds(provider.wrap(b"context", &key(1)).await.err()), 1);
    std::fs::write(&path, format!("{TOKEN}\n")).unwrap();
    assert!(provider.wrap(b"context", &key(1)).await.is_ok());
    server.requests();
    server.set_token("s.second");
    // The file still contains the first token, so there is only one request.
    let outcome = provider.wrap(b"context", &key(1)).await;
    assert_eq!((outcome.err(), server.requests().len()), (Some(ProviderError::Refused), 1));
    std::fs::write(&path, "s.second").unwrap();
    assert!(provider.wrap(b"context", &key(1)).await.is_ok());
    assert_eq!(server.requests().len(), 2);
    assert!(provider.wrap(b"context", &key(1)).await.is_ok());
    assert_eq!(server.requests().len(), 1);
    std::fs::remove_file(&path).unwrap();
}

#[tokio::test]
async fn a_wrong_token_is_refused_and_not_shown() {
    let server = VaultServer::start().await;
    let provider = server.provider(Limits::default(), fixed("s.wrong-marked"));
    let error = provider.wrap(b"context", &key(1)).await.err().unwrap();
    assert_eq!(error, ProviderError::Refused);
    assert!(!format!("{error} {error:?}").contains("marked"));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn tokens_have_one_line() {
    for bad in ["", " \n", "a b", "a\nb", "\u{fc}", &"x".repeat(20_000)] {
        assert!(Token::new(bad).is_err(), "{bad:?}");
    }
    assert!(Token::new(" s.token\r\n").is_ok());
}

#[tokio::test]
async fn settings_lead_nowhere_else() {
    let server = VaultServer::start().await;
    let why = |mount: &str, key: &str, namespace: Option<&str>| {
        let mut settings = settings(fixed(TOKEN));
        (settings.mount, settings.key) = (mount.into(), key.into());
        settings.namespace = namespace.map(Into::into);
        VaultProvider::new(std::sync::Arc::new(server.client(Limits::default())), settings).err()
    };
    assert_eq!(why("transit", "k", None), None);
    assert_eq!(why("team/transit-2", "k_1.a", Some("a/b")), None);
    for mount in
        ["", "/transit", "transit/", "a//b", "..", "a/../b", "a?b", "a b", "a%2f", "\u{fc}"]
    {
        assert_eq!(why(mount, "k", None), Some(InvalidVaultSettings::Mount), "{mount}");
    }
    for key in ["", "a/b", "..", ".", "a?b", "a b"] {
        assert_eq!(why("transit", key, None), Some(InvalidVaultSettings::Key), "{key}");
    }
    assert_eq!(why("transit", "k", Some("a\nb")), Some(InvalidVaultSettings::Namespace));
}
