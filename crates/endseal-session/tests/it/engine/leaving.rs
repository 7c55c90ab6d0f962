//! Devices that leave, forget and rejoin groups.

use endseal_session::group::Suite;
use endseal_session::{
    Envelope, Failure, GroupChangeError, Notice, Outcome, ReceivedKind, SendError,
};

use super::party::{NOW, Party, blake};

const GROUP: &[u8] = b"team";

fn follow(party: &mut Party, body: &[u8]) {
    let outcome = party.receive_group(GROUP, &blake(body), body);
    assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
}

#[test]
fn a_device_leaves_by_a_proposal_that_another_commits() {
    for kill in [false, true] {
        let (mut one, mut two, mut three) = (Party::new(1), Party::new(2), Party::new(3));
        one.found(GROUP, &mut [&mut two, &mut three]);
        let number = two.engine().transaction(|t| t.leave_group(GROUP)).unwrap();
        if kill {
            two.kill();
        }
        let proposal = two.take_out(number);
        // It sends no more texts, and the others send none before the commit; both get the reason.
        for party in [&mut two, &mut one] {
            if party.address == one_address() {
                follow(party, &proposal);
            }
            let refused = party.engine().encrypt_group(GROUP, b"no");
            assert!(matches!(refused, Err(SendError::CommitRequired)), "{:?}", refused.err());
            assert!(party.engine().group(GROUP).unwrap().unwrap().needs_commit);
        }
        let row = one.engine().inbox().page(0, 10).unwrap().pop().unwrap();
        assert_eq!((row.sender, row.kind), (two.address, ReceivedKind::Proposal));
        assert_eq!(Notice::parse(&row.plaintext), Some(Notice::Remove(two.address)));
        follow(&mut three, &proposal);
        let (commit, _) = one.change(GROUP, |group| group.update(NOW));
        follow(&mut three, &commit);
        follow(&mut two, &commit);
        let summary = two.engine().group(GROUP).unwrap().unwrap();
        assert!(!summary.is_member);
        let left = three.engine().group(GROUP).unwrap().unwrap();
        assert_eq!(left.members, [one.address, three.address]);
        let text = one.send_group(GROUP, &[b"text".to_vec()]).remove(0);
        follow(&mut three, &text);
        // It may be invited again. Until then the message cannot be opened.
        let parked = two.receive_group(GROUP, b"text", &text);
        assert_eq!(parked, Outcome::Parked(Failure::NoGroup));
    }
}

fn one_address() -> endseal_keyring::device::Address {
    let key = endseal_crypto::ed25519::SigningKey::from_seed(
        endseal_crypto::ed25519::Seed::from_bytes(&[1; 32]),
    );
    endseal_keyring::device::Address {
        identity: *key.public_key(),
        device: endseal_keyring::device::DeviceId::new(1).unwrap(),
    }
}

#[test]
fn nothing_of_a_forgotten_group_is_kept() {
    for kill in [false, true] {
        let (mut one, mut two, mut three) = (Party::new(1), Party::new(2), Party::new(3));
        one.found(GROUP, &mut [&mut two]);
        for _ in 0..2 {
            let (commit, _) = one.change(GROUP, |group| group.update(NOW));
            follow(&mut two, &commit);
        }
        let (_later, _) = one.change(GROUP, |group| group.update(NOW));
        let early = one.send_group(GROUP, &[b"early".to_vec()]).remove(0);
        assert_eq!(two.receive_group(GROUP, b"early", &early), Outcome::Buffered(4));
        // A pending commit, and a text that may be sent.
        let text = two.engine().encrypt_group(GROUP, b"text").unwrap();
        let package = three.key_package();
        two.engine()
            .transaction(|t| t.commit_group(GROUP, |group| group.add([package.as_slice()], NOW)))
            .map_err(|error: GroupChangeError| error)
            .unwrap();
        if kill {
            two.kill();
        }
        assert!(two.engine().transaction(|t| t.forget_group(GROUP)).unwrap());
        assert!(!two.engine().transaction(|t| t.forget_group(GROUP)).unwrap());
        if kill {
            two.kill();
        }
        assert_eq!(two.engine().groups().unwrap(), [[0; 0]; 0]);
        assert_eq!(two.engine().group(GROUP).unwrap(), None);
        assert_eq!(two.engine().parked().unwrap(), []);
        let left = two.engine().outbox().pending(0, 10).unwrap();
        assert_eq!(left.iter().map(|it| it.number).collect::<Vec<_>>(), [text.number]);
        let refused = two.engine().encrypt_group(GROUP, b"no");
        assert!(matches!(refused, Err(SendError::NoGroup)));
        let store = two.engine().store();
        let transaction = store.begin().unwrap();
        assert_eq!(transaction.max_group_epoch(GROUP).unwrap(), None);
        drop(transaction);
        // The device is invited again, and joins.
        let own = two.address;
        let (_, _) = one.change(GROUP, |group| group.remove(&[own], NOW));
        let package = two.key_package();
        let (_, welcome) = one.change(GROUP, |group| group.add([package.as_slice()], NOW));
        two.engine().transaction(|t| t.join_group(&welcome[0])).unwrap();
        let text = one.send_group(GROUP, &[b"again".to_vec()]).remove(0);
        follow(&mut two, &text);
    }
}

#[test]
fn a_device_that_missed_commits_joins_again() {
    for case in ["missed", "restored", "discarded", "removed"] {
        let (mut one, mut two) = (Party::new(1), Party::new(2));
        one.found(GROUP, &mut [&mut two]);
        two.backup();
        match case {
            // The commit was accepted by the group, but the device discards it.
            "discarded" => {
                let number: Result<_, GroupChangeError> =
                    two.engine().transaction(|t| t.commit_group(GROUP, |group| group.update(NOW)));
                let body = two.take_out(number.unwrap());
                two.engine().transaction(|t| t.discard_commit(GROUP)).unwrap();
                follow(&mut one, &body);
                let own = two.receive_group(GROUP, b"own", &body);
                assert_eq!(own, Outcome::Failed(Failure::Own));
            }
            "restored" => two.restore(),
            _ => drop(one.change(GROUP, |group| group.update(NOW))),
        }
        let own = two.address;
        let (out, _) = one.change(GROUP, |group| group.remove(&[own], NOW));
        if case == "removed" {
            // In one of the epochs only, because it missed the commit before this one.
            assert_eq!(two.receive_group(GROUP, b"out", &out), Outcome::Buffered(2));
        }
        let package = two.key_package();
        let (_, welcome) = one.change(GROUP, |group| group.add([package.as_slice()], NOW));
        let early = one.send_group(GROUP, &[b"early".to_vec()]).remove(0);
        assert!(matches!(two.receive_group(GROUP, b"early", &early), Outcome::Buffered(_)));
        let joined = two.engine().transaction(|t| t.join_group(&welcome[0])).unwrap();
        assert_eq!((joined.inviter, joined.members.len()), (one.address, 2), "{case}");
        assert_eq!(two.texts().last().unwrap(), b"early", "{case}");
        assert_eq!(two.engine().parked().unwrap(), [], "{case}");
        let text = two.send_group(GROUP, &[b"here again".to_vec()]).remove(0);
        follow(&mut one, &text);
        two.kill();
        let text = one.send_group(GROUP, &[b"welcome back".to_vec()]).remove(0);
        follow(&mut two, &text);
        // The same welcome cannot be used again.
        let again = two.engine().transaction(|t| t.join_group(&welcome[0]));
        assert!(again.is_err());
    }
}

/// The maker of a group chooses its id.
#[test]
fn an_outsiders_group_of_the_same_id_replaces_nothing() {
    for restored in [false, true] {
        let (mut one, mut two, mut mallory) = (Party::new(1), Party::new(2), Party::new(3));
        one.found(GROUP, &mut [&mut two]);
        if restored {
            two.backup();
            two.restore();
        }
        mallory.engine().transaction(|t| t.create_group(GROUP, NOW)).unwrap();
        for _ in 0..5 {
            mallory.change(GROUP, |group| group.update(NOW));
        }
        let package = two.key_package();
        let (_, welcome) = mallory.change(GROUP, |group| group.add([package.as_slice()], NOW));
        let refused = two.engine().transaction(|t| t.join_group(&welcome[0]));
        assert!(matches!(refused, Err(GroupChangeError::Exists)));
        assert_eq!(two.engine().group(GROUP).unwrap().unwrap().members, [one.address, two.address]);
        // An old welcome of a member replaces nothing either: the keys of its epoch were used.
        let package = two.key_package();
        let (mut old, mut new) = (Party::new(4), Party::new(5));
        old.engine().transaction(|t| t.create_group(GROUP, NOW)).unwrap();
        let packages = [new.key_package(), package];
        let (_, welcome) =
            old.change(GROUP, |group| group.add(packages.iter().map(Vec::as_slice), NOW));
        let refused = two.engine().transaction(|t| t.join_group(&welcome[0]));
        assert!(matches!(refused, Err(GroupChangeError::Exists)));
        // After the known group was forgotten, the welcome is accepted, because its key package was
        // not used.
        assert!(two.engine().transaction(|t| t.forget_group(GROUP)).unwrap());
        two.restart();
        let joined = two.engine().transaction(|t| t.join_group(&welcome[0])).unwrap();
        assert_eq!((joined.inviter, joined.members.len()), (old.address, 3));
    }
}

#[test]
fn a_group_can_be_looked_at() {
    let (mut one, mut two) = (Party::new(1), Party::new(2));
    assert_eq!(one.engine().group(GROUP).unwrap(), None);
    assert_eq!(one.engine().group(&[1; 64]).unwrap(), None);
    one.found(GROUP, &mut [&mut two]);
    let groups = one.engine().groups().unwrap();
    assert_eq!(groups, [GROUP]);
    let summary = two.engine().group(GROUP).unwrap().unwrap();
    assert_eq!((summary.id.as_slice(), summary.epoch), (GROUP, 1));
    assert_eq!(summary.suite, Some(Suite::default()));
    assert_eq!(summary.members, [one.address, two.address]);
    assert!(summary.is_member && !summary.has_pending && !summary.needs_commit);
}

/// Makes a proposal that no member has sealed, with the unencrypted header of group messages.
fn forged_proposal(len: usize) -> Vec<u8> {
    let len = u32::try_from(len).unwrap();
    [
        // Group message; MLS 1.0, private message, group id.
        &[1, 3, 0, 1, 0, 2, 4][..],
        GROUP,
        &1_u64.to_be_bytes(),
        // Proposal, no authenticated data, sender data, ciphertext.
        &[2, 0, 28],
        &[9; 28],
        &(0x8000_0000 | len).to_be_bytes(),
        &vec![7; len as usize],
    ]
    .concat()
}

#[test]
fn forged_and_repeated_proposals_take_no_room_of_true_ones() {
    for case in ["forged", "repeated"] {
        let (mut one, mut two, mut three) = (Party::new(1), Party::new(2), Party::new(3));
        let mut four = Party::new(4);
        one.found(GROUP, &mut [&mut two, &mut three, &mut four]);
        if case == "forged" {
            let body = forged_proposal((1 << 20) - 200);
            let outcome = two.receive_group(GROUP, b"forged", &body);
            assert_eq!(outcome, Outcome::Failed(Failure::Authentication));
        } else {
            let number = four.engine().transaction(|t| t.leave_group(GROUP)).unwrap();
            let proposal = four.take_out(number);
            follow(&mut one, &proposal);
            follow(&mut two, &proposal);
            // More than 1 MiB of proposals.
            let count = (1 << 20) / proposal.len() + 1;
            let ids: Vec<_> = (0..count).map(usize::to_le_bytes).collect();
            let again: Vec<_> =
                ids.iter().map(|id| Envelope::from_group(id, GROUP, &proposal)).collect();
            let outcomes = two.receive(&again);
            let gone = Outcome::Failed(Failure::KeyGone);
            let other = outcomes.iter().position(|it| *it != gone);
            assert_eq!(other.map(|at| (at, outcomes[at])), None);
        }
        // The count is stored when the state is written for another reason.
        if case == "forged" {
            let text = one.send_group(GROUP, &[b"text".to_vec()]).remove(0);
            follow(&mut two, &text);
        }
        two.restart();
        let number = three.engine().transaction(|t| t.leave_group(GROUP)).unwrap();
        let proposal = three.take_out(number);
        follow(&mut one, &proposal);
        follow(&mut two, &proposal);
        let (commit, _) = one.change(GROUP, |group| group.update(NOW));
        follow(&mut two, &commit);
        let text = one.send_group(GROUP, &[b"next".to_vec()]).remove(0);
        follow(&mut two, &text);
    }
}

#[test]
fn an_own_proposal_that_comes_back_is_known() {
    for kill in [false, true] {
        let (mut one, mut two) = (Party::new(1), Party::new(2));
        one.found(GROUP, &mut [&mut two]);
        let number = two.engine().transaction(|t| t.leave_group(GROUP)).unwrap();
        let proposal = two.take_out(number);
        if kill {
            two.kill();
        }
        let own = two.receive_group(GROUP, b"own", &proposal);
        assert_eq!(own, Outcome::Failed(Failure::Own));
    }
}
