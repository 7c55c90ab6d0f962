//! Deletion of old rows by a policy.

use core::time::Duration;

use endseal_crypto::secret::Zeroizing;
use endseal_session::group::{GroupError, Suite};
use endseal_session::{
    Envelope, Failure, GroupChangeError, Outcome, PrunePolicy, Pruned, UnknownSenders,
};
use endseal_store::{SessionRow, Store};

use super::party::{NOW, Party};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn prune(party: &mut Party, policy: &PrunePolicy) -> Pruned {
    let mut all = Pruned::default();
    loop {
        let pruned = party.engine().prune(policy).unwrap();
        all.tombstones += pruned.tombstones;
        all.key_packages += pruned.key_packages;
        all.parked += pruned.parked;
        all.sessions += pruned.sessions;
        all.damaged += pruned.damaged;
        if !pruned.more {
            return all;
        }
    }
}

fn tombstones(party: &mut Party) -> u64 {
    let statistics = Store::statistics(party.engine().store()).unwrap();
    statistics.rows.iter().find(|(table, _)| *table == "seen").unwrap().1
}

#[test]
fn tombstones_go_when_they_are_old_and_consumed() {
    for rows in [1, 3, 10_000] {
        let (mut one, mut other) = (Party::new(1), Party::new(2));
        one.meet(&mut other);
        let at = |days: u32| PrunePolicy::new(NOW + days * DAY).tombstones(30 * DAY).rows(rows);
        let before = tombstones(&mut other);
        let bodies: Vec<_> = (0..10_u8).map(|n| one.send(other.address, &[n])).collect();
        let ids: Vec<_> = (0..10_u8).map(|n| [n]).collect();
        let envelopes: Vec<_> = ids
            .iter()
            .zip(&bodies)
            .map(|(id, body)| Envelope::from_device(id, one.address, body))
            .collect();
        let deliver = |other: &mut Party, at: core::ops::Range<usize>| {
            let outcomes = other.receive(&envelopes[at]);
            let [Outcome::Delivered(first), ..] = outcomes[..] else { panic!("{outcomes:?}") };
            first
        };
        let first = deliver(&mut other, 0..4);
        assert_eq!(prune(&mut other, &at(0)).tombstones, 0);
        let second = deliver(&mut other, 4..10);
        assert_eq!(prune(&mut other, &at(10)).tombstones, 0);
        other.kill();
        // All but the second of the first four messages are consumed.
        let numbers = [first, first + 2, first + 3, second];
        other.engine().inbox().consume_many(&numbers).unwrap();
        assert_eq!(prune(&mut other, &at(29)).tombstones, 0);
        // The message of `meet`, and three of the four.
        let old = before + 3;
        assert_eq!(prune(&mut other, &at(31)).tombstones, old, "{rows}");
        assert_eq!(prune(&mut other, &at(31)).tombstones, 0);
        other.restart();
        let again = other.receive(&envelopes);
        let known = |at: usize| matches!(again[at], Outcome::AlreadyDelivered(_));
        assert!((0..10).all(|at| known(at) == (at == 1 || at >= 4)), "{again:?}");
        // The ratchet has no key for messages with deleted tombstones.
        assert_eq!(other.texts().len(), 6);
        assert_eq!(prune(&mut other, &at(41)).tombstones, 1);
        // A clock that was set back deletes nothing.
        assert_eq!(prune(&mut other, &at(0)).tombstones, 0);
    }
}

#[test]
fn key_packages_go_after_their_lifetime() {
    let (mut one, mut other) = (Party::new(1), Party::new(2));
    let package = other.key_package();
    let later = NOW + 60 * DAY;
    let second = other.engine().transaction(|t| t.key_package(Suite::default(), later)).unwrap();
    assert_eq!(prune(&mut other, &PrunePolicy::new(NOW + 113 * DAY)).key_packages, 0);
    let policy = PrunePolicy::new(NOW + 115 * DAY).rows(1);
    assert_eq!(prune(&mut other, &policy).key_packages, 1);
    one.engine().transaction(|t| t.create_group(b"team", NOW)).unwrap();
    let (_, welcome) = one.change(b"team", |group| group.add([package.as_slice()], NOW));
    let gone = other.engine().transaction(|t| t.join_group(&welcome[0]));
    assert!(gone.is_err());
    one.engine().transaction(|t| t.create_group(b"club", NOW)).unwrap();
    let (_, welcome) = one.change(b"club", |group| group.add([second.as_slice()], later));
    other.engine().transaction(|t| t.join_group(&welcome[0])).unwrap();
}

/// One row per call, with tables of up to four rows.
#[test]
fn a_round_ends_whatever_the_tables_hold() {
    for tombstones in 0..4_u8 {
        for packages in 0..4 {
            let (mut one, mut other) = (Party::new(1), Party::new(2));
            one.begin(&mut other);
            for id in 0..tombstones {
                let body = one.send(other.address, b"text");
                other.receive_one(one.address, &[id], &body);
            }
            (0..packages).for_each(|_| drop(other.key_package()));
            let policy =
                |days: u32| PrunePolicy::new(NOW + days * DAY).unknown_senders(true).rows(1);
            for days in [0, 100] {
                let calls =
                    (0..20).take_while(|_| other.engine().prune(&policy(days)).unwrap().more);
                assert!(calls.count() < 20, "{tombstones} tombstones, {packages} key packages");
            }
        }
    }
}

#[test]
fn sessions_of_outsiders_go_when_nothing_else_is_left_of_them() {
    let (mut one, mut two, mut other) = (Party::new(1), Party::new(2), Party::new(3));
    let fallback = other.fallback();
    let mut hello = Vec::new();
    for sender in [&mut one, &mut two] {
        sender.begin_with(&fallback);
        let body = sender.send(other.address, b"hello");
        other.receive_one(sender.address, b"hello", &body);
        hello.push((sender.address, body));
    }
    let policy = |days: u32| PrunePolicy::new(NOW + days * DAY).unknown_senders(true).rows(1);
    assert_eq!(prune(&mut other, &policy(0)).sessions, 0);
    assert_eq!(prune(&mut other, &policy(91)).sessions, 0);
    // The message of the second one stays in the inbox.
    other.engine().inbox().consume_many(&[1]).unwrap();
    let pruned = prune(&mut other, &policy(92));
    assert_eq!(pruned.tombstones, 1);
    assert_eq!(prune(&mut other, &policy(92)).sessions + pruned.sessions, 1);
    other.kill();
    let left = |address| other.engine().transaction(|t| t.sessions(address)).unwrap().len();
    let left = [one.address, two.address].map(left);
    assert_eq!(left, [0, 1]);
    // A first message that is delivered again makes no new session, even if the fallback key
    // exists.
    let (from, body) = &hello[0];
    let again = other.receive(&[Envelope::from_device(b"hello", *from, body)])[0];
    assert!(!again.is_kept(), "{again:?}");
    assert_eq!(other.texts(), [b"hello"]);
}

/// Parked messages have no time: the first call that sees one records it.
#[test]
fn parked_messages_that_may_never_open_go_when_they_are_old() {
    let (mut one, mut two, mut other) = (Party::new(1), Party::new(2), Party::new(3));
    one.meet(&mut other);
    other.engine().set_unknown_senders(UnknownSenders::Refused).unwrap();
    let texts: Vec<_> = (0..2_003_u32).map(|n| n.to_le_bytes().to_vec()).collect();
    let far = one.send_all(other.address, &texts.iter().collect::<Vec<_>>()).pop().unwrap();
    two.begin(&mut other);
    let strange = [b"one", b"two"].map(|text| two.send(other.address, text));
    let receive = |other: &mut Party, id: &[u8], from, body: &[u8]| {
        other.receive(&[Envelope::from_device(id, from, body)])[0]
    };
    let parked = |failure| Outcome::Parked(failure);
    assert_eq!(receive(&mut other, b"far", one.address, &far), parked(Failure::TooFarAhead));
    let outsider = parked(Failure::UnknownSender);
    assert_eq!(receive(&mut other, b"one", two.address, &strange[0]), outsider);
    let at = |days: u32| PrunePolicy::new(NOW + days * DAY).parked(10 * DAY);
    assert_eq!(prune(&mut other, &at(0)).parked, 0);
    other.kill();
    other.engine().set_unknown_senders(UnknownSenders::Refused).unwrap();
    assert_eq!(receive(&mut other, b"two", two.address, &strange[1]), outsider);
    assert_eq!(prune(&mut other, &at(9)).parked, 0);
    assert_eq!(prune(&mut other, &at(10)).parked, 2);
    // The second message is as old as the call that saw it first. A time from a clock that was
    // ahead is corrected.
    assert_eq!(prune(&mut other, &at(1)).parked, 0);
    assert_eq!(prune(&mut other, &at(10)).parked, 0);
    other.kill();
    assert_eq!(prune(&mut other, &at(11)).parked, 1);
    assert_eq!(other.engine().parked().unwrap(), []);
}

#[test]
fn a_welcome_that_comes_again_is_recognised_until_its_key_package_is_old() {
    let (mut one, mut other) = (Party::new(1), Party::new(2));
    let package = other.key_package();
    one.engine().transaction(|t| t.create_group(b"team", NOW)).unwrap();
    let (_, welcome) = one.change(b"team", |group| group.add([package.as_slice()], NOW));
    other.engine().transaction(|t| t.join_group(&welcome[0])).unwrap();
    let again = |party: &mut Party| party.engine().transaction(|t| t.join_group(&welcome[0]));
    other.kill();
    assert!(matches!(again(&mut other), Err(GroupChangeError::Joined)));
    // Another welcome for the same key package is not a repeated one.
    let mut third = Party::new(3);
    third.engine().transaction(|t| t.create_group(b"club", NOW)).unwrap();
    let (_, second) = third.change(b"club", |group| group.add([package.as_slice()], NOW));
    let used = other.engine().transaction(|t| t.join_group(&second[0]));
    assert!(matches!(used, Err(GroupChangeError::KeyPackageUsed)));
    assert_eq!(prune(&mut other, &PrunePolicy::new(NOW + 113 * DAY)).key_packages, 0);
    assert!(matches!(again(&mut other), Err(GroupChangeError::Joined)));
    assert_eq!(prune(&mut other, &PrunePolicy::new(NOW + 115 * DAY).rows(1)).key_packages, 1);
    let unknown = GroupChangeError::Group(GroupError::NoKeyPackage).to_string();
    assert_eq!(again(&mut other).unwrap_err().to_string(), unknown);
}

/// Prunes until nothing is left, and returns the number of deleted tags of dropped sessions.
fn pruned_tags(party: &mut Party, policy: &PrunePolicy) -> u64 {
    let mut tags = 0;
    loop {
        let pruned = party.engine().prune(policy).unwrap();
        tags += pruned.dropped_sessions;
        if !pruned.more {
            return tags;
        }
    }
}

#[test]
fn tags_of_dropped_sessions_go_when_they_are_old_and_no_fallback_key_is_older() {
    for rows in [1, 10_000] {
        for (fallback_of_day, expected) in [(None, 2), (Some(0), 0), (Some(1), 2)] {
            let (mut one, mut two, mut other) = (Party::new(1), Party::new(2), Party::new(3));
            let at = |days: u32| PrunePolicy::new(NOW + days * DAY).tombstones(30 * DAY).rows(rows);
            let fallback = |other: &mut Party, day| {
                if fallback_of_day == Some(day) {
                    let now = u64::try_from((NOW + day * DAY).as_millis()).unwrap();
                    other.engine().transaction(|t| t.prekey_bundles(0, now)).unwrap();
                }
            };
            fallback(&mut other, 0);
            // Nine sessions with each, of which eight are kept.
            for sender in [&mut one, &mut two] {
                for id in 0..9 {
                    sender.begin(&mut other);
                    let body = sender.send(other.address, b"hello");
                    other.receive_one(sender.address, &[id], &body);
                }
            }
            let body = one.send(other.address, b"a later number");
            other.receive_one(one.address, b"later", &body);
            assert_eq!(pruned_tags(&mut other, &at(0)), 0);
            other.kill();
            // A session that is dropped after that day's mark is younger than the mark, even
            // without a message in between.
            other.begin(&mut one);
            fallback(&mut other, 1);
            assert_eq!(pruned_tags(&mut other, &at(29)), 0);
            assert_eq!(pruned_tags(&mut other, &at(30)), expected, "{rows}, {fallback_of_day:?}");
            other.restart();
            assert_eq!(pruned_tags(&mut other, &at(31)), 0);
            let with = one.address;
            let left = other.engine().transaction(|t| t.sessions(with)).unwrap();
            assert_eq!(left.len(), 8);
        }
    }
}

#[test]
fn marks_of_a_clock_that_was_ahead_are_put_right() {
    let (mut one, mut other) = (Party::new(1), Party::new(2));
    one.meet(&mut other);
    let at = |days: u32| PrunePolicy::new(NOW + days * DAY).tombstones(30 * DAY);
    // A clock that is ten years ahead.
    assert_eq!(prune(&mut other, &at(3_650)).tombstones, 0);
    assert_eq!(prune(&mut other, &at(0)).tombstones, 0);
    other.kill();
    assert_eq!(prune(&mut other, &at(29)).tombstones, 0);
    assert_eq!(prune(&mut other, &at(30)).tombstones, 1);
}

/// Rows that cannot be decoded stay, and are counted.
#[test]
fn damaged_rows_do_not_keep_others_from_pruning() {
    let (mut one, mut two, mut other) = (Party::new(1), Party::new(2), Party::new(3));
    let fallback = other.fallback();
    for sender in [&mut one, &mut two] {
        sender.begin_with(&fallback);
        let body = sender.send(other.address, b"hello");
        other.receive_one(sender.address, b"hello", &body);
    }
    other.engine().inbox().consume_many(&[1, 2]).unwrap();
    other.key_package();
    let transaction = other.engine().store().begin().unwrap();
    let damaged = transaction.find_address(one.address.identity.as_bytes(), 1).unwrap().unwrap();
    for row in transaction.sessions_of(damaged).unwrap() {
        let row = SessionRow { state: Zeroizing::new(vec![7; 40]), ..row };
        transaction.put_session(damaged, &row).unwrap();
    }
    // A key package and the marks, with the engine's record numbers.
    transaction.put_record(3, &[0], b"no key package").unwrap();
    transaction.put_record(16, &[], b"no marks").unwrap();
    transaction.commit().unwrap();
    other.restart();
    let policy = |days: u32| PrunePolicy::new(NOW + days * DAY).unknown_senders(true);
    let first = prune(&mut other, &policy(0));
    assert_eq!((first.tombstones, first.key_packages, first.sessions, first.damaged), (0, 0, 0, 2));
    let pruned = prune(&mut other, &policy(115));
    assert_eq!((pruned.tombstones, pruned.key_packages, pruned.sessions), (2, 1, 1));
    assert_eq!(pruned.damaged, 2);
}
