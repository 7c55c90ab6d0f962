//! What is not the time of a batch: the disk, memory, sending, what is recovered.

use super::super::document::{Document, Table, Text};
use super::super::figures::{Case, Figures, OURS, is_floor, real};
use super::{
    AFTER, BARE, chunks, group, group_text, median, memory, scenario_text, sending, single, whole,
};
use crate::suite::sessions::{DEFAULT_CHUNK, GROUPS, GROWING, SCENARIOS};
use crate::words;

pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
    disk(document, figures);
    again(document, figures);
    send(document, figures);
    room(document, figures);
    recovered(document, figures);
}

/// Bytes and synchronisations.
fn disk(document: &mut Document, figures: &Figures<'_>) {
    let case = whole(SCENARIOS[0], 1);
    let of = |metric| median(figures, &case, BARE, metric);
    if let (Some(median), Some(p95)) = (of("synchronise"), of("synchronise_p95")) {
        document.paragraph(format!(
            "To append 4 KiB to a file beside the store and synchronise it takes {} here, 95 of 100 \
             times at most {}.",
            words::time(median),
            words::time(p95),
        ));
    }
    let head =
        ["Backlog and subject", "transactions", "a message", "bytes to the disk", "a message"];
    let mut table = Table::new("What the disk gets", &head);
    for scenario in SCENARIOS {
        for case in [single(scenario, 1), chunks(scenario, 1), whole(scenario, 1)] {
            let Some(per_commit) = case.params.get("per_commit") else { continue };
            let transactions = scenario.0.div_ceil(*per_commit);
            for subject in [OURS, AFTER] {
                let Some(bytes) = median(figures, &case, subject, "bytes_written") else {
                    continue;
                };
                let commits = median(figures, &case, subject, "commits");
                let commits = commits.unwrap_or(real(transactions));
                let name = format!(
                    "{}, {} a transaction: {subject}",
                    scenario_text(scenario),
                    words::integer(*per_commit)
                );
                let messages = real(scenario.0);
                table.row(vec![
                    name.into(),
                    words::count(commits).into(),
                    words::digits(commits / messages).into(),
                    words::bytes(bytes).into(),
                    words::bytes((bytes / messages).round()).into(),
                ]);
            }
        }
    }
    document.table(table);
    document.paragraph(
        "Bytes are what the process gave to the kernel for storage (/proc/self/io) from the first call \
         to the last commit. Every transaction is one synchronisation of the log: SQLite's log with \
         FULL is synchronised at each commit and at no other time, except when it begins anew.",
    );
}

/// What comes after a batch.
fn again(document: &mut Document, figures: &Figures<'_>) {
    let head = ["Backlog", "the batch", "the same delivered again", "of that", "settling"];
    let mut table = Table::new("After the batch", &head);
    for scenario in SCENARIOS {
        let case = whole(scenario, 1);
        let of = |metric| median(figures, &case, OURS, metric);
        let (Some(time), Some(again), Some(settle)) = (of("time"), of("again"), of("settle"))
        else {
            continue;
        };
        table.row(vec![
            scenario_text(scenario).into(),
            words::time(time).into(),
            words::time(again).into(),
            words::percent(again / time).into(),
            words::time(settle).into(),
        ]);
    }
    if table.rows.is_empty() {
        return;
    }
    document.table(table);
    document.paragraph(
        "Delivered again, every message is found by its id and compared by its digest, and no ratchet \
         is touched. Settling moves the log into the database and truncates it, so that keys that were \
         replaced are in no file any more; it is not part of the batch, and is called when there is \
         time.",
    );
}

fn send(document: &mut Document, figures: &Figures<'_>) {
    let of = |metric| median(figures, &sending(), OURS, metric);
    let (Some(p50), Some(p99), Some(wait50), Some(wait99)) =
        (of("send_p50"), of("send_p99"), of("wait_p50"), of("wait_p99"))
    else {
        return;
    };
    document.paragraph(format!(
        "While {} are drained in chunks of {DEFAULT_CHUNK}, a message is sent after each: encrypted and \
         committed in {} (median; 99 of 100 within {}). Who asks just when a chunk has begun waits for \
         its end too: {}, 99 of 100 within {}.",
        scenario_text(SCENARIOS[2]),
        words::time(p50),
        words::time(p99),
        words::time(wait50),
        words::time(wait99),
    ));
}

fn room(document: &mut Document, figures: &Figures<'_>) {
    let grown = |case: &Case| median(figures, case, OURS, "rss_growth");
    let mut table = Table::new(
        "Memory that a process got during a batch, beyond what it had with the backlog before it",
        &["Backlog", "memory"],
    );
    let whole = memory(SCENARIOS[2], SCENARIOS[2].0);
    if let Some(bytes) = grown(&whole) {
        let name = format!("{}, in one transaction", scenario_text(SCENARIOS[2]));
        table.row(vec![name.into(), words::bytes(bytes).into()]);
    }
    for messages in GROWING {
        let scenario = (messages, 1);
        if let Some(bytes) = grown(&memory(scenario, DEFAULT_CHUNK)) {
            let name = format!("{}, {DEFAULT_CHUNK} a transaction", scenario_text(scenario));
            table.row(vec![name.into(), words::bytes(bytes).into()]);
        }
    }
    if table.rows.is_empty() {
        document.paragraph("This run did not measure the memory of a batch.");
        return;
    }
    document.table(table);
    document.paragraph(
        "Medians of processes of their own, by the kernel's highest resident amount. The cache of \
         pages is part of it, and is at most 8 MB.",
    );
}

/// Whether what an aborted transaction decrypted comes out when it is delivered again.
fn recovered(document: &mut Document, figures: &Figures<'_>) {
    let mut table = Table::new(
        "Two messages are decrypted, their transaction is aborted, and they are delivered again: what \
         comes out",
        &["Sessions"],
    );
    let cases =
        [("between two devices", whole(SCENARIOS[0], 1)), ("a group of 10", group(GROUPS[1], 1))];
    let subjects: Vec<&str> = figures
        .subjects()
        .into_iter()
        .filter(|subject| !is_floor("sessions", subject))
        .filter(|subject| {
            cases.iter().any(|(_, case)| figures.row(case, subject, "recovered").is_some())
        })
        .collect();
    if subjects.is_empty() {
        return;
    }
    table.head.extend(subjects.iter().map(|subject| Text::from(*subject)));
    for (name, case) in cases {
        let cell = |subject: &&str| match median(figures, &case, subject, "recovered") {
            Some(percent) if percent < 100.0 => Text::new().strong(words::percent(percent / 100.0)),
            Some(percent) => words::percent(percent / 100.0).into(),
            None => "–".into(),
        };
        let mut cells = vec![Text::from(name)];
        cells.extend(subjects.iter().map(cell));
        table.row(cells);
    }
    document.table(table);
}

/// Lengths of messages and states.
pub(super) fn sizes(document: &mut Document, figures: &Figures<'_>) {
    let head = ["Sessions", "a message of 100 B", "CoreCrypto's", "a saved session"];
    let mut table = Table::new("Messages and states", &head);
    let scenarios = [("between two devices".to_owned(), whole(SCENARIOS[0], 1))];
    let groups = GROUPS.into_iter().map(|it| (group_text(it), group(it, 1)));
    for (name, case) in scenarios.into_iter().chain(groups) {
        let bytes = |subject, metric| {
            median(figures, &case, subject, metric)
                .map_or("–".into(), |bytes| Text::from(words::bytes(bytes)))
        };
        if median(figures, &case, OURS, "size").is_some() {
            table.row(vec![
                name.into(),
                bytes(OURS, "size"),
                bytes(AFTER, "size"),
                bytes(OURS, "session_bytes"),
            ]);
        }
    }
    if table.rows.is_empty() {
        document.paragraph("This run measured no messages of sessions.");
    }
    document.table(table);
}
