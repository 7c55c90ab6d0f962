//! Crypt remotes of rclone: their configuration, keys and objects.

use base64ct::{Base64UrlUnpadded, Encoding as _};
use endseal_crypto::aes_ctr::{self, AesCtr};
use endseal_crypto::scrypt;
use endseal_crypto::secret::Zeroizing;

use super::rclone_content::{self, BoxReader};
use super::rclone_encodings::NameEncoding;
use super::rclone_names::{NameMode, RcloneNames};
use super::{ForeignKeyError, ForeignObject, NotForeign, ini};

/// Key under which rclone obscures passwords, which is the same everywhere.
const OBSCURING_KEY: [u8; aes_ctr::KEY_LEN] = [
    0x9c, 0x93, 0x5b, 0x48, 0x73, 0x0a, 0x55, 0x4d, 0x6b, 0xfd, 0x7c, 0x63, 0xc8, 0x86, 0xa9, 0x2b,
    0xd3, 0x90, 0x19, 0x8e, 0xb8, 0x12, 0x8a, 0xfb, 0xf4, 0xde, 0x16, 0x2b, 0x8b, 0x95, 0xf6, 0x38,
];

/// Salt of a remote without a second password.
const DEFAULT_SALT: [u8; 16] = [
    0xa8, 0x0d, 0xf4, 0x3a, 0x8f, 0xbd, 0x03, 0x08, 0xa7, 0xca, 0xb8, 0x3e, 0x58, 0x1f, 0x86, 0xb1,
];

/// Parameters of scrypt: N is 2^14.
const LOG_N: u8 = 14;
const R: u32 = 8;
const P: u32 = 1;
/// Memory that scrypt may take: 16 MiB, and a little.
const MAX_MEMORY: usize = 17 << 20;

/// Keys: 32 bytes for content, 32 for names, and the tweak of names.
const KEYS_LEN: usize = 32 + 32 + 16;

/// Crypt remote of a configuration of rclone.
#[allow(missing_debug_implementations, reason = "it holds secret keys")]
#[allow(clippy::exhaustive_structs, reason = "a remote is this")]
pub struct RcloneRemote {
    /// Remote that it lies in: `NAME:BUCKET/PATH`.
    pub remote: String,
    /// Its keys and its way of naming.
    pub crypt: RcloneCrypt,
}

/// Keys of a crypt remote, and its way of naming.
#[allow(missing_debug_implementations, reason = "it holds secret keys")]
pub struct RcloneCrypt {
    content_key: Zeroizing<[u8; 32]>,
    names: RcloneNames,
}

impl RcloneRemote {
    /// Reads a remote from the text of `rclone.conf`, which the caller MUST wipe.
    ///
    /// # Errors
    /// [`ForeignKeyError`] if there is no such remote, an option of it is not supported, or the
    /// configuration cannot be read.
    pub fn read(text: &str, name: &str) -> Result<Self, ForeignKeyError> {
        let name = name.trim_end_matches(':');
        let entries = ini::section(text, name)?;
        let entries = entries.ok_or_else(|| ForeignKeyError::NoRemote(name.to_owned()))?;
        // As in rclone, the last of several entries of one name counts.
        let value = |key: &str| {
            let mut found = entries.iter().rev().filter(|(entry, _)| *entry == key);
            found.next().map(|(_, value)| *value).filter(|value| !value.is_empty())
        };
        let is_true = |key: &'static str, default| match value(key) {
            None => Ok(default),
            Some(text) => boolean(text).ok_or(ForeignKeyError::Entry(key)),
        };
        if value("type") != Some("crypt") {
            return Err(ForeignKeyError::NotCrypt(name.to_owned()));
        }
        if is_true("no_data_encryption", false)? {
            return Err(ForeignKeyError::Entry("no_data_encryption"));
        }
        let remote = value("remote").ok_or(ForeignKeyError::Entry("remote"))?.to_owned();
        let password = value("password").ok_or(ForeignKeyError::Entry("password"))?;
        let password = revealed(password).ok_or(ForeignKeyError::NotObscured("password"))?;
        let salt = match value("password2") {
            Some(text) => Some(revealed(text).ok_or(ForeignKeyError::NotObscured("password2"))?),
            None => None,
        };
        let mode = match value("filename_encryption").map(str::to_ascii_lowercase).as_deref() {
            None | Some("standard") => NameMode::Standard,
            Some("obfuscate") => NameMode::Obfuscate,
            Some("off") => NameMode::Off(suffix(value("suffix").unwrap_or(".bin"))),
            Some(_) => return Err(ForeignKeyError::Entry("filename_encryption")),
        };
        let encoding = NameEncoding::parse(value("filename_encoding").unwrap_or("base32"))
            .ok_or(ForeignKeyError::Entry("filename_encoding"))?;
        let has_named_folders = is_true("directory_name_encryption", true)?;
        let salt = salt.as_ref().map_or(&DEFAULT_SALT[..], |salt| &salt[..]);
        let mut keys = Zeroizing::new([0; KEYS_LEN]);
        // Without a password rclone has keys of zeros, and its configuration refuses that.
        scrypt::derive_into(&password, salt, LOG_N, R, P, MAX_MEMORY, &mut keys[..])
            .map_err(|_| ForeignKeyError::NoMemory)?;
        let mut content_key = Zeroizing::new([0; 32]);
        content_key.copy_from_slice(&keys[..32]);
        let mut name_key = Zeroizing::new([0; 32]);
        name_key.copy_from_slice(&keys[32..64]);
        let mut tweak = Zeroizing::new([0; 16]);
        tweak.copy_from_slice(&keys[64..]);
        let names = RcloneNames { mode, encoding, has_named_folders, name_key, tweak };
        Ok(Self { remote, crypt: RcloneCrypt { content_key, names } })
    }
}

impl RcloneCrypt {
    /// Returns the name of an object. `is_empty` is true if it has no bytes: then it can be the
    /// marker of a folder.
    pub(super) fn open_key(&self, key: &str, is_empty: bool) -> Option<String> {
        match key.strip_suffix('/') {
            Some(folder) if is_empty => Some(self.names.open_folder(folder)? + "/"),
            Some(_) => None,
            None => self.names.open_file(key),
        }
    }

    pub(super) fn look(&self, key: &str, len: u64) -> Result<ForeignObject, NotForeign> {
        if key.ends_with('/') && len == 0 {
            let converter = Box::new(rclone_content::Nothing);
            return Ok(ForeignObject { content_len: 0, is_authenticated: true, converter });
        }
        let content_len = rclone_content::content_len(len).ok_or(NotForeign::NotAuthentic)?;
        let converter = Box::new(BoxReader::new(self.content_key.clone(), len));
        Ok(ForeignObject { content_len, is_authenticated: true, converter })
    }
}

/// Returns the suffix of files whose names are not encrypted.
fn suffix(text: &str) -> String {
    match text {
        none if none.eq_ignore_ascii_case("none") => String::new(),
        text if text.starts_with('.') => text.to_owned(),
        text => format!(".{text}"),
    }
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// Returns the text that `rclone obscure` made unreadable.
fn revealed(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Base64UrlUnpadded::decode_vec(text).ok()?);
    let (iv, rest) = bytes.split_first_chunk_mut::<{ aes_ctr::IV_LEN }>()?;
    AesCtr::new(&OBSCURING_KEY, iv).apply(rest);
    Some(Zeroizing::new(rest.to_vec())).filter(|text| !text.is_empty())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Passwords `open sesame` and `pepper`, as rclone 1.60.1 obscured them.
    pub(in crate::admin::foreign) fn remote(more: &str) -> Result<RcloneRemote, ForeignKeyError> {
        let text = format!(
            "[s]\ntype = s3\n\n[c]\ntype = crypt\nremote = s:old/path\n\
             password = A1oLEHNk0yItQucSyRG7ouA6i89XBMPwkB12\n{more}\n"
        );
        RcloneRemote::read(&text, "c")
    }

    pub(in crate::admin::foreign) const SALT: &str = "password2 = -dtwY6EMA2HDrdPBK0MNjN-1oWkGLw\n";

    #[test]
    fn passwords_are_revealed() {
        let text = |obscured| revealed(obscured).map(|text| text.to_vec());
        assert_eq!(text("A1oLEHNk0yItQucSyRG7ouA6i89XBMPwkB12").unwrap(), b"open sesame");
        assert_eq!(text("-dtwY6EMA2HDrdPBK0MNjN-1oWkGLw").unwrap(), b"pepper");
        for odd in ["", "open sesame", "AAAA", "AAAAAAAAAAAAAAAAAAAAAA"] {
            assert_eq!(text(odd), None, "{odd}");
        }
    }

    #[test]
    fn what_is_not_supported_is_named() {
        assert_eq!(remote("").unwrap().remote, "s:old/path");
        for (more, error) in [
            ("no_data_encryption = true", ForeignKeyError::Entry("no_data_encryption")),
            ("filename_encryption = rot13", ForeignKeyError::Entry("filename_encryption")),
            ("filename_encoding = base58", ForeignKeyError::Entry("filename_encoding")),
            ("directory_name_encryption = no", ForeignKeyError::Entry("directory_name_encryption")),
            ("password = open sesame", ForeignKeyError::NotObscured("password")),
            ("password2 = x", ForeignKeyError::NotObscured("password2")),
            ("type = s3", ForeignKeyError::NotCrypt("c".to_owned())),
        ] {
            assert_eq!(remote(more).err(), Some(error), "{more}");
        }
        let missing = RcloneRemote::read("[c]\ntype = crypt\nremote = a:b\n", "c").err();
        assert_eq!(missing, Some(ForeignKeyError::Entry("password")));
        let other = RcloneRemote::read("[c]\n", "d:").err();
        assert_eq!(other, Some(ForeignKeyError::NoRemote("d".to_owned())));
    }
}
