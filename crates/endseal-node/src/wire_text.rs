//! Text forms of identities, devices and peer ids in messages of the node API.

pub(crate) mod identity {
    //! Text form of an identity.

    use endseal_crypto::ed25519::PublicKey;
    use endseal_crypto::identity::PublicIdentity;
    use endseal_keyring::IdentityText;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(key: &PublicKey, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&IdentityText::from(PublicIdentity::short(*key)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PublicKey, D::Error> {
        let text = String::deserialize(from)?;
        let parsed = text.parse::<IdentityText>().map_err(D::Error::custom)?;
        Ok(*parsed.identity().ed25519())
    }
}

pub(crate) mod optional_identity {
    //! Text form of an identity; `null` if there is none.

    use endseal_crypto::ed25519::PublicKey;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Identity(#[serde(with = "super::identity")] PublicKey);

    pub(crate) fn serialize<S: Serializer>(
        it: &Option<PublicKey>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        it.map(Identity).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<PublicKey>, D::Error> {
        Ok(Option::<Identity>::deserialize(from)?.map(|it| it.0))
    }
}

pub(crate) mod peer {
    //! Text form of a peer id.

    use endseal_crypto::peer_id::PeerId;
    use endseal_keyring::PeerIdText;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(peer: &PeerId, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&PeerIdText::from(*peer))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PeerId, D::Error> {
        let text = String::deserialize(from)?;
        Ok(text.parse::<PeerIdText>().map_err(D::Error::custom)?.peer_id())
    }
}

pub(crate) mod device {
    //! Object for a device of an identity; `null` if there is none.

    use endseal_crypto::ed25519::PublicKey;
    use endseal_keyring::device::{Address, DeviceId};
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Device {
        #[serde(with = "super::identity")]
        identity: PublicKey,
        device: u32,
    }

    pub(crate) fn serialize<S: Serializer>(it: &Option<Address>, to: S) -> Result<S::Ok, S::Error> {
        let it = it.map(|it| Device { identity: it.identity, device: it.device.number() });
        it.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Address>, D::Error> {
        let Some(Device { identity, device }) = Option::deserialize(from)? else { return Ok(None) };
        let device = DeviceId::new(device).ok_or_else(|| D::Error::custom("device 0"))?;
        Ok(Some(Address { identity, device }))
    }
}
