//! Replaced devices in groups: this device adds none, and one that another member adds is listed in
//! the notice.

use endseal_keyring::device::Address;
use endseal_session::{
    BatchOptions, Envelope, GroupChangeError, Notice, Outcome, OutgoingKind, ReceivedKind,
};

use super::party::{NOW, Party, blake};

const GROUP: &[u8] = b"team";
const BOB: u8 = 2;
const LATER: u64 = 1_790_000_000_001;

/// Returns Bob's replaced device, and the device that replaced it.
fn bobs() -> (Party, Party) {
    (Party::new(BOB), Party::made_at(BOB, 1, LATER))
}

fn add(to: &mut Party, package: &[u8]) -> Result<u64, GroupChangeError> {
    to.engine().transaction(|t| t.commit_group(GROUP, |group| group.add([package], NOW)))
}

fn superseded(of: &mut Party) -> Vec<Address> {
    of.engine().group(GROUP).unwrap().unwrap().superseded
}

/// Returns the last change in the inbox.
fn notice(of: &mut Party) -> Notice {
    let page = of.engine().inbox().page(0, 100).unwrap();
    let change = page.iter().rev().find(|it| it.kind == ReceivedKind::Change).unwrap();
    Notice::parse(&change.plaintext).unwrap()
}

#[test]
fn a_device_that_was_replaced_is_not_added() {
    for restart in [false, true] {
        let mut alice = Party::new(1);
        let (mut stolen, mut bob) = bobs();
        let (old, new) = (stolen.key_package(), bob.key_package());
        alice.engine().transaction(|t| t.create_group(GROUP, NOW)).unwrap();
        alice.begin(&mut bob);
        if restart {
            alice.kill();
        }
        let added = add(&mut alice, &old);
        assert!(matches!(added, Err(GroupChangeError::Superseded(it)) if it == bob.address));
        // The refused commit leaves nothing, and the next one can be made.
        assert_eq!(alice.engine().outbox().pending(0, 10).unwrap(), []);
        assert!(!alice.engine().group(GROUP).unwrap().unwrap().has_pending);
        let number = add(&mut alice, &new).unwrap();
        let kinds: Vec<_> = alice.engine().outbox().pending(0, 10).unwrap();
        assert_eq!(kinds.iter().map(|it| it.kind).collect::<Vec<_>>(), [OutgoingKind::Commit]);
        alice.take_out(number);
        alice.engine().transaction(|t| t.accept_commit(GROUP)).unwrap();
        let welcome = alice.take_welcomes().remove(0);
        bob.engine().transaction(|t| t.join_group(&welcome)).unwrap();
        assert_eq!(superseded(&mut alice), []);
    }
}

/// The certificate is seen in the transaction that would add the device.
#[test]
fn a_certificate_counts_as_soon_as_it_was_seen() {
    let mut alice = Party::new(1);
    let (mut stolen, mut bob) = bobs();
    let (old, bundle) = (stolen.key_package(), bob.bundles(1).remove(0));
    let to = bob.address;
    alice.engine().transaction(|t| t.create_group(GROUP, NOW)).unwrap();
    let added: Result<Result<u64, GroupChangeError>, GroupChangeError> =
        alice.engine().transaction(|t| {
            t.begin_session(to, &bundle).unwrap();
            Ok(t.commit_group(GROUP, |group| group.add([old.as_slice()], NOW)))
        });
    assert!(matches!(added, Ok(Err(GroupChangeError::Superseded(it))) if it == to));
    // Before another certificate was seen, this one is accepted.
    let mut carol = Party::new(3);
    carol.engine().transaction(|t| t.create_group(GROUP, NOW)).unwrap();
    add(&mut carol, &old).unwrap();
}

#[test]
fn a_device_that_another_member_adds_though_it_was_replaced_is_named() {
    for batch in [false, true] {
        let (mut alice, mut carol, mut dave) = (Party::new(1), Party::new(3), Party::new(4));
        let (mut stolen, mut bob) = bobs();
        carol.found(GROUP, &mut [&mut alice, &mut dave]);
        alice.begin(&mut bob);
        let package = stolen.key_package();
        let (commit, welcome) = carol.change(GROUP, |group| group.add([package.as_slice()], NOW));
        stolen.engine().transaction(|t| t.join_group(&welcome[0])).unwrap();
        for member in [&mut alice, &mut dave] {
            let outcome = if batch {
                let id = blake(&commit);
                let envelopes = [Envelope::from_group(&id, GROUP, &commit)];
                let options = BatchOptions::default().threads(2);
                member.engine().decrypt_batch(&envelopes, &options).unwrap().outcomes[0]
            } else {
                member.receive_group(GROUP, &blake(&commit), &commit)
            };
            assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
        }
        // All have the same members. The member that has seen the later certificate reports it.
        let at = bob.address;
        for (member, expected) in [(&mut alice, vec![at]), (&mut dave, vec![])] {
            assert_eq!(superseded(member), expected);
            let Notice::Changed { added, superseded, .. } = notice(member) else { panic!() };
            assert_eq!((added, superseded), (vec![at], expected));
        }
        let (out, _) = alice.change(GROUP, |group| group.remove(&[at], NOW));
        assert_eq!(superseded(&mut alice), []);
        let outcome = stolen.receive_group(GROUP, b"out", &out);
        assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
    }
}

#[test]
fn a_device_that_was_replaced_is_named_to_one_who_joins() {
    let (mut alice, mut carol) = (Party::new(1), Party::new(3));
    let (mut stolen, mut bob) = bobs();
    alice.begin(&mut bob);
    carol.found(GROUP, &mut [&mut stolen]);
    let package = alice.key_package();
    let (_, welcome) = carol.change(GROUP, |group| group.add([package.as_slice()], NOW));
    let joined = alice.engine().transaction(|t| t.join_group(&welcome[0])).unwrap();
    assert_eq!(joined.superseded, [bob.address]);
}

/// The order of the two certificates is unknown then.
#[test]
fn a_certificate_that_cannot_be_read_stops_no_batch() {
    let (mut alice, mut carol) = (Party::new(1), Party::new(3));
    let (mut stolen, mut bob) = bobs();
    carol.found(GROUP, &mut [&mut alice]);
    alice.begin(&mut bob);
    let transaction = alice.engine().store().begin().unwrap();
    let row = transaction.find_address(bob.address.identity.as_bytes(), 1).unwrap().unwrap();
    transaction.set_certificate(row, b"no certificate").unwrap();
    transaction.commit().unwrap();
    alice.restart();
    let package = stolen.key_package();
    let (commit, _) = carol.change(GROUP, |group| group.add([package.as_slice()], NOW));
    let outcome = alice.receive_group(GROUP, &blake(&commit), &commit);
    assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
    assert_eq!(superseded(&mut alice), []);
}
