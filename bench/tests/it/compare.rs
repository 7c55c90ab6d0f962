//! Comparison of two runs.

use endseal_bench::compare::{Verdict, compare};
use serde_json::{Value, json};

use crate::fixture::{record, run};

fn change(run: &mut Value, metric: &str, factor: f64) {
    let rows = run["rows"].as_array_mut().unwrap();
    let row = rows.iter_mut().find(|row| row["metric"] == metric).unwrap();
    for path in ["/median", "/ci95/0", "/ci95/1"] {
        let value = row.pointer_mut(path).unwrap();
        *value = json!(value.as_f64().unwrap() * factor);
    }
}

#[test]
fn the_same_run_does_not_differ() {
    let run = record(&run());
    let comparison = compare(&run, &run);
    assert_eq!(comparison.rows.len(), run.rows.len());
    assert_eq!(comparison.ratios.len(), run.ratios.len());
    assert_eq!(comparison.count(Verdict::NoDifference), run.rows.len() + run.ratios.len());
    assert_eq!(comparison.outside().0, 0);
    assert!(comparison.circumstances.is_empty());
    assert!(comparison.text().contains("0 better, 0 worse"));
}

#[test]
fn only_what_exceeds_noise_and_intervals_is_a_difference() {
    for (metric, factor, verdict) in [
        ("time", 0.5, Verdict::Better),
        ("time", 1.5, Verdict::Worse),
        // The intervals of 0.4 % to each side still touch.
        ("time", 1.006, Verdict::NoDifference),
        ("size", 1.0 + 1.0 / 4900.0, Verdict::Worse),
    ] {
        let mut later = run();
        change(&mut later, metric, factor);
        let comparison = compare(&record(&run()), &record(&later));
        let differing: Vec<_> =
            comparison.rows.iter().filter(|row| row.verdict != Verdict::NoDifference).collect();
        match verdict {
            Verdict::NoDifference => assert!(differing.is_empty(), "{differing:?}"),
            verdict => {
                assert_eq!(differing.len(), 1, "{metric} {factor}");
                assert_eq!((differing[0].verdict, differing[0].overlap), (verdict, false));
                assert!((differing[0].change.unwrap() / factor - 1.0).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn the_speed_of_the_machine_is_no_difference() {
    let mut slower = run();
    for row in slower["rows"].as_array_mut().unwrap() {
        if row["unit"] == "ns" {
            for path in ["/median", "/ci95/0", "/ci95/1", "/kernel_ns"] {
                let value = row.pointer_mut(path).unwrap();
                *value = json!(value.as_f64().unwrap() * 1.3);
            }
        }
    }
    let comparison = compare(&record(&run()), &record(&slower));
    let time = &comparison.rows[0];
    assert!((time.change.unwrap() - 1.3).abs() < 1e-9, "the raw change is shown");
    assert!((time.normalised.unwrap() - 1.0).abs() < 1e-9);
    assert_eq!(comparison.outside().0, 0);
    // Without the calibration kernel nothing can be normalised.
    for row in slower["rows"].as_array_mut().unwrap() {
        row.as_object_mut().unwrap().remove("kernel_ns");
    }
    let comparison = compare(&record(&run()), &record(&slower));
    assert_eq!((comparison.rows[0].verdict, comparison.rows[0].normalised), (Verdict::Worse, None));
}

#[test]
fn ratios_are_compared_as_they_are_and_more_is_better() {
    for (factor, verdict) in
        [(1.2, Verdict::Better), (0.8, Verdict::Worse), (1.01, Verdict::NoDifference)]
    {
        let mut later = run();
        for path in ["/ratios/0/median", "/ratios/0/ci95/0", "/ratios/0/ci95/1"] {
            let value = later.pointer_mut(path).unwrap();
            *value = json!(value.as_f64().unwrap() * factor);
        }
        let comparison = compare(&record(&run()), &record(&later));
        assert_eq!(comparison.ratios[0].verdict, verdict, "{factor}");
        let differing = usize::from(verdict != Verdict::NoDifference);
        assert_eq!(comparison.outside().0, differing);
        assert!(comparison.text().contains(&format!("{differing} of ")));
    }
}

#[test]
fn a_drift_allows_times_and_not_ratios() {
    let (mut first, mut later) = (run(), run());
    (first["drift"], later["drift"]) = (json!(0.1), json!(0.1));
    change(&mut later, "time", 1.15);
    for path in ["/ratios/0/median", "/ratios/0/ci95/0", "/ratios/0/ci95/1"] {
        let value = later.pointer_mut(path).unwrap();
        *value = json!(value.as_f64().unwrap() * 1.15);
    }
    let comparison = compare(&record(&first), &record(&later));
    assert_eq!(comparison.rows[0].verdict, Verdict::NoDifference);
    assert_eq!(comparison.ratios[0].verdict, Verdict::Better);
}

#[test]
fn a_large_noise_floor_hides_a_difference_and_none_decides_nothing() {
    let large = json!({"envelope/seal": 0.6, "envelope/open": 0.6});
    for (floors, verdict) in [(large, Verdict::NoDifference), (json!({}), Verdict::Undecided)] {
        let (mut first, mut later) = (run(), run());
        first["noise_floors"] = floors;
        change(&mut later, "time", 1.5);
        let comparison = compare(&record(&first), &record(&later));
        assert_eq!(comparison.rows[0].verdict, verdict);
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
    assert_eq!((comparison.rows.len(), comparison.only_first), (5, first.rows.len() - 5));
    let text = comparison.text();
    assert!(text.contains("CPU: AMD EPYC 9R45 against another"), "{text}");
    assert!(text.contains("second run is incomplete") && !text.contains('\u{1b}'), "{text}");
    let json = serde_json::to_value(&comparison).unwrap();
    assert_eq!(json["rows"][0]["verdict"], "no_difference");
}
