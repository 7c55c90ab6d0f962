//! Limits that an operator gives single persons, in one value of the table `meta`.

/// Stands for a limit that was not given.
const NONE: u64 = u64::MAX;
/// Length of an entry: identity and two limits.
const LEN: usize = 32 + 8 + 8;

/// Limits of one person, in the place of those for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "columns of a table, for stores of others")]
pub struct Quota {
    /// Bytes of frames of the person that may wait in all mailboxes together. `None`: as many as
    /// are left for all others.
    pub from: Option<u64>,
    /// Bytes that may wait in each mailbox of the person. `None`: the limit of all mailboxes.
    pub mailbox: Option<u64>,
}

impl Quota {
    /// Encodes the quotas of persons.
    pub(super) fn write_all(quotas: &[([u8; 32], Self)]) -> Vec<u8> {
        let entry = |(identity, Self { from, mailbox }): &([u8; 32], Self)| {
            let [from, mailbox] = [from, mailbox].map(|it| it.unwrap_or(NONE).to_le_bytes());
            [&identity[..], &from, &mailbox].concat()
        };
        quotas.iter().flat_map(entry).collect()
    }

    /// Decodes the quotas of persons. `None` if they are damaged.
    pub(super) fn read_all(value: &[u8]) -> Option<Vec<([u8; 32], Self)>> {
        let (entries, []) = value.as_chunks::<LEN>() else { return None };
        let limit = |bytes: &[u8; 8]| Some(u64::from_le_bytes(*bytes)).filter(|it| *it != NONE);
        let entry = |entry: &[u8; LEN]| {
            let (identity, limits) = entry.split_first_chunk()?;
            let ([from, mailbox], []) = limits.as_chunks::<8>() else { return None };
            Some((*identity, Self { from: limit(from), mailbox: limit(mailbox) }))
        };
        entries.iter().map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Quota;

    #[test]
    fn quotas_are_read_as_they_were_written() {
        let quota = |from, mailbox| Quota { from, mailbox };
        let quotas = [
            ([1; 32], quota(Some(0), None)),
            ([2; 32], quota(None, Some(1 << 40))),
            ([3; 32], quota(Some(7), Some(8))),
        ];
        let bytes = Quota::write_all(&quotas);
        assert_eq!(Quota::read_all(&bytes).unwrap(), quotas);
        assert_eq!(Quota::read_all(&bytes[1..]), None);
        assert_eq!(Quota::read_all(&[]).unwrap(), []);
    }
}
