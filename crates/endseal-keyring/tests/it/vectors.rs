//! Runs all vectors of docs/spec/identity.md and docs/spec/roster.md, and those of
//! docs/spec/session.md on certificates, prekey bundles and safety numbers.

use std::fs;
use std::path::Path;

use endseal_crypto::identity::{Identity, PublicIdentity};
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::{ed25519, hash, mlkem768};
use endseal_keyring::address_book::{AddressBook, EntryProblem, Listed, ParseBookError};
use endseal_keyring::device::{
    BundleError, Certificate, CertificateError, PrekeyBundle, PrekeyKind, SafetyNumber,
};
use endseal_keyring::identity_file::{OpenIdentityFileError, ParseIdentityFileError};
use endseal_keyring::person::{InvalidPerson, ParsePersonError};
use endseal_keyring::roster::{InvalidMembers, ParseRosterError, RosterChainError};
use endseal_keyring::{
    IdentityFile, IdentityText, Invitation, JoinToken, LinkRequest, PaperText, ParseIdentityError,
    ParsePaperError, ParsePeerIdError, ParseSecretError, Passphrase, PeerIdText, PersonRecord,
    Roster, SecretText,
};
use serde_json::{Value, json};

/// Result of a vector: its expected outputs, or the class of the error.
type Outcome = Result<Vec<(&'static str, Value)>, &'static str>;

#[test]
fn identity_vectors() {
    run("identity", 164, |vector| match vector["kind"].as_str() {
        Some("public-text") => public_text(text(vector, "input")),
        Some("secret-text") => secret_text(text(vector, "input")),
        Some("paper") => paper(text(vector, "input")),
        Some("invitation") => invitation(text(vector, "input")),
        Some("link") => link(text(vector, "input")),
        Some("identity-file") => {
            identity_file(text(vector, "input"), vector["passphrase"].as_str())
        }
        Some("peer-id") => peer_id(vector),
        Some("contacts") => address_book::<PublicIdentity>(text(vector, "input"), text_class),
        Some("peers") => address_book::<PeerId>(text(vector, "input"), peer_id_class),
        other => panic!("kind {other:?}"),
    });
}

#[test]
fn roster_vectors() {
    run("roster", 192, |vector| {
        if vector["kind"] == "person" {
            return person(vector);
        }
        let roster = Roster::parse(text(vector, "roster").as_bytes());
        let roster = roster.map_err(|error| roster_class(&error))?;
        if let Some(previous) = vector["previous"].as_str() {
            let previous = Roster::parse(previous.as_bytes()).expect("the previous one is right");
            roster.follows(&previous).map_err(chain_class)?;
        }
        let admins: Vec<_> = roster.admins().map(|admin| admin.name().as_str()).collect();
        Ok(vec![
            ("group", json!(roster.group().as_str())),
            ("id", hex(roster.id().as_bytes())),
            ("epoch", json!(roster.epoch())),
            ("owner", hex(roster.owner().as_bytes())),
            ("signing_owner", hex(roster.signing_owner().as_bytes())),
            ("signer", hex(roster.signer().as_bytes())),
            ("admins", json!(admins.join(" "))),
            ("members", json!(roster.members().len())),
            ("sealed_epoch_key", hex(roster.sealed_epoch_key())),
            ("context", hex(&roster.context())),
            ("digest", hex(roster.digest().as_bytes())),
        ])
    });
}

fn person(vector: &Value) -> Outcome {
    let record = PersonRecord::parse(text(vector, "roster").as_bytes());
    let record = record.map_err(|error| match error {
        ParsePersonError::TooLong => "limit",
        ParsePersonError::Roster(error) => roster_class(&error),
        ParsePersonError::Person(error) => match error {
            InvalidPerson::Group | InvalidPerson::Rights => "person",
            InvalidPerson::Key => "key",
            InvalidPerson::Long(_) => "long",
            InvalidPerson::Member(_) => "member",
            InvalidPerson::NoDevice | InvalidPerson::TooManyDevices => "devices",
            InvalidPerson::Root => "root",
            other => panic!("{other}"),
        },
        other => panic!("{other}"),
    })?;
    if let Some(previous) = vector["previous"].as_str() {
        let previous = PersonRecord::parse(previous.as_bytes()).unwrap();
        record.follows(&previous).map_err(chain_class)?;
    }
    let devices = record.devices().map(|(number, device)| {
        assert_eq!(record.device(number), Some(device));
        (number.to_string(), hex(device.as_bytes()))
    });
    Ok(vec![
        ("id", hex(record.id().as_bytes())),
        ("epoch", json!(record.epoch())),
        ("devices", Value::Object(devices.collect())),
        ("root", hex(record.identity().ed25519().as_bytes())),
        ("digest", hex(record.digest().as_bytes())),
    ])
}

/// Runs all vectors of a folder. Fails if there are too few.
#[test]
fn device_vectors() {
    run_named("session", "certificate", 26, |vector| certificate(&unhexed(vector, "certificate")));
    run_named("session", "bundle", 19, |vector| bundle(&unhexed(vector, "bundle")));
    run_named("session", "safety", 6, safety_number);
}

fn run(folder: &str, at_least: usize, read: impl Fn(&Value) -> Outcome) {
    run_named(folder, "", at_least, read);
}

/// Runs the vectors of a folder whose names start with `prefix`. Fails if there are fewer than
/// `at_least`.
fn run_named(folder: &str, prefix: &str, at_least: usize, read: impl Fn(&Value) -> Outcome) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(folder);
    let mut count = 0;
    for entry in fs::read_dir(&path).unwrap() {
        let path = entry.unwrap().path();
        if !path.file_name().unwrap().to_str().unwrap().starts_with(prefix) {
            continue;
        }
        let vector: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let expected = vector["expect"].as_str();
        match read(&vector) {
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
    assert!(count >= at_least, "{count} vectors in {folder}");
}

fn public_text(input: &str) -> Outcome {
    let identity: IdentityText = input.parse().map_err(text_class)?;
    assert_eq!(identity.to_string(), input);
    let identity = identity.into_identity();
    let kem = identity.mlkem768().map(|key| hex(&hash::digest(key.as_bytes())));
    let key = hex(identity.ed25519().as_bytes());
    Ok(vec![("ed25519", key), ("mlkem768_blake3", kem.unwrap_or_default())])
}

fn secret_text(input: &str) -> Outcome {
    let identity = SecretText::decode(input).map_err(|error| match error {
        ParseSecretError::Character => "character",
        ParseSecretError::Checksum => "checksum",
        ParseSecretError::Length => "length",
        ParseSecretError::Padding => "padding",
        ParseSecretError::Prefix => "prefix",
        other => panic!("{other}"),
    })?;
    assert_eq!(SecretText::encode(&identity).expose_secret(), input);
    let mut outputs = seeds(&identity);
    outputs.push(("store_key", hex(identity.store_key().expose_secret())));
    Ok(outputs)
}

fn paper(input: &str) -> Outcome {
    let seed = PaperText::decode(input).map_err(|error| match error {
        ParsePaperError::Checksum => "checksum",
        ParsePaperError::Count(_) => "count",
        ParsePaperError::Word { .. } => "word",
        other => panic!("{other}"),
    })?;
    let output = json!(PaperText::encode(&seed).expose_secret());
    let mut outputs = seeds(&Identity::from_root_seed(seed));
    outputs.push(("output", output));
    Ok(outputs)
}

fn invitation(input: &str) -> Outcome {
    let invitation = Invitation::parse(input).map_err(|error| error.code())?;
    let addresses: Vec<&str> = invitation.addresses().collect();
    let token = JoinToken::from_bytes(invitation.token().expose_secret());
    let again = Invitation::new(invitation.hub(), token, &addresses).unwrap();
    let again = match invitation.inviter() {
        Some(inviter) => again.by(inviter.clone()),
        None => again,
    };
    assert_eq!(again.to_text().as_str(), input);
    let mut outputs = vec![
        ("hub", hex(invitation.hub().as_bytes())),
        ("token", hex(invitation.token().expose_secret())),
        ("addresses", json!(addresses.join(" "))),
    ];
    if let Some(inviter) = invitation.inviter() {
        outputs.push(("name", json!(inviter.name.as_str())));
        outputs.push(("identity", hex(inviter.identity.as_bytes())));
    }
    Ok(outputs)
}

fn link(input: &str) -> Outcome {
    let link = LinkRequest::parse(input).map_err(|error| error.code())?;
    let plain: String = input.split_whitespace().collect();
    assert_eq!(link.to_text().unwrap().as_str(), plain);
    Ok(vec![
        ("secret", hex(link.secret.expose_secret())),
        ("ed25519", hex(link.device.ed25519().as_bytes())),
        ("peer_id", hex(link.peer_id.as_bytes())),
        ("agreement", hex(link.agreement.as_bytes())),
        ("signing", hex(link.signing.as_bytes())),
        ("group", hex(link.group.as_bytes())),
        ("number", json!(link.check_number())),
    ])
}

fn identity_file(input: &str, passphrase: Option<&str>) -> Outcome {
    let file = IdentityFile::parse(input.as_bytes()).map_err(|error| match error {
        ParseIdentityFileError::Kdf(_) | ParseIdentityFileError::TooLong => "limit",
        ParseIdentityFileError::Malformed(_) => "form",
        ParseIdentityFileError::Public(error) => text_class(error),
        ParseIdentityFileError::Version => "version",
        other => panic!("{other}"),
    })?;
    assert_eq!(file.as_bytes(), input.as_bytes());
    let identity = match passphrase {
        Some(passphrase) => file.open(&Passphrase::new(passphrase).ok().unwrap()),
        None => file
            .open_without_passphrase()
            .and_then(|opened| opened.ok_or(OpenIdentityFileError::Authentication)),
    };
    let identity = identity.map_err(|error| match error {
        OpenIdentityFileError::Authentication => "authentication",
        OpenIdentityFileError::OtherIdentity => "mismatch",
        other => panic!("{other}"),
    })?;
    Ok(seeds(&identity))
}

fn peer_id(vector: &Value) -> Outcome {
    let input = text(vector, "input");
    let id: PeerIdText = input.parse().map_err(peer_id_class)?;
    assert_eq!(id.to_string(), input);
    let owner = Identity::from_seeds(
        ed25519::Seed::from_bytes(&unhex(text(vector, "ed25519_seed"))),
        mlkem768::Seed::from_bytes(&unhex(text(vector, "mlkem768_seed"))),
    );
    let key = owner.transport_key();
    let spki = key.public_key().to_spki();
    assert_eq!(id.peer_id(), PeerId::of_spki(&spki));
    Ok(vec![
        ("peer_id", hex(id.peer_id().as_bytes())),
        ("mldsa65_seed", hex(key.seed().expose_secret())),
        ("spki", hex(&spki)),
    ])
}

fn peer_id_class(error: ParsePeerIdError) -> &'static str {
    match error {
        ParsePeerIdError::Character { .. } | ParsePeerIdError::UpperCase => "character",
        ParsePeerIdError::Checksum => "checksum",
        ParsePeerIdError::Length { .. } => "length",
        ParsePeerIdError::Padding => "padding",
        ParsePeerIdError::Identity | ParsePeerIdError::Prefix | ParsePeerIdError::Secret => {
            "prefix"
        }
        other => panic!("{other}"),
    }
}

/// Parses a list of contacts or peers.
fn address_book<T: Listed>(input: &str, class: fn(T::Error) -> &'static str) -> Outcome {
    let book = AddressBook::<T>::parse(input.as_bytes()).map_err(|error| match error {
        ParseBookError::Line { problem, .. } => match problem {
            EntryProblem::DuplicateEntry { .. } | EntryProblem::DuplicateName => "duplicate",
            EntryProblem::Entry(error) => class(error),
            EntryProblem::Name(_) => "name",
            EntryProblem::NotUtf8 | EntryProblem::Words => "form",
            other => panic!("{other}"),
        },
        ParseBookError::TooLong | ParseBookError::TooMany => "limit",
        other => panic!("{other}"),
    })?;
    Ok(vec![("output", json!(book.to_text()))])
}

fn text_class(error: ParseIdentityError) -> &'static str {
    match error {
        ParseIdentityError::Character { .. } | ParseIdentityError::UpperCase => "character",
        ParseIdentityError::Checksum => "checksum",
        ParseIdentityError::KemKey(_) | ParseIdentityError::SigningKey(_) => "key",
        ParseIdentityError::Length { .. } => "length",
        ParseIdentityError::Padding => "padding",
        ParseIdentityError::Signature => "signature",
        ParseIdentityError::Foreign(_)
        | ParseIdentityError::Prefix
        | ParseIdentityError::Secret => "prefix",
        other => panic!("{other}"),
    }
}

fn roster_class(error: &ParseRosterError) -> &'static str {
    match error {
        ParseRosterError::AdminIsOwner(_)
        | ParseRosterError::AdminNotMember(_)
        | ParseRosterError::SignerNotAdmin(_) => "admin",
        ParseRosterError::AppointmentSignature(_)
        | ParseRosterError::Signature
        | ParseRosterError::TransferSignature { .. } => "signature",
        ParseRosterError::Identity { .. } => "identity",
        ParseRosterError::Malformed(_) => "form",
        ParseRosterError::Members(InvalidMembers::TooMany)
        | ParseRosterError::TooLong
        | ParseRosterError::TooManyTransfers => "limit",
        ParseRosterError::DuplicateAdmin(_) | ParseRosterError::Members(_) => "duplicate",
        ParseRosterError::Order { .. } => "order",
        ParseRosterError::OwnerNotMember => "owner",
        ParseRosterError::Version => "version",
        other => panic!("{other}"),
    }
}

fn chain_class(error: RosterChainError) -> &'static str {
    match error {
        RosterChainError::Admin => "admin",
        RosterChainError::Fork => "fork",
        RosterChainError::Gap { .. } => "gap",
        RosterChainError::OtherDevice => "device",
        RosterChainError::OtherGroup => "group",
        RosterChainError::OtherOwner => "owner",
        RosterChainError::Rollback { .. } => "rollback",
        RosterChainError::Same => "same",
        other => panic!("{other}"),
    }
}

fn seeds(identity: &Identity) -> Vec<(&'static str, Value)> {
    let root = identity.root_seed().map(|seed| hex(seed.expose_secret()));
    vec![
        ("root_seed", root.unwrap_or_default()),
        ("ed25519_seed", hex(identity.signing().seed().expose_secret())),
        ("mlkem768_seed", hex(identity.kem().seed().expose_secret())),
    ]
}

fn text<'a>(vector: &'a Value, field: &str) -> &'a str {
    vector[field].as_str().unwrap()
}

fn certificate(bytes: &[u8]) -> Outcome {
    let certificate = Certificate::from_bytes(bytes).map_err(certificate_class)?;
    assert_eq!(certificate.as_bytes()[..], *bytes);
    let keys = certificate.keys();
    Ok(vec![
        ("identity", hex(certificate.address().identity.as_bytes())),
        ("device", json!(certificate.address().device.number())),
        ("peer_id", hex(keys.peer_id.as_bytes())),
        ("agreement", hex(keys.agreement.as_bytes())),
        ("signing", hex(keys.signing.as_bytes())),
        ("group", hex(keys.group.as_bytes())),
        ("made_at", json!(certificate.made_at())),
    ])
}

fn certificate_class(error: CertificateError) -> &'static str {
    match error {
        CertificateError::Authentication => "authentication",
        CertificateError::Device => "device",
        CertificateError::Key => "key",
        CertificateError::Length => "length",
        CertificateError::Version => "version",
        other => panic!("{other}"),
    }
}

fn bundle(bytes: &[u8]) -> Outcome {
    let bundle = PrekeyBundle::from_bytes(bytes).map_err(|error| match error {
        BundleError::Authentication => "authentication",
        BundleError::Certificate(error) => certificate_class(error),
        BundleError::Key => "key",
        BundleError::Kind => "kind",
        BundleError::Length => "length",
        BundleError::Version => "version",
        other => panic!("{other}"),
    })?;
    assert_eq!(bundle.as_bytes()[..], *bytes);
    let kind = if bundle.kind() == PrekeyKind::OneTime { 1 } else { 2 };
    Ok(vec![
        ("certificate", hex(bundle.certificate().as_bytes())),
        ("prekey_kind", json!(kind)),
        ("prekey", hex(bundle.key().as_bytes())),
        ("made_at", json!(bundle.made_at())),
    ])
}

fn safety_number(vector: &Value) -> Outcome {
    let key = |name| {
        let bytes = unhex(text(vector, name));
        ed25519::PublicKey::from_bytes(&bytes).map_err(|_| "key")
    };
    let number = SafetyNumber::of(&key("one")?, &key("other")?);
    Ok(vec![("number", json!(number.to_string()))])
}

fn unhexed(vector: &Value, name: &str) -> Vec<u8> {
    let digits = text(vector, name).as_bytes().chunks_exact(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn unhex<const N: usize>(hex: &str) -> [u8; N] {
    core::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..][..2], 16).unwrap())
}

fn hex(bytes: &[u8]) -> Value {
    json!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}
