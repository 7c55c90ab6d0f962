//! Nostr: encrypted secret keys (NIP-49) of unknown origin.

use bech32::{Bech32, Hrp};
use endseal_crypto::{scrypt, xchacha20poly1305};
use endseal_nostr::encrypted_key::{
    EncryptedKey, LEN, MAX_LOG_N, MAX_PASSWORD, OpenError, TEXT_LEN,
};
use endseal_nostr::key::SecretKey;

use crate::choice;

/// Limit of the cost: 64 KiB, which takes less time than most inputs of other targets.
const MAX_COST: u8 = 6;
/// Password that the vectors are encrypted with.
const PASSWORD: &str = "correct horse";

/// Returns the inputs that the target gets in addition to the vectors.
pub(crate) fn inputs() -> Vec<Vec<u8>> {
    let fields = |version, log_n, handling| {
        let mut input = [7; 1 + LEN];
        (input[0], input[1], input[2], input[43]) = (1, version, log_n, handling);
        input.to_vec()
    };
    let key = |secret, rest: &[u8]| [&[2][..], &[secret; 32], rest].concat();
    vec![
        fields(2, 1, 0),
        fields(2, MAX_LOG_N, 2),
        fields(2, MAX_LOG_N + 1, 1),
        fields(2, 0, 1),
        fields(1, 1, 1),
        fields(2, 1, 3),
        key(7, b"\x00nostr"),
        key(0xff, b"\x0bnostr"),
        key(0, b"\x07"),
        key(1, "\x10\u{e9}\u{212b}".as_bytes()),
    ]
}

/// Fuzzes encrypted keys. The first byte modulo 3 selects the form of the rest: a text; the bytes
/// of a text; a key and the password that encrypts it.
pub fn nostr_encrypted_key(data: &[u8]) {
    let (form, data) = choice(data);
    match form % 3 {
        0 => {
            if let Ok(text) = str::from_utf8(data)
                && let Ok(key) = EncryptedKey::from_text(text)
            {
                assert_eq!(written(&key), text.to_ascii_lowercase());
                let _ = opened(&key, PASSWORD);
            }
        }
        1 => bytes(data),
        _ => key(data),
    }
}

fn written(key: &EncryptedKey) -> String {
    let mut out = [0; TEXT_LEN];
    key.write_text(&mut out).expect("it has space").to_owned()
}

/// Opens a key. One that costs more than the limit must be refused for that reason.
fn opened(key: &EncryptedKey, password: &str) -> Result<SecretKey, OpenError> {
    let result = key.open(password, MAX_COST);
    assert_eq!(matches!(result, Err(OpenError::Cost)), key.log_n() > MAX_COST);
    result
}

fn text_of(bytes: &[u8; LEN]) -> String {
    bech32::encode::<Bech32>(Hrp::parse_unchecked("ncryptsec"), bytes).expect("a short text")
}

/// A text must be parsed exactly if each of its fields has a value that the NIP allows.
fn bytes(data: &[u8]) {
    let mut bytes = [0; LEN];
    let len = data.len().min(LEN);
    bytes[..len].copy_from_slice(&data[..len]);
    let text = text_of(&bytes);
    let is_valid = bytes[0] == 2 && (1..=MAX_LOG_N).contains(&bytes[1]) && bytes[42] <= 2;
    let parsed = EncryptedKey::from_text(&text);
    assert_eq!(parsed.is_ok(), is_valid);
    if let Ok(key) = parsed {
        assert_eq!(written(&key), text);
        assert_eq!(key.log_n(), bytes[1]);
        // No fuzzer can find an input that opens with this password.
        assert!(opened(&key, PASSWORD).is_err());
    }
}

/// An authentic text must open, whatever 32 bytes its key is. The password is ASCII, because other
/// text is normalised to NFKC, after which two passwords may be equal.
fn key(data: &[u8]) {
    let Some((secret, rest)) = data.split_first_chunk::<32>() else { return };
    let (cost, password) = choice(rest);
    let Ok(password) = str::from_utf8(password) else { return };
    let log_n = 1 + cost.to_le_bytes()[0] % MAX_COST;
    let handling = cost.to_le_bytes()[0] / MAX_COST % 3;
    let (salt, nonce) = ([7; 16], [9; 24]);
    let stretched = scrypt::derive(password.as_bytes(), &salt, log_n, 8, 1, 1 << 20)
        .expect("the parameters are in range");
    let mut ciphertext = *secret;
    let tag =
        xchacha20poly1305::seal(stretched.expose_secret(), &nonce, &[handling], &mut ciphertext);
    let fields = [&[2, log_n][..], &salt, &nonce, &[handling], &ciphertext, &tag].concat();
    let text = text_of(&fields.try_into().expect("91 bytes"));
    let key = EncryptedKey::from_text(&text).expect("all fields are valid");
    let result = opened(&key, password).map(|key| *key.expose_secret());
    let expected = match SecretKey::from_bytes(secret) {
        _ if password.len() > MAX_PASSWORD => Err(OpenError::Authentication),
        Ok(_) => Ok(*secret),
        Err(_) => Err(OpenError::Key),
    };
    if password.is_ascii() {
        assert_eq!(result, expected);
    } else {
        assert!(result == expected || result == Err(OpenError::Authentication));
    }
}
