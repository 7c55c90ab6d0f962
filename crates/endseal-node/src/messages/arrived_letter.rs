//! Letters that arrived: who wrote them, and to which group, before they are in the inbox.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::secret::Zeroizing;
use endseal_envelope::{OpenError, Opened, Opener, Policy, attach};
use endseal_keyring::PersonRecord;
use endseal_keyring::device::Address;
use endseal_keyring::roster::{GroupId, RosterDigest};

use super::directory;
use super::error::SyncError;
use super::hub::HubClient;
use super::letter::{ID_LEN, Letter, LetterHead};
use super::letter_keys::{Group, LetterKeys, Users};
use super::problem::ProblemClass;
use super::shared_engine::SharedEngine;

/// A letter with what the hub says about it.
pub(super) struct ArrivedLetter {
    pub(super) peer: PeerId,
    pub(super) position: u64,
    pub(super) head: LetterHead,
    pub(super) slot: Bytes,
    /// Payload of its frame.
    pub(super) payload: Bytes,
    /// Number and time of the record, if it was parked.
    pub(super) parked: Option<(u64, u64)>,
}

/// Device that put a letter, for which the hub vouches, and the group that the letter names.
/// Letters with the same keep their order. The sender in the head is not authenticated, and could
/// be invented.
pub(super) type Writer = (PeerId, GroupId);

impl ArrivedLetter {
    pub(super) fn writer(&self) -> Writer {
        (self.peer, self.head.group)
    }
}

/// Result of a letter.
pub(super) enum Verdict {
    /// Authentic: the id and the content.
    Text([u8; ID_LEN], Zeroizing<Vec<u8>>),
    /// The roster, or the person record to whose user identity it is sealed, is not here yet.
    Waits,
    /// No user identity that is here opens it.
    Unopened,
    /// The class of a problem.
    Failed(&'static str),
}

/// An envelope with one slot, and its place among the letters.
type View = (usize, Vec<u8>);

/// Opens letters: a verdict on each, of which none is [`Verdict::Unopened`].
pub(super) async fn open(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    keys: &LetterKeys<'_>,
    letters: &[ArrivedLetter],
) -> Result<Vec<Verdict>, SyncError> {
    if letters.is_empty() {
        return Ok(Vec::new());
    }
    let own = engine.address();
    let mut reader = LetterReader::new(keys, own);
    reader.meet(hub, engine, letters).await?;
    let mut verdicts = reader.open(letters);
    if verdicts.iter().any(|it| matches!(it, Verdict::Unopened)) {
        // It may be sealed to a user identity of a later record of this person.
        directory::find(hub, engine, &own.identity).await?;
        let newest = engine.with(|engine| directory::known(engine, &own.identity))?;
        let Users { epoch, is_whole, .. } = reader.users;
        let is_behind = !is_whole || newest.is_some_and(|newest| newest.epoch() > epoch);
        for verdict in &mut verdicts {
            if matches!(verdict, Verdict::Unopened) {
                *verdict = match is_behind {
                    true => Verdict::Waits,
                    false => Verdict::Failed(ProblemClass::LETTER),
                };
            }
        }
    }
    Ok(verdicts)
}

/// Keys, rosters and person records by which letters of a batch are judged: they may come at any
/// time.
struct LetterReader<'k> {
    keys: &'k LetterKeys<'k>,
    own: Address,
    users: Users,
    groups: HashMap<GroupId, Group>,
    /// Records of members who wrote.
    members: HashMap<PublicKey, Option<PersonRecord>>,
}

impl<'k> LetterReader<'k> {
    fn new(keys: &'k LetterKeys<'k>, own: Address) -> Self {
        let (users, groups) = (keys.users(), keys.groups());
        Self { keys, own, users, groups, members: HashMap::new() }
    }

    /// Reads the person records of the members who wrote, and asks for those without the device.
    /// The caller MUST call this before [`Self::open`].
    async fn meet(
        &mut self,
        hub: &HubClient<'_>,
        engine: &SharedEngine<'_>,
        letters: &[ArrivedLetter],
    ) -> Result<(), SyncError> {
        let known = |identity: &PublicKey| engine.with(|it| directory::known(it, identity));
        let mut unknown_senders = HashSet::new();
        for head in letters.iter().map(|it| it.head).collect::<HashSet<_>>() {
            let identity = head.sender.identity;
            let group = self.groups.get(&head.group);
            if group.is_none_or(|it| it.current.member_of_key(&identity).is_none()) {
                continue;
            }
            if let Entry::Vacant(entry) = self.members.entry(identity) {
                entry.insert(known(&identity)?);
            }
            if self.device_key(&head).is_none() {
                unknown_senders.insert(identity);
            }
        }
        let unknown_senders: Vec<_> = unknown_senders.into_iter().collect();
        directory::find_many(hub, engine, &unknown_senders).await?;
        for identity in unknown_senders {
            self.members.insert(identity, known(&identity)?);
        }
        Ok(())
    }

    /// Opens letters: a verdict on each.
    fn open(&mut self, letters: &[ArrivedLetter]) -> Vec<Verdict> {
        let mut verdicts = Vec::with_capacity(letters.len());
        // Letters that have the same context are opened together.
        let mut batches: HashMap<LetterHead, (RosterDigest, Vec<View>)> = HashMap::new();
        let mut rosters = HashMap::new();
        for (at, letter) in letters.iter().enumerate() {
            let head = letter.head;
            let roster = rosters.entry(head).or_insert_with(|| self.roster(&head));
            verdicts.push(match *roster {
                Judged::Waits => Verdict::Waits,
                Judged::Failed(class) => Verdict::Failed(class),
                Judged::Roster(digest) => {
                    let envelope = Letter::read(&letter.payload).map(|it| it.envelope);
                    match attach(envelope.unwrap_or_default(), &letter.slot) {
                        Ok(view) => {
                            let batch = batches.entry(head);
                            batch.or_insert_with(|| (digest, Vec::new())).1.push((at, view));
                            Verdict::Unopened
                        }
                        Err(_) => Verdict::Failed(ProblemClass::FRAME),
                    }
                }
            });
        }
        for (head, (digest, views)) in batches {
            let device = self.device_key(&head);
            let context = head.context(&digest);
            for (at, opened) in self.open_views(&context, views) {
                if let Some(verdict) = verdicts.get_mut(at) {
                    *verdict = match device {
                        Some(device) if device == opened.sender => {
                            let id = Letter::id(&device, &opened.message_id);
                            Verdict::Text(id, Zeroizing::new(opened.content))
                        }
                        _ => Verdict::Failed(ProblemClass::LETTER),
                    };
                }
            }
        }
        verdicts
    }

    /// Opens views of one context with each user identity, the newest first.
    fn open_views(&self, context: &[u8], mut views: Vec<View>) -> Vec<(usize, Opened)> {
        let mut all = Vec::with_capacity(views.len());
        for user in &self.users.identities {
            let bytes: Vec<_> = views.iter().map(|(_, view)| view.as_slice()).collect();
            let results = Opener::new(user, context).open_many(&bytes, &mut Policy::new());
            let mut left = Vec::new();
            for ((at, view), result) in views.into_iter().zip(results) {
                match result {
                    Ok(opened) => all.push((at, opened)),
                    Err(OpenError::Authentication) => left.push((at, view)),
                    Err(_) => {}
                }
            }
            if left.is_empty() {
                break;
            }
            views = left;
        }
        all
    }

    /// Judges what a letter says of itself.
    fn roster(&mut self, head: &LetterHead) -> Judged {
        if head.sender == self.own {
            return Judged::Failed(ProblemClass::OWN);
        }
        let Some(group) = self.groups.get_mut(&head.group) else { return Judged::Waits };
        if head.epoch > group.current.epoch() {
            return Judged::Waits;
        }
        let is_member = group.current.member_of_key(&head.sender.identity).is_some();
        match self.keys.roster(group, head.epoch) {
            None => Judged::Failed(ProblemClass::GROUP),
            Some(roster) if is_member && roster.member_of_key(&head.sender.identity).is_some() => {
                Judged::Roster(roster.digest())
            }
            Some(_) => Judged::Failed(ProblemClass::MEMBER),
        }
    }

    /// Key of the device that the person record has under the number.
    fn device_key(&self, head: &LetterHead) -> Option<PublicKey> {
        let record = self.members.get(&head.sender.identity)?.as_ref()?;
        record.device(head.sender.device.into()).map(|identity| *identity.ed25519())
    }
}

/// Judgement of what a letter says of itself, as far as rosters tell.
#[derive(Clone, Copy)]
enum Judged {
    /// The roster of its epoch, in which the sender is a member, as in the newest one.
    Roster(RosterDigest),
    /// The roster is not here yet.
    Waits,
    /// The class of a problem.
    Failed(&'static str),
}
