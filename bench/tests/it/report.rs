//! The content of a report.

use endseal_bench::report::html;
use serde_json::{Value, json};

use crate::fixture::{empty, record, run};
use crate::page::{tables, words};

/// Returns the line of a table that starts with `start`.
fn line<'a>(text: &'a str, start: &str) -> &'a str {
    let found = text.lines().find(|line| line.starts_with(start));
    found.unwrap_or_else(|| panic!("no line starts with {start:?}"))
}

#[test]
fn every_published_table_is_there_with_three_columns_and_a_paired_factor() {
    let text = words(&record(&run()));
    let row = line(&text, "| 100 | 80 ms | &lt;2000 ms | PASS |");
    assert!(
        row.contains("| 87.5 ms | not measured in this run | 1.54 ms (1.53–1.55) | met |"),
        "{row}"
    );
    assert!(row.contains("| *≈ 56.8×* | – | 257 µs (256–258) | met |"), "{row}");
    assert!(row.contains("| *340× (335–344)* | – |"), "{row}");
    let row = line(&text, "| 10,000 | – | – | – | not measured in this run |");
    assert!(row.contains("| 23.8 ms (23.7–23.9) |"), "{row}");
    let row = line(&text, "| 25 | about 2.5 KB | about 3.5 KB |");
    assert!(row.contains("| 5,062 B | 29,410 B | 1,135 B | *5.81× larger* |"), "{row}");
    let row = line(&text, "| 25 members¹ | 21 ms | 0.84 ms | 0.08 (10%) |");
    assert!(row.contains("| 22.6 ms | 902 µs |"), "{row}");
    let row = line(&text, "| Decrypt 100 messages simultaneously¹ |");
    assert!(row.contains("| below 100 ms total | 86.0 ms |"), "{row}");
    let row = line(&text, "| Memory (100 members)² |");
    assert!(
        row.contains("| below 10 MB | another process, whose heap is not counted | 31,264 B |"),
        "{row}"
    );
    for section in
        ["Goals", "Growth of envelopes", "Memory", "Not measured", "Method", "How to repeat"]
    {
        assert!(text.contains(&format!("\n## {section}\n")), "{section}");
    }
}

#[test]
fn the_first_page_says_what_it_costs_and_where_we_lose() {
    let text = words(&record(&run()));
    let first = &text[..text.rfind("row by row").unwrap()];
    assert!(first.contains("257 µs"));
    assert!(first.contains("2 skipped"));
    let start = text.find("## Where we lose").unwrap();
    let lost = &text[start..start + text[start..].find("## Goals").unwrap()];
    let row = line(lost, "| **open, 1 KB** | *0.47× (0.46–0.47)* at ");
    assert!(row.contains("<br>*0.47× (0.46–0.47)* at "), "{row}");
    assert!(row.contains("| straight | straight: lacks sender"), "{row}");
    let row = line(lost, "| **seal, 1 KB, bytes** |");
    assert!(row.contains("| *1,480 B against 1,390 B* at 5 members | straight |"), "{row}");
}

/// The best peers are drawn instead of the slowest ones.
#[test]
fn the_first_chart_shows_ours_the_published_method_and_the_best_peers() {
    let page = html(&record(&run()));
    let first = &page[page.find("<svg").unwrap()..page.find("Headline figures</h2>").unwrap()];
    let description = first.split("<desc").nth(1).unwrap().split("</desc>").next().unwrap();
    for subject in ["endseal 257", "endseal-hybrid", "seed-noble", "straight", "age", "hpke"] {
        assert!(description.contains(subject), "{subject}: {description}");
    }
    assert!(!description.contains("libsignal"), "{description}");
    let table = page.find("<table").unwrap();
    assert!(page.find("<svg").unwrap() < table);
}

/// Published figures without a measured one are not a table of a run.
#[test]
fn no_table_has_empty_cells_alone() {
    let mut run = run();
    for list in ["rows", "ratios", "subjects", "growth"] {
        run[list].as_array_mut().unwrap().retain(|one| one["subject"] == "endseal");
    }
    run["rows"].as_array_mut().unwrap().retain(|row| row["case"] == "open");
    run["arguments"]["suites"] = json!([]);
    let text = words(&record(&run));
    let mut seen = 0;
    for table in tables(&text) {
        let cells: Vec<&str> = table.lines().skip(1).flat_map(|row| row.split(" | ")).collect();
        let empty = cells.iter().filter(|cell| cell.contains("not measured")).count();
        let filled = cells.iter().filter(|cell| cell.contains(" ms") || cell.contains(" µs"));
        assert!(empty == 0 || filled.count() > 0, "{table}");
        seen += 1;
    }
    assert!(seen > 3);
    let said = text.lines().find(|line| line.starts_with("Not measured in this run: ")).unwrap();
    assert!(said.contains("Message Size by Group Size"), "{said}");
}

#[test]
fn goals_have_verdicts() {
    use endseal_bench::report::{Verdict, goals};
    let goals = goals(&record(&run()));
    let of = |what: &str| goals.iter().find(|(name, _)| name.contains(what)).unwrap().1;
    assert_eq!(of("people, beside seed-noble (in Node)"), Verdict::Reached);
    assert!(matches!(of("beside libsignal"), Verdict::Reached));
    assert_eq!(of("people, beside seed-noble-bun"), Verdict::NotMeasured);
    assert!(matches!(of("to 100 people, beside straight"), Verdict::Reached | Verdict::Missed(_)));
}

#[test]
fn without_losses_the_section_stays() {
    let mut run = run();
    for list in ["rows", "ratios", "subjects"] {
        let keep = |one: &Value| {
            ["endseal", "seed-noble"].contains(&one["subject"].as_str().unwrap())
                && one["against"].as_str().is_none_or(|against| against == "seed-noble")
        };
        run[list].as_array_mut().unwrap().retain(keep);
    }
    assert!(words(&record(&run)).contains("Nowhere in this run"));
}

#[test]
fn banners_warn_of_what_makes_a_run_doubtful() {
    let warnings: [(&str, &str, Value); 6] = [
        ("/complete", "incomplete", json!(false)),
        ("/environment/profile", "profile debug", json!("debug")),
        ("/drift", "drifted", json!(0.08)),
        ("/drift", "drifted", json!(-0.08)),
        ("/noise_floors", "no noise floor", json!({})),
        ("/environment/steal", "hypervisor gave", json!(0.2)),
    ];
    let text = words(&record(&run()));
    assert!(!text.contains("Caution"));
    for (path, said, value) in warnings {
        let mut run = run();
        *run.pointer_mut(path).unwrap() = value;
        let text = words(&record(&run));
        assert!(text.contains("Caution") && text.contains(said), "{path}");
    }
}

#[test]
fn a_build_that_peers_were_not_made_like_is_said() {
    let mut run = run();
    for (lto, peers, said) in [
        ("off", json!(["node", "rust"]), true),
        ("off", json!(["iroh"]), true),
        ("off", json!(["node"]), false),
        ("thin", json!(["rust"]), false),
    ] {
        run["environment"]["lto"] = json!(lto);
        run["arguments"]["peers"] = peers;
        let text = words(&record(&run));
        assert_eq!(text.contains("Caution"), said, "{lto}");
        assert!(text.contains(lto) && text.contains("link-time optimisation"));
        let command = if lto == "thin" {
            "--profile bench --manifest-path bench/Cargo.toml --target-dir target -- run"
        } else {
            "--release --manifest-path bench/Cargo.toml --target-dir target -- run"
        };
        assert!(text.contains(command), "{lto}");
    }
}

#[test]
fn a_difference_within_the_noise_is_none() {
    let mut run = run();
    for ratio in run["ratios"].as_array_mut().unwrap() {
        ratio["median"] = json!(1.002);
        ratio["ci95"] = json!([1.001, 1.003]);
    }
    let text = words(&record(&run));
    assert!(line(&text, "| 100 | 80 ms |").contains("*no difference (1.00×)*"));
}

#[test]
fn a_class_of_cases_has_its_own_noise_floor() {
    let mut run = run();
    run["noise_floors"] = json!({"envelope/seal": 0.0031, "envelope/open": 0.5});
    for ratio in run["ratios"].as_array_mut().unwrap() {
        ratio["median"] = json!(1.2);
        ratio["ci95"] = json!([1.19, 1.21]);
    }
    let text = words(&record(&run));
    assert!(line(&text, "| 100 | 80 ms |").contains("*1.20× (1.19–1.21)*"));
    assert!(line(&text, "| 100-member group¹ |").contains("*no difference (1.20×)*"));
    assert!(line(&text, "| envelope: open |").contains("50.0 %"));
}

#[test]
fn a_ratio_without_pairs_is_marked() {
    let mut run = run();
    run["ratios"] = json!([]);
    let text = words(&record(&run));
    assert!(line(&text, "| 100 | 80 ms |").contains("| *≈ 340×* |"));
    assert!(text.contains("| **open, 1 KB** | *≈ 0.47×* at "));
}

#[test]
fn nothing_measured_is_a_report_too() {
    let text = words(&record(&empty()));
    assert!(text.contains("not measured in this run"));
    assert!(text.contains("nothing to compare with"));
    let mut strange = empty();
    strange["rows"] = json!([{"suite": "", "case": "", "params": {}, "subject": "", "metric":
        "time", "unit": "ns", "median": 0.0, "ci95": [0.0, 0.0], "n": 0}]);
    strange["environment"]["started"] = json!(u64::MAX);
    words(&record(&strange));
}

#[test]
fn hostile_text_stays_text() {
    const HOSTILE: &str = "</title></style>\"'><script>alert(1)</script>|`**[x](javascript:x)\n# y";
    let mut run = run();
    let rename = |value: &mut Value| {
        if value == "straight" {
            *value = json!(HOSTILE);
        }
    };
    for list in ["rows", "ratios", "subjects", "growth"] {
        for one in run[list].as_array_mut().unwrap() {
            rename(&mut one["subject"]);
            if one.get("against").is_some() {
                rename(&mut one["against"]);
            }
        }
    }
    run["skipped"][0]["reason"] = json!(HOSTILE);
    run["subjects"][0]["settings"] = json!("javascript:alert(1)");
    run["subjects"][0]["about"] = json!(HOSTILE);
    run["subjects"][0]["versions"] = json!({HOSTILE: HOSTILE});
    run["subjects"][0]["properties"] = json!([HOSTILE]);
    for text in ["cpu", "kernel", "rustc", "commit", "endseal", "profile", "x25519"] {
        run["environment"][text] = json!(HOSTILE);
    }
    run["rows"][0]["case"] = json!(HOSTILE);
    run["rows"][0]["suite"] = json!(HOSTILE);
    run["rows"][0]["params"] = json!({HOSTILE: 1});
    let html = html(&record(&run));
    let lower = html.to_lowercase();
    for (tag, times) in [("<script", 0), ("</title>", 5), ("</style>", 1), ("href=\"java", 0)] {
        // Titles of the page and of the two variants of each chart.
        let found = lower.matches(tag).count();
        assert!(found == times || (tag == "</title>" && found % 2 == 1), "{tag}: {found}");
    }
    assert!(html.contains("&lt;script&gt;"));
}

#[test]
fn the_page_loads_nothing_and_its_charts_speak() {
    let page = html(&record(&run()));
    for foreign in ["<script", "<link", "<img", "url(", "@import", "src=", "xlink"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    let charts = page.matches("<svg").count();
    assert!(charts >= 8, "{charts}");
    assert_eq!(page.matches("<desc id=").count(), charts);
    assert_eq!(page.matches("</svg>").count(), charts);
    assert!(!page.contains("NaN") && !page.contains("inf"));
    for tag in ["table", "tr", "th", "td", "ul", "ol", "li", "p", "div", "figure"] {
        let open =
            page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(open, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}
