//! The program, run as users run it. These tests do not check its figures.

use core::time::Duration;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Instant;

use endseal_testing::Scratch;
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_endseal-bench");

/// Result of one run of the program.
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    #[track_caller]
    fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.err);
        self
    }

    /// Asserts that it ended with that code, gave that reason, and printed nothing on standard
    /// output.
    #[track_caller]
    fn fails(self, code: i32, why: &str) {
        assert_eq!(self.code, Some(code), "{}", self.err);
        assert!(
            self.err.starts_with("error: ") && self.err.contains(why),
            "{why} in: {}",
            self.err
        );
        assert_eq!(self.out, "");
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out).expect("one JSON object on standard output")
    }
}

fn program() -> Command {
    let mut command = Command::new(PROGRAM);
    command.stdin(Stdio::null());
    command
}

fn run(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn a_quick_run_writes_figures_and_reports() {
    let scratch = Scratch::new();
    let out = scratch.folder().join("results");
    let absent = scratch.folder().join("no-peers");
    let ran = run(program()
        .args(["--quick", "--json", "--suite", "envelope", "--peers", "node,rust"])
        .arg("--peers-dir")
        .arg(&absent)
        .arg("--out")
        .arg(&out));
    let told = ran.ok().json();
    assert!(told["rows"].as_u64().unwrap() > 50, "{told}");
    let skipped = told["skipped"].as_array().unwrap();
    assert_eq!(skipped.len(), 2, "a missing peer is a visible skip: {told}");
    let record: Value = serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap();
    assert_eq!(record["schema"], "endseal-bench/2");
    assert_eq!(record["complete"], true);
    assert_eq!(record["arguments"]["peers"], serde_json::json!(["node", "rust"]));
    let html = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(html.contains("<figure") && !html.contains("<script") && !html.contains("src="));
    assert_eq!(scratch_names(&out), ["report.html", "run.json"]);

    let again = scratch.folder().join("again");
    run(program().args(["report"]).arg(out.join("run.json")).arg("-o").arg(&again)).ok();
    assert_eq!(fs::read_to_string(again.join("report.html")).unwrap(), html);
    let itself = run(program()
        .args(["compare", "--json"])
        .args([out.join("run.json"), out.join("run.json")]));
    let rows = itself.ok().json()["rows"].as_array().unwrap().clone();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["first"] == row["second"]));
}

fn scratch_names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        names.map(|it| it.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn what_a_run_leaves_is_removed_when_it_is_killed() {
    let scratch = Scratch::new();
    let folder = scratch.folder().join("endseal-bench-1-0");
    let others = scratch.folder().join("files");
    for folder in [&folder, &others] {
        fs::create_dir_all(folder.join("data")).unwrap();
        fs::write(folder.join("data/object"), b"content").unwrap();
    }
    let sweep = |folder: &Path| {
        let mut sweep = Command::new(PROGRAM);
        sweep.args(["role", "sweep"]).arg(folder).stdin(Stdio::piped());
        sweep
    };
    // A folder that is not the bench's own is kept.
    assert!(!sweep(&others).stdin(Stdio::null()).status().unwrap().success());
    assert!(others.join("data/object").exists());

    let mut sweep = sweep(&folder);
    let mut sweep = sweep.spawn().unwrap();
    sleep(Duration::from_millis(300));
    assert!(folder.join("data/object").exists(), "whoever started it lives");
    assert!(sweep.try_wait().unwrap().is_none());
    drop(sweep.stdin.take());
    assert!(sweep.wait().unwrap().success());
    assert!(!folder.exists());
}

#[test]
fn the_suite_s3_measures_processes_of_its_own() {
    let scratch = Scratch::new();
    let shipped = Path::new(PROGRAM).with_file_name("endseal");
    assert!(shipped.exists(), "{} is missing: cargo build", shipped.display());
    let ran = run(program()
        .args(["--quick", "--json", "--suite", "s3", "--case", "range,small", "--out"])
        .arg(scratch.folder()));
    let told = ran.ok().json();
    assert_eq!(told["skipped"], serde_json::json!([]), "{told}");
    let run = fs::read(scratch.folder().join("run.json")).unwrap();
    let record: Value = serde_json::from_slice(&run).unwrap();
    let of = |case: &str, subject: &str, metric: &str| {
        let rows = record["rows"].as_array().unwrap().iter();
        let mut found = rows.filter(|row| {
            row["case"] == case && row["subject"] == subject && row["metric"] == metric
        });
        found.next().map(|row| row["median"].as_f64().unwrap())
    };
    assert_eq!(of("range", "endseal", "backend_requests"), Some(1.0));
    assert_eq!(of("range", "endseal", "backend_bytes"), Some(16_400.0), "one chunk");
    assert_eq!(of("range", "pass-through", "backend_bytes"), Some(1.0));
    assert_eq!(of("range", "seed-ctr", "time"), None, "it has no ranges");
    for subject in ["endseal", "direct", "pass-through", "seed-ctr"] {
        assert!(of("small", subject, "requests_s") > Some(0.0), "{subject}");
        let cpu = of("small", subject, "cpu_per_request");
        assert_eq!(cpu > Some(0.0), subject != "direct", "{subject}: {cpu:?}");
    }
}

#[test]
fn without_the_shipped_program_the_suite_s3_does_not_begin() {
    let scratch = Scratch::new();
    let absent = scratch.folder().join("endseal");
    let mut bench = program();
    bench.args(["--quick", "--suite", "s3", "--endseal"]).arg(&absent);
    run(bench.arg("--out").arg(scratch.folder())).fails(3, "build it: cargo build");
    assert!(scratch.names().is_empty());
}

#[test]
fn what_is_there_is_listed_and_what_is_missing_is_named() {
    let listed = run(program().args(["list"])).ok();
    assert!(listed.out.contains("suite envelope") && listed.out.contains("peer node"));
    let doctor = run(program().args(["doctor", "--peers-dir", "/nonexistent"])).ok();
    assert!(doctor.out.contains("lacking peer rust"), "{}", doctor.out);
}

#[test]
fn a_peer_that_does_not_start_is_named() {
    let scratch = Scratch::new();
    let folder = scratch.folder().join("go/target");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("endseal-peers-go"), "#!/bin/sh\n").unwrap();
    let doctor = run(program().args(["doctor", "--peers-dir"]).arg(scratch.folder())).ok();
    assert!(doctor.out.contains("lacking peer go: "), "{}", doctor.out);
}

#[test]
fn a_strict_run_does_not_begin_without_its_peers() {
    let scratch = Scratch::new();
    let mut strict = program();
    strict.args(["--quick", "--strict", "--peers", "node", "--peers-dir"]);
    run(strict.arg("/nonexistent").arg("--out").arg(scratch.folder()))
        .fails(1, "node has no figures");
    assert!(scratch.names().is_empty());
}

#[test]
fn unknown_names_are_usage_errors() {
    let bench = |args: &[&str]| run(program().args(args));
    bench(&["--suite", "nothing"]).fails(2, "there is no suite 'nothing'");
    bench(&["--peers", "cobol"]).fails(2, "there is no peer 'cobol'");
    bench(&["--case", "bake"]).fails(2, "there is no case 'bake'");
    bench(&["--subject", "pigeon"]).fails(2, "there is no subject 'pigeon'");
    for share in ["-0.1", "1.1", "nan", "x"] {
        bench(&["gate", &format!("--tolerance={share}")]).fails(2, "--tolerance");
    }
    bench(&["--quick", "--full"]).fails(2, "cannot be used with");
}

#[test]
fn a_suite_that_is_absent_fails_the_gate() {
    let scratch = Scratch::new();
    let mut record = crate::fixture::run();
    record["environment"]["profile"] = serde_json::json!("release");
    let path = scratch.write("run.json", serde_json::to_vec(&record).unwrap());
    let gate =
        |suites: &[&str]| run(program().args(["gate", "--tolerance=1"]).args(suites).arg(&path));
    let all = gate(&[]);
    assert_eq!(all.code, Some(1));
    for suite in ["codec", "transport", "s3", "nostr", "sessions", "node"] {
        assert!(all.out.contains(&format!("the suite {suite}\n")), "{suite}: {}", all.out);
    }
    assert!(all.err.contains("the suite codec: absent"), "{}", all.err);
    let one = gate(&["--suite=envelope"]);
    assert!(!one.out.contains("absent") && !one.err.contains("absent"), "{} {}", one.out, one.err);
}

#[test]
fn an_interrupted_run_keeps_earlier_or_partial_results() {
    let scratch = Scratch::new();
    let earlier = scratch.write("run.json", b"earlier");
    let mut child = program()
        .args(["--quick", "--out"])
        .arg(scratch.folder())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // Longer than the first case takes on a busy machine.
    let end = Instant::now() + Duration::from_secs(300);
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
