//! The task of a client. It makes one connection after another.

use alloc::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::notification::{Disconnect, Notification};
use super::session::{self, Ended, Session};
use super::settings::Settings;
use super::shared::Shared;
use super::{backoff, information};
use crate::connect::Route;

/// Runs until the caller stops the task or drops the receiver of the channel.
pub(super) async fn run(
    settings: Settings,
    number: usize,
    shared: Arc<Shared>,
    notifications: mpsc::Sender<(usize, Notification)>,
) {
    let route = Route {
        address: settings.address.clone(),
        reach: settings.reach,
        proxy: settings.proxy.clone(),
        tls: settings.trust.clone().connector(),
        timeout: settings.timing.connect,
    };
    let mut failures = 0;
    let mut last_seen = None;
    // Its tasks end with this one.
    let mut fetches = JoinSet::new();
    loop {
        let began = Instant::now();
        let opened = tokio::select! {
            opened = route.open(settings.limits.message) => opened,
            () = shared.stopped() => return,
        };
        let ended = match opened {
            Ok(socket) => {
                tracing::debug!(relay = %settings.address, "connected");
                if notifications.send((number, Notification::Connected)).await.is_err() {
                    return;
                }
                while fetches.try_join_next().is_some() {}
                if settings.information
                    && shared.max_message_length().is_none()
                    && fetches.is_empty()
                {
                    fetches.spawn(fetch(route.clone(), Arc::clone(&shared)));
                }
                let session = Session::new(socket, &settings, &shared, last_seen);
                session.run(number, &notifications).await
            }
            Err(error) => Ended { reason: Disconnect::Connect(error), suspect: None, last_seen },
        };
        tracing::debug!(relay = %settings.address, reason = %ended.reason, "disconnected");
        last_seen = ended.last_seen;
        let unsent = {
            let mut state = shared.state();
            state.outbox.disconnected(ended.suspect);
            state.outbox.expire(settings.timing.keep_unsent)
        };
        let stops = matches!(ended.reason, Disconnect::Stopped);
        let Ended { reason, suspect, .. } = ended;
        if stops
            || session::report(unsent, number, &notifications).await.is_err()
            || notifications
                .send((number, Notification::Disconnected { reason, suspect }))
                .await
                .is_err()
        {
            return;
        }
        failures = if began.elapsed() >= settings.timing.lasted { 1 } else { failures + 1 };
        tokio::select! {
            () = sleep(backoff::wait(failures, &settings.timing)) => {}
            () = shared.stopped() => return,
        }
    }
}

async fn fetch(route: Route, shared: Arc<Shared>) {
    if let Some(length) = information::max_message_length(&route).await {
        shared.set_max_message_length(length);
    }
}
