//! What station 3 set out to reach.

use super::super::document::Document;
use super::super::figures::{Case, Figures, OURS};
use super::super::goals::Goal;
use super::{
    GET, PUT, SEED, SERVER, SINK, SIZES, in_chunks, median, object, one_byte, peak, share, short,
    size_text,
};
use crate::suite::s3::{MEMORY_SIZES, MEMORY_STREAM_BYTES, MEMORY_STREAMS};
use crate::suite::s3::{PASS_THROUGH, SMALL};
use crate::words;

/// The peer whose cost per GB is a bound.
const RCLONE: &str = "rclone-crypt";
/// Bytes of a chunk of the format, with its tag.
const CHUNK: f64 = 16_400.0;
/// CPU per GB beside a pass-through proxy.
const CPU: f64 = 1.6;
/// MB of a process with one stream, and with [`MEMORY_STREAMS`].
const MEMORY_MB: [f64; 2] = [24.0, 48.0];
/// What is called the same amount of memory: an allocator is not exact.
const ALIKE: f64 = 1.1;

const OTHER_PROCESS: &str = "rclone copies between a file and the backend; its CPU time is that of a \
     process that runs on, without its start.";

const MEDIANS: &str = "CPU time of the proxies' processes: a ratio of medians of the same rounds.";

const UP_AND_DOWN: [(&str, &str); 2] = [(PUT, "Up"), (GET, "Down")];

pub(super) fn goals(figures: &Figures<'_>) -> Vec<Goal> {
    let mut goals = Vec::new();
    let cpu = |case: &Case, subject| median(figures, case, subject, "cpu_s_per_gb");
    for (against, bound, note) in [(PASS_THROUGH, CPU, MEDIANS), (RCLONE, 0.35, OTHER_PROCESS)] {
        for bytes in [SIZES[2], SIZES[3]] {
            for (name, way) in UP_AND_DOWN {
                let case = object(name, bytes, SINK);
                let what = format!("{way}, {}: CPU per GB, beside {against}", size_text(bytes));
                goals.push(Goal {
                    note: Some(note),
                    ..Goal::at_most(what, share(cpu(&case, OURS), cpu(&case, against)), bound)
                });
            }
        }
    }
    for bytes in [SIZES[2], SIZES[3]] {
        let case = in_chunks(bytes);
        let what = format!("Up in chunks, {}: CPU per GB, beside {PASS_THROUGH}", size_text(bytes));
        goals.push(Goal {
            note: Some(MEDIANS),
            ..Goal::at_most(what, share(cpu(&case, OURS), cpu(&case, PASS_THROUGH)), CPU)
        });
    }
    for (bytes, backend) in [(SIZES[2], SINK), (SIZES[3], SINK), (SIZES[2], SERVER)] {
        let place = if backend == SINK { "" } else { ", from a real server" };
        let what = format!("Down, {}{place}: speed beside {PASS_THROUGH}", size_text(bytes));
        goals.push(Goal::faster(what, object(GET, bytes, backend), PASS_THROUGH, 0.85));
    }
    goals.extend(of_memory(figures));
    let byte = |metric| median(figures, &one_byte(), OURS, metric);
    goals.push(Goal::exactly(
        "One byte of 100 MB: bytes from the backend, of one chunk (16,400)",
        share(byte("backend_bytes"), Some(CHUNK)),
        1.0,
    ));
    goals.push(Goal::exactly(
        "One byte of 100 MB: requests to the backend",
        byte("backend_requests"),
        1.0,
    ));
    goals
}

fn of_memory(figures: &Figures<'_>) -> Vec<Goal> {
    let mut goals = Vec::new();
    let memory = |case: &Case| median(figures, case, OURS, "peak_rss_mb");
    for (down, way) in [(0, "up"), (1, "down")] {
        let [least, middle, most] =
            MEMORY_SIZES.map(|bytes| (bytes, memory(&peak(bytes, down, 1))));
        let largest = if most.1.is_some() { most } else { middle };
        for (bytes, streams) in
            [(least.0, 1), (largest.0, 1), (MEMORY_STREAM_BYTES, MEMORY_STREAMS)]
        {
            let [one, several] = MEMORY_MB;
            let bound = if streams == 1 { one } else { several };
            goals.push(Goal::exactly(
                format!(
                    "Most memory, {} {way}, {}, of {} MB",
                    size_text(bytes),
                    on(streams),
                    words::digits(bound)
                ),
                share(memory(&peak(bytes, down, streams)), Some(bound)),
                1.0,
            ));
        }
        goals.push(Goal::exactly(
            format!("Most memory, {} {way}, beside {}", size_text(largest.0), size_text(least.0)),
            share(largest.1, least.1),
            ALIKE,
        ));
    }
    goals
}

/// "1 stream".
fn on(streams: u64) -> String {
    if streams == 1 { "1 stream".into() } else { format!("{streams} streams") }
}

pub(super) fn why_missed(document: &mut Document, figures: &Figures<'_>) {
    let mut parts = Vec::new();
    for (name, way) in UP_AND_DOWN {
        let case = object(name, SIZES[2], SINK);
        let [ours, pass] =
            [OURS, PASS_THROUGH].map(|it| median(figures, &case, it, "cpu_s_per_gb"));
        if let (Some(ours), Some(pass)) = (ours, pass) {
            parts.push(format!(
                "{way}, {} s of CPU a GB in ours and {} in the one that passes on: {} more for sealing, \
                 a signature on each side and a checksum",
                words::digits(ours),
                words::digits(pass),
                words::digits(ours - pass),
            ));
        }
    }
    for (down, way) in [(0, "up"), (1, "down")] {
        let [ours, pass] =
            [OURS, PASS_THROUGH].map(|it| median(figures, &short(down, 1), it, "cpu_per_request"));
        if let (Some(ours), Some(pass)) = (ours, pass) {
            parts.push(format!(
                "4 KB {way}, {} of CPU a request in ours and {} in the other",
                words::time(ours),
                words::time(pass),
            ));
        }
    }
    if parts.is_empty() {
        return;
    }
    document.paragraph(format!(
        "{}. Client, proxy and backend are three processes: where there are fewer CPUs than that, what one \
         of them computes is taken from the others, and times grow with the CPU time of all.",
        parts.join("; "),
    ));
}

/// Where the two differ by what they do.
pub(super) fn why_lost(case: &Case, metric: &str, other: &str) -> Option<&'static str> {
    let server = case.params.get("backend") == Some(&SERVER);
    match (metric, other) {
        ("peak_rss_mb", _) => None,
        (_, "minio" | "minio-sse") => Some(
            "there is no proxy: the client speaks to a server, which is another one than ours has",
        ),
        (_, RCLONE) => Some("rclone sends several parts at once, ours one stream as it comes"),
        (_, SEED) if case.case == SMALL => {
            Some("it verifies no signature of the client's, which costs as much at any length")
        }
        ("time" | "mb_s", SEED) if server && case.case == PUT => {
            Some("three parts at once are three writers of the server, each with its own digest")
        }
        ("time" | "mb_s", SEED) => {
            Some("three parts at once are three connections, which two CPUs share differently")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::goals::Measure;
    use super::*;
    use crate::record::Record;
    use crate::suite::{Extent, Suite};

    #[test]
    fn a_short_object_is_not_said_to_have_parts() {
        let why = |case: &Case| why_lost(case, "time", SEED).unwrap();
        assert!(why(&short(0, 1)).contains("signature"));
        assert!(why(&object(PUT, SIZES[3], SERVER)).contains("three parts"));
    }

    #[test]
    fn every_goal_names_a_case_of_the_suite() {
        let cases = Suite::find("s3").unwrap().cases(Extent::Default);
        let record = Record::default();
        let goals = goals(&Figures::new(&record, Vec::new()));
        assert_eq!(goals.len(), 8 + 2 + 3 + 8 + 2);
        for goal in goals {
            let Measure::Factor { case, .. } = goal.measure else { continue };
            let found = cases.iter().any(|c| c.case == case.case && c.params == case.params);
            assert!(found, "{}", goal.what);
        }
    }
}
