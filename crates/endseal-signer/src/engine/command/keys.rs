//! Commands for users' keys: import, unlock and lock.

use endseal_nostr::key::SecretKey;
use endseal_store::KdfParams;

use super::Outcome;
use crate::control::{CommandError, Reply};
use crate::engine::{Engine, view};
use crate::error::{ChangePassphraseError, ImportError, StateError, UnlockError};
use crate::records::line::{LogEntry, Matter};
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
