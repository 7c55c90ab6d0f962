//! Rows that cannot be decoded, and groups that cannot be written: each affects its own
//! conversation only.

use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::Address;
use endseal_session::{
    BatchOptions, ConversationId, Engine, EngineError, Envelope, Failure, Outcome, SendError,
};
use endseal_store::{GroupRow, ParkedRow, SessionRow};
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
            // Sending there and changing the group are refused, and other conversations continue.
            let sent = reader.engine().encrypt(one.address, b"no");
            assert!(matches!(sent, Err(SendError::Engine(EngineError::Damaged(_)))));
            let sent = reader.engine().encrypt_group(GROUP, b"no");
            assert!(matches!(sent, Err(SendError::Engine(EngineError::Damaged(_)))));
            reader.send(two.address, b"yes");

            // After the rows are restored, the parked messages open.
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

/// Damages one row of a device: a session, the certificate, or the list of dropped sessions.
fn damage(party: &mut Party, address: Address, what: usize) {
    let mut name = address.identity.as_bytes().to_vec();
    name.extend_from_slice(&address.device.number().to_le_bytes());
    let transaction = party.engine().store().begin().unwrap();
    let reference = transaction.find_address(address.identity.as_bytes(), 1).unwrap().unwrap();
    match what {
        0 => {
            let row = transaction.sessions_of(reference).unwrap().remove(0);
            let state = Zeroizing::new(vec![7; 40]);
            transaction.put_session(reference, &SessionRow { state, ..row }).unwrap();
        }
        1 => transaction.set_certificate(reference, &[1; 236]).unwrap(),
        // Record of dropped sessions; the engine has no other record with that number.
        _ => transaction.put_record(4, &name, &[1; 17]).unwrap(),
    }
    transaction.commit().unwrap();
    party.restart();
}

#[test]
fn a_reset_replaces_rows_that_cannot_be_read() {
    for what in 0..3 {
        for restart in [false, true] {
            let (mut one, mut reader) = (Party::new(1), Party::new(2));
            one.meet(&mut reader);
            let to = one.address;
            damage(&mut reader, to, what);
            let lost = one.send(reader.address, b"lost");
            let envelope = [Envelope::from_device(b"lost", to, &lost)];
            assert_eq!(reader.receive(&envelope), [Outcome::Parked(Failure::Damaged)], "{what}");
            let refused = reader.engine().encrypt(to, b"no");
            assert!(matches!(refused, Err(SendError::Engine(EngineError::Damaged(_)))));

            assert_eq!(reader.engine().transaction(|t| t.reset_session(to)).unwrap(), 1, "{what}");
            if restart {
                reader.kill();
            }
            assert_eq!(reader.engine().parked().unwrap(), []);
            assert!(matches!(reader.engine().encrypt(to, b"no"), Err(SendError::NoSession)));
            // A session that can be decoded still receives.
            let expected: &[&[u8]] = if what == 0 { &[] } else { &[b"lost"] };
            assert_eq!(reader.texts(), expected, "{what}");
            assert_eq!(reader.engine().transaction(|t| t.reset_session(to)).unwrap(), 0);
            reader.begin(&mut one);
            let text = reader.send(to, b"on a new session");
            one.receive_one(reader.address, b"new", &text);
            let answer = one.send(reader.address, b"answer");
            reader.receive_one(to, b"answer to new", &answer);
        }
    }
}

#[test]
fn a_damaged_row_keeps_no_other_session_from_ending() {
    let (mut one, mut two, mut reader) = (Party::new(1), Party::new(2), Party::new(3));
    for other in [&mut one, &mut two] {
        other.meet(&mut reader);
    }
    for identity in [1, 2] {
        let mut later = Party::made_at(identity, 1, 1_790_000_000_001);
        reader.begin(&mut later);
    }
    damage(&mut reader, one.address, 0);
    let now = 1_790_000_000_000;
    let week = 7 * 24 * 60 * 60 * 1_000;
    assert_eq!(reader.engine().expire(now).unwrap(), 0);
    assert_eq!(reader.engine().expire(now + week).unwrap(), 1);
    let with = one.address;
    reader.engine().transaction(|t| t.reset_session(with)).unwrap();
    reader.engine().expire(now + week).unwrap();
    assert_eq!(reader.engine().expire(now + 3 * week).unwrap(), 1);
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

/// Members may have leaves of nearly 1 MiB. Nine of them are too many for the others to keep.
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

/// Two devices were replaced; the rows of one of them are damaged.
#[test]
fn a_damaged_row_keeps_no_other_session_alive() {
    const T: u64 = 1_790_000_000_000;
    const DAY: u64 = 24 * 60 * 60 * 1_000;
    for bad in 0..2 {
        let mut alice = Party::new(1);
        let mut stolen = [2, 3].map(Party::new);
        for old in &mut stolen {
            alice.meet(old);
        }
        for identity in [2, 3] {
            let mut new = Party::made_at(identity, 1, T + 1);
            new.begin(&mut alice);
            let hello = new.send(alice.address, b"my new phone");
            alice.receive_one(new.address, &blake(&hello), &hello);
        }
        assert_eq!(alice.engine().expire(T).unwrap(), 0);
        let damaged = [2, 3][bad];
        rewrite_sessions(&mut alice, damaged, |row| SessionRow {
            state: Zeroizing::new(vec![7; 40]),
            ..*row
        });
        assert_eq!(alice.engine().expire(T + 8 * DAY).unwrap(), 1);
        let good = &mut stolen[1 - bad];
        let late = good.send(alice.address, b"too late");
        let outcome = alice.receive(&[Envelope::from_device(b"late", good.address, &late)])[0];
        assert_eq!(outcome, Outcome::Failed(Failure::NoSession));
    }
}

#[test]
fn a_parked_row_that_cannot_be_read_costs_itself() {
    for threads in [1, 2] {
        let (mut one, mut two, mut reader) = (Party::new(1), Party::new(2), Party::new(3));
        one.meet(&mut reader);
        two.meet(&mut reader);
        let name = [&[1][..], one.address.identity.as_bytes()].concat();
        let transaction = reader.engine().store().begin().unwrap();
        let conversation = transaction.find_conversation(&name).unwrap().unwrap();
        // This number is no valid reason.
        let row =
            ParkedRow { message: b"p".to_vec(), device: 1, reason: 9, epoch: 0, body: vec![1] };
        transaction.messages().unwrap().park(conversation, &row).unwrap();
        transaction.commit().unwrap();
        reader.restart();
        let bodies = [two.send(reader.address, b"good"), one.send(reader.address, b"too")];
        let envelopes = [
            Envelope::from_device(b"good", two.address, &bodies[0]),
            Envelope::from_device(b"too", one.address, &bodies[1]),
        ];
        let options = BatchOptions::whole().threads(threads);
        let report = reader.engine().decrypt_batch(&envelopes, &options).unwrap();
        assert!(report.outcomes.iter().all(|it| matches!(it, Outcome::Delivered(_))));
        let [released] = report.released.as_slice() else { panic!("{:?}", report.released) };
        assert_eq!(released.id, b"p");
        assert_eq!(released.outcome, Outcome::Failed(Failure::Malformed));
        assert_eq!(reader.engine().parked().unwrap(), []);
    }
}
