//! The report of a made-up run, and the committed runs.

use std::fs;
use std::path::Path;

use endseal_bench::record::read_record_file;
use endseal_bench::report::{Verdict, goals, html};
use endseal_bench::suite::SUITES;
use serde_json::{Value, json};

use crate::fixture::{record, run};

#[test]
fn the_page_begins_with_a_chart_and_has_every_table() {
    let page = html(&record(&run()));
    let chart = &page[page.find("<figure>").unwrap()..page.find("</figure>").unwrap()];
    for bar in ["endseal</span>", "257 µs", "endseal-hybrid", "seed-noble", "straight"] {
        assert!(chart.contains(bar), "{bar}: {chart}");
    }
    let row = page.lines().find(|line| line.contains(">100</th><td>80 ms</td>")).unwrap();
    assert!(row.contains("<td>87.5 ms</td><td>–</td>"), "{row}");
    assert!(row.contains("257 µs (256–258)<br><em>340× (335–345)</em>"), "{row}");
    let lost = &page[page.find("Where we lose").unwrap()..];
    assert!(lost.contains("envelope: open, 100 members, 1 KB"), "a loss is named");
    for section in ["Goals", "Not measured", "Subjects", "Method and machine"] {
        assert!(page.contains(&format!("<h2>{section}</h2>")), "{section}");
    }
    for tag in ["table", "tr", "th", "td", "ul", "li", "p", "div", "figure", "details"] {
        let open =
            page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(open, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    for foreign in ["<script", "<link", "<img", "url(", "@import", "src=", "NaN"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

#[test]
fn goals_have_verdicts() {
    let goals = goals(&record(&run()));
    let of = |what: &str| goals.iter().find(|(name, _)| name.contains(what)).unwrap().1;
    assert_eq!(of("X25519, beside seed-noble"), Verdict::Reached);
    assert_eq!(of("X25519, beside seed-noble-bun"), Verdict::NotMeasured);
    assert_eq!(of("X25519, beside straight"), Verdict::Reached);
    assert!(matches!(of("post-quantum, beside seed-noble"), Verdict::Missed(_)));
}

#[test]
fn banners_warn_of_what_makes_a_run_doubtful() {
    let warnings: [(&str, &str, Value); 6] = [
        ("/complete", "incomplete", json!(false)),
        ("/environment/profile", "profile debug", json!("debug")),
        ("/environment/lto", "without link-time optimisation", json!("off")),
        ("/drift", "drifted", json!(-0.08)),
        ("/noise_floors", "no noise floor", json!({})),
        ("/environment/steal", "hypervisor gave", json!(0.2)),
    ];
    for (path, said, value) in warnings {
        let mut run = run();
        run["environment"]["lto"] = json!("thin");
        assert!(!html(&record(&run)).contains("Caution"));
        *run.pointer_mut(path).unwrap() = value;
        let page = html(&record(&run));
        assert!(page.contains("Caution") && page.contains(said), "{path}");
    }
}

#[test]
fn a_difference_within_the_noise_is_none_and_a_ratio_of_medians_is_marked() {
    let mut run = run();
    for ratio in run["ratios"].as_array_mut().unwrap() {
        ratio["median"] = json!(1.002);
        ratio["ci95"] = json!([1.001, 1.003]);
    }
    assert!(html(&record(&run)).contains("<em>no difference (1.00×)</em>"));
    run["ratios"] = json!([]);
    assert!(html(&record(&run)).contains("<em>≈ 340×</em>"));
}

#[test]
fn hostile_text_stays_text() {
    const HOSTILE: &str = "</title></style>\"'><script>alert(1)</script>|`**\n# y";
    let text = serde_json::to_string(&run()).unwrap();
    let hostile = serde_json::to_string(HOSTILE).unwrap();
    for name in ["straight", "Rust 1.95.0", "AMD EPYC 9R45", "open", "not installed", "ns"] {
        let run = text.replace(&format!("\"{name}\""), &hostile);
        let page = html(&record(&serde_json::from_str(&run).unwrap())).to_lowercase();
        for (tag, times) in [("<script", 0), ("</title>", 1), ("</style>", 1)] {
            assert_eq!(page.matches(tag).count(), times, "{name}: {tag}");
        }
    }
}

/// Largest size in bytes of all files of a committed run.
const MOST_BYTES: u64 = 600_000;

/// The list of committed runs must name the suites and the peers that a record does not have.
#[test]
fn a_committed_run_is_described_as_it_is_and_has_a_page() {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/bench");
    let text = fs::read_to_string(bench.join("README.md")).unwrap();
    for folder in fs::read_dir(&bench).unwrap().map(|it| it.unwrap().path()) {
        let path = folder.join("run.json.gz");
        if !path.is_file() {
            continue;
        }
        let record = read_record_file(&path).unwrap();
        let files = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().metadata().unwrap().len());
        assert!(files.sum::<u64>() <= MOST_BYTES, "{}", folder.display());
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let (_, described) = text.split_once(&format!("* [{name}]")).unwrap();
        let sentences: Vec<&str> = described.split("\n\n").next().unwrap().split(". ").collect();
        for suite in SUITES.iter().map(|it| it.name) {
            let measured = record.rows.iter().any(|row| row.case.suite == suite);
            let quoted = format!("`{suite}`");
            assert_eq!(sentences[0].contains(&quoted), measured, "{suite}: {described}");
            assert_eq!(sentences.last().unwrap().contains(&quoted), !measured, "{suite}");
        }
        let page = html(&record);
        assert!(page.matches("<figure>").count() >= 4, "a chart of each component");
    }
}
