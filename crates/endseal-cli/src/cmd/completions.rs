//! `endseal completions`: prints the completions for a shell.

use clap_complete::Shell;

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::Value;
use crate::tree;

/// Completes names of contacts, groups and peers in Bash.
const NAMES: &str = include_str!("completions/names.bash");

/// Print the completions for a shell
///
/// Those of Bash complete names of contacts, groups and peers, too. To use them in this shell:
/// source <(endseal completions bash)
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Shell for which the completions are printed
    shell: Shell,
}

pub(crate) fn run(args: &Args, _ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut tree::without_help(), "endseal", &mut script);
    let mut text = String::from_utf8_lossy(&script).into_owned();
    if args.shell == Shell::Bash {
        text.push_str(NAMES);
    }
    Ok(Outcome::new(text.clone(), Value::String(text)))
}
