//! Runs the official vectors of the NIPs in `vectors/third-party/nostr`.

use endseal_crypto::secp256k1::{PublicKey, SecretKey};
use endseal_crypto::{hkdf_sha256, sha256};
use endseal_nostr::event::Rumor;
use endseal_nostr::gift_wrap::{CHAT_MESSAGE, Lifetime, unwrap};
use endseal_nostr::key::secret_from_hex;
use endseal_nostr::nip44::{Conversation, Lengths, OpenError, padded_len, payload_len};
use serde_json::Value;

use crate::fixture::{array, hex, public, secret, text, vectors};

/// Returns the list. Fails if it does not have the expected length.
fn list(vectors: &Value, kind: &str, name: &str, count: usize) -> Vec<Value> {
    let list = vectors[kind][name].as_array().unwrap();
    assert_eq!(list.len(), count, "{name}");
    list.clone()
}

fn seal(conversation: &Conversation, plaintext: &[u8], nonce: &[u8; 32]) -> String {
    let mut out = vec![0; payload_len(plaintext.len(), Lengths::Extended).unwrap()];
    conversation.seal(plaintext, nonce, Lengths::Extended, &mut out).unwrap().to_owned()
}

/// Asserts that both make equal payloads, so that their conversation keys are equal.
fn assert_same(one: &Conversation, other: &Conversation) {
    let nonce = [7; 32];
    assert_eq!(seal(one, b"the same", &nonce), seal(other, b"the same", &nonce));
}

#[test]
fn conversation_keys() {
    let vectors = vectors("third-party/nostr/nip44.json");
    for case in list(&vectors, "valid", "get_conversation_key", 35) {
        let derived = Conversation::new(&secret(&case, "sec1"), &public(&case, "pub2"));
        assert_same(&derived, &Conversation::from_key(&array(&case, "conversation_key")));
        let key = Conversation::derive_key(&secret(&case, "sec1"), &array(&case, "pub2")).unwrap();
        assert_eq!(hex(key.expose_secret()), text(&case, "conversation_key"));
    }
    for case in list(&vectors, "invalid", "get_conversation_key", 8) {
        let secret = SecretKey::from_bytes(&array(&case, "sec1"));
        let public = PublicKey::from_bytes(&array(&case, "pub2"));
        assert!(secret.is_err() || public.is_err(), "{case}");
        let key = secret.map(|own| Conversation::derive_key(&own, &array(&case, "pub2")));
        assert!(!matches!(key, Ok(Ok(_))), "{case}");
    }
}

/// Message keys are not public, so this tests the formula that the crate uses.
#[test]
fn message_keys() {
    let vectors = vectors("third-party/nostr/nip44.json");
    let vectors = &vectors["valid"]["get_message_keys"];
    let key = sha256::HmacKey::new(&array::<32>(vectors, "conversation_key"));
    let cases = vectors["keys"].as_array().unwrap();
    assert_eq!(cases.len(), 32);
    for case in cases {
        let mut keys = [0; 76];
        hkdf_sha256::expand(&key, &[&array::<32>(case, "nonce")], &mut keys).unwrap();
        let expected = ["chacha_key", "chacha_nonce", "hmac_key"].map(|name| text(case, name));
        assert_eq!(hex(&keys), expected.concat());
    }
}

#[test]
fn padded_lengths() {
    let vectors = vectors("third-party/nostr/nip44.json");
    for case in list(&vectors, "valid", "calc_padded_len", 24) {
        assert_eq!(padded_len(case[0].as_u64().unwrap()), case[1].as_u64().unwrap());
    }
}

#[test]
fn payloads() {
    let vectors = vectors("third-party/nostr/nip44.json");
    for case in list(&vectors, "valid", "encrypt_decrypt", 10) {
        let (a, b) = (secret(&case, "sec1"), secret(&case, "sec2"));
        let known = Conversation::from_key(&array(&case, "conversation_key"));
        for (own, peer) in [(&a, &b), (&b, &a)] {
            let conversation = Conversation::new(own, &peer.public_key());
            assert_same(&conversation, &known);
            let plaintext = text(&case, "plaintext");
            let payload = seal(&conversation, plaintext.as_bytes(), &array(&case, "nonce"));
            assert_eq!(payload, text(&case, "payload"));
            let mut payload = payload.into_bytes();
            assert_eq!(conversation.open(&mut payload).unwrap(), plaintext.as_bytes());
        }
    }
}

#[test]
fn long_payloads() {
    let vectors = vectors("third-party/nostr/nip44.json");
    let long = list(&vectors, "valid", "encrypt_decrypt_long_msg", 3);
    let extended = list(&vectors, "valid", "extended", 3);
    for case in long.iter().chain(&extended) {
        let conversation = Conversation::from_key(&array(case, "conversation_key"));
        let count = usize::try_from(case["repeat"].as_u64().unwrap()).unwrap();
        let plaintext = text(case, "pattern").repeat(count);
        let digest = |text: &str| hex(&sha256::digest(text.as_bytes()));
        assert_eq!(digest(&plaintext), text(case, "plaintext_sha256"));
        let payload = seal(&conversation, plaintext.as_bytes(), &array(case, "nonce"));
        assert_eq!(digest(&payload), text(case, "payload_sha256"));
        let mut payload = payload.into_bytes();
        assert_eq!(conversation.open(&mut payload).unwrap(), plaintext.as_bytes());
    }
}

#[test]
fn invalid_payloads() {
    let vectors = vectors("third-party/nostr/nip44.json");
    for case in list(&vectors, "invalid", "decrypt", 12) {
        let expected = match text(&case, "note") {
            note if note.contains("version") => OpenError::UnsupportedVersion,
            note if note.contains("base64") => OpenError::Encoding,
            note if note.contains("hmac") || note.contains("padding") => OpenError::Authentication,
            note if note.contains("payload") => OpenError::Length,
            note => panic!("{note}"),
        };
        let conversation = Conversation::from_key(&array(&case, "conversation_key"));
        let mut payload = text(&case, "payload").as_bytes().to_vec();
        assert_eq!(conversation.open(&mut payload), Err(expected), "{case}");
    }
}

#[test]
fn gift_wraps_of_nip_17() {
    let vectors = vectors("third-party/nostr/nip17.json");
    let wraps = vectors["gift_wraps"].as_array().unwrap();
    assert_eq!(wraps.len(), 2);
    for case in wraps {
        let mut wrap = text(case, "wrap").as_bytes().to_vec();
        let unwrapped = unwrap(&mut wrap, &secret(case, "receiver_secret")).unwrap();
        assert_eq!(unwrapped.rumor, Rumor::parse(text(case, "rumor").as_bytes()).unwrap());
        assert_eq!(unwrapped.rumor.pubkey, array(case, "author"));
        assert_eq!(unwrapped.rumor.kind, CHAT_MESSAGE);
        assert!(unwrapped.rumor.content.is("Hola, que tal?"));
        assert_eq!((unwrapped.expiration, unwrapped.lifetime), (None, Lifetime::Stored));
    }
}

/// The wrap is one of the events of `vectors/nostr-events`.
#[test]
fn the_gift_wrap_of_nip_59() {
    const RECEIVER: &str = "e108399bd8424357a710b606ae0c13166d853d327e47a6e5e038197346bdbf45";
    const ID: &str = "5c005f3ccf01950aa8d131203248544fb1e41a0d698e846bd419cec3890903ac";
    let events = vectors("nostr-events/event.json");
    let mut cases = events.as_array().unwrap().iter();
    let case = cases.find(|case| case["form"] == "event" && case["id"] == ID).unwrap();
    let mut wrap = text(case, "input").as_bytes().to_vec();
    let unwrapped = unwrap(&mut wrap, &secret_from_hex(RECEIVER).ok().unwrap()).unwrap();
    assert!(unwrapped.rumor.content.is("Are you going to the party tonight?"));
    assert_eq!((unwrapped.rumor.kind, unwrapped.rumor.created_at), (1, 1_691_518_405));
}

#[cfg(feature = "std")]
#[test]
fn the_encrypted_key_of_nip_49() {
    use endseal_nostr::encrypted_key::{DEFAULT_LOG_N, EncryptedKey, Handling};

    let vectors = vectors("third-party/nostr/nip49.json");
    let case = &vectors["decrypt"][0];
    let key = EncryptedKey::from_text(text(case, "encrypted_key")).unwrap();
    assert_eq!((key.log_n(), key.handling()), (DEFAULT_LOG_N, Handling::KnownInsecure));
    let opened = key.open(text(case, "password"), DEFAULT_LOG_N).ok().unwrap();
    assert_eq!(hex(opened.expose_secret()), text(case, "secret_key"));
}
