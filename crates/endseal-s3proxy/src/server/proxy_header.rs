//! PROXY protocol, versions 1 and 2: a balancer says in front of a connection whose it is.
//!
//! Exactly the header is read, because a TLS handshake may follow. Extensions of version 2 (TLVs)
//! are skipped.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// First bytes of a header of version 2.
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";

/// First bytes of a header of version 1.
const WORD: &[u8] = b"PROXY ";

/// Maximum length of a header of version 1 in bytes, with its line end.
const MAX_LINE: usize = 107;

/// Maximum number of bytes behind the first 16 of a header of version 2. Balancers send some
/// hundred bytes of extensions.
const MAX_REST: usize = 4_096;

/// Reason why a header was not accepted.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProxyHeaderError {
    /// The connection ended before its first byte, as those of health checks do.
    #[error("the connection ended before the header")]
    Silent,
    #[error("the connection ended in the header: {0}")]
    Ended(#[from] io::Error),
    /// The balancer is not configured to send the header.
    #[error("the connection does not begin with a header of the PROXY protocol")]
    Missing,
    #[error("the header is longer than {0} bytes")]
    TooLong(usize),
    #[error("the header is malformed: {0}")]
    Malformed(&'static str),
}

/// Reads the header from the beginning of a connection. Returns the address of the client, or
/// `None` if the header says that the connection is the balancer's own, or does not know the
/// client. The caller MUST limit the time.
///
/// # Errors
/// [`ProxyHeaderError`]. The connection cannot be used then.
pub(super) async fn read_client(
    stream: &mut (impl AsyncRead + Unpin),
) -> Result<Option<SocketAddr>, ProxyHeaderError> {
    let mut start = [0; SIGNATURE.len()];
    if stream.read(&mut start[..1]).await? == 0 {
        return Err(ProxyHeaderError::Silent);
    }
    // A header of either version is longer. What does not begin like one is told at once.
    if start[0] != WORD[0] && start[0] != SIGNATURE[0] {
        return Err(ProxyHeaderError::Missing);
    }
    stream.read_exact(&mut start[1..]).await?;
    if start == SIGNATURE {
        return version_2(stream).await;
    }
    if !start.starts_with(WORD) {
        return Err(ProxyHeaderError::Missing);
    }
    let mut line = start.to_vec();
    while !line.ends_with(b"\r\n") {
        if line.len() == MAX_LINE {
            return Err(ProxyHeaderError::TooLong(MAX_LINE));
        }
        line.push(stream.read_u8().await?);
    }
    version_1(&line[WORD.len()..line.len() - 2])
}

/// Parses what is between the word and the line end.
fn version_1(line: &[u8]) -> Result<Option<SocketAddr>, ProxyHeaderError> {
    let malformed = ProxyHeaderError::Malformed;
    let line = str::from_utf8(line).map_err(|_| malformed("the line is not ASCII"))?;
    let mut words = line.split(' ');
    let family = words.next().unwrap_or_default();
    if family == "UNKNOWN" {
        // What follows is to be ignored.
        return Ok(None);
    }
    let mut next = || words.next().unwrap_or_default();
    let (source, destination) = (next(), next());
    let ports = [next(), next()].map(port);
    let address = |text: &str| -> Option<IpAddr> {
        match family {
            "TCP4" => text.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
            "TCP6" => text.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
            _ => None,
        }
    };
    let (Some(source), Some(_), [Some(port), Some(_)], None) =
        (address(source), address(destination), ports, words.next())
    else {
        return Err(malformed("expected TCP4 or TCP6, two addresses and two ports"));
    };
    Ok(Some(SocketAddr::new(source, port)))
}

/// Parses a port without leading zeros.
fn port(text: &str) -> Option<u16> {
    let port: u16 = text.parse().ok()?;
    (port.to_string() == text).then_some(port)
}

/// Reads what follows the signature.
async fn version_2(
    stream: &mut (impl AsyncRead + Unpin),
) -> Result<Option<SocketAddr>, ProxyHeaderError> {
    let malformed = ProxyHeaderError::Malformed;
    let [command, family, len @ ..] = {
        let mut fixed = [0; 4];
        stream.read_exact(&mut fixed).await?;
        fixed
    };
    let len = usize::from(u16::from_be_bytes(len));
    if len > MAX_REST {
        return Err(ProxyHeaderError::TooLong(MAX_REST));
    }
    let mut rest = vec![0; len];
    stream.read_exact(&mut rest).await?;
    match command {
        // The balancer's own connection: a health check.
        0x20 => return Ok(None),
        0x21 => {}
        _ => return Err(malformed("expected version 2 and the command LOCAL or PROXY")),
    }
    let short = || malformed("it is too short for its addresses");
    // Addresses of client and server, then their ports.
    let (address, port): (IpAddr, &[u8]) = match family {
        0x00 => return Ok(None),
        0x11 => {
            let bytes = rest.first_chunk::<12>().ok_or_else(short)?;
            let [a, b, c, d, ..] = *bytes;
            (Ipv4Addr::new(a, b, c, d).into(), &bytes[8..10])
        }
        0x21 => {
            let bytes = rest.first_chunk::<36>().ok_or_else(short)?;
            let (client, _) = bytes.split_first_chunk::<16>().ok_or_else(short)?;
            (Ipv6Addr::from(*client).into(), &bytes[32..34])
        }
        _ => return Err(malformed("expected addresses of TCP over IPv4 or IPv6")),
    };
    let [high, low] = *port else { return Err(short()) };
    Ok(Some(SocketAddr::new(address, u16::from_be_bytes([high, low]))))
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::{MAX_REST, SIGNATURE, read_client};

    /// Returns the client or the error, and what is left to read.
    async fn of(sent: &[u8]) -> (Result<Option<String>, String>, Vec<u8>) {
        let mut stream = sent;
        let found = read_client(&mut stream).await;
        let mut left = Vec::new();
        stream.read_to_end(&mut left).await.unwrap();
        let found = found.map(|client| client.map(|client| client.to_string()));
        (found.map_err(|error| error.to_string()), left)
    }

    fn version_2(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let len = u16::try_from(rest.len()).unwrap().to_be_bytes();
        [&SIGNATURE[..], &[command, family], &len, rest].concat()
    }

    const V4: [u8; 12] = [192, 0, 2, 7, 10, 0, 0, 1, 0x12, 0x34, 0, 80];

    fn v6() -> Vec<u8> {
        let mut bytes = vec![0; 36];
        bytes[..4].copy_from_slice(&[0x20, 1, 0xd, 0xb8]);
        bytes[15] = 7;
        bytes[32..].copy_from_slice(&[0x12, 0x34, 0, 80]);
        bytes
    }

    #[tokio::test]
    async fn it_reads_the_client_and_nothing_behind_the_header() {
        let v4 = Some("192.0.2.7:4660".to_owned());
        let v6_client = Some("[2001:db8::7]:4660".to_owned());
        let with_extensions = [&V4[..], &[4, 0, 1, 0], &[9; 300]].concat();
        for (header, expected) in [
            (b"PROXY TCP4 192.0.2.7 10.0.0.1 4660 80\r\n".to_vec(), v4.clone()),
            (b"PROXY TCP6 2001:db8::7 ::1 4660 80\r\n".to_vec(), v6_client.clone()),
            (b"PROXY UNKNOWN\r\n".to_vec(), None),
            (b"PROXY UNKNOWN ffff::1 what ever 1 2\r\n".to_vec(), None),
            (version_2(0x21, 0x11, &V4), v4.clone()),
            (version_2(0x21, 0x11, &with_extensions), v4),
            (version_2(0x21, 0x21, &v6()), v6_client),
            (version_2(0x20, 0x11, &V4), None),
            (version_2(0x20, 0, &[]), None),
            (version_2(0x21, 0, &[1, 2, 3]), None),
        ] {
            let sent = [&header[..], b"GET / HTTP/1.1"].concat();
            let text = String::from_utf8_lossy(&header).into_owned();
            assert_eq!(of(&sent).await, (Ok(expected), b"GET / HTTP/1.1".to_vec()), "{text}");
            for cut in 0..header.len() {
                let (found, _) = of(&header[..cut]).await;
                let error = found.expect_err("the header is cut");
                assert!(error.contains("the connection ended"), "{text} {cut}: {error}");
            }
        }
    }

    #[tokio::test]
    async fn a_malformed_header_is_refused() {
        let missing = "does not begin with a header of the PROXY protocol";
        let long = [b"PROXY TCP4 192.0.2.7 10.0.0.1 4660 ", &[b'8'; 200][..]].concat();
        let words = "expected TCP4 or TCP6, two addresses and two ports";
        for (header, expected) in [
            (b"GET / HTTP/1.1\r\nhost: h\r\n\r\n".to_vec(), missing),
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(), missing),
            (b"PROXIES UNKNOWN\r\n".to_vec(), missing),
            (b"\r\n\r\n\0\r\nQUIT\r and more".to_vec(), missing),
            (long, "the header is longer than 107 bytes"),
            (b"PROXY TCP4 192.0.2.7 10.0.0.1 4660\r\n".to_vec(), words),
            (b"PROXY TCP4 192.0.2.7 10.0.0.1 4660 80 x\r\n".to_vec(), words),
            (b"PROXY TCP4 192.0.2.7 10.0.0.1  80\r\n".to_vec(), words),
            (b"PROXY TCP4 192.0.2.7 10.0.0.1 04660 80\r\n".to_vec(), words),
            (b"PROXY TCP4 192.0.2.7 10.0.0.1 +466 80\r\n".to_vec(), words),
            (b"PROXY TCP4 192.0.2.7 10.0.0.1 66000 80\r\n".to_vec(), words),
            (b"PROXY TCP4 ::1 ::2 4660 80\r\n".to_vec(), words),
            (b"PROXY TCP6 192.0.2.7 10.0.0.1 4660 80\r\n".to_vec(), words),
            (b"PROXY UDP4 192.0.2.7 10.0.0.1 4660 80\r\n".to_vec(), words),
            (b"PROXY TCP4 \xff\xff\xff 10.0.0.1 4660 80\r\n".to_vec(), "is not ASCII"),
            (version_2(0x11, 0x11, &V4), "expected version 2"),
            (version_2(0x22, 0x11, &V4), "expected version 2"),
            (version_2(0x21, 0x12, &V4), "expected addresses of TCP"),
            (version_2(0x21, 0x31, &[0; 216]), "expected addresses of TCP"),
            (version_2(0x21, 0x11, &V4[..11]), "too short for its addresses"),
            (version_2(0x21, 0x21, &v6()[..35]), "too short for its addresses"),
            (version_2(0x21, 0x11, &[0; MAX_REST + 1]), "longer than 4096 bytes"),
        ] {
            let error = of(&header).await.0.expect_err("it is malformed");
            assert!(error.contains(expected), "{}: {error}", String::from_utf8_lossy(&header));
        }
    }
}
