//! Cases, and the constants that all parts of a run share.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::subject::{Failure, unsupported};
use crate::words;

/// Name of the subject that others are compared with.
pub const OURS: &str = "endseal";

/// Number of inputs of a case, which are used one after the other.
pub(crate) const INPUTS: u32 = 16;
/// Least number of rounds for an interval. Fewer give no interval of 95 %: of six, all lie on one
/// side of the median in 2 of 64 cases.
pub(crate) const MIN_ROUNDS: usize = 6;
/// Parameter that descriptions name first.
const MEMBERS: &str = "members";

/// Parameters of a case, such as members and bytes.
pub type Params = BTreeMap<String, u64>;

/// One case of a suite, with its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(clippy::exhaustive_structs, reason = "written out by tests")]
pub struct Case {
    /// Name of the suite.
    pub suite: String,
    /// Name of the case in docs/spec/bench-peer.md.
    pub case: String,
    /// Parameters of the case.
    pub params: Params,
}

impl Case {
    /// Parses a grid of cases, such as `seal,open members=5,10 bytes=1K`, which names four. K, M
    /// and G are powers of 1,024. A word that is no parameter is left out: tests compare what the
    /// report asks for with the cases of its suite.
    pub(crate) fn grid(suite: &str, text: &str) -> Vec<Self> {
        let mut words = text.split_whitespace();
        let names = words.next().unwrap_or_default().split(',');
        let named = names.map(|name| Self {
            suite: suite.into(),
            case: name.into(),
            params: Params::new(),
        });
        let mut cases: Vec<Self> = named.collect();
        for (name, values) in words.filter_map(|word| word.split_once('=')) {
            let values: Vec<u64> = values.split(',').filter_map(number).collect();
            let with = |case: &Self, value: u64| {
                let mut case = case.clone();
                case.params.insert(name.into(), value);
                case
            };
            cases = cases
                .iter()
                .flat_map(|case| values.iter().map(|value| with(case, *value)))
                .collect();
        }
        cases
    }

    /// Parses one case, such as `seal members=100 bytes=1K`.
    #[must_use]
    pub fn read(suite: &str, text: &str) -> Self {
        Self::grid(suite, text).into_iter().next().unwrap_or_default()
    }

    /// Returns the value of a parameter.
    ///
    /// # Errors
    /// The case is unsupported if it has no such parameter.
    pub(crate) fn number(&self, name: &str) -> Result<usize, Failure> {
        let value = self.params.get(name).and_then(|value| usize::try_from(*value).ok());
        value.ok_or_else(|| unsupported(format!("{name} is needed")))
    }

    /// Returns true if this case has the name and all parameters of `other`.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let has = |(name, value): (&String, &u64)| self.params.get(name) == Some(value);
        self.case == other.case && other.params.iter().all(has)
    }

    /// Describes name and parameters for people: "seal, 100 members, 1 KB".
    #[must_use]
    pub fn describe(&self) -> String {
        let mut parts = vec![words::tame(&self.case).replace('_', " ")];
        let (first, rest): (Vec<_>, Vec<_>) =
            self.params.iter().partition(|(name, _)| *name == MEMBERS);
        let all = first.into_iter().chain(rest);
        parts.extend(all.map(|(name, value)| describe_parameter(name, *value)));
        parts.join(", ")
    }
}

/// Parses a number such as `8K`.
fn number(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let shift = match &text[digits.len()..] {
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => 0,
    };
    Some(digits.parse::<u64>().ok()? << shift)
}

/// Reads parameters such as `members=10`.
///
/// # Errors
/// Fails if a text is not a name and a number.
pub(crate) fn parameters<'a>(all: impl Iterator<Item = &'a str>) -> Result<Params, Failure> {
    let pair = |text: &str| {
        let (name, value) = text.split_once('=').ok_or("a parameter is name=value")?;
        Ok((name.to_owned(), value.parse()?))
    };
    all.map(pair).collect()
}

/// Describes one parameter: "100 members", "1 KB", "75 % blob".
pub(crate) fn describe_parameter(name: &str, value: u64) -> String {
    let number = words::integer(value);
    let plural = |noun: &str| format!("{number} {noun}{}", if value == 1 { "" } else { "s" });
    match (name, value) {
        ("bytes", _) => words::size_parameter(value),
        (MEMBERS, _) => plural("member"),
        ("count", _) => format!("a set of {number}"),
        ("messages" | "frames", _) => format!("{number} {name}"),
        ("collect", 0) => "none collected".into(),
        ("collect", _) => format!("{} collected", words::size_parameter(value)),
        ("blob_percent", 0) => "text".into(),
        ("blob_percent", _) => format!("{number} % blob"),
        ("letter", _) => "one letter repeated".into(),
        ("conversations", _) => plural("conversation"),
        ("per_commit", _) => format!("{number} a transaction"),
        ("engine", 1) => "pairwise".into(),
        ("engine", 2) => "MLS".into(),
        ("backend", 0) => "a backend that drops".into(),
        ("backend", 1) => "a real server".into(),
        ("down", 0) => "up".into(),
        ("down", _) => "down".into(),
        ("part", _) => format!("parts of {}", words::size_parameter(value)),
        ("senders", _) => plural("sender"),
        ("round_trip_ms", _) => format!("{number} ms of round trip"),
        ("idle", _) => format!("{number} idle nodes"),
        ("waiting", _) => format!("{number} frames that wait"),
        ("streams", _) => plural("stream"),
        ("threads", _) => plural("thread"),
        (other, _) => format!("{} {number}", words::tame(other).replace('_', " ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_has_every_combination_in_order() {
        let described = |text| -> Vec<String> {
            Case::grid("envelope", text).iter().map(Case::describe).collect()
        };
        assert_eq!(
            described("seal,open members=1,5 bytes=8K"),
            [
                "seal, 1 member, 8 KB",
                "seal, 5 members, 8 KB",
                "open, 1 member, 8 KB",
                "open, 5 members, 8 KB",
            ]
        );
        assert_eq!(described("conversation_key"), ["conversation key"]);
    }
}
