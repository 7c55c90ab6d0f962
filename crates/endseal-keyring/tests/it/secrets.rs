//! Secrets are wiped when dropped: these tests search the memory of their own process.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;

use endseal_crypto::identity::Identity;
use endseal_crypto::{ed25519, mlkem768};
use endseal_keyring::roster::EpochKey;
use endseal_keyring::{IdentityFile, KdfParams, Passphrase, SecretText, hazmat};

/// Returns a byte of a secret that no other test uses.
fn mark(i: usize) -> u8 {
    let i = u8::try_from(i % 256).unwrap();
    i.wrapping_mul(41).wrapping_add(0x5b)
}

fn marked<const N: usize>(offset: usize) -> [u8; N] {
    core::array::from_fn(|i| mark(offset + i))
}

/// Memory of this process. It is opened before a secret is dropped, because opening could allocate
/// in its place.
struct Memory(File);

impl Memory {
    fn open() -> Self {
        Self(File::open("/proc/self/mem").unwrap())
    }

    fn read<const N: usize>(&self, address: usize) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.read_exact_at(&mut bytes, address as u64).unwrap();
        bytes
    }

    /// Asserts that bytes which were at `address` are zero. The allocator writes to the first 16
    /// bytes of freed memory.
    fn assert_wiped<const N: usize>(&self, address: usize) {
        assert_eq!(self.read::<N>(address)[16..], [0; N][16..]);
    }
}

fn address(bytes: &[u8]) -> usize {
    bytes.as_ptr() as usize
}

#[test]
fn an_epoch_key_is_wiped() {
    let memory = Memory::open();
    let key = EpochKey::init_with(|key| *key = marked(0));
    let at = address(key.expose_secret());
    assert_eq!(memory.read(at), marked::<32>(0));
    drop(key);
    memory.assert_wiped::<32>(at);
}

#[test]
fn a_passphrase_is_wiped() {
    let memory = Memory::open();
    let passphrase = Passphrase::new(&"correct horse battery staple ".repeat(2)).unwrap();
    let at = address(passphrase.expose_secret());
    assert_eq!(memory.read::<16>(at + 16), *b"ttery staple cor");
    drop(passphrase);
    memory.assert_wiped::<58>(at);
}

#[test]
fn a_secret_text_is_wiped() {
    let memory = Memory::open();
    let text = SecretText::encode(&identity());
    let at = address(text.expose_secret().as_bytes());
    assert_eq!(memory.read::<16>(at), *b"ENDSEAL-SECRET-1");
    drop(text);
    memory.assert_wiped::<176>(at);
}

fn identity() -> Identity {
    Identity::from_seeds(
        ed25519::Seed::init_with(|seed| *seed = marked(0)),
        mlkem768::Seed::init_with(|seed| *seed = marked(32)),
    )
}

/// Returns the addresses of the marks of [`identity`] in writable memory, except for this thread's
/// stack: copies in the frames of functions are made by the compiler.
fn places_of_seeds(memory: &Memory) -> Vec<usize> {
    let here = 0_u8;
    let here = address(core::slice::from_ref(&here));
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mut found = Vec::new();
    let mut page = [0; 4096 + 15];
    for map in maps.lines().filter(|map| map.contains(" rw-p ")) {
        let (range, _) = map.split_once(' ').unwrap();
        let (start, end) = range.split_once('-').unwrap();
        let [start, end] = [start, end].map(|at| usize::from_str_radix(at, 16).unwrap());
        if (start..end).contains(&here) {
            continue;
        }
        for at in (start..end).step_by(4096) {
            let len = page.len().min(end - at);
            // Memory that another thread has returned in the meantime is skipped.
            if memory.0.read_exact_at(&mut page[..len], at as u64).is_ok() {
                // Searches for 16 bytes of either seed.
                let parts = page[..len].windows(16).enumerate().filter(|(_, part)| {
                    part[1] == part[0].wrapping_add(41)
                        && part.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(41))
                });
                found.extend(parts.map(|(i, _)| at + i));
            }
        }
    }
    found
}

#[test]
fn no_seed_stays_behind_what_reads_and_writes_identities() {
    let memory = Memory::open();
    let own = identity();
    assert!(!places_of_seeds(&memory).is_empty(), "the search finds what is there");

    let text = SecretText::encode(&own);
    drop(SecretText::decode(text.expose_secret()).ok().unwrap());
    let passphrase = Passphrase::new("correct horse").unwrap();
    let (salt, chunk_salt) = ([3; 16], [4; 24]);
    let params = KdfParams::MINIMUM;
    let file =
        hazmat::seal_identity_file(&own, own.public(), &passphrase, params, &salt, &chunk_salt);
    let file = IdentityFile::parse(file.unwrap().as_bytes()).unwrap();
    drop(file.open(&passphrase).ok().unwrap());
    let wrong = Passphrase::new("incorrect horse").unwrap();
    assert!(file.open(&wrong).is_err());
    drop(own);
    let left = places_of_seeds(&memory);
    assert!(left.is_empty(), "{left:x?}");
}
