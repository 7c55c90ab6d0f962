//! One exchange: its first request says which.

use std::sync::Arc;

use endseal_codec::hub::{Answer, ByView, Code, PublishView, RegisterView};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::hub::{Action, Exchange, Standing};
use endseal_keyring::{JoinToken, PersonRecord};
use endseal_session::{Certificate, PrekeyBundle};
use endseal_transport::{FrameReceiver, FrameSender, Kind};
use tokio::sync::oneshot;

use super::answer::Answers;
use super::{Office, REGISTRATION_LEN, puts, subscription};
use crate::command::{By, Command, Publication, Registration, refused};

/// Serves an exchange to its end.
pub(super) async fn serve_exchange(
    peer: PeerId,
    sender: FrameSender,
    mut receiver: FrameReceiver,
    office: Office,
) {
    let mut exchange = Exchange::new();
    let mut answers = Answers::new(sender, Arc::clone(&office.metrics));
    // Of `find` more may come.
    while let Ok(Some(frame)) = receiver.receive().await {
        let standing = office.directory.standing(&peer);
        let is_too_long = standing == Standing::Unknown && frame.payload.len() > REGISTRATION_LEN;
        let action = if frame.kind() != Kind::Control || is_too_long {
            Action::Refuse(Code::REQUEST)
        } else {
            exchange.request(&frame.payload, &peer, standing)
        };
        office.metrics.request(&action);
        let is_last = !matches!(action, Action::Find(_));
        let answer = match action {
            action @ (Action::Put(..) | Action::RefuseFrame(..)) => {
                let begun = puts::begin(action, &frame.payload);
                return puts::serve(peer, answers, receiver, office, exchange, begun).await;
            }
            Action::Subscribe(after, credit) => {
                let stream = subscription::Streams { answers, receiver, exchange };
                return subscription::serve(peer, stream, office, after, credit).await;
            }
            action => single(action, peer, &office).await,
        };
        // The peer may be gone.
        if answers.send(answer).await.is_err() || is_last {
            break;
        }
    }
    answers.end().await;
}

/// Answers a request that has one answer.
async fn single(action: Action<'_>, peer: PeerId, office: &Office) -> Answer {
    let (answer, answered) = oneshot::channel();
    let command = match action {
        Action::Hello => Command::Hello { peer, answer },
        Action::Register(register) => match registration(&register) {
            Some(register) => Command::Register { peer, register, answer },
            None => return Answer::Refused(refused(Code::CERTIFICATE)),
        },
        Action::Publish(publish) => match publication(&publish) {
            Some(publication) => Command::Publish { peer, publication, answer },
            None => return Answer::Refused(refused(Code::CERTIFICATE)),
        },
        Action::Find(ByView::Identity(identity)) => {
            Command::Find { by: By::Identity(*identity), answer }
        }
        Action::Find(ByView::Peer(device)) => {
            Command::Find { by: By::Peer(PeerId::from_bytes(device)), answer }
        }
        Action::Take(device) => Command::Take { peer, device, answer },
        Action::Refuse(code) => return Answer::Refused(refused(code)),
        _ => return Answer::Refused(refused(Code::REQUEST)),
    };
    let storage = || Answer::Refused(refused(Code::STORAGE));
    if office.commands.send(command).await.is_err() {
        return storage();
    }
    answered.await.unwrap_or_else(|_| storage())
}

fn registration(register: &RegisterView<'_>) -> Option<Box<Registration>> {
    Some(Box::new(Registration {
        token: JoinToken::from_bytes(register.token).digest(),
        certificate: Certificate::from_bytes(register.certificate).ok()?,
        person: PersonRecord::parse(register.person).ok()?,
    }))
}

fn publication(publish: &PublishView<'_>) -> Option<Box<Publication>> {
    let certificate = match publish.certificate {
        [] => None,
        bytes => Some(Certificate::from_bytes(bytes).ok()?),
    };
    let person = match publish.person {
        [] => None,
        bytes => Some(PersonRecord::parse(bytes).ok()?),
    };
    let bundles = publish.bundles.into_iter().map(|bytes| PrekeyBundle::from_bytes(bytes).ok());
    let bundles = bundles.collect::<Option<_>>()?;
    Some(Box::new(Publication { certificate, person, bundles, replace: publish.replace }))
}
