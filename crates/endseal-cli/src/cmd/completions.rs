//! `endseal completions`: prints the completions for a shell.

use clap_complete::Shell;

use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::Value;
use crate::tree;

/// Completes names of contacts, groups and peers in Bash.
const NAMES_BASH: &str = include_str!("completions/names.bash");
/// Completes the same names in zsh.
const NAMES_ZSH: &str = include_str!("completions/names.zsh");

/// Print the completions for a shell
///
/// Those of Bash and zsh complete names of contacts, groups and peers, too. To use them in this
/// shell: source <(endseal completions bash). In zsh, run autoload -U compinit and compinit first.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Shell for which the completions are printed
    shell: Shell,
}

pub(crate) fn run(args: &Args, _ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut tree::without_help(), "endseal", &mut script);
    let mut text = String::from_utf8_lossy(&script).into_owned();
    match args.shell {
        Shell::Bash => text.push_str(NAMES_BASH),
        Shell::Zsh => text.push_str(NAMES_ZSH),
        _ => {}
    }
    Ok(Outcome::new(text.clone(), Value::String(text)))
}
