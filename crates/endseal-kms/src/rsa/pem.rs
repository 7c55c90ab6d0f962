//! PEM (RFC 7468) of one key.

use base64ct::{Base64, Encoding as _};
use endseal_crypto::secret::Zeroizing;

use super::{Pem, ReadRsaKeyError};

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";
/// More than a key of 4,096 bits has, with text around it.
const MAX_LEN: usize = 65_536;

/// The first block. `None` if the bytes are no PEM.
pub(super) fn decode(bytes: &[u8]) -> Result<Option<Pem>, ReadRsaKeyError> {
    let Ok(text) = core::str::from_utf8(bytes) else { return Ok(None) };
    let Some(at) = text.find(BEGIN) else { return Ok(None) };
    if text.len() > MAX_LEN {
        return Err(ReadRsaKeyError::Pem);
    }
    let (kind, rest) = text[at + BEGIN.len()..].split_once(DASHES).ok_or(ReadRsaKeyError::Pem)?;
    let (body, end) = rest.split_once(END).ok_or(ReadRsaKeyError::Pem)?;
    if end.split_once(DASHES).map(|(kind, _)| kind) != Some(kind) {
        return Err(ReadRsaKeyError::Pem);
    }
    let private = match kind {
        "PRIVATE KEY" => true,
        "PUBLIC KEY" => false,
        "ENCRYPTED PRIVATE KEY" => return Err(ReadRsaKeyError::Encrypted),
        "RSA PRIVATE KEY" => return Err(ReadRsaKeyError::Pkcs1),
        _ => return Err(ReadRsaKeyError::Pem),
    };
    // The capacity is that of the whole text, so that the string never moves and leaves no copy
    // behind.
    let mut packed = Zeroizing::new(String::with_capacity(body.len()));
    packed.extend(body.split_ascii_whitespace());
    let mut der = Zeroizing::new(vec![0; packed.len() / 4 * 3 + 3]);
    let len = Base64::decode(packed.as_bytes(), &mut der).map_err(|_| ReadRsaKeyError::Pem)?.len();
    der.truncate(len);
    Ok(Some(Pem { der, private }))
}
