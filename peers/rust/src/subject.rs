//! Interface of a subject of the suite `envelope`, and the list of these subjects.

use std::error::Error;

pub(crate) mod age;
pub(crate) mod codec;
pub(crate) mod hpke;
pub(crate) mod libsodium;
pub(crate) mod straight;
pub(crate) mod straight_signed;
pub(crate) mod transport;

/// All subjects, in the order of `hello`.
pub(crate) const SUBJECTS: [Subject; 7] = [
    age::BUFFERED,
    age::UNBUFFERED,
    hpke::SUBJECT,
    libsodium::CONVERTING,
    libsodium::X25519,
    straight::SUBJECT,
    straight_signed::SUBJECT,
];

/// One way to seal content to a group.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    /// Description in one line, for the report.
    pub(crate) about: &'static str,
    /// Crates whose versions are reported, by their names in `Cargo.lock`.
    pub(crate) crates: &'static [&'static str],
    /// The document whose recommendation the settings follow.
    pub(crate) settings: &'static str,
    /// Properties from the list in the specification.
    pub(crate) properties: &'static [&'static str],
    /// Largest group. For larger ones a check takes so long that the harness may end the peer, and
    /// with it all subjects.
    pub(crate) max_members: usize,
    /// Creates the keys of that many members.
    #[allow(clippy::type_complexity, reason = "written out once")]
    pub(crate) group: fn(usize) -> Result<Box<dyn Group>, Box<dyn Error>>,
}

/// Members with their keys, in the form that the subject stores. `Sync`, because the `_many` cases
/// use all cores.
pub(crate) trait Group: Sync {
    /// Seals `content` to all members in one envelope.
    fn seal(&self, content: &[u8]) -> Result<Vec<u8>, Box<dyn Error>>;

    /// Opens an envelope as the member at that position.
    fn open(&self, member: usize, envelope: &[u8]) -> Result<Vec<u8>, Box<dyn Error>>;
}

/// Splits off `N` bytes. Fails if the envelope is too short.
fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Result<&'a [u8; N], &'static str> {
    let (taken, left) = rest.split_first_chunk().ok_or("the envelope is too short")?;
    *rest = left;
    Ok(taken)
}

/// Splits off a list of `N`-byte slots that starts with its length.
fn take_slots<'a, const N: usize>(rest: &mut &'a [u8]) -> Result<&'a [[u8; N]], &'static str> {
    let count = usize::try_from(u32::from_le_bytes(*take(rest)?)).unwrap_or(usize::MAX);
    let length = count.checked_mul(N).ok_or("too many slots")?;
    let (slots, left) = rest.split_at_checked(length).ok_or("the envelope is too short")?;
    *rest = left;
    Ok(slots.as_chunks().0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENT: &[u8] = b"content for the group";

    #[test]
    fn every_member_opens() {
        for subject in &SUBJECTS {
            let group = (subject.group)(9).unwrap();
            let envelope = group.seal(CONTENT).unwrap();
            for member in 0..9 {
                let opened = group.open(member, &envelope).unwrap();
                assert_eq!(opened, CONTENT, "{}, member {member}", subject.name);
            }
            assert!(group.open(9, &envelope).is_err(), "{}", subject.name);
        }
    }

    #[test]
    fn no_part_of_an_envelope_opens() {
        for subject in &SUBJECTS {
            let group = (subject.group)(2).unwrap();
            let envelope = group.seal(CONTENT).unwrap();
            for length in 0..envelope.len() {
                let opened = group.open(1, &envelope[..length]);
                assert!(opened.is_err(), "{}, {length} bytes", subject.name);
            }
        }
    }

    #[test]
    fn no_change_of_what_a_member_reads_goes_unnoticed() {
        for subject in SUBJECTS.iter().filter(|it| it.properties.contains(&"authenticated")) {
            let group = (subject.group)(1).unwrap();
            let envelope = group.seal(CONTENT).unwrap();
            for at in 0..envelope.len() {
                let mut changed = envelope.clone();
                changed[at] ^= 1;
                assert!(group.open(0, &changed).is_err(), "{}, byte {at}", subject.name);
            }
        }
    }
}
