//! Finding a figure in a record, and comparing two.

use std::collections::{BTreeMap, BTreeSet};

use super::View;
use super::document::Text;
use crate::record::{Growth, Params, Record, Row, SubjectInfo};
use crate::stats::{Line, theil_sen};
use crate::suite::Suite;
use crate::suite::s3::{SERVER, SINK};
use crate::suite::sessions::{MLS, PAIRWISE};
use crate::words;

/// Our subject.
pub(crate) const OURS: &str = "endseal";
/// The seed's own method, run here.
pub(crate) const SEED: &str = "seed-noble";

/// The members of a parameter set and its other parameters.
pub(crate) const MEMBERS: &str = "members";

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Case {
    pub(crate) suite: String,
    pub(crate) case: String,
    pub(crate) params: Params,
}

impl Case {
    /// A case of the suite `envelope`.
    pub(crate) fn envelope(case: &str, params: &[(&str, u64)]) -> Self {
        let params = params.iter().map(|(name, value)| ((*name).into(), *value)).collect();
        Self { suite: "envelope".into(), case: case.into(), params }
    }

    fn of(row: &Row) -> Self {
        Self { suite: row.suite.clone(), case: row.case.clone(), params: row.params.clone() }
    }

    /// "seal many".
    pub(crate) fn name(&self) -> String {
        words::tame(&self.case).replace('_', " ")
    }

    /// "seal, 100 members, 1 KB".
    pub(crate) fn describe(&self) -> String {
        let mut parts = vec![self.name()];
        let params = describe_params(&self.params).into_iter();
        // Messages of one connection follow each other.
        let in_turn = self.suite == "transport" || self.suite == "s3";
        parts.extend(params.map(|one| match in_turn {
            true => one.replace(" at once", " in a row"),
            false => one,
        }));
        parts.join(", ")
    }
}

/// "100 members", "1 KB", "10 at once", "75 % blob".
pub(crate) fn describe_params(params: &Params) -> Vec<String> {
    let one = |(name, value): (&String, &u64)| match name.as_str() {
        "bytes" => words::size_parameter(*value),
        MEMBERS => words::plural_members(*value),
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
        "streams" if *value == 1 => "1 stream".into(),
        "streams" => format!("{} streams", words::integer(*value)),
        "threads" if *value == 1 => "1 thread".into(),
        "threads" => format!("{} threads", words::integer(*value)),
        other => format!("{} {}", words::tame(other), words::integer(*value)),
    };
    // Members first, as people say it.
    let (first, rest): (Vec<_>, Vec<_>) = params.iter().partition(|(name, _)| *name == MEMBERS);
    first.into_iter().chain(rest).map(one).collect()
}

/// A ratio to be shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Factor {
    pub(crate) median: f64,
    /// The interval of a paired ratio; a ratio of medians has none.
    pub(crate) ci95: Option<[f64; 2]>,
}

/// A record with its figures in order.
#[derive(Debug)]
pub(crate) struct Figures<'a> {
    pub(crate) record: &'a Record,
    views: Vec<View>,
    rows: BTreeMap<(Case, &'a str, &'a str), &'a Row>,
    ratios: BTreeMap<(Case, &'a str, &'a str), Factor>,
    /// What a subject says of itself, once for each suite where it says it so.
    subjects: BTreeMap<&'a str, Vec<&'a SubjectInfo>>,
    names: BTreeSet<&'a str>,
}

impl<'a> Figures<'a> {
    pub(crate) fn new(record: &'a Record, views: Vec<View>) -> Self {
        let row = |row: &'a Row| ((Case::of(row), &*row.subject, &*row.metric), row);
        let mut ratios = BTreeMap::new();
        for ratio in &record.ratios {
            let case = Case {
                suite: ratio.suite.clone(),
                case: ratio.case.clone(),
                params: ratio.params.clone(),
            };
            let [low, high] = ratio.ci95;
            let usable = ratio.median > 0.0 && low > 0.0 && high > 0.0;
            if !usable || ratio.subject == ratio.against {
                continue;
            }
            let inverse =
                Factor { median: 1.0 / ratio.median, ci95: Some([1.0 / high, 1.0 / low]) };
            ratios.entry((case.clone(), &*ratio.against, &*ratio.subject)).or_insert(inverse);
            let given = Factor { median: ratio.median, ci95: Some([low, high]) };
            ratios.insert((case, &*ratio.subject, &*ratio.against), given);
        }
        let mut subjects: BTreeMap<&str, Vec<&SubjectInfo>> = BTreeMap::new();
        for info in &record.subjects {
            subjects.entry(&info.subject).or_default().push(info);
        }
        let named = subjects.keys().copied();
        let names = named.chain(record.rows.iter().map(|row| &*row.subject)).collect();
        Self { record, views, rows: record.rows.iter().map(row).collect(), ratios, subjects, names }
    }

    /// One figure.
    pub(crate) fn row(&self, case: &Case, subject: &str, metric: &str) -> Option<&'a Row> {
        // The key borrows for as long as the record; a search with a shorter one needs the range.
        self.rows
            .range((case.clone(), "", "")..)
            .take_while(|((other, _, _), _)| other == case)
            .find(|((_, s, m), _)| *s == subject && *m == metric)
            .map(|(_, row)| *row)
    }

    /// The time that passed, or CPU time where only that was measured.
    pub(crate) fn time(&self, case: &Case, subject: &str) -> Option<&'a Row> {
        self.row(case, subject, "time").or_else(|| self.row(case, subject, "cpu"))
    }

    /// Length of one envelope.
    pub(crate) fn size(&self, members: u64, bytes: u64, subject: &str) -> Option<f64> {
        ["size", "seal", "open"].iter().find_map(|case| {
            let case = Case::envelope(case, &[(MEMBERS, members), ("bytes", bytes)]);
            self.row(&case, subject, "size").map(|row| row.median)
        })
    }

    /// How many times faster `subject` is than `other`.
    pub(crate) fn factor(&self, case: &Case, subject: &str, other: &str) -> Option<Factor> {
        let paired = self
            .ratios
            .range((case.clone(), "", "")..)
            .take_while(|((found, _, _), _)| found == case)
            .find(|((_, s, a), _)| *s == subject && *a == other)
            .map(|(_, factor)| *factor);
        paired.or_else(|| {
            let (ours, theirs) = (self.time(case, subject)?, self.time(case, other)?);
            let usable = ours.metric == theirs.metric && ours.median > 0.0;
            usable.then(|| Factor { median: theirs.median / ours.median, ci95: None })
        })
    }

    /// All paired ratios between subjects, each pair once, from the side of ours where it takes part.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&Case, &str, &str, Factor)> {
        self.ratios
            .iter()
            .filter(|((_, subject, other), _)| match (is_ours(subject), is_ours(other)) {
                (true, false) => true,
                (false, true) => false,
                _ => subject < other,
            })
            .map(|((case, subject, other), factor)| (case, *subject, *other, *factor))
    }

    /// All cases that have a time.
    pub(crate) fn timed_cases(&self) -> BTreeSet<&Case> {
        let timed = |metric: &str| metric == "time" || metric == "cpu";
        self.rows.keys().filter(|(_, _, metric)| timed(metric)).map(|(case, _, _)| case).collect()
    }

    /// Cases that have this metric, with their subjects.
    pub(crate) fn with_metric(&self, metric: &str) -> BTreeMap<&Case, Vec<&'a Row>> {
        let mut found: BTreeMap<&Case, Vec<&Row>> = BTreeMap::new();
        for ((case, _, _), row) in self.rows.iter().filter(|((_, _, m), _)| *m == metric) {
            found.entry(case).or_default().push(row);
        }
        found
    }

    /// The suites that this run was asked for or measured; all, if it says neither.
    pub(crate) fn views(&self) -> Vec<View> {
        let Record { arguments, rows, .. } = self.record;
        let asked = |view: &&View| {
            arguments.suites.iter().any(|name| name == view.suite.name)
                || rows.iter().any(|row| row.suite == view.suite.name)
        };
        let found: Vec<View> = self.views.iter().filter(asked).copied().collect();
        if found.is_empty() { self.views.clone() } else { found }
    }

    /// The part of a suite.
    pub(crate) fn view(&self, suite: &str) -> Option<View> {
        self.views.iter().find(|view| view.suite.name == suite).copied()
    }

    /// The noise floor of a suite; 0 if it was not measured.
    pub(crate) fn noise_floor_of(&self, suite: &str) -> f64 {
        self.record.noise_floor_of(suite).unwrap_or_default()
    }

    /// "1.2 % (envelope), 0.41 % (codec)"; bare where one holds for all.
    pub(crate) fn noise_floors(&self) -> Option<String> {
        let record = self.record;
        let views = self.views();
        if record.noise_floors.is_empty() || views.len() < 2 {
            return record.noise_floor.map(words::fine_percent);
        }
        let of = |view: &View| {
            let floor = words::fine_percent(record.noise_floor_of(view.suite.name)?);
            Some(format!("{floor} ({})", view.suite.name))
        };
        Some(words::list(&views.iter().filter_map(of).collect::<Vec<_>>()))
    }

    /// All metrics that have a figure.
    pub(crate) fn metrics(&self) -> BTreeSet<&'a str> {
        self.record.rows.iter().map(|row| &*row.metric).collect()
    }

    /// All subjects: those that say who they are, and those that only have rows.
    pub(crate) fn subjects(&self) -> BTreeSet<&'a str> {
        self.names.clone()
    }

    /// What a subject says of itself: in that suite if it says so, in general otherwise.
    pub(crate) fn info_in(&self, suite: &str, subject: &str) -> Option<&'a SubjectInfo> {
        let all = self.infos(subject);
        let here = all.iter().find(|info| info.suite.as_deref() == Some(suite));
        here.or(all.first()).copied()
    }

    /// All that it says.
    pub(crate) fn infos(&self, subject: &str) -> &[&'a SubjectInfo] {
        self.subjects.get(subject).map_or(&[], |infos| infos)
    }

    /// Properties, if the subject says any.
    fn properties(&self, suite: &str, subject: &str) -> Option<&'a [String]> {
        let declared = self.info_in(suite, subject).map(|info| &*info.properties);
        // Ours always say: without any they have none.
        declared.filter(|all| !all.is_empty() || is_ours(subject))
    }

    /// The same in the suite `envelope`.
    pub(crate) fn difference(&self, subject: &str, other: &str) -> Option<String> {
        self.difference_in("envelope", subject, other)
    }

    /// In what `other` differs from `subject` where both do this case.
    pub(crate) fn difference_at(&self, case: &Case, subject: &str, other: &str) -> Option<String> {
        if self.view(&case.suite).is_some_and(|view| !view.report.protects(case)) {
            return None;
        }
        self.difference_in(&case.suite, subject, other)
    }

    /// In what `other` differs from `subject`, in words; `None` if they have the same properties.
    fn difference_in(&self, suite: &str, subject: &str, other: &str) -> Option<String> {
        let (Some(ours), Some(theirs)) =
            (self.properties(suite, subject), self.properties(suite, other))
        else {
            return Some("properties not declared".into());
        };
        // In the order of their declaration, which is that of the specification.
        let without = |all: &[String], others: &[String]| -> Vec<String> {
            all.iter().filter(|p| !others.contains(p)).map(|p| words::tame(p)).collect()
        };
        let (lacks, adds) = (without(ours, theirs), without(theirs, ours));
        match (lacks.is_empty(), adds.is_empty()) {
            (true, true) => None,
            (false, true) => Some(format!("lacks {}", words::list(&lacks))),
            (true, false) => Some(format!("adds {}", words::list(&adds))),
            (false, false) => {
                Some(format!("lacks {}; adds {}", words::list(&lacks), words::list(&adds)))
            }
        }
    }

    /// The factor as text: in italics between different properties, and never a difference that the
    /// noise explains.
    pub(crate) fn factor_text(&self, case: &Case, subject: &str, other: &str) -> Text {
        match self.factor(case, subject, other) {
            None => "\u{2013}".into(),
            Some(factor) => {
                let text = self.factor_words(&case.suite, factor);
                if self.difference_at(case, subject, other).is_some() {
                    return Text::new().emphasis(text);
                }
                text.into()
            }
        }
    }

    /// The factor without its interval, for tables of many columns.
    pub(crate) fn median_factor_text(&self, case: &Case, subject: &str, other: &str) -> Text {
        let bare = |factor: Factor| match factor.ci95 {
            Some(_) if self.beyond_noise(&case.suite, factor) => words::factor(factor.median, None),
            Some(_) => "no difference".into(),
            None => self.factor_words(&case.suite, factor),
        };
        let text = self.factor(case, subject, other).map_or("\u{2013}".into(), bare);
        match self.difference_at(case, subject, other) {
            Some(_) => Text::new().emphasis(text),
            None => text.into(),
        }
    }

    /// "343× (338–349)", "no difference (1.00×)", "≈ 12.3×" for one that is not paired.
    pub(crate) fn factor_words(&self, suite: &str, factor: Factor) -> String {
        match factor.ci95 {
            None => format!("≈ {}", words::factor(factor.median, None)),
            Some(_) if !self.beyond_noise(suite, factor) => {
                format!("no difference ({})", words::factor(factor.median, None))
            }
            Some(ci95) => words::factor(factor.median, Some(ci95)),
        }
    }

    /// Whether a ratio is more than noise: its interval leaves out 1, and it is further from 1 than a
    /// subject of the suite was from itself.
    pub(crate) fn beyond_noise(&self, suite: &str, factor: Factor) -> bool {
        let floor = self.record.noise_floor_of(suite).unwrap_or_default();
        let away = factor.median.max(1.0 / factor.median) - 1.0;
        let decided = factor.ci95.is_none_or(|[low, high]| low > 1.0 || high < 1.0);
        decided && away > floor
    }

    /// The fastest subject that is neither ours nor the seed's method.
    pub(crate) fn best_peer(&self, case: &Case) -> Option<&'a str> {
        let floor = |s: &&str| is_floor(&case.suite, s);
        let peers = self.subjects().into_iter().filter(|s| !is_ours(s) && !is_seed(s) && !floor(s));
        let timed = peers.filter_map(|s| self.time(case, s).map(|row| (row.median, s)));
        timed.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, subject)| subject)
    }

    /// The subject with the shortest output that is neither ours nor the seed's method.
    pub(crate) fn smallest_peer(&self, case: &Case) -> Option<&'a str> {
        let floor = |s: &&str| is_floor(&case.suite, s);
        let peers = self.subjects().into_iter().filter(|s| !is_ours(s) && !is_seed(s) && !floor(s));
        let sized = peers.filter_map(|s| self.row(case, s, "size").map(|row| (row.median, s)));
        sized.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, subject)| subject)
    }

    /// Time or another metric of a case over members, the other parameters fixed.
    pub(crate) fn over_members(&self, case: &Case, subject: &str, metric: &str) -> Vec<(f64, f64)> {
        self.over(MEMBERS, case, subject, metric)
    }

    /// The same over another parameter.
    pub(crate) fn over(
        &self,
        parameter: &str,
        case: &Case,
        subject: &str,
        metric: &str,
    ) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = self
            .record
            .rows
            .iter()
            .filter(|row| row.subject == subject && row.metric == metric)
            .filter(|row| row.suite == case.suite && row.case == case.case)
            .filter(|row| without(parameter, &row.params) == without(parameter, &case.params))
            .filter_map(|row| row.params.get(parameter).map(|value| (real(*value), row.median)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }

    /// What was found about the growth of a case over members.
    pub(crate) fn growth(&self, case: &Case, subject: &str) -> Option<&'a Growth> {
        self.record.growth.iter().find(|growth| {
            growth.subject == subject
                && growth.parameter == MEMBERS
                && (&growth.suite, &growth.case) == (&case.suite, &case.case)
                && without_members(&growth.params) == without_members(&case.params)
        })
    }

    /// The fitted line, in ns.
    pub(crate) fn line(&self, case: &Case, subject: &str) -> Option<Line> {
        theil_sen(&self.over_members(case, subject, "time"))
    }

    /// Bytes that one more member adds to a message of 1 KB.
    pub(crate) fn bytes_per_member(&self, subject: &str) -> Option<f64> {
        let all = ["size", "seal"].map(|case| {
            let case = Case::envelope(case, &[("bytes", 1024)]);
            self.over_members(&case, subject, "size")
        });
        let points = all.into_iter().find(|points| points.len() > 1)?;
        let ((m0, b0), (m1, b1)) = (*points.first()?, *points.last()?);
        (m1 > m0).then(|| (b1 - b0) / (m1 - m0))
    }
}

/// Whether a subject is one of our forms.
pub(crate) fn is_ours(subject: &str) -> bool {
    subject == OURS || subject.strip_prefix(OURS).is_some_and(|rest| rest.starts_with('-'))
}

/// Whether a subject is a form of the seed's method.
pub(crate) fn is_seed(subject: &str) -> bool {
    subject.starts_with("seed-")
}

/// Whether a subject does less than the cases of a suite, as what they are measured by.
pub(crate) fn is_floor(suite: &str, subject: &str) -> bool {
    Suite::find(suite).is_some_and(|suite| suite.floors.contains(&subject))
}

/// The parameter along which figures of a suite's cases are laid out.
pub(crate) fn axis(suite: &str) -> &'static str {
    let first = Suite::find(suite).and_then(|suite| suite.grows_by.first());
    first.map_or(MEMBERS, |growing| growing.parameter)
}

/// A value on an axis: "100 members", "8 KB".
pub(crate) fn on_axis(axis: &str, value: u64) -> String {
    let one = Params::from([(axis.to_owned(), value)]);
    describe_params(&one).concat()
}

/// The parameters that stay while members grow.
fn without_members(params: &Params) -> Params {
    without(MEMBERS, params)
}

/// The parameters that stay while another one grows.
pub(crate) fn without(parameter: &str, params: &Params) -> Params {
    let mut rest = params.clone();
    rest.remove(parameter);
    rest
}

#[allow(clippy::cast_precision_loss, reason = "a number of members or bytes")]
pub(crate) fn real(number: u64) -> f64 {
    number as f64
}
