//! Networks of IP addresses.

use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;

/// Network of IP addresses: an address with the number of its leading bits that all addresses of
/// the network share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// Error of a text that is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidNetwork {
    /// The text has another form.
    #[error("{0:?} is no address and no network such as 10.0.0.0/8")]
    Form(String),
    /// Bits behind the prefix are set, so that it is unclear which network is meant.
    #[error("{0:?} has bits behind its prefix, write {1}")]
    HostBits(String, Network),
}

impl Network {
    /// Returns true if an address belongs to the network. An IPv4 address that is mapped to IPv6 is
    /// the IPv4 address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4()
            && masked(address, self.prefix) == bits(self.address)
    }
}

impl FromStr for Network {
    type Err = InvalidNetwork;

    /// Parses an address, which is a network of one, or an address with the length of its prefix.
    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let form = || InvalidNetwork::Form(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| form())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => most,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok().filter(|prefix| *prefix <= most).ok_or_else(form)?
            }
            Some(_) => return Err(form()),
        };
        let network = Self { address: first(address, prefix), prefix };
        if network.address == address {
            return Ok(network);
        }
        Err(InvalidNetwork::HostBits(text.to_owned(), network))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Returns the bits of an address, those of an IPv4 address in front.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)) << 96,
        IpAddr::V6(address) => u128::from(address),
    }
}

/// Returns the bits of an address without those behind the prefix.
fn masked(address: IpAddr, prefix: u8) -> u128 {
    let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
    bits(address) & mask
}

/// Returns the first address of a network.
fn first(address: IpAddr, prefix: u8) -> IpAddr {
    let bits = masked(address, prefix);
    match address {
        IpAddr::V4(_) => IpAddr::V4(u32::try_from(bits >> 96).unwrap_or_default().into()),
        IpAddr::V6(_) => IpAddr::V6(bits.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::Network;

    #[test]
    fn a_network_contains_the_addresses_with_its_prefix() {
        for (network, inside, outside) in [
            ("192.0.2.7", &["192.0.2.7", "::ffff:192.0.2.7"][..], &["192.0.2.6", "::1"][..]),
            (
                "10.0.0.0/8",
                &["10.0.0.0", "10.255.255.255"],
                &["11.0.0.0", "9.255.255.255", "a00::"],
            ),
            ("192.0.2.128/25", &["192.0.2.128", "192.0.2.255"], &["192.0.2.127"]),
            ("0.0.0.0/0", &["255.255.255.255"], &["::2"]),
            ("2001:db8::/32", &["2001:db8:ffff::1"], &["2001:db9::", "32.1.13.184"]),
            ("::/0", &["ffff::"], &["1.2.3.4"]),
            ("::1", &["::1"], &["::2"]),
        ] {
            let parsed: Network = network.parse().unwrap();
            for address in inside {
                assert!(parsed.contains(address.parse().unwrap()), "{network} {address}");
            }
            for address in outside {
                assert!(!parsed.contains(address.parse().unwrap()), "{network} {address}");
            }
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        let texts = ["", "host", "10.0.0.0/33", "10.0.0.0/+8", "10.0.0.0/", "::/129", "10.0.0/8"];
        for text in texts {
            let error = text.parse::<Network>().unwrap_err().to_string();
            assert!(error.contains("is no address and no network"), "{error}");
        }
        let error = "10.1.2.3/8".parse::<Network>().unwrap_err().to_string();
        assert_eq!(error, "\"10.1.2.3/8\" has bits behind its prefix, write 10.0.0.0/8");
    }
}
