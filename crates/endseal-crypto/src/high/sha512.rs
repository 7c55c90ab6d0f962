//! SHA-512 (FIPS 180-4), as protocols of others ask for it. Only with the feature `std`.

/// Length of a digest in bytes.
pub const LEN: usize = 64;

super::sha2_digest::digest!(SHA512, LEN);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_agree_with_the_twin() {
        use sha2::Digest as _;
        let data: alloc::vec::Vec<u8> = (0..1_000_u32).map(|i| i.to_le_bytes()[0]).collect();
        for len in [0, 1, 111, 112, 127, 128, 129, 1_000] {
            let mut pieces = Digest::new();
            for piece in data[..len].chunks(7) {
                pieces.update(piece);
            }
            let twin: [u8; LEN] = sha2::Sha512::digest(&data[..len]).into();
            assert_eq!(pieces.finish(), twin);
        }
    }
}
