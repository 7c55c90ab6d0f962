//! Writes the report as one HTML page that has no scripts and makes no network requests: charts,
//! tables, then what was not measured, subjects and machine.

use std::collections::{BTreeMap, BTreeSet};

use super::figures::{Figure, Figures, is_baseline, is_floor, is_ours, row_text, row_within};
use super::judged;
use super::verdict::{Bound, Verdict};
use crate::case::{Case, OURS, describe_parameter};
use crate::environment::NO_LTO;
use crate::record::{Better, Record, Row, Skip};
use crate::suite::{Suite, TableSpec};
use crate::words;

const STYLE: &str = include_str!("style.css");
/// Largest drift of the machine's speed for which the report has no warning.
const DRIFT: f64 = 0.05;
/// Largest share of stolen CPU time for which the report has no warning.
const STEAL: f64 = 0.02;
/// Peers that `peers/rust*/Cargo.toml` builds with link-time optimisation.
const RUST_PEERS: [&str; 3] = ["rust", "iroh", "rust-nostr"];
/// Number of peers in a chart.
const BEST: usize = 3;
/// Metrics that no table shows: the clock beside another one, and what only a goal uses.
const HIDDEN: [&str; 3] = ["cpu", "allocations", "heap-peak"];

/// Writes the whole page.
pub(super) fn write(figures: &Figures<'_>) -> String {
    let record = figures.record;
    let suites = figures.suites();
    let title = "endseal bench: what end-to-end encryption costs";
    // If an escape were missing, this policy would still keep scripts from running and resources
    // from loading.
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{title}</h1>\n"
    );
    out += &banners(record);
    out += "<div class=\"charts\">\n";
    for suite in &suites {
        out += &chart(figures, suite).unwrap_or_default();
    }
    out += "</div>\n";
    out += &paragraph(
        "Ours, the published method run here, and the fastest peers; shorter is better. Logarithmic; \
         in italics: a subject with other properties than endseal.",
    );
    out += "<h2>Goals</h2>\n";
    for suite in &suites {
        out += &goals(figures, suite.name);
    }
    out += "<h2>Where we lose</h2>\n";
    out += &losses(figures);
    for suite in &suites {
        let name = suite.name;
        out += &format!("<h2 id=\"{name}\">{name}</h2>\n");
        for spec in &suite.report.tables {
            out += &table(figures, name, spec);
        }
        out += "<details><summary>All figures of this suite</summary>\n";
        out += &all_figures(figures, suite);
        out += "</details>\n";
        for text in &suite.report.text {
            out += &paragraph(text);
        }
        if let Some(url) = &suite.report.source {
            let url = esc(url);
            out += &format!("<p>Published: <a rel=\"noreferrer\" href=\"{url}\">{url}</a></p>\n");
        }
    }
    out += "<h2>Not measured</h2>\n";
    out += &skipped(record);
    out += "<h2>Subjects</h2>\n";
    out += &subjects(record);
    out += "<h2>Method and machine</h2>\n";
    out += &method(record);
    out + "</main>\n</body>\n</html>\n"
}

/// Escapes all characters that have a meaning in HTML, in text and in quoted attributes, and makes
/// foreign text harmless.
fn esc(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in words::tame(text).chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => out.push(c),
        }
    }
    out
}

/// Writes a paragraph, with code between backticks.
fn paragraph(text: &str) -> String {
    let part = |(i, part): (usize, &str)| match i % 2 {
        0 => esc(part),
        _ => format!("<code>{}</code>", esc(part)),
    };
    format!("<p>{}</p>\n", text.split('`').enumerate().map(part).collect::<String>())
}

/// Writes a table of cells that are HTML; nothing if it has no rows. A row of one cell is a
/// heading.
fn html_table(caption: &str, head: &[String], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let cell = |tag: &str, text: &str| format!("<{tag}>{text}</{}>", &tag[..2]);
    let head: String = head.iter().map(|text| cell("th scope=\"col\"", text)).collect();
    let width = rows.iter().map(Vec::len).max().unwrap_or_default();
    let row = |cells: &Vec<String>| match &cells[..] {
        [heading] => {
            format!("<tr class=\"group\"><th colspan=\"{width}\">{heading}</th></tr>\n")
        }
        [name, rest @ ..] => {
            let rest: String = rest.iter().map(|text| cell("td", text)).collect();
            format!("<tr>{}{rest}</tr>\n", cell("th scope=\"row\"", name))
        }
        [] => String::new(),
    };
    let rows: String = rows.iter().map(row).collect();
    let caption = esc(caption);
    // A scrollable box must be reachable by keyboard, so it has a tab index.
    format!(
        "<div class=\"box\" role=\"region\" tabindex=\"0\" aria-label=\"{caption}\"><table>\n\
         <caption><span>{caption}</span></caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n\
         {rows}</tbody>\n</table></div>\n"
    )
}

fn banners(record: &Record) -> String {
    let environment = &record.environment;
    let mut all = Vec::new();
    if !record.complete {
        all.push("This run is incomplete: it was interrupted.".to_owned());
    }
    if environment.profile != "release" {
        all.push(format!(
            "This is a build of profile {}. Its figures for endseal mean nothing; build with \
             --release.",
            environment.profile
        ));
    }
    let rust = record.arguments.peers.iter().any(|peer| RUST_PEERS.contains(&&**peer));
    if rust && environment.lto == NO_LTO {
        all.push(
            "endseal was built without link-time optimisation, and the peers in Rust with it: \
             cargo run --profile bench --manifest-path bench/Cargo.toml."
                .into(),
        );
    }
    if let Some(drift) = record.drift.filter(|drift| drift.abs() > DRIFT) {
        all.push(format!(
            "The machine's speed drifted by up to {} during the run. Ratios are paired and hold; \
             absolute times are doubtful.",
            words::percent(drift.abs())
        ));
    }
    if environment.steal > STEAL {
        all.push(format!(
            "The hypervisor gave {} of the CPU time to others during the run.",
            words::percent(environment.steal)
        ));
    }
    if record.noise_floors.is_empty() && !record.rows.is_empty() {
        all.push("There is no noise floor: small differences may be noise.".into());
    }
    let banner = |text: &String| {
        format!("<p class=\"banner\"><strong>Caution.</strong> {}</p>\n", esc(text))
    };
    all.iter().map(banner).collect()
}

/// Draws the times of a suite's chart: ours, the published method and the fastest peers.
fn chart(figures: &Figures<'_>, suite: &Suite) -> Option<String> {
    let case = Case::read(suite.name, &suite.report.chart);
    let ours = figures.row(&case, OURS, "time")?;
    let mut rows: Vec<&Row> = figures
        .subjects()
        .into_iter()
        .filter_map(|subject| figures.row(&case, subject, "time"))
        .filter(|row| row.metric == ours.metric)
        .collect();
    rows.sort_by(|a, b| a.median.total_cmp(&b.median));
    let tables = &suite.report.tables;
    let published = |name: &str| tables.iter().any(|it| it.beside.iter().any(|it| it == name));
    let mut peers = 0;
    rows.retain(|row| {
        let name = &*row.subject;
        if [OURS, "endseal-hybrid"].contains(&name) || (is_baseline(name) && published(name)) {
            return true;
        }
        let rival = !is_ours(name) && !is_baseline(name) && !is_floor(suite.name, name);
        peers += usize::from(rival);
        rival && peers <= BEST
    });
    let (least, most) = (rows.first()?.median, rows.last()?.median);
    if rows.len() < 2 || least <= 0.0 {
        return None;
    }
    // The axis begins at the power of ten below the shortest time, and ends at the longest.
    let low = least.log10().floor();
    let at =
        |value: f64| (100.0 * (value.log10() - low) / (most.log10() - low).max(0.1)).min(100.0);
    let mut out = format!(
        "<figure><figcaption>{}: {}</figcaption>\n",
        esc(suite.name),
        esc(&case.describe())
    );
    for row in rows {
        let alike = figures.difference(&case, OURS, &row.subject).is_none();
        let class = if is_ours(&row.subject) { "bar ours" } else { "bar" };
        let name = marked(&row.subject, !alike);
        out += &format!(
            "<div class=\"{class}\"><span>{name}</span><i style=\"width:{:.1}%\"></i>\
             <b>{}</b></div>\n",
            at(row.median),
            words::time(row.median)
        );
    }
    out += "<div class=\"axis\" aria-hidden=\"true\"><i>";
    // Labels of more than two decades would overlap.
    let stride = if most.log10() - low > 2.2 { 100.0 } else { 10.0 };
    let mut tick = 10_f64.powf(low);
    while tick <= most {
        out += &format!("<u style=\"left:{:.1}%\">{}</u>", at(tick), words::tick(tick));
        tick *= stride;
    }
    Some(out + "</i></div></figure>\n")
}

fn marked(text: &str, unlike: bool) -> String {
    let text = esc(text);
    if unlike { format!("<em>{text}</em>") } else { text }
}

fn goals(figures: &Figures<'_>, suite: &'static str) -> String {
    let mut rows = Vec::new();
    let mut notes: Vec<&str> = Vec::new();
    for goal in judged(suite, figures) {
        let wanted = match goal.bound {
            Bound::AtLeast(bound) => format!("≥ {}", goal.text(bound)),
            Bound::AtMost(bound) => format!("≤ {}", goal.text(bound)),
        };
        let verdict = match goal.verdict {
            Verdict::Reached => "reached".into(),
            Verdict::NotDecided => "not decided".into(),
            Verdict::Missed(by) => format!("<strong>missed</strong> by {}", words::percent(by)),
            Verdict::NotMeasured => "not measured".into(),
            Verdict::Failed => "<strong>failed: no figure</strong>".into(),
        };
        let mut what = esc(&goal.what);
        if !goal.note.is_empty() {
            let known = notes.iter().position(|note| *note == goal.note);
            what += &format!("<sup>{}</sup>", known.unwrap_or(notes.len()) + 1);
            notes.extend(known.is_none().then_some(goal.note));
        }
        let here = goal.value.map_or("–".into(), |value| goal.text(value));
        rows.push([what, wanted, here, verdict].into());
    }
    let notes: String = notes.iter().map(|note| format!("<li>{}</li>", esc(note))).collect();
    let head = ["Goal", "wanted", "here", ""].map(str::to_owned);
    let notes =
        if notes.is_empty() { notes } else { format!("<ol class=\"notes\">{notes}</ol>\n") };
    html_table(suite, &head, &rows) + &notes
}

/// Writes all figures in which another subject is ahead of endseal beyond the noise, the worst
/// first.
fn losses(figures: &Figures<'_>) -> String {
    let mut lost: Vec<(f64, Vec<String>)> = Vec::new();
    for (case, rows) in figures.cases() {
        for row in rows {
            let (metric, other) = (&*row.metric, &*row.subject);
            let rival = !is_ours(other) && !is_floor(&case.suite, other);
            if !rival || HIDDEN.contains(&metric) {
                continue;
            }
            let Some(factor) = figures.better(case, metric, OURS, other) else { continue };
            if factor.median >= 1.0 || !figures.beyond_noise(case, factor) {
                continue;
            }
            let difference = figures.difference(case, OURS, other);
            let what = match metric {
                "time" => format!("{}: {}", case.suite, case.describe()),
                metric => format!("{}: {}, {metric}", case.suite, case.describe()),
            };
            let text = marked(&figures.factor_text(case, factor), difference.is_some());
            let difference = esc(&difference.unwrap_or_default());
            lost.push((factor.median, [esc(&what), text, esc(other), difference].into()));
        }
    }
    if lost.is_empty() {
        return paragraph("Nowhere in this run, beyond the noise floor.");
    }
    lost.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let rows: Vec<Vec<String>> = lost.into_iter().map(|(_, cells)| cells).collect();
    let head = ["Case", "factor", "other subject", "beside endseal it"].map(str::to_owned);
    let summary = format!("{} figures in which another subject is ahead", rows.len());
    let table = html_table("The worst first. Below 1, endseal is slower or larger", &head, &rows);
    format!("<details><summary>{summary}</summary>\n{table}</details>\n")
}

/// Writes a table of the data: as published, beside which subjects, ours with their factors.
fn table(figures: &Figures<'_>, suite: &str, spec: &TableSpec) -> String {
    let published = spec.rows.iter().any(|row| !row.published.is_empty());
    let mut head = vec![String::new()];
    head.extend(published.then(|| "as published".to_owned()));
    head.extend(spec.beside.iter().chain(&spec.ours).map(|name| format!("{} here", esc(name))));
    head.extend(spec.peers.then(|| "best peer here".to_owned()));
    let mut rows = Vec::new();
    let mut measured = false;
    for row in &spec.rows {
        let Figure { case, metric } = Figure::read(suite, &format!("{} {}", row.of, spec.params));
        let find = |subject: &str| figures.row(&case, subject, &metric);
        let text = |found: &Row, within: fn(&Row) -> String| match row.per {
            1.0 => within(found),
            per => words::value(found.median / per, &found.unit),
        };
        let mut cells = vec![esc(&row.name)];
        cells.extend(published.then(|| esc(&row.published)));
        for name in &spec.beside {
            cells.push(find(name).map_or_else(|| "–".into(), |found| esc(&text(found, row_text))));
        }
        for name in &spec.ours {
            let Some(found) = find(name) else {
                cells.push("–".into());
                continue;
            };
            measured = true;
            let beside =
                spec.beside.iter().filter_map(|other| beside(figures, &case, &metric, name, other));
            cells.push(esc(&text(found, row_within)) + &beside.collect::<String>());
        }
        if spec.peers {
            let best = best_peer(figures, &case, &metric).map(|peer| {
                let factor = beside(figures, &case, &metric, &spec.ours[0], &peer.subject);
                format!(
                    "{}: {}{}",
                    esc(&peer.subject),
                    esc(&row_text(peer)),
                    factor.unwrap_or_default()
                )
            });
            cells.push(best.unwrap_or_else(|| "–".into()));
        }
        rows.push(cells);
    }
    if !measured {
        return paragraph(&format!("Not measured in this run: {}.", spec.title));
    }
    html_table(&spec.title, &head, &rows)
}

/// Formats the factor by which a subject is better than another one, as a line of a cell.
fn beside(
    figures: &Figures<'_>,
    case: &Case,
    metric: &str,
    subject: &str,
    other: &str,
) -> Option<String> {
    let factor = figures.better(case, metric, subject, other)?;
    let unlike = figures.difference(case, subject, other).is_some();
    Some(format!("<br>{}", marked(&figures.factor_text(case, factor), unlike)))
}

/// Returns the best figure of a subject that is neither ours, nor a published method, nor a floor.
fn best_peer<'a>(figures: &Figures<'a>, case: &Case, metric: &str) -> Option<&'a Row> {
    let peers = figures
        .subjects()
        .into_iter()
        .filter(|name| !is_ours(name) && !is_baseline(name) && !is_floor(&case.suite, name));
    let found = peers.filter_map(|name| figures.row(case, name, metric));
    found.min_by(|a, b| match a.better {
        Better::More => b.median.total_cmp(&a.median),
        _ => a.median.total_cmp(&b.median),
    })
}

/// Writes every figure of a suite: a table for each case, with a row for each subject and a column
/// for each value of the parameter along which the suite is laid out.
fn all_figures(figures: &Figures<'_>, suite: &Suite) -> String {
    let mut groups: BTreeMap<Case, Vec<&Case>> = BTreeMap::new();
    for case in figures.cases().keys().filter(|case| case.suite == suite.name) {
        let mut common = Case::clone(case);
        common.params.remove(&suite.axis);
        groups.entry(common).or_default().push(case);
    }
    let mut out = String::new();
    for (common, mut cases) in groups {
        cases.sort_by_key(|case| case.params.get(&suite.axis).copied());
        let mut head = vec![String::new()];
        head.extend(cases.iter().map(|case| match case.params.get(&suite.axis) {
            Some(value) => describe_parameter(&suite.axis, *value),
            None => String::new(),
        }));
        let of_cases = || cases.iter().flat_map(|case| &figures.cases()[*case]);
        let metrics: BTreeSet<&str> = of_cases().map(|row| &*row.metric).collect();
        let mut rows = Vec::new();
        for metric in metrics.iter().filter(|metric| !HIDDEN.contains(metric) || metrics.len() == 1)
        {
            rows.push(vec![esc(metric)]);
            let subjects: BTreeSet<(bool, &str)> = of_cases()
                .filter(|row| row.metric == *metric)
                .map(|row| (!is_ours(&row.subject), &*row.subject))
                .collect();
            for (_, subject) in subjects {
                let mut cells = vec![esc(subject)];
                cells.extend(cases.iter().map(|case| {
                    let Some(row) = figures.row(case, subject, metric) else { return "–".into() };
                    let factor = match is_ours(subject) {
                        true => None,
                        false => beside(figures, case, metric, OURS, subject),
                    };
                    esc(&row_text(row)) + &factor.unwrap_or_default()
                }));
                rows.push(cells);
            }
        }
        out += &html_table(&common.describe(), &head, &rows);
    }
    out
}

fn skipped(record: &Record) -> String {
    let item = |skip: &Skip| {
        let case = skip.case.as_ref().map(|case| format!(", {case}")).unwrap_or_default();
        format!("<li>{}{}: {}</li>\n", esc(&skip.subject), esc(&case), esc(&skip.reason))
    };
    // A case that a subject declines with several parameters is listed once.
    let all: BTreeSet<String> = record.skipped.iter().map(item).collect();
    let declined: BTreeSet<String> = record.unsupported.iter().map(item).collect();
    if all.is_empty() && declined.is_empty() {
        return paragraph("Nothing that was asked for was skipped.");
    }
    let [all, declined] = [all, declined].map(|set| set.into_iter().collect::<String>());
    format!(
        "<ul>{all}</ul>\n<details><summary>What subjects do not do</summary><ul>{declined}</ul></details>\n"
    )
}

fn subjects(record: &Record) -> String {
    let rows: Vec<Vec<String>> = record
        .subjects
        .iter()
        .map(|info| {
            let versions: Vec<String> =
                info.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
            let properties = info.properties.join(", ");
            let texts = [&info.about, &info.runtime, &versions.join(", "), &properties];
            [&info.subject].into_iter().chain(texts).map(|text| esc(text)).collect()
        })
        .collect();
    let head = ["Subject", "what it is", "runs in", "made of", "properties"].map(str::to_owned);
    html_table("Subjects", &head, &rows).replacen("<table>", "<table class=\"prose\">", 1)
}

fn method(record: &Record) -> String {
    let environment = &record.environment;
    let [before, after] = environment.load;
    let lines = [
        ("endseal", format!("{} {}", environment.endseal, environment.commit)),
        (
            "profile, link-time optimisation",
            format!("{}, {}", environment.profile, environment.lto),
        ),
        ("X25519", environment.x25519.clone()),
        ("CPU", format!("{} × {}", environment.cpus, environment.cpu)),
        ("CPU features", environment.cpu_features.join(", ")),
        ("virtual machine", environment.virtual_machine.to_string()),
        (
            "steal time, load",
            format!("{}, {before:.2} to {after:.2}", words::fine_percent(environment.steal)),
        ),
        ("memory", format!("{} MiB", words::integer(environment.memory_mib))),
        ("kernel, compiler", format!("{}, {}", environment.kernel, environment.rustc)),
        (
            "started, took",
            format!(
                "{}, {}",
                words::date(environment.started),
                words::duration(environment.seconds)
            ),
        ),
        (
            "extent, suites, peers",
            format!(
                "{}; {}; {}",
                record.extent,
                record.arguments.suites.join(","),
                record.arguments.peers.join(",")
            ),
        ),
        (
            "drift",
            record.drift.map_or("not measured".into(), |drift| words::fine_percent(drift.abs())),
        ),
    ];
    let lines = lines.into_iter().map(|(name, text)| vec![name.to_owned(), esc(&text)]);
    let floors = record.noise_floors.iter().map(|(class, floor)| {
        vec![format!("noise floor of {}", esc(class)), words::fine_percent(*floor)]
    });
    let rows: Vec<Vec<String>> = lines.chain(floors).collect();
    paragraph(
        "A time is the median of shuffled rounds in which the subjects take turns; a factor is the \
         median of the ratios within rounds, both with their 95 % interval. “≈” marks a ratio of two \
         medians. Above 1, endseal is better. A goal is not decided if the noise floor of its cases is \
         above 5 % and the figure lies within that floor of the bound. The whole method: \
         `docs/bench/README.md`.",
    ) + &html_table("Machine and build", &["What".to_owned(), "value".into()], &rows)
}
