//! Texts of a device of this person that was revoked (docs/spec/node.md, "Sending again"): what it
//! had said may have reached no one, and it sends nothing any more.

use std::collections::{HashMap, HashSet};

use endseal_keyring::PersonRecord;
use endseal_keyring::device::{Address, DeviceId};
use endseal_session::EngineError;

use super::conversation::Conversation;
use super::history::HistoryRow;
use super::records::{self, HISTORY, SERIES, Transaction};
use super::resend::resend_adopted;
use super::text_id::{SERIES_LEN, TextId, series_name};

/// Rows that are in memory at once.
const PAGE: usize = 64;

/// Takes over the texts of the devices that a record of this person has no more: their series end,
/// and the latest that not all receivers have confirmed are unsent here, under their ids.
pub(super) fn adopt(
    transaction: &mut Transaction<'_, '_>,
    own: &Address,
    before: &PersonRecord,
    after: &PersonRecord,
) -> Result<(), EngineError> {
    let revoked = before.devices().filter(|(number, _)| after.device(*number).is_none());
    let revoked: HashSet<_> = revoked
        .filter_map(|(number, _)| DeviceId::new(number.get()))
        .map(|device| Address { device, ..*own })
        .filter(|it| it != own)
        .collect();
    if revoked.is_empty() {
        return Ok(());
    }
    let (mut after, mut concerned) = (Vec::new(), HashSet::new());
    let mut series = HashMap::<(Conversation, [u8; SERIES_LEN]), u64>::new();
    loop {
        let page = transaction.records_after(HISTORY, &after, PAGE)?;
        let Some((last, _)) = page.last() else { break };
        after.clone_from(last);
        for (name, value) in &page {
            let row = HistoryRow::read(name, value).ok_or(EngineError::Damaged("history"))?;
            let conversation = name.len().checked_sub(8).and_then(|len| name.get(..len));
            let conversation = conversation.and_then(Conversation::in_name);
            let conversation = conversation.ok_or(EngineError::Damaged("history"))?;
            // Notes to oneself are confirmed by no one.
            if !revoked.contains(&row.writer) || conversation == Conversation::Person(own.identity)
            {
                continue;
            }
            let text = row.text(&own.identity, &conversation);
            let Some(id) = text.and_then(|it| TextId::read(it.id())) else { continue };
            let last = series.entry((conversation, id.series)).or_default();
            *last = id.number.max(*last);
            concerned.insert(conversation);
            HistoryRow { is_sent: true, ..row }.put(transaction, &conversation)?;
        }
    }
    for ((conversation, series), last) in series {
        let name = series_name(&conversation, &series);
        let known = transaction.record(SERIES, &name)?;
        let known = known.map(|it| records::number(&it).ok_or(EngineError::Damaged("series")));
        if known.transpose()?.is_none_or(|known| known < last) {
            transaction.put_record(SERIES, &name, &last.to_le_bytes())?;
        }
    }
    for conversation in concerned {
        resend_adopted(transaction, &own.identity, &conversation)?;
    }
    Ok(())
}
