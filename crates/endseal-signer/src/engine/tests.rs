//! Tests of the engine without sockets: events in, events out.

mod changes;
mod circumstances;
mod client;
mod decisions;
mod failing_store;
mod faults;
mod limits;
mod neighbours;
mod pairing;
mod prompts;

use alloc::sync::Arc;

use endseal_crypto::random::OsRandom;
use endseal_crypto::secret::Zeroizing;
use endseal_nostr::key::{SecretKey, SigningKey};
use endseal_store::KdfParams;
use endseal_testing::Scratch;

use self::client::{Client, Reply as Answer};
use super::{Engine, Outgoing};
use crate::bytes::RecordWriter;
use crate::control::{Command, CommandError, Grant, GrantEffect, Reply, Request};
use crate::signer_store::SignerStore;
use crate::text::{BoundedText, MAX_NAME};
use crate::{LogEntry, Matter, User};

/// Passphrase of all signers in these tests.
const PASSPHRASE: &str = "correct horse";
/// Time at which the clock of a test starts, in seconds since 1970.
const NOW: u64 = 1_800_000_000;
const RELAY: &str = "wss://relay.example";
/// The user's key, encrypted with scrypt at 2 KiB. The parameters that a signer uses need 64 MiB
/// and would take most of the time of a test.
const ENCRYPTED: &str = "ncryptsec1qgqszqgpqyqszqgpqyqszqgpqyqszqszqgpqyqszqgpqyqszqgpqyqszqgpqyqszqgpqy40lgmnakhsrcx\
     033nt37p477f8m944uu3v72ftk4zpyeuw7jj65e4tfctnalrk8vg0aqp9a0vyte5xrunv8";

/// Signer with one user and a clock that the test sets.
struct World {
    directory: Scratch,
    engine: Engine,
    user: SigningKey,
    now: u64,
}

fn grant(effect: GrantEffect, rules: &str) -> Grant {
    Grant { effect, rules: rules.to_owned(), lifetime: None, uses: None, rate: None }
}

fn allow(rules: &str) -> Vec<Grant> {
    vec![grant(GrantEffect::Allow, rules)]
}

/// Records the user as `SignerStore::import` does.
fn import(store: &mut SignerStore, user: &SigningKey) {
    let name = user.public_key().to_bytes();
    let record = RecordWriter::versioned(256).u64(NOW).text(&BoundedText::<MAX_NAME>::default());
    let record = record.bytes(ENCRYPTED.as_bytes()).finish();
    let mut entry = LogEntry::new(Matter::UserImported, NOW);
    entry.peer = name;
    let mut transaction = store.begin().unwrap();
    transaction.add_user(User::from_bytes(&name, &record).unwrap()).unwrap();
    transaction.append(entry).unwrap();
    transaction.commit().unwrap();
}

impl World {
    fn new() -> Self {
        let directory = Scratch::new();
        let path = directory.path("signer");
        let mut store =
            SignerStore::create(&path, PASSPHRASE, KdfParams::MINIMUM, &mut OsRandom).unwrap();
        let user = SigningKey::new(SecretKey::from_bytes(&[7; 32]).unwrap());
        import(&mut store, &user);
        let mut engine = Engine::new(path, store, Arc::default());
        engine.set_relays(NOW, &[RELAY.to_owned()]).unwrap();
        engine.open_keys(NOW, PASSPHRASE).unwrap();
        Self { directory, engine, user, now: NOW }
    }

    /// Simulates a killed process: drops the engine and opens the store again.
    fn restarted(self) -> Self {
        let Self { directory, engine, user, now } = self;
        drop(engine);
        let path = directory.path("signer");
        let store = SignerStore::open(&path, PASSPHRASE, Default::default()).unwrap();
        let mut engine = Engine::new(path, store, Arc::default());
        engine.open_keys(now, PASSPHRASE).unwrap();
        Self { directory, engine, user, now }
    }

    fn command(&mut self, command: Command) -> Result<Reply, CommandError> {
        let request = Request { command, secret: Zeroizing::new(Vec::new()) };
        self.engine.command(self.now, request).0
    }

    /// Creates an app and returns the URI that its client connects with.
    fn invite(&mut self, name: &str, grants: Vec<Grant>) -> String {
        let command = Command::Invite {
            name: name.to_owned(),
            user: None,
            grants,
            lifetime: None,
            invitation: 3_600,
            relays: Vec::new(),
            as_user_key: false,
        };
        match self.command(command) {
            Ok(Reply::Invited { uri: Some(uri), .. }) => uri.expose_secret().to_owned(),
            Ok(_) => panic!("another reply"),
            Err(error) => panic!("{error}"),
        }
    }

    /// Creates an app and pairs a client with it.
    fn apps(&mut self) -> Vec<crate::control::AppView> {
        match self.command(Command::Apps) {
            Ok(Reply::Apps(apps)) => apps,
            _ => panic!("no list"),
        }
    }

    fn paired(&mut self, name: &str, grants: Vec<Grant>) -> Client {
        let uri = self.invite(name, grants);
        let client = Client::of_bunker(&uri);
        let answers = self.send(&client, &client.connect(self.now));
        assert_eq!(answers, [Answer::result("ack")]);
        client
    }

    /// Sends an event and returns the responses that the client can read.
    fn send(&mut self, client: &Client, event: &str) -> Vec<Answer> {
        let outgoing = self.engine.arrive(self.now, &mut [event.as_bytes().to_vec()]);
        client.read_all(&outgoing)
    }

    /// Calls a method and returns its only response.
    fn call(&mut self, client: &Client, method: &str, params: &[&str]) -> Answer {
        let event = client.request(self.now, "r1", method, params);
        let mut answers = self.send(client, &event);
        assert_eq!(answers.len(), 1, "{method}");
        answers.remove(0)
    }

    /// Lets the engine do what the service has it do each second.
    fn tick(&mut self) {
        let _ = self.engine.tick(self.now);
    }

    fn status(&mut self) -> crate::control::Status {
        match self.command(Command::Status) {
            Ok(Reply::Status(status)) => status,
            _ => panic!("no status"),
        }
    }

    fn lines(&mut self) -> Vec<crate::control::LineView> {
        match self.command(Command::Log { after: 0, limit: 1_000 }) {
            Ok(Reply::Lines(lines)) => lines,
            _ => panic!("no lines"),
        }
    }

    fn rules(&mut self, name: &str) -> Vec<crate::control::RuleView> {
        let Ok(Reply::Apps(mut apps)) = self.command(Command::Apps) else { panic!("no apps") };
        apps.retain(|app| app.name == name);
        apps.remove(0).rules
    }

    /// Returns the verdicts of the requests in the log.
    fn verdicts(&mut self) -> Vec<String> {
        self.lines().into_iter().filter_map(|line| line.verdict).collect()
    }
}

/// Returns the JSON of an unsigned event.
fn note(kind: u16, content: &str) -> String {
    format!("{{\"kind\":{kind},\"created_at\":1,\"tags\":[],\"content\":\"{content}\"}}")
}
