//! Tests of the sink and the proxies in series, within the test's process.

use core::net::SocketAddr;
use std::thread;

use tokio::net::TcpListener;

use super::client::{Connection, head};
use super::content::CHUNK;
use super::content::Content;
use super::upload::Upload;
use super::{DROP, KEEP, listen, pass, seed, signer, sink};
use crate::subject::Failure;

/// Starts a server on a thread of its own. It runs until the test's process ends.
pub(crate) fn start<F>(serve: impl FnOnce(TcpListener) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = Result<core::convert::Infallible, Failure>>,
{
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        listen::runtime()
            .unwrap()
            .block_on(async { serve(TcpListener::from_std(listener).unwrap()).await.map(drop) })
    });
    address
}

fn chains() -> [(&'static str, SocketAddr, SocketAddr); 3] {
    let sink = start(sink::serve);
    let pass = start(move |listener| pass::serve(listener, sink));
    let seed = start(move |listener| seed::serve(listener, sink));
    [("direct", sink, sink), ("pass-through", pass, sink), ("seed-ctr", seed, sink)]
}

fn ask(
    to: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> (u16, http::HeaderMap, Vec<u8>) {
    let head = head(&signer(), to, method, target, headers).unwrap();
    Connection::open(to).unwrap().ask(&head, body).unwrap()
}

fn put(to: SocketAddr, path: &str, content: Content) -> Result<(), Failure> {
    let head = head(&signer(), to, "PUT", path, &[]).unwrap();
    Connection::open(to)?.put(&head, content).map(drop)
}

fn get(to: SocketAddr, path: &str, content: Content) -> Result<(), Failure> {
    let head = head(&signer(), to, "GET", path, &[]).unwrap();
    Connection::open(to)?.get(&head, content, 0, content.len)
}

#[test]
fn objects_of_every_length_come_back_as_they_were() {
    for (name, entry, _) in chains() {
        // Lengths around the parts of 5 MB and the segments of 12 MB.
        for len in [1, 4096, (5 << 20) - 1, 5 << 20, (12 << 20) + 1, 24 << 20, 31_000_001] {
            let content = Content::new(len, len);
            let path = format!("/{KEEP}/{name}-{len}");
            put(entry, &path, content).unwrap_or_else(|why| panic!("{name} {len}: {why}"));
            get(entry, &path, content).unwrap_or_else(|why| panic!("{name} {len}: {why}"));
            let other = Content::new(len + 1, len);
            assert!(get(entry, &path, other).is_err(), "{name} {len}: the client compares");
        }
    }
}

#[test]
fn the_seed_encrypts_and_notices_a_change_only_at_the_end() {
    let [_, _, (_, seed, sink)] = chains();
    for len in [4096, 20 << 20] {
        let (path, content) = (format!("/{KEEP}/{len}"), Content::new(1, len));
        put(seed, &path, content).unwrap();
        assert!(get(sink, &path, content).is_err(), "{len}: it lies there in the clear");
        let (status, headers, mut stored) = ask(sink, "GET", &path, &[], &[]);
        assert_eq!(status, 200);
        let middle = stored.len() / 2;
        stored[middle] ^= 1;
        let kept: Vec<(&str, &str)> = headers
            .iter()
            .filter(|(name, _)| name.as_str().starts_with("x-amz-meta-"))
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        assert_eq!(ask(sink, "PUT", &path, &kept, &stored).0, 200);
        assert!(get(seed, &path, content).is_err(), "{len}: what comes is not what was stored");
    }
    assert_eq!(ask(seed, "GET", &format!("/{KEEP}/4096"), &[("range", "bytes=0-0")], &[]).0, 501);
}

#[test]
fn the_sink_gives_ranges_drops_what_it_is_told_to_and_counts() {
    let [(_, sink, _), (_, pass, _), _] = chains();
    let content = Content::new(9, 3_000_000);
    let (kept, dropped) = (format!("/{KEEP}/a"), format!("/{DROP}/a"));
    put(pass, &kept, content).unwrap();
    put(pass, &dropped, content).unwrap();
    for (range, from, len) in
        [("bytes=0-0", 0, 1), ("bytes=1048575-1048576", 1_048_575, 2), ("bytes=-3", 2_999_997, 3)]
    {
        let head = head(&signer(), pass, "GET", &kept, &[("range", range)]).unwrap();
        Connection::open(pass).unwrap().get(&head, content, from, len).unwrap();
    }
    assert_eq!(ask(pass, "GET", &kept, &[("range", "bytes=3000000-")], &[]).0, 416);
    let (status, headers, body) = ask(pass, "GET", &dropped, &[], &[]);
    assert_eq!((status, body.len()), (200, 0), "{headers:?}");
    assert_eq!(sink::counters(sink).unwrap(), [7.0, 6.0]);
    assert_eq!(ask(pass, "DELETE", &kept, &[], &[]).0, 204);
    assert_eq!(ask(pass, "GET", &kept, &[], &[]).0, 404);
}

#[test]
fn uploads_in_chunks_say_how_long_they_are() {
    let [direct, pass, _takes_no_chunks] = chains();
    for (_, entry, _) in [direct, pass] {
        for len in [0, 1, CHUNK, 5 * CHUNK + 7] {
            let path = format!("/{KEEP}/{}-{len}", entry.port());
            let content = Content::new(2, len);
            let upload = Upload::in_chunks(&signer(), entry, &path, content).unwrap();
            let mut connection = Connection::open(entry).unwrap();
            upload.send(&mut connection).unwrap();
            // If less than the announced length was read, the next request would be taken for the
            // rest.
            let head = head(&signer(), entry, "GET", &path, &[]).unwrap();
            connection.get(&head, content, 0, len).unwrap();
        }
    }
}
