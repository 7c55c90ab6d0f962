//! Tests of the client against servers that respond, stall, violate the protocol or close. Each
//! server is a socket of this process and sends exactly the bytes that the test chooses.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core, reason = "these are tests")]

mod answers;
mod bodies;
mod broken;
mod buffers;
mod hostile;
mod limits;
mod pool;
mod reuse;
mod server;
mod tls;
mod uploads;

use core::future::poll_fn;
use core::pin::Pin;
use core::time::Duration;

use bytes::Bytes;
use endseal_s3proxy::upstream::{
    Body, Client, ClientError, Limits, ResponseBody, ResponseError, Target, Trust,
};
use http::{Method, Request, Response};
use http_body::Body as _;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// Short enough for a test, and long enough for a busy machine.
const SOON: Duration = Duration::from_millis(500);
/// Timeout that only a failing test reaches.
const LATE: Duration = Duration::from_secs(60);

fn limits() -> Limits {
    Limits { connect: LATE, first_byte: LATE, idle: LATE, queue: LATE, ..Limits::default() }
}

fn client(port: u16, limits: Limits) -> Client {
    let target = Target::parse(&format!("http://127.0.0.1:{port}")).unwrap();
    Client::new(target, Trust::public(), limits)
}

fn request(method: Method, path: &str, body: Body) -> Request<Body> {
    Request::builder().method(method).uri(path).body(body).unwrap()
}

async fn get(client: &Client, path: &str) -> Result<Response<ResponseBody>, ClientError> {
    client.send(request(Method::GET, path, Body::empty())).await
}

async fn frame(body: &mut ResponseBody) -> Option<Result<Bytes, ResponseError>> {
    poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx))
        .await
        .map(|frame| frame.map(|frame| frame.into_data().unwrap_or_default()))
}

/// Reads the whole body, or the bytes before an error.
async fn read(mut body: ResponseBody) -> (Vec<u8>, Option<ResponseError>) {
    let mut all = Vec::new();
    while let Some(frame) = frame(&mut body).await {
        match frame {
            Ok(data) => all.extend_from_slice(&data),
            Err(error) => return (all, Some(error)),
        }
    }
    (all, None)
}

/// Sends a request from another runtime, which is kept and does nothing afterwards.
async fn get_elsewhere(client: &Client) -> Runtime {
    let client = client.clone();
    let request = move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let response = timeout(LATE, get(&client, "/")).await.expect("an answer").unwrap();
            assert_eq!(read(response.into_body()).await, (b"hi".to_vec(), None));
        });
        runtime
    };
    tokio::task::spawn_blocking(request).await.unwrap()
}

/// Checks that a connection serves only the runtime that opened it.
async fn stays(client: &Client) {
    let runtimes = [get_elsewhere(client).await, get_elsewhere(client).await];
    for _ in 0..2 {
        let response = timeout(LATE, get(client, "/")).await.expect("an answer").unwrap();
        assert_eq!(read(response.into_body()).await, (b"hi".to_vec(), None));
    }
    let counters = client.counters();
    assert_eq!((counters.opened(), counters.reused(), counters.retried()), (3, 1, 0));
    runtimes.into_iter().for_each(Runtime::shutdown_background);
}

/// Waits until other tasks have made a condition true.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}
