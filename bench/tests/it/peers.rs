//! Peers as shell scripts, each with one fault.

use core::ops::ControlFlow;
use core::time::Duration;
use std::path::Path;

use endseal_bench::case::Case;
use endseal_bench::peer::Peer;
use endseal_bench::record::Arguments;
use endseal_bench::run::{Plan, run};
use endseal_bench::subject::{Failure, Subject, SubjectError};
use endseal_bench::suite::{Extent, Suite};

const HELLO: &str = r#"{"ok":true,"protocol":1,"runtime":"sh","subjects":[{"subject":"s"}]}"#;

/// Starts a peer that answers each request with the next of these lines.
fn peer(lines: &[&str]) -> Result<Vec<Subject>, Failure> {
    let answers: String =
        lines.iter().map(|line| format!("read -r request; printf '%s\\n' '{line}'; ")).collect();
    script(&answers)
}

fn seal() -> Case {
    Case::read("envelope", "seal")
}

fn script(script: &str) -> Result<Vec<Subject>, Failure> {
    Peer::start(Path::new("sh"), &["-c", script], Path::new("/"))
}

/// Returns the error class of a result that is a failure.
fn fault<T>(result: Result<T, Failure>) -> SubjectError {
    SubjectError::from(result.map(drop).unwrap_err())
}

/// Runs one batch on a peer that gives these answers.
fn batch(answers: &[&str]) -> Result<f64, Failure> {
    let lines: Vec<_> =
        [HELLO, r#"{"ok":true,"handle":1}"#].iter().chain(answers).copied().collect();
    let mut subjects = peer(&lines).unwrap();
    let mut prepared = subjects[0].prepare(&seal(), 16)?;
    Ok(prepared.run(12)?.wall_ns)
}

#[test]
fn a_peer_that_behaves_is_timed_by_its_own_clock() {
    let answer = r#"{"ok":true,"iterations":12,"wall_ns":480,"cpu_ns":470}"#;
    assert_eq!(batch(&[answer]).unwrap(), 480.0);
}

#[test]
fn peers_that_cannot_be_started_say_why() {
    let missing = Peer::start(Path::new("/nonexistent"), &[""; 0], Path::new("/"));
    assert!(matches!(fault(missing), SubjectError::Failed(_)));
    for (lines, what) in [
        (&[][..], "it ends at once"),
        (&["hello there"], "garbage"),
        (&[r#"{"ok":true,"protocol":2,"subjects":[]}"#], "another version"),
        (&[r#"{"ok":false,"error":"failed","message":"no"}"#], "its own failure"),
    ] {
        assert!(peer(lines).is_err(), "{what}");
    }
    assert!(matches!(fault(script("printf x")), SubjectError::Lost(_)), "a line without an end");
    assert!(script("head -c 3000000 /dev/zero").is_err(), "a line without bounds");
    assert!(script(r"printf '\377\n'").is_err(), "not UTF-8");
}

#[test]
fn wrong_answers_are_no_figures() {
    for (answer, what) in [
        (r#"{"ok":true,"iterations":3,"wall_ns":480,"cpu_ns":null}"#, "fewer iterations"),
        (r#"{"ok":true,"iterations":12,"wall_ns":0,"cpu_ns":null}"#, "no time at all"),
        (r#"{"ok":true,"handle":1}"#, "the answer to something else"),
        ("garbage", "garbage"),
    ] {
        assert!(matches!(fault(batch(&[answer])), SubjectError::Protocol(_)), "{what}");
    }
    assert!(matches!(fault(batch(&[])), SubjectError::Lost(_)), "it ends");
}

/// Starts a peer with two subjects, of which `bad` does what `fault` says when it runs.
fn two(fault: &str) -> Vec<Subject> {
    let script = format!(
        r#"
        while read -r request; do
            case "$request" in
            *hello*) answer='{{"ok":true,"protocol":1,"subjects":[{{"subject":"good"}},{{"subject":"bad"}}]}}' ;;
            *prepare*good*) answer='{{"ok":true,"handle":1}}' ;;
            *prepare*bad*) answer='{{"ok":true,"handle":2}}' ;;
            *release*) answer='{{"ok":true}}' ;;
            *check*) answer='{{"ok":true,"round_trip":true,"tamper_refused":true}}' ;;
            *'"handle":2'*) {fault} ;;
            *) n=${{request#*iterations\":}}; n=${{n%%[!0-9]*}}
               answer="{{\"ok\":true,\"iterations\":$n,\"wall_ns\":${{n}}00000,\"cpu_ns\":null}}" ;;
            esac
            printf '%s\n' "$answer"
        done"#
    );
    let timeout = Duration::from_millis(500);
    Peer::start_with_timeout(Path::new("sh"), &["-c", &script], Path::new("/"), timeout).unwrap()
}

const FAULTS: [&str; 4] = ["exit 1", "sleep 60", "answer=garbage", "kill -9 $$"];

#[test]
fn a_lost_process_costs_only_the_subject_that_was_asked() {
    for fault in FAULTS {
        let mut subjects = two(fault);
        let (good, bad) = subjects.split_at_mut(1);
        let mut good = good[0].prepare(&seal(), 16).unwrap();
        assert!(good.run(3).is_ok());
        for _ in 0..2 {
            let mut bad = bad[0].prepare(&seal(), 16).unwrap();
            assert!(self::fault(bad.run(3)).ended_process(), "{fault}");
            assert_eq!(good.run(3).unwrap().wall_ns, 300_000.0, "{fault}");
        }
    }
}

#[test]
fn a_subject_that_ends_its_process_twice_is_left_out() {
    for fault in ["exit 1", "answer=garbage"] {
        let mut subjects = two(fault);
        let all = Suite::find("envelope").unwrap().cases(Extent::Quick);
        let cases: Vec<_> = all.into_iter().filter(|case| case.case == "seal").take(3).collect();
        assert_eq!(cases.len(), 3);
        let plan = Plan { cases, extent: Extent::Quick, arguments: Arguments::default() };
        let record = run(&plan, &mut subjects, Vec::new(), &mut |_, _| ControlFlow::Continue(()));
        assert!(record.complete);
        let good = record.rows.iter().filter(|row| row.subject == "good" && row.metric == "time");
        assert_eq!(good.count(), 3, "{fault}");
        assert!(record.rows.iter().all(|row| row.subject == "good"));
        let skipped: Vec<_> = record.skipped.iter().map(|skip| skip.case.as_deref()).collect();
        assert_eq!(skipped, [Some("seal"), Some("seal"), None], "{:?}", record.skipped);
        assert!(record.skipped[2].reason.contains("left out of the rest"));
    }
}

#[test]
fn a_peer_that_does_not_start_again_is_not_started_for_ever() {
    // The first process writes a file, and later ones end if that file exists.
    let file = std::env::temp_dir().join(format!("endseal-bench-{}", std::process::id()));
    let script = format!(
        "test -e {0} && exit 1; : > {0}; read -r r; printf '%s\\n' '{HELLO}'; read -r r",
        file.display()
    );
    let mut subjects = self::script(&script).unwrap();
    for again in [false, true] {
        let error = fault(subjects[0].prepare(&seal(), 16));
        assert_eq!(error.to_string().contains("started again"), again, "{error}");
        assert!(error.ended_process());
    }
    // It is not started again, even if it could be now.
    std::fs::remove_file(&file).unwrap();
    let error = subjects[0].prepare(&seal(), 16).err().unwrap();
    assert!(error.to_string().contains("started again"), "{error}");
}

#[test]
fn messages_of_peers_are_bounded_and_harmless() {
    let long = "x".repeat(5000);
    let line = format!(r#"{{"ok":false,"error":"unsupported","message":"\u001b[31m{long}"}}"#);
    let mut subjects = peer(&[HELLO, &line]).unwrap();
    let error = subjects[0].prepare(&seal(), 16).err().unwrap().to_string();
    assert!(error.len() < 300 && !error.contains('\u{1b}'), "{error}");
}

#[test]
fn figures_of_a_check_become_those_of_the_suite() {
    let check = r#"{"ok":true,"round_trip":true,"tamper_refused":null,"figures":{"delayed_ns":[100000000,150000000],"bytes_sent":[7],"moods":[1]}}"#;
    let mut subjects = peer(&[HELLO, r#"{"ok":true,"handle":1}"#, check]).unwrap();
    let mut prepared = subjects[0].prepare(&Case::read("transport", "handshake"), 16).unwrap();
    assert_eq!(prepared.extra().unwrap(), [], "nothing before the check");
    assert_eq!(prepared.check().unwrap().objection(), None);
    let found = prepared.extra().unwrap();
    let named: Vec<_> =
        found.iter().map(|it| (it.metric, it.unit, it.samples.as_slice())).collect();
    assert_eq!(named, [("bytes_sent", "B", &[7.0][..]), ("round_trips", "1", &[2.0, 3.0])]);
}
