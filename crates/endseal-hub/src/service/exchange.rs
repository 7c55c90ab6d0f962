//! Serves one exchange. Its first request decides its type.

use std::sync::Arc;

use endseal_codec::hub::{Answer, Code};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::hub::{Action, Exchange, RegistrationState};
use endseal_transport::{FrameReceiver, FrameSender, Kind};

use super::answer::Answers;
use super::ask::ask;
use super::{REGISTRATION_LEN, ServiceState, finds, puts, subscription};
use crate::command::refused;

/// Serves an exchange until it ends.
pub(super) async fn serve_exchange(
    peer: PeerId,
    sender: FrameSender,
    mut receiver: FrameReceiver,
    service: ServiceState,
) {
    let mut exchange = Exchange::new();
    let mut answers = Answers::new(sender, Arc::clone(&service.metrics));
    let Ok(Some(frame)) = receiver.receive().await else { return };
    let state = service.directory.state(&peer);
    let is_too_long = state == RegistrationState::Unknown && frame.payload.len() > REGISTRATION_LEN;
    if frame.kind() != Kind::Control || is_too_long {
        let _ = answers.send(Answer::Refused(refused(Code::REQUEST))).await;
        answers.finish().await;
        return;
    }
    let action = exchange.request(&frame.payload, &peer, state);
    service.metrics.request(&action);
    match action {
        action @ (Action::Put(..) | Action::PutGroup(_) | Action::RefuseFrame(..)) => {
            let started = puts::begin(action, &frame.payload);
            puts::serve(peer, answers, receiver, service, exchange, started).await;
        }
        Action::Subscribe(after, credit) => {
            let stream = subscription::Streams { answers, receiver, exchange };
            subscription::serve(peer, stream, service, after, credit).await;
        }
        action @ Action::Find(_) => {
            let first = ask(action, peer, &service).await;
            finds::serve(peer, answers, receiver, service, exchange, first).await;
        }
        action => {
            let noted = match &action {
                Action::Hello(noted) => Some(*noted),
                _ => None,
            };
            let mut answer = ask(action, peer, &service).await.answer().await;
            if let (Some(noted), Answer::Welcome(welcome)) = (noted, &mut answer)
                && let Some(note) = service.address.for_device(peer, noted)
            {
                welcome.address_note = note.into();
            }
            // The peer may have disconnected.
            let _ = answers.send(answer).await;
            match state {
                RegistrationState::Unknown => answers.finish().await,
                _ => answers.end().await,
            }
        }
    }
}
