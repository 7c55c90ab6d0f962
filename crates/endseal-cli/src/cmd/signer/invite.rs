//! `endseal signer invite`: makes an app and its `bunker://` URL.

use core::time::Duration;
use std::io::Write as _;
use std::path::PathBuf;

use base16ct::lower::encode_string;
use endseal_crypto::secret::Zeroizing;
use endseal_node::{AtomicFile, Existing, FileError, Readers};
use endseal_signer::control::{Command, Reply};

use super::access::{self, Source};
use super::rules::{self, Limits, Rules};
use crate::cmd::nostr::peer;
use crate::ctx::{Ctx, Outcome};
use crate::duration::{self, MINUTE, WEEK};
use crate::failure::Failure;
use crate::json;
use crate::output::DASH;
use crate::qr;

/// Make an app with its rules, and print the bunker:// URL for its client
///
/// On a terminal the URL is also a QR code. It lets one client in, once: give it to no other
/// person.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Name of the app
    name: String,
    #[command(flatten)]
    rules: Rules,
    #[command(flatten)]
    limits: Limits,
    /// The app and its rules expire after this time [default: never]
    #[arg(long = "for", value_name = "TIME", value_parser = rules::lifetime())]
    lifetime: Option<Duration>,
    /// The user whose key signs; needed if there are several
    #[arg(long, value_name = "NPUB")]
    user: Option<String>,
    /// Let the client reach the signer by the user's key, as nostr-login needs
    ///
    /// nostr-tools up to 2.7 needs it, too. Relays can then see whose app it is.
    #[arg(long)]
    as_user_key: bool,
    /// Relay of this app instead of those of the signer; repeatable
    #[arg(long, value_name = "URL")]
    relay: Vec<String>,
    #[command(flatten)]
    invitation: Invitation,
}

/// Options of a `bunker://` URL.
#[derive(clap::Args, Debug)]
pub(super) struct Invitation {
    /// The URL expires if no client used it within this time
    #[arg(long, value_name = "TIME", default_value = "24h")]
    #[arg(value_parser = duration::between(MINUTE, 52 * WEEK))]
    valid: Duration,
    /// Write the URL to a new file that only you can read [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Place to which a `bunker://` URL is written.
pub(super) struct Destination {
    valid: Duration,
    file: Option<(AtomicFile, String)>,
}

pub(super) fn run(args: Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let has_no_rules = args.rules.is_empty();
    args.rules.tell(ctx);
    let command = Command::Invite {
        name: args.name,
        user: user(args.user.as_deref())?,
        grants: args.rules.grants(&args.limits, args.lifetime),
        lifetime: args.lifetime.map(|it| it.as_secs()),
        invitation: args.invitation.seconds(),
        relays: args.relay,
        as_user_key: args.as_user_key,
    };
    let mut source = Source::find(ctx)?;
    let destination = args.invitation.destination()?;
    let reply = source.ask(command, ctx)?;
    let Reply::Invited { app, uri: Some(uri), .. } = reply else {
        return Err(access::unexpected());
    };
    let outcome = destination.write(app, uri.expose_secret(), ctx)?;
    advise(app, has_no_rules, source.runs(), ctx);
    Ok(outcome)
}

impl Invitation {
    /// Returns the seconds until the URL expires.
    pub(super) fn seconds(&self) -> u64 {
        self.valid.as_secs()
    }

    /// Creates the file for the URL. It comes before the app, whose name would be taken in another
    /// attempt.
    pub(super) fn destination(&self) -> Result<Destination, Failure> {
        let path = self.output.as_deref().filter(|path| path.as_os_str() != DASH);
        let create = |path| {
            let file = AtomicFile::create(path, Existing::Keep, Readers::Owner)?;
            Ok::<_, Failure>((file, path.display().to_string()))
        };
        Ok(Destination { valid: self.valid, file: path.map(create).transpose()? })
    }
}

impl Destination {
    /// Writes the URL of an app.
    pub(super) fn write(self, app: u32, uri: &str, ctx: &mut Ctx) -> Result<Outcome, Failure> {
        let Self { valid, file } = self;
        if ctx.global.json && file.is_none() {
            let json = json::object([("app", app.into()), ("uri", uri.into())]);
            return Ok(Outcome::new("", json));
        }
        let mut text = Zeroizing::new(String::with_capacity(uri.len() + 1));
        text.push_str(uri);
        text.push('\n');
        let waits = format!("app {app} waits {} for its client", duration::text(valid));
        let (confirmation, output) = match file {
            Some((file, path)) => {
                write(file, &text).map_err(|failure| {
                    failure.hint(format!("end that app with: endseal signer revoke {app}"))
                })?;
                (format!("{waits}; its URL is in '{path}'"), Some(path))
            }
            None => {
                ctx.print(text.as_bytes())?;
                if ctx.stdout_is_terminal && !ctx.global.quiet {
                    print_code(uri, ctx)?;
                }
                (waits, None)
            }
        };
        let json = json::object([("app", app.into()), ("output", output.into())]);
        Ok(Outcome { confirmation: Some(confirmation), ..Outcome::new("", json) })
    }
}

fn write(mut file: AtomicFile, text: &str) -> Result<(), Failure> {
    let written = file.write_all(text.as_bytes());
    written.map_err(|source| FileError::io("write", file.destination(), source))?;
    Ok(file.commit()?)
}

/// Parses the public key of a user into hexadecimal digits.
pub(super) fn user(typed: Option<&str>) -> Result<Option<String>, Failure> {
    typed.map(|typed| Ok(encode_string(&peer::read(typed)?.to_bytes()))).transpose()
}

/// Prints the next steps for a new app.
pub(super) fn advise(app: u32, has_no_rules: bool, runs: bool, ctx: &mut Ctx) {
    if has_no_rules {
        ctx.note(&format!("note: nothing is allowed yet: endseal signer grant {app} --allow LIST"));
    }
    if !runs {
        ctx.note("note: the signer does not run: endseal signer run");
    }
}

fn print_code(uri: &str, ctx: &mut Ctx) -> Result<(), Failure> {
    let is_coloured = ctx.global.color.is_on(ctx.stdout_is_terminal, ctx.environment);
    let Some(code) = qr::text(uri, is_coloured) else {
        ctx.note("note: the URL is too long for a QR code");
        return Ok(());
    };
    ctx.print(code.as_bytes())
}
