//! The tables of the wire.

use super::super::document::{Document, Table, Text};
use super::super::figures::{Case, Figures, OURS, is_ours, real};
use super::super::front::time_text;
use super::{
    BULK_BYTES, CLASSICAL, MESSAGES, QUINN, TCP_TLS, bulk, collected, echo, handshake, messages,
    wire_size,
};
use crate::words;

/// What was published of the size on the wire: body, total.
const PUBLISHED_SIZES: [(u64, &str); 2] = [(8192, "8,472 B (1.034×)"), (262_144, "260 KB")];

/// Messages of 8 KB that are carried in a second.
pub(super) fn messages_a_second(figures: &Figures<'_>, subject: &str) -> Option<f64> {
    rate(figures, &messages(), subject)
}

fn rate(figures: &Figures<'_>, case: &Case, subject: &str) -> Option<f64> {
    a_second(figures, case, subject, real(MESSAGES))
}

/// MB (10^6 bytes) a second of a bulk transfer.
pub(super) fn bulk_rate(figures: &Figures<'_>, subject: &str) -> Option<f64> {
    a_second(figures, &bulk(), subject, real(BULK_BYTES) / 1e6)
}

fn a_second(figures: &Figures<'_>, case: &Case, subject: &str, units: f64) -> Option<f64> {
    let ns = figures.row(case, subject, "time")?.median;
    (ns > 0.0).then(|| units / (ns / 1e9))
}

pub(super) fn headlines(document: &mut Document, figures: &Figures<'_>) {
    let others = [CLASSICAL, QUINN, TCP_TLS];
    let mut table = Table::new("", &["Job", "endseal here"]);
    for other in others {
        table.head.extend([Text::from(other), "factor".into()]);
    }
    for (job, case) in [
        ("Connect, until a byte is back", handshake()),
        ("Echo of 8 KB", echo()),
        ("1,000 messages of 8 KB", messages()),
        ("the same, 64 KB collected before a write", collected()),
        ("Bulk, 64 MB", bulk()),
    ] {
        let ours = figures.time(&case, OURS);
        let within =
            |row: &crate::record::Row| Text::new().strong(words::time_within(row.median, row.ci95));
        let mut cells = vec![job.into(), ours.map_or_else(Text::not_measured, within)];
        for other in others {
            cells.push(figures.time(&case, other).map_or_else(Text::not_measured, time_text));
            cells.push(figures.factor_text(&case, OURS, other));
        }
        table.row(cells);
    }
    document.table(table);
    let differences: Vec<Text> = others
        .into_iter()
        .filter(|other| figures.time(&handshake(), other).is_some())
        .filter_map(|other| {
            let difference = figures.difference_at(&handshake(), OURS, other)?;
            Some(format!("{other} beside {OURS}: {difference}.").into())
        })
        .collect();
    document.list(differences);
}

/// Time, CPU, bytes and round trips; ours under both policies first.
pub(super) fn handshakes(document: &mut Document, figures: &Figures<'_>) {
    let mut table = Table::new(
        "Handshake: from connect until the side that connects has one byte back",
        &[
            "Subject",
            "time",
            "CPU, both ends",
            "bytes sent",
            "bytes received",
            "round trips behind 50 ms",
            "of them whole",
            "heap while idle",
        ],
    );
    for subject in ordered(figures, &handshake(), "time") {
        let row = |metric| figures.row(&handshake(), subject, metric);
        let bytes =
            |metric| row(metric).map_or("–".into(), |row| words::bytes(row.median).into());
        let trips = row("round_trips").map(|row| row.median);
        table.row(vec![
            Text::from(subject),
            row("time").map_or("–".into(), time_text),
            row("cpu").map_or("–".into(), |row| words::time(row.median).into()),
            bytes("bytes_sent"),
            bytes("bytes_received"),
            trips.map_or("–".into(), |trips| words::digits(trips).into()),
            trips.map_or("–".into(), |trips| words::count(trips).into()),
            row("idle_memory").map_or("–".into(), |row| words::bytes(row.median.round()).into()),
        ]);
    }
    document.table(table);
    document.paragraph(
        "Both ends are in one process. Bytes and round trips are from connections of their own, \
         through a relay that delays by 25 ms each way: UDP or TCP payload until the byte is back, \
         QUIC's search for the largest packet included. One round trip is that of the byte; in the \
         lines of TCP, one is TCP's own.",
    );
    memory(document, figures);
}

fn memory(document: &mut Document, figures: &Figures<'_>) {
    if figures.row(&handshake(), OURS, "idle_memory").is_none() {
        document.paragraph("This run did not measure the memory of connections.");
        return;
    }
    document.paragraph(
        "Heap while idle is what a connection keeps on which nothing happens, both ends together, stream \
         and task included: the mean of 64. Memory of the kernel is not in it, where TCP has its state \
         and its buffers, and QUIC those of one socket for all connections.",
    );
}

/// Echo, messages and bulk.
pub(super) fn connected(document: &mut Document, figures: &Figures<'_>) {
    let mut table = Table::new(
        "Once connected",
        &[
            "Subject",
            "echo of 8 KB",
            "endseal",
            "messages of 8 KB a second",
            "endseal",
            "64 KB collected",
            "endseal",
            "bulk, MB/s",
            "endseal",
        ],
    );
    for subject in ordered(figures, &echo(), "time") {
        let factor = |case: &Case| match subject == OURS {
            true => Text::from("–"),
            false => figures.factor_text(case, OURS, subject),
        };
        let whole = |rate: Option<f64>| rate.map_or("–".into(), |rate| words::count(rate).into());
        table.row(vec![
            Text::from(subject),
            figures.time(&echo(), subject).map_or("–".into(), time_text),
            factor(&echo()),
            whole(messages_a_second(figures, subject)),
            factor(&messages()),
            whole(rate(figures, &collected(), subject)),
            factor(&collected()),
            whole(bulk_rate(figures, subject)),
            factor(&bulk()),
        ]);
    }
    document.table(table);
    document.paragraph(
        "Below \u{201c}endseal\u{201d}: how many times faster endseal is than the line; in italics \
         beside other properties. A message crosses the loopback interface in packets of at most \
         6,550 bytes with endseal, which asks what the first hop takes, and of 1,452 with \
         endseal-ethernet, plain quinn, iroh and ant-quic. Messages are on their way before the next \
         call, unless 64 KB of them are collected: then TCP is given as much at once as the interface \
         takes, and QUIC gains nothing but wake-ups, since its packets are the same.",
    );
}

/// What was said of the wire where this suite started from, and what was found.
pub(super) fn corrections(document: &mut Document) {
    document.paragraph("What was published of the wire, and what was found:");
    document.list(vec![
        "\u{201c}16 B packet overhead per message\u{201d}: a message of 8 KB is six packets, each with \
         its header, its tag and that of a stream; see \u{201c}Sizes\u{201d}."
            .into(),
        "\u{201c}2,272 B handshake\u{201d}: that is the two messages of ML-KEM-768. ML-DSA-65 adds a \
         public key of 1,952 B and a signature of 3,309 B on each side; see the table above."
            .into(),
    ]);
}

/// Our policies beside each other.
pub(super) fn price(document: &mut Document, figures: &Figures<'_>) {
    let mut table = Table::new(
        "Post-quantum keys on both sides, beside classical ones",
        &["Job", "endseal", CLASSICAL, "times the time"],
    );
    for (job, case) in [("connect", handshake()), ("echo of 8 KB", echo())] {
        let (Some(ours), Some(classical)) =
            (figures.time(&case, OURS), figures.time(&case, CLASSICAL))
        else {
            continue;
        };
        let factor = figures.factor(&case, CLASSICAL, OURS);
        table.row(vec![
            job.into(),
            time_text(ours),
            time_text(classical),
            factor.map_or("–".into(), |factor| figures.factor_words(&case.suite, factor).into()),
        ]);
    }
    if table.rows.is_empty() {
        document.paragraph("This run did not measure both policies of the transport.");
    }
    document.table(table);
}

/// Bytes on the socket for one message.
pub(super) fn sizes(document: &mut Document, figures: &Figures<'_>) {
    let mut table = Table::new(
        "UDP or TCP payload from sender to receiver for one message on an open connection",
        &["Subject"],
    );
    for (bytes, _) in PUBLISHED_SIZES {
        table.head.extend([words::size_parameter(bytes).into(), Text::from("of its bytes")]);
    }
    let mut published = vec![Text::from("as published")];
    published.extend(PUBLISHED_SIZES.iter().flat_map(|(_, size)| [Text::from(*size), "–".into()]));
    table.row(published);
    let mut measured = false;
    for subject in ordered(figures, &wire_size(PUBLISHED_SIZES[0].0), "size") {
        let mut cells = vec![Text::from(subject)];
        for (bytes, _) in PUBLISHED_SIZES {
            let size = figures.row(&wire_size(bytes), subject, "size").map(|row| row.median);
            measured |= size.is_some();
            cells.push(size.map_or("–".into(), |size| words::bytes(size).into()));
            cells
                .push(size.map_or("–".into(), |size| format!("{:.4}×", size / real(bytes)).into()));
        }
        table.row(cells);
    }
    if !measured {
        document.paragraph("This run measured no bytes on the wire.");
        return;
    }
    document.table(table);
    document.paragraph(
        "Medians of nine messages, counted between the sockets; headers of IP, UDP and TCP come on \
         top, 28 to 60 bytes for each packet. Whoever encodes a message pays for that too: see the \
         suite codec.",
    );
}

/// Those that have that metric: ours first, then the others from the least on.
fn ordered<'f>(figures: &'f Figures<'_>, case: &Case, metric: &str) -> Vec<&'f str> {
    let of = |subject: &str| figures.row(case, subject, metric).map(|row| row.median);
    let mut subjects: Vec<(f64, &str)> = figures
        .subjects()
        .into_iter()
        .filter_map(|subject| of(subject).map(|least| (least, subject)))
        .collect();
    subjects.sort_by(|a, b| {
        (a.1 != OURS, !is_ours(a.1)).cmp(&(b.1 != OURS, !is_ours(b.1))).then(a.0.total_cmp(&b.0))
    });
    subjects.into_iter().map(|(_, subject)| subject).collect()
}
