//! Members of a group to whom a letter is sealed now.

use std::collections::{HashMap, HashSet};

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::identity::PublicIdentity;
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use endseal_delivery::limit::MAX_TARGETS;
use endseal_envelope::{Envelope, Recipients, RecipientsError, Sealer};
use endseal_keyring::roster::{GroupId, RosterDigest};

use super::conversation::Conversation;
use super::directory::{self, Found};
use super::error::SyncError;
use super::hub::HubClient;
use super::letter::LetterHead;
use super::letter_keys::{Group, LetterKeys};
use super::report::{Skipped, SkippedReason, SyncReport};
use super::shared_engine::SharedEngine;

/// Bytes of peer ids and slots of one frame, with room for the rest of a request.
const MAX_MAILBOX_BYTES: usize = 120 * 1024;

/// Devices of a group, and the keys to which its letters are sealed.
pub(super) struct LetterRecipients {
    head: LetterHead,
    roster: RosterDigest,
    recipients: Recipients,
    /// Devices with the user identity whose slot they get.
    devices: Vec<(PeerId, PublicKey)>,
}

/// A sealed letter.
pub(super) struct SealedLetter {
    /// The detached envelope.
    pub(super) envelope: Vec<u8>,
    /// Devices with their slots, as many as one frame takes.
    pub(super) frames: Vec<Vec<(PeerId, Vec<u8>)>>,
}

impl LetterRecipients {
    /// Finds the members of a group, and notes those who are left out. `None` if nothing can be
    /// sent.
    pub(super) async fn find(
        hub: &HubClient<'_>,
        engine: &SharedEngine<'_>,
        groups: &HashMap<GroupId, Group>,
        id: &GroupId,
        report: &mut SyncReport,
    ) -> Result<Option<Self>, SyncError> {
        let own = engine.address();
        let own_peer = engine.with(|engine| engine.certificate().keys().peer_id);
        let mut skip = |to, reason| report.skipped.push(Skipped { to, device: None, reason });
        let Some(group) = groups.get(id) else {
            skip(Conversation::Group(*id), SkippedReason::Group);
            return Ok(None);
        };
        let roster = &group.current;
        if roster.member_of_key(&own.identity).is_none() {
            skip(Conversation::Group(*id), SkippedReason::NotMember);
            return Ok(None);
        }
        let members: Vec<_> = roster.members().iter().map(|it| *it.identity().ed25519()).collect();
        let found = directory::find_many(hub, engine, &members).await?;
        let (mut users, mut devices) = (Vec::<PublicIdentity>::new(), Vec::new());
        let mut seen = HashSet::new();
        for (member, found) in members.iter().zip(found) {
            let reason = match found {
                Found::Person(record, of_member) => {
                    // Who names the user identity of another gets the same slot, and no use of it.
                    let user = record.user();
                    let peers = of_member.iter().map(|it| it.keys().peer_id);
                    let peers = peers.filter(|peer| *peer != own_peer);
                    devices.extend(peers.map(|peer| (peer, *user.ed25519(), *member)));
                    if seen.insert(*user.ed25519()) {
                        users.push(user.clone());
                    }
                    continue;
                }
                Found::Refused => SkippedReason::Directory,
                Found::Unknown => SkippedReason::Unknown,
            };
            skip(Conversation::Person(*member), reason);
        }
        let recipients = loop {
            match Recipients::from_identities(&users) {
                Ok(recipients) => break recipients,
                Err(RecipientsError::ConflictingKeys(key)) => {
                    users.retain(|it| *it.ed25519() != key);
                }
                Err(_) => return Ok(None),
            }
        };
        // One secret key opens for A and -A: its owner is one recipient, and the other is
        // left out.
        let keys: HashSet<_> = recipients.keys().copied().collect();
        devices.retain(|(_, user, member)| {
            let has_slot = keys.contains(user);
            if !has_slot {
                skip(Conversation::Person(*member), SkippedReason::Directory);
            }
            has_slot
        });
        if devices.is_empty() {
            return Ok(None);
        }
        // A hub that names one device for two persons delivers to it once.
        let mut peers = HashSet::new();
        devices.retain(|(peer, ..)| peers.insert(*peer));
        let devices = devices.into_iter().map(|(peer, user, _)| (peer, user)).collect();
        let head = LetterHead::new(own, *id, roster.epoch());
        Ok(Some(Self { head, roster: roster.digest(), recipients, devices }))
    }

    /// Epoch of the roster.
    pub(super) fn epoch(&self) -> u64 {
        self.head.epoch
    }

    /// Seals a plaintext; `None` if that fails for want of randomness or because it is too long.
    pub(super) fn seal(
        &self,
        keys: &LetterKeys<'_>,
        time: u64,
        plaintext: &[u8],
    ) -> Option<SealedLetter> {
        let context = self.head.context(&self.roster);
        let suite = self.recipients.suite();
        let sealer = Sealer::new(keys.device(), &self.recipients, &context).suite(suite).time(time);
        let len = sealer.sealed_len(plaintext.len() as u64).ok()?;
        let mut sealed = vec![0; usize::try_from(len).ok()?];
        let positions = sealer.seal_into(plaintext, &mut sealed, &mut OsRandom).ok()?;
        let envelope = Envelope::parse(&sealed).ok()?;
        let slot = |user: &PublicKey| {
            let at = self.recipients.keys().position(|key| key == user)?;
            envelope.slot(usize::try_from(*positions.get(at)?).ok()?)
        };
        let slots = self.devices.iter().map(|(peer, user)| Some((*peer, slot(user)?)));
        let slots = slots.collect::<Option<Vec<_>>>()?;
        let each = PeerId::LEN + slots.first().map_or(0, |(_, slot)| slot.len());
        let most = (MAX_MAILBOX_BYTES / each).clamp(1, MAX_TARGETS);
        let frames = slots.chunks(most).map(<[_]>::to_vec).collect();
        Some(SealedLetter { envelope: envelope.detached(), frames })
    }
}
