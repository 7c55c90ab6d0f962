//! Runs `vectors/nostr-events/key.json` and `entity.json`, and tests values between them.

use endseal_nostr::Relays;
use endseal_nostr::bech32::Bech32Error;
use endseal_nostr::entity::{
    Address, EncodeError, Entity, EntityError, EventReference, MAX_DATA, Profile,
};
use endseal_nostr::key::{self, KeyError, SecretKey};
use endseal_testing::SplitMix64;
use serde_json::{Value, json};

use crate::vectors::{Case, cases};
use crate::{hex, signing_key};

fn bech32_class(error: Bech32Error) -> &'static str {
    match error {
        Bech32Error::Length => "length",
        Bech32Error::Prefix => "prefix",
        Bech32Error::Character => "character",
        Bech32Error::Checksum => "checksum",
        Bech32Error::Padding => "padding",
        _ => "another",
    }
}

fn key_class(error: KeyError) -> &'static str {
    match error {
        KeyError::Hex => "hex",
        KeyError::Bech32(error) => bech32_class(error),
        KeyError::Prefix => "prefix",
        KeyError::Value => "value",
        _ => "another",
    }
}

fn entity_class(error: EntityError) -> &'static str {
    match error {
        EntityError::Bech32(error) => bech32_class(error),
        EntityError::Prefix => "prefix",
        EntityError::Secret => "secret",
        EntityError::Length => "value-length",
        EntityError::Truncated => "truncated",
        EntityError::Duplicate => "duplicate",
        EntityError::Missing => "missing",
        EntityError::Key => "key",
        EntityError::Kind => "kind",
        EntityError::Text => "text",
        _ => "another",
    }
}

/// Compares a parsed secret key with the expected one, and writes it again.
fn check_secret(case: &Case, key: &SecretKey) {
    assert_eq!(hex(key.expose_secret()), case.text("bytes"));
    let mut digits = [0; key::HEX_LEN];
    key::secret_to_hex(key, &mut digits);
    assert_eq!(str::from_utf8(&digits).unwrap(), case.text("bytes"));
    let mut out = [0; key::BECH32_LEN];
    let nsec = key::secret_to_nsec(key, &mut out).unwrap();
    assert!(key::secret_from_nsec(nsec).is_ok_and(|again| again == *key));
    if let Some(public) = case.value("public_key").as_str() {
        assert_eq!(hex(&key.public_key().to_bytes()), public);
    }
}

#[test]
fn secret_keys_are_judged_as_the_vectors_say() {
    for case in cases("key", "nsec", 20) {
        let key = key::secret_from_nsec(case.text("input"));
        if case.meets(key.as_ref().map(|_| ()).map_err(|error| key_class(*error))) {
            check_secret(&case, &key.unwrap());
        }
    }
    for case in cases("key", "secret", 14) {
        let key = key::secret_from_hex(case.text("input"));
        if case.meets(key.as_ref().map(|_| ()).map_err(|error| key_class(*error))) {
            check_secret(&case, &key.unwrap());
        }
    }
}

#[test]
fn public_keys_are_judged_as_the_vectors_say() {
    for case in cases("key", "npub", 5) {
        let key = key::public_from_npub(case.text("input"));
        if case.meets(key.map(drop).map_err(key_class)) {
            let key = key.unwrap();
            assert_eq!(hex(&key.to_bytes()), case.text("bytes"));
            let mut out = [0; key::BECH32_LEN];
            assert_eq!(key::public_to_npub(&key, &mut out), Ok(case.text("input")));
        }
    }
    for case in cases("key", "public", 12) {
        let key = key::public_from_hex(case.text("input"));
        assert!(!case.meets(key.map(drop).map_err(key_class)));
    }
    let key = signing_key();
    let digits = key::public_to_hex(key.public_key());
    let again = key::public_from_hex(str::from_utf8(&digits).unwrap());
    assert_eq!(again.as_ref(), Ok(key.public_key()));
}

fn texts<'a>(relays: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    relays.into_iter().collect()
}

/// Returns the fields of an entity as vectors have them.
fn fields(entity: &Entity<'_>) -> Value {
    let relays = |relays: &Relays<'_>| json!(texts(relays.iter()));
    match entity {
        Entity::PublicKey(key) => json!({"type": "npub", "public_key": hex(&key.to_bytes())}),
        Entity::Note(id) => json!({"type": "note", "id": hex(id)}),
        Entity::Profile(profile) => json!({
            "type": "nprofile",
            "public_key": hex(&profile.public_key.to_bytes()),
            "relays": relays(&profile.relays),
        }),
        Entity::Event(event) => json!({
            "type": "nevent",
            "id": hex(&event.id),
            "relays": relays(&event.relays),
            "author": event.author.map(|author| hex(&author.to_bytes())),
            "kind": event.kind,
        }),
        Entity::Address(address) => json!({
            "type": "naddr",
            "identifier": address.identifier,
            "relays": relays(&address.relays),
            "author": hex(&address.author.to_bytes()),
            "kind": address.kind,
        }),
        _ => panic!("an entity without vectors"),
    }
}

#[test]
fn entities_are_judged_as_the_vectors_say() {
    let entities = cases("entity", "entity", 45).into_iter().map(|case| (case, false));
    let uris = cases("entity", "uri", 7).into_iter().map(|case| (case, true));
    for (case, is_uri) in entities.chain(uris) {
        let mut buffer = [0; MAX_DATA];
        let text = case.text("input");
        let entity = match is_uri {
            true => Entity::decode_uri(text, &mut buffer),
            false => Entity::decode(text, &mut buffer),
        };
        if !case.meets(entity.map(drop).map_err(entity_class)) {
            continue;
        }
        let entity = entity.unwrap();
        for (name, value) in fields(&entity).as_object().unwrap() {
            assert_eq!(value, case.value(name), "{name} of {text}");
        }
        let (mut out, mut again) = ([0; 2_000], [0; MAX_DATA]);
        let written = entity.encode(&mut out).unwrap();
        assert_eq!(Entity::decode(written, &mut again), Ok(entity));
    }
}

#[test]
fn schemes_are_read_in_any_case() {
    let npub = "npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6";
    let mut buffer = [0; 32];
    for scheme in ["nostr:", "NOSTR:", "Nostr:"] {
        let uri = format!("{scheme}{npub}");
        assert!(matches!(Entity::decode_uri(&uri, &mut buffer), Ok(Entity::PublicKey(_))));
    }
    assert_eq!(Entity::decode_uri("nostré", &mut buffer), Err(EntityError::Prefix));
}

#[test]
fn what_cannot_be_read_is_not_written() {
    let public_key = *signing_key().public_key();
    let mut out = [0; 8_000];
    let long = "r".repeat(256);
    for (relay, error) in [
        ("", EncodeError::Relay),
        ("wss://é", EncodeError::Relay),
        ("a b", EncodeError::Relay),
        (long.as_str(), EncodeError::Length),
    ] {
        let relays = [relay];
        let entity = Entity::Profile(Profile { public_key, relays: Relays::new(&relays) });
        assert_eq!(entity.encode(&mut out), Err(error), "{relay}");
    }
    let address =
        |identifier| Address { identifier, relays: Relays::NONE, author: public_key, kind: 1 };
    assert!(Entity::Address(address(&long[1..])).encode(&mut out).is_ok());
    assert_eq!(Entity::Address(address(&long)).encode(&mut out), Err(EncodeError::Length));
    let relays = [&long[2..]; 13];
    let entity = |relays| Entity::Profile(Profile { public_key, relays: Relays::new(relays) });
    assert_eq!(entity(&relays).encode(&mut out), Err(EncodeError::Length));
    let text = entity(&relays[1..]).encode(&mut out).unwrap();
    assert!(text.len() > 4_900);
    assert!(matches!(entity(&[]).encode(&mut [0; 20]), Err(EncodeError::Output(_))));
}

#[test]
fn mutants_of_an_entity_are_the_same_or_refused() {
    let relays = ["wss://r.x.com"];
    let entity = Entity::Event(EventReference {
        id: [7; 32],
        relays: Relays::new(&relays),
        author: Some(*signing_key().public_key()),
        kind: Some(1),
    });
    let mut out = [0; 300];
    let text = entity.encode(&mut out).unwrap();
    let mut random = SplitMix64::new(3);
    for _ in 0..5_000 {
        let mutant = random.mutant(text.as_bytes());
        let Ok(mutant) = str::from_utf8(&mutant) else { continue };
        let mut buffer = [0; MAX_DATA];
        if let Ok(other) = Entity::decode(mutant, &mut buffer) {
            assert_eq!(other, entity, "{mutant}");
        }
    }
}
