//! A case of a record, and its parameters in words.

use crate::case::Params;
use crate::suite::s3::{SERVER, SINK};
use crate::suite::sessions::{MLS, PAIRWISE};
use crate::words;

/// Parameter that descriptions name first.
const MEMBERS: &str = "members";

/// A case of a suite, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Case {
    pub(crate) suite: String,
    pub(crate) case: String,
    pub(crate) params: Params,
}

impl Case {
    pub(crate) fn of(suite: &str, case: &str, params: &Params) -> Self {
        Self { suite: suite.into(), case: case.into(), params: params.clone() }
    }

    /// Returns the name with spaces: "seal many".
    fn name(&self) -> String {
        words::tame(&self.case).replace('_', " ")
    }

    /// Returns name and parameters: "seal, 100 members, 1 KB".
    pub(crate) fn describe(&self) -> String {
        let mut parts = vec![self.name()];
        let params = describe_params(&self.params).into_iter();
        // Messages of one connection follow each other: "in a row" instead of "at once".
        let in_turn = self.suite == "transport" || self.suite == "s3";
        parts.extend(params.map(|one| match in_turn {
            true => one.replace(" at once", " in a row"),
            false => one,
        }));
        parts.join(", ")
    }
}

/// Describes the parameters: "100 members", "1 KB", "10 at once", "75 % blob".
fn describe_params(params: &Params) -> Vec<String> {
    let one = |(name, value): (&String, &u64)| match name.as_str() {
        "bytes" => words::size_parameter(*value),
        MEMBERS => {
            format!("{} member{}", words::integer(*value), if *value == 1 { "" } else { "s" })
        }
        "count" => format!("{} at once", words::integer(*value)),
        "collect" if *value == 0 => "none collected".into(),
        "collect" => format!("{} collected", words::size_parameter(*value)),
        "blob_percent" if *value == 0 => "text".into(),
        "blob_percent" => format!("{} % blob", words::integer(*value)),
        "letter" => "one letter repeated".into(),
        "messages" => format!("{} messages", words::integer(*value)),
        "conversations" if *value == 1 => "1 conversation".into(),
        "conversations" => format!("{} conversations", words::integer(*value)),
        "per_commit" => format!("{} a transaction", words::integer(*value)),
        "engine" if *value == PAIRWISE => "pairwise".into(),
        "engine" if *value == MLS => "MLS".into(),
        "backend" if *value == SINK => "a backend that drops".into(),
        "backend" if *value == SERVER => "a real server".into(),
        "down" if *value == 0 => "up".into(),
        "down" if *value == 1 => "down".into(),
        "backend" => "MinIO".into(),
        "part" => format!("parts of {}", words::size_parameter(*value)),
        "delay_ms" => format!("{value} ms of delay"),
        "frames" => format!("{} frames", words::integer(*value)),
        "senders" if *value == 1 => "1 sender".into(),
        "senders" => format!("{} senders", words::integer(*value)),
        "round_trip_ms" => format!("{value} ms of round trip"),
        "idle" => format!("{} idle nodes", words::integer(*value)),
        "waiting" => format!("{} frames that wait", words::integer(*value)),
        "streams" if *value == 1 => "1 stream".into(),
        "streams" => format!("{} streams", words::integer(*value)),
        "threads" if *value == 1 => "1 thread".into(),
        "threads" => format!("{} threads", words::integer(*value)),
        other => format!("{} {}", words::tame(other), words::integer(*value)),
    };
    // Members come first.
    let (first, rest): (Vec<_>, Vec<_>) = params.iter().partition(|(name, _)| *name == MEMBERS);
    first.into_iter().chain(rest).map(one).collect()
}

/// Formats a value on an axis: "100 members", "8 KB".
pub(crate) fn on_axis(axis: &str, value: u64) -> String {
    describe_params(&Params::from([(axis.to_owned(), value)])).concat()
}
