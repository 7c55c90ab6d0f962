//! Serves one exchange. Its first request decides its type.

use std::sync::Arc;

use endseal_codec::hub::{Answer, Code};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::hub::{Action, Exchange, Standing};
use endseal_transport::{FrameReceiver, FrameSender, Kind};

use super::answer::Answers;
use super::ask::ask;
use super::{Office, REGISTRATION_LEN, finds, puts, subscription};
use crate::command::refused;

/// Serves an exchange until it ends.
pub(super) async fn serve_exchange(
    peer: PeerId,
    sender: FrameSender,
    mut receiver: FrameReceiver,
    office: Office,
) {
    let mut exchange = Exchange::new();
    let mut answers = Answers::new(sender, Arc::clone(&office.metrics));
    let Ok(Some(frame)) = receiver.receive().await else { return };
    let standing = office.directory.standing(&peer);
    let is_too_long = standing == Standing::Unknown && frame.payload.len() > REGISTRATION_LEN;
    if frame.kind() != Kind::Control || is_too_long {
        let _ = answers.send(Answer::Refused(refused(Code::REQUEST))).await;
        answers.finish().await;
        return;
    }
    let action = exchange.request(&frame.payload, &peer, standing);
    office.metrics.request(&action);
    match action {
        action @ (Action::Put(..) | Action::RefuseFrame(..)) => {
            let begun = puts::begin(action, &frame.payload);
            puts::serve(peer, answers, receiver, office, exchange, begun).await;
        }
        Action::Subscribe(after, credit) => {
            let stream = subscription::Streams { answers, receiver, exchange };
            subscription::serve(peer, stream, office, after, credit).await;
        }
        action @ Action::Find(_) => {
            let first = ask(action, peer, &office).await;
            finds::serve(peer, answers, receiver, office, exchange, first).await;
        }
        action => {
            let answer = ask(action, peer, &office).await.answer().await;
            // The peer may have disconnected.
            let _ = answers.send(answer).await;
            match standing {
                Standing::Unknown => answers.finish().await,
                _ => answers.end().await,
            }
        }
    }
}
