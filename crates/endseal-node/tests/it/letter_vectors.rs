//! The vectors of docs/spec/letter.md.

use std::fs;
use std::path::Path;

use endseal_crypto::ed25519::{PublicKey, Seed};
use endseal_crypto::identity::Identity;
use endseal_crypto::mlkem768;
use endseal_envelope::{Opener, Policy, attach};
use endseal_keyring::roster::RosterDigest;
use endseal_node::messages::Letter;
use endseal_testing::hex;
use serde_json::Value;

use crate::node_vectors::{address, bytes};

const INPUTS: usize = 6;

#[test]
fn every_letter_is_opened_as_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/letter");
    let mut counts = [0, 0];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let vector: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let found = open(&vector);
        assert_eq!(vector["expect"], found.as_ref().err().copied().unwrap_or("ok"), "{path:?}");
        for (field, value) in found.iter().flatten() {
            assert_eq!(&vector[field], value, "{field} of {}", path.display());
        }
        let fields = 2 + INPUTS + found.as_ref().map_or(0, Vec::len);
        assert_eq!(vector.as_object().unwrap().len(), fields, "fields of {}", path.display());
        counts[usize::from(found.is_ok())] += 1;
    }
    assert_eq!(counts, [18, 5], "refusals and successes");
}

fn open(vector: &Value) -> Result<Vec<(&'static str, String)>, &'static str> {
    let array = |field| bytes(vector, field);
    let user = Identity::from_seeds(
        Seed::from_bytes(&array("user_ed25519_seed").try_into().unwrap()),
        mlkem768::Seed::from_bytes(&array("user_mlkem768_seed").try_into().unwrap()),
    );
    let roster = RosterDigest::from_bytes(array("roster").try_into().unwrap());
    let device = PublicKey::from_bytes(&array("device").try_into().unwrap()).unwrap();
    let payload = array("payload");
    let letter = Letter::read(&payload).ok_or("form")?;
    let view = attach(letter.envelope, &array("slot")).map_err(|_| "frame")?;
    let context = letter.head.context(&roster);
    let opened = Opener::new(&user, &context).open(&view, &mut Policy::new());
    let opened = opened.map_err(|_| "letter")?;
    if opened.sender != device {
        return Err("letter");
    }
    let [identity, (_, number)] = address(&letter.head.sender).try_into().unwrap();
    Ok(vec![
        identity,
        ("number", number),
        ("group", hex(letter.head.group.as_bytes())),
        ("epoch", letter.head.epoch.to_string()),
        ("id", hex(&Letter::id(&device, &opened.message_id))),
        ("content", hex(&opened.content)),
    ])
}
