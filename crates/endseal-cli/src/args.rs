//! Commands and options.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::cmd;
use crate::style::Color;

/// Seal files to people and groups, open them, and send them between machines
///
/// endseal init makes an identity. Others need its public half, one line of text, to seal files to you.
/// Only the recipients of a file can open it, and only they learn who sealed it.
#[derive(Debug, Parser)]
#[command(name = "endseal", version, after_help = AFTER_HELP, subcommand_required = true)]
#[command(max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// State directory [default: $ENDSEAL_HOME, or ~/.local/share/endseal]
    ///
    /// If $XDG_DATA_HOME is set, the default is its subfolder endseal.
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Print one JSON object instead of text; errors too, on standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print only errors and results
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Also print which files are used, and who the recipients are
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Use colours in messages
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// Take the passphrase from the first line of a file
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "passphrase_fd")]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// Take the passphrase from the first line of an open file descriptor
    #[arg(long, global = true, value_name = "N")]
    pub(crate) passphrase_fd: Option<u32>,
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
    Session(cmd::session::Args),
    Store(cmd::store::Args),
    S3(cmd::s3::Args),
    Listen(cmd::listen::Args),
    Send(cmd::send::Args),
    Ping(cmd::ping::Args),
    Inspect(cmd::inspect::Args),
    Demo(cmd::demo::Args),
    #[command(hide = true)]
    Bench(cmd::bench::Args),
    Completions(cmd::completions::Args),
    Man(cmd::man::Args),
}

const AFTER_HELP: &str = "\
Exit codes:
  0    done
  1    the answer is no: not sealed to you, changed, wrong sender, wrong passphrase
  2    usage: the command makes no sense as it was given
  3    environment: a file, the disk, the terminal
  4    configuration: the state directory is missing, unsafe or damaged
  101  a bug in endseal
  130  interrupted (Ctrl-C)

Environment:
  ENDSEAL_HOME        the state directory
  NO_COLOR            no colours unless --color always
  ENDSEAL_PASSPHRASE  the passphrase, if neither --passphrase-file nor --passphrase-fd is given;
                      processes of the same user can read it

Examples:
  endseal init
  endseal contacts add bob endseal1...
  endseal seal -r bob -o notes.es notes.txt
  endseal open -o notes.txt notes.es
  tar c photos | endseal seal -r bob > photos.es
  endseal session begin bob bob.bundle && endseal session send bob -o out.msgs < notes.txt
  endseal peers add bob endsealpeer1... && endseal listen --dir inbox
  endseal send bob@192.0.2.7 notes.txt
  endseal demo";
