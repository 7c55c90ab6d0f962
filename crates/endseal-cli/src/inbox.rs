//! Prints the files and messages of peers, line by line.

use core::cell::{Cell, RefCell};
use core::net::SocketAddr;
use std::io::{self, BufWriter, Write};

use endseal_codec::RichMessageView;
use endseal_keyring::PeerIdText;
use endseal_node::transfer::{Inbox, ReceiveFileError, ReceiveMessagesError, Stored};
use endseal_transport::PeerId;
use tokio::sync::Notify;

use crate::ctx::Ctx;
use crate::failure::{self, Failure};
use crate::json::{self, Value};
use crate::known_peers::KnownPeers;
use crate::printable::{plural, printable};
use crate::progress::Progress;
use crate::reachable;
use crate::time;

/// Prints arriving files and messages, for people or for programs.
pub(crate) struct Printer {
    out: RefCell<BufWriter<Box<dyn Write>>>,
    errors: RefCell<Box<dyn Write>>,
    json: bool,
    quiet: bool,
    peers: KnownPeers,
    shows_progress: bool,
    progress: RefCell<Option<(PeerId, Progress)>>,
    once: bool,
    outcome: Cell<Option<Result<(), Failure>>>,
    done: Notify,
}

impl Printer {
    /// Makes a printer, which takes the standard streams of the context.
    pub(crate) fn new(ctx: &mut Ctx, peers: KnownPeers, once: bool) -> Self {
        let shows_progress = ctx.shows_progress();
        Self {
            out: RefCell::new(BufWriter::new(core::mem::replace(
                &mut ctx.stdout,
                Box::new(io::sink()),
            ))),
            errors: RefCell::new(ctx.take_stderr()),
            json: ctx.global.json,
            quiet: ctx.global.quiet,
            peers,
            shows_progress,
            progress: RefCell::new(None),
            once,
            outcome: Cell::new(None),
            done: Notify::new(),
        }
    }

    /// Prints the peer id and address of this listener. If it listens on all addresses, people get
    /// one by which others reach it, and programs what is bound.
    pub(crate) fn listening(&self, own: PeerIdText, address: SocketAddr) -> Result<(), Failure> {
        let json = json::object([
            ("event", "listening".into()),
            ("peer_id", own.to_string().into()),
            ("address", address.to_string().into()),
        ]);
        self.line(|| format!("{own}@{}", reachable::address(address)), json)
            .and_then(|()| self.out.borrow_mut().flush())
            .map_err(|error| failure::standard(&error))?;
        if let Some(note) = reachable::note(address).filter(|_| !self.json && !self.quiet) {
            // A note that cannot be written is no reason to stop.
            let _ = writeln!(self.errors.borrow_mut(), "{note}");
        }
        Ok(())
    }

    /// Waits until receiving ends: after the first transfer with `once`, or after a failure of the
    /// output.
    pub(crate) async fn ended(&self) -> Result<(), Failure> {
        loop {
            self.done.notified().await;
            if let Some(outcome) = self.outcome.take() {
                return outcome;
            }
        }
    }

    fn end(&self, outcome: Result<(), Failure>) {
        self.outcome.set(Some(outcome));
        self.done.notify_one();
    }

    fn line(&self, text: impl FnOnce() -> String, json: Value) -> io::Result<()> {
        let mut out = self.out.borrow_mut();
        if self.json { writeln!(out, "{json}") } else { writeln!(out, "{}", text()) }
    }

    fn name(&self, peer: PeerId) -> String {
        let name = self.peers.with(|peers| peers.name_of(&peer).map(ToString::to_string));
        name.unwrap_or_else(|| PeerIdText::from(peer).to_string())
    }

    /// Prints a transfer that failed.
    fn failed(&self, peer: PeerId, failure: Failure) {
        let peer = self.name(peer);
        let mut errors = self.errors.borrow_mut();
        // If this fails too, the failure cannot be reported.
        let _ = if self.json {
            let mut json = failure.json();
            json["peer"] = peer.into();
            writeln!(errors, "{json}")
        } else {
            write!(errors, "{peer}: {}", failure.text())
        };
    }

    fn conclude(&self, peer: PeerId, written: io::Result<()>, outcome: Result<(), Failure>) {
        let written = written.and_then(|()| self.out.borrow_mut().flush());
        match (written, outcome) {
            // The reader of standard output is gone.
            (Err(error), _) => self.end(Err(failure::standard(&error))),
            (Ok(()), outcome) if self.once => self.end(outcome),
            (Ok(()), Err(failure)) => self.failed(peer, failure),
            (Ok(()), Ok(())) => {}
        }
    }
}

impl Inbox for Printer {
    fn progress(&self, peer: PeerId, received: u64) {
        let mut progress = self.progress.borrow_mut();
        if progress.is_none() {
            *progress = Some((peer, Progress::if_wanted(self.shows_progress, "receiving")));
        }
        // A terminal shows one bar, that of the first file in progress.
        if let Some((_, progress)) = progress.as_mut().filter(|(whose, _)| *whose == peer) {
            progress.at(received);
        }
    }

    fn file(&self, peer: PeerId, outcome: Result<Stored, ReceiveFileError>) {
        self.progress.borrow_mut().take_if(|(whose, _)| *whose == peer);
        match outcome {
            Ok(stored) => {
                let peer_name = self.name(peer);
                let json = json::object([
                    ("event", "file".into()),
                    ("peer", peer_name.clone().into()),
                    ("name", stored.name.as_str().into()),
                    ("size", stored.size.into()),
                    ("path", stored.path.display().to_string().into()),
                ]);
                let path = stored.path.display().to_string();
                let text =
                    || format!("{peer_name} sent {} ({} bytes)", printable(&path), stored.size);
                let written = self.line(text, json);
                self.conclude(peer, written, Ok(()));
            }
            Err(error) => self.conclude(peer, Ok(()), Err(error.into())),
        }
    }

    fn message(&self, peer: PeerId, message: &RichMessageView<'_>) -> io::Result<()> {
        let peer = self.name(peer);
        let body = message.body.map(|body| body.as_str()).unwrap_or_default();
        if !self.json {
            return self.line(|| format!("{peer}> {}", printable(body)), Value::Null);
        }
        let id = base16ct::lower::encode_string(message.id);
        let json = json::object([
            ("event", "message".into()),
            ("peer", peer.into()),
            ("id", id.into()),
            ("time", time::rfc3339(message.timestamp).into()),
            ("text", body.into()),
        ]);
        self.line(String::new, json)
    }

    fn flush(&self) -> io::Result<()> {
        self.out.borrow_mut().flush()
    }

    fn messages(&self, peer: PeerId, outcome: Result<u64, ReceiveMessagesError>) {
        match outcome {
            Ok(count) => {
                let peer_name = self.name(peer);
                let json = json::object([
                    ("event", "messages".into()),
                    ("peer", peer_name.clone().into()),
                    ("count", count.into()),
                ]);
                let mut written = Ok(());
                if self.json {
                    written = self.line(String::new, json);
                } else if !self.quiet {
                    let mut errors = self.errors.borrow_mut();
                    let _ = writeln!(errors, "{peer_name}: {}", plural(count, "message"));
                }
                self.conclude(peer, written, Ok(()));
            }
            Err(ReceiveMessagesError::Output(error)) => self.end(Err(failure::standard(&error))),
            Err(error) => self.conclude(peer, Ok(()), Err(error.into())),
        }
    }
}
