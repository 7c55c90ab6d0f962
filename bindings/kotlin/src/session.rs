//! Conversations, as UniFFI hands them out. `Engine.kt` makes calls of them that suspend.

use std::path::Path;
use std::sync::Arc;

use endseal_session_facade as facade;

use crate::identity::Identity;

type BatchOptions = facade::BatchOptions;
type BatchResult = facade::BatchResult;
type ConversationId = facade::ConversationId;
type DeviceAddress = facade::DeviceAddress;
type GroupInfo = facade::GroupInfo;
type InboxKind = facade::InboxKind;
type InboxMessage = facade::InboxMessage;
type IncomingMessage = facade::IncomingMessage;
type JoinedGroup = facade::JoinedGroup;
type MessageOrigin = facade::MessageOrigin;
type MessageOutcome = facade::MessageOutcome;
type OutboxKind = facade::OutboxKind;
type OutboxMessage = facade::OutboxMessage;
type ReleasedMessage = facade::ReleasedMessage;
type SessionError = facade::SessionError;

/// Reason why a call failed, by what a caller can do about it. `code` does not change between
/// versions; `reason` is for people. Nothing of the call took effect.
#[uniffi::remote(Error)]
pub enum SessionError {
    /// The caller's mistake. Code: `argument`.
    Argument { code: String, reason: String },
    /// The engine was closed (`closed`), or the transaction has ended (`ended`).
    Ended { code: String, reason: String },
    /// The store was not made, does not open or failed: `authentication` for a wrong secret,
    /// `locked` if it is open already, `missing`, `exists`, `no-device`, `device-exists`,
    /// `damaged`, `full`, `io`, `memory`, `other-version`, `limit`, `uncertain`, `random`, others.
    Store { code: String, reason: String },
    /// A message cannot be sent: `no-session`, `no-group`, `restored`, `commit-required`,
    /// `session`, `too-long`.
    Send { code: String, reason: String },
    /// No session can be made of a bundle: `bundle`, `low-order`, `other-device`, `own`,
    /// `superseded`.
    Bundle { code: String, reason: String },
    /// A group cannot be made, joined or changed: `group-exists`, `invalid-id`,
    /// `invalid-key-package`, `invalid-welcome`, `commit-pending` and others.
    Group { code: String, reason: String },
}

/// Options of a batch.
#[uniffi::remote(Record)]
pub struct BatchOptions {
    /// Number of messages in one transaction; 0 puts all of them into one.
    #[uniffi(default = 256)]
    pub messages_per_commit: u32,
    /// Number of threads that decrypt, over which conversations are spread.
    #[uniffi(default = 1)]
    pub threads: u32,
}

/// Results of a batch.
#[uniffi::remote(Record)]
pub struct BatchResult {
    /// Results of the messages, in their order.
    pub outcomes: Vec<MessageOutcome>,
    /// Messages of earlier calls that have their final result now.
    pub released: Vec<ReleasedMessage>,
    /// Number of transactions that were committed.
    pub commits: u32,
}

/// Identifies a conversation.
#[uniffi::remote(Enum)]
pub enum ConversationId {
    /// With a person, on all devices of both.
    Person { identity: String },
    /// In a group.
    Group { id: Vec<u8> },
}

/// One device of a person.
#[uniffi::remote(Record)]
pub struct DeviceAddress {
    /// Text form of the person's public identity; the short one in results.
    pub identity: String,
    /// Number of the device among those of the person, from 1.
    pub device: u32,
}

/// State of a group.
#[uniffi::remote(Record)]
pub struct GroupInfo {
    /// Current epoch.
    pub epoch: u64,
    /// Members. If this device was removed, those of its last epoch.
    pub members: Vec<DeviceAddress>,
    /// Members whose certificate was superseded by one that this device has seen.
    pub superseded: Vec<DeviceAddress>,
    /// True if this device is a member.
    pub is_member: bool,
    /// True if a commit of this device is neither accepted nor discarded.
    pub has_pending: bool,
    /// True if proposals wait for a commit; no text can be sent before it.
    pub needs_commit: bool,
}

/// Kind of a message in the inbox.
#[uniffi::remote(Enum)]
pub enum InboxKind {
    /// Text of the sender.
    Text,
    /// A member has changed the group.
    Change,
    /// A member proposes to change the group.
    Proposal,
    /// Note of a member to this device.
    Note,
}

/// A decrypted message in the inbox.
#[uniffi::remote(Record)]
pub struct InboxMessage {
    /// Number in the inbox: later messages have higher numbers.
    pub number: u64,
    /// Conversation to which it belongs.
    pub conversation: ConversationId,
    /// Authenticated address of the sender.
    pub sender: DeviceAddress,
    /// Kind of the plaintext.
    pub kind: InboxKind,
    /// Message id of the delivery service.
    pub id: Vec<u8>,
    /// Text, or the encoded notice of docs/spec/session.md.
    pub plaintext: Vec<u8>,
}

/// A message that the delivery service brought. Nothing of it is trusted.
#[uniffi::remote(Record)]
pub struct IncomingMessage {
    /// Message id of the delivery service, 1 to 64 bytes, the same at each delivery.
    pub id: Vec<u8>,
    /// Claimed origin.
    pub origin: MessageOrigin,
    /// Ciphertext.
    pub body: Vec<u8>,
}

/// A group that this device has joined. Show inviter and members to the user: the id is the maker's
/// choice, and identifies nothing.
#[uniffi::remote(Record)]
pub struct JoinedGroup {
    /// Id of the group.
    pub id: Vec<u8>,
    /// Epoch in which this device joined.
    pub epoch: u64,
    /// Member who signed the welcome.
    pub inviter: DeviceAddress,
    /// Members, this device among them.
    pub members: Vec<DeviceAddress>,
    /// Members whose certificate was superseded by one that this device has seen.
    pub superseded: Vec<DeviceAddress>,
    /// Messages of the group that had come before, with their result.
    pub released: Vec<ReleasedMessage>,
}

/// Claimed origin of a message.
#[uniffi::remote(Enum)]
pub enum MessageOrigin {
    /// A device.
    Device { address: DeviceAddress },
    /// A group.
    Group { id: Vec<u8> },
}

/// Result of one message. Codes are those of docs/spec/session.md, "What a receiver answers".
#[uniffi::remote(Enum)]
pub enum MessageOutcome {
    /// Opened now: it is in the inbox under this number.
    Delivered { number: u64 },
    /// Delivered before, under this number. It may have been consumed since.
    AlreadyDelivered { number: u64 },
    /// Kept until this later epoch of its group has started.
    Buffered { epoch: u64 },
    /// Kept for a reason that may pass, and tried again when its conversation advances.
    Parked { code: String },
    /// Not opened, and nothing was stored.
    Failed { code: String },
}

/// Kind of a ciphertext in the outbox.
#[uniffi::remote(Enum)]
pub enum OutboxKind {
    /// A message.
    Message,
    /// A change of a group, for all members. The service orders those of a group.
    Commit,
    /// Invitation of its recipient to a group, for `joinGroup`.
    Welcome,
}

/// A ciphertext in the outbox, which may be sent now and stays until it is reported as sent.
#[uniffi::remote(Record)]
pub struct OutboxMessage {
    /// Number in the outbox: later ciphertexts have higher numbers.
    pub number: u64,
    /// Conversation to which it belongs.
    pub conversation: ConversationId,
    /// Kind of the ciphertext, which decides how it is delivered.
    pub kind: OutboxKind,
    /// Device to which it is sent; `null` for all members of a group.
    pub recipient: Option<DeviceAddress>,
    /// Ciphertext.
    pub body: Vec<u8>,
}

/// A message that was kept by an earlier call, with its final result.
#[uniffi::remote(Record)]
pub struct ReleasedMessage {
    /// Message id under which it was delivered.
    pub id: Vec<u8>,
    /// Final result.
    pub outcome: MessageOutcome,
}

type Outcome<T> = Result<T, SessionError>;

/// Secret that protects a store.
#[derive(uniffi::Object)]
pub struct StoreSecret(facade::StoreSecret);

#[uniffi::export]
impl StoreSecret {
    /// A passphrase, from which Argon2id derives the key: opening takes about 0.16 s.
    #[uniffi::constructor]
    pub fn passphrase(passphrase: String) -> Outcome<Arc<Self>> {
        Ok(Arc::new(Self(facade::StoreSecret::passphrase(passphrase)?)))
    }

    /// A random key of 32 bytes that is kept elsewhere: in a keychain, for example.
    #[uniffi::constructor]
    pub fn key(key: Vec<u8>) -> Outcome<Arc<Self>> {
        Ok(Arc::new(Self(facade::StoreSecret::key(key)?)))
    }
}

/// An engine, for `Engine`.
#[derive(uniffi::Object)]
pub struct EngineHandle(facade::Engine);

#[uniffi::export]
impl EngineHandle {
    /// Makes a store with a device.
    #[uniffi::constructor]
    pub fn create(
        directory: &str,
        secret: &StoreSecret,
        identity: &Identity,
        device: u32,
    ) -> Outcome<Arc<Self>> {
        let made = facade::Engine::create(Path::new(directory), &secret.0, &identity.0, device);
        Ok(Arc::new(Self(made?)))
    }

    /// Opens a store and its device.
    #[uniffi::constructor]
    pub fn open(directory: &str, secret: &StoreSecret) -> Outcome<Arc<Self>> {
        Ok(Arc::new(Self(facade::Engine::open(Path::new(directory), &secret.0)?)))
    }

    /// Returns the address of the device.
    pub fn address(&self) -> DeviceAddress {
        self.0.address()
    }

    /// Decrypts a backlog.
    pub fn decrypt_batch(
        &self,
        messages: Vec<IncomingMessage>,
        options: BatchOptions,
    ) -> Outcome<BatchResult> {
        self.0.decrypt_batch(messages, options)
    }

    /// Begins a transaction.
    pub fn begin(&self) -> Outcome<Arc<TransactionHandle>> {
        Ok(Arc::new(TransactionHandle(self.0.begin()?)))
    }

    /// Returns messages of the inbox.
    pub fn inbox(&self, after: u64, limit: u32) -> Outcome<Vec<InboxMessage>> {
        self.0.inbox(after, limit)
    }

    /// Deletes messages of the inbox.
    pub fn consume(&self, numbers: Vec<u64>) -> Outcome<u32> {
        self.0.consume(numbers)
    }

    /// Returns ciphertexts that may be sent.
    pub fn outbox(&self, after: u64, limit: u32) -> Outcome<Vec<OutboxMessage>> {
        self.0.outbox(after, limit)
    }

    /// Deletes ciphertexts that have arrived.
    pub fn sent(&self, numbers: Vec<u64>) -> Outcome<u32> {
        self.0.sent(numbers)
    }

    /// Deletes sessions whose end has come.
    pub fn expire(&self) -> Outcome<u32> {
        self.0.expire()
    }

    /// Removes replaced states from the files.
    pub fn settle(&self) -> Outcome<()> {
        self.0.settle()
    }

    /// Closes the store. Later calls have the code `closed`.
    pub fn shut(&self) -> Outcome<()> {
        self.0.close()
    }
}

/// A transaction, for `Transaction`.
#[derive(uniffi::Object)]
pub struct TransactionHandle(facade::Transaction);

#[uniffi::export]
impl TransactionHandle {
    /// Commits.
    pub fn commit(&self) -> Outcome<()> {
        self.0.commit()
    }

    /// Rolls back.
    pub fn rollback(&self) -> Outcome<()> {
        self.0.rollback()
    }

    /// Decrypts messages.
    pub fn decrypt_batch(&self, messages: Vec<IncomingMessage>) -> Outcome<Vec<MessageOutcome>> {
        self.0.decrypt_batch(messages)
    }

    /// Encrypts a message to a device.
    pub fn encrypt(&self, to: DeviceAddress, plaintext: Vec<u8>) -> Outcome<u64> {
        self.0.encrypt(&to, plaintext)
    }

    /// Encrypts a message to all devices of a person.
    pub fn encrypt_to_person(&self, identity: &str, plaintext: Vec<u8>) -> Outcome<Vec<u64>> {
        self.0.encrypt_to_person(identity, plaintext)
    }

    /// Begins a session with a device.
    pub fn begin_session(&self, to: DeviceAddress, bundle: Vec<u8>) -> Outcome<()> {
        self.0.begin_session(&to, &bundle)
    }

    /// Lets the sessions with a device receive alone.
    pub fn reset_session(&self, with: DeviceAddress) -> Outcome<()> {
        self.0.reset_session(&with)
    }

    /// Returns bundles to publish.
    pub fn prekey_bundles(&self, count: u32) -> Outcome<Vec<Vec<u8>>> {
        self.0.prekey_bundles(count)
    }

    /// Records that bundles have arrived in the directory.
    pub fn published(&self, bundles: Vec<Vec<u8>>) -> Outcome<()> {
        self.0.published(bundles)
    }

    /// Returns messages of the inbox.
    pub fn inbox(&self, after: u64, limit: u32) -> Outcome<Vec<InboxMessage>> {
        self.0.inbox(after, limit)
    }

    /// Deletes a message of the inbox.
    pub fn consume(&self, number: u64) -> Outcome<bool> {
        self.0.consume(number)
    }

    /// Deletes a sent ciphertext.
    pub fn sent(&self, number: u64) -> Outcome<bool> {
        self.0.sent(number)
    }

    /// Returns a record of the application.
    pub fn record(&self, kind: u16, name: Vec<u8>) -> Outcome<Option<Vec<u8>>> {
        self.0.record(kind, name)
    }

    /// Writes a record of the application.
    pub fn put_record(&self, kind: u16, name: Vec<u8>, value: Vec<u8>) -> Outcome<()> {
        self.0.put_record(kind, name, value)
    }

    /// Deletes a record of the application.
    pub fn remove_record(&self, kind: u16, name: Vec<u8>) -> Outcome<bool> {
        self.0.remove_record(kind, name)
    }

    /// Makes a key package.
    pub fn key_package(&self) -> Outcome<Vec<u8>> {
        self.0.key_package()
    }

    /// Makes an MLS group.
    pub fn create_group(&self, id: Vec<u8>) -> Outcome<()> {
        self.0.create_group(id)
    }

    /// Commits to add devices to a group.
    pub fn add_to_group(&self, id: Vec<u8>, key_packages: Vec<Vec<u8>>) -> Outcome<u64> {
        self.0.add_to_group(id, key_packages)
    }

    /// Commits to remove devices from a group.
    pub fn remove_from_group(&self, id: Vec<u8>, members: Vec<DeviceAddress>) -> Outcome<u64> {
        self.0.remove_from_group(id, &members)
    }

    /// Commits new keys of this device in a group.
    pub fn update_group(&self, id: Vec<u8>) -> Outcome<u64> {
        self.0.update_group(id)
    }

    /// Applies the pending commit of this device.
    pub fn accept_commit(&self, id: Vec<u8>) -> Outcome<()> {
        self.0.accept_commit(id)
    }

    /// Drops the pending commit of this device.
    pub fn discard_commit(&self, id: Vec<u8>) -> Outcome<()> {
        self.0.discard_commit(id)
    }

    /// Joins the group of a welcome.
    pub fn join_group(&self, welcome: Vec<u8>) -> Outcome<JoinedGroup> {
        self.0.join_group(welcome)
    }

    /// Encrypts a message to all members of a group.
    pub fn encrypt_to_group(&self, id: Vec<u8>, plaintext: Vec<u8>) -> Outcome<u64> {
        self.0.encrypt_to_group(id, plaintext)
    }

    /// Proposes that this device leaves a group.
    pub fn leave_group(&self, id: Vec<u8>) -> Outcome<u64> {
        self.0.leave_group(id)
    }

    /// Deletes a group from the store.
    pub fn forget_group(&self, id: Vec<u8>) -> Outcome<bool> {
        self.0.forget_group(id)
    }

    /// Returns the state of a group.
    pub fn group(&self, id: Vec<u8>) -> Outcome<Option<GroupInfo>> {
        self.0.group(id)
    }
}
