//! URLs of relays, and addresses that a relay named by an unknown sender must not have.

use endseal_relay::ConnectError;
use endseal_relay::address::{Address, AddressError, Reach};
use endseal_relay::client::{Disconnect, Notification};

use super::fixture::*;

#[test]
fn urls_are_parsed_into_one_form() {
    for (url, shown) in [
        ("wss://relay.example", "wss://relay.example"),
        ("WSS://Relay.EXAMPLE:443/", "wss://relay.example"),
        ("wss://relay.example:8443/Path?a=B", "wss://relay.example:8443/Path?a=B"),
        ("wss://relay.example?a=b", "wss://relay.example/?a=b"),
        ("ws://127.0.0.1:80/", "ws://127.0.0.1"),
        ("ws://localhost:7777", "ws://localhost:7777"),
        ("ws://[::1]:7777/x", "ws://[::1]:7777/x"),
        ("wss://[2606:4700::1111]", "wss://[2606:4700::1111]"),
        ("ws://abcdefghij.onion", "ws://abcdefghij.onion"),
    ] {
        let address = Address::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        assert_eq!(address.to_string(), shown);
        assert_eq!(Address::parse(shown).unwrap(), address);
    }
    let address = Address::parse("wss://relay.example").unwrap();
    assert_eq!((address.port(), address.is_tls(), address.is_onion()), (443, true, false));
}

#[test]
fn other_texts_are_refused() {
    let long = format!("wss://relay.example/{}", "x".repeat(500));
    for (url, error) in [
        ("", AddressError::Scheme),
        ("relay.example", AddressError::Scheme),
        ("https://relay.example", AddressError::Scheme),
        ("wss://", AddressError::Host),
        ("wss:///path", AddressError::Host),
        ("wss://user@relay.example", AddressError::Host),
        ("wss://relay..example", AddressError::Host),
        ("wss://relay.example.", AddressError::Host),
        ("wss://rel ay.example", AddressError::Host),
        ("wss://rélay.example", AddressError::Host),
        ("wss://%31", AddressError::Host),
        // Forms of 127.0.0.1 that resolvers accept.
        ("wss://127.1", AddressError::Host),
        ("wss://2130706433", AddressError::Host),
        ("wss://0x7f.0.0.1", AddressError::Host),
        ("wss://0x7f000001", AddressError::Host),
        ("wss://0177.0.0.1", AddressError::Host),
        ("wss://[::1", AddressError::Host),
        ("wss://[relay.example]", AddressError::Host),
        ("wss://[::1]x", AddressError::Host),
        ("wss://relay.example:", AddressError::Port),
        ("wss://relay.example:0", AddressError::Port),
        ("wss://relay.example:65536", AddressError::Port),
        ("wss://relay.example:+1", AddressError::Port),
        ("wss://relay.example/#x", AddressError::Path),
        ("wss://relay.example/a b", AddressError::Path),
        ("wss://relay.example\\@evil.example", AddressError::Path),
        ("wss://relay.example/\r\nX: y", AddressError::Path),
        ("ws://relay.example", AddressError::Plain),
        ("ws://10.0.0.1", AddressError::Plain),
        ("ws://localhost.example", AddressError::Plain),
        (&long, AddressError::Length),
    ] {
        assert_eq!(Address::parse(url).unwrap_err(), error, "{url}");
    }
    assert!(Address::parse_insecure("ws://relay.example").is_ok());
}

async fn refusal(url: &str) -> ConnectError {
    let mut settings = settings(url);
    settings.reach = Reach::Public;
    let mut client = Client::start(settings);
    loop {
        if let Notification::Disconnected { reason: Disconnect::Connect(error), .. } =
            client.next().await
        {
            return error;
        }
    }
}

#[tokio::test]
async fn anothers_relay_is_not_reached_on_this_machine() {
    let server = server().await;
    let port = server.address().port();
    for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"] {
        let scheme = if host.contains("ffff") { "wss" } else { "ws" };
        let error = refusal(&format!("{scheme}://{host}:{port}")).await;
        assert!(matches!(error, ConnectError::NotPublic), "{host}: {error}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn an_onion_name_needs_a_proxy() {
    let error = refusal("ws://abcdefghij.onion").await;
    assert!(matches!(error, ConnectError::NeedsProxy), "{error}");
}
