//! The proxy's configuration, for commands that need it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use endseal_s3proxy::{Config, Proxy, Silent};
use tokio::runtime::{Builder, Runtime};

use crate::failure::{Failure, Kind};

/// Reads a configuration.
pub(super) fn read(path: &Path) -> Result<Config, Failure> {
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

/// A proxy with that configuration, which does not listen, and the runtime that it lives in.
pub(super) fn start(path: &Path) -> Result<(Runtime, Arc<Proxy>), Failure> {
    let config = read(path)?;
    let failed = |error: io::Error| Failure::new(Kind::Environment, "cannot begin").because(&error);
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    let proxy = runtime.block_on(async { Proxy::start(&config, Box::new(Silent::new())) });
    let proxy = proxy.map_err(|error| {
        let failure = Failure::new(Kind::Configuration, "the proxy cannot start").because(&error);
        match config.backend.folder {
            Some(_) => failure.hint("a folder is for one process: end the proxy that serves it"),
            None => failure,
        }
    })?;
    Ok((runtime, Arc::new(proxy)))
}
