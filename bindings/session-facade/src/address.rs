//! Names of devices and conversations.

use std::collections::HashMap;

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::identity::PublicIdentity;
use endseal_keyring::IdentityText;
use endseal_keyring::device::{Address, DeviceId};
use endseal_session as session;

use crate::error::SessionError;

/// One device of a person.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_structs, reason = "libraries of other languages mirror it")]
pub struct DeviceAddress {
    /// Text form of the person's public identity; the short one in results.
    pub identity: String,
    /// Number of the device among those of the person, from 1.
    pub device: u32,
}

impl DeviceAddress {
    pub(crate) fn of(address: Address) -> Self {
        Self { identity: text(address.identity), device: address.device.number() }
    }

    pub(crate) fn all(addresses: &[Address]) -> Vec<Self> {
        addresses.iter().copied().map(Self::of).collect()
    }

    pub(crate) fn address(&self) -> Result<Address, SessionError> {
        let identity = person(&self.identity)?;
        let device = DeviceId::new(self.device);
        let device = device.ok_or_else(|| SessionError::argument("devices are numbered from 1"))?;
        Ok(Address { identity, device })
    }
}

/// Returns the key in the text form of a public identity.
pub(crate) fn person(text: &str) -> Result<PublicKey, SessionError> {
    let text: Result<IdentityText, _> = text.parse();
    Ok(*text.map_err(SessionError::argument)?.into_identity().ed25519())
}

/// Returns the short text form of a public identity.
fn text(key: PublicKey) -> String {
    IdentityText::from(PublicIdentity::short(key)).to_string()
}

/// Decoded addresses: decoding a key costs more than a message of a batch.
#[derive(Default)]
pub(crate) struct DecodedAddresses<'a>(HashMap<&'a DeviceAddress, Option<Address>>);

impl<'a> DecodedAddresses<'a> {
    /// Returns the decoded address; `None` if it is none.
    pub(crate) fn get(&mut self, address: &'a DeviceAddress) -> Option<Address> {
        *self.0.entry(address).or_insert_with(|| address.address().ok())
    }
}

/// Identifies a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "libraries of other languages mirror it")]
pub enum ConversationId {
    /// With a person, on all devices of both.
    Person {
        /// Short text form of the person's public identity.
        identity: String,
    },
    /// In a group.
    Group {
        /// Id of the group, 1 to 63 bytes.
        id: Vec<u8>,
    },
}

impl ConversationId {
    pub(crate) fn of(id: session::ConversationId) -> Self {
        match id {
            session::ConversationId::Group(id) => Self::Group { id },
            session::ConversationId::Person(identity) => Self::Person { identity: text(identity) },
            _ => unreachable!("a conversation is with a person or in a group"),
        }
    }
}
