//! Configuration files of rclone: sections, and entries in them.

use super::ForeignKeyError;

/// Begins the content of an encrypted configuration.
const ENCRYPTED: &str = "RCLONE_ENCRYPT_V";

/// Returns the entries of a section, or `None` if there is no such section.
///
/// # Errors
/// If the file is encrypted, or a line is neither an entry, nor a section, nor a comment.
pub(super) fn section<'a>(
    text: &'a str,
    name: &str,
) -> Result<Option<Vec<(&'a str, &'a str)>>, ForeignKeyError> {
    let mut found = None;
    let mut is_inside = false;
    for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with(ENCRYPTED) {
            return Err(ForeignKeyError::EncryptedConfiguration);
        }
        if let Some(title) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_inside = title.trim() == name;
            if is_inside {
                found.get_or_insert_with(Vec::new);
            }
            continue;
        }
        let (key, value) = line.split_once('=').ok_or(ForeignKeyError::Line(number))?;
        if let Some(entries) = found.as_mut().filter(|_| is_inside) {
            entries.push((key.trim(), value.trim()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_those_of_the_section() {
        let text = "\u{feff}# made by hand\n[a]\ntype = s3\n; x\n[b c]\r\ntype=crypt\nkey = a=b\n";
        assert_eq!(section(text, "a"), Ok(Some(vec![("type", "s3")])));
        assert_eq!(section(text, "b c"), Ok(Some(vec![("type", "crypt"), ("key", "a=b")])));
        assert_eq!(section(text, "b"), Ok(None));
        assert_eq!(section("[a]\nsecret\n", "a"), Err(ForeignKeyError::Line(2)));
        let sealed = "# Encrypted rclone configuration File\n\nRCLONE_ENCRYPT_V0:\nAAAA\n";
        assert_eq!(section(sealed, "a"), Err(ForeignKeyError::EncryptedConfiguration));
    }
}
