//! A peer that never reads costs bounded memory on both sides.

use std::time::Duration;

use crate::pair::{connected, frame, limits};

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_never_reads_makes_the_writer_wait() {
    let mut narrow = limits();
    (narrow.stream_window, narrow.connection_window) = (256 * 1024, 512 * 1024);
    narrow.send_window = 512 * 1024;
    let (pair, asked, taken) = connected(narrow).await;
    // Four streams of 64 MiB each: far beyond any window.
    let mut writers = Vec::new();
    for _ in 0..4 {
        let asked = asked.clone();
        writers.push(tokio::spawn(async move {
            let mut messages = asked.open_messages().await.unwrap();
            let one = frame(1, 65_536);
            for _ in 0..1024 {
                messages.send(&one).await.unwrap();
            }
            messages.finish().await.unwrap();
        }));
    }
    // Wait until no more data is moved.
    let mut before = u64::MAX;
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let now = pair.client.statistics().payload_sent;
        if now == before {
            break;
        }
        before = now;
    }
    // Data received and not read is bounded by the receiver's window, data written and not
    // acknowledged by the sender's. One frame of each waiting stream is added.
    let held = pair.client.statistics().payload_sent;
    assert!(held <= 2 * 512 * 1024 + 4 * 65_536, "{held} bytes are held somewhere");
    assert!(held >= 512 * 1024, "the windows are used: {held}");
    assert!(writers.iter().all(|writer| !writer.is_finished()));
    // The connection sent no more than that on the wire.
    assert!(taken.path().bytes_received < 1024 * 1024, "{}", taken.path().bytes_received);
    // Control frames share the connection window, which is full now. The connection lives, and
    // reading frees the window.
    let mut readers = Vec::new();
    for _ in 0..4 {
        let mut messages = taken.accept_messages().await.unwrap();
        readers
            .push(tokio::spawn(async move { while let Ok(Some(_)) = messages.receive().await {} }));
    }
    // A writer completes when QUIC has all of its data; the reader may have received part of it
    // before.
    for task in writers.into_iter().chain(readers) {
        task.await.unwrap();
    }
    assert_eq!(pair.server.statistics().payload_received, 4 * 1024 * 65_536);
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_no_one_accepts_make_the_opener_wait() {
    let mut few = limits();
    (few.messages, few.exchanges) = (8, 4);
    let (_pair, asked, taken) = connected(few).await;
    asked.confirmed().await.unwrap();
    let mut open = Vec::new();
    let more = async {
        loop {
            let mut messages = asked.open_messages().await.unwrap();
            messages.send(&frame(0, 10)).await.unwrap();
            open.push(messages);
        }
    };
    assert!(tokio::time::timeout(Duration::from_millis(500), more).await.is_err());
    assert_eq!(open.len(), 8);
    let mut exchanges = Vec::new();
    let more = async {
        loop {
            let (mut send, receive) = asked.open_exchange().await.unwrap();
            send.send(&frame(0, 10)).await.unwrap();
            exchanges.push((send, receive));
        }
    };
    assert!(tokio::time::timeout(Duration::from_millis(500), more).await.is_err());
    assert_eq!(exchanges.len(), 4);
    assert_eq!(taken.close_reason(), None);
}
