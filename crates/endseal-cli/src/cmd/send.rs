//! `endseal send`: sends a file or messages to a peer.

use std::collections::HashSet;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::thread;

use endseal_node::transfer::{self, FileName, OutgoingFile, OutgoingMessage};
use endseal_transport::{Connection, TransportKey};
use tokio::sync::mpsc;

use crate::ctx::{self, Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json;
use crate::network::{self, Destination, Timeouts};
use crate::output::{DASH, Input};
use crate::passphrase;
use crate::peer_address::PeerAddress;
use crate::printable::plural;
use crate::progress::Progress;

/// Name of the file when standard input is sent.
const NAMELESS: &str = "stdin";
/// Limit on a line in bytes, so that it fits in a message of 1 MiB.
const MAX_LINE: u64 = (1 << 20) - 256;
/// Lines that are read ahead.
const AHEAD: usize = 256;

/// Send files, or messages, to a peer that listens
///
/// Connects by post-quantum QUIC to the named peer only. Exit code 0 means that the peer has all of
/// it: the files on its disk, or every message in its program. Of several files, those before one
/// that failed are there. The content is protected on the way only: to keep it sealed on the other
/// disk, seal it first.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A name of endseal peers or a peer id, and where it listens
    #[arg(value_name = "PEER@HOST[:PORT]")]
    to: PeerAddress,
    /// Files to send, one after the other [default: standard input]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Send each line as a message of its own
    #[arg(long, conflicts_with = "name")]
    lines: bool,
    /// Name of the file at the peer [default: its name, or stdin]
    #[arg(long, value_name = "NAME")]
    name: Option<FileName>,
    #[command(flatten)]
    timeouts: Timeouts,
}

pub(crate) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let home = ctx.home()?;
    let peer = args.to.peer.find(&home.peers()?)?;
    let names = names(args)?;
    let mut first = None;
    match paths(args).as_slice() {
        [only] => first = Some(Input::open(*only, ctx)?),
        several => several.iter().flatten().try_for_each(|path| check(path, ctx))?,
    }
    let device = passphrase::unlock_device(ctx, &home)?;
    let key = TransportKey::new(&device);
    let own = *device.public().ed25519().as_bytes();
    network::run(ctx.global.json, async |mut interrupt| {
        let hosts = core::slice::from_ref(&args.to.host);
        let limits = network::transfer_limits(args.timeouts.idle);
        let to = Destination { peer, hosts, timeouts: args.timeouts, limits };
        interrupt
            .with_connection(&key, &to, async |connection| match args.lines {
                false => {
                    let files = names.into_iter().zip(paths(args)).collect();
                    send_files(files, first.take(), args.timeouts, connection, ctx).await
                }
                true => {
                    let Some(input) = first.take() else { return Ok(Outcome::default()) };
                    let lines = lines(input.reader).map_err(unread)?;
                    let (timeout, mut ignored) = (args.timeouts.into(), |_| {});
                    let sent =
                        transfer::send_messages(connection, own, lines, timeout, &mut ignored);
                    let sent = sent.await?;
                    let json = json::object([("messages", sent.into())]);
                    Ok(Outcome::done(format!("{} sent", plural(sent, "message")), json))
                }
            })
            .await
    })
}

/// Returns the files of the arguments; `None` is standard input.
fn paths(args: &Args) -> Vec<Option<&Path>> {
    let given = args.files.iter().map(|path| Some(&**path).filter(|it| it.as_os_str() != DASH));
    if args.files.is_empty() { vec![None] } else { given.collect() }
}

/// Returns the names that the files get at the peer. Fails if two have the same.
fn names(args: &Args) -> Result<Vec<FileName>, Failure> {
    let paths = paths(args);
    if paths.len() > 1 && (args.lines || args.name.is_some()) {
        return Err(Failure::usage("--lines and --name are for one file")
            .hint("run the command once for each file"));
    }
    if args.lines {
        return Ok(Vec::new());
    }
    let names = paths.iter().map(|path| name(args.name.clone(), *path));
    let names = names.collect::<Result<Vec<_>, _>>()?;
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(twice) => Err(Failure::usage(format!("two files are called {}", twice.as_str()))
            .hint("send one of them alone, with another --name")),
        None => Ok(names),
    }
}

/// Fails if a file cannot be opened, before another one is sent. It is not kept open, because there
/// may be more files than a process can have open. A pipe is opened only once.
fn check(path: &Path, ctx: &mut Ctx) -> Result<(), Failure> {
    let is_pipe = path.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir());
    if is_pipe { Ok(()) } else { Input::open(Some(path), ctx).map(drop) }
}

/// Sends files one after the other. `first` is the first one if it is open already.
async fn send_files(
    files: Vec<(FileName, Option<&Path>)>,
    mut first: Option<Input>,
    timeouts: Timeouts,
    connection: &Connection,
    ctx: &mut Ctx,
) -> Result<Outcome, Failure> {
    let count = files.len();
    let (mut done, mut total) = (Vec::new(), 0);
    for (name, path) in files {
        let input = match first.take() {
            Some(input) => input,
            None => Input::open(path, ctx)?,
        };
        let shown = name.as_str().to_owned();
        let (size, content) = (input.len, input.reader);
        let mut progress = Progress::new(ctx, "sending", size);
        let file = OutgoingFile { name, size, time: ctx::now(), content };
        let mut at = |at| progress.at(at);
        let sent = transfer::send_file(connection, file, timeouts.into(), &mut at).await;
        drop(progress);
        let sent = sent.map_err(|error| {
            let failure = Failure::from(error);
            match count {
                1 => failure,
                _ => failure.because_text(format!("{shown}, after {} of {count}", done.len())),
            }
        })?;
        total += sent;
        done.push(json::object([("name", shown.into()), ("size", sent.into())]));
    }
    let bytes = plural(total, "byte");
    match done.pop() {
        Some(only) if count == 1 => {
            let name = only["name"].as_str().unwrap_or_default().to_owned();
            Ok(Outcome::done(format!("{name} is there, {bytes}"), only))
        }
        last => {
            done.extend(last);
            let json = json::object([("files", json::Value::Array(done))]);
            Ok(Outcome::done(format!("{count} files are there, {bytes}"), json))
        }
    }
}

fn unread(error: io::Error) -> Failure {
    Failure::new(Kind::Environment, "cannot read the content to send").because(&error)
}

/// Returns the name that the file gets at the peer.
fn name(given: Option<FileName>, path: Option<&Path>) -> Result<FileName, Failure> {
    if let Some(given) = given {
        return Ok(given);
    }
    let own = match path {
        Some(path) => path.file_name().unwrap_or_default().to_string_lossy(),
        None => NAMELESS.into(),
    };
    FileName::new(&own).map_err(|error| {
        Failure::usage(format!("'{own}' cannot be the file's name there"))
            .because(&error)
            .hint("give another one with --name")
    })
}

/// Reads lines in a thread of its own, some lines ahead.
fn lines(content: Box<dyn Read + Send>) -> io::Result<mpsc::Receiver<io::Result<OutgoingMessage>>> {
    let (lines, taken) = mpsc::channel(AHEAD);
    thread::Builder::new().name("read".into()).spawn(move || {
        let mut content = BufReader::with_capacity(64 * 1024, content);
        let mut number = 0_u64;
        loop {
            number += 1;
            let line = line(&mut content, number).transpose();
            let Some(line) = line else { return };
            let failed = line.is_err();
            if lines.blocking_send(line).is_err() || failed {
                return;
            }
        }
    })?;
    Ok(taken)
}

/// Reads the next line. Returns `None` at the end.
fn line(
    content: &mut BufReader<Box<dyn Read + Send>>,
    number: u64,
) -> io::Result<Option<OutgoingMessage>> {
    let invalid = |why| Err(io::Error::new(io::ErrorKind::InvalidData, why));
    let mut line = Vec::new();
    if content.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    if line.len() as u64 > MAX_LINE {
        return invalid(format!("line {number} is longer than {MAX_LINE} bytes"));
    }
    match String::from_utf8(line) {
        Ok(text) => Ok(Some(OutgoingMessage { text, time: ctx::now() })),
        Err(_) => invalid(format!("line {number} is not text in UTF-8")),
    }
}
