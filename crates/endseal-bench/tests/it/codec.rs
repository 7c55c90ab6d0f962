//! The suite `codec`: our subjects in it, and what its report says of a made-up run.

use endseal_bench::ours::codec::{Codec, Form};
use endseal_bench::record::{Params, Record};
use endseal_bench::report::{html, markdown};
use endseal_bench::subject::{Subject, SubjectError};
use endseal_bench::suite::{Case, Extent, Suite};
use serde_json::{Value, json};

use crate::fixture::{empty, record};

const TIMED: [&str; 4] = ["encode", "decode", "decode_borrowed", "roundtrip"];

fn params(bytes: u64, blob_percent: u64, layer: u64) -> Params {
    let params = [("bytes", bytes), ("blob_percent", blob_percent), ("layer", layer)];
    params.map(|(name, value)| (name.to_owned(), value)).into()
}

/// The same with one letter for words.
fn of_a_letter(mut params: Params) -> Params {
    params.insert("letter".into(), 1);
    params
}

#[test]
fn our_subjects_pass_their_own_checks_in_every_case() {
    for (form, layers) in [(Form::Sealed, &[1, 2, 3][..]), (Form::Direct, &[3])] {
        let mut subject = Codec::new(form);
        for layer in layers {
            for params in [
                params(1024, 0, *layer),
                params(1024, 75, *layer),
                params(65_536, 75, *layer),
                of_a_letter(params(1024, 0, *layer)),
            ] {
                for case in TIMED {
                    let mut prepared = subject.prepare(case, &params, 16).unwrap();
                    let checked = prepared.check().unwrap();
                    assert_eq!(checked.objection(), None, "{case} {params:?}");
                    // Only what is sealed claims to refuse changes.
                    let sealed = form == Form::Sealed && *layer > 1;
                    assert_eq!(checked.tamper_refused, sealed.then_some(true));
                    assert!(prepared.run(20).unwrap().wall_ns > 0.0);
                }
            }
        }
    }
}

#[test]
fn sizes_are_those_of_the_contract_and_take_no_time() {
    let size = |form, layer| {
        let mut subject = Codec::new(form);
        let mut prepared = subject.prepare("wire_size", &params(8192, 0, layer), 2).unwrap();
        assert!(matches!(prepared.run(1), Err(SubjectError::Unsupported(_))));
        prepared.check().unwrap().sealed_bytes.unwrap()
    };
    let message = size(Form::Sealed, 1);
    // Raw fields, and a tag and a length for each.
    assert!((8606..8692).contains(&message), "{message}");
    // Version and kind, flags, two bytes of length, and sequence 0.
    assert_eq!(size(Form::Direct, 3), message + 5);
    let sealed = size(Form::Sealed, 2);
    // Salt, commitment and tag; scheme, conversation, and the tag and length of the ciphertext.
    assert_eq!(sealed, message + 24 + 32 + 16 + 2 + 18 + 3);
    assert_eq!(size(Form::Sealed, 3), sealed + 5);
}

#[test]
fn what_is_no_case_is_not_taken_for_one() {
    let mut sealed = Codec::new(Form::Sealed);
    let mut refuses = |case: &str, params: &Params| {
        let outcome = sealed.prepare(case, params, 1).map(drop);
        assert!(matches!(outcome, Err(SubjectError::Unsupported(_))), "{case} {params:?}");
    };
    refuses("bake", &params(8192, 0, 1));
    for (bytes, blob_percent, layer) in
        [(1023, 0, 1), (1_000_001, 0, 1), (8192, 50, 1), (8192, 0, 0), (8192, 0, 4)]
    {
        refuses("encode", &params(bytes, blob_percent, layer));
    }
    refuses("encode", &of_a_letter(params(8192, 75, 1)));
    for letter in [0, 2] {
        let mut params = params(8192, 0, 1);
        params.insert("letter".into(), letter);
        refuses("encode", &params);
    }
    let mut more = params(8192, 0, 1);
    more.insert("members".into(), 3);
    refuses("encode", &more);
    more.remove("layer");
    refuses("encode", &more);
    let mut direct = Codec::new(Form::Direct);
    assert!(direct.prepare("encode", &params(8192, 0, 2), 1).is_err());
}

/// Subject, highest layer, ns and bytes for each byte and layer, whether it borrows.
const MODELS: [(&str, u64, f64, f64, bool); 7] = [
    ("endseal", 3, 0.1, 1.005, true),
    ("endseal-direct", 3, 0.05, 1.006, true),
    ("seed-json-array", 3, 20.0, 2.5, false),
    ("seed-json-base64", 3, 2.0, 1.25, false),
    ("buffa", 3, 0.12, 1.005, true),
    ("rkyv", 1, 0.08, 1.02, true),
    ("memcpy", 1, 0.01, 1.0, false),
];

fn run() -> Record {
    let mut run = empty();
    run["arguments"]["suites"] = json!(["codec"]);
    run["noise_floor"] = json!(0.003);
    let (mut rows, mut ratios, mut subjects) = (vec![], vec![], vec![]);
    for (name, ..) in MODELS {
        let properties: &[&str] = match name {
            "endseal" => &["confidential", "authenticated", "committing"],
            "buffa" | "seed-json-array" | "seed-json-base64" => &["confidential", "authenticated"],
            _ => &[],
        };
        subjects.push(json!({"subject": name, "about": "", "runtime": "", "versions": {},
                             "settings": "", "properties": properties}));
    }
    for Case { case, params, .. } in Suite::find("codec").unwrap().cases(Extent::Quick) {
        let (bytes, layer) = (params["bytes"], params["layer"]);
        let takes_part = |(name, highest, _, _, borrows): &&(&str, u64, f64, f64, bool)| {
            layer <= *highest
                && (*name != "endseal-direct" || layer == 3)
                && (*borrows || case != "decode_borrowed")
                && (*name != "memcpy" || case != "roundtrip")
        };
        for model in MODELS.iter().filter(takes_part) {
            let (name, _, ns, size, _) = *model;
            let time = |ns: f64| (ns * bytes as f64 * layer as f64).round();
            let (metric, unit, median) = match case {
                "wire_size" => ("size", "B", ((bytes + 414) as f64 * size).round()),
                _ => ("time", "ns", time(ns)),
            };
            rows.push(json!({"suite": "codec", "case": case, "params": params, "subject": name,
                             "metric": metric, "unit": unit, "median": median,
                             "ci95": [median, median], "n": 15}));
            for (ours, _, our_ns, ..) in &MODELS[..2] {
                let paired = metric == "time" && name != "endseal" && name != *ours;
                if paired && (*ours != "endseal-direct" || layer == 3) {
                    // With words the seed's method is only half as far behind.
                    let words = name.starts_with("seed-") && !params.contains_key("letter");
                    let ratio = ns / our_ns / if words { 2.0 } else { 1.0 };
                    ratios.push(json!({"suite": "codec", "case": case, "params": params,
                        "subject": ours, "against": name, "clock": "wall", "median": ratio,
                        "ci95": [ratio * 0.99, ratio * 1.01]}));
                }
            }
        }
    }
    run["rows"] = Value::from(rows);
    run["ratios"] = Value::from(ratios);
    run["subjects"] = Value::from(subjects);
    record(&run)
}

fn line<'a>(text: &'a str, start: &str) -> &'a str {
    let found = text.lines().find(|line| line.starts_with(start));
    found.unwrap_or_else(|| panic!("no line starts with {start:?}"))
}

#[test]
fn every_table_of_the_seed_is_there_and_filled() {
    let run = run();
    for text in [markdown(&run), html(&run)] {
        for part in [
            "Layer 1: RichMessage Encoding",
            "Layer 2: EncryptedMessage Encoding",
            "Layer 3: Protocol Wrapper Encoding",
            "Expected Performance Gains",
            "Expected Final Performance",
            "Estimated Size Overhead",
            "Cumulative Size Table",
            "Performance Impact by Message Size",
            "Bincode vs JSON Performance Comparison",
            "JSON against binary",
            "Growth of encoding",
            "A message of text, layer by layer",
            "Bytes of a message",
            "It is linear in its own figures",
            "lists of numbers: ",
        ] {
            assert!(text.contains(part), "{part}");
        }
    }
    let text = markdown(&run);
    let start = text.find("Layer 3: Protocol Wrapper").unwrap();
    let row = line(&text[start..], "| 8KB | 443.82 µs¹ |");
    assert!(row.contains("| 492 µs (492–492) | 49.2 µs (49.2–49.2) | 2.46 µs"), "{row}");
    assert!(row.ends_with("| *200× (198–202)* | *20.0× (19.8–20.2)* |"), "{row}");
    let row = line(&text[start..], "| 8KB, words | – |");
    assert!(row.ends_with("| *100× (99–101)* | *10.0× (9.9–10.1)* |"), "{row}");
    let row = line(&text, "| Round-trip 8KB | 443.8 µs to about 25 µs¹ |");
    assert!(row.ends_with("| *400× (396–404)* | *40.0× (39.6–40.4)* |"), "{row}");
    let row = line(&text, "| Encode and decode 256 KB of one letter, beside seed-json-array¹ |");
    assert!(row.contains("| ≥ 800× | 400× (396–404) | **missed** |"), "{row}");
    let row = line(&text, "| The same with 256 KB of words, beside seed-json-array² |");
    assert!(row.ends_with("| – | 200× (198–202) | no goal |"), "{row}");
    let row = line(&text, "| Bytes of an encoding, of those of its fields |");
    assert!(row.contains("1.005× | reached |"), "{row}");
    assert!(text.contains("At 256 KB of one letter no codec takes less than copying"), "{text}");
}

#[test]
fn a_message_alone_has_no_properties_and_a_copy_is_no_rival() {
    let text = markdown(&run());
    let lost = &text[text.find("## Where we lose").unwrap()..text.find("## Goals").unwrap()];
    // Not in italics: at layer 1 they do the same.
    let row = line(lost, "| **encode, text, layer 1** |");
    assert!(row.contains("| 0.80× (0.79–0.81) at 8 KB"), "{row}");
    assert!(row.ends_with("which no other language reads |") && row.contains("| rkyv |"), "{row}");
    assert!(!row.contains("properties not declared"), "{row}");
    assert!(!lost.contains("memcpy"), "{lost}");
    let beside = &text[text.find("## JSON against binary").unwrap()..];
    let row = line(beside, "| memcpy |");
    assert!(row.contains("| 82.0 ns<br>0.100× |") && row.contains("| – | – |"), "{row}");
    let row = line(beside, "| rkyv |");
    assert!(row.ends_with("| no | none |"), "{row}");
    assert!(text.contains("Beside endseal: lacks confidential, authenticated and committing"));
}

#[test]
fn a_run_of_other_cases_has_a_report() {
    let mut none = empty();
    none["arguments"]["suites"] = json!(["codec"]);
    let text = markdown(&record(&none));
    for words in ["did not measure encoding", "measured no codec", "measured no encodings"] {
        assert!(text.contains(words), "{words}");
    }
}
