//! `PEER@ADDRESS`: the peer to connect to, and its address.

use core::fmt;
use core::net::SocketAddr;
use core::str::FromStr;
use std::vec;

use endseal_crypto::peer_id::PeerId;
use endseal_keyring::{Invitation, Name, PeerIdText, Peers};
use tokio::net::lookup_host;

use crate::failure::{Failure, Kind};

/// Default port of `endseal listen`.
pub(crate) const DEFAULT_PORT: u16 = 4433;

/// A peer by its name in the list of peers, or by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PeerArg {
    Name(Name),
    Id(PeerId),
}

impl PeerArg {
    /// Returns the id of the peer. Fails if the name is not in the list.
    pub(crate) fn find(&self, peers: &Peers) -> Result<PeerId, Failure> {
        match self {
            Self::Id(id) => Ok(*id),
            Self::Name(name) => peers.find(name.as_str()).copied().ok_or_else(|| {
                Failure::usage(format!("no peer is called '{name}'")).hint(
                    "ask it for endseal id show --peer, then: endseal peers add NAME PEERID; or \
                     give the peer id itself",
                )
            }),
        }
    }
}

impl FromStr for PeerArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("endsealpeer1") {
            let id: PeerIdText = text.parse().map_err(|e| format!("{e}"))?;
            return Ok(Self::Id(id.peer_id()));
        }
        Name::new(text).map(Self::Name).map_err(|e| format!("neither a peer id nor a name: {e}"))
    }
}

/// `PEER@HOST[:PORT]`. An IPv6 address is written in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PeerAddress {
    pub(crate) peer: PeerArg,
    pub(crate) host: HostAddress,
}

/// `HOST[:PORT]`. An IPv6 address is written in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostAddress {
    host: String,
    port: u16,
}

impl FromStr for PeerAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((peer, address)) = text.split_once('@') else {
            return Err("expected PEER@ADDRESS, for example bob@192.0.2.7:4433".into());
        };
        Ok(Self { peer: peer.parse()?, host: address.parse()? })
    }
}

impl FromStr for HostAddress {
    type Err = String;

    fn from_str(address: &str) -> Result<Self, String> {
        if address.contains('/') {
            return Err(format!("'{address}' is a URL: leave https:// and the path away"));
        }
        let (host, port) = match address.strip_prefix('[') {
            Some(rest) => {
                let Some((host, rest)) = rest.split_once(']') else {
                    return Err("the bracket of the IPv6 address is not closed".into());
                };
                // Link-local addresses name the interface, as in fe80::1%eth0 (RFC 4007, 11).
                let (ip, scope) = host.split_once('%').unwrap_or((host, "0"));
                let is_scope = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
                let has_scope = !scope.is_empty() && scope.chars().all(is_scope);
                if ip.parse::<core::net::Ipv6Addr>().is_err() || !has_scope {
                    return Err(format!("'{host}' is no IPv6 address"));
                }
                match rest.strip_prefix(':') {
                    Some(port) => (host, Some(port)),
                    None if rest.is_empty() => (host, None),
                    None => return Err("expected :PORT behind the bracket".into()),
                }
            }
            None => match address.split_once(':') {
                Some((_, rest)) if rest.contains(':') => {
                    return Err(format!("put an IPv6 address into brackets: [{address}]"));
                }
                Some((host, port)) => (host, Some(port)),
                None => (address, None),
            },
        };
        if host.is_empty() {
            return Err("there is no host".into());
        }
        let port = match port.map(|text| (text, text.parse())) {
            None => DEFAULT_PORT,
            Some((_, Ok(port))) if port != 0 => port,
            Some((text, _)) => return Err(format!("'{text}' is no port: 1 to 65535")),
        };
        Ok(Self { host: host.to_owned(), port })
    }
}

/// A hub and the ways to it: `PEERID@HOST:PORT`, as `endseal status` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HubAddress {
    pub(crate) peer: PeerId,
    pub(crate) hosts: Vec<HostAddress>,
}

impl HubAddress {
    /// A hub at addresses that are separated by spaces.
    pub(crate) fn new(peer: PeerId, addresses: &str) -> Result<Self, Failure> {
        let hosts = addresses.split(' ').map(str::parse).collect::<Result<Vec<_>, String>>();
        let hosts = hosts.map_err(|error| {
            Failure::usage("the invitation names no address").because_text(error)
        })?;
        Ok(Self { peer, hosts })
    }

    /// The hub of an invitation.
    pub(crate) fn of(invitation: &Invitation) -> Result<Self, Failure> {
        Self::new(invitation.hub(), &invitation.addresses().collect::<Vec<_>>().join(" "))
    }

    /// The addresses, separated by spaces.
    pub(crate) fn addresses(&self) -> String {
        self.hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }
}

impl FromStr for HubAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let PeerAddress { peer: PeerArg::Id(peer), host } = text.parse()? else {
            return Err("expected PEERID@HOST:PORT, as endseal status prints it".into());
        };
        Ok(Self { peer, hosts: Vec::from([host]) })
    }
}

impl fmt::Display for HostAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

impl HostAddress {
    /// Resolves the host to all of its addresses.
    pub(crate) async fn resolve(&self) -> Result<vec::IntoIter<SocketAddr>, Failure> {
        let failed = || Failure::new(Kind::Environment, format!("cannot find '{}'", self.host));
        let found = lookup_host((self.host.as_str(), self.port)).await;
        let found: Vec<_> = found.map_err(|error| failed().because(&error))?.collect();
        if found.is_empty() {
            return Err(failed().because_text("it has no address".into()));
        }
        Ok(found.into_iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_are_told_apart() {
        let parts = |text: &str| {
            let parsed: PeerAddress = text.parse().unwrap();
            assert_eq!(parsed.peer, PeerArg::Name(Name::new("bob").unwrap()));
            (parsed.host.host, parsed.host.port)
        };
        assert_eq!(parts("bob@192.0.2.7:99"), ("192.0.2.7".into(), 99));
        assert_eq!(parts("bob@192.0.2.7"), ("192.0.2.7".into(), 4433));
        assert_eq!(parts("bob@[2001:db8::1]:99"), ("2001:db8::1".into(), 99));
        assert_eq!(parts("bob@[::1]"), ("::1".into(), 4433));
        assert_eq!(parts("bob@[fe80::1%eth0]:99"), ("fe80::1%eth0".into(), 99));
        assert_eq!(parts("bob@example.org:65535"), ("example.org".into(), 65_535));
    }

    #[test]
    fn what_is_no_address_is_explained() {
        for (text, why) in [
            ("bob", "expected PEER@ADDRESS"),
            ("192.0.2.7:99", "expected PEER@ADDRESS"),
            ("bob@", "no host"),
            ("bob@:99", "no host"),
            ("bob@host:", "is no port"),
            ("bob@host:0", "is no port"),
            ("bob@host:65536", "is no port"),
            ("bob@host:+1x", "is no port"),
            ("bob@::1", "brackets: [::1]"),
            ("bob@[::1", "not closed"),
            ("bob@[::1]99", "expected :PORT"),
            ("bob@[host]:99", "no IPv6 address"),
            ("bob@[fe80::1%]:99", "no IPv6 address"),
            ("bob@[fe80::1%a/b]:99", "is a URL"),
            ("bob@https://host:99", "leave https://"),
            ("Bob@host", "neither a peer id nor a name"),
            ("@host", "neither a peer id nor a name"),
            ("endsealpeer1qq@host", "copied in part"),
        ] {
            let error = text.parse::<PeerAddress>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
