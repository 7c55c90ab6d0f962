//! Requests to the task that owns the store, and its maintenance.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use endseal_crypto::identity::Identity;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::backup::write_backup;
use super::call::Call;
use super::hub_state::HubState;
use crate::api::{Reply, Request, execute};
use crate::home::Home;
use crate::messages::SharedEngine;

/// Interval of the maintenance.
const TIDY: Duration = Duration::from_secs(60);

/// Serves requests one after the other. Returns when all senders of the channel are gone.
pub(super) async fn serve_calls(
    engine: &SharedEngine<'_>,
    (home, device): (&Home, &Identity),
    calls: &mut mpsc::Receiver<Call>,
    state: &HubState<'_>,
) {
    while let Some(Call { request, reply }) = calls.recv().await {
        // Skip requests whose caller is gone. It may repeat the request.
        if reply.is_closed() {
            continue;
        }
        if let Request::Sync { attempts } = request {
            state.syncs.add(reply, attempts);
            continue;
        }
        // Texts of a request may move to the inbox: those of a new contact with `persons`.
        let is_accepted =
            matches!(request, Request::Accept { .. } | Request::Say { .. } | Request::Persons {});
        let is_said = is_accepted
            || matches!(
                request,
                Request::Answer { .. }
                    | Request::MarkRead { .. }
                    | Request::Leave { .. }
                    | Request::Block { .. }
                    | Request::Unblock { .. }
                    | Request::Mute { .. }
                    | Request::Verify { .. }
            );
        let is_work = is_said
            || matches!(
                request,
                Request::ForgetProblems { .. }
                    | Request::MarkChangesSeen { .. }
                    | Request::Unsend { .. }
                    | Request::UnsendAll { .. }
                    | Request::DeleteTexts { .. }
                    | Request::DeleteTextsBefore { .. }
            );
        let mut answer = engine.with(|engine| match request {
            Request::Backup {} => write_backup(home, device, engine),
            request => execute(engine, home, request),
        });
        if is_accepted {
            engine.note_arrivals();
        }
        if let Ok(Reply::Status(status)) = &mut answer {
            status.connected = Some(state.is_connected());
            status.cause = if state.is_connected() { None } else { state.cause() };
        }
        if is_work {
            state.note_work();
        }
        if is_said {
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
