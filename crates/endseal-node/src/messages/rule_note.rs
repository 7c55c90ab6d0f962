//! Notes by which the devices of a person have the same rules (docs/spec/node.md, "Rules about
//! persons").

use core::cmp::Reverse;

use endseal_codec::{Codec as _, Content, ContentView, Limits, Message, Metadata, RichMessage};
use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::secret::Zeroizing;
use endseal_keyring::device::Address;
use endseal_session::EngineError;

use super::due;
use super::records::Transaction;
use super::request;
use super::rule::{Rule, StoredRule};

/// Limit on the values with rules.
const MAX_VALUES: usize = 12;
/// Limit on the rules of a value.
const RULES: usize = 64;
/// Length of a rule with its identity in bytes.
const LEN: usize = PublicKey::LEN + Rule::LEN;

/// Rules about persons that a device tells another one of the same person, in the order of the
/// identities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleNote(Vec<(PublicKey, Rule)>);

impl RuleNote {
    /// Takes the rules that are here. If there are more than a note has, blocked persons are first,
    /// and then those whose rules changed last.
    pub(super) fn of(transaction: &Transaction<'_, '_>) -> Result<Self, EngineError> {
        let mut all = StoredRule::all(transaction)?;
        all.sort_by_key(|(_, it)| Reverse((it.rule.blocked.is_on(), it.rule.time())));
        all.truncate(MAX_VALUES * RULES);
        all.sort_by_key(|(person, _)| *person.as_bytes());
        Ok(Self(all.into_iter().map(|(person, it)| (person, it.rule)).collect()))
    }

    /// Encodes the plaintext of a note between devices of `own`.
    pub(super) fn plaintext(&self, own: &PublicKey) -> Option<Zeroizing<Vec<u8>>> {
        let mut metadata = Metadata::default();
        for at in 0..self.0.len().div_ceil(RULES).max(1) {
            let rules = self.0.iter().skip(at * RULES).take(RULES);
            let mut value = Zeroizing::new(rules.flat_map(encode).collect::<Vec<u8>>());
            // The hub sees the length.
            value.resize(RULES * LEN, 0);
            metadata.insert(&key(at), &value[..]);
        }
        let message = Message::from(Content::Rich(RichMessage {
            conversation: own.as_bytes()[..].into(),
            sender: *own.as_bytes(),
            metadata,
            ..RichMessage::default()
        }));
        message.to_vec(Limits::default()).ok().map(Zeroizing::new)
    }

    /// Parses the plaintext of a note of another device of `own`. Returns `None` if it is of
    /// another kind or form.
    #[must_use]
    pub fn read(plaintext: &[u8], own: &PublicKey) -> Option<Self> {
        let message = Message::view(plaintext, Limits::default()).ok()?;
        let Some(ContentView::Rich(rich)) = message.content else { return None };
        let is_own = rich.sender == own.as_bytes() && rich.conversation == own.as_bytes();
        if !is_own || rich.body.is_some() {
            return None;
        }
        let (mut rules, mut has_ended) = (Vec::<(PublicKey, Rule)>::new(), false);
        let count = rich.metadata.iter().count();
        if count == 0 || count > MAX_VALUES {
            return None;
        }
        for at in 0..count {
            let (some, []) = rich.metadata.get(&key(at))?.as_chunks::<LEN>() else { return None };
            if some.len() != RULES {
                return None;
            }
            for bytes in some {
                has_ended |= *bytes == [0; LEN];
                if has_ended && *bytes == [0; LEN] {
                    continue;
                }
                let (person, rule) = bytes.split_first_chunk()?;
                if has_ended || rules.last().is_some_and(|(last, _)| last.as_bytes() >= person) {
                    return None;
                }
                rules.push((
                    PublicKey::from_bytes(person).ok()?,
                    Rule::read(rule.try_into().ok()?)?,
                ));
            }
        }
        Some(Self(rules))
    }

    /// Returns the rules: each is identity (32) || blocked (8) || muted (8) || accepted (8) ||
    /// verified (8).
    pub fn rules(&self) -> impl Iterator<Item = [u8; 64]> {
        self.0.iter().map(encode)
    }
}

/// Key of the metadata of a value.
fn key(at: usize) -> String {
    format!("endseal.rules.{at:02}")
}

fn encode((person, rule): &(PublicKey, Rule)) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    let (identity, switches) = bytes.split_at_mut(PublicKey::LEN);
    identity.copy_from_slice(person.as_bytes());
    switches.copy_from_slice(&rule.to_bytes());
    bytes
}

/// Takes the rules that another device of this person has: of each switch the newer one. The device
/// then gets the rules that are here if they are others. Returns true if a rule here changed.
pub(super) fn take(
    transaction: &Transaction<'_, '_>,
    from: &Address,
    note: &RuleNote,
) -> Result<bool, EngineError> {
    let mut has_changed = false;
    for (person, rule) in &note.0 {
        let known = StoredRule::of(transaction, person)?;
        let merged = known.rule.newer(*rule);
        if merged != known.rule {
            has_changed = true;
            StoredRule { rule: merged, ..known }.put(transaction, person)?;
            if merged.blocked.is_on() {
                request::forget(transaction, person)?;
            }
        }
    }
    if *note != RuleNote::of(transaction)? {
        due::note_rules(transaction, &from.identity, from.device.into())?;
    }
    Ok(has_changed)
}
