//! "MD5 of the content": the entry `endseal-md5`, which an object may be called by.

use endseal_crypto::label::S3_MD5;
use endseal_crypto::random::{Random, RandomError};
use endseal_crypto::segment::{KeySource, SALT_LEN};

use crate::chunks::{context, open_message, seal_message};
use crate::form::Form;
use crate::header::Header;
use crate::{AuthenticationFailed, ContentKey, base64url};

/// Length of an MD5 digest in bytes.
const MD5_LEN: usize = 16;
/// Length of salt, MD5 and the tag of its chunk.
const SEALED_LEN: usize = SALT_LEN + MD5_LEN + 16;

/// The value of the entry `endseal-md5` of a whole object.
pub(super) fn seal(
    source: &KeySource,
    md5: &[u8; MD5_LEN],
    random: &mut impl Random,
) -> Result<String, RandomError> {
    let mut salt = [0; SALT_LEN];
    random.fill(&mut salt)?;
    Ok(base64url::encode(&seal_message(source, &context(S3_MD5, &[]), &salt, md5)))
}

/// Opens the value of the entry `endseal-md5`.
///
/// # Errors
/// [`AuthenticationFailed`] if `key` is not the key of `header`, the header is that of a multipart
/// object, or the value is not what [`WholeSealer::seal_md5`](crate::WholeSealer::seal_md5) makes.
pub fn open(
    header: &Header,
    key: &ContentKey,
    text: &str,
) -> Result<[u8; MD5_LEN], AuthenticationFailed> {
    if header.form() != Form::Whole {
        return Err(AuthenticationFailed);
    }
    let source = KeySource::new(key);
    header.keys(&source)?;
    let sealed = base64url::decode(text, SEALED_LEN)?;
    let md5 = open_message(&source, &context(S3_MD5, &[]), &sealed)?;
    md5.as_slice().try_into().map_err(|_| AuthenticationFailed)
}
