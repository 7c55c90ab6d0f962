//! Requests that the writer answers.

use std::time::Duration;

use endseal_codec::hub::{Answer, ByView, Code, PublishView, RegisterView};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::hub::{Action, RegistrationState};
use endseal_keyring::device::Certificate;
use endseal_keyring::{JoinToken, PersonRecord};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::ServiceState;
use crate::command::{By, Command, Publication, Registration, refused};
use crate::writer;

/// An answer that the writer will send.
pub(super) struct Asked(oneshot::Receiver<Answer>);

impl Asked {
    /// Waits for the answer. The future may be dropped while it waits without losing the answer.
    pub(super) async fn answer(&mut self) -> Answer {
        (&mut self.0).await.unwrap_or_else(|_| Answer::Refused(refused(Code::STORAGE)))
    }
}

/// Bytes of the prekeys of a publication that cost as much as a frame.
const PREKEY_BYTES_PER_FRAME: usize = 1_372;
/// Limit on the time for which a refusal is kept back.
const MAX_DELAY: Duration = Duration::from_secs(1);

/// Sends the command for a request to the writer, if the budget of the device pays for it. Else the
/// refusal comes late, so that a device which does not wait as it is told asks no more often.
pub(super) async fn ask(action: Action<'_>, peer: PeerId, service: &ServiceState) -> Asked {
    let (answer, answered) = oneshot::channel();
    // A peer that the hub does not know makes one request.
    let is_known = service.directory.state(&peer) != RegistrationState::Unknown;
    if let Some(cost) = cost(&action)
        && is_known
        && let Err(refused) = service.budgets.take(&peer, cost, writer::now())
    {
        sleep(Duration::from_millis(refused.wait).min(MAX_DELAY)).await;
        drop(answer.send(Answer::Refused(refused)));
        return Asked(answered);
    }
    let command = match action {
        Action::Hello(_) => Ok(Command::Hello { peer, answer }),
        Action::Register(register) => match registration(&register) {
            Some(register) => Ok(Command::Register { peer, register, answer }),
            None => Err((Code::CERTIFICATE, answer)),
        },
        Action::Publish(publish) => match publication(&publish) {
            Some(publication) => Ok(Command::Publish { peer, publication, answer }),
            None => Err((Code::CERTIFICATE, answer)),
        },
        Action::Find(ByView::Identity(identity)) => {
            Ok(Command::Find { by: By::Identity(*identity), answer })
        }
        Action::Find(ByView::Peer(device)) => {
            Ok(Command::Find { by: By::Peer(PeerId::from_bytes(device)), answer })
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

/// Returns the cost of a request in frames, before anything of it is verified. A frame is paid when
/// it is stored; an acknowledgement frees space, and costs nothing.
fn cost(action: &Action<'_>) -> Option<usize> {
    match action {
        Action::Hello(_) | Action::Register(_) | Action::Find(_) | Action::Take(_) => Some(1),
        Action::Publish(publish) => {
            let bytes: usize = publish.prekeys.iter().map(<[u8]>::len).sum();
            Some(1 + (bytes + publish.last_resort.len()) / PREKEY_BYTES_PER_FRAME)
        }
        _ => None,
    }
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
    Some(Box::new(Publication {
        certificate,
        person,
        prekeys: publish.prekeys.iter().map(<[u8]>::to_vec).collect(),
        last_resort: publish.last_resort.to_vec(),
        replace: publish.replace,
    }))
}
