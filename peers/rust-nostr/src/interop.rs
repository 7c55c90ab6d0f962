//! Encryption and events of the crate `nostr` for tests of other implementations: one request in
//! JSON a line, one answer a line. README.md describes them.

use nostr::event::{Event, FinalizeEvent, UnsignedEvent};
use nostr::key::{Keys, PublicKey, SecretKey};
use nostr::nips::nip44::v2::ConversationKey;
use nostr::nips::nip44::{Nonce, Version};
use nostr::nips::nip59::{GiftWrapBuilder, extract_rumor};
use nostr::nips::{nip04, nip44};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::protocol::Refusal;
use crate::versions;

/// A request. Keys are in hexadecimal, events are the text of their JSON.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Request {
    Describe,
    PublicKey { secret: String },
    ConversationKey { secret: String, public: String },
    Encrypt { secret: String, public: String, text: String, nonce: Option<String> },
    Decrypt { secret: String, public: String, payload: String },
    Nip04Encrypt { secret: String, public: String, text: String },
    Nip04Decrypt { secret: String, public: String, payload: String },
    Sign { secret: String, event: String },
    Verify { event: String },
    Wrap { secret: String, public: String, event: String },
    Unwrap { secret: String, event: String },
}

/// Answers one line.
pub(crate) fn answer(line: &[u8]) -> Result<Value, Refusal> {
    let request: Request =
        serde_json::from_slice(line).map_err(|error| Refusal::protocol(error.to_string()))?;
    serve(request).map_err(|error| Refusal::failed(error.to_string()))
}

fn serve(request: Request) -> Result<Value, nostr::error::Error> {
    Ok(match request {
        Request::Describe => json!({
            "library": "nostr", "version": versions::of("nostr"), "longest": u32::MAX, "nonce": true,
        }),
        Request::PublicKey { secret } => json!({"public": keys(&secret)?.public_key().to_hex()}),
        Request::ConversationKey { secret, public } => {
            let key = ConversationKey::derive(&SecretKey::from_hex(&secret)?, &known(&public)?)?;
            let key: String = key.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            json!({"key": key})
        }
        Request::Encrypt { secret, public, text, nonce } => {
            let (secret, public) = (SecretKey::from_hex(&secret)?, known(&public)?);
            let payload = match nonce {
                Some(nonce) => {
                    // An event id has 32 bytes in hexadecimal, like the nonce.
                    let nonce = nostr::event::EventId::from_hex(&nonce)?.to_bytes();
                    nip44::encrypt_with_nonce(&secret, &public, text, Nonce::V2(nonce))?
                }
                None => nip44::encrypt(&secret, &public, text, Version::V2)?,
            };
            json!({"payload": payload})
        }
        Request::Decrypt { secret, public, payload } => {
            let text = nip44::decrypt(&SecretKey::from_hex(&secret)?, &known(&public)?, payload)?;
            json!({"text": text})
        }
        Request::Nip04Encrypt { secret, public, text } => {
            let payload = nip04::encrypt(&SecretKey::from_hex(&secret)?, &known(&public)?, text)?;
            json!({"payload": payload})
        }
        Request::Nip04Decrypt { secret, public, payload } => {
            let text = nip04::decrypt(&SecretKey::from_hex(&secret)?, &known(&public)?, payload)?;
            json!({"text": text})
        }
        Request::Sign { secret, event } => {
            let keys = keys(&secret)?;
            json!({"event": unsigned(&event, &keys)?.finalize(&keys)?.as_json()})
        }
        Request::Verify { event } => {
            let event = Event::from_json(event);
            json!({"valid": event.is_ok_and(|event| event.verify().is_ok())})
        }
        Request::Wrap { secret, public, event } => {
            let keys = keys(&secret)?;
            let wrap = GiftWrapBuilder::new(known(&public)?, unsigned(&event, &keys)?);
            json!({"event": wrap.finalize(&keys)?.as_json()})
        }
        Request::Unwrap { secret, event } => {
            let gift = extract_rumor(&keys(&secret)?, &Event::from_json(event)?)?;
            json!({"sender": gift.sender.to_hex(), "rumor": gift.rumor.as_json()})
        }
    })
}

fn keys(secret: &str) -> Result<Keys, nostr::error::Error> {
    Ok(Keys::new(SecretKey::from_hex(secret)?))
}

fn known(public: &str) -> Result<PublicKey, nostr::error::Error> {
    PublicKey::from_hex(public)
}

/// Returns the event of a draft. The library needs the author in it.
fn unsigned(draft: &str, author: &Keys) -> Result<UnsignedEvent, nostr::error::Error> {
    let mut draft: serde_json::Map<String, Value> = serde_json::from_str(draft)?;
    draft.insert("pubkey".into(), author.public_key().to_hex().into());
    UnsignedEvent::from_json(Value::Object(draft).to_string())
}
