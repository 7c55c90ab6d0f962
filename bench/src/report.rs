//! The report of a run: one HTML page, the table of README.md, and the verdicts of the goals.

mod figures;
mod goals;
mod page;
mod readme;
mod verdict;

use figures::Figures;
use verdict::Judge;
pub use verdict::Verdict;

use crate::record::Record;

/// Writes `report.html`: one file that has no scripts and makes no network requests.
#[must_use]
pub fn html(record: &Record) -> String {
    page::write(&Figures::new(record))
}

/// Writes the table of README.md from the committed run.
#[must_use]
pub fn readme(record: &Record) -> String {
    readme::write(&Figures::new(record))
}

/// Returns all goals of the suites of a run, as `suite: goal`, with their verdicts.
#[must_use]
pub fn goals(record: &Record) -> Vec<(String, Verdict)> {
    let figures = Figures::new(record);
    let judged = figures.suites().into_iter().flat_map(|suite| {
        let name = suite.name;
        let judged = judged(name, &figures).into_iter();
        judged.map(move |goal| (format!("{name}: {}", goal.what), goal.verdict))
    });
    judged.collect()
}

fn judged(suite: &'static str, figures: &Figures<'_>) -> Vec<verdict::Judged> {
    let mut judge = Judge::new(suite, Some(figures));
    goals::judge(suite, &mut judge);
    judge.judged
}
