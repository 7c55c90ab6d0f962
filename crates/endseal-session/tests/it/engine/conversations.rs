//! Groups of conversations in stores: commits with their welcomes, and the evidence in notices.

use core::num::NonZeroU32;

use endseal_crypto::ed25519::Seed;
use endseal_crypto::identity::Identity;
use endseal_crypto::mlkem768;
use endseal_crypto::random::OsRandom;
use endseal_keyring::PersonRecord;
use endseal_keyring::person::PersonChanges;
use endseal_session::group::{Evidence, Members, MembershipState, Suite};
use endseal_session::{GroupChangeError, JoinedGroup, Notice, Outcome, OutgoingKind, ReceivedKind};

use super::party::{NOW, Party, blake};

const GROUP: &[u8] = b"0123456789abcdef";

/// The root of a party's person.
fn root(identity: u8) -> Identity {
    let kem = mlkem768::Seed::from_bytes(&[identity; 64]);
    Identity::from_seeds(Seed::from_bytes(&[identity; 32]), kem)
}

fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

/// The first record of a person, with device 1.
fn record(identity: u8) -> PersonRecord {
    let device = root(identity + 100).public().clone();
    PersonRecord::create(&root(identity), number(1), &device, &mut OsRandom).unwrap()
}

/// The next record of a person, in which device 2 takes the place of device 1.
fn replaced(record: &PersonRecord, identity: u8) -> PersonRecord {
    let mut changes = PersonChanges::new();
    changes.remove(number(1));
    changes.add(number(2), root(identity + 150).public());
    record.next_epoch(&root(identity), &changes).unwrap()
}

fn package(party: &mut Party) -> Vec<u8> {
    let made = party.engine().transaction(|t| t.key_package(Suite::MlKem768X25519, NOW));
    made.map_err(|error: GroupChangeError| error).unwrap()
}

/// Commits a change. Returns the commit and the welcome, as a delivery service gets them.
fn change(party: &mut Party, evidence: &Evidence, packages: &[Vec<u8>]) -> (Vec<u8>, Vec<u8>) {
    let packages: Vec<_> = packages.iter().map(Vec::as_slice).collect();
    let number: Result<u64, GroupChangeError> = party.engine().transaction(|t| {
        t.commit_group(GROUP, |group| group.change(evidence, packages.iter().copied(), NOW))
    });
    let number = number.unwrap();
    // A process that is killed has both.
    party.kill();
    let [commit] = party.engine().outbox().pending(0, 100).unwrap().try_into().unwrap();
    assert_eq!((commit.number, commit.kind), (number, OutgoingKind::Commit));
    let welcome = party.engine().outbox().welcome_of(number).unwrap().unwrap();
    party.engine().transaction(|t| t.accept_commit(GROUP)).unwrap();
    assert_eq!(party.engine().outbox().welcome_of(number).unwrap(), None);
    let pending = party.engine().outbox().pending(0, 100).unwrap();
    let kinds: Vec<_> = pending.iter().map(|it| (it.number - number, it.kind)).collect();
    assert_eq!(kinds, [(0, OutgoingKind::Commit), (1, OutgoingKind::Welcome)]);
    assert!(pending.iter().all(|it| it.recipient.is_none()));
    party.engine().outbox().sent_many(&[number, number + 1]).unwrap();
    (commit.body, welcome)
}

fn join(party: &mut Party, welcome: &[u8]) -> JoinedGroup {
    party.engine().transaction(|t| t.join_group(welcome)).unwrap()
}

fn receive(party: &mut Party, body: &[u8]) -> Outcome {
    party.receive_group(GROUP, &blake(body), body)
}

#[test]
fn a_conversation_outlives_kills_and_hands_its_evidence_on() {
    let (mut alice, mut bob) = (Party::new(1), Party::new(2));
    let records = [record(1), record(2)];
    let [a, b] = records.each_ref().map(|it| *it.identity().ed25519());
    let state = MembershipState::new(Members::of_two(a, b), &records).unwrap();
    let create = |party: &mut Party| {
        party.engine().transaction(|t| t.create_conversation(GROUP, state.clone(), NOW))
    };
    create(&mut alice).unwrap();
    assert!(matches!(create(&mut alice), Err(GroupChangeError::Exists)));
    let packages = [package(&mut bob)];
    let (_, welcome) = change(&mut alice, &Evidence::default(), &packages);
    let joined = join(&mut bob, &welcome);
    assert_eq!(joined.conversation.as_ref(), Some(&state));
    for party in [&mut alice, &mut bob] {
        party.kill();
        let summary = party.engine().group(GROUP).unwrap().unwrap();
        assert_eq!(summary.suite, Some(Suite::MlKem768X25519));
        assert_eq!(summary.conversation.as_ref(), Some(&state));
        assert_eq!(summary.members.len(), 2);
    }
    // Alice has lost her device. The new one is added by Bob, who got her record first.
    let mut second = Party::with_device(1, 2);
    let later = replaced(&records[0], 1);
    let evidence = Evidence::new(None, vec![later.clone()]);
    let packages = [package(&mut second)];
    let (commit, welcome) = change(&mut bob, &evidence, &packages);
    assert!(matches!(receive(&mut alice, &commit), Outcome::Delivered(_)));
    let row = alice.engine().inbox().next().unwrap().unwrap();
    assert_eq!(row.kind, ReceivedKind::Change);
    let Some(Notice::Changed { is_removed, added, removed, evidence: received, .. }) =
        Notice::parse(&row.plaintext)
    else {
        panic!("no notice")
    };
    assert!(is_removed && received.as_deref() == Some(&evidence));
    assert_eq!((added, removed), (vec![second.address], vec![alice.address]));
    let joined = join(&mut second, &welcome);
    let after = MembershipState::new(Members::of_two(a, b), &[later, records[1].clone()]);
    assert_eq!(joined.conversation, after.ok());
    // A receipt for one device, which its store keeps apart from texts.
    let to = bob.address;
    let noted = second.engine().transaction(|t| t.send_note(GROUP, to, b"got it", &mut OsRandom));
    noted.map_err(|error: GroupChangeError| error).unwrap();
    second.kill();
    let [note] = second.engine().outbox().pending(0, 100).unwrap().try_into().unwrap();
    assert_eq!((note.kind, note.recipient), (OutgoingKind::Message, Some(to)));
    assert!(matches!(receive(&mut bob, &note.body), Outcome::Delivered(_)));
    assert!(matches!(receive(&mut bob, &note.body), Outcome::AlreadyDelivered(_)));
    let rows = bob.engine().inbox().page(0, 100).unwrap();
    let row = rows.last().unwrap();
    assert_eq!((row.kind, row.sender), (ReceivedKind::Note, second.address));
    assert_eq!(row.plaintext[..], b"got it"[..]);
    let text = bob.send_group(GROUP, &[b"welcome back".to_vec()]).remove(0);
    assert!(matches!(receive(&mut second, &text), Outcome::Delivered(_)));
    assert!(!matches!(receive(&mut alice, &text), Outcome::Delivered(_)));
    assert!(second.texts().contains(&b"welcome back".to_vec()));
}

#[test]
fn a_key_package_of_last_resort_serves_more_than_once() {
    let (mut alice, mut bob, mut carol) = (Party::new(1), Party::new(2), Party::new(3));
    let records = [record(1), record(2), record(3)];
    let identity = |at: usize| *records[at].identity().ed25519();
    let made = bob.engine().transaction(|t| {
        let last = t.last_resort_key_package(Suite::MlKem768X25519, NOW)?;
        Ok((last, t.key_package(Suite::MlKem768X25519, NOW)?))
    });
    let (last, once) = made.map_err(|error: GroupChangeError| error).unwrap();
    let welcomes = [(0, b"a"), (0, b"b"), (2, b"c")].map(|(at, group)| {
        let party = if at == 0 { &mut alice } else { &mut carol };
        let of_both = [records[at].clone(), records[1].clone()];
        let members = Members::of_two(identity(at), identity(1));
        let state = MembershipState::new(members, &of_both).unwrap();
        let welcome = party.engine().transaction(|t| {
            t.create_conversation(group, state, NOW)?;
            t.commit_group(group, |group| group.change(&Evidence::default(), [&last[..]], NOW))?;
            t.accept_commit(group)
        });
        welcome.map_err(|error: GroupChangeError| error).unwrap();
        let pending = party.engine().outbox().pending(0, 100).unwrap();
        pending.into_iter().rfind(|it| it.kind == OutgoingKind::Welcome).unwrap().body
    });
    for welcome in &welcomes {
        assert!(join(&mut bob, welcome).by_last_resort);
        bob.kill();
        let again = bob.engine().transaction(|t| t.join_group(welcome));
        assert!(matches!(again, Err(GroupChangeError::Exists)), "{again:?}");
    }
    // Others serve once, also for the device that adds.
    let state = MembershipState::new(Members::of_two(identity(0), identity(1)), &records[..2]);
    let state = state.unwrap();
    let mut add = |group: &[u8]| {
        alice.engine().transaction(|t| {
            t.create_conversation(group, state.clone(), NOW)?;
            t.commit_group(group, |group| group.change(&Evidence::default(), [&once[..]], NOW))?;
            t.accept_commit(group)
        })
    };
    assert!(add(b"d").is_ok());
    assert!(matches!(add(b"e"), Err(GroupChangeError::KeyPackageUsed)));
}

/// The next record of a person, which has another device, too.
fn extended(record: &PersonRecord, identity: u8, device: u32) -> PersonRecord {
    let mut changes = PersonChanges::new();
    changes.add(number(device), root(identity + 150).public());
    record.next_epoch(&root(identity), &changes).unwrap()
}

/// The next record of a person, without device 2.
fn without_second(record: &PersonRecord, identity: u8) -> PersonRecord {
    let mut changes = PersonChanges::new();
    changes.remove(number(2));
    record.next_epoch(&root(identity), &changes).unwrap()
}

/// A member welcomes another one into a group with the same id that has an earlier record, another
/// one of the epoch, or no rules. Only a state that goes on replaces the known one.
#[test]
fn a_welcome_takes_no_conversation_back() {
    let (mut alice, mut bob) = (Party::new(1), Party::new(2));
    let records = [record(1), record(2)];
    let [a, b] = records.each_ref().map(|it| *it.identity().ed25519());
    let of = |second: &PersonRecord| {
        let records = [records[0].clone(), second.clone()];
        MembershipState::new(Members::of_two(a, b), &records).unwrap()
    };
    let create = |party: &mut Party, state: MembershipState| {
        let made = party.engine().transaction(|t| t.create_conversation(GROUP, state, NOW));
        made.map_err(|error: GroupChangeError| error).unwrap();
    };
    create(&mut alice, of(&records[1]));
    let packages = [package(&mut bob)];
    let (_, welcome) = change(&mut alice, &Evidence::default(), &packages);
    join(&mut bob, &welcome);
    let later = extended(&records[1], 2, 2);
    let evidence = Evidence::new(None, vec![later.clone()]);
    let changed = bob.engine().transaction(|t| {
        t.commit_group(GROUP, |group| group.change(&evidence, [], NOW))?;
        t.accept_commit(GROUP)
    });
    changed.map_err(|error: GroupChangeError| error).unwrap();
    let last = without_second(&later, 2);
    for (state, is_joined) in [
        (Some(records[1].clone()), false),
        (Some(extended(&records[1], 2, 3)), false),
        (None, false),
        (Some(later.clone()), true),
        (Some(last), true),
    ] {
        // Another copy of Alice's device, which has made commits that no one got.
        let mut copy = Party::new(1);
        let has_rules = state.is_some();
        match state {
            Some(record) => create(&mut copy, of(&record)),
            None => copy.engine().transaction(|t| t.create_group(GROUP, NOW)).unwrap(),
        }
        let epoch = bob.engine().group(GROUP).unwrap().unwrap().epoch;
        for _ in 0..epoch {
            let made = copy.engine().transaction(|t| {
                t.commit_group(GROUP, |group| group.update(NOW))?;
                t.accept_commit(GROUP)
            });
            made.map_err(|error: GroupChangeError| error).unwrap();
        }
        let suite = copy.engine().group(GROUP).unwrap().unwrap().suite.unwrap();
        let made = bob.engine().transaction(|t| t.key_package(suite, NOW));
        let package = made.map_err(|error: GroupChangeError| error).unwrap();
        let none = Evidence::default();
        let number: Result<u64, GroupChangeError> = copy.engine().transaction(|t| {
            t.commit_group(GROUP, |group| match has_rules {
                true => group.change(&none, [&package[..]], NOW),
                false => group.add([&package[..]], NOW),
            })
        });
        number.unwrap();
        copy.engine().transaction(|t| t.accept_commit(GROUP)).unwrap();
        let sent = copy.engine().outbox().pending(0, 100).unwrap();
        let welcome = sent.iter().find(|it| it.kind == OutgoingKind::Welcome).unwrap();
        let joined = bob.engine().transaction(|t| t.join_group(&welcome.body));
        match is_joined {
            true => assert!(joined.is_ok()),
            false => assert!(matches!(joined, Err(GroupChangeError::Exists))),
        }
    }
}

/// A copy of an earlier state would seal a note in an epoch that others have left.
#[test]
fn a_restored_store_sends_no_notes() {
    let (mut alice, mut bob) = (Party::new(1), Party::new(2));
    let records = [record(1), record(2)];
    let [a, b] = records.each_ref().map(|it| *it.identity().ed25519());
    let state = MembershipState::new(Members::of_two(a, b), &records).unwrap();
    let made = alice.engine().transaction(|t| t.create_conversation(GROUP, state, NOW));
    made.map_err(|error: GroupChangeError| error).unwrap();
    let packages = [package(&mut bob)];
    let (_, welcome) = change(&mut alice, &Evidence::default(), &packages);
    join(&mut bob, &welcome);
    bob.backup();
    bob.restore();
    let to = alice.address;
    let sent = bob.engine().transaction(|t| t.send_note(GROUP, to, b"got it", &mut OsRandom));
    assert!(matches!(sent, Err(GroupChangeError::Restored)));
}
