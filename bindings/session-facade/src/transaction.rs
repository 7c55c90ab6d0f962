//! A transaction that lasts over many calls.

use std::mem;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};

use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::{Address, PrekeyBundle};
use endseal_session::group::{Commit, Group, GroupError, Suite};
use endseal_session::olm::OlmAccount;
use endseal_session::{EngineError, EngineTransaction};

use crate::address::{DeviceAddress, person};
use crate::engine::{length, milliseconds, now};
use crate::error::SessionError;
use crate::group::{GroupInfo, JoinedGroup};
use crate::messages::{InboxMessage, IncomingMessage};
use crate::outcome::{Envelopes, MessageOutcome};
use crate::worker::{Worker, locked};

/// Work of one call, on the thread of the engine.
type Step = Box<dyn FnOnce(&mut EngineTransaction<'_, '_, OlmAccount>) + Send>;

enum Command {
    Run(Step),
    Commit,
}

/// Sends commands to a transaction; `None` when it has ended.
type Commands = Arc<Mutex<Option<Sender<Command>>>>;

/// The open transaction of an engine, if there is one.
#[derive(Default)]
pub(crate) struct OpenTransaction(Mutex<Slot>);

#[derive(Default)]
enum Slot {
    #[default]
    Empty,
    /// The last one that has started, also if it has ended.
    Taken(Commands),
    /// The engine was closed.
    Closed,
}

impl OpenTransaction {
    /// Notes a transaction that begins. Returns false if the engine is closed.
    fn set(&self, commands: Commands) -> bool {
        let mut open = locked(&self.0);
        if matches!(*open, Slot::Closed) {
            return false;
        }
        *open = Slot::Taken(commands);
        true
    }

    /// Rolls the open transaction back, and lets none begin.
    pub(crate) fn close(&self) {
        if let Slot::Taken(commands) = mem::replace(&mut *locked(&self.0), Slot::Closed) {
            drop(locked(&commands).take());
        }
    }
}

/// Several operations on an engine, which all take effect or none. Without [`Self::commit`] none
/// does, neither in the store nor in the states of sessions and groups in memory.
#[allow(missing_debug_implementations, reason = "nothing of it is for people")]
pub struct Transaction {
    commands: Commands,
    result: Mutex<Receiver<Result<(), SessionError>>>,
}

impl Drop for Transaction {
    fn drop(&mut self) {
        // The engine has the channel, too; without commands to come, the transaction rolls back.
        drop(locked(&self.commands).take());
    }
}

/// Reason why the work of a transaction stops without a commit.
enum Stop {
    Failed(EngineError),
    RolledBack,
}

impl From<EngineError> for Stop {
    fn from(error: EngineError) -> Self {
        Self::Failed(error)
    }
}

impl Transaction {
    pub(crate) fn begin(
        worker: &Worker,
        open: &Arc<OpenTransaction>,
    ) -> Result<Self, SessionError> {
        let (commands, received) = mpsc::channel();
        let (started, has_started) = mpsc::sync_channel(1);
        let (ended, result) = mpsc::sync_channel(1);
        let commands = Arc::new(Mutex::new(Some(commands)));
        let (open, noted) = (Arc::clone(open), Arc::clone(&commands));
        worker.submit(move |engine| {
            if !open.set(noted) {
                return;
            }
            let outcome = engine.transaction(|transaction| {
                // Only a caller who has gone does not hear it, and then there are no commands.
                let _ = started.send(());
                for command in received {
                    match command {
                        Command::Run(step) => step(transaction),
                        Command::Commit => return Ok(()),
                    }
                }
                Err(Stop::RolledBack)
            });
            let _ = ended.send(match outcome {
                Ok(()) | Err(Stop::RolledBack) => Ok(()),
                Err(Stop::Failed(error)) => Err(error.into()),
            });
        })?;
        if has_started.recv().is_err() {
            let failed = result.recv().map_err(|_| SessionError::closed())?;
            return Err(failed.err().unwrap_or_else(SessionError::closed));
        }
        Ok(Self { commands, result: Mutex::new(result) })
    }

    /// Commits. Everything is durable when the call returns.
    ///
    /// # Errors
    /// [`SessionError::Ended`] if it has ended before, [`SessionError::Store`] if the store fails:
    /// nothing took effect then.
    pub fn commit(&self) -> Result<(), SessionError> {
        let commands = locked(&self.commands).take().ok_or_else(SessionError::ended)?;
        commands.send(Command::Commit).map_err(|_| SessionError::ended())?;
        drop(commands);
        locked(&self.result).recv().map_err(|_| SessionError::closed())?
    }

    /// Rolls back. A transaction that has ended stays as it is.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store fails; nothing took effect all the same.
    pub fn rollback(&self) -> Result<(), SessionError> {
        match locked(&self.commands).take() {
            Some(commands) => drop(commands),
            None => return Ok(()),
        }
        locked(&self.result).recv().map_err(|_| SessionError::closed())?
    }

    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut EngineTransaction<'_, '_, OlmAccount>) -> Result<T, SessionError>
        + Send
        + 'static,
    ) -> Result<T, SessionError> {
        let (reply, answer) = mpsc::sync_channel(1);
        let step: Step = Box::new(move |transaction| {
            // A caller waits for the answer.
            let _ = reply.send(work(transaction));
        });
        let commands = locked(&self.commands).clone().ok_or_else(SessionError::ended)?;
        commands.send(Command::Run(step)).map_err(|_| SessionError::ended())?;
        drop(commands);
        answer.recv().map_err(|_| SessionError::ended())?
    }

    /// Decrypts messages, each with its own result. Their texts can be read with [`Self::inbox`],
    /// and are delivered with the commit.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store fails; the transaction cannot be committed then.
    pub fn decrypt_batch(
        &self,
        messages: Vec<IncomingMessage>,
    ) -> Result<Vec<MessageOutcome>, SessionError> {
        self.run(move |transaction| {
            let envelopes = Envelopes::of(&messages);
            let outcomes: Result<Vec<_>, _> =
                envelopes.valid.iter().map(|it| transaction.decrypt(it)).collect();
            Ok(envelopes.outcomes(outcomes?))
        })
    }

    /// Encrypts a message to a device. Returns its number in the outbox, where the ciphertext is
    /// after the commit.
    ///
    /// # Errors
    /// [`SessionError::Send`] if there is no session that can send or the text is too long.
    pub fn encrypt(&self, to: &DeviceAddress, plaintext: Vec<u8>) -> Result<u64, SessionError> {
        let (to, plaintext) = (to.address()?, Zeroizing::new(plaintext));
        self.run(move |transaction| Ok(transaction.encrypt(to, &plaintext)?))
    }

    /// Encrypts a message to all devices of a person with which there is a session. Returns the
    /// numbers in the outbox.
    ///
    /// # Errors
    /// [`SessionError::Send`] if there is none, or the text is too long.
    pub fn encrypt_to_person(
        &self,
        identity: &str,
        plaintext: Vec<u8>,
    ) -> Result<Vec<u64>, SessionError> {
        let (identity, plaintext) = (person(identity)?, Zeroizing::new(plaintext));
        self.run(move |transaction| Ok(transaction.encrypt_to_all(&identity, &plaintext)?.numbers))
    }

    /// Begins a session with a device, by one of its bundles.
    ///
    /// # Errors
    /// [`SessionError::Bundle`] if the bundle is not valid, or is not of that device.
    pub fn begin_session(&self, to: &DeviceAddress, bundle: &[u8]) -> Result<(), SessionError> {
        let (to, bundle) = (to.address()?, PrekeyBundle::from_bytes(bundle)?);
        self.run(move |transaction| Ok(transaction.begin_session(to, &bundle)?))
    }

    /// Lets the sessions with a device receive alone, so that the next message needs a new bundle.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store fails.
    pub fn reset_session(&self, with: &DeviceAddress) -> Result<(), SessionError> {
        let with = with.address()?;
        self.run(move |transaction| Ok(transaction.reset_session(with).map(drop)?))
    }

    /// Returns bundles to publish: up to `count` that serve once, and the one that serves when none
    /// is left, which is the last. The same ones return until they are [published](Self::published)
    /// or used.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store fails.
    pub fn prekey_bundles(&self, count: u32) -> Result<Vec<Vec<u8>>, SessionError> {
        self.run(move |transaction| {
            let bundles = transaction.prekey_bundles(length(count), milliseconds(now()))?;
            Ok(bundles.iter().map(|it| it.as_bytes().to_vec()).collect())
        })
    }

    /// Records that bundles have arrived in the directory of the service.
    ///
    /// # Errors
    /// [`SessionError::Bundle`] if one is no bundle.
    pub fn published(&self, bundles: Vec<Vec<u8>>) -> Result<(), SessionError> {
        let parsed = bundles.iter().map(|it| PrekeyBundle::from_bytes(it));
        let parsed: Vec<_> = parsed.collect::<Result<_, _>>()?;
        self.run(move |transaction| Ok(transaction.published(&parsed)?))
    }

    /// Returns up to `limit` messages of the inbox with numbers above `after`, those of this
    /// transaction too.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store cannot be read.
    pub fn inbox(&self, after: u64, limit: u32) -> Result<Vec<InboxMessage>, SessionError> {
        self.run(move |transaction| {
            let page = transaction.inbox(after, length(limit))?;
            Ok(page.into_iter().map(InboxMessage::of).collect())
        })
    }

    /// Deletes a message of the inbox. Returns true if it was there.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store fails.
    pub fn consume(&self, number: u64) -> Result<bool, SessionError> {
        self.run(move |transaction| Ok(transaction.consume(number)?))
    }

    /// Deletes a sent ciphertext of the outbox. Returns true if it was there.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store fails.
    pub fn sent(&self, number: u64) -> Result<bool, SessionError> {
        self.run(move |transaction| Ok(transaction.sent(number)?))
    }

    /// Returns a record of the application.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store cannot be read.
    pub fn record(&self, kind: u16, name: Vec<u8>) -> Result<Option<Vec<u8>>, SessionError> {
        self.run(move |transaction| Ok(transaction.record(kind, &name)?.map(|it| it.to_vec())))
    }

    /// Writes a record of the application, for its own state that changes with its messages.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the name exceeds 64 bytes or the value 16 MiB, or the store
    /// fails.
    pub fn put_record(&self, kind: u16, name: Vec<u8>, value: Vec<u8>) -> Result<(), SessionError> {
        self.run(move |transaction| Ok(transaction.put_record(kind, &name, &value)?))
    }

    /// Deletes a record of the application. Returns true if it was there.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store fails.
    pub fn remove_record(&self, kind: u16, name: Vec<u8>) -> Result<bool, SessionError> {
        self.run(move |transaction| Ok(transaction.remove_record(kind, &name)?))
    }

    /// Makes a key package, with which others add this device to one group.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store fails.
    pub fn key_package(&self) -> Result<Vec<u8>, SessionError> {
        self.run(|transaction| Ok(transaction.key_package(Suite::default(), now())?))
    }

    /// Makes an MLS group with this device as its only member.
    ///
    /// # Errors
    /// [`SessionError::Group`] if the id is not 1 to 63 bytes long, or this device knows such a
    /// group.
    pub fn create_group(&self, id: Vec<u8>) -> Result<(), SessionError> {
        self.run(move |transaction| Ok(transaction.create_group(&id, now())?))
    }

    /// Commits to add devices to a group, by their key packages. Returns the number of the commit
    /// in the outbox. It is pending until the service delivers it back, or until
    /// [`Self::accept_commit`] or [`Self::discard_commit`].
    ///
    /// # Errors
    /// [`SessionError::Group`] if a key package is not valid, or a commit is pending.
    pub fn add_to_group(
        &self,
        id: Vec<u8>,
        key_packages: Vec<Vec<u8>>,
    ) -> Result<u64, SessionError> {
        self.change_group(id, move |group| group.add(key_packages.iter().map(Vec::as_slice), now()))
    }

    /// Commits to remove devices from a group, as [`Self::add_to_group`].
    ///
    /// # Errors
    /// [`SessionError::Group`] if one is no member or this device, or a commit is pending.
    pub fn remove_from_group(
        &self,
        id: Vec<u8>,
        members: &[DeviceAddress],
    ) -> Result<u64, SessionError> {
        let members: Vec<Address> =
            members.iter().map(DeviceAddress::address).collect::<Result<_, _>>()?;
        self.change_group(id, move |group| group.remove(&members, now()))
    }

    /// Commits new keys of this device in a group, and the proposals that have come, as
    /// [`Self::add_to_group`].
    ///
    /// # Errors
    /// [`SessionError::Group`] if a commit is pending.
    pub fn update_group(&self, id: Vec<u8>) -> Result<u64, SessionError> {
        self.change_group(id, |group| group.update(now()))
    }

    fn change_group(
        &self,
        id: Vec<u8>,
        change: impl FnOnce(&mut Group) -> Result<Commit, GroupError> + Send + 'static,
    ) -> Result<u64, SessionError> {
        self.run(move |transaction| Ok(transaction.commit_group(&id, change)?))
    }

    /// Applies the pending commit of this device, after the service has put it first.
    ///
    /// # Errors
    /// [`SessionError::Group`] if none is pending.
    pub fn accept_commit(&self, id: Vec<u8>) -> Result<(), SessionError> {
        self.run(move |transaction| Ok(transaction.accept_commit(&id).map(drop)?))
    }

    /// Drops the pending commit of this device, because another one was first.
    ///
    /// # Errors
    /// [`SessionError::Group`] if this device does not know the group.
    pub fn discard_commit(&self, id: Vec<u8>) -> Result<(), SessionError> {
        self.run(move |transaction| Ok(transaction.discard_commit(&id)?))
    }

    /// Joins the group of a welcome.
    ///
    /// # Errors
    /// [`SessionError::Group`] if the welcome is not valid, is not for this device or was used.
    pub fn join_group(&self, welcome: Vec<u8>) -> Result<JoinedGroup, SessionError> {
        self.run(move |transaction| Ok(JoinedGroup::of(transaction.join_group(&welcome)?)))
    }

    /// Encrypts a message to all members of a group. Returns its number in the outbox.
    ///
    /// # Errors
    /// [`SessionError::Send`] if this device is no member, proposals wait or the text is too long.
    pub fn encrypt_to_group(&self, id: Vec<u8>, plaintext: Vec<u8>) -> Result<u64, SessionError> {
        let plaintext = Zeroizing::new(plaintext);
        self.run(move |transaction| Ok(transaction.encrypt_group(&id, &plaintext)?))
    }

    /// Proposes that this device leaves a group; another member commits it. Returns the number of
    /// the proposal in the outbox.
    ///
    /// # Errors
    /// [`SessionError::Group`] if this device is no member, or a commit is pending.
    pub fn leave_group(&self, id: Vec<u8>) -> Result<u64, SessionError> {
        self.run(move |transaction| Ok(transaction.leave_group(&id)?))
    }

    /// Deletes a group from the store. Returns false if there was none.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store fails.
    pub fn forget_group(&self, id: Vec<u8>) -> Result<bool, SessionError> {
        self.run(move |transaction| Ok(transaction.forget_group(&id)?))
    }

    /// Returns the state of a group; `None` if this device does not know it.
    ///
    /// # Errors
    /// [`SessionError::Store`] if the store fails.
    pub fn group(&self, id: Vec<u8>) -> Result<Option<GroupInfo>, SessionError> {
        self.run(move |transaction| Ok(transaction.group(&id)?.map(GroupInfo::of)))
    }
}
