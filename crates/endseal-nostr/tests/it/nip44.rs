//! Runs `vectors/nostr/nip44.json`, and changes payloads at every position.

use endseal_crypto::secp256k1::{PublicKey, SecretKey};
use endseal_crypto::sha256;
use endseal_nostr::nip44::{
    Cache, Conversation, Lengths, MAX_PLAINTEXT, OpenError, SealError, payload_len,
};
use endseal_testing::SplitMix64;
use serde_json::Value;

use crate::fixture::{array, bytes, cases, hex, key, public, secret, text};

const KEY: [u8; 32] = [9; 32];

fn seal(conversation: &Conversation, plaintext: &[u8], nonce: &[u8; 32]) -> Vec<u8> {
    let mut out = vec![0; payload_len(plaintext.len(), Lengths::Extended).unwrap()];
    let len = out.len();
    let sealed = conversation.seal(plaintext, nonce, Lengths::Extended, &mut out).unwrap();
    assert_eq!(sealed.len(), len);
    out
}

/// Opens `payload` and returns the plaintext. If it is refused, the remaining buffer is checked.
fn open(conversation: &Conversation, payload: &[u8]) -> Result<Vec<u8>, OpenError> {
    let mut buffer = payload.to_vec();
    let opened = conversation.open(&mut buffer).map(|plaintext| plaintext.to_vec());
    let is_wiped = buffer.iter().all(|byte| *byte == 0);
    match opened {
        Ok(_) => {}
        Err(OpenError::UnsupportedVersion) => assert_eq!(buffer, payload),
        Err(OpenError::Authentication) => assert!(is_wiped),
        Err(_) => assert!(is_wiped || buffer == payload),
    }
    opened
}

fn plaintext(case: &Value) -> Vec<u8> {
    if case["plaintext"].is_string() {
        return bytes(case, "plaintext");
    }
    let number = |field: &str| case[field].as_u64().unwrap();
    vec![
        number("plaintext_byte").try_into().unwrap();
        number("plaintext_length").try_into().unwrap()
    ]
}

#[test]
fn every_vector() {
    let (mut successes, mut failures) = (0, 0);
    for case in cases("nip44.json") {
        let verdict = match text(&case, "op") {
            "key" => derive(&case),
            "open" => open_case(&case),
            "seal" => seal_case(&case),
            op => panic!("{op}"),
        };
        assert_eq!(verdict, text(&case, "expect"), "{}", text(&case, "comment"));
        *(if verdict == "ok" { &mut successes } else { &mut failures }) += 1;
    }
    assert!(successes >= 15 && failures >= 70, "{successes} {failures}");
}

fn derive(case: &Value) -> &'static str {
    let secret = SecretKey::from_bytes(&array(case, "secret"));
    let (Ok(secret), Ok(public)) = (secret, PublicKey::from_bytes(&array(case, "public"))) else {
        return "key";
    };
    let derived = Conversation::new(&secret, &public);
    let known = Conversation::from_key(&array(case, "conversation_key"));
    assert_eq!(seal(&derived, b"a", &[1; 32]), seal(&known, b"a", &[1; 32]));
    "ok"
}

fn open_case(case: &Value) -> &'static str {
    let conversation = Conversation::from_key(&array(case, "conversation_key"));
    if text(case, "expect") == "ok" {
        let (nonce, plaintext) = (array(case, "nonce"), plaintext(case));
        let payload = seal(&conversation, &plaintext, &nonce);
        if case["payload"].is_string() {
            assert_eq!(payload, text(case, "payload").as_bytes());
        } else {
            assert_eq!(hex(&sha256::digest(&payload)), text(case, "payload_sha256"));
        }
        assert_eq!(open(&conversation, &payload).as_deref(), Ok(&plaintext[..]));
        return "ok";
    }
    match open(&conversation, text(case, "payload").as_bytes()).unwrap_err() {
        OpenError::UnsupportedVersion => "version",
        OpenError::Length => "length",
        OpenError::Encoding => "encoding",
        OpenError::Authentication => "authentication",
        error => panic!("{error}"),
    }
}

fn seal_case(case: &Value) -> &'static str {
    let lengths = match text(case, "lengths") {
        "extended" => Lengths::Extended,
        "up-to-65535" => Lengths::UpTo65535,
        lengths => panic!("{lengths}"),
    };
    let plaintext = plaintext(case);
    let conversation = Conversation::from_key(&array(case, "conversation_key"));
    let mut out = vec![0x5a; 200_000];
    let sealed = conversation.seal(&plaintext, &array(case, "nonce"), lengths, &mut out);
    assert_eq!(sealed, Err(SealError::Length));
    assert_eq!(payload_len(plaintext.len(), lengths), Err(SealError::Length));
    assert!(out.iter().all(|byte| *byte == 0x5a), "the output is untouched");
    "length"
}

#[test]
fn a_payload_with_any_bit_changed_is_refused() {
    let conversation = Conversation::from_key(&KEY);
    for len in [1, 33, 65] {
        let payload = seal(&conversation, &vec![0x61; len], &[3; 32]);
        for bit in 0..8 * payload.len() {
            let mut changed = payload.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let error = open(&conversation, &changed).unwrap_err();
            // The first two characters contain the version.
            let is_version = error == OpenError::UnsupportedVersion;
            assert!(!is_version || bit < 16, "{bit}: {error}");
        }
    }
}

#[test]
fn every_bit_behind_base64_is_authenticated() {
    let conversation = Conversation::from_key(&KEY);
    let payload = seal(&conversation, b"every bit", &[4; 32]);
    let mut raw = payload.clone();
    let len = endseal_crypto::base64::decode_in_place(&mut raw).unwrap();
    for bit in 8..8 * len {
        let mut changed = raw[..len].to_vec();
        changed[bit / 8] ^= 1 << (bit % 8);
        let mut payload = vec![0; payload.len()];
        endseal_crypto::base64::encode(&changed, &mut payload).unwrap();
        assert_eq!(open(&conversation, &payload), Err(OpenError::Authentication), "{bit}");
    }
}

#[test]
fn a_payload_cut_or_extended_anywhere_is_refused() {
    let conversation = Conversation::from_key(&KEY);
    let payload = seal(&conversation, &[0x61; 100], &[5; 32]);
    for len in 0..payload.len() {
        open(&conversation, &payload[..len]).unwrap_err();
        open(&conversation, &payload[payload.len() - len..]).unwrap_err();
        open(&conversation, &[&payload[..], &payload[..=len]].concat()).unwrap_err();
    }
}

#[test]
fn random_plaintexts_of_all_lengths_open() {
    let mut random = SplitMix64::new(44);
    let conversation = Conversation::from_key(&KEY);
    // Lengths around the pieces of both sizes, and around the steps of padding.
    let around = [192_usize, 1_536, 3_072, 6_144, 9_216, 65_536];
    let lens = (1..=330).chain(around.into_iter().flat_map(|len| len - 70..len + 6));
    for len in lens {
        let plaintext: Vec<u8> = (0..len).map(|_| random.below(256_usize) as u8).collect();
        let mut nonce = [0; 32];
        nonce.fill_with(|| random.below(256_usize) as u8);
        let payload = seal(&conversation, &plaintext, &nonce);
        assert_eq!(open(&conversation, &payload), Ok(plaintext), "{len}");
    }
}

#[test]
fn an_output_that_is_too_small_is_untouched() {
    let conversation = Conversation::from_key(&KEY);
    for len in [1, 1_000, 5_000] {
        let plaintext = vec![0x61; len];
        let needed = payload_len(len, Lengths::UpTo65535).unwrap();
        for missing in [1, 2, needed] {
            let mut out = vec![0x5a; needed - missing];
            let sealed = conversation.seal(&plaintext, &[6; 32], Lengths::UpTo65535, &mut out);
            let Err(SealError::Output(error)) = sealed else { panic!("{sealed:?}") };
            assert_eq!(error.needed, needed);
            assert!(out.iter().all(|byte| *byte == 0x5a));
        }
        let mut out = vec![0x5a; needed + 9];
        conversation.seal(&plaintext, &[6; 32], Lengths::UpTo65535, &mut out).unwrap();
        assert_eq!(out[needed..], [0x5a; 9], "what is behind the payload is left");
    }
}

#[test]
fn lengths_end_where_the_format_does() {
    for lengths in [Lengths::Extended, Lengths::UpTo65535] {
        assert_eq!(payload_len(0, lengths), Err(SealError::Length));
        assert_eq!(payload_len(1, lengths), Ok(132));
        assert_eq!(payload_len(65_535, lengths), Ok(87_472));
        assert_eq!(payload_len(usize::MAX, lengths), Err(SealError::Length));
    }
    assert_eq!(payload_len(65_536, Lengths::UpTo65535), Err(SealError::Length));
    assert_eq!(payload_len(65_536, Lengths::Extended), Ok(87_476));
    if let Ok(max) = usize::try_from(MAX_PLAINTEXT) {
        assert_eq!(payload_len(max, Lengths::Extended), Ok(5_726_623_156));
        assert_eq!(payload_len(max + 1, Lengths::Extended), Err(SealError::Length));
    }
}

#[test]
fn both_sides_share_a_conversation_and_outsiders_do_not() {
    let (a, b, c) = (key("a"), key("b"), key("c"));
    let payload = seal(&Conversation::new(&a, &b.public_key()), b"between us", &[7; 32]);
    assert_eq!(open(&Conversation::new(&b, &a.public_key()), &payload).unwrap(), b"between us");
    for (own, peer) in [(&a, &c), (&c, &a), (&b, &c), (&a, &a)] {
        let other = Conversation::new(own, &peer.public_key());
        assert_eq!(open(&other, &payload), Err(OpenError::Authentication));
    }
}

/// Returns a payload that only the conversation of these two keys opens.
/// A conversation with the bytes of a key is that with the key, if there is such a key.
#[test]
fn bytes_of_a_key_make_the_same_conversation() {
    let own = key("own");
    let mut valid = 0;
    for i in 0..20_u8 {
        let peer = sha256::digest(&[i]);
        let expected =
            PublicKey::from_bytes(&peer).map(|peer| probe(&Conversation::new(&own, &peer)));
        let found = Conversation::with_bytes(&own, &peer).map(|it| probe(&it));
        assert_eq!(found, expected);
        valid += u32::from(found.is_ok());
    }
    assert!((1..20).contains(&valid));
    assert!(Conversation::with_bytes(&own, &[0xff; 32]).is_err());
}

fn probe(conversation: &Conversation) -> Vec<u8> {
    seal(conversation, b"probe", &[8; 32])
}

#[test]
fn a_cache_keeps_what_was_used_last() {
    let owns = [key("own 0"), key("own 1")];
    let peers: Vec<_> = (0..4).map(|i| key(&format!("peer {i}")).public_key()).collect();
    let mut cache = Cache::<3>::new();
    let mut random = SplitMix64::new(9);
    // Pairs in the order of their last use, the latest first.
    let mut used: Vec<(usize, usize)> = Vec::new();
    for _ in 0..300 {
        let pair = (random.below(2_usize), random.below(4_usize));
        let (own, peer) = (&owns[pair.0], &peers[pair.1]);
        let mut made = false;
        let kept = cache.get_or_insert_with(&own.public_key(), peer, || {
            made = true;
            Conversation::new(own, peer)
        });
        let own_payload = probe(kept);
        assert_eq!(own_payload, probe(&Conversation::new(own, peer)));
        let place = used.iter().take(3).position(|other| *other == pair);
        assert_eq!(made, place.is_none());
        used.retain(|other| *other != pair);
        used.insert(0, pair);
    }
}

#[test]
fn a_cache_forgets_a_key() {
    let (a, b, peer) = (key("a"), key("b"), key("peer").public_key());
    let mut cache = Cache::<4>::default();
    let makes = |cache: &mut Cache<4>, own: &SecretKey| {
        let mut made = false;
        cache.get_or_insert_with(&own.public_key(), &peer, || {
            made = true;
            Conversation::new(own, &peer)
        });
        made
    };
    assert!(makes(&mut cache, &a) && makes(&mut cache, &b));
    cache.forget(&a.public_key());
    assert!(!makes(&mut cache, &b) && makes(&mut cache, &a) && !makes(&mut cache, &a));
}

#[test]
fn keys_of_vectors_are_read_as_they_are() {
    let case = cases("nip44.json").into_iter().find(|case| case["op"] == "key").unwrap();
    let (own, peer) = (secret(&case, "secret"), public(&case, "public"));
    assert_eq!(hex(own.expose_secret()), text(&case, "secret"));
    assert_eq!(hex(&peer.to_bytes()), text(&case, "public"));
}
