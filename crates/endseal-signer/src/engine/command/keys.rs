//! Commands for users' keys: import, unlock and lock.

use endseal_nostr::key::{self, PublicKey, SecretKey};
use endseal_store::KdfParams;

use super::{Outcome, unwritten};
use crate::control::{CommandError, Reply};
use crate::engine::{Engine, is_live, view};
use crate::error::{ChangePassphraseError, ImportError, StateError, UnlockError};
use crate::records::line::{LogEntry, Matter};
use crate::records::user::User;
use crate::text::BoundedText;

impl Engine {
    pub(super) fn import(&mut self, now: u64, label: &str, secret: &[u8]) -> Outcome {
        let invalid = || CommandError::Invalid("the key is malformed".to_owned());
        let (key, passphrase) = secret.split_first_chunk().ok_or_else(invalid)?;
        let key = SecretKey::from_bytes(key).map_err(|_| invalid())?;
        let label = BoundedText::new(label)
            .map_err(|_| CommandError::Invalid("the label is longer than 64 bytes".to_owned()))?;
        let passphrase = str::from_utf8(passphrase).map_err(|_| CommandError::Passphrase)?;
        let public = view::key(&key.public_key());
        if self.store.is_stale() {
            let recovered = self.store.recover();
            recovered.map_err(|error| CommandError::Store(error.to_string()))?;
        }
        let random = &mut self.parts.random;
        match self.store.import(&key, passphrase, label, now, random) {
            Ok(_) => {}
            Err(ImportError::Unlock(UnlockError::Passphrase)) => {
                return Err(CommandError::Passphrase);
            }
            Err(ImportError::State(StateError::UserExists)) => {
                return Err(CommandError::Exists(public));
            }
            Err(error) => return Err(CommandError::Store(error.to_string())),
        }
        if self.parts.keys.is_some() {
            self.parts.keys = self.store.unlock(passphrase).ok();
        }
        Ok(Reply::Imported(public))
    }

    pub(super) fn import_device(&mut self, now: u64, user: &str, label: &str) -> Outcome {
        let invalid = |cause: &str| CommandError::Invalid(cause.to_owned());
        let key = key::public_from_hex(user).map_err(|_| invalid("the key is malformed"))?;
        let label =
            BoundedText::new(label).map_err(|_| invalid("the label is longer than 64 bytes"))?;
        if self.store.is_stale() {
            let recovered = self.store.recover();
            recovered.map_err(|error| CommandError::Store(error.to_string()))?;
        }
        match self.store.import_device(key, label, now) {
            Ok(_) => {}
            Err(StateError::UserExists) => return Err(CommandError::Exists(view::key(&key))),
            Err(error) => return Err(CommandError::Store(error.to_string())),
        }
        if let Some(keys) = &mut self.parts.keys {
            keys.add_device(key);
        }
        Ok(Reply::Imported(view::key(&key)))
    }

    pub(super) fn encrypted_key(&self, user: &str) -> Outcome {
        let user = self.user(user)?;
        if self.store.state().user(&user).is_some_and(User::is_on_device) {
            let cause = "the key is on a device, which gives no copy: use --forget";
            return Err(CommandError::Invalid(cause.to_owned()));
        }
        let text = self.store.state().user(&user).and_then(User::encrypted_text);
        let cause = "a change of the passphrase was not completed: change it again first";
        text.map(Reply::EncryptedKey).ok_or_else(|| CommandError::Invalid(cause.to_owned()))
    }

    /// Removes the key of a user from the store and from memory. The apps of this user must have
    /// ended; they are removed, too, so that their clients get no more errors.
    pub(super) fn remove_user(&mut self, now: u64, user: &str) -> Outcome {
        let user = self.user(user)?;
        let apps = self.store.state().apps().filter(|it| it.app().user() == &user);
        match apps.filter(|it| is_live(it)).count() {
            0 => {}
            count => return Err(CommandError::KeyInUse(count)),
        }
        let label = self.store.state().user(&user).map(|it| it.label().as_str().to_owned());
        let mut line = LogEntry::new(Matter::UserRemoved, now);
        line.peer = user.to_bytes();
        line.text = BoundedText::cut(&label.unwrap_or_default());
        let removed = self.transact(now, |batch| {
            batch.transaction.remove_user(&user)?;
            batch.append(line)
        });
        if !removed.is_committed {
            return Err(unwritten());
        }
        if let Some(keys) = &mut self.parts.keys {
            keys.remove(&user);
        }
        *self.parts.user_conversations = Default::default();
        *self.parts.app_conversations = Default::default();
        self.parts.has_new_subscriptions = true;
        Ok(Reply::Done)
    }

    fn user(&self, text: &str) -> Result<PublicKey, CommandError> {
        let user = key::public_from_hex(text).ok();
        let known = user.filter(|user| self.store.state().user(user).is_some());
        known.ok_or_else(|| unknown_user(text))
    }

    pub(super) fn unlock(&mut self, now: u64, passphrase: &[u8]) -> Outcome {
        let passphrase = str::from_utf8(passphrase).map_err(|_| CommandError::Passphrase)?;
        self.open_keys(now, passphrase).map(|()| Reply::Done).map_err(|error| match error {
            UnlockError::Passphrase => CommandError::Passphrase,
            error => CommandError::Store(error.to_string()),
        })
    }

    /// Decrypts the users' keys and logs that the signer was unlocked.
    pub(crate) fn open_keys(&mut self, now: u64, passphrase: &str) -> Result<(), UnlockError> {
        let keys = self.store.unlock(passphrase)?;
        if self.parts.keys.is_none() && !self.line(LogEntry::new(Matter::Unlocked, now)) {
            return Err(UnlockError::Unwritten);
        }
        self.parts.keys = Some(keys);
        self.count_apps();
        Ok(())
    }

    /// Changes the passphrase of a signer whose keys are not decrypted.
    pub(crate) fn change_passphrase(
        &mut self,
        present: &str,
        new: &str,
        params: KdfParams,
    ) -> Result<(), ChangePassphraseError> {
        self.store.change_passphrase(present, new, params, &mut self.parts.random)
    }

    pub(super) fn lock(&mut self, now: u64) -> Outcome {
        // The keys are erased first, even if the log line cannot be written.
        if self.parts.keys.take().is_some() {
            *self.parts.user_conversations = Default::default();
            if !self.line(LogEntry::new(Matter::Locked, now)) {
                let cause = "the signer is locked, but this could not be logged";
                return Err(CommandError::Store(cause.to_owned()));
            }
        }
        Ok(Reply::Done)
    }

    /// Writes a log line. Returns false if the line could not be committed.
    fn line(&mut self, entry: LogEntry) -> bool {
        let time = entry.time;
        self.transact(time, |batch| batch.append(entry)).is_committed
    }
}

fn unknown_user(user: &str) -> CommandError {
    CommandError::User(format!("the signer has no user key '{user}'"))
}
