//! Where a part is parked that can only be the last one.

use core::fmt::Write as _;

use endseal_crypto::hash;
use endseal_crypto::label::S3_PARKED;

use super::part::PartNumber;

/// What keys begin with that belong to the writer. Clients can neither see nor name them.
pub const RESERVED_PREFIX: &str = ".endseal/";

/// The key of the object, in the upload's bucket, that part `number` is parked as:
/// `.endseal/parked/<id>/<number in five digits>` with the id in hexadecimal of
/// `BLAKE3-derive("endseal/s3-object@v1 parked", backend_upload_id)`, 16 bytes.
#[must_use]
pub fn parked_key(backend_upload_id: &str, number: PartNumber) -> String {
    let mut id = [0; 16];
    hash::derive_into(S3_PARKED, &[backend_upload_id.as_bytes()], &mut id);
    let mut key = format!("{RESERVED_PREFIX}parked/");
    for byte in id {
        // Writing into a string cannot fail.
        let _ = write!(key, "{byte:02x}");
    }
    let _ = write!(key, "/{:05}", number.get());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_parts_and_uploads_differ() {
        let number = |n| PartNumber::new(n).unwrap();
        let key = parked_key("upload", number(7));
        assert!(key.starts_with(".endseal/parked/") && key.ends_with("/00007"), "{key}");
        assert_eq!(key.len(), 16 + 32 + 6);
        assert_ne!(key, parked_key("upload", number(8)));
        assert_ne!(key[..48], parked_key("other", number(7))[..48]);
        assert!(parked_key("upload", PartNumber::MAX).ends_with("/10000"));
    }
}
