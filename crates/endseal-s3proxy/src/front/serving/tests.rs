use alloc::sync::Arc;
use core::future::{pending, poll_fn};
use core::pin::pin;
use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use core::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{sleep, timeout};

use super::*;
use crate::body::{Leftover, Upload};
use crate::front::{Front, Stream};
use crate::workers::Workers;

/// What a stream holds that was written and not read.
const UNDERWAY: usize = 4_096;

async fn piece(upload: &mut Upload) -> Option<usize> {
    poll_fn(|cx| upload.poll_piece(cx)).await.map(|piece| piece.unwrap().len())
}

/// Serves a connection; `work` is done for each request, of which it gets the path.
async fn serve<W>(stream: DuplexStream, work: impl Fn(String, Box<Upload>, Leftover) -> W)
where
    W: Future<Output = ()>,
{
    serve_until(stream, pending(), work).await;
}

/// The same, with no other request after `stop`.
async fn serve_until<W>(
    stream: DuplexStream,
    stop: impl Future<Output = ()>,
    work: impl Fn(String, Box<Upload>, Leftover) -> W,
) where
    W: Future<Output = ()>,
{
    let stream: Box<dyn Stream> = Box::new(stream);
    let front = Front::new(stream, Duration::from_secs(60), 0, None);
    let mut builder = http1::Builder::new();
    builder.max_buf_size(64 * 1024).half_close(false);
    let mut serving = Serving::new(builder, front, 50_000, |request: Request<Incoming>, intake| {
        let path = request.uri().path().to_owned();
        let expects = request.headers().contains_key("expect");
        let leftover = Leftover::default();
        let upload = Upload::new(request.into_body(), expects, leftover.clone(), 0, intake);
        let work = work(path, upload, leftover);
        async move {
            work.await;
            Ok(Response::new(Outgoing::empty()))
        }
    });
    tokio::select! {
        () = serving.serve() => return,
        () = stop => {}
    }
    serving.stop();
    serving.serve().await;
}

#[tokio::test(start_paused = true)]
async fn no_more_is_read_than_the_piece_that_somebody_has() {
    const LEN: usize = 100_000;
    let (near, far) = tokio::io::duplex(UNDERWAY);
    let (tell, mut pieces) = mpsc::unbounded_channel();
    let turns = Arc::new(Semaphore::new(1));
    let may_ask = Arc::clone(&turns);
    tokio::spawn(serve(far, move |_, mut upload, _| {
        let (tell, may_ask) = (tell.clone(), Arc::clone(&may_ask));
        async move {
            loop {
                may_ask.acquire().await.unwrap().forget();
                let Some(len) = piece(&mut upload).await else { break };
                tell.send(len).unwrap();
            }
        }
    }));
    let (mut read, mut write) = tokio::io::split(near);
    let written = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&written);
    tokio::spawn(async move {
        let head = format!("PUT / HTTP/1.1\r\ncontent-length: {LEN}\r\n\r\n");
        write.write_all(head.as_bytes()).await.unwrap();
        while count.load(SeqCst) < LEN {
            let rest = LEN - count.load(SeqCst);
            count.fetch_add(write.write(&[7; 512][..rest.min(512)]).await.unwrap(), SeqCst);
        }
        pending::<()>().await;
    });
    let mut given = 0;
    while given < LEN {
        given += pieces.recv().await.unwrap();
        // The clock stands still until nothing can go on.
        sleep(Duration::from_millis(1)).await;
        assert!(written.load(SeqCst) <= given + UNDERWAY, "{} {given}", written.load(SeqCst));
        turns.add_permits(1);
    }
    let mut answer = [0; 15];
    read.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
}

#[tokio::test(start_paused = true)]
async fn a_connection_serves_again_whatever_became_of_an_upload() {
    let (mut near, far) = tokio::io::duplex(UNDERWAY);
    // Takes as many pieces as the path says.
    tokio::spawn(serve(far, |path, mut upload, leftover| async move {
        for _ in 0..path[1..].parse().unwrap() {
            if piece(&mut upload).await.is_none() {
                break;
            }
            sleep(Duration::from_millis(1)).await;
        }
        drop(upload);
        assert!(leftover.drain().await);
    }));
    for len in [0, 1, 1_000, 50_000] {
        for pieces in [0, 1, 2, 5, 100] {
            for expects in [false, true] {
                // Its connection could not serve again.
                if expects && (pieces == 0 || len == 0) {
                    continue;
                }
                let expect = if expects { "expect: 100-continue\r\n" } else { "" };
                let head =
                    format!("PUT /{pieces} HTTP/1.1\r\n{expect}content-length: {len}\r\n\r\n");
                near.write_all(head.as_bytes()).await.unwrap();
                let mut answer = String::new();
                if expects {
                    answer = read_head(&mut near).await;
                    assert!(answer.starts_with("HTTP/1.1 100 "), "{answer}");
                }
                near.write_all(&vec![7; len]).await.unwrap();
                answer.clear();
                answer += &read_head(&mut near).await;
                assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
            }
        }
    }
}

#[tokio::test]
async fn a_short_upload_takes_its_connection_one_look() {
    let (mut near, far) = tokio::io::duplex(UNDERWAY);
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&looks);
    let workers = Workers::start(1).unwrap();
    workers.give(|_| async move {
        let mut serving = pin!(serve(far, |_, mut upload, _| async move {
            while piece(&mut upload).await.is_some() {}
        }));
        poll_fn(|cx| {
            counted.fetch_add(1, SeqCst);
            serving.as_mut().poll(cx)
        })
        .await;
    });
    for len in [1_000, 3_000] {
        for _ in 0..100 {
            let head = format!("PUT / HTTP/1.1\r\ncontent-length: {len}\r\n\r\n");
            near.write_all(&[head.as_bytes(), &vec![7; len]].concat()).await.unwrap();
            assert!(read_head(&mut near).await.starts_with("HTTP/1.1 200 "));
        }
    }
    // One for each that was written, and one before, perhaps. A look can see that the next request has come.
    let looks = looks.load(SeqCst);
    assert!(looks <= 201, "{looks}");
    // Who needs another look gets it: for what did not come with the head.
    let head = "PUT / HTTP/1.1\r\ncontent-length: 20000\r\n\r\n";
    near.write_all(&[head.as_bytes(), &[7; 20_000]].concat()).await.unwrap();
    let answer = timeout(Duration::from_secs(10), read_head(&mut near)).await;
    assert!(answer.unwrap().starts_with("HTTP/1.1 200 "));
}

async fn read_head(stream: &mut DuplexStream) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        head.push(char::from(stream.read_u8().await.unwrap()));
    }
    head
}

/// What is here of a body, all of it by default, and whether it was read past hyper at last. `None` if it broke.
async fn read(upload: &mut Upload, most: usize) -> Option<(Vec<u8>, bool)> {
    let (mut content, mut is_lent) = (Vec::new(), false);
    let mut room = BytesMut::with_capacity(30_000);
    while content.len() < most {
        room.clear();
        let left = most - content.len();
        match poll_fn(|cx| upload.poll_read(cx, &mut room, left)).await {
            Some(Ok(())) => content.extend_from_slice(&room),
            Some(Err(_)) => return None,
            None => break,
        }
        assert!(!room.is_empty());
        is_lent |= upload.is_lent();
    }
    Some((content, is_lent))
}

/// The same of all of a body, piece by piece, of which the last ones are kept.
async fn read_pieces(upload: &mut Upload) -> Option<(Vec<u8>, bool)> {
    let (mut pieces, mut is_lent, mut room) = (Vec::new(), false, BytesMut::new());
    while let Some(piece) = poll_fn(|cx| upload.poll_bytes(cx, &mut room, 30_000)).await {
        let piece = piece.ok()?;
        assert!(!piece.is_empty() && room.is_empty());
        is_lent |= upload.is_lent();
        assert!(!is_lent || piece.len() <= 30_000);
        pieces.push(piece);
    }
    Some((pieces.concat(), is_lent))
}

fn body(len: usize) -> Vec<u8> {
    (0..=250).cycle().step_by(31).take(len).collect()
}

/// For the path `/most`: so many bytes of the body are read, and told to `tell`; for `/pieces` all, by the piece.
fn reads(
    tell: mpsc::UnboundedSender<Option<(Vec<u8>, bool)>>,
) -> impl Fn(String, Box<Upload>, Leftover) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    move |path, mut upload, leftover| {
        let tell = tell.clone();
        Box::pin(async move {
            let (most, drains) = path[1..].split_once('/').unwrap_or((&path[1..], ""));
            let got = match most {
                "pieces" => read_pieces(&mut upload).await,
                most => read(&mut upload, most.parse().unwrap_or(usize::MAX)).await,
            };
            tell.send(got).unwrap();
            drop(upload);
            if drains == "drain" {
                leftover.drain().await;
            }
        })
    }
}

fn head(path: &str, len: usize, more: &str) -> String {
    format!("PUT {path} HTTP/1.1\r\n{more}content-length: {len}\r\n\r\n")
}

#[tokio::test(start_paused = true)]
async fn long_bodies_are_read_past_hyper_one_behind_another() {
    for (underway, path) in
        [(UNDERWAY, "/all"), (1 << 20, "/all"), (UNDERWAY, "/pieces"), (1 << 20, "/pieces")]
    {
        let (mut near, far) = tokio::io::duplex(underway);
        let (tell, mut told) = mpsc::unbounded_channel();
        tokio::spawn(serve(far, reads(tell)));
        for len in [0, 1, 65_535, 65_536, 100_000, 300_001] {
            for expects in [false, true] {
                for together in [false, true] {
                    let expect = if expects { "expect: 100-continue\r\n" } else { "" };
                    let mut request = head(path, len, expect).into_bytes();
                    if together && !expects {
                        request.extend(body(len));
                        near.write_all(&request).await.unwrap();
                    } else {
                        near.write_all(&request).await.unwrap();
                        if expects && len > 0 {
                            assert!(read_head(&mut near).await.starts_with("HTTP/1.1 100 "));
                        }
                        near.write_all(&body(len)).await.unwrap();
                    }
                    let (content, is_lent) = told.recv().await.unwrap().unwrap();
                    assert!(content == body(len), "{path} {len}");
                    // What comes with its head, or in the first read, hyper has.
                    assert!(is_lent || len < 300_000, "{path} {len} {expects} {together}");
                    assert!(!is_lent || len >= 65_536, "{path} {len} {expects} {together}");
                    let answer = read_head(&mut near).await;
                    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
                    assert!(!answer.contains("connection: close"), "{answer}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn requests_that_follow_at_once_are_served() {
    let (mut near, far) = tokio::io::duplex(1 << 20);
    let (tell, mut told) = mpsc::unbounded_channel();
    tokio::spawn(serve(far, reads(tell)));
    let lens = [66_000, 100_000, 10, 70_000, 200_000, 0];
    let mut all = Vec::new();
    for len in lens {
        all.extend(head("/all", len, "").into_bytes());
        all.extend(body(len));
    }
    near.write_all(&all).await.unwrap();
    for len in lens {
        assert!(told.recv().await.unwrap().unwrap().0 == body(len), "{len}");
        assert!(read_head(&mut near).await.starts_with("HTTP/1.1 200 "));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_left_of_a_body_is_drained_or_ends_the_connection() {
    // Nothing is asked for, or the socket and dropped before it is lent, or some of it is read past hyper.
    for most in [0, 1, 5_000, 80_000] {
        for (drains, underway) in [(true, UNDERWAY), (true, 1 << 20), (false, 1 << 20)] {
            let (mut near, far) = tokio::io::duplex(underway);
            let (tell, mut told) = mpsc::unbounded_channel();
            tokio::spawn(serve(far, reads(tell)));
            let path = format!("/{most}/{}", if drains { "drain" } else { "" });
            near.write_all(head(&path, 200_000, "").as_bytes()).await.unwrap();
            near.write_all(&body(200_000)).await.unwrap();
            let (content, is_lent) = told.recv().await.unwrap().unwrap();
            assert!(content == body(200_000)[..most]);
            assert_eq!(is_lent, most == 80_000 || is_lent && most > 0);
            let answer = read_head(&mut near).await;
            assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
            if drains {
                near.write_all(head("/all", 3, "").as_bytes()).await.unwrap();
                near.write_all(b"end").await.unwrap();
                assert_eq!(told.recv().await.unwrap().unwrap().0, b"end");
                assert!(read_head(&mut near).await.starts_with("HTTP/1.1 200 "));
            } else {
                let mut rest = Vec::new();
                near.read_to_end(&mut rest).await.unwrap();
                assert!(rest.is_empty(), "the body is no request");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_socket_that_was_asked_for_and_is_not_wanted_stays_with_hyper() {
    let (mut near, far) = tokio::io::duplex(UNDERWAY);
    tokio::spawn(serve(far, |_, mut upload, leftover| async move {
        let mut room = BytesMut::with_capacity(100);
        // The body has not come: it asks, and does not wait.
        let asked = poll_fn(|cx| Poll::Ready(upload.poll_read(cx, &mut room, 100))).await;
        assert!(asked.is_pending() && !upload.is_lent());
        drop(upload);
        assert!(leftover.drain().await);
    }));
    for _ in 0..3 {
        near.write_all(head("/", 100_000, "").as_bytes()).await.unwrap();
        sleep(Duration::from_millis(1)).await;
        near.write_all(&body(100_000)).await.unwrap();
        assert!(read_head(&mut near).await.starts_with("HTTP/1.1 200 "));
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_goes_away_is_noticed() {
    for sent in [0, 10, 70_000, 199_999] {
        let (mut near, far) = tokio::io::duplex(UNDERWAY);
        let (tell, mut told) = mpsc::unbounded_channel();
        let serving = tokio::spawn(serve(far, reads(tell)));
        near.write_all(head("/all", 200_000, "").as_bytes()).await.unwrap();
        near.write_all(&body(sent)).await.unwrap();
        sleep(Duration::from_millis(1)).await;
        drop(near);
        serving.await.unwrap();
        // Of a client that went away before anything was read past hyper, hyper drops the work.
        assert!(told.recv().await.flatten().is_none(), "{sent}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_says_how_the_connection_goes_on_is_read_by_hyper() {
    let old = "PUT /all HTTP/1.0\r\ncontent-length: 100000\r\n\r\n".to_owned();
    for request in [old, head("/all", 100_000, "connection: close\r\n")] {
        let (mut near, far) = tokio::io::duplex(UNDERWAY);
        let (tell, mut told) = mpsc::unbounded_channel();
        tokio::spawn(serve(far, reads(tell)));
        near.write_all(request.as_bytes()).await.unwrap();
        near.write_all(&body(100_000)).await.unwrap();
        let (content, is_lent) = told.recv().await.unwrap().unwrap();
        assert!(content == body(100_000) && !is_lent);
        let mut answer = String::new();
        near.read_to_string(&mut answer).await.unwrap();
        assert!(answer.contains(" 200 OK\r\n"), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_stops_ends_with_the_answer_at_hand() {
    for sent in [0, 10, 150_000] {
        let (mut near, far) = tokio::io::duplex(UNDERWAY);
        let (tell, mut told) = mpsc::unbounded_channel();
        let stop = Arc::new(Semaphore::new(0));
        let stops = Arc::clone(&stop);
        let stopped = async move { stops.acquire().await.unwrap().forget() };
        let serving = tokio::spawn(serve_until(far, stopped, reads(tell)));
        near.write_all(head("/all", 150_000, "").as_bytes()).await.unwrap();
        near.write_all(&body(sent)).await.unwrap();
        sleep(Duration::from_millis(1)).await;
        if sent < 150_000 {
            stop.add_permits(1);
            sleep(Duration::from_millis(1)).await;
            near.write_all(&body(150_000)[sent..]).await.unwrap();
        }
        assert!(told.recv().await.unwrap().unwrap().0 == body(150_000));
        assert!(read_head(&mut near).await.starts_with("HTTP/1.1 200 "));
        stop.add_permits(1);
        serving.await.unwrap();
        assert_eq!(near.read(&mut [0]).await.unwrap(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_of_a_connection_that_is_dropped_while_its_socket_is_lent() {
    let (mut near, far) = tokio::io::duplex(UNDERWAY);
    let (tell, mut told) = mpsc::unbounded_channel();
    let serving = tokio::spawn(serve(far, reads(tell)));
    near.write_all(head("/all", 200_000, "").as_bytes()).await.unwrap();
    near.write_all(&body(100_000)).await.unwrap();
    sleep(Duration::from_millis(1)).await;
    serving.abort();
    assert!(serving.await.is_err() && told.recv().await.is_none());
    assert_eq!(near.read(&mut [0]).await.unwrap(), 0, "the socket is closed");
}
