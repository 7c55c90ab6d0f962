//! A made-up run with the shape of a real one: figures like those of research, peers that lack a
//! case, one that failed, one that is better than ours somewhere.

use endseal_bench::record::Record;
use serde_json::{Value, json};

/// Subject, ns for each member, fixed ns, ns to open, bytes a member, fixed bytes, properties.
type Model = (&'static str, f64, f64, f64, u64, u64, &'static [&'static str]);

const OURS: &[&str] = &[
    "confidential",
    "authenticated",
    "sender",
    "insider",
    "sender-hidden",
    "recipients-hidden",
    "committing",
];
const SEALED: &[&str] = &["confidential", "authenticated"];
const HYBRID: &[&str] = &[
    "confidential",
    "authenticated",
    "sender",
    "insider",
    "sender-hidden",
    "recipients-hidden",
    "committing",
    "post-quantum",
];

const MODELS: &[Model] = &[
    ("endseal", 2_380.0, 19_000.0, 46_000.0, 36, 1_300, OURS),
    ("endseal-compact", 2_360.0, 19_000.0, 46_100.0, 20, 1_300, OURS),
    ("endseal-hybrid", 15_200.0, 21_000.0, 61_000.0, 1_124, 1_310, HYBRID),
    ("endseal-portable", 19_900.0, 14_000.0, 46_050.0, 36, 1_300, OURS),
    ("seed-noble", 866_000.0, 900_000.0, 860_000.0, 143, 1_487, SEALED),
    ("seed-node-crypto", 230_000.0, 310_000.0, 470_000.0, 143, 1_487, SEALED),
    (
        "libsignal",
        101_000.0,
        20_000.0,
        144_000.0,
        68,
        1_370,
        &["confidential", "authenticated", "sender", "sender-hidden"],
    ),
    ("libsodium", 69_500.0, 5_000.0, 38_000.0, 80, 1_100, SEALED),
    (
        "age",
        52_500.0,
        30_000.0,
        190_000.0,
        98,
        1_250,
        &["confidential", "authenticated", "recipients-hidden"],
    ),
    ("hpke", 63_000.0, 2_000.0, 64_000.0, 80, 1_060, SEALED),
    ("straight", 24_300.0, 3_000.0, 21_400.0, 60, 1_090, SEALED),
];

/// Group sizes of a run.
pub(crate) const MEMBERS: [u64; 7] = [5, 10, 25, 50, 100, 1_000, 10_000];

fn row(case: &str, params: Value, subject: &str, metric: &str, median: f64) -> Value {
    let unit = match metric {
        "time" | "cpu" => "ns",
        "allocations" => "1",
        _ => "B",
    };
    // Whole numbers survive JSON exactly.
    let median = median.round();
    let half = if unit == "ns" { (median * 0.004).round() } else { 0.0 };
    let mut row = json!({"suite": "envelope", "case": case, "params": params, "subject": subject,
                         "metric": metric, "unit": unit, "median": median,
                         "ci95": [median - half, median + half], "n": if half > 0.0 { 41 } else { 1 }});
    if unit == "ns" {
        row["kernel_ns"] = json!(500_000.0);
    }
    row
}

fn ratio(case: &str, params: Value, subject: &str, against: &str, median: f64) -> Value {
    let short = |number: f64| (number * 1e4).round() / 1e4;
    json!({"suite": "envelope", "case": case, "params": params, "subject": subject,
           "against": against, "clock": "wall", "median": short(median),
           "ci95": [short(median * 0.985), short(median * 1.012)]})
}

/// Returns the run as JSON.
pub(crate) fn run() -> Value {
    let (mut rows, mut ratios, mut growth, mut subjects) = (vec![], vec![], vec![], vec![]);
    let ours = MODELS[0];
    for model in MODELS {
        let (name, each, fixed, open, slot, header, properties) = *model;
        subjects.push(json!({
            "subject": name, "about": format!("what {name} is, for people"),
            "runtime": if name.starts_with("seed") { "Node.js 20.20.2" } else { "Rust 1.95.0" },
            "versions": {name: "1.2.3"}, "settings": "https://example.org/settings?a=1",
            "properties": properties,
        }));
        let mut timed = |case: &str, params: Value, ns: f64, our_ns: f64| {
            rows.push(row(case, params.clone(), name, "time", ns));
            rows.push(row(case, params.clone(), name, "cpu", ns * 0.998));
            if name != "endseal" {
                ratios.push(ratio(case, params, "endseal", name, ns / our_ns));
            }
        };
        let cost = |model: &Model, members: u64, bytes: u64| {
            model.2 + model.1 * members as f64 + bytes as f64 * 0.07
        };
        for members in MEMBERS {
            // Cases that take too long for a quick run are missing, as in a real one.
            if members > 1_000 && !name.starts_with("endseal") && each > 60_000.0 {
                continue;
            }
            let params = json!({"members": members, "bytes": 1024});
            let ns = cost(model, members, 1024);
            timed("seal", params.clone(), ns, cost(&ours, members, 1024));
            if name != "endseal-portable" && (name != "age" || members < 1_000) {
                let parse = if name == "seed-noble" { members as f64 * 700.0 } else { 0.0 };
                timed("open", params, open + parse, ours.3);
            }
        }
        for bytes in [10 << 10, 100 << 10] {
            let params = json!({"members": 25, "bytes": bytes});
            timed("seal", params, cost(model, 25, bytes), cost(&ours, 25, bytes));
        }
        if ["endseal", "seed-noble", "straight"].contains(&name) {
            let many = json!({"members": 25, "bytes": 1024, "count": 10});
            let (all, our_all) = (10.0 * cost(model, 25, 1024), 10.0 * cost(&ours, 25, 1024));
            timed("seal_many", many, all, our_all);
            let many = json!({"members": 10, "bytes": 1024, "count": 100});
            timed("open_many", many, open * 100.0, ours.3 * 60.0);
        }
        for members in MEMBERS {
            let params = json!({"members": members, "bytes": 1024});
            rows.push(row("seal", params, name, "size", (header + slot * members) as f64));
        }
        if name.starts_with("endseal") {
            let params = json!({"members": 100, "bytes": 1024});
            rows.push(row("seal", params.clone(), name, "heap-peak", 31_264.0));
            rows.push(row("seal", params, name, "allocations", 7.0));
        }
        growth.push(json!({
            "suite": "envelope", "case": "seal", "parameter": "members",
            "params": {"bytes": 1024}, "subject": name, "fixed_ns": fixed, "per_unit_ns": each,
            "exponent": 0.98, "exponent_ci95": [0.97, 1.0],
        }));
    }
    json!({
        "schema": "endseal-bench/2", "complete": true, "extent": "default",
        "arguments": {
            "suites": ["envelope"], "cases": [], "peers": ["node", "rust"], "subjects": [],
        },
        "environment": {
            "endseal": "0.1.0", "commit": "0123456789ab+", "profile": "release", "x25519": "Ifma",
            "cpu": "AMD EPYC 9R45", "microcode": "0xb002", "cpu_features": ["aes", "vaes"],
            "cpus": 2, "governor": "", "virtual_machine": true, "memory_mib": 15_990,
            "kernel": "Linux version 6.1.0", "rustc": "rustc 1.95.0", "started": 1_763_683_199,
            "seconds": 312, "load": [0.42, 1.1], "steal": 0.001,
        },
        "noise_floors": {"envelope/seal": 0.0031, "envelope/open": 0.0031}, "drift": 0.012,
        "calibrations": [500_000.0, 503_000.0, 506_000.0], "subjects": subjects, "rows": rows,
        "ratios": ratios, "growth": growth,
        "skipped": [
            {"subject": "jwe", "suite": "envelope", "case": "seal", "params": {"members": 5},
             "reason": "failed: what it sealed did not open to the same"},
            {"subject": "peers/node: openpgp", "reason": "not installed; cargo xtask peers node"},
        ],
        "unsupported": [
            {"subject": "age", "suite": "envelope", "case": "open", "reason": "too large",
             "params": {"members": 1_000, "bytes": 1024}},
            {"subject": "age", "suite": "envelope", "case": "open", "reason": "too large",
             "params": {"members": 10_000, "bytes": 1024}},
            {"subject": "hpke", "suite": "envelope", "case": "seal_many", "reason": "no such case",
             "params": {"members": 25, "bytes": 1024, "count": 10}},
        ],
    })
}

/// Parses JSON as a record.
pub(crate) fn record(run: &Value) -> Record {
    serde_json::from_value(run.clone()).unwrap()
}

/// Returns a run without any figure.
pub(crate) fn empty() -> Value {
    let mut run = run();
    for list in ["subjects", "rows", "ratios", "growth", "skipped", "unsupported", "calibrations"] {
        run[list] = json!([]);
    }
    run["noise_floors"] = json!({});
    run["drift"] = Value::Null;
    run
}
