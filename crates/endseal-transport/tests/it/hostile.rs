//! Peers that have an accepted key and violate the protocol: each fault ends their connection with
//! its close code, and other connections are not affected.

use endseal_transport::{
    CloseCode, Closed, Connection, Frame, FrameError, Kind, Policy, ReceiveError,
};

use crate::pair::{Pair, encoded, frame, limits};
use crate::raw::RawClient;

const CONTROL: &[u8] = &[0, 0x80, 0x80, 0x40]; // type 0, 1,048,576

async fn raw_connection(pair: &Pair) -> (quinn::Connection, Connection) {
    let raw = RawClient::new(1);
    let (asked, taken) = tokio::join!(raw.dial(pair.address()), pair.server.accept());
    (asked.unwrap(), taken.unwrap())
}

async fn send(connection: &quinn::Connection, bytes: &[u8]) -> quinn::SendStream {
    let mut stream = connection.open_uni().await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream
}

fn code(connection: &quinn::ConnectionError) -> CloseCode {
    let quinn::ConnectionError::ApplicationClosed(close) = connection else {
        panic!("{connection:?}")
    };
    CloseCode::of_number(close.error_code.into_inner())
}

/// Our keys work with rustls's own TLS code, as client and as server.
#[tokio::test(flavor = "multi_thread")]
async fn stock_rustls_talks_to_us() {
    let pair = Pair::new(Policy::Hybrid, limits());
    let (asked, taken) = raw_connection(&pair).await;
    assert_eq!(taken.peer(), pair.client.peer_id());
    let _control = send(&asked, &[CONTROL, &[0x10, 1, 2, 0, b'h', b'i']].concat()).await;
    let heard = taken.receive_control().await.unwrap().unwrap();
    assert_eq!(heard, Frame::new(Kind::Control, "hi").idempotent());
    let mut theirs = asked.accept_uni().await.unwrap();
    let mut prefix = [0; 4];
    theirs.read_exact(&mut prefix).await.unwrap();
    assert_eq!(prefix, CONTROL);
}

/// A client that offers a draft version of QUIC is sent the one supported version.
#[tokio::test(flavor = "multi_thread")]
async fn drafts_of_quic_are_refused() {
    let pair = Pair::new(Policy::Hybrid, limits());
    for draft in 29..=34 {
        let raw = RawClient::new(1).with_version(0xff00_0000 | draft);
        let refused = raw.dial(pair.address()).await.err();
        assert_eq!(refused, Some(quinn::ConnectionError::VersionMismatch), "draft {draft}");
    }
    assert_eq!(pair.server.statistics().accepted, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn control_streams_that_are_none_end_the_connection() {
    let large = [&[0][..], &[0x81, 0x80, 0x80, 0x08]].concat(); // 16 MiB and 1
    for (bytes, expected) in [
        (&[1, 1, 1][..], CloseCode::Stream), // a message stream where control should be
        (&[7], CloseCode::Stream),           // unknown
        (&[0, 0x80, 0x80, 0], CloseCode::Frame), // not minimal
        (&[0, 5], CloseCode::TooLarge),      // accepts too little
        (&large, CloseCode::TooLarge),       // claims to accept too much
    ] {
        let pair = Pair::new(Policy::Hybrid, limits());
        let (asked, taken) = raw_connection(&pair).await;
        let _control = send(&asked, bytes).await;
        assert_eq!(code(&asked.closed().await), expected, "{bytes:?}");
        let received = taken.receive_control().await;
        assert!(matches!(received, Err(ReceiveError::Closed(Closed::Here))), "{received:?}");
        assert_eq!(pair.server.statistics().protocol_errors, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_stream_that_never_comes_ends_the_connection() {
    let mut hasty = limits();
    hasty.handshake_timeout = std::time::Duration::from_millis(500);
    let pair = Pair::new(Policy::Hybrid, hasty);
    let (asked, taken) = raw_connection(&pair).await;
    assert_eq!(code(&asked.closed().await), CloseCode::Stream);
    assert!(matches!(taken.accept_messages().await.err(), Some(ReceiveError::Closed(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn message_streams_of_another_type_end_the_connection() {
    for kind in [0, 2, 3, 255] {
        let pair = Pair::new(Policy::Hybrid, limits());
        let (asked, taken) = raw_connection(&pair).await;
        let _control = send(&asked, CONTROL).await;
        let _message = send(&asked, &[kind]).await;
        let mut messages = taken.accept_messages().await.unwrap();
        assert_eq!(messages.receive().await, Err(ReceiveError::Stream(kind)));
        assert_eq!(code(&asked.closed().await), CloseCode::Stream);
    }
    let pair = Pair::new(Policy::Hybrid, limits());
    let (asked, taken) = raw_connection(&pair).await;
    let _control = send(&asked, CONTROL).await;
    let (mut stream, _) = asked.open_bi().await.unwrap();
    stream.write_all(&[1]).await.unwrap();
    let (_, mut exchange) = taken.accept_exchange().await.unwrap();
    assert_eq!(exchange.receive().await, Err(ReceiveError::Stream(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_that_are_none_end_the_connection() {
    let bomb = [0x11, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]; // 4 GiB
    let beyond = [0x11, 0, 0x81, 0x80, 0x40, 0]; // 1 MiB and 1
    let endless = [&[0x11, 0][..], &[0x80; 9]].concat();
    for (bytes, error, expected) in [
        (&[0x21][..], FrameError::Version, CloseCode::Frame),
        (&[0x01], FrameError::Version, CloseCode::Frame),
        (&[0x13], FrameError::Kind, CloseCode::Frame),
        (&[0x11, 4], FrameError::Flags, CloseCode::Frame),
        (&[0x12, 2], FrameError::Flags, CloseCode::Frame), // sealed data
        (&[0x11, 0, 0x80, 0], FrameError::Varint, CloseCode::Frame),
        (&endless, FrameError::Varint, CloseCode::Frame),
        (&bomb, FrameError::Limit, CloseCode::TooLarge),
        (&beyond, FrameError::Limit, CloseCode::TooLarge),
        (&[0x11, 0, 0, 1], FrameError::Sequence, CloseCode::Frame), // streams begin with 0
    ] {
        let pair = Pair::new(Policy::Hybrid, limits());
        let (asked, taken) = raw_connection(&pair).await;
        let _control = send(&asked, CONTROL).await;
        let _message = send(&asked, &[&[1], bytes].concat()).await;
        let mut messages = taken.accept_messages().await.unwrap();
        assert_eq!(messages.receive().await, Err(ReceiveError::Frame(error)), "{bytes:?}");
        assert_eq!(code(&asked.closed().await), expected, "{bytes:?}");
    }
}

/// Numbers increase by one on each stream, independently of other streams.
#[tokio::test(flavor = "multi_thread")]
async fn frames_out_of_sequence_end_the_connection() {
    for third in [0, 1, 3, 0x7f] {
        let pair = Pair::new(Policy::Hybrid, limits());
        let (asked, taken) = raw_connection(&pair).await;
        let _control = send(&asked, &[CONTROL, &[0x10, 0, 0, 0]].concat()).await;
        let two = [0x12, 0, 1, 0, 7, 0x11, 0, 0, 1];
        let _message = send(&asked, &[&[1][..], &two, &[0x11, 0, 0, third]].concat()).await;
        let mut messages = taken.accept_messages().await.unwrap();
        assert_eq!(messages.receive().await, Ok(Some(Frame::new(Kind::Data, &[7][..]))));
        assert_eq!(messages.receive().await, Ok(Some(Frame::new(Kind::Message, &[][..]))));
        let third = messages.receive().await;
        assert_eq!(third, Err(ReceiveError::Frame(FrameError::Sequence)));
        assert_eq!(third.unwrap_err().code(), "sequence");
        assert_eq!(code(&asked.closed().await), CloseCode::Frame);
        assert_eq!(pair.server.statistics().protocol_errors, 1);
    }
}

/// A stream is truncated at every byte: only the end of a frame is a valid end.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_ends_within_a_frame_is_no_shorter_stream() {
    let whole = [vec![1], encoded(&[frame(300, 5), frame(301, 0)])].concat();
    let first = whole.len() - 4;
    for cut in 0..=whole.len() {
        let pair = Pair::new(Policy::Hybrid, limits());
        let (asked, taken) = raw_connection(&pair).await;
        let _control = send(&asked, CONTROL).await;
        let mut stream = send(&asked, &whole[..cut]).await;
        stream.finish().unwrap();
        let mut messages = taken.accept_messages().await.unwrap();
        let mut count = 0;
        let end = loop {
            match messages.receive().await {
                Ok(Some(_)) => count += 1,
                Ok(None) => break Ok(count),
                Err(error) => break Err(error),
            }
        };
        let expected = match cut {
            1 => Ok(0),
            _ if cut == first => Ok(1),
            _ if cut == whole.len() => Ok(2),
            _ => Err(ReceiveError::Frame(FrameError::Truncated)),
        };
        assert_eq!(end, expected, "{cut}");
    }
}

/// Bytes are sent one at a time, so that each position is a chunk boundary once.
#[tokio::test(flavor = "multi_thread")]
async fn frames_may_come_in_any_pieces() {
    let pair = Pair::new(Policy::Hybrid, limits());
    let (asked, taken) = raw_connection(&pair).await;
    let _control = send(&asked, CONTROL).await;
    let frames = [frame(1 << 60, 40), frame(2, 0), frame(3, 200), frame(0, 1)];
    let bytes = [vec![1], encoded(&frames)].concat();
    let sending = tokio::spawn(async move {
        let mut stream = asked.open_uni().await.unwrap();
        for byte in bytes {
            stream.write_all(&[byte]).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        stream.finish().unwrap();
        asked
    });
    let mut messages = taken.accept_messages().await.unwrap();
    for frame in frames {
        assert_eq!(messages.receive().await, Ok(Some(frame)));
    }
    assert_eq!(messages.receive().await, Ok(None));
    drop(sending.await);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_hostile_peer_does_not_harm_another() {
    let pair = Pair::new(Policy::Hybrid, limits());
    let (good, good_taken) = pair.connect(pair.address()).await;
    for _ in 0..20 {
        let (bad, bad_taken) = raw_connection(&pair).await;
        let _noise = send(&bad, &[0xff; 100]).await;
        bad.closed().await;
        drop(bad_taken);
    }
    good.send_control(&frame(1, 100)).await.unwrap();
    assert_eq!(good_taken.receive_control().await, Ok(Some(frame(1, 100))));
    assert_eq!(pair.server.statistics().protocol_errors, 20);
}
