//! Bytes that are wiped as fast as memory is written.

use zeroize::optimization_barrier;

/// Writes zeros over `bytes`, whoever reads them afterwards or not.
///
/// `Zeroize` of bytes writes them one by one, and the keys of one cipher have 816: it was a sixth of the time that the keys
/// of an object take (`cargo bench -p endseal-crypto --bench keys`).
pub fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    optimization_barrier(bytes);
}

#[cfg(test)]
mod tests {
    use super::wipe;

    #[test]
    fn all_bytes_are_wiped_and_no_others() {
        for len in 0..200 {
            let mut bytes = [1; 202];
            wipe(&mut bytes[1..=len]);
            assert_eq!(bytes.iter().filter(|byte| **byte == 1).count(), 202 - len);
            assert!(bytes[1..=len].iter().all(|byte| *byte == 0));
        }
    }
}
