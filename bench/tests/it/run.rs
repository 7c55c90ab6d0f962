//! A whole run, with subjects that fail in different ways.

use core::ops::ControlFlow;

use endseal_bench::case::Case;
use endseal_bench::clock::Elapsed;
use endseal_bench::record::{Arguments, Better, Record, Skip, SubjectInfo};
use endseal_bench::run::{Plan, run};
use endseal_bench::subject::{Checked, Extra, Failure, Prepared, Subject, SubjectError};
use endseal_bench::suite::{Extent, Suite};

/// Fault of a test's subject.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    OpensTampered,
    LosesContent,
    FailsLater,
    NotTen,
}

fn fake_of(name: &str, suite: Option<&str>, ns: f64, fault: Fault) -> Subject {
    let mut info = SubjectInfo::default();
    (info.subject, info.suite) = (name.into(), suite.map(str::to_owned));
    Subject::new(info, move |case, _| {
        let declined = fault == Fault::NotTen && case.params["members"] == 10;
        if declined || case.case != "seal" {
            return Err(SubjectError::Unsupported("only seal".into()).into());
        }
        Ok(Box::new(FakeCase { fault, ns, runs: 0 }))
    })
}

fn fake(name: &str, ns: f64, fault: Fault) -> Subject {
    fake_of(name, None, ns, fault)
}

struct FakeCase {
    fault: Fault,
    ns: f64,
    runs: u32,
}

impl Prepared for FakeCase {
    fn check(&mut self) -> Result<Checked, Failure> {
        Ok(Checked {
            round_trip: self.fault != Fault::LosesContent,
            tamper_refused: Some(self.fault != Fault::OpensTampered),
            sealed_bytes: Some(123),
        })
    }

    fn run(&mut self, iterations: u32) -> Result<Elapsed, Failure> {
        self.runs += 1;
        if self.fault == Fault::FailsLater && self.runs > 8 {
            return Err("it is tired".into());
        }
        Ok(Elapsed::new(self.ns * f64::from(iterations), None))
    }

    fn extra(&mut self) -> Result<Vec<Extra>, Failure> {
        Ok(vec![
            Extra::less("round_trips", "1", vec![3.0]),
            Extra::more("mb_s", "MB/s", vec![90.0, 100.0, 110.0]),
        ])
    }
}

/// Runs cases of `envelope` on subjects.
fn run_all(cases: &[Case], subjects: &mut [Subject], skipped: Vec<Skip>) -> Record {
    let arguments = Arguments { suites: vec!["envelope".into()], ..Arguments::default() };
    let plan = Plan { cases: cases.to_vec(), extent: Extent::Quick, arguments };
    let mut observed = Vec::new();
    let record = run(&plan, subjects, skipped, &mut |index, record| {
        assert!(!record.complete);
        observed.push(index);
        ControlFlow::Continue(())
    });
    assert_eq!(observed, (0..cases.len()).collect::<Vec<_>>());
    record
}

fn seal_cases() -> Vec<Case> {
    let all = Suite::find("envelope").unwrap().cases(Extent::Quick);
    all.into_iter().filter(|case| case.case == "seal").collect()
}

#[test]
fn ratios_are_those_of_the_times_and_faulty_subjects_have_no_row() {
    let mut subjects = vec![
        fake("endseal", 1_000.0, Fault::None),
        fake("slow", 30_000.0, Fault::None),
        fake("opens-tampered", 1.0, Fault::OpensTampered),
        fake("loses-content", 1.0, Fault::LosesContent),
        fake("tired", 500.0, Fault::FailsLater),
    ];
    let cases = seal_cases();
    let skipped = vec![Skip::new("absent", "not installed")];
    let record = run_all(&cases, &mut subjects, skipped);
    assert!(record.complete);
    assert_eq!(record.noise_floors, [("envelope/seal".to_owned(), 0.0)].into());
    for ratio in &record.ratios {
        assert_eq!((ratio.against.as_str(), ratio.median), ("slow", 30.0));
        assert_eq!(ratio.ci95, Some([30.0, 30.0]));
    }
    assert_eq!(record.ratios.len(), cases.len());
    let named: Vec<_> = record.rows.iter().map(|row| row.subject.as_str()).collect();
    assert!(!named.contains(&"opens-tampered") && !named.contains(&"loses-content"));
    let times = |subject: &str| {
        record.rows.iter().filter(|row| row.subject == subject && row.metric == "time").count()
    };
    assert_eq!((times("endseal"), times("slow"), times("tired")), (cases.len(), cases.len(), 0));
    let reasons: Vec<_> = record.skipped.iter().map(|skip| skip.reason.as_str()).collect();
    for reason in ["not installed", "changed message", "did not open to the same", "tired"] {
        assert!(reasons.iter().any(|found| found.contains(reason)), "{reason}: {reasons:?}");
    }
}

#[test]
fn the_record_says_what_was_asked_and_how_fast_the_machine_was() {
    let cases = seal_cases();
    let mut subjects = vec![fake("endseal", 1_000.0, Fault::None)];
    let record = run_all(&cases, &mut subjects, Vec::new());
    assert_eq!(record.arguments.suites, ["envelope"]);
    assert_eq!(record.calibrations.len(), cases.len() + 1);
    for row in &record.rows {
        assert_eq!(row.kernel_ns.is_some(), row.unit == "ns", "{row:?}");
        assert!(row.kernel_ns.is_none_or(|ns| record.calibrations.contains(&ns)));
    }
    let round_trips = record.rows.iter().filter(|row| row.metric == "round_trips");
    assert!(round_trips.clone().all(|row| row.median == 3.0 && row.ci95 == Some([3.0, 3.0])));
    assert_eq!(round_trips.count(), cases.len(), "figures of a suite's own");
    let rates = record.rows.iter().filter(|row| row.metric == "mb_s");
    assert!(rates.clone().all(|row| row.better == Better::More && row.n == 3));
    assert_eq!(rates.count(), cases.len());
}

#[test]
fn only_declared_cases_have_a_size_and_subjects_keep_to_their_suite() {
    let mut cases = seal_cases();
    cases.truncate(1);
    cases[0].params.insert("members".into(), 10);
    let mut subjects = vec![
        fake("endseal", 1_000.0, Fault::None),
        fake_of("foreign", Some("baking"), 1.0, Fault::None),
        fake("no-large-ones", 1_000.0, Fault::NotTen),
    ];
    let mut large = cases[0].clone();
    large.params.insert("members".into(), 11);
    cases.push(large);
    let mut open = cases[0].clone();
    open.case = "open".into();
    cases.push(open);
    let record = run_all(&cases, &mut subjects, Vec::new());
    let sized: Vec<_> = record.rows.iter().filter(|row| row.metric == "size").collect();
    assert!(!sized.is_empty() && sized.iter().all(|row| row.case.case == "seal"));
    assert!(record.rows.iter().all(|row| row.subject != "foreign"));
    assert_eq!(record.skipped, []);
    let declined: Vec<_> = record
        .unsupported
        .iter()
        .map(|skip| (skip.subject.as_str(), skip.case.as_deref().unwrap()))
        .collect();
    assert_eq!(
        declined,
        [("no-large-ones", "seal"), ("endseal", "open"), ("no-large-ones", "open")]
    );
}
