//! Answers the requests of a peer.

use endseal_codec::{Codec as _, ContentView, Limits, Message};
use endseal_transport::{
    CloseCode, Connection, Frame, FrameReceiver, FrameSender, Kind, ReceiveError,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::echo::echo;
use super::error::SendError;
use super::inbox::Inbox;
use super::receive_file::receive_file;
use super::receive_messages::receive_messages;
use super::reception::Reception;
use super::request::Request;

/// An exchange whose first frame has arrived, or never will.
type Started = (Result<Option<Frame>, ReceiveError>, FrameReceiver, FrameSender);

async fn begin(mut stream: FrameReceiver, answers: FrameSender) -> Started {
    (stream.receive().await, stream, answers)
}

/// Limit on the exchanges of a kind that wait for the current one.
const WAITING: usize = 64;

/// Answers the requests of a peer until the connection ends. Files, series of messages and echoes
/// are served independently: exchanges of the same kind are answered one after the other, and none
/// waits for data that this side sends. Returns the reason for the end.
pub async fn receive(
    connection: &Connection,
    reception: &Reception,
    inbox: &impl Inbox,
) -> ReceiveError {
    let peer = connection.peer();
    let (files, mut waiting_files) = mpsc::channel::<Request>(WAITING);
    let (series, mut waiting_series) = mpsc::channel::<Request>(WAITING);
    let (echoes, mut waiting_echoes) = mpsc::channel::<Request>(WAITING);
    let dispatch = async move |started: Started| {
        let (first, stream, answers) = started;
        match first {
            Ok(Some(first)) => {
                let queue = match first.kind() {
                    Kind::Control => &echoes,
                    _ if is_rich(&first) => &series,
                    _ => &files,
                };
                // The receiving end lives as long as this one.
                let _taken = queue.send((first, stream, answers)).await;
            }
            // The series has no messages.
            Ok(None) => {
                let ended = answers.end().await.map(|()| 0);
                inbox.messages(peer, ended.map_err(|error| SendError::Send(error).into()));
            }
            Err(_) => answers.reset(CloseCode::Cancelled),
        }
    };
    let accepting = async move {
        // Exchanges open in the order of their numbers, and a sender may be silent on one for long.
        // Others must not wait for its first frame. The transport limits their number.
        let mut beginning = JoinSet::new();
        let ended = loop {
            tokio::select! {
                exchange = connection.accept_exchange() => match exchange {
                    Ok((answers, stream)) => beginning.spawn(begin(stream, answers)),
                    Err(error) => break error,
                },
                Some(Ok(started)) = beginning.join_next() => {
                    dispatch(started).await;
                    continue;
                }
            };
        };
        while let Some(started) = beginning.join_next().await {
            if let Ok(started) = started {
                dispatch(started).await;
            }
        }
        ended
    };
    let files = async {
        while let Some(request) = waiting_files.recv().await {
            let mut progress = |received| inbox.progress(peer, received);
            inbox.file(peer, receive_file(peer, request, reception, &mut progress).await);
        }
    };
    let series = async {
        while let Some(request) = waiting_series.recv().await {
            inbox.messages(peer, receive_messages(peer, request, reception, inbox).await);
        }
    };
    let echoes = async {
        while let Some(request) = waiting_echoes.recv().await {
            // The peer notices the end itself.
            let _ended = echo(request, reception.stall).await;
        }
    };
    // Wait for all of them, so that transfers in progress report their result when the connection
    // ends.
    let (ended, (), (), ()) = tokio::join!(accepting, files, series, echoes);
    ended
}

/// Returns true if a frame is the first of a series of messages.
fn is_rich(frame: &Frame) -> bool {
    let message = || Message::view(&frame.payload, Limits::default()).ok();
    !frame.is_sealed() && matches!(message().and_then(|m| m.content), Some(ContentView::Rich(_)))
}
