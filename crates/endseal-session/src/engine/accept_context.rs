//! State for decisions about new sessions: the policy for unknown senders and the account.

use alloc::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use endseal_crypto::x25519;
use endseal_keyring::device::{Address, Certificate};

use super::parking_budget::ParkingBudget;
use crate::PairwiseAccount;

/// Policy for new sessions of identities that the store does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownSenders {
    /// New sessions are accepted: every sender that has a bundle of this device can write to it.
    #[default]
    Accepted,
    /// New sessions are refused until the identity was admitted with
    /// [`EngineTransaction::admit`](crate::EngineTransaction::admit).
    Refused,
}

/// State that all conversations share while their messages are opened.
pub(super) struct AcceptContext<A: PairwiseAccount> {
    account: Arc<Mutex<AccountSlot<A>>>,
    pub(super) unknown_senders: UnknownSenders,
    pub(super) budget: Arc<ParkingBudget>,
    pub(super) own: Own,
}

/// Address and key of this device, as the first messages of sessions name them.
#[derive(Clone, Copy)]
pub(super) struct Own {
    pub(super) address: Address,
    pub(super) agreement: x25519::PublicKey,
}

impl Own {
    pub(super) fn of(certificate: &Certificate) -> Self {
        Self { address: certificate.address(), agreement: certificate.keys().agreement }
    }
}

/// Account, with a flag that is set if it has changed since it was written.
pub(super) struct AccountSlot<A> {
    pub(super) account: A,
    pub(super) changed: bool,
}

impl<A> AccountSlot<A> {
    pub(super) fn new(account: A) -> Self {
        Self { account, changed: false }
    }
}

impl<A: PairwiseAccount> AcceptContext<A> {
    pub(super) fn new(
        account: Arc<Mutex<AccountSlot<A>>>,
        unknown_senders: UnknownSenders,
        own: Own,
        budget: Arc<ParkingBudget>,
    ) -> Self {
        Self { account, unknown_senders, budget, own }
    }

    /// Locks the account, which only the first message of a session needs.
    pub(super) fn account(&self) -> MutexGuard<'_, AccountSlot<A>> {
        // A panic in another conversation ends the whole batch, and the state in memory is dropped
        // then.
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
