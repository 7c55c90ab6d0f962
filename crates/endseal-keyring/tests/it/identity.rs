//! Text forms, identity files, contacts.

use crate::common::{identity, short};
use endseal_keyring::identity_file::OpenIdentityFileError;
use endseal_keyring::{IdentityFile, IdentityText, KdfParams, Passphrase, SecretText, hazmat};

fn file() -> IdentityFile {
    let own = identity(1);
    hazmat::seal_identity_file(
        &own,
        own.public(),
        &Passphrase::new("correct horse").unwrap(),
        KdfParams::MINIMUM,
        &[3; 16],
        &[4; 24],
    )
    .unwrap()
}

#[test]
fn public_identities_round_trip() {
    let long = IdentityText::from(identity(1).public().clone());
    let text = long.to_string();
    assert_eq!(text.len(), IdentityText::LONG_LEN);
    assert_eq!(text.parse(), Ok(long.clone()));
    let text = long.short().to_string();
    assert_eq!(text.len(), IdentityText::SHORT_LEN);
    assert_eq!(text.parse(), Ok(IdentityText::from(short(1))));
}

#[test]
fn secrets_round_trip() {
    let text = SecretText::encode(&identity(1));
    let back = SecretText::decode(text.expose_secret()).unwrap();
    assert_eq!(back.public(), identity(1).public());
}

#[test]
fn an_identity_file_opens_with_its_passphrase_alone() {
    let file = file();
    let read = IdentityFile::parse(file.as_bytes()).unwrap();
    assert_eq!(read, file);
    assert_eq!(read.public(), identity(1).public());
    let opened = read.open(&Passphrase::new("correct horse").unwrap()).ok().unwrap();
    assert_eq!(opened.public(), identity(1).public());
    assert_eq!(
        read.open(&Passphrase::new("wrong horse").unwrap()).err(),
        Some(OpenIdentityFileError::Authentication)
    );
}
