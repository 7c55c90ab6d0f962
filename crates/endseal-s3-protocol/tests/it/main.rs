//! Signatures, chunks and checksums as other programs make them: AWS's published examples,
//! botocore's requests, and changes by an attacker.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core, reason = "as in the crate")]

mod botocore;
mod chunked;
mod forms;
mod hostile;
mod published;
mod tampering;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use endseal_s3_protocol::aws_chunked::{ChunkError, Decoder};
use endseal_s3_protocol::sigv4::{
    Access, Rules, SecretKey, SignatureError, SignedRequest, Verified, Verifier,
};
use http::{HeaderMap, HeaderName, HeaderValue};

const ACCESS_KEY: &str = "AKIAIOSFODNN7EXAMPLE";
const SECRET_KEY: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

type Keys = HashMap<String, Arc<SecretKey>>;

fn verifier() -> Verifier<Keys> {
    let secret = Arc::new(SecretKey::new(SECRET_KEY.to_owned()));
    let other = Arc::new(SecretKey::new("another".to_owned()));
    let keys = [(ACCESS_KEY.to_owned(), secret), ("OTHER".to_owned(), other)];
    Verifier::new(keys.into(), Rules::default())
}

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        map.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    map
}

fn at(seconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap())
}

/// A request that owns its parts, so that they can be changed.
#[derive(Clone, Debug)]
struct Request {
    method: String,
    target: String,
    headers: HeaderMap,
    now: i64,
}

impl Request {
    fn verify(&self) -> Result<Verified, SignatureError> {
        self.verify_by(&verifier())
    }

    fn verify_by(&self, verifier: &Verifier<Keys>) -> Result<Verified, SignatureError> {
        let (path, query) = match self.target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (self.target.as_str(), None),
        };
        let request = SignedRequest { method: &self.method, path, query, headers: &self.headers };
        match verifier.verify(request, at(self.now))? {
            Access::Signed(verified) => Ok(verified),
            access => panic!("expected a signature: {access:?}"),
        }
    }
}

/// Decodes a chunked upload that is pushed in pieces of these lengths; the last piece has the rest.
fn decode(
    mut decoder: Decoder,
    body: &[u8],
    cuts: &[usize],
) -> Result<(Vec<u8>, HeaderMap), ChunkError> {
    let mut out = VecDeque::new();
    let mut rest = Bytes::copy_from_slice(body);
    for cut in cuts {
        let piece = rest.split_to((*cut).min(rest.len()));
        decoder.push(piece, &mut out)?;
    }
    decoder.push(rest, &mut out)?;
    let trailers = decoder.finish()?;
    Ok((out.iter().flatten().copied().collect(), trailers))
}
