//! What stands in a report.

use endseal_bench::report::{html, markdown};
use serde_json::{Value, json};

use crate::fixture::{empty, record, run};

fn both(run: &Value) -> [String; 2] {
    let record = record(run);
    // The page keeps a number and its unit together.
    [markdown(&record), html(&record).replace('\u{a0}', " ")]
}

/// The line of a table that begins so.
fn line<'a>(text: &'a str, start: &str) -> &'a str {
    let found = text.lines().find(|line| line.starts_with(start));
    found.unwrap_or_else(|| panic!("no line starts with {start:?}"))
}

#[test]
fn every_section_and_every_table_of_the_seed_is_there() {
    for text in both(&run()) {
        for part in [
            "Headline figures",
            "Where we lose",
            "Encryption Performance by Group Size: Encryption Time",
            "Encryption Performance by Group Size: Per-Member Cost",
            "Decryption Performance",
            "Large Message Performance",
            "Scalability Analysis",
            "Performance Breakdown",
            "Real-World Scenarios",
            "Message Size by Group Size: Total Size",
            "Message Size by Group Size: Per-Member Overhead",
            "Network Bandwidth",
            "Maximum Group Size Tested",
            "Concurrent Operations",
            "Growth",
            "All subjects, by property class",
            "What each property costs",
            "Sizes",
            "Memory",
            "Not measured",
            "Method",
            "Environment",
            "How to repeat",
        ] {
            assert!(text.contains(part), "{part}");
        }
    }
}

#[test]
fn a_row_of_the_seed_has_three_columns_and_a_paired_factor() {
    let text = markdown(&record(&run()));
    let row = line(&text, "| 100 | 80 ms |");
    assert!(row.contains("| 87.5 ms (87.2–87.9) | 257 µs (256–258) | *340× (335–344)* |"), "{row}");
    let row = line(&text, "| 10,000 | – |");
    assert!(row.contains("| not measured in this run | 23.8 ms (23.7–23.9) | – |"), "{row}");
    let row = line(&text, "| 25 | about 3.5 KB |");
    assert!(row.contains("| 5,062 B | 2,200 B | *2.30× smaller* |"), "{row}");
    let row = line(&text, "| 25 members | 21 ms; 0.84 ms; 10 %¹ |");
    assert!(row.contains("22.6 ms; 902 µs; 5 %"), "{row}");
    let row = line(&text, "| Decrypt 100 messages simultaneously (100 members, 1 KB, 100 at once)");
    assert!(row.contains("86.0 ms total<br>each 92 % of one alone"), "{row}");
    let row = line(&text, "| Memory (100 members) |");
    assert!(row.contains("below 10 MB² | not measured in this run | 31,264 B"), "{row}");
    assert!(text.contains("3, 10, 8 and 0 %"));
}

#[test]
fn the_first_page_says_what_it_costs_and_where_we_lose() {
    for text in both(&run()) {
        let first = &text[..text.rfind("row by row").unwrap()];
        assert!(first.contains("257 µs"));
        assert!(first.contains("2 skipped"));
    }
    let text = markdown(&record(&run()));
    let start = text.find("## Where we lose").unwrap();
    let lost = &text[start..start + text[start..].find("## The seed").unwrap()];
    let row = line(lost, "| **open, 1 KB** | *0.47× (0.46–0.47)* at ");
    assert!(row.contains("<br>*0.47× (0.46–0.47)* at "), "{row}");
    assert!(row.contains("| straight-rust | straight-rust: lacks sender"), "{row}");
    let row = line(lost, "| **size, 1 KB, bytes** |");
    assert!(row.contains("| *1,480 B against 1,390 B* at 5 members | straight-rust |"), "{row}");
    assert!(!lost.contains("| **seal") && !lost.contains("| seal"), "{lost}");
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
    assert!(both(&run).iter().all(|text| text.contains("Nowhere in this run")));
}

#[test]
fn banners_warn_of_what_makes_a_run_doubtful() {
    let warnings: [(&str, &str, Value); 6] = [
        ("/complete", "incomplete", json!(false)),
        ("/environment/profile", "profile debug", json!("debug")),
        ("/drift", "drifted", json!(0.08)),
        ("/drift", "drifted", json!(-0.08)),
        ("/noise_floor", "no noise floor", Value::Null),
        ("/environment/steal", "hypervisor gave", json!(0.2)),
    ];
    for text in both(&run()) {
        assert!(!text.contains("Caution"));
    }
    for (path, words, value) in warnings {
        let mut run = run();
        *run.pointer_mut(path).unwrap() = value;
        for text in both(&run) {
            assert!(text.contains("Caution") && text.contains(words), "{path}");
        }
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
        for text in both(&run) {
            assert_eq!(text.contains("Caution"), said, "{lto}");
            assert!(text.contains(lto) && text.contains("link-time optimisation"));
            let command = if lto == "thin" {
                "--profile bench -p endseal-bench -- run"
            } else {
                "--release -p endseal-bench -- run"
            };
            assert!(text.contains(command), "{lto}");
        }
    }
}

#[test]
fn a_difference_within_the_noise_is_none() {
    let mut run = run();
    for ratio in run["ratios"].as_array_mut().unwrap() {
        ratio["median"] = json!(1.002);
        ratio["ci95"] = json!([1.001, 1.003]);
    }
    let text = markdown(&record(&run));
    assert!(line(&text, "| 100 | 80 ms |").contains("*no difference (1.00×)*"));
}

#[test]
fn a_suite_has_its_own_noise_floor() {
    let mut run = run();
    run["noise_floor"] = json!(0.5);
    run["noise_floors"] = json!({"envelope": 0.0031, "transport": 0.5});
    run["arguments"]["suites"] = json!(["envelope", "transport"]);
    for ratio in run["ratios"].as_array_mut().unwrap() {
        ratio["median"] = json!(1.2);
        ratio["ci95"] = json!([1.19, 1.21]);
    }
    for text in both(&run) {
        assert!(text.contains("below 0.31 % (envelope) and 50.0 % (transport) are noise"));
    }
    let text = markdown(&record(&run));
    assert!(line(&text, "| 100 | 80 ms |").contains("*1.20× (1.19–1.21)*"));
}

#[test]
fn a_ratio_without_pairs_is_marked() {
    let mut run = run();
    run["ratios"] = json!([]);
    let text = markdown(&record(&run));
    assert!(line(&text, "| 100 | 80 ms |").contains("| *≈ 340×* |"));
    assert!(text.contains("| **open, 1 KB** | *≈ 0.47×* at "));
}

#[test]
fn nothing_measured_is_a_report_too() {
    for text in both(&empty()) {
        assert!(text.contains("not measured in this run"));
        assert!(text.contains("nobody to lose to"));
    }
    let mut strange = empty();
    strange["rows"] = json!([{"suite": "", "case": "", "params": {}, "subject": "", "metric":
        "time", "unit": "ns", "median": 0.0, "ci95": [0.0, 0.0], "n": 0}]);
    strange["environment"]["started"] = json!(u64::MAX);
    both(&strange);
}

#[test]
fn hostile_text_stays_text() {
    const HOSTILE: &str = "</title></style>\"'><script>alert(1)</script>|`**[x](javascript:x)\n# y";
    let mut run = run();
    let rename = |value: &mut Value| {
        if value == "straight-rust" {
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
    run["growth"][0]["sentence"] = json!(HOSTILE);
    run["rows"][0]["case"] = json!(HOSTILE);
    run["rows"][0]["suite"] = json!(HOSTILE);
    run["rows"][0]["params"] = json!({HOSTILE: 1});
    let [markdown, html] = both(&run);
    let lower = html.to_lowercase();
    for (tag, times) in [("<script", 0), ("</title>", 5), ("</style>", 1), ("href=\"java", 0)] {
        // The page's own title and those of two variants of each chart.
        let found = lower.matches(tag).count();
        assert!(found == times || (tag == "</title>" && found % 2 == 1), "{tag}: {found}");
    }
    assert!(html.contains("&lt;script&gt;"));
    assert!(!markdown.contains("<script") && !markdown.contains("\n# y"));
    // No cell of a table is broken: every row has as many bars as its head.
    for table in markdown.split("\n\n").filter(|block| block.starts_with('|')) {
        let bars = |line: &str| line.replace("\\|", "").matches('|').count();
        let head = bars(table.lines().next().unwrap());
        assert!(table.lines().all(|line| bars(line) == head), "{table}");
    }
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

/// To look at a report: `ENDSEAL_BENCH_REPORT=folder [ENDSEAL_BENCH_RUN=run.json] cargo test -p
/// endseal-bench --test it -- --ignored files_to_look_at`.
#[test]
#[ignore = "writes files for people"]
fn files_to_look_at() {
    let folder = std::path::PathBuf::from(std::env::var_os("ENDSEAL_BENCH_REPORT").unwrap());
    let record = match std::env::var_os("ENDSEAL_BENCH_RUN") {
        Some(path) => endseal_bench::schema::read_record_file(path.as_ref()).unwrap(),
        None => record(&run()),
    };
    std::fs::write(folder.join("report.html"), html(&record)).unwrap();
    std::fs::write(folder.join("report.md"), markdown(&record)).unwrap();
}
