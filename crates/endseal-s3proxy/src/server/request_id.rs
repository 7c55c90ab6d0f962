//! `x-amz-request-id`, which identifies a request in its response and in the log.

/// Request id: 24 upper-case hexadecimal digits, or more after 2^32 requests of a process.
pub(crate) struct RequestId {
    digits: [u8; 32],
    len: usize,
}

impl RequestId {
    /// Creates an id from the start value of the process and a counter.
    pub(crate) fn new(start: u64, count: u64) -> Self {
        let mut digits = [0; 32];
        let needed = (count.checked_ilog2().unwrap_or(0) / 4 + 1) as usize;
        let len = 16 + needed.max(8);
        let (first, last) = digits.split_at_mut(16);
        write(start, first);
        write(count, &mut last[..len - 16]);
        Self { digits, len }
    }

    pub(crate) fn as_str(&self) -> &str {
        // The digits are ASCII.
        str::from_utf8(&self.digits[..self.len]).unwrap_or_default()
    }
}

/// Writes the last digits of a number, as many as fit into `out`.
fn write(number: u64, out: &mut [u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut rest = number;
    for digit in out.iter_mut().rev() {
        let [low, ..] = rest.to_le_bytes();
        *digit = DIGITS[usize::from(low & 15)];
        rest >>= 4;
    }
}

#[cfg(test)]
mod tests {
    use super::RequestId;

    #[test]
    fn an_id_is_two_numbers() {
        let counts = [0, 1, 0xA0, 0xFFFF_FFFF, 1 << 32, (1 << 36) - 1, 1 << 36, u64::MAX];
        for start in [0, 1, 0x18EA_B36D_4AD7_BEC4, u64::MAX] {
            for count in counts {
                let id = RequestId::new(start, count);
                assert_eq!(id.as_str(), format!("{start:016X}{count:08X}"));
            }
        }
    }
}
