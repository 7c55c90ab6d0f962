//! Tests of access tokens: their sources, their renewal, and sources that fail.

use core::time::Duration;
use std::sync::Arc;

use aws_lc_rs::rsa::{KeyPair, KeySize};
use endseal_kms::gcp::{ServiceAccount, TokenSource};
use endseal_kms::{GcpKmsProvider, KeyProvider as _};
use endseal_s3proxy::upstream::Limits;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::protocol::short;
use super::server::{Api, EMAIL, Fault, GcpServer, ID, KEY};
use super::*;

async fn wrap(provider: &GcpKmsProvider) -> Result<(), ProviderError> {
    provider.wrap(b"context", &key(1)).await.map(drop)
}

/// Returns providers with both sources of tokens.
fn both(server: &GcpServer) -> [GcpKmsProvider; 2] {
    [server.provider(short()), server.account_provider(short())]
}

fn unavailable(seconds: u64) -> ProviderError {
    ProviderError::Unavailable { retry_after: Duration::from_secs(seconds) }
}

#[tokio::test]
async fn one_token_serves_all_requests() {
    let server = GcpServer::start().await;
    for provider in both(&server) {
        let at_once = || async { tokio::join!(wrap(&provider), wrap(&provider), wrap(&provider)) };
        for _ in 0..3 {
            assert_eq!(at_once().await, (Ok(()), Ok(()), Ok(())));
        }
        assert_eq!((server.requests(Api::Tokens), server.requests(Api::Kms)), (1, 9));
    }
}

#[tokio::test]
async fn a_token_is_renewed_before_it_expires() {
    let server = GcpServer::start().await;
    for provider in both(&server) {
        server.state().lifetime = 4;
        assert_eq!(wrap(&provider).await, Ok(()));
        assert_eq!(wrap(&provider).await, Ok(()));
        assert_eq!(server.requests(Api::Tokens), 1);
        sleep(Duration::from_millis(2_100)).await;
        // The renewal fails, and is not repeated at once: the token is valid for a while.
        server.fault(Api::Tokens, Fault::Status(503, String::new()));
        assert_eq!(wrap(&provider).await, Ok(()));
        assert_eq!(wrap(&provider).await, Ok(()));
        assert_eq!(server.requests(Api::Tokens), 1);
        sleep(Duration::from_millis(2_100)).await;
        server.fault(Api::Tokens, Fault::Status(503, String::new()));
        assert_eq!(wrap(&provider).await, Err(unavailable(1)));
        server.state().lifetime = 3_600;
        assert_eq!(wrap(&provider).await, Ok(()));
        assert_eq!(wrap(&provider).await, Ok(()));
        assert_eq!(server.requests(Api::Tokens), 2);
    }
}

#[tokio::test]
async fn a_source_that_stalls_holds_up_one_request_for_a_short_time() {
    let server = GcpServer::start().await;
    let provider = server.provider(Limits::default());
    server.state().lifetime = 8;
    assert_eq!(wrap(&provider).await, Ok(()));
    sleep(Duration::from_millis(4_100)).await;
    server.fault(Api::Tokens, Fault::Silence);
    let begin = Instant::now();
    let first = async {
        let outcome = wrap(&provider).await;
        (outcome, begin.elapsed())
    };
    let second = async {
        sleep(Duration::from_millis(100)).await;
        let outcome = wrap(&provider).await;
        (outcome, begin.elapsed())
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!((first.0, second.0), (Ok(()), Ok(())));
    assert!(first.1 >= Duration::from_secs(2) && second.1 < first.1, "{first:?} {second:?}");
    assert_eq!(server.requests(Api::Tokens), 2);
}

#[tokio::test]
async fn a_token_that_the_service_refuses_is_replaced() {
    let server = GcpServer::start().await;
    for provider in both(&server) {
        assert_eq!(wrap(&provider).await, Ok(()));
        server.state().tokens.clear();
        server.requests(Api::Tokens);
        server.requests(Api::Kms);
        assert_eq!(wrap(&provider).await, Ok(()));
        assert_eq!((server.requests(Api::Tokens), server.requests(Api::Kms)), (1, 2));
    }
    // Without another one there is no second attempt.
    let provider = server.provider(short());
    assert_eq!(wrap(&provider).await, Ok(()));
    server.state().tokens.clear();
    server.state().repeats_token = true;
    server.requests(Api::Kms);
    assert_eq!(wrap(&provider).await, Err(ProviderError::Refused));
    assert_eq!(server.requests(Api::Kms), 1);
}

#[tokio::test]
async fn another_server_at_the_address_of_the_metadata_is_refused() {
    let server = GcpServer::start().await;
    server.state().omits_flavor = true;
    assert_eq!(wrap(&server.provider(short())).await, Err(ProviderError::Refused));
    assert_eq!(server.requests(Api::Kms), 0);
}

#[tokio::test]
async fn each_failure_of_a_source_has_its_meaning() {
    let server = GcpServer::start().await;
    let status = |status, json: &str| Fault::Status(status, json.to_owned());
    for provider in both(&server) {
        for (fault, error) in [
            (status(400, r#"{"error":"invalid_grant"}"#), ProviderError::Refused),
            (status(401, r#"{"error":"invalid_client"}"#), ProviderError::Refused),
            (status(403, ""), ProviderError::Refused),
            (status(404, "not found"), ProviderError::Refused),
            (status(429, ""), unavailable(1)),
            (Fault::Header(503, "retry-after: 7\r\n", String::new()), unavailable(7)),
            (status(500, ""), unavailable(1)),
            (status(302, ""), unavailable(1)),
            (status(200, ""), unavailable(1)),
            (status(200, "[]"), unavailable(1)),
            (status(200, r#"{"access_token": "cut"#), unavailable(1)),
            (
                status(200, &format!("{{\"access_token\": \"{}\"}}", "x".repeat(20_000))),
                unavailable(1),
            ),
            (Fault::Field("access_token", None), unavailable(1)),
            (Fault::Field("access_token", Some(json!(""))), unavailable(1)),
            (Fault::Field("access_token", Some(json!("a b"))), unavailable(1)),
            (Fault::Field("access_token", Some(json!("a\r\nb: c"))), unavailable(1)),
            (Fault::Field("access_token", Some(json!("\u{fc}"))), unavailable(1)),
            (Fault::Field("token_type", Some(json!("mac"))), unavailable(1)),
            (Fault::Field("expires_in", Some(json!(0))), unavailable(1)),
            (Fault::Field("expires_in", Some(json!(-1))), unavailable(1)),
            (Fault::Field("expires_in", Some(Value::Null)), unavailable(1)),
            (Fault::Silence, unavailable(1)),
        ] {
            server.fault(Api::Tokens, fault);
            assert_eq!(wrap(&provider).await, Err(error));
        }
        assert_eq!(server.requests(Api::Kms), 0);
        for raw in [&b""[..], b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"access_token\":"] {
            // A request over a closed connection is repeated over a new one.
            for _ in 0..2 {
                server.fault(Api::Tokens, Fault::Raw(raw.to_vec()));
            }
            assert_eq!(wrap(&provider).await, Err(unavailable(1)), "{raw:?}");
            while server.has_faults(Api::Tokens) {
                let _drained = wrap(&provider).await;
            }
        }
        // A lifetime that overflows no clock.
        server.fault(Api::Tokens, Fault::Field("expires_in", Some(json!(u64::MAX))));
        assert_eq!(wrap(&provider).await, Ok(()));
        assert_eq!(wrap(&provider).await, Ok(()));
        server.requests(Api::Kms);
    }
}

#[tokio::test]
async fn an_assertion_under_another_key_is_refused() {
    let server = GcpServer::start().await;
    let other = KeyPair::generate(KeySize::Rsa2048).unwrap();
    // Some writers of JSON escape the equals signs at the end of base64.
    let file = server.account_file_of(&other).replace('=', "\\u003d");
    let account = Arc::new(ServiceAccount::read(file.as_bytes()).ok().unwrap());
    let client = Arc::new(server.client(Limits::default()));
    let tokens = TokenSource::ServiceAccount { account, client: client.clone() };
    let provider = GcpKmsProvider::new(client, tokens, id(ID), KEY.to_owned()).unwrap();
    assert_eq!(wrap(&provider).await, Err(ProviderError::Refused));
    assert_eq!(server.requests(Api::Kms), 0);
}

#[tokio::test]
async fn errors_show_no_token() {
    let server = GcpServer::start().await;
    for provider in both(&server) {
        assert_eq!(wrap(&provider).await, Ok(()));
        let json = format!("{{\"error\": {{\"message\": \"ya29.c.marked {EMAIL}\"}}}}");
        server.fault(Api::Kms, Fault::Status(403, json));
        let error = wrap(&provider).await.unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(!text.contains("marked") && !text.contains(EMAIL), "{text}");
    }
}
