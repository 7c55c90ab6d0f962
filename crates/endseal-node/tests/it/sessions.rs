//! The store of a state directory, and session files that are larger than the part in memory.

use core::time::Duration;
use std::fs::File;
use std::io::{self, Read};

use endseal_crypto::identity::Identity;
use endseal_crypto::random::OsRandom;
use endseal_keyring::device::DeviceId;
use endseal_node::sessions::{self, ReceiveError, Reception, SessionsError, Tally, Texts};
use endseal_node::{AtomicFile, Existing, Home, Readers};
use endseal_session::group::Suite;
use endseal_session::{
    BatchOptions, ConversationId, Engine, EngineError, FileRecord, FileRecordError, FileRoute,
    GroupChangeError,
};
use endseal_store::{OpenStoreError, OuterKey, Protection, Store};

use endseal_testing::Scratch;

const NOW: u64 = 1_790_000_000_000;

fn identity() -> Identity {
    Identity::generate(&mut OsRandom).unwrap()
}

fn make(home: &Home, identity: &Identity, device: Option<u32>) -> Result<Engine, SessionsError> {
    home.make_sessions(identity, identity, device.and_then(DeviceId::new), NOW, Duration::ZERO)
}

#[test]
fn a_store_that_was_left_without_a_device_gets_one() {
    let scratch = Scratch::new();
    let home = Home::create(&scratch.path("state")).unwrap();
    let own = identity();
    assert!(matches!(home.sessions(&own, Duration::ZERO), Err(SessionsError::Missing(_))));
    let key = OuterKey::from_bytes(own.store_key().expose_secret());
    let store =
        Store::create(&home.store_path(), Protection::OuterKey(&key), &mut OsRandom).unwrap();
    let id = *store.id();
    store.close().unwrap();
    let missing = home.sessions(&own, Duration::ZERO);
    assert!(matches!(missing, Err(SessionsError::Engine(EngineError::NoDevice))));
    let mut engine = make(&home, &own, Some(5)).unwrap();
    assert_eq!(engine.store().id(), &id);
    let address = engine.address();
    assert_eq!((address.device.number(), &address.identity), (5, own.public().ed25519()));
    let locked = make(&home, &own, None);
    let Err(SessionsError::Open { error: OpenStoreError::Locked, .. }) = locked else {
        panic!("two at once")
    };
    drop(engine);
    assert_eq!(make(&home, &own, None).unwrap().address(), address);
    assert!(matches!(make(&home, &own, Some(6)), Err(SessionsError::OtherDevice(_))));
    let Err(SessionsError::Open { error, .. }) = make(&home, &identity(), None) else {
        panic!("another identity")
    };
    assert!(matches!(error, OpenStoreError::Authentication));
}

/// A reader that returns a file in small pieces, and fails at its end.
struct Failing(File);

impl Read for Failing {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = out.len().min(10_000);
        match self.0.read(&mut out[..most])? {
            0 => Err(io::ErrorKind::ConnectionReset.into()),
            len => Ok(len),
        }
    }
}

/// Makes Alice and Bob, in a group with this id.
fn in_a_group(scratch: &Scratch, id: &[u8]) -> [Engine; 2] {
    let [mut alice, mut bob] = ["one", "other"]
        .map(|name| make(&Home::create(&scratch.path(name)).unwrap(), &identity(), None).unwrap());
    let now = Duration::from_millis(NOW);
    let package: Result<_, GroupChangeError> =
        bob.transaction(|it| it.key_package(Suite::default(), now));
    let package = package.unwrap();
    let made: Result<(), GroupChangeError> = alice.transaction(|it| {
        it.create_group(id, now)?;
        let commit = it.commit_group(id, |mls| mls.add([package.as_slice()], now))?;
        it.accept_commit(id)?;
        it.sent(commit)?;
        Ok(())
    });
    made.unwrap();
    let conversation = ConversationId::Group(id.to_vec());
    let path = scratch.path("welcome");
    let file = AtomicFile::create(&path, Existing::Keep, Readers::Umask).unwrap();
    assert_eq!(sessions::write_welcomes(&mut alice, &conversation, file).unwrap(), 1);
    let (tally, read) = receive(&mut bob, File::open(&path).unwrap(), &mut |_| {});
    read.unwrap();
    assert_eq!((tally.joined.len(), tally.failed()), (1, 0));
    [alice, bob]
}

/// Delivers a file, and accepts welcomes from all inviters.
fn receive(
    engine: &mut Engine,
    input: impl Read,
    progress: &mut dyn FnMut(u64),
) -> (Tally, Result<(), ReceiveError>) {
    let (mut tally, options) = (Tally::default(), BatchOptions::default());
    let mut reception = Reception::new(engine, &options).inviters(&|_| true);
    let read = reception.read(input, &mut tally, progress);
    reception.finish(&mut tally).unwrap();
    (tally, read)
}

#[test]
fn a_file_larger_than_a_piece_is_read_from_front_to_end() {
    const TEXTS: u64 = 24;
    let scratch = Scratch::new();
    let [mut alice, mut bob] = in_a_group(&scratch, b"team");
    // Lengths that place the ends of pieces anywhere in a record. They are below 1 MiB when padded.
    let line = |number: u64| vec![b'a'; 800_000 + usize::try_from(number).unwrap() * 1_237];
    let lines: Vec<_> = (0..TEXTS).map(line).collect();
    let input = lines.join(&b'\n');
    let count = sessions::encrypt_group(&mut alice, b"team", Texts::lines(&*input));
    assert_eq!(count.unwrap(), TEXTS);
    let conversation = ConversationId::Group(b"team".to_vec());
    assert_eq!(sessions::waiting(&mut alice, &conversation).unwrap(), TEXTS);
    let path = scratch.path("out");
    let started = AtomicFile::create(&path, Existing::Keep, Readers::Umask).unwrap();
    assert_eq!(sessions::write_outbox(&mut alice, &conversation, started).unwrap(), TEXTS);
    assert_eq!(sessions::waiting(&mut alice, &conversation).unwrap(), 0);

    let mut at = Vec::new();
    let input = Failing(File::open(&path).unwrap());
    let (tally, failed) = receive(&mut bob, input, &mut |done| at.push(done));
    assert!(matches!(failed, Err(ReceiveError::Input(_))));
    // All of it was read before the failure.
    assert_eq!((tally.delivered, tally.failed()), (TEXTS, 0));
    assert!(at.len() >= 3 && at.is_sorted(), "{at:?}");
    assert_eq!(at.last(), Some(&path.metadata().unwrap().len()));
    let (tally, read) = receive(&mut bob, File::open(&path).unwrap(), &mut |_| {});
    read.unwrap();
    assert_eq!((tally.records, tally.already_delivered), (TEXTS, TEXTS));
    let texts = bob.inbox().page(0, 100).unwrap();
    assert!(texts.iter().map(|it| it.plaintext.as_slice()).eq(lines.iter().map(Vec::as_slice)));
}

/// A welcome may be longer than the piece of a file that is read at once.
#[test]
fn a_long_welcome_costs_itself_alone() {
    let scratch = Scratch::new();
    let [mut alice, mut bob] = in_a_group(&scratch, b"team");
    let (from, to) = (alice.address(), bob.address());
    sessions::encrypt_group(&mut alice, b"team", Texts::whole(&b"text"[..])).unwrap();
    let message = alice.outbox().pending(0, 1).unwrap().remove(0).body;
    let long = vec![1; 12 << 20];
    let mut file = FileRecord::HEADER.to_vec();
    let id = FileRecord::id_of(&message);
    let welcome = FileRoute::Welcome { sender: from, recipient: to };
    let elsewhere = FileRoute::Welcome { sender: to, recipient: from };
    for (id, route, body) in [
        (&[1; 16], welcome, &long),
        (&[2; 16], elsewhere, &long),
        (&[3; 16], welcome, &vec![0]),
        (&id, FileRoute::Group(b"team"), &message),
    ] {
        FileRecord { id, route, body }.write_to(&mut file).unwrap();
    }
    let (tally, read) = receive(&mut bob, &*file, &mut |_| {});
    read.unwrap();
    assert_eq!((tally.records, tally.delivered, tally.elsewhere), (4, 1, 1));
    assert_eq!(tally.failures.into_iter().collect::<Vec<_>>(), [("authentication", 2)]);
    // The file is cut within the welcome.
    let (tally, read) = receive(&mut bob, &file[..9 << 20], &mut |_| {});
    assert!(matches!(read, Err(ReceiveError::Format(FileRecordError::Truncated))));
    assert_eq!(tally.records, 0);
}
