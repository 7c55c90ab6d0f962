//! The sections on skipped cases, subjects, method, environment and repetition.

use std::collections::BTreeMap;

use super::case::Case;
use super::document::{Document, Table, Text};
use super::figures::Figures;
use crate::record::{Record, Skip};
use crate::words;

pub(super) fn write(document: &mut Document, figures: &Figures<'_>) {
    let record = figures.record;
    document.section("Not measured");
    skipped(document, record);
    document.section("Subjects");
    subjects(document, figures);
    document.section("Method");
    method(document, figures);
    document.section("Environment");
    document.table(environment(record));
    document.section("How to repeat");
    repeat(document, figures);
}

fn skipped(document: &mut Document, record: &Record) {
    if record.skipped.is_empty() {
        document.paragraph("Nothing that was asked for was skipped.");
    }
    let items = record.skipped.iter().map(|skip| {
        let mut who = vec![words::tame(&skip.subject)];
        who.extend(case_of(skip).map(|case| case.describe()));
        Text::new().strong(who.join(", ")).say(": ").say(words::tame(&skip.reason))
    });
    document.list(items.collect());
    let declined = declined(record);
    if !declined.is_empty() {
        document.paragraph("What subjects say that they do not do is no failure:");
        document.list(declined);
    }
}

/// Returns one item for each subject: "age does not do: open many (age has no such call)".
fn declined(record: &Record) -> Vec<Text> {
    let mut all: BTreeMap<&str, BTreeMap<&str, Vec<&Skip>>> = BTreeMap::new();
    for one in &record.unsupported {
        all.entry(&one.subject).or_default().entry(&one.reason).or_default().push(one);
    }
    let item = |(subject, reasons): (&str, BTreeMap<&str, Vec<&Skip>>)| {
        let parts: Vec<String> = reasons
            .into_iter()
            .map(|(reason, skips)| {
                // If a case is declined with several parameters, only its name is listed.
                let mut names: BTreeMap<String, Vec<Case>> = BTreeMap::new();
                for case in skips.into_iter().filter_map(case_of) {
                    names.entry(case.name()).or_default().push(case);
                }
                let names: Vec<String> = names
                    .into_iter()
                    .map(|(name, cases)| match &cases[..] {
                        [one] => one.describe(),
                        several => format!("{name} ({} sizes)", several.len()),
                    })
                    .collect();
                format!("{} ({})", words::list(&names), words::tame(reason))
            })
            .collect();
        Text::new().strong(words::tame(subject)).say(" does not do: ").say(parts.join("; "))
    };
    all.into_iter().map(item).collect()
}

fn case_of(skip: &Skip) -> Option<Case> {
    Some(Case {
        suite: skip.suite.clone()?,
        case: skip.case.clone()?,
        params: skip.params.clone().unwrap_or_default(),
    })
}

fn subjects(document: &mut Document, figures: &Figures<'_>) {
    let mut table = Table::new(
        "Subjects that were measured",
        &["Subject", "what it is", "runs in", "made of", "configured after", "properties"],
    );
    table.prose = true;
    for subject in figures.subjects() {
        let infos = figures.infos(subject);
        if infos.is_empty() {
            table.row(vec![subject.into(), "no description".into()]);
        }
        for info in infos {
            let made_of: Vec<String> =
                info.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
            // The suite is named if several suites have a subject of that name.
            let name = match &info.suite {
                Some(suite) if infos.len() > 1 => format!("{subject} ({suite})").into(),
                _ => Text::from(subject),
            };
            table.row(vec![
                name,
                Text::from(&*info.about),
                Text::from(&*info.runtime),
                made_of.join(", ").into(),
                Text::new().link(&info.settings, &info.settings),
                info.properties.join(", ").into(),
            ]);
        }
    }
    if table.rows.is_empty() {
        document.paragraph("No subject was measured.");
    }
    document.table(table);
}

fn method(document: &mut Document, figures: &Figures<'_>) {
    let record = figures.record;
    let mut items: Vec<Text> = [
        "Correct first: before it is timed, a subject must open what it sealed and refuse a changed \
         bit, if it claims to. One that fails is listed under \u{201c}Not measured\u{201d}.",
        "Subjects of a case take turns in shuffled rounds of batches of about 0.3 ms (one call where \
         a call takes longer), each over at least 16 different inputs in turn.",
        "Before each timed batch every subject runs a third of one untimed, or one call where a call \
         takes less than 2 ms: the batch before was another program's, which evicts caches and lets \
         wide vector units power down.",
        "A time is the median of the rounds; a ratio is the median of the ratios within rounds. Both \
         have the interval of the sign test, two order statistics between which the median lies in at \
         least 95 of 100 cases, widened by the noise floor (squares add up): rounds of one run share \
         keys, memory and compiled code, and agree with each other more than two runs do. Fewer than six \
         rounds have no such interval, and none is shown. The record has the samples themselves.",
        "Peers run as processes of their own and time themselves by their own clock; neither the \
         pipe nor our language is in their figures.",
        "Allocations and peak heap come from a pass of their own that is not timed. Lengths are \
         exact. 1 KB in the name of a case is 1,024 bytes.",
    ]
    .into_iter()
    .map(Text::from)
    .collect();
    items.push(
        "Noise floor: of the first case of each name, several preparations of endseal, timed one after \
         the other, lie within it in 95 of 100 cases (two standard deviations). Smaller differences are \
         called \u{201c}no difference\u{201d}."
            .into(),
    );
    items.push(
        match record.drift {
            Some(drift) => format!(
                "Drift {}: largest change of the calibration kernel during the run. It takes a turn in \
                 every round; comparing two runs divides times by it.",
                words::fine_percent(drift.abs())
            ),
            None => "Drift: not measured in this run.".into(),
        }
        .into(),
    );
    document.list(items);
    let mut table = Table::new("Noise floors", &["Case", "noise floor"]);
    for (class, floor) in &record.noise_floors {
        table.row(vec![class.replace('/', ": ").into(), words::fine_percent(*floor).into()]);
    }
    document.table(table);
}

fn environment(record: &Record) -> Table {
    let environment = &record.environment;
    let mut table = Table::new("Where this run took place", &["What", "value"]);
    table.prose = true;
    let or_unknown = |text: String| if text.is_empty() { "not known".into() } else { text };
    let kernel = match environment.x25519.as_str() {
        "Ifma" => "8-way AVX-512 IFMA",
        "Portable" => "portable library",
        other => other,
    };
    let [before, after] = environment.load;
    let lines = [
        ("endseal", format!("{} {}", environment.endseal, environment.commit).trim().to_owned()),
        ("profile", environment.profile.clone()),
        ("link-time optimisation", environment.lto.clone()),
        ("X25519", kernel.into()),
        ("CPU", environment.cpu.clone()),
        ("CPU features", environment.cpu_features.join(", ")),
        ("microcode", environment.microcode.clone()),
        ("CPUs that may be used", environment.cpus.to_string()),
        ("governor", environment.governor.clone()),
        ("virtual machine", if environment.virtual_machine { "yes" } else { "no" }.into()),
        ("steal time", words::fine_percent(environment.steal)),
        ("load average before and after", format!("{before:.2}, {after:.2}")),
        ("memory", format!("{} MiB", words::integer(environment.memory_mib))),
        ("kernel", environment.kernel.clone()),
        ("compiler on the machine", environment.rustc.clone()),
        ("started", words::date(environment.started)),
        ("took", words::duration(environment.seconds)),
        ("record", format!("{}, extent {}", record.schema, record.extent)),
    ];
    for (name, value) in lines {
        table.row(vec![name.into(), or_unknown(value).into()]);
    }
    table
}

fn repeat(document: &mut Document, figures: &Figures<'_>) {
    let record = figures.record;
    let profile = match &*record.environment.lto {
        "thin" => "--profile bench",
        "fat" => "--profile dist",
        _ => "--release",
    };
    let mut command =
        format!("cargo run {profile} --manifest-path bench/Cargo.toml --target-dir target -- run");
    if ["quick", "full"].contains(&record.extent.as_str()) {
        command += &format!(" --{}", record.extent);
    }
    let arguments = &record.arguments;
    let options = [
        ("--suite", &arguments.suites),
        ("--case", &arguments.cases),
        ("--peers", &arguments.peers),
        ("--subject", &arguments.subjects),
    ];
    for (option, values) in options.iter().filter(|(_, values)| !values.is_empty()) {
        command += &format!(" {option} {}", values.join(","));
    }
    let mut text = Text::from("From a checkout");
    if !record.environment.commit.is_empty() {
        text = text.say(" of commit ").code(&record.environment.commit);
    }
    text = text.say(": ").code(command);
    text = text.say(if arguments.peers.is_empty() {
        ". "
    } else {
        ", after cargo xtask peers has installed the peers; endseal-bench doctor says what is missing. "
    });
    document.paragraph(
        text.say("The figures of this report are in ")
            .code("run.json")
            .say(" beside it; ")
            .code("endseal-bench compare A B")
            .say(" lays two runs side by side."),
    );
}
