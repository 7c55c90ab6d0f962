//! The time zone of the user: the variable TZ, or else `/etc/localtime` (TZif, RFC 9636).

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use super::rule::Rule;

const SYSTEM: &str = "/etc/localtime";
const DATABASE: &str = "/usr/share/zoneinfo";
/// Limit on the length of a file of the database; the largest has about 4 KiB.
const MAX_LEN: u64 = 64 << 10;
/// Length of the header: magic, version, 15 bytes of zeros and six counts.
const HEADER_LEN: usize = 44;

/// Offsets of a time zone, in seconds east of Greenwich.
#[derive(Debug, Default)]
pub(super) struct Zone {
    /// Offset before the first change.
    first: i64,
    /// Changes in the order of their times: seconds since 1970, and the offset from then on.
    changes: Vec<(i64, i64)>,
    /// Rule after the last change.
    rule: Option<Rule>,
}

impl Zone {
    /// Finds the zone. An unknown one is UTC.
    pub(super) fn find(variable: Option<OsString>) -> Self {
        let Some(variable) = variable else { return Self::load(Path::new(SYSTEM)) };
        let text = variable.to_string_lossy();
        let name = text.strip_prefix(':').unwrap_or(&text);
        match Rule::parse(name) {
            _ if name.is_empty() => Self::default(),
            Some(rule) => Self { rule: Some(rule), ..Self::default() },
            None => file(Path::new(name)).map_or_else(Self::default, |file| Self::load(&file)),
        }
    }

    fn load(path: &Path) -> Self {
        let mut content = Vec::new();
        let read = File::open(path).and_then(|it| it.take(MAX_LEN).read_to_end(&mut content));
        read.ok().and_then(|_| Self::parse(&content)).unwrap_or_default()
    }

    /// Returns the offset at a point in time, in seconds since 1970.
    pub(super) fn offset(&self, at: i64) -> i64 {
        let after = self.changes.partition_point(|(from, _)| *from <= at);
        match (&self.rule, after.checked_sub(1)) {
            (Some(rule), _) if after == self.changes.len() => rule.offset(at),
            (_, Some(last)) => self.changes[last].1,
            (_, None) => self.first,
        }
    }

    /// Parses a TZif file. Returns `None` if it is malformed.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let (version, counts) = header(bytes)?;
        if version == 0 {
            return Self::block(bytes.get(HEADER_LEN..)?, counts, 4);
        }
        // The first block is for readers of 32 bits.
        let second = bytes.get(HEADER_LEN + block_len(counts, 4)..)?;
        let (_, counts) = header(second)?;
        let block = second.get(HEADER_LEN..)?;
        let mut zone = Self::block(block, counts, 8)?;
        let footer = core::str::from_utf8(block.get(block_len(counts, 8)..)?).ok()?;
        zone.rule = Rule::parse(footer.trim_matches('\n'));
        Some(zone)
    }

    /// Parses a block whose times have `width` bytes.
    fn block(block: &[u8], counts: [usize; 6], width: usize) -> Option<Self> {
        let [_, _, _, times, types, _] = counts;
        let (at, rest) = block.split_at_checked(times * width)?;
        let (indices, rest) = rest.split_at_checked(times)?;
        let types = rest.get(..types * 6)?;
        let offset = |index: u8| {
            let from = usize::from(index) * 6;
            let bytes = types.get(from..from + 4)?;
            Some(i64::from(i32::from_be_bytes(bytes.try_into().ok()?)))
        };
        let time = |bytes: &[u8]| match width {
            4 => Some(i64::from(i32::from_be_bytes(bytes.try_into().ok()?))),
            _ => Some(i64::from_be_bytes(bytes.try_into().ok()?)),
        };
        let changes = at.chunks_exact(width).zip(indices);
        let changes = changes.map(|(at, index)| Some((time(at)?, offset(*index)?)));
        Some(Self { first: offset(0)?, changes: changes.collect::<Option<_>>()?, rule: None })
    }
}

/// Returns the file of a name of the database, or of an absolute path.
fn file(name: &Path) -> Option<PathBuf> {
    let is_inside = name.components().all(|part| matches!(part, Component::Normal(_)));
    (is_inside || name.is_absolute()).then(|| Path::new(DATABASE).join(name))
}

/// Returns the version, and the counts: UT marks, standard marks, leap seconds, changes, types and
/// characters of names.
fn header(bytes: &[u8]) -> Option<(u8, [usize; 6])> {
    let header = bytes.get(..HEADER_LEN).filter(|it| it.starts_with(b"TZif"))?;
    let mut counts = [0; 6];
    for (count, bytes) in counts.iter_mut().zip(header[20..].chunks_exact(4)) {
        let value = u32::from_be_bytes(bytes.try_into().ok()?);
        // Each counts at least one byte of the file.
        *count = usize::try_from(value).ok().filter(|it| *it as u64 <= MAX_LEN)?;
    }
    Some((header[4], counts))
}

fn block_len([ut, standard, leap, times, types, names]: [usize; 6], width: usize) -> usize {
    times * (width + 1) + types * 6 + names + leap * (width + 4) + standard + ut
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of version 2 with one change and a rule.
    fn example() -> Vec<u8> {
        let header = |times: u8| {
            let mut header = b"TZif2".to_vec();
            header.resize(HEADER_LEN, 0);
            (header[35], header[39], header[43]) = (times, 2, 8);
            header
        };
        let types = [&(-18_000_i32).to_be_bytes()[..], &[0, 0], &3_600_i32.to_be_bytes(), &[0, 4]];
        let types = types.concat();
        let mut file = header(0);
        file.extend([&types[..], b"AAA\0BBB\0"].concat());
        file.extend(header(1));
        file.extend([&1_000_i64.to_be_bytes()[..], &[1], &types, b"AAA\0BBB\0"].concat());
        file.extend(b"\nCET-1CEST,M3.5.0,M10.5.0/3\n");
        file
    }

    #[test]
    fn files_of_the_database_are_read() {
        let zone = Zone::parse(&example()).unwrap();
        for (at, offset) in
            [(i64::MIN, -18_000), (999, -18_000), (1_000, 3_600), (1_774_746_000, 7_200)]
        {
            assert_eq!(zone.offset(at), offset, "{at}");
        }
        for len in 0..example().len() - 30 {
            assert!(Zone::parse(&example()[..len]).is_none(), "{len}");
        }
        let mut large = example();
        large[32] = 0xff;
        assert!(Zone::parse(&large).is_none());
    }

    #[test]
    fn the_variable_names_a_zone_or_a_rule() {
        let offset = |text: &str| Zone::find(Some(text.into())).offset(1_774_746_000);
        assert_eq!(offset("CET-1CEST,M3.5.0,M10.5.0/3"), 7_200);
        assert_eq!(offset("<+03>-3"), 10_800);
        for utc in ["", "UTC", "Nowhere/Atall", "../../etc/passwd", ":"] {
            assert_eq!(offset(utc), 0, "{utc}");
        }
        assert_eq!(
            file(Path::new("Europe/Paris")).unwrap(),
            Path::new("/usr/share/zoneinfo/Europe/Paris")
        );
        assert_eq!(file(Path::new("/tmp/zone")).unwrap(), Path::new("/tmp/zone"));
        assert_eq!(file(Path::new("../zone")), None);
    }
}
