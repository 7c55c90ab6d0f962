//! One checksum of data that comes in pieces.

use crc_fast::CrcAlgorithm;
use endseal_crypto::legacy_hash::Sha1;
use endseal_crypto::{sha256, sha512};

use super::{ChecksumKind, ChecksumValue};

/// A checksum of one kind over data that comes in pieces.
#[derive(Clone, Debug)]
pub struct Hasher(State);

#[allow(clippy::large_enum_variant, reason = "one at a time, for a whole upload")]
#[derive(Clone, Debug)]
enum State {
    Crc(ChecksumKind, crc_fast::Digest),
    Sha1(Sha1),
    Sha256(sha256::Digest),
    Sha512(sha512::Digest),
}

impl Hasher {
    /// A checksum of nothing yet.
    #[must_use]
    pub fn new(kind: ChecksumKind) -> Self {
        Self(match kind {
            ChecksumKind::Sha1 => State::Sha1(Sha1::new()),
            ChecksumKind::Sha256 => State::Sha256(sha256::Digest::new()),
            ChecksumKind::Sha512 => State::Sha512(sha512::Digest::new()),
            ChecksumKind::Crc32 => State::crc(kind, CrcAlgorithm::Crc32IsoHdlc),
            ChecksumKind::Crc32c => State::crc(kind, CrcAlgorithm::Crc32Iscsi),
            ChecksumKind::Crc64Nvme => State::crc(kind, CrcAlgorithm::Crc64Nvme),
        })
    }

    /// Adds data to the checksum; may be called any number of times.
    pub fn update(&mut self, data: &[u8]) {
        match &mut self.0 {
            State::Crc(_, digest) => digest.update(data),
            State::Sha1(digest) => digest.update(data),
            State::Sha256(digest) => digest.update(data),
            State::Sha512(digest) => digest.update(data),
        }
    }

    /// The kind of checksum that is computed.
    #[must_use]
    pub fn kind(&self) -> ChecksumKind {
        match &self.0 {
            State::Crc(kind, _) => *kind,
            State::Sha1(_) => ChecksumKind::Sha1,
            State::Sha256(_) => ChecksumKind::Sha256,
            State::Sha512(_) => ChecksumKind::Sha512,
        }
    }

    /// The checksum of all that was added.
    #[must_use]
    pub fn finish(self) -> ChecksumValue {
        match self.0 {
            State::Crc(kind, digest) => ChecksumValue::of_number(kind, digest.finalize()),
            State::Sha1(digest) => ChecksumValue::of_array(ChecksumKind::Sha1, digest.finish()),
            State::Sha256(digest) => ChecksumValue::of_array(ChecksumKind::Sha256, digest.finish()),
            State::Sha512(digest) => ChecksumValue::of_array(ChecksumKind::Sha512, digest.finish()),
        }
    }
}

impl State {
    fn crc(kind: ChecksumKind, algorithm: CrcAlgorithm) -> Self {
        Self::Crc(kind, crc_fast::Digest::new(algorithm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check values of the CRC catalogue, and FIPS 180-4's, of "123456789" and of nothing.
    const CHECKS: [(ChecksumKind, &str, &str); 6] = [
        (ChecksumKind::Crc32, "y/Q5Jg==", "AAAAAA=="),
        (ChecksumKind::Crc32c, "4waSgw==", "AAAAAA=="),
        (ChecksumKind::Crc64Nvme, "rosUhgp5mIg=", "AAAAAAAAAAA="),
        (ChecksumKind::Sha1, "98O8HYCOBHMq32eZZczDTKeuNEE=", "2jmj7l5rSw0yVb/vlWAYkK/YBwk="),
        (
            ChecksumKind::Sha256,
            "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=",
            "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        ),
        (
            ChecksumKind::Sha512,
            "2eZ2LdHI6vbWGzxhkvxAjU1tXxF20MKRabwk5xw/J0rSf81YEbMT1oH35V7ALXPUmclUVba1u1A6z1dPuo/+hQ==",
            "z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
        ),
    ];

    #[test]
    fn the_catalogues_values_come_out() {
        for (kind, digits, nothing) in CHECKS {
            let mut hasher = Hasher::new(kind);
            assert_eq!(hasher.clone().finish().to_base64(), nothing, "{}", kind.name());
            hasher.update(b"1234");
            hasher.update(b"56789");
            assert_eq!(hasher.kind(), kind);
            assert_eq!(hasher.finish().to_base64(), digits, "{}", kind.name());
        }
    }
}
