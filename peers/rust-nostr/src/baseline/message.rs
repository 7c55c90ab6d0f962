//! NIP-44, version 2, for texts up to 65,535 bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::{chacha20, hex, random, shared};

const VERSION: u8 = 2;
const LONGEST: usize = 65_535;

/// Encrypts a text after deriving the shared secret.
pub(super) fn encrypt(text: &str, secret: &str, public: &str) -> Result<String, String> {
    encrypt_with_nonce(text, &shared::secret(secret, public)?, random())
}

/// Decrypts a payload after deriving the shared secret.
pub(super) fn decrypt(payload: &str, secret: &str, public: &str) -> Result<String, String> {
    let shared = shared::secret(secret, public)?;
    let binary = STANDARD.decode(payload).map_err(|error| error.to_string())?;
    let (head, tag) = binary.split_last_chunk::<32>().ok_or("too short")?;
    let ([version, nonce @ ..], ciphertext) = head.split_first_chunk::<33>().ok_or("too short")?;
    if *version != VERSION {
        return Err("unknown version".into());
    }
    let keys = message_keys(&shared, nonce)?;
    let mac = authenticated(&keys.mac, nonce, ciphertext)?;
    if mac.verify_slice(tag).is_err() {
        return Err("authentication failed".into());
    }
    let padded = chacha20::applied(&keys.cipher, &keys.nonce, ciphertext);
    unpadded(&padded)
}

pub(super) fn encrypt_with_nonce(
    text: &str,
    shared: &str,
    nonce: [u8; 32],
) -> Result<String, String> {
    let padded = padded(text)?;
    let keys = message_keys(shared, &nonce)?;
    let ciphertext = chacha20::applied(&keys.cipher, &keys.nonce, &padded);
    let tag = authenticated(&keys.mac, &nonce, &ciphertext)?.finalize().into_bytes();
    let mut payload = vec![VERSION];
    payload.extend(nonce);
    payload.extend(ciphertext);
    payload.extend(tag);
    Ok(STANDARD.encode(payload))
}

/// Derives the conversation key of a shared secret in hexadecimal.
pub(super) fn conversation_key(shared: &str) -> Result<[u8; 32], String> {
    let shared = hex::decode(shared)?;
    Ok(mac(b"nip44-v2", &[&shared])?.finalize().into_bytes().into())
}

struct MessageKeys {
    cipher: [u8; 32],
    nonce: [u8; 12],
    mac: [u8; 32],
}

/// Runs both steps of HKDF-SHA-256 (RFC 5869) for each message.
fn message_keys(shared: &str, nonce: &[u8; 32]) -> Result<MessageKeys, String> {
    let key = conversation_key(shared)?;
    let mut output = Vec::new();
    let mut block = Vec::new();
    for counter in 1..=3 {
        let next = mac(&key, &[&block, nonce, &[counter]])?.finalize().into_bytes();
        block = next.to_vec();
        output.extend(&block);
    }
    let part = |from: usize, to: usize| output.get(from..to).ok_or("too few bytes");
    Ok(MessageKeys {
        cipher: part(0, 32)?.try_into().map_err(|_| "cipher key")?,
        nonce: part(32, 44)?.try_into().map_err(|_| "cipher nonce")?,
        mac: part(44, 76)?.try_into().map_err(|_| "MAC key")?,
    })
}

fn authenticated(
    key: &[u8; 32],
    nonce: &[u8; 32],
    ciphertext: &[u8],
) -> Result<Hmac<Sha256>, String> {
    mac(key, &[nonce, ciphertext])
}

fn mac(key: &[u8], parts: &[&[u8]]) -> Result<Hmac<Sha256>, String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).map_err(|error| error.to_string())?;
    for part in parts {
        mac.update(part);
    }
    Ok(mac)
}

fn padded(text: &str) -> Result<Vec<u8>, String> {
    let length = text.len();
    let prefix = u16::try_from(length).ok().filter(|length| *length > 0);
    let prefix = prefix.ok_or_else(|| format!("from 1 to {LONGEST} bytes, not {length}"))?;
    let mut padded = prefix.to_be_bytes().to_vec();
    padded.extend(text.as_bytes());
    padded.resize(2 + padded_length(length), 0);
    Ok(padded)
}

fn unpadded(padded: &[u8]) -> Result<String, String> {
    let (prefix, rest) = padded.split_first_chunk::<2>().ok_or("too short")?;
    let length = usize::from(u16::from_be_bytes(*prefix));
    let text = rest.get(..length).filter(|text| !text.is_empty()).ok_or("wrong padding")?;
    if rest.len() != padded_length(length) {
        return Err("wrong padding".into());
    }
    String::from_utf8(text.to_vec()).map_err(|error| error.to_string())
}

fn padded_length(length: usize) -> usize {
    if length <= 32 {
        return 32;
    }
    let mut power = 1;
    while power < length {
        power *= 2;
    }
    let chunk = if power <= 256 { 32 } else { power / 8 };
    chunk * ((length - 1) / chunk + 1)
}
