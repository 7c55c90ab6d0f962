//! Cases and the constants that all parts of a run share.

use std::collections::BTreeMap;

/// Name of the subject that others are compared with.
pub const OURS: &str = "endseal";

/// Number of inputs of a case, which are used one after the other.
pub(crate) const INPUTS: u32 = 16;
/// Least number of rounds for an interval. Fewer give no interval of 95 %: of six, all lie on one
/// side of the median in 2 of 64 cases.
pub(crate) const MIN_ROUNDS: usize = 6;
/// Parameters of a case, such as members and bytes.
pub type Params = BTreeMap<String, u64>;

/// One case with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Case {
    /// Name of the suite.
    pub suite: &'static str,
    /// Name of the case in docs/spec/bench-peer.md.
    pub case: &'static str,
    /// Parameters of the case.
    pub params: Params,
}

impl Case {
    /// Creates a case from the names and values of its parameters.
    pub(crate) fn new(suite: &'static str, case: &'static str, params: &[(&str, u64)]) -> Self {
        let params = params.iter().map(|(name, value)| ((*name).into(), *value)).collect();
        Self { suite, case, params }
    }

    /// Formats suite, case and parameters for people.
    #[must_use]
    pub fn describe(&self) -> String {
        let params: Vec<_> =
            self.params.iter().map(|(name, value)| format!("{value} {name}")).collect();
        if params.is_empty() {
            return format!("{} {}", self.suite, self.case);
        }
        format!("{} {}: {}", self.suite, self.case, params.join(", "))
    }
}
