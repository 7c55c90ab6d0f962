//! Writes `vectors/bench-peer/*.json` into the directory given. Run by `cargo xtask vectors`.
#![allow(clippy::expect_used, reason = "a generator that cannot go on stops")]
#![allow(clippy::std_instead_of_core, reason = "there is no other way than std")]

use std::path::Path;
use std::{env, fs};

use serde_json::json;

const CASES: &[(&str, &str, &str, &str, &str)] = &[
    (
        "ok_hello",
        "ok",
        "hello",
        "a peer with one subject",
        r#"{"ok": true, "protocol": 1, "peer": "p", "runtime": "r", "subjects": [{"subject": "s", "about": "a", "versions": {"v": "1"}, "settings": "", "properties": ["confidential"]}]}"#,
    ),
    (
        "ok_hello_short",
        "ok",
        "hello",
        "what describes a subject may be absent",
        r#"{"ok": true, "protocol": 1, "subjects": [{"subject": "s"}]}"#,
    ),
    ("ok_prepare", "ok", "prepare", "a handle", r#"{"ok": true, "handle": 7}"#),
    (
        "ok_check",
        "ok",
        "check",
        "all is right",
        r#"{"ok": true, "round_trip": true, "tamper_refused": true, "sealed_bytes": 100}"#,
    ),
    (
        "ok_check_null",
        "ok",
        "check",
        "a subject that does not authenticate",
        r#"{"ok": true, "round_trip": true, "tamper_refused": null}"#,
    ),
    (
        "ok_check_wrong",
        "ok",
        "check",
        "a wrong result is a verdict, not an error",
        r#"{"ok": true, "round_trip": false, "tamper_refused": true, "sealed_bytes": 100}"#,
    ),
    (
        "ok_run",
        "ok",
        "run",
        "a batch",
        r#"{"ok": true, "iterations": 12, "wall_ns": 300000, "cpu_ns": 290000}"#,
    ),
    (
        "ok_run_unknown_field",
        "ok",
        "run",
        "unknown fields are ignored",
        r#"{"ok": true, "iterations": 12, "wall_ns": 300000, "cpu_ns": null, "more": []}"#,
    ),
    ("ok_release", "ok", "release", "nothing but ok", r#"{"ok": true}"#),
    (
        "ok_check_figures",
        "ok",
        "check",
        "figures, of which the harness knows some",
        r#"{"ok": true, "round_trip": true, "tamper_refused": true, "figures": {"delayed_ns": [103000000], "moods": [1]}}"#,
    ),
    (
        "failed_subject",
        "failed",
        "run",
        "the subject failed",
        r#"{"ok": false, "error": "failed", "message": "an exception"}"#,
    ),
    (
        "failed_check",
        "failed",
        "check",
        "an exception in a check is an error, not a verdict",
        r#"{"ok": false, "error": "failed", "message": "an exception"}"#,
    ),
    (
        "unsupported_params",
        "unsupported",
        "prepare",
        "a parameter that the case does not have",
        r#"{"ok": false, "error": "unsupported", "message": "seal has no parameter count"}"#,
    ),
    (
        "unsupported_case",
        "unsupported",
        "prepare",
        "no such case",
        r#"{"ok": false, "error": "unsupported", "message": "no such case"}"#,
    ),
    (
        "protocol_error",
        "protocol",
        "run",
        "the peer did not understand",
        r#"{"ok": false, "error": "protocol", "message": "what?"}"#,
    ),
    (
        "protocol_error_unknown",
        "protocol",
        "run",
        "an unknown class of error",
        r#"{"ok": false, "error": "surprise", "message": ""}"#,
    ),
    ("protocol_error_none", "protocol", "run", "a failure without a class", r#"{"ok": false}"#),
    (
        "protocol_check_figures",
        "protocol",
        "check",
        "a figure that is no list of numbers",
        r#"{"ok": true, "round_trip": true, "tamper_refused": true, "figures": {"bytes_sent": "8305"}}"#,
    ),
    (
        "protocol_check_verdict",
        "protocol",
        "check",
        "a verdict that is no truth value",
        r#"{"ok": true, "round_trip": "no", "tamper_refused": true}"#,
    ),
    ("protocol_empty", "protocol", "run", "an empty line", ""),
    ("protocol_text", "protocol", "run", "not JSON", "12 iterations in 0.3 ms"),
    (
        "protocol_cut",
        "protocol",
        "run",
        "JSON that is cut short",
        r#"{"ok": true, "iterations": 12"#,
    ),
    ("protocol_array", "protocol", "run", "not an object", "[true]"),
    (
        "protocol_no_ok",
        "protocol",
        "run",
        "an object without ok",
        r#"{"iterations": 12, "wall_ns": 1, "cpu_ns": 1}"#,
    ),
    (
        "protocol_ok_text",
        "protocol",
        "run",
        "ok is not a truth value",
        r#"{"ok": "true", "iterations": 12, "wall_ns": 1, "cpu_ns": 1}"#,
    ),
    (
        "protocol_missing",
        "protocol",
        "run",
        "a field is missing",
        r#"{"ok": true, "iterations": 12}"#,
    ),
    (
        "protocol_negative",
        "protocol",
        "run",
        "time that runs backwards",
        r#"{"ok": true, "iterations": 12, "wall_ns": -5, "cpu_ns": null}"#,
    ),
    (
        "protocol_fraction",
        "protocol",
        "run",
        "a fraction of a nanosecond",
        r#"{"ok": true, "iterations": 12, "wall_ns": 0.5, "cpu_ns": null}"#,
    ),
    (
        "protocol_hello_subjects",
        "protocol",
        "hello",
        "subjects are not a list",
        r#"{"ok": true, "protocol": 1, "subjects": "s"}"#,
    ),
    (
        "protocol_handle_text",
        "protocol",
        "prepare",
        "a handle that is no number",
        r#"{"ok": true, "handle": "7"}"#,
    ),
    (
        "protocol_round_trip",
        "protocol",
        "check",
        "no verdict",
        r#"{"ok": true, "tamper_refused": true}"#,
    ),
];

fn main() {
    let out = env::args_os().nth(1).expect("usage: vectors DIRECTORY");
    let out = Path::new(&out).join("bench-peer");
    fs::create_dir_all(&out).expect("the output directory can be made");
    for (name, expect, op, comment, line) in CASES {
        let json = json!({"comment": comment, "expect": expect, "op": op, "line": line});
        let text = serde_json::to_string_pretty(&json).expect("it is JSON") + "\n";
        fs::write(out.join(format!("{name}.json")), text).expect("the file can be written");
    }
}
