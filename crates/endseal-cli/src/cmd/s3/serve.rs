//! `endseal s3 serve`: runs the S3 proxy.

use core::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::{process, thread};

use endseal_s3proxy::config::{GivenPassphrase, Keys};
use endseal_s3proxy::set_up::{self, SetUp};
use endseal_s3proxy::{Config, Listening, RunError, StartError};

use super::{configuration, ring_passphrase};
use crate::ctx::{Ctx, Outcome};
use crate::exposed;
use crate::failure::{Failure, Kind};
use crate::interrupt;
use crate::json;
use crate::log::{self, Level};
use crate::passphrase;

/// Serve S3, and store encrypted objects at another S3 server
///
/// An interrupt ends it after the requests on their way. Any number of proxies can stand before one
/// server: they share only the keys. SIGHUP has the configuration read again.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Configuration of the proxy [default: ~/.config/endseal/s3.toml]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Keep the encrypted objects in this folder, without another server
    ///
    /// The folder, a key ring and credentials are made if they are missing.
    #[arg(long, value_name = "DIR", conflicts_with = "config")]
    pub(crate) dir: Option<PathBuf>,
    /// Address to listen on, instead of that of the configuration
    #[arg(long, value_name = "IP:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Least severe events that are logged on standard error
    ///
    /// Each request is `info`, each failure with its cause is `warn`.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(crate) log: Level,
}

/// Source of the configuration.
enum Source {
    /// Objects, keys and credentials are in this folder.
    Folder(PathBuf),
    File(PathBuf),
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let source = match &args.dir {
        Some(dir) => Source::Folder(dir.clone()),
        None => Source::File(configuration::path(args.config.as_deref(), ctx)?),
    };
    let (mut config, words) = match &source {
        Source::Folder(folder) => of_folder(folder, args.listen, ctx)?,
        Source::File(file) => {
            let mut config = configuration::read(file, ctx)?;
            config.listen = args.listen.unwrap_or(config.listen);
            (config, None)
        }
    };
    if !matches!(&config.keys, Keys::Ring { passphrase: Some(_), .. }) {
        ring_passphrase::unlock(&mut config.keys, ctx)?;
    }
    let given = match &config.keys {
        Keys::Ring { passphrase, .. } => passphrase.clone(),
        _ => None,
    };
    let level = if ctx.global.quiet { Level::Off } else { args.log };
    let _log = log::start(level).map_err(|error| {
        Failure::new(Kind::Environment, "the log cannot be written").because(&error)
    })?;
    let mut unreported = None;
    let mut started = |listening: Listening| {
        interrupt::release();
        let told = tell(ctx, listening, words.as_deref());
        unreported = told.err();
        unreported.is_none()
    };
    let read = || {
        let config = read_again(&source, args.listen, given.as_ref());
        config.map_err(|failure| failure.line())
    };
    let outcome = endseal_s3proxy::run(&config, &read, &mut started);
    if let Some(failure) = unreported {
        return Err(failure);
    }
    let failure = match outcome {
        Ok(0) => return Ok(Outcome::default()),
        Ok(cut) => Failure::new(Kind::Environment, format!("{cut} connections were cut")),
        Err(error) => failure(error),
    };
    exit_in_time(failure.kind);
    Err(failure)
}

/// Ends the process after a delay with the exit code of a failure, in case standard error blocks.
fn exit_in_time(kind: Kind) {
    thread::spawn(move || {
        thread::sleep(2 * log::AT_THE_END);
        process::exit(kind.code().into());
    });
}

/// Reads the configuration again, after SIGHUP.
///
/// The ring of the new one has the passphrase that was given at the start, if there is one.
fn read_again(
    source: &Source,
    listen: Option<SocketAddr>,
    given: Option<&GivenPassphrase>,
) -> Result<Config, Failure> {
    let mut config = match source {
        Source::Folder(folder) => set_up::set_up(folder, listen, None).map_err(unusable)?.config,
        Source::File(file) => configuration::parse(file)?,
    };
    if let Keys::Ring { passphrase, .. } = &mut config.keys {
        *passphrase = given.cloned();
    }
    config.listen = listen.unwrap_or(config.listen);
    Ok(config)
}

fn unusable(error: StartError) -> Failure {
    Failure::new(Kind::Environment, "the folder cannot be used").because(&error)
}

/// Prints the addresses, and instructions for the operator.
fn tell(ctx: &mut Ctx, listening: Listening, words: Option<&str>) -> Result<(), Failure> {
    let Listening { address, tls, metrics, .. } = listening;
    let scheme = if tls { "https" } else { "http" };
    if ctx.global.json {
        let metrics = metrics.map(|metrics| format!("http://{metrics}/metrics"));
        let url = format!("{scheme}://{address}");
        let object = json::object([("url", url.into()), ("metrics", metrics.into())]);
        return ctx.print(format!("{object}\n").as_bytes());
    }
    ctx.print(format!("listening at {scheme}://{address}\n").as_bytes())?;
    if let Some(metrics) = metrics {
        ctx.print(format!("metrics at http://{metrics}/metrics\n").as_bytes())?;
    }
    match words {
        Some(words) => ctx.print(words.replace("{address}", &address.to_string()).as_bytes()),
        None => Ok(()),
    }
}

fn failure(error: RunError) -> Failure {
    match &error {
        RunError::Start(error) => configuration::unstarted(error),
        RunError::Tls(error) => {
            Failure::new(Kind::Configuration, "the proxy has no TLS").because(error)
        }
        RunError::Listen(address, error) => {
            Failure::new(Kind::Environment, format!("cannot listen at {address}"))
                .because(error)
                .hint("end the process that listens there, or choose another address with --listen")
        }
        RunError::System(error) => {
            Failure::new(Kind::Environment, "cannot start to serve").because(error)
        }
        _ => Failure::new(Kind::Environment, error.to_string()),
    }
}

/// Returns the configuration of a folder, and instructions for the operator. The credentials
/// themselves are not shown, because terminals may be recorded.
fn of_folder(
    folder: &Path,
    listen: Option<SocketAddr>,
    ctx: &mut Ctx,
) -> Result<(Config, Option<String>), Failure> {
    let chosen = match set_up::has_ring(folder) {
        true => None,
        false => passphrase::choose_if_given(ctx)?,
    };
    let SetUp { mut config, credentials, ring, is_new, .. } =
        set_up::set_up(folder, listen, chosen.as_ref()).map_err(unusable)?;
    if let Keys::Ring { passphrase, .. } = &mut config.keys {
        *passphrase = chosen.map(GivenPassphrase::new);
    }
    for secret in [&credentials, &ring] {
        ctx.detail(&format!("reading '{}'", secret.display()));
        exposed::warn(secret, ctx);
    }
    let (credentials, ring) = (credentials.display(), ring.display());
    let mut words = format!(
        "credentials are in {credentials}; try\n    AWS_SHARED_CREDENTIALS_FILE='{credentials}' \
         AWS_REGION=us-east-1 aws --endpoint-url http://{{address}} s3 mb s3://first\n"
    );
    if is_new {
        words.push_str(&format!(
            "a key ring was made: {ring}; without it the objects cannot be read, so keep a copy\n"
        ));
    }
    Ok((config, Some(words)))
}
