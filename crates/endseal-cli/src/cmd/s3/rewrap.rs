//! `endseal s3 rewrap`: wraps the keys of all objects under the newest key.

use std::path::PathBuf;

use endseal_s3proxy::admin::{self, Fault, Rewrap, RewrapEvent, RewrapReport};

use super::configuration;
use super::problems::Problems;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json::{self, Value};
use crate::printable::plural;
use crate::progress::Progress;

/// Wrap the keys of all objects under the newest key, without encrypting them again
///
/// After a rotation, first restart every proxy, so that it has the new key. Then run this until
/// nothing is left. The server copies each object onto itself with a new header. Objects that are
/// written meanwhile stay as they were written. The command can be interrupted and run again. In
/// buckets with versions only current versions are wrapped; older ones keep their key. Copies lose
/// access control lists of their own, and entity tags of objects that were uploaded in parts
/// change. The exit code is 1 if something is left to do.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Configuration of the proxy [default: ~/.config/endseal/s3.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Only this bucket [default: all that the server lists]
    #[arg(long)]
    bucket: Option<String>,
    /// Only objects whose keys begin with this
    #[arg(long, default_value = "")]
    prefix: String,
    /// Number of objects that are processed at once
    #[arg(long, value_name = "NUMBER", default_value_t = 8,
          value_parser = clap::value_parser!(u16).range(1..=128))]
    jobs: u16,
    /// Also copy at servers that ignore If-Match of copies
    ///
    /// At such a server, a write of a client at the moment of a copy is lost.
    #[arg(long)]
    no_writers: bool,
    /// Only count the objects; their keys are opened, nothing is written
    #[arg(long)]
    dry_run: bool,
}

/// Hint for a server that ignores conditions, where another run alone does not help.
pub(super) const UNCONDITIONAL: &str =
    "hint: stop the proxies, so that nothing is written, and run again with --no-writers";

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let (runtime, proxy) = configuration::start(args.config.as_deref(), ctx)?;
    let mut options = Rewrap::default();
    options.bucket.clone_from(&args.bucket);
    options.prefix.clone_from(&args.prefix);
    options.jobs = usize::from(args.jobs);
    options.unconditional = args.no_writers;
    options.dry_run = args.dry_run;
    let mut problems = Problems::default();
    let mut progress = Progress::of_objects(ctx, "wrapping");
    let mut seen = 0;
    let report = runtime.block_on(admin::rewrap(&proxy, &options, |event| match event {
        RewrapEvent::Bucket { bucket, has_versions: true } => {
            ctx.note(&format!("{bucket} has versions: only the current ones are wrapped"));
        }
        RewrapEvent::Object { bucket, key, outcome } => {
            seen += 1;
            progress.at(seen);
            tell_outcome(&mut problems, ctx, (bucket, key), outcome);
        }
        RewrapEvent::Unfinished { bucket, key } => {
            let why = "an upload is unfinished and has an older key: let it end, or abort it";
            problems.tell(ctx, (bucket, Some(key)), &why);
        }
        RewrapEvent::Failed { bucket, fault } => {
            tell_unlisted(&mut problems, ctx, bucket, fault);
        }
        _ => {}
    }));
    drop(progress);
    let report = report.map_err(|fault| {
        Failure::new(Kind::Environment, "nothing was wrapped")
            .because(&fault)
            .hint("if the server does not list its buckets, name one with --bucket")
    })?;
    Ok(outcome(args, &report, problems))
}

/// Prints and stores why an object has still the header that it had.
pub(super) fn tell_outcome(
    problems: &mut Problems,
    ctx: &mut Ctx,
    (bucket, key): (&str, &str),
    outcome: &admin::Outcome,
) {
    let place = (bucket, Some(key));
    match outcome {
        admin::Outcome::Changed => problems.tell(ctx, place, &"was written meanwhile: run again"),
        admin::Outcome::Skipped(skip) => problems.tell(ctx, place, &skip.reason()),
        admin::Outcome::Failed(fault) => problems.tell(ctx, place, fault),
        _ => {}
    }
}

/// Prints and stores why the rest of a bucket is left out.
pub(super) fn tell_unlisted(problems: &mut Problems, ctx: &mut Ctx, bucket: &str, fault: &Fault) {
    problems.tell(ctx, (bucket, None), fault);
    if fault.message() == admin::NO_CONDITIONS {
        ctx.note(UNCONDITIONAL);
    }
}

/// Formats the report for people. It proposes another run only if that can help.
fn text(report: &RewrapReport, dry_run: bool) -> String {
    let RewrapReport { key_id, rewrapped, newest, plaintext, retagged, .. } = report;
    let RewrapReport { changed, skipped, failed, restored, unfinished, .. } = report;
    let will = if dry_run { "to be wrapped" } else { "wrapped" };
    let objects = plural(*rewrapped, "object");
    let mut text = format!("{objects} {will} under {key_id}, {newest} before\n");
    for (count, what, remedy) in [
        (*plaintext, "not sealed", ""),
        (*retagged, "with another entity tag now", ""),
        (*changed, "written meanwhile", ": run again"),
        (*restored, "had lost their header", ""),
        (*unfinished, "unfinished uploads have an older key", ": let them end, and run again"),
        (*skipped, "skipped", ", also in another run: see the reasons above"),
        (*failed, "failed", ": run again when the causes are gone"),
    ] {
        if count > 0 {
            text.push_str(&format!("{count} {what}{remedy}\n"));
        }
    }
    text
}

fn outcome(args: &Args, report: &RewrapReport, problems: Problems) -> Outcome {
    let RewrapReport { key_id, rewrapped, newest, plaintext, retagged, .. } = report;
    let text = text(report, args.dry_run);
    let json = json::object([
        ("dry_run", Value::from(args.dry_run)),
        ("complete", Value::from(report.is_complete())),
        ("key", Value::from(key_id.as_str())),
        ("buckets", Value::from(report.buckets)),
        ("versioned_buckets", Value::from(report.versioned_buckets.clone())),
        ("rewrapped", Value::from(*rewrapped)),
        ("newest", Value::from(*newest)),
        ("restored", Value::from(report.restored)),
        ("unfinished", Value::from(report.unfinished)),
        ("plaintext", Value::from(*plaintext)),
        ("changed", Value::from(report.changed)),
        ("gone", Value::from(report.gone)),
        ("skipped", Value::from(report.skipped)),
        ("failed", Value::from(report.failed)),
        ("retagged", Value::from(*retagged)),
        ("problems", problems.json()),
    ]);
    Outcome { refused: !report.is_complete(), ..Outcome::new(text, json) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_run_is_proposed_only_if_it_can_help() {
        let mut report = RewrapReport::default();
        report.key_id = "ring-1".to_owned();
        (report.rewrapped, report.skipped) = (1, 2);
        let told = text(&report, false);
        assert!(told.starts_with("1 object wrapped under ring-1, 0 before\n"), "{told}");
        assert!(told.contains("2 skipped, also in another run") && !told.contains("run again"));
        (report.skipped, report.changed) = (0, 1);
        assert!(text(&report, false).ends_with("1 written meanwhile: run again\n"));
    }
}
