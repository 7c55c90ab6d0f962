//! `endseal s3 recover`: restores headers at the server, and opens bare copies.

use std::path::PathBuf;

use endseal_s3proxy::Glob;
use endseal_s3proxy::admin::{
    self, Recover, RecoverReport, Recovered, Rewrap, RewrapEvent, RewrapReport,
};
use endseal_s3proxy::bucket::{BucketNames, BucketRule};
use endseal_s3proxy::config::Keys;
use endseal_s3proxy::name_secret::NameSecretFile;
use endseal_s3proxy::set_up;
use tokio::runtime::Builder;

use super::configuration;
use super::problems::Problems;
use super::rewrap::{tell_outcome, tell_unlisted};
use super::ring_passphrase;
use crate::ctx::{Ctx, Outcome};
use crate::exposed;
use crate::failure::{Failure, Kind};
use crate::json::{self, Value};
use crate::printable::plural;
use crate::progress::Progress;

/// Restore objects that lost their metadata, or open a bare copy of a bucket
///
/// The end of every object has a copy of its header. Without COPY, objects at the server that have
/// no header in their metadata are given it again: the server copies each onto itself. With COPY, a
/// folder with the bytes of one bucket is opened, and the content is written below --dir. Nothing
/// is needed then but the bytes and the keys. Files that exist are left alone, so the command can
/// be run again. The exit code is 1 if an object could not be restored.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Folder with the objects of one bucket
    #[arg(requires = "dir", requires = "bucket")]
    copy: Option<PathBuf>,
    /// New folder for the content of the objects
    #[arg(long, value_name = "DIR", requires = "copy")]
    dir: Option<PathBuf>,
    /// Configuration of the proxy [default: ~/.config/endseal/s3.toml]
    #[arg(long, value_name = "FILE", conflicts_with = "ring")]
    config: Option<PathBuf>,
    /// Key ring, in place of a configuration
    #[arg(long, value_name = "FILE", requires = "copy")]
    ring: Option<PathBuf>,
    /// Name secret of a bucket with encrypted names, beside --ring
    #[arg(long, value_name = "FILE", requires = "ring")]
    name_secret: Option<PathBuf>,
    /// Bucket; with COPY, the name under which its objects were written
    #[arg(long)]
    bucket: Option<String>,
    /// With COPY, also open objects that are not bound to their names
    ///
    /// Copies that the server made are such objects, and those of buckets with a weaker binding.
    /// Someone who could change the copy may have
    /// exchanged them.
    #[arg(long, requires = "copy")]
    moved: bool,
    /// At the server, also copy if it ignores If-Match of copies
    #[arg(long, conflicts_with = "copy")]
    no_writers: bool,
    /// At the server, only count the objects
    #[arg(long, conflicts_with = "copy")]
    dry_run: bool,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    match (&args.copy, &args.dir, &args.bucket) {
        (Some(copy), Some(to), Some(bucket)) => {
            let options = Recover {
                from: copy.clone(),
                to: to.clone(),
                bucket: bucket.clone(),
                moved: args.moved,
            };
            open_copy(args, &options, ctx)
        }
        _ => restore(args, ctx),
    }
}

/// Restores headers at the server.
fn restore(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let (runtime, proxy) = configuration::start(args.config.as_deref(), ctx)?;
    let mut options = Rewrap::default();
    options.bucket.clone_from(&args.bucket);
    options.missing_only = true;
    options.unconditional = args.no_writers;
    options.dry_run = args.dry_run;
    let mut problems = Problems::default();
    let mut progress = Progress::of_objects(ctx, "restoring");
    let mut seen = 0;
    let report = runtime.block_on(admin::rewrap(&proxy, &options, |event| match event {
        RewrapEvent::Object { bucket, key, outcome } => {
            seen += 1;
            progress.at(seen);
            match outcome {
                admin::Outcome::Plaintext => {
                    problems.tell(ctx, (bucket, Some(key)), &"is not sealed");
                }
                outcome => tell_outcome(&mut problems, ctx, (bucket, key), outcome),
            }
        }
        RewrapEvent::Failed { bucket, fault } => {
            tell_unlisted(&mut problems, ctx, bucket, fault);
        }
        _ => {}
    }));
    drop(progress);
    let report = report.map_err(|fault| {
        Failure::new(Kind::Environment, "nothing was restored")
            .because(&fault)
            .hint("if the server does not list its buckets, name one with --bucket")
    })?;
    let RewrapReport { restored, newest, plaintext, changed, skipped, failed, .. } = &report;
    let will = if args.dry_run { "to be given" } else { "given" };
    let mut text = format!("{} {will} a header, {newest} had one\n", plural(*restored, "object"));
    let left = changed + skipped + failed;
    if *plaintext + left > 0 {
        text.push_str(&format!("not sealed: {plaintext}; not restored: {left}\n"));
    }
    let is_complete = report.is_complete() && *plaintext == 0;
    let json = json::object([
        ("complete", Value::from(is_complete)),
        ("restored", Value::from(*restored)),
        ("present", Value::from(*newest)),
        ("plaintext", Value::from(*plaintext)),
        ("failed", Value::from(left)),
        ("problems", problems.json()),
    ]);
    Ok(Outcome { refused: !is_complete, ..Outcome::new(text, json) })
}

/// Returns the keys, and the rule of the bucket: those of a configuration, or of a ring alone.
fn keys_and_rule(
    args: &Args,
    options: &Recover,
    ctx: &mut Ctx,
) -> Result<(Keys, BucketRule), Failure> {
    let Some(ring) = &args.ring else {
        let path = configuration::path(args.config.as_deref(), ctx)?;
        let mut config = configuration::read(&path, ctx)?;
        ring_passphrase::unlock(&mut config.keys, ctx)?;
        return Ok((config.keys, config.buckets.rule(&options.bucket).clone()));
    };
    let mut rule = BucketRule::new(Glob::new(&options.bucket));
    if let Some(path) = &args.name_secret {
        let secret = NameSecretFile::at(path).load().map_err(|error| {
            let what = format!("cannot read {}", path.display());
            Failure::new(Kind::Configuration, what).because(&error)
        })?;
        rule.names = Some(BucketNames::new(secret));
    }
    exposed::warn(ring, ctx);
    let mut keys = Keys::ring(ring);
    ring_passphrase::unlock(&mut keys, ctx)?;
    Ok((keys, rule))
}

/// Opens a bare copy.
fn open_copy(args: &Args, options: &Recover, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    if let Some(folder) = set_up::folder_of(&options.from) {
        let (from, folder) = (options.from.display(), folder.display());
        let what = format!("{from} is the folder of a proxy, and no bare copy of a bucket");
        return Err(Failure::usage(what).hint(format!(
            "serve it with endseal s3 serve --dir, or backend.folder of a configuration, and read \
             the objects there: {folder}"
        )));
    }
    let (keys, rule) = keys_and_rule(args, options, ctx)?;
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
        Failure::new(Kind::Environment, "cannot start the runtime").because(&error)
    })?;
    let mut problems = Problems::default();
    let mut progress = Progress::of_objects(ctx, "opening");
    let mut seen = 0;
    let report = runtime.block_on(admin::recover(&keys, &rule, options, |key, outcome| {
        seen += 1;
        progress.at(seen);
        let place = (options.bucket.as_str(), Some(key));
        match outcome {
            Recovered::Plaintext => problems.tell(ctx, place, &"is not sealed"),
            Recovered::Moved => {
                problems.tell(
                    ctx,
                    place,
                    &"was written under another name, or is bound to none; --moved opens it",
                );
            }
            Recovered::NotAuthentic => problems.tell(ctx, place, &"is not authentic"),
            Recovered::Failed(fault) => problems.tell(ctx, place, &fault.message()),
            _ => {}
        }
    }));
    drop(progress);
    let report = report.map_err(|error| {
        Failure::new(Kind::Environment, "not all of the copy was looked at").because(&error)
    })?;
    let RecoverReport { written, bytes, present, plaintext, .. } = &report;
    let RecoverReport { moved, not_authentic, failed, .. } = &report;
    let mut text = format!("written: {}, {}\n", plural(*written, "file"), plural(*bytes, "byte"));
    for (count, what) in [
        (*present, "there before, and left alone"),
        (*plaintext, "not sealed"),
        (*moved, "written under another name"),
        (*not_authentic, "not authentic"),
        (*failed, "failed"),
    ] {
        if count > 0 {
            text.push_str(&format!("{what}: {count}\n"));
        }
    }
    let json = json::object([
        ("complete", Value::from(report.is_complete())),
        ("written", Value::from(*written)),
        ("bytes", Value::from(*bytes)),
        ("present", Value::from(*present)),
        ("plaintext", Value::from(*plaintext)),
        ("moved", Value::from(*moved)),
        ("not_authentic", Value::from(*not_authentic)),
        ("failed", Value::from(*failed)),
        ("problems", problems.json()),
    ]);
    Ok(Outcome { refused: !report.is_complete(), ..Outcome::new(text, json) })
}
