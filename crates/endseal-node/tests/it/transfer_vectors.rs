//! The vectors of docs/spec/transfer.md, through the state machine and over a connection.

use core::cell::RefCell;
use core::time::Duration;
use std::fs;
use std::path::Path;

use endseal_codec::frame::{FrameError, LiveHeader, LiveReader};
use endseal_codec::{
    Codec as _, Content, FileAnswer, Limits, Message, RichMessageView, Verdict, contract,
};
use endseal_node::transfer::{
    Action, Arrival, FileReceiver, Inbox, ReceiveFileError, ReceiveMessagesError, Reception,
    Refusal, Stored, TransferQuota, receive,
};
use endseal_transport::{CloseCode, Frame, PeerId};
use serde_json::Value;

use crate::pair::{Pair, runtime};
use endseal_testing::Scratch;

/// Result of a file: its name and content, or the class of its refusal, and the verdicts.
#[derive(Debug, PartialEq)]
struct Outcome {
    file: Result<(String, Vec<u8>), String>,
    answers: Vec<String>,
}

#[test]
fn the_state_machine_agrees_with_the_vectors() {
    each(|scenario, vector| {
        let whole = frames(vector).concat();
        for size in [whole.len().max(1), 1, 7] {
            let got = pieces(whole.chunks(size), vector["limit"].as_u64().unwrap());
            assert_eq!(got, expected(vector), "{scenario} in pieces of {size}");
        }
    });
}

#[test]
fn a_receiver_over_a_connection_agrees_with_the_vectors() {
    runtime().block_on(async {
        let pair = Pair::new().await;
        // A sender of the transport numbers its frames itself, so that this fault cannot occur
        // there.
        let sendable = |vector: &Value| vector["expect"] != "sequence";
        for (scenario, vector) in files().into_iter().filter(|(_, vector)| sendable(vector)) {
            let (got, given_up) = over(&pair, &vector).await;
            let mut expected = expected(&vector);
            if given_up {
                // QUIC drops the data in transit on a stream that is reset.
                assert!(expected.answers.iter().all(|verdict| verdict == "VERDICT_ACCEPTED"));
                expected.answers.truncate(got.answers.len());
            }
            assert_eq!(got, expected, "{scenario}");
        }
    });
}

#[test]
fn a_series_over_a_connection_agrees_with_the_vectors() {
    runtime().block_on(async {
        let pair = Pair::new().await;
        for (scenario, vector) in of_kind("series", 10) {
            let scratch = Scratch::new();
            let (reception, inbox) = (reception(&scratch, 0), Series::default());
            let (asking, taking) = pair.connect().await;
            let asked = async {
                let (mut stream, mut answers) = asking.open_exchange().await.unwrap();
                let mut ids = Vec::new();
                for frame in frames_to_send(&vector) {
                    if stream.send(&frame).await.is_err() {
                        break;
                    }
                    if let Some(Content::Rich(rich)) = message(&frame) {
                        ids.push(rich.id);
                    }
                }
                let _unwanted = stream.finish().await;
                let mut confirmed = Vec::new();
                let ended = loop {
                    match answers.receive().await {
                        Ok(Some(answer)) => match message(&answer) {
                            Some(Content::Receipt(receipt)) => confirmed.extend(receipt.messages),
                            other => panic!("{other:?}"),
                        },
                        ended => break ended.is_ok(),
                    }
                };
                asking.close(CloseCode::Done).await;
                (ids, confirmed, ended)
            };
            let ((ids, confirmed, ended), _) =
                tokio::join!(asked, receive(&taking, &reception, &inbox));
            let outcome = inbox.outcome.take().expect("one outcome");
            let texts: Vec<_> =
                vector["texts"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
            assert_eq!(*inbox.texts.borrow(), texts, "{scenario}");
            match vector["expect"].as_str().unwrap() {
                "ok" => {
                    assert_eq!(outcome, Ok(texts.len() as u64), "{scenario}");
                    assert!(ended && confirmed == ids, "{scenario}");
                }
                class => assert_eq!(outcome, Err(class.to_owned()), "{scenario}"),
            }
        }
    });
}

fn message(frame: &Frame) -> Option<Content> {
    Message::decode(&frame.payload, Limits::default()).ok()?.content
}

/// Texts that were delivered, and the end of the series.
#[derive(Default)]
struct Series {
    texts: RefCell<Vec<String>>,
    outcome: RefCell<Option<Result<u64, String>>>,
}

impl Inbox for Series {
    fn progress(&self, _: PeerId, _: u64) {}

    fn file(&self, _: PeerId, outcome: Result<Stored, ReceiveFileError>) {
        panic!("{outcome:?}");
    }

    fn message(&self, _: PeerId, message: &RichMessageView<'_>) -> std::io::Result<()> {
        self.texts.borrow_mut().push(message.body.unwrap().as_str().to_owned());
        Ok(())
    }

    fn flush(&self) -> std::io::Result<()> {
        Ok(())
    }

    fn messages(&self, _: PeerId, outcome: Result<u64, ReceiveMessagesError>) {
        let outcome = outcome.map_err(|error| match error {
            ReceiveMessagesError::Refusal(refusal) => refusal.code().to_owned(),
            other => format!("{other:?}"),
        });
        assert!(self.outcome.borrow_mut().replace(outcome).is_none(), "one outcome");
    }
}

fn reception(scratch: &Scratch, max_size: u64) -> Reception {
    Reception {
        folder: scratch.path("").to_owned(),
        max_size,
        quota: TransferQuota::new(1, u64::MAX),
        stall: Duration::from_secs(60),
        own: [0; 32],
        now: || 0,
    }
}

/// Returns the frames of a vector, in the form that a sender of the transport accepts.
fn frames_to_send(vector: &Value) -> Vec<Frame> {
    let frames = (0..).zip(frames(vector)).map(|(sequence, bytes)| {
        let (header, len) =
            LiveHeader::parse(&bytes, sequence, Limits::default()).unwrap().unwrap();
        let frame = Frame::new(header.kind(), bytes[len..].to_vec());
        if header.is_sealed() { frame.sealed().unwrap() } else { frame }
    });
    frames.collect()
}

/// Parses frames from pieces of a stream, and follows the file.
fn pieces<'a>(pieces: impl Iterator<Item = &'a [u8]>, limit: u64) -> Outcome {
    let mut state = FileReceiver::new(limit);
    let mut follow = Follow::default();
    let file = follow.all(&mut state, pieces);
    let file = file.and_then(|()| state.end().map_err(Class::from));
    let last = match &file {
        Ok(()) => Some(Verdict::STORED),
        Err(Class(_, verdict)) => *verdict,
    };
    let last = last.and_then(|verdict| state.answer(verdict));
    follow.answers.extend(last.iter().map(|answer| verdict(answer)));
    let Follow { name, content, answers } = follow;
    Outcome { file: file.map(|()| (name, content)).map_err(|class| class.0), answers }
}

/// A class of refusal and the answer to it.
struct Class(String, Option<Verdict>);

impl From<Refusal> for Class {
    fn from(refusal: Refusal) -> Self {
        Self(refusal.code().into(), refusal.verdict())
    }
}

impl From<FrameError> for Class {
    fn from(error: FrameError) -> Self {
        Self(error.class().into(), None)
    }
}

#[derive(Default)]
struct Follow {
    name: String,
    content: Vec<u8>,
    answers: Vec<String>,
}

impl Follow {
    fn all<'a>(
        &mut self,
        state: &mut FileReceiver,
        pieces: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), Class> {
        let mut reader = LiveReader::new(Limits::default());
        for mut piece in pieces {
            while let Some(frame) = reader.next(&mut piece)? {
                match state.frame(Arrival::from(frame))? {
                    Action::Decide(offer) => {
                        self.name = offer.name.as_str().into();
                        self.answers.push(verdict(&state.accept()));
                    }
                    Action::Write(content) => self.content.extend(content),
                    Action::Wait => {}
                    other => panic!("{other:?}"),
                }
            }
        }
        Ok(reader.finish()?)
    }
}

/// Sends the frames to a receiver that stores the accepted files. Returns true in the second place
/// if the receiver reset the stream.
async fn over(pair: &Pair, vector: &Value) -> (Outcome, bool) {
    let scratch = Scratch::new();
    let reception = reception(&scratch, vector["limit"].as_u64().unwrap());
    let inbox = Seen::default();
    let (asking, taking) = pair.connect().await;
    let asked = async {
        let (mut stream, mut answers) = asking.open_exchange().await.unwrap();
        // A receiver that has refused wants no more content, which is not a fault here.
        let mut wanted = true;
        for frame in frames_to_send(vector) {
            wanted = wanted && stream.send(&frame).await.is_ok();
        }
        let _unwanted = stream.finish().await;
        let mut verdicts = Vec::new();
        let given_up = loop {
            match answers.receive().await {
                Ok(Some(answer)) => verdicts.push(verdict(&answer.payload)),
                ended => break ended.is_err(),
            }
        };
        asking.close(CloseCode::Done).await;
        (verdicts, given_up)
    };
    let ((answers, given_up), _) = tokio::join!(asked, receive(&taking, &reception, &inbox));
    let file = inbox
        .0
        .take()
        .expect("one outcome")
        .map(|stored| (stored.name.as_str().to_owned(), fs::read(stored.path).unwrap()));
    assert_eq!(scratch.names().len(), usize::from(file.is_ok()), "nothing is left behind");
    (Outcome { file, answers }, given_up)
}

/// The report that the receiver gives its user.
#[derive(Default)]
struct Seen(RefCell<Option<Result<Stored, String>>>);

impl Inbox for Seen {
    fn progress(&self, _: PeerId, _: u64) {}

    fn file(&self, _: PeerId, outcome: Result<Stored, ReceiveFileError>) {
        let outcome = outcome.map_err(|error| match error {
            ReceiveFileError::Refusal(refusal) => refusal.code().to_owned(),
            other => format!("{other:?}"),
        });
        assert!(self.0.borrow_mut().replace(outcome).is_none(), "one outcome");
    }

    fn message(&self, _: PeerId, _: &RichMessageView<'_>) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    fn flush(&self) -> std::io::Result<()> {
        Ok(())
    }

    fn messages(&self, _: PeerId, _: Result<u64, ReceiveMessagesError>) {}
}

/// Returns the name of the verdict in an answer.
fn verdict(answer: &[u8]) -> String {
    let answer = Message::decode(answer, Limits::default()).unwrap();
    let Some(Content::FileAnswer(answer)) = answer.content else { panic!("{answer:?}") };
    let contract = FileAnswer::contract();
    let field = contract.fields.iter().find(|field| field.name == "verdict").unwrap();
    let contract::Type::Enum { values, .. } = field.r#type else { panic!("{field:?}") };
    let (name, _) = values.iter().find(|value| value.1 == answer.verdict.value()).unwrap();
    (*name).to_owned()
}

fn expected(vector: &Value) -> Outcome {
    let text = |name: &str| vector[name].as_str().unwrap().to_owned();
    let file = match vector["expect"].as_str().unwrap() {
        "ok" => Ok((text("name"), unhex(&text("content")))),
        class => Err(class.to_owned()),
    };
    let answers = vector["answers"].as_array().unwrap().iter();
    Outcome { file, answers: answers.map(|name| name.as_str().unwrap().to_owned()).collect() }
}

fn frames(vector: &Value) -> Vec<Vec<u8>> {
    vector["frames"].as_array().unwrap().iter().map(|hex| unhex(hex.as_str().unwrap())).collect()
}

fn unhex(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn each(check: impl Fn(&str, &Value)) {
    files().iter().for_each(|(scenario, vector)| check(scenario, vector));
}

fn vectors() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/transfer");
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let vector = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), vector)
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn of_kind(kind: &str, count: usize) -> Vec<(String, Value)> {
    let found: Vec<_> =
        vectors().into_iter().filter(|(_, vector)| vector["kind"] == kind).collect();
    assert_eq!(found.len(), count);
    found
}

fn files() -> Vec<(String, Value)> {
    of_kind("file", 44)
}
