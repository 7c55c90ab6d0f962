//! SOCKS5, with a proxy that the test simulates.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use endseal_relay::address::Reach;
use endseal_relay::client::{Disconnect, Notification};
use endseal_relay::{ConnectError, Proxy, SocksError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use super::fixture::*;

/// Requests that a proxy received: user name, type of address, address and port.
type Seen = Arc<Mutex<Vec<(String, u8, Vec<u8>)>>>;

/// Starts a proxy that connects everything to `target`, or refuses with a reply other than 0.
async fn proxy(target: SocketAddr, reply: u8) -> (SocketAddr, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Seen::default();
    let all = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, target, reply, Arc::clone(&all)));
        }
    });
    (address, seen)
}

async fn serve(mut stream: TcpStream, target: SocketAddr, reply: u8, seen: Seen) -> io::Result<()> {
    let mut head = [0; 3];
    stream.read_exact(&mut head).await?;
    let [5, 1, method] = head else { panic!("{head:?}") };
    stream.write_all(&[5, method]).await?;
    let mut name = String::new();
    if method == 2 {
        assert_eq!(stream.read_u8().await?, 1);
        let mut text = vec![0; stream.read_u8().await?.into()];
        stream.read_exact(&mut text).await?;
        name = String::from_utf8(text).unwrap();
        let mut password = vec![0; stream.read_u8().await?.into()];
        stream.read_exact(&mut password).await?;
        stream.write_all(&[1, u8::from(name == "refused")]).await?;
    }
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let [5, 1, 0, kind] = head else { panic!("{head:?}") };
    let len = match kind {
        1 => 4,
        4 => 16,
        _ => usize::from(stream.read_u8().await?),
    };
    let mut host = vec![0; len + 2];
    stream.read_exact(&mut host).await?;
    seen.lock().unwrap().push((name, kind, host));
    // The address in the answer is a name, which is legal and rare.
    stream.write_all(&[5, reply, 0, 3, 3, b'a', b'b', b'c', 0, 1]).await?;
    if reply == 0 {
        let mut upstream = TcpStream::connect(target).await?;
        copy_bidirectional(&mut stream, &mut upstream).await?;
    }
    Ok(())
}

async fn failure(client: &mut Client) -> ConnectError {
    loop {
        if let Notification::Disconnected { reason: Disconnect::Connect(error), .. } =
            client.next().await
        {
            return error;
        }
    }
}

#[tokio::test]
async fn names_are_resolved_by_the_proxy() {
    let server = server().await;
    let (address, seen) = proxy(server.address(), 0).await;
    for (url, isolation, kind, host) in [
        ("ws://abcdefghij.onion:7777", None, 3, &b"abcdefghij.onion\x1e\x61"[..]),
        ("ws://localhost", Some("app 1"), 3, b"localhost\0\x50"),
        ("ws://127.0.0.1:1", Some("app 2"), 1, b"\x7f\0\0\x01\0\x01"),
        ("ws://[::1]:2", None, 4, b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\x02"),
    ] {
        let mut settings = settings(url);
        settings.proxy = Some(Proxy { address, isolation: isolation.map(str::to_owned) });
        let mut client = Client::start(settings);
        client.connected().await;
        let event = message_to("bob", "hello");
        client.publish(&event);
        assert!(client.result(&event).await.0);
        let expected = (isolation.unwrap_or_default().to_owned(), kind, host.to_vec());
        assert_eq!(seen.lock().unwrap().pop(), Some(expected));
    }
}

#[tokio::test]
async fn refusals_of_a_proxy_have_their_cause() {
    let (address, _) = proxy("127.0.0.1:1".parse().unwrap(), 5).await;
    let mut settings = settings("ws://abcdefghij.onion");
    settings.proxy = Some(Proxy { address, isolation: None });
    let error = failure(&mut Client::start(settings.clone())).await;
    assert!(matches!(error, ConnectError::Proxy(SocksError::Refused(5))), "{error}");
    settings.proxy = Some(Proxy { address, isolation: Some("refused".to_owned()) });
    let error = failure(&mut Client::start(settings.clone())).await;
    assert!(matches!(error, ConnectError::Proxy(SocksError::Authentication)), "{error}");
    settings.proxy = Some(Proxy { address, isolation: Some("x".repeat(256)) });
    let error = failure(&mut Client::start(settings.clone())).await;
    assert!(matches!(error, ConnectError::Proxy(SocksError::Length)), "{error}");
    // A server that speaks another protocol.
    let server = server().await;
    settings.proxy = Some(Proxy { address: server.address(), isolation: None });
    settings.timing.connect = SOON;
    let error = failure(&mut Client::start(settings)).await;
    assert!(matches!(error, ConnectError::Timeout | ConnectError::Io(_)), "{error}");
}

#[tokio::test]
async fn a_proxy_is_not_asked_for_private_addresses_of_outsiders() {
    let (address, seen) = proxy("127.0.0.1:1".parse().unwrap(), 0).await;
    let mut settings = settings("wss://192.168.1.1");
    settings.proxy = Some(Proxy { address, isolation: None });
    settings.reach = Reach::Public;
    let error = failure(&mut Client::start(settings)).await;
    assert!(matches!(error, ConnectError::NotPublic), "{error}");
    assert!(seen.lock().unwrap().is_empty());
}
