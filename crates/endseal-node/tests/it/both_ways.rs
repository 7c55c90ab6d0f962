//! Two peers that send and receive on one connection at the same time.

use core::cell::RefCell;
use core::time::Duration;
use std::io::{self, Cursor};

use endseal_codec::RichMessageView;
use endseal_node::transfer::{
    Echo, FileName, Inbox, OutgoingFile, OutgoingMessage, ReceiveFileError, ReceiveMessagesError,
    Reception, StallTimeout, Stored, TransferQuota, receive, send_file, send_messages,
};
use endseal_transport::{CloseCode, Connection, PeerId};
use tokio::sync::mpsc;
use tokio::time;

use crate::pair::{Pair, runtime};
use endseal_testing::Scratch;

/// Time that no step of these tests takes, even on a busy machine.
const MUCH: Duration = Duration::from_secs(30);
const COUNT: usize = 3_000;

/// Content that one side received.
#[derive(Default)]
struct Received {
    texts: RefCell<Vec<String>>,
    series: RefCell<Vec<Result<u64, String>>>,
    files: RefCell<Vec<Result<u64, String>>>,
}

impl Inbox for Received {
    fn progress(&self, _: PeerId, _: u64) {}

    fn file(&self, _: PeerId, outcome: Result<Stored, ReceiveFileError>) {
        let outcome = outcome.map(|stored| stored.size).map_err(|error| error.to_string());
        self.files.borrow_mut().push(outcome);
    }

    fn message(&self, _: PeerId, message: &RichMessageView<'_>) -> io::Result<()> {
        let text = message.body.map(|body| body.as_str().to_owned()).unwrap_or_default();
        self.texts.borrow_mut().push(text);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn messages(&self, _: PeerId, outcome: Result<u64, ReceiveMessagesError>) {
        let outcome = outcome.map_err(|error| format!("{error}: {error:?}"));
        self.series.borrow_mut().push(outcome);
    }
}

fn reception(scratch: &Scratch) -> Reception {
    Reception {
        folder: scratch.path("").to_owned(),
        max_size: 1 << 20,
        quota: TransferQuota::new(8, 1 << 20),
        stall: MUCH,
        own: [0; 32],
        now: || 0,
    }
}

fn texts(name: &str) -> Vec<String> {
    (0..COUNT).map(|n| format!("{name} {n}")).collect()
}

/// Sends a series of messages and, at the same time, a file and echoes.
async fn send_all(connection: &Connection, name: &str) {
    let (lines, coming) = mpsc::channel(COUNT);
    for text in texts(name) {
        lines.try_send(Ok(OutgoingMessage { text, time: 0 })).unwrap();
    }
    drop(lines);
    let stall = StallTimeout::default();
    let series = async {
        let mut nothing = |_| ();
        send_messages(connection, [0; 32], coming, stall, &mut nothing).await.unwrap()
    };
    let file = async {
        let mut nothing = |_| ();
        let content = Cursor::new(vec![7; 300_000]);
        let file =
            OutgoingFile { name: FileName::new(name).unwrap(), size: None, time: 0, content };
        send_file(connection, file, stall, &mut nothing).await.unwrap()
    };
    let echo = async {
        let mut echo = Echo::open(connection, stall).await.unwrap();
        for n in 0..20 {
            echo.call(vec![n; 8]).await.unwrap();
        }
    };
    let (sent, size, ()) = tokio::join!(series, file, echo);
    assert_eq!((sent, size), (COUNT as u64, 300_000));
}

#[test]
fn both_sides_send_series_files_and_echoes_over_one_connection() {
    runtime().block_on(async {
        let pair = Pair::new().await;
        let (asking, taking) = pair.connect().await;
        let scratches = [Scratch::new(), Scratch::new()];
        let receptions = [reception(&scratches[0]), reception(&scratches[1])];
        let inboxes = [Received::default(), Received::default()];
        let sending = async {
            tokio::join!(send_all(&asking, "asking"), send_all(&taking, "taking"));
            asking.close(CloseCode::Done).await;
        };
        let all = async {
            tokio::join!(
                sending,
                receive(&asking, &receptions[0], &inboxes[0]),
                receive(&taking, &receptions[1], &inboxes[1]),
            )
        };
        time::timeout(MUCH, all).await.expect("nobody waits for a stream that another took");
        for (inbox, from) in inboxes.iter().zip(["taking", "asking"]) {
            assert_eq!(*inbox.texts.borrow(), texts(from));
            assert_eq!(*inbox.series.borrow(), [Ok(COUNT as u64)]);
            assert_eq!(*inbox.files.borrow(), [Ok(300_000)]);
        }
    });
}

/// Several series at once wait for each other, but not for an exchange without a first frame.
#[test]
fn series_of_one_side_follow_each_other() {
    runtime().block_on(async {
        let pair = Pair::new().await;
        let (asking, taking) = pair.connect().await;
        let scratch = Scratch::new();
        let (reception, inbox) = (reception(&scratch), Received::default());
        let series = async |name: &'static str| {
            let (lines, coming) = mpsc::channel(COUNT);
            for text in texts(name) {
                lines.try_send(Ok(OutgoingMessage { text, time: 0 })).unwrap();
            }
            drop(lines);
            let (stall, mut nothing) = (StallTimeout::default(), |_| ());
            send_messages(&asking, [0; 32], coming, stall, &mut nothing).await.unwrap();
        };
        let _silent = asking.open_exchange().await.unwrap();
        let sending = async {
            tokio::join!(series("a"), series("b"));
            asking.close(CloseCode::Done).await;
        };
        let all = async { tokio::join!(sending, receive(&taking, &reception, &inbox)) };
        time::timeout(MUCH, all).await.unwrap();
        let received = inbox.texts.borrow();
        let (first, second) = received.split_at(COUNT);
        let mut both = [first, second];
        both.sort_unstable();
        assert_eq!(both, [&texts("a")[..], &texts("b")[..]]);
    });
}
