//! Read marks between the devices of a person (docs/spec/node.md, "Read marks").

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::device::Address;
use endseal_session::{EngineError, ReceivedKind};

use super::conversation::Conversation;
use super::due::{Due, Subject};
use super::history::HistoryRow;
use super::hub_groups::{HubGroups, conversation_of};
use super::read_texts;
use super::records::{self, Transaction};
use super::runs::Runs;
use super::text::Text;
use super::text_id::{OfSeries, TextId};
use super::unconfirmed::Arrived;

/// Messages that are read at once.
const PAGE: usize = 256;

/// Returns the id of a text of `writer` to this person or to a team. `own` is this identity.
pub(super) fn id_of(
    plaintext: &[u8],
    conversation: &Conversation,
    writer: &PublicKey,
    own: &PublicKey,
) -> Option<TextId> {
    let to = match conversation {
        Conversation::Person(_) => Conversation::Person(*own),
        group @ Conversation::Group(_) => *group,
    };
    TextId::read(Text::read(plaintext, writer, &to)?.id())
}

/// Notes that texts were read on this device, and that this person's other devices are to learn of
/// it. `own` is the address of this device.
pub(super) fn note(
    transaction: &mut Transaction<'_, '_>,
    own: &Address,
    read: &HashMap<OfSeries, Runs>,
) -> Result<(), EngineError> {
    let mut others = HashMap::<Conversation, HashSet<Address>>::new();
    for (of, runs) in read {
        let &(conversation, writer, series) = of;
        if !read_texts::add(transaction, of, runs)? {
            continue;
        }
        let devices = match others.entry(conversation) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(entry) => entry.insert(own_others(transaction, own, &conversation)?),
        };
        for to in devices.iter() {
            let subject = Subject::Texts { conversation, series, read_of: Some(writer) };
            Due { to: *to, subject }.put(transaction)?;
        }
    }
    Ok(())
}

/// Returns the other devices of this person that are members of groups of a conversation.
fn own_others(
    transaction: &mut Transaction<'_, '_>,
    own: &Address,
    conversation: &Conversation,
) -> Result<HashSet<Address>, EngineError> {
    let mut devices = HashSet::new();
    for group in HubGroups::of(transaction, conversation)?.groups {
        let members = transaction.group_peers(&group.id)?.into_iter().map(|it| it.0);
        devices.extend(members.filter(|it| it.identity == own.identity && it != own));
    }
    Ok(devices)
}

/// Takes the marks of other devices of this person: texts that were read there move from the inbox
/// to the history. Later texts are compared with [`read_texts`] when they arrive. Of several texts
/// with one number the first one moves: the others are of a writer whose state went back in time.
pub(super) fn take(
    transaction: &mut Transaction<'_, '_>,
    own: &PublicKey,
    marks: &HashMap<OfSeries, Runs>,
) -> Result<(), EngineError> {
    let mut open = HashMap::new();
    for (of, runs) in marks {
        if read_texts::add(transaction, of, runs)?
            && let Some(arrived) = Arrived::of(transaction, of)?
        {
            open.insert(*of, (runs, arrived));
        }
    }
    let (mut after, mut moved) = (0, HashSet::new());
    while !open.is_empty() {
        let page = transaction.inbox(after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.number;
        let mut read = Vec::new();
        for received in page {
            let conversation = conversation_of(transaction, &received.conversation)?;
            let Some(conversation) = conversation else { continue };
            let writer = received.sender.identity;
            let id = id_of(&received.plaintext, &conversation, &writer, own);
            let Some(TextId { series, number }) = id else { continue };
            let of = (conversation, writer, series);
            let is_read = open
                .get(&of)
                .is_some_and(|(runs, arrived)| runs.contains(number) && arrived.has(number));
            if received.kind == ReceivedKind::Text && is_read && moved.insert((of, number)) {
                read.push((conversation, received));
            }
        }
        for (conversation, received) in read {
            if transaction.consume(received.number)? {
                let number = records::next_number(transaction)?;
                let (sender, plaintext) = (received.sender, received.plaintext);
                HistoryRow::new(number, false, sender, records::now(), plaintext)
                    .put(transaction, &conversation)?;
            }
        }
    }
    Ok(())
}
