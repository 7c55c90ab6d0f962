//! The suite `s3`: what its subjects refuse, and what the report makes of figures.

use endseal_bench::record::Params;
use endseal_bench::report::{html, markdown};
use endseal_bench::stations::Station;
use endseal_bench::subject::SubjectError;
use endseal_bench::suite::{Extent, Suite};
use serde_json::{Value, json};

use crate::fixture::{empty, record};

fn params(of: &[(&str, u64)]) -> Params {
    of.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

const MB: u64 = 1 << 20;

#[test]
fn what_there_is_not_is_unsupported_and_nothing_runs_without_a_program() {
    let suite = Suite::find("s3").unwrap();
    for mut subject in Station::find("s3").unwrap().subjects() {
        let name = subject.info().subject.clone();
        for (case, wrong) in [
            ("seal", params(&[("bytes", 5)])),
            ("put", params(&[("bytes", 5)])),
            ("get", params(&[("bytes", 0), ("backend", 0)])),
            ("small", params(&[("bytes", 5), ("count", 5), ("down", 2), ("streams", 1)])),
        ] {
            let refused = subject.prepare(case, &wrong, 1).err();
            assert!(matches!(refused, Some(SubjectError::Unsupported(_))), "{name} {case}");
        }
        // Nobody said which program plays the roles.
        let put = params(&[("bytes", 5), ("backend", 0)]);
        let failed = subject.prepare("put", &put, 1).err();
        assert!(matches!(failed, Some(SubjectError::Failed(_))), "{name}: {failed:?}");
    }
    assert!(suite.cases(Extent::Quick).len() < suite.cases(Extent::Default).len());
}

struct Rows(Vec<Value>, Vec<Value>);

impl Rows {
    fn add(&mut self, (case, params): (&str, &Params), subject: &str, metric: &str, median: f64) {
        let (unit, better) = match metric {
            "time" | "cpu_per_request" => ("ns", "less"),
            "mb_s" => ("MB/s", "more"),
            "requests_s" => ("1/s", "more"),
            "cpu_s_per_gb" => ("s/GB", "less"),
            "peak_rss_mb" => ("MB", "less"),
            "backend_bytes" => ("B", "less"),
            _ => ("1", "less"),
        };
        self.0.push(json!({"suite": "s3", "case": case, "params": params, "subject": subject,
            "metric": metric, "unit": unit, "better": better, "median": median,
            "ci95": [median, median], "n": 15}));
    }

    fn ratio(&mut self, (case, params): (&str, &Params), against: &str, ratio: f64) {
        self.1.push(json!({"suite": "s3", "case": case, "params": params, "subject": "endseal",
            "against": against, "clock": "wall", "median": ratio,
            "ci95": [ratio * 0.999, ratio * 1.001]}));
    }
}

/// Made-up figures in the shape of a run.
#[allow(clippy::cast_precision_loss, reason = "sizes of objects")]
fn run(with_server: bool) -> Value {
    let mut rows = Rows(vec![], vec![]);
    for backend in [0, 1].into_iter().filter(|backend| *backend == 0 || with_server) {
        for bytes in [10, 50, 100, 500].map(|mb| mb * MB) {
            for (case, ours, seed, pass, direct) in
                [("put", 900.0, 300.0, 1000.0, 2000.0), ("get", 800.0, 400.0, 1000.0, 3000.0)]
            {
                let given = params(&[("bytes", bytes), ("backend", backend)]);
                for (subject, rate, cpu) in [
                    ("endseal", ours, Some(0.48)),
                    ("seed-ctr", seed, Some(1.2)),
                    ("pass-through", pass, Some(0.32)),
                    ("direct", direct, None),
                ] {
                    let at = (case, &given);
                    rows.add(at, subject, "time", bytes as f64 / rate * 1e3);
                    rows.add(at, subject, "mb_s", rate);
                    if let Some(cpu) = cpu {
                        rows.add(at, subject, "cpu_s_per_gb", cpu);
                    }
                    if subject != "endseal" {
                        rows.ratio(at, subject, ours / rate);
                    }
                }
            }
        }
    }
    let given = params(&[("bytes", 100 * MB)]);
    for (metric, value) in
        [("time", 200_000.0), ("backend_requests", 1.0), ("backend_bytes", 16_400.0)]
    {
        rows.add(("range", &given), "endseal", metric, value);
    }
    for streams in [1, 8] {
        for down in [0, 1] {
            let given =
                params(&[("bytes", 4096), ("count", 256), ("down", down), ("streams", streams)]);
            for (subject, rate) in [("endseal", 6000.0), ("pass-through", 10_000.0)] {
                rows.add(("small", &given), subject, "time", 256.0 / rate * 1e9);
                rows.add(("small", &given), subject, "requests_s", rate);
                rows.add(("small", &given), subject, "cpu_per_request", 8e8 / rate);
            }
            rows.ratio(("small", &given), "pass-through", 0.6);
        }
    }
    for (bytes, streams, peak) in [(10 * MB, 1, 11.0), (5_000 * MB, 1, 11.5), (64 * MB, 16, 20.0)] {
        for down in [0, 1] {
            let given = params(&[("bytes", bytes), ("down", down), ("streams", streams)]);
            rows.add(("memory", &given), "endseal", "peak_rss_mb", peak);
        }
    }
    let mut run = empty();
    run["arguments"]["suites"] = json!(["s3"]);
    run["noise_floor"] = json!(0.01);
    (run["rows"], run["ratios"]) = (json!(rows.0), json!(rows.1));
    run
}

#[test]
fn the_report_has_the_table_of_the_seed_and_judges_its_goals() {
    let record = record(&run(true));
    let text = markdown(&record);
    let line = |start: &str| {
        let found = text.lines().find(|line| line.starts_with(start));
        found.unwrap_or_else(|| panic!("no line starts with {start:?} in {text}")).to_owned()
    };
    for (start, wanted) in [
        ("| 10 MB | 66.9 | 300 | 900 |", "| 184 | 400 | 800 |"),
        ("| Up, 100 MB: CPU per GB, beside pass-through", "| ≤ 1.60× | 1.50× | reached |"),
        ("| Up, 100 MB: CPU per GB, beside rclone-crypt", "| – |"),
        ("| Down, 100 MB: speed beside pass-through", "**missed**"),
        ("| Most memory, 10 MB up, 1 stream, of 24.0 MB", "| ≤ 1.00× | 0.46× | reached |"),
        ("| Most memory, 64 MB down, 16 streams, of 48.0 MB", "| reached |"),
        ("| Most memory, 5000 MB up, beside 10 MB", "reached"),
        ("| One byte of 100 MB: bytes from the backend", "| reached |"),
        ("| One byte of 100 MB: requests", "| reached |"),
        ("| 100 MB up | 0.48 s/GB | 0.32 s/GB | 1.50× |", "0.90×"),
    ] {
        assert!(line(start).contains(wanted), "{}", line(start));
    }
    assert!(text.contains("Each stream beyond the first adds 0.60 MB up"), "{text}");
    assert!(text.contains("0.16 more for sealing"), "{text}");
    let page = html(&record);
    assert!(page.contains("Objects up and down, before a real server") && !page.contains("NaN"));
}

#[test]
fn a_run_without_a_server_or_without_objects_says_so() {
    let text = markdown(&record(&run(false)));
    assert!(text.contains("No real server was measured"));
    assert!(text.contains("MB/s before a backend that drops"));
    let mut none = empty();
    none["arguments"]["suites"] = json!(["s3"]);
    let text = markdown(&record(&none));
    assert!(text.contains("did not measure objects of S3"));
    assert!(text.contains("measured no short objects") && text.contains("measured no ranges"));
}
