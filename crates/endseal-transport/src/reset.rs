//! Stateless resets (RFC 9000, 10.3): a restarted endpoint answers packets of connections that it
//! does not know any more, and their peers notice at once that they are gone.

use std::sync::Arc;

use endseal_crypto::hash;
use endseal_crypto::secret::Zeroizing;
use quinn::EndpointConfig;
use quinn::crypto::{CryptoError, HmacKey};
use quinn_proto::HashedConnectionIdGenerator;

use crate::key::TransportKey;

/// Derives connection ids and reset tokens from the key and the name of the endpoint, so that they
/// are the same after a restart.
pub(crate) fn configure(config: &mut EndpointConfig, key: &TransportKey, name: &[u8]) {
    let mut named = Zeroizing::new([0; hash::LEN]);
    hash::keyed_into(&key.reset_key(), &[b"endpoint", name], &mut *named);
    let reset = ResetKey(named);
    let mut ids = [0; 8];
    hash::keyed_into(&reset.0, &[b"connection ids"], &mut ids);
    let ids = u64::from_le_bytes(ids);
    config.cid_generator(move || Box::new(HashedConnectionIdGenerator::from_key(ids)));
    config.reset_key(Arc::new(reset));
}

struct ResetKey(Zeroizing<[u8; hash::LEN]>);

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], out: &mut [u8]) {
        hash::keyed_into(&self.0, &[b"token", data], out);
    }

    fn signature_len(&self) -> usize {
        hash::LEN
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut expected = [0; hash::LEN];
        self.sign(data, &mut expected);
        let differs = expected.iter().zip(signature).fold(0, |all, (a, b)| all | (a ^ b));
        if differs == 0 && signature.len() == hash::LEN { Ok(()) } else { Err(CryptoError) }
    }
}
