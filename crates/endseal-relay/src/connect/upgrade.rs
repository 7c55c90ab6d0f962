//! HTTP/1.1 requests to a relay (RFC 9112): to fetch a document, and to upgrade the connection to
//! WebSocket (RFC 6455, section 4.1).

use base64ct::{Base64, Encoding as _};
use endseal_crypto::legacy_hash::Sha1;
use endseal_crypto::random::{OsRandom, Random as _, RandomError};
use http::header::{CONNECTION, HOST, HeaderMap, HeaderName, UPGRADE};
use http::header::{SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION};
use http::{Request, Response, StatusCode, Uri, request};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;

use super::Io;

/// Maximum length in bytes of the head of a response.
const MAX_HEAD: usize = 16 * 1024;
/// The text that is appended to a key before it is hashed (RFC 6455, section 1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Begins a GET request for the path of a URI.
pub(crate) fn get(uri: &Uri) -> request::Builder {
    let request = Request::get(uri.path_and_query().map_or("/", |path| path.as_str()));
    request.header(HOST, uri.authority().map_or("", |authority| authority.as_str()))
}

/// Sends a request and returns the head of the response. A task in `driver` transfers the bytes, so
/// the body ends early if `driver` is dropped.
pub(crate) async fn ask(
    stream: Box<dyn Io>,
    request: Request<String>,
    driver: &mut JoinSet<()>,
) -> Result<Response<Incoming>, hyper::Error> {
    let mut builder = http1::Builder::new();
    builder.max_buf_size(MAX_HEAD);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
    // If this task fails, the request fails with the same error.
    driver.spawn(async move { drop(connection.with_upgrades().await) });
    sender.send_request(request).await
}

/// Asks the relay to upgrade to WebSocket, and returns the connection if it does.
pub(super) async fn upgrade(
    stream: Box<dyn Io>,
    uri: &Uri,
) -> Result<TokioIo<Upgraded>, UpgradeError> {
    let mut nonce = [0; 16];
    OsRandom.fill(&mut nonce).map_err(UpgradeError::Random)?;
    let key = Base64::encode_string(&nonce);
    let request = get(uri)
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_VERSION, "13")
        .header(SEC_WEBSOCKET_KEY, &key)
        .body(String::new())
        .map_err(UpgradeError::Request)?;
    let mut driver = JoinSet::new();
    let response = ask(stream, request, &mut driver).await.map_err(UpgradeError::Http)?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Err(UpgradeError::Status(response.status()));
    }
    if !agrees(response.headers(), &key) {
        return Err(UpgradeError::Headers);
    }
    hyper::upgrade::on(response).await.map(TokioIo::new).map_err(UpgradeError::Http)
}

/// Returns true if the headers of a response prove that the relay knows the key of the request.
fn agrees(headers: &HeaderMap, key: &str) -> bool {
    let names = |header: HeaderName, token: &str| {
        let values = headers.get_all(header).into_iter().filter_map(|value| value.to_str().ok());
        let mut tokens = values.flat_map(|value| value.split(','));
        tokens.any(|found| found.trim().eq_ignore_ascii_case(token))
    };
    let mut digest = Sha1::new();
    digest.update(key.as_bytes());
    digest.update(GUID);
    let accept = Base64::encode_string(&digest.finish());
    let accepted = headers.get(SEC_WEBSOCKET_ACCEPT);
    names(UPGRADE, "websocket")
        && names(CONNECTION, "upgrade")
        && accepted.is_some_and(|found| found.as_bytes() == accept.as_bytes())
}

/// The reason why a relay does not upgrade to WebSocket.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpgradeError {
    /// The headers of the response are not those of a WebSocket server that read the request.
    #[error("the headers of the answer are not those of WebSocket")]
    Headers,
    /// The response is not HTTP/1.1, or its head is longer than 16 KiB.
    #[error("{0}")]
    Http(hyper::Error),
    /// The system has no random bytes for the key.
    #[error("{0}")]
    Random(RandomError),
    /// The URL contains something that cannot be in a request.
    #[error("{0}")]
    Request(http::Error),
    /// The relay answered with a status other than 101.
    #[error("the relay answered {0}")]
    Status(StatusCode),
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    /// The example of RFC 6455, section 1.3.
    #[test]
    fn the_digest_of_the_key_is_in_the_answer() {
        let key = "dGhlIHNhbXBsZSBub25jZQ==";
        let answer = |accept: &'static str, connection: &'static str| {
            HeaderMap::from_iter([
                (UPGRADE, HeaderValue::from_static("WebSocket")),
                (CONNECTION, HeaderValue::from_static(connection)),
                (SEC_WEBSOCKET_ACCEPT, HeaderValue::from_static(accept)),
            ])
        };
        let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
        assert!(agrees(&answer(accept, "keep-alive, Upgrade"), key));
        assert!(!agrees(&answer(accept, "close"), key));
        assert!(!agrees(&answer("s3pPLMBiTxaQ9kYGzzhZRbK+xOo", "Upgrade"), key));
        assert!(!agrees(&answer(accept, "Upgrade"), "AAAAAAAAAAAAAAAAAAAAAA=="));
        assert!(!agrees(&HeaderMap::new(), key));
    }
}
