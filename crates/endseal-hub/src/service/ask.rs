//! Requests that the writer answers.

use endseal_codec::hub::{Answer, ByView, Code, PublishView, RegisterView};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::hub::Action;
use endseal_keyring::device::{Certificate, PrekeyBundle};
use endseal_keyring::{JoinToken, PersonRecord};
use tokio::sync::oneshot;

use super::ServiceState;
use crate::command::{By, Command, Publication, Registration, refused};

/// An answer that the writer will send.
pub(super) struct Asked(oneshot::Receiver<Answer>);

impl Asked {
    /// Waits for the answer. The future may be dropped while it waits without losing the answer.
    pub(super) async fn answer(&mut self) -> Answer {
        (&mut self.0).await.unwrap_or_else(|_| Answer::Refused(refused(Code::STORAGE)))
    }
}

/// Sends the command for a request to the writer.
pub(super) async fn ask(action: Action<'_>, peer: PeerId, service: &ServiceState) -> Asked {
    let (answer, answered) = oneshot::channel();
    let command = match action {
        Action::Hello => Ok(Command::Hello { peer, answer }),
        Action::Register(register) => match registration(&register) {
            Some(register) => Ok(Command::Register { peer, register, answer }),
            None => Err((Code::CERTIFICATE, answer)),
        },
        Action::Publish(publish) => match publication(&publish) {
            Some(publication) => Ok(Command::Publish { peer, publication, answer }),
            None => Err((Code::CERTIFICATE, answer)),
        },
        Action::Find(ByView::Identity(identity)) => {
            Ok(Command::Find { peer, by: By::Identity(*identity), answer })
        }
        Action::Find(ByView::Peer(device)) => {
            Ok(Command::Find { peer, by: By::Peer(PeerId::from_bytes(device)), answer })
        }
        Action::Take(device) => Ok(Command::Take { peer, device, answer }),
        Action::Recover(identity, proof) => match proof.verify(identity, &service.peer_id, &peer) {
            true => Ok(Command::Recover { identity: *identity, answer }),
            false => Err((Code::CERTIFICATE, answer)),
        },
        Action::Refuse(code) => Err((code, answer)),
        _ => Err((Code::REQUEST, answer)),
    };
    match command {
        // If the writer has ended, the command is dropped with the sender for its answer.
        Ok(command) => drop(service.commands.send(command).await),
        Err((code, answer)) => drop(answer.send(Answer::Refused(refused(code)))),
    }
    Asked(answered)
}

fn registration(register: &RegisterView<'_>) -> Option<Box<Registration>> {
    Some(Box::new(Registration {
        token: register.token.map(|token| JoinToken::from_bytes(token).digest()),
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
