//! Helpers of the servers and proxies of this suite: bodies that consist of pieces, and queries.

use core::convert::Infallible;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::collections::VecDeque;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use crate::subject::Failure;

/// A body that is in memory.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pieces: VecDeque<Bytes>,
    left: u64,
}

impl Pieces {
    pub(super) fn new(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        let pieces: VecDeque<Bytes> = pieces.into_iter().collect();
        let left = pieces.iter().map(|piece| piece.len() as u64).sum();
        Self { pieces, left }
    }
}

impl From<String> for Pieces {
    fn from(text: String) -> Self {
        Self::new([Bytes::from(text)])
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.pieces.pop_front();
        self.left -= piece.as_ref().map_or(0, |piece| piece.len() as u64);
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// Returns the next piece of a body; `None` after the last.
pub(super) async fn next(body: &mut Incoming) -> Option<Result<Bytes, hyper::Error>> {
    loop {
        match poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await? {
            Ok(frame) => match frame.into_data() {
                Ok(data) if !data.is_empty() => return Some(Ok(data)),
                _ => {}
            },
            Err(error) => return Some(Err(error)),
        }
    }
}

/// Reads a whole body that is known to be short. Fails beyond `most` bytes.
pub(super) async fn collect(mut body: Incoming, most: usize) -> Result<Vec<u8>, Failure> {
    let mut all = Vec::new();
    while let Some(piece) = next(&mut body).await {
        all.extend_from_slice(&piece?);
        if all.len() > most {
            return Err("a body is longer than expected".into());
        }
    }
    Ok(all)
}

/// Returns the value of a parameter in a query; an empty one for a name without a value.
pub(super) fn parameter<'a>(query: Option<&'a str>, name: &str) -> Option<&'a str> {
    query?.split('&').find_map(|one| match one.split_once('=') {
        Some((found, value)) => (found == name).then_some(value),
        None => (one == name).then_some(""),
    })
}

/// Returns the text between the first tag of that name and its end tag.
pub(crate) fn element<'a>(document: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = document.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(text, _)| text)
}

/// Builds an answer with a status and an empty body.
pub(super) fn status<B: Default>(status: StatusCode) -> Response<B> {
    let mut response = Response::new(B::default());
    *response.status_mut() = status;
    response
}
