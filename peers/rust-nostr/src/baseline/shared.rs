//! The shared secret of two keys: the x coordinate of their product (NIP-04 and NIP-44).

use k256::{PublicKey, SecretKey, ecdh};

use super::hex;

/// Returns the shared secret of a secret key and the x coordinate of a public key, all in
/// hexadecimal.
pub(super) fn secret(secret: &str, public: &str) -> Result<String, String> {
    let secret = SecretKey::from_slice(&hex::decode(secret)?).map_err(|error| error.to_string())?;
    // The x coordinate alone means the point with an even y.
    let full = "02".to_owned() + public;
    let public = PublicKey::from_sec1_bytes(&hex::decode(&full)?);
    let public = public.map_err(|error| error.to_string())?;
    let product = ecdh::diffie_hellman(secret.to_nonzero_scalar(), public.as_affine());
    Ok(hex::encode(product.raw_secret_bytes()))
}
