//! Runs all vectors of docs/spec/session.md, except those of certificates, bundles and safety
//! numbers.

use std::fs;
use std::path::Path;

use endseal_crypto::{ed25519, x25519};
use endseal_keyring::device::{Address, Certificate, DeviceId};
use endseal_session::olm::{OlmAccount, OlmRatchet};
use endseal_session::{
    AcceptError, Binding, Message, MessageError, OpenError, PairwiseAccount, PlaintextHead,
    Ratchet, RatchetBody, SessionTag,
};
use serde_json::{Value, json};

use crate::device::{Device, pair};

/// Result of a vector: its expected outputs, or the class of its error.
type Outcome = Result<Vec<(&'static str, Value)>, &'static str>;

#[test]
fn session_vectors() {
    let (mut ratchet, _) = pair();
    let mut device = Device::new(1);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/session");
    let mut count = 0;
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        let vector: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let outcome = match vector["kind"].as_str() {
            Some("message") => message(&vector),
            Some("first") => first(&vector),
            Some("later") => later(&vector),
            Some("olm") => olm(&mut ratchet, &unhex(&vector["body"])),
            Some("olm-session") => olm_session(&vector),
            Some("olm-prekey") => olm_prekey(&mut device, &unhex(&vector["body"])),
            // Formats of devices, which endseal-keyring tests.
            Some("bundle" | "certificate" | "safety-number") => continue,
            other => panic!("kind {other:?}"),
        };
        let expected = vector["expect"].as_str();
        match outcome {
            Err(class) => assert_eq!(Some(class), expected, "{}", path.display()),
            Ok(outputs) => {
                assert_eq!(Some("ok"), expected, "{}", path.display());
                for (field, value) in outputs {
                    assert_eq!(vector[field], value, "{field} of {}", path.display());
                }
            }
        }
        count += 1;
    }
    assert!(count >= 74, "{count} vectors");
}

fn message(vector: &Value) -> Outcome {
    let bytes = unhex(&vector["message"]);
    let message = Message::parse(&bytes).map_err(|error| match error {
        MessageError::Kind => "kind",
        MessageError::TooLong => "too-long",
        MessageError::Truncated => "truncated",
        MessageError::Version => "version",
        other => panic!("{other}"),
    })?;
    assert_eq!(message.to_bytes().unwrap(), bytes);
    if !vector["base_key"].is_null() {
        let key = |name| <[u8; 32]>::try_from(unhex(&vector[name])).unwrap();
        let tag = SessionTag::of_keys(&key("identity_key"), &key("base_key"), &key("one_time_key"));
        assert_eq!(message.tag(), Some(tag));
    }
    Ok(match message {
        Message::Prekey { tag, certificate, body } => vec![
            ("message_kind", json!(1)),
            ("tag", hex(tag.as_bytes())),
            ("certificate", hex(certificate)),
            ("body", hex(body)),
        ],
        Message::Ratchet { tag, body } => {
            vec![("message_kind", json!(2)), ("tag", hex(tag.as_bytes())), ("body", hex(body))]
        }
        Message::Group(body) => vec![("message_kind", json!(3)), ("body", hex(body))],
        other => panic!("{other:?}"),
    })
}

/// Makes the checks of a receiver that has opened a message of kind 1.
fn first(vector: &Value) -> Outcome {
    let address = |identity, device| Address {
        identity: ed25519::PublicKey::from_bytes(&array(&vector[identity])).unwrap(),
        device: DeviceId::new(u32::try_from(vector[device].as_u64().unwrap()).unwrap()).unwrap(),
    };
    let (from, to) = (address("from_identity", "from_device"), address("to_identity", "to_device"));
    let certificate = Certificate::from_bytes(&unhex(&vector["certificate"])).unwrap();
    let agreement = x25519::PublicKey::from_bytes(&array(&vector["to_agreement"])).unwrap();
    let binding = Binding::of(certificate.as_bytes(), &to, &agreement);
    let plaintext = unhex(&vector["plaintext"]).into();
    let is_key = certificate.keys().agreement.as_bytes() == &array(&vector["identity_key"]);
    match PlaintextHead::Bound(binding).strip(plaintext) {
        Some(text) if certificate.address() == from && is_key => {
            Ok(vec![("binding", hex(binding.as_bytes())), ("text", hex(&text))])
        }
        _ => Err("authentication"),
    }
}

/// Makes the check of a receiver that has opened a message of kind 2.
fn later(vector: &Value) -> Outcome {
    let text = PlaintextHead::Plain.strip(unhex(&vector["plaintext"]).into());
    Ok(vec![("text", hex(&text.ok_or("authentication")?))])
}

fn array(value: &Value) -> [u8; 32] {
    unhex(value).try_into().unwrap()
}

/// No vector belongs to this session, so a well-formed message fails for another reason.
fn olm(ratchet: &mut OlmRatchet, body: &[u8]) -> Outcome {
    match ratchet.open(RatchetBody::Ratchet(body)).unwrap_err() {
        OpenError::Malformed => Err("malformed"),
        OpenError::Authentication | OpenError::TooFarAhead { .. } => Ok(Vec::new()),
        other => panic!("{other}"),
    }
}

fn olm_prekey(device: &mut Device, body: &[u8]) -> Outcome {
    let key = device.certificate.keys().agreement;
    let tag = SessionTag::from_bytes(&[0; 8]);
    match device.account.accept(tag, &key, body, |_| true).err().unwrap() {
        AcceptError::Open(OpenError::Malformed) => Err("malformed"),
        AcceptError::Open(OpenError::Authentication) => Ok(Vec::new()),
        other => panic!("{other}"),
    }
}

/// Opens a session of another implementation with the receiver's keys.
fn olm_session(vector: &Value) -> Outcome {
    let list = |name: &str| -> Vec<Vec<u8>> {
        vector[name].as_str().unwrap().split(',').map(|it| unhex(&json!(it))).collect()
    };
    let one_time = array(&vector["one_time_secret"]);
    let public = *x25519::SecretKey::from_bytes(&one_time).public_key().as_bytes();
    // Encoded account: one one-time key, no fallback key, the library's long-term keys.
    let state = [
        &[2, 1, 0, 0, 0][..],
        &one_time,
        &public,
        &[0; 8],
        &[1, 0],
        &[1, 0, 32],
        &unhex(&vector["signing_seed"]),
        &unhex(&vector["agreement_secret"]),
        &[0; 6],
    ];
    let mut account = OlmAccount::load(&state.concat()).unwrap();
    let theirs = x25519::PublicKey::from_bytes(&array(&vector["agreement"])).unwrap();
    let bodies = list("bodies");
    let (first, others) = bodies.split_first().unwrap();
    // One-time key, base key and identity key, each after two bytes.
    let key = |at: usize| first[at..at + 32].try_into().unwrap();
    let tag = SessionTag::of_keys(&key(71), &key(37), &key(3));
    let (mut ratchet, text) = account.accept(tag, &theirs, first, |_| true).unwrap();
    assert_eq!(account.one_time_keys_left(), 0);
    let mut texts = vec![text];
    for body in others {
        texts.push(ratchet.open(RatchetBody::Prekey(body)).unwrap());
    }
    let texts: Vec<_> = texts.iter().map(|it| hex(it).as_str().unwrap().to_owned()).collect();
    Ok(vec![("texts", json!(texts.join(",")))])
}

fn hex(bytes: &[u8]) -> Value {
    json!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

pub(crate) fn unhex(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap().as_bytes().chunks_exact(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}
