//! Times by transactions, threads and members.

use super::super::document::{Document, Table, Text};
use super::super::figures::{Case, Figures, OURS};
use super::{
    AFTER, BARE, beside, chunks, group, group_text, median, scenario_text, single, time_cell, whole,
};
use crate::suite::sessions::{GROUPS, SCENARIOS};
use crate::words;

/// All jobs with everything in one transaction.
fn jobs(threads: u64) -> impl Iterator<Item = (String, Case)> {
    let pairs = SCENARIOS.into_iter().map(move |it| (scenario_text(it), whole(it, threads)));
    let groups = GROUPS.into_iter().map(move |it| (group_text(it), group(it, threads)));
    pairs.chain(groups)
}

pub(super) fn headlines(document: &mut Document, figures: &Figures<'_>) {
    let head = [
        "Job, in one transaction",
        "endseal here",
        "the cryptography and a synchronisation",
        "times that",
        "CoreCrypto here",
        "factor",
    ];
    let mut table = Table::new("", &head);
    for (job, case) in jobs(1) {
        let Some(ours) = figures.time(&case, OURS) else { continue };
        let floor = figures.factor(&case, BARE, OURS);
        table.row(vec![
            job.into(),
            Text::new().strong(words::time_within(ours.median, ours.ci95)),
            time_cell(figures.time(&case, BARE)),
            floor.map_or("–".into(), |floor| words::factor(floor.median, floor.ci95).into()),
            time_cell(figures.time(&case, AFTER)),
            figures.factor_text(&case, OURS, AFTER),
        ]);
    }
    document.table(table);
}

/// One message a transaction, a hundred, all.
pub(super) fn transactions(document: &mut Document, figures: &Figures<'_>) {
    let head = [
        "Scenario and subject",
        "one a transaction",
        "100 a transaction",
        "times all in one",
        "all in one",
        "one by one, times that",
    ];
    let mut table = Table::new("Messages a transaction, on one thread", &head);
    for scenario in SCENARIOS {
        let cases = [single(scenario, 1), chunks(scenario, 1), whole(scenario, 1)];
        table.group(scenario_text(scenario));
        for subject in [OURS, AFTER, "core-crypto-jvm", "libsignal"] {
            let [one, some, all] = &cases;
            if cases.iter().all(|case| figures.time(case, subject).is_none()) {
                continue;
            }
            let times = |case: &Case| {
                beside(figures, (all, subject), (case, subject))
                    .map_or("–".into(), |it| words::factor(it, None).into())
            };
            let cell = |case| {
                figures
                    .time(case, subject)
                    .map_or("–".into(), |row| words::time(row.median).into())
            };
            table.row(vec![
                subject.into(),
                cell(one),
                cell(some),
                times(some),
                cell(all),
                times(one),
            ]);
        }
    }
    document.table(table);
    document.paragraph(
        "endseal keeps the contents and ids of the messages in the same transaction; core-crypto keeps \
         the states of sessions, and what it decrypted is lost if the application ends before it has \
         stored it. libsignal leaves the store to the application, and has none here.",
    );
}

/// One thread beside two.
pub(super) fn threads(document: &mut Document, figures: &Figures<'_>) {
    let head = ["Job, in one transaction", "1 thread", "2 threads", "gain", "the floor's gain"];
    let mut table = Table::new("Threads", &head);
    for ((job, one), (_, two)) in jobs(1).zip(jobs(2)) {
        let Some(first) = figures.time(&one, OURS) else { continue };
        let gain = |subject| {
            beside(figures, (&two, subject), (&one, subject))
                .map_or("–".into(), |it| words::factor(it, None).into())
        };
        table.row(vec![
            job.into(),
            words::time(first.median).into(),
            time_cell(figures.time(&two, OURS)),
            gain(OURS),
            gain(BARE),
        ]);
    }
    document.table(table);
    document.paragraph(
        "A conversation is worked on by one thread, because its ratchet turns message by message. With \
         two threads, a third writes to the store, so that decrypting and writing overlap where there \
         are CPUs for it.",
    );
}

/// What it costs that a message is kept.
pub(super) fn price(document: &mut Document, figures: &Figures<'_>) {
    let head =
        ["Durability", "cryptography alone", "and one synchronisation", "and kept", "a message"];
    let mut table = Table::new("A backlog in memory, and on the disk when the call returns", &head);
    for ((job, case), messages) in
        jobs(1).zip(SCENARIOS.iter().map(|it| it.0).chain(GROUPS.iter().map(|it| it.0)))
    {
        let (Some(crypto), Some(floor), Some(ours)) = (
            median(figures, &case, BARE, "crypto"),
            median(figures, &case, BARE, "time"),
            median(figures, &case, OURS, "time"),
        ) else {
            continue;
        };
        let each = (ours - crypto).max(0.0) / super::super::figures::real(messages);
        table.row(vec![
            job.into(),
            words::time(crypto).into(),
            words::time(floor).into(),
            words::time(ours).into(),
            words::time(each).into(),
        ]);
    }
    if table.rows.is_empty() {
        document.paragraph("This run did not measure what it costs to keep messages.");
    }
    document.table(table);
}
