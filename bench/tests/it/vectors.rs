//! The test vectors of the peer protocol, `vectors/bench-peer/*.json`.

use std::fs;

use endseal_bench::peer::judge;
use endseal_bench::subject::SubjectError;
use serde_json::Value;

#[test]
fn every_answer_has_its_class() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../vectors/bench-peer");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let test: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let class = match judge(test["op"].as_str().unwrap(), test["line"].as_str().unwrap()) {
            Ok(()) => "ok",
            Err(SubjectError::Failed(_)) => "failed",
            Err(SubjectError::Protocol(_)) => "protocol",
            Err(SubjectError::Unsupported(_)) => "unsupported",
            Err(other) => panic!("{other}"),
        };
        assert_eq!(test["expect"], class, "{}", path.display());
        count += 1;
    }
    assert!(count >= 25, "{count}");
}
