//! Content keys: created and wrapped for new objects, unwrapped for existing ones.

use core::time::Duration;

use endseal_crypto::key_wrap::NONCE_LEN;
use endseal_crypto::random::{BufferedRandom, OsRandom, Random as _};
use endseal_kms::{KeyId, ProviderError, Wrapped};
use endseal_s3_format::{Binding, ContentKey, Header, Place, SALT_LEN};
use endseal_s3_protocol::S3Error;

use crate::context::Proxy;

/// New content key with its wrapped form.
pub(crate) struct ObjectKeys {
    pub(crate) key: ContentKey,
    pub(crate) wrapped: Wrapped,
    pub(crate) binding: Binding,
    /// Buffered randomness, also for nonces and salts of the object.
    pub(crate) random: Draws,
}

/// Random bytes for a content key, the nonce that wraps it, and two salts.
pub(crate) type Draws = BufferedRandom<OsRandom, { 32 + NONCE_LEN + 2 * SALT_LEN }>;

impl Proxy {
    /// Creates and wraps a content key for an object at `place`.
    ///
    /// # Errors
    /// If the provider cannot wrap the key, or the system returns no random bytes.
    pub(crate) async fn new_key(&self, place: Place<'_>) -> Result<ObjectKeys, S3Error> {
        let mut bytes = endseal_crypto::secret::Zeroizing::new([0; 32]);
        let mut random = Draws::new(OsRandom);
        random.fill(&mut bytes[..]).map_err(|_| S3Error::internal())?;
        let key = ContentKey::from_bytes(&bytes);
        let binding = self.rule(place.bucket()).binding;
        let context = place.wrap_context(binding);
        let wrapped = self.provider.wrap_with(&context, &key, &mut random).await;
        let wrapped = wrapped.map_err(provider_error)?;
        Ok(ObjectKeys { key, wrapped, binding, random })
    }

    async fn wrap(
        &self,
        key: &ContentKey,
        place: Place<'_>,
        binding: Binding,
    ) -> Result<Wrapped, S3Error> {
        let context = place.wrap_context(binding);
        self.provider.wrap(&context, key).await.map_err(provider_error)
    }

    /// Unwraps the content key of an object at `place` and checks the commitment of its header.
    ///
    /// # Errors
    /// `ObjectNotAuthentic` if the key cannot be unwrapped or does not match, or an error if the
    /// provider is not available.
    pub(crate) async fn open_key(
        &self,
        header: &Header,
        place: Place<'_>,
    ) -> Result<ContentKey, S3Error> {
        let key = self.unwrap_key(header, place).await?;
        header.verify(&key).map_err(|_| S3Error::not_authentic())?;
        Ok(key)
    }

    /// Unwraps the content key without checking the commitment of the header, which the caller MUST
    /// do.
    ///
    /// # Errors
    /// The same errors as [`open_key`](Self::open_key), except for a wrong commitment.
    pub(crate) async fn unwrap_key(
        &self,
        header: &Header,
        place: Place<'_>,
    ) -> Result<ContentKey, S3Error> {
        let demanded = self.rule(place.bucket()).binding;
        let context =
            header.unwrap_context(&place, demanded).map_err(|_| S3Error::not_authentic())?;
        let key_id = KeyId::new(header.key_id()).map_err(|_| S3Error::not_authentic())?;
        let key = self
            .provider
            .unwrap(&key_id, &context, header.wrapped_key())
            .await
            .map_err(provider_error)?;
        Ok(key)
    }

    /// Returns the header of the same object for another place, or under the provider's newest key.
    /// `key` is the result of [`open_key`](Self::open_key).
    ///
    /// # Errors
    /// If the provider cannot wrap the key.
    pub(crate) async fn rewrap(
        &self,
        header: &Header,
        key: &ContentKey,
        place: Place<'_>,
    ) -> Result<Header, S3Error> {
        self.rewrap_bound(header, key, place, self.rule(place.bucket()).binding).await
    }

    /// Like [`rewrap`](Self::rewrap), with another binding than that of the bucket's rule.
    ///
    /// # Errors
    /// The same errors as [`rewrap`](Self::rewrap).
    pub(crate) async fn rewrap_bound(
        &self,
        header: &Header,
        key: &ContentKey,
        place: Place<'_>,
        binding: Binding,
    ) -> Result<Header, S3Error> {
        let wrapped = self.wrap(key, place, binding).await?;
        header
            .rewrapped(binding, wrapped.key_id.as_str(), &wrapped.bytes)
            .map_err(|_| S3Error::internal())
    }

    /// Wraps a dummy key to check that the provider works.
    pub(crate) async fn probe_keys(&self) -> Result<(), S3Error> {
        let place = Place::new("readiness", "readiness").ok_or_else(S3Error::internal)?;
        let probe = ContentKey::from_bytes(&[0; 32]);
        self.wrap(&probe, place, Binding::Key).await.map(drop)
    }
}

fn provider_error(error: ProviderError) -> S3Error {
    match error {
        ProviderError::Unavailable { retry_after } => {
            let seconds = retry_after.max(Duration::from_secs(1)).as_secs();
            S3Error::keys_unavailable()
                .with_retry_after(u32::try_from(seconds).unwrap_or(60))
                .because("key_provider", "the key provider does not respond")
        }
        ProviderError::Refused => S3Error::access_denied()
            .with_message("The key provider does not allow the proxy to use this key.")
            .because("key_provider", "the key provider refused the request"),
        _ => S3Error::not_authentic(),
    }
}
