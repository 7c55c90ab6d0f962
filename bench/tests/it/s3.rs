//! The suite `s3`: cases that its subjects refuse.

use endseal_bench::record::Params;
use endseal_bench::stations::Station;
use endseal_bench::subject::SubjectError;
use endseal_bench::suite::{Extent, Suite};

fn params(of: &[(&str, u64)]) -> Params {
    of.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

#[test]
fn what_there_is_not_is_unsupported_and_nothing_runs_without_a_program() {
    let suite = Suite::find("s3").unwrap();
    for mut subject in Station::find("s3").unwrap().subjects() {
        let name = subject.info().subject.clone();
        for (case, wrong) in [
            ("seal", params(&[("bytes", 5)])),
            ("put", params(&[("bytes", 5)])),
            ("get", params(&[("bytes", 0), ("backend", 0)])),
            ("small", params(&[("bytes", 5), ("count", 5), ("down", 2), ("streams", 1)])),
        ] {
            let refused = subject.prepare(case, &wrong, 1).err();
            assert!(matches!(refused, Some(SubjectError::Unsupported(_))), "{name} {case}");
        }
        // The programs of the roles were not set.
        let put = params(&[("bytes", 5), ("backend", 0)]);
        let failed = subject.prepare("put", &put, 1).err();
        assert!(matches!(failed, Some(SubjectError::Failed(_))), "{name}: {failed:?}");
    }
    assert!(suite.cases(Extent::Quick).len() < suite.cases(Extent::Default).len());
}
