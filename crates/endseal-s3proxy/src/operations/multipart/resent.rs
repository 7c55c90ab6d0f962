//! A part that was sent again: named by the tag of one upload of it, there as another one.

use endseal_s3_format::entity_tag::PartTag;
use endseal_s3_format::{PartNumber, SALT_LEN};
use endseal_s3_protocol::S3Error;

use super::upload::{StoredPart, Upload};
use crate::context::Proxy;

impl Upload<'_> {
    /// The one of the parts that are there which has the content that the client's tag names, and
    /// its salt, if receipts of both tell so.
    ///
    /// # Errors
    /// If the backend does not answer.
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
        // Of one under the upload and one that is parked, one at most has the length.
        let is_as_long = |part: &StoredPart| part.plaintext_len == meant.plaintext_len;
        let Some(part) = present.into_iter().flatten().find(is_as_long) else { return Ok(None) };
        let there = self.receipt(proxy, number, &part.entity_tag).await?;
        Ok(there.filter(|there| there.is_same_content(&meant)).map(|there| (part, there.salt)))
    }
}
