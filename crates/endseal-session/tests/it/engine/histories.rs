//! Random histories of one device, checked against a model without cryptography. Messages of
//! several people and a group are delivered: repeatedly, in another order, damaged, and under other
//! ids. This happens in aborted transactions and between kills, restarts and restored backups. The
//! results and state of the engine must equal those of the model, everything must arrive once, and
//! the others must be able to open each message of the device once.

mod model;

use core::mem::take;
use std::collections::{BTreeMap, HashSet, VecDeque};

use endseal_keyring::device::Address;
use endseal_session::group::GroupError;
use endseal_session::olm::OlmRatchet;
use endseal_session::{
    BatchOptions, EngineError, Failure, Message, Outcome, Ratchet, ReceivedKind, Released,
    SendError,
};
use endseal_testing::SplitMix64;

use self::model::{Expected, Mail, Model, PAST, Row};
use super::party::{NOW, Party, blake};
use super::world::GROUP;

/// Steps with one store, which is limited because checks read all of it.
const LIFE: usize = 5_000;

#[test]
fn ten_thousand_steps_go_as_the_model_says() {
    histories(10_000);
}

#[test]
#[ignore = "nightly: minutes; docs/design/session-faults.md says how it went"]
fn a_million_steps_go_as_the_model_says() {
    histories(1_000_000);
}

fn histories(steps: usize) {
    let seed = std::env::var("ENDSEAL_TEST_SEED").map_or(1, |it| it.parse().unwrap());
    let mut tally = Tally::default();
    for seed in (seed..).take(steps / LIFE) {
        // The message of a failed test contains the seed.
        let _told = Told(seed);
        let mut history = History::new(seed);
        while history.tally.steps < LIFE {
            history.step();
        }
        history.finish();
        tally.add(&history.tally);
    }
    println!("{tally:?}");
    assert!(tally.steps >= steps && tally.delivered > steps / 4, "{tally:?}");
    let rare = [tally.aborts, tally.kills, tally.restores, tally.changes, tally.released];
    assert!(rare.iter().all(|it| *it >= steps / 10_000), "{tally:?}");
}

/// Prints the seed when a test fails.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("ENDSEAL_TEST_SEED={}", self.0);
        }
    }
}

/// Counts of events, to check that they occurred.
#[derive(Debug, Default)]
struct Tally {
    steps: usize,
    delivered: usize,
    failed: usize,
    repeated: usize,
    buffered: usize,
    released: usize,
    sent: usize,
    changes: usize,
    aborts: usize,
    kills: usize,
    restores: usize,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.delivered += other.delivered;
        self.failed += other.failed;
        self.repeated += other.repeated;
        self.buffered += other.buffered;
        self.released += other.released;
        self.sent += other.sent;
        self.changes += other.changes;
        self.aborts += other.aborts;
        self.kills += other.kills;
        self.restores += other.restores;
    }
}

struct History {
    random: SplitMix64,
    device: Party,
    people: Vec<Party>,
    guest: Party,
    guest_is_in: bool,
    model: Model,
    backup: Option<Model>,
    /// Ids of damaged messages that are parked.
    junk: HashSet<Vec<u8>>,
    /// Undelivered messages, in the order of sending.
    way: VecDeque<Mail>,
    /// Some of the delivered messages.
    past: VecDeque<Mail>,
    texts: u64,
    /// Epoch of the other members.
    epoch: u64,
    /// Number of answers to each person since its oldest undelivered message was sent.
    turns: BTreeMap<usize, usize>,
    arrived: u64,
    tally: Tally,
}

impl History {
    fn new(seed: u64) -> Self {
        let mut device = Party::new(1);
        let mut people: Vec<_> = (2..5).map(Party::new).collect();
        for person in &mut people {
            person.meet(&mut device);
        }
        let [first, others @ ..] = people.as_mut_slice() else { panic!() };
        let mut members: Vec<&mut Party> = others.iter_mut().collect();
        members.push(&mut device);
        first.found(GROUP, &mut members);
        let mut history = Self {
            random: SplitMix64::new(seed),
            device,
            people,
            guest: Party::new(9),
            guest_is_in: false,
            model: Model { epoch: 1, ..Model::default() },
            backup: None,
            junk: HashSet::new(),
            way: VecDeque::new(),
            past: VecDeque::new(),
            texts: 0,
            epoch: 1,
            turns: BTreeMap::new(),
            arrived: 0,
            tally: Tally::default(),
        };
        history.model.number = 3;
        history
    }

    fn step(&mut self) {
        self.tally.steps += 1;
        match self.random.below(1_000) {
            0..=399 => self.write(),
            400..=459 => self.write_to_group(),
            460..=869 => self.deliver(),
            870..=909 => self.abort(),
            910..=959 => self.send(),
            960..=983 => self.change(),
            984..=989 => {
                self.device.kill();
                self.tally.kills += 1;
            }
            990..=993 => self.device.restart(),
            994..=996 => self.empty(),
            997 => self.back_up(),
            _ => self.restore(),
        }
        if self.way.len() > 80 {
            self.deliver();
        }
    }

    fn text(&mut self) -> Vec<u8> {
        self.texts += 1;
        format!("text {}", self.texts).into_bytes()
    }

    fn post(&mut self, origin: Option<usize>, body: Vec<u8>, text: Option<Vec<u8>>, epoch: u64) {
        let id = blake(&body)[..16].to_vec();
        self.way.push_back(Mail { origin, id, body, text, epoch, is_damaged: false });
    }

    /// A person sends some messages.
    fn write(&mut self) {
        let from = self.random.below(self.people.len());
        let texts: Vec<_> = (0..=self.random.below(9)).map(|_| self.text()).collect();
        let to = self.device.address;
        let bodies = self.people[from].send_all(to, &texts.iter().collect::<Vec<_>>());
        self.tally.steps += texts.len() - 1;
        for (body, text) in bodies.into_iter().zip(texts) {
            self.post(Some(from), body, Some(text), 0);
        }
    }

    fn write_to_group(&mut self) {
        let from = self.random.below(self.people.len());
        let texts: Vec<_> = (0..=self.random.below(3)).map(|_| self.text()).collect();
        self.tally.steps += texts.len() - 1;
        let bodies = self.people[from].send_group(GROUP, &texts);
        for (body, text) in bodies.into_iter().zip(texts) {
            self.post(None, body, Some(text), self.epoch);
        }
    }

    /// Takes some undelivered messages, not always the first ones, and adds copies and damaged
    /// ones.
    fn take(&mut self) -> Vec<Mail> {
        let mut mails = Vec::new();
        let count = 1 + self.random.below(30);
        while mails.len() < count && !self.way.is_empty() {
            // The oldest messages are not overtaken by more than the ratchets keep keys for. A
            // change is usually late, so that later messages wait for it.
            let is_late = self.way[0].text.is_none() && self.random.chance(90);
            let at = if self.random.chance(70) && !is_late {
                0
            } else {
                self.random.below(self.way.len().min(12))
            };
            let mail = self.way.remove(at).unwrap();
            match self.random.below(100) {
                0..=3 => {
                    let mut damaged = mail.clone();
                    damaged.is_damaged = true;
                    if mail.origin.is_some() {
                        damaged.body = self.random.mutant(&mail.body);
                    } else {
                        // The header of a group message decides its result, so only the end is
                        // damaged.
                        let end = damaged.body.len() - 1 - self.random.below(10);
                        damaged.body[end] ^= 1 << self.random.below(8);
                    }
                    if self.random.chance(50) || mail.origin.is_none() {
                        damaged.id = blake(&damaged.body).to_vec();
                    }
                    if damaged.body != mail.body {
                        mails.push(damaged);
                    }
                }
                4..=6 => mails.push(mail.clone()),
                7..=8 if !self.past.is_empty() => {
                    let at = self.random.below(self.past.len());
                    mails.push(self.past[at].clone());
                }
                9 => {
                    // The same message under another id, after it.
                    let other = Mail { id: blake(&mail.id).to_vec(), ..mail.clone() };
                    mails.push(mail);
                    mails.push(other);
                    continue;
                }
                10 if !self.past.is_empty() => {
                    // Another message under the same id, after it.
                    let at = self.random.below(self.past.len());
                    let taken = self.past[at].clone();
                    if taken.origin == mail.origin && taken.body != mail.body {
                        mails.push(Mail { id: taken.id, ..mail.clone() });
                    }
                }
                _ => {}
            }
            mails.push(mail);
        }
        mails
    }

    fn deliver(&mut self) {
        let mails = self.take();
        self.hand_over(&mails);
    }

    fn hand_over(&mut self, mails: &[Mail]) {
        self.tally.steps += mails.len();
        let mut released = Vec::new();
        let order = order(mails);
        let mut expected: Vec<_> = order
            .into_iter()
            .map(|at| (at, self.model.deliver(&mails[at], &mut released)))
            .collect();
        expected.sort_by_key(|(at, _)| *at);
        let expected: Vec<_> = expected.into_iter().map(|(_, it)| it).collect();
        let envelopes: Vec<_> = mails.iter().map(|it| it.envelope(&self.people)).collect();
        let options = BatchOptions::default()
            .max_messages([1, 5, 100, 100, 100, 100][self.random.below(6)])
            .threads(1 + usize::from(self.random.chance(20)));
        let report = self.device.engine().decrypt_batch(&envelopes, &options).unwrap();
        for ((outcome, expected), mail) in report.outcomes.iter().zip(&expected).zip(mails) {
            let about = || {
                let text = mail.text.as_deref().map(String::from_utf8_lossy);
                format!(
                    "{text:?} of {:?}, epoch {} of {}",
                    mail.origin, mail.epoch, self.model.epoch
                )
            };
            match expected {
                Expected::Exactly(expected) => assert_eq!(outcome, expected, "{}", about()),
                // A damaged message may claim to be far ahead of its chain.
                Expected::Failure if *outcome == Outcome::Parked(Failure::TooFarAhead) => {
                    self.junk.insert(mail.id.clone());
                }
                Expected::Failure => assert!(!outcome.is_kept(), "{outcome:?}: {}", about()),
            }
            match outcome {
                Outcome::Delivered(_) => self.tally.delivered += 1,
                Outcome::AlreadyDelivered(_) => self.tally.repeated += 1,
                Outcome::Buffered(_) => self.tally.buffered += 1,
                _ => self.tally.failed += 1,
            }
        }
        self.check_released(&report.released, released);
        for mail in mails.iter().filter(|it| !it.is_damaged) {
            self.past.push_back(mail.clone());
        }
        self.past.drain(..self.past.len().saturating_sub(200));
    }

    fn check_released(&mut self, released: &[Released], expected: Vec<(Vec<u8>, Expected)>) {
        let is_junk = |it: &&Released| !it.outcome.is_kept() && self.junk.contains(&it.id);
        let released: Vec<_> = released.iter().filter(|it| !is_junk(it)).collect();
        assert_eq!(released.len(), expected.len());
        self.tally.released += released.len();
        for (released, (id, expected)) in released.iter().zip(expected) {
            assert_eq!(released.id, id);
            match expected {
                Expected::Exactly(expected) => assert_eq!(released.outcome, expected),
                Expected::Failure => assert!(!released.outcome.is_kept()),
            }
        }
    }

    /// Delivers and sends in a transaction that is aborted.
    fn abort(&mut self) {
        let to = self.people[self.random.below(self.people.len())].address;
        let count = self.random.below(6).min(self.way.len());
        let envelopes: Vec<_> =
            self.way.iter().take(count).map(|it| it.envelope(&self.people)).collect();
        let aborted: Result<(), EngineError> = self.device.engine().transaction(|t| {
            for envelope in &envelopes {
                t.decrypt(envelope)?;
                let _ = t.encrypt(to, b"never");
            }
            let _ = t.encrypt_group(GROUP, b"never");
            Err(EngineError::Ended)
        });
        assert!(aborted.is_err());
        self.tally.steps += count;
        self.tally.aborts += 1;
        if self.random.chance(30) {
            self.device.kill();
            self.tally.kills += 1;
        }
    }

    /// The device sends, and the recipients open the message.
    fn send(&mut self) {
        self.arrived += 1;
        let (id, from) = (self.arrived.to_le_bytes(), self.device.address);
        if self.random.chance(25) {
            let sent = self.device.engine().encrypt_group(GROUP, &id).unwrap();
            self.device.engine().outbox().sent(sent.number).unwrap();
            // Members that are ahead can open past epochs, too.
            if self.epoch - self.model.epoch <= PAST {
                for person in &mut self.people {
                    let outcome = person.receive_group(GROUP, &id, &sent.body);
                    assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
                }
            }
        } else {
            let to = self.random.below(self.people.len());
            // Undelivered messages that are older than the kept chains are delivered first.
            let turns = self.turns.entry(to).or_default();
            *turns += 1;
            if *turns > 3 {
                *turns = 0;
                let (mails, rest) =
                    take(&mut self.way).into_iter().partition(|it| it.origin == Some(to));
                self.way = rest;
                self.hand_over(&Vec::from_iter::<VecDeque<_>>(mails));
            }
            let body = self.device.send(self.people[to].address, &id);
            self.people[to].receive_one(from, &id, &body);
        }
        self.tally.sent += 1;
    }

    /// A member changes the group. All others but the device follow at once.
    fn change(&mut self) {
        let by = self.random.below(self.people.len());
        let (guest, is_in) = (self.guest.address, self.guest_is_in);
        let mut welcome = Vec::new();
        let body = match self.random.below(3) {
            0 if is_in => self.people[by].change(GROUP, |group| group.remove(&[guest], NOW)).0,
            0 => {
                let package = self.guest.key_package();
                let body;
                (body, welcome) =
                    self.people[by].change(GROUP, |group| group.add([package.as_slice()], NOW));
                body
            }
            _ => self.people[by].change(GROUP, |group| group.update(NOW)).0,
        };
        self.follow(Some(by), &body);
        if let Some(welcome) = welcome.first() {
            self.guest.engine().transaction(|t| t.join_group(welcome)).unwrap();
            self.guest_is_in = true;
        } else if is_in {
            self.guest_is_in = self.people[by]
                .engine()
                .transaction(|t| {
                    let mut members = Vec::new();
                    let looked = t.commit_group(GROUP, |group| {
                        members = group.members();
                        Err(GroupError::Internal)
                    });
                    assert!(looked.is_err());
                    Ok::<_, EngineError>(members)
                })
                .unwrap()
                .contains(&guest);
        }
        self.post(None, body, None, self.epoch);
        self.epoch += 1;
        self.tally.changes += 1;
    }

    /// The other members apply a change.
    fn follow(&mut self, by: Option<usize>, body: &[u8]) {
        let id = blake(body);
        for (at, person) in self.people.iter_mut().enumerate() {
            if Some(at) != by {
                let outcome = person.receive_group(GROUP, &id, body);
                assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
            }
        }
        if self.guest_is_in {
            let outcome = self.guest.receive_group(GROUP, &id, body);
            assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
        }
    }

    /// Reads and consumes the inbox, which must equal the model's.
    fn empty(&mut self) {
        let page = self.device.engine().inbox().page(0, usize::MAX >> 1).unwrap();
        let own: Address = self.device.address;
        let mut numbers = Vec::new();
        let mut rows = page.into_iter();
        // Rows from before the history.
        let expected = take(&mut self.model.inbox);
        let first = expected.front().map_or(u64::MAX, |it| it.number);
        for Row { number, origin, text } in expected {
            let row = rows.find(|row| row.number >= first).unwrap();
            assert_eq!(row.number, number);
            assert_ne!(row.sender, own);
            if let Some(origin) = origin {
                assert_eq!(row.sender, self.people[origin].address);
            }
            assert_eq!((row.kind == ReceivedKind::Text).then(|| row.plaintext.to_vec()), text);
            numbers.push(number);
        }
        assert!(rows.all(|row| row.number < first));
        let consumed = self.device.engine().inbox().consume_many(&numbers).unwrap();
        assert_eq!(consumed, numbers.len());
        for party in self.people.iter_mut().chain([&mut self.guest]) {
            let page = party.engine().inbox().page(0, usize::MAX >> 1).unwrap();
            let numbers: Vec<_> = page.iter().map(|it| it.number).collect();
            party.engine().inbox().consume_many(&numbers).unwrap();
        }
    }

    fn back_up(&mut self) {
        self.device.backup();
        self.backup = Some(self.model.clone());
    }

    /// Restores an older copy of the store. It sends nothing until the sessions and the group have
    /// been started again.
    fn restore(&mut self) {
        let Some(model) = self.backup.take() else { return self.back_up() };
        self.device.restore();
        self.model = model;
        self.tally.restores += 1;
        for person in &mut self.people {
            let to = person.address;
            let refused = self.device.engine().encrypt(to, b"no");
            assert!(matches!(refused, Err(SendError::Restored)), "{:?}", refused.err());
        }
        let refused = self.device.engine().encrypt_group(GROUP, b"no");
        assert!(matches!(refused, Err(SendError::Restored)));
        // The store lacks keys that the others use now, so undelivered messages may be lost.
        self.way.clear();
        self.past.clear();
        let own = self.device.address;
        for at in 0..self.people.len() {
            let to = self.people[at].address;
            let bundle = self.people[at].fallback();
            self.device.engine().transaction(|t| t.reset_session(to)).unwrap();
            self.device.begin_with(&bundle);
            self.arrived += 1;
            let id = self.arrived.to_le_bytes();
            let hello = self.device.send(to, b"hello again");
            self.people[at].receive_one(own, &id, &hello);
        }
        // The device is removed from the group and added again.
        let package = self.device.key_package();
        let (out, _) = self.people[0].change(GROUP, |group| group.remove(&[own], NOW));
        self.follow(Some(0), &out);
        let (back, welcome) =
            self.people[0].change(GROUP, |group| group.add([package.as_slice()], NOW));
        self.follow(Some(0), &back);
        self.epoch += 2;
        self.device.engine().transaction(|t| t.join_group(&welcome[0])).unwrap();
        // Waiting messages cannot be opened: the device never had the keys of their epochs.
        self.model.epoch = self.epoch;
        self.model.waiting.retain(|it| it.epoch > self.epoch);
        self.turns.clear();
        assert!(!self.device.engine().store().is_restored());
    }

    /// Delivers all remaining messages.
    fn finish(&mut self) {
        let mails: Vec<_> = take(&mut self.way).into();
        self.hand_over(&mails);
        // No messages remain because of a different order.
        assert!(self.model.waiting.is_empty());
        self.device.restart();
        self.empty();
        assert_eq!(
            self.device.engine().store().check(endseal_store::Depth::Structure).unwrap(),
            []
        );
        // After two more epochs, the oldest ones are past.
        assert!(self.model.epoch == self.epoch);
    }
}

/// Returns the order in which mails are opened: before a mail, those of its chain that have a lower
/// number and come later. A mail with an id that occurred before stays in place.
fn order(mails: &[Mail]) -> Vec<usize> {
    let place = |mail: &Mail| {
        mail.origin?;
        let message = Message::parse(&mail.body).ok()?;
        Some((message.tag()?, OlmRatchet::place(message.ratchet_body()?)?))
    };
    let places: Vec<_> = mails
        .iter()
        .enumerate()
        .map(|(at, mail)| {
            let is_again = |it: &Mail| it.origin == mail.origin && it.id == mail.id;
            if mails[..at].iter().any(is_again) { None } else { place(mail) }
        })
        .collect();
    let mut order = Vec::new();
    for (at, place) in places.iter().enumerate() {
        let mut due: Vec<_> = (at..mails.len())
            .filter(|it| match (place, &places[*it]) {
                (Some((tag, one)), Some((other_tag, other))) => {
                    tag == other_tag
                        && one.chain == other.chain
                        && (other.index, *it) <= (one.index, at)
                }
                _ => *it == at,
            })
            .filter(|it| !order.contains(it))
            .collect();
        due.sort_by_key(|it| (places[*it].as_ref().map(|(_, it)| it.index), *it));
        order.extend(due);
    }
    order
}
