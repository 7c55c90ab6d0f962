//! The section on cases in which another subject is better than ours, the worst first.

use std::collections::BTreeMap;

use super::case::Case;
use super::document::{Document, Table, Text};
use super::figures::{Figures, OURS, axis, is_floor, is_ours, on_axis};
use crate::record::{Better, Row};
use crate::words;

pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
    let lost = found(figures);
    if lost.is_empty() {
        let peers = figures.subjects().into_iter().any(|subject| !is_ours(subject));
        document.paragraph(if peers {
            "Nowhere in this run: no subject was faster, smaller or leaner than endseal in any case \
             that both were measured in, beyond the noise floor."
        } else {
            "This run has nothing to compare with: only endseal was measured."
        });
        return;
    }
    document.paragraph(
        "Every case in which another subject was ahead of endseal beyond the noise floor, the worst \
         first. A factor below 1 means that endseal is slower; a factor in italics compares \
         different properties. Of several sizes, the worst and the best are shown.",
    );
    let mut table = Table::new("", &["Case", "factor", "other subject", "reason"]);
    table.prose = true;
    for (job, others) in lost {
        for (i, (other, lost)) in others.into_iter().enumerate() {
            let what = if i == 0 { job.text() } else { job.text_again() };
            let difference = figures.difference_at(&job.case, &job.ours, &other);
            let much = lost.text(axis(&job.case.suite), difference.is_some());
            table.row(vec![
                what,
                much,
                Text::from(&*other),
                why(figures, &job, &other, difference),
            ]);
        }
    }
    document.table(table);
}

/// A case and metric in which a subject of ours lost, at any size and to any subject.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    metric: String,
    /// The case without its size.
    case: Case,
    ours: String,
}

impl Job {
    fn text(&self) -> Text {
        Text::new().strong(self.describe())
    }

    /// Formats the case for the rows of further subjects that are ahead in it, so that a search for
    /// the case finds all of them.
    fn text_again(&self) -> Text {
        self.describe().into()
    }

    fn describe(&self) -> String {
        let mut text = self.case.describe();
        match &*self.metric {
            "time" => {}
            "size" => text += ", bytes",
            "heap-peak" => text += ", peak heap",
            other => text += &format!(", {}", words::tame(other).replace('_', " ")),
        }
        if self.ours != OURS {
            text += &format!(" ({})", words::tame(&self.ours));
        }
        text
    }
}

/// The values of one other subject in a case, for all sizes at which it is ahead.
#[derive(Default)]
struct Lost(Vec<At>);

/// Values of both at one size.
struct At {
    /// Ratio below 1. Smaller is worse for us.
    ratio: f64,
    /// Size of the case; 0 if it has none.
    size: u64,
    words: String,
}

impl Lost {
    fn worst(&self) -> f64 {
        self.0.iter().map(|at| at.ratio).fold(1.0, f64::min)
    }

    fn text(&self, axis: &str, emphasis: bool) -> Text {
        let mut all: Vec<&At> = self.0.iter().collect();
        all.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
        let shown = match all[..] {
            [worst, .., best] => vec![worst, best],
            _ => all,
        };
        let mut text = Text::new();
        for (i, at) in shown.into_iter().enumerate() {
            text = if i > 0 { text.line_break() } else { text };
            text = if emphasis { text.emphasis(&at.words) } else { text.say(&at.words) };
            if at.size > 0 {
                text = text.say(format!(" at {}", on_axis(axis, at.size)));
            }
        }
        text
    }
}

/// Returns the reason for a loss: the properties that differ, then the known reason of the case.
fn why(figures: &Figures<'_>, job: &Job, other: &str, difference: Option<String>) -> Text {
    let content = figures.content(&job.case.suite);
    let known = content.and_then(|content| {
        content.lost.iter().find(|lost| lost.fits(&job.case, &job.metric, other))
    });
    let known = known.map(|lost| lost.why.as_str());
    let difference = difference.map(|difference| format!("{}: {difference}", words::tame(other)));
    match (difference, known) {
        (None, None) => "not known".into(),
        (Some(difference), None) => difference.into(),
        (None, Some(known)) => known.into(),
        (Some(difference), Some(known)) => format!("{difference}; {known}").into(),
    }
}

/// Returns all losses: the cases and, for each, the subjects that are ahead.
fn found(figures: &Figures<'_>) -> Vec<(Job, Vec<(String, Lost)>)> {
    let mut losses = Losses::default();
    for (case, ours, other, factor) in figures.pairs() {
        let rivals = is_ours(ours) && !is_ours(other) && !is_floor(&case.suite, other);
        if rivals && factor.median < 1.0 && figures.beyond_noise(case, factor) {
            let words = figures.factor_words(case, factor);
            losses.add("time", case, (ours, other), factor.median, words);
        }
    }
    for case in figures.timed_cases() {
        let Some(ours) = figures.time(case, OURS) else { continue };
        let rival = |other: &&str| !is_ours(other) && !is_floor(&case.suite, other);
        for other in figures.subjects().into_iter().filter(rival) {
            let Some(theirs) = figures.time(case, other) else { continue };
            let Some(factor) = figures.factor(case, OURS, other) else { continue };
            let apart = lies_below(theirs, ours);
            if !factor.paired && apart && figures.beyond_noise(case, factor) {
                let words = figures.factor_words(case, factor);
                losses.add("time", case, (OURS, other), factor.median, words);
            }
        }
    }
    for metric in figures.metrics().into_iter().filter(|metric| !["time", "cpu"].contains(metric)) {
        for (case, rows) in figures.with_metric(metric) {
            let Some(ours) = figures.row(case, OURS, metric) else { continue };
            let rival =
                |row: &&&Row| !is_ours(&row.subject) && !is_floor(&case.suite, &row.subject);
            for theirs in rows.iter().filter(rival) {
                // The smaller value is better for a cost, and worse for a yield.
                let (small, large) = match ours.better {
                    Better::Less => (*theirs, ours),
                    Better::More => (ours, *theirs),
                };
                let ratio = small.median / large.median;
                let floor = figures.noise_floor_of(&case.suite, &case.case);
                let exact = small.n <= 1 && large.n <= 1;
                if lies_below(small, large) && (exact || 1.0 / ratio - 1.0 > floor) {
                    let [ours, other] =
                        [ours, theirs].map(|row| words::value(row.median, &row.unit));
                    let text = format!("{ours} against {other}");
                    losses.add(metric, case, (OURS, &theirs.subject), ratio, text);
                }
            }
        }
    }
    losses.in_order()
}

/// Returns true if the intervals do not overlap and the first one is below the second.
fn lies_below(small: &Row, large: &Row) -> bool {
    matches!((small.ci95, large.ci95), (Some([_, high]), Some([low, _])) if high < low)
}

/// Losses by case and other subject.
#[derive(Default)]
struct Losses(BTreeMap<Job, BTreeMap<String, Lost>>);

impl Losses {
    fn add(
        &mut self,
        metric: &str,
        case: &Case,
        (ours, other): (&str, &str),
        ratio: f64,
        words: String,
    ) {
        let axis = axis(&case.suite);
        let mut case = case.clone();
        let size = case.params.remove(axis).unwrap_or_default();
        let job = Job { metric: metric.to_owned(), case, ours: ours.to_owned() };
        let others = self.0.entry(job).or_default();
        others.entry(other.to_owned()).or_default().0.push(At { ratio, size, words });
    }

    /// Sorts cases, and the subjects in each, by the largest loss first.
    fn in_order(self) -> Vec<(Job, Vec<(String, Lost)>)> {
        let mut jobs: Vec<(Job, Vec<(String, Lost)>)> = Vec::new();
        for (job, others) in self.0 {
            let mut others: Vec<_> = others.into_iter().collect();
            others.sort_by(|(_, a), (_, b)| a.worst().total_cmp(&b.worst()));
            jobs.push((job, others));
        }
        let worst =
            |others: &[(String, Lost)]| others.first().map_or(1.0, |(_, lost)| lost.worst());
        jobs.sort_by(|(_, a), (_, b)| worst(a).total_cmp(&worst(b)));
        jobs
    }
}
