//! Rules of this person about others (docs/spec/node.md, "Rules about persons").

use endseal_crypto::ed25519::PublicKey;
use endseal_session::EngineError;

use super::records::{self, RULE, Transaction};

/// Latest time of a switch, in milliseconds since 1970.
const MAX_TIME: u64 = (1 << 53) - 1;

/// A decision that is on or off, with the time of its last change. Of two the greater one is newer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Switch(u64);

impl Switch {
    pub(super) const LEN: usize = 8;

    pub(super) fn is_on(self) -> bool {
        self.0 & 1 == 1
    }

    /// Time of the last change in milliseconds since 1970, 0 before the first.
    pub(super) fn time(self) -> u64 {
        self.0 >> 1
    }

    /// Changes the switch now, if it is not so already.
    pub(super) fn turn(&mut self, is_on: bool) {
        if is_on != self.is_on() {
            let time = records::now().max(self.time() + 1).min(MAX_TIME);
            self.0 = (time << 1) | u64::from(is_on);
        }
    }

    /// Turns the switch on as of the earliest time, if it was never changed: every decision of the
    /// user is newer.
    pub(super) fn infer(&mut self) {
        if self.0 == 0 {
            self.0 = (1 << 1) | 1;
        }
    }

    /// Turns the switch off now, also if it is off here: another device may have turned it on.
    pub(super) fn turn_off_everywhere(&mut self) {
        self.0 |= 1;
        self.turn(false);
    }

    fn read(bytes: [u8; Self::LEN]) -> Option<Self> {
        let switch = Self(u64::from_le_bytes(bytes));
        (switch.time() <= MAX_TIME).then_some(switch)
    }
}

/// Decisions of this person about another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) blocked: Switch,
    pub(super) muted: Switch,
    pub(super) accepted: Switch,
    pub(super) verified: Switch,
}

impl Rule {
    /// Length of an encoded rule in bytes.
    pub(super) const LEN: usize = 4 * Switch::LEN;

    /// Returns the rule about a person: all switches are off if nothing was decided.
    pub(super) fn of(
        transaction: &Transaction<'_, '_>,
        person: &PublicKey,
    ) -> Result<Self, EngineError> {
        Ok(StoredRule::of(transaction, person)?.rule)
    }

    /// Encodes the rule: blocked (8) || muted (8) || accepted (8) || verified (8).
    pub(super) fn to_bytes(self) -> [u8; Self::LEN] {
        let Self { blocked, muted, accepted, verified } = self;
        let mut bytes = [0; Self::LEN];
        for (place, it) in bytes.chunks_mut(Switch::LEN).zip([blocked, muted, accepted, verified]) {
            place.copy_from_slice(&it.0.to_le_bytes());
        }
        bytes
    }

    /// Decodes a rule. `None` if a time is later than a rule may have.
    pub(super) fn read(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let (switches, _) = bytes.as_chunks::<{ Switch::LEN }>();
        let &[blocked, muted, accepted, verified] = switches else { return None };
        Some(Self {
            blocked: Switch::read(blocked)?,
            muted: Switch::read(muted)?,
            accepted: Switch::read(accepted)?,
            verified: Switch::read(verified)?,
        })
    }

    /// Returns the newer one of each switch.
    pub(super) fn newer(self, other: Self) -> Self {
        Self {
            blocked: self.blocked.max(other.blocked),
            muted: self.muted.max(other.muted),
            accepted: self.accepted.max(other.accepted),
            verified: self.verified.max(other.verified),
        }
    }

    /// Time of the last change of any switch.
    pub(super) fn time(self) -> u64 {
        let Self { blocked, muted, accepted, verified } = self;
        blocked.max(muted).max(accepted).max(verified).time()
    }
}

/// A rule, and what this device has done by it.
#[derive(Clone, Copy, Default)]
pub(super) struct StoredRule {
    pub(super) rule: Rule,
    /// Number of texts that were dropped since the person was blocked.
    pub(super) dropped: u64,
}

impl StoredRule {
    pub(super) fn of(
        transaction: &Transaction<'_, '_>,
        person: &PublicKey,
    ) -> Result<Self, EngineError> {
        match transaction.record(RULE, person.as_bytes())? {
            Some(value) => Self::read(&value).ok_or(EngineError::Damaged("rule")),
            None => Ok(Self::default()),
        }
    }

    /// Returns the rules about all persons, in the order of their identities.
    pub(super) fn all(
        transaction: &Transaction<'_, '_>,
    ) -> Result<Vec<(PublicKey, Self)>, EngineError> {
        let all = records::persons(transaction, RULE)?.into_iter();
        all.map(|(person, value)| {
            Ok((person, Self::read(&value).ok_or(EngineError::Damaged("rule"))?))
        })
        .collect()
    }

    pub(super) fn read(value: &[u8]) -> Option<Self> {
        let (rule, dropped) = value.split_first_chunk()?;
        Some(Self { rule: Rule::read(rule)?, dropped: records::number(dropped)? })
    }

    pub(super) fn put(
        self,
        transaction: &Transaction<'_, '_>,
        person: &PublicKey,
    ) -> Result<(), EngineError> {
        let dropped = if self.rule.blocked.is_on() { self.dropped } else { 0 };
        let value = [&self.rule.to_bytes()[..], &dropped.to_le_bytes()].concat();
        transaction.put_record(RULE, person.as_bytes(), &value)
    }
}

/// Notes that a person is accepted, which follows from what this device has received: the other
/// devices of this person receive it, too. Returns false if the person is blocked, or was accepted
/// before.
pub(super) fn infer_accepted(
    transaction: &Transaction<'_, '_>,
    person: &PublicKey,
) -> Result<bool, EngineError> {
    let known = StoredRule::of(transaction, person)?;
    let mut rule = known.rule;
    let is_new = !rule.blocked.is_on() && !rule.accepted.is_on();
    if is_new {
        rule.accepted.turn(true);
        StoredRule { rule, ..known }.put(transaction, person)?;
    }
    Ok(is_new)
}

/// Adds to the number of texts of a blocked person that were dropped.
pub(super) fn count_dropped(
    transaction: &Transaction<'_, '_>,
    person: &PublicKey,
    texts: u64,
) -> Result<(), EngineError> {
    let known = StoredRule::of(transaction, person)?;
    StoredRule { dropped: known.dropped.saturating_add(texts), ..known }.put(transaction, person)
}
