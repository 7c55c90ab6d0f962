//! Execution of requests on a store.

use endseal_keyring::device::Address;
use endseal_session::{Engine, EngineError};

use super::{Error, ErrorKind, NodeStatus, Page, Reply, Request, Said, SecretText, TextRow};
use super::{VERSION, Version};
use crate::messages::{
    Conversation, HistoryRow, Text, Unread, devices, forget_problems, history_page,
    mark_changes_seen, mark_read, note_delivery, problems, say, status, unread_page,
    unseen_changes,
};

/// Rows that are read from the store at once.
const STEP: usize = 16;
/// Limit on the rows of a reply.
const ROWS: usize = 256;
/// Length of the plaintexts in bytes after which a reply has enough rows; the others are left for
/// the next reply. JSON needs up to six bytes for one, and a row is shorter than 1 MiB, so that the
/// reply fits into a line of 8 MiB.
const BYTES: usize = 1 << 20;
/// Limit on the changes of devices of a reply. Others follow when these are marked as seen.
const CHANGES: usize = 1_024;
/// Texts that are marked as read in one transaction.
const MARKS: usize = 1_024;

/// Carries out a request.
///
/// # Errors
/// Returns [`Error`] if the request is refused or the store fails. [`Request::Sync`],
/// [`Request::Follow`] and [`Request::Backup`] are refused, because they need the connection or the
/// keys of `endseal up`.
pub fn execute(engine: &mut Engine, request: Request) -> Result<Reply, Error> {
    Ok(match request {
        Request::Version {} => {
            let program = concat!("endseal ", env!("CARGO_PKG_VERSION")).to_owned();
            Reply::Version(Version { api: VERSION, program })
        }
        Request::Status {} => {
            Reply::Status(NodeStatus { status: status(engine)?, connected: None })
        }
        Request::Say { to, texts } => Reply::Said(Said { texts: say(engine, &to, &texts)? }),
        Request::Unread { after } => Reply::Texts(unread(engine, after)?),
        Request::MarkRead { numbers } => {
            for some in numbers.chunks(MARKS) {
                mark_read(engine, some)?;
            }
            Reply::Done {}
        }
        Request::History { with, after, limit } => {
            Reply::Texts(history(engine, &with, after, limit)?)
        }
        Request::Problems {} => Reply::Problems(Page::only(problems(engine)?)),
        Request::ForgetProblems { last } => {
            forget_problems(engine, last)?;
            Reply::Done {}
        }
        Request::Devices { person } => Reply::Devices(devices(engine, &person)?),
        Request::DeviceChanges {} => {
            let mut rows = unseen_changes(engine)?;
            rows.truncate(CHANGES);
            Reply::DeviceChanges(Page::only(rows))
        }
        Request::MarkChangesSeen { last } => {
            mark_changes_seen(engine, last)?;
            Reply::Done {}
        }
        Request::Sync { .. } | Request::Follow { .. } | Request::Backup {} => {
            return Err(Error::new(ErrorKind::NeedsUp, "endseal up is not running"));
        }
    })
}

fn unread(engine: &mut Engine, after: u64) -> Result<Page<TextRow>, EngineError> {
    let own = engine.address().identity;
    let (mut rows, mut bytes, mut at) = (Vec::<TextRow>::new(), 0, after);
    while rows.len() < ROWS {
        let (page, next) = unread_page(engine, at, STEP)?;
        let Some(next) = next else {
            return Ok(Page { rows, next: (at > after).then_some(at) });
        };
        at = next;
        for text in page {
            bytes += text.plaintext.len();
            if bytes > BYTES && !rows.is_empty() {
                // The next reply starts with this text.
                return Ok(Page { rows, next: Some(text.number - 1) });
            }
            let Unread { number, conversation, writer, .. } = text;
            rows.push(TextRow::new(number, conversation, writer, text.text(&own)));
        }
    }
    Ok(Page { rows, next: Some(at) })
}

fn history(
    engine: &mut Engine,
    with: &Conversation,
    after: u64,
    limit: u64,
) -> Result<Page<TextRow>, EngineError> {
    let (mut found, mut bytes, mut at) = (Vec::<HistoryRow>::new(), 0, after);
    let limit = usize::try_from(limit).unwrap_or(ROWS).min(ROWS);
    'pages: while found.len() < limit {
        let page = history_page(engine, with, at, STEP.min(limit - found.len()))?;
        let Some(last) = page.last() else { break };
        at = last.number;
        for row in page {
            bytes += row.plaintext.len();
            if bytes > BYTES && !found.is_empty() {
                break 'pages;
            }
            found.push(row);
        }
    }
    note_delivery(engine, with, &mut found)?;
    let own = engine.address().identity;
    let next = found.last().map(|it| it.number);
    let rows = found.iter().map(|row| TextRow {
        is_sent: row.is_sent,
        delivery: row.delivery,
        ..TextRow::new(row.number, *with, row.writer, row.text(&own, with))
    });
    Ok(Page { rows: rows.collect(), next })
}

impl TextRow {
    fn new(
        number: u64,
        conversation: Conversation,
        writer: Address,
        text: Option<Text<'_>>,
    ) -> Self {
        Self {
            number,
            conversation,
            from: writer.identity,
            device: writer.device.number(),
            is_sent: false,
            time: text.map(|it| it.time),
            text: text.map(|it| SecretText::new(it.text.to_owned())),
            delivery: None,
        }
    }
}
