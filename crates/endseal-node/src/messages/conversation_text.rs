//! Text form of a conversation in messages of the node API: an identity for a person, and the
//! hexadecimal id for a group.

use endseal_crypto::identity::PublicIdentity;
use endseal_keyring::IdentityText;
use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serializer};

use super::Conversation;

pub(crate) fn serialize<S: Serializer>(it: &Conversation, to: S) -> Result<S::Ok, S::Error> {
    match it {
        Conversation::Person(key) => {
            to.collect_str(&IdentityText::from(PublicIdentity::short(*key)))
        }
        Conversation::Group(id) => to.collect_str(id),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Conversation, D::Error> {
    let text = String::deserialize(from)?;
    if let Ok(id) = text.parse() {
        return Ok(Conversation::Group(id));
    }
    let parsed = text.parse::<IdentityText>().map_err(D::Error::custom)?;
    Ok(Conversation::Person(*parsed.identity().ed25519()))
}
