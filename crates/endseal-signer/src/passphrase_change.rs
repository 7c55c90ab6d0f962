//! Change of the passphrase of a signer: of its store, and of its users' keys.
//!
//! The key file of the store decides which passphrase is in force, and is replaced in one step.
//! Before that, each user's record gets the key under the new passphrase beside that under the old
//! one, and loses the old one after it. A signer that was killed in between opens with the
//! passphrase of its key file.

use endseal_crypto::random::Random;
use endseal_store::{KdfParams, Protection};

use crate::error::{ChangePassphraseError, StateError};
use crate::records::user::User;
use crate::signer_store::SignerStore;

impl SignerStore {
    /// Changes the passphrase from `present` to `new`. Each user takes about 300 ms. `params` sets
    /// the cost of guessing the new one.
    ///
    /// # Errors
    /// [`ChangePassphraseError`]. The call can be repeated with the passphrase that is in force.
    pub fn change_passphrase(
        &mut self,
        present: &str,
        new: &str,
        params: KdfParams,
        random: &mut impl Random,
    ) -> Result<(), ChangePassphraseError> {
        self.authenticate(present)?;
        let mut both = Vec::new();
        for user in self.state().users() {
            both.push(user.with_next(present, new, random)?);
        }
        self.put_users(both.iter())?;
        self.reprotect(Protection::Passphrase { passphrase: new.as_bytes(), params }, random)?;
        let done: Vec<_> = both.into_iter().map(User::without_former).collect();
        Ok(self.put_users(done.iter())?)
    }

    fn put_users<'u>(&mut self, users: impl Iterator<Item = &'u User>) -> Result<(), StateError> {
        let mut transaction = self.begin()?;
        for user in users {
            transaction.replace_user(user.clone())?;
        }
        Ok(transaction.commit()?)
    }
}
