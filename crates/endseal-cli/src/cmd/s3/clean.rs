//! `endseal s3 clean`: removes abandoned uploads.

use core::time::Duration;
use std::path::PathBuf;

use endseal_s3proxy::admin::{self, Clean, CleanEvent, CleanReport};

use super::configuration;
use super::problems::Problems;
use crate::ctx::{Ctx, Outcome};
use crate::duration::{self, WEEK};
use crate::failure::{Failure, Kind};
use crate::json::{self, Value};
use crate::printable::{plural, printable};
use crate::progress::Progress;

/// Remove abandoned uploads and their parts
///
/// Aborts unfinished uploads of all clients that are idle for --older-than, and deletes their
/// parked parts and records, and those of uploads that are gone. It touches neither active uploads
/// nor objects. The command can be interrupted and run again. A lifecycle rule of the bucket does
/// the same by age alone. The exit code is 1 if something could not be removed.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Configuration of the proxy [default: ~/.config/endseal/s3.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Only this bucket [default: all that the server lists]
    #[arg(long)]
    bucket: Option<String>,
    /// Time since something last happened to an upload
    #[arg(long, value_name = "TIME", default_value = "7d")]
    #[arg(value_parser = duration::between(Duration::ZERO, 5_000 * WEEK))]
    older_than: Duration,
    /// Only list what would be removed
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let (runtime, proxy) = configuration::start(args.config.as_deref(), ctx)?;
    let mut options = Clean::default();
    options.bucket.clone_from(&args.bucket);
    options.older_than = args.older_than;
    options.dry_run = args.dry_run;
    let shows = args.dry_run && !ctx.global.json && !ctx.global.quiet;
    let mut problems = Problems::default();
    let mut printed = Ok(());
    let mut progress = Progress::of_objects(ctx, "cleaning");
    let mut seen = 0;
    let cleaned = runtime.block_on(admin::clean(&proxy, &options, |event| {
        seen += 1;
        progress.at(seen);
        let line = match event {
            CleanEvent::Upload { bucket, key } => format!("upload {bucket}/{key}"),
            CleanEvent::Part { bucket, key } => format!("part {bucket}/{key}"),
            CleanEvent::Record { bucket, key } => format!("record {bucket}/{key}"),
            CleanEvent::Unknown { bucket, key } => {
                problems.tell(ctx, (bucket, Some(key)), &"names no upload, and is kept");
                return;
            }
            CleanEvent::Failed { bucket, key, fault } => {
                problems.tell(ctx, (bucket, key), fault);
                return;
            }
            _ => return,
        };
        if shows && printed.is_ok() {
            printed = ctx.print(format!("{}\n", printable(&line)).as_bytes());
        }
    }));
    drop(progress);
    printed?;
    let report = cleaned.map_err(|fault| {
        Failure::new(Kind::Environment, "the server does not list its buckets")
            .because(&fault)
            .hint("name one with --bucket")
    })?;
    Ok(outcome(args, &report, problems))
}

fn outcome(args: &Args, report: &CleanReport, problems: Problems) -> Outcome {
    let would = if args.dry_run { "would be removed" } else { "removed" };
    let CleanReport { uploads_removed, parts_removed, uploads_kept, parts_kept, failed, .. } =
        report;
    let CleanReport { records_removed, records_kept, .. } = report;
    let mut text = format!(
        "{} and {} {would}, {uploads_kept} and {parts_kept} kept\n",
        plural(*uploads_removed, "upload"),
        plural(*parts_removed, "parked part"),
    );
    if *records_removed + *records_kept > 0 {
        let records = format!(
            "{} of uploads {would}, {records_kept} kept\n",
            plural(*records_removed, "record")
        );
        text.push_str(&records);
    }
    if *failed > 0 {
        text.push_str(&format!(
            "{}; run again when the causes are gone\n",
            plural(*failed, "failure")
        ));
    }
    let json = json::object([
        ("dry_run", Value::from(args.dry_run)),
        ("buckets", Value::from(report.buckets)),
        ("uploads_removed", Value::from(*uploads_removed)),
        ("uploads_kept", Value::from(*uploads_kept)),
        ("parts_removed", Value::from(*parts_removed)),
        ("parts_kept", Value::from(*parts_kept)),
        ("records_removed", Value::from(*records_removed)),
        ("records_kept", Value::from(*records_kept)),
        ("unknown", Value::from(report.unknown)),
        ("failed", Value::from(*failed)),
        ("problems", problems.json()),
    ]);
    Outcome { refused: *failed > 0, ..Outcome::new(text, json) }
}
