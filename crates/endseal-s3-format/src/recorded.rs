//! "Recorded uploads": where ids and receipts lie.

use endseal_crypto::label::S3_TAG;

use crate::parked::{RESERVED_PREFIX, folder_id, is_number, is_short_digest, short_digest};
use crate::part::PartNumber;

/// Name of the object with the upload id, in an upload's [`recorded_folder`].
const ID: &str = "id";

/// Returns the prefix of the keys of all records of an upload: `.endseal/upload/<id>/`, with the
/// same id as where parts are parked.
#[must_use]
pub fn recorded_folder(backend_upload_id: &str) -> String {
    format!("{RESERVED_PREFIX}upload/{}/", folder_id(backend_upload_id))
}

/// The key of the object, in the upload's bucket, that holds the upload id that the client got.
#[must_use]
pub fn recorded_id_key(backend_upload_id: &str) -> String {
    format!("{}{ID}", recorded_folder(backend_upload_id))
}

/// The key of the object with the [`Receipt`](crate::Receipt) of that upload of part `number` which
/// the backend answered to with `entity_tag`, without its quotes: the number in five digits, `-`,
/// and 16 bytes of `BLAKE3-derive("endseal/s3-object@v1 tag", entity_tag)` in hexadecimal.
#[must_use]
pub fn receipt_key(backend_upload_id: &str, number: PartNumber, entity_tag: &str) -> String {
    let (folder, tag) = (recorded_folder(backend_upload_id), short_digest(S3_TAG, entity_tag));
    format!("{folder}{:05}-{tag}", number.get())
}

/// The folder of a key that [`recorded_id_key`] or [`receipt_key`] may have made; `None` for every
/// other key.
#[must_use]
pub fn recorded_folder_of(key: &str) -> Option<&str> {
    let name = key.strip_prefix(RESERVED_PREFIX)?.strip_prefix("upload/")?;
    let (id, name) = name.split_once('/')?;
    let is_receipt =
        name.split_once('-').is_some_and(|(number, tag)| is_number(number) && is_short_digest(tag));
    if !is_short_digest(id) || !(name == ID || is_receipt) {
        return None;
    }
    key.get(..key.len() - name.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parked_folder;

    #[test]
    fn keys_of_uploads_parts_and_tags_differ() {
        let number = |n| PartNumber::new(n).unwrap();
        let key = receipt_key("upload", number(7), "tag");
        assert!(key.starts_with(".endseal/upload/"), "{key}");
        assert_eq!(key.len(), 16 + 32 + 1 + 5 + 1 + 32);
        assert_ne!(key, receipt_key("upload", number(8), "tag"));
        assert_ne!(key, receipt_key("upload", number(7), "tag2"));
        assert_ne!(key[..48], receipt_key("other", number(7), "tag")[..48]);
        let id = recorded_id_key("upload");
        assert_eq!(id[..49], key[..49]);
        assert!(id.ends_with("/id"));
        assert_eq!(id[16..48], parked_folder("upload")[16..48], "the same id");
    }

    #[test]
    fn keys_of_records_are_known_by_their_form() {
        let folder = recorded_folder("upload");
        for key in [recorded_id_key("upload"), receipt_key("upload", PartNumber::MAX, "tag")] {
            assert_eq!(recorded_folder_of(&key), Some(folder.as_str()));
        }
        let id = "0123456789abcdef0123456789abcdef";
        assert!(recorded_folder_of(&format!(".endseal/upload/{id}/00001-{id}")).is_some());
        for other in [
            format!(".endseal/upload/{id}/"),
            format!(".endseal/upload/{id}/id2"),
            format!(".endseal/upload/{id}/id/"),
            format!(".endseal/upload/{id}/00001"),
            format!(".endseal/upload/{id}/00000-{id}"),
            format!(".endseal/upload/{id}/10001-{id}"),
            format!(".endseal/upload/{id}/1-{id}"),
            format!(".endseal/upload/{id}/00001-{}", id.to_uppercase()),
            format!(".endseal/upload/{id}/00001-{id}-"),
            format!(".endseal/upload/{}/id", &id[1..]),
            format!(".endseal/parked/{id}/id"),
            format!("x.endseal/upload/{id}/id"),
        ] {
            assert_eq!(recorded_folder_of(&other), None, "{other}");
        }
    }
}
