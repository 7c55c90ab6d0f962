//! The benchmark's plumbing. Its figures are no matter of tests.

use core::time::Duration;
use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Instant;

use serde_json::Value;

use crate::people::{program, run};
use crate::scratch::Scratch;

#[test]
fn a_quick_run_writes_figures_and_reports() {
    let scratch = Scratch::new();
    let out = scratch.folder().join("results");
    let absent = scratch.folder().join("no-peers");
    let ran = run(program()
        .args(["bench", "--quick", "--json", "--suite", "envelope", "--peers", "node,rust"])
        .arg("--peers-dir")
        .arg(&absent)
        .arg("--out")
        .arg(&out));
    let told = ran.ok().json();
    assert!(told["rows"].as_u64().unwrap() > 50, "{told}");
    let skipped = told["skipped"].as_array().unwrap();
    assert_eq!(skipped.len(), 2, "a missing peer is a visible skip: {told}");
    let record: Value = serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap();
    assert_eq!(record["schema"], "endseal-bench/1");
    assert_eq!(record["complete"], true);
    let html = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(html.contains("<svg") && !html.contains("<script") && !html.contains("src="));
    assert!(fs::read_to_string(out.join("report.md")).unwrap().contains("| 100 |"));

    let again = scratch.folder().join("again");
    run(program().args(["bench", "report"]).arg(out.join("run.json")).arg("-o").arg(&again)).ok();
    assert_eq!(fs::read_to_string(again.join("report.html")).unwrap(), html);
    let itself = run(program()
        .args(["bench", "compare", "--json"])
        .args([out.join("run.json"), out.join("run.json")]));
    let rows = itself.ok().json()["rows"].as_array().unwrap().clone();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["first"] == row["second"]));
}

#[test]
fn what_is_there_is_listed_and_what_is_missing_is_named() {
    let listed = run(program().args(["bench", "list"])).ok();
    assert!(listed.text().contains("suite envelope") && listed.text().contains("peer node"));
    let doctor = run(program().args(["bench", "doctor", "--peers-dir", "/nonexistent"])).ok();
    assert!(doctor.text().contains("lacking peer rust"), "{}", doctor.text());
}

#[test]
fn unknown_names_are_usage_errors() {
    let bench = |args: &[&str]| run(program().arg("bench").args(args));
    bench(&["--suite", "nothing"]).fails(2, "there is no suite 'nothing'");
    bench(&["--peers", "cobol"]).fails(2, "there is no peer 'cobol'");
    bench(&["--quick", "--full"]).fails(2, "cannot be used with");
}

#[test]
fn records_that_cannot_be_read_say_why() {
    let scratch = Scratch::new();
    let report = |name: &str, content: &str| {
        let path = scratch.write(name, content.as_bytes());
        run(program().args(["bench", "report"]).arg(path).arg("-o").arg(scratch.folder()))
    };
    report("newer.json", r#"{"schema": "endseal-bench/2"}"#).fails(1, "newer version");
    report("garbage.json", "seal: 3 us").fails(1, "not JSON");
    report("other.json", r#"{"schema": "endseal-bench/1"}"#).fails(1, "not a record");
    let none = scratch.folder().join("none.json");
    run(program().args(["bench", "report"]).arg(none)).fails(3, "cannot be read");
    assert!(!scratch.names().iter().any(|name| name.starts_with("report")), "nothing half-written");
}

#[test]
fn results_that_cannot_be_written_fail_before_the_measurement() {
    let scratch = Scratch::new();
    let file = scratch.write("file", b"");
    let start = Instant::now();
    run(program().args(["bench", "--out"]).arg(file)).fails(3, "file");
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn an_interrupted_run_keeps_earlier_or_partial_results() {
    let scratch = Scratch::new();
    let earlier = scratch.write("run.json", b"earlier");
    let mut child = program()
        .args(["bench", "--full", "--out"])
        .arg(scratch.folder())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while fs::read(&earlier).unwrap() == b"earlier" && Instant::now() < end {
        sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let record: Value = serde_json::from_slice(&fs::read(&earlier).unwrap()).unwrap();
    assert_eq!(record["complete"], false, "and marked as such");
    assert!(!record["rows"].as_array().unwrap().is_empty());
    assert_eq!(scratch.names(), ["run.json"]);
}
