//! Comparison of two runs.

use endseal_bench::compare::{Verdict, compare};
use serde_json::{Value, json};

use crate::fixture::{record, run};

/// Multiplies the first figure of a metric, or all of them.
fn change(run: &mut Value, metric: &str, paths: &[&str], factor: f64, all: bool) {
    let rows = run["rows"].as_array_mut().unwrap().iter_mut();
    for row in rows.filter(|row| row["metric"] == metric).take(if all { 100 } else { 1 }) {
        for path in paths {
            let value = row.pointer_mut(path).unwrap();
            *value = json!(value.as_f64().unwrap() * factor);
        }
    }
}

const FIGURE: [&str; 3] = ["/median", "/ci95/0", "/ci95/1"];

#[test]
fn only_what_exceeds_noise_and_intervals_is_a_difference() {
    for (metric, factor, verdict) in [
        ("time", 1.0, Verdict::NoDifference),
        ("time", 0.5, Verdict::Better),
        ("time", 1.5, Verdict::Worse),
        // The intervals of 0.4 % to each side still touch.
        ("time", 1.006, Verdict::NoDifference),
        ("size", 1.0 + 1.0 / 4900.0, Verdict::Worse),
    ] {
        let mut later = run();
        change(&mut later, metric, &FIGURE, factor, false);
        let comparison = compare(&record(&run()), &record(&later));
        let differing: Vec<_> =
            comparison.rows.iter().filter(|row| row.verdict != Verdict::NoDifference).collect();
        assert_eq!(differing.len(), usize::from(verdict != Verdict::NoDifference), "{factor}");
        for row in differing {
            assert_eq!((row.verdict, row.overlap), (verdict, false));
            assert!((row.ratio / factor - 1.0).abs() < 1e-9);
        }
        assert!(comparison.circumstances.is_empty());
    }
}

#[test]
fn the_speed_and_the_drift_of_the_machine_are_no_difference() {
    let mut slower = run();
    change(&mut slower, "time", &[&FIGURE[..], &["/kernel_ns"]].concat(), 1.3, true);
    assert_eq!(compare(&record(&run()), &record(&slower)).count(Verdict::Worse), 0);
    let (mut first, mut later) = (run(), run());
    (first["drift"], later["drift"]) = (json!(0.1), json!(0.1));
    change(&mut later, "time", &FIGURE, 1.15, false);
    for path in ["/ratios/0/median", "/ratios/0/ci95/0", "/ratios/0/ci95/1"] {
        let value = later.pointer_mut(path).unwrap();
        *value = json!(value.as_f64().unwrap() * 1.15);
    }
    let comparison = compare(&record(&first), &record(&later));
    assert_eq!((comparison.count(Verdict::Worse), comparison.count(Verdict::Better)), (0, 1));
}

#[test]
fn a_large_noise_floor_hides_a_difference_and_none_decides_nothing() {
    let large = json!({"envelope/seal": 0.6, "envelope/open": 0.6});
    for (floors, undecided) in [(large, 0), (json!({}), 1)] {
        let (mut first, mut later) = (run(), run());
        first["noise_floors"] = floors;
        change(&mut later, "time", &FIGURE, 1.5, false);
        let comparison = compare(&record(&first), &record(&later));
        assert_eq!(comparison.count(Verdict::Worse), 0);
        assert_eq!(comparison.count(Verdict::Undecided), undecided);
    }
}

#[test]
fn missing_rows_and_other_machines_are_said() {
    let mut later = run();
    later["rows"].as_array_mut().unwrap().truncate(5);
    later["environment"]["cpu"] = json!("another\u{1b}[2J");
    later["complete"] = json!(false);
    let first = record(&run());
    let comparison = compare(&first, &record(&later));
    assert_eq!(comparison.only_first, first.rows.len() - 5);
    let text = comparison.text();
    assert!(text.contains("CPU: AMD EPYC 9R45 against another"), "{text}");
    assert!(text.contains("second run is incomplete") && !text.contains('\u{1b}'), "{text}");
    let json = serde_json::to_value(&comparison).unwrap();
    assert_eq!(json["rows"][0]["verdict"], "no_difference");
}
