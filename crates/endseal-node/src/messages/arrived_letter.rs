//! Letters that arrived: who wrote them, and to which group, before they are in the inbox.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::identity::Identity;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::secret::Zeroizing;
use endseal_envelope::{OpenError, Opened, Opener, Policy, attach};
use endseal_keyring::PersonRecord;
use endseal_keyring::roster::{GroupId, RosterDigest};
use endseal_session::EngineError;

use super::directory;
use super::error::SyncError;
use super::hub::HubClient;
use super::letter::{ID_LEN, Letter, LetterHead};
use super::letter_keys::{Group, LetterKeys};
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

/// Result of a letter.
pub(super) enum Verdict {
    /// Authentic: the id and the content.
    Text([u8; ID_LEN], Zeroizing<Vec<u8>>),
    /// The roster is not here yet.
    Waits,
    /// The class of a problem.
    Failed(&'static str),
}

/// An envelope with one slot, and its place among the letters.
type View = (usize, Vec<u8>);

/// Opens letters: a verdict on each.
pub(super) async fn open(
    hub: &HubClient<'_>,
    engine: &SharedEngine<'_>,
    keys: &LetterKeys<'_>,
    letters: &[ArrivedLetter],
) -> Result<Vec<Verdict>, SyncError> {
    if letters.is_empty() {
        return Ok(Vec::new());
    }
    let mut reader = LetterReader::new(*keys);
    reader.meet(hub, engine, letters).await?;
    Ok(reader.open(engine, letters)?)
}

/// Keys and rosters by which letters of a batch are judged: rosters may come at any time.
struct LetterReader<'k> {
    keys: LetterKeys<'k>,
    users: Vec<Identity>,
    groups: HashMap<GroupId, Option<Group>>,
}

impl<'k> LetterReader<'k> {
    fn new(keys: LetterKeys<'k>) -> Self {
        Self { keys, users: keys.users(), groups: HashMap::new() }
    }

    /// Looks for the person records of members whose devices are not known. The caller MUST call
    /// this before [`Self::open`].
    async fn meet(
        &mut self,
        hub: &HubClient<'_>,
        engine: &SharedEngine<'_>,
        letters: &[ArrivedLetter],
    ) -> Result<(), SyncError> {
        let mut strangers = HashSet::new();
        for ArrivedLetter { head, .. } in letters {
            let (identity, device) = (head.sender.identity, head.sender.device);
            let is_member = self
                .group(&head.group)
                .is_some_and(|group| group.current.member_of_key(&identity).is_some());
            if !is_member || strangers.contains(&identity) {
                continue;
            }
            let known = directory::known(engine, &identity)?;
            if known.is_none_or(|record| record.device(device.into()).is_none()) {
                strangers.insert(identity);
            }
        }
        let strangers: Vec<_> = strangers.into_iter().collect();
        directory::find_many(hub, engine, &strangers).await.map(drop)
    }

    /// Opens letters: a verdict on each.
    fn open(
        &mut self,
        engine: &SharedEngine<'_>,
        letters: &[ArrivedLetter],
    ) -> Result<Vec<Verdict>, EngineError> {
        let mut verdicts = Vec::with_capacity(letters.len());
        // Letters that have the same context are opened together.
        let mut batches: HashMap<(LetterHead, RosterDigest), Vec<View>> = HashMap::new();
        let mut devices: HashMap<LetterHead, Option<PublicKey>> = HashMap::new();
        for (at, letter) in letters.iter().enumerate() {
            let head = letter.head;
            verdicts.push(match self.roster(&head) {
                Err(verdict) => verdict,
                Ok(digest) => {
                    if let Entry::Vacant(entry) = devices.entry(head) {
                        let record = directory::known(engine, &head.sender.identity)?;
                        entry.insert(record.and_then(|record| device_key(&record, &head)));
                    }
                    let envelope = Letter::read(&letter.payload).map(|it| it.envelope);
                    match attach(envelope.unwrap_or_default(), &letter.slot) {
                        Ok(view) => {
                            batches.entry((head, digest)).or_default().push((at, view));
                            Verdict::Failed(ProblemClass::LETTER)
                        }
                        Err(_) => Verdict::Failed(ProblemClass::FRAME),
                    }
                }
            });
        }
        for ((head, digest), views) in batches {
            let Some(Some(device)) = devices.get(&head) else { continue };
            let context = head.context(&digest);
            for (at, opened) in self.open_views(&context, views) {
                if opened.sender == *device
                    && let Some(verdict) = verdicts.get_mut(at)
                {
                    let id = Letter::id(device, &opened.message_id);
                    *verdict = Verdict::Text(id, Zeroizing::new(opened.content));
                }
            }
        }
        Ok(verdicts)
    }

    /// Opens views of one context with each user identity, the newest first.
    fn open_views(&self, context: &[u8], mut views: Vec<View>) -> Vec<(usize, Opened)> {
        let mut all = Vec::with_capacity(views.len());
        for user in &self.users {
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

    /// Digest of the roster under which a letter was sealed, if its sender was a member then and
    /// still is.
    fn roster(&mut self, head: &LetterHead) -> Result<RosterDigest, Verdict> {
        let keys = self.keys;
        let Some(group) = self.group(&head.group) else { return Err(Verdict::Waits) };
        let newest = group.current.epoch();
        if head.epoch > newest {
            return Err(Verdict::Waits);
        }
        if group.current.member_of_key(&head.sender.identity).is_none() {
            return Err(Verdict::Failed(ProblemClass::MEMBER));
        }
        match keys.roster(group, head.epoch) {
            None => Err(Verdict::Failed(ProblemClass::GROUP)),
            Some(roster) => match roster.member_of_key(&head.sender.identity) {
                None => Err(Verdict::Failed(ProblemClass::MEMBER)),
                Some(_) => Ok(roster.digest()),
            },
        }
    }

    /// A group; `None` if it is not known, or its rosters cannot be read.
    fn group(&mut self, id: &GroupId) -> Option<&mut Group> {
        let keys = self.keys;
        self.groups.entry(*id).or_insert_with(|| keys.group(id).ok().flatten()).as_mut()
    }
}

/// Key of the device that the person record has under the number.
fn device_key(record: &PersonRecord, head: &LetterHead) -> Option<PublicKey> {
    record.device(head.sender.device.into()).map(|identity| *identity.ed25519())
}
