//! Compares decrypting a backlog with the bare ratchet on this machine: `cargo bench -p
//! endseal-session`. Published figures come from `endseal-bench`; this benchmark is for work on the
//! engine.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::expect_used, reason = "a bench")]

use core::hint::black_box;
use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use endseal_crypto::ed25519::{Seed, SigningKey};
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use endseal_keyring::device::{Address, DeviceId};
use endseal_session::olm::OlmRatchet;
use endseal_session::{BatchOptions, Engine, Envelope, Message, NewDevice, Ratchet, SendError};
use endseal_store::{OpenOptions, Protection, Store, Unlock};

const ROUNDS: usize = 7;

fn main() {
    let base = std::env::temp_dir().join(format!("endseal-backlog-{}", std::process::id()));
    let numbers: Vec<usize> = std::env::args().filter_map(|it| it.parse().ok()).collect();
    if let [messages, people, chunk, threads, rounds] = numbers[..] {
        one(&base, messages, people, chunk, threads, rounds);
        let _ = fs::remove_dir_all(&base);
        return;
    }
    println!(
        "messages/conversations   bare    fsync | 1 a commit    100   whole | whole, 2 threads | settle  (ms)"
    );
    for (messages, people) in [(2_000, 1), (1_000, 5), (5_000, 6)] {
        let work = Work::new(&base.join(format!("{messages}-{people}")), messages, people);
        let bare = median(|| work.bare());
        let fsync = median(|| fsync(&base));
        let one = work.run(&BatchOptions::whole().max_messages(1), 3).0;
        let hundred = work.run(&BatchOptions::whole().max_messages(100), ROUNDS).0;
        let (whole, settle) = work.run(&BatchOptions::whole(), ROUNDS);
        let two = work.run(&BatchOptions::whole().threads(2), ROUNDS).0;
        println!(
            "{messages:>6} / {people}      {:>14.2} {:>8.2} | {:>8.1} {:>8.2} {:>7.2} | {:>8.2} | {:>8.2}   {:.2}x bare + fsync",
            ms(bare),
            ms(fsync),
            ms(one),
            ms(hundred),
            ms(whole),
            ms(two),
            ms(settle),
            ms(whole) / (ms(bare) + ms(fsync)),
        );
    }
    let _ = fs::remove_dir_all(&base);
}

/// Runs one case, for profilers. Arguments: messages, conversations, messages per transaction (0
/// for all), threads, rounds. On a busy machine, the CPU time of the caller's thread is more
/// reliable than wall-clock time.
fn one(base: &Path, messages: usize, people: usize, chunk: usize, threads: usize, rounds: usize) {
    let work = Work::new(base, messages, people);
    let options = BatchOptions::whole().threads(threads);
    let options = if chunk > 0 { options.max_messages(chunk) } else { options };
    let (mut bares, mut batches) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        bares.push(work.bare());
        let (time, _, processor) = work.round(&options);
        batches.push((time, processor));
    }
    bares.sort();
    let bare = ms(bares[rounds / 2]);
    batches.sort();
    let least = batches.iter().map(|it| it.1).min().unwrap();
    println!(
        "{messages} / {people}, {chunk} a transaction, {threads} threads: {:.2} ms, least {:.2}; \
         processor {:.2} ms, least {:.2}; bare {bare:.2} ms, least {:.2}",
        ms(batches[rounds / 2].0),
        ms(batches[0].0),
        ms(batches[rounds / 2].1),
        ms(least),
        ms(bares[0]),
    );
}

struct Work {
    kept: PathBuf,
    live: PathBuf,
    senders: Vec<Address>,
    messages: Vec<(usize, [u8; 16], Vec<u8>)>,
    states: Vec<Vec<u8>>,
}

impl Work {
    fn new(dir: &Path, messages: usize, people: usize) -> Self {
        fs::create_dir_all(dir).unwrap();
        let (kept, live) = (dir.join("kept"), dir.join("live"));
        let mut reader = party(&kept, 1);
        let mut people: Vec<_> = (0..people)
            .map(|n| party(&dir.join(format!("p{n}")), u8::try_from(n).unwrap() + 2))
            .collect();
        let mut senders = Vec::new();
        for person in &mut people {
            let bundles = reader.transaction(|t| t.one_time_bundles(1, 7)).unwrap();
            person.transaction(|t| t.begin_session(reader.address(), &bundles[0])).unwrap();
            let hello = person.encrypt(reader.address(), b"hello").unwrap();
            let hello = Envelope::from_device(b"hello", person.address(), &hello.body);
            reader.transaction(|t| t.decrypt(&hello)).unwrap();
            let answer = reader.encrypt(person.address(), b"answer").unwrap();
            let answer = Envelope::from_device(b"answer", reader.address(), &answer.body);
            person.transaction(|t| t.decrypt(&answer)).unwrap();
            senders.push(person.address());
        }
        // The first message of the new chain causes a ratchet step, which the backlog does not
        // measure.
        let count = people.len();
        let mut bodies: Vec<Vec<Vec<u8>>> = people
            .iter_mut()
            .map(|person| {
                let to = reader.address();
                let own = messages.div_ceil(count) + 1;
                let numbers: Result<Vec<u64>, SendError> =
                    person.transaction(|t| (0..own).map(|_| t.encrypt(to, &[7; 100])).collect());
                let first = numbers.unwrap()[0] - 1;
                let rows = person.outbox().pending(first, own).unwrap();
                rows.into_iter().map(|it| it.body).rev().collect()
            })
            .collect();
        for (from, sender) in senders.iter().enumerate() {
            let body = bodies[from].pop().unwrap();
            let first = Envelope::from_device(b"first", *sender, &body);
            reader.transaction(|t| t.decrypt(&first)).unwrap();
        }
        let messages = (0..messages)
            .map(|n| {
                let mut id = [0; 16];
                id[..8]
                    .copy_from_slice(&(n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
                (n % count, id, bodies[n % count].pop().unwrap())
            })
            .collect();
        let states = {
            let store = reader.store();
            let transaction = store.read().unwrap();
            senders
                .iter()
                .map(|it| {
                    let address = transaction
                        .find_address(it.identity.as_bytes(), it.device.number())
                        .unwrap()
                        .unwrap();
                    transaction.sessions_of(address).unwrap()[0].state.to_vec()
                })
                .collect()
        };
        reader.into_store().close().unwrap();
        Self { kept, live, senders, messages, states }
    }

    fn bare(&self) -> Duration {
        let mut ratchets: Vec<_> =
            self.states.iter().map(|it| OlmRatchet::load(it).unwrap()).collect();
        let start = Instant::now();
        for (from, _, body) in &self.messages {
            let body = Message::parse(body).unwrap().ratchet_body().unwrap();
            black_box(ratchets[*from].open(body).unwrap());
        }
        start.elapsed()
    }

    fn run(&self, options: &BatchOptions, rounds: usize) -> (Duration, Duration) {
        let (mut times, mut settles) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let (time, settle, _) = self.round(options);
            times.push(time);
            settles.push(settle);
        }
        times.sort();
        settles.sort();
        (times[rounds / 2], settles[rounds / 2])
    }

    /// Returns the time of the batch, of [`Engine::settle`] after it, and the CPU time of the batch
    /// on this thread.
    fn round(&self, options: &BatchOptions) -> (Duration, Duration, Duration) {
        let envelopes: Vec<_> = self
            .messages
            .iter()
            .map(|(from, id, body)| Envelope::from_device(id, self.senders[*from], body))
            .collect();
        let _ = fs::remove_dir_all(&self.live);
        fs::create_dir_all(&self.live).unwrap();
        for entry in fs::read_dir(&self.kept).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), self.live.join(entry.file_name())).unwrap();
        }
        let store = Store::open(&self.live, Unlock::None, OpenOptions::new()).unwrap();
        let mut engine = Engine::<endseal_session::olm::OlmAccount>::open(store).unwrap();
        let (start, used) = (Instant::now(), processor());
        let report = engine.decrypt_batch(&envelopes, options).unwrap();
        let (time, used) = (start.elapsed(), processor() - used);
        assert!(report.outcomes.iter().all(endseal_session::Outcome::is_kept));
        let start = Instant::now();
        engine.settle().unwrap();
        (time, start.elapsed(), used)
    }
}

/// Returns the CPU time of this thread; zero if the kernel does not report it.
fn processor() -> Duration {
    let told = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(told.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0))
}

fn party(dir: &Path, identity: u8) -> Engine {
    let store = Store::create(dir, Protection::None, &mut OsRandom).unwrap();
    let signing = SigningKey::from_seed(Seed::from_bytes(&[identity; 32]));
    let new = NewDevice {
        identity: &signing,
        device: DeviceId::new(1).unwrap(),
        peer_id: PeerId::from_bytes(&[identity; 32]),
        now: 1_790_000_000_000,
    };
    Engine::create(store, new, &mut OsRandom).unwrap()
}

fn fsync(base: &Path) -> Duration {
    use std::io::Write as _;
    let mut file = fs::File::create(base.join("fsync")).unwrap();
    file.write_all(&[0; 4_096]).unwrap();
    file.sync_data().unwrap();
    file.write_all(&[1; 4_096]).unwrap();
    let start = Instant::now();
    file.sync_data().unwrap();
    start.elapsed()
}

fn median(run: impl Fn() -> Duration) -> Duration {
    let mut times: Vec<_> = (0..ROUNDS).map(|_| run()).collect();
    times.sort();
    times[ROUNDS / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
