//! Tests of the state directory: its files, their modes and its lock.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_keyring::IdentityFile;
use endseal_node::{Existing, FileError, Home, HomeError, IdentityError};

use endseal_testing::Scratch;

#[test]
fn a_directory_that_others_can_use_is_refused() {
    let scratch = Scratch::new();
    let path = scratch.path("state");
    assert!(matches!(Home::open(&path), Err(HomeError::Missing(_))));
    Home::create(&path).unwrap();
    for mode in [0o701, 0o710, 0o740, 0o755, 0o777] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        for home in [Home::open(&path), Home::create(&path)] {
            assert!(matches!(home, Err(HomeError::File(FileError::Loose { .. }))), "{mode:o}");
        }
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    Home::open(&path).unwrap();
    scratch.write("file", "");
    assert!(matches!(Home::open(&scratch.path("file")), Err(HomeError::NotADirectory(_))));
}

#[test]
fn missing_folders_above_are_made() {
    let scratch = Scratch::new();
    let path = scratch.path("user/.local/share/endseal");
    Home::create(&path).unwrap();
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn an_identity_is_stored_once_and_replaced_only_with_a_copy() {
    let scratch = Scratch::new();
    let home = Home::create(&scratch.path("state")).unwrap();
    let lock = home.lock().unwrap();
    assert!(matches!(home.identity(), Err(IdentityError::Missing(_))));
    let make = || {
        let identity = Identity::generate(&mut OsRandom).unwrap();
        IdentityFile::seal_without_passphrase(&identity, &mut OsRandom).unwrap()
    };
    let (first, second) = (make(), make());
    assert!(home.store_identity(&first, Existing::Keep, &lock).unwrap().is_none());
    let again = home.store_identity(&second, Existing::Keep, &lock);
    assert!(matches!(again, Err(IdentityError::File(FileError::Exists(_)))));
    assert_eq!(home.identity().unwrap(), first);
    let aside = home.store_identity(&second, Existing::Replace, &lock).unwrap().unwrap();
    assert_eq!(fs::read(aside).unwrap(), first.as_bytes());
    assert_eq!(home.identity().unwrap(), second);
}

#[test]
fn a_new_passphrase_does_not_bring_a_former_identity_back() {
    let scratch = Scratch::new();
    let home = Home::create(&scratch.path("state")).unwrap();
    let lock = home.lock().unwrap();
    let [former, present] = [(); 2].map(|()| Identity::generate(&mut OsRandom).unwrap());
    let file = |it| IdentityFile::seal_without_passphrase(it, &mut OsRandom).unwrap();
    home.store_identity(&file(&present), Existing::Keep, &lock).unwrap();
    let before = home.identity().unwrap();
    let refused = home.reseal_identity(&file(&former), &lock);
    assert!(matches!(refused, Err(IdentityError::Replaced(_))), "{refused:?}");
    assert_eq!(home.identity().unwrap(), before);
    let again = file(&present);
    home.reseal_identity(&again, &lock).unwrap();
    assert_eq!(home.identity().unwrap(), again);
}

#[test]
fn a_lock_keeps_others_waiting() {
    let scratch = Scratch::new();
    let home = Home::create(&scratch.path("state")).unwrap();
    let lock = home.lock().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let other = home.clone();
    let waiting = std::thread::spawn(move || {
        let _lock = other.lock().unwrap();
        sender.send(()).unwrap();
    });
    let wait = core::time::Duration::from_millis(50);
    assert!(receiver.recv_timeout(wait).is_err());
    drop(lock);
    receiver.recv().unwrap();
    waiting.join().unwrap();
}
