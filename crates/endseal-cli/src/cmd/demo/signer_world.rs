//! A relay, a signer and apps of one process.

use core::error::Error;
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use endseal_crypto::random::OsRandom;
use endseal_crypto::secret::Zeroizing;
use endseal_nostr::connect::{Bunker, ConnectSecret, ConnectUri};
use endseal_nostr::event::{Tags, Template};
use endseal_nostr::key::{PublicKey, SecretKey, SigningKey};
use endseal_relay::server::{Server, Settings};
use endseal_signer::client::{RemoteError, RemoteSigner};
use endseal_signer::control::{Command, Grant, GrantEffect, Reply, Request, call};
use endseal_signer::{Options, RunError, Signer};
use endseal_store::KdfParams;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::ctx;

const PASSPHRASE: &str = "alice and nobody else";
/// Longest wait for the signer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A relay, and the folder of its signer.
pub(super) struct World {
    runtime: Runtime,
    relay: Server,
    directory: PathBuf,
}

impl World {
    pub(super) fn new(folder: &Path) -> Result<Self, String> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(text)?;
        let bound = Server::bind(([127, 0, 0, 1], 0).into(), Settings::default());
        let relay = runtime.block_on(bound).map_err(text)?;
        Ok(Self { runtime, relay, directory: folder.join("signer") })
    }

    pub(super) fn url(&self) -> String {
        self.relay.url()
    }

    /// Waits until the signer has subscribed at the relay.
    pub(super) fn wait_for_signer(&self) -> Result<(), String> {
        let end = Instant::now() + PATIENCE;
        while self.relay.subscriptions() == 0 {
            if Instant::now() > end {
                return Err("the signer does not listen at the relay".to_owned());
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// A new signer with the key of a new user.
    pub(super) fn make(&self) -> Result<(Signer, PublicKey), String> {
        let made = Signer::init(&self.directory, PASSPHRASE, KdfParams::MINIMUM);
        let mut signer = made.map_err(text)?;
        let key = SecretKey::generate(&mut OsRandom).map_err(text)?;
        let secret = Zeroizing::new([&key.expose_secret()[..], PASSPHRASE.as_bytes()].concat());
        let request = Request { command: Command::Import { label: "alice".to_owned() }, secret };
        signer.command(now(), request).map_err(text)?;
        Ok((signer, key.public_key()))
    }

    /// Runs the signer on a thread. Returns once it is connected to the relay.
    pub(super) fn serve(&self, signer: Signer) -> Result<Serving, String> {
        let (stop, stopped) = oneshot::channel();
        let (begin, begun) = oneshot::channel();
        let options = Options { relays: vec![self.url()], ..Options::default() };
        let run = move || {
            let mut begin = Some(begin);
            let mut tell = |_| begin.take().is_some_and(|begin| begin.send(()).is_ok());
            // The other end is dropped.
            let stop = async { stopped.await.unwrap_or_default() };
            signer.serve(now(), &options, &mut tell, stop)
        };
        let thread = thread::Builder::new().name("signer".to_owned()).spawn(run).map_err(text)?;
        let directory = self.directory.clone();
        let serving = Serving { directory, stop: Some(stop), thread: Some(thread) };
        match begun.blocking_recv() {
            Ok(()) => Ok(serving),
            Err(_) => Err(serving.stop().err().unwrap_or_else(|| "it ended".to_owned())),
        }
    }
}

/// A signer that runs until it is stopped or dropped.
pub(super) struct Serving {
    directory: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), RunError>>>,
}

impl Serving {
    /// Executes a command over the signer's socket.
    pub(super) fn ask(&self, command: Command) -> Result<Reply, String> {
        let request = Request { command, secret: Zeroizing::new(Vec::new()) };
        call(&self.directory, &request).map_err(text)
    }

    pub(super) fn stop(mut self) -> Result<String, String> {
        match self.end() {
            Some(Ok(Ok(()))) | None => Ok("its store is closed".to_owned()),
            Some(Ok(Err(error))) => Err(text(error)),
            Some(Err(_)) => Err("its thread panicked".to_owned()),
        }
    }

    fn end(&mut self) -> Option<thread::Result<Result<(), RunError>>> {
        // Dropped, it says the same.
        drop(self.stop.take());
        Some(self.thread.take()?.join())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // The failed step tells.
        let _ = self.end();
    }
}

/// Invites an app that may do that so many times.
pub(super) fn allow(name: &str, rules: &str, uses: u32) -> Command {
    let (effect, rules, uses) = (GrantEffect::Allow, rules.to_owned(), Some(uses));
    Command::Invite {
        name: name.to_owned(),
        user: None,
        grants: vec![Grant { effect, rules, lifetime: None, uses, rate: None }],
        lifetime: None,
        invitation: 60,
        relays: Vec::new(),
    }
}

/// An app with a key of its own.
pub(super) struct App<'w> {
    world: &'w World,
    remote: RemoteSigner<'static>,
    secret: Option<ConnectSecret>,
}

impl<'w> App<'w> {
    pub(super) fn new(world: &'w World, uri: &str) -> Result<Self, String> {
        let mut buffer = Zeroizing::new(vec![0; uri.len()]);
        let Bunker { signer, relays, secret } = match ConnectUri::parse(uri, &mut buffer) {
            Ok(ConnectUri::Bunker(bunker)) => bunker,
            Ok(_) => return Err("the URL is another one".to_owned()),
            Err(error) => return Err(text(error)),
        };
        let key = SigningKey::new(SecretKey::generate(&mut OsRandom).map_err(text)?);
        let bunker = Bunker { signer, relays, secret: None };
        let _guard = world.runtime.enter();
        let remote = RemoteSigner::new(&bunker, key, now(), |_| {}, |_| {}).map_err(text)?;
        Ok(Self { world, remote, secret })
    }

    pub(super) fn set_patience(&mut self, patience: Duration) {
        self.remote.set_patience(patience);
    }

    pub(super) fn connect(&mut self) -> Result<(), RemoteError> {
        self.world.runtime.block_on(self.remote.connect(self.secret.take(), now()))
    }

    /// Has an event of that kind signed. Returns its author.
    pub(super) fn sign(&mut self, kind: u16) -> Result<PublicKey, RemoteError> {
        let (tags, content) = (Tags::List(&[]), "at noon".into());
        let template = Template { pubkey: None, created_at: now(), kind, tags, content };
        let signed = self.world.runtime.block_on(self.remote.sign(&template, now()));
        signed.map(|(_, author)| author)
    }
}

fn now() -> u64 {
    ctx::now() / 1000
}

/// An error with its causes.
#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
pub(super) fn text(error: impl Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
