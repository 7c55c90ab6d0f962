//! Options that every command has.

use std::path::PathBuf;

use clap::Args;

use crate::style::Color;

/// Options that every command has.
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
    /// Take the passphrase from the first line of a file, or of standard input (-)
    #[arg(long, global = true, value_name = "FILE")]
    #[arg(conflicts_with_all = ["passphrase_fd", "passphrase_command"])]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// Take the passphrase from the first line of an open file descriptor
    #[arg(long, global = true, value_name = "N", conflicts_with = "passphrase_command")]
    pub(crate) passphrase_fd: Option<u32>,
    /// Take the passphrase from the first line that a command prints
    ///
    /// /bin/sh runs it, with an empty standard input, for two minutes at most: for example 'pass
    /// show endseal'.
    #[arg(long, global = true, value_name = "CMD")]
    pub(crate) passphrase_command: Option<String>,
    /// Long options that the running command has.
    #[arg(skip)]
    pub(crate) options: Vec<String>,
}

impl Global {
    /// Returns true if the running command has this long option.
    pub(crate) fn has_option(&self, long: &str) -> bool {
        self.options.iter().any(|option| option == long)
    }
}
