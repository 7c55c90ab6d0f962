//! `endseal s3 import`: seals the plaintext objects of a bucket.

use std::path::PathBuf;
use std::sync::Arc;

use endseal_s3proxy::admin::{self, Import, ImportReport, Imported, Scrub, ScrubEvent, Scrubbed};

use super::configuration;
use super::foreign;
use super::problems::Problems;
use super::rewrap::UNCONDITIONAL;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json::{self, Value};
use crate::printable::{plural, printable};
use crate::progress::Progress;

/// Seal the objects of a bucket that are not sealed yet, or those of another system
///
/// Each object is read from the server, sealed and written in its own place, with its metadata,
/// content headers, tags and storage class. Objects that are written meanwhile stay as they were
/// written. The command can be interrupted and run again with --resume: sealed objects are left
/// alone. In the end all of it is read and verified. Clients see new entity tags and dates. Older
/// versions stay plaintext, and access control lists of single objects are lost. Objects above 5
/// GiB must be copied through the proxy. With --from, objects that another system sealed are opened
/// with its keys. The exit code is 1 if something is left to do.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Bucket with the objects
    bucket: String,
    /// Configuration of the proxy [default: ~/.config/endseal/s3.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Only objects whose keys begin with this
    #[arg(long, default_value = "")]
    prefix: String,
    #[command(flatten)]
    foreign: foreign::ForeignArgs,
    /// Number of objects that are processed at once
    #[arg(long, value_name = "NUMBER", default_value_t = 4,
          value_parser = clap::value_parser!(u16).range(1..=128))]
    jobs: u16,
    /// Also write at servers that ignore If-Match of writes
    ///
    /// At such a server, a write of a client at the moment of an import is lost.
    #[arg(long)]
    no_writers: bool,
    /// Go on in a bucket that has sealed objects, as after a break
    ///
    /// An object that lost its metadata and its end looks like plaintext, and would be sealed as it
    /// is: look at what endseal s3 scrub says first.
    #[arg(long)]
    resume: bool,
    /// Only count the objects and their bytes
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let source = foreign::source(&args.foreign, &args.bucket, ctx)?.map(Arc::new);
    let (runtime, proxy) = configuration::start(args.config.as_deref(), ctx)?;
    let mut options = Import::new(args.bucket.clone());
    options.prefix.clone_from(&args.prefix);
    options.jobs = usize::from(args.jobs);
    options.unconditional = args.no_writers;
    options.resume = args.resume;
    options.dry_run = args.dry_run;
    let mut problems = Problems::default();
    let mut progress = Progress::of_objects(ctx, "sealing");
    let mut seen = 0;
    let mut on = |key: &str, outcome: &Imported| {
        seen += 1;
        progress.at(seen);
        let place = (args.bucket.as_str(), Some(key));
        match outcome {
            Imported::Changed => problems.tell(ctx, place, &"was written meanwhile: run again"),
            Imported::Skipped(skip) => problems.tell(ctx, place, &skip.reason()),
            Imported::Failed(fault) => problems.tell(ctx, place, fault),
            Imported::NotAuthentic => problems.tell(
                ctx,
                place,
                &"is not authentic: it was damaged, cut, renamed, or its key is another one",
            ),
            Imported::UnknownKey(id) => {
                problems.tell(ctx, place, &format!("no --key-file has its key, {id}"));
            }
            _ => {}
        }
    };
    let report = runtime.block_on(async {
        match &source {
            Some(source) => admin::import_foreign(&proxy, &options, source, &mut on).await,
            None => admin::import(&proxy, &options, &mut on).await,
        }
    });
    drop(progress);
    let report = report.unwrap_or_else(|fault| {
        problems.tell(ctx, (args.bucket.as_str(), None), &fault);
        match fault.message() {
            admin::WRITES_UNCONDITIONAL => ctx.note(UNCONDITIONAL),
            admin::HAS_SEALED => ctx.note("hint: after a break, run again with --resume"),
            _ => {}
        }
        let mut report = ImportReport::default();
        report.failed = 1;
        report
    });
    if let Some(source) = &source
        && seen == 0
        && report.failed == 0
    {
        let place = format!("{}/{}", source.bucket, source.prefix);
        ctx.note(&format!("{}: no objects lie there", printable(&place)));
    }
    if report.has_versions {
        ctx.note(&format!("{} has versions: the older ones stay plaintext", args.bucket));
    }
    let verified = match args.dry_run || report.sealed + report.present == 0 {
        true => None,
        false => Some(verified(args, &runtime, &proxy, &mut problems, ctx)?),
    };
    Ok(outcome(args, &report, verified, problems))
}

/// Reads all objects to their end. Returns how many are authentic, and how many are not.
fn verified(
    args: &Args,
    runtime: &tokio::runtime::Runtime,
    proxy: &Arc<endseal_s3proxy::Proxy>,
    problems: &mut Problems,
    ctx: &mut Ctx,
) -> Result<(u64, u64), Failure> {
    let mut options = Scrub::default();
    options.bucket = Some(args.bucket.clone());
    options.prefix = args.foreign.under(&args.prefix);
    options.jobs = usize::from(args.jobs);
    let mut progress = Progress::of_objects(ctx, "verifying");
    let mut seen = 0;
    let report = runtime.block_on(admin::scrub(proxy, &options, |event| match event {
        ScrubEvent::Object { bucket, key, outcome } => {
            seen += 1;
            progress.at(seen);
            let place = (bucket, Some(key));
            match outcome {
                Scrubbed::NotAuthentic => problems.tell(ctx, place, &"is not authentic"),
                Scrubbed::Unsealed => problems.tell(ctx, place, &"is not sealed"),
                Scrubbed::HeaderMissing => {
                    problems.tell(ctx, place, &"lost its header: endseal s3 recover restores it");
                }
                Scrubbed::Failed(fault) => problems.tell(ctx, place, fault),
                _ => {}
            }
        }
        ScrubEvent::Failed { bucket, fault } => problems.tell(ctx, (bucket, None), fault),
        _ => {}
    }));
    drop(progress);
    let report = report.map_err(|fault| {
        Failure::new(Kind::Environment, "what was sealed could not be verified").because(&fault)
    })?;
    Ok((report.authentic, report.not_authentic + report.headers_missing + report.failed))
}

fn outcome(
    args: &Args,
    report: &ImportReport,
    verified: Option<(u64, u64)>,
    problems: Problems,
) -> Outcome {
    let ImportReport { sealed, bytes, present, changed, skipped, failed, .. } = report;
    let ImportReport { unauthenticated, not_authentic, .. } = report;
    let will = if args.dry_run { "to be sealed" } else { "sealed" };
    let (objects, length) = (plural(*sealed, "object"), plural(*bytes, "byte"));
    let mut text = format!("{objects}, {length} {will}; {present} sealed before\n");
    if args.dry_run {
        // Headers, tags, content, a write, and the verification; with --from those of the place,
        // too, and of a deletion.
        let each = if args.foreign.is_given() { 9 } else { 6 };
        let requests = each * sealed + 3 * present;
        text.push_str(&format!("this takes about {} to the server\n", plural(requests, "request")));
    }
    if *unauthenticated > 0 {
        text.push_str(&format!(
            "{unauthenticated} of them have content that nothing authenticated: anyone who \
             could write to the server could change it\n"
        ));
    }
    for (count, what, remedy) in [
        (*not_authentic, "not authentic", ", and left as they were"),
        (*changed, "written meanwhile", ": run again"),
        (*skipped, "skipped", ", also in another run: see the reasons above"),
        (*failed, "failed", ": run again when the causes are gone"),
    ] {
        if count > 0 {
            text.push_str(&format!("{count} {what}{remedy}\n"));
        }
    }
    let (authentic, unsound) = verified.unwrap_or((0, 0));
    if verified.is_some() {
        text.push_str(&format!("verified: {authentic} authentic, {unsound} not\n"));
    }
    let is_complete = report.is_complete() && unsound == 0;
    let json = json::object([
        ("dry_run", Value::from(args.dry_run)),
        ("complete", Value::from(is_complete)),
        ("has_versions", Value::from(report.has_versions)),
        ("sealed", Value::from(*sealed)),
        ("bytes", Value::from(*bytes)),
        ("unauthenticated", Value::from(*unauthenticated)),
        ("not_authentic", Value::from(*not_authentic)),
        ("present", Value::from(*present)),
        ("changed", Value::from(*changed)),
        ("gone", Value::from(report.gone)),
        ("skipped", Value::from(*skipped)),
        ("failed", Value::from(*failed)),
        ("authentic", Value::from(authentic)),
        ("unsound", Value::from(unsound)),
        ("problems", problems.json()),
    ]);
    Outcome { refused: !is_complete, ..Outcome::new(text, json) }
}
