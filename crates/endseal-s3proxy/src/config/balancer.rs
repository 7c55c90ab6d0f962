//! Balancers in front of the proxy, whose word about the addresses of clients is believed.

use core::net::IpAddr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::network::Network;

/// Balancers in front of the proxy.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Balancers {
    /// Addresses and networks of the balancers. Others are not believed.
    #[serde(deserialize_with = "networks")]
    pub addresses: Vec<Network>,
    /// Place where they state it.
    pub client_address: ClientAddressSource,
}

/// Place where a balancer states the address of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientAddressSource {
    /// Header of the PROXY protocol, version 1 or 2, in front of each connection.
    ProxyProtocol,
    /// Header of each request.
    Header(ForwardedHeader),
}

/// Header of a request with the addresses on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForwardedHeader {
    /// `X-Forwarded-For`.
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

impl Balancers {
    /// Creates the configuration of balancers.
    #[must_use]
    pub const fn new(addresses: Vec<Network>, client_address: ClientAddressSource) -> Self {
        Self { addresses, client_address }
    }

    /// Returns true if a balancer has this address.
    #[must_use]
    pub fn contain(&self, address: IpAddr) -> bool {
        self.addresses.iter().any(|network| network.contains(address))
    }
}

impl<'de> Deserialize<'de> for ClientAddressSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case")]
        enum Name {
            ProxyProtocol,
            XForwardedFor,
            Forwarded,
        }

        Ok(match Name::deserialize(deserializer)? {
            Name::ProxyProtocol => Self::ProxyProtocol,
            Name::XForwardedFor => Self::Header(ForwardedHeader::XForwardedFor),
            Name::Forwarded => Self::Header(ForwardedHeader::Forwarded),
        })
    }
}

fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Network>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    if texts.is_empty() {
        return Err(D::Error::custom("expected at least one address or network"));
    }
    texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
}
