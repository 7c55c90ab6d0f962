//! Tests with connections that send nothing, and with bytes that are not a call.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use endseal_testing::Scratch;
use tokio::runtime::Builder;

use super::*;
use crate::control::idle::{FIRST_BYTE, GRACE, TIMEOUT};
use crate::control::{ControlClient, ControlConnectError, MAX_CONTROL_LINE};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// The reply to a caller whose line is not served.
const BUSY: &[u8] = b"busy\n";

/// Serves lines, each of which is sent back.
fn with_echo(work: impl AsyncFnOnce(&Path)) {
    let scratch = Scratch::new();
    let path = scratch.path("socket");
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let socket = ControlSocket::bind(&path).unwrap();
        tokio::spawn(async move {
            let echo = async |mut caller: ControlLines| {
                while let Some(line) = caller.next().await {
                    caller.send(&[&line[..], b"\n"].concat()).await.unwrap();
                }
            };
            socket.serve(BUSY, echo).await;
        });
        work(&path).await;
    });
}

async fn connect(path: &Path) -> UnixStream {
    UnixStream::connect(path).await.unwrap()
}

/// Sends bytes and reads until the connection ends.
async fn ask(stream: &mut UnixStream, bytes: &[u8]) -> Vec<u8> {
    // The other end may close before it has read everything.
    let _ = stream.write_all(bytes).await;
    let mut reply = Vec::new();
    let end = timeout(Duration::from_secs(8), stream.read_to_end(&mut reply)).await;
    let _ = end.expect("the connection ends");
    reply
}

#[test]
fn connections_that_say_nothing_are_closed_and_keep_no_command_out() {
    with_echo(async |path| {
        let begin = Instant::now();
        let mut silent = Vec::new();
        for _ in 0..CONNECTIONS {
            silent.push(connect(path).await);
        }
        // These are more calls than are served at the same time.
        for _ in 0..CONNECTIONS + 2 {
            echoed(&mut connect(path).await, b"a line\n").await;
        }
        assert!(begin.elapsed() < FIRST_BYTE, "{:?}", begin.elapsed());
        // One caller got the answer `BUSY`; the others have one second left.
        assert_eq!(ask(&mut silent.remove(0), b"").await, BUSY);
        for mut stream in silent {
            let reply = ask(&mut stream, b"").await;
            let is_in_time = begin.elapsed() >= FIRST_BYTE;
            assert!(reply == BUSY || reply.is_empty() && is_in_time, "{reply:?}");
        }
    });
}

#[test]
fn a_socket_has_its_mode_and_goes_with_its_process() {
    let scratch = Scratch::new();
    let path = scratch.path("socket");
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let _runtime = runtime.enter();
    let first = ControlSocket::bind(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    drop(first);
    assert!(!path.exists());
    let none = ControlClient::connect(&path, None).map(drop);
    assert!(matches!(none, Err(ControlConnectError::NotRunning)));
    // This leaves the state after a kill: the file exists, but nothing listens.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let stale = ControlClient::connect(&path, None).map(drop);
    assert!(matches!(stale, Err(ControlConnectError::NotRunning)));
    let _second = ControlSocket::bind(&path).unwrap();
    assert!(ControlClient::connect(&path, None).is_ok());
}

/// Many threads call at once. Each call is either handled and gets its reply, or is not handled and
/// gets `BUSY`.
#[test]
fn a_burst_of_calls_is_handled_or_refused() {
    const CALLERS: usize = 300;
    let scratch = Scratch::new();
    let path = scratch.path("socket");
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let handled = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&handled);
    let socket = {
        let _runtime = runtime.enter();
        ControlSocket::bind(&path).unwrap()
    };
    runtime.spawn(async move {
        let serve = move |mut caller: ControlLines| {
            let count = Arc::clone(&count);
            async move {
                if caller.next().await.is_some() {
                    count.fetch_add(1, Ordering::SeqCst);
                    caller.send(b"served\n").await.unwrap();
                }
            }
        };
        socket.serve(BUSY, serve).await;
    });
    let line = [&vec![b'x'; 1 << 20][..], b"\n"].concat();
    let replies: Vec<_> = std::thread::scope(|scope| {
        let call = || {
            let mut client = ControlClient::connect(&path, Some(TIMEOUT)).unwrap();
            client.send(&line).unwrap();
            let reply = client.receive().map_err(|error| error.to_string())?;
            Ok::<_, String>(String::from_utf8(reply.to_vec()).unwrap())
        };
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(call)).collect();
        callers.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let of = |reply: &str| replies.iter().filter(|it| it.as_deref() == Ok(reply)).count();
    assert_eq!(of("served") + of("busy"), CALLERS, "{replies:?}");
    assert_eq!(of("served"), handled.load(Ordering::SeqCst));
}

/// Sends bytes and receives as many.
async fn echoed(stream: &mut UnixStream, bytes: &[u8]) {
    let mut reply = vec![0; bytes.len()];
    let (mut read, mut write) = stream.split();
    let both = async { tokio::join!(write.write_all(bytes), read.read_exact(&mut reply)) };
    let (sent, received) = timeout(Duration::from_secs(8), both).await.expect("it is sent back");
    sent.and(received).unwrap();
    assert!(reply == bytes);
}

#[test]
fn lines_are_served_one_after_the_other_on_a_connection() {
    with_echo(async |path| {
        let mut stream = connect(path).await;
        echoed(&mut stream, b"one\n").await;
        echoed(&mut stream, b"two\n\nthree\n").await;
        sleep(FIRST_BYTE + GRACE).await;
        echoed(&mut stream, &[&vec![b'x'; MAX_CONTROL_LINE - 1][..], b"\nfour\n"].concat()).await;
        // The end of the connection is no end of a line.
        stream.write_all(b"part").await.unwrap();
        stream.shutdown().await.unwrap();
        assert!(ask(&mut stream, b"").await.is_empty());
    });
}

#[test]
fn lengths_above_the_limit_end_a_connection() {
    with_echo(async |path| {
        assert!(ask(&mut connect(path).await, &vec![b'x'; MAX_CONTROL_LINE + 1]).await.is_empty());
    });
}

#[test]
fn connections_that_wait_between_lines_keep_no_other_out() {
    with_echo(async |path| {
        let mut kept = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut stream = connect(path).await;
            echoed(&mut stream, b"first\n").await;
            kept.push(stream);
        }
        // The one that used its connection last is not the oldest any more.
        echoed(&mut kept[0], b"second\n").await;
        echoed(&mut connect(path).await, b"another\n").await;
        assert_eq!(ask(&mut kept[1], b"").await, BUSY);
        echoed(&mut kept[0], b"third\n").await;
    });
}
