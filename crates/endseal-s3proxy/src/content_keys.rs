//! Content keys: created and wrapped for new objects, unwrapped for existing ones.

use core::time::Duration;

use endseal_crypto::key_wrap::NONCE_LEN;
use endseal_crypto::random::{BufferedRandom, OsRandom, Random as _};
use endseal_kms::{KeyId, ProviderError, Wrapped};
use endseal_s3_format::{Bound, ContentKey, Header, Place, SALT_LEN};
use endseal_s3_protocol::S3Error;

use crate::context::Proxy;

/// New content key with its wrapped form.
pub(crate) struct ObjectKeys<'p> {
    pub(crate) key: ContentKey,
    pub(crate) wrapped: Wrapped,
    /// Names that the object is bound to.
    pub(crate) bound: Bound<'p>,
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
    pub(crate) async fn new_key<'p>(&'p self, place: Place<'p>) -> Result<ObjectKeys<'p>, S3Error> {
        let mut bytes = endseal_crypto::secret::Zeroizing::new([0; 32]);
        let mut random = Draws::new(OsRandom);
        random.fill(&mut bytes[..]).map_err(|_| S3Error::internal())?;
        let key = ContentKey::from_bytes(&bytes);
        let wrapped = self.provider.wrap_with(Header::wrap_context(), &key, &mut random).await;
        let wrapped = wrapped.map_err(provider_error)?;
        Ok(ObjectKeys { key, wrapped, bound: self.bound(place)?, random })
    }

    async fn wrap(&self, key: &ContentKey) -> Result<Wrapped, S3Error> {
        self.provider.wrap(Header::wrap_context(), key).await.map_err(provider_error)
    }

    /// Returns what a new object at `place` is bound to, by the rule of its bucket.
    fn bound<'p>(&'p self, place: Place<'p>) -> Result<Bound<'p>, S3Error> {
        let rule = self.rule(place.bucket());
        Ok(Bound {
            place: self.sealed_place(place)?,
            binding: rule.binding,
            has_sealed_metadata: rule.seal_metadata,
        })
    }

    /// Returns the place that an object at `place` is bound to: under the name by which its bucket
    /// is sealed.
    fn sealed_place<'p>(&'p self, place: Place<'p>) -> Result<Place<'p>, S3Error> {
        match &self.rule(place.bucket()).sealed_as {
            Some(bucket) => Place::new(bucket, place.key()).ok_or_else(S3Error::invalid_uri),
            None => Ok(place),
        }
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

    /// Unwraps the content key and checks the place, without checking the commitment of the header,
    /// which the caller MUST do.
    ///
    /// # Errors
    /// The same errors as [`open_key`](Self::open_key), except for a wrong commitment.
    pub(crate) async fn unwrap_key(
        &self,
        header: &Header,
        place: Place<'_>,
    ) -> Result<ContentKey, S3Error> {
        let demanded = self.rule(place.bucket()).binding;
        if header.binding() < demanded {
            return Err(S3Error::not_authentic());
        }
        let key_id = KeyId::new(header.key_id()).map_err(|_| S3Error::not_authentic())?;
        let key = self
            .provider
            .unwrap(&key_id, Header::wrap_context(), header.wrapped_key())
            .await
            .map_err(provider_error)?;
        let place = self.sealed_place(place)?;
        header.verify_place(&key, &place, demanded).map_err(|_| S3Error::not_authentic())?;
        Ok(key)
    }

    /// Returns the header of the same object for another place, under the provider's newest key and
    /// with the metadata that the rule of the bucket there requires. `key` is the result of
    /// [`open_key`](Self::open_key).
    ///
    /// # Errors
    /// If the provider cannot wrap the key.
    pub(crate) async fn header_for(
        &self,
        header: &Header,
        key: &ContentKey,
        place: Place<'_>,
    ) -> Result<Header, S3Error> {
        self.rewrap(&header.bound_to(key, &self.bound(place)?), key).await
    }

    /// Returns the header of the same object at the same place, under the provider's newest key.
    ///
    /// # Errors
    /// If the provider cannot wrap the key.
    pub(crate) async fn rewrap(
        &self,
        header: &Header,
        key: &ContentKey,
    ) -> Result<Header, S3Error> {
        let wrapped = self.wrap(key).await?;
        header.rewrapped(wrapped.key_id.as_str(), &wrapped.bytes).map_err(|_| S3Error::internal())
    }

    /// Wraps a dummy key to check that the provider works.
    pub(crate) async fn probe_keys(&self) -> Result<(), S3Error> {
        self.wrap(&ContentKey::from_bytes(&[0; 32])).await.map(drop)
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
