//! Account of Olm: long-term keys and prekeys of one device.

use alloc::vec::Vec;

use endseal_crypto::random::RandomError;
use endseal_crypto::{ed25519, x25519};
use endseal_keyring::device::{Certificate, PrekeyBundle, PrekeyKind};
use vodozemac::Curve25519PublicKey;
use vodozemac::olm::{Account, PreKeyMessage, SessionConfig};
use zeroize::Zeroizing;

use super::body::{PrekeyHeader, RatchetHeader};
use super::prekeys::{Prekey, Prekeys};
use super::ratchet::OlmRatchet;
use super::state;
use crate::fields::Fields;
use crate::message::SessionTag;
use crate::pairwise::{
    AcceptError, AccountKeys, BeginError, OpenError, PairwiseAccount, StateError, WrongCertificate,
};

const VERSION: u8 = 2;

/// Keys of a device for Olm.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct OlmAccount {
    /// The library's account, with the long-term keys only.
    account: Account,
    keys: AccountKeys,
    prekeys: Prekeys,
}

impl OlmAccount {
    /// Returns `None` if a public key is invalid, which can happen only in a damaged state.
    fn new(account: Account, prekeys: Prekeys) -> Option<Self> {
        let signing = ed25519::PublicKey::from_bytes(account.ed25519_key().as_bytes()).ok()?;
        let agreement = public_key(account.curve25519_key())?;
        Some(Self { account, keys: AccountKeys { agreement, signing }, prekeys })
    }

    fn bundle(&self, certificate: &Certificate, kind: PrekeyKind, prekey: &Prekey) -> PrekeyBundle {
        let (key, made_at) = (prekey.public(), prekey.made_at());
        PrekeyBundle::issue(certificate, kind, key, made_at, |message| self.sign(message))
    }

    fn check(&self, certificate: &Certificate) -> Result<(), WrongCertificate> {
        let vouched = certificate.keys();
        let is_own =
            vouched.agreement == self.keys.agreement && vouched.signing == self.keys.signing;
        if is_own { Ok(()) } else { Err(WrongCertificate) }
    }
}

impl PairwiseAccount for OlmAccount {
    type Ratchet = OlmRatchet;

    #[allow(clippy::expect_used, reason = "the message is the proof")]
    fn generate() -> Self {
        Self::new(Account::new(), Prekeys::default())
            .expect("multiples of the base points by clamped scalars are keys")
    }

    fn keys(&self) -> AccountKeys {
        self.keys
    }

    fn sign(&self, message: &[u8]) -> ed25519::Signature {
        ed25519::Signature::from_bytes(&self.account.sign(message).to_bytes())
    }

    fn add_one_time_keys(&mut self, count: usize, now: u64) -> Result<(), RandomError> {
        self.prekeys.add_one_time(count, now)
    }

    fn refresh_fallback_key(&mut self, now: u64) -> Result<(), RandomError> {
        self.prekeys.refresh_fallback(now)
    }

    fn one_time_keys_left(&self) -> usize {
        self.prekeys.one_time_left()
    }

    fn pending(&self, certificate: &Certificate) -> Result<Vec<PrekeyBundle>, WrongCertificate> {
        self.check(certificate)?;
        let fallback = self.prekeys.fallback().filter(|it| !it.is_published());
        let fallback = fallback.map(|it| (PrekeyKind::Fallback, it));
        let pending = self.prekeys.pending().chain(fallback);
        Ok(pending.map(|(kind, it)| self.bundle(certificate, kind, it)).collect())
    }

    fn fallback(
        &self,
        certificate: &Certificate,
    ) -> Result<Option<PrekeyBundle>, WrongCertificate> {
        self.check(certificate)?;
        let fallback = self.prekeys.fallback();
        Ok(fallback.map(|it| self.bundle(certificate, PrekeyKind::Fallback, it)))
    }

    fn fallback_since(&self) -> Option<u64> {
        self.prekeys.fallback_since()
    }

    fn published(&mut self, keys: &[x25519::PublicKey]) {
        self.prekeys.publish(keys);
    }

    fn drop_prekeys(&mut self) {
        self.prekeys = Prekeys::default();
    }

    fn begin(&self, their: &PrekeyBundle) -> Result<OlmRatchet, BeginError> {
        let identity_key = their.certificate().keys().agreement;
        let session = self.account.create_outbound_session(
            SessionConfig::version_1(),
            Curve25519PublicKey::from_bytes(*identity_key.as_bytes()),
            Curve25519PublicKey::from_bytes(*their.key().as_bytes()),
        )?;
        Ok(OlmRatchet::new(session, None))
    }

    fn accept(
        &mut self,
        tag: SessionTag,
        their_agreement_key: &x25519::PublicKey,
        body: &[u8],
        verify: impl FnOnce(&[u8]) -> bool,
    ) -> Result<(OlmRatchet, Zeroizing<Vec<u8>>), AcceptError> {
        let header = PrekeyHeader::parse(body).ok_or(OpenError::Malformed)?;
        let inner = RatchetHeader::parse(header.message).ok_or(OpenError::Malformed)?;
        if header.identity_key != their_agreement_key.as_bytes() || header.tag() != tag {
            return Err(OpenError::Authentication.into());
        }
        let prekey = self.prekeys.find(header.one_time_key).ok_or(AcceptError::NoPrekey)?;
        let message = PreKeyMessage::from_bytes(body).map_err(|_| OpenError::Malformed)?;
        // A copy of the account with this key only, so that a refusal changes nothing.
        let account = state::account_with(&self.account.pickle(), prekey.secret());
        let accepted = account.ok_or(AcceptError::NoPrekey)?.create_inbound_session(
            SessionConfig::version_1(),
            message.identity_key(),
            &message,
        )?;
        let plaintext = Zeroizing::new(accepted.plaintext);
        if !verify(&plaintext) {
            return Err(OpenError::Authentication.into());
        }
        self.prekeys.use_up(header.one_time_key);
        Ok((OlmRatchet::new(accepted.session, Some(*inner.ratchet_key)), plaintext))
    }

    fn fork(&self) -> Self {
        let account = Account::from_pickle(self.account.pickle());
        Self { account, keys: self.keys, prekeys: self.prekeys.clone() }
    }

    fn save(&self) -> Zeroizing<Vec<u8>> {
        let account = state::save(&self.account.pickle());
        let len = 1 + self.prekeys.encoded_len() + account.len();
        let mut bytes = Zeroizing::new(Vec::with_capacity(len));
        bytes.push(VERSION);
        self.prekeys.write_to(&mut bytes);
        bytes.extend_from_slice(&account);
        bytes
    }

    fn load(bytes: &[u8]) -> Result<Self, StateError> {
        let mut fields = Fields::new(bytes);
        match fields.byte() {
            Some(VERSION) => {}
            Some(version) => return Err(StateError::Version(version)),
            None => return Err(StateError::Malformed),
        }
        let prekeys = Prekeys::read(&mut fields).ok_or(StateError::Malformed)?;
        let account = Account::from_pickle(state::load_account(fields.rest())?);
        Self::new(account, prekeys).ok_or(StateError::Malformed)
    }
}

fn public_key(key: Curve25519PublicKey) -> Option<x25519::PublicKey> {
    x25519::PublicKey::from_bytes(key.as_bytes()).ok()
}
