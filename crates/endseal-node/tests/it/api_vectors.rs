//! The vectors of docs/spec/node-api.md, through the reader of lines.

use std::fs;
use std::path::Path;

use endseal_node::api::Request;
use serde_json::Value;

use super::node_vectors::bytes;

#[test]
fn every_line_is_read_as_its_vector_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/node-api");
    let mut counts = [0, 0];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let vector: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let line = match vector["line"].as_str() {
            Some(line) => line.as_bytes().to_vec(),
            None => bytes(&vector, "line_hex"),
        };
        let (expect, id, mut fields) = match Request::read(&line) {
            Ok((id, request)) => {
                let written = request.to_line(&id).unwrap();
                let expected = vector["request"].as_str().unwrap().to_owned() + "\n";
                assert_eq!(str::from_utf8(&written).unwrap(), expected, "{path:?}");
                // What was written is read again as the same.
                let (again, request) =
                    Request::read(&written).unwrap_or_else(|_| panic!("{path:?}"));
                assert_eq!(request.to_line(&again).unwrap(), written, "{path:?}");
                ("ok".to_owned(), Some(id), 5)
            }
            Err((id, error)) => (error.code.to_string(), id, 4),
        };
        assert_eq!(vector["expect"], expect, "{path:?}");
        assert_eq!(vector["id"], serde_json::to_string(&id).unwrap(), "{path:?}");
        counts[usize::from(expect == "ok")] += 1;
        fields -= vector.as_object().unwrap().len();
        assert_eq!(fields, 0, "fields of {}", path.display());
    }
    assert_eq!(counts, [71, 38], "refusals and successes");
}
