//! A made-up run with figures of two cases, and subjects with other properties and without figures.

use endseal_bench::record::Record;
use serde_json::{Value, json};

/// Subject, ns to seal, ns to open, bytes, properties.
const MODELS: [(&str, f64, f64, f64, &[&str]); 4] = [
    ("endseal", 257_000.0, 46_000.0, 4_900.0, &["confidential", "authenticated", "insider"]),
    ("endseal-hybrid", 1_541_000.0, 61_000.0, 113_710.0, &["post-quantum"]),
    ("seed-noble", 87_500_000.0, 930_000.0, 15_787.0, &["confidential", "authenticated"]),
    ("straight", 2_433_000.0, 21_400.0, 7_090.0, &["confidential", "authenticated"]),
];

/// Returns the run as JSON.
pub(crate) fn run() -> Value {
    let (mut rows, mut ratios, mut subjects) = (vec![], vec![], vec![]);
    for (name, seal, open, bytes, properties) in MODELS {
        subjects.push(json!({
            "subject": name, "about": format!("what {name} is"), "runtime": "Rust 1.95.0",
            "versions": {name: "1.2.3"}, "settings": "", "properties": properties,
        }));
        for (case, ns, ours) in [("seal", seal, MODELS[0].1), ("open", open, MODELS[0].2)] {
            let figure = json!({"suite": "envelope", "case": case, "subject": name,
                                "params": {"members": 100, "bytes": 1024}});
            let with = |more: Value| {
                let mut one = figure.as_object().unwrap().clone();
                one.extend(more.as_object().unwrap().clone());
                Value::Object(one)
            };
            let ci95 = [(ns * 0.996_f64).round(), (ns * 1.004_f64).round()];
            rows.push(with(json!({"metric": "time", "unit": "ns", "median": ns, "ci95": ci95,
                                  "n": 41, "kernel_ns": 500_000.0})));
            if case == "seal" {
                rows.push(with(json!({"metric": "size", "unit": "B", "median": bytes,
                                      "ci95": [bytes, bytes], "n": 1})));
            }
            if name != "endseal" {
                let short = |factor: f64| (ns / ours * factor * 1e4).round() / 1e4;
                let mut ratio = with(json!({"subject": "endseal", "against": name,
                                            "clock": "wall", "median": short(1.0)}));
                ratio["ci95"] = json!([short(0.985), short(1.012)]);
                ratios.push(ratio);
            }
        }
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
        "ratios": ratios,
        "skipped": [{"subject": "peers/node: openpgp", "reason": "not installed"}],
        "unsupported": [],
    })
}

/// Parses JSON as a record.
pub(crate) fn record(run: &Value) -> Record {
    serde_json::from_value(run.clone()).unwrap()
}
