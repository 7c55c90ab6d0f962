//! Lists of recipients, which are checked once and used for any number of envelopes.

use alloc::boxed::Box;
use alloc::vec::Vec;

use endseal_crypto::identity::PublicIdentity;
use endseal_crypto::{ed25519, hash, x25519};

use crate::error::{RecipientsError, SealError};
use crate::kem::Kem;
use crate::limits::MAX_SLOTS;
use crate::suite::Suite;

/// A list of recipients, without duplicates, in an order of its own.
#[derive(Clone, Debug)]
pub struct Recipients {
    entries: Vec<Recipient>,
    agreement: Vec<x25519::PublicKey>,
    digest: [u8; hash::LEN],
    suite: Suite,
}

#[derive(Clone, Debug)]
struct Recipient {
    ed25519: ed25519::PublicKey,
    kem: Option<Kem>,
}

impl Recipients {
    /// Checks many Ed25519 keys in one batch.
    ///
    /// # Errors
    /// [`RecipientsError`]; for a wrong key with its index.
    pub fn from_ed25519(keys: &[[u8; 32]]) -> Result<Self, RecipientsError> {
        if keys.len() > MAX_SLOTS {
            return Err(RecipientsError::TooMany);
        }
        let keys = ed25519::PublicKey::from_bytes_many(keys)
            .map_err(|(index, reason)| RecipientsError::Key { index, reason })?;
        Self::new(keys.into_iter().map(|ed25519| Recipient { ed25519, kem: None }).collect())
    }

    /// Takes public identities. Those in the short form have no ML-KEM-768 key: see
    /// [`suite`](Self::suite).
    ///
    /// # Errors
    /// [`RecipientsError`].
    pub fn from_identities<'a>(
        identities: impl IntoIterator<Item = &'a PublicIdentity>,
    ) -> Result<Self, RecipientsError> {
        let entries = identities.into_iter().take(MAX_SLOTS + 1).map(|identity| Recipient {
            ed25519: *identity.ed25519(),
            kem: identity.mlkem768().cloned().map(Kem::new),
        });
        Self::new(entries.collect())
    }

    /// Entries beyond [`MAX_SLOTS`] are an error before equal ones are joined: the callers read no
    /// more.
    fn new(entries: Vec<Recipient>) -> Result<Self, RecipientsError> {
        if entries.len() > MAX_SLOTS {
            return Err(RecipientsError::TooMany);
        }
        let keys: Vec<_> = entries.iter().map(|entry| entry.ed25519).collect();
        let agreement = ed25519::PublicKey::to_x25519_many(&keys);
        // Pointers are sorted, because code that moves whole entries is ten times as long.
        let mut sorted: Vec<_> = agreement.into_iter().zip(entries).map(Box::new).collect();
        // By the key that counts; a duplicate with an ML-KEM key wins over one without.
        sorted.sort_unstable_by(|one, other| {
            let ((u, a), (v, b)) = (&**one, &**other);
            u.cmp(v).then(b.kem.is_some().cmp(&a.kem.is_some())).then(a.ed25519.cmp(&b.ed25519))
        });
        let conflict = sorted.windows(2).find(|pair| {
            let [one, other] = pair else { return false };
            let ((u, a), (v, b)) = (&**one, &**other);
            let differ = |a: &Kem, b: &Kem| a.digest != b.digest;
            u == v && a.kem.as_ref().zip(b.kem.as_ref()).is_some_and(|(a, b)| differ(a, b))
        });
        if let Some([one, _]) = conflict {
            return Err(RecipientsError::ConflictingKeys(one.1.ed25519));
        }
        sorted.dedup_by(|one, other| one.0 == other.0);
        let (agreement, entries): (Vec<_>, Vec<_>) = sorted.into_iter().map(|it| *it).unzip();
        if entries.is_empty() {
            return Err(RecipientsError::Empty);
        }
        let mut digest = hash::Digest::new();
        for u in &agreement {
            digest.update(u.as_bytes());
        }
        let hybrid = entries.iter().all(|entry| entry.kem.is_some());
        let suite = if hybrid { Suite::X25519MlKem768 } else { Suite::X25519 };
        Ok(Self { entries, agreement, digest: digest.finish(), suite })
    }

    /// Number of recipients, each of which gets a slot.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Best suite that all of them have the keys of: [`Suite::X25519MlKem768`] if each has an
    /// ML-KEM-768 key, otherwise [`Suite::X25519`]. A [`Sealer`](crate::Sealer) uses the latter
    /// only if it was [chosen](crate::Sealer::suite).
    #[must_use]
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// The keys, in the order of this list.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &ed25519::PublicKey> {
        self.entries.iter().map(|entry| &entry.ed25519)
    }

    /// The keys for agreement, in the order of this list.
    pub(crate) fn agreement_keys(&self) -> &[x25519::PublicKey] {
        &self.agreement
    }

    /// The ML-KEM keys, in the order of this list, if all have one.
    pub(crate) fn kems(&self) -> Result<Vec<&Kem>, SealError> {
        let kems = self.entries.iter().map(|entry| entry.kem.as_ref());
        kems.collect::<Option<_>>().ok_or(SealError::NoMlKemKey)
    }

    /// Digest of the agreement keys, to hedge randomness.
    pub(crate) fn digest(&self) -> &[u8; hash::LEN] {
        &self.digest
    }
}
