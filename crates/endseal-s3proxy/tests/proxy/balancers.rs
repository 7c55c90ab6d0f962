//! Tests of the addresses of clients behind a balancer.

use core::time::Duration;
use std::path::Path;
use std::sync::Arc;

use endseal_s3proxy::config::{Balancers, ClientAddressSource, Config, ForwardedHeader, TlsFiles};
use endseal_s3proxy::upstream::Trust;
use endseal_s3proxy::{Proxy, Server};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::client::{Answer, Client, parse};
use crate::fixture::{ACCESS_KEY, Front, SECRET, World, serve};
use crate::logged::Lines;

const PROXY_PROTOCOL: ClientAddressSource = ClientAddressSource::ProxyProtocol;
const X_FORWARDED_FOR: ClientAddressSource =
    ClientAddressSource::Header(ForwardedHeader::XForwardedFor);
const FORWARDED: ClientAddressSource = ClientAddressSource::Header(ForwardedHeader::Forwarded);

/// Header of version 2 for a client 192.0.2.7:4660.
const VERSION_2: &[u8] =
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c\xc0\x00\x02\x07\x0a\x00\x00\x01\x12\x34\x00\x50";

fn behind(world: &World, networks: &[&str], source: ClientAddressSource) -> Config {
    let mut config = world.config();
    let networks = networks.iter().map(|network| network.parse().unwrap()).collect();
    config.balancers = Some(Balancers::new(networks, source));
    config
}

/// Sends bytes before a request for a list, and the request with a header line.
async fn ask(front: &Front, before: &[u8], line: &str) -> Answer {
    let head = front.client.head("GET", "/", &[], 0);
    let head = head.replace("\r\n\r\n", &format!("\r\n{line}\r\n"));
    let mut stream = TcpStream::connect(front.client.address).await.unwrap();
    stream.write_all(before).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut received = Vec::new();
    // The connection may be reset.
    let _ = stream.read_to_end(&mut received).await;
    parse(&received, false)
}

/// Returns the addresses in the last line of the access log: of the client, and of the balancer
/// without its port.
fn logged(lines: &Lines) -> (String, Option<String>) {
    let line = lines.all().into_iter().rfind(|line| line.starts_with("access ")).unwrap();
    let field = |name: &str| {
        let value = line.split(&format!(" {name}=")).nth(1)?;
        Some(value.split(' ').next().unwrap().to_owned())
    };
    let via = field("via").map(|via| via.rsplit_once(':').unwrap().0.to_owned());
    (field("peer").unwrap(), via)
}

const LOCAL: &str = "127.0.0.1";

#[tokio::test]
async fn without_the_setting_nothing_is_believed() {
    let lines = Lines::default();
    let _until = lines.collect();
    let world = World::new();
    let other = behind(&world, &["10.0.0.0/8", "::1"], PROXY_PROTOCOL);
    let other_header = behind(&world, &["10.0.0.0/8", "::1"], X_FORWARDED_FOR);
    for config in [world.config(), other, other_header] {
        let front = serve(&config).await;
        let line = "x-forwarded-for: 192.0.2.7\r\nforwarded: for=192.0.2.7\r\n";
        ask(&front, b"", line).await.expect(200);
        let (peer, via) = logged(&lines);
        assert!(peer.starts_with("127.0.0.1:") && via.is_none(), "{peer} {via:?}");
        for header in [VERSION_2, b"PROXY TCP4 192.0.2.7 10.0.0.1 4660 80\r\n"] {
            assert_eq!(ask(&front, header, "").await.status, 400);
        }
    }
}

#[tokio::test]
async fn the_proxy_protocol_of_a_balancer_names_the_client() {
    let lines = Lines::default();
    let _until = lines.collect();
    let world = World::new();
    let front = serve(&behind(&world, &["10.0.0.0/8", LOCAL], PROXY_PROTOCOL)).await;
    let stated = ("192.0.2.7:4660".to_owned(), Some(LOCAL.to_owned()));
    // A header of the request is not believed then.
    let line = "x-forwarded-for: 198.51.100.1\r\n";
    for header in [VERSION_2, b"PROXY TCP4 192.0.2.7 10.0.0.1 4660 80\r\n"] {
        ask(&front, header, line).await.expect(200);
        assert_eq!(logged(&lines), stated);
    }
    ask(&front, b"PROXY UNKNOWN\r\n", line).await.expect(200);
    let (peer, via) = logged(&lines);
    assert!(peer.starts_with("127.0.0.1:") && via.is_none(), "{peer} {via:?}");
    assert!(lines.warnings().is_empty());
}

#[tokio::test]
async fn the_header_is_before_tls() {
    let lines = Lines::default();
    let _until = lines.collect();
    let world = World::new();
    let file = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/client/tls");
        folder.join(name)
    };
    let mut config = behind(&world, &[LOCAL], PROXY_PROTOCOL);
    config.tls = Some(TlsFiles::new(file("server.pem"), file("server.key")));
    let proxy = Arc::new(Proxy::start(&config).unwrap());
    let server = Server::new(proxy, config.tls.as_ref()).unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (_stop, stopped) = watch::channel(false);
    tokio::spawn(server.serve(listener, stopped));
    let client = Client::new(address, ACCESS_KEY, SECRET);
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(VERSION_2).await.unwrap();
    let authority = std::fs::read(file("ca.pem")).unwrap();
    let connector = Trust::public().with_authorities(&authority).unwrap().connector();
    let mut stream = connector.connect("localhost".try_into().unwrap(), stream).await.unwrap();
    stream.write_all(client.head("GET", "/", &[], 0).as_bytes()).await.unwrap();
    let mut received = Vec::new();
    let _ = stream.read_to_end(&mut received).await;
    parse(&received, false).expect(200);
    assert_eq!(logged(&lines), ("192.0.2.7:4660".to_owned(), Some(LOCAL.to_owned())));
}

#[tokio::test]
async fn a_connection_with_a_malformed_header_is_closed_and_told() {
    let lines = Lines::default();
    let _until = lines.collect();
    let world = World::new();
    let mut config = behind(&world, &[LOCAL], PROXY_PROTOCOL);
    config.limits.header_timeout = Duration::from_secs(1);
    for (sent, cause) in [
        (&b""[..], "does not begin with a header of the PROXY protocol"),
        (b"PROXY TCP4 192.0.2.7 10.0.0.1 4660\r\n", "the header is malformed: expected TCP4"),
        (b"PROXY TCP4", "the header is malformed: expected TCP4"),
        (&[b'P'; 300], "does not begin with a header of the PROXY protocol"),
    ] {
        let front = serve(&config).await;
        let before = lines.warnings().len();
        assert_eq!(ask(&front, sent, "").await.status, 0, "nothing is answered");
        let warnings = lines.warnings();
        assert_eq!(warnings.len(), before + 1, "{warnings:?}");
        let told = warnings.last().unwrap();
        assert!(told.contains("kind=proxy_header peer=127.0.0.1:"), "{told}");
        assert!(told.contains(cause), "{told}");
        let counted = "endseal_s3_proxy_headers_refused_total 1\n";
        assert!(front.proxy.metrics_text().contains(counted));
        // Warnings are rare, but every such connection is counted.
        ask(&front, sent, "").await;
        assert_eq!(lines.warnings().len(), before + 1);
        assert!(front.proxy.metrics_text().contains("proxy_headers_refused_total 2\n"));
    }
    // A header that does not come is awaited for some time only, and health checks are silent.
    let front = serve(&config).await;
    let before = lines.warnings().len();
    drop(TcpStream::connect(front.client.address).await.unwrap());
    let mut stream = TcpStream::connect(front.client.address).await.unwrap();
    stream.write_all(&VERSION_2[..20]).await.unwrap();
    let ended =
        timeout(Duration::from_secs(60), stream.read(&mut [0])).await.expect("it is closed");
    assert!(matches!(ended, Ok(0) | Err(_)));
    let warnings = lines.warnings();
    assert_eq!(warnings.len(), before + 1, "{warnings:?}");
    assert!(warnings[before].contains("the header did not come in time"), "{warnings:?}");
}

#[tokio::test]
async fn clients_behind_the_proxy_protocol_have_limits_of_their_own() {
    let world = World::new();
    let mut config = behind(&world, &[LOCAL], PROXY_PROTOCOL);
    config.limits.connections = 16;
    config.limits.connections_per_peer = Some(2);
    let front = serve(&config).await;
    let address = front.client.address;
    let connect = async |client: &str| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let header = format!("PROXY TCP4 {client} 10.0.0.1 4660 80\r\n");
        let request = "GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n";
        stream.write_all(format!("{header}{request}").as_bytes()).await.unwrap();
        let mut first = [0];
        let read = timeout(Duration::from_secs(60), stream.read(&mut first)).await.unwrap();
        (stream, matches!(read, Ok(1)))
    };
    let mut kept = Vec::new();
    for (client, is_served) in [
        ("192.0.2.7", true),
        ("192.0.2.7", true),
        ("192.0.2.7", false),
        ("192.0.2.8", true),
        ("192.0.2.8", true),
        ("192.0.2.8", false),
    ] {
        let (stream, served) = connect(client).await;
        assert_eq!(served, is_served, "{client}");
        kept.push(stream);
    }
    assert!(front.proxy.metrics_text().contains("endseal_s3_client_connections_refused_total 2\n"));
    kept.clear();
    let fewer = || front.proxy.metrics_text().contains("endseal_s3_client_connections 0\n");
    crate::fixture::eventually("the connections have ended", fewer).await;
    assert!(connect("192.0.2.7").await.1, "they no longer count");
}

#[tokio::test]
async fn a_header_of_a_balancer_names_the_client_of_each_request() {
    let lines = Lines::default();
    let _until = lines.collect();
    let world = World::new();
    for (source, line, client) in [
        (X_FORWARDED_FOR, "x-forwarded-for: 198.51.100.1, 192.0.2.7\r\n", "192.0.2.7"),
        (
            X_FORWARDED_FOR,
            "x-forwarded-for: 192.0.2.7\r\nx-forwarded-for: 10.0.0.9\r\n",
            "192.0.2.7",
        ),
        (
            X_FORWARDED_FOR,
            "x-forwarded-for: 2001:db8::7\r\nforwarded: for=1.2.3.4\r\n",
            "2001:db8::7",
        ),
        (FORWARDED, "forwarded: for=\"[2001:db8::7]:80\";proto=https\r\n", "2001:db8::7"),
        (FORWARDED, "x-forwarded-for: 1.2.3.4\r\nforwarded: for=192.0.2.7\r\n", "192.0.2.7"),
    ] {
        let front = serve(&behind(&world, &[LOCAL, "10.0.0.0/8"], source)).await;
        ask(&front, b"", line).await.expect(200);
        assert_eq!(logged(&lines), (client.to_owned(), Some(LOCAL.to_owned())), "{line}");
        ask(&front, b"", "").await.expect(200);
        assert!(logged(&lines).0.starts_with("127.0.0.1:"), "the balancer's own request");
    }
    assert!(lines.warnings().is_empty());
    let front = serve(&behind(&world, &[LOCAL], X_FORWARDED_FOR)).await;
    let refused = ask(&front, b"", "x-forwarded-for: 192.0.2.7, nonsense\r\n").await.expect(400);
    assert_eq!(refused.code(), "InvalidRequest");
    assert_eq!(refused.header("connection"), Some("close"));
    let told = lines.warnings().pop().unwrap();
    assert!(
        told.contains("kind=forwarded cause=the header X-Forwarded-For of a balancer"),
        "{told}"
    );
    assert!(!told.contains("nonsense"), "{told}");
}

/// A balancer sends the requests of many clients over one connection. It counts for the last one.
#[tokio::test]
async fn clients_behind_a_header_have_limits_of_their_own() {
    let world = World::new();
    let mut config = behind(&world, &[LOCAL], X_FORWARDED_FOR);
    config.limits.connections = 16;
    config.limits.connections_per_peer = Some(2);
    let front = serve(&config).await;
    let request = async |stream: &mut TcpStream, client: &str| {
        let head = front.client.head("GET", "/", &[], 0);
        let line = format!("x-forwarded-for: {client}\r\n\r\n");
        let head = head.replace("connection: close\r\n\r\n", &line);
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut received = Vec::new();
        loop {
            assert_ne!(stream.read_buf(&mut received).await.unwrap(), 0);
            let text = String::from_utf8_lossy(&received).into_owned();
            if text.contains("</ListAllMyBucketsResult>") || text.contains("</Error>") {
                return text[9..12].parse::<u16>().unwrap();
            }
        }
    };
    let mut streams = Vec::new();
    for _ in 0..3 {
        streams.push(TcpStream::connect(front.client.address).await.unwrap());
    }
    for (at, client, status) in [
        (0, "192.0.2.7", 200),
        (1, "192.0.2.7", 200),
        (2, "192.0.2.7", 503),
        (2, "192.0.2.8", 200),
        (1, "192.0.2.8", 200),
        (2, "192.0.2.7", 200),
        (1, "192.0.2.7", 503),
        (0, "192.0.2.7", 200),
    ] {
        assert_eq!(request(&mut streams[at], client).await, status, "{at} {client}");
    }
}

#[test]
fn the_settings_of_balancers_are_checked() {
    let read = |balancer: &str| {
        let text = format!(
            "[backend]\nfolder = \"f\"\n[keys]\nprovider = \"ring\"\nfile = \"r\"\n\
             [[client]]\naccess_key = \"A\"\nsecret_key = \"0123456789abcdef\"\n{balancer}"
        );
        Config::parse(&text, Path::new("/etc/x"), |_| None)
    };
    assert!(read("").ok().unwrap().balancers.is_none());
    for (name, source) in [
        ("proxy-protocol", PROXY_PROTOCOL),
        ("x-forwarded-for", X_FORWARDED_FOR),
        ("forwarded", FORWARDED),
    ] {
        let text = format!(
            "[balancer]\naddresses = [\"10.0.0.0/8\", \"::1\"]\nclient_address = \"{name}\""
        );
        let balancers = read(&text).ok().unwrap().balancers.unwrap();
        assert_eq!(balancers.client_address, source);
        assert_eq!(balancers.addresses.len(), 2);
    }
    for (text, message) in [
        ("client_address = \"forwarded\"", "missing field `addresses`"),
        ("addresses = [\"::1\"]", "missing field `client_address`"),
        (
            "addresses = []\nclient_address = \"forwarded\"",
            "expected at least one address or network",
        ),
        (
            "addresses = [\"lb\"]\nclient_address = \"forwarded\"",
            "\"lb\" is no address and no network",
        ),
        ("addresses = [\"10.1.2.3/8\"]\nclient_address = \"forwarded\"", "write 10.0.0.0/8"),
        ("addresses = [\"::1\"]\nclient_address = \"via\"", "unknown variant `via`"),
    ] {
        let error = read(&format!("[balancer]\n{text}")).err().unwrap().to_string();
        assert!(error.contains(message), "{error}");
    }
}
