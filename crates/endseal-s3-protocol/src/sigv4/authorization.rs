//! The header `Authorization: AWS4-HMAC-SHA256 Credential=…, SignedHeaders=…, Signature=…`.

use super::SignatureError;
use super::ascii::{split, split_once};
use super::canonical::ALGORITHM;
use super::hex::digest;
use super::scope::Scope;

/// Longest header, and list of signed headers.
const MAX_LEN: usize = 8_192;
const MAX_SIGNED: usize = 1_024;

/// Header or query of a signature.
pub(super) struct Authorization<'a> {
    pub(super) scope: Scope<'a>,
    pub(super) signed: Vec<&'a str>,
    pub(super) signature: [u8; 32],
}

impl<'a> Authorization<'a> {
    pub(super) fn parse(header: &'a str) -> Result<Self, SignatureError> {
        use SignatureError::MalformedHeader as Malformed;
        let trimmed = header.trim_ascii();
        let mechanism = trimmed.split_ascii_whitespace().next().unwrap_or_default();
        let rest = trimmed.strip_prefix(mechanism).unwrap_or_default();
        if mechanism.eq_ignore_ascii_case("AWS") {
            return Err(SignatureError::Version2);
        }
        if mechanism != ALGORITHM {
            return Err(SignatureError::UnsupportedMechanism);
        }
        if header.len() > MAX_LEN {
            return Err(Malformed("It is too long."));
        }
        let (mut credential, mut signed, mut signature) = (None, None, None);
        for part in split(rest, b',') {
            let Some((name, value)) = split_once(part.trim_ascii(), b'=') else {
                return Err(Malformed("Expecting name=value, separated by commas."));
            };
            let place = match name {
                "Credential" => &mut credential,
                "SignedHeaders" => &mut signed,
                "Signature" => &mut signature,
                _ => return Err(Malformed("It has an unknown component.")),
            };
            if place.replace(value).is_some() {
                return Err(Malformed("A component is there twice."));
            }
        }
        let credential = credential.ok_or(Malformed("Credential is missing."))?;
        let signed = signed.ok_or(Malformed("SignedHeaders is missing."))?;
        let signature = signature.ok_or(Malformed("Signature is missing."))?;
        Ok(Self {
            scope: Scope::parse(credential).map_err(Malformed)?,
            signed: signed_headers(signed).map_err(Malformed)?,
            signature: digest(signature.as_bytes())
                .ok_or(Malformed("Signature is not 64 hexadecimal digits."))?,
        })
    }
}

/// Names in lower case, each once.
pub(super) fn signed_headers(list: &str) -> Result<Vec<&str>, &'static str> {
    let names: Vec<&str> = split(list, b';').take(MAX_SIGNED + 1).collect();
    if names.len() > MAX_SIGNED {
        return Err("SignedHeaders has too many names.");
    }
    let plain = |byte: u8| byte.is_ascii_graphic() && !byte.is_ascii_uppercase();
    if names.iter().any(|name| name.is_empty() || !name.bytes().all(plain)) {
        return Err("SignedHeaders must be names in lower case, separated by semicolons.");
    }
    // As it should be: then none is there twice.
    if !names.is_sorted_by(|a, b| a < b) {
        let mut sorted = names.clone();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err("SignedHeaders has a name twice.");
        }
    }
    Ok(names)
}
