//! Command-line arguments: the commands and the global options.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Arg, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::cmd;
use crate::global::Global;
use crate::{examples, help_groups, passphrase};

/// Seal files to people and groups, open them, and send them between machines
///
/// endseal init makes an identity. Others need its public half, one line of text, to seal files to
/// you. Only the recipients of a file can open it, and only they learn who sealed it.
#[derive(Debug, Parser)]
#[command(name = "endseal", version, after_help = AFTER_HELP, subcommand_required = true)]
#[command(max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Parses the arguments of this process.
///
/// # Errors
/// Returns an error for help and version requests too, and for invalid arguments.
pub(crate) fn parse<T: Into<OsString> + Clone>(
    arguments: impl IntoIterator<Item = T>,
) -> Result<Cli, clap::Error> {
    let mut tree = tree();
    let matches = tree.try_get_matches_from_mut(arguments)?;
    let mut cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut tree))?;
    let (mut command, mut matches) = (&tree, &matches);
    let mut names = String::new();
    while let Some((name, below)) = matches.subcommand()
        && let Some(found) = command.find_subcommand(name)
    {
        (command, matches) = (found, below);
        names = format!("{names} {name}");
    }
    let long = |argument: &Arg| argument.get_long().map(str::to_owned);
    cli.global.options = command.get_arguments().filter_map(long).collect();
    if passphrase::is_option(&cli.global) && opens_nothing(names.trim_start()) {
        let what = format!("endseal{names} takes no passphrase: leave the option out");
        return Err(tree.error(ErrorKind::ArgumentConflict, what));
    }
    Ok(cli)
}

/// Commands, and groups of them, that never open or make anything under a passphrase.
const OPEN_NOTHING: [&str; 9] = [
    "bench",
    "completions",
    "hub",
    "inspect",
    "man",
    "nostr decode",
    "nostr event id",
    "nostr event verify",
    "s3 names",
];

/// Returns true if a command, given by its names, is one that would ignore a passphrase.
fn opens_nothing(names: &str) -> bool {
    let is_below = |group: &str| names.strip_prefix(group).is_some_and(|it| it.starts_with(' '));
    OPEN_NOTHING.iter().any(|group| *group == names || is_below(group))
}

/// Builds the tree of commands. The short help of subcommands leaves the global options out.
pub(crate) fn tree() -> clap::Command {
    let root = Cli::command();
    let globals = root.get_arguments().filter(|argument| argument.is_global_set());
    let globals: Vec<_> = globals.map(|it| it.clone().hide_short_help(true)).collect();
    let template = help_groups::template(&root);
    root.help_template(template).mut_subcommands(|command| brief(command, "", &globals))
}

/// Completes a command that is below the commands `above`.
fn brief(command: clap::Command, above: &str, globals: &[Arg]) -> clap::Command {
    let names = format!("{above} {}", command.get_name());
    let names = names.trim_start();
    let command = command.mut_subcommands(|below| brief(below, names, globals));
    let examples = examples::help(names);
    let command = command.args(globals).after_long_help(examples);
    command.after_help("Options of every command: endseal --help")
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(cmd::init::Args),
    Id(cmd::id::Args),
    Contacts(cmd::contacts::Args),
    Group(cmd::group::Args),
    Peers(cmd::peers::Args),
    Seal(cmd::seal::Args),
    Open(cmd::open::Args),
    Join(cmd::join::Args),
    Recover(cmd::recover::Args),
    Backup(cmd::backup::Args),
    Restore(cmd::restore::Args),
    Devices(cmd::devices::Args),
    Say(cmd::say::Args),
    Sync(cmd::sync::Args),
    Up(cmd::up::Args),
    Inbox(cmd::inbox::Args),
    History(cmd::history::Args),
    Unsend(cmd::unsend::Args),
    Block(cmd::block::Args),
    Unblock(cmd::block::UnblockArgs),
    Status(cmd::status::Args),
    Session(cmd::session::Args),
    Store(cmd::store::Args),
    S3(cmd::s3::Args),
    Nostr(cmd::nostr::Args),
    Signer(cmd::signer::Args),
    Hub(cmd::hub::Args),
    Listen(cmd::listen::Args),
    Send(cmd::send::Args),
    Ping(cmd::ping::Args),
    Inspect(cmd::inspect::Args),
    #[command(hide = true)]
    Bench(cmd::bench::Args),
    Completions(cmd::completions::Args),
    Man(cmd::man::Args),
}

const AFTER_HELP: &str = "\
Exit codes:
  0    done
  1    the answer is no: not sealed to you, changed, wrong sender, wrong passphrase
  2    usage: the command makes no sense as it was given, or something exists already
  3    environment: a file, the disk, the terminal, the network, another process
  4    configuration: the state directory is missing, unsafe or damaged
  101  a bug in endseal
  130  interrupted (Ctrl-C)

Environment:
  ENDSEAL_HOME        the state directory
  NO_COLOR            no colours unless --color always
  ENDSEAL_PASSPHRASE  the passphrase, if no option gives it; processes of the same user can
                      read it

Examples:
  endseal init
  endseal contacts add bob endseal1...
  endseal seal -r bob -o notes.es notes.txt
  endseal open -o notes.txt notes.es
  tar c photos | endseal seal -r bob > photos.es
  endseal join bob.invite && endseal say bob 'at noon' && endseal sync && endseal inbox
  endseal peers add bob endsealpeer1... && endseal listen --dir inbox
  endseal send bob@192.0.2.7 notes.txt";
