//! Import of a user whose key is on a device.

use std::path::Path;

use endseal_crypto::secret::Zeroizing;
use endseal_nostr::key::{self, HEX_LEN, SecretKey};
use endseal_signer::control::{Command, Reply};
use endseal_signer::device::{DeviceClient, DeviceError, PortError};

use super::access;
use crate::cmd::nostr::peer;
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json;

/// Makes the key of the device at `port` that of a user. The device gets the key of a file first,
/// or creates one if `create` says so.
pub(super) fn import(
    port: &Path,
    file: Option<&SecretKey>,
    create: bool,
    label: &str,
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    let failed = |error: &DeviceError| failure(port, error);
    let mut device = DeviceClient::connect(port).map_err(|error| failed(&error))?;
    let present = device.public_key().map_err(|error| failed(&error))?;
    let made = match (file, create, present) {
        (Some(key), _, None) => {
            let mut hex = Zeroizing::new([0; HEX_LEN]);
            key::secret_to_hex(key, &mut hex);
            let hex = str::from_utf8(&hex[..]).unwrap_or_default();
            tell(ctx);
            Some(device.call("import_key", &[hex]))
        }
        (None, true, None) => {
            tell(ctx);
            Some(device.call("create_key", &[]))
        }
        (None, false, None) => {
            let message = format!("the device at '{}' has no key", port.display());
            return Err(Failure::new(Kind::Usage, message)
                .hint("let it create one with --create, or name a file with a key"));
        }
        (Some(key), _, Some(other)) if key.public_key() != other => {
            return Err(other_key(port, &peer::npub(&other)));
        }
        (None, true, Some(other)) => return Err(other_key(port, &peer::npub(&other))),
        (_, _, Some(_)) => None,
    };
    made.transpose().map_err(|error| failed(&error))?;
    let found = device.public_key().map_err(|error| failed(&error))?;
    let found = found.filter(|found| file.is_none_or(|key| key.public_key() == *found));
    let public = found.ok_or_else(|| failed(&DeviceError::Malformed))?;
    let hex = key::public_to_hex(&public);
    let user = str::from_utf8(&hex).unwrap_or_default().to_owned();
    let npub = peer::npub(&public);
    let reply = access::ask(Command::ImportDevice { user, label: label.to_owned() }, ctx)?;
    let Reply::Imported(public_key) = reply else { return Err(access::unexpected()) };
    let json = json::object([("public_key", public_key.into()), ("npub", npub.clone().into())]);
    let text = format!("the signer knows {npub}, whose key is on the device");
    Ok(Outcome::done(text, json))
}

fn tell(ctx: &mut Ctx) {
    ctx.detail("press the button of the device when its light flashes three times");
}

fn other_key(port: &Path, npub: &str) -> Failure {
    let message = format!("the device at '{}' has a key already: {npub}", port.display());
    Failure::new(Kind::Usage, message)
        .hint("import that one without --create and a file, or use another device")
}

fn failure(port: &Path, error: &DeviceError) -> Failure {
    let message = format!("no key of a device at '{}'", port.display());
    let kind = match error {
        DeviceError::Answer(text) if text.starts_with("not allowed") => Kind::Refused,
        _ => Kind::Environment,
    };
    let failure = Failure::new(kind, message).because(error);
    match error {
        DeviceError::Port(PortError::Busy) => {
            failure.hint("stop the signer that runs with this device")
        }
        DeviceError::Port(PortError::Open(_)) => {
            failure.hint("check the path; users of serial ports may need the group dialout")
        }
        DeviceError::Silent => failure.hint("check the board, and that the port is its own"),
        _ => failure,
    }
}
