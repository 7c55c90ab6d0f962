//! Tests with a member whose program does not keep to the rules of a conversation.

use core::cell::Cell;
use core::num::NonZeroU32;

use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_crypto::identity::{Identity, RootSeed};
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::PersonRecord;
use endseal_keyring::device::{DeviceId, DeviceKeys};
use endseal_keyring::person::PersonChanges;
use mls_rs::ExtensionList;
use mls_rs::group::proposal::ProposalType;

use super::rules::STATE_DIGEST;
use super::*;

const NOW: Duration = Duration::from_secs(1_790_000_000);

thread_local! {
    static IS_HOSTILE: Cell<bool> = const { Cell::new(false) };
    static KNOWS_EVIDENCE: Cell<bool> = const { Cell::new(true) };
}

/// Returns the proposals that the leaves of a device name.
pub(super) fn capabilities(honest: &[ProposalType]) -> Vec<ProposalType> {
    if KNOWS_EVIDENCE.get() { honest.to_vec() } else { Vec::new() }
}

/// Runs work of a device whose leaves do not name evidence among their capabilities.
fn without_evidence<T>(work: impl FnOnce() -> T) -> T {
    KNOWS_EVIDENCE.set(false);
    let result = work();
    KNOWS_EVIDENCE.set(true);
    result
}

/// Returns true while a member makes what the rules forbid.
pub(super) fn is_hostile() -> bool {
    IS_HOSTILE.get()
}

pub(super) fn identity(number: u8) -> Identity {
    Identity::from_root_seed(RootSeed::from_bytes(&[number; 32]))
}

pub(super) fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

fn record(person: u8) -> PersonRecord {
    let (root, device) = (identity(person), identity(person + 100).public().clone());
    PersonRecord::create(&root, number(1), &device, &mut OsRandom).unwrap()
}

fn later(record: &PersonRecord, person: u8) -> PersonRecord {
    let mut changes = PersonChanges::new();
    changes.add(number(2), identity(person + 200).public());
    let root = identity(person);
    record.next_epoch(&root, &changes).unwrap()
}

pub(super) fn device(person: u8, number: u32) -> GroupDevice {
    let seed = || Seed::from_bytes(&[person ^ number.to_le_bytes()[0].rotate_left(4); 32]);
    let (key, signing) = (GroupKey::from_seed(seed()), SigningKey::from_seed(seed()));
    let keys = DeviceKeys {
        device: DeviceId::new(number).unwrap(),
        peer_id: PeerId::from_bytes(&[person; 32]),
        agreement: signing.public_key().to_x25519(),
        signing: *signing.public_key(),
        group: *key.public_key(),
    };
    let certificate = Certificate::issue(identity(person).signing(), &keys, 1);
    GroupDevice::new(certificate, key).unwrap()
}

fn package(device: &GroupDevice) -> (Vec<u8>, Vec<u8>, Zeroizing<Vec<u8>>) {
    let (public, secret) = device.key_package(Suite::MlKem768X25519, NOW).unwrap();
    (public, secret.id, secret.data)
}

fn state(records: &[PersonRecord; 2]) -> MembershipState {
    let [a, b] = records.each_ref().map(|it| *it.identity().ed25519());
    MembershipState::new(Members::of_two(a, b), records).unwrap()
}

/// A group of two: Mallory, who made it, and Bob.
fn groups(records: &[PersonRecord; 2]) -> [Group; 2] {
    let mut mallory = device(1, 1).create_conversation(b"group", state(records), NOW).unwrap();
    let (public, id, data) = package(&device(2, 1));
    let commit = mallory.change(&Evidence::default(), [&public[..]], NOW).unwrap();
    mallory.accept_pending().unwrap();
    let find = |wanted: &[u8]| (wanted == id).then(|| data.clone());
    let bob = device(2, 1).join(&commit.welcome[0], find).unwrap().group;
    [mallory, bob]
}

/// Commits what the rules of the member's own program would refuse.
fn forbidden(
    group: &mut Group,
    propose: impl for<'b> FnOnce(
        CommitBuilder<'b, Config>,
    ) -> Result<CommitBuilder<'b, Config>, MlsError>,
) -> Commit {
    IS_HOSTILE.set(true);
    let commit = group.commit(NOW, GroupError::Internal, propose);
    IS_HOSTILE.set(false);
    commit.unwrap()
}

/// Bob refuses the commit, and goes on in his epoch.
fn assert_refused(mallory: &mut Group, bob: &mut Group, commit: &Commit) {
    assert_eq!(bob.open(&commit.commit), Err(OpenError::Membership));
    assert_eq!(bob.epoch(), 1);
    mallory.discard_pending();
    let text = mallory.seal(b"as before").unwrap();
    assert!(matches!(bob.open(&text), Ok(Opened::Message { .. })));
}

#[test]
fn a_member_adds_no_one_else() {
    let records = [record(1), record(2)];
    for (person, number) in [(3, 1), (1, 2)] {
        let [mut mallory, mut bob] = groups(&records);
        let package = MlsMessage::from_bytes(&package(&device(person, number)).0).unwrap();
        let commit = forbidden(&mut mallory, |builder| builder.add_member(package));
        assert_refused(&mut mallory, &mut bob, &commit);
    }
}

#[test]
fn a_member_removes_no_device_of_another() {
    let records = [record(1), record(2)];
    let [mut mallory, mut bob] = groups(&records);
    let commit = forbidden(&mut mallory, |builder| builder.remove_member(1));
    assert_refused(&mut mallory, &mut bob, &commit);
}

#[test]
fn evidence_and_context_come_together_and_fit() {
    let records = [record(1), record(2)];
    let fork = [later(&record(1), 1), record(2)];
    let next = later(&records[0], 1);
    let right = [next.clone(), records[1].clone()];
    let document =
        |record: &PersonRecord| Evidence::new(None, vec![record.clone()]).to_bytes().unwrap();
    let evidence = |record| CustomProposal::new(EVIDENCE, document(record));
    let of = |records| context_extensions(&state(records));
    for (proposal, context) in [
        // Another state than the evidence gives, none, or one without evidence.
        (Some(evidence(&next)), Some(of(&records))),
        (Some(evidence(&next)), Some(ExtensionList::new())),
        (Some(evidence(&next)), None),
        (None, Some(of(&right))),
        // A record that is of another history, or is there already.
        (Some(evidence(&fork[0])), Some(of(&fork))),
        (Some(evidence(&records[0])), Some(of(&records))),
        // Bytes that are no evidence.
        (Some(CustomProposal::new(EVIDENCE, vec![1, 2, 3])), Some(of(&right))),
    ] {
        let [mut mallory, mut bob] = groups(&records);
        let commit = forbidden(&mut mallory, |mut builder| {
            if let Some(context) = context {
                builder = builder.set_group_context_ext(context)?;
            }
            Ok(match proposal {
                Some(proposal) => builder.custom_proposal(proposal),
                None => builder,
            })
        });
        assert_refused(&mut mallory, &mut bob, &commit);
    }
    let [mut mallory, mut bob] = groups(&records);
    let commit = mallory.change(&Evidence::new(None, vec![next]), [], NOW).unwrap();
    assert!(matches!(bob.open(&commit.commit), Ok(Opened::Change(_))));
    assert_eq!(bob.conversation(), Some(&state(&right)));
}

#[test]
fn other_proposals_are_refused() {
    let records = [record(1), record(2)];
    let [mut mallory, mut bob] = groups(&records);
    let unknown = CustomProposal::new(ProposalType::new(0xf0ff), vec![1]);
    // The library refuses what no leaf supports.
    IS_HOSTILE.set(true);
    let made = mallory.commit(NOW, GroupError::Internal, |it| Ok(it.custom_proposal(unknown)));
    IS_HOSTILE.set(false);
    assert!(made.is_err());
    let proposal = Arc::make_mut(&mut mallory.now).mls.propose_update(Vec::new());
    let proposal = proposal.unwrap().to_bytes().unwrap();
    assert_eq!(bob.open(&proposal), Err(OpenError::Malformed));
    let text = bob.seal(b"as before").unwrap();
    assert!(matches!(mallory.open(&text), Ok(Opened::Message { .. })));
}

#[test]
fn a_welcome_with_another_state_is_refused() {
    let records = [record(1), record(2)];
    let other = [later(&records[0], 1), records[1].clone()];
    for info in [None, Some(state(&other))] {
        let group = device(1, 1).create_conversation(b"group", state(&records), NOW);
        let mut mallory = group.unwrap();
        let (public, id, data) = package(&device(2, 1));
        let message = MlsMessage::from_bytes(&public).unwrap();
        let commit = forbidden(&mut mallory, |builder| {
            let state = info.map(|it| Extension::new(STATE, it.to_bytes()));
            Ok(builder.add_member(message)?.set_group_info_ext(state.into_iter().collect()))
        });
        let find = |wanted: &[u8]| (wanted == id).then(|| data.clone());
        let joined = device(2, 1).join(&commit.welcome[0], find);
        assert!(matches!(joined, Err(GroupError::Membership)));
    }
}

/// The digest and the state fit in both cases.
#[test]
fn a_welcome_with_another_leaf_or_suite_is_refused() {
    let records = [record(1), record(2)];
    let info = || [Extension::new(STATE, state(&records).to_bytes())].into_iter().collect();
    let mut mallory = device(1, 1).create_conversation(b"group", state(&records), NOW).unwrap();
    let eve = MlsMessage::from_bytes(&package(&device(3, 1)).0).unwrap();
    forbidden(&mut mallory, |builder| builder.add_member(eve));
    mallory.accept_pending().unwrap();
    let (public, id, data) = package(&device(2, 1));
    let message = MlsMessage::from_bytes(&public).unwrap();
    let commit = forbidden(&mut mallory, |builder| {
        Ok(builder.add_member(message)?.set_group_info_ext(info()))
    });
    let joined = device(2, 1).join(&commit.welcome[0], |it| (it == id).then(|| data.clone()));
    assert!(matches!(joined, Err(GroupError::Membership)));
    let suite = Suite::X25519Aes128;
    let made = device(1, 1).create_with(b"group", suite, Some(Arc::new(state(&records))), NOW);
    let mut mallory = made.unwrap();
    let (public, secret) = device(2, 1).key_package(suite, NOW).unwrap();
    let commit = mallory.change(&Evidence::default(), [&public[..]], NOW).unwrap();
    let find = |it: &[u8]| (it == secret.id).then(|| secret.data.clone());
    assert!(matches!(device(2, 1).join(&commit.welcome[0], find), Err(GroupError::Membership)));
}

/// The library takes evidence only while all leaves name it, also if it removes the leaf that does
/// not.
#[test]
fn a_leaf_that_cannot_take_evidence_is_refused() {
    let records = [later(&record(1), 1), record(2)];
    // In a key package, which an honest or a hostile member adds.
    let [mut mallory, mut bob] = groups(&records);
    let (public, ..) = without_evidence(|| package(&device(1, 2)));
    let added = bob.change(&Evidence::default(), [&public[..]], NOW);
    assert_eq!(added.err(), Some(GroupError::Membership));
    let message = MlsMessage::from_bytes(&public).unwrap();
    let commit = forbidden(&mut mallory, |builder| builder.add_member(message));
    assert_refused(&mut mallory, &mut bob, &commit);
    // In the path of a commit.
    let saved = mallory.save().unwrap();
    let load = || device(1, 1).load(&saved.state, saved.tree.as_ref().unwrap(), []).unwrap();
    let mut poor = without_evidence(load);
    let commit = forbidden(&mut poor, |builder| Ok(builder));
    assert_refused(&mut poor, &mut bob, &commit);
    // In the tree of a welcome.
    let make = || device(1, 1).create_conversation(b"group", state(&records), NOW).unwrap();
    let mut poor = without_evidence(make);
    let (public, id, data) = package(&device(2, 1));
    let message = MlsMessage::from_bytes(&public).unwrap();
    let info = Extension::new(STATE, state(&records).to_bytes());
    let commit = forbidden(&mut poor, |builder| {
        Ok(builder.add_member(message)?.set_group_info_ext([info].into_iter().collect()))
    });
    let joined = device(2, 1).join(&commit.welcome[0], |it| (it == id).then(|| data.clone()));
    assert!(matches!(joined, Err(GroupError::Membership)));
}

/// A long leaf would make each welcome longer than a hub takes.
#[test]
fn a_long_leaf_is_refused() {
    let records = [record(1), record(2)];
    let [mut mallory, mut bob] = groups(&records);
    let long = Extension::new(STATE_DIGEST, vec![0; 600_000]);
    let commit = forbidden(&mut mallory, |builder| {
        Ok(builder.set_leaf_node_extensions([long].into_iter().collect()))
    });
    assert_refused(&mut mallory, &mut bob, &commit);
}

/// A store keeps epochs as numbers of 63 bits, and a group goes on after its last epoch in none.
#[test]
fn a_group_near_the_last_epoch_is_not_joined() {
    let records = [record(1), record(2)];
    for epoch in [u64::MAX - 1, u64::MAX >> 1] {
        let [mut mallory, _] = groups(&records);
        let saved = mallory.save().unwrap();
        let mut bytes = saved.state.to_vec();
        let name = [&b"\x05group"[..], &1_u64.to_be_bytes()].concat();
        let at = bytes.windows(name.len()).position(|it| it == name).unwrap();
        bytes[at + 6..at + 14].copy_from_slice(&epoch.to_be_bytes());
        let mut mallory = device(1, 1).load(&bytes, &saved.tree.unwrap(), []).unwrap();
        assert_eq!(mallory.epoch(), epoch);
        let (public, id, data) = package(&device(2, 1));
        let commit = mallory.change(&Evidence::default(), [&public[..]], NOW).unwrap();
        let joined = device(2, 1).join(&commit.welcome[0], |it| (it == id).then(|| data.clone()));
        assert!(matches!(joined, Err(GroupError::InvalidWelcome)), "{epoch}");
    }
}

/// A member of two branches of a group encrypts a note of one again for the other.
#[test]
fn a_note_opens_in_its_branch_alone() {
    use endseal_crypto::{label, xchacha20poly1305};
    let records = [record(1), record(2)];
    let ([mallory, bob], [mut other, elsewhere]) = (groups(&records), groups(&records));
    let to = *other.now.members().find(|(leaf, _)| *leaf == 0).map(|(_, it)| it).as_ref().unwrap();
    let note = bob.seal_note(device(2, 1).key(), &to, b"yes", &mut OsRandom).unwrap();
    let key = |group: &Group| {
        let mut key = Zeroizing::new([0; xchacha20poly1305::KEY_LEN]);
        let exported = group.now.exported_for_notes().unwrap();
        let (from, to) = (bytes_of(&bob.now.address), bytes_of(&to));
        hash::derive_into(label::CONVERSATION_NOTE_KEY, &[&exported, &from, &to], &mut key[..]);
        key
    };
    let head = 4 + 1 + 5 + 8 + 36 + 24;
    let nonce: [u8; 24] = note[head - 24..head].try_into().unwrap();
    let (sealed, tag) = note[head..].split_last_chunk::<16>().unwrap();
    let mut text = sealed.to_vec();
    xchacha20poly1305::open(&key(&mallory), &nonce, &note[..head], &mut text, tag).unwrap();
    let tag = xchacha20poly1305::seal(&key(&elsewhere), &nonce, &note[..head], &mut text);
    let moved = [&note[..head], &text, &tag].concat();
    assert_eq!(other.open(&moved), Err(OpenError::Authentication));
}
