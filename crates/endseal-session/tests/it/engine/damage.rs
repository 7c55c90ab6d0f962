//! Rows that cannot be read, and groups that could not be written: each costs its own conversation.

use endseal_crypto::secret::Zeroizing;
use endseal_session::{
    BatchOptions, ConversationId, Engine, EngineError, Envelope, Failure, Outcome, SendError,
};
use endseal_store::{GroupRow, SessionRow};
use mls_rs::Extension;
use mls_rs::time::MlsTime;
use mls_rs::{ExtensionList, MlsMessage};

use super::party::{NOW, Party, blake};
use crate::group::credentials::{BULK, key_package, liar};
use crate::group::device::{certificate, group_key};

const GROUP: &[u8] = b"team";

/// Rewrites all sessions with a device, and reopens the store.
fn rewrite_sessions(party: &mut Party, with: u8, change: impl Fn(&SessionRow) -> SessionRow) {
    let identity = endseal_crypto::ed25519::SigningKey::from_seed(
        endseal_crypto::ed25519::Seed::from_bytes(&[with; 32]),
    );
    let transaction = party.engine().store().begin().unwrap();
    let reference = transaction.find_address(identity.public_key().as_bytes(), 1).unwrap().unwrap();
    for row in transaction.sessions_of(reference).unwrap() {
        transaction.put_session(reference, &change(&row)).unwrap();
    }
    transaction.commit().unwrap();
    party.restart();
}

fn rewrite_group(party: &mut Party, change: impl Fn(Vec<u8>) -> Vec<u8>) {
    let transaction = party.engine().store().begin().unwrap();
    let row = transaction.group(GROUP).unwrap().unwrap();
    let state = Zeroizing::new(change(row.state.to_vec()));
    transaction.put_group(GROUP, &GroupRow { state, ..row }).unwrap();
    transaction.commit().unwrap();
    party.restart();
}

#[test]
fn a_damaged_row_costs_its_own_conversation() {
    for threads in [1, 2] {
        for other_engine in [false, true] {
            let (mut one, mut two, mut three) = (Party::new(1), Party::new(2), Party::new(3));
            let mut reader = Party::new(4);
            one.meet(&mut reader);
            two.meet(&mut reader);
            three.found(GROUP, &mut [&mut reader]);
            let good = two.send(reader.address, b"good");
            let bad = one.send(reader.address, b"bad");
            let again = one.send(reader.address, b"bad again");
            let team = three.send_group(GROUP, &[b"team".to_vec()]).remove(0);
            let mut kept = Vec::new();
            let transaction = reader.engine().store().begin().unwrap();
            let sender =
                transaction.find_address(one.address.identity.as_bytes(), 1).unwrap().unwrap();
            kept.extend(transaction.sessions_of(sender).unwrap());
            let group = transaction.group(GROUP).unwrap().unwrap();
            drop(transaction);
            rewrite_sessions(&mut reader, 1, |row| SessionRow {
                engine: if other_engine { row.engine + 1 } else { row.engine },
                state: Zeroizing::new(vec![7; 40]),
                ..*row
            });
            rewrite_group(&mut reader, |state| state[..state.len() / 2].to_vec());

            let envelopes = [
                Envelope::from_device(b"bad", one.address, &bad),
                Envelope::from_group(b"team", GROUP, &team),
                Envelope::from_device(b"good", two.address, &good),
                Envelope::from_device(b"bad again", one.address, &again),
            ];
            let options = BatchOptions::default().threads(threads).max_messages(3);
            let report = reader.engine().decrypt_batch(&envelopes, &options).unwrap();
            let damaged = Outcome::Parked(Failure::Damaged);
            assert_eq!(report.outcomes[..2], [damaged; 2]);
            assert!(matches!(report.outcomes[2], Outcome::Delivered(_)));
            assert_eq!(report.outcomes[3], damaged);
            assert_eq!(reader.texts(), [b"good".to_vec()]);
            // To send there, or to change the group, is refused, and other conversations go on.
            let sent = reader.engine().encrypt(one.address, b"no");
            assert!(matches!(sent, Err(SendError::Engine(EngineError::Damaged(_)))));
            let sent = reader.engine().encrypt_group(GROUP, b"no");
            assert!(matches!(sent, Err(SendError::Engine(EngineError::Damaged(_)))));
            reader.send(two.address, b"yes");

            // With the rows as they were, what was parked opens.
            let transaction = reader.engine().store().begin().unwrap();
            kept.iter().for_each(|row| transaction.put_session(sender, row).unwrap());
            transaction.put_group(GROUP, &group).unwrap();
            transaction.commit().unwrap();
            reader.restart();
            let totals = reader.engine().parked().unwrap();
            assert_eq!(totals.iter().map(|it| it.messages).sum::<u64>(), 3);
            for total in totals {
                let retried = reader.engine().transaction(|t| t.retry_parked(&total.conversation));
                retried.unwrap();
            }
            assert_eq!(reader.engine().parked().unwrap(), []);
            let mut texts = reader.texts();
            texts.sort();
            let expected: [&[u8]; 4] = [b"bad", b"bad again", b"good", b"team"];
            assert_eq!(texts, expected);
        }
    }
}

#[test]
fn a_damaged_group_can_be_forgotten_and_joined_again() {
    let (mut writer, mut reader) = (Party::new(1), Party::new(2));
    writer.found(GROUP, &mut [&mut reader]);
    rewrite_group(&mut reader, |_| vec![9; 100]);
    let own = reader.address;
    let (out, _) = writer.change(GROUP, |group| group.remove(&[own], NOW));
    let outcome = reader.receive_group(GROUP, b"out", &out);
    assert_eq!(outcome, Outcome::Parked(Failure::Damaged));
    let summary = reader.engine().group(GROUP);
    assert!(matches!(summary, Err(EngineError::Damaged("group"))));
    assert!(reader.engine().transaction(|t| t.forget_group(GROUP)).unwrap());
    let package = reader.key_package();
    let (_, welcome) = writer.change(GROUP, |group| group.add([package.as_slice()], NOW));
    reader.engine().transaction(|t| t.join_group(&welcome[0])).unwrap();
    let text = writer.send_group(GROUP, &[b"text".to_vec()]).remove(0);
    let outcome = reader.receive_group(GROUP, b"text", &text);
    assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
}

/// Members may have leaves of nearly 1 MiB: nine of them are too many for the others to keep.
#[test]
fn a_commit_that_makes_a_group_too_large_costs_itself() {
    const LIARS: u8 = 10;
    let time = MlsTime::from_duration_since_epoch(NOW);
    let (none, no) = (ExtensionList::new(), ExtensionList::new());
    let mut reader = Party::new(40);
    let mut friend = Party::new(41);
    friend.meet(&mut reader);
    let clients: Vec<_> = (1..=LIARS)
        .map(|number| liar(certificate(number, *group_key(number).public_key()).as_bytes(), number))
        .collect();
    let first = clients[0].create_group_with_id(GROUP.to_vec(), none, no, Some(time)).unwrap();
    let mut groups = vec![first];
    let package = MlsMessage::from_bytes(&reader.key_package()).unwrap();
    let mut builder = groups[0].commit_builder().add_member(package).unwrap();
    for client in &clients[1..] {
        let package = MlsMessage::from_bytes(&key_package(client)).unwrap();
        builder = builder.add_member(package).unwrap();
    }
    let welcome = builder.commit_time(time).build().unwrap().welcome_messages.remove(0);
    groups[0].apply_pending_commit().unwrap();
    for client in &clients[1..] {
        groups.push(client.join_group(None, &welcome, Some(time)).unwrap().0);
    }
    let welcome = welcome.to_bytes().unwrap();
    reader.engine().transaction(|t| t.join_group(&welcome)).unwrap();

    let mut commit = |at: usize, len: usize| {
        let mut bulk = ExtensionList::new();
        bulk.set(Extension::new(BULK, vec![1; len]));
        let commit = groups[at]
            .commit_builder()
            .set_leaf_node_extensions(bulk)
            .commit_time(time)
            .build()
            .unwrap()
            .commit_message;
        let body = commit.to_bytes().unwrap();
        groups[at].apply_pending_commit().unwrap();
        for (other, group) in groups.iter_mut().enumerate() {
            if other != at {
                group.process_incoming_message(commit.clone()).unwrap();
            }
        }
        [&[1, 3][..], &body].concat()
    };
    let bulk = (1 << 20) - (8 << 10);
    for at in 0..8 {
        let body = commit(at, bulk);
        let outcome = reader.receive_group(GROUP, &blake(&body), &body);
        assert!(matches!(outcome, Outcome::Delivered(_)), "{at}: {outcome:?}");
    }
    let epoch = reader.engine().group(GROUP).unwrap().unwrap().epoch;
    let body = commit(8, bulk);
    let good = friend.send(reader.address, b"good");
    let envelopes = [
        Envelope::from_group(b"too large", GROUP, &body),
        Envelope::from_device(b"good", friend.address, &good),
    ];
    let outcomes = reader.receive(&envelopes);
    assert_eq!(outcomes[0], Outcome::Failed(Failure::GroupTooLarge));
    assert!(matches!(outcomes[1], Outcome::Delivered(_)));
    assert!(!Failure::GroupTooLarge.is_retriable());
    reader.restart();
    assert_eq!(reader.engine().group(GROUP).unwrap().unwrap().epoch, epoch);
    let _: &mut Engine = reader.engine();
    let id = ConversationId::Group(GROUP.to_vec());
    assert_eq!(reader.engine().transaction(|t| t.parked(&id)).unwrap(), []);
}
