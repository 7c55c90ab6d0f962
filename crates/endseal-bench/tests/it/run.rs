//! A whole run, with subjects that fail in their own ways.

use endseal_bench::clock::Elapsed;
use endseal_bench::ours::envelope::Envelope;
use endseal_bench::record::{Params, Record, Skip, SubjectInfo};
use endseal_bench::run::{Observer, run};
use endseal_bench::subject::{Checked, Prepared, Subject, SubjectError};
use endseal_bench::suite::{Case, Extent, cases};

/// How a subject of the tests misbehaves.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    OpensTampered,
    LosesContent,
    FailsLater,
}

struct Fake {
    info: SubjectInfo,
    fault: Fault,
    ns: f64,
}

impl Fake {
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
        _: &Params,
        _: u32,
    ) -> Result<Box<dyn Prepared + '_>, SubjectError> {
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

    fn partial(&mut self, record: &Record) {
        assert!(!record.complete);
        self.partial += 1;
    }
}

fn seal_cases() -> Vec<Case> {
    let all = cases("envelope", Extent::Quick).unwrap();
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
    let record = run(&cases, Extent::Quick, &mut subjects, skipped, &mut watch);
    assert!(record.complete);
    assert_eq!((watch.cases, watch.partial), (cases.len(), cases.len()));
    assert_eq!(record.noise_floor, Some(0.0));
    for ratio in &record.ratios {
        assert_eq!((ratio.against.as_str(), ratio.median), ("slow", 30.0));
        assert_eq!(ratio.ci95, [30.0, 30.0]);
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
    // Three numbers of members and a constant time: it hardly grows.
    assert!(record.growth.iter().any(|growth| growth.sentence.contains("hardly grows")));
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
