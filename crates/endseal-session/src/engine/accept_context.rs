//! State that decides about new sessions: the policy for unknown senders and the account.

use alloc::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use endseal_crypto::x25519;
use endseal_keyring::device::{Address, Certificate};

use super::parking_budget::ParkingBudget;
use crate::PairwiseAccount;

/// Policy for sessions that identities begin which the store does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownSenders {
    /// They may: whoever has a bundle of this device can write to it.
    #[default]
    Accepted,
    /// They may not: [`EngineTransaction::admit`](crate::EngineTransaction::admit) comes first.
    Refused,
}

/// State that all conversations share while they are worked on.
pub(super) struct AcceptContext<A: PairwiseAccount> {
    account: Arc<Mutex<AccountSlot<A>>>,
    pub(super) strangers: UnknownSenders,
    pub(super) budget: Arc<ParkingBudget>,
    pub(super) own: Own,
}

/// This device as the first messages of sessions name it.
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

/// The account, and whether it changed since it was written.
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
        strangers: UnknownSenders,
        own: Own,
        budget: Arc<ParkingBudget>,
    ) -> Self {
        Self { account, strangers, budget, own }
    }

    /// The account: only the first message of a session needs it.
    pub(super) fn account(&self) -> MutexGuard<'_, AccountSlot<A>> {
        // A panic of another conversation ends the whole batch, and what is in memory is dropped
        // then.
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
