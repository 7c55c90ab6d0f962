//! Parts that were sent again: the client names the tag of one upload of the part, and the backend
//! has another one.

use endseal_s3_format::entity_tag::PartTag;
use endseal_s3_format::{PartNumber, SALT_LEN};
use endseal_s3_protocol::S3Error;

use super::upload::{StoredPart, Upload};
use crate::context::Proxy;

impl Upload<'_> {
    /// Returns the stored part with the same content as the one that the client's tag names, and
    /// its salt. Receipts of both must prove that the content is the same.
    ///
    /// # Errors
    /// If the backend does not respond, or responds with an error.
    pub(super) async fn resent(
        &self,
        proxy: &Proxy,
        tag: &PartTag,
        number: PartNumber,
        present: [Option<StoredPart>; 2],
    ) -> Result<Option<(StoredPart, [u8; SALT_LEN])>, S3Error> {
        let (true, Some(salt)) = (proxy.rule(self.object_ref.bucket).records_uploads(), tag.salt())
        else {
            return Ok(None);
        };
        let meant = self.receipt(proxy, number, tag.backend()).await?;
        let Some(meant) = meant.filter(|receipt| receipt.salt == salt) else { return Ok(None) };
        // The part in the upload and the parked part have different lengths, so at most one
        // matches.
        let is_as_long = |part: &StoredPart| part.plaintext_len == meant.plaintext_len;
        let Some(part) = present.into_iter().flatten().find(is_as_long) else { return Ok(None) };
        let there = self.receipt(proxy, number, &part.entity_tag).await?;
        Ok(there.filter(|there| there.is_same_content(&meant)).map(|there| (part, there.salt)))
    }
}
