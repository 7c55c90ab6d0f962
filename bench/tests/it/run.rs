//! A whole run, with subjects that fail in different ways.

use core::ops::ControlFlow;

use endseal_bench::clock::Elapsed;
use endseal_bench::ours::envelope::Envelope;
use endseal_bench::record::{Arguments, Better, Params, Record, Skip, SubjectInfo};
use endseal_bench::run::{Observer, Plan, run};
use endseal_bench::subject::{Checked, Extra, Prepared, Subject, SubjectError};
use endseal_bench::suite::{Case, Extent, Suite};

/// Fault of a test's subject.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    OpensTampered,
    LosesContent,
    FailsLater,
    NotTen,
}

struct Fake {
    info: SubjectInfo,
    fault: Fault,
    ns: f64,
}

impl Fake {
    fn of_suite(name: &str, suite: Option<&str>) -> Box<dyn Subject> {
        let mut info = SubjectInfo::default();
        (info.subject, info.suite) = (name.into(), suite.map(str::to_owned));
        Box::new(Self { info, fault: Fault::None, ns: 1.0 })
    }

    fn boxed(name: &str, ns: f64, fault: Fault) -> Box<dyn Subject> {
        let mut info = SubjectInfo::default();
        info.subject = name.into();
        Box::new(Self { info, fault, ns })
    }
}

impl Subject for Fake {
    fn info(&self) -> &SubjectInfo {
        &self.info
    }

    fn prepare(
        &mut self,
        case: &str,
        params: &Params,
        _: u32,
    ) -> Result<Box<dyn Prepared + '_>, SubjectError> {
        if self.fault == Fault::NotTen && params["members"] == 10 && case == "seal" {
            return Err(SubjectError::Unsupported("not ten".into()));
        }
        if case != "seal" {
            return Err(SubjectError::Unsupported("only seal".into()));
        }
        Ok(Box::new(FakeCase { fault: self.fault, ns: self.ns, runs: 0 }))
    }
}

struct FakeCase {
    fault: Fault,
    ns: f64,
    runs: u32,
}

impl Prepared for FakeCase {
    fn check(&mut self) -> Result<Checked, SubjectError> {
        Ok(Checked {
            round_trip: self.fault != Fault::LosesContent,
            tamper_refused: Some(self.fault != Fault::OpensTampered),
            sealed_bytes: Some(123),
        })
    }

    fn run(&mut self, iterations: u32) -> Result<Elapsed, SubjectError> {
        self.runs += 1;
        if self.fault == Fault::FailsLater && self.runs > 8 {
            return Err(SubjectError::Failed("it is tired".into()));
        }
        Ok(Elapsed::new(self.ns * f64::from(iterations), None))
    }

    fn extra(&mut self) -> Result<Vec<Extra>, SubjectError> {
        Ok(vec![
            Extra { metric: "round_trips", unit: "1", better: Better::Less, samples: vec![3.0] },
            Extra {
                metric: "mb_s",
                unit: "MB/s",
                better: Better::More,
                samples: vec![90.0, 100.0, 110.0],
            },
        ])
    }
}

#[derive(Default)]
struct Watch {
    cases: usize,
    partial: usize,
}

impl Observer for Watch {
    fn case(&mut self, index: usize, total: usize, what: &str) {
        assert!(index < total && what.starts_with("envelope"));
        self.cases += 1;
    }

    fn partial(&mut self, record: &Record) -> ControlFlow<()> {
        assert!(!record.complete);
        self.partial += 1;
        ControlFlow::Continue(())
    }
}

fn plan(cases: &[Case]) -> Plan {
    let arguments = Arguments { suites: vec!["envelope".into()], ..Arguments::default() };
    Plan { cases: cases.to_vec(), extent: Extent::Quick, arguments }
}

fn seal_cases() -> Vec<Case> {
    let all = Suite::find("envelope").unwrap().cases(Extent::Quick);
    all.into_iter().filter(|case| case.case == "seal").collect()
}

#[test]
fn ratios_are_those_of_the_times_and_faulty_subjects_have_no_row() {
    let mut subjects = vec![
        Fake::boxed("endseal", 1_000.0, Fault::None),
        Fake::boxed("slow", 30_000.0, Fault::None),
        Fake::boxed("opens-tampered", 1.0, Fault::OpensTampered),
        Fake::boxed("loses-content", 1.0, Fault::LosesContent),
        Fake::boxed("tired", 500.0, Fault::FailsLater),
    ];
    let cases = seal_cases();
    let mut watch = Watch::default();
    let skipped = vec![Skip::new("absent", "not installed")];
    let record = run(&plan(&cases), &mut subjects, skipped, &mut watch);
    assert!(record.complete);
    assert_eq!((watch.cases, watch.partial), (cases.len(), cases.len()));
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
    let mut subjects = vec![Fake::boxed("endseal", 1_000.0, Fault::None)];
    let mut watch = Watch::default();
    let record = run(&plan(&cases), &mut subjects, Vec::new(), &mut watch);
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
        Fake::boxed("endseal", 1_000.0, Fault::None),
        Fake::of_suite("foreign", Some("baking")),
        Fake::boxed("no-large-ones", 1_000.0, Fault::NotTen),
    ];
    let mut large = cases[0].clone();
    large.params.insert("members".into(), 11);
    cases.push(large);
    let mut open = cases[0].clone();
    open.case = "open";
    cases.push(open);
    let record = run(&plan(&cases), &mut subjects, Vec::new(), &mut Watch::default());
    let sized: Vec<_> = record.rows.iter().filter(|row| row.metric == "size").collect();
    assert!(!sized.is_empty() && sized.iter().all(|row| row.case == "seal"));
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

#[test]
fn our_subjects_pass_their_own_checks_in_every_case() {
    let mut subjects: Vec<Box<dyn Subject>> =
        Envelope::all().into_iter().map(|own| Box::new(own) as Box<dyn Subject>).collect();
    let mut params = Params::from([("members".into(), 9), ("bytes".into(), 300)]);
    params.insert("count".into(), 5);
    for subject in &mut subjects {
        for case in ["seal", "open", "open_many", "seal_many"] {
            match subject.prepare(case, &params, 16) {
                Ok(mut prepared) => {
                    assert_eq!(prepared.check().unwrap().objection(), None);
                    assert!(prepared.run(20).unwrap().wall_ns > 0.0);
                }
                Err(SubjectError::Unsupported(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert!(subject.prepare("bake", &params, 1).is_err());
        let none = Params::from([("members".into(), 0), ("bytes".into(), 1)]);
        assert!(subject.prepare("seal", &none, 1).is_err());
    }
}
