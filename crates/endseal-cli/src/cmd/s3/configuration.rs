//! Configuration of the S3 proxy, for the commands that need it.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use endseal_s3proxy::config::Keys;
use endseal_s3proxy::{Config, Proxy, StartError};
use tokio::runtime::{Builder, Runtime};

use super::ring_passphrase;
use crate::config;
use crate::ctx::Ctx;
use crate::exposed;
use crate::failure::{Failure, Kind};

/// Returns the path of the configuration: the given file, the configured one, or the default file.
///
/// # Errors
/// Fails if no file was given or configured, and the default file does not exist.
pub(super) fn path(given: Option<&Path>, ctx: &Ctx) -> Result<PathBuf, Failure> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    if let Some(configured) = ctx.config()?.s3_config {
        return Ok(configured);
    }
    let default = config::folder(ctx.environment).map(|folder| folder.join("s3.toml"));
    if let Some(default) = default.as_ref().filter(|path| path.is_file()) {
        return Ok(default.clone());
    }
    let mut hint = String::from("give --config FILE");
    if ctx.global.has_option("dir") {
        hint.push_str(", or --dir DIR to keep the objects in a folder");
    }
    if let Some(default) = default {
        hint.push_str(&format!("; the default file is '{}'", default.display()));
    }
    Err(Failure::usage("no configuration of the S3 proxy is given").hint(hint))
}

/// Reads a configuration. Warns about secrets in files that others can read.
pub(super) fn read(path: &Path, ctx: &mut Ctx) -> Result<Config, Failure> {
    ctx.detail(&format!("reading '{}'", path.display()));
    let config = parse(path)?;
    if config.has_secrets {
        exposed::warn(path, ctx);
    }
    for file in secrets(&config) {
        ctx.detail(&format!("reading '{}'", file.display()));
        exposed::warn(file, ctx);
    }
    Ok(config)
}

pub(super) fn parse(path: &Path) -> Result<Config, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        let what = format!("cannot read {}", path.display());
        Failure::new(Kind::Environment, what).because(&error)
    })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    Config::parse(&text, folder, |name| std::env::var(name).ok()).map_err(|error| {
        let what = format!("{} is no configuration", path.display());
        Failure::new(Kind::Configuration, what).because(&error)
    })
}

/// Returns the files with secrets that the proxy reads when it starts.
fn secrets(config: &Config) -> Vec<&Path> {
    let mut files: Vec<&Path> = match &config.keys {
        Keys::Ring { file, passphrase_file, .. } => {
            [Some(file), passphrase_file.as_ref()].into_iter().flatten().map(|it| &**it).collect()
        }
        Keys::Rsa { files } => files.iter().map(|it| &**it).filter(|it| !is_public(it)).collect(),
        Keys::Vault { token_file, .. } => vec![token_file],
        Keys::AwsKms { secret_key_file, .. } => secret_key_file.iter().map(|it| &**it).collect(),
        Keys::GcpKms { service_account_file, .. } => {
            service_account_file.iter().map(|it| &**it).collect()
        }
        _ => Vec::new(),
    };
    files.extend(config.tls.as_ref().map(|tls| &*tls.key));
    files.extend(config.secret_files.iter().map(|file| &**file));
    files
}

/// Returns true if a PEM file contains a public key.
fn is_public(path: &Path) -> bool {
    let label = b"-----BEGIN PUBLIC KEY";
    let mut first = [0; 21];
    File::open(path).is_ok_and(|mut file| file.read_exact(&mut first).is_ok() && first == *label)
}

/// Starts a proxy that does not listen, and the runtime in which it runs.
pub(super) fn start(given: Option<&Path>, ctx: &mut Ctx) -> Result<(Runtime, Arc<Proxy>), Failure> {
    let mut config = read(&path(given, ctx)?, ctx)?;
    ring_passphrase::unlock(&mut config.keys, ctx)?;
    let failed = |error: io::Error| {
        Failure::new(Kind::Environment, "cannot start the runtime").because(&error)
    };
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    let proxy = runtime.block_on(async { Proxy::start(&config) });
    Ok((runtime, Arc::new(proxy.map_err(|error| unstarted(&error))?)))
}

/// Makes the failure for a proxy that did not start.
pub(super) fn unstarted(error: &StartError) -> Failure {
    let what = "the proxy cannot start";
    match error.is_busy() {
        true => Failure::new(Kind::Environment, what)
            .because(error)
            .hint("a folder is for one process: end the proxy that serves it"),
        false => Failure::new(Kind::Configuration, what).because(error),
    }
}
