//! Another configuration for a server that runs.

use std::sync::Arc;

use super::generation::{Current, Generation};
use crate::config::Config;

/// Serves requests that begin by what `read` gives. What cannot be used leaves everything as it is.
pub(super) fn reload(
    current: &Current,
    running: &Config,
    read: &dyn Fn() -> Result<Config, String>,
) {
    match read().and_then(|config| renew(current, running, &config)) {
        Ok(()) => tracing::info!(target: "reload", "serves by the configuration as it is now"),
        Err(cause) => tracing::warn!(target: "reload", cause, "goes on as before"),
    }
}

fn renew(current: &Current, running: &Config, config: &Config) -> Result<(), String> {
    // A configuration that is half written may have no `[tls]` yet.
    if current.get().tls.is_some() && config.tls.is_none() {
        return Err("tls: is taken away when the process starts again".to_owned());
    }
    let proxy = current.proxy().renewed(config).map_err(|error| error.to_string())?;
    let next = Generation::new(Arc::new(proxy), config.tls.as_ref());
    current.replace(next.map_err(|error| error.to_string())?);
    let (new, old) = (&config.limits, &running.limits);
    for (entry, is_same) in [
        ("listen", config.listen == running.listen),
        ("metrics.listen", config.metrics == running.metrics),
        ("limits.connections", new.connections == old.connections),
        ("limits.drain", new.drain == old.drain),
    ] {
        if !is_same {
            tracing::warn!(target: "reload", entry, "changes when the process starts again");
        }
    }
    Ok(())
}
