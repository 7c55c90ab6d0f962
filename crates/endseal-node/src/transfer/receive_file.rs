//! Receiving a file.

use std::path::{Path, PathBuf};

use endseal_codec::Verdict;
use endseal_transport::{CloseCode, Closed, Frame, FrameReceiver, FrameSender, Kind, SendError};

use super::error::ReceiveFileError;
use super::file_receiver::{Action, FileReceiver};
use super::name::FileName;
use super::refusal::Refusal;
use super::storage::Storage;
use crate::error::FileError;
use crate::file::Progress;

/// A file that has arrived: whole, on the disk, under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stored {
    /// The name that the sender gave it.
    pub name: FileName,
    /// Where it is.
    pub path: PathBuf,
    /// Its bytes.
    pub size: u64,
}

/// Receives the file of an exchange of which `first` is the first frame, of at most `limit` bytes, into
/// `folder`. Returns when the sender has been told.
pub(super) async fn receive_file(
    first: Frame,
    mut stream: FrameReceiver,
    mut answers: FrameSender,
    (folder, limit): (&Path, u64),
    progress: Progress<'_>,
) -> Result<Stored, ReceiveFileError> {
    let mut state = FileReceiver::new(limit);
    let received =
        receive_content(first, &mut state, &mut stream, &mut answers, folder, progress).await;
    let (verdict, received) = match received {
        Ok(stored) => (Some(Verdict::STORED), Ok(stored)),
        Err((error, answered)) => (verdict_on(&error, answered), Err(error)),
    };
    if received.is_err() {
        // What is still on its way is not wanted, and its sender need not wait for room.
        stream.stop();
    }
    let Some(answer) = verdict.and_then(|verdict| state.answer(verdict)) else {
        answers.reset(CloseCode::Cancelled);
        return received;
    };
    let told = match answers.send(&Frame::new(Kind::Message, answer)).await {
        Ok(()) => told(answers.finish().await),
        Err(error) => Err(error),
    };
    match (received, told) {
        (Ok(_), Err(error)) => Err(error.into()),
        (received, _) => received,
    }
}

/// A sender that has the last answer may close the connection, or drop the stream before it has seen
/// its end: `done` says that all is well.
pub(super) fn told(finished: Result<(), SendError>) -> Result<(), SendError> {
    match finished {
        Err(
            SendError::Closed(Closed::ByPeer(CloseCode::Done))
            | SendError::Stopped(CloseCode::Done),
        ) => Ok(()),
        other => other,
    }
}

/// What the sender is told of a failure. `None` if it is gone, or does not keep to the protocol.
fn verdict_on(error: &ReceiveFileError, answered: u64) -> Option<Verdict> {
    match error {
        ReceiveFileError::Refusal(refusal) => refusal.verdict(),
        ReceiveFileError::File(FileError::Exists(_)) if answered == 0 => Some(Verdict::REFUSED),
        ReceiveFileError::File(_) => Some(Verdict::FAILED),
        _ => None,
    }
}

/// The error comes with the number of answers that were given before it.
async fn receive_content(
    first: Frame,
    state: &mut FileReceiver,
    stream: &mut FrameReceiver,
    answers: &mut FrameSender,
    folder: &Path,
    progress: Progress<'_>,
) -> Result<Stored, (ReceiveFileError, u64)> {
    let offer = match state.frame((&first).into()) {
        Ok(Action::Decide(offer)) => offer,
        Ok(_) => return Err((Refusal::Order.into(), 0)),
        Err(refusal) => return Err((refusal.into(), 0)),
    };
    let mut storage = Storage::create(folder, &offer.name).await.map_err(|e| (e.into(), 0))?;
    let accepted = Frame::new(Kind::Message, state.accept());
    answers.send(&accepted).await.map_err(|e| (e.into(), 1))?;
    let size = pour(state, stream, &mut storage, progress).await.map_err(|e| (e, 1))?;
    let path = storage.commit().await.map_err(|e| (e.into(), 1))?;
    Ok(Stored { name: offer.name, path, size })
}

/// Writes content until the stream ends. Gives the size.
async fn pour(
    state: &mut FileReceiver,
    stream: &mut FrameReceiver,
    storage: &mut Storage,
    progress: Progress<'_>,
) -> Result<u64, ReceiveFileError> {
    let mut size = 0;
    while let Some(frame) = stream.receive().await? {
        if let Action::Write(content) = state.frame((&frame).into())? {
            size += content.len() as u64;
            storage.write(frame.payload).await?;
            progress(size);
        }
    }
    state.end()?;
    Ok(size)
}
