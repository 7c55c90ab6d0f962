//! Runs `vectors/nostr/nip04.json`.

use endseal_crypto::aes_cbc::{self, Aes256, Software};
use endseal_nostr::nip04::{DecryptError, Key, MIN_CONTENT, content_len};

use crate::fixture::{array, bytes, cases, key, public, secret, text};

fn encrypt(key: &Key, plaintext: &[u8], iv: &[u8; 16]) -> Vec<u8> {
    let mut out = vec![0; content_len(plaintext.len())];
    key.encrypt(plaintext, iv, &mut out).unwrap();
    out
}

/// Decrypts `content`. If it is refused, the remaining buffer is checked.
fn decrypt(key: &Key, content: &[u8]) -> Result<Vec<u8>, DecryptError> {
    let mut buffer = content.to_vec();
    let decrypted = key.decrypt(&mut buffer).map(|plaintext| plaintext.to_vec());
    match decrypted {
        Ok(_) => {}
        Err(DecryptError::Format) => assert_eq!(buffer, content),
        Err(_) => assert!(buffer.iter().all(|byte| *byte == 0)),
    }
    decrypted
}

#[test]
fn every_vector() {
    let (mut successes, mut failures) = (0, 0);
    for case in cases("nip04.json") {
        let key = Key::new(&secret(&case, "secret"), &public(&case, "public"));
        let content = text(&case, "content");
        let comment = text(&case, "comment");
        match text(&case, "expect") {
            "ok" => {
                let plaintext = bytes(&case, "plaintext");
                let own = encrypt(&key, &plaintext, &array(&case, "iv"));
                assert_eq!(own, content.as_bytes(), "{comment}");
                assert_eq!(decrypt(&key, content.as_bytes()), Ok(plaintext), "{comment}");
                successes += 1;
            }
            expect => {
                let error = match expect {
                    "format" => DecryptError::Format,
                    "ciphertext" => DecryptError::Ciphertext,
                    _ => panic!("{expect}"),
                };
                assert_eq!(decrypt(&key, content.as_bytes()), Err(error), "{comment}");
                failures += 1;
            }
        }
    }
    assert!(successes >= 5 && failures >= 24, "{successes} {failures}");
}

#[test]
fn contents_of_all_lengths_are_decrypted_by_the_other_side() {
    let (a, b) = (key("a"), key("b"));
    let (own, peer) = (Key::new(&a, &b.public_key()), Key::new(&b, &a.public_key()));
    // Lengths around the pieces in which Base64 is written.
    for len in (0..=100).chain(180..=200).chain(370..=400).chain([5_000]) {
        let plaintext: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        let content = encrypt(&own, &plaintext, &[len as u8; 16]);
        assert_eq!(content.len(), content_len(len));
        assert!(content.len() >= MIN_CONTENT);
        assert_eq!(decrypt(&peer, &content), Ok(plaintext.clone()), "{len}");

        // The result must be that of the NIP's formula.
        let shared = a.ecdh_x(&b.public_key());
        let mut expected = plaintext;
        expected.resize(aes_cbc::ciphertext_len(len), 0);
        aes_cbc::encrypt(shared.expose_secret(), &[len as u8; 16], &mut expected, len).unwrap();
        let mut written = content[..content.len() - 28].to_vec();
        let count = endseal_crypto::base64::decode_in_place(&mut written).unwrap();
        assert_eq!(written[..count], expected, "{len}");
    }
}

#[test]
fn a_cut_content_is_refused() {
    let own = Key::new(&key("a"), &key("b").public_key());
    let content = encrypt(&own, &[0x61; 40], &[1; 16]);
    for len in 0..content.len() {
        assert_eq!(decrypt(&own, &content[..len]), Err(DecryptError::Format), "{len}");
    }
    assert_eq!(decrypt(&own, &content[content.len() - 28..]), Err(DecryptError::Format));
}

#[test]
fn an_output_that_is_too_small_is_untouched() {
    let own = Key::new(&key("a"), &key("b").public_key());
    let needed = content_len(20);
    let mut out = vec![0x5a; needed - 1];
    let error = own.encrypt(&[1; 20], &[2; 16], &mut out).unwrap_err();
    assert_eq!(error.needed, needed);
    assert!(out.iter().all(|byte| *byte == 0x5a));
    let mut out = vec![0x5a; needed + 5];
    own.encrypt(&[1; 20], &[2; 16], &mut out).unwrap();
    assert_eq!(out[needed..], [0x5a; 5]);
}

/// Stands for a chip's peripheral: counts its blocks.
struct Counted(usize);

impl Aes256 for Counted {
    fn encrypt_block(&mut self, key: &[u8; 32], block: &mut [u8; 16]) {
        self.0 += 1;
        Software.encrypt_block(key, block);
    }

    fn decrypt_block(&mut self, key: &[u8; 32], block: &mut [u8; 16]) {
        self.0 += 1;
        Software.decrypt_block(key, block);
    }
}

#[test]
fn a_peripheral_does_all_blocks() {
    let key = Key::new(&key("one"), &key("two").public_key());
    for len in [0, 15, 16, 100, 1000] {
        let plaintext = vec![b'x'; len];
        let blocks = len / 16 + 1;
        let mut out = vec![0; content_len(len)];
        let mut aes = Counted(0);
        let content = key.encrypt_with(&mut aes, &plaintext, &[3; 16], &mut out).unwrap();
        assert_eq!(content.as_bytes(), encrypt(&key, &plaintext, &[3; 16]));
        assert_eq!(aes.0, blocks);
        assert_eq!(key.decrypt_with(&mut aes, &mut out).unwrap(), plaintext);
        assert_eq!(aes.0, 2 * blocks);
    }
}
