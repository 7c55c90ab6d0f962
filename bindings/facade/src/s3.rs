//! Sealed objects of a bucket (docs/spec/s3-object.md), opened with a key ring
//! (docs/spec/s3-key-ring.md) and without a server.

use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use endseal_kms::ring::{OpenRingError, ParseRingError, ParsedRing};
use endseal_kms::{KeyProvider as _, ProviderError, RingProvider};
use endseal_s3_format::{
    AuthenticationFailed, Binding, ContentKey, Form, Header, KeyId, Place, RangeOpener, RangePlan,
    Record, WholeOpener, marker, size,
};

use crate::error::Error;
use crate::passphrase::Passphrase;

/// The keys of a ring. Copies of this handle share them; they are wiped with the last one.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "a secret")]
pub struct S3Ring {
    provider: Arc<RingProvider>,
    key_ids: Arc<[String]>,
}

/// Place and header of an object.
#[derive(Clone, Copy, Debug)]
pub struct S3Place<'a> {
    /// The bucket under whose name the object was written.
    pub bucket: &'a str,
    /// The key as clients name it.
    pub key: &'a str,
    /// Value of the metadata entry `endseal`; without it the copy at the object's end is taken.
    pub header: Option<&'a str>,
    /// Also opens an object that was written at another place.
    pub accepts_moved: bool,
}

impl S3Ring {
    /// Opens a ring's file with its passphrase; one that was made without a passphrase with
    /// [`Passphrase::NONE`].
    ///
    /// # Errors
    /// `header` if it is no ring, `version`, `limit` if it is too long or asks for too much work,
    /// `passphrase` if it does not open, or has none and one was given.
    pub fn unlock(file: &[u8], passphrase: &Passphrase) -> Result<Self, Error> {
        let ring = match ParsedRing::parse(file).map_err(|error| malformed(&error))? {
            // Who can write to the file could have put another ring in its place.
            ParsedRing::Open(_) if passphrase.0.is_some() => {
                return Err(Error::new("passphrase", "the key ring is not under a passphrase"));
            }
            ParsedRing::Open(ring) => ring,
            ParsedRing::Sealed(sealed) => {
                let needed = || Error::new("passphrase", "a passphrase is needed");
                let passphrase = passphrase.0.as_ref().ok_or_else(needed)?;
                sealed.open(passphrase).map_err(|error| match error {
                    OpenRingError::Parse(error) => malformed(&error),
                    OpenRingError::NoMemory => Error::new("limit", error),
                    error => Error::new("passphrase", error),
                })?
            }
        };
        let key_ids = ring.entries().map(|it| it.id.as_str().to_owned()).collect();
        Ok(Self { provider: Arc::new(RingProvider::new(ring)), key_ids })
    }

    /// Returns the ids of the keys, of which the last one wraps.
    #[must_use]
    pub fn key_ids(&self) -> &[String] {
        &self.key_ids
    }

    /// Begins to open an object of `sealed_len` bytes, of which `end` has the last
    /// [`S3Object::END_LEN`] or all.
    ///
    /// # Errors
    /// `plaintext` if it is not sealed, `unknown-key` if the ring has not its key, `moved` if it
    /// was written at another place, `authentication`; `argument` for a place that is none.
    pub fn object(
        &self,
        sealed_len: u64,
        end: &[u8],
        place: &S3Place<'_>,
    ) -> Result<S3Object, Error> {
        let not_sealed =
            || Error::new("plaintext", "the object is not sealed, or its end is missing");
        let header = match place.header {
            Some(text) => Header::parse(text).map_err(forged)?,
            None if Header::has_copy(end) => Header::parse_copy(end).map_err(forged)?,
            None => return Err(not_sealed()),
        };
        let key = self.unwrap(&header)?;
        header.verify(&key).map_err(forged)?;
        let no_place = || Error::argument("bucket or key is empty or too long");
        let bound = Place::new(place.bucket, place.key).ok_or_else(no_place)?;
        let is_here = header.verify_place(&key, &bound, Binding::Key).is_ok();
        if !is_here && !place.accepts_moved {
            return Err(Error::new("moved", "the object was written at another place"));
        }
        let content_len = if sealed_len == 0 {
            marker::open(&header, &key, place.key).map_err(forged)?.plaintext_len()
        } else {
            size::plaintext_len(sealed_len).ok_or(AuthenticationFailed).map_err(forged)?
        };
        Ok(S3Object { header, key, sealed_len, content_len })
    }

    fn unwrap(&self, header: &Header) -> Result<ContentKey, Error> {
        let id = KeyId::new(header.key_id()).map_err(|_| forged(AuthenticationFailed))?;
        let answer = self.provider.unwrap(&id, Header::wrap_context(), header.wrapped_key());
        // A ring has nothing to wait for.
        let polled = pin!(answer).poll(&mut Context::from_waker(Waker::noop()));
        match polled {
            Poll::Ready(Ok(key)) => Ok(key),
            Poll::Ready(Err(ProviderError::UnknownKey)) => {
                let message = format!("the ring has no key {}", header.key_id());
                Err(Error::new("unknown-key", message))
            }
            _ => Err(forged(AuthenticationFailed)),
        }
    }

    /// Makes a ring of one key of a test vector.
    ///
    /// # Errors
    /// `argument` for an id that is none.
    #[cfg(feature = "test-vectors")]
    pub fn from_key(id: &str, key: &[u8; 32]) -> Result<Self, Error> {
        use endseal_crypto::{base64, hash, label};
        let parts: [&[u8]; 3] = [key, &1_u64.to_be_bytes(), id.as_bytes()];
        let check = hash::derive(label::S3_KEY_RING_CHECK, &parts);
        let check: String = check[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let mut encoded = [0; base64::encoded_len(32)];
        let key = base64::encode(key, &mut encoded).map_err(Error::argument)?;
        let file = format!("endseal s3-key-ring v1\nprotection none\nkey {id} 1 {key} {check}\n");
        Self::unlock(file.as_bytes(), &Passphrase::NONE)
    }
}

/// An object whose key is known and whose place was checked.
#[allow(missing_debug_implementations, reason = "a secret")]
pub struct S3Object {
    header: Header,
    key: ContentKey,
    sealed_len: u64,
    content_len: u64,
}

impl S3Object {
    /// Bytes at the end of an object that [`S3Ring::object`] needs.
    pub const END_LEN: u64 = size::HEADER_COPY_LEN as u64;

    /// Returns the length of the content.
    #[must_use]
    pub fn content_len(&self) -> u64 {
        self.content_len
    }

    /// Returns the number of bytes at the end of the object that [`S3Object::open`] needs.
    #[must_use]
    pub fn tail_len(&self) -> u64 {
        match self.header.form() {
            Form::Whole => 0,
            Form::Multipart => size::tail_len_max(self.content_len).min(self.sealed_len),
        }
    }

    /// Opens all of the object. `tail` has its last [`S3Object::tail_len`] bytes.
    ///
    /// # Errors
    /// `authentication`.
    pub fn open(&self, tail: &[u8]) -> Result<S3Opener, Error> {
        let (state, sealed) = match self.header.form() {
            Form::Whole if self.sealed_len == 0 => (State::Empty, 0..0),
            Form::Whole => {
                let opener = WholeOpener::new(&self.header, &self.key).map_err(forged)?;
                if opener.sealed_len() != self.sealed_len {
                    return Err(forged(AuthenticationFailed));
                }
                (State::Whole(Box::new(opener)), 0..self.sealed_len)
            }
            Form::Multipart => {
                let record = Record::open_tail(&self.header, &self.key, self.sealed_len, tail);
                let plan = RangePlan::multipart(&record.map_err(forged)?, 0..self.content_len);
                let plan = plan.ok_or(AuthenticationFailed).map_err(forged)?;
                let sealed = plan.sealed();
                let opener = plan.opener(&self.header, &self.key, None).map_err(forged)?;
                (State::Parts(Box::new(opener)), sealed)
            }
        };
        Ok(S3Opener { state, sealed, buffer: Vec::new() })
    }
}

/// Opens the content of an object piece by piece. All that it gives is authentic, and not complete
/// before [`S3Opener::finish`].
#[allow(missing_debug_implementations, reason = "has secrets")]
pub struct S3Opener {
    state: State,
    sealed: Range<u64>,
    /// Sealed bytes that do not fill a chunk.
    buffer: Vec<u8>,
}

enum State {
    /// A folder marker, which has no body.
    Empty,
    Whole(Box<WholeOpener>),
    Parts(Box<RangeOpener>),
    Ended,
}

impl S3Opener {
    /// Returns the range of the object's bytes to feed.
    #[must_use]
    pub fn sealed(&self) -> Range<u64> {
        self.sealed.clone()
    }

    /// Takes the next bytes of the range, and returns the content of whole chunks.
    ///
    /// # Errors
    /// `authentication`; every later call fails, too.
    pub fn feed(&mut self, sealed: &[u8]) -> Result<Vec<u8>, Error> {
        self.buffer.extend_from_slice(sealed);
        let taken = match &mut self.state {
            State::Whole(opener) => opener.open(&mut self.buffer),
            State::Parts(opener) => opener.open(&mut self.buffer),
            State::Empty | State::Ended => Err(AuthenticationFailed),
        };
        let Ok(taken) = taken else {
            self.state = State::Ended;
            return Err(forged(AuthenticationFailed));
        };
        let content = self.buffer[..taken.content].to_vec();
        self.buffer.drain(..taken.sealed);
        Ok(content)
    }

    /// Ends the object, and returns the rest of the content.
    ///
    /// # Errors
    /// `authentication` if it was cut short or changed.
    pub fn finish(&mut self) -> Result<Vec<u8>, Error> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Empty => Ok(Vec::new()),
            State::Whole(opener) => {
                let (last, _) = opener.finish().map_err(forged)?;
                Ok(last.to_vec())
            }
            State::Parts(opener) => opener.finish().map(|()| Vec::new()).map_err(forged),
            State::Ended => Err(forged(AuthenticationFailed)),
        }
    }
}

fn malformed(error: &ParseRingError) -> Error {
    let code = match error {
        ParseRingError::Version => "version",
        ParseRingError::TooLong | ParseRingError::KeyCount | ParseRingError::Kdf(_) => "limit",
        _ => "header",
    };
    Error::new(code, error)
}

fn forged(error: AuthenticationFailed) -> Error {
    Error::new("authentication", error)
}
