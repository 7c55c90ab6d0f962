//! The report of station 5: backlogs of conversations, decrypted and kept.

use super::SuiteReport;
use super::document::{Document, Text};
use super::figures::{Case, Figures, OURS};
use super::goals::Goal;
use crate::record::{Params, Row};
use crate::suite::sessions::{BARE, DECRYPT, MEMORY, SEND};
use crate::suite::sessions::{CHUNK, DEFAULT_CHUNK, GROUPS, SCENARIOS, groups, pairwise};
use crate::words;

mod figures;
mod goals;
mod seed;
mod tables;

/// Its part of a report.
#[derive(Debug)]
pub(crate) struct SessionsReport;

/// The seed's library with transactions: its method after the change, and before it with one message
/// in each.
const AFTER: &str = "core-crypto";
/// The same library before it had transactions.
const BEFORE: &str = "core-crypto-jvm";

impl SuiteReport for SessionsReport {
    fn summary(&self, figures: &Figures<'_>) -> Text {
        let (all, one) = (whole(SCENARIOS[0], 1), single(SCENARIOS[0], 1));
        let Some(row) = figures.time(&all, OURS) else {
            return "This run did not measure backlogs.".into();
        };
        let mut text = Text::new()
            .say("A backlog of 2,000 messages is decrypted and on the disk in ")
            .strong(words::time(row.median));
        if let Some(times) = beside(figures, (&all, OURS), (&one, OURS)) {
            text = text.say(", ").strong(words::factor(times, None));
            text = text.say(" as fast as with a transaction for each message");
        }
        if let Some(factor) = figures.factor(&all, OURS, AFTER) {
            text = text.say(" and ").strong(words::factor(factor.median, None));
            text = text.say(" as fast as CoreCrypto with one transaction for all");
        }
        text.say(".")
    }

    fn headlines(&self, document: &mut Document, figures: &Figures<'_>) {
        tables::headlines(document, figures);
    }

    fn goals(&self, figures: &Figures<'_>) -> Vec<Goal> {
        goals::goals(figures)
    }

    fn why_missed(&self, document: &mut Document, figures: &Figures<'_>) {
        goals::why_missed(document, figures);
    }

    fn sections(&self, document: &mut Document, figures: &Figures<'_>) {
        seed::write(document, figures);
        document.section("Sessions");
        tables::transactions(document, figures);
        tables::threads(document, figures);
        figures::write(document, figures);
    }

    fn main_cases(&self) -> Vec<Case> {
        let mut cases: Vec<Case> = SCENARIOS.iter().map(|it| whole(*it, 1)).collect();
        cases.push(group(GROUPS[1], 1));
        cases
    }

    fn prices(&self, document: &mut Document, figures: &Figures<'_>) {
        tables::price(document, figures);
    }

    fn sizes(&self, document: &mut Document, figures: &Figures<'_>) {
        figures::sizes(document, figures);
    }
}

fn case(name: &str, params: Params) -> Case {
    Case { suite: "sessions".into(), case: name.into(), params }
}

/// All messages of a scenario in one transaction.
fn whole(scenario: (u64, u64), threads: u64) -> Case {
    case(DECRYPT, pairwise(scenario, scenario.0, threads))
}

/// [`CHUNK`] of them in each.
fn chunks(scenario: (u64, u64), threads: u64) -> Case {
    case(DECRYPT, pairwise(scenario, CHUNK, threads))
}

/// One of them in each.
fn single(scenario: (u64, u64), threads: u64) -> Case {
    case(DECRYPT, pairwise(scenario, 1, threads))
}

/// All messages of groups in one transaction.
fn group(of: (u64, u64, u64), threads: u64) -> Case {
    case(DECRYPT, groups(of, threads))
}

/// The memory of a backlog.
fn memory(scenario: (u64, u64), per_commit: u64) -> Case {
    case(MEMORY, pairwise(scenario, per_commit, 1))
}

/// What is sent while a backlog is on its way.
fn sending() -> Case {
    case(SEND, pairwise(SCENARIOS[2], DEFAULT_CHUNK, 1))
}

/// "2,000 messages, 1 conversation".
fn scenario_text((messages, conversations): (u64, u64)) -> String {
    let noun = if conversations == 1 { "conversation" } else { "conversations" };
    format!("{} messages, {conversations} {noun}", words::integer(messages))
}

/// "1,000 messages, 5 groups of 10".
fn group_text((messages, conversations, members): (u64, u64, u64)) -> String {
    let members = words::integer(members);
    match conversations {
        1 => format!("{} messages, a group of {members}", words::integer(messages)),
        _ => format!("{} messages, {conversations} groups of {members}", words::integer(messages)),
    }
}

/// How many times longer the second takes than the first: of medians, because they are not of the same
/// case, and so of no common rounds.
fn beside(
    figures: &Figures<'_>,
    (case, subject): (&Case, &str),
    (other_case, other): (&Case, &str),
) -> Option<f64> {
    let (ours, theirs) = (figures.time(case, subject)?, figures.time(other_case, other)?);
    let usable = ours.metric == theirs.metric && ours.median > 0.0;
    usable.then(|| theirs.median / ours.median)
}

/// A figure of ours or of another.
fn median(figures: &Figures<'_>, case: &Case, subject: &str, metric: &str) -> Option<f64> {
    figures.row(case, subject, metric).map(|row| row.median)
}

/// A time as a cell.
fn time_cell(row: Option<&Row>) -> Text {
    row.map_or_else(Text::not_measured, super::front::time_text)
}
