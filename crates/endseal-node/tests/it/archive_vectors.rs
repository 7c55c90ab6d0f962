//! The vectors of docs/spec/archive.md, through the reader of plaintexts.

use std::fs;
use std::path::Path;

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::peer_id::PeerId;
use endseal_keyring::{IdentityText, LinkSecret};
use endseal_node::{Archive, LinkTarget, ReadArchiveError};
use serde_json::Value;

use crate::node_vectors::bytes;

type Found = Result<Vec<(&'static str, String)>, &'static str>;

#[test]
fn every_archive_is_read_as_its_vector_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/archive");
    let mut counts = [0, 0];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let vector: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let (inputs, found) = read(&vector);
        assert_eq!(vector["expect"], found.as_ref().err().copied().unwrap_or("ok"), "{path:?}");
        for (field, value) in found.iter().flatten() {
            assert_eq!(&vector[field], value, "{field} of {}", path.display());
        }
        let fields = 3 + inputs + found.as_ref().map_or(0, Vec::len);
        assert_eq!(vector.as_object().unwrap().len(), fields, "fields of {}", path.display());
        counts[usize::from(found.is_ok())] += 1;
    }
    assert_eq!(counts, [37, 3], "refusals and successes");
}

/// Returns the number of inputs of the kind, and the outputs.
fn read(vector: &Value) -> (usize, Found) {
    let plaintext = &bytes(vector, "plaintext")[..];
    let sender = PublicKey::from_bytes(&array(vector, "sender")).unwrap();
    let identity = |name: &str| {
        vector[name].as_str().unwrap().parse::<IdentityText>().unwrap().into_identity()
    };
    match vector["kind"].as_str().unwrap() {
        "backup" => {
            let archive = Archive::of_backup(&identity("root"), &sender, plaintext);
            (3, archive.and_then(content).map_err(|error| class(&error)))
        }
        "link" => {
            let secret = LinkSecret::from_bytes(&array(vector, "secret"));
            let peer_id = PeerId::from_bytes(&array(vector, "peer_id"));
            let device = &identity("device");
            let to = LinkTarget { device, peer_id, secret: &secret };
            let archive = Archive::of_link(to, &sender, plaintext).and_then(|mut archive| {
                let number = archive.linked().unwrap().certificate.keys().device;
                let mut found = content(archive)?;
                found.push(("number", number.to_string()));
                Ok(found)
            });
            (5, archive.map_err(|error| class(&error)))
        }
        other => panic!("{other}"),
    }
}

fn content(archive: Archive<&[u8]>) -> Result<Vec<(&'static str, String)>, ReadArchiveError> {
    let content = archive.check()?;
    Ok(vec![
        ("time", content.time.to_string()),
        ("epoch", content.person.epoch().to_string()),
        ("hub", content.hub.map(|it| it.addresses).unwrap_or_default()),
        ("contacts", content.contacts.to_string()),
        ("rosters", content.rosters.to_string()),
        ("texts", content.texts.to_string()),
    ])
}

fn class(error: &ReadArchiveError) -> &'static str {
    match error {
        ReadArchiveError::Damaged("person record") => "person",
        ReadArchiveError::Damaged("address book") => "book",
        ReadArchiveError::Damaged("unread text") => "unread",
        ReadArchiveError::Damaged("kind of an entry") => "kind",
        ReadArchiveError::Damaged("order of the entries") => "order",
        ReadArchiveError::Damaged("length of an entry") => "length",
        ReadArchiveError::Damaged(what) => what,
        ReadArchiveError::OtherLink => "secret",
        ReadArchiveError::Sender => "sender",
        ReadArchiveError::Version(_) => "version",
        other => panic!("{other}"),
    }
}

fn array(vector: &Value, name: &str) -> [u8; 32] {
    bytes(vector, name).try_into().unwrap()
}
