//! A proxy that only forwards: the cost of a proxy that does nothing. It neither verifies nor makes
//! signatures, and it does not look at the data.

use core::convert::Infallible;
use core::net::SocketAddr;
use std::sync::Arc;

use http::header::CONNECTION;
use http::{Request, Response, StatusCode};
use http_body_util::Either;
use hyper::body::Incoming;
use tokio::net::TcpListener;

use super::http::{Pieces, status};
use super::listen;
use super::upstream::Upstream;
use crate::subject::Failure;

/// Forwards requests until its process ends.
pub(crate) async fn serve(
    listener: TcpListener,
    backend: SocketAddr,
) -> Result<Infallible, Failure> {
    let upstream = Arc::new(Upstream::new(backend));
    listen::serve(listener, move |request| {
        let upstream = Arc::clone(&upstream);
        async move { pass(&upstream, request).await }
    })
    .await
}

async fn pass(
    upstream: &Upstream<Incoming>,
    mut request: Request<Incoming>,
) -> Response<Either<Incoming, Pieces>> {
    request.headers_mut().remove(CONNECTION);
    match upstream.send(request).await {
        Ok(mut response) => {
            response.headers_mut().remove(CONNECTION);
            response.map(Either::Left)
        }
        Err(_) => status(StatusCode::BAD_GATEWAY).map(Either::Right),
    }
}
