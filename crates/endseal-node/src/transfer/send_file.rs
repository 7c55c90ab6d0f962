//! Sending a file.

use std::io::{self, Read};
use std::thread;

use bytes::Bytes;
use endseal_codec::Verdict;
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_transport::{CloseCode, Connection, Frame, FrameReceiver, FrameSender, Kind};
use tokio::sync::mpsc;

use super::error::{SendError, SendFileError};
use super::file_sender::FileSender;
use super::name::FileName;
use crate::file::Progress;

/// Bytes in a frame of content.
const PIECE: usize = 65_536;
/// Pieces that were read and not sent.
const AHEAD: usize = 4;

/// A file to send.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs, reason = "what the protocol asks for, and the content")]
pub struct OutgoingFile<R> {
    /// The name that it will have.
    pub name: FileName,
    /// Its size, if that is known.
    pub size: Option<u64>,
    /// Milliseconds since 1970.
    pub time: u64,
    /// Its content. It is read by a thread of its own, so that a pipe may make it wait.
    pub content: R,
}

/// Sends a file and waits until the peer says that it is whole and on its disk. Gives its size.
///
/// # Errors
/// [`SendFileError`]: the peer has not said that it has the file.
pub async fn send_file(
    connection: &Connection,
    file: OutgoingFile<impl Read + Send + 'static>,
    progress: Progress<'_>,
) -> Result<u64, SendFileError> {
    let mut transfer = [0; 16];
    OsRandom.fill(&mut transfer).map_err(SendError::from)?;
    let mut state = FileSender::new(transfer);
    let (mut stream, mut answers) = connection.open_exchange().await.map_err(SendError::from)?;
    let offer = state.offer(&file.name, file.size, file.time);
    stream.send(&Frame::new(Kind::Message, offer)).await.map_err(SendError::from)?;
    expect(Verdict::ACCEPTED, answer(&mut state, &mut answers).await?)?;

    let mut pieces = read(file.content).map_err(SendError::from)?;
    while let Some(piece) = pieces.recv().await {
        let piece = piece.map_err(SendError::from)?;
        state.content(&piece);
        if file.size.is_some_and(|size| state.size() > size) {
            return Err(changed(stream));
        }
        send(&Frame::new(Kind::Data, piece), &mut stream, &mut state, &mut answers).await?;
        progress(state.size());
    }
    if file.size.is_some_and(|size| state.size() != size) {
        return Err(changed(stream));
    }
    let end = Frame::new(Kind::Message, state.end());
    send(&end, &mut stream, &mut state, &mut answers).await?;
    // Its failure says less than the answer that is there in most such cases.
    let finished = stream.finish().await;
    let verdict = answer(&mut state, &mut answers).await;
    if let (Err(SendFileError::Send(SendError::Receive(_))), Err(error)) = (&verdict, finished) {
        return Err(SendError::from(error).into());
    }
    expect(Verdict::STORED, verdict?)?;
    Ok(state.size())
}

fn changed(stream: FrameSender) -> SendFileError {
    stream.reset(CloseCode::Cancelled);
    SendFileError::Changed
}

/// Sends a frame, unless the receiver has something to say first: then it wants no more.
async fn send(
    frame: &Frame,
    stream: &mut FrameSender,
    state: &mut FileSender,
    answers: &mut FrameReceiver,
) -> Result<(), SendFileError> {
    let early = tokio::select! {
        sent = stream.send(frame) => match sent {
            Ok(()) => return Ok(()),
            // It says why on the other direction; what has arrived there can be read though the
            // connection be closed by now.
            Err(error) => match answer(state, answers).await {
                Ok(verdict) => verdict,
                Err(_) => return Err(SendError::from(error).into()),
            },
        },
        early = answer(state, answers) => early?,
    };
    // Nothing that the peer says now can be good news.
    expect(Verdict::ACCEPTED, early)?;
    Err(SendError::Answer(super::Refusal::Order).into())
}

async fn answer(
    state: &mut FileSender,
    answers: &mut FrameReceiver,
) -> Result<Verdict, SendFileError> {
    let frame = answers.receive().await.map_err(SendError::from)?;
    let frame = frame.ok_or(SendError::Answer(super::Refusal::Truncated))?;
    let verdict = state.answer((&frame).into());
    Ok(verdict.map_err(SendError::from)?)
}

fn expect(expected: Verdict, verdict: Verdict) -> Result<(), SendFileError> {
    match verdict {
        verdict if verdict == expected => Ok(()),
        Verdict::DAMAGED => Err(SendFileError::Damaged),
        Verdict::FAILED => Err(SendFileError::Failed),
        Verdict::REFUSED => Err(SendFileError::Refused),
        Verdict::TOO_LARGE => Err(SendFileError::TooLarge),
        _ => Err(SendError::Answer(super::Refusal::Order).into()),
    }
}

/// Reads in a thread, a little ahead. The thread ends when nobody takes the pieces any more and the
/// content gives another one, or with the process.
fn read(mut content: impl Read + Send + 'static) -> io::Result<mpsc::Receiver<io::Result<Bytes>>> {
    let (pieces, taken) = mpsc::channel(AHEAD);
    thread::Builder::new().name("read".into()).spawn(move || {
        loop {
            let mut piece = vec![0; PIECE];
            let read = match content.read(&mut piece) {
                Ok(0) => return,
                Ok(len) => {
                    piece.truncate(len);
                    Ok(Bytes::from(piece))
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let failed = read.is_err();
            if pieces.blocking_send(read).is_err() || failed {
                return;
            }
        }
    })?;
    Ok(taken)
}
