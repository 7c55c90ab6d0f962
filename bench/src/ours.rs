//! endseal's own subjects, by suite.

use std::collections::BTreeMap;

use crate::record::SubjectInfo;
use crate::subject::Subject;

pub(crate) mod codec;
pub(crate) mod envelope;
pub(crate) mod node;
pub(crate) mod nostr;
pub(crate) mod s3;
pub(crate) mod sessions;
pub(crate) mod transport;

/// Returns endseal's own subjects in a suite.
#[must_use]
pub fn subjects(suite: &str) -> Vec<Subject> {
    match suite {
        "envelope" => envelope::subjects(),
        "codec" => codec::subjects(),
        "transport" => transport::subjects(),
        "s3" => s3::subjects(),
        "nostr" => nostr::subjects(),
        "sessions" => sessions::subjects(),
        "node" => node::subjects(),
        _ => Vec::new(),
    }
}

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
