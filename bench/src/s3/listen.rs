//! An HTTP/1.1 server on a free port of the loopback interface, which prints its address.

use core::convert::Infallible;
use core::future::Future;
use core::net::SocketAddr;
use std::io::{self, Write as _};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use crate::subject::Failure;

/// Text that a server prints before its address, as `endseal s3 serve` does.
pub(crate) const GREETING: &str = "listening at http://";

/// Creates the runtime of all servers here, with the settings of `endseal s3 serve`.
pub(crate) fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().build()
}

/// Listens on a free port.
pub(crate) async fn bind() -> io::Result<TcpListener> {
    TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await
}

/// Prints the server's address to standard output.
pub(crate) fn announce(listener: &TcpListener) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{GREETING}{}", listener.local_addr()?)?;
    out.flush()
}

/// Answers connections until the future is dropped.
pub(super) async fn serve<F, B>(
    listener: TcpListener,
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static,
) -> Result<Infallible, Failure>
where
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error: Into<Failure>> + Send + 'static,
{
    loop {
        let (stream, _) = listener.accept().await?;
        // Without this option, small answers wait for the other side's acknowledgement.
        let _ = stream.set_nodelay(true);
        let answer = answer.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let answer = answer(request);
                async move { Ok::<_, Infallible>(answer.await) }
            });
            // Errors of clients that disconnect are ignored.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
