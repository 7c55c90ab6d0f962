//! `endseal completions`: prints the completions for a shell.

use clap_complete::Shell;

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::Value;
use crate::tree;

/// Print the completions for a shell
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Shell for which the completions are printed
    shell: Shell,
}

pub(crate) fn run(args: &Args, _ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut tree::root(), "endseal", &mut script);
    let text = String::from_utf8_lossy(&script).into_owned();
    Ok(Outcome::new(text.clone(), Value::String(text)))
}
