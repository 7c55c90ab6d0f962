//! Credentials of members: a valid certificate of the signing key.

use endseal_crypto::secret::Zeroizing;
use endseal_session::group::{
    Group, GroupDevice, GroupError, GroupKey, OpenError, Opened, Proposed, Suite,
};
use mls_rs::extension::ExtensionType;
use mls_rs::identity::SigningIdentity;
use mls_rs::identity::basic::{BasicCredential, BasicIdentityProvider};
use mls_rs::mls_rs_codec::MlsEncode;
use mls_rs::mls_rules::{CommitOptions, DefaultMlsRules, EncryptionOptions};
use mls_rs::time::MlsTime;
use mls_rs::{CipherSuite, Client, ExtensionList, MlsMessage};
use mls_rs_crypto_awslc::AwsLcCryptoProvider;

use super::device::{NOW, certificate, device, group_key, group_of};

/// An extension without a meaning.
pub(crate) const BULK: ExtensionType = ExtensionType::new(0xf000);

/// A client that accepts everything, with any credential for any key.
pub(crate) fn liar(
    credential: &[u8],
    key: u8,
) -> Client<impl mls_rs::client_builder::MlsConfig + use<>> {
    let key = endseal_crypto::ed25519::SigningKey::from_seed(
        endseal_crypto::ed25519::Seed::from_bytes(&[key ^ 0x40; 32]),
    );
    let public = *key.public_key().as_bytes();
    let secret = [*key.seed().expose_secret(), public].concat();
    let credential = BasicCredential::new(credential.to_vec()).into_credential();
    let rules = DefaultMlsRules::new()
        .with_commit_options(CommitOptions::new().with_path_required(true))
        .with_encryption_options(EncryptionOptions::new(
            true,
            mls_rs::client_builder::PaddingMode::None,
        ));
    Client::builder()
        .crypto_provider(AwsLcCryptoProvider::new())
        .identity_provider(BasicIdentityProvider::new())
        .mls_rules(rules)
        .extension_type(BULK)
        .signing_identity(
            SigningIdentity::new(credential, public.to_vec().into()),
            secret.into(),
            CipherSuite::CURVE25519_AES128,
        )
        .build()
}

/// Returns credentials that are not valid for the key of device 3.
fn lies() -> Vec<Vec<u8>> {
    let valid = certificate(3, *group_key(3).public_key());
    let mut forged = valid.as_bytes().to_vec();
    forged[200] ^= 1;
    let mut other_device = valid.as_bytes().to_vec();
    other_device[33] = 2;
    let other_key = certificate(3, *group_key(4).public_key());
    vec![
        forged,
        other_device,
        other_key.as_bytes().to_vec(),
        valid.as_bytes()[..236].to_vec(),
        [valid.as_bytes().as_slice(), &[0]].concat(),
        b"alice".to_vec(),
        vec![],
    ]
}

pub(crate) fn key_package(client: &Client<impl mls_rs::client_builder::MlsConfig>) -> Vec<u8> {
    let time = Some(MlsTime::from_duration_since_epoch(NOW));
    let (none, no) = (ExtensionList::new(), ExtensionList::new());
    client.generate_key_package_message(none, no, time).unwrap().to_bytes().unwrap()
}

#[test]
fn a_false_credential_is_refused_on_add() {
    let mut groups = group_of(2);
    for lie in lies() {
        let package = key_package(&liar(&lie, 3));
        let added = groups[0].add([package.as_slice()], NOW);
        assert_eq!(added.err(), Some(GroupError::InvalidKeyPackage));
    }
    // The same client with a valid credential.
    let truth = certificate(3, *group_key(3).public_key());
    let package = key_package(&liar(truth.as_bytes(), 3));
    assert!(groups[0].add([package.as_slice()], NOW).is_ok());
}

#[test]
fn a_group_with_a_false_credential_is_not_joined() {
    let joins = |credential: &[u8]| {
        let time = MlsTime::from_duration_since_epoch(NOW);
        let client = liar(credential, 3);
        let (none, no) = (ExtensionList::new(), ExtensionList::new());
        let mut group =
            client.create_group_with_id(b"trap".to_vec(), none, no, Some(time)).unwrap();
        let invited = device(5);
        let (package, secret) = invited.key_package(Suite::default(), NOW).unwrap();
        let package = MlsMessage::from_bytes(&package).unwrap();
        let builder = group.commit_builder().add_member(package).unwrap().commit_time(time);
        let welcome = builder.build().unwrap().welcome_messages[0].to_bytes().unwrap();
        invited.join(&welcome, |id| (id == secret.id).then(|| secret.data.clone())).map(drop)
    };
    for lie in lies() {
        assert_eq!(joins(&lie), Err(GroupError::InvalidWelcome));
    }
    assert_eq!(joins(certificate(3, *group_key(3).public_key()).as_bytes()), Ok(()));
}

/// A group of a client that accepts everything, with a valid credential, and one of our groups that
/// joined it.
fn trap() -> (mls_rs::Group<impl mls_rs::client_builder::MlsConfig>, Group) {
    let time = MlsTime::from_duration_since_epoch(NOW);
    let client = liar(certificate(3, *group_key(3).public_key()).as_bytes(), 3);
    let (none, no) = (ExtensionList::new(), ExtensionList::new());
    let mut group = client.create_group_with_id(b"trap".to_vec(), none, no, Some(time)).unwrap();
    let invited = device(5);
    let (package, secret) = invited.key_package(Suite::default(), NOW).unwrap();
    let package = MlsMessage::from_bytes(&package).unwrap();
    let builder = group.commit_builder().add_member(package).unwrap().commit_time(time);
    let welcome = builder.build().unwrap().welcome_messages[0].to_bytes().unwrap();
    group.apply_pending_commit().unwrap();
    let find = |id: &[u8]| (id == secret.id).then(|| secret.data.clone());
    (group, invited.join(&welcome, find).unwrap().group)
}

#[test]
fn a_commit_that_adds_a_false_credential_is_refused() {
    let time = MlsTime::from_duration_since_epoch(NOW);
    let (mut group, mut ours) = trap();
    let lie = MlsMessage::from_bytes(&key_package(&liar(&lies()[0], 4))).unwrap();
    let commit = group.commit_builder().add_member(lie).unwrap().commit_time(time).build().unwrap();
    let commit = commit.commit_message.to_bytes().unwrap();
    assert_eq!(ours.open(&commit), Err(OpenError::Authentication));
    assert_eq!((ours.epoch(), ours.members().len()), (1, 2));
    // The group continues without the commit.
    group.clear_pending_commit();
    let text = group.encrypt_application_message(b"sorry", vec![]).unwrap();
    assert!(ours.open(&text.to_bytes().unwrap()).is_ok());
}

#[test]
fn one_address_is_in_a_group_once() {
    let mut groups = group_of(2);
    let (package, _) = device(2).key_package(Suite::default(), NOW).unwrap();
    let added = groups[0].add([package.as_slice()], NOW);
    assert_eq!(added.err(), Some(GroupError::InvalidKeyPackage));
}

#[test]
fn a_key_package_has_a_time() {
    let mut groups = group_of(2);
    let (package, _) = device(3).key_package(Suite::default(), NOW).unwrap();
    let days = |days: u64| core::time::Duration::from_secs(days * 24 * 60 * 60);
    for time in [NOW - days(1), NOW + days(85)] {
        let added = groups[0].add([package.as_slice()], time);
        assert_eq!(added.err(), Some(GroupError::InvalidKeyPackage));
    }
    assert!(groups[0].add([package.as_slice()], NOW + days(83)).is_ok());
}

#[test]
fn a_welcome_needs_its_secret() {
    let mut groups = group_of(2);
    let (package, secret) = device(3).key_package(Suite::default(), NOW).unwrap();
    let welcome = groups[0].add([package.as_slice()], NOW).unwrap().welcome.remove(0);
    let missing = device(3).join(&welcome, |_| None);
    assert_eq!(missing.err(), Some(GroupError::NoKeyPackage));
    let damaged = device(3).join(&welcome, |_| Some(Zeroizing::new(vec![1, 2, 3])));
    assert_eq!(damaged.err(), Some(GroupError::NoKeyPackage));
    let (_, other) = device(3).key_package(Suite::default(), NOW).unwrap();
    let wrong = device(3).join(&welcome, |_| Some(other.data.clone()));
    assert_eq!(wrong.err(), Some(GroupError::InvalidWelcome));
    // Another device is not the added one, even if it has the secret.
    let stolen = device(4).join(&welcome, |_| Some(secret.data.clone()));
    assert_eq!(stolen.err(), Some(GroupError::NoKeyPackage));
}

#[test]
fn a_device_is_stored_and_has_the_key_of_its_certificate() {
    let saved = device(3).to_bytes();
    let again = GroupDevice::from_bytes(&saved).unwrap();
    assert_eq!(again.address(), device(3).address());
    assert!(again.key_package(Suite::default(), NOW).is_ok());
    for end in 0..saved.len() {
        assert!(GroupDevice::from_bytes(&saved[..end]).is_err());
    }
    let other = certificate(3, *group_key(4).public_key());
    assert!(GroupDevice::new(other, group_key(3)).is_err());
    assert!(GroupKey::generate(&mut endseal_crypto::random::OsRandom).is_ok());
}

#[test]
fn a_key_package_has_the_encoding_of_the_standard() {
    let (package, _) = device(3).key_package(Suite::default(), NOW).unwrap();
    let parsed = MlsMessage::from_bytes(&package).unwrap();
    assert_eq!(parsed.mls_encode_to_vec().unwrap(), package);
    let package = parsed.into_key_package().unwrap();
    assert_eq!(package.cipher_suite, CipherSuite::CURVE25519_AES128);
}

#[test]
fn a_proposal_of_another_kind_is_refused_and_forgotten() {
    let (mut group, mut ours) = trap();
    let proposal = group.propose_group_context_extensions(ExtensionList::new(), vec![]).unwrap();
    assert_eq!(ours.open(&proposal.to_bytes().unwrap()), Err(OpenError::Malformed));
    let commit = group.commit(vec![]).unwrap().commit_message.to_bytes().unwrap();
    assert!(ours.open(&commit).is_err());
    // No proposal waits for a commit.
    assert!(ours.seal(b"text").is_ok());
}

#[test]
fn proposals_that_wait_are_bounded() {
    let (mut group, mut ours) = trap();
    let package = key_package(&liar(certificate(4, *group_key(4).public_key()).as_bytes(), 4));
    let package = MlsMessage::from_bytes(&package).unwrap();
    let mut bytes = 0;
    let refused = loop {
        let proposal = group.propose_add(package.clone(), vec![]).unwrap().to_bytes().unwrap();
        match ours.open(&proposal) {
            Ok(Opened::Proposal(Proposed::Add { member, .. })) => {
                assert_eq!(member, device(4).address());
                bytes += proposal.len();
            }
            other => break other,
        }
    };
    assert_eq!(refused, Err(OpenError::Malformed));
    assert!((1_000_000..=1 << 20).contains(&bytes), "{bytes}");
    assert_eq!(ours.seal(b"text"), Err(GroupError::CommitRequired));
    // The kept proposals can be committed; one of them takes effect.
    let commit = ours.update(NOW).unwrap().commit;
    ours.accept_pending().unwrap();
    assert_eq!(ours.members().len(), 3);
    assert!(ours.seal(b"text").is_ok());
    assert!(!commit.is_empty());
}
