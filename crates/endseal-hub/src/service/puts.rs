//! Receives frames from a node.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use endseal_codec::hub::{Answer, Code, Refused, Stored};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::Targets;
use endseal_delivery::hub::{Action, Exchange};
use endseal_transport::{FrameReceiver, Kind, SendError};
use tokio::sync::mpsc;

use super::ServiceState;
use super::answer::Answers;
use crate::command::{Command, GroupChange, GroupFrame, Put, PutAnswer, refused};
use crate::writer;

/// Bytes of a frame that cost as much as a further target.
const COST_UNIT: usize = 64 << 10;

/// The action for a frame, without a borrow of the payload.
pub(super) enum Started {
    Put { sequence: u64, targets: Vec<PeerId>, frame: Bytes, group: Option<GroupFrame> },
    RefuseFrame(u64, Code),
    Refuse(Code),
}

/// Converts an action. `payload` is the payload of its request.
pub(super) fn begin(action: Action<'_>, payload: &Bytes) -> Started {
    match action {
        Action::Put(sequence, targets, frame) => Started::Put {
            sequence,
            targets: targets.iter().collect(),
            frame: payload.slice_ref(frame),
            group: None,
        },
        Action::PutGroup(put) => {
            let peers = |targets: Targets<'_>| targets.iter().collect();
            let commit = put.commit.map(|commit| GroupChange {
                members: peers(commit.members),
                welcome: commit.welcome.map(|frame| payload.slice_ref(frame)),
            });
            Started::Put {
                sequence: put.sequence,
                targets: put.targets.map(peers).unwrap_or_default(),
                frame: payload.slice_ref(put.frame),
                group: Some(GroupFrame {
                    id: *put.group,
                    epoch: put.epoch,
                    members: put.members,
                    commit,
                }),
            }
        }
        Action::RefuseFrame(sequence, code) => Started::RefuseFrame(sequence, code),
        Action::Refuse(code) => Started::Refuse(code),
        _ => Started::Refuse(Code::REQUEST),
    }
}

/// Stores frames and answers them until the node sends no more or breaks the protocol.
pub(super) async fn serve(
    peer: PeerId,
    mut sender: Answers,
    mut receiver: FrameReceiver,
    service: ServiceState,
    mut exchange: Exchange,
    first: Started,
) {
    let (answer, mut answers) = mpsc::unbounded_channel();
    let mut next = Some(first);
    let mut waiting = 0_usize;
    let mut is_ended = false;
    let stopped = Arc::<OnceLock<Code>>::default();
    // The refusal of a frame that the budget did not pay for. Later frames must not overtake it.
    let mut unpaid = None;
    loop {
        if let Some(started) = next.take() {
            match started {
                Started::Put { sequence, targets, frame, group } => {
                    let received = Instant::now();
                    let commit = group.as_ref().and_then(|it| it.commit.as_ref());
                    let members = commit.map_or(0, |it| it.members.len());
                    let welcome = commit.and_then(|it| it.welcome.as_ref()).map_or(0, Bytes::len);
                    // What the members of a group cost is taken when they are known.
                    let copies = targets.len().max(1) + members;
                    let cost = copies * (1 + frame.len() / COST_UNIT) + welcome.div_ceil(COST_UNIT);
                    let taken = match stopped.get().or(unpaid.as_ref()) {
                        Some(code) => Err(refused(*code)),
                        None => service.budgets.take(&peer, cost, writer::now()),
                    };
                    waiting += 1;
                    if let Err(refused) = taken {
                        unpaid = unpaid.or(Some(refused.code));
                        drop(answer.send((sequence, Err(refused))));
                        continue;
                    }
                    // The request is kept whole, beside copies of its targets and members.
                    let copied = (targets.len() + members) * size_of::<PeerId>();
                    let kib = (2 * copied + frame.len() + welcome) / 1_024 + 1;
                    let kib = u32::try_from(kib).unwrap_or(u32::MAX);
                    let memory = Arc::clone(&service.memory);
                    let Ok(permit) = memory.acquire_many_owned(kib).await else { return };
                    let answer = answer.clone();
                    let put = Put {
                        sender: peer,
                        sequence,
                        targets,
                        frame,
                        group,
                        cost,
                        received,
                        answer,
                        stopped: Arc::clone(&stopped),
                        _permit: permit,
                    };
                    if service.commands.send(Command::Put(Box::new(put))).await.is_err() {
                        return;
                    }
                }
                Started::RefuseFrame(sequence, code) => {
                    drop(answer.send((sequence, Err(refused(code)))));
                    waiting += 1;
                }
                Started::Refuse(code) => {
                    let _ = sender.send(Answer::Refused(refused(code))).await;
                    sender.end().await;
                    return;
                }
            }
        }
        if is_ended && waiting == 0 {
            sender.end().await;
            return;
        }
        tokio::select! {
            biased;
            Some(first) = answers.recv() => {
                let mut all = vec![first];
                while let Ok(answer) = answers.try_recv() {
                    all.push(answer);
                }
                waiting = waiting.saturating_sub(all.len());
                all.iter().for_each(|_| exchange.answered());
                if tell(&mut sender, all).await.is_err() {
                    return;
                }
            }
            received = receiver.receive(), if !is_ended => match received {
                Ok(Some(frame)) if frame.kind() == Kind::Control => {
                    let state = service.directory.state(&peer);
                    let action = exchange.request(&frame.payload, &peer, state);
                    service.metrics.request(&action);
                    next = Some(begin(action, &frame.payload));
                }
                Ok(Some(_)) => next = Some(Started::Refuse(Code::REQUEST)),
                Ok(None) => is_ended = true,
                // The frames that were accepted are stored, but not answered.
                Err(_) => return,
            },
        }
    }
}

/// Sends the results of frames: first the refusals, then the last sequence number that was stored.
async fn tell(sender: &mut Answers, answers: Vec<PutAnswer>) -> Result<(), SendError> {
    let mut last = None;
    for (sequence, result) in answers {
        match result {
            Ok(()) => last = Some(sequence),
            Err(refusal) => {
                let refusal = Refused { sequence: Some(sequence), ..refusal };
                sender.feed(Answer::Refused(refusal)).await?;
            }
        }
    }
    if let Some(sequence) = last {
        sender.feed(Answer::Stored(Stored { sequence })).await?;
    }
    sender.flush().await
}
