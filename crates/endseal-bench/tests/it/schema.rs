//! Reading a record: what we write is valid, and what is not valid says where.

use endseal_bench::record::Record;
use endseal_bench::schema::{
    MAX_RECORD, ReadRecordError, read_record, read_record_file, validate_run,
};
use serde_json::{Value, json};

use crate::fixture;

fn refused(run: &Value) -> ReadRecordError {
    read_record(&serde_json::to_vec(run).unwrap()).unwrap_err()
}

#[test]
fn what_is_written_is_valid_and_reads_as_the_same() {
    for run in [fixture::run(), fixture::empty()] {
        let record = fixture::record(&run);
        let written = serde_json::to_vec_pretty(&record).unwrap();
        validate_run(&serde_json::from_slice(&written).unwrap()).unwrap();
        assert!(read_record(&written).unwrap() == record);
    }
}

#[test]
fn every_bit_of_a_figure_survives_writing() {
    let mut run = fixture::run();
    // Numbers that a fast parser reads back with another last bit.
    for (row, value) in
        [9.095_327_378_120_5e6, 0.1 + 0.2, 123_456.789_012_345_67].iter().enumerate()
    {
        run["rows"][row]["median"] = json!(value);
    }
    let record = fixture::record(&run);
    let again = read_record(&serde_json::to_vec(&record).unwrap()).unwrap();
    let bits = |record: &Record| -> Vec<u64> {
        record.rows.iter().map(|row| row.median.to_bits()).collect()
    };
    assert_eq!(bits(&record), bits(&again));
}

#[test]
fn a_newer_schema_is_named_as_such() {
    for schema in ["endseal-bench/2", "endseal-bench/10"] {
        // A newer record may look different everywhere.
        let error = refused(&json!({"schema": schema, "figures": {}}));
        assert!(matches!(&error, ReadRecordError::Newer(found) if found == schema), "{error}");
        assert!(error.to_string().contains("newer version"), "{error}");
    }
    for schema in ["endseal-bench/0", "endseal-bench/x", "endseal-bench/", "other/2", ""] {
        let mut run = fixture::empty();
        run["schema"] = json!(schema);
        let ReadRecordError::Invalid(violation) = refused(&run) else { panic!("{schema}") };
        assert_eq!(violation.path, "/schema");
    }
}

#[test]
fn what_is_not_json_or_too_long_is_refused() {
    let whole = serde_json::to_vec(&fixture::run()).unwrap();
    for bytes in [&b""[..], b"\xff\xfe", b"{", &whole[..whole.len() / 2], &[b'['; 100_000]] {
        assert!(matches!(read_record(bytes), Err(ReadRecordError::NotJson(_))));
    }
    assert!(matches!(read_record(&vec![b' '; MAX_RECORD + 1]), Err(ReadRecordError::TooLong)));
    let missing = read_record_file("/nowhere/run.json".as_ref());
    assert!(matches!(missing, Err(ReadRecordError::Unreadable(_))));
}

#[test]
fn a_violation_names_its_place() {
    type Change = fn(&mut Value);
    let cases: [(&str, Change); 14] = [
        ("/rows/3/median", |run| run["rows"][3]["median"] = Value::Null),
        ("/rows/0/ci95", |run| run["rows"][0]["ci95"] = json!([1.0])),
        ("/rows/0/better", |run| run["rows"][0]["better"] = json!("joy")),
        ("/rows/1/params/members", |run| run["rows"][1]["params"]["members"] = json!(-1)),
        ("/ratios/0", |run| {
            run["ratios"][0].as_object_mut().unwrap().remove("against");
        }),
        ("/environment/cpus", |run| run["environment"]["cpus"] = json!("two")),
        ("/ratios/0/clock", |run| run["ratios"][0]["clock"] = json!("sun")),
        ("/arguments", |run| {
            run["arguments"].as_object_mut().unwrap().remove("peers");
        }),
        ("/unsupported/0", |run| {
            run["unsupported"][0].as_object_mut().unwrap().remove("case");
        }),
        ("/environment/lto", |run| run["environment"]["lto"] = json!("much")),
        ("/noise_floors/codec", |run| run["noise_floors"] = json!({"codec": -0.1})),
        ("/extent", |run| run["extent"] = json!("endless")),
        ("/more", |run| run["more"] = json!(1)),
        ("", |run| *run = json!([])),
    ];
    for (path, change) in cases {
        let mut run = fixture::run();
        change(&mut run);
        let ReadRecordError::Invalid(violation) = refused(&run) else { panic!("{path}") };
        assert_eq!(violation.path, path, "{violation}");
    }
}
