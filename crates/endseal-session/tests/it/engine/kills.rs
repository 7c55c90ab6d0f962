//! Processes that are killed at random moments. Acknowledged messages must be in the store, and
//! every message must be there once.

use core::time::Duration;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::thread;
use std::time::Instant;

use endseal_session::Durability;
use endseal_testing::SplitMix64;

use super::worker::{Said, Work};
use super::world::{Mail, World};

const SIGKILL: i32 = 9;

#[test]
fn kills_lose_nothing_and_deliver_nothing_twice() {
    kill(30, 1);
}

#[test]
#[ignore = "nightly: minutes; docs/design/session-faults.md says how it went"]
fn ten_thousand_kills_lose_nothing_and_deliver_nothing_twice() {
    let kills = std::env::var("ENDSEAL_TEST_KILLS").map_or(10_000, |it| it.parse().unwrap());
    let start = Instant::now();
    let mut done = 0;
    // A new store after some kills, because it is checked completely after each one.
    for seed in 0.. {
        if done >= kills {
            break;
        }
        done += kill(250.min(kills - done), seed);
        println!("{done} kills, {:?}", start.elapsed());
    }
}

/// Kills workers `kills` times, with one store.
fn kill(kills: usize, seed: u64) -> usize {
    let mut random = SplitMix64::new(seed);
    let mut world = World::new(seed);
    let (mut killed, mut rounds, mut messages) = (0, 0, 0);
    let mut left: BTreeMap<u64, [u8; 32]> = BTreeMap::new();
    while killed < kills {
        let mails = world.mails(20 + random.below(60));
        let folder = world.reader.place.path().to_owned();
        let backlog = folder.join("backlog");
        Mail::write(&mails, &backlog);
        world.reader.engine = None;
        rounds += 1;
        messages += mails.len();
        loop {
            let before = Said::read(&folder);
            let work = Work {
                folder: &folder,
                backlog: &backlog,
                // Some acknowledged messages are delivered again.
                from: before.done.saturating_sub(random.below(10)),
                chunk: 1 + random.below(9),
                threads: 1 + random.below(3),
                sends: true,
                durability: Durability::EachCommit,
            };
            let mut child =
                work.command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let target = before.lines + random.below(14);
            let pause = Duration::from_micros(random.next() % 2_500);
            let timeout = Instant::now();
            let mut status = None;
            while Said::read(&folder).lines < target && status.is_none() {
                assert!(timeout.elapsed() < Duration::from_secs(60), "a worker hangs: {seed}");
                thread::sleep(Duration::from_micros(300));
                status = child.try_wait().unwrap();
            }
            thread::sleep(pause);
            // A process that has ended already is not affected.
            child.kill().unwrap();
            let status = child.wait().unwrap();
            match status.signal() {
                Some(signal) => {
                    assert_eq!(signal, SIGKILL);
                    killed += 1;
                }
                None => assert!(status.success(), "{status:?}, seed {seed}"),
            }
            let said = Said::read(&folder);
            for (number, digest) in said.left {
                let known = left.insert(number, digest);
                assert!(known.is_none_or(|it| it == digest), "{number} was two messages: {seed}");
            }
            if said.ended {
                break;
            }
        }
        fs::remove_file(folder.join("ack")).unwrap();
        world.reader.restart();
        world.settle();
    }
    // Ciphertexts that were reported as sent are in the outbox with the same bytes.
    let pending = world.reader.engine().outbox().pending(0, usize::MAX >> 1).unwrap();
    let pending: BTreeMap<_, _> =
        pending.into_iter().map(|it| (it.number, super::party::blake(&it.body))).collect();
    for (number, digest) in &left {
        assert_eq!(pending.get(number), Some(digest), "{seed}");
    }
    assert_eq!(world.reader.engine().store().check(endseal_store::Depth::ReadData).unwrap(), []);
    println!(
        "{killed} kills in {rounds} rounds, {messages} messages, {} left, seed {seed}",
        pending.len()
    );
    killed
}
