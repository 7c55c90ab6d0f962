//! Peers as shell scripts, each with one fault.

use std::path::Path;

use endseal_bench::peer::{Peer, PeerSubject};
use endseal_bench::record::Params;
use endseal_bench::subject::{Subject, SubjectError};

const HELLO: &str = r#"{"ok":true,"protocol":1,"runtime":"sh","subjects":[{"subject":"s"}]}"#;

/// A peer that answers each request with the next of these lines.
fn peer(lines: &[&str]) -> Result<Vec<PeerSubject>, SubjectError> {
    let answers: String =
        lines.iter().map(|line| format!("read -r request; printf '%s\\n' '{line}'; ")).collect();
    script(&answers)
}

fn script(script: &str) -> Result<Vec<PeerSubject>, SubjectError> {
    Peer::start(Path::new("sh"), &["-c", script], Path::new("/"))
}

/// The outcome of one batch on a peer that gives these answers.
fn batch(answers: &[&str]) -> Result<f64, SubjectError> {
    let lines: Vec<_> =
        [HELLO, r#"{"ok":true,"handle":1}"#].iter().chain(answers).copied().collect();
    let mut subjects = peer(&lines).unwrap();
    let mut prepared = subjects[0].prepare("seal", &Params::new(), 16)?;
    prepared.run(12).map(|elapsed| elapsed.wall_ns)
}

#[test]
fn a_peer_that_behaves_is_timed_by_its_own_clock() {
    let answer = r#"{"ok":true,"iterations":12,"wall_ns":480,"cpu_ns":470}"#;
    assert_eq!(batch(&[answer]), Ok(480.0));
}

#[test]
fn peers_that_cannot_be_started_say_why() {
    let missing = Peer::start(Path::new("/nonexistent"), &[], Path::new("/"));
    assert!(matches!(missing, Err(SubjectError::Failed(_))));
    for (lines, what) in [
        (&[][..], "it ends at once"),
        (&["hello there"], "garbage"),
        (&[r#"{"ok":true,"protocol":2,"subjects":[]}"#], "another version"),
        (&[r#"{"ok":false,"error":"failed","message":"no"}"#], "its own failure"),
    ] {
        assert!(peer(lines).is_err(), "{what}");
    }
    assert!(matches!(script("printf x"), Err(SubjectError::Failed(_))), "a line without an end");
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
        assert!(matches!(batch(&[answer]), Err(SubjectError::Protocol(_))), "{what}");
    }
    assert!(matches!(batch(&[]), Err(SubjectError::Failed(_))), "it ends");
}

#[test]
fn a_failed_case_leaves_the_peer_and_a_broken_protocol_ends_it() {
    let failed = r#"{"ok":false,"error":"failed","message":"an exception"}"#;
    let handle = r#"{"ok":true,"handle":1}"#;
    let done = r#"{"ok":true}"#;
    let run = r#"{"ok":true,"iterations":1,"wall_ns":5,"cpu_ns":5}"#;
    let mut subjects = peer(&[HELLO, handle, failed, done, handle, run, done]).unwrap();
    for expected in [false, true] {
        let mut prepared = subjects[0].prepare("seal", &Params::new(), 16).unwrap();
        assert_eq!(prepared.run(1).is_ok(), expected);
    }
    let mut subjects = peer(&[HELLO, "garbage", handle, run]).unwrap();
    for _ in 0..2 {
        assert!(subjects[0].prepare("seal", &Params::new(), 16).is_err(), "it stays dead");
    }
}

#[test]
fn messages_of_peers_are_bounded_and_harmless() {
    let long = "x".repeat(5000);
    let line = format!(r#"{{"ok":false,"error":"unsupported","message":"\u001b[31m{long}"}}"#);
    let mut subjects = peer(&[HELLO, &line]).unwrap();
    let error = subjects[0].prepare("seal", &Params::new(), 16).err().unwrap().to_string();
    assert!(error.len() < 300 && !error.contains('\u{1b}'), "{error}");
}
