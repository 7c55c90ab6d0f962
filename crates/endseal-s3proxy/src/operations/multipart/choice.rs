//! Selection of the stored parts that a completion names.

use endseal_s3_format::entity_tag::PartTag;
use endseal_s3_format::{Entry, PartNumber, size};
use endseal_s3_protocol::S3Error;
use endseal_s3_protocol::xml::CompletedPart;

use super::upload::{StoredPart, Upload};
use crate::context::Proxy;

/// Entry of the record, and the stored part that belongs to it.
pub(super) type Chosen = (Entry, StoredPart);

/// Finds the stored parts that the client names. Returns `None` if there is no part with one of the
/// numbers.
///
/// # Errors
/// `InvalidPartOrder`, `InvalidPart` if the tag of a part is another, `EntityTooSmall`, or
/// `NoSuchUpload` if the backend does not have the upload.
pub(super) async fn choose(
    proxy: &Proxy,
    upload: &Upload<'_>,
    named: &[CompletedPart],
) -> Result<Option<Vec<Chosen>>, S3Error> {
    if named.windows(2).any(|pair| pair[0].number >= pair[1].number) {
        return Err(S3Error::invalid_part_order());
    }
    let (Some(first), Some(last)) = (named.first(), named.last()) else {
        return Err(S3Error::malformed_xml());
    };
    let mut listed = upload.listed(proxy, first.number..=last.number).await?;
    let mut chosen = Vec::with_capacity(named.len());
    for part in named {
        let number = PartNumber::new(part.number).ok_or_else(S3Error::invalid_part)?;
        let tag = PartTag::parse(&part.etag).map_err(|_| S3Error::invalid_part())?;
        let at = listed
            .iter()
            .position(|stored| stored.number == number && stored.entity_tag == tag.backend());
        let mut salt = tag.salt();
        let stored = match at {
            Some(at) => listed.swap_remove(at),
            None => match upload.parked_part(proxy, number).await? {
                Some(parked) if parked.entity_tag == tag.backend() => parked,
                parked => {
                    let at = listed.iter().position(|stored| stored.number == number);
                    let present = [at.map(|at| listed.swap_remove(at)), parked];
                    if present.iter().all(Option::is_none) {
                        return Ok(None);
                    }
                    let resent = upload.resent(proxy, &tag, number, present).await?;
                    let (stored, its_salt) = resent.ok_or_else(S3Error::invalid_part)?;
                    salt = Some(its_salt);
                    stored
                }
            },
        };
        if stored.plaintext_len < size::MIN_PART && part.number != last.number {
            return Err(S3Error::too_small());
        }
        let entry = Entry { number, plaintext_len: stored.plaintext_len, salt };
        chosen.push((entry, stored));
    }
    Ok(Some(chosen))
}
