//! What station 5 set out to reach.

use super::super::document::Document;
use super::super::figures::{Case, Figures, OURS, real};
use super::super::goals::{Bound, Goal, Measure};
use super::{
    AFTER, BARE, beside, chunks, group, group_text, median, memory, scenario_text, sending, single,
    whole,
};
use crate::suite::sessions::{GROUPS, SCENARIOS};
use crate::words;

/// What a batch of 5,000 messages may take.
const MEMORY_BOUND: f64 = (32 << 20) as f64;
/// What somebody may wait who sends while a backlog is on its way, in ns.
const WAIT_BOUND: f64 = 10e6;

const OTHER_CASE: &str = "CoreCrypto's calls follow each other on one thread, or come one by one: this \
     is a ratio of medians of the same run, not of rounds.";

const OTHER_THREADS: &str = "Ours decrypts a block while another thread writes the one before, as it is meant \
     to where there are two CPUs; the bare cryptography is that of one thread. The goal did not say on how \
     many: both are shown. A ratio of medians of the same run.";

pub(super) fn goals(figures: &Figures<'_>) -> Vec<Goal> {
    let [first, second, third] = SCENARIOS;
    let at_least = |what: String, share, bound| Goal {
        what,
        measure: Measure::Share(share),
        bound: Bound::AtLeast(bound),
        note: Some(OTHER_CASE),
    };
    let mut goals = Vec::new();
    for scenario in [first, second] {
        let what = format!("{}, beside CoreCrypto's one transaction", scenario_text(scenario));
        goals.push(Goal::faster(what, whole(scenario, 1), AFTER, 8.0));
    }
    goals.push(at_least(
        format!("{}, on 2 threads, beside CoreCrypto's one transaction", scenario_text(third)),
        beside(figures, (&whole(third, 2), OURS), (&whole(third, 1), AFTER)),
        10.0,
    ));
    for scenario in [first, second] {
        goals.push(at_least(
            format!("{}, beside CoreCrypto's one for each message", scenario_text(scenario)),
            beside(figures, (&whole(scenario, 1), OURS), (&single(scenario, 1), AFTER)),
            80.0,
        ));
    }
    let what = format!("{}, beside CoreCrypto's one transaction", group_text(GROUPS[1]));
    goals.push(Goal::faster(what, group(GROUPS[1], 1), AFTER, 2.5));
    goals.push(at_least(
        format!("{}, on 2 threads, beside CoreCrypto's", group_text(GROUPS[3])),
        beside(figures, (&group(GROUPS[3], 2), OURS), (&group(GROUPS[3], 1), AFTER)),
        4.0,
    ));
    for scenario in [first, second] {
        let own = beside(figures, (&whole(scenario, 1), OURS), (&single(scenario, 1), OURS));
        goals.push(Goal {
            what: format!("{}, one transaction beside one for each", scenario_text(scenario)),
            measure: Measure::Share(own),
            bound: Bound::AtLeast(40.0),
            note: None,
        });
    }
    for scenario in SCENARIOS {
        let own = beside(figures, (&whole(scenario, 1), OURS), (&chunks(scenario, 1), OURS));
        let what = format!("{}, chunks of 100 beside one transaction", scenario_text(scenario));
        goals.push(Goal::at_most(what, own, 2.5));
    }
    for scenario in SCENARIOS {
        goals.push(Goal {
            what: format!(
                "{}, beside the bare cryptography and one synchronisation",
                scenario_text(scenario)
            ),
            // How many times longer ours takes is how many times faster the floor is.
            measure: Measure::Factor { case: whole(scenario, 1), subject: BARE, against: OURS },
            bound: Bound::AtMost(1.6),
            note: None,
        });
    }
    for scenario in SCENARIOS {
        goals.push(Goal {
            what: format!("{}, the same on 2 threads", scenario_text(scenario)),
            measure: Measure::Share(beside(
                figures,
                (&whole(scenario, 1), BARE),
                (&whole(scenario, 2), OURS),
            )),
            bound: Bound::AtMost(1.6),
            note: Some(OTHER_THREADS),
        });
    }
    let share =
        |case: &Case, metric, of: f64| median(figures, case, OURS, metric).map(|it| it / of);
    goals.push(Goal::at_most(
        "Sending while a backlog is on its way, 99 of 100 within 10 ms, of that",
        share(&sending(), "wait_p99", WAIT_BOUND),
        1.0,
    ));
    goals.push(Goal::exactly(
        "Memory of 5,000 messages in one transaction, of 32 MB",
        share(&memory(third, third.0), "rss_growth", MEMORY_BOUND),
        1.0,
    ));
    goals
}

pub(super) fn why_missed(document: &mut Document, figures: &Figures<'_>) {
    for scenario in SCENARIOS {
        let case = whole(scenario, 1);
        let of = |subject: &str, metric: &str| median(figures, &case, subject, metric);
        let (Some(crypto), Some(synchronise), Some(p95), Some(ours)) = (
            of(BARE, "crypto"),
            of(BARE, "synchronise"),
            of(BARE, "synchronise_p95"),
            of(OURS, "time"),
        ) else {
            continue;
        };
        let messages = real(scenario.0);
        let mut text = format!(
            "{}: the cryptography alone takes {}, {} a message; a synchronisation here {} (95 of 100 \
             within {}); ours {}. The rest, {} a message, is that of the store: a look-up and two rows \
             for each message, and pages encrypted and authenticated.",
            scenario_text(scenario),
            words::time(crypto),
            words::time(crypto / messages),
            words::time(synchronise),
            words::time(p95),
            words::time(ours),
            words::time((ours - crypto - synchronise).max(0.0) / messages),
        );
        let (chunked, commits) = (
            median(figures, &chunks(scenario, 1), OURS, "time"),
            median(figures, &chunks(scenario, 1), OURS, "commits"),
        );
        if let (Some(chunked), Some(commits)) = (chunked, commits.filter(|it| *it > 1.0)) {
            text += &format!(
                " In chunks of 100 it is {} transactions, each {} more than its messages.",
                words::count(commits),
                words::time((chunked - ours).max(0.0) / (commits - 1.0)),
            );
        }
        if let Some(written) = of(OURS, "bytes_written") {
            text += &format!(" It gives the disk {}.", words::bytes(written));
        }
        document.paragraph(text);
    }
    let group_case = group(GROUPS[1], 1);
    let of = |subject: &str, metric: &str| median(figures, &group_case, subject, metric);
    if let (Some(crypto), Some(ours)) = (of(BARE, "crypto"), of(OURS, "time")) {
        document.paragraph(format!(
            "{}: the cryptography alone takes {} of our {}.",
            group_text(GROUPS[1]),
            words::time(crypto),
            words::time(ours),
        ));
    }
    document.paragraph(
        "What is gained over a transaction for each message depends on the disk: each of those waits \
         for a synchronisation, and the goals were set where that took 0.17 ms.",
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
    use crate::suite::{Extent, Suite};

    #[test]
    fn every_goal_names_a_case_of_the_suite() {
        let cases = Suite::find("sessions").unwrap().cases(Extent::Quick);
        let goals = goals(&Figures::new(&Record::default(), Vec::new()));
        assert_eq!(goals.len(), 20);
        for goal in goals {
            let Measure::Factor { case, .. } = goal.measure else { continue };
            let found = cases.iter().any(|c| c.case == case.case && c.params == case.params);
            assert!(found, "{}", goal.what);
        }
    }

    #[test]
    fn what_goals_compare_is_in_every_extent() {
        let [first, second, third] = SCENARIOS;
        let needed = [
            whole(first, 2),
            whole(second, 2),
            whole(third, 2),
            single(first, 1),
            single(second, 1),
            group(GROUPS[3], 2),
            chunks(third, 1),
            sending(),
            memory(third, third.0),
        ];
        let cases = Suite::find("sessions").unwrap().cases(Extent::Quick);
        for case in needed {
            let found = cases.iter().any(|c| c.case == case.case && c.params == case.params);
            assert!(found, "{}", case.describe());
        }
    }
}
