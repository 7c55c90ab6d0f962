//! A signer that is killed at random moments, compared with the answers that its app has received.
//!
//! `ENDSEAL_KILLS` is the number of kills. The nightly run uses 100.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Instant;

use endseal_nostr::event::Event;
use endseal_testing::{Scratch, SplitMix64};
use serde_json::{Value, json};

use crate::nostr_app::{App, World};
use crate::signer::Owner;
use crate::signer_running::{Running, ask, waiting};

/// Limit on the requests without an answer.
const IN_FLIGHT: usize = 8;
/// Times that an app sends a request, because relays may lose it.
const TRIES: u32 = 10;
/// Time after which a request is sent again.
const AGAIN: Duration = Duration::from_secs(3);
/// Longest life of a signer after its first answer.
const LIFE: u64 = 120;

/// The requests of an app and their answers.
struct Ledger {
    /// Parameters of the requests without an answer, by id.
    open: BTreeMap<String, Value>,
    /// Answers by id of the request.
    answered: BTreeMap<String, Value>,
    next: u32,
}

impl Ledger {
    fn content(id: &str) -> Value {
        let event = json!({"kind": 1, "content": id, "tags": [], "created_at": 1_700_000_000});
        json!([event.to_string()])
    }

    /// Sends new requests up to the limit.
    fn fill(&mut self, app: &mut App<'_>) {
        while self.open.len() < IN_FLIGHT {
            self.next += 1;
            // The ids sort in the order of their numbers.
            let id = format!("k{:09}", self.next);
            let params = Self::content(&id);
            app.start_as(&id, "sign_event", &params);
            self.open.insert(id, params);
        }
    }

    /// Takes the answers that arrive within `timeout`. Returns their number.
    fn take(&mut self, app: &mut App<'_>, timeout: Duration) -> usize {
        let answers = app.take_answers(timeout);
        let count = answers.len();
        for answer in answers {
            let id = answer["id"].as_str().unwrap().to_owned();
            // This is the second answer to a prompt that was sent again.
            if !id.starts_with('k') {
                continue;
            }
            assert!(answer["result"].is_string(), "{answer}");
            self.open.remove(&id);
            // Each repetition of a request has the same answer.
            let before = self.answered.entry(id).or_insert_with(|| answer.clone());
            assert_eq!(*before, answer);
        }
        count
    }
}

/// Makes a request that the user approves, and returns its parameters.
fn approved(app: &mut App<'_>, owner: &Owner<'_>, id: &str) -> Value {
    let event = json!({"kind": 2, "content": id, "tags": [], "created_at": 1});
    let params = json!([event.to_string()]);
    app.start_as(id, "sign_event", &params);
    let number = waiting(owner)[0]["id"].to_string();
    ask(owner, &["approve", &number]).ok();
    assert!(app.answer(id)["result"].is_string());
    params
}

fn signed_id(answer: &Value) -> String {
    let event = Event::parse(answer["result"].as_str().unwrap().as_bytes()).unwrap();
    event.verify().unwrap();
    event.id.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_kill_loses_nothing_that_was_answered_and_counts_nothing_twice() {
    kill(2);
}

#[test]
#[ignore = "nightly: each of a hundred kills takes a second"]
fn a_hundred_kills_lose_nothing_that_was_answered_and_count_nothing_twice() {
    kill(std::env::var("ENDSEAL_KILLS").map_or(100, |it| it.parse().unwrap()));
}

fn kill(kills: u64) {
    let mut random = SplitMix64::new(kills);
    let (scratch, world) = (Scratch::new(), World::new());
    let alice = Owner::new(&scratch, &world.url());
    let uri = alice.run(&["invite", "mail", "--ask", "sign:2"]).ok().text().trim().to_owned();
    alice.run(&["grant", "mail", "--allow", "sign:1", "--count", "4000000"]).ok();

    let mut signer = Running::start(&alice, &[]);
    let mut app = App::of_bunker(&world, &uri);
    let mut ledger = Ledger { open: BTreeMap::new(), answered: BTreeMap::new(), next: 0 };
    let mut prompt = Value::Null;
    for kill in 0..kills {
        // A decision is remembered for ten minutes.
        let prompt_id = format!("p{}", kill / 100);
        if kill % 100 == 0 {
            prompt = approved(&mut app, &alice, &prompt_id);
        }
        ledger.fill(&mut app);
        while ledger.take(&mut app, Duration::from_secs(30)) == 0 {}
        let life = Duration::from_millis(random.below(LIFE));
        let end = Instant::now() + life;
        while Instant::now() < end {
            ledger.fill(&mut app);
            ledger.take(&mut app, Duration::from_millis(1));
        }
        drop(signer);
        thread::sleep(Duration::from_millis(5));
        ledger.take(&mut app, Duration::from_millis(1));
        signer = Running::start(&alice, &[]);
        // Every request without an answer is sent again, and some of those with an answer.
        for (id, params) in &ledger.open {
            app.start_as(id, "sign_event", params);
        }
        // The latest ones only: after ten minutes a repetition is a new request.
        let repeated: Vec<String> = ledger.answered.keys().rev().take(3).cloned().collect();
        for id in &repeated {
            app.start_as(id, "sign_event", &Ledger::content(id));
        }
        // The user's decision is kept: there is an answer, and nothing waits.
        let answer = (0..TRIES).find_map(|_| {
            app.start_as(&prompt_id, "sign_event", &prompt);
            app.answer_within(&prompt_id, AGAIN)
        });
        assert!(answer.is_some_and(|it| it["result"].is_string()), "kill {kill}");
        let waits = ask(&alice, &["--json", "waiting"]).ok().json();
        assert_eq!(waits["waiting"].as_array().unwrap().len(), 0);
        // A request that no relay forwarded is lost, as in practice.
        let mut tries = TRIES;
        while !ledger.open.is_empty() {
            if ledger.take(&mut app, AGAIN) == 0 {
                assert!(tries > 0, "kill {kill}: {:?}", ledger.open.keys().collect::<Vec<_>>());
                tries -= 1;
                for (id, params) in &ledger.open {
                    app.start_as(id, "sign_event", params);
                }
            }
        }
    }
    drop(signer);

    // Each request has one log line and one use, and each signature has one log line.
    let mut lines = BTreeMap::new();
    let log = alice.run(&["--json", "log"]).ok();
    for line in log.text().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if line["verdict"] == "allowed" && line["kind"] == 1 {
            *lines.entry(line["signed"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        }
    }
    let ids: BTreeSet<String> = ledger.answered.values().map(signed_id).collect();
    assert_eq!(ids.len(), ledger.answered.len());
    let lost: Vec<_> = ids.iter().filter(|id| !lines.contains_key(*id)).collect();
    let twice: Vec<_> = lines.iter().filter(|(_, count)| **count != 1).collect();
    assert!(lost.is_empty() && twice.is_empty(), "lost {lost:?}, twice {twice:?}");
    assert_eq!(lines.len(), ids.len());
    let apps = alice.json(&["apps"]);
    let rules = apps["apps"][0]["rules"].as_array().unwrap();
    let used = rules.iter().find(|it| it["effect"] == "allow").unwrap()["used"].as_u64();
    assert_eq!(used, Some(ids.len() as u64));
    alice.run(&["log", "--verify"]).ok();
}
