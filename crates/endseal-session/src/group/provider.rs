//! Cryptography of groups. AWS-LC provides the algorithms. Signatures are verified by
//! endseal-crypto's rules and, for texts that are opened together, in one batch.

use endseal_crypto::ed25519::Signature;
use endseal_crypto::secret::Zeroizing;
use mls_rs::crypto::{
    HpkeCiphertext, HpkePsk, HpkePublicKey, HpkeSecretKey, SignaturePublicKey, SignatureSecretKey,
};
use mls_rs::{CipherSuite, CipherSuiteProvider, CryptoProvider};
use mls_rs_crypto_awslc::{AwsLcCipherSuite, AwsLcCryptoError, AwsLcCryptoProvider};

use super::storage_adapter::StorageAdapter;
use super::suite::Suite;

/// Provider of the MLS library's cryptography for a set of suites.
#[derive(Clone)]
pub(super) struct Provider {
    aws_lc: AwsLcCryptoProvider,
    storage_adapter: StorageAdapter,
}

impl Provider {
    pub(super) fn new(suites: &[Suite], storage_adapter: &StorageAdapter) -> Self {
        let suites = suites.iter().copied().map(Suite::to_mls).collect();
        let aws_lc = AwsLcCryptoProvider::with_enabled_cipher_suites(suites);
        Self { aws_lc, storage_adapter: storage_adapter.clone() }
    }
}

impl CryptoProvider for Provider {
    type CipherSuiteProvider = SuiteProvider;

    fn supported_cipher_suites(&self) -> Vec<CipherSuite> {
        self.aws_lc.supported_cipher_suites()
    }

    /// Returns only suites that were enabled; all of them sign with Ed25519.
    fn cipher_suite_provider(&self, suite: CipherSuite) -> Option<SuiteProvider> {
        if !self.aws_lc.enabled_cipher_suites.contains(&suite) {
            return None;
        }
        let aws_lc = self.aws_lc.cipher_suite_provider(suite)?;
        Some(SuiteProvider { aws_lc, storage_adapter: self.storage_adapter.clone() })
    }
}

/// The MLS library's cryptography for one suite.
#[derive(Clone)]
pub(super) struct SuiteProvider {
    aws_lc: AwsLcCipherSuite,
    storage_adapter: StorageAdapter,
}

impl CipherSuiteProvider for SuiteProvider {
    type Error = AwsLcCryptoError;
    type HpkeContextS = <AwsLcCipherSuite as CipherSuiteProvider>::HpkeContextS;
    type HpkeContextR = <AwsLcCipherSuite as CipherSuiteProvider>::HpkeContextR;

    /// Verifies Ed25519 by the rules of this project: canonical keys, `R` and `S`, with the
    /// cofactor. AWS-LC verifies without the cofactor, and could disagree with a batch
    /// verification.
    fn verify(
        &self,
        public_key: &SignaturePublicKey,
        signature: &[u8],
        data: &[u8],
    ) -> Result<(), Self::Error> {
        let invalid = AwsLcCryptoError::InvalidSignature;
        let Ok(key) = public_key.as_bytes().try_into() else { return Err(invalid) };
        let Ok(signature) = signature.try_into() else { return Err(invalid) };
        let signature = Signature::from_bytes(signature);
        let key =
            self.storage_adapter.keys().decoded(key).ok_or(AwsLcCryptoError::InvalidKeyData)?;
        if let Some(signatures) = &mut self.storage_adapter.table().signatures {
            signatures.add(key, data.to_vec(), signature);
            return Ok(());
        }
        key.verify(data, &signature).map_err(|_| invalid)
    }

    fn cipher_suite(&self) -> CipherSuite {
        self.aws_lc.cipher_suite()
    }

    fn hash(&self, data: &[u8]) -> Result<Vec<u8>, Self::Error> {
        self.aws_lc.hash(data)
    }

    fn mac(&self, key: &[u8], data: &[u8]) -> Result<Vec<u8>, Self::Error> {
        self.aws_lc.mac(key, data)
    }

    fn aead_seal(
        &self,
        key: &[u8],
        data: &[u8],
        aad: Option<&[u8]>,
        nonce: &[u8],
    ) -> Result<Vec<u8>, Self::Error> {
        self.aws_lc.aead_seal(key, data, aad, nonce)
    }

    fn aead_open(
        &self,
        key: &[u8],
        ciphertext: &[u8],
        aad: Option<&[u8]>,
        nonce: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Self::Error> {
        let plaintext = self.aws_lc.aead_open(key, ciphertext, aad, nonce)?;
        let mut table = self.storage_adapter.table();
        let may_go_on = table.watch.as_mut().is_none_or(|watch| watch.decrypted(&plaintext));
        if may_go_on { Ok(plaintext) } else { Err(AwsLcCryptoError::CryptoError) }
    }

    fn aead_key_size(&self) -> usize {
        self.aws_lc.aead_key_size()
    }

    fn aead_nonce_size(&self) -> usize {
        self.aws_lc.aead_nonce_size()
    }

    fn kdf_extract(&self, salt: &[u8], ikm: &[u8]) -> Result<Zeroizing<Vec<u8>>, Self::Error> {
        self.aws_lc.kdf_extract(salt, ikm)
    }

    fn kdf_expand(
        &self,
        prk: &[u8],
        info: &[u8],
        len: usize,
    ) -> Result<Zeroizing<Vec<u8>>, Self::Error> {
        self.aws_lc.kdf_expand(prk, info, len)
    }

    fn kdf_extract_size(&self) -> usize {
        self.aws_lc.kdf_extract_size()
    }

    fn hpke_seal(
        &self,
        remote_key: &HpkePublicKey,
        info: &[u8],
        aad: Option<&[u8]>,
        pt: &[u8],
    ) -> Result<HpkeCiphertext, Self::Error> {
        self.aws_lc.hpke_seal(remote_key, info, aad, pt)
    }

    fn hpke_seal_psk(
        &self,
        remote_key: &HpkePublicKey,
        info: &[u8],
        aad: Option<&[u8]>,
        pt: &[u8],
        psk: HpkePsk<'_>,
    ) -> Result<HpkeCiphertext, Self::Error> {
        self.aws_lc.hpke_seal_psk(remote_key, info, aad, pt, psk)
    }

    fn hpke_open(
        &self,
        ciphertext: &HpkeCiphertext,
        local_secret: &HpkeSecretKey,
        local_public: &HpkePublicKey,
        info: &[u8],
        aad: Option<&[u8]>,
    ) -> Result<Zeroizing<Vec<u8>>, Self::Error> {
        self.aws_lc.hpke_open(ciphertext, local_secret, local_public, info, aad)
    }

    fn hpke_open_psk(
        &self,
        ciphertext: &HpkeCiphertext,
        local_secret: &HpkeSecretKey,
        local_public: &HpkePublicKey,
        info: &[u8],
        aad: Option<&[u8]>,
        psk: HpkePsk<'_>,
    ) -> Result<Zeroizing<Vec<u8>>, Self::Error> {
        self.aws_lc.hpke_open_psk(ciphertext, local_secret, local_public, info, aad, psk)
    }

    fn hpke_setup_s(
        &self,
        remote_key: &HpkePublicKey,
        info: &[u8],
    ) -> Result<(Vec<u8>, Self::HpkeContextS), Self::Error> {
        self.aws_lc.hpke_setup_s(remote_key, info)
    }

    fn hpke_setup_r(
        &self,
        kem_output: &[u8],
        local_secret: &HpkeSecretKey,
        local_public: &HpkePublicKey,
        info: &[u8],
    ) -> Result<Self::HpkeContextR, Self::Error> {
        self.aws_lc.hpke_setup_r(kem_output, local_secret, local_public, info)
    }

    fn kem_derive(&self, ikm: &[u8]) -> Result<(HpkeSecretKey, HpkePublicKey), Self::Error> {
        self.aws_lc.kem_derive(ikm)
    }

    fn kem_generate(&self) -> Result<(HpkeSecretKey, HpkePublicKey), Self::Error> {
        self.aws_lc.kem_generate()
    }

    fn kem_public_key_validate(&self, key: &HpkePublicKey) -> Result<(), Self::Error> {
        self.aws_lc.kem_public_key_validate(key)
    }

    fn random_bytes(&self, out: &mut [u8]) -> Result<(), Self::Error> {
        self.aws_lc.random_bytes(out)
    }

    fn signature_key_generate(
        &self,
    ) -> Result<(SignatureSecretKey, SignaturePublicKey), Self::Error> {
        self.aws_lc.signature_key_generate()
    }

    fn signature_key_derive_public(
        &self,
        secret_key: &SignatureSecretKey,
    ) -> Result<SignaturePublicKey, Self::Error> {
        self.aws_lc.signature_key_derive_public(secret_key)
    }

    fn sign(&self, secret_key: &SignatureSecretKey, data: &[u8]) -> Result<Vec<u8>, Self::Error> {
        self.aws_lc.sign(secret_key, data)
    }
}
