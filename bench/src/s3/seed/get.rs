//! Downloads: the object is read in segments and decrypted. The HMAC is compared at the end, when
//! everything has been sent.

use std::sync::Arc;

use aws_lc_rs::cipher::StreamingDecryptingKey;
use aws_lc_rs::hmac;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use http::{HeaderMap, HeaderValue, Method, Response};
use http_body_util::BodyExt as _;
use http_body_util::channel::{Channel, Sender};

use super::{Body, COUNTER_HEADER, KEY_HEADER, PART, SEGMENT, Seed, Segments, passed};
use crate::s3::http::{Pieces, collect};
use crate::subject::Failure;

pub(super) async fn get(proxy: &Arc<Seed>, path: &str) -> Result<Response<Body>, Failure> {
    let response = proxy.send(Method::GET, path, HeaderMap::new(), Pieces::default()).await?;
    let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let Some(wrapped) = text(KEY_HEADER).filter(|_| response.status().is_success()) else {
        return Ok(response.map(passed));
    };
    let key = proxy.master.unwrap(wrapped)?;
    let counter = text(COUNTER_HEADER).map(str::to_owned);
    let (head, body) = response.into_parts();
    let mut answer = Response::new(Body::default());
    for name in [CONTENT_TYPE, ETAG] {
        answer.headers_mut().extend(head.headers.get(&name).map(|value| (name, value.clone())));
    }
    let Some(counter) = counter else {
        let content = key.open(collect(body, 2 * PART).await?)?;
        let content = Pieces::new([Bytes::from(content)]);
        return Ok(answer.map(|_| content.map_err(Failure::from).boxed_unsync()));
    };
    let left = http_body::Body::size_hint(&body).exact().ok_or("an object has no length")?;
    answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(left));
    let (mut sender, channel) = Channel::<Bytes, Failure>::new(1);
    let (decryptor, hmac, tag) = (key.decryptor(&counter)?, key.hmac(), proxy.tag(path));
    tokio::spawn(async move {
        let segments = Segments::new(body);
        if let Err(error) = open(segments, decryptor, hmac, tag, &mut sender).await {
            sender.abort(error);
        }
    });
    Ok(answer.map(|_| channel.boxed_unsync()))
}

/// Decrypts an object from the backend segment by segment.
async fn open(
    mut segments: Segments,
    mut decryptor: StreamingDecryptingKey,
    mut hmac: hmac::Context,
    tag: Option<[u8; 32]>,
    out: &mut Sender<Bytes, Failure>,
) -> Result<(), Failure> {
    let mut segment = Vec::with_capacity(SEGMENT);
    while segments.next(&mut segment).await? {
        hmac.update(&segment);
        let mut content = vec![0; segment.len() + 15];
        let len = decryptor.update(&segment, &mut content)?.written().len();
        content.truncate(len);
        // The client may have disconnected.
        out.send_data(content.into()).await?;
    }
    // The comparison need not be constant-time, because the tag is not secret.
    match tag {
        Some(known) if known != hmac.sign().as_ref() => Err("the HMAC is another one".into()),
        _ => Ok(()),
    }
}
