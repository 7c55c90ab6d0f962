//! Content keys: drawn and wrapped for new objects, unwrapped for those that are there.

use core::time::Duration;

use endseal_crypto::key_wrap::NONCE_LEN;
use endseal_crypto::random::{BufferedRandom, OsRandom, Random as _};
use endseal_kms::{KeyId, ProviderError, Wrapped};
use endseal_s3_format::{Binding, ContentKey, Header, Place, SALT_LEN};
use endseal_s3_protocol::S3Error;

use crate::context::Proxy;

/// A new content key and what the provider made of it.
pub(crate) struct ObjectKeys {
    pub(crate) key: ContentKey,
    pub(crate) wrapped: Wrapped,
    pub(crate) binding: Binding,
    /// For what else is made with them.
    pub(crate) random: Draws,
}

/// A content key, the nonce that it is wrapped with, and two salts.
pub(crate) type Draws = BufferedRandom<OsRandom, { 32 + NONCE_LEN + 2 * SALT_LEN }>;

impl Proxy {
    /// Draws a content key for an object at that place.
    ///
    /// # Errors
    /// If the provider does not wrap it.
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

    /// Unwraps the content key of an object at that place, and compares the commitment.
    ///
    /// # Errors
    /// `ObjectNotAuthentic`, or that the provider does not answer.
    pub(crate) async fn open_key(
        &self,
        header: &Header,
        place: Place<'_>,
    ) -> Result<ContentKey, S3Error> {
        let key = self.unwrap_key(header, place).await?;
        header.verify(&key).map_err(|_| S3Error::not_authentic())?;
        Ok(key)
    }

    /// The same without a look at the header's commitment, which the caller MUST take.
    ///
    /// # Errors
    /// As [`open_key`](Self::open_key), but for another commitment.
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

    /// The header of the same object at another place, or under the provider's present key.
    ///
    /// # Errors
    /// As [`open_key`](Self::open_key), of which `key` comes.
    pub(crate) async fn rewrap(
        &self,
        header: &Header,
        key: &ContentKey,
        place: Place<'_>,
    ) -> Result<Header, S3Error> {
        self.rewrap_bound(header, key, place, self.rule(place.bucket()).binding).await
    }

    /// The same with another binding than that of the bucket's rule.
    ///
    /// # Errors
    /// As [`rewrap`](Self::rewrap).
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

    /// Asks the provider for a key.
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
                .because("key_provider", "the key provider does not answer")
        }
        ProviderError::Refused => S3Error::access_denied()
            .with_message("The key provider does not let the proxy do this.")
            .because("key_provider", "the key provider refused"),
        _ => S3Error::not_authentic(),
    }
}
