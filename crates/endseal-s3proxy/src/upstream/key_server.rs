//! HTTP client interface for key providers.

use core::future::poll_fn;
use core::pin::Pin;

use bytes::Bytes;
use endseal_crypto::secret::Zeroizing;
use endseal_kms::{HttpClient, HttpFailure, Pending};
use http::{Request, Response};
use http_body::Body as _;

use super::{Body, Client, ResponseBody};

impl HttpClient for Client {
    fn send(&self, request: Request<Bytes>, max_len: usize) -> Pending<'_> {
        Box::pin(async move {
            let (mut head, body) = request.into_parts();
            let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
            head.uri = self.target().request_target(path).map_err(|_| HttpFailure)?;
            let request = Request::from_parts(head, Body::full(body));
            let (head, body) =
                Self::send(self, request).await.map_err(|_| HttpFailure)?.into_parts();
            Ok(Response::from_parts(head, whole(body, max_len).await?))
        })
    }
}

/// Reads a body completely into a buffer that is never reallocated.
///
/// # Errors
/// If the body has more than `max_len` bytes or breaks off.
pub(crate) async fn whole(
    mut body: ResponseBody,
    max_len: usize,
) -> Result<Zeroizing<Vec<u8>>, HttpFailure> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(max_len));
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let data = frame.map_err(|_| HttpFailure)?.into_data().unwrap_or_default();
        if bytes.len() + data.len() > max_len {
            return Err(HttpFailure);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}
