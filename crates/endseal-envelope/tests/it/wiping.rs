//! Plaintext that was not verified does not stay in memory, and `Debug` prints none.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;

use endseal_crypto::secret::Zeroizing;
use endseal_envelope::{OpenError, Opener, Policy, Recipients, Sealer};

use crate::insider::forged;
use crate::{CONTEXT, identity};

const MARK: &[u8; 32] = b"a text that is written here once";

/// Counts the marks in the writable memory of this process.
fn marks() -> usize {
    let memory = File::open("/proc/self/mem").unwrap();
    let mut buffer = Zeroizing::new(vec![0; 1 << 20]);
    let mut count = 0;
    for line in fs::read_to_string("/proc/self/maps").unwrap().lines() {
        let (range, rest) = line.split_once(' ').unwrap();
        if !rest.starts_with("rw") || line.ends_with("[vvar]") {
            continue;
        }
        let (start, end) = range.split_once('-').unwrap();
        let address = |text| usize::from_str_radix(text, 16).unwrap();
        for at in (address(start)..address(end)).step_by(buffer.len()) {
            let len = (address(end) - at).min(buffer.len());
            // Other tests may return memory to the system at the same time.
            if memory.read_exact_at(&mut buffer[..len], at as u64).is_ok() {
                count += buffer[..len].windows(MARK.len()).filter(|window| window == MARK).count();
            }
        }
    }
    count
}

#[test]
fn content_whose_signature_is_wrong_is_wiped() {
    // Small enough that the allocator keeps the memory.
    const MARKS: usize = 2000;
    let (sender, reader) = (identity(1), identity(2));
    let list = Recipients::from_identities([reader.public()]).unwrap();
    let content = Zeroizing::new(MARK.repeat(MARKS));
    let envelope = forged(&sender, &list, &content, 20);
    assert!(marks() >= MARKS, "they are found while they are there");
    drop(content);
    let opener = Opener::new(&reader, CONTEXT);
    // Allocations after it keep the allocator from merging the memory.
    let mut behind = Vec::new();
    for _ in 0..3 {
        let opened = opener.open(&envelope, &mut Policy::new());
        behind.push(vec![3_u8; 1000]);
        assert_eq!(opened.err(), Some(OpenError::Authentication));
        let many = opener.open_many(&[&envelope], &mut Policy::new());
        behind.push(vec![3_u8; 1000]);
        assert_eq!(many, [Err(OpenError::Authentication)]);
        let stream = opener.reader(&envelope[..], Policy::new());
        assert!(stream.is_err());
    }
    // The state of the hash may keep the last block, at most one chunk.
    let left = marks();
    assert!(left <= 32, "{left} of {MARKS} are left");
}

#[test]
fn debug_does_not_print_the_content() {
    let (sender, reader) = (identity(1), identity(2));
    let list = Recipients::from_identities([reader.public()]).unwrap();
    let sealer = Sealer::new(&sender, &list, CONTEXT);
    let envelope = sealer.seal(b"\x5e\xc2\xe7", &mut endseal_crypto::random::OsRandom).unwrap();
    let opened = Opener::new(&reader, CONTEXT).open(&envelope, &mut Policy::new()).unwrap();
    let printed = format!("{opened:?} {opened:#?}");
    assert!(printed.contains("3 bytes"), "{printed}");
    for bytes in ["94, 194", "5e, c2", "5ec2"] {
        assert!(!printed.contains(bytes), "{printed}");
    }
}
