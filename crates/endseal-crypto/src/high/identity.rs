//! The keys of one person or machine.

use alloc::vec::Vec;
use core::fmt;

use crate::ed25519::{BadSignature, Signature, Signed, VerifyingKey};
use crate::random::{Random, RandomError};
use crate::{ed25519, hash, label, mldsa65, mlkem768, x25519};

/// All secret keys of one owner: Ed25519 to sign, the same key as X25519 to agree, ML-KEM-768.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct Identity {
    signing: ed25519::SigningKey,
    agreement: x25519::PreparedKey,
    kem: mlkem768::SecretKey,
    hedge: HedgeSecret,
    root_seed: Option<RootSeed>,
    public: PublicIdentity,
}

crate::secret_bytes! {
    /// Secret from which all keys of an identity follow ([`Identity::from_root_seed`]).
    pub struct RootSeed[32];
}

impl RootSeed {
    /// Draws a new seed from `random`.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails.
    pub fn generate(random: &mut impl Random) -> Result<Self, RandomError> {
        Self::try_init_with(|out| random.fill(out))
    }
}

crate::secret_bytes! {
    /// Mixed into everything random that the owner makes, in case the random source fails silently.
    pub struct HedgeSecret[32];
}

crate::secret_bytes! {
    /// Key that encrypts the key file of the owner's store.
    pub struct StoreKey[32];
}

impl Identity {
    /// Makes a new identity with keys from `random`.
    ///
    /// # Errors
    /// [`RandomError`] if the source fails.
    pub fn generate(random: &mut impl Random) -> Result<Self, RandomError> {
        Ok(Self::from_seeds(ed25519::Seed::generate(random)?, mlkem768::Seed::generate(random)?))
    }

    /// The identity of a root seed, which it keeps. The Ed25519 seed is
    /// `BLAKE3-derive("endseal/identity@v1 root ed25519 seed", seed)`, the ML-KEM-768 seed 64 bytes
    /// of `BLAKE3-derive("endseal/identity@v1 root ml-kem-768 seed", seed)`.
    #[must_use]
    pub fn from_root_seed(seed: RootSeed) -> Self {
        let root: [&[u8]; 1] = [seed.expose_secret()];
        let mut identity = Self::from_seeds(
            ed25519::Seed::init_with(|out| {
                hash::derive_into(label::IDENTITY_ROOT_ED25519, &root, out);
            }),
            mlkem768::Seed::init_with(|out| {
                hash::derive_into(label::IDENTITY_ROOT_MLKEM768, &root, out);
            }),
        );
        identity.root_seed = Some(seed);
        identity
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
        let signed = SignedKemKey::sign(&signing, kem.public_key());
        let public = PublicIdentity { ed25519: *signing.public_key(), kem: Some(signed) };
        Self {
            agreement: x25519::PreparedKey::new(signing.to_x25519()),
            signing,
            kem,
            hedge,
            root_seed: None,
            public,
        }
    }

    /// The seed from which the identity was made, if it was made from one.
    #[must_use]
    pub fn root_seed(&self) -> Option<&RootSeed> {
        self.root_seed.as_ref()
    }

    /// The public half: the keys that others need to seal to this identity and to verify it.
    #[must_use]
    pub fn public(&self) -> &PublicIdentity {
        &self.public
    }

    /// The Ed25519 key, with which this identity signs.
    #[must_use]
    pub fn signing(&self) -> &ed25519::SigningKey {
        &self.signing
    }

    /// The X25519 secret key, with which this identity agrees on secrets.
    #[must_use]
    pub fn agreement(&self) -> &x25519::PreparedKey {
        &self.agreement
    }

    /// The ML-KEM-768 key, with which this identity decapsulates.
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

    /// The key that protects the owner's store, so that opening the identity suffices to open the
    /// store: `BLAKE3-derive("endseal/identity@v1 store key", Ed25519 seed || ML-KEM-768 seed)`.
    #[must_use]
    pub fn store_key(&self) -> StoreKey {
        StoreKey::init_with(|out| {
            let parts: [&[u8]; 2] =
                [self.signing.seed().expose_secret(), self.kem.seed().expose_secret()];
            hash::derive_into(label::IDENTITY_STORE, &parts, out);
        })
    }

    /// Returns the secret that hedges the owner's randomness.
    #[must_use]
    pub fn hedge(&self) -> &HedgeSecret {
        &self.hedge
    }
}

/// The public keys of one owner.
///
/// The ML-KEM-768 key, if there is one, was signed by the Ed25519 key: people compare the Ed25519
/// key alone, and it stands for both.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicIdentity {
    ed25519: ed25519::PublicKey,
    kem: Option<SignedKemKey>,
}

impl PublicIdentity {
    /// An identity of the Ed25519 key alone. Others can seal to it, but not in the hybrid suite.
    #[must_use]
    pub fn short(ed25519: ed25519::PublicKey) -> Self {
        Self { ed25519, kem: None }
    }

    /// An identity of both keys.
    ///
    /// # Errors
    /// [`BadSignature`] if the owner of `ed25519` did not sign the ML-KEM-768 key.
    pub fn verify(ed25519: ed25519::PublicKey, kem: SignedKemKey) -> Result<Self, BadSignature> {
        ed25519.verify(&kem.message(), &kem.signature)?;
        Ok(Self { ed25519, kem: Some(kem) })
    }

    /// [`Self::short`] or [`Self::verify`] of many, with all signatures in one batch.
    ///
    /// # Errors
    /// The index of the first identity whose signature is wrong.
    #[allow(clippy::missing_panics_doc, clippy::expect_used)]
    pub fn verify_many(
        claims: Vec<(ed25519::PublicKey, Option<SignedKemKey>)>,
    ) -> Result<Vec<Self>, usize> {
        let signed = claims.iter().enumerate();
        let signed = signed.filter_map(|(i, (key, kem))| Some((i, key, kem.as_ref()?)));
        let signed: Vec<_> = signed
            .map(|(i, key, kem)| {
                let key = VerifyingKey::from_bytes(key.as_bytes());
                (i, key.expect("a public key was decoded before"), kem.message(), &kem.signature)
            })
            .collect();
        let batch = signed.iter().map(|(_, key, message, signature)| Signed {
            key,
            message: &message[..],
            signature,
        });
        let verdicts = ed25519::verify_each(&batch.collect::<Vec<_>>());
        if let Some((wrong, _)) = signed.iter().zip(verdicts).find(|(_, valid)| !valid) {
            return Err(wrong.0);
        }
        Ok(claims.into_iter().map(|(ed25519, kem)| Self { ed25519, kem }).collect())
    }

    /// The key that verifies, and to which others seal.
    #[must_use]
    pub fn ed25519(&self) -> &ed25519::PublicKey {
        &self.ed25519
    }

    /// The key to which others encapsulate.
    #[must_use]
    pub fn mlkem768(&self) -> Option<&mlkem768::PublicKey> {
        self.kem.as_ref().map(|kem| &kem.key)
    }

    /// The key to which others encapsulate, with the owner's signature.
    #[must_use]
    pub fn signed_kem_key(&self) -> Option<&SignedKemKey> {
        self.kem.as_ref()
    }
}

impl fmt::Debug for PublicIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PublicIdentity").field(&self.ed25519).field(&self.mlkem768()).finish()
    }
}

/// An ML-KEM-768 key with a signature, which [`PublicIdentity::verify`] verifies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedKemKey {
    key: mlkem768::PublicKey,
    signature: Signature,
}

impl SignedKemKey {
    /// Joins a KEM key and its signature, both received from elsewhere. Nothing is verified here.
    #[must_use]
    pub fn new(key: mlkem768::PublicKey, signature: Signature) -> Self {
        Self { key, signature }
    }

    /// Signs `"endseal/identity@v1 kem key" || 0x00 || BLAKE3(key)`.
    fn sign(owner: &ed25519::SigningKey, key: mlkem768::PublicKey) -> Self {
        let signature = owner.sign(&kem_key_message(&key));
        Self { key, signature }
    }

    /// The ML-KEM-768 public key that the owner signed.
    #[must_use]
    pub fn key(&self) -> &mlkem768::PublicKey {
        &self.key
    }

    /// The owner's Ed25519 signature of the KEM key.
    #[must_use]
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    fn message(&self) -> Vec<u8> {
        kem_key_message(&self.key)
    }
}

fn kem_key_message(key: &mlkem768::PublicKey) -> Vec<u8> {
    let label = label::IDENTITY_KEM_KEY.as_str().as_bytes();
    [label, &[0], &hash::digest(key.as_bytes())].concat()
}
