//! Statements of the data files that have been wrong before.

use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

const SUITES: [&str; 7] = ["envelope", "codec", "transport", "s3", "nostr", "sessions", "node"];

/// Goals of the project: suite, expression, and the bound. A goal of the data may be stricter and
/// not weaker.
const TARGETS: &[(&str, &str, Bound)] = &[
    ("envelope", "endseal-hybrid:seal[members=100 bytes=1K].than(seed-noble)", AtLeast(100.0)),
    ("envelope", "endseal-hybrid:seal[members=100 bytes=1K].than(seed-noble-bun)", AtLeast(30.0)),
    ("envelope", "endseal-hybrid:seal[members=100 bytes=1K].than(age-hybrid)", AtLeast(1.0)),
    ("envelope", "endseal-hybrid:seal[members=100 bytes=1K].than(hpke-xwing)", AtLeast(1.0)),
    ("envelope", "seal[members=100 bytes=1K].than(seed-noble)", AtLeast(300.0)),
    ("envelope", "seal[members=100 bytes=1K].than(seed-noble-bun)", AtLeast(100.0)),
    ("envelope", "seal[members=1000 bytes=1K].than(seed-noble-bun)", AtLeast(100.0)),
    ("envelope", "seal[members=10 bytes=1K].time", AtMost(0.06e6)),
    ("envelope", "seal[members=25 bytes=1K].time", AtMost(0.10e6)),
    ("envelope", "seal[members=50 bytes=1K].time", AtMost(0.15e6)),
    ("envelope", "seal[members=100 bytes=1K].time", AtMost(0.27e6)),
    ("envelope", "seal[members=1000 bytes=1K].time", AtMost(2.5e6)),
    ("envelope", "seal[members=10000 bytes=1K].time", AtMost(26e6)),
    ("envelope", "open_view[members=100000 bytes=1K].time", AtMost(50e3)),
    ("envelope", "16777216B / seal[members=3 bytes=16M].time", AtLeast(15.0)),
    ("transport", "wire_size[bytes=8K].size / 8192B", AtMost(1.034)),
    ("transport", "message_size[bytes=8K].size", AtMost(8472.0)),
    (
        "transport",
        "1 - ( message_size[bytes=8K].size / quinn-json-base64:message_size[bytes=8K].size )",
        AtLeast(0.514),
    ),
    ("nostr", "mcu[isa=1 bytes=1K].instructions", AtMost(190_000.0)),
    ("nostr", "mcu[isa=1 bytes=16].instructions", AtMost(62_000.0)),
    ("nostr", "mcu[isa=2 bytes=1K].instructions", AtMost(190_000.0)),
    ("nostr", "mcu[isa=2 bytes=16].instructions", AtMost(62_000.0)),
    ("nostr", "mcu[isa=3 bytes=16].derived_rate", AtLeast(3_000.0)),
    ("nostr", "mcu[isa=3 bytes=16].derived_rate * 2", AtLeast(3_000.0)),
    ("nostr", "mcu[isa=3 bytes=1K].derived_rate", AtLeast(50_000.0)),
    ("nostr", "mcu[isa=3 bytes=16].aes_rate", AtLeast(10_000.0)),
    ("node", "letter[bytes=1K members=100 round_trip_ms=0].up", AtMost(1500.0)),
    ("node", "letter[bytes=1K members=100 round_trip_ms=0].down", AtMost(1600.0)),
    (
        "s3",
        "multipart[bytes=15M part=5M streams=3 down=0 backend=1].than(pass-through)",
        AtLeast(0.8),
    ),
];

#[derive(Clone, Copy, Debug)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}
use Bound::{AtLeast, AtMost};

/// Returns the root of the checkout: the closest folder above this package that has the committed
/// runs.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = package.ancestors().find(|it| it.join("docs/bench").is_dir());
    found.expect("a checkout").to_owned()
}

fn text(suite: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("data/{suite}.toml"));
    fs::read_to_string(path).unwrap()
}

fn data(suite: &str) -> Table {
    text(suite).parse().unwrap()
}

fn goals(suite: &str) -> Vec<Table> {
    let goals = data(suite)["goal"].as_array().unwrap().clone();
    goals.into_iter().map(|goal| goal.as_table().unwrap().clone()).collect()
}

fn number(value: Option<&Value>) -> Option<f64> {
    value.and_then(|it| it.as_float().or_else(|| it.as_integer().map(|it| it as f64)))
}

#[test]
fn no_goal_of_the_data_is_weaker_than_a_target() {
    for (suite, expression, bound) in TARGETS {
        let goals = goals(suite);
        let found = goals.iter().find(|goal| goal["value"].as_str() == Some(expression));
        let goal = found.unwrap_or_else(|| panic!("{suite} has no goal for {expression}"));
        let holds = match bound {
            AtLeast(least) => number(goal.get("at_least")).is_some_and(|it| it >= *least),
            AtMost(most) => number(goal.get("at_most")).is_some_and(|it| it <= *most),
        };
        assert!(holds, "{suite}: {expression}: {bound:?}");
    }
}

/// A goal for a chip is judged by the firmware's instructions, and never by the speed of this
/// machine.
#[test]
fn goals_of_a_chip_are_about_its_instructions() {
    let chips = ["ESP32", "nRF52", "RV32", "Cortex", "Xtensa", "MHz"];
    for goal in goals("nostr") {
        let [what, value] = ["what", "value"].map(|key| goal[key].as_str().unwrap().to_owned());
        let note = goal.get("note").and_then(Value::as_str).unwrap_or_default();
        let of_a_chip = chips.iter().any(|chip| what.contains(chip) || note.contains(chip));
        assert_eq!(of_a_chip, value.contains("mcu["), "{what}: {value}");
    }
}

#[test]
fn the_server_of_the_product_knows_who_is_in_a_group() {
    let envelope = data("envelope");
    let cell = |row: &str| {
        let tables = envelope["section"].as_array().unwrap().iter();
        let tables = tables.flat_map(|it| it.get("table").and_then(Value::as_array)).flatten();
        let rows = tables.flat_map(|it| it.get("rows").and_then(Value::as_array)).flatten();
        let mut found = rows.filter(|it| it.get("name").and_then(Value::as_str) == Some(row));
        found.next().unwrap()["ours"].as_str().unwrap().to_owned()
    };
    assert!(cell("Server knows group membership").starts_with("yes"));
    assert!(cell("Setup time").contains("roster"));
}

#[test]
fn a_sealed_message_is_not_called_post_quantum() {
    let text = text("transport");
    let row = text.lines().find(|line| line.contains("name = \"Post-quantum\"")).unwrap();
    assert!(row.contains("classical for the message"), "{row}");
}

#[test]
fn published_scenarios_have_their_names() {
    let text = text("sessions");
    assert!(!text.contains("from 5 conversations") && !text.contains("from 6 conversations"));
    assert!(text.contains("1000 messages across 5 conversations"));
    assert!(!text.contains("and so is this one's"));
}

/// If a text says "`subject`, by `--peers name`", the peer's folder must have that subject.
#[test]
fn a_peer_that_is_named_for_a_subject_has_it() {
    let mut named = 0;
    for suite in SUITES {
        let text = text(suite).replace("\\\n", "");
        for (before, after) in text
            .match_indices("`, by `--peers ")
            .map(|(at, found)| (&text[..at], &text[at + found.len()..]))
        {
            let subject = before.rsplit('`').next().unwrap();
            let peer = after.split('`').next().unwrap();
            let folder = match peer {
                "iroh" => "rust-iroh".into(),
                "bun" => "node".into(),
                peer => root().join("peers").join(peer),
            };
            assert!(mentions(&folder, subject), "{suite}: {subject} by {peer}");
            named += 1;
        }
    }
    assert!(named >= 3, "{named}");
}

fn mentions(path: &Path, word: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if path.is_dir() {
        let skipped = ["node_modules", "target"].contains(&&*name);
        return !skipped
            && fs::read_dir(path).unwrap().any(|it| mentions(&it.unwrap().path(), word));
    }
    let is_code = [".rs", ".mjs", ".java", ".go"].iter().any(|it| name.ends_with(it));
    is_code
        && fs::read_to_string(path).is_ok_and(|text| {
            ['"', '\'', '`'].iter().any(|quote| text.contains(&format!("{quote}{word}{quote}")))
        })
}

/// Largest size in bytes of all files of a committed run.
const MOST_BYTES: u64 = 600_000;

/// The table of committed runs must name the suites and the peers that a record does not have.
#[test]
fn a_committed_run_is_described_as_it_is() {
    let bench = root().join("docs/bench");
    let text = fs::read_to_string(bench.join("README.md")).unwrap();
    for folder in fs::read_dir(&bench).unwrap().map(|it| it.unwrap().path()) {
        let Some(record) = record_in(&folder) else { continue };
        let files = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().metadata().unwrap().len());
        let bytes: u64 = files.sum();
        assert!(bytes <= MOST_BYTES, "{}: {bytes} bytes", folder.display());
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let line = text.lines().find(|line| line.starts_with(&format!("| [{name}]"))).unwrap();
        let cells: Vec<&str> = line.split(" | ").collect();
        for suite in SUITES {
            let measured = record.rows.iter().any(|row| row.suite == suite);
            let quoted = format!("`{suite}`");
            assert_eq!(cells[1].contains(&quoted), measured, "{suite}: {line}");
            assert_eq!(cells[3].contains(&quoted), !measured, "{suite}: {line}");
        }
        for peer in endseal_bench::peers::PEERS {
            let asked = record.arguments.peers.iter().any(|it| it == peer.name);
            let quoted = format!("`{}`", peer.name);
            assert_eq!(cells[2].contains(&quoted), asked, "{}: {line}", peer.name);
        }
    }
}

fn record_in(folder: &Path) -> Option<endseal_bench::record::Record> {
    let path = folder.join("run.json.gz");
    path.is_file().then(|| endseal_bench::record::read_record_file(&path).unwrap())
}
