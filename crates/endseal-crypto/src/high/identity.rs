//! The keys of one person or machine.

use core::fmt;

use crate::random::{Random, RandomError};
use crate::{ed25519, hash, label, mldsa65, mlkem768, x25519};

/// All secret keys of one owner: Ed25519 to sign, the same key as X25519 to agree, ML-KEM-768.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct Identity {
    signing: ed25519::SigningKey,
    agreement: x25519::PreparedKey,
    kem: mlkem768::SecretKey,
    hedge: HedgeSecret,
    public: PublicIdentity,
}

crate::secret_bytes! {
    /// Mixed into everything random that the owner makes, in case the random source fails silently.
    pub struct HedgeSecret[32];
}

crate::secret_bytes! {
    /// What the key file of the owner's store is under.
    pub struct StoreKey[32];
}

impl Identity {
    /// A new identity.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails.
    pub fn generate(random: &mut impl Random) -> Result<Self, RandomError> {
        Ok(Self::from_seeds(ed25519::Seed::generate(random)?, mlkem768::Seed::generate(random)?))
    }

    /// The identity of two seeds.
    #[must_use]
    pub fn from_seeds(ed25519: ed25519::Seed, mlkem768: mlkem768::Seed) -> Self {
        let signing = ed25519::SigningKey::from_seed(ed25519);
        let kem = mlkem768::SecretKey::from_seed(mlkem768);
        let hedge = HedgeSecret::init_with(|out| {
            let parts: [&[u8]; 2] = [signing.seed().expose_secret(), kem.seed().expose_secret()];
            hash::derive_into(label::IDENTITY_HEDGE, &parts, out);
        });
        let public =
            PublicIdentity { ed25519: *signing.public_key(), mlkem768: Some(kem.public_key()) };
        Self {
            agreement: x25519::PreparedKey::new(signing.to_x25519()),
            signing,
            kem,
            hedge,
            public,
        }
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> &PublicIdentity {
        &self.public
    }

    /// The key that signs.
    #[must_use]
    pub fn signing(&self) -> &ed25519::SigningKey {
        &self.signing
    }

    /// The key that agrees.
    #[must_use]
    pub fn agreement(&self) -> &x25519::PreparedKey {
        &self.agreement
    }

    /// The key that decapsulates.
    #[must_use]
    pub fn kem(&self) -> &mlkem768::SecretKey {
        &self.kem
    }

    /// The key with which the owner authenticates itself on the wire: ML-DSA-65, from
    /// `BLAKE3-derive("endseal/identity@v1 ml-dsa-65 seed", Ed25519 seed || ML-KEM-768 seed)`.
    ///
    /// It is made on each call, which takes about 0.1 ms: most owners never need it.
    #[must_use]
    pub fn transport_key(&self) -> mldsa65::SigningKey {
        mldsa65::SigningKey::from_seed(mldsa65::Seed::init_with(|out| {
            let parts: [&[u8]; 2] =
                [self.signing.seed().expose_secret(), self.kem.seed().expose_secret()];
            hash::derive_into(label::IDENTITY_MLDSA65, &parts, out);
        }))
    }

    /// The key that the owner's store is under, so that whoever opens the identity opens the store:
    /// `BLAKE3-derive("endseal/identity@v1 store key", Ed25519 seed || ML-KEM-768 seed)`.
    #[must_use]
    pub fn store_key(&self) -> StoreKey {
        StoreKey::init_with(|out| {
            let parts: [&[u8]; 2] =
                [self.signing.seed().expose_secret(), self.kem.seed().expose_secret()];
            hash::derive_into(label::IDENTITY_STORE, &parts, out);
        })
    }

    /// What hedges the owner's randomness.
    #[must_use]
    pub fn hedge(&self) -> &HedgeSecret {
        &self.hedge
    }
}

/// The public keys of one owner.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicIdentity {
    ed25519: ed25519::PublicKey,
    mlkem768: Option<mlkem768::PublicKey>,
}

impl PublicIdentity {
    /// Joins the keys of one owner. Without the second one can seal to it, but not in the hybrid
    /// suite.
    #[must_use]
    pub fn new(ed25519: ed25519::PublicKey, mlkem768: Option<mlkem768::PublicKey>) -> Self {
        Self { ed25519, mlkem768 }
    }

    /// The key that verifies, and to which others seal.
    #[must_use]
    pub fn ed25519(&self) -> &ed25519::PublicKey {
        &self.ed25519
    }

    /// The key to which others encapsulate.
    #[must_use]
    pub fn mlkem768(&self) -> Option<&mlkem768::PublicKey> {
        self.mlkem768.as_ref()
    }
}

impl fmt::Debug for PublicIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PublicIdentity").field(&self.ed25519).field(&self.mlkem768).finish()
    }
}
