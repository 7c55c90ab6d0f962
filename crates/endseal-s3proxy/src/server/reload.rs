//! Reload of the configuration of a running server.

use std::sync::Arc;

use super::generation::{Current, Generation};
use crate::config::Config;

/// Reads the configuration with `read` and uses it for new requests. If it cannot be used, nothing
/// changes.
pub(super) fn reload(
    current: &Current,
    running: &Config,
    read: &dyn Fn() -> Result<Config, String>,
) {
    match read().and_then(|config| renew(current, running, &config)) {
        Ok(()) => tracing::info!(target: "reload", "the configuration was reloaded"),
        Err(cause) => tracing::warn!(target: "reload", cause, "the configuration was not reloaded"),
    }
}

fn renew(current: &Current, running: &Config, config: &Config) -> Result<(), String> {
    // A configuration that is just being written may have no `[tls]` yet.
    if current.get().tls.is_some() && config.tls.is_none() {
        return Err("tls: can only be removed by a restart".to_owned());
    }
    let proxy = current.proxy().renewed(config).map_err(|error| error.to_string())?;
    let next = Generation::new(Arc::new(proxy), config.tls.as_ref());
    current.replace(next.map_err(|error| error.to_string())?);
    let (new, old) = (&config.limits, &running.limits);
    for (entry, is_same) in [
        ("listen", config.listen == running.listen),
        ("metrics.listen", config.metrics == running.metrics),
        ("limits.connections", new.connections == old.connections),
        ("limits.connections_per_peer", new.connections_per_peer == old.connections_per_peer),
        ("limits.drain", new.drain == old.drain),
    ] {
        if !is_same {
            tracing::warn!(target: "reload", entry, "takes effect after a restart");
        }
    }
    Ok(())
}
