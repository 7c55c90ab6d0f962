//! A proxy that only forwards: the cost of a proxy that does nothing. It neither verifies nor makes
//! signatures, and it does not look at the data.

use core::net::SocketAddr;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;

use bytes::Bytes;
use http::header::CONNECTION;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::upstream::Upstream;
use super::{Failure, listen};

/// Forwards requests until its process ends.
pub(crate) async fn serve(
    listener: tokio::net::TcpListener,
    backend: SocketAddr,
) -> Result<core::convert::Infallible, Failure> {
    let upstream = Arc::new(Upstream::new(backend));
    listen::serve(listener, move |request| {
        let upstream = Arc::clone(&upstream);
        async move { pass(&upstream, request).await }
    })
    .await
}

async fn pass(upstream: &Upstream<Incoming>, request: Request<Incoming>) -> Response<Passed> {
    let mut request = request;
    request.headers_mut().remove(CONNECTION);
    match upstream.send(request).await {
        Ok(mut response) => {
            response.headers_mut().remove(CONNECTION);
            response.map(|body| Passed(Some(body)))
        }
        Err(_) => {
            let mut response = Response::new(Passed(None));
            *response.status_mut() = StatusCode::BAD_GATEWAY;
            response
        }
    }
}

/// The backend's body, or an empty one.
struct Passed(Option<Incoming>);

impl Body for Passed {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.0 {
            Some(body) => Pin::new(body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}
