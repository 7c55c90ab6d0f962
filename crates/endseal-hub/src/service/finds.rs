//! Serves requests for persons.

use core::future::pending;
use std::collections::VecDeque;

use endseal_codec::hub::{Answer, Code};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::hub::{Action, Exchange};
use endseal_transport::{FrameReceiver, Kind};

use super::ServiceState;
use super::answer::Answers;
use super::ask::{Asked, ask};

/// Maximum number of requests of an exchange that wait for their answers. The writer executes them
/// in one transaction.
const UNDER_WAY: usize = 16;

/// Answers the `find` requests of an exchange in their order, until the node sends no more or one
/// is refused.
pub(super) async fn serve(
    peer: PeerId,
    mut answers: Answers,
    mut receiver: FrameReceiver,
    service: ServiceState,
    mut exchange: Exchange,
    first: Asked,
) {
    let mut asked = VecDeque::from([first]);
    let mut is_ended = false;
    while !(is_ended && asked.is_empty()) {
        let has_room = !is_ended && asked.len() < UNDER_WAY;
        tokio::select! {
            biased;
            received = receiver.receive(), if has_room => match received {
                Ok(Some(frame)) => {
                    let state = service.directory.state(&peer);
                    let action = match frame.kind() {
                        Kind::Control => exchange.request(&frame.payload, &peer, state),
                        _ => Action::Refuse(Code::REQUEST),
                    };
                    service.metrics.request(&action);
                    asked.push_back(ask(action, peer, &service).await);
                }
                Ok(None) => is_ended = true,
                Err(_) => return,
            },
            answer = oldest(&mut asked) => {
                asked.pop_front();
                let is_refusal =
                    matches!(&answer, Answer::Refused(it) if it.code != Code::NONE);
                // The peer may have disconnected.
                if answers.send(answer).await.is_err() || is_refusal {
                    break;
                }
            }
        }
    }
    answers.end().await;
}

/// Waits for the next answer in order. Never returns if no request is waiting.
async fn oldest(asked: &mut VecDeque<Asked>) -> Answer {
    match asked.front_mut() {
        Some(oldest) => oldest.answer().await,
        None => pending().await,
    }
}
