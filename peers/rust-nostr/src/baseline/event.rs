//! Events (NIP-01) as strings, and their signatures (BIP-340).

use k256::schnorr::{Signature, SigningKey, VerifyingKey};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::hex;

/// Returns a signed event in JSON. `tags` must be JSON.
pub(super) fn signed(
    secret: &str,
    public: &str,
    created_at: u64,
    content: &str,
    kind: u64,
    tags: &str,
) -> Result<String, String> {
    let content = escaped(content);
    let message = serialised(public, created_at, kind, tags, &content);
    let id = hex::encode(&Sha256::digest(message));
    let signature = signature(secret, &id)?;
    Ok("{\"id\":\"".to_owned()
        + &id
        + "\",\"pubkey\":\""
        + public
        + "\",\"created_at\":"
        + &created_at.to_string()
        + ",\"kind\":"
        + &kind.to_string()
        + ",\"tags\":"
        + tags
        + ",\"content\":\""
        + &content
        + "\",\"sig\":\""
        + &signature
        + "\"}")
}

/// Verifies the id and the signature of an event in JSON.
pub(super) fn verify(event: &str) -> Result<(), String> {
    let document: Value = serde_json::from_str(event).map_err(|error| error.to_string())?;
    let public = string(&document, "pubkey")?;
    let content = escaped(&string(&document, "content")?);
    let tags = document.get("tags").ok_or("no tags")?.to_string();
    let number = |name: &str| document.get(name).and_then(Value::as_u64).ok_or("no number");
    let message = serialised(&public, number("created_at")?, number("kind")?, &tags, &content);
    let id = hex::encode(&Sha256::digest(message));
    if id != string(&document, "id")? {
        return Err("another id".into());
    }
    let failed = |error: k256::schnorr::Error| error.to_string();
    let key = VerifyingKey::from_slice(&hex::decode(&public)?).map_err(failed)?;
    let signature = hex::decode(&string(&document, "sig")?)?;
    let signature = Signature::try_from(signature.as_slice()).map_err(failed)?;
    key.verify_raw(&hex::decode(&id)?, &signature).map_err(failed)
}

/// Returns the x coordinate of the public key of a secret key.
pub(super) fn public_key(secret: &str) -> Result<String, String> {
    let key = SigningKey::from_slice(&hex::decode(secret)?).map_err(|error| error.to_string())?;
    Ok(hex::encode(&key.verifying_key().to_bytes()))
}

/// Returns a copy of a string in a JSON document.
pub(super) fn string(document: &Value, name: &str) -> Result<String, String> {
    let value = document.get(name).and_then(Value::as_str);
    Ok(value.ok_or_else(|| format!("no {name}"))?.to_owned())
}

/// Escapes text for a JSON string, without the quotation marks. Each escaped character takes a pass
/// of its own.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
        .replace('\t', "\\t")
}

fn serialised(public: &str, created_at: u64, kind: u64, tags: &str, content: &str) -> String {
    "[0,\"".to_owned()
        + public
        + "\","
        + &created_at.to_string()
        + ","
        + &kind.to_string()
        + ","
        + tags
        + ",\""
        + content
        + "\"]"
}

fn signature(secret: &str, id: &str) -> Result<String, String> {
    let failed = |error: k256::schnorr::Error| error.to_string();
    let key = SigningKey::from_slice(&hex::decode(secret)?).map_err(failed)?;
    let signature = key.sign_raw(&hex::decode(id)?, &super::random()).map_err(failed)?;
    Ok(hex::encode(&signature.to_bytes()))
}
