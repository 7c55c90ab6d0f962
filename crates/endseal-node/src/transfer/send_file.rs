//! Sends a file to a peer.

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
use super::refusal::Refusal;
use super::stall::StallTimeout;
use crate::file::Progress;

/// Bytes of content in a frame.
const PIECE: usize = 65_536;
/// Pieces that are read ahead.
const AHEAD: usize = 4;

/// A file to send.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs, reason = "what the protocol asks for, and the content")]
pub struct OutgoingFile<R> {
    /// Name that the file gets at the receiver.
    pub name: FileName,
    /// Size in bytes, if it is known.
    pub size: Option<u64>,
    /// Time of the offer in milliseconds since 1970.
    pub time: u64,
    /// Content of the file. It is read in a thread of its own, so that it may block, for example on
    /// a pipe.
    pub content: R,
}

/// Sends a file, and waits until the peer confirms that it is complete and on its disk. Returns the
/// size in bytes.
///
/// A receiver accepts one file of a connection at a time. A file that waits for others of its
/// connection for longer than `stall` allows fails: send the next file when the one before is
/// stored.
///
/// # Errors
/// Returns [`SendFileError`] if the peer has not confirmed the file.
pub async fn send_file(
    connection: &Connection,
    file: OutgoingFile<impl Read + Send + 'static>,
    stall: StallTimeout,
    progress: Progress<'_>,
) -> Result<u64, SendFileError> {
    let mut transfer = [0; 16];
    OsRandom.fill(&mut transfer).map_err(SendError::from)?;
    let state = FileSender::new(transfer);
    let streams = stall.wait(connection, 0, connection.open_exchange()).await?;
    let (mut stream, answers) = streams.map_err(SendError::from)?;
    let mut side = Side { connection, stall, state, answers };
    let offer = side.state.offer(&file.name, file.size, file.time);
    side.send(&Frame::new(Kind::Message, offer), &mut stream).await?;
    expect(Verdict::ACCEPTED, side.answer_in_time().await?)?;

    let mut pieces = read(file.content).map_err(SendError::from)?;
    while let Some(piece) = side.next(&mut pieces).await? {
        let piece = piece.map_err(SendError::from)?;
        side.state.content(&piece);
        if file.size.is_some_and(|size| side.state.size() > size) {
            return Err(changed(stream));
        }
        side.send(&Frame::new(Kind::Data, piece), &mut stream).await?;
        progress(side.state.size());
    }
    if file.size.is_some_and(|size| side.state.size() != size) {
        return Err(changed(stream));
    }
    let end = Frame::new(Kind::Message, side.state.end());
    side.send(&end, &mut stream).await?;
    // A failure to finish says less than the answer, which is usually available.
    let finished = stall.wait(connection, side.state.size(), stream.finish()).await?;
    let verdict = side.answer_in_time().await;
    if let (Err(SendFileError::Send(SendError::Receive(_))), Err(error)) = (&verdict, finished) {
        return Err(SendError::from(error).into());
    }
    expect(Verdict::STORED, verdict?)?;
    Ok(side.state.size())
}

fn changed(stream: FrameSender) -> SendFileError {
    stream.reset(CloseCode::Cancelled);
    SendFileError::Changed
}

/// State of the sender of one file, without the stream that it writes.
struct Side<'a> {
    connection: &'a Connection,
    stall: StallTimeout,
    state: FileSender,
    answers: FrameReceiver,
}

impl Side<'_> {
    /// Sends a frame, unless the receiver answers first. Such an answer means that it wants no more
    /// content.
    async fn send(&mut self, frame: &Frame, stream: &mut FrameSender) -> Result<(), SendFileError> {
        let (connection, stall) = (self.connection, self.stall);
        let sent = async {
            let early = tokio::select! {
                sent = stream.send(frame) => match sent {
                    Ok(()) => return Ok(()),
                    // The reason is on the other direction. Data that has arrived there can be read
                    // even if the connection is closed by now.
                    Err(error) => match self.answer().await {
                        Ok(verdict) => verdict,
                        Err(_) => return Err(SendError::from(error).into()),
                    },
                },
                early = self.answer() => early?,
            };
            Err(unwanted(early))
        };
        stall.wait(connection, frame.payload.len() as u64, sent).await?
    }

    /// Returns the next piece of content if the receiver still wants it. While the content is read,
    /// a peer that is gone or refuses is noticed.
    async fn next<T>(
        &mut self,
        pieces: &mut mpsc::Receiver<T>,
    ) -> Result<Option<T>, SendFileError> {
        tokio::select! {
            piece = pieces.recv() => Ok(piece),
            early = self.answer() => Err(unwanted(early?)),
        }
    }

    async fn answer_in_time(&mut self) -> Result<Verdict, SendFileError> {
        let (connection, stall) = (self.connection, self.stall);
        stall.wait(connection, 0, self.answer()).await?
    }

    /// Waits for the next answer, without a timeout.
    async fn answer(&mut self) -> Result<Verdict, SendFileError> {
        let frame = self.answers.receive().await.map_err(SendError::from)?;
        let frame = frame.ok_or(SendError::Answer(Refusal::Truncated))?;
        let verdict = self.state.answer((&frame).into());
        Ok(verdict.map_err(SendError::from)?)
    }
}

/// Returns the error for an early answer, which is always a failure.
fn unwanted(verdict: Verdict) -> SendFileError {
    let out_of_order = SendError::Answer(Refusal::Order).into();
    expect(Verdict::ACCEPTED, verdict).err().unwrap_or(out_of_order)
}

fn expect(expected: Verdict, verdict: Verdict) -> Result<(), SendFileError> {
    match verdict {
        verdict if verdict == expected => Ok(()),
        Verdict::DAMAGED => Err(SendFileError::Damaged),
        Verdict::FAILED => Err(SendFileError::Failed),
        Verdict::REFUSED => Err(SendFileError::Refused),
        Verdict::TOO_LARGE => Err(SendFileError::TooLarge),
        _ => Err(SendError::Answer(Refusal::Order).into()),
    }
}

/// Reads content in a thread, some pieces ahead. The thread ends with the process, or when the
/// receiver of the pieces is gone and the content returns another piece.
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
