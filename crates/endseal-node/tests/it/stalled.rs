//! Peers that stay connected and do nothing more: no operation waits for them forever.

use core::time::Duration;
use std::io::{self, Cursor, Read};
use std::sync::mpsc as blocking;
use std::time::Instant;

use endseal_codec::Verdict;
use endseal_node::transfer::{
    Action, Arrival, Echo, FileName, FileReceiver, OutgoingFile, OutgoingMessage, SendError,
    SendFileError, StallTimeout, send_file, send_messages,
};
use endseal_transport::{CloseCode, Connection, Frame, FrameSender, Kind, ReceiveError};
use tokio::sync::mpsc;
use tokio::time;

use crate::pair::{Pair, runtime};

const LIMIT: Duration = Duration::from_millis(300);
/// Time that no step of these tests takes, even on a busy machine.
const MUCH: Duration = Duration::from_secs(30);
/// More bytes than all windows on the path can hold.
const LONG: usize = 8 << 20;

/// Step at which a receiver stops.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Handshake,
    Offer,
    Content,
    LastAnswer,
    Never,
}

/// Receives a file up to this stage, with a pause after each frame.
async fn receive_until(taking: &Connection, stage: Stage, pause: Duration) -> u64 {
    let mut received = 0;
    if stage != Stage::Handshake {
        let (mut answers, mut stream) = taking.accept_exchange().await.unwrap();
        let mut state = FileReceiver::new(u64::MAX);
        while let Some(frame) = stream.receive().await.unwrap() {
            match state.frame(Arrival::from(&frame)).unwrap() {
                Action::Decide(_) if stage == Stage::Offer => core::future::pending().await,
                Action::Decide(_) => answer(&mut answers, state.accept()).await,
                Action::Write(_) if stage == Stage::Content => core::future::pending().await,
                Action::Write(content) => received += content.len() as u64,
                Action::Wait => {}
                other => panic!("{other:?}"),
            }
            time::sleep(pause).await;
        }
        if stage == Stage::Never {
            answer(&mut answers, state.answer(Verdict::STORED).unwrap()).await;
            // A sender that has the answer may disconnect.
            let _told = answers.finish().await;
            return received;
        }
        // Wait here, so that the streams stay open.
        core::future::pending().await
    }
    core::future::pending().await
}

async fn answer(answers: &mut FrameSender, message: Vec<u8>) {
    answers.send(&Frame::new(Kind::Message, message)).await.unwrap();
}

fn file<R>(size: Option<u64>, content: R) -> OutgoingFile<R> {
    OutgoingFile { name: FileName::new("file").unwrap(), size, time: 0, content }
}

async fn send_to(stage: Stage, len: usize) -> Result<u64, SendFileError> {
    let pair = Pair::new().await;
    let (asking, taking) = pair.connect().await;
    let content = file(Some(len as u64), Cursor::new(vec![7; len]));
    let stall = StallTimeout::new(LIMIT);
    let mut nothing = |_| ();
    tokio::select! {
        sent = send_file(&asking, content, stall, &mut nothing) => sent,
        _ = receive_until(&taking, stage, Duration::ZERO) => panic!("it does not stop"),
        () = time::sleep(MUCH) => panic!("{stage:?}: waits for ever"),
    }
}

#[test]
fn a_receiver_that_stops_is_given_up_at_every_stage() {
    runtime().block_on(async {
        for stage in [Stage::Handshake, Stage::Offer, Stage::Content, Stage::LastAnswer] {
            for len in [0, 100, LONG] {
                if len == 0 && stage == Stage::Content {
                    continue;
                }
                let started = Instant::now();
                let sent = send_to(stage, len).await;
                assert!(
                    matches!(sent, Err(SendFileError::Send(SendError::Stalled))),
                    "{stage:?} {len}: {sent:?}"
                );
                assert!(started.elapsed() >= LIMIT, "{stage:?}: not before the limit");
            }
        }
    });
}

/// Moves content in both directions of the connection, outside the transfer.
async fn move_elsewhere(asking: &Connection, taking: &Connection) {
    loop {
        for side in [asking, taking] {
            side.send_control(&Frame::new(Kind::Control, vec![0])).await.unwrap();
        }
        time::sleep(LIMIT / 4).await;
    }
}

#[test]
fn movement_elsewhere_is_no_progress_of_a_transfer() {
    runtime().block_on(async {
        for stage in [Stage::Handshake, Stage::Offer, Stage::LastAnswer] {
            let pair = Pair::new().await;
            let (asking, taking) = pair.connect().await;
            let mut nothing = |_| ();
            let content = file(None, Cursor::new(vec![7; 100]));
            let sent = tokio::select! {
                sent = send_file(&asking, content, StallTimeout::new(LIMIT), &mut nothing) => sent,
                _ = receive_until(&taking, stage, Duration::ZERO) => panic!("it does not stop"),
                () = move_elsewhere(&asking, &taking) => unreachable!(),
                () = time::sleep(MUCH) => panic!("{stage:?}: waits on"),
            };
            assert!(matches!(sent, Err(SendFileError::Send(SendError::Stalled))), "{sent:?}");
        }
        let pair = Pair::new().await;
        let (asking, taking) = pair.connect().await;
        let (texts, coming) = mpsc::channel(1);
        texts.try_send(Ok(OutgoingMessage { text: "x".into(), time: 0 })).unwrap();
        let (stall, mut nothing) = (StallTimeout::new(LIMIT), |_| ());
        let mut echo = Echo::open(&asking, stall).await.unwrap();
        let both = async {
            tokio::join!(
                send_messages(&asking, [0; 32], coming, stall, &mut nothing),
                echo.call(vec![1; 8])
            )
        };
        let (sent, called) = tokio::select! {
            both = both => both,
            () = move_elsewhere(&asking, &taking) => unreachable!(),
            () = time::sleep(MUCH) => panic!("waits on"),
        };
        assert!(matches!(sent, Err(SendError::Stalled)), "{sent:?}");
        assert!(matches!(called, Err(SendError::Stalled)), "{called:?}");
    });
}

#[test]
fn a_slow_receiver_is_not_given_up() {
    runtime().block_on(async {
        let pair = Pair::new().await;
        let (asking, taking) = pair.connect().await;
        let content = file(None, Cursor::new(vec![7; LONG]));
        let stall = StallTimeout::new(Duration::from_millis(1_200));
        let started = Instant::now();
        let mut nothing = |_| ();
        let sending = send_file(&asking, content, stall, &mut nothing);
        let receiving = receive_until(&taking, Stage::Never, Duration::from_millis(20));
        let (sent, received) = tokio::join!(sending, receiving);
        assert_eq!((sent.unwrap(), received), (LONG as u64, LONG as u64));
        assert!(started.elapsed() > Duration::from_millis(2_400), "longer than it may stand still");
    });
}

/// A reader whose content never arrives.
struct Silence(blocking::Receiver<()>);

impl Read for Silence {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        // Blocks until the test is over.
        let _over = self.0.recv();
        Ok(0)
    }
}

#[test]
fn a_peer_that_leaves_is_noticed_while_content_is_awaited() {
    runtime().block_on(async {
        let pair = Pair::new().await;
        let (asking, taking) = pair.connect().await;
        let (_silent, silence) = blocking::channel();
        let mut nothing = |_| ();
        let sending =
            send_file(&asking, file(None, Silence(silence)), StallTimeout::default(), &mut nothing);
        let leaving = async {
            let stopped = receive_until(&taking, Stage::LastAnswer, Duration::ZERO);
            let _waits = time::timeout(LIMIT, stopped).await;
            taking.abort(CloseCode::Busy);
        };
        let (sent, ()) =
            time::timeout(MUCH, async { tokio::join!(sending, leaving) }).await.unwrap();
        assert!(
            matches!(
                sent,
                Err(SendFileError::Send(SendError::Receive(
                    ReceiveError::Closed(_) | ReceiveError::Reset(_)
                )))
            ),
            "{sent:?}"
        );

        let (asking, taking) = pair.connect().await;
        let (_texts, silence) = mpsc::channel(1);
        let sending =
            send_messages(&asking, [0; 32], silence, StallTimeout::default(), &mut nothing);
        taking.abort(CloseCode::Busy);
        let sent = time::timeout(MUCH, sending).await.unwrap();
        assert!(matches!(sent, Err(SendError::Send(_) | SendError::Receive(_))), "{sent:?}");
    });
}

#[test]
fn messages_without_receipts_are_given_up() {
    runtime().block_on(async {
        // The peer does not read; it reads and does not confirm; and there is more than can wait
        // for a receipt.
        for (heard, count) in [(false, 1), (true, 1), (true, 5_000)] {
            let pair = Pair::new().await;
            let (asking, taking) = pair.connect().await;
            let (texts, coming) = mpsc::channel(count);
            for _ in 0..count {
                texts.try_send(Ok(OutgoingMessage { text: "x".into(), time: 0 })).unwrap();
            }
            let stall = StallTimeout::new(LIMIT);
            let mut nothing = |_| ();
            let sending = send_messages(&asking, [0; 32], coming, stall, &mut nothing);
            let hearing = async {
                if heard {
                    let (_receipts, mut stream) = taking.accept_exchange().await.unwrap();
                    while stream.receive().await.unwrap().is_some() {}
                    core::future::pending::<()>().await;
                }
                core::future::pending::<()>().await;
            };
            let sent = tokio::select! {
                sent = sending => sent,
                () = hearing => unreachable!(),
                () = time::sleep(MUCH) => panic!("waits for ever"),
            };
            assert!(matches!(sent, Err(SendError::Stalled)), "{heard} {count}: {sent:?}");
        }
    });
}

#[test]
fn an_echo_that_does_not_come_is_given_up() {
    runtime().block_on(async {
        let pair = Pair::new().await;
        let (asking, _taking) = pair.connect().await;
        let mut echo = Echo::open(&asking, StallTimeout::new(LIMIT)).await.unwrap();
        let called = time::timeout(MUCH, echo.call(vec![1; 8])).await.unwrap();
        assert!(matches!(called, Err(SendError::Stalled)), "{called:?}");
    });
}
