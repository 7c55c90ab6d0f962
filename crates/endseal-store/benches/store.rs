//! Cost of a message: `cargo bench -p endseal-store`.
//!
//! Every figure is the median over rounds, each on a store that has taken the ones before.
#![forbid(unsafe_code)]
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark that fails may stop, and prints"
)]

use core::time::Duration;
use std::path::Path;
use std::time::Instant;
use std::{env, fs, process};

use endseal_crypto::random::{OsRandom, Random as _};
use endseal_crypto::secret::Zeroizing;
use endseal_store::{
    NewMessage, OpenOptions, Protection, SessionRow, SessionStatus, Store, Unlock,
};

const ROUNDS: usize = 15;
const BATCH: usize = 2_000;
const CONVERSATIONS: u8 = 5;
const PLAINTEXT_LEN: usize = 100;
const STATE_LEN: usize = 1_500;

fn main() {
    let place = env::temp_dir().join(format!("endseal-store-bench-{}", process::id()));
    fs::create_dir(&place).unwrap();
    let mut store = Store::create(&place.join("store"), Protection::None, &mut OsRandom)
        .expect("a new directory");
    let mut in_order =
        Store::create(&place.join("in-order"), Protection::None, &mut OsRandom).unwrap();
    let mut table = Table::default();
    // `cargo test --benches` runs this too: then once is enough to see that it works.
    let rounds = if env::args().any(|arg| arg == "--bench") { ROUNDS } else { 1 };
    for round in 0..rounds {
        let fresh = place.join(format!("fresh-{round}"));
        let mut store_of_round = Store::create(&fresh, Protection::None, &mut OsRandom).unwrap();
        batch(&mut store_of_round, ids(BATCH), &mut table, "fresh: ");
        drop(store_of_round);
        batch(&mut store, ids(BATCH), &mut table, "");
        batch(&mut in_order, ids_in_order(round, BATCH), &mut table, "in order: ");
        singles(&mut store, 100, &mut table);
        consume(&mut store, &mut table);
        most_recent(&place.join(format!("recent-{round}")), &mut table);
    }
    table.print();
    drop((store, in_order));
    let len = fs::metadata(place.join("store/store.db")).unwrap().len();
    println!("database {} KiB", len / 1024);
    fs::remove_dir_all(&place).unwrap();
}

/// A batch in one transaction, with the state of each conversation once, and the parts that it has.
fn batch(store: &mut Store, ids: Vec<[u8; 16]>, table: &mut Table, which: &str) {
    let len = ids.len();
    let begin = Instant::now();
    let transaction = store.begin().unwrap();
    let places: Vec<_> = (0..CONVERSATIONS)
        .map(|i| {
            let address = transaction.address_ref(&[i; 32], 1).unwrap();
            (transaction.conversation_ref(&[i + 1; 16]).unwrap(), address)
        })
        .collect();
    let mut messages = transaction.messages().unwrap();
    table.add(&format!("{which}begin and references"), begin.elapsed());

    let start = Instant::now();
    for (i, id) in ids.iter().enumerate() {
        let (conversation, _) = places[i % places.len()];
        assert!(messages.seen(conversation, id).unwrap().is_none());
    }
    table.add(&format!("{which}seen, a message"), each(start, len));
    let start = Instant::now();
    for (i, id) in ids.iter().enumerate() {
        let (conversation, sender) = places[i % places.len()];
        let plaintext = [0x20; PLAINTEXT_LEN];
        messages.deliver(conversation, id, sender, 0, &[1; 16], &plaintext).unwrap();
    }
    table.add(&format!("{which}deliver, a message"), each(start, len));
    let start = Instant::now();
    for (_, sender) in &places {
        let state = Zeroizing::new(vec![7; STATE_LEN]);
        let status = SessionStatus::Active;
        let row = SessionRow { tag: [1; 8], engine: 1, status, used: 1, state };
        transaction.put_session(*sender, &row).unwrap();
    }
    table.add(&format!("{which}five sessions"), start.elapsed());
    drop(messages);
    let start = Instant::now();
    let before = written();
    transaction.commit().unwrap();
    table.add(&format!("{which}commit"), start.elapsed());
    table.bytes(&format!("{which}commit"), written() - before);
    table.add(&format!("{which}all, a message"), each(begin, len));
    let start = Instant::now();
    let before = written();
    store.checkpoint().unwrap();
    table.add(&format!("{which}checkpoint"), start.elapsed());
    table.bytes(&format!("{which}checkpoint"), written() - before);
}

/// As many messages in packs as stay there, and the first question after the store was opened,
/// which reads all of them.
fn most_recent(directory: &Path, table: &mut Table) {
    let mut store = Store::create(directory, Protection::None, &mut OsRandom).unwrap();
    let ids = ids(16_000);
    let transaction = store.begin().unwrap();
    let conversation = transaction.conversation_ref(&[1; 16]).unwrap();
    let sender = transaction.address_ref(&[0; 32], 1).unwrap();
    let new = |id| NewMessage {
        conversation,
        message: id,
        sender,
        kind: 0,
        digest: &[1; 16],
        plaintext: &[],
    };
    let all: Vec<_> = ids.iter().map(|id| new(id)).collect();
    transaction.messages().unwrap().deliver_many(&all).unwrap();
    transaction.commit().unwrap();
    store.close().unwrap();
    let mut store = Store::open(directory, Unlock::None, OpenOptions::new()).unwrap();
    let transaction = store.begin().unwrap();
    let start = Instant::now();
    assert!(transaction.messages().unwrap().seen(conversation, &ids[0]).unwrap().is_some());
    table.add("first look-up beside 16,000 in packs", start.elapsed());
    let more: Vec<_> = self::ids(400);
    let all: Vec<_> = more.iter().map(|id| new(id)).collect();
    transaction.messages().unwrap().deliver_many(&all).unwrap();
    transaction.commit().unwrap();
    let start = Instant::now();
    store.checkpoint().unwrap();
    table.add("checkpoint that sorts 16,400 in", start.elapsed());
}

/// As many transactions of one message each.
fn singles(store: &mut Store, len: usize, table: &mut Table) {
    let before = written();
    let start = Instant::now();
    for id in ids(len) {
        let transaction = store.begin().unwrap();
        let conversation = transaction.conversation_ref(&[1; 16]).unwrap();
        let sender = transaction.address_ref(&[0; 32], 1).unwrap();
        let mut messages = transaction.messages().unwrap();
        assert!(messages.seen(conversation, &id).unwrap().is_none());
        let plaintext = [0x20; PLAINTEXT_LEN];
        messages.deliver(conversation, &id, sender, 0, &[1; 16], &plaintext).unwrap();
        drop(messages);
        transaction.commit().unwrap();
    }
    table.add("one to a commit, a message", each(start, len));
    table.bytes("one to a commit", (written() - before) / len as u64);
}

/// The application reads and consumes everything.
fn consume(store: &mut Store, table: &mut Table) {
    let start = Instant::now();
    let transaction = store.begin().unwrap();
    let inbox = transaction.inbox(0, usize::MAX).unwrap();
    for message in &inbox {
        assert!(transaction.consume(message.seq).unwrap());
    }
    transaction.commit().unwrap();
    table.add("read and consumed, a message", each(start, inbox.len()));
    store.checkpoint().unwrap();
}

fn ids(len: usize) -> Vec<[u8; 16]> {
    let mut ids = vec![[0; 16]; len];
    ids.iter_mut().for_each(|id| OsRandom.fill(id).unwrap());
    ids
}

/// As those are that begin with a time or a counter.
fn ids_in_order(round: usize, len: usize) -> Vec<[u8; 16]> {
    let mut ids = ids(len);
    for (i, id) in ids.iter_mut().enumerate() {
        let number = u64::try_from(round * len + i).unwrap();
        id[..8].copy_from_slice(&number.to_be_bytes());
    }
    ids
}

fn each(start: Instant, len: usize) -> Duration {
    start.elapsed() / u32::try_from(len).unwrap()
}

/// Bytes that this process has handed to the kernel to be written; 0 where it does not count them.
fn written() -> u64 {
    let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.map_or(0, |bytes| bytes.parse().unwrap())
}

#[derive(Default)]
struct Table {
    times: Vec<(String, Vec<Duration>)>,
    bytes: Vec<(String, Vec<u64>)>,
}

impl Table {
    fn add(&mut self, name: &str, time: Duration) {
        push(&mut self.times, name, time);
    }

    fn bytes(&mut self, name: &str, bytes: u64) {
        push(&mut self.bytes, name, bytes);
    }

    fn print(self) {
        for (name, times) in self.times {
            println!("{name:30} {:>10.2} us", median(times).as_secs_f64() * 1e6);
        }
        for (name, bytes) in self.bytes {
            println!("{name:30} {:>10} bytes", median(bytes));
        }
    }
}

fn push<T>(rows: &mut Vec<(String, Vec<T>)>, name: &str, value: T) {
    match rows.iter_mut().find(|(other, _)| other == name) {
        Some((_, values)) => values.push(value),
        None => rows.push((name.to_owned(), vec![value])),
    }
}

fn median<T: Ord + Copy>(mut values: Vec<T>) -> T {
    values.sort_unstable();
    values[values.len() / 2]
}
