//! Heap that hostile messages and frames cost: at most twice their size and 4 KB. This is a program
//! of its own, because its global allocator counts for the whole program.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::cast_possible_truncation, reason = "random bits are cut to what is needed")]
#![allow(clippy::std_instead_of_alloc, reason = "tests run where there is an operating system")]

// The codec's own random messages and mutants.
#[allow(dead_code, reason = "not all of it is needed here")]
#[path = "../../crates/endseal-codec/tests/it/random.rs"]
mod random;

use std::fs;
use std::path::Path;

use endseal_bench::allocation::{Allocations, CountingAllocator, measure};
use endseal_codec::frame::{Kind, LiveHeader, LiveReader, StoredFrame};
use endseal_codec::{Codec, Limits, Message, SealedMessage};
use random::Random;
use serde_json::Value;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// Number of seeded mutants of each golden message and frame.
const MUTANTS: usize = 100_000;
const SPARE: usize = 4_096;

/// Returns the valid vectors of a folder: their fields, and their bytes.
fn golden(folder: &str) -> Vec<(Value, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors").join(folder);
    let mut paths: Vec<_> =
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let vectors = paths.iter().map(|path| {
        let vector: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let digits = vector["hex"].as_str().unwrap().to_owned();
        let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        let bytes = (0..digits.len()).step_by(2).map(byte).collect();
        (vector, bytes)
    });
    vectors.filter(|(vector, _)| vector["expect"] == "ok").collect()
}

/// Counts the allocations of `read`, whether it succeeds or fails.
fn cost(read: impl FnOnce()) -> Allocations {
    measure(read)
}

// One test, because the counters belong to the whole program.
#[test]
fn hostile_input_costs_at_most_twice_its_size_in_heap() {
    counting_is_on();
    messages();
    densest_messages();
    live_frames();
    stored_frames();
}

fn counting_is_on() {
    let counted = cost(|| drop(core::hint::black_box(vec![1_u8; 1_000])));
    assert_eq!((counted.calls, counted.peak), (1, 1_000));
}

fn messages() {
    let mut random = Random::new(8);
    let golden = golden("codec");
    assert!(golden.len() >= 30);
    let limits = Limits::default();
    for (vector, bytes) in &golden {
        for _ in 0..MUTANTS {
            let (_, other) = &golden[random.below(golden.len() as u64) as usize];
            let mutant = random.mutant(bytes, &other[..other.len().min(400)]);
            let (owned, borrowed) = if vector["message"] == "Message" {
                both::<Message>(&mutant, limits)
            } else {
                both::<SealedMessage>(&mutant, limits)
            };
            let bound = 2 * mutant.len() + SPARE;
            assert!(owned.peak <= bound, "{} for {} bytes", owned.peak, mutant.len());
            assert_eq!(borrowed.calls, 0, "a view allocates nothing");
        }
    }
}

fn both<M: Codec>(bytes: &[u8], limits: Limits) -> (Allocations, Allocations) {
    let owned = cost(|| drop(M::decode(bytes, limits)));
    let borrowed = cost(|| {
        let _view = M::view(bytes, limits);
    });
    (owned, borrowed)
}

/// Returns messages with as many of the smallest elements as are allowed: each kind alone, and all
/// together.
fn densest_messages() {
    let element = |tag: u8, content: &[u8], count: usize| {
        [&[tag, content.len() as u8][..], content].concat().repeat(count)
    };
    let reference = [&[0x0a, 1, b'a', 0x2a, 37, 0x0a, 32][..], &[7; 32], &[0x12, 1, b'l']].concat();
    let reaction = [&[0x0a, 32][..], &[7; 32], &[0x12, 1, b'e']].concat();
    let mention = [&[0x0a, 32][..], &[7; 32]].concat();
    let entries: Vec<u8> = (0..32).flat_map(|i| element(0x62, &[0x0a, 1, b'0' + i], 1)).collect();
    let lists = [
        element(0x3a, &[0x0a, 1, b'a', 0x22, 0], 32),
        element(0x3a, &reference, 32),
        element(0x42, &reaction, 256),
        element(0x4a, &mention, 256),
        element(0x5a, &[0x12, 0], 32),
        entries,
    ];
    let all = [&lists[0][..], &lists[2], &lists[3], &lists[4], &lists[5]].concat();
    for list in lists.iter().chain([&all]) {
        let front = [&[0x0a, 16][..], &[1; 16], &[0x12, 1, b'c', 0x1a, 32], &[3; 32]].concat();
        let content = [&front[..], list].concat();
        let mut bytes = vec![0x0a];
        let mut len = content.len();
        while len >= 0x80 {
            bytes.push(len as u8 | 0x80);
            len >>= 7;
        }
        bytes.push(len as u8);
        bytes.extend_from_slice(&content);
        let mut read = Err(endseal_codec::DecodeError::Limit);
        let cost = cost(|| read = Message::decode(&bytes, Limits::default()));
        assert!(read.is_ok(), "{read:?}");
        let bound = 2 * bytes.len() + SPARE;
        assert!(cost.peak <= bound, "{} for {} bytes", cost.peak, bytes.len());
    }
}

fn live_frames() {
    let mut random = Random::new(9);
    let limits = Limits::default();
    for (_, bytes) in golden("frame").iter().filter(|(vector, _)| vector["form"] == "live") {
        for _ in 0..MUTANTS {
            let mutant = random.mutant(bytes, bytes);
            let size = 1 + random.below(40) as usize;
            let cost = cost(|| {
                let mut reader = LiveReader::new(limits);
                for mut piece in mutant.chunks(size) {
                    while let Ok(Some(_)) = reader.next(&mut piece) {}
                }
            });
            assert!(cost.peak <= 2 * mutant.len() + SPARE);
        }
    }
    // The header announces a megabyte, but only one byte of it follows.
    let header = LiveHeader::new(Kind::Data, 1 << 20, 0, limits).unwrap();
    let mut out = [0; LiveHeader::MAX_LEN];
    let len = header.write(&mut out);
    let cost = cost(|| {
        let mut reader = LiveReader::new(limits);
        let pieces: [&[u8]; 2] = [&out[..len], b"x"];
        for mut piece in pieces {
            assert!(matches!(reader.next(&mut piece), Ok(None)));
        }
    });
    assert!(cost.peak <= SPARE, "{} bytes for a promise", cost.peak);
}

fn stored_frames() {
    let mut random = Random::new(10);
    let golden = golden("frame");
    for (_, bytes) in golden.iter().filter(|(vector, _)| vector["form"] == "stored") {
        for _ in 0..MUTANTS {
            let mutant = random.mutant(bytes, bytes);
            let cost = cost(|| {
                let frame = StoredFrame::parse(&mutant, Limits::default());
                // Frames are also verified, because a signer may be hostile too.
                if let Ok(frame) = frame.and_then(|frame| frame.verify_with(|_, _| true)) {
                    drop(frame.message::<Message>(Limits::default()));
                }
            });
            assert!(cost.peak <= 2 * mutant.len() + SPARE);
        }
    }
}
