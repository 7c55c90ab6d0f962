//! A backlog that waits at a hub for a node, written and sent by real nodes. Hub and receiver are
//! restored to that state before each iteration.

use core::cell::{Cell, OnceCell};
use std::fs;

use bytes::Bytes;
use endseal_codec::frame::StoredFrame;
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_delivery::MessageId;
use endseal_hub::SqliteStore;
use endseal_keyring::Invitation;
use endseal_node::messages::{HubGroupId, Payload};
use endseal_session::{Engine, Envelope};
use tokio::runtime::Runtime;

use super::database::{Database, Engine as Storage, OnServer};
use super::person::{Person, invite, say};
use super::server::Server;
use super::wire::{Link, fetch};
use crate::ours::sessions::folder::put_back;
use crate::s3::listen;
use crate::scratch::Folder;
use crate::subject::Failure;

/// Number of characters of a text.
const TEXT_LEN: usize = 100;
/// Number of texts that a sender sends before the next sender continues.
const TURN: usize = 50;
const DATABASE: &str = "hub.db";

/// A frame that waits in the mailbox.
pub(super) struct Waiting {
    pub(super) id: MessageId,
    pub(super) group: HubGroupId,
    pub(super) body: Bytes,
}

/// Frames that wait at a hub for one receiver, with copies of the hub's database and of the
/// receiver's store from which both are restored.
pub(super) struct Backlog {
    folder: Folder,
    pub(super) runtime: Runtime,
    pub(super) receiver: Person,
    /// The frames, in the order in which they are fetched.
    pub(super) frames: Vec<Waiting>,
    /// Texts in the order of their frames.
    pub(super) texts: Vec<String>,
    /// The hub's database on the PostgreSQL server, which is copied for each start.
    on_server: OnceCell<OnServer>,
    /// Number of starts of the hub, for a new directory at each start.
    started: Cell<u32>,
}

struct Sender {
    person: Person,
    engine: Engine,
    link: Link,
}

impl Backlog {
    pub(super) fn new(frames: usize, senders: usize) -> Result<Self, Failure> {
        let (folder, runtime) = (Folder::new()?, listen::runtime()?);
        fs::create_dir(folder.at("setup"))?;
        fs::create_dir(folder.at("hub"))?;
        let database = folder.at("setup").join(DATABASE);
        let server = Server::start(Database::Sqlite(database.clone()))?;
        let invitation = invite(&server.database)?;
        let receiver = Person::new(&folder.at("receiver"))?;
        let mut own = Self {
            folder,
            runtime,
            receiver,
            frames: Vec::new(),
            texts: Vec::new(),
            on_server: OnceCell::new(),
            started: Cell::new(0),
        };
        own.fill(&server, &invitation, frames, senders)?;
        SqliteStore::open(&database)?.copy_to(&own.folder.at("hub").join(DATABASE))?;
        drop(server);
        fs::remove_dir_all(own.folder.at("setup"))?;
        fs::rename(own.receiver.home.store_path(), own.folder.at("store"))?;
        Ok(own)
    }

    /// Lets the senders write and send everything, and reads the mailbox without acknowledging it.
    fn fill(
        &mut self,
        server: &Server,
        invitation: &Invitation,
        frames: usize,
        senders: usize,
    ) -> Result<(), Failure> {
        let Self { folder, runtime, receiver, .. } = self;
        let hub = server.address;
        let to = *receiver.identity();
        let mut engine = receiver.engine()?;
        let (own_link, mut all) = runtime.block_on(async {
            let link = receiver.connect(hub).await?;
            receiver.join(&mut engine, &link, invitation).await?;
            let mut all = Vec::new();
            for number in 0..senders {
                let person = Person::new(&folder.at(&format!("sender-{number}")))?;
                let mut engine = person.engine()?;
                let link = person.connect(hub).await?;
                person.join(&mut engine, &link, invitation).await?;
                // One message in each direction: no frame of the backlog is a commit or a welcome.
                say(&mut engine, &to, "hello")?;
                person.sync(&mut engine, &link).await?;
                all.push(Sender { person, engine, link });
            }
            receiver.sync(&mut engine, &link).await?;
            for Sender { person, .. } in &all {
                say(&mut engine, person.identity(), "hello")?;
            }
            receiver.sync(&mut engine, &link).await?;
            for Sender { person, engine, link } in &mut all {
                person.sync(engine, link).await?;
            }
            // The receipts for these messages are not part of the backlog.
            receiver.sync(&mut engine, &link).await?;
            Ok::<_, Failure>((link, all))
        })?;
        let mut left: Vec<usize> =
            (0..senders).map(|number| (frames + senders - 1 - number) / senders).collect();
        while left.iter().any(|left| *left > 0) {
            for (Sender { person, engine, link }, left) in all.iter_mut().zip(&mut left) {
                let count = TURN.min(*left);
                if count == 0 {
                    continue;
                }
                let lines = (0..count).map(|_| text()).collect::<Result<Vec<_>, _>>()?;
                say(engine, &to, &lines.join("\n"))?;
                let sent = self.runtime.block_on(person.sync(engine, link))?.sent;
                if sent != count as u64 {
                    return Err(format!("{sent} of {count} texts were sent").into());
                }
                self.texts.extend(lines);
                *left -= count;
            }
        }
        drop(engine);
        self.frames = self.runtime.block_on(fetch(&own_link, waiting))?;
        if self.frames.len() != frames {
            return Err(format!("{} of {frames} frames wait", self.frames.len()).into());
        }
        Ok(())
    }

    /// Restores the receiver's store and opens it.
    pub(super) fn put_receiver_back(&self) -> Result<Engine, Failure> {
        put_back(&self.folder.at("store"), &self.receiver.home.store_path())?;
        self.receiver.engine()
    }

    /// Restores the hub's database and starts a hub. Each start has files of its own, because the
    /// previous hub may still be ending.
    pub(super) fn start_hub(&self, engine: Storage) -> Result<Server, Failure> {
        let before = self.folder.at(&format!("hub-{}", self.started.get()));
        self.started.set(self.started.get() + 1);
        let now = self.folder.at(&format!("hub-{}", self.started.get()));
        if before.exists() {
            fs::remove_dir_all(before)?;
        }
        put_back(&self.folder.at("hub"), &now)?;
        if engine == Storage::Sqlite {
            return Server::start(Database::Sqlite(now.join(DATABASE)));
        }
        if self.on_server.get().is_none() {
            let _ = self.on_server.set(OnServer::from_file(&now.join(DATABASE))?);
        }
        let copied = self.on_server.get().ok_or("there is no database")?.copy()?;
        Server::start(Database::Postgres(copied))
    }

    /// Returns the frames as the engine takes them.
    pub(super) fn envelopes<'a>(&'a self) -> Vec<Envelope<'a>> {
        let envelope =
            |it: &'a Waiting| Envelope::from_group(it.id.as_bytes(), &it.group, &it.body);
        self.frames.iter().map(envelope).collect()
    }
}

/// Reads a frame of the backlog.
fn waiting(payload: &Bytes, id: MessageId, frame: &StoredFrame<'_>) -> Result<Waiting, Failure> {
    let read = Payload::read(frame.payload()).ok_or("a frame has another form")?;
    Ok(Waiting { id, group: *read.group, body: payload.slice_ref(read.body) })
}

/// Returns a random text of [`TEXT_LEN`] characters.
fn text() -> Result<String, Failure> {
    let mut letters = [0; TEXT_LEN];
    OsRandom.fill(&mut letters)?;
    Ok(letters.iter().map(|byte| char::from(b'a' + byte % 26)).collect())
}
