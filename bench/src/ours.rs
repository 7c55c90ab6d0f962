//! endseal's own subjects, by suite.

use std::collections::BTreeMap;

use crate::record::{Better, Params, SubjectInfo};
use crate::subject::{Extra, SubjectError};

pub mod codec;
pub mod envelope;
pub mod node;
pub mod nostr;
pub mod s3;
pub mod sessions;
pub mod transport;

/// Describes a subject of ours that runs in this process.
fn described(
    suite: &str,
    subject: &str,
    about: &str,
    settings: &str,
    properties: &[&str],
) -> SubjectInfo {
    SubjectInfo {
        subject: subject.into(),
        suite: Some(suite.into()),
        about: about.into(),
        runtime: "Rust, in process".into(),
        versions: BTreeMap::from([("endseal".into(), env!("CARGO_PKG_VERSION").into())]),
        settings: settings.into(),
        properties: properties.iter().map(|property| (*property).into()).collect(),
    }
}

/// Returns a parameter of a case.
fn param(params: &Params, name: &str) -> Result<usize, SubjectError> {
    params
        .get(name)
        .and_then(|value| usize::try_from(*value).ok())
        .ok_or_else(|| SubjectError::Unsupported(format!("{name} is needed")))
}

fn failed(error: impl ToString) -> SubjectError {
    SubjectError::Failed(error.to_string())
}

/// Creates a figure of which less is better.
fn less(metric: &'static str, unit: &'static str, samples: Vec<f64>) -> Extra {
    Extra { metric, unit, better: Better::Less, samples }
}
