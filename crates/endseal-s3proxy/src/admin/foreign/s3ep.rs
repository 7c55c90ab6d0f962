//! Keys and metadata of guided-traffic's s3-encryption-proxy.

use core::fmt::Write as _;

use base64ct::{Base64, Encoding as _};
use endseal_crypto::aes_ctr::{self, AesCtr};
use endseal_crypto::secret::Zeroizing;
use endseal_crypto::sha256;
use endseal_kms::rsa::{ReadRsaKeyError, RsaKey};
use endseal_kms::{KeyId, KeyProvider as _, ProviderError, RsaProvider};
use http::HeaderMap;

use super::s3ep_content::{CtrReader, GcmReader, MAX_GCM};
use super::{ForeignKeyError, ForeignObject, NotForeign};
use crate::headers::{self, USER_METADATA};

/// Begins the names of the system's metadata, unless its configuration says otherwise.
const PREFIX: &str = "s3ep-";

type Key = Zeroizing<[u8; 32]>;

/// Keys of the system, which wrap the keys of objects.
#[allow(missing_debug_implementations, reason = "it holds secret keys")]
pub struct S3epKeys {
    prefix: String,
    /// AES keys, by the digest that metadata have of them.
    aes: Vec<(String, Key)>,
    /// RSA keys, by their ids.
    rsa: Vec<(KeyId, RsaProvider)>,
}

impl S3epKeys {
    /// Begins a set of keys. `prefix` is `metadata_key_prefix` of the system's configuration.
    #[must_use]
    pub fn new(prefix: Option<&str>) -> Self {
        let prefix = prefix.unwrap_or(PREFIX).to_ascii_lowercase();
        Self { prefix, aes: Vec::new(), rsa: Vec::new() }
    }

    /// Adds the key in the content of a file: the value of `aes_key`, or `private_key_pem`. The
    /// caller MUST wipe `content`.
    ///
    /// # Errors
    /// [`ForeignKeyError`] if it is none of both.
    pub fn add(&mut self, content: &[u8]) -> Result<(), ForeignKeyError> {
        if content.trim_ascii().starts_with(b"-----BEGIN") {
            return self.add_rsa(content);
        }
        let line = content.strip_suffix(b"\n").unwrap_or(content);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut key = Zeroizing::new([0; 32]);
        let text = core::str::from_utf8(line).unwrap_or_default();
        let is_base64 = Base64::decode(text, &mut key[..]).is_ok_and(|key| key.len() == 32);
        if !is_base64 {
            *key = line.try_into().map_err(|_| ForeignKeyError::NoKey)?;
        }
        let digest = sha256::digest(&key[..]);
        let mut name = String::new();
        for byte in digest {
            // Writing to a string cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
        self.aes.push((name, key));
        Ok(())
    }

    fn add_rsa(&mut self, content: &[u8]) -> Result<(), ForeignKeyError> {
        let key = RsaKey::read(content).map_err(|error| match error {
            ReadRsaKeyError::Pem => ForeignKeyError::NoKey,
            error => ForeignKeyError::Rsa(error),
        })?;
        if !key.is_private() {
            return Err(ForeignKeyError::PublicKey);
        }
        self.rsa.push((key.id().clone(), RsaProvider::new(key, Vec::new())));
        Ok(())
    }

    pub(super) fn is_own_metadata(&self, name: &str) -> bool {
        name.starts_with(&self.prefix)
    }

    fn value<'a>(&self, head: &'a HeaderMap, name: &str) -> Option<&'a str> {
        headers::text(head, format!("{USER_METADATA}{}{name}", self.prefix).as_str())
    }

    pub(super) async fn look(
        &self,
        key: &str,
        head: &HeaderMap,
        len: u64,
    ) -> Result<ForeignObject, NotForeign> {
        let wrapped = self.value(head, "encrypted-dek").ok_or(NotForeign::Other)?;
        let algorithm = self.value(head, "dek-algorithm").ok_or(NotForeign::NotAuthentic)?;
        let bytes = |name| {
            let text = self.value(head, name)?;
            Some(Base64::decode_vec(text).map_err(|_| NotForeign::NotAuthentic))
        };
        let wrapped = Base64::decode_vec(wrapped).map_err(|_| NotForeign::NotAuthentic)?;
        let object_key = self.unwrap(head, &wrapped).await?;
        match algorithm {
            "aes-gcm" | "aes-256-gcm" => {
                let (reader, content_len) =
                    GcmReader::new(object_key, key, len).ok_or(match len > MAX_GCM {
                        true => NotForeign::TooLong,
                        false => NotForeign::NotAuthentic,
                    })?;
                let converter = Box::new(reader);
                Ok(ForeignObject { content_len, is_authenticated: true, converter })
            }
            "aes-ctr" | "aes-256-ctr" => {
                let iv = bytes("aes-iv").ok_or(NotForeign::NotAuthentic)??;
                let iv = iv.try_into().map_err(|_| NotForeign::NotAuthentic)?;
                let mac = match bytes("hmac") {
                    None => None,
                    Some(mac) => Some(mac?.try_into().map_err(|_| NotForeign::NotAuthentic)?),
                };
                let reader = CtrReader::new(&object_key, &iv, mac, len);
                let converter = Box::new(reader.map_err(|_| NotForeign::NotAuthentic)?);
                let is_authenticated = mac.is_some();
                Ok(ForeignObject { content_len: len, is_authenticated, converter })
            }
            _ => Err(NotForeign::NotAuthentic),
        }
    }

    /// Opens the key of an object. With AES, nothing shows that it is the right one.
    async fn unwrap(&self, head: &HeaderMap, wrapped: &[u8]) -> Result<Key, NotForeign> {
        let fingerprint = self.value(head, "kek-fingerprint").unwrap_or_default();
        let unknown = || NotForeign::UnknownKey(fingerprint.to_owned());
        if self.value(head, "kek-algorithm") == Some("rsa") {
            for (id, provider) in &self.rsa {
                match provider.unwrap(id, &[], wrapped).await {
                    Ok(opened) => return Ok(Zeroizing::new(*opened.expose_secret())),
                    Err(ProviderError::AuthenticationFailed) => {}
                    Err(_) => return Err(unknown()),
                }
            }
            return Err(unknown());
        }
        let found = self.aes.iter().find(|(name, _)| name == fingerprint);
        let (_, key) = found.ok_or_else(unknown)?;
        let (iv, sealed) =
            wrapped.split_first_chunk::<{ aes_ctr::IV_LEN }>().ok_or(NotForeign::NotAuthentic)?;
        let mut opened = Zeroizing::new([0; 32]);
        *opened = sealed.try_into().map_err(|_| NotForeign::NotAuthentic)?;
        AesCtr::new(key, iv).apply(&mut opened[..]);
        Ok(opened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_forms_of_the_configuration() {
        let mut keys = S3epKeys::new(None);
        keys.add(b"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n").unwrap();
        keys.add(b"0123456789abcdef0123456789abcdef").unwrap();
        let names: Vec<_> = keys.aes.iter().map(|(name, _)| &name[..8]).collect();
        assert_eq!(names, ["630dcd29", "3eb1bd43"]);
        let public = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
        for odd in [&b""[..], b"short", b"AAECAwQFBgcICQoLDA0ODw==", public.as_bytes()] {
            let error = keys.add(odd).unwrap_err();
            assert!(!error.to_string().contains("AAEC"), "{error}");
        }
    }
}
