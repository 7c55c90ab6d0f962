//! Early data: saved round trips, and frames that must never be sent early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use endseal_transport::{
    Accept, CloseCode, Closed, ConnectError, EarlyData, Endpoint, IdempotentFrame, Kind, Limits,
    Policy, ReceiveError, SendError,
};

use crate::pair::{
    HERE, Pair, encoded, eventually, frame, key, limits, unless_overtaken, was_reset,
};
use crate::proxy::{Proxy, Weather};
use crate::raw::RawClient;
use crate::vectors;

fn early() -> Limits {
    let mut limits = limits();
    limits.early = 64 * 1024;
    limits
}

fn read_up_to(number: u64) -> IdempotentFrame {
    IdempotentFrame::new(Kind::Message, frame(number, 500).payload)
}

/// Creates a session to resume: a connection during which the server sends a ticket.
async fn meet(pair: &Pair, address: std::net::SocketAddr) {
    let (asked, taken) = pair.connect(address).await;
    taken.send_control(&frame(0, 1)).await.unwrap();
    asked.receive_control().await.unwrap();
    asked.close(CloseCode::Done).await;
    taken.closed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idempotent_frames_arrive_with_the_first_packet() {
    let pair = Pair::new(Policy::Hybrid, early());
    let weather = Weather { delay: Duration::from_millis(100), ..Weather::default() };
    let proxy = Proxy::new(pair.address(), weather, 1).await;
    meet(&pair, proxy.address()).await;

    let mut asking =
        pair.client.connect_early(pair.server.peer_id(), proxy.address()).await.unwrap();
    assert!(asking.is_early());
    asking.send(read_up_to(17)).await.unwrap();
    let serve = async {
        let taken = pair.server.accept().await.unwrap();
        assert_eq!(taken.peer(), pair.client.peer_id());
        let mut messages = taken.accept_messages().await.unwrap();
        let heard = messages.receive().await.unwrap().unwrap();
        assert_eq!(&heard, read_up_to(17).as_frame());
        (taken, messages)
    };
    let (asked, (taken, mut messages)) = tokio::join!(asking.established(), serve);
    let asked = asked.unwrap();
    assert_eq!(asked.handshake().early, EarlyData::Accepted);
    assert_eq!(taken.handshake().early, EarlyData::Accepted);
    assert_eq!(messages.receive().await, Ok(None), "established() ends the stream");
    // From here on it behaves like any other connection.
    asked.send_control(&frame(1, 10)).await.unwrap();
    assert_eq!(taken.receive_control().await, Ok(Some(frame(1, 10))));
    assert_eq!(pair.client.statistics().early_accepted, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_session_frames_follow_the_handshake() {
    let pair = Pair::new(Policy::Hybrid, early());
    for limits_off in [false, true] {
        let pair = if limits_off { &Pair::new(Policy::Hybrid, limits()) } else { &pair };
        if limits_off {
            meet(pair, pair.address()).await;
        }
        let mut asking =
            pair.client.connect_early(pair.server.peer_id(), pair.address()).await.unwrap();
        assert!(!asking.is_early());
        let sent = asking.send(read_up_to(1)).await;
        assert_eq!(sent, if limits_off { Err(SendError::EarlyFull) } else { Ok(()) });
        let (asked, taken) = tokio::join!(asking.established(), pair.server.accept());
        let (asked, taken) = (asked.unwrap(), taken.unwrap());
        assert_eq!(asked.handshake().early, EarlyData::NotUsed);
        if !limits_off {
            let mut messages = taken.accept_messages().await.unwrap();
            let heard = messages.receive().await.unwrap().unwrap();
            assert_eq!(&heard, read_up_to(1).as_frame());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_forgot_gets_the_frames_once_more() {
    let pair = Pair::new(Policy::Hybrid, early());
    let proxy = Proxy::new(pair.address(), Weather::default(), 1).await;
    meet(&pair, pair.address()).await;
    drop(proxy);
    // Another process with the same key, which has no sessions.
    let accept = Accept::pinned([pair.client.peer_id()]);
    let two = key(2, Policy::Hybrid);
    let reborn = Endpoint::bind_with(HERE.parse().unwrap(), &two, Policy::Hybrid, accept, early());
    let reborn = reborn.unwrap();
    let address = reborn.local_address().unwrap();
    let mut asking = pair.client.connect_early(reborn.peer_id(), address).await.unwrap();
    assert!(asking.is_early());
    asking.send(read_up_to(5)).await.unwrap();
    let (asked, taken) = tokio::join!(asking.established(), reborn.accept());
    let (asked, taken) = (asked.unwrap(), taken.unwrap());
    assert_eq!(asked.handshake().early, EarlyData::Rejected);
    let mut messages = taken.accept_messages().await.unwrap();
    assert_eq!(messages.receive().await.unwrap().as_ref(), Some(read_up_to(5).as_frame()));
    assert_eq!(messages.receive().await, Ok(None));
    assert_eq!(pair.client.statistics().early_rejected, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sealed_frame_may_be_early_too() {
    assert_eq!(IdempotentFrame::new(Kind::Control, &b"x"[..]).sealed(), None);
    assert_eq!(IdempotentFrame::new(Kind::Data, &b"x"[..]).sealed(), None);
    let sealed = read_up_to(3).sealed().unwrap();
    let pair = Pair::new(Policy::Hybrid, early());
    meet(&pair, pair.address()).await;
    let mut asking =
        pair.client.connect_early(pair.server.peer_id(), pair.address()).await.unwrap();
    assert!(asking.is_early());
    asking.send(sealed).await.unwrap();
    let (asked, taken) = tokio::join!(asking.established(), pair.server.accept());
    let (asked, taken) = (asked.unwrap(), taken.unwrap());
    assert_eq!(asked.handshake().early, EarlyData::Accepted);
    let heard = taken.accept_messages().await.unwrap().receive().await.unwrap().unwrap();
    assert!(heard.is_sealed() && heard.is_idempotent());
    assert_eq!(heard.payload, read_up_to(3).as_frame().payload);
}

#[tokio::test(flavor = "multi_thread")]
async fn early_frames_are_bounded() {
    let mut few = early();
    few.early = 1200;
    let pair = Pair::new(Policy::Hybrid, few);
    let mut asking =
        pair.client.connect_early(pair.server.peer_id(), pair.address()).await.unwrap();
    assert_eq!(asking.send(read_up_to(1)).await, Ok(()));
    assert_eq!(asking.send(read_up_to(2)).await, Ok(()));
    assert_eq!(asking.send(read_up_to(3)).await, Err(SendError::EarlyFull));
}

/// Runs all vectors of early data, sent by a raw client: our types cannot send most of them.
#[tokio::test(flavor = "multi_thread")]
async fn early_vectors() {
    for (name, vector) in vectors::early() {
        let pair = Pair::new(Policy::Hybrid, early());
        let raw = RawClient::new(1);
        raw_meeting(&pair, &raw).await;

        // The delay is long enough for the frame to arrive before the handshake is complete.
        let weather = Weather { delay: Duration::from_millis(50), ..Weather::default() };
        let proxy = Proxy::new(pair.address(), weather, 1).await;
        let (asked, _accepted) = raw.dial(proxy.address()).into_0rtt().ok().unwrap();
        let mut control = asked.open_uni().await.unwrap();
        control.write_all(&[0, 0x80, 0x80, 0x40]).await.unwrap();
        let mut message = asked.open_uni().await.unwrap();
        message.write_all(&[&[1], &vectors::unhex(&vector["bytes"])[..]].concat()).await.unwrap();
        message.finish().unwrap();
        let taken = pair.server.accept().await.unwrap();
        let mut messages = taken.accept_messages().await.unwrap();
        let mut payload = Vec::new();
        let class = loop {
            match messages.receive().await {
                Ok(Some(frame)) => payload.extend_from_slice(&frame.payload),
                Ok(None) => break "ok",
                Err(error) => break error.code(),
            }
        };
        assert_eq!(Some(class), vector["expect"].as_str(), "{name}");
        let expected = match class {
            "ok" => {
                assert_eq!(vectors::hex(&payload), vector["payload"], "{name}");
                continue;
            }
            "early" => CloseCode::Early,
            _ => CloseCode::Frame,
        };
        // Application error codes are not sent before the handshake is complete; APPLICATION_ERROR
        // replaces them (RFC 9000, 10.2.3).
        match asked.closed().await {
            quinn::ConnectionError::ApplicationClosed(close) => {
                assert_eq!(u64::from(close.error_code), expected.number(), "{name}");
            }
            quinn::ConnectionError::ConnectionClosed(close) => {
                assert_eq!(u64::from(close.error_code), 0x0c, "{name}");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A client that sends a control frame early, which the protocol forbids, and then aborts the
/// handshake.
#[tokio::test(flavor = "multi_thread")]
async fn early_control_frames_of_a_failed_handshake_are_not_given_out() {
    let pair = Pair::new(Policy::Hybrid, early());
    let raw = RawClient::new(1);
    raw_meeting(&pair, &raw).await;
    for completes in [false, true] {
        let weather = Weather { delay: Duration::from_millis(100), ..Weather::default() };
        let proxy = Proxy::new(pair.address(), weather, 1).await;
        let (asked, accepted) = raw.dial(proxy.address()).into_0rtt().ok().unwrap();
        let mut control = asked.open_uni().await.unwrap();
        let bytes = [&[0, 0x80, 0x80, 0x40][..], &encoded(&[frame(7, 10)])].concat();
        control.write_all(&bytes).await.unwrap();
        let taken = pair.server.accept().await.unwrap();
        assert_eq!(taken.handshake().early, EarlyData::Accepted);
        if completes {
            assert!(accepted.await);
            assert_eq!(taken.receive_control().await, Ok(Some(frame(7, 10))));
            continue;
        }
        // The server's answer has not arrived here yet.
        asked.close(0_u32.into(), b"");
        let heard = taken.receive_control().await;
        assert!(matches!(heard, Err(ReceiveError::Closed(_))), "{heard:?}");
        // The session has been used.
        raw_meeting(&pair, &raw).await;
    }
}

/// A CONNECTION_CLOSE in an Initial packet, which anyone on the path can forge, arrives before the
/// server has accepted the stream.
#[tokio::test(flavor = "multi_thread")]
async fn early_frames_of_a_failed_handshake_must_be_idempotent() {
    let pair = Pair::new(Policy::Hybrid, early());
    let raw = RawClient::new(1);
    raw_meeting(&pair, &raw).await;
    let weather = Weather { delay: Duration::from_millis(50), ..Weather::default() };
    let proxy = Proxy::new(pair.address(), weather, 1).await;
    let (asked, _accepted) = raw.dial(proxy.address()).into_0rtt().ok().unwrap();
    let mut control = asked.open_uni().await.unwrap();
    control.write_all(&[0, 0x80, 0x80, 0x40]).await.unwrap();
    let mut message = asked.open_uni().await.unwrap();
    message.write_all(&[&[1], &encoded(&[frame(7, 10)])[..]].concat()).await.unwrap();
    let (mut exchange, _) = asked.open_bi().await.unwrap();
    exchange.write_all(&[&[2], &encoded(&[frame(8, 10)])[..]].concat()).await.unwrap();
    let taken = pair.server.accept().await.unwrap();
    asked.close(0_u32.into(), b"");
    taken.closed().await;
    let heard = taken.accept_messages().await.unwrap().receive().await;
    assert_eq!(heard, Err(ReceiveError::Early));
    let (_, mut exchange) = taken.accept_exchange().await.unwrap();
    assert_eq!(exchange.receive().await, Err(ReceiveError::Early));
}

/// A client above its share of connections that resumes and never completes the handshake.
#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_handshake_that_stands_still_is_closed() {
    let mut narrow = early();
    narrow.second_flight_timeout = Duration::from_secs(1);
    narrow.connections_per_peer = 1;
    let pair = Pair::new(Policy::Hybrid, narrow);
    let raw = RawClient::new(1);
    raw_meeting(&pair, &raw).await;
    let _share = pair.connect(pair.address()).await;
    let weather = Weather { delay: Duration::from_millis(50), ..Weather::default() };
    let proxy = Proxy::new(pair.address(), weather, 1).await;
    let (asked, _accepted) = raw.dial(proxy.address()).into_0rtt().ok().unwrap();
    assert!(eventually(|| pair.server.statistics().half_open == 1).await);
    proxy.mute();
    let closed = tokio::time::timeout(Duration::from_secs(3), asked.closed()).await;
    assert!(closed.is_ok(), "the server holds a connection that counts nowhere");
}

/// A client that resumes, sends early data, and never completes the handshake. The connection ends
/// after the time limit of the second flight, not only after the idle timeout, even if the
/// application holds it.
#[tokio::test(flavor = "multi_thread")]
async fn an_early_connection_that_stands_still_is_closed() {
    let mut narrow = early();
    narrow.second_flight_timeout = Duration::from_millis(500);
    narrow.idle_timeout = Duration::from_secs(60);
    narrow.connections_per_peer = 1;
    let pair = Pair::new(Policy::Hybrid, narrow);
    let raw = RawClient::new(1);
    raw_meeting(&pair, &raw).await;
    let weather = Weather { delay: Duration::from_millis(30), ..Weather::default() };
    let proxy = Proxy::new(pair.address(), weather, 1).await;
    let (asked, _accepted) = raw.dial(proxy.address()).into_0rtt().ok().unwrap();
    let mut control = asked.open_uni().await.unwrap();
    control.write_all(&[0, 0x80, 0x80, 0x40]).await.unwrap();
    let taken = pair.server.accept().await.unwrap();
    proxy.mute();
    assert_eq!(taken.handshake().early, EarlyData::Accepted);
    let failed = pair.server.statistics().handshakes_failed;
    let closed = tokio::time::timeout(Duration::from_secs(3), taken.closed()).await;
    assert!(closed.is_ok(), "it has the peer's share");
    assert_eq!(pair.server.statistics().handshakes_failed, failed + 1);
    drop(taken);
    pair.connect(pair.address()).await;
}

/// A connection of a raw client, during which it receives a ticket.
async fn raw_meeting(pair: &Pair, raw: &RawClient) {
    let (asked, taken) = tokio::join!(raw.dial(pair.address()), pair.server.accept());
    let (asked, taken) = (asked.unwrap(), taken.unwrap());
    let mut control = asked.open_uni().await.unwrap();
    control.write_all(&[0, 0x80, 0x80, 0x40]).await.unwrap();
    taken.confirmed().await.unwrap();
    taken.send_control(&frame(0, 1)).await.unwrap();
    // The ticket has arrived when data that was sent after it has.
    let mut theirs = asked.accept_uni().await.unwrap();
    theirs.read_exact(&mut [0; 9]).await.unwrap();
    asked.close(0_u32.into(), b"");
}

/// An attacker records the first packets and replays them, until the server has forgotten the
/// connection and treats them as a new one.
#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_flight_is_not_heard_twice() {
    let pair = Pair::new(Policy::Hybrid, early());
    meet(&pair, pair.address()).await;
    let proxy = Proxy::new(pair.address(), Weather::default(), 1).await;
    let mut asking =
        pair.client.connect_early(pair.server.peer_id(), proxy.address()).await.unwrap();
    asking.send(read_up_to(17)).await.unwrap();
    let (asked, taken) = tokio::join!(asking.established(), pair.server.accept());
    let (asked, taken) = (asked.unwrap(), taken.unwrap());
    assert_eq!(asked.handshake().early, EarlyData::Accepted);
    let mut messages = taken.accept_messages().await.unwrap();
    messages.receive().await.unwrap().unwrap();
    asked.close(CloseCode::Done).await;
    taken.closed().await;

    let before = pair.server.statistics();
    let attacker = std::net::UdpSocket::bind(HERE).unwrap();
    let seen = proxy.take_seen();
    let repeat = || {
        for (_, datagram) in seen.iter().filter(|(from_client, _)| *from_client) {
            attacker.send_to(datagram, pair.address()).unwrap();
        }
    };
    let begins = || {
        repeat();
        let now = pair.server.statistics();
        now.half_open > 0 || now.accepted > before.accepted
    };
    assert!(eventually(begins).await);
    // The new attempt may have started in the middle of a flight. A resumed session would be
    // accepted at once.
    for _ in 0..3 {
        repeat();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let after = pair.server.statistics();
    assert_eq!(after.accepted, before.accepted, "{after:?}");
}

/// Pins are checked for resumed sessions, too.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_accepted_no_more_cannot_resume() {
    let is_refused = unless_overtaken(async || {
        let welcome = Arc::new(AtomicBool::new(true));
        let (one, two) = (key(1, Policy::Hybrid), key(2, Policy::Hybrid));
        let here = HERE.parse().unwrap();
        let asked_for = welcome.clone();
        let accept = Accept::when(move |_| asked_for.load(Ordering::Relaxed));
        let server = Endpoint::bind_with(here, &two, Policy::Hybrid, accept, early()).unwrap();
        let client =
            Endpoint::bind_with(here, &one, Policy::Hybrid, Accept::none(), early()).unwrap();
        let pair = Pair { client, server };
        meet(&pair, pair.address()).await;
        welcome.store(false, Ordering::Relaxed);
        // The refusal may arrive while the early frame is still being written.
        let told = match pair.client.connect_early(pair.server.peer_id(), pair.address()).await {
            Err(error) if was_reset(&error) => None,
            Err(error) => Some(error == ConnectError::Refused),
            Ok(mut asking) => {
                assert!(asking.is_early());
                let sent = asking.send(read_up_to(1)).await;
                let closed = match asking.established().await {
                    Err(error) if was_reset(&error) => Closed::Reset,
                    Err(error) => {
                        assert_eq!(error, ConnectError::Refused);
                        Closed::Refused
                    }
                    Ok(asked) => asked.closed().await,
                };
                if let Err(error) = sent {
                    assert_eq!(error, SendError::Closed(closed.clone()));
                }
                (closed != Closed::Reset).then_some(closed == Closed::Refused)
            }
        };
        assert!(eventually(|| pair.server.statistics().peers_refused == 1).await);
        assert_eq!(pair.server.statistics().frames_received, 0);
        told
    });
    assert!(is_refused.await);
}
