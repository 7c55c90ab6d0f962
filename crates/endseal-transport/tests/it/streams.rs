//! Data arrives in order and complete, in both directions, despite loss, reordering and changes of
//! address.

use std::time::Duration;

use endseal_transport::{CloseCode, Closed, Frame, Kind, Limits, Policy, ReceiveError, SendError};

use crate::pair::{Pair, connected, eventually, frame, limits, number};
use crate::proxy::{Proxy, Weather};

fn length(i: u64) -> usize {
    usize::try_from(i * 37 % 5000).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn control_frames_come_in_order_both_ways() {
    let (_pair, asked, taken) = connected(limits()).await;
    let talk = async |one: &endseal_transport::Connection| {
        for i in 0..500 {
            one.send_control(&frame(i, length(i))).await.unwrap();
        }
    };
    let listen = async |other: &endseal_transport::Connection| {
        for i in 0..500 {
            let expected = frame(i, length(i));
            assert_eq!(other.receive_control().await.unwrap(), Some(expected));
        }
    };
    tokio::join!(talk(&asked), listen(&taken), talk(&taken), listen(&asked));
    asked.close(CloseCode::Done).await;
    assert_eq!(taken.receive_control().await, Ok(None), "the end of the control stream");
    // A reset may hide the close reason (`unless_overtaken`), but not the end of the control
    // stream.
    let closed = taken.closed().await;
    assert!(matches!(closed, Closed::ByPeer(CloseCode::Done) | Closed::Reset), "{closed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_length_arrives() {
    let (_pair, asked, taken) = connected(limits()).await;
    let lengths = [0, 1, 127, 128, 1200, 2047, 2048, 2049, 16_383, 16_384, 65_536, 65_537, 1 << 20];
    let send = async {
        let mut messages = asked.open_messages().await.unwrap();
        for (i, len) in (0..).zip(lengths) {
            messages.send(&frame(i << 40, len)).await.unwrap();
        }
        messages.finish().await.unwrap();
    };
    let receive = async {
        let mut messages = taken.accept_messages().await.unwrap();
        for (i, len) in (0..).zip(lengths) {
            assert!(messages.receive().await.unwrap() == Some(frame(i << 40, len)), "{len}");
        }
        assert_eq!(messages.receive().await, Ok(None));
    };
    tokio::join!(send, receive);
}

#[tokio::test]
async fn frames_of_all_lengths_wait_for_each_other() {
    let (_pair, asked, taken) = connected(limits()).await;
    // Payloads that are copied behind others and payloads that are not, alternately.
    let length = |i: u64| [0, 1, 300, 2047, 2048, 2049, 9000][usize::try_from(i % 7).unwrap()];
    let send = async {
        let mut messages = asked.open_messages().await.unwrap();
        for i in 0..1500 {
            messages.feed(&frame(i, length(i))).await.unwrap();
            if i % 400 == 0 {
                messages.flush().await.unwrap();
            }
        }
        for i in 1500..2000 {
            messages.send(&frame(i, length(i))).await.unwrap();
        }
        messages.end().await.unwrap();
    };
    let receive = async {
        let mut messages = taken.accept_messages().await.unwrap();
        for i in 0..2000 {
            assert!(messages.receive().await.unwrap() == Some(frame(i, length(i))), "{i}");
        }
        assert_eq!(messages.receive().await, Ok(None));
    };
    tokio::join!(send, receive);
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_and_flags_arrive() {
    let (_pair, asked, taken) = connected(limits()).await;
    let plain = [Kind::Control, Kind::Message, Kind::Data].map(|kind| Frame::new(kind, "x"));
    let [control, message, data] = &plain;
    assert_eq!((control.clone().sealed(), data.clone().sealed()), (None, None));
    let sealed = message.clone().sealed().unwrap();
    let marked = [data.clone().idempotent(), sealed.clone(), sealed.idempotent()];
    let flags = marked.each_ref().map(|frame| (frame.is_idempotent(), frame.is_sealed()));
    assert_eq!(flags, [(true, false), (false, true), (true, true)]);
    // Short and long: headers are written in two ways.
    let long = marked.clone().map(|mut frame| {
        frame.payload = vec![7; 5000].into();
        frame
    });
    let frames = [&plain[..], &marked, &long].concat();
    let mut messages = asked.open_messages().await.unwrap();
    for frame in &frames {
        messages.send(frame).await.unwrap();
    }
    messages.end().await.unwrap();
    let mut received = taken.accept_messages().await.unwrap();
    for frame in frames {
        assert_eq!(received.receive().await, Ok(Some(frame)));
    }
    assert_eq!(received.receive().await, Ok(None));
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_that_wait_for_others_come_too() {
    let (_pair, asked, taken) = connected(limits()).await;
    let send = async {
        let mut messages = asked.open_messages().await.unwrap();
        for i in 0..200 {
            messages.feed(&frame(i, length(i))).await.unwrap();
        }
        messages.flush().await.unwrap();
        messages.feed(&frame(200, 1)).await.unwrap();
        messages.end().await.unwrap();
    };
    let receive = async {
        let mut messages = taken.accept_messages().await.unwrap();
        for i in 0..=200 {
            let expected = frame(i, if i == 200 { 1 } else { length(i) });
            assert!(messages.receive().await.unwrap() == Some(expected), "{i}");
        }
        assert_eq!(messages.receive().await, Ok(None));
    };
    tokio::join!(send, receive);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_streams_at_once_do_not_mix() {
    let (_pair, asked, taken) = connected(limits()).await;
    let send = async {
        for i in 0..600 {
            let mut messages = asked.open_messages().await.unwrap();
            for j in 0..3 {
                messages.send(&frame(i * 10 + j, 700)).await.unwrap();
            }
            // Not awaited: hundreds are open at once, and the limit makes the opener wait.
            tokio::spawn(messages.finish());
        }
    };
    let receive = async {
        let mut tasks = Vec::new();
        for _ in 0..600 {
            let mut messages = taken.accept_messages().await.unwrap();
            tasks.push(tokio::spawn(async move {
                let first = messages.receive().await.unwrap().unwrap();
                assert_eq!(first, frame(number(&first), 700));
                for j in 1..3 {
                    let next = messages.receive().await.unwrap();
                    assert_eq!(next, Some(frame(number(&first) + j, 700)));
                }
                assert_eq!(messages.receive().await, Ok(None));
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    };
    tokio::join!(send, receive);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_answers() {
    let (_pair, asked, taken) = connected(limits()).await;
    let answer = async {
        let (mut send, mut receive) = taken.accept_exchange().await.unwrap();
        while let Some(question) = receive.receive().await.unwrap() {
            let mut answer = question.payload.to_vec();
            answer.reverse();
            send.send(&Frame::new(Kind::Data, answer)).await.unwrap();
        }
        send.finish().await.unwrap();
    };
    let ask = async {
        let (mut send, mut receive) = asked.open_exchange().await.unwrap();
        for i in 0..50 {
            send.send(&frame(i, 3000)).await.unwrap();
            let mut expected = frame(i, 3000).payload.to_vec();
            expected.reverse();
            let answer = receive.receive().await.unwrap().unwrap();
            assert_eq!((answer.kind(), &answer.payload[..]), (Kind::Data, &expected[..]));
        }
        send.finish().await.unwrap();
        assert_eq!(receive.receive().await, Ok(None));
    };
    tokio::join!(answer, ask);
}

#[tokio::test(flavor = "multi_thread")]
async fn loss_and_reordering_change_nothing() {
    let mut limits = limits();
    // Long ones are few.
    limits.mtu = 1452;
    let pair = Pair::new(Policy::Hybrid, limits);
    let weather =
        Weather { delay: Duration::from_millis(2), loss: 50, late: 100, ..Weather::default() };
    let proxy = Proxy::new(pair.address(), weather, 7).await;
    let (asked, taken) = pair.connect(proxy.address()).await;
    let send = async {
        let mut messages = asked.open_messages().await.unwrap();
        for i in 0..300 {
            messages.send(&frame(i, 8192)).await.unwrap();
        }
        messages.finish().await.unwrap();
    };
    let receive = async {
        let mut messages = taken.accept_messages().await.unwrap();
        for i in 0..300 {
            assert!(messages.receive().await.unwrap() == Some(frame(i, 8192)), "{i}");
        }
        assert_eq!(messages.receive().await, Ok(None));
    };
    tokio::join!(send, receive);
    assert!(proxy.lost() > 50, "{} datagrams lost", proxy.lost());
    assert!(asked.path().packets_lost > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_survives_a_change_of_the_clients_address() {
    let pair = Pair::new(Policy::Hybrid, limits());
    let proxy = Proxy::new(pair.address(), Weather::default(), 1).await;
    let (asked, taken) = pair.connect(proxy.address()).await;
    let before = taken.path();
    assert!(!before.migrated);
    for i in 0..20 {
        if i == 10 {
            proxy.change_address().await;
        }
        asked.send_control(&frame(i, 2000)).await.unwrap();
        assert_eq!(taken.receive_control().await.unwrap(), Some(frame(i, 2000)));
    }
    assert!(taken.path().migrated);
    assert_ne!(taken.path().remote, before.remote);
    // Then the client itself changes its address.
    let (asked, taken) = pair.connect(pair.address()).await;
    pair.client.rebind("127.0.0.1:0".parse().unwrap()).unwrap();
    asked.send_control(&frame(1, 10)).await.unwrap();
    assert_eq!(taken.receive_control().await.unwrap(), Some(frame(1, 10)));
    assert!(eventually(|| taken.path().migrated).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_beyond_what_the_peer_accepts_is_not_sent() {
    let mut small = limits();
    small.frame = 100_000;
    let (_pair, asked, taken) = connected(small).await;
    let mut messages = asked.open_messages().await.unwrap();
    let refused = messages.send(&frame(0, 100_001)).await;
    assert_eq!(refused, Err(SendError::TooLarge { length: 100_001, max: 100_000 }));
    // No part of the frame was sent, so the stream can still be used.
    messages.send(&frame(1, 100_000)).await.unwrap();
    let mut received = taken.accept_messages().await.unwrap();
    assert!(received.receive().await.unwrap() == Some(frame(1, 100_000)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_call_sends_a_frame_whole_or_not_at_all() {
    let mut narrow = limits();
    (narrow.stream_window, narrow.send_window) = (16 * 1024, 16 * 1024);
    let (_pair, asked, taken) = connected(narrow).await;
    let mut messages = asked.open_messages().await.unwrap();
    let mut given_up = 0;
    for i in 0..40 {
        let one = frame(i, 9000);
        let sending = messages.send(&one);
        given_up +=
            u32::from(tokio::time::timeout(Duration::from_millis(3), sending).await.is_err());
    }
    assert!(given_up > 20, "the windows hold back: {given_up}");
    let receive = async {
        let mut received = taken.accept_messages().await.unwrap();
        let mut last = None;
        while let Some(next) = received.receive().await.unwrap() {
            assert!(last < Some(number(&next)));
            assert!(next == frame(number(&next), 9000));
            last = Some(number(&next));
        }
        last
    };
    let send = async {
        messages.send(&frame(99, 9000)).await.unwrap();
        messages.finish().await.unwrap();
    };
    let (last, ()) = tokio::join!(receive, send);
    assert_eq!(last, Some(99));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_finished_is_not_complete() {
    let (_pair, asked, taken) = connected(limits()).await;
    let mut messages = asked.open_messages().await.unwrap();
    messages.send(&frame(0, 10)).await.unwrap();
    let mut received = taken.accept_messages().await.unwrap();
    assert_eq!(received.receive().await.unwrap(), Some(frame(0, 10)));
    drop(messages);
    for _ in 0..2 {
        let again = received.receive().await;
        assert_eq!(again, Err(ReceiveError::Reset(CloseCode::Cancelled)));
    }
    // In the other direction: a receiver stops the stream.
    let mut messages = asked.open_messages().await.unwrap();
    messages.send(&frame(0, 10)).await.unwrap();
    taken.accept_messages().await.unwrap().stop();
    let mut outcome = Ok(());
    while outcome.is_ok() {
        outcome = messages.send(&frame(1, 10)).await;
    }
    assert_eq!(outcome, Err(SendError::Stopped(CloseCode::Cancelled)));
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_is_kept_alive_and_death_is_noticed() {
    let mut hasty = Limits::default();
    (hasty.idle_timeout, hasty.keep_alive) =
        (Duration::from_millis(600), Duration::from_millis(150));
    let pair = Pair::new(Policy::Hybrid, hasty);
    let proxy = Proxy::new(pair.address(), Weather::default(), 1).await;
    let (asked, taken) = pair.connect(proxy.address()).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!((asked.close_reason(), taken.close_reason()), (None, None));
    proxy.cut();
    assert_eq!(asked.closed().await, Closed::TimedOut);
    assert_eq!(taken.closed().await, Closed::TimedOut);
    assert!(eventually(|| pair.server.statistics().connections == 1).await);
    drop(taken);
    assert!(eventually(|| pair.server.statistics().connections == 0).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_are_those_of_what_happened() {
    let (pair, asked, taken) = connected(limits()).await;
    for i in 0..5 {
        asked.send_control(&frame(i, 100)).await.unwrap();
        taken.receive_control().await.unwrap();
    }
    let sent = pair.client.statistics();
    assert_eq!((sent.frames_sent, sent.payload_sent, sent.connected), (5, 500, 1));
    let received = pair.server.statistics();
    assert_eq!((received.frames_received, received.payload_received), (5, 500));
    let text = received.to_prometheus();
    assert!(text.contains("# TYPE endseal_transport_frames_received_total counter\n"));
    assert!(text.contains("\nendseal_transport_frames_received_total 5\n"), "{text}");
    assert!(text.contains("\nendseal_transport_connections 1\n"));
    let ids = [asked.peer(), taken.peer()].map(|peer| format!("{peer:?}"));
    assert!(ids.iter().all(|id| !text.contains(id)));
}
