//! `endseal s3 scrub`: authenticates every object.

use core::time::Duration;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use endseal_node::{Existing, Readers, write_file};
use endseal_s3proxy::admin::{self, Checkpoint, Scrub, ScrubEvent, ScrubReport, Scrubbed};

use super::configuration;
use super::problems::Problems;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json::{self, Value};
use crate::printable::plural;
use crate::progress::Progress;

/// Shortest time between two writes of the checkpoint file.
const PERIOD: Duration = Duration::from_secs(5);

/// Read and authenticate every object, to find damage
///
/// Header, record, all of the content and sealed metadata are authenticated. Nothing is written to
/// the server. In buckets with versions only current versions are read. With --checkpoint an
/// interrupted run continues, and counts the objects it found before; a checkpoint of another
/// bucket, prefix or configuration is refused. It stays before the first object that could not be
/// read. The exit code is 1 if an object is not authentic, could not be read, or is not sealed
/// where that is forbidden.
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
    /// Keep a checkpoint in this file, continue from it, and remove it at the end
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let config = configuration::path(args.config.as_deref(), ctx)?;
    let scope = scope(&config, args);
    let place =
        args.checkpoint.as_deref().map(|file| read_place(file, &scope)).transpose()?.flatten();
    let (after, found_before) = place.map_or((None, 0), |(after, found)| (Some(after), found));
    let (runtime, proxy) = configuration::start(Some(&config), ctx)?;
    let mut options = Scrub::default();
    options.bucket.clone_from(&args.bucket);
    options.prefix.clone_from(&args.prefix);
    options.jobs = usize::from(args.jobs);
    options.after = after;
    let mut problems = Problems::default();
    let mut progress = Progress::of_objects(ctx, "reading");
    let (mut seen, mut damaged) = (0, found_before);
    let mut written = Instant::now();
    let mut unwritten = None;
    let report = runtime.block_on(admin::scrub(&proxy, &options, |event| match event {
        ScrubEvent::Bucket { bucket, has_versions: true } => {
            ctx.note(&format!("{bucket} has versions: only the current ones are read"));
        }
        ScrubEvent::Object { bucket, key, outcome } => {
            seen += 1;
            progress.at(seen);
            let place = (bucket, Some(key));
            match outcome {
                Scrubbed::NotAuthentic => {
                    damaged += 1;
                    problems.tell(ctx, place, &"is not authentic");
                }
                Scrubbed::HeaderMissing => {
                    damaged += 1;
                    let why = "is authentic, but lost its header: endseal s3 recover restores it";
                    problems.tell(ctx, place, &why);
                }
                Scrubbed::Unsealed => {
                    damaged += 1;
                    problems.tell(ctx, place, &"is not sealed, which its bucket forbids");
                }
                Scrubbed::Failed(fault) => problems.tell(ctx, place, fault),
                _ => {}
            }
        }
        ScrubEvent::Checkpoint(place) if written.elapsed() >= PERIOD => {
            written = Instant::now();
            if let Some(file) = &args.checkpoint
                && let Err(error) = write_place(file, place, damaged, &scope)
            {
                unwritten.get_or_insert(error);
            }
        }
        ScrubEvent::Failed { bucket, fault } => problems.tell(ctx, (bucket, None), fault),
        _ => {}
    }));
    drop(progress);
    let report = report.map_err(|fault| {
        Failure::new(Kind::Environment, "nothing was read")
            .because(&fault)
            .hint("if the server does not list its buckets, name one with --bucket")
    })?;
    if let Some(error) = unwritten {
        ctx.note(&format!("the checkpoint was not written: {error}"));
    }
    if let Some(file) = args.checkpoint.as_ref().filter(|_| report.failed == 0) {
        // The file does not exist if the run was short.
        let _ = fs::remove_file(file);
    }
    Ok(outcome(&report, found_before, problems))
}

fn outcome(report: &ScrubReport, found_before: u64, problems: Problems) -> Outcome {
    let ScrubReport { authentic, bytes, plaintext, not_authentic, failed, .. } = report;
    let mut text =
        format!("authentic: {}, {}\n", plural(*authentic, "object"), plural(*bytes, "byte"));
    if *plaintext > 0 {
        text.push_str(&format!("not sealed: {}\n", plural(*plaintext, "object")));
    }
    let is_sound = report.is_sound() && found_before == 0;
    if found_before > 0 {
        text.push_str(&format!("not authentic, found before the interruption: {found_before}\n"));
    }
    if !report.is_sound() {
        let missing = report.headers_missing;
        text.push_str(&format!(
            "not authentic: {not_authentic}; without a header: {missing}; not read: {failed}\n"
        ));
    }
    let json = json::object([
        ("sound", Value::from(is_sound)),
        ("not_authentic_before", Value::from(found_before)),
        ("buckets", Value::from(report.buckets)),
        ("authentic", Value::from(*authentic)),
        ("bytes", Value::from(*bytes)),
        ("plaintext", Value::from(*plaintext)),
        ("gone", Value::from(report.gone)),
        ("not_authentic", Value::from(*not_authentic)),
        ("headers_missing", Value::from(report.headers_missing)),
        ("failed", Value::from(*failed)),
        ("problems", problems.json()),
    ]);
    Outcome { refused: !is_sound, ..Outcome::new(text, json) }
}

/// Describes the objects of a run. A checkpoint is not valid for a run with other objects.
fn scope(config: &Path, args: &Args) -> Value {
    let config = fs::canonicalize(config).unwrap_or_else(|_| config.to_owned());
    json::object([
        ("config", Value::from(config.to_string_lossy())),
        ("bucket", args.bucket.as_deref().map_or(Value::Null, Value::from)),
        ("prefix", Value::from(args.prefix.as_str())),
    ])
}

/// Reads the checkpoint of an earlier run, and the number of objects that it had found not
/// authentic. Returns `None` if there is no file.
///
/// # Errors
/// Fails if the file is not a checkpoint, or belongs to a run with another configuration, bucket or
/// prefix.
fn read_place(file: &Path, scope: &Value) -> Result<Option<(Checkpoint, u64)>, Failure> {
    let what = || format!("cannot use {} as a checkpoint", file.display());
    let text = match fs::read(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::new(Kind::Environment, what()).because(&error)),
    };
    let value: Option<Value> = serde_json::from_slice(&text).ok();
    let field = |name: &str| value.as_ref()?.get(name)?.as_str().map(str::to_owned);
    let found = value.as_ref().and_then(|value| value.get("not_authentic")?.as_u64());
    match (field("bucket"), field("stored_key"), found) {
        (Some(bucket), Some(stored_key), Some(found)) => {
            if value.as_ref().and_then(|value| value.get("scope")) != Some(scope) {
                let hint = "remove the file to start again, or name another file";
                let what = format!("{} is a checkpoint for other objects", file.display());
                return Err(Failure::new(Kind::Environment, what).hint(hint));
            }
            Ok(Some((Checkpoint { bucket, stored_key }, found)))
        }
        _ => Err(Failure::new(Kind::Environment, what())),
    }
}

fn write_place(file: &Path, place: &Checkpoint, damaged: u64, scope: &Value) -> Result<(), String> {
    let json = json::object([
        ("scope", scope.clone()),
        ("bucket", Value::from(place.bucket.as_str())),
        ("stored_key", Value::from(place.stored_key.as_str())),
        ("not_authentic", Value::from(damaged)),
    ]);
    write_file(file, format!("{json}\n").as_bytes(), Existing::Replace, Readers::Umask)
        .map_err(|error| error.to_string())
}
