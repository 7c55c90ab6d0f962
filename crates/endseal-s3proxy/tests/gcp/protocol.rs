//! Tests of Cloud KMS's protocol, and of faulty servers.

use core::time::Duration;

use base64ct::{Base64, Encoding as _};
use crc_fast::CrcAlgorithm::Crc32Iscsi;
use endseal_kms::GcpKmsProvider;
use endseal_s3proxy::upstream::Limits;
use serde_json::{Value, json};

use super::server::{Api, Fault, GcpServer, ID, KEY, error};
use super::*;

const SOON: Duration = Duration::from_millis(500);

pub(crate) fn short() -> Limits {
    Limits { first_byte: SOON, idle: SOON, ..Limits::default() }
}

async fn started() -> (GcpServer, GcpKmsProvider, Wrapped) {
    let server = GcpServer::start().await;
    let provider = server.provider(short());
    let wrapped = provider.wrap(b"context", &key(7)).await.ok().unwrap();
    server.requests(Api::Kms);
    (server, provider, wrapped)
}

fn unavailable(seconds: u64) -> ProviderError {
    ProviderError::Unavailable { retry_after: Duration::from_secs(seconds) }
}

async fn wrap_error(provider: &GcpKmsProvider) -> Option<ProviderError> {
    provider.wrap(b"context", &key(1)).await.err()
}

async fn unwrap_error(provider: &GcpKmsProvider, wrapped: &Wrapped) -> Option<ProviderError> {
    provider.unwrap(&wrapped.key_id, b"context", &wrapped.bytes).await.err()
}

#[tokio::test]
async fn a_server_is_a_provider() {
    let server = GcpServer::start().await;
    for provider in [server.provider(Limits::default()), server.account_provider(Limits::default())]
    {
        assert_eq!(provider.kind().name(), "gcp-kms");
        let wrapped = opens_what_it_wrapped(&provider).await;
        assert!(wrapped.bytes.starts_with(b"gcp:v1:\0\0\0\x01") && wrapped.bytes.len() == 71);
        refuses_changes(&provider, &wrapped, 1).await;
    }
}

#[tokio::test]
async fn another_context_does_not_open() {
    let (_server, provider, wrapped) = started().await;
    for context in [&b"contexu"[..], b"", b"context\0"] {
        let outcome = provider.unwrap(&wrapped.key_id, context, &wrapped.bytes).await;
        assert_eq!(outcome.err(), Some(ProviderError::AuthenticationFailed));
    }
}

#[tokio::test]
async fn a_server_that_ignores_the_context_is_found() {
    let server = GcpServer::start().await;
    server.state().ignores_aad = true;
    let outcome = endseal_kms::check(&server.provider(Limits::default())).await;
    assert_eq!(outcome, Err(ProviderError::Refused));
}

#[tokio::test]
async fn a_rotation_at_the_service_makes_what_was_wrapped_before_old() {
    let (server, provider, old) = started().await;
    server.rotate();
    let new = provider.wrap(b"context", &key(7)).await.ok().unwrap();
    assert!(new.bytes.starts_with(b"gcp:v2:"));
    assert!(!provider.is_as_new(ID, &old.bytes, &new) && provider.is_as_new(ID, &new.bytes, &new));
    assert!(!provider.is_as_new("another", &new.bytes, &new));
    assert!(!provider.is_as_new(ID, b"gcp:v2:", &new), "no ciphertext at all");
    assert_eq!(unwrap_error(&provider, &old).await, None);
    server.state().versions.remove(&1);
    assert_eq!(unwrap_error(&provider, &old).await, Some(ProviderError::Refused));
    assert_eq!(unwrap_error(&provider, &new).await, None);
}

#[tokio::test]
async fn what_no_provider_wrapped_is_not_sent() {
    let (server, provider, _) = started().await;
    for bad in [&b""[..], b"gcp:v1:", b"gcp:v0:x", b"vault:v1:AAAA", &[b'A'; 600]] {
        let outcome = provider.unwrap(&id(ID), b"context", bad).await;
        assert_eq!(outcome.err(), Some(ProviderError::AuthenticationFailed), "{bad:?}");
    }
    assert_eq!(server.requests(Api::Kms), 0);
}

#[tokio::test]
async fn an_answer_of_another_key_is_refused() {
    let (server, provider, _) = started().await;
    let other = KEY.replace("cryptoKeys/k", "cryptoKeys/other");
    for name in [
        format!("{other}/cryptoKeyVersions/1"),
        format!("{KEY}2/cryptoKeyVersions/1"),
        KEY.to_owned(),
        format!("{KEY}/cryptoKeyVersions/"),
        format!("{KEY}/cryptoKeyVersions/0"),
        format!("{KEY}/cryptoKeyVersions/1/x"),
        format!("{KEY}/cryptoKeyVersions/1:"),
        String::new(),
    ] {
        server.fault(Api::Kms, Fault::Field("name", Some(json!(name))));
        assert_eq!(wrap_error(&provider).await, Some(ProviderError::Refused), "{name}");
    }
}

#[tokio::test]
async fn a_wrong_or_missing_checksum_is_not_believed() {
    let (server, provider, wrapped) = started().await;
    let wrong = [None, Some(json!("1")), Some(json!(1)), Some(json!("x")), Some(json!("-1"))];
    for value in &wrong {
        server.fault(Api::Kms, Fault::Field("ciphertextCrc32c", value.clone()));
        assert_eq!(wrap_error(&provider).await, Some(unavailable(1)), "{value:?}");
        server.fault(Api::Kms, Fault::Field("plaintextCrc32c", value.clone()));
        assert_eq!(unwrap_error(&provider, &wrapped).await, Some(unavailable(1)), "{value:?}");
    }
    for field in ["verifiedPlaintextCrc32c", "verifiedAdditionalAuthenticatedDataCrc32c"] {
        for value in [None, Some(json!(false)), Some(json!("true"))] {
            server.fault(Api::Kms, Fault::Field(field, value));
            assert_eq!(wrap_error(&provider).await, Some(unavailable(1)), "{field}");
        }
    }
    // The bytes changed, and the checksum did not.
    let zeros = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    server.fault(Api::Kms, Fault::Field("ciphertext", Some(json!(zeros))));
    assert_eq!(wrap_error(&provider).await, Some(unavailable(1)));
    server.fault(Api::Kms, Fault::Field("plaintext", Some(json!(zeros))));
    assert_eq!(unwrap_error(&provider, &wrapped).await, Some(unavailable(1)));
    assert_eq!(unwrap_error(&provider, &wrapped).await, None);
}

#[tokio::test]
async fn each_failure_of_the_service_has_its_meaning() {
    use ProviderError::{AuthenticationFailed, Refused, UnknownKey};
    let (server, provider, wrapped) = started().await;
    let status = |code, name: &str, text: &str| {
        let (code, json) = error(code, name, text);
        Fault::Status(code, json.to_string())
    };
    let both = |fault, error| (fault, error, error);
    for (fault, wrap, unwrap) in [
        (
            status(400, "INVALID_ARGUMENT", "Decryption failed: the ciphertext is invalid."),
            Refused,
            AuthenticationFailed,
        ),
        (Fault::Status(400, "garbled".to_owned()), Refused, AuthenticationFailed),
        both(
            status(400, "INVALID_ARGUMENT", "The checksum in field plaintext_crc32c did not match"),
            unavailable(1),
        ),
        both(status(400, "FAILED_PRECONDITION", "is not enabled"), Refused),
        both(status(403, "PERMISSION_DENIED", "Permission denied"), Refused),
        both(status(404, "NOT_FOUND", "CryptoKey not found"), UnknownKey),
        both(status(429, "RESOURCE_EXHAUSTED", "Quota exceeded"), unavailable(1)),
        both(Fault::Header(429, "retry-after: 7\r\n", "{}".to_owned()), unavailable(7)),
        both(Fault::Header(503, "retry-after: 86400\r\n", "{}".to_owned()), unavailable(60)),
        both(status(500, "INTERNAL", "Internal error"), unavailable(1)),
        both(status(504, "DEADLINE_EXCEEDED", "Deadline exceeded"), unavailable(1)),
        both(Fault::Header(307, "location: http://192.0.2.1/\r\n", String::new()), unavailable(1)),
    ] {
        server.fault(Api::Kms, fault.clone());
        assert_eq!(wrap_error(&provider).await, Some(wrap));
        server.fault(Api::Kms, fault);
        assert_eq!(unwrap_error(&provider, &wrapped).await, Some(unwrap));
    }
    assert_eq!(unwrap_error(&provider, &wrapped).await, None);
}

#[tokio::test]
async fn garbage_is_no_key() {
    let (server, provider, wrapped) = started().await;
    for json in ["", "garbage", "[]", "{}", "[[[[[[", "{\"name\":", "null"] {
        for _ in 0..2 {
            server.fault(Api::Kms, Fault::Status(200, json.to_owned()));
        }
        assert_eq!(wrap_error(&provider).await, Some(unavailable(1)), "{json}");
        assert_eq!(unwrap_error(&provider, &wrapped).await, Some(unavailable(1)), "{json}");
    }
    for value in [Value::Null, json!(1), json!("!"), json!("AAAA=")] {
        server.fault(Api::Kms, Fault::Field("ciphertext", Some(value.clone())));
        assert_eq!(wrap_error(&provider).await, Some(unavailable(1)), "{value}");
        server.fault(Api::Kms, Fault::Field("plaintext", Some(value.clone())));
        assert_eq!(unwrap_error(&provider, &wrapped).await, Some(unavailable(1)), "{value}");
    }
    // Plaintexts of other programs that use the key. 0 is the checksum of nothing.
    for (plaintext, crc) in [("", "0"), ("AAAA", "1617208186")] {
        let json = json!({"plaintext": plaintext, "plaintextCrc32c": crc}).to_string();
        server.fault(Api::Kms, Fault::Status(200, json));
        let outcome = unwrap_error(&provider, &wrapped).await;
        assert_eq!(outcome, Some(ProviderError::AuthenticationFailed), "{plaintext}");
    }
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_not_read() {
    let (server, provider, wrapped) = started().await;
    for json in ["[".repeat(10_000), format!("{{\"a\": {:20000}}}", 1), " ".repeat(1 << 20)] {
        for _ in 0..2 {
            server.fault(Api::Kms, Fault::Status(200, json.clone()));
        }
        assert_eq!(wrap_error(&provider).await, Some(unavailable(1)));
        assert_eq!(unwrap_error(&provider, &wrapped).await, Some(unavailable(1)));
    }
    // This ciphertext is read, but it does not fit into the header of an object.
    let ciphertext = json!(Base64::encode_string(&[0; 512]));
    let crc = json!(crc_fast::checksum(Crc32Iscsi, &[0; 512]).to_string());
    server.fault(
        Api::Kms,
        Fault::Fields(vec![("ciphertext", ciphertext), ("ciphertextCrc32c", crc)]),
    );
    assert_eq!(wrap_error(&provider).await, Some(ProviderError::Refused));
}

#[tokio::test]
async fn a_server_that_breaks_or_stalls_is_not_available() {
    let (server, provider, wrapped) = started().await;
    for raw in [
        &b""[..],
        b"SSH-2.0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"plaintext\":",
    ] {
        // The first request is repeated over a new connection, because it looks like a closed one.
        for _ in 0..2 {
            server.fault(Api::Kms, Fault::Raw(raw.to_vec()));
        }
        assert_eq!(unwrap_error(&provider, &wrapped).await, Some(unavailable(1)), "{raw:?}");
        while unwrap_error(&provider, &wrapped).await.is_some() {}
    }
    server.fault(Api::Kms, Fault::Silence);
    assert_eq!(unwrap_error(&provider, &wrapped).await, Some(unavailable(1)));
    assert_eq!(unwrap_error(&provider, &wrapped).await, None);
}
