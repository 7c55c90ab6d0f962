//! Reading a record: our own records are valid, and an error names the field that is invalid.

use endseal_bench::record::{MAX_RECORD, ReadRecordError, read_record, read_record_file};
use serde_json::{Value, json};

use crate::fixture;

fn refused(run: &Value) -> ReadRecordError {
    read_record(&serde_json::to_vec(run).unwrap()).unwrap_err()
}

#[test]
fn what_is_written_is_valid_and_reads_as_the_same() {
    let record = fixture::record(&fixture::run());
    let written = serde_json::to_vec_pretty(&record).unwrap();
    assert!(read_record(&written).unwrap() == record);
}

#[test]
fn another_schema_is_named_as_such() {
    for schema in ["endseal-bench/1", "endseal-bench/10", "other/2", ""] {
        // A record of another version may differ in every other field.
        let error = refused(&json!({"schema": schema, "figures": {}}));
        let named = matches!(&error, ReadRecordError::OtherSchema(found) if found == schema);
        assert!(named && error.to_string().contains("this version reads"), "{error}");
    }
}

#[test]
fn what_is_not_json_or_too_long_is_refused() {
    let whole = serde_json::to_vec(&fixture::run()).unwrap();
    for bytes in [&b""[..], b"\xff\xfe", b"{", &whole[..whole.len() / 2], &[b'['; 100_000]] {
        assert!(matches!(read_record(bytes), Err(ReadRecordError::Invalid(_))));
    }
    assert!(matches!(read_record(&vec![b' '; MAX_RECORD + 1]), Err(ReadRecordError::TooLong)));
    let missing = read_record_file("/nowhere/run.json".as_ref());
    assert!(matches!(missing, Err(ReadRecordError::Unreadable(_))));
}

#[test]
fn a_packed_record_is_read_and_a_broken_one_is_not() {
    let scratch = endseal_testing::Scratch::new();
    let plain = scratch.write("run.json", serde_json::to_vec(&fixture::run()).unwrap());
    let gzip = std::process::Command::new("gzip").args(["-9nc", "--"]).arg(&plain).output();
    let packed = gzip.unwrap().stdout;
    let whole = scratch.write("run.json.gz", &packed);
    assert_eq!(read_record_file(&whole).unwrap(), read_record_file(&plain).unwrap());
    for broken in [&packed[..packed.len() - 9], b"", b"{}"] {
        let path = scratch.write("broken.json.gz", broken);
        assert!(read_record_file(&path).is_err(), "{} bytes", broken.len());
    }
}

#[test]
fn a_field_that_is_wrong_missing_or_unknown_is_refused() {
    type Change = fn(&mut Value);
    let cases: [(&str, Change); 6] = [
        ("f64", |run| run["rows"][3]["median"] = Value::Null),
        ("joy", |run| run["rows"][0]["better"] = json!("joy")),
        ("u64", |run| run["rows"][1]["params"]["members"] = json!(-1)),
        ("against", |run| {
            run["ratios"][0].as_object_mut().unwrap().remove("against");
        }),
        ("two", |run| run["environment"]["cpus"] = json!("two")),
        ("unknown field", |run| run["more"] = json!(1)),
    ];
    for (said, change) in cases {
        let mut run = fixture::run();
        change(&mut run);
        let error = refused(&run);
        assert!(matches!(error, ReadRecordError::Invalid(_)), "{said}");
        assert!(error.to_string().contains(said), "{said}: {error}");
    }
}
