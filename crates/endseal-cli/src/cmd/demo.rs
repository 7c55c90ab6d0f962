//! `endseal demo`

mod hub;
mod hub_world;
mod signer;
mod signer_world;

use core::time::Duration;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::{env, process};

use clap::Subcommand;
use endseal_keyring::KdfParams;
use endseal_node::FileError;
use endseal_node::demo::{self, Outcome as Shown, Step, Steps};

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::interrupt;
use crate::json::{self, Value};

const DEFAULT_FILE: &str = "README.md";

/// Show it at work: a file for a group, texts for one who is away, a remote signer
///
/// Everything happens in a temporary folder. Four people and a removed member, with the functions
/// that the other commands use; a hub and three nodes, processes of this program, one of which is
/// killed; a Nostr signer.
#[derive(clap::Args, Debug)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Args {
    /// Keep the temporary folder
    #[arg(long)]
    keep: bool,
    /// The file to seal [default: README.md, or else the program itself]
    file: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Signer(signer::Args),
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    if let Some(Command::Signer(command)) = &args.command {
        if args.file.is_some() || args.keep {
            return Err(Failure::usage("the demonstration of the signer takes no file")
                .hint("a file of the name signer is ./signer"));
        }
        return signer::run(command, ctx);
    }
    let file = file(args)?;
    // Unreadable input is no failure of the demonstration.
    fs::File::open(&file).map_err(|source| FileError::io("read", &file, source))?;
    interrupt::watch(ctx.global.json)?;
    let folder = Folder::create(args.keep)?;
    let mut shown = present(ctx, |show| {
        let mut steps = demo::run(&folder.path, &file, KdfParams::RECOMMENDED, show);
        for part in [hub::play, signer::play] {
            if steps.iter().all(|step| step.outcome != Shown::Failed) {
                let mut more = Steps::new(show);
                // The failed step tells.
                let _ = part(&folder.path.join("nodes"), &mut more);
                steps.extend(more.into_vec());
            }
        }
        steps
    })?;
    if args.keep {
        shown.text.push_str(&format!("kept: {}\n", folder.path.display()));
    }
    if let Value::Object(fields) = &mut shown.json {
        let kept = args.keep.then(|| folder.path.display().to_string());
        fields.insert("file".to_owned(), file.display().to_string().into());
        fields.insert("folder".to_owned(), kept.into());
    }
    Ok(shown)
}

/// Shows the steps of a demonstration while it runs, and its verdict.
fn present(
    ctx: &mut Ctx,
    demo: impl FnOnce(&mut dyn FnMut(&Step)) -> Vec<Step>,
) -> Result<Outcome, Failure> {
    let (quiet, mut failure) = (ctx.global.quiet || ctx.global.json, None);
    let mut show = |step: &Step| {
        interrupt::pause();
        if !quiet && failure.is_none() {
            failure = ctx.print(row(step).as_bytes()).err();
        }
    };
    let steps = demo(&mut show);
    if let Some(failure) = failure {
        return Err(failure);
    }
    let total: Duration = steps.iter().map(|step| step.time).sum();
    let failed = steps.iter().any(|step| step.outcome == Shown::Failed);
    let verdict = if failed { "FAILED" } else { "all as it must be" };
    let text = format!("\n{} steps, {verdict}, {}\n", steps.len(), milliseconds(total));
    let json = json::object([
        ("ok", (!failed).into()),
        ("milliseconds", (total.as_secs_f64() * 1e3).into()),
        ("steps", Value::Array(steps.iter().map(step_json).collect())),
    ]);
    Ok(Outcome { refused: failed, ..Outcome::new(text, json) })
}

fn file(args: &Args) -> Result<PathBuf, Failure> {
    if let Some(file) = &args.file {
        return Ok(file.clone());
    }
    if Path::new(DEFAULT_FILE).is_file() {
        return Ok(DEFAULT_FILE.into());
    }
    env::current_exe().map_err(|_| Failure::usage("there is no README.md here; name a file"))
}

fn row(step: &Step) -> String {
    let (title, time) = (&step.title, milliseconds(step.time));
    format!("{:7} {time:>10}  {title:44}  {}\n", step.outcome.name(), step.detail)
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn step_json(step: &Step) -> Value {
    json::object([
        ("title", step.title.clone().into()),
        ("outcome", step.outcome.name().into()),
        ("detail", step.detail.clone().into()),
        ("milliseconds", (step.time.as_secs_f64() * 1e3).into()),
    ])
}

/// A folder of its own, removed when dropped or interrupted unless it is to be kept.
struct Folder {
    path: PathBuf,
    keep: bool,
}

impl Folder {
    fn create(keep: bool) -> Result<Self, Failure> {
        let path = env::temp_dir().join(format!("endseal-demo-{}", process::id()));
        let make = |path: &Path| DirBuilder::new().mode(0o700).create(path);
        let made = if keep { make(&path) } else { interrupt::make_folder(&path, make) };
        made.map_err(|source| FileError::io("create", &path, source))?;
        Ok(Self { path, keep })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
