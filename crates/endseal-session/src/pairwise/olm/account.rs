//! Olm's account.

use endseal_crypto::{ed25519, x25519};
use vodozemac::Curve25519PublicKey;
use vodozemac::olm::{Account, PreKeyMessage, SessionConfig};
use zeroize::Zeroizing;

use super::body::{PrekeyHeader, RatchetHeader};
use super::ratchet::OlmRatchet;
use super::state;
use crate::bundle::{PrekeyBundle, PrekeyKind};
use crate::certificate::Certificate;
use crate::message::SessionTag;
use crate::pairwise::{
    AcceptError, AccountKeys, BeginError, OpenError, PairwiseAccount, StateError, WrongCertificate,
};

/// The keys of a device for Olm.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct OlmAccount {
    account: Account,
    keys: AccountKeys,
}

impl OlmAccount {
    /// Fails if the public keys are none, which they can be only in a state that is not ours.
    fn new(account: Account) -> Option<Self> {
        let signing = ed25519::PublicKey::from_bytes(account.ed25519_key().as_bytes()).ok()?;
        let agreement = public_key(account.curve25519_key())?;
        Some(Self { account, keys: AccountKeys { agreement, signing } })
    }

    fn bundle(
        &self,
        certificate: &Certificate,
        kind: PrekeyKind,
        key: Curve25519PublicKey,
        made_at: u64,
    ) -> Option<PrekeyBundle> {
        let key = public_key(key)?;
        Some(PrekeyBundle::issue(certificate, kind, key, made_at, |message| self.sign(message)))
    }
}

impl PairwiseAccount for OlmAccount {
    type Ratchet = OlmRatchet;

    #[allow(clippy::expect_used, reason = "the message is the proof")]
    fn generate() -> Self {
        Self::new(Account::new()).expect("multiples of the base points by clamped scalars are keys")
    }

    fn keys(&self) -> AccountKeys {
        self.keys
    }

    fn sign(&self, message: &[u8]) -> ed25519::Signature {
        ed25519::Signature::from_bytes(&self.account.sign(message).to_bytes())
    }

    fn one_time_keys(&mut self, count: usize) {
        self.account.generate_one_time_keys(count);
    }

    fn fallback_key(&mut self) {
        self.account.generate_fallback_key();
    }

    fn one_time_keys_left(&self) -> usize {
        self.account.stored_one_time_key_count()
    }

    fn bundles(
        &self,
        certificate: &Certificate,
        made_at: u64,
    ) -> Result<Vec<PrekeyBundle>, WrongCertificate> {
        let vouched = certificate.keys();
        if vouched.agreement != self.keys.agreement || vouched.signing != self.keys.signing {
            return Err(WrongCertificate);
        }
        let mut one_time: Vec<_> = self.account.one_time_keys().into_iter().collect();
        // In the order in which they were made, for the library's map has none.
        one_time.sort_unstable_by_key(|(id, _)| *id);
        let one_time = one_time.into_iter().map(|(_, key)| (PrekeyKind::OneTime, key));
        let fallback = self.account.fallback_key().into_values();
        let fallback = fallback.map(|key| (PrekeyKind::Fallback, key));
        Ok(one_time
            .chain(fallback)
            .filter_map(|(kind, key)| self.bundle(certificate, kind, key, made_at))
            .collect())
    }

    fn published(&mut self) {
        self.account.mark_keys_as_published();
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
    ) -> Result<(OlmRatchet, Zeroizing<Vec<u8>>), AcceptError> {
        let header = PrekeyHeader::parse(body).ok_or(OpenError::Malformed)?;
        let inner = RatchetHeader::parse(header.message).ok_or(OpenError::Malformed)?;
        if header.identity_key != their_agreement_key.as_bytes() || header.tag() != tag {
            return Err(OpenError::Authentication.into());
        }
        let message = PreKeyMessage::from_bytes(body).map_err(|_| OpenError::Malformed)?;
        let accepted = self.account.create_inbound_session(
            SessionConfig::version_1(),
            message.identity_key(),
            &message,
        )?;
        let plaintext = Zeroizing::new(accepted.plaintext);
        Ok((OlmRatchet::new(accepted.session, Some(*inner.ratchet_key)), plaintext))
    }

    fn fork(&self) -> Self {
        Self { account: Account::from_pickle(self.account.pickle()), keys: self.keys }
    }

    fn save(&self) -> Zeroizing<Vec<u8>> {
        state::save(&self.account.pickle())
    }

    fn load(bytes: &[u8]) -> Result<Self, StateError> {
        Self::new(Account::from_pickle(state::load_account(bytes)?)).ok_or(StateError::Malformed)
    }
}

fn public_key(key: Curve25519PublicKey) -> Option<x25519::PublicKey> {
    x25519::PublicKey::from_bytes(key.as_bytes()).ok()
}
