//! Conversations: groups whose members are the devices in person records
//! (docs/spec/conversation.md).

use core::num::NonZeroU32;
use std::time::Instant;

use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_crypto::identity::{Identity, RootSeed};
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::{Certificate, DeviceId, DeviceKeys};
use endseal_keyring::person::PersonChanges;
use endseal_keyring::roster::{GroupId, Member, RosterChanges};
use endseal_keyring::{Name, PersonRecord, Roster};
use endseal_session::group::{
    Change, Commit, Evidence, Group, GroupDevice, GroupError, GroupKey, Members, MembershipError,
    MembershipState, OpenError, Opened, Suite,
};

use super::device::NOW;

/// A person with a root identity and the record of the present epoch.
struct Person {
    root: Identity,
    record: PersonRecord,
}

fn root(number: u8) -> Identity {
    Identity::from_root_seed(RootSeed::from_bytes(&[number; 32]))
}

fn device_identity(number: u32) -> Identity {
    let mut seed = [0xd0; 32];
    seed[..4].copy_from_slice(&number.to_le_bytes());
    Identity::from_root_seed(RootSeed::from_bytes(&seed))
}

fn nonzero(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

impl Person {
    /// A person with these devices.
    fn new(number: u8, devices: &[u32]) -> Self {
        let root = root(number);
        let (first, others) = devices.split_first().unwrap();
        let device = device_identity(*first).public().clone();
        let record = PersonRecord::create(&root, nonzero(*first), &device, &mut OsRandom).unwrap();
        let person = Self { root, record };
        if others.is_empty() { person } else { person.with(others, &[]) }
    }

    /// The person in the next epoch.
    fn with(&self, added: &[u32], removed: &[u32]) -> Self {
        let mut changes = PersonChanges::new();
        for number in removed {
            changes.remove(nonzero(*number));
        }
        for number in added {
            changes.add(nonzero(*number), device_identity(*number).public());
        }
        let record = self.record.next_epoch(&self.root, &changes).unwrap();
        let root = Identity::from_root_seed(RootSeed::from_bytes(
            self.root.root_seed().unwrap().expose_secret(),
        ));
        Self { record, root }
    }

    fn identity(&self) -> endseal_crypto::ed25519::PublicKey {
        *self.root.public().ed25519()
    }

    /// The device with a number, with keys that follow from both.
    fn device(&self, number: u32) -> GroupDevice {
        let mut seed = *self.identity().as_bytes();
        seed[..4].copy_from_slice(&number.to_le_bytes());
        let key = group_key(self, number);
        let signing = SigningKey::from_seed(Seed::from_bytes(&seed));
        let keys = DeviceKeys {
            device: DeviceId::new(number).unwrap(),
            peer_id: PeerId::from_bytes(&seed),
            agreement: signing.public_key().to_x25519(),
            signing: *signing.public_key(),
            group: *key.public_key(),
        };
        let certificate = Certificate::issue(self.root.signing(), &keys, 1_790_000_000_000);
        GroupDevice::new(certificate, key).unwrap()
    }
}

fn group_key(person: &Person, number: u32) -> GroupKey {
    let mut seed = *person.identity().as_bytes();
    seed[..4].copy_from_slice(&number.to_le_bytes());
    GroupKey::from_seed(Seed::from_bytes(&seed))
}

type Secrets = (Vec<u8>, Zeroizing<Vec<u8>>);

fn package(device: &GroupDevice) -> (Vec<u8>, Secrets) {
    let (public, secret) = device.key_package(Suite::MlKem768X25519, NOW).unwrap();
    (public, (secret.id, secret.data))
}

fn join(device: &GroupDevice, welcome: &[u8], secret: &Secrets) -> Result<Group, GroupError> {
    let joined = device.join(welcome, |id| (id == secret.0).then(|| secret.1.clone()));
    joined.map(|joined| joined.group)
}

fn no_evidence() -> Evidence {
    Evidence::default()
}

fn records(of: &[&Person]) -> Vec<PersonRecord> {
    of.iter().map(|it| it.record.clone()).collect()
}

fn pair_state(a: &Person, b: &Person) -> MembershipState {
    MembershipState::new(Members::of_two(a.identity(), b.identity()), &records(&[a, b])).unwrap()
}

/// The groups of Alice's device 1 and Bob's device 1, and those of all their other devices.
fn pair(alice: &Person, bob: &Person, others: &[GroupDevice]) -> Vec<Group> {
    let creator = alice.device(1);
    let mut group =
        creator.create_conversation(b"0123456789abcdef", pair_state(alice, bob), NOW).unwrap();
    let devices: Vec<_> = [bob.device(1)].into_iter().collect();
    let devices: Vec<_> = devices.iter().chain(others).collect();
    let packages: Vec<_> = devices.iter().map(|it| package(it)).collect();
    let public = packages.iter().map(|(public, _)| public.as_slice());
    let commit = group.change(&no_evidence(), public, NOW).unwrap();
    group.accept_pending().unwrap();
    let mut groups = vec![group];
    for (device, (_, secret)) in devices.iter().zip(&packages) {
        groups.push(join(device, &commit.welcome[0], secret).unwrap());
    }
    groups
}

fn apply(groups: &mut [Group], commit: &Commit) -> Vec<Change> {
    let open = |group: &mut Group| match group.open(&commit.commit).unwrap() {
        Opened::Change(change) => change,
        other => panic!("{other:?}"),
    };
    groups.iter_mut().map(open).collect()
}

#[test]
fn devices_of_two_persons_talk_in_the_hybrid_suite() {
    let (alice, bob) = (Person::new(1, &[1, 2]), Person::new(2, &[1]));
    let mut groups = pair(&alice, &bob, &[alice.device(2)]);
    let state = pair_state(&alice, &bob);
    for group in &groups {
        assert_eq!(group.suite(), Some(Suite::MlKem768X25519));
        assert_eq!(group.conversation(), Some(&state));
        assert!(group.members().iter().all(|it| state.has_device(it)));
    }
    let message = groups[1].seal(b"hello").unwrap();
    for at in [0, 2] {
        let Opened::Message { plaintext, .. } = groups[at].open(&message).unwrap() else {
            panic!("no text")
        };
        assert_eq!(&plaintext[..], b"hello");
    }
    assert_eq!(state.devices().count(), 3);
}

#[test]
fn a_new_record_adds_and_removes_devices_and_reaches_all_members() {
    let (alice, bob) = (Person::new(1, &[1, 2]), Person::new(2, &[1]));
    let mut groups = pair(&alice, &bob, &[alice.device(2)]);
    // Alice's device 2 was stolen; device 3 takes its place. Bob's node is online first.
    let later = alice.with(&[3], &[2]);
    let evidence = Evidence::new(None, vec![later.record.clone()]);
    let (public, secret) = package(&later.device(3));
    let commit = groups[1].change(&evidence, [public.as_slice()], NOW).unwrap();
    groups[1].accept_pending().unwrap();
    let mut thief = groups.pop().unwrap();
    assert!(apply(core::slice::from_mut(&mut thief), &commit)[0].is_removed);
    let changes = apply(&mut groups[..1], &commit);
    assert_eq!(changes[0].evidence.as_deref(), Some(&evidence));
    assert_eq!(changes[0].removed, [alice.device(2).address()]);
    groups.push(join(&later.device(3), &commit.welcome[0], &secret).unwrap());
    let state = pair_state(&later, &bob);
    assert!(groups.iter().all(|group| group.conversation().unwrap().digest() == state.digest()));
    let message = groups[0].seal(b"without the thief").unwrap();
    assert_eq!(thief.open(&message), Err(OpenError::NotMember));
    let saved = thief.save().unwrap();
    let tree = saved.tree.unwrap();
    let thief = alice.device(2).load(&saved.state, &tree, saved.epoch_inserts).unwrap();
    assert!(!thief.is_member());
    assert!(matches!(groups[2].open(&message), Ok(Opened::Message { .. })));
}

#[test]
fn a_state_outlives_the_memory() {
    let (alice, bob) = (Person::new(1, &[1, 2]), Person::new(2, &[1]));
    let mut group = pair(&alice, &bob, &[]).swap_remove(0);
    let later = alice.with(&[3], &[2]);
    let evidence = Evidence::new(None, vec![later.record.clone()]);
    let (public, _) = package(&later.device(3));
    group.change(&evidence, [public.as_slice()], NOW).unwrap();
    let saved = group.save().unwrap();
    let mut group =
        alice.device(1).load(&saved.state, &saved.tree.unwrap(), saved.epoch_inserts).unwrap();
    assert_eq!(group.conversation(), Some(&pair_state(&alice, &bob)));
    group.accept_pending().unwrap();
    let saved = group.save().unwrap();
    let group =
        alice.device(1).load(&saved.state, &saved.tree.unwrap(), saved.epoch_inserts).unwrap();
    assert_eq!(group.conversation(), Some(&pair_state(&later, &bob)));
}

#[test]
fn commits_that_break_the_rule_are_refused_and_the_epoch_stays() {
    let (alice, bob, eve) =
        (Person::new(1, &[1, 2]), Person::new(2, &[1, 2]), Person::new(3, &[1]));
    let groups = || pair(&alice, &bob, &[alice.device(2)]);
    let (unknown, _) = package(&eve.device(1));
    // Someone who is no member.
    let refused = groups()[0].change(&no_evidence(), [unknown.as_slice()], NOW);
    assert_eq!(refused.err(), Some(GroupError::Membership));
    // A device that the record does not have.
    let (other, _) = package(&alice.device(9));
    let refused = groups()[0].change(&no_evidence(), [other.as_slice()], NOW);
    assert_eq!(refused.err(), Some(GroupError::Membership));
    // Evidence of a person who is no member, and of a record that is older or forked.
    let (later, fork) = (alice.with(&[3], &[]), alice.with(&[4], &[]));
    for (records, changed) in [
        (vec![eve.record.clone()], None),
        (vec![alice.record.clone()], None),
        (vec![later.record.clone(), later.record.clone()], None),
        (vec![fork.record.clone()], Some(&later)),
    ] {
        let mut groups = groups();
        if let Some(person) = changed {
            let evidence = Evidence::new(None, vec![person.record.clone()]);
            groups[0].change(&evidence, [], NOW).unwrap();
            groups[0].accept_pending().unwrap();
        }
        let refused = groups[0].change(&Evidence::new(None, records), [], NOW);
        assert_eq!(refused.err(), Some(GroupError::Membership));
    }
    // Changes that are meant for groups without a conversation.
    let mut group = groups().swap_remove(0);
    let (second, _) = package(&bob.device(2));
    assert_eq!(group.add([second.as_slice()], NOW).err(), Some(GroupError::Membership));
    let removed = group.remove(&[bob.device(1).address()], NOW);
    assert_eq!(removed.err(), Some(GroupError::Membership));
    assert_eq!(group.propose_leave().err(), Some(GroupError::Membership));
    // One's own removal is for others to commit.
    let without = Evidence::new(None, vec![alice.with(&[], &[1]).record]);
    assert_eq!(group.change(&without, [], NOW).err(), Some(GroupError::RemovesItself));
    assert_eq!(group.epoch(), 1);
}

#[test]
fn a_device_that_lost_its_state_is_replaced() {
    let (alice, bob) = (Person::new(1, &[1]), Person::new(2, &[1]));
    let mut groups = pair(&alice, &bob, &[]);
    let (public, secret) = package(&bob.device(1));
    let commit = groups[0].change(&no_evidence(), [public.as_slice()], NOW).unwrap();
    groups[0].accept_pending().unwrap();
    let mut again = join(&bob.device(1), &commit.welcome[0], &secret).unwrap();
    assert_eq!(groups[0].members().len(), 2);
    let message = groups[0].seal(b"here you are").unwrap();
    assert!(matches!(again.open(&message), Ok(Opened::Message { .. })));
}

#[test]
fn a_team_follows_its_roster() {
    let (alice, bob, carol) = (Person::new(1, &[1]), Person::new(2, &[1]), Person::new(3, &[1]));
    let name = |text: &str| Name::new(text).unwrap();
    let member =
        |text: &str, person: &Person| Member::new(name(text), person.root.public().clone());
    let id = GroupId::generate(&mut OsRandom, &alice.root, &name("team")).unwrap();
    let members = vec![member("alice", &alice), member("bob", &bob)];
    let roster = Roster::create(name("team"), id, alice.identity(), members).unwrap();
    let roster = roster.sign(&alice.root, b"sealed").unwrap();
    let members = Members::Team(Box::new(roster.clone()));
    // Bob may be without a record until it comes as evidence. A person of a pair must have one.
    let without = MembershipState::new(members.clone(), &records(&[&alice])).unwrap();
    assert_eq!(MembershipState::from_bytes(&without.to_bytes()), Ok(without.clone()));
    assert_eq!(without.devices().count(), 1);
    let record = Evidence::new(None, vec![bob.record.clone()]);
    assert_eq!(without.after(&record, &alice.identity()).unwrap().devices().count(), 2);
    let pair = Members::of_two(alice.identity(), bob.identity());
    assert_eq!(
        MembershipState::new(pair, &records(&[&alice])).err(),
        Some(MembershipError::NoRecord)
    );
    let state = MembershipState::new(members, &records(&[&alice, &bob])).unwrap();
    assert_eq!(MembershipState::from_bytes(&state.to_bytes()), Ok(state.clone()));
    let mut owner = alice.device(1).create_conversation(b"team", state, NOW).unwrap();
    let (public, secret) = package(&bob.device(1));
    let commit = owner.change(&no_evidence(), [public.as_slice()], NOW).unwrap();
    owner.accept_pending().unwrap();
    let mut bobs = join(&bob.device(1), &commit.welcome[0], &secret).unwrap();
    // Carol comes, with her record and a device; Bob goes.
    let next = |changes: &RosterChanges| {
        roster.next_epoch(changes).unwrap().sign(&alice.root, b"sealed").unwrap()
    };
    let mut changes = RosterChanges::new();
    changes.add(member("carol", &carol)).remove(name("bob"));
    let evidence = Evidence::new(Some(next(&changes)), vec![carol.record.clone()]);
    let (public, secret) = package(&carol.device(1));
    let commit = owner.change(&evidence, [public.as_slice()], NOW).unwrap();
    owner.accept_pending().unwrap();
    assert!(apply(core::slice::from_mut(&mut bobs), &commit)[0].is_removed);
    let carols = join(&carol.device(1), &commit.welcome[0], &secret).unwrap();
    assert_eq!(carols.conversation(), owner.conversation());
    assert_eq!(carols.members().len(), 2);
    // A roster that another person signed is of another group.
    let forged = Roster::create(
        name("team"),
        *roster.id(),
        bob.identity(),
        vec![member("bob", &bob), member("carol", &carol)],
    );
    let forged = forged.unwrap().sign(&bob.root, b"sealed").unwrap();
    let refused = owner.change(&Evidence::new(Some(forged), Vec::new()), [], NOW);
    assert_eq!(refused.err(), Some(GroupError::Membership));
}

/// A member leaves without the owner: the next member who commits removes the device.
#[test]
fn a_member_leaves_a_team() {
    let (alice, bob) = (Person::new(1, &[1]), Person::new(2, &[1, 2]));
    let name = |text: &str| Name::new(text).unwrap();
    let member =
        |text: &str, person: &Person| Member::new(name(text), person.root.public().clone());
    let id = GroupId::generate(&mut OsRandom, &alice.root, &name("team")).unwrap();
    let members = vec![member("alice", &alice), member("bob", &bob)];
    let roster = Roster::create(name("team"), id, alice.identity(), members).unwrap();
    let roster = roster.sign(&alice.root, b"sealed").unwrap();
    let members = Members::Team(Box::new(roster));
    let state = MembershipState::new(members, &records(&[&alice, &bob])).unwrap();
    let mut owner = alice.device(1).create_conversation(b"team", state, NOW).unwrap();
    let packages = [1, 2].map(|number| package(&bob.device(number)));
    let both = packages.iter().map(|it| it.0.as_slice());
    let commit = owner.change(&no_evidence(), both, NOW).unwrap();
    owner.accept_pending().unwrap();
    let mut bobs: Vec<_> = [(1, 0), (2, 1)]
        .map(|(number, at)| join(&bob.device(number), &commit.welcome[0], &packages[at].1))
        .map(Result::unwrap)
        .into();
    let departure = Evidence::departure();
    assert_eq!(owner.change(&departure, [], NOW).err(), Some(GroupError::Membership));
    let commit = bobs[0].change(&departure, [], NOW).unwrap();
    bobs[0].accept_pending().unwrap();
    assert!(apply(&mut bobs[1..], &commit)[0].is_removed);
    let change = apply(core::slice::from_mut(&mut owner), &commit).remove(0);
    assert_eq!(change.by, bob.device(1).address());
    assert!(change.evidence.unwrap().is_departure());
    assert_eq!(change.removed, [bob.device(2).address()]);
    for group in [&owner, &bobs[0]] {
        let state = group.conversation().unwrap();
        assert!(state.has_departed(&bob.identity()) && !state.has_departed(&alice.identity()));
        assert_eq!(state.record_of(&bob.identity()), None);
        assert_eq!(group.members().len(), 2);
    }
    // Neither of the devices comes back, and nothing of the person.
    assert_eq!(bobs[0].change(&departure, [], NOW).err(), Some(GroupError::Membership));
    let (public, _) = package(&bob.device(2));
    let again = owner.change(&no_evidence(), [public.as_slice()], NOW);
    assert_eq!(again.err(), Some(GroupError::Membership));
    let record = Evidence::new(None, vec![bob.with(&[3], &[]).record]);
    assert_eq!(owner.change(&record, [], NOW).err(), Some(GroupError::Membership));
    let commit = owner.change(&no_evidence(), [], NOW).unwrap();
    owner.accept_pending().unwrap();
    assert!(apply(&mut bobs[..1], &commit)[0].is_removed);
    assert_eq!(owner.members(), [alice.device(1).address()]);
}

#[test]
fn encodings_are_canonical() {
    let (alice, bob) = (Person::new(1, &[1, 2, 300]), Person::new(2, &[1]));
    let state = pair_state(&alice, &bob);
    let bytes = state.to_bytes();
    assert_eq!(MembershipState::from_bytes(&bytes), Ok(state));
    for cut in 0..bytes.len() {
        assert!(MembershipState::from_bytes(&bytes[..cut]).is_err(), "{cut}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(MembershipState::from_bytes(&longer).is_err());
    let mut swapped = bytes.clone();
    swapped[2..34].copy_from_slice(&bytes[34..66]);
    swapped[34..66].copy_from_slice(&bytes[2..34]);
    assert!(MembershipState::from_bytes(&swapped).is_err());
    let evidence = Evidence::new(None, records(&[&alice, &bob]));
    let bytes = evidence.to_bytes().unwrap();
    assert_eq!(Evidence::from_bytes(&bytes), Ok(evidence));
    assert!(Evidence::from_bytes(&no_evidence().to_bytes().unwrap()).is_err());
    for cut in (0..bytes.len()).step_by(97) {
        assert!(Evidence::from_bytes(&bytes[..cut]).is_err(), "{cut}");
    }
}

#[test]
fn a_text_writes_neither_the_tree_nor_the_conversation() {
    let numbers: Vec<u32> = (1..=16).collect();
    let (alice, bob) = (Person::new(1, &numbers), Person::new(2, &[1]));
    let others: Vec<_> = numbers[1..].iter().map(|it| alice.device(*it)).collect();
    let mut groups = pair(&alice, &bob, &others);
    let tree = groups[0].save().unwrap().tree.unwrap();
    assert!(tree.len() > 16 * 1_500, "{}", tree.len());
    let text = groups[0].seal(b"hello").unwrap();
    groups[1].save().unwrap();
    groups[1].open(&text).unwrap();
    for group in &mut groups[..2] {
        let saved = group.save().unwrap();
        assert!(saved.tree.is_none() && saved.state.len() < 16_384, "{}", saved.state.len());
    }
    let commit = groups[0].update(NOW).unwrap();
    assert!(groups[0].save().unwrap().tree.is_none());
    groups[0].accept_pending().unwrap();
    groups[1].open(&commit.commit).unwrap();
    for group in &mut groups[..2] {
        assert!(group.save().unwrap().tree.is_some_and(|it| it != tree));
    }
}

#[test]
fn notes_go_from_one_member_to_another_in_their_epoch() {
    let (alice, bob) = (Person::new(1, &[1, 2]), Person::new(2, &[1]));
    let mut groups = pair(&alice, &bob, &[alice.device(2)]);
    let (key, to) = (group_key(&bob, 1), alice.device(1).address());
    let note = groups[1].seal_note(&key, &to, b"delivered", &mut OsRandom).unwrap();
    // It opens as often as it comes, at its receiver alone, and moves no ratchet.
    for _ in 0..2 {
        let Opened::Note { sender, plaintext, .. } = groups[0].open(&note).unwrap() else {
            panic!()
        };
        assert_eq!((sender, &plaintext[..]), (bob.device(1).address(), &b"delivered"[..]));
    }
    assert_eq!(groups[2].open(&note), Err(OpenError::Authentication));
    assert_eq!(groups[1].open(&note), Err(OpenError::Authentication));
    let text = groups[1].seal(b"a text").unwrap();
    assert!(matches!(groups[2].open(&text), Ok(Opened::Message { .. })));
    // The key of another device, and a receiver who is no member.
    let other = group_key(&alice, 1);
    let sealed = groups[1].seal_note(&other, &to, b"x", &mut OsRandom);
    assert_eq!(sealed.err(), Some(GroupError::Internal));
    let carol = Person::new(3, &[1]).device(1).address();
    let sealed = groups[1].seal_note(&key, &carol, b"x", &mut OsRandom);
    assert_eq!(sealed.err(), Some(GroupError::NoSuchMember));
    let sealed = groups[1].seal_note(&key, &to, &[0; 65_537], &mut OsRandom);
    assert_eq!(sealed.err(), Some(GroupError::TooLong));
    let commit = groups[0].update(NOW).unwrap();
    groups[0].accept_pending().unwrap();
    assert_eq!(groups[0].open(&note), Err(OpenError::OldEpoch));
    let later = groups[0].seal_note(
        &group_key(&alice, 1),
        &bob.device(1).address(),
        b"later",
        &mut OsRandom,
    );
    let later = later.unwrap();
    assert_eq!(groups[1].open(&later), Err(OpenError::LaterEpoch(2)));
    groups[1].open(&commit.commit).unwrap();
    assert!(matches!(groups[1].open(&later), Ok(Opened::Note { .. })));
}

#[test]
fn a_state_has_each_person_once_and_is_bounded() {
    let (alice, bob, eve) = (Person::new(1, &[1]), Person::new(2, &[1]), Person::new(3, &[1]));
    let both = Members::of_two(alice.identity(), bob.identity());
    let twice = MembershipState::new(both.clone(), &records(&[&alice, &bob, &alice]));
    assert_eq!(twice.err(), Some(MembershipError::RecordTwice));
    let state = MembershipState::new(both.clone(), &records(&[&alice, &bob])).unwrap();
    // Those of another order, and those that are one.
    let Members::Pair([first, second]) = both else { panic!() };
    let turned = Members::Pair([second, first]);
    assert_eq!(MembershipState::new(turned, &records(&[&alice, &bob])), Ok(state.clone()));
    let one = Members::Pair([alice.identity(); 2]);
    let alone = MembershipState::new(one, &records(&[&alice])).unwrap();
    assert_eq!(*alone.members(), Members::Oneself(alice.identity()));
    // A device that is none of the state makes no group with it.
    let made = eve.device(1).create_conversation(b"group", state, NOW);
    assert_eq!(made.err(), Some(GroupError::Membership));
    // A team whose roster and persons have more than 1 MiB.
    let name = |text: &str| Name::new(text).unwrap();
    let team = |count: u32| {
        let root = |it: u32| device_identity(1_000 + it);
        let named = |it| Member::new(name(&format!("m{it}")), root(it).public().clone());
        let members: Vec<_> = (0..count).map(named).collect();
        let owner = root(0);
        let id = GroupId::generate(&mut OsRandom, &owner, &name("team")).unwrap();
        let draft = Roster::create(name("team"), id, *owner.public().ed25519(), members).unwrap();
        let record = |it| {
            let device = device_identity(it + 1).public().clone();
            PersonRecord::create(&root(it), nonzero(1), &device, &mut OsRandom).unwrap()
        };
        let records: Vec<_> = (0..count).map(record).collect();
        (draft.sign(&owner, b"sealed").unwrap(), records)
    };
    let (roster, _) = team(2);
    let (small, _) = team(3);
    let each = small.as_bytes().len() - roster.as_bytes().len();
    let (roster, all) = team(u32::try_from((1 << 20) / each + 1).unwrap());
    let state = MembershipState::new(Members::Team(Box::new(roster)), &all);
    assert_eq!(state.err(), Some(MembershipError::TooLong));
}

#[test]
fn evidence_is_bounded() {
    let alice = Person::new(1, &[1]);
    let each = alice.record.as_bytes().len() + 4;
    let most = (512 << 10) / each;
    let evidence = |count| Evidence::new(None, vec![alice.record.clone(); count]);
    let longest = evidence(most).to_bytes().unwrap();
    assert_eq!(Evidence::from_bytes(&longest), Ok(evidence(most)));
    assert_eq!(evidence(most + 1).to_bytes(), Err(MembershipError::TooLong));
    let longer = [&longest[..], &longest[longest.len() - each..]].concat();
    assert_eq!(Evidence::from_bytes(&longer), Err(MembershipError::Format));
}

/// The group of a state and the tree of another one are not loaded together.
#[test]
fn a_group_is_loaded_with_its_state_alone() {
    let (alice, bob) = (Person::new(1, &[1]), Person::new(2, &[1]));
    let mut group = pair(&alice, &bob, &[]).swap_remove(0);
    let saved = group.save().unwrap();
    let tree = saved.tree.unwrap();
    let (of_two, other) =
        (pair_state(&alice, &bob).to_bytes(), pair_state(&alice, &bob.with(&[2], &[])));
    assert_eq!(tree[4..4 + of_two.len()], of_two[..]);
    let rest = &tree[4 + of_two.len()..];
    for state in [other.to_bytes(), Vec::new()] {
        let length = u32::try_from(state.len()).unwrap().to_le_bytes();
        let tree = [&length[..], &state, rest].concat();
        assert!(alice.device(1).load(&saved.state, &tree, []).is_err());
    }
    assert!(alice.device(1).load(&saved.state, &tree, []).is_ok());
}

/// Groups without a conversation have no notes.
#[test]
fn a_note_in_another_group_is_malformed() {
    let (alice, bob) = (Person::new(1, &[1]), Person::new(2, &[1]));
    let groups = pair(&alice, &bob, &[]);
    let (key, to) = (group_key(&bob, 1), alice.device(1).address());
    let note = groups[1].seal_note(&key, &to, b"text", &mut OsRandom).unwrap();
    let mut plain = alice.device(1).create(b"0123456789abcdef", NOW).unwrap();
    plain.update(NOW).unwrap();
    plain.accept_pending().unwrap();
    assert_eq!(plain.epoch(), 1);
    assert_eq!(plain.open(&note), Err(OpenError::Malformed));
    let sealed = plain.seal_note(&group_key(&alice, 1), &to, b"text", &mut OsRandom);
    assert_eq!(sealed.err(), Some(GroupError::NoConversation));
}

/// Prints the figures of docs/design/conversations.md.
#[test]
#[ignore = "nightly: prints sizes and times"]
fn sizes_and_times_of_conversations() {
    for count in [2_u8, 50, 100] {
        let persons: Vec<_> = (1..=count).map(|it| Person::new(it, &[1])).collect();
        let name = |text: &str| Name::new(text).unwrap();
        let member = |(at, it): (usize, &Person)| {
            let short = endseal_crypto::identity::PublicIdentity::short(it.identity());
            Member::new(name(&format!("m{at:03}")), short)
        };
        let members = persons.iter().enumerate().map(member).collect();
        let owner = &persons[0];
        let id = GroupId::generate(&mut OsRandom, &owner.root, &name("team")).unwrap();
        let roster = Roster::create(name("team"), id, owner.identity(), members).unwrap();
        let roster = roster.sign(&owner.root, b"sealed").unwrap();
        let all: Vec<_> = persons.iter().map(|it| it.record.clone()).collect();
        let state = MembershipState::new(Members::Team(Box::new(roster)), &all).unwrap();
        let length = state.to_bytes().len();
        let packages: Vec<_> = persons[1..].iter().map(|it| package(&it.device(1))).collect();
        let begin = Instant::now();
        let mut group = owner.device(1).create_conversation(b"team", state, NOW).unwrap();
        let public = packages.iter().map(|it| &it.0[..]);
        let created = group.change(&no_evidence(), public, NOW).unwrap();
        group.accept_pending().unwrap();
        let create = begin.elapsed();
        let mut second = join(&persons[1].device(1), &created.welcome[0], &packages[0].1).unwrap();
        let renewed = group.update(NOW).unwrap();
        group.accept_pending().unwrap();
        second.open(&renewed.commit).unwrap();
        let saved = group.save().unwrap().state.len();
        let begin = Instant::now();
        let seal = |_| {
            let text = group.seal(&[7; 1_024]).unwrap();
            drop(group.save().unwrap());
            text
        };
        let texts: Vec<_> = (0..100).map(seal).collect();
        let sealed = begin.elapsed() / 100;
        let begin = Instant::now();
        for text in &texts {
            second.open(text).unwrap();
        }
        println!(
            "{count} members: state {length}, create {create:?}, welcome {}, commit {}, renewal {}, \
             saved {saved}, text {}, seal and save {sealed:?}, open {:?}",
            created.welcome[0].len(),
            created.commit.len(),
            renewed.commit.len(),
            texts[0].len(),
            begin.elapsed() / 100,
        );
    }
}
