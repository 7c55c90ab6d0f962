//! The client of the crate `nostr-connect` for tests of signers. It reads one order in JSON a line
//! and writes one answer; tests/nostr/README.md describes them.

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nostr_connect::prelude::{
    AsyncGetPublicKey, AsyncNip04, AsyncNip44, AsyncSignEvent, Error, ErrorKind, Event, Keys,
    NostrConnect, NostrConnectUri, PublicKey, RelayUrl, UnsignedEvent,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// Timeout of the client itself; each order has a shorter one.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
struct Order {
    /// Seconds after which the answer is `timeout`.
    seconds: f64,
    #[serde(flatten)]
    wish: Wish,
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Wish {
    Connect {
        uri: String,
        key: String,
    },
    Resume {
        uri: String,
        key: String,
    },
    Uri {
        relays: Vec<String>,
        key: String,
    },
    Wait,
    GetPublicKey,
    SignEvent {
        event: Value,
    },
    SignMany {
        event: Value,
        count: usize,
    },
    Encrypt {
        scheme: String,
        peer: String,
        text: String,
    },
    Decrypt {
        scheme: String,
        peer: String,
        text: String,
    },
    #[serde(other)]
    Other,
}

/// An answer that reports an error.
struct Failure {
    class: &'static str,
    message: String,
}

impl Failure {
    fn new(class: &'static str, message: impl ToString) -> Self {
        Self { class, message: message.to_string() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let class = match error.kind() {
            ErrorKind::Rejected => "refused",
            ErrorKind::Timeout => "timeout",
            _ => "failed",
        };
        Self::new(class, error)
    }
}

impl From<nostr::error::Error> for Failure {
    fn from(error: nostr::error::Error) -> Self {
        Self::new("failed", error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::new("protocol", error)
    }
}

/// Answers the orders on standard input.
pub(crate) fn serve() -> io::Result<()> {
    let runtime = Runtime::new()?;
    let mut client = None;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let start = Instant::now();
        let answer = match runtime.block_on(answer(&mut client, &line)) {
            Ok(result) => {
                let ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
                json!({"ok": true, "result": result, "ms": ms})
            }
            Err(Failure { class, message }) => {
                json!({"ok": false, "error": class, "message": message})
            }
        };
        writeln!(io::stdout(), "{answer}")?;
    }
    Ok(())
}

async fn answer(client: &mut Option<Arc<NostrConnect>>, line: &str) -> Result<Value, Failure> {
    let Order { seconds, wish } = serde_json::from_str(line)?;
    let limit = Duration::try_from_secs_f64(seconds).map_err(|it| Failure::new("protocol", it))?;
    let result = tokio::time::timeout(limit, fulfil(client, wish)).await;
    result.unwrap_or_else(|late| Err(Failure::new("timeout", late)))
}

async fn fulfil(client: &mut Option<Arc<NostrConnect>>, wish: Wish) -> Result<Value, Failure> {
    match wish {
        Wish::Connect { uri, key } => {
            let one = client.insert(open(NostrConnectUri::parse(uri)?, &key)?);
            return Ok(json!(one.get_public_key_async().await?));
        }
        // Resumed as the library documents it: by the URL that it returns for this purpose, which
        // has no secret.
        Wish::Resume { uri, key } => {
            let uri = match NostrConnectUri::parse(uri)? {
                NostrConnectUri::Bunker { remote_signer_public_key, relays, .. } => {
                    NostrConnectUri::Bunker { remote_signer_public_key, relays, secret: None }
                }
                other => other,
            };
            *client = Some(open(uri, &key)?);
            return Ok(Value::Null);
        }
        Wish::Uri { relays, key } => {
            let relays = relays.iter().map(|relay| RelayUrl::parse(relay));
            let relays = relays.collect::<Result<Vec<_>, _>>()?;
            let uri = NostrConnectUri::client(Keys::parse(&key)?.public_key(), relays, "endseal");
            let one = Arc::clone(client.insert(open(uri.clone(), &key)?));
            // The library only listens after its first request.
            tokio::spawn(async move { one.get_public_key_async().await });
            return Ok(json!(uri.to_string()));
        }
        Wish::Other => return Err(Failure::new("unsupported", "no such call")),
        _ => {}
    }
    let client = client.as_ref().ok_or_else(|| Failure::new("protocol", "not connected"))?;
    Ok(match wish {
        Wish::Wait => {
            client.get_public_key_async().await?;
            json!(client.bunker_uri().await?.to_string())
        }
        Wish::GetPublicKey => json!(client.get_public_key_async().await?),
        Wish::SignEvent { event } => json!(signed(client, event).await?),
        Wish::SignMany { event, count } => {
            let all = (0..count).map(|_| {
                let (client, event) = (Arc::clone(client), event.clone());
                tokio::spawn(async move { signed(&client, event).await })
            });
            let all: Vec<_> = all.collect();
            let mut events = Vec::new();
            for one in all {
                events.push(one.await.map_err(|it| Failure::new("failed", it))??);
            }
            json!(events)
        }
        Wish::Encrypt { scheme, peer, text } => {
            let peer = PublicKey::from_hex(&peer)?;
            json!(if scheme == "nip04" {
                client.nip04_encrypt_async(&peer, &text).await?
            } else {
                client.nip44_encrypt_async(&peer, &text).await?
            })
        }
        Wish::Decrypt { scheme, peer, text } => {
            let peer = PublicKey::from_hex(&peer)?;
            json!(if scheme == "nip04" {
                client.nip04_decrypt_async(&peer, &text).await?
            } else {
                client.nip44_decrypt_async(&peer, &text).await?
            })
        }
        _ => Value::Null,
    })
}

fn open(uri: NostrConnectUri, key: &str) -> Result<Arc<NostrConnect>, Failure> {
    Ok(Arc::new(NostrConnect::new(uri, Keys::parse(key)?, TIMEOUT, None)?))
}

/// Has a draft without an author signed.
async fn signed(client: &NostrConnect, mut event: Value) -> Result<Event, Failure> {
    event["pubkey"] = json!(client.get_public_key_async().await?);
    let unsigned: UnsignedEvent = serde_json::from_value(event)?;
    let event = client.sign_event_async(unsigned).await?;
    event.verify()?;
    Ok(event)
}
