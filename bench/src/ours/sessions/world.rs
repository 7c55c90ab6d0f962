//! A receiver with its store, and the backlogs that wait for it.

use std::path::PathBuf;

use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_keyring::device::{Address, DeviceId};
use endseal_session::{BatchReport, Engine, Envelope, NewDevice, Outcome};
use endseal_store::{OpenOptions, Protection, Store, Unlock};

use super::folder;
use super::people::{NOW, RECEIVER, Sender, address, identity};
use super::shape::{self, Shape};
use super::{mls, pairwise};
use crate::clock::{self, Elapsed};
use crate::scratch::Folder;
use crate::subject::Failure;

/// Bytes of a message's plaintext.
const CONTENT_BYTES: usize = 100;
/// A message as it is delivered to the receiver.
#[derive(Clone, Debug)]
pub(super) struct Delivered {
    pub(super) conversation: usize,
    /// Random, as ids of servers often are, so that the index of delivered messages grows in random
    /// order.
    pub(super) id: [u8; 16],
    pub(super) body: Vec<u8>,
}

/// Messages that wait for the receiver, with their contents.
#[derive(Debug)]
pub(super) struct Backlog {
    pub(super) messages: Vec<Delivered>,
    pub(super) contents: Vec<Vec<u8>>,
}

/// A receiver's store before the first message, with backlogs that are opened from that state.
#[derive(Debug)]
pub(super) struct World {
    pub(super) shape: Shape,
    pub(super) folder: Folder,
    pub(super) backlogs: Vec<Backlog>,
}

impl World {
    /// Creates a receiver and backlogs with random contents.
    pub(super) fn new(shape: Shape, inputs: u32) -> Result<Self, Failure> {
        let content = || -> Result<Vec<u8>, Failure> {
            let mut content = vec![0; CONTENT_BYTES];
            OsRandom.fill(&mut content)?;
            Ok(content)
        };
        let folder = Folder::new()?;
        let mut world = Self { shape, folder, backlogs: Vec::new() };
        let pristine = world.pristine();
        let store = Store::create(&pristine, Protection::None, &mut OsRandom)?;
        let identity = identity(RECEIVER);
        let new = NewDevice {
            identity: &identity,
            device: DeviceId::new(1).ok_or("a device has number 1")?,
            peer_id: PeerId::from_bytes(&[RECEIVER; 32]),
            now: NOW,
        };
        let mut receiver: Engine = Engine::create(store, new, &mut OsRandom)?;
        let mut senders = Vec::with_capacity(shape.conversations);
        for conversation in 0..shape.conversations {
            senders.push(match shape.engine {
                shape::Engine::Pairwise => pairwise::meet(&mut receiver, conversation)?,
                shape::Engine::Mls => mls::meet(&mut receiver, conversation, shape.members)?,
            });
        }
        receiver.into_store().close()?;
        for _ in 0..inputs {
            let contents = (0..shape.messages).map(|_| content()).collect::<Result<_, _>>()?;
            world.backlogs.push(backlog(&shape, &mut senders, contents)?);
        }
        Ok(world)
    }

    /// Returns the path of the receiver's store as it was before the first message.
    pub(super) fn pristine(&self) -> PathBuf {
        self.folder.at("pristine")
    }

    /// Returns the path of the copy of the store that is used.
    pub(super) fn place(&self) -> PathBuf {
        self.folder.at("store")
    }

    /// Restores the receiver's store and opens it.
    pub(super) fn open(&self) -> Result<Engine, Failure> {
        let place = self.place();
        folder::put_back(&self.pristine(), &place)?;
        Ok(Engine::open(Store::open(&place, Unlock::None, OpenOptions::new())?)?)
    }

    pub(super) fn backlog(&self, n: usize) -> &Backlog {
        &self.backlogs[n % self.backlogs.len()]
    }

    /// Runs one iteration of `decrypt_batch`.
    pub(super) fn iterate(&self, n: usize) -> Result<Elapsed, Failure> {
        let backlog = self.backlog(n);
        let mut receiver = self.open()?;
        let names = Names::new(&self.shape);
        let envelopes = names.envelopes(&backlog.messages);
        let options = self.shape.options();
        let mut report = None;
        let spent =
            clock::time_threads(|| report = Some(receiver.decrypt_batch(&envelopes, &options)));
        let report = report.ok_or("nothing was done")??;
        all_delivered(&report, envelopes.len())?;
        receiver.into_store().close()?;
        Ok(spent)
    }
}

/// Checks that every message was delivered.
pub(super) fn all_delivered(report: &BatchReport, messages: usize) -> Result<(), Failure> {
    let good = report.outcomes.iter().filter(|it| matches!(it, Outcome::Delivered(_))).count();
    if good == messages { Ok(()) } else { Err(format!("{good} of {messages} came out").into()) }
}

fn backlog(
    shape: &Shape,
    senders: &mut [Box<dyn Sender>],
    contents: Vec<Vec<u8>>,
) -> Result<Backlog, Failure> {
    let mut messages = Vec::with_capacity(shape.messages);
    let mut sealed = Vec::with_capacity(senders.len());
    let count = senders.len();
    for (conversation, sender) in senders.iter_mut().enumerate() {
        let own: Vec<&[u8]> =
            contents.iter().skip(conversation).step_by(count).map(Vec::as_slice).collect();
        sealed.push(sender.seal_all(&own)?.into_iter());
    }
    for index in 0..shape.messages {
        let conversation = index % count;
        let body = sealed[conversation].next().ok_or("a message was not sealed")?;
        let mut id = [0; 16];
        OsRandom.fill(&mut id)?;
        messages.push(Delivered { conversation, id, body });
    }
    Ok(Backlog { messages, contents })
}

/// Identifiers of the conversations: device addresses, or group ids.
pub(super) enum Names {
    People(Vec<Address>),
    Groups(Vec<Vec<u8>>),
}

impl Names {
    pub(super) fn new(shape: &Shape) -> Self {
        let all = 0..shape.conversations;
        match shape.engine {
            shape::Engine::Pairwise => Self::People(all.map(address).collect()),
            shape::Engine::Mls => Self::Groups(all.map(mls::id).collect()),
        }
    }

    pub(super) fn envelopes<'a>(&'a self, messages: &'a [Delivered]) -> Vec<Envelope<'a>> {
        let envelope = |it: &'a Delivered| match self {
            Self::People(all) => Envelope::from_device(&it.id, all[it.conversation], &it.body),
            Self::Groups(all) => Envelope::from_group(&it.id, &all[it.conversation], &it.body),
        };
        messages.iter().map(envelope).collect()
    }
}
