//! Runs `vectors/envelope/*.json`: each is opened in memory, in a batch, as a
//! stream and in pieces.

use std::io::Read;
use std::path::Path;
use std::{env, fs};

use endseal_crypto::ed25519::Seed;
use endseal_crypto::identity::Identity;
use endseal_crypto::{hash, mlkem768};
use endseal_envelope::hazmat::{Derandomized, seal};
use endseal_envelope::{
    Envelope, MessageInfo, OpenError, Opened, Opener, Policy, Recipients, Sealer, Suite,
};
use serde_json::Value;

use crate::{detached, insider, pieces};

#[test]
fn every_vector_through_every_way_to_open() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/envelope");
    let (mut successes, mut failures) = (0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let test: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        run(&name, &test);
        *(if test["expect"] == "ok" { &mut successes } else { &mut failures }) += 1;
    }
    assert!(successes >= 28 && failures >= 69, "{successes} {failures}");
}

fn run(name: &str, test: &Value) {
    let context = unhex(&test["context"]);
    let identity = Identity::from_seeds(
        Seed::from_bytes(&array(&test["ed25519_seed"])),
        // If the vector has no seed, the reader has a key to which nothing was sealed.
        test.get("mlkem768_seed").map_or_else(
            || mlkem768::Seed::from_bytes(&[0xee; 64]),
            |seed| mlkem768::Seed::from_bytes(&array(seed)),
        ),
    );
    let envelope = match test.get("recipe") {
        Some(recipe) => cook(name, recipe, &context),
        None => unhex(&test["envelope"]),
    };
    if let Some(folder) = env::var_os("ENDSEAL_ENVELOPES") {
        // Libraries of other languages cannot choose what is random.
        fs::write(Path::new(&folder).join(name).with_extension("es"), &envelope).unwrap();
    }
    let opener = Opener::new(&identity, &context);

    let opened = opener.open(&envelope, &mut Policy::new());
    check(name, test, &opened);

    let filler = filler();
    let batch = [&filler[..], &envelope, &filler];
    let mut many = opener.open_many(&batch, &mut Policy::new());
    assert_eq!(many.remove(1), opened, "{name}: in a batch");
    assert_eq!(many.len(), 2);

    let streamed = opener.reader(&envelope[..], Policy::new()).and_then(|mut reader| {
        let mut content = Vec::new();
        reader.read_to_end(&mut content)?;
        Ok((reader.suite(), *reader.sender(), *reader.message_id(), reader.time(), content))
    });
    match (&streamed, &opened) {
        (Ok(streamed), Ok(opened)) => {
            let Opened { suite, sender, message_id, time, content, .. } = opened.clone();
            assert_eq!(*streamed, (suite, sender, message_id, time, content), "{name}");
        }
        (Err(error), Err(expected)) => {
            let error = error.get_ref().and_then(|inner| inner.downcast_ref::<OpenError>());
            assert_eq!(error, Some(expected), "{name}: as a stream");
        }
        _ => panic!("{name}: {streamed:?} {opened:?}"),
    }

    let pushed = pieces::opened(&identity, &context, envelope.chunks(10_007));
    let expected = opened.clone().map(|opened| {
        let Opened { suite, sender, message_id, time, content, .. } = opened;
        (suite, sender, message_id, time, content)
    });
    let facts = |(content, info): (Vec<u8>, MessageInfo)| {
        (info.suite, info.sender, info.message_id, info.time, content)
    };
    assert_eq!(pushed.map(facts), expected, "{name}: in pieces");
    let detached = detached::opened(&identity, &context, envelope.chunks(10_007));
    assert_eq!(detached.map(facts), expected, "{name}: decrypted by the caller");

    if opened.is_ok() {
        let parsed = Envelope::parse(&envelope).unwrap();
        let len = test["content_length"].as_u64();
        assert_eq!(parsed.content_len(), len, "{name}");
        let views = (0..parsed.slots()).filter_map(|i| parsed.view(i));
        let opens = views.filter(|view| opener.open(view, &mut Policy::new()) == opened).count();
        assert_eq!(opens, 1, "{name}: the view of one slot opens");
    }
}

fn check(name: &str, test: &Value, opened: &Result<Opened, OpenError>) {
    let class = opened.as_ref().map_or_else(OpenError::code, |_| "ok");
    assert_eq!(test["expect"], class, "{name}");
    let Ok(opened) = opened else { return };
    assert_eq!(test["suite"], opened.suite.name(), "{name}");
    assert_eq!(opened.sender.as_bytes()[..], unhex(&test["sender"]), "{name}");
    assert_eq!(opened.message_id[..], unhex(&test["message_id"]), "{name}");
    assert_eq!(Some(opened.time), test["time"].as_u64(), "{name}");
    assert_eq!(Some(opened.content.len() as u64), test["content_length"].as_u64(), "{name}");
    assert_eq!(hash::digest(&opened.content)[..], unhex(&test["content_blake3"]), "{name}");
    if let Some(content) = test.get("content") {
        assert_eq!(opened.content, unhex(content), "{name}");
    }
}

/// Returns an envelope for another identity.
fn filler() -> Vec<u8> {
    let (sender, other) = (crate::identity(100), crate::identity(101));
    let recipients = Recipients::from_identities([other.public()]).unwrap();
    let values = Derandomized {
        ephemeral: &[1; 32],
        material: &[2; 32],
        salt: &[3; 24],
        message_id: &[4; 16],
        stream: &[5; 32],
    };
    seal(&Sealer::new(&sender, &recipients, crate::CONTEXT), b"filler", &values).unwrap()
}

fn cook(name: &str, recipe: &Value, context: &[u8]) -> Vec<u8> {
    let seed = |value: &Value| {
        Identity::from_seeds(Seed::from_bytes(&array(value)), mlkem768::Seed::from_bytes(&[0; 64]))
    };
    let sender = seed(&recipe["sender_seed"]);
    let readers: Vec<_> = recipe["recipients"].as_array().unwrap().iter().map(seed).collect();
    let recipients = Recipients::from_identities(readers.iter().map(Identity::public)).unwrap();
    let values = Derandomized {
        ephemeral: &array(&recipe["e"]),
        material: &array(&recipe["key"]),
        salt: &array(&recipe["salt"]),
        message_id: &array(&recipe["message_id"]),
        stream: &[0; 32],
    };
    let content = vec![
        u8::try_from(number(&recipe["content_byte"])).unwrap();
        number(&recipe["content_length"])
    ];
    let sealer = Sealer::new(&sender, &recipients, context)
        .suite(Suite::X25519)
        .time(recipe["time"].as_u64().unwrap());
    let mut envelope = seal(&sealer, &content, &values).unwrap();
    let edits = recipe["plaintext_edits"].as_array().unwrap();
    if !edits.is_empty() {
        insider::rewrite(&mut envelope, &values, context, |plaintext| {
            edits.iter().for_each(|one| edit(plaintext, one));
        });
    }
    assert_eq!(hash::digest(&envelope)[..], unhex(&recipe["envelope_blake3"]), "{name}");
    recipe["edits"].as_array().unwrap().iter().for_each(|one| edit(&mut envelope, one));
    envelope
}

fn edit(bytes: &mut Vec<u8>, edit: &Value) {
    let field = |name: &str| number(&edit[name]);
    match edit["op"].as_str().unwrap() {
        "xor" => bytes[field("at")] ^= u8::try_from(field("byte")).unwrap(),
        "remove" => drop(bytes.drain(field("at")..field("at") + field("length"))),
        "copy" => {
            let copy = bytes[field("from")..][..field("length")].to_vec();
            bytes.splice(field("to")..field("to"), copy);
        }
        "swap" => (0..field("length")).for_each(|i| bytes.swap(field("a") + i, field("b") + i)),
        other => panic!("unknown edit {other}"),
    }
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

fn unhex(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap();
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..][..2], 16).unwrap()).collect()
}

fn array<const N: usize>(value: &Value) -> [u8; N] {
    unhex(value).try_into().unwrap()
}
