//! Fuzz targets of identities, contacts and rosters as text, and of key files.

use endseal_keyring::{
    Contacts, IdentityFile, IdentityText, Passphrase, PeerIdText, Peers, Roster, SecretText,
};
use endseal_kms::ring::ParsedRing;

/// Limit of memory for Argon2id: files that ask for more are not opened, so that an input takes
/// milliseconds.
const MEMORY_KIB: u32 = 8192;

/// Fuzzes public identities, peer ids and secret texts: each has exactly one text.
pub fn identity_text(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    if let Ok(identity) = text.parse::<IdentityText>() {
        assert_eq!(identity.to_string(), text);
    }
    if let Ok(peer) = text.parse::<PeerIdText>() {
        assert_eq!(peer.to_string(), text);
    }
    if let Ok(identity) = SecretText::decode(text) {
        assert_eq!(SecretText::encode(&identity).expose_secret(), text);
    }
}

/// Fuzzes files of a secret identity: none opens with a wrong passphrase.
pub fn identity_file(data: &[u8]) {
    let Ok(file) = IdentityFile::parse(data) else { return };
    assert_eq!(file.as_bytes(), data);
    let Ok(no_passphrase) = file.open_without_passphrase() else { return };
    let cheap = file.params().memory_kib() <= MEMORY_KIB && file.params().passes() == 1;
    if no_passphrase.is_none() && cheap {
        let passphrase =
            Passphrase::new("correct horse battery staple").expect("it is long enough");
        if let Ok(identity) = file.open(&passphrase) {
            assert_eq!(identity.public().ed25519(), file.public().ed25519());
        }
    }
}

/// Fuzzes address books: an accepted one is the same after writing and reading.
pub fn address_book(data: &[u8]) {
    if let Ok(book) = Contacts::parse(data) {
        let text = book.to_text();
        let again = Contacts::parse(text.as_bytes()).expect("it was written");
        assert_eq!(again.to_text(), text);
        assert_eq!(again.len(), book.len());
    }
    if let Ok(book) = Peers::parse(data) {
        let text = book.to_text();
        assert_eq!(Peers::parse(text.as_bytes()).expect("it was written").to_text(), text);
    }
}

/// Fuzzes rosters: each has exactly one encoding.
pub fn roster(data: &[u8]) {
    let Ok(roster) = Roster::parse(data) else { return };
    assert_eq!(roster.as_bytes(), data);
    assert!(roster.follows(&roster).is_err(), "an epoch does not follow itself");
    for member in roster.members() {
        assert!(roster.member(member.name().as_str()).is_some());
    }
}

/// Fuzzes key files of the S3 proxy without a passphrase.
pub fn key_ring(data: &[u8]) {
    if let Ok(ParsedRing::Open(ring)) = ParsedRing::parse(data) {
        assert_eq!(ring.to_open_text().as_bytes(), data);
    }
}
