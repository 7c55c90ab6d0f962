//! Messages of a group that come before their epoch, or before the welcome.

use endseal_session::{BatchOptions, Envelope, Failure, Outcome, ReceivedKind};

use super::party::{NOW, Party, blake};

const GROUP: &[u8] = b"team";

fn delivered(outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Delivered(number) => number,
        other => panic!("{other:?}"),
    }
}

#[test]
fn messages_before_the_welcome_are_opened_when_they_come_again() {
    let (mut one, mut other) = (Party::new(1), Party::new(2));
    one.engine().transaction(|t| t.create_group(GROUP, NOW)).unwrap();
    let package = other.key_package();
    let (commit, welcome) = one.change(GROUP, |group| group.add([package.as_slice()], NOW));
    let body = one.send_group(GROUP, &[b"early".to_vec()]).remove(0);
    let early = other.receive_group(GROUP, b"early", &body);
    assert_eq!(early, Outcome::Failed(Failure::NoGroup));
    other.kill();
    other.engine().transaction(|t| t.join_group(&welcome[0])).unwrap();
    delivered(other.receive_group(GROUP, b"early", &body));
    // The commit that let it in is of an epoch that it never was in.
    let own = other.receive_group(GROUP, b"commit", &commit);
    assert_eq!(own, Outcome::Failed(Failure::OldEpoch));
    assert_eq!(other.texts(), [b"early".to_vec()]);
}

/// Epochs that lie before the reader: commits, and texts of each.
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
            // All texts before all commits, and the commits backwards.
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
            // The last one lets all out; what came before comes again behind it, in the same batch.
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

/// An id is that of one message, also while it waits. Otherwise what waits could not be delivered when
/// its epoch comes, since its id was taken, and nothing of the group ever again.
#[test]
fn an_id_that_waits_is_taken() {
    for threads in [1, 2] {
        let (mut writer, mut reader) = (Party::new(1), Party::new(2));
        writer.found(GROUP, &mut [&mut reader]);
        let now = writer.send_group(GROUP, &[b"now".to_vec()]).remove(0);
        let (commit, _) = writer.change(GROUP, |group| group.update(NOW));
        let later = writer.send_group(GROUP, &[b"later".to_vec()]).remove(0);
        let options = BatchOptions::default().threads(threads);
        let of = |id, body| Envelope::from_group(id, GROUP, body);
        let envelopes = [of(b"id", &later), of(b"id", &now), of(b"id", &later), of(b"else", &now)];
        let report = reader.engine().decrypt_batch(&envelopes, &options).unwrap();
        let (waits, reused) = (Outcome::Buffered(2), Outcome::Failed(Failure::IdReused));
        assert_eq!(report.outcomes[..3], [waits, reused, waits]);
        delivered(report.outcomes[3]);
        reader.restart();
        // The commit, and behind it what came out in the same batch.
        let envelopes =
            [of(b"id", &now), of(b"commit", &commit), of(b"id", &later), of(b"id", &now)];
        let report = reader.engine().decrypt_batch(&envelopes, &options).unwrap();
        assert_eq!(report.outcomes[0], reused);
        let number = delivered(report.released[0].outcome);
        assert_eq!(report.outcomes[2..], [Outcome::AlreadyDelivered(number), reused]);
        let texts = reader.texts();
        assert_eq!((&texts[0][..], &texts[2][..]), (&b"now"[..], &b"later"[..]));
    }
}

#[test]
fn the_buffer_is_bounded_and_an_impossible_epoch_costs_itself_alone() {
    let Epochs { mut reader, commits, texts } = epochs(2);
    // The epoch stands open in the head: version, wire format, length and bytes of the id.
    let forged = |epoch: u64| {
        let mut body = texts[0].clone();
        body[2 + 4 + 1 + GROUP.len()..][..8].copy_from_slice(&epoch.to_be_bytes());
        body
    };
    let impossible = reader.receive_group(GROUP, b"impossible", &forged(u64::MAX));
    assert_eq!(impossible, Outcome::Failed(Failure::Malformed));
    let last = reader.receive_group(GROUP, b"last", &forged(u64::MAX >> 1));
    assert_eq!(last, Outcome::Buffered(u64::MAX >> 1));
    let body = forged(1_000);
    let ids: Vec<_> = (0..1_001).map(|n| format!("forged {n}").into_bytes()).collect();
    let envelopes: Vec<_> = ids.iter().map(|id| Envelope::from_group(id, GROUP, &body)).collect();
    let outcomes = reader.receive(&envelopes);
    assert!(outcomes[..999].iter().all(|it| *it == Outcome::Buffered(1_000)));
    assert_eq!(outcomes[999..], [Outcome::Failed(Failure::BufferFull); 2]);
    reader.kill();
    let full = reader.receive_group(GROUP, b"text", &texts[0]);
    assert_eq!(full, Outcome::Failed(Failure::BufferFull));
    // What waits already is still known, and the group goes on.
    assert_eq!(reader.receive(&envelopes[..1]), [Outcome::Buffered(1_000)]);
    delivered(reader.receive_group(GROUP, b"commit", &commits[0]));
    delivered(reader.receive_group(GROUP, b"text", &texts[0]));
}

#[test]
fn who_joins_anew_gets_what_waited() {
    let Epochs { mut reader, commits, .. } = epochs(3);
    for commit in &commits {
        delivered(reader.receive_group(GROUP, &blake(commit), commit));
    }
    let mut writer = Party::new(3);
    // Another group of that id, with which this reader gets in again.
    writer.engine().transaction(|t| t.create_group(GROUP, NOW)).unwrap();
    for _ in 0..8 {
        writer.change(GROUP, |group| group.update(NOW));
    }
    let package = reader.key_package();
    let (_, welcome) = writer.change(GROUP, |group| group.add([package.as_slice()], NOW));
    let body = writer.send_group(GROUP, &[b"text".to_vec()]).remove(0);
    let refused = reader.engine().transaction(|t| t.join_group(&welcome[0]));
    assert!(refused.is_err(), "it is in a group of that id");
    assert_eq!(reader.receive_group(GROUP, b"text", &body), Outcome::Buffered(9));
    // After it was restored it may.
    reader.backup();
    reader.restore();
    reader.engine().transaction(|t| t.join_group(&welcome[0])).unwrap();
    assert_eq!(reader.texts()[3..], [b"text".to_vec()]);
    let again = reader.receive_group(GROUP, b"text", &body);
    assert!(matches!(again, Outcome::AlreadyDelivered(_)), "{again:?}");
    // Past epochs of the group that was left are not taken for those of this one.
    reader.kill();
    for _ in 0..3 {
        let (commit, _) = writer.change(GROUP, |group| group.update(NOW));
        delivered(reader.receive_group(GROUP, &blake(&commit), &commit));
        reader.restart();
    }
}
