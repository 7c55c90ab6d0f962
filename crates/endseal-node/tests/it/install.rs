//! Root, device, store and person record of a new state directory.

use core::time::Duration;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use endseal_crypto::identity::{Identity, RootSeed};
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use endseal_keyring::IdentityFile;
use endseal_keyring::device::DeviceId;
use endseal_node::sessions::SessionsError;
use endseal_node::{
    Existing, FileError, Home, IdentityError, InstallError, Installed, NewIdentity, OtherDevices,
};
use endseal_testing::Scratch;

const NOW: u64 = 1_790_000_000_000;

struct Pair {
    root: Identity,
    device: Identity,
}

impl Pair {
    fn generate() -> Self {
        let seed = RootSeed::generate(&mut OsRandom).unwrap();
        let device = Identity::generate(&mut OsRandom).unwrap();
        Self { root: Identity::from_root_seed(seed), device }
    }

    fn install(&self, home: &Home, existing: Existing) -> Result<Installed, InstallError> {
        let file =
            |identity| IdentityFile::seal_without_passphrase(identity, &mut OsRandom).unwrap();
        let new = NewIdentity {
            root: &self.root,
            root_file: &file(&self.root),
            device: &self.device,
            device_file: &file(&self.device),
            number: DeviceId::new(7),
            at_hub: None,
            others: OtherDevices::Revoke,
            now: NOW,
        };
        home.install(&new, existing, &home.lock().unwrap())
    }
}

#[test]
fn a_new_state_directory_works_with_its_device_alone() {
    let scratch = Scratch::new();
    let home = Home::create(&scratch.path("state")).unwrap();
    let own = Pair::generate();
    let made = own.install(&home, Existing::Keep).unwrap();
    assert_eq!((made.number.number(), made.old_identity, made.old.len()), (7, None, 0));
    let device = home.device().unwrap().open_without_passphrase().ok().flatten().unwrap();
    let mut engine = home.sessions(&device, Duration::ZERO).unwrap();
    let certificate = engine.certificate();
    assert_eq!(certificate.address().identity, *own.root.public().ed25519());
    let peer_id = PeerId::of_spki(&own.device.transport_key().public_key().to_spki());
    assert_eq!(certificate.keys().peer_id, peer_id);
    assert!(engine.transaction(|it| it.one_time_bundles(1, NOW)).is_ok_and(|it| it.len() == 1));
    let record = home.person().unwrap();
    assert_eq!(record.identity(), own.root.public());
    assert_eq!(record.device(made.number.into()), Some(own.device.public().ed25519()));
    assert_eq!((record.epoch(), record.devices().count()), (1, 1));
    // The root does not open the store.
    drop(engine);
    let refused = home.sessions(&own.root, Duration::ZERO);
    assert!(matches!(refused, Err(SessionsError::Open { .. })));
}

#[test]
fn an_identity_is_replaced_only_when_told_and_everything_of_it_is_kept() {
    let scratch = Scratch::new();
    let home = Home::create(&scratch.path("state")).unwrap();
    let old = Pair::generate();
    old.install(&home, Existing::Keep).unwrap();
    let refused = Pair::generate().install(&home, Existing::Keep);
    let Err(InstallError::File(FileError::Exists(path))) = refused else { panic!("replaced") };
    assert_eq!(path, home.identity_path());
    assert!(home.sessions(&old.device, Duration::ZERO).is_ok());
    let kept = |name: &str, number| {
        let mut path = home.path().join(name).into_os_string();
        path.push(format!(".old-{number}"));
        PathBuf::from(path)
    };
    for number in 1..3 {
        let new = Pair::generate();
        let made = new.install(&home, Existing::Replace).unwrap();
        assert_eq!(made.old_identity, Some(kept("identity.endseal", number)));
        let names = ["store", "person", "device.endseal"];
        assert_eq!(made.old, names.map(|name| kept(name, number)));
        assert!(home.sessions(&new.device, Duration::ZERO).is_ok());
        assert_eq!(home.person().unwrap().identity(), new.root.public());
    }
    let file = IdentityFile::parse(&fs::read(kept("device.endseal", 1)).unwrap()).unwrap();
    assert_eq!(file.public(), old.device.public());
    fs::rename(home.store_path(), home.path().join("new")).unwrap();
    fs::rename(kept("store", 1), home.store_path()).unwrap();
    assert!(home.sessions(&old.device, Duration::ZERO).is_ok());
}

#[test]
fn what_a_killed_process_left_is_kept_and_does_not_hinder() {
    let scratch = Scratch::new();
    let home = Home::create(&scratch.path("state")).unwrap();
    Pair::generate().install(&home, Existing::Keep).unwrap();
    fs::remove_file(home.identity_path()).unwrap();
    let own = Pair::generate();
    let made = own.install(&home, Existing::Keep).unwrap();
    assert_eq!((made.old_identity, made.old.len()), (None, 3));
    assert!(home.sessions(&own.device, Duration::ZERO).is_ok());
    assert_eq!(home.person().unwrap().identity(), own.root.public());
}

#[test]
fn a_device_file_that_others_can_read_is_refused() {
    let scratch = Scratch::new();
    let home = Home::create(&scratch.path("state")).unwrap();
    assert!(matches!(home.device(), Err(IdentityError::Missing(_))));
    Pair::generate().install(&home, Existing::Keep).unwrap();
    let mode = fs::metadata(home.device_path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for loose in [0o640, 0o604, 0o620, 0o610] {
        fs::set_permissions(home.device_path(), Permissions::from_mode(loose)).unwrap();
        let refused = home.device();
        assert!(matches!(refused, Err(IdentityError::File(FileError::Loose { .. }))), "{loose:o}");
    }
    fs::set_permissions(home.device_path(), Permissions::from_mode(0o600)).unwrap();
    fs::write(home.device_path(), "endseal identity v1\n").unwrap();
    assert!(matches!(home.device(), Err(IdentityError::Parse { .. })));
}

#[test]
fn a_certificate_of_another_device_or_root_is_refused() {
    let scratch = Scratch::new();
    let home = Home::create(&scratch.path("state")).unwrap();
    let own = Pair::generate();
    own.install(&home, Existing::Keep).unwrap();
    let other = Pair::generate();
    let make = |root, number| {
        home.make_sessions(root, &own.device, DeviceId::new(number), NOW, Duration::ZERO)
    };
    assert!(make(&own.root, 7).is_ok());
    assert!(matches!(make(&other.root, 7), Err(SessionsError::Engine(_))));
    assert!(matches!(make(&own.root, 8), Err(SessionsError::OtherDevice(_))));
}
