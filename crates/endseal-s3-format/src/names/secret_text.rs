//! The text of a name secret.

use core::fmt::{self, Write as _};

use base16ct::lower::encode_string;
use base64ct::{Base64, Encoding as _};
use endseal_crypto::hash;
use endseal_crypto::label::S3_NAME_SECRET_CHECK;
use endseal_crypto::secret::{Zeroizing, constant_time_eq};

use super::NameSecret;

/// Greatest length of a file in bytes. The files that are written here have 95.
pub const MAX_SECRET_TEXT: usize = 256;

const MAGIC: &str = "endseal s3-name-secret";
const FIRST: &str = "endseal s3-name-secret v1\n";
const SECRET: &str = "secret ";
const CHECK_LEN: usize = 8;

impl NameSecret {
    /// The first 8 bytes of `BLAKE3-derive("endseal/s3-object@v1 name secret check", secret)`, in
    /// 16 digits in lower-case hexadecimal: tells two secrets apart, and nothing else of them.
    #[must_use]
    pub fn check(&self) -> String {
        let mut out = [0; CHECK_LEN];
        hash::derive_into(S3_NAME_SECRET_CHECK, &[self.expose_secret()], &mut out);
        encode_string(&out)
    }

    /// The file of this secret. The caller MUST write it to a place that only its owner reads.
    #[must_use]
    pub fn to_text(&self) -> Zeroizing<String> {
        // Never reallocated, so that no copy stays behind.
        let mut text = Zeroizing::new(String::with_capacity(MAX_SECRET_TEXT));
        let mut buffer = Zeroizing::new([0; 44]);
        let encoded = Base64::encode(self.expose_secret(), &mut buffer[..]).unwrap_or_default();
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{FIRST}{SECRET}{encoded} {}", self.check());
        text
    }

    /// Reads a file, which the caller MUST wipe.
    ///
    /// # Errors
    /// [`NameSecretError`] for everything that [`to_text`](Self::to_text) does not write.
    pub fn parse(bytes: &[u8]) -> Result<Self, NameSecretError> {
        let form = NameSecretError::Form;
        if bytes.len() > MAX_SECRET_TEXT {
            return Err(form);
        }
        let text = core::str::from_utf8(bytes).map_err(|_| form)?;
        let Some(rest) = text.strip_prefix(FIRST) else {
            let version = text.lines().next().and_then(|line| line.strip_prefix(MAGIC));
            let version = version.and_then(|rest| rest.strip_prefix(" v")).unwrap_or_default();
            let known = version == "1" || version.is_empty();
            let digits = version.bytes().all(|byte| byte.is_ascii_digit());
            return Err(if digits && !known { NameSecretError::Version } else { form });
        };
        let line = rest.strip_prefix(SECRET).and_then(|line| line.strip_suffix('\n'));
        let (encoded, shown) = line.and_then(|line| line.split_once(' ')).ok_or(form)?;
        let secret = Self::try_init_with(|out| {
            let decoded = Base64::decode(encoded, &mut out[..]).map(<[u8]>::len);
            if decoded == Ok(Self::LEN) { Ok(()) } else { Err(()) }
        })
        .map_err(|()| form)?;
        let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if shown.len() != 2 * CHECK_LEN || !shown.bytes().all(hex) {
            return Err(form);
        }
        match constant_time_eq(secret.check().as_bytes(), shown.as_bytes()) {
            true => Ok(secret),
            false => Err(NameSecretError::Check),
        }
    }
}

/// Reason why bytes are no name secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameSecretError {
    /// The checksum of the secret is wrong: the secret was damaged.
    Check,
    /// The file is damaged, cut, extended, or no name secret at all.
    Form,
    /// Written by a newer version.
    Version,
}

impl fmt::Display for NameSecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Check => "the name secret was damaged",
            Self::Form => "not a name secret",
            Self::Version => "the name secret has an unknown version",
        })
    }
}

impl core::error::Error for NameSecretError {}
