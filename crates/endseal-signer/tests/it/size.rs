//! The greatest state: loaded in reasonable time.

use std::time::Instant;

use endseal_signer::limit::{MAX_APPS, MAX_RULES};
use endseal_signer::{LogEntry, Matter};

use crate::world::{NOW, World, invitation, rule};

#[test]
#[ignore = "half a minute; prints how long it takes"]
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
    let begin = Instant::now();
    let mut signer = world.open();
    println!("{} apps loaded in {:?}", signer.state().apps().len(), begin.elapsed());
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
