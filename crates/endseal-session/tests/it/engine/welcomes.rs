//! Welcomes are stored with their commit, and are sent when the commit is accepted.

use endseal_session::group::{Group, GroupError};
use endseal_session::{
    ConversationId, EngineError, Failure, GroupChangeError, Outcome, OutgoingKind, Pending,
};

use super::party::{NOW, Party, blake};

const GROUP: &[u8] = b"team";

fn pending(party: &mut Party) -> Vec<Pending> {
    party.engine().outbox().pending(0, 100).unwrap()
}

/// A group with one member, and the commit that adds two others, in the outbox.
fn adding() -> (Party, Party, Party, u64) {
    let (mut one, mut two, mut three) = (Party::new(1), Party::new(2), Party::new(3));
    one.engine().transaction(|t| t.create_group(GROUP, NOW)).unwrap();
    let packages = [two.key_package(), three.key_package()];
    let number: Result<u64, GroupChangeError> = one.engine().transaction(|t| {
        t.commit_group(GROUP, |group| group.add(packages.iter().map(Vec::as_slice), NOW))
    });
    (one, two, three, number.unwrap())
}

#[test]
fn welcomes_are_sent_when_their_commit_is_accepted_wherever_the_process_ends() {
    // 0: not killed; otherwise killed after that step.
    for kill in 0..4 {
        for comes_back in [false, true] {
            let (mut one, mut two, mut three, number) = adding();
            let mut at = 0;
            let mut step = |party: &mut Party| {
                at += 1;
                if at == kill {
                    party.kill();
                }
            };
            step(&mut one);
            // Only the commit may be sent: no device may join before the others know of it.
            let [commit] = pending(&mut one).try_into().unwrap();
            assert_eq!((commit.number, commit.kind), (number, OutgoingKind::Commit));
            one.engine().outbox().sent(number).unwrap();
            step(&mut one);
            assert_eq!(pending(&mut one), []);
            if comes_back {
                let outcome = one.receive_group(GROUP, &blake(&commit.body), &commit.body);
                assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
            } else {
                let change = one.engine().transaction(|t| t.accept_commit(GROUP)).unwrap();
                assert_eq!((change.epoch, change.added.len()), (1, 2));
                let outcome = one.receive_group(GROUP, &blake(&commit.body), &commit.body);
                assert_eq!(outcome, Outcome::Failed(Failure::Own));
            }
            step(&mut one);
            let welcomes = pending(&mut one);
            let kinds: Vec<_> = welcomes.iter().map(|it| (it.kind, it.recipient)).collect();
            let welcome = OutgoingKind::Welcome;
            assert_eq!(kinds, [(welcome, Some(two.address)), (welcome, Some(three.address))]);
            assert!(welcomes.iter().all(|it| it.number > number));
            for (other, welcome) in [&mut two, &mut three].into_iter().zip(&welcomes) {
                let joined = other.engine().transaction(|t| t.join_group(&welcome.body)).unwrap();
                assert_eq!(joined.inviter, one.address);
                one.engine().outbox().sent(welcome.number).unwrap();
            }
            let text = one.send_group(GROUP, &[b"text".to_vec()]).remove(0);
            for other in [&mut two, &mut three] {
                let outcome = other.receive_group(GROUP, b"text", &text);
                assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
            }
            assert_eq!(pending(&mut one), []);
        }
    }
}

#[test]
fn welcomes_go_with_a_commit_that_is_discarded() {
    let (mut one, ..) = adding();
    let other = one.send_group(GROUP, &[b"text".to_vec()]);
    assert_eq!(other.len(), 1);
    one.engine().transaction(|t| t.discard_commit(GROUP)).unwrap();
    one.kill();
    assert_eq!(pending(&mut one), []);
    let accepted = one.engine().transaction(|t| t.accept_commit(GROUP));
    assert!(matches!(accepted, Err(GroupChangeError::Group(GroupError::NothingPending))));
    // The next commit has its own welcomes.
    let mut four = Party::new(4);
    let package = four.key_package();
    let (_, welcome) = one.change(GROUP, |group| group.add([package.as_slice()], NOW));
    assert_eq!(welcome.len(), 1);
    four.engine().transaction(|t| t.join_group(&welcome[0])).unwrap();
}

#[test]
fn welcomes_go_when_another_commit_comes_first() {
    for kill in [false, true] {
        let (mut one, mut two, mut three) = (Party::new(1), Party::new(2), Party::new(3));
        one.found(GROUP, &mut [&mut two]);
        let package = three.key_package();
        let text = two.engine().encrypt_group(GROUP, b"text").unwrap();
        two.engine()
            .transaction(|t| t.commit_group(GROUP, |group| group.add([package.as_slice()], NOW)))
            .map_err(|error: GroupChangeError| error)
            .unwrap();
        let (first, _) = one.change(GROUP, |group| group.update(NOW));
        if kill {
            two.kill();
        }
        let outcome = two.receive_group(GROUP, &blake(&first), &first);
        assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
        two.restart();
        // Only the text remains, because another commit came first.
        let left: Vec<_> = pending(&mut two).iter().map(|it| it.number).collect();
        assert_eq!(left, [text.number]);
    }
}

#[test]
fn a_transaction_that_fails_leaves_neither_commit_nor_welcome() {
    let (mut one, mut two) = (Party::new(1), Party::new(2));
    one.engine().transaction(|t| t.create_group(GROUP, NOW)).unwrap();
    let package = two.key_package();
    let add = |group: &mut Group| group.add([package.as_slice()], NOW);
    let failed: Result<(), GroupChangeError> = one.engine().transaction(|t| {
        t.commit_group(GROUP, add)?;
        Err(EngineError::Ended.into())
    });
    assert!(failed.is_err());
    assert_eq!(pending(&mut one), []);
    let (_, welcome) = one.change(GROUP, add);
    two.engine().transaction(|t| t.join_group(&welcome[0])).unwrap();
    let conversation = ConversationId::Group(GROUP.to_vec());
    assert_eq!(two.engine().transaction(|t| t.parked(&conversation)).unwrap(), []);
}
