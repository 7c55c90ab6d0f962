//! Time and memory that the largest state needs.

use std::fs;
use std::time::Instant;

use endseal_signer::limit::{KEPT_SEEN, MAX_APPS, MAX_EVENTS, MAX_RULES};
use endseal_signer::{LogEntry, LogVerdict, Matter};

use crate::world::{NOW, World, invitation, rule};

#[test]
#[ignore = "nightly: half a minute; prints how long it takes"]
fn the_greatest_state_is_loaded() {
    let (world, mut signer) = World::with_user();
    let mut transaction = signer.begin().unwrap();
    for number in 1..=u32::try_from(MAX_APPS).unwrap() {
        let app = invitation(number);
        let name = app.record_name();
        transaction.add_app(app).unwrap();
        for number in 1..=u32::try_from(MAX_RULES).unwrap() {
            transaction.put_rule(&name, rule(number, 0)).unwrap();
        }
    }
    transaction.commit().unwrap();
    drop(signer);
    let (begin, before) = (Instant::now(), memory());
    let mut signer = world.open();
    let (apps, kib) = (signer.state().apps().len(), memory().saturating_sub(before));
    println!("{apps} apps loaded in {:?}, {kib} KiB", begin.elapsed());
    assert!(kib < MOST_KIB);
    let rules: usize = signer.state().apps().map(|app| app.rules().len()).sum();
    assert_eq!(rules, MAX_APPS * MAX_RULES);

    const LINES: u64 = 100_000;
    let mut transaction = signer.begin().unwrap();
    let begin = Instant::now();
    for _ in 0..LINES {
        transaction.append(LogEntry::new(Matter::Request, NOW)).unwrap();
    }
    transaction.commit().unwrap();
    println!("{LINES} lines appended in {:?}", begin.elapsed());
    let begin = Instant::now();
    assert_eq!(signer.verify_log(None).unwrap().number, LINES);
    println!("{LINES} lines verified in {:?}", begin.elapsed());
}

#[test]
#[ignore = "nightly: half a minute; prints how long it takes"]
fn as_much_as_is_remembered_is_loaded_and_forgotten() {
    let (world, mut signer) = World::with_user();
    let mut transaction = signer.begin().unwrap();
    let id = |number: usize| endseal_crypto::sha256::digest(&number.to_le_bytes());
    for number in 0..MAX_EVENTS {
        transaction.note_event(id(number), NOW, u32::try_from(number).unwrap()).unwrap();
        let mut entry = LogEntry::new(Matter::Request, NOW);
        (entry.app, entry.verdict) = (1, LogVerdict::Allowed);
        (entry.request, entry.carrier, entry.created_at) = (id(number), id(number), NOW);
        transaction.append(entry).unwrap();
    }
    transaction.commit().unwrap();
    drop(signer);
    let (begin, before) = (Instant::now(), memory());
    let mut signer = world.open();
    let kib = memory().saturating_sub(before);
    println!("loaded in {:?}, {kib} KiB", begin.elapsed());
    assert!(kib < MOST_KIB);
    let begin = Instant::now();
    let mut transaction = signer.begin().unwrap();
    assert_eq!(transaction.prune(NOW).unwrap().events, 0);
    println!("nothing pruned in {:?}", begin.elapsed());
    let expired = transaction.prune(NOW + KEPT_SEEN + 1).unwrap();
    assert_eq!((expired.events, expired.requests), (MAX_EVENTS, MAX_EVENTS));
    transaction.commit().unwrap();
    println!("all pruned in {:?}", begin.elapsed());
}

/// Memory that the specification allows (docs/spec/signer.md, "Limits").
const MOST_KIB: u64 = 64 << 10;

/// Returns the memory of this process in KiB.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse().unwrap()
}
