//! Writes `vectors/bench-peer/*.json` into the directory given. Run by `cargo xtask vectors`.
#![allow(clippy::expect_used, reason = "a generator that cannot go on stops")]
#![allow(clippy::std_instead_of_core, reason = "there is no other way than std")]

use std::path::Path;
use std::{env, fs};

use serde_json::json;

/// A line for each vector: name, class, request, comment, and the answer of a peer.
const CASES: &str = include_str!("../data/peer-answers.tsv");

fn main() {
    let out = env::args_os().nth(1).expect("usage: vectors DIRECTORY");
    let out = Path::new(&out).join("bench-peer");
    fs::create_dir_all(&out).expect("the output directory can be made");
    for case in CASES.lines() {
        let mut fields = case.splitn(5, '\t');
        let mut next = || fields.next().expect("a vector has five fields");
        let (name, expect, op, comment, line) = (next(), next(), next(), next(), next());
        let json = json!({"comment": comment, "expect": expect, "op": op, "line": line});
        let text = serde_json::to_string_pretty(&json).expect("it is JSON") + "\n";
        fs::write(out.join(format!("{name}.json")), text).expect("the file can be written");
    }
}
