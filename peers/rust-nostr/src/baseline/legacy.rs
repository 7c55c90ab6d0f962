//! NIP-04: AES-256-CBC under the shared secret.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::aes::Cipher;
use super::{hex, random, shared};

const BLOCK: usize = 16;
const SEPARATOR: &str = "?iv=";

/// Pads and encrypts a text. Returns it in hexadecimal.
pub(super) fn encrypt_data(key: &[u8; 32], iv: &[u8; 16], text: &str) -> String {
    let padding = BLOCK - text.len() % BLOCK;
    let mut message = text.as_bytes().to_vec();
    // The padding has at most 16 bytes.
    #[allow(clippy::cast_possible_truncation)]
    message.resize(text.len() + padding, padding as u8);
    Cipher::new(key).encrypt_cbc(iv, &mut message);
    hex::encode(&message)
}

/// Decrypts a text: it is copied, decrypted, and read one character after the other.
pub(super) fn decrypt_data(key: &[u8; 32], iv: &[u8; 16], sealed: &[u8]) -> Result<String, String> {
    let mut message = sealed.to_vec();
    if message.is_empty() || !message.len().is_multiple_of(BLOCK) {
        return Err("not whole blocks".into());
    }
    Cipher::new(key).decrypt_cbc(iv, &mut message);
    let padding = usize::from(message.last().copied().unwrap_or_default());
    let end = message.len().checked_sub(padding).filter(|_| (1..=BLOCK).contains(&padding));
    let end = end.ok_or("wrong padding")?;
    if message.drain(end..).any(|byte| usize::from(byte) != padding) {
        return Err("wrong padding".into());
    }
    let mut text = String::new();
    for part in message.utf8_chunks() {
        if !part.invalid().is_empty() {
            return Err("not UTF-8".into());
        }
        for letter in part.valid().chars() {
            text.push(letter);
        }
    }
    Ok(text)
}

pub(super) fn encrypt(text: &str, secret: &str, public: &str) -> Result<String, String> {
    let key = key(secret, public)?;
    let iv = random();
    let iv_text = hex_to_base64(&hex::encode(&iv))?;
    let sealed = hex_to_base64(&encrypt_data(&key, &iv, text))?;
    Ok(sealed + SEPARATOR + &iv_text)
}

pub(super) fn decrypt(sealed: &str, secret: &str, public: &str) -> Result<String, String> {
    let (message, iv) = sealed.split_once(SEPARATOR).ok_or("no initialisation vector")?;
    let (message, iv) = (message.to_owned(), iv.to_owned());
    let message = STANDARD.decode(message).map_err(|error| error.to_string())?;
    let iv = STANDARD.decode(iv).map_err(|error| error.to_string())?;
    let iv: [u8; 16] = iv.try_into().map_err(|_| "initialisation vector")?;
    decrypt_data(&key(secret, public)?, &iv, &message)
}

fn key(secret: &str, public: &str) -> Result<[u8; 32], String> {
    let key = hex::decode(&shared::secret(secret, public)?)?;
    key.try_into().map_err(|_| "the shared secret has another length".into())
}

fn hex_to_base64(text: &str) -> Result<String, String> {
    Ok(STANDARD.encode(hex::decode(text)?))
}
