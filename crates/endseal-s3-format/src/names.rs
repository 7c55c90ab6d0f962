//! "Names": keys whose components are encrypted, each so that it can be found again.

use endseal_crypto::aes_siv::{self, SivKey};
use endseal_crypto::hkdf;
use endseal_crypto::label::S3_NAMES;

use crate::error::error;
use crate::{AuthenticationFailed, base64url};

mod secret_text;

pub use secret_text::{MAX_SECRET_TEXT, NameSecretError};

/// Longest key of S3 in bytes.
const MAX_KEY: usize = 1_024;

endseal_crypto::secret_bytes! {
    /// Key that encrypts the names in one bucket, or in several. Uniformly random.
    pub struct NameSecret[32];
}

/// Encrypts the names in one bucket.
#[allow(missing_debug_implementations, reason = "holds a key")]
pub struct Names {
    key: SivKey,
}

impl Names {
    /// `HKDF-Expand-SHA-512(secret, "endseal/s3-object@v1 names" || bucket, 64)`.
    #[must_use]
    #[allow(clippy::missing_panics_doc, clippy::expect_used)]
    pub fn new(secret: &NameSecret, bucket: &str) -> Self {
        let info = [S3_NAMES.as_str().as_bytes(), bucket.as_bytes()];
        let key = SivKey::try_init_with(|key| hkdf::expand(secret.expose_secret(), &info, key));
        Self { key: key.expect("64 bytes are below the limit of HKDF") }
    }

    /// The key under which the backend has what clients call `key`. A prefix that ends in `/` is
    /// translated likewise.
    ///
    /// # Errors
    /// [`NameError::TooLong`] if the sealed key is longer than S3 allows.
    pub fn seal_key(&self, key: &str) -> Result<String, NameError> {
        if key.len() > MAX_KEY {
            return Err(NameError::TooLong);
        }
        let mut out = String::new();
        for (i, component) in key.split('/').enumerate() {
            if i > 0 {
                out.push('/');
            }
            if !component.is_empty() {
                let sealed = aes_siv::seal(&self.key, out.as_bytes(), component.as_bytes());
                out.push_str(&base64url::encode(&sealed));
            }
            if out.len() > MAX_KEY {
                return Err(NameError::TooLong);
            }
        }
        Ok(out)
    }

    /// Returns the client's name of the backend's `sealed`: a key, or a prefix that ends in `/`.
    ///
    /// # Errors
    /// [`AuthenticationFailed`] if `sealed` is not what [`seal_key`](Self::seal_key) makes in this
    /// bucket.
    pub fn open_key(&self, sealed: &str) -> Result<String, AuthenticationFailed> {
        if sealed.len() > MAX_KEY {
            return Err(AuthenticationFailed);
        }
        let mut out = String::new();
        let mut start = 0;
        for component in sealed.split('/') {
            if start > 0 {
                out.push('/');
            }
            if !component.is_empty() {
                let bytes = base64url::decode(component, MAX_KEY)?;
                let folder = sealed.get(..start).ok_or(AuthenticationFailed)?;
                let name = aes_siv::open(&self.key, folder.as_bytes(), &bytes)?;
                let name = str::from_utf8(&name).map_err(|_| AuthenticationFailed)?;
                if name.is_empty() || name.contains('/') {
                    return Err(AuthenticationFailed);
                }
                out.push_str(name);
            }
            start += component.len() + 1;
        }
        Ok(out)
    }

    /// Splits the prefix of a listing. The first part, up to the last `/` of `prefix`, is sealed
    /// for the request to the backend; the rest is returned beside it. If the rest is not empty,
    /// the caller MUST drop all entries whose opened key does not begin with `prefix`.
    ///
    /// # Errors
    /// [`NameError::TooLong`] if no key can begin so.
    pub fn seal_prefix<'a>(&self, prefix: &'a str) -> Result<(String, &'a str), NameError> {
        let end = prefix.rfind('/').map_or(0, |slash| slash + 1);
        let (folder, rest) = prefix.split_at(end);
        Ok((self.seal_key(folder)?, rest))
    }
}

error! {
    /// A name that cannot be encrypted.
    NameError {
        /// The sealed key is longer than S3 allows: keys have at most 1,024 bytes, and an encrypted
        /// component of n bytes takes 4/3 (n + 16).
        TooLong = "the key is too long once its components are encrypted",
    }
}
