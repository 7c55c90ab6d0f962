//! Key rings in files on the disk.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use endseal_crypto::random::OsRandom;
use endseal_keyring::{KdfParams, Passphrase};
use endseal_kms::Ring;
use endseal_kms::ring::{
    AddKeyError, ChangeRingError, CreateRingError, LoadRingError, OpenRingError, ParseRingError,
    Protection, ReadPassphraseError, RemoveKeyError, RingFile, read_passphrase,
};

/// A temporary directory that is removed when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("endseal-ring-{}-{n}", process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn path(&self) -> PathBuf {
        self.0.join("ring.key")
    }

    fn entries(&self) -> usize {
        fs::read_dir(&self.0).unwrap().count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn ring() -> Ring {
    Ring::generate(1, &mut OsRandom).unwrap()
}

fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(text).ok().unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn add(
    file: &RingFile,
    passphrase: Option<&Passphrase>,
) -> Result<Ring, ChangeRingError<AddKeyError>> {
    file.change(passphrase, &mut OsRandom, |ring| ring.add(2, &mut OsRandom).map(|_| ()))
}

#[test]
fn a_new_file_is_its_owners_and_replaces_nothing() {
    let folder = Folder::new();
    let (file, ring) = (RingFile::at(&folder.path()), ring());
    file.create(&ring, Protection::None, &mut OsRandom).unwrap();
    assert_eq!((mode(&folder.path()), folder.entries()), (0o600, 1));
    let before = fs::read(folder.path()).unwrap();
    let again = file.create(&self::ring(), Protection::None, &mut OsRandom);
    assert!(matches!(again, Err(CreateRingError::Exists)));
    assert_eq!((fs::read(folder.path()).unwrap(), folder.entries()), (before, 1));
    assert_eq!(file.load(None).ok().unwrap().to_open_text(), ring.to_open_text());
    // A dangling link counts as an existing file.
    let link = folder.0.join("link");
    symlink("nowhere", &link).unwrap();
    let linked = RingFile::at(&link).create(&ring, Protection::None, &mut OsRandom);
    assert!(matches!(linked, Err(CreateRingError::Exists)));
}

#[test]
fn a_rotation_adds_and_keeps() {
    let folder = Folder::new();
    let file = RingFile::at(&folder.path());
    file.create(&ring(), Protection::None, &mut OsRandom).unwrap();
    let old = file.load(None).ok().unwrap().to_open_text();
    let changed = add(&file, None).ok().unwrap();
    assert_eq!(file.load(None).ok().unwrap().to_open_text(), changed.to_open_text());
    assert!(changed.to_open_text().starts_with(&*old));
    assert_eq!((changed.entries().count(), mode(&folder.path()), folder.entries()), (2, 0o600, 1));
}

#[test]
fn a_change_that_fails_changes_nothing() {
    let folder = Folder::new();
    let file = RingFile::at(&folder.path());
    file.create(&ring(), Protection::None, &mut OsRandom).unwrap();
    let before = fs::read(folder.path()).unwrap();
    let last = file.load(None).ok().unwrap().entries().next().unwrap().id;
    let outcome = file.change(None, &mut OsRandom, |ring| ring.remove(&last));
    assert!(matches!(outcome, Err(ChangeRingError::Change(RemoveKeyError::Wraps))));
    fs::write(folder.path(), b"endseal s3-key-ring v1\n").unwrap();
    let damaged = add(&file, None);
    assert!(matches!(damaged, Err(ChangeRingError::Load(LoadRingError::Parse(_)))));
    assert_eq!(fs::read(folder.path()).unwrap(), b"endseal s3-key-ring v1\n");
    fs::write(folder.path(), &before).unwrap();
    assert!(add(&file, Some(&passphrase("x"))).is_err());
    assert_eq!((fs::read(folder.path()).unwrap(), folder.entries()), (before, 1));
}

#[test]
fn changes_at_once_lose_no_key() {
    let folder = Folder::new();
    let file = RingFile::at(&folder.path());
    file.create(&ring(), Protection::None, &mut OsRandom).unwrap();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let file = file.clone();
            std::thread::spawn(move || (0..8).for_each(|_| drop(add(&file, None).ok().unwrap())))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(file.load(None).ok().unwrap().entries().count(), 33);
    assert_eq!(folder.entries(), 1);
}

#[test]
fn a_link_is_followed() {
    let folder = Folder::new();
    RingFile::at(&folder.path()).create(&ring(), Protection::None, &mut OsRandom).unwrap();
    let link = folder.0.join("link");
    symlink("ring.key", &link).unwrap();
    add(&RingFile::at(&link), None).ok().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(RingFile::at(&folder.path()).load(None).ok().unwrap().entries().count(), 2);
}

#[test]
fn a_sealed_file_stays_sealed() {
    let folder = Folder::new();
    let (file, right) = (RingFile::at(&folder.path()), passphrase("right"));
    let protection = Protection::Passphrase(&right, KdfParams::MINIMUM);
    file.create(&ring(), protection, &mut OsRandom).unwrap();
    add(&file, Some(&right)).ok().unwrap();
    let text = fs::read_to_string(folder.path()).unwrap();
    assert!(text.contains("protection argon2id 8192 1 1 ") && !text.contains("ring-"));
    assert_eq!(file.load(Some(&right)).ok().unwrap().entries().count(), 2);
    assert!(matches!(file.load(None), Err(LoadRingError::Sealed)));
    let wrong = file.load(Some(&passphrase("wrong")));
    assert!(matches!(wrong, Err(LoadRingError::Open(OpenRingError::Authentication))));
    assert!(add(&file, None).is_err() && add(&file, Some(&passphrase("wrong"))).is_err());
    assert_eq!(fs::read_to_string(folder.path()).unwrap(), text);
}

#[test]
fn a_ring_that_should_be_sealed_and_is_not_is_refused() {
    let folder = Folder::new();
    let file = RingFile::at(&folder.path());
    file.create(&ring(), Protection::None, &mut OsRandom).unwrap();
    assert!(matches!(file.load(Some(&passphrase("x"))), Err(LoadRingError::NotSealed)));
}

#[test]
fn what_is_no_ring_is_refused() {
    let folder = Folder::new();
    let file = RingFile::at(&folder.path());
    assert!(matches!(file.load(None), Err(LoadRingError::Io(_))));
    assert!(matches!(RingFile::at(&folder.0).load(None), Err(LoadRingError::Io(_))));
    fs::write(folder.path(), vec![b'x'; 1 << 20]).unwrap();
    assert!(matches!(file.load(None), Err(LoadRingError::Parse(ParseRingError::TooLong))));
    // A file without an end.
    let endless = RingFile::at(Path::new("/dev/zero")).load(None);
    assert!(matches!(endless, Err(LoadRingError::Parse(ParseRingError::TooLong))));
}

#[test]
fn passphrases_come_from_files() {
    let folder = Folder::new();
    let path = folder.path();
    for (content, expected) in [
        ("secret", "secret"),
        ("secret\n", "secret"),
        ("se cret\r\n", "se cret"),
        ("\u{fc}\n", "\u{fc}"),
    ] {
        fs::write(&path, content).unwrap();
        let read = read_passphrase(&path).ok().unwrap();
        assert_eq!(read.expose_secret(), expected.as_bytes());
    }
    for content in ["", "\n", "a\nb\n", "a\n\n", &"x".repeat(1025), &"x".repeat(5000)] {
        fs::write(&path, content).unwrap();
        assert!(matches!(read_passphrase(&path), Err(ReadPassphraseError::Invalid(_))));
    }
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(matches!(read_passphrase(&path), Err(ReadPassphraseError::NotText)));
    assert!(matches!(read_passphrase(&folder.0), Err(ReadPassphraseError::Io(_))));
}
