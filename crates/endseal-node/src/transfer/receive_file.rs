//! Receives a file from a peer.

use core::time::Duration;
use std::path::PathBuf;

use endseal_codec::Verdict;
use endseal_transport::{
    CloseCode, Closed, Frame, FrameReceiver, FrameSender, Kind, PeerId, SendError,
};
use tokio::time;

use super::error::ReceiveFileError;
use super::file_receiver::{Action, FileReceiver};
use super::name::FileName;
use super::quota::Reservation;
use super::reception::Reception;
use super::refusal::Refusal;
use super::request::Request;
use super::stall::taken;
use super::storage::Storage;
use crate::error::FileError;
use crate::file::Progress;

/// A file that has arrived: complete, on the disk and under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stored {
    /// Name that the sender chose.
    pub name: FileName,
    /// Path of the file.
    pub path: PathBuf,
    /// Size in bytes.
    pub size: u64,
}

/// Receives the file of an exchange. Returns when the sender has received the last answer.
pub(super) async fn receive_file(
    peer: PeerId,
    (first, mut stream, mut answers): Request,
    reception: &Reception,
    progress: Progress<'_>,
) -> Result<Stored, ReceiveFileError> {
    let mut state = FileReceiver::new(reception.max_size);
    let streams = (&mut stream, &mut answers);
    let received = receive_content((peer, first), &mut state, streams, reception, progress).await;
    let (verdict, received) = match received {
        Ok(stored) => (Some(Verdict::STORED), Ok(stored)),
        Err((error, answered)) => (verdict_on(&error, answered), Err(error)),
    };
    if received.is_err() {
        // The remaining content is not needed, and its sender need not wait for buffer space.
        stream.stop();
    }
    let Some(answer) = verdict.and_then(|verdict| state.answer(verdict)) else {
        answers.reset(CloseCode::Cancelled);
        return received;
    };
    let answer = Frame::new(Kind::Message, answer);
    let told = taken(reception.stall, async {
        answers.send(&answer).await?;
        told(answers.finish().await)
    });
    match (received, told.await) {
        (Ok(_), Err(error)) => Err(error.into()),
        (received, _) => received,
    }
}

/// A sender that has the last answer may close the connection, or drop the stream before it has
/// seen its end. The code `done` means that this is not a failure.
pub(super) fn told(finished: Result<(), SendError>) -> Result<(), SendError> {
    match finished {
        Err(
            SendError::Closed(Closed::ByPeer(CloseCode::Done))
            | SendError::Stopped(CloseCode::Done),
        ) => Ok(()),
        other => other,
    }
}

/// Returns the verdict for the sender after a failure. `None` if the sender is gone or violated the
/// protocol.
fn verdict_on(error: &ReceiveFileError, answered: u64) -> Option<Verdict> {
    match error {
        ReceiveFileError::Refusal(refusal) => refusal.verdict(),
        ReceiveFileError::File(FileError::Exists(_)) if answered == 0 => Some(Verdict::REFUSED),
        ReceiveFileError::File(_) | ReceiveFileError::Quota => Some(Verdict::FAILED),
        _ => None,
    }
}

/// Receives the content. An error is returned with the number of answers that were sent before it.
async fn receive_content(
    (peer, first): (PeerId, Frame),
    state: &mut FileReceiver,
    (stream, answers): (&mut FrameReceiver, &mut FrameSender),
    reception: &Reception,
    progress: Progress<'_>,
) -> Result<Stored, (ReceiveFileError, u64)> {
    let offer = match state.frame((&first).into()) {
        Ok(Action::Decide(offer)) => offer,
        Ok(_) => return Err((Refusal::Order.into(), 0)),
        Err(refusal) => return Err((refusal.into(), 0)),
    };
    let mut reservation = reception.quota.begin(peer).ok_or((ReceiveFileError::Quota, 0))?;
    if !reservation.grow(offer.size.unwrap_or(0)) {
        return Err((Refusal::Large.into(), 0));
    }
    // Content of an unknown size is counted as it arrives.
    let reservation = offer.size.is_none().then_some(&mut reservation);
    let mut storage =
        Storage::create(&reception.folder, &offer.name).await.map_err(|e| (e.into(), 0))?;
    let accepted = Frame::new(Kind::Message, state.accept());
    taken(reception.stall, answers.send(&accepted)).await.map_err(|e| (e.into(), 1))?;
    let poured = pour(state, (stream, reception.stall), reservation, &mut storage, progress);
    let size = poured.await.map_err(|e| (e, 1))?;
    let path = storage.commit().await.map_err(|e| (e.into(), 1))?;
    Ok(Stored { name: offer.name, path, size })
}

/// Writes content until the stream ends. Returns the size in bytes.
async fn pour(
    state: &mut FileReceiver,
    (stream, stall): (&mut FrameReceiver, Duration),
    mut reservation: Option<&mut Reservation>,
    storage: &mut Storage,
    progress: Progress<'_>,
) -> Result<u64, ReceiveFileError> {
    let mut size = 0;
    loop {
        let frame = time::timeout(stall, stream.receive()).await;
        let Some(frame) = frame.map_err(|_| ReceiveFileError::Stalled)?? else { break };
        if let Action::Write(content) = state.frame((&frame).into())? {
            let len = content.len() as u64;
            if reservation.as_mut().is_some_and(|reservation| !reservation.grow(len)) {
                return Err(Refusal::Large.into());
            }
            size += len;
            storage.write(frame.payload).await?;
            progress(size);
        }
    }
    state.end()?;
    Ok(size)
}
