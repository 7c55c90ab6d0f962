//! The person or device that an argument of the operator names.

use endseal_hub::DeviceState;
use endseal_keyring::{IdentityText, PeerIdText};

use crate::failure::{Failure, Kind};

/// Devices that an argument names.
pub(super) struct Named {
    pub(super) devices: Vec<DeviceState>,
    /// The person, if the argument does not name a single device.
    pub(super) person: Option<[u8; 32]>,
}

/// Finds a person by identity or name of the invitation, or a device by its peer id, among the
/// devices of a hub.
pub(super) fn find(devices: Vec<DeviceState>, who: &str) -> Result<Named, Failure> {
    let named = if let Ok(peer) = who.parse::<PeerIdText>() {
        let devices = devices.into_iter().filter(|it| it.peer == peer.peer_id()).collect();
        Named { devices, person: None }
    } else {
        let mut persons: Vec<_> = match who.parse::<IdentityText>() {
            Ok(identity) => vec![*identity.identity().ed25519().as_bytes()],
            Err(_) => {
                let named = devices.iter().filter(|it| it.invitation == who);
                named.map(|it| it.identity).collect()
            }
        };
        persons.sort_unstable();
        persons.dedup();
        if persons.len() > 1 {
            let text = format!("{} people joined with invitations of this name", persons.len());
            return Err(Failure::new(Kind::Refused, text).hint("name one by identity"));
        }
        let person = persons.pop();
        let devices = devices.into_iter().filter(|it| Some(it.identity) == person).collect();
        Named { devices, person }
    };
    if named.devices.is_empty() {
        let text = format!("no one has joined as '{who}'");
        return Err(Failure::new(Kind::Refused, text).hint("endseal hub people"));
    }
    Ok(named)
}
