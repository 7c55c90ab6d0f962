//! Group messages that arrive before their epoch, or before the welcome.

use core::time::Duration;

use endseal_session::{
    BatchOptions, ConversationId, Envelope, Failure, Outcome, PrunePolicy, ReceivedKind,
};

use super::party::{NOW, Party, blake};

const GROUP: &[u8] = b"team";

fn delivered(outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Delivered(number) => number,
        other => panic!("{other:?}"),
    }
}

#[test]
fn messages_before_the_welcome_are_opened_by_it() {
    for threads in [1, 2] {
        let (mut one, mut other) = (Party::new(1), Party::new(2));
        one.engine().transaction(|t| t.create_group(GROUP, NOW)).unwrap();
        let package = other.key_package();
        let (commit, welcome) = one.change(GROUP, |group| group.add([package.as_slice()], NOW));
        let early = one.send_group(GROUP, &[b"early".to_vec()]).remove(0);
        let (update, _) = one.change(GROUP, |group| group.update(NOW));
        let late = one.send_group(GROUP, &[b"late".to_vec()]).remove(0);
        let of = |id, body| Envelope::from_group(id, GROUP, body);
        let envelopes = [
            of(b"late", &late),
            of(b"early", &early),
            of(b"early", &early),
            of(b"early", &late),
            of(b"update", &update),
            of(b"junk", b"junk"),
            // The commit that adds this device is of an epoch in which it was not a member.
            of(b"commit", &commit),
        ];
        let options = BatchOptions::default().threads(threads).queue(b"queue");
        let report = other.engine().decrypt_batch(&envelopes, &options).unwrap();
        let parked = Outcome::Parked(Failure::NoGroup);
        let reused = Outcome::Failed(Failure::IdReused);
        let malformed = Outcome::Failed(Failure::Malformed);
        assert_eq!(report.outcomes, [parked, parked, parked, reused, parked, malformed, parked]);
        assert!(Failure::NoGroup.is_retriable() && report.outcomes[0].is_kept());
        other.kill();
        let totals = other.engine().parked().unwrap();
        let id = ConversationId::Group(GROUP.to_vec());
        assert_eq!((totals.len(), &totals[0].conversation, totals[0].messages), (1, &id, 4));
        let listed = other.engine().transaction(|t| t.parked(&id)).unwrap();
        let ids: Vec<_> = listed.iter().map(|it| it.id.as_slice()).collect();
        assert_eq!(ids, [&b"late"[..], b"early", b"update", b"commit"]);
        assert_eq!(other.receive(&envelopes[..1]), [parked]);
        let joined = other.engine().transaction(|t| t.join_group(&welcome[0])).unwrap();
        assert_eq!((joined.inviter, joined.epoch), (one.address, 1));
        assert_eq!(joined.members, [one.address, other.address]);
        assert_eq!(other.engine().parked().unwrap(), []);
        let texts = other.texts();
        assert_eq!([&texts[0], &texts[2]], [&b"early".to_vec(), &b"late".to_vec()]);
        assert_eq!(texts.len(), 3);
        other.kill();
        let again = other.receive(&envelopes);
        let known = |outcome: &Outcome| matches!(outcome, Outcome::AlreadyDelivered(_));
        assert_eq!(again.iter().filter(|it| known(it)).count(), 4);
        assert_eq!(again[6], Outcome::Failed(Failure::OldEpoch));
        assert_eq!(other.texts().len(), 3);
    }
}

/// Epochs that the reader has not reached: commits, and texts of each epoch.
struct Epochs {
    reader: Party,
    commits: Vec<Vec<u8>>,
    texts: Vec<Vec<u8>>,
}

fn epochs(count: usize) -> Epochs {
    let (mut writer, mut reader) = (Party::new(1), Party::new(2));
    writer.found(GROUP, &mut [&mut reader]);
    let (mut commits, mut texts) = (Vec::new(), Vec::new());
    for epoch in 0..count {
        commits.push(writer.change(GROUP, |group| group.update(NOW)).0);
        texts.extend(writer.send_group(GROUP, &[format!("text {epoch}").into_bytes()]));
    }
    Epochs { reader, commits, texts }
}

#[test]
fn later_epochs_wait_and_come_out_in_order_however_the_batch_is_cut() {
    for threads in [1, 2] {
        for cut in [1, 2, 100] {
            let Epochs { mut reader, commits, texts } = epochs(5);
            // All texts before all commits, and the commits in reverse order.
            let bodies: Vec<_> = texts.iter().chain(commits.iter().rev()).collect();
            let ids: Vec<_> = bodies.iter().map(|body| blake(body)).collect();
            let envelopes: Vec<_> = ids
                .iter()
                .zip(&bodies)
                .map(|(id, body)| Envelope::from_group(id, GROUP, body))
                .collect();
            let options = BatchOptions::default().max_messages(cut).threads(threads);
            let report = reader.engine().decrypt_batch(&envelopes[..9], &options).unwrap();
            assert!(report.outcomes.iter().all(|it| matches!(it, Outcome::Buffered(_))));
            reader.kill();
            // The last commit releases all messages. Earlier ones are delivered again after it in
            // the same batch.
            let again: Vec<_> = [envelopes[9], envelopes[0], envelopes[8], envelopes[9]].into();
            let report = reader.engine().decrypt_batch(&again, &options).unwrap();
            assert_eq!(report.released.len(), 9);
            let number = delivered(report.outcomes[0]);
            let released = |envelope: &Envelope<'_>| {
                let found = report.released.iter().find(|it| it.id == envelope.id).unwrap();
                delivered(found.outcome)
            };
            let expected = [released(&envelopes[0]), released(&envelopes[8]), number];
            assert_eq!(report.outcomes[1..], expected.map(Outcome::AlreadyDelivered));
            let page = reader.engine().inbox().page(0, 100).unwrap();
            let texts = page.iter().filter(|it| it.kind == ReceivedKind::Text);
            let texts: Vec<_> = texts.map(|it| it.plaintext.to_vec()).collect();
            let sent: Vec<_> = (0..5).map(|it| format!("text {it}").into_bytes()).collect();
            assert_eq!((page.len(), texts), (10, sent));
            let again = reader.receive(&envelopes);
            assert!(again.iter().all(|it| matches!(it, Outcome::AlreadyDelivered(_))));
        }
    }
}

/// A parked message is not authenticated: a damaged copy must not block the id of the genuine
/// message.
#[test]
fn a_parked_message_gives_its_id_to_one_that_opens() {
    for threads in [1, 2] {
        let (mut writer, mut reader) = (Party::new(1), Party::new(2));
        writer.found(GROUP, &mut [&mut reader]);
        let now = writer.send_group(GROUP, &[b"now".to_vec()]).remove(0);
        let (commit, _) = writer.change(GROUP, |group| group.update(NOW));
        let later = writer.send_group(GROUP, &[b"later".to_vec(), b"last".to_vec()]);
        let options = BatchOptions::default().threads(threads);
        let of = |id, body| Envelope::from_group(id, GROUP, body);
        let (waits, reused) = (Outcome::Buffered(2), Outcome::Failed(Failure::IdReused));
        let envelopes = [of(b"id", &later[0]), of(b"id", &later[1]), of(b"id", &later[0])];
        let report = reader.engine().decrypt_batch(&envelopes, &options).unwrap();
        assert_eq!(report.outcomes, [waits, reused, waits]);
        reader.restart();
        let envelopes = [of(b"id", &now), of(b"id", &later[0]), of(b"id", &now)];
        let report = reader.engine().decrypt_batch(&envelopes, &options).unwrap();
        let number = delivered(report.outcomes[0]);
        assert_eq!(report.outcomes[1..], [reused, Outcome::AlreadyDelivered(number)]);
        assert_eq!(reader.engine().parked().unwrap(), []);
        reader.kill();
        // The commit, then a message of its epoch under the id of a parked message.
        let envelopes = [of(b"last", &later[1]), of(b"commit", &commit), of(b"last", &later[1])];
        let report = reader.engine().decrypt_batch(&envelopes, &options).unwrap();
        let number = delivered(report.released[0].outcome);
        assert_eq!(report.outcomes[2], Outcome::AlreadyDelivered(number));
        let texts = reader.texts();
        assert_eq!((&texts[0][..], &texts[2][..]), (&b"now"[..], &b"last"[..]));
    }
}

/// Returns a text with another epoch in its unencrypted header, after version, wire format, length
/// and bytes of the id.
fn forged(text: &[u8], epoch: u64) -> Vec<u8> {
    let mut body = text.to_vec();
    body[2 + 4 + 1 + GROUP.len()..][..8].copy_from_slice(&epoch.to_be_bytes());
    body
}

#[test]
fn epochs_far_ahead_are_not_parked() {
    let Epochs { mut reader, texts, .. } = epochs(1);
    // The reader is in epoch 1.
    for (epoch, outcome) in [
        (33, Outcome::Buffered(33)),
        (34, Outcome::Failed(Failure::TooFarAhead)),
        (u64::MAX >> 1, Outcome::Failed(Failure::TooFarAhead)),
        (u64::MAX, Outcome::Failed(Failure::TooFarAhead)),
    ] {
        let body = forged(&texts[0], epoch);
        assert_eq!(reader.receive_group(GROUP, &blake(&body), &body), outcome);
    }
    // Without a known group the distance is unlimited, but the store cannot hold every number.
    let mut outsider = Party::new(3);
    let of = |epoch| forged(&texts[0], epoch);
    let parked = outsider.receive_group(GROUP, b"far", &of(u64::MAX >> 1));
    assert_eq!(parked, Outcome::Parked(Failure::NoGroup));
    let refused = outsider.receive_group(GROUP, b"farther", &of(u64::MAX));
    assert_eq!(refused, Outcome::Failed(Failure::Malformed));
}

#[test]
fn a_full_buffer_gives_room_to_earlier_epochs() {
    for threads in [1, 2] {
        let Epochs { mut reader, commits, texts } = epochs(2);
        let body = forged(&texts[0], 20);
        let ids: Vec<_> = (0..1_001).map(|n| format!("forged {n}").into_bytes()).collect();
        let envelopes: Vec<_> =
            ids.iter().map(|id| Envelope::from_group(id, GROUP, &body)).collect();
        let options = BatchOptions::default().threads(threads);
        let outcomes = reader.engine().decrypt_batch(&envelopes, &options).unwrap().outcomes;
        assert!(outcomes[..1_000].iter().all(|it| *it == Outcome::Buffered(20)));
        assert_eq!(outcomes[1_000], Outcome::Failed(Failure::BufferFull));
        reader.kill();
        // A message of an earlier epoch evicts one of the farthest epoch, and the result of that
        // one changes.
        let envelopes =
            [Envelope::from_group(b"text", GROUP, &texts[1]), envelopes[0], envelopes[999]];
        let report = reader.engine().decrypt_batch(&envelopes, &options).unwrap();
        assert_eq!(report.outcomes[0], Outcome::Buffered(3));
        let [evicted] = report.released.as_slice() else { panic!("{:?}", report.released) };
        assert_eq!(evicted.outcome, Outcome::Failed(Failure::BufferFull));
        // Messages that were not evicted are still parked.
        let kept = usize::from(evicted.id == ids[0]) + 1;
        assert_eq!(report.outcomes[kept], Outcome::Buffered(20));
        reader.kill();
        assert_eq!(reader.engine().parked().unwrap()[0].messages, 1_000);
        for commit in &commits {
            delivered(reader.receive_group(GROUP, &blake(commit), commit));
        }
        let texts = reader.texts();
        assert_eq!(texts.last().unwrap(), b"text 1");
        assert_eq!(reader.engine().parked().unwrap()[0].messages, 999);
        // They are deleted with the group.
        assert!(reader.engine().transaction(|t| t.forget_group(GROUP)).unwrap());
        assert_eq!(reader.engine().parked().unwrap(), []);
    }
}

/// An attacker can invent group ids without cost.
#[test]
fn parked_messages_of_all_conversations_are_bounded() {
    let Epochs { texts, .. } = epochs(1);
    let mut reader = Party::new(3);
    let ids: Vec<_> = (0..5_000_u32).map(|n| n.to_le_bytes()).collect();
    let (head, tail) = (&texts[0][..6], &texts[0][7 + GROUP.len()..]);
    let bodies: Vec<_> = ids.iter().map(|id| [head, &[4], id, tail].concat()).collect();
    let envelopes: Vec<_> =
        ids.iter().zip(&bodies).map(|(id, body)| Envelope::from_group(id, id, body)).collect();
    for (at, envelopes) in envelopes.chunks(1_000).enumerate() {
        let parked = if at == 4 { 96 } else { 1_000 };
        let outcomes = reader.receive(envelopes);
        let (fitting, rest) = outcomes.split_at(parked);
        assert!(fitting.iter().all(|it| *it == Outcome::Parked(Failure::NoGroup)), "{at}");
        assert!(rest.iter().all(|it| *it == Outcome::Failed(Failure::BufferFull)), "{at}");
        reader.restart();
    }
    let of = ConversationId::Group(ids[0].to_vec());
    assert_eq!(reader.engine().transaction(|t| t.drop_parked(&of)).unwrap(), 1);
    let [outcome] = reader.receive(&envelopes[4_999..])[..] else { panic!() };
    assert_eq!(outcome, Outcome::Parked(Failure::NoGroup));
}

/// Makes texts that no member has sealed, with the group id and epoch in the unencrypted header.
fn invented(group: &[u8], epoch: u64, count: u32, len: usize) -> Vec<Vec<u8>> {
    // The length in its shortest form.
    let head = match u8::try_from(len) {
        Ok(len) if len < 64 => vec![len],
        _ => (0x8000_0000 | u32::try_from(len).unwrap()).to_be_bytes().to_vec(),
    };
    let text = |number: u32| {
        let mut ciphertext = vec![7; len];
        ciphertext[..4].copy_from_slice(&number.to_le_bytes());
        [
            &[1, 3, 0, 1, 0, 2, u8::try_from(group.len()).unwrap()][..],
            group,
            &epoch.to_be_bytes(),
            // Text, no authenticated data, sender data.
            &[1, 0, 28],
            &[9; 28],
            &head,
            &ciphertext,
        ]
        .concat()
    };
    (0..count).map(text).collect()
}

fn deliver(reader: &mut Party, group: &[u8], bodies: &[Vec<u8>]) -> Vec<Outcome> {
    let ids: Vec<_> = bodies.iter().map(|body| blake(body)).collect();
    let of = |(id, body)| Envelope::from_group(id, group, body);
    let envelopes: Vec<_> =
        ids.iter().map(|id| &id[..]).zip(bodies.iter().map(|it| &it[..])).map(of).collect();
    reader.receive(&envelopes)
}

fn buffered(outcomes: &[Outcome]) -> usize {
    outcomes.iter().filter(|it| matches!(it, Outcome::Buffered(_))).count()
}

#[test]
fn invented_groups_take_no_room_of_known_ones() {
    let (mut writer, mut reader) = (Party::new(1), Party::new(2));
    writer.found(GROUP, &mut [&mut reader]);
    for group in (0..17_u32).map(u32::to_le_bytes) {
        deliver(&mut reader, &group, &invented(&group, 1, 1_000, 16));
    }
    let parked = |reader: &mut Party| -> u64 {
        reader.engine().parked().unwrap().iter().map(|it| it.messages).sum()
    };
    assert_eq!(parked(&mut reader), 4_096);
    reader.restart();
    let (commit, _) = writer.change(GROUP, |group| group.update(NOW));
    let texts = writer.send_group(GROUP, &[b"one".to_vec(), b"two".to_vec()]);
    assert_eq!(reader.receive_group(GROUP, b"one", &texts[0]), Outcome::Buffered(2));
    // Messages that may never open are deleted when they are old: 30 days after the first call that
    // saw them.
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    for (days, left) in [(0, 4_097), (29, 4_097), (30, 1)] {
        let policy = PrunePolicy::new(NOW + days * DAY).rows(2);
        while reader.engine().prune(&policy).unwrap().more {}
        assert_eq!(parked(&mut reader), left, "{days}");
        reader.restart();
        assert_eq!(parked(&mut reader), left, "{days}");
    }
    let again = deliver(&mut reader, b"new", &invented(b"new", 1, 1, 16));
    assert_eq!(again, [Outcome::Parked(Failure::NoGroup)]);
    assert_eq!(reader.receive_group(GROUP, b"two", &texts[1]), Outcome::Buffered(2));
    delivered(reader.receive_group(GROUP, b"commit", &commit));
    assert_eq!(reader.texts()[1..], [b"one", b"two"]);
}

#[test]
fn full_groups_leave_each_other_one_a_share() {
    let (mut writer, mut reader) = (Party::new(1), Party::new(2));
    for n in 0..17 {
        let group = [n];
        writer.found(&group, &mut [&mut reader]);
        // One epoch would be enough, because the limit of all groups is 16,384.
        let outcomes = deliver(&mut reader, &group, &invented(&group, 2, 1_000, 16));
        assert_eq!(buffered(&outcomes), if n < 16 { 1_000 } else { 384 });
    }
    writer.found(GROUP, &mut [&mut reader]);
    reader.restart();
    let outcomes = deliver(&mut reader, GROUP, &invented(GROUP, 2, 100, 16));
    assert_eq!(buffered(&outcomes), 64);
    assert_eq!(outcomes[64], Outcome::Failed(Failure::BufferFull));
}

#[test]
fn invented_messages_of_an_epoch_take_no_room_of_other_epochs() {
    for fills_bytes in [false, true] {
        let Epochs { mut reader, commits, texts } = epochs(3);
        let read = |reader: &mut Party, at: usize| {
            reader.receive_group(GROUP, &blake(&texts[at]), &texts[at])
        };
        assert_eq!(read(&mut reader, 2), Outcome::Buffered(4));
        let bodies = if fills_bytes {
            let mut bodies = invented(GROUP, 2, 15, (1 << 20) - 60);
            let taken = bodies.concat().len() + texts[2].len();
            let head = bodies[0].len() - ((1 << 20) - 60);
            bodies.extend(invented(GROUP, 2, 1, (16 << 20) - taken - head));
            bodies
        } else {
            invented(GROUP, 2, 999, 16)
        };
        let outcomes = deliver(&mut reader, GROUP, &bodies);
        assert_eq!(buffered(&outcomes), bodies.len());
        let more = deliver(&mut reader, GROUP, &invented(GROUP, 2, 1, 17));
        assert_eq!(more, [Outcome::Failed(Failure::BufferFull)]);
        reader.restart();
        // No message of another epoch was evicted. There is space for messages of other epochs, but
        // not of the same one.
        assert_eq!(read(&mut reader, 1), Outcome::Buffered(3));
        assert_eq!(read(&mut reader, 2), Outcome::Buffered(4));
        if !fills_bytes {
            assert_eq!(read(&mut reader, 0), Outcome::Failed(Failure::BufferFull));
        }
        for commit in &commits {
            delivered(reader.receive_group(GROUP, &blake(commit), commit));
        }
        let has = |reader: &mut Party, text: &[u8]| reader.texts().iter().any(|it| it == text);
        assert!(has(&mut reader, b"text 1") && has(&mut reader, b"text 2"));
        // Refused messages open when they are delivered again.
        let late = read(&mut reader, 0);
        assert!(matches!(late, Outcome::Delivered(_) | Outcome::AlreadyDelivered(_)), "{late:?}");
        assert_eq!(reader.engine().parked().unwrap(), []);
    }
}

/// The first messages of each epoch stay, independently of messages of other epochs.
#[test]
fn an_epoch_within_its_share_is_not_evicted() {
    let Epochs { mut reader, .. } = epochs(1);
    // The reader is in epoch 1. Each of 32 epochs uses its share, and the last epoch fills the
    // rest.
    for epoch in (2..=33).rev() {
        let count = if epoch == 33 { 1_000 } else { 16 };
        let outcomes = deliver(&mut reader, GROUP, &invented(GROUP, epoch, count, 16));
        assert_eq!(buffered(&outcomes), count as usize, "{epoch}");
    }
    // Messages above a share are evicted for earlier epochs, down to the share.
    let outcomes = deliver(&mut reader, GROUP, &invented(GROUP, 2, 1_000, 17));
    assert_eq!(buffered(&outcomes), 1_000 - 32 * 16);
    let id = ConversationId::Group(GROUP.to_vec());
    let parked = reader.engine().transaction(|t| t.parked(&id)).unwrap();
    for epoch in 3..=33 {
        let count = parked.iter().filter(|it| it.outcome == Outcome::Buffered(epoch)).count();
        assert_eq!(count, 16, "{epoch}");
    }
    // They are not evicted for a message of a later epoch.
    let outcomes = deliver(&mut reader, GROUP, &invented(GROUP, 20, 1, 18));
    assert_eq!(outcomes, [Outcome::Failed(Failure::BufferFull)]);
}
