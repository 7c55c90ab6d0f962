//! Limits of client and relay.

use std::time::Duration;

use endseal_relay::address::Address;
use endseal_relay::client::Settings;
use endseal_relay::message::{self, Filter};
use endseal_test_relay::Settings as ServerSettings;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_websockets::{ClientBuilder, Message, WebSocketStream};

use super::bad_relays::listen;
use super::fixture::*;

/// Connects a client that the test simulates.
async fn raw_client(url: &str) -> WebSocketStream<TcpStream> {
    let stream = TcpStream::connect(url.strip_prefix("ws://").unwrap()).await.unwrap();
    let builder = ClientBuilder::new().uri(url).unwrap();
    builder.connect_on(stream).await.unwrap().0
}

async fn say(socket: &mut WebSocketStream<TcpStream>, text: &str) {
    socket.send(Message::text(text.to_owned())).await.unwrap();
}

async fn hear(socket: &mut WebSocketStream<TcpStream>) -> String {
    let message = in_time(socket.next()).await.expect("a message").unwrap();
    message.as_text().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_caller_that_reads_nothing_stops_the_relay() {
    let (url, mut relay) = listen().await;
    let mut client = Client::with_channel(settings(&url), 4);
    client.relay.subscribe(Some(filter(&["bob"])));
    let mut peer = relay.accept().await;
    let subscription = "1";
    let event = message_to("bob", &"x".repeat(50_000));
    let text = message::deliver(subscription, &event.json);
    let text = str::from_utf8(&text).unwrap();
    peer.text().await;
    // The system's buffers hold some megabytes, the client holds four events.
    let mut written = 0;
    while timeout(SOON, peer.say(text)).await.is_ok() {
        written += 1;
        assert!(written < 2_000, "100 MB are written without a reader");
    }
    // Nothing is lost: the client continues when its caller does.
    for _ in 0..written {
        assert_eq!(client.event().await, event.json);
    }
}

#[tokio::test]
async fn the_caller_may_be_slow_for_longer_than_the_silence() {
    let server = server().await;
    let mut settings = settings(&server.url());
    settings.timing.silence = Duration::from_millis(200);
    settings.timing.ping = Duration::from_millis(50);
    let mut client = Client::with_channel(settings, 1);
    client.relay.subscribe(Some(filter(&["bob"])));
    client.connected().await;
    until(async || server.subscriptions() == 1).await;
    let mut sender = Client::start(super::fixture::settings(&server.url()));
    for number in 0..10 {
        let event = message_to("bob", &number.to_string());
        sender.publish(&event);
        assert!(sender.result(&event).await.0);
    }
    sleep(Duration::from_millis(600)).await;
    for number in 0..10 {
        assert_eq!(content(&client.event().await), number.to_string());
    }
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_disconnected_and_others_are_served() {
    let mut server_settings = ServerSettings::default();
    server_settings.limits.queued_bytes = 1 << 20;
    server_settings.limits.timeout = Duration::from_millis(500);
    let server = server_with(server_settings).await;
    let mut slow = raw_client(&server.url()).await;
    say(&mut slow, r#"["REQ","a",{"kinds":[24133]}]"#).await;
    until(async || server.subscriptions() == 1).await;
    let mut bob = Client::subscribed(&server, &["bob"]).await;
    let large = "x".repeat(100_000);
    let mut events = 0;
    while server.subscriptions() == 2 {
        bob.publish(&message_to("bob", &format!("{events}{large}")));
        bob.event().await;
        events += 1;
        assert!(events < 1_000, "100 MB wait for a client that reads nothing");
    }
    bob.publish(&message_to("bob", "after"));
    assert_eq!(bob.contents(1).await, ["after"]);
}

#[tokio::test]
async fn the_relay_refuses_what_exceeds_its_limits() {
    let mut server_settings = ServerSettings::default();
    server_settings.limits.message = 4_000;
    server_settings.limits.subscriptions = 2;
    server_settings.limits.connections = 2;
    server_settings.limits.stored_events = 3;
    let server = server_with(server_settings).await;
    let mut socket = raw_client(&server.url()).await;
    for id in ["a", "b", "b"] {
        say(&mut socket, &format!("[\"REQ\",\"{id}\",{{}}]")).await;
        assert_eq!(hear(&mut socket).await, format!("[\"EOSE\",\"{id}\"]"));
    }
    say(&mut socket, r#"["REQ","c",{}]"#).await;
    assert!(hear(&mut socket).await.starts_with("[\"CLOSED\",\"c\",\"rate-limited:"));
    say(&mut socket, r#"["CLOSE","a"]"#).await;
    say(&mut socket, r#"["REQ","c",{}]"#).await;
    assert_eq!(hear(&mut socket).await, "[\"EOSE\",\"c\"]");
    let filters = ",{}".repeat(21);
    say(&mut socket, &format!("[\"REQ\",\"b\"{filters}]")).await;
    assert!(hear(&mut socket).await.starts_with("[\"NOTICE\",\"invalid:"));
    say(&mut socket, &format!("[\"REQ\",\"{}\",{{}}]", "x".repeat(65))).await;
    assert!(hear(&mut socket).await.starts_with("[\"NOTICE\",\"invalid:"));

    let _second = raw_client(&server.url()).await;
    until(async || server.connections() == 2).await;
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let third = ClientBuilder::new().uri(&server.url()).unwrap();
    assert!(in_time(third.connect_on(stream)).await.is_err());

    say(&mut socket, &format!("[\"REQ\",\"{}\",{{}}]", "x".repeat(4_000))).await;
    while let Some(Ok(message)) = in_time(socket.next()).await {
        assert!(!message.is_text());
    }
    until(async || server.connections() == 1).await;

    let mut client = Client::start(settings(&server.url()));
    for number in 0..5_u64 {
        let event = event_of("a", 1, now() - 9 + number, &[], &number.to_string());
        client.publish(&event);
        assert!(client.result(&event).await.0);
    }
    client.relay.subscribe(Some(Filter { since: Some(0), ..Filter::default() }));
    assert_eq!(client.contents(3).await, ["4", "3", "2"]);
    client.hears_nothing().await;
}

#[tokio::test]
async fn hostile_requests_get_an_answer_or_an_end() {
    let server = server().await;
    for (request, expected) in [
        ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 426 "),
        ("GET / HTTP/1.1\r\naccept: application/nostr+json\r\n\r\n", "HTTP/1.1 200 OK"),
        ("POST / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n", "HTTP/1.1 426 "),
        ("GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n", "HTTP/1.1 400 "),
        // Without a check it would make tokio-websockets panic.
        (
            "GET /<> HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n\r\n",
            "HTTP/1.1 426 ",
        ),
        ("\r\n\r\n", "HTTP/1.1 426 "),
        (&"x".repeat(40_000), ""),
    ] {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        let _closed = stream.write_all(request.as_bytes()).await;
        let _closed = stream.shutdown().await;
        let mut answer = Vec::new();
        let _closed = in_time(stream.read_to_end(&mut answer)).await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with(expected), "{request:.60}: {answer}");
    }
    let mut client = Client::start(settings(&server.url()));
    client.connected().await;
}

#[tokio::test]
async fn dropping_the_handle_ends_the_connection() {
    let server = server().await;
    let client = Client::subscribed(&server, &["bob"]).await;
    drop(client);
    until(async || server.connections() == 0).await;
    // Dropping the other end of the channel ends the client as well.
    let client = Client::subscribed(&server, &["bob"]).await;
    drop(client.notifications);
    until(async || server.connections() == 0).await;
}

#[test]
fn the_defaults_are_those_of_the_documentation() {
    let settings = Settings::new(Address::parse("wss://relay.example").unwrap());
    let seconds = Duration::from_secs;
    assert_eq!(settings.limits.message, 1 << 20);
    assert_eq!((settings.timing.ping, settings.timing.silence), (seconds(30), seconds(75)));
    assert_eq!(
        (settings.timing.first_wait, settings.timing.longest_wait),
        (seconds(1), seconds(60))
    );
    assert_eq!((settings.timing.overlap, settings.timing.keep_unsent), (seconds(120), seconds(60)));
}
