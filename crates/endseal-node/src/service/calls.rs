//! Execution of local requests on the store.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use endseal_crypto::secret::Zeroizing;
use endseal_session::{Engine, EngineError};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::call::{Answer, Call};
use super::hub_state::HubState;
use super::line;
use crate::local::{LocalError, LocalReply, LocalRequest};
use crate::messages::{
    self, Conversation, HistoryRow, SayError, SharedEngine, Unread, devices, forget_problems,
    history_page, mark_changes_seen, mark_read, note_delivery, problems, status, unread_page,
    unseen_changes,
};
use crate::sessions::Texts;

/// Rows that are read from the store at once.
const STEP: usize = 16;
/// Limit on the rows of a reply.
const ROWS: usize = 256;
/// Length of the plaintexts in bytes after which a reply has enough rows. A row is shorter than 1
/// MiB and a message on the socket takes 4 MiB; rows beyond the limit are left for the next reply.
const BYTES: usize = 1 << 20;
/// Texts that are marked as read in one transaction.
const MARKS: usize = 1_024;
/// Interval of the maintenance.
const TIDY: Duration = Duration::from_secs(60);

/// Serves requests one after the other. Returns when all senders of the channel are gone.
pub(super) async fn serve_calls(
    engine: &SharedEngine<'_>,
    calls: &mut mpsc::Receiver<Call>,
    state: &HubState<'_>,
) {
    while let Some(Call { request, secret, reply }) = calls.recv().await {
        // Skip requests whose caller is gone. It may repeat the request.
        if reply.is_closed() {
            continue;
        }
        if let LocalRequest::Sync { attempts } = request {
            state.syncs.add(reply, attempts);
            continue;
        }
        let answer = engine.with(|engine| answer(engine, &request, &secret, state));
        if matches!(request, LocalRequest::Say { .. } | LocalRequest::MarkRead { .. }) {
            state.note_work();
            state.said.notify_one();
        }
        // The caller may be gone.
        let _ = reply.send(answer);
    }
}

/// Runs the periodic maintenance: ends expired sessions, removes replaced states from the files of
/// the store, and reports problems.
pub(super) async fn maintain(engine: &SharedEngine<'_>, state: &HubState<'_>) {
    let mut clock = interval(TIDY);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        clock.tick().await;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let tidied = engine.with(|engine| {
            engine.expire(now)?;
            if state.was_worked_with() { engine.settle() } else { Ok(()) }
        });
        if tidied.is_err() {
            // If the store fails, each request reports it too.
            state.note_work();
        }
        state.tell_problems();
    }
}

fn answer(
    engine: &mut Engine,
    request: &LocalRequest,
    secret: &[u8],
    state: &HubState<'_>,
) -> Answer {
    let plain = |reply| (reply, Zeroizing::default());
    Ok(match request {
        LocalRequest::Status => {
            let connected = state.is_connected();
            plain(LocalReply::Status { status: status(engine).map_err(store)?, connected })
        }
        LocalRequest::Say { to, lines } => {
            plain(LocalReply::Said(say(engine, to, *lines, secret)?))
        }
        LocalRequest::Unread { after } | LocalRequest::Follow { after } => {
            let (texts, next) = unread(engine, *after).map_err(store)?;
            LocalReply::unread(&texts, next)
        }
        LocalRequest::MarkRead { numbers } => {
            for some in numbers.chunks(MARKS) {
                mark_read(engine, some).map_err(store)?;
            }
            plain(LocalReply::Done)
        }
        LocalRequest::History { with, after, limit } => {
            LocalReply::history(&rows(engine, with, *after, *limit).map_err(store)?)
        }
        LocalRequest::Problems => plain(LocalReply::Problems(problems(engine).map_err(store)?)),
        LocalRequest::ForgetProblems { last } => {
            forget_problems(engine, *last).map_err(store)?;
            plain(LocalReply::Done)
        }
        LocalRequest::Devices { person } => {
            plain(LocalReply::Devices(devices(engine, person).map_err(store)?))
        }
        LocalRequest::DeviceChanges => {
            plain(LocalReply::DeviceChanges(unseen_changes(engine).map_err(store)?))
        }
        LocalRequest::MarkChangesSeen { last } => {
            mark_changes_seen(engine, *last).map_err(store)?;
            plain(LocalReply::Done)
        }
        LocalRequest::Sync { .. } => return Err(LocalError::Busy),
    })
}

fn store(error: EngineError) -> LocalError {
    LocalError::Store(line(&error))
}

fn say(
    engine: &mut Engine,
    to: &Conversation,
    lines: bool,
    secret: &[u8],
) -> Result<u64, LocalError> {
    let texts = if lines { Texts::lines(secret) } else { Texts::whole(secret) };
    messages::say(engine, to, texts).map_err(|error| match error {
        SayError::TooLong(number) => LocalError::TooLong(number),
        SayError::NotUtf8(number) => LocalError::NotUtf8(number),
        SayError::Own => LocalError::Own,
        error => LocalError::Store(line(&error)),
    })
}

fn unread(engine: &mut Engine, after: u64) -> Result<(Vec<Unread>, Option<u64>), EngineError> {
    let (mut found, mut bytes, mut at) = (Vec::<Unread>::new(), 0, after);
    while found.len() < ROWS {
        let (page, next) = unread_page(engine, at, STEP)?;
        let Some(next) = next else { return Ok((found, (at > after).then_some(at))) };
        at = next;
        for text in page {
            bytes += text.plaintext.len();
            if bytes > BYTES && !found.is_empty() {
                // The next reply starts with this text.
                return Ok((found, Some(text.number - 1)));
            }
            found.push(text);
        }
    }
    Ok((found, Some(at)))
}

fn rows(
    engine: &mut Engine,
    with: &Conversation,
    after: u64,
    limit: usize,
) -> Result<Vec<HistoryRow>, EngineError> {
    let (mut found, mut bytes, mut at) = (Vec::<HistoryRow>::new(), 0, after);
    let limit = limit.min(ROWS);
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
    Ok(found)
}
