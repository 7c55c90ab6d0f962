//! States in the store: a version, then the library's pickle in postcard.
//!
//! Pickles are designed for JSON. In postcard, without field names, they take half the space. One
//! value in them is self-describing, and [`sending`](super::sending) reads it.
//!
//! Saved bytes are wiped, and so are bytes that are read here. The library makes another copy of
//! the sending ratchet while it reads it, and does not wipe that copy.

use postcard::ser_flavors::Flavor;
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use vodozemac::olm::{Account, AccountPickle, SessionPickle};
use zeroize::Zeroizing;

use endseal_crypto::x25519::SecretKey;

use super::sending::{Reader, SendingRatchet};
use crate::pairwise::StateError;

const VERSION: u8 = 1;

/// Initial capacity, in which a session with five chains and no kept keys fits. It is not larger,
/// because the whole buffer is wiped byte by byte.
const USUAL_LEN: usize = 576;

#[allow(clippy::expect_used, reason = "the message is the proof")]
pub(super) fn save(pickle: &impl Serialize) -> Zeroizing<Vec<u8>> {
    let mut wiped = Wiped(Zeroizing::new(Vec::with_capacity(USUAL_LEN)));
    wiped.0.push(VERSION);
    postcard::serialize_with_flavor(pickle, wiped)
        .expect("pickles are made of what postcard can write, and memory does not end")
}

pub(super) fn load_account(bytes: &[u8]) -> Result<AccountPickle, StateError> {
    load(bytes, |reader| AccountPickle::deserialize(reader))
}

/// End of an account's state without prekeys. For one-time keys: next id, unpublished public keys,
/// secret keys. For fallback keys: next id, current key, previous key.
const NO_PREKEYS: [u8; 6] = [0; 6];
/// Bytes before and after one secret one-time key with id 0, in place of [`NO_PREKEYS`].
const ONE_PREKEY: ([u8; 4], [u8; 3]) = ([1, 0, 1, 0], [0; 3]);

/// Returns an account with the long-term keys of `pickle`, which has no prekeys, and one one-time
/// key.
pub(super) fn account_with(pickle: &AccountPickle, one_time: &SecretKey) -> Option<Account> {
    let state = save(pickle);
    let long_term = state.strip_suffix(&NO_PREKEYS)?;
    let (before, after) = ONE_PREKEY;
    let key = one_time.expose_secret();
    let mut state = Zeroizing::new(Vec::with_capacity(long_term.len() + key.len() + 7));
    for part in [long_term, &before, key, &after] {
        state.extend_from_slice(part);
    }
    load_account(&state).ok().map(Account::from_pickle)
}

pub(super) fn load_session(bytes: &[u8]) -> Result<SessionPickle, StateError> {
    load(bytes, |reader| SessionPickle::deserialize(SessionState(reader)))
}

fn load<T>(
    bytes: &[u8],
    read: impl FnOnce(&mut Reader<'_>) -> postcard::Result<T>,
) -> Result<T, StateError> {
    let (version, state) = bytes.split_first().ok_or(StateError::Malformed)?;
    if *version != VERSION {
        return Err(StateError::Version(*version));
    }
    let mut reader = Reader::from_bytes(state);
    let value = read(&mut reader).map_err(|_| StateError::Malformed)?;
    let rest = reader.finalize().map_err(|_| StateError::Malformed)?;
    if rest.is_empty() { Ok(value) } else { Err(StateError::Malformed) }
}

/// Buffer that is wiped, including the old allocation when it grows.
struct Wiped(Zeroizing<Vec<u8>>);

impl Wiped {
    #[inline]
    fn reserve(&mut self, more: usize) {
        if self.0.capacity() - self.0.len() < more {
            self.grow(more);
        }
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let room = (self.0.len() + more).max(2 * self.0.capacity());
        let mut larger = Zeroizing::new(Vec::with_capacity(room));
        larger.extend_from_slice(&self.0);
        self.0 = larger;
    }
}

impl Flavor for Wiped {
    type Output = Zeroizing<Vec<u8>>;

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.reserve(1);
        self.0.push(byte);
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.reserve(bytes.len());
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<Self::Output> {
        Ok(self.0)
    }
}

/// Decodes a `SessionPickle`: session keys, sending ratchet, receiving chains, version of Olm.
struct SessionState<'a, 'de>(&'a mut Reader<'de>);

impl<'de> Deserializer<'de> for SessionState<'_, 'de> {
    type Error = postcard::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> postcard::Result<V::Value> {
        Err(postcard::Error::WontImplement)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> postcard::Result<V::Value> {
        visitor.visit_seq(SessionFields { reader: self.0, names: fields.iter() })
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

struct SessionFields<'a, 'de> {
    reader: &'a mut Reader<'de>,
    names: core::slice::Iter<'static, &'static str>,
}

impl<'de> SeqAccess<'de> for SessionFields<'_, 'de> {
    type Error = postcard::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> postcard::Result<Option<T::Value>> {
        match self.names.next() {
            None => Ok(None),
            Some(&"sending_ratchet") => seed.deserialize(SendingRatchet(self.reader)).map(Some),
            Some(_) => seed.deserialize(&mut *self.reader).map(Some),
        }
    }
}
