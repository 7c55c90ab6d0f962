//! Downloads: the object is read in segments and decrypted. The HMAC is compared at the end, when
//! everything has been sent.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;

use aws_lc_rs::cipher::StreamingDecryptingKey;
use aws_lc_rs::hmac;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use http::{HeaderMap, HeaderValue, Method, Response};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use tokio::sync::mpsc;

use super::{COUNTER_HEADER, KEY_HEADER, PART, SEGMENT, Seed};
use crate::s3::Failure;
use crate::s3::http::{Pieces, collect, next};

pub(super) async fn get(proxy: &Arc<Seed>, path: &str) -> Result<Response<Body>, Failure> {
    let response = proxy.send(Method::GET, path, HeaderMap::new(), Pieces::default()).await?;
    let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let Some(wrapped) = text(KEY_HEADER).filter(|_| response.status().is_success()) else {
        return Ok(response.map(Body::Passed));
    };
    let key = proxy.master.unwrap(wrapped)?;
    let counter = text(COUNTER_HEADER).map(str::to_owned);
    let (head, body) = response.into_parts();
    let mut answer = Response::new(Body::None);
    for name in [CONTENT_TYPE, ETAG] {
        answer.headers_mut().extend(head.headers.get(&name).map(|value| (name, value.clone())));
    }
    let Some(counter) = counter else {
        let content = key.open(collect(body, 2 * PART).await?)?;
        answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(content.len()));
        *answer.body_mut() = Body::Whole(Some(content.into()));
        return Ok(answer);
    };
    let left = http_body::Body::size_hint(&body).exact().ok_or("an object has no length")?;
    answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(left));
    let (sender, segments) = mpsc::channel(1);
    let segmented = Segments {
        body,
        decryptor: key.decryptor(&counter)?,
        hmac: key.hmac(),
        tag: proxy.tag(path),
    };
    tokio::spawn(async move {
        if let Err(error) = segmented.open(&sender).await {
            // The client may have disconnected as well.
            let _ = sender.send(Err(error)).await;
        }
    });
    *answer.body_mut() = Body::Segments { segments, left };
    Ok(answer)
}

/// An object from the backend, decrypted segment by segment.
struct Segments {
    body: Incoming,
    decryptor: StreamingDecryptingKey,
    hmac: hmac::Context,
    tag: Option<[u8; 32]>,
}

impl Segments {
    async fn open(mut self, out: &mpsc::Sender<Result<Bytes, Failure>>) -> Result<(), Failure> {
        let mut segment = Vec::with_capacity(SEGMENT);
        loop {
            let piece = next(&mut self.body).await.transpose()?;
            let is_last = piece.is_none();
            let mut piece = piece.unwrap_or_default();
            while !piece.is_empty() || (is_last && !segment.is_empty()) {
                let now = piece.split_to(piece.len().min(SEGMENT - segment.len()));
                segment.extend_from_slice(&now);
                if segment.len() < SEGMENT && !is_last {
                    break;
                }
                self.hmac.update(&segment);
                let mut content = vec![0; segment.len() + 15];
                let len = self.decryptor.update(&segment, &mut content)?.written().len();
                content.truncate(len);
                out.send(Ok(content.into())).await?;
                segment.clear();
            }
            if is_last {
                break;
            }
        }
        let tag = self.hmac.sign();
        // The comparison need not be constant-time, because the tag is not secret.
        match self.tag {
            Some(known) if known != tag.as_ref() => Err("the HMAC is another one".into()),
            _ => Ok(()),
        }
    }
}

/// Body of an answer: in memory, or decrypted while it is sent.
#[derive(Default)]
pub(super) enum Body {
    #[default]
    None,
    Passed(Incoming),
    Whole(Option<Bytes>),
    Segments {
        segments: mpsc::Receiver<Result<Bytes, Failure>>,
        left: u64,
    },
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        match &mut *self {
            Self::None => Poll::Ready(None),
            Self::Passed(body) => {
                let frame = core::task::ready!(Pin::new(body).poll_frame(cx));
                Poll::Ready(frame.map(|frame| frame.map_err(Failure::from)))
            }
            Self::Whole(whole) => Poll::Ready(whole.take().map(|it| Ok(Frame::data(it)))),
            Self::Segments { segments, left } => {
                let segment = core::task::ready!(segments.poll_recv(cx));
                if let Some(Ok(segment)) = &segment {
                    *left = left.saturating_sub(segment.len() as u64);
                }
                Poll::Ready(segment.map(|segment| segment.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::None | Self::Whole(None) => true,
            Self::Passed(body) => body.is_end_stream(),
            Self::Whole(Some(_)) => false,
            Self::Segments { left, .. } => *left == 0,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::None => SizeHint::with_exact(0),
            Self::Passed(body) => body.size_hint(),
            Self::Whole(whole) => {
                SizeHint::with_exact(whole.as_ref().map_or(0, |whole| whole.len() as u64))
            }
            Self::Segments { left, .. } => SizeHint::with_exact(*left),
        }
    }
}
