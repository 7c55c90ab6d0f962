//! Names of one's own devices in arguments, and the name that a device has by default.

use endseal_node::messages::{DeviceName, name_device};
use endseal_session::Engine;

use crate::failure::Failure;

/// Parses a name of a device.
pub(crate) fn parse(typed: &str) -> Result<DeviceName, String> {
    DeviceName::new(typed).ok_or_else(|| {
        "expected 1 to 64 bytes without control characters or blanks at the ends".to_owned()
    })
}

/// Names this device in its store: as given, or else after the host.
pub(crate) fn name_this(engine: &mut Engine, given: Option<&DeviceName>) -> Result<(), Failure> {
    if let Some(name) = given.cloned().or_else(of_host) {
        let device = engine.address().device.number();
        name_device(engine, device, &name)?;
    }
    Ok(())
}

/// The host's name without its domain; `None` if there is none, or it cannot name a device.
fn of_host() -> Option<DeviceName> {
    let uname = rustix::system::uname();
    let host = uname.nodename().to_str().ok()?;
    DeviceName::new(host.split('.').next()?)
}
