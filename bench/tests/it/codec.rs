//! The suite `codec` with our subjects.

use endseal_bench::ours::codec::{Codec, Form};
use endseal_bench::record::Params;
use endseal_bench::subject::{Subject, SubjectError};

const TIMED: [&str; 3] = ["encode", "decode", "roundtrip"];

fn params(bytes: u64, blob_percent: u64, layer: u64) -> Params {
    let params = [("bytes", bytes), ("blob_percent", blob_percent), ("layer", layer)];
    params.map(|(name, value)| (name.to_owned(), value)).into()
}

/// The same parameters, with one repeated letter instead of words.
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
                    // Only sealed forms claim to refuse changes.
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
