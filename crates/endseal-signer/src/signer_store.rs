//! Store of a signer, with its state in memory.

use std::path::Path;

use endseal_crypto::random::Random;
use endseal_nostr::key::{PublicKey, SecretKey};
use endseal_store::{KdfParams, OpenOptions, Protection, ReprotectError, Store, Unlock};

use crate::error::{
    CreateSignerError, ImportError, LoadError, OpenSignerError, StateError, UnlockError,
};
use crate::keys::SigningKeys;
use crate::log::{self, Verification, VerifyError};
use crate::records::head::LogHead;
use crate::records::line::{LogEntry, LogLine, Matter};
use crate::records::settings::Settings;
use crate::records::user::User;
use crate::state::State;
use crate::state::transaction::StateTransaction;
use crate::text::{BoundedText, MAX_NAME};

/// Open store of a signer, with its state in memory.
#[allow(missing_debug_implementations, reason = "a secret prints nothing at all")]
pub struct SignerStore {
    store: Store,
    state: State,
    /// True if the state in memory may differ from the store.
    is_stale: bool,
}

impl SignerStore {
    /// Creates a signer in a new or empty directory. `params` sets the cost of guessing the
    /// passphrase.
    ///
    /// # Errors
    /// [`CreateSignerError`] if the store cannot be created or its settings cannot be written.
    pub fn create(
        directory: &Path,
        passphrase: &str,
        params: KdfParams,
        random: &mut impl Random,
    ) -> Result<Self, CreateSignerError> {
        let protection = Protection::Passphrase { passphrase: passphrase.as_bytes(), params };
        let mut store = Store::create(directory, protection, random)?;
        write_settings(&mut store)?;
        let state = load(&mut store)?;
        Ok(Self { store, state, is_stale: false })
    }

    /// Opens the signer in a directory. A store without any record gets its settings, because its
    /// creation was interrupted.
    ///
    /// # Errors
    /// [`OpenSignerError`] if the passphrase is wrong, the store is in use, or its records are
    /// damaged.
    pub fn open(
        directory: &Path,
        passphrase: &str,
        options: OpenOptions,
    ) -> Result<Self, OpenSignerError> {
        let unlock = Unlock::Passphrase(passphrase.as_bytes());
        let mut store = Store::open(directory, unlock, options)?;
        write_settings(&mut store)?;
        let state = load(&mut store)?;
        Ok(Self { store, state, is_stale: false })
    }

    /// Returns the state as of the last commit. It is only valid while [`Self::is_stale`] is false.
    #[must_use]
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Returns true if a change was not committed or its commit failed. The state MUST NOT be used
    /// then before [`Self::recover`].
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.is_stale || self.store.is_uncertain()
    }

    /// Loads the state again after it has become stale. The caller MUST drop all data that it
    /// derived from the old state.
    ///
    /// # Errors
    /// [`OpenSignerError`] if the store cannot be read. The call can be repeated.
    pub fn recover(&mut self) -> Result<(), OpenSignerError> {
        if self.store.is_uncertain() {
            self.store.reopen()?;
        }
        self.state = load(&mut self.store)?;
        self.is_stale = false;
        Ok(())
    }

    /// Starts a transaction.
    ///
    /// # Errors
    /// [`StateError::Stale`] if [`Self::recover`] must be called first, [`StateError::Store`] if
    /// the store fails.
    pub fn begin(&mut self) -> Result<StateTransaction<'_>, StateError> {
        if self.is_stale() {
            return Err(StateError::Stale);
        }
        let Self { store, state, is_stale } = self;
        Ok(StateTransaction::new(store.begin()?, state, is_stale))
    }

    /// Checks the passphrase.
    pub(crate) fn authenticate(&self, passphrase: &str) -> Result<(), UnlockError> {
        Ok(self.store.authenticate(Unlock::Passphrase(passphrase.as_bytes()))?)
    }

    /// Replaces the key file of the store ([`Store::reprotect`]).
    pub(crate) fn reprotect(
        &mut self,
        protection: Protection<'_>,
        random: &mut impl Random,
    ) -> Result<(), ReprotectError> {
        self.store.reprotect(protection, random)
    }

    /// Decrypts the keys of all users, which takes about 100 ms each. It is not logged.
    ///
    /// # Errors
    /// [`UnlockError::Passphrase`] for a wrong passphrase, even if there are no users. Other
    /// variants if a key cannot be decrypted.
    pub fn unlock(&self, passphrase: &str) -> Result<SigningKeys, UnlockError> {
        self.authenticate(passphrase)?;
        SigningKeys::open(self.state.users(), passphrase)
    }

    /// Encrypts a user's key under the passphrase of the signer, and records and logs it in a
    /// transaction of its own. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// [`ImportError`] if the passphrase is wrong, or the key cannot be encrypted or recorded.
    pub fn import(
        &mut self,
        secret: &SecretKey,
        passphrase: &str,
        label: BoundedText<MAX_NAME>,
        now: u64,
        random: &mut impl Random,
    ) -> Result<PublicKey, ImportError> {
        self.authenticate(passphrase)?;
        let user = User::seal(secret, passphrase, label, now, random)?;
        Ok(self.add_user(user, now)?)
    }

    /// Records and logs a user whose secret key is on a device, in a transaction of its own. `now`
    /// is in seconds since 1970.
    ///
    /// # Errors
    /// [`StateError`] if the user cannot be recorded.
    pub fn import_device(
        &mut self,
        key: PublicKey,
        label: BoundedText<MAX_NAME>,
        now: u64,
    ) -> Result<PublicKey, StateError> {
        self.add_user(User::on_device(key, label, now), now)
    }

    fn add_user(&mut self, user: User, now: u64) -> Result<PublicKey, StateError> {
        let key = *user.key();
        let mut entry = LogEntry::new(Matter::UserImported, now);
        entry.peer = key.to_bytes();
        entry.text = BoundedText::cut(user.label().as_str());
        let mut transaction = self.begin()?;
        transaction.add_user(user)?;
        transaction.append(entry)?;
        transaction.commit()?;
        Ok(key)
    }

    /// Verifies the audit log like [`verify_log`](crate::verify_log).
    ///
    /// # Errors
    /// [`VerifyError::Broken`] if the log was changed, [`VerifyError::Store`] if it cannot be read.
    pub fn verify_log(&mut self, noted: Option<&LogHead>) -> Result<LogHead, VerifyError> {
        log::verify_log(&self.store.read()?, noted)
    }

    /// Verifies the next page of the log; see [`Verification::page`].
    pub(crate) fn verify_page(
        &mut self,
        verification: &mut Verification,
    ) -> Result<Option<LogHead>, VerifyError> {
        verification.page(&self.store.read()?)
    }

    /// Returns at most `limit` lines of the log after number `after`. Their hashes are not
    /// verified.
    ///
    /// # Errors
    /// [`LoadError`] if a line cannot be read or is malformed.
    pub fn log_lines(&mut self, after: u64, limit: usize) -> Result<Vec<LogLine>, LoadError> {
        let name = LogLine::record_name(after);
        let records = self.store.read()?.records_after(LogLine::KIND, &name, limit)?;
        let lines = records.iter().map(|(name, value)| LogLine::from_bytes(name, value));
        lines.collect::<Result<_, _>>().map_err(|error| LoadError::Record(LogLine::KIND, error))
    }

    /// Returns behind which line the log starts: the last one that was archived.
    ///
    /// # Errors
    /// [`LoadError`] if the record cannot be read or is malformed.
    pub fn log_start(&mut self) -> Result<LogHead, LoadError> {
        log::start(&self.store.read()?)
    }

    /// Returns the store for backups, checks and checkpoints. Records MUST NOT be written through
    /// it.
    pub fn store(&mut self) -> &mut Store {
        &mut self.store
    }
}

fn load(store: &mut Store) -> Result<State, LoadError> {
    State::load(&store.read()?)
}

/// Writes the settings of a new signer if the store has no record at all.
fn write_settings(store: &mut Store) -> Result<(), LoadError> {
    let transaction = store.begin()?;
    let is_new = (Settings::KIND..=LogHead::KIND).try_fold(true, |is_new, kind| {
        let none = transaction.record(kind, &[])?.is_none();
        Ok::<bool, LoadError>(is_new && none && transaction.records_after(kind, &[], 1)?.is_empty())
    })?;
    if is_new {
        transaction.put_record(Settings::KIND, &[], &Settings::new().to_bytes())?;
        transaction.commit()?;
    }
    Ok(())
}
