//! `endseal hub people`: lists the registered persons and their devices.

use core::fmt::Write as _;

use endseal_crypto::ed25519;
use endseal_crypto::identity::PublicIdentity;
use endseal_keyring::device::Certificate;
use endseal_keyring::{IdentityText, PeerIdText};

use super::place::{self, Place};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::time;

/// List who has joined, with their devices and what waits for each
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut store = args.place.store(ctx)?;
    let mut devices = store.devices().map_err(|error| place::storage(&error))?;
    devices.sort_by_key(|device| (device.identity, device.row));
    let (mut text, mut list, mut last) = (String::new(), Vec::new(), None);
    for device in &devices {
        let identity = identity(&device.identity);
        if last != Some(device.identity) {
            // Writing to a string cannot fail.
            let own = devices.iter().filter(|it| it.identity == device.identity);
            let name = own.map(|it| it.invitation.as_str()).find(|it| !it.is_empty());
            let _ = writeln!(
                text,
                "{}{identity}",
                name.map(|it| format!("{it}  ")).unwrap_or_default()
            );
            last = Some(device.identity);
        }
        let peer = PeerIdText::from(device.peer);
        let number = Certificate::from_bytes(&device.certificate)
            .map_or(0, |certificate| certificate.keys().device.number());
        let state = match (device.is_revoked, device.is_pending) {
            (true, _) => "revoked",
            (false, true) => "pending",
            (false, false) => "registered",
        };
        let visited = time::local(device.visited / 1_000);
        let _ = writeln!(
            text,
            "  device {number}  {state}  {} waiting, {} bytes  last visit {visited}  {peer}",
            device.frames, device.bytes
        );
        list.push(json::object([
            ("identity", identity.into()),
            ("device", number.into()),
            ("peer_id", peer.to_string().into()),
            ("invitation", device.invitation.as_str().into()),
            ("state", state.into()),
            ("waiting", device.frames.into()),
            ("bytes", device.bytes.into()),
            ("visited", time::rfc3339(device.visited / 1_000).into()),
        ]));
    }
    Ok(Outcome::new(text, json::object([("devices", Value::Array(list))])))
}

/// Formats the public identity of a person.
pub(super) fn identity(key: &[u8; 32]) -> String {
    match ed25519::PublicKey::from_bytes(key) {
        Ok(key) => IdentityText::from(PublicIdentity::short(key)).to_string(),
        Err(_) => "?".to_owned(),
    }
}
