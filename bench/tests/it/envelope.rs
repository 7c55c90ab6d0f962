//! Cases of the suite `envelope` that report figures instead of being timed.

use std::collections::BTreeMap;

use endseal_bench::ours::envelope::{Envelope, Form};
use endseal_bench::record::Params;
use endseal_bench::subject::{Subject, SubjectError};

fn params(given: &[(&str, u64)]) -> Params {
    given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

/// Returns the smallest sample of each metric.
fn told(form: Form, case: &str, given: &[(&str, u64)]) -> BTreeMap<&'static str, f64> {
    let mut subject = Envelope::new(form);
    let mut prepared = subject.prepare(case, &params(given), 4).unwrap();
    assert_eq!(prepared.check().unwrap().objection(), None);
    assert!(matches!(prepared.run(1), Err(SubjectError::Unsupported(_))));
    let found = prepared.extra().unwrap();
    let least = |samples: &[f64]| samples.iter().copied().fold(f64::MAX, f64::min);
    found.iter().map(|extra| (extra.metric, least(&extra.samples))).collect()
}

#[test]
fn steps_add_up_to_sealing_and_to_opening() {
    let found = told(Form::Default, "breakdown", &[("members", 100), ("bytes", 10_240)]);
    for whole in ["seal", "open"] {
        let parts = found.iter().filter(|(metric, _)| {
            metric.starts_with(whole)
                && !["seal_total", "open_total", "seal_conversion"].contains(metric)
        });
        let sum: f64 = parts.map(|(_, ns)| ns).sum();
        let share = sum / found[&*format!("{whole}_total")];
        assert!((0.6..1.5).contains(&share), "{whole}: {share}, {found:?}");
    }
    assert!(found["seal_agreement"] > found["seal_wrap"] && found["seal_conversion"] > 0.0);
}

#[test]
fn a_view_is_opened_by_the_reader_of_its_slot() {
    for form in [Form::Default, Form::Hybrid] {
        let mut subject = Envelope::new(form);
        let given = params(&[("members", 9), ("bytes", 1024)]);
        let mut prepared = subject.prepare("open_view", &given, 6).unwrap();
        assert_eq!(prepared.check().unwrap().objection(), None);
        // More iterations than there are views.
        assert!(prepared.run(7).unwrap().wall_ns > 0.0);
    }
    let mut subject = Envelope::new(Form::Hybrid);
    let given = params(&[("members", 100_000), ("bytes", 1024)]);
    assert!(matches!(subject.prepare("open_view", &given, 1), Err(SubjectError::Unsupported(_))));
}

#[test]
fn a_message_arrives_after_the_delay_and_its_computation() {
    let given = [("members", 3), ("bytes", 1024), ("delay_ms", 30)];
    for form in [Form::Default, Form::Hybrid] {
        let found = told(form, "relay", &given);
        assert!(found["carrying"] >= 3e7, "{found:?}");
        assert!(found["total_delay"] >= found["carrying"] + found["opening"], "{found:?}");
        assert!(found["total_delay"] < 6e7, "one way, not a round trip: {found:?}");
        assert!(found["sealing"] > 0.0, "{found:?}");
    }
    let mut subject = Envelope::new(Form::Default);
    let given = params(&[("members", 3), ("bytes", 1024)]);
    assert!(matches!(subject.prepare("relay", &given, 4), Err(SubjectError::Unsupported(_))));
}
