//! Tests that files appear completely or not at all.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use endseal_node::{AtomicFile, Existing, FileError, Readers, write_file};

use endseal_testing::Scratch;

fn create(scratch: &Scratch, existing: Existing) -> Result<AtomicFile, FileError> {
    AtomicFile::create(&scratch.path("file"), existing, Readers::Umask)
}

#[test]
fn nothing_is_there_before_the_commit_and_all_of_it_after() {
    let scratch = Scratch::new();
    for (existing, content) in [(Existing::Keep, "first"), (Existing::Replace, "second")] {
        let before = scratch.has("file").then(|| scratch.read("file"));
        let mut file = create(&scratch, existing).unwrap();
        file.write_all(content.as_bytes()).unwrap();
        assert_eq!(scratch.has("file").then(|| scratch.read("file")), before);
        file.commit().unwrap();
        assert_eq!(scratch.read("file"), content.as_bytes());
        assert_eq!(scratch.names(), ["file"]);
    }
}

#[test]
fn a_file_that_is_dropped_leaves_nothing() {
    let scratch = Scratch::new();
    scratch.write("file", "old");
    let mut file = create(&scratch, Existing::Replace).unwrap();
    file.write_all(b"new").unwrap();
    drop(file);
    assert_eq!(scratch.read("file"), b"old");
    assert_eq!(scratch.names(), ["file"]);
}

#[test]
fn one_that_appears_in_the_meantime_is_kept() {
    let scratch = Scratch::new();
    let mut file = create(&scratch, Existing::Keep).unwrap();
    file.write_all(b"ours").unwrap();
    scratch.write("file", "theirs");
    assert!(matches!(file.commit(), Err(FileError::Exists(_))));
    assert_eq!(scratch.read("file"), b"theirs");
    assert_eq!(scratch.names(), ["file"]);
}

#[test]
fn of_many_writers_one_wins() {
    let scratch = Scratch::new();
    let files: Vec<_> = (0..20).map(|_| create(&scratch, Existing::Keep).unwrap()).collect();
    let threads: Vec<_> = files
        .into_iter()
        .enumerate()
        .map(|(number, mut file)| {
            std::thread::spawn(move || {
                write!(file, "{number}").unwrap();
                file.commit().is_ok()
            })
        })
        .collect();
    let won: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(won.iter().filter(|won| **won).count(), 1);
    let winner = won.iter().position(|won| *won).unwrap();
    assert_eq!(scratch.read("file"), winner.to_string().as_bytes());
    assert_eq!(scratch.names(), ["file"]);
}

#[test]
fn permissions_are_the_owners_or_those_of_the_file_before() {
    let scratch = Scratch::new();
    let mode = |name| fs::metadata(scratch.path(name)).unwrap().permissions().mode() & 0o777;
    write_file(&scratch.path("secret"), b"", Existing::Keep, Readers::Owner).unwrap();
    assert_eq!(mode("secret"), 0o600);
    scratch.write("file", "old");
    fs::set_permissions(scratch.path("file"), fs::Permissions::from_mode(0o640)).unwrap();
    write_file(&scratch.path("file"), b"", Existing::Replace, Readers::Umask).unwrap();
    assert_eq!(mode("file"), 0o640);
    // The loose mode of the old file does not apply to a secret that replaces it.
    write_file(&scratch.path("file"), b"", Existing::Replace, Readers::Owner).unwrap();
    assert_eq!(mode("file"), 0o600);
}

#[test]
fn a_link_is_followed() {
    let scratch = Scratch::new();
    scratch.write("target", "old");
    symlink(scratch.path("target"), scratch.path("file")).unwrap();
    assert!(matches!(create(&scratch, Existing::Keep), Err(FileError::Exists(_))));
    let mut file = create(&scratch, Existing::Replace).unwrap();
    file.write_all(b"new").unwrap();
    file.commit().unwrap();
    assert_eq!(scratch.read("target"), b"new");
    assert!(scratch.path("file").symlink_metadata().unwrap().is_symlink());
}

#[test]
fn folders_and_devices_are_not_replaced() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("file")).unwrap();
    assert!(matches!(create(&scratch, Existing::Replace), Err(FileError::NotARegularFile(_))));
    let device = AtomicFile::create("/dev/null".as_ref(), Existing::Replace, Readers::Umask);
    assert!(matches!(device, Err(FileError::NotARegularFile(_))));
}

#[test]
fn names_may_be_as_long_as_the_file_system_allows() {
    let scratch = Scratch::new();
    let name = "n".repeat(255);
    write_file(&scratch.path(&name), b"x", Existing::Keep, Readers::Umask).unwrap();
    assert_eq!(scratch.read(&name), b"x");
}
