//! Addresses of clients in the headers `X-Forwarded-For` and `Forwarded` (RFC 7239).
//!
//! Every proxy on the way adds the address from which it got the request to the end of the list.
//! The list is believed from its end, as long as the addresses are those of known balancers:
//! anything before them may come from the client.

use core::net::{IpAddr, SocketAddr};

use http::header::{FORWARDED, HeaderMap, HeaderName, HeaderValue};

use crate::config::ForwardedHeader;

/// Name of the header that no RFC defines.
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Error of a header that is not a list of addresses. It does not contain the header, which may be
/// the client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the header {0} of a balancer is not a list of addresses")]
pub(super) struct InvalidForwarded(&'static str);

/// Address of a node on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Address(IpAddr),
    /// Node that `Forwarded` hides: `unknown`, or a name of the proxy's choice.
    Hidden,
}

/// Returns the address of the client of a request that came from `peer`, a known balancer.
///
/// # Errors
/// [`InvalidForwarded`] if an entry that is believed is not an address.
pub(super) fn client(
    headers: &HeaderMap,
    header: ForwardedHeader,
    peer: IpAddr,
    is_balancer: impl Fn(IpAddr) -> bool,
) -> Result<IpAddr, InvalidForwarded> {
    let (name, shown, parse): (_, _, fn(&str) -> Option<Node>) = match header {
        ForwardedHeader::XForwardedFor => (&X_FORWARDED_FOR, "X-Forwarded-For", node),
        ForwardedHeader::Forwarded => (&FORWARDED, "Forwarded", element),
    };
    let error = InvalidForwarded(shown);
    let mut client = peer;
    let lines: Vec<&HeaderValue> = headers.get_all(name).iter().collect();
    for line in lines.into_iter().rev() {
        let line = line.to_str().map_err(|_| error)?;
        let entries = match header {
            ForwardedHeader::XForwardedFor => line.split(',').collect(),
            ForwardedHeader::Forwarded => split(line, ',').ok_or(error)?,
        };
        for entry in entries.into_iter().rev() {
            match parse(entry.trim_matches([' ', '\t'])).ok_or(error)? {
                Node::Address(address) => client = address.to_canonical(),
                Node::Hidden => return Ok(client),
            }
            if !is_balancer(client) {
                return Ok(client);
            }
        }
    }
    Ok(client)
}

/// Splits a text at a separator outside of quoted strings. Returns `None` if a string has no end.
fn split(text: &str, separator: char) -> Option<Vec<&str>> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let pieces = text
        .split(|character| {
            let was_escaped = core::mem::take(&mut is_escaped);
            match character {
                '\\' if is_quoted => is_escaped = !was_escaped,
                '"' if !was_escaped => is_quoted = !is_quoted,
                _ => {}
            }
            character == separator && !is_quoted
        })
        .collect();
    (!is_quoted).then_some(pieces)
}

/// Parses an element of `Forwarded`: pairs, of which one is `for`.
fn element(text: &str) -> Option<Node> {
    let mut found = None;
    for pair in split(text, ';')? {
        let (name, value) = pair.trim_matches([' ', '\t']).split_once('=')?;
        if !name.eq_ignore_ascii_case("for") {
            continue;
        }
        let value = match value.strip_prefix('"') {
            Some(quoted) => quoted.strip_suffix('"')?,
            None => value,
        };
        if found.replace(node(value)?).is_some() {
            return None;
        }
    }
    // A proxy need not say it.
    Some(found.unwrap_or(Node::Hidden))
}

/// Parses an address with or without a port. An IPv6 address with a port is in brackets.
fn node(text: &str) -> Option<Node> {
    if text == "unknown" || text.starts_with('_') {
        return Some(Node::Hidden);
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let address = match bare {
        Some(bare) => bare.parse().ok().map(IpAddr::V6),
        None => text.parse().ok(),
    };
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    address.or_else(with_port).map(Node::Address)
}

#[cfg(test)]
mod tests {
    use core::net::IpAddr;

    use http::{HeaderMap, HeaderName};

    use super::client;
    use crate::config::ForwardedHeader::{self, Forwarded, XForwardedFor};

    fn of(header: ForwardedHeader, lines: &[&str]) -> Result<String, String> {
        let name = match header {
            XForwardedFor => "x-forwarded-for",
            _ => "forwarded",
        };
        let pairs = lines.iter().map(|line| {
            (HeaderName::from_static(name), http::HeaderValue::from_bytes(line.as_bytes()).unwrap())
        });
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, value);
        }
        let is_balancer = |address: IpAddr| address.to_string().starts_with("10.");
        client(&headers, header, "10.0.0.1".parse().unwrap(), is_balancer)
            .map(|client| client.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_last_address_that_is_no_balancer_is_the_client() {
        for (lines, expected) in [
            (&[][..], "10.0.0.1"),
            (&["192.0.2.7"], "192.0.2.7"),
            (&["192.0.2.7, 10.0.0.2,10.0.0.3"], "192.0.2.7"),
            (&["192.0.2.7", "10.0.0.2"], "192.0.2.7"),
            // What the client itself sent is before it, and of any form.
            (&["198.51.100.1, 192.0.2.7, 10.0.0.2"], "192.0.2.7"),
            (&["nonsense, 192.0.2.7"], "192.0.2.7"),
            (&["\", 192.0.2.7"], "192.0.2.7"),
            (&["nonsense", "192.0.2.7"], "192.0.2.7"),
            (&["10.0.0.9, 10.0.0.2"], "10.0.0.9"),
            (&["192.0.2.7:4711"], "192.0.2.7"),
            (&["::ffff:192.0.2.7"], "192.0.2.7"),
            (&["2001:db8::7"], "2001:db8::7"),
            (&["[2001:db8::7]"], "2001:db8::7"),
            (&["[2001:db8::7]:4711, 10.0.0.2"], "2001:db8::7"),
        ] {
            assert_eq!(of(XForwardedFor, lines), Ok(expected.to_owned()), "{lines:?}");
        }
    }

    #[test]
    fn forwarded_has_pairs_and_quoted_strings() {
        for (lines, expected) in [
            (&["for=192.0.2.7"][..], "192.0.2.7"),
            (&["For=\"192.0.2.7:80\";proto=https;by=10.0.0.1"], "192.0.2.7"),
            (&["proto=http; for=192.0.2.7, for=10.0.0.2"], "192.0.2.7"),
            (&["for=\"[2001:db8::7]:4711\""], "2001:db8::7"),
            (&["for=192.0.2.7;host=\"a,b;\\\"for=1.2.3.4\""], "192.0.2.7"),
            // Without an address the client is the last node that is known.
            (&["for=unknown, for=10.0.0.2"], "10.0.0.2"),
            (&["for=192.0.2.7, for=_gate"], "10.0.0.1"),
            (&["for=192.0.2.7, proto=https"], "10.0.0.1"),
        ] {
            assert_eq!(of(Forwarded, lines), Ok(expected.to_owned()), "{lines:?}");
        }
    }

    #[test]
    fn what_is_believed_must_be_addresses() {
        let error =
            |name| Err(format!("the header {name} of a balancer is not a list of addresses"));
        for line in ["", ",", "192.0.2.7,", "192.0.2.7, host", "192.0.2.7, 1.2.3", "1.2.3.4:99999"]
        {
            assert_eq!(of(XForwardedFor, &[line]), error("X-Forwarded-For"), "{line}");
        }
        assert_eq!(of(XForwardedFor, &["192.0.2.7, 10.0.0.2\u{e9}"]), error("X-Forwarded-For"));
        // A client cannot hide the balancer's entry in a string.
        for line in ["for=1.2.3.4;x=\", for=192.0.2.7", "for=1.2.3.4;x=\", for=\"192.0.2.7:80\""] {
            assert_eq!(of(Forwarded, &[line]), error("Forwarded"), "{line}");
        }
        for line in
            ["192.0.2.7", "for=1.2.3.4;for=5.6.7.8", "for=\"1.2.3.4", "for=2001:db8::7:x", "for="]
        {
            assert_eq!(of(Forwarded, &[line]), error("Forwarded"), "{line}");
        }
    }
}
