//! Olm session.

use vodozemac::olm::{Message, OlmMessage, Session};
use zeroize::Zeroizing;

use super::body::{PrekeyHeader, RatchetHeader};
use super::state;
use crate::message::{MAX_PLAINTEXT_LEN, RatchetBody, SessionTag};
use crate::pairwise::{
    ChainPlace, OpenError, Ratchet, RatchetLimits, SealError, Sealed, StateError,
};
use crate::plaintext::PlaintextHead;

/// Double Ratchet session of Olm.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct OlmRatchet {
    /// Boxed, because its 4 kB would be moved with every map that contains it.
    session: Box<Session>,
    tag: SessionTag,
    /// The other side's ratchet key of the chain that was opened last. The library knows this
    /// chain.
    chain: Option<[u8; 32]>,
}

impl OlmRatchet {
    pub(super) fn new(session: Session, chain: Option<[u8; 32]>) -> Self {
        let keys = session.session_keys();
        let tag = SessionTag::of_keys(
            keys.identity_key.as_bytes(),
            keys.base_key.as_bytes(),
            keys.one_time_key.as_bytes(),
        );
        Self { session: Box::new(session), tag, chain }
    }

    /// Returns the ratchet message inside a pre-key message of this session. The MAC does not cover
    /// the keys around it.
    fn unwrap<'a>(&self, body: &'a [u8]) -> Result<&'a [u8], OpenError> {
        let header = PrekeyHeader::parse(body).ok_or(OpenError::Malformed)?;
        let keys = self.session.session_keys();
        let same = header.identity_key == keys.identity_key.as_bytes()
            && header.base_key == keys.base_key.as_bytes()
            && header.one_time_key == keys.one_time_key.as_bytes();
        if same { Ok(header.message) } else { Err(OpenError::Authentication) }
    }
}

impl Ratchet for OlmRatchet {
    const ENGINE: u8 = 1;

    fn limits() -> RatchetLimits {
        RatchetLimits { kept_keys: 40, chains: 5, gap: 2_000 }
    }

    fn place(body: RatchetBody<'_>) -> Option<ChainPlace> {
        let body = match body {
            RatchetBody::Prekey(body) => PrekeyHeader::parse(body)?.message,
            RatchetBody::Ratchet(body) => body,
        };
        let header = RatchetHeader::parse(body)?;
        Some(ChainPlace { chain: *header.ratchet_key, index: header.index })
    }

    fn open(&mut self, body: RatchetBody<'_>) -> Result<Zeroizing<Vec<u8>>, OpenError> {
        let body = match body {
            RatchetBody::Prekey(body) => self.unwrap(body)?,
            RatchetBody::Ratchet(body) => body,
        };
        let header = RatchetHeader::parse(body).ok_or(OpenError::Malformed)?;
        let message = Message::from_bytes(body).map_err(|_| OpenError::Malformed)?;
        let message = OlmMessage::Normal(message);
        if self.chain.as_ref() == Some(header.ratchet_key) {
            return Ok(Zeroizing::new(self.session.decrypt(&message)?));
        }
        // For an unknown chain, the library makes a new sending chain, if it has none, before it
        // verifies anything. It keeps that chain even if the message is forged.
        let mut session = Box::new(fork(&self.session));
        let plaintext = Zeroizing::new(session.decrypt(&message)?);
        self.session = session;
        self.chain = Some(*header.ratchet_key);
        Ok(plaintext)
    }

    fn seal(&mut self, plaintext: &[u8]) -> Result<Sealed, SealError> {
        if plaintext.len() > MAX_PLAINTEXT_LEN + PlaintextHead::MAX_LEN {
            return Err(SealError::TooLong);
        }
        Ok(match self.session.encrypt(plaintext)? {
            OlmMessage::PreKey(message) => Sealed { prekey: true, body: message.to_bytes() },
            OlmMessage::Normal(message) => Sealed { prekey: false, body: message.to_bytes() },
        })
    }

    fn fork(&self) -> Self {
        Self { session: Box::new(fork(&self.session)), tag: self.tag, chain: self.chain }
    }

    fn tag(&self) -> SessionTag {
        self.tag
    }

    fn has_received(&self) -> bool {
        self.session.has_received_message()
    }

    fn save(&self) -> Zeroizing<Vec<u8>> {
        state::save(&self.session.pickle())
    }

    fn load(bytes: &[u8]) -> Result<Self, StateError> {
        Ok(Self::new(Session::from_pickle(state::load_session(bytes)?), None))
    }
}

/// The library's sessions are not `Clone`, but a pickle is a copy in memory.
fn fork(session: &Session) -> Session {
    Session::from_pickle(session.pickle())
}
