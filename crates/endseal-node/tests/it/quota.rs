//! Files that a peer leaves unfinished: bounded in number, in bytes and in time.

use core::cell::RefCell;
use core::time::Duration;
use std::io;

use endseal_codec::{Body, Codec as _, Content, Message, RichMessage, RichMessageView, Verdict};
use endseal_node::transfer::{
    Arrival, FileName, FileSender, Inbox, ReceiveFileError, ReceiveMessagesError, Reception,
    Stored, TransferQuota, receive,
};
use endseal_transport::{
    CloseCode, Connection, Frame, FrameReceiver, FrameSender, Kind, Limits, PeerId, ReceiveError,
};
use tokio::time;

use crate::pair::{Pair, runtime};
use endseal_testing::Scratch;

/// Time that no step of these tests takes, even on a busy machine.
const MUCH: Duration = Duration::from_secs(30);

#[derive(Default)]
struct Errors(RefCell<Vec<String>>);

impl Inbox for Errors {
    fn progress(&self, _: PeerId, _: u64) {}

    fn file(&self, _: PeerId, outcome: Result<Stored, ReceiveFileError>) {
        self.0.borrow_mut().push(format!("{:?}", outcome.map(|stored| stored.size)));
    }

    fn message(&self, _: PeerId, _: &RichMessageView<'_>) -> io::Result<()> {
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn messages(&self, _: PeerId, outcome: Result<u64, ReceiveMessagesError>) {
        self.0.borrow_mut().push(format!("{outcome:?}"));
    }
}

/// A sender that stops at a chosen step.
struct Sender {
    state: FileSender,
    stream: FrameSender,
    answers: FrameReceiver,
}

impl Sender {
    async fn offer(connection: &Connection, name: &str, size: Option<u64>) -> (Self, Verdict) {
        let (mut stream, answers) = connection.open_exchange().await.unwrap();
        let state = FileSender::new([7; 16]);
        let offer = state.offer(&FileName::new(name).unwrap(), size, 0);
        stream.send(&Frame::new(Kind::Message, offer)).await.unwrap();
        let mut own = Self { state, stream, answers };
        let verdict = own.answer().await.unwrap();
        (own, verdict)
    }

    async fn content(&mut self, len: usize) {
        let content = vec![7; len];
        self.state.content(&content);
        self.stream.send(&Frame::new(Kind::Data, content)).await.unwrap();
    }

    async fn end(mut self) -> Verdict {
        self.stream.send(&Frame::new(Kind::Message, self.state.end())).await.unwrap();
        let Self { mut state, stream, mut answers } = self;
        stream.end().await.unwrap();
        let frame = answers.receive().await.unwrap().unwrap();
        state.answer(Arrival::from(&frame)).unwrap()
    }

    async fn answer(&mut self) -> Result<Verdict, ReceiveError> {
        let frame = self.answers.receive().await?.expect("an answer");
        Ok(self.state.answer(Arrival::from(&frame)).unwrap())
    }
}

fn reception(scratch: &Scratch, (files, bytes): (usize, u64), stall: Duration) -> Reception {
    let folder = scratch.path("").to_owned();
    let quota = TransferQuota::new(files, bytes);
    Reception { folder, max_size: 1000, quota, stall, own: [0; 32], now: || 0 }
}

/// Runs `peer` with three connections of one peer to a receiver with this quota.
fn with_three(
    quota: (usize, u64),
    stall: Duration,
    peer: impl AsyncFnOnce([&Connection; 3]),
) -> Vec<String> {
    runtime().block_on(async {
        let (pair, scratch, errors) = (Pair::new().await, Scratch::new(), Errors::default());
        let reception = reception(&scratch, quota, stall);
        let (one, two, three) = (pair.connect().await, pair.connect().await, pair.connect().await);
        let asking = async {
            peer([&one.0, &two.0, &three.0]).await;
            for asked in [&one.0, &two.0, &three.0] {
                asked.close(CloseCode::Done).await;
            }
        };
        let all = async {
            tokio::join!(
                asking,
                receive(&one.1, &reception, &errors),
                receive(&two.1, &reception, &errors),
                receive(&three.1, &reception, &errors),
            )
        };
        time::timeout(MUCH, all).await.expect("no end");
        errors.0.take()
    })
}

#[test]
fn unfinished_files_of_a_peer_are_bounded_over_its_connections() {
    let outcomes = with_three((2, 1000), MUCH, async |[one, two, three]| {
        let (first, verdict) = Sender::offer(one, "first", Some(0)).await;
        assert_eq!(verdict, Verdict::ACCEPTED);
        let (_second, verdict) = Sender::offer(two, "second", None).await;
        assert_eq!(verdict, Verdict::ACCEPTED);
        let (_third, verdict) = Sender::offer(three, "third", None).await;
        assert_eq!(verdict, Verdict::FAILED);
        assert_eq!(first.end().await, Verdict::STORED);
        let (third, verdict) = Sender::offer(three, "third", None).await;
        assert_eq!(verdict, Verdict::ACCEPTED);
        assert_eq!(third.end().await, Verdict::STORED);
    });
    assert!(outcomes.contains(&"Err(Quota)".into()), "{outcomes:?}");
}

#[test]
fn bytes_of_unfinished_files_are_bounded_together() {
    with_three((8, 1000), MUCH, async |[one, two, three]| {
        let (_first, verdict) = Sender::offer(one, "first", Some(700)).await;
        assert_eq!(verdict, Verdict::ACCEPTED);
        // The size of an offer counts at once.
        let (_second, verdict) = Sender::offer(two, "second", Some(301)).await;
        assert_eq!(verdict, Verdict::TOO_LARGE);
        // Content without an offered size counts as it arrives.
        let (mut third, verdict) = Sender::offer(three, "third", None).await;
        assert_eq!(verdict, Verdict::ACCEPTED);
        third.content(300).await;
        third.content(1).await;
        assert_eq!(third.answer().await.unwrap(), Verdict::TOO_LARGE);
        let (third, verdict) = Sender::offer(three, "third", Some(300)).await;
        assert_eq!(verdict, Verdict::ACCEPTED);
        drop(third);
    });
}

#[test]
fn a_sender_that_stands_still_is_given_up() {
    let stall = Duration::from_millis(300);
    let outcomes = with_three((1, 1000), stall, async |[one, two, _]| {
        let (mut first, verdict) = Sender::offer(one, "first", Some(10)).await;
        assert_eq!(verdict, Verdict::ACCEPTED);
        first.content(9).await;
        let given_up = first.answer().await;
        assert!(matches!(given_up, Err(ReceiveError::Reset(CloseCode::Cancelled))), "{given_up:?}");
        // Its reservation is released, and no content remains.
        let (second, verdict) = Sender::offer(two, "first", Some(0)).await;
        assert_eq!(verdict, Verdict::ACCEPTED);
        assert_eq!(second.end().await, Verdict::STORED);
    });
    assert_eq!(outcomes, ["Err(Stalled)", "Ok(0)"]);
}

/// Runs a receiver whose peer has buffer space for `room` bytes of answers and reads none.
fn with_room_for_answers(room: u32, sent: &[Frame]) -> (Vec<String>, Vec<String>) {
    runtime().block_on(async {
        let mut limits = Limits::default();
        limits.stream_window = room;
        let (pair, scratch) = (Pair::with_asking_limits(limits).await, Scratch::new());
        let (asking, taking) = pair.connect().await;
        let errors = Errors::default();
        let reception = reception(&scratch, (1, 1000), Duration::from_millis(300));
        let (mut stream, _answers) = asking.open_exchange().await.unwrap();
        for frame in sent {
            stream.send(frame).await.unwrap();
        }
        stream.end().await.unwrap();
        let given_up = async {
            while errors.0.borrow().is_empty() {
                time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            ended = receive(&taking, &reception, &errors) => panic!("{ended:?}"),
            () = given_up => {}
            () = time::sleep(MUCH) => panic!("{room}: waits on"),
        }
        (errors.0.take(), scratch.names())
    })
}

#[test]
fn a_sender_that_takes_no_answer_is_given_up() {
    let message = |message| Frame::new(Kind::Message, message);
    let state = FileSender::new([7; 16]);
    let offer = state.offer(&FileName::new("file").unwrap(), Some(0), 0);
    let file = [message(offer), message(state.end())];
    let stalled = ["Err(Answer(Stalled))"];
    // The buffer has space for the prefix of the control stream, but not for an answer.
    let (outcomes, names) = with_room_for_answers(4, &file);
    assert!(outcomes == stalled && names.is_empty(), "{outcomes:?} {names:?}");
    // The buffer has space for one answer: the file is stored, and its sender does not know.
    let (outcomes, names) = with_room_for_answers(40, &file);
    assert!(outcomes == stalled && names == ["file"], "{outcomes:?} {names:?}");
    let rich = RichMessage { conversation: [1].into(), sender: [2; 32], ..RichMessage::default() };
    let rich = RichMessage { id: [3; 16], body: Some(Body::Text("x".into())), ..rich };
    let rich = Message::from(Content::Rich(rich)).to_vec(endseal_codec::Limits::default()).unwrap();
    let (outcomes, _) = with_room_for_answers(4, &[message(rich)]);
    assert_eq!(outcomes, stalled);
}
