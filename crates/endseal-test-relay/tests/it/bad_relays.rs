//! Relays that violate the protocol, written frame by frame.

use std::time::Duration;

use endseal_relay::ConnectError;
use endseal_relay::client::{Disconnect, Notification};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_websockets::{Message, ServerBuilder, WebSocketStream};

use super::fixture::*;

pub(crate) struct BadRelay(TcpListener);

/// A connection of a relay that the test simulates.
pub(crate) struct Peer(WebSocketStream<TcpStream>);

pub(crate) async fn listen() -> (String, BadRelay) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/path", listener.local_addr().unwrap());
    (url, BadRelay(listener))
}

impl BadRelay {
    /// Returns a connection before its handshake.
    pub(crate) async fn raw(&mut self) -> TcpStream {
        in_time(self.0.accept()).await.unwrap().0
    }

    pub(crate) async fn accept(&mut self) -> Peer {
        let stream = self.raw().await;
        let (request, socket) = in_time(ServerBuilder::new().accept(stream)).await.unwrap();
        assert_eq!(request.uri(), "/path");
        Peer(socket)
    }
}

impl Peer {
    pub(crate) async fn text(&mut self) -> String {
        loop {
            let message = in_time(self.0.next()).await.expect("a message").unwrap();
            if let Some(text) = message.as_text() {
                return text.to_owned();
            }
        }
    }

    pub(crate) async fn say(&mut self, text: &str) {
        self.0.send(Message::text(text.to_owned())).await.unwrap();
    }

    async fn raw(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).await.unwrap();
    }
}

/// Builds a frame of a server from its first byte and a payload of less than 64 KiB.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match u16::try_from(payload.len()).unwrap() {
        len @ ..=125 => frame.push(len.to_be_bytes()[1]),
        len => {
            frame.push(126);
            frame.extend_from_slice(&len.to_be_bytes());
        }
    }
    frame.extend_from_slice(payload);
    frame
}

async fn reason(client: &mut Client) -> Disconnect {
    loop {
        if let Notification::Disconnected { reason, .. } = client.next().await {
            return reason;
        }
    }
}

async fn notice(client: &mut Client) -> String {
    client
        .find(|notification| match notification {
            Notification::Notice(text) => Some(text.clone()),
            _ => None,
        })
        .await
}

#[tokio::test]
async fn malformed_and_unknown_messages_end_nothing() {
    let (url, mut relay) = listen().await;
    let mut client = Client::start(settings(&url));
    let mut peer = relay.accept().await;
    for text in [
        "",
        "x",
        "[]",
        "{}",
        "[1]",
        "[\"EVENT\"]",
        "[\"EVENT\",\"1\",7]",
        "[\"OK\",\"ab\",true,\"\"]",
        "[\"AUTH\"]",
        "[\"NEW\",1,2,3]",
        "[\"EVENT\",\"other subscription\",{}]",
        "[[[[[[[[[[[[",
    ] {
        peer.say(text).await;
    }
    peer.0.send(Message::binary(vec![0; 3])).await.unwrap();
    peer.say(r#"["NOTICE","still \u0007here",1]"#).await;
    assert_eq!(notice(&mut client).await, "still  here");
}

#[tokio::test]
async fn fragments_are_joined() {
    let (url, mut relay) = listen().await;
    let mut client = Client::start(settings(&url));
    let mut peer = relay.accept().await;
    let text = r#"["NOTICE","fragments: é"]"#.as_bytes();
    // Split within a character as well, with a ping in between.
    for (number, piece) in text.iter().enumerate() {
        let first = if number == 0 { 0x01 } else { 0x00 };
        let last = if number + 1 == text.len() { 0x80 } else { 0x00 };
        peer.raw(&frame(first | last, &[*piece])).await;
        if number == 5 {
            peer.raw(&frame(0x89, b"ping")).await;
        }
    }
    assert_eq!(notice(&mut client).await, "fragments: é");
}

#[tokio::test]
async fn a_text_that_is_not_utf8_ends_the_connection() {
    for bytes in [&frame(0x81, b"[\"NOTICE\",\"\xff\"]"), &frame(0x81, b"\xed\xa0\x80")] {
        let (url, mut relay) = listen().await;
        let mut client = Client::start(settings(&url));
        relay.accept().await.raw(bytes).await;
        assert!(matches!(reason(&mut client).await, Disconnect::NotUtf8));
    }
}

#[tokio::test]
async fn messages_above_the_limit_are_skipped_and_the_connection_stays() {
    let (url, mut relay) = listen().await;
    let mut settings = settings(&url);
    settings.limits.message = 1_000;
    let mut client = Client::start(settings);
    let text = |len: usize| format!("[\"NOTICE\",\"{}\"]", "x".repeat(len - 13));
    let mut peer = relay.accept().await;
    client.connected().await;
    peer.say(&text(1_000)).await;
    assert_eq!(notice(&mut client).await.len(), 256);
    let fragments = [frame(0x01, &[b'x'; 600]), frame(0x89, b""), frame(0x80, &[b'x'; 600])];
    let large = format!("{}{}", text(100_000), "\u{e9}".repeat(500_000));
    peer.say(&text(1_001)).await;
    peer.raw(&fragments.concat()).await;
    peer.say(&large).await;
    peer.say(r#"["NOTICE","still here"]"#).await;
    let mut skipped = (0, 0);
    loop {
        match client.next().await {
            Notification::Skipped { count, bytes } => {
                skipped = (skipped.0 + count, skipped.1 + bytes);
            }
            Notification::Notice(text) => break assert_eq!(text, "still here"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(skipped, (3, 1_001 + 1_200 + 1_100_000));
    // Only the head of a frame, with a length that no message has.
    peer.raw(&[0x81, 127, 0x80, 0, 0, 0, 0, 0, 0, 0]).await;
    assert!(matches!(reason(&mut client).await, Disconnect::MessageTooLarge));
}

/// A relay that needs longer than the silence for one message is not silent.
#[tokio::test]
async fn a_slow_message_above_the_limit_ends_nothing() {
    let (url, mut relay) = listen().await;
    let mut settings = settings(&url);
    settings.limits.message = 1_000;
    settings.timing.silence = Duration::from_millis(300);
    let mut client = Client::start(settings);
    let mut peer = relay.accept().await;
    client.connected().await;
    let message = frame(0x81, &[b'x'; 2_000]);
    for piece in message.chunks(100) {
        peer.raw(piece).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let next = client.next().await;
    assert!(matches!(next, Notification::Skipped { count: 1, bytes: 2_000 }), "{next:?}");
}

#[tokio::test]
async fn broken_frames_end_the_connection_and_the_next_one_works() {
    let (url, mut relay) = listen().await;
    let mut client = Client::start(settings(&url));
    for bytes in [&[0xf1, 0][..], &[0x83, 0], &[0x81, 0x81, 0, 0, 0, 0, b'x'], &[0x80, 1, b'x']] {
        let mut peer = relay.accept().await;
        peer.raw(bytes).await;
        let reason = reason(&mut client).await;
        assert!(matches!(reason, Disconnect::Protocol(_)), "{bytes:?}: {reason}");
    }
    relay.accept().await.say(r#"["NOTICE","fine"]"#).await;
    assert_eq!(notice(&mut client).await, "fine");
}

#[tokio::test]
async fn hostile_handshakes_are_refused() {
    let (url, mut relay) = listen().await;
    let mut client = Client::start(settings(&url));
    let head = "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
    let long = "A".repeat(400);
    for answer in [
        "HTTP/1.1 404 Not Found\r\n\r\n".to_owned(),
        // tokio-websockets panics at these two if it reads them.
        format!("{head}Sec-WebSocket-Accept: {long}\r\n\r\n"),
        format!("{head}Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n\r\n"),
        format!("{head}Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n"),
        format!("{head}X: {}", "x".repeat(40_000)),
        "SSH-2.0-OpenSSH\r\n\r\n".to_owned(),
    ] {
        let mut stream = relay.raw().await;
        let mut request = [0; 4_096];
        assert!(stream.read(&mut request).await.unwrap() > 0);
        let _closed = stream.write_all(answer.as_bytes()).await;
        let reason = reason(&mut client).await;
        let Disconnect::Connect(ConnectError::WebSocket(_)) = reason else {
            panic!("{reason}: {answer:.80}");
        };
    }
    drop(relay.accept().await);
    client.connected().await;
}

#[tokio::test]
async fn pings_without_end_do_not_fill_memory() {
    let (url, mut relay) = listen().await;
    let mut settings = settings(&url);
    settings.timing.silence = Duration::from_millis(500);
    let mut client = Client::start(settings);
    let mut peer = relay.accept().await;
    let ping = frame(0x89, &[0; 125]);
    // The peer reads no pongs. When its receive buffer is full, the client stops reading.
    let flood = async { while peer.0.get_mut().write_all(&ping.repeat(1_000)).await.is_ok() {} };
    let ((), reason) = in_time(async { tokio::join!(flood, reason(&mut client)) }).await;
    assert!(matches!(reason, Disconnect::Stalled), "{reason}");
}
