//! `Range` headers (RFC 9110, 14.2) as S3 takes them: one range of bytes.

use core::ops::Range;

/// One range of bytes, before the length of the content is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "what there is")]
pub enum ByteRange {
    /// From the first to the last, both included.
    Closed(u64, u64),
    /// All bytes from this offset to the end of the content.
    From(u64),
    /// This number of bytes at the end of the content.
    Suffix(u64),
}

impl ByteRange {
    /// Reads a header. `None` for what is no single range of bytes, which S3 ignores.
    #[must_use]
    pub fn parse(header: &str) -> Option<Self> {
        let (unit, range) = header.split_once('=')?;
        if !unit.trim().eq_ignore_ascii_case("bytes") {
            return None;
        }
        let (first, last) = range.trim().split_once('-')?;
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            // A number beyond 64 bits is beyond the end of every object.
            digits.then(|| text.parse().unwrap_or(u64::MAX))
        };
        match (first.trim(), last.trim()) {
            ("", last) => Some(Self::Suffix(number(last)?)),
            (first, "") => Some(Self::From(number(first)?)),
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(Self::Closed(first, last))
            }
        }
    }

    /// The bytes of a content of that length; `None` if there are none.
    #[must_use]
    pub fn of(self, len: u64) -> Option<Range<u64>> {
        let range = match self {
            Self::Closed(first, last) => first..last.saturating_add(1).min(len),
            Self::From(first) => first..len,
            Self::Suffix(count) => len.saturating_sub(count)..len,
        };
        (range.start < range.end).then_some(range)
    }
}

#[cfg(test)]
mod tests {
    use super::ByteRange;

    #[test]
    fn ranges_are_cut_at_the_end() {
        for (header, len, expected) in [
            ("bytes=0-0", 1, Some(0..1)),
            ("bytes=0-0", 0, None),
            ("bytes=5-9", 8, Some(5..8)),
            ("bytes=8-9", 8, None),
            ("bytes=5-", 8, Some(5..8)),
            ("bytes=8-", 8, None),
            ("bytes=-3", 8, Some(5..8)),
            ("bytes=-30", 8, Some(0..8)),
            ("bytes=-0", 8, None),
            ("Bytes = 1 - 2", 8, Some(1..3)),
            ("bytes=0-99999999999999999999999", 8, Some(0..8)),
        ] {
            let range = ByteRange::parse(header).expect(header);
            assert_eq!(range.of(len), expected, "{header}");
        }
    }

    #[test]
    fn what_is_no_single_range_is_ignored() {
        for header in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=2-1",
            "bytes=0-1,3-4",
            "lines=0-1",
            "bytes=+1-2",
            "bytes=a-b",
        ] {
            assert_eq!(ByteRange::parse(header), None, "{header}");
        }
    }
}
