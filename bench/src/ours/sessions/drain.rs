//! Peak memory that a batch takes, measured in a process of its own: in this process, memory that
//! the allocator has kept from earlier work would hide it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

use endseal_session::{Engine, MAX_MESSAGE_LEN};
use endseal_store::{OpenOptions, Store, Unlock};

use super::folder;
use super::shape::Shape;
use super::world::{Delivered, Names, World, all_delivered};
use crate::case::{self, Case};
use crate::program;
use crate::s3::process;
use crate::subject::{Extra, Failure};

/// Number of processes that are measured.
const PROCESSES: usize = 5;

/// Measures how much memory the process grows by, compared with when the backlog was loaded.
pub(super) fn memory(world: &World) -> Result<Vec<Extra>, Failure> {
    if !program::is_known() {
        return Ok(Vec::new());
    }
    let (place, backlog) = (world.place(), world.folder.at("backlog"));
    fs::write(&backlog, to_bytes(&world.backlog(0).messages))?;
    let mut samples = Vec::new();
    for _ in 0..PROCESSES {
        folder::put_back(&world.pristine(), &place)?;
        let output = program::role("drain")?
            .args([&place, &backlog])
            .args(world.shape.arguments())
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()?;
        let text = String::from_utf8(output.stdout)?;
        let grown = text.strip_prefix("rss_growth ").ok_or("the process reported no memory")?;
        samples.push(grown.trim().parse()?);
    }
    Ok(vec![Extra::less("rss_growth", "B", samples)])
}

/// Opens the backlog that `arguments` name and returns the memory that it took: "rss_growth", in
/// bytes.
///
/// # Errors
/// Fails if the arguments are wrong, if the backlog cannot be opened, or if the system is not
/// Linux.
pub(crate) fn serve(arguments: &[OsString]) -> Result<String, Failure> {
    let [place, backlog, shape @ ..] = arguments else {
        return Err("a store and a backlog".into());
    };
    let params = case::parameters(shape.iter().filter_map(|it| it.to_str()))?;
    let shape = Shape::new(&Case { params, ..Case::default() })?;
    let messages = read_all(Path::new(backlog))?;
    if messages.iter().any(|it| it.conversation >= shape.conversations) {
        return Err("the backlog is of another shape".into());
    }
    let names = Names::new(&shape);
    let envelopes = names.envelopes(&messages);
    let options = shape.options();
    let store = Store::open(Path::new(place), Unlock::None, OpenOptions::new())?;
    let mut receiver: Engine = Engine::open(store)?;
    // Resets the peak where the process may; otherwise the result is slightly larger.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let before = process::memory(std::process::id(), "VmHWM:")?;
    let report = receiver.decrypt_batch(&envelopes, &options)?;
    let peak = process::memory(std::process::id(), "VmHWM:")?;
    all_delivered(&report, messages.len())?;
    Ok(format!("rss_growth {}\n", peak.saturating_sub(before)))
}

/// Encodes messages: for each, conversation and length as 32-bit numbers, id, and body.
fn to_bytes(messages: &[Delivered]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    for it in messages {
        bytes.extend_from_slice(&number(it.conversation));
        bytes.extend_from_slice(&number(it.body.len()));
        bytes.extend_from_slice(&it.id);
        bytes.extend_from_slice(&it.body);
    }
    bytes
}

/// Reads messages one at a time, so that the file itself does not stay in memory.
fn read_all(file: &Path) -> Result<Vec<Delivered>, Failure> {
    let mut file = BufReader::new(File::open(file)?);
    let mut messages = Vec::new();
    while !file.fill_buf()?.is_empty() {
        let conversation = number(&mut file)?;
        let mut body = vec![0; number(&mut file)?.min(MAX_MESSAGE_LEN)];
        let mut id = [0; 16];
        file.read_exact(&mut id)?;
        file.read_exact(&mut body)?;
        messages.push(Delivered { conversation, id, body });
    }
    Ok(messages)
}

fn number(file: &mut impl Read) -> Result<usize, Failure> {
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes)?;
    Ok(usize::try_from(u32::from_le_bytes(bytes))?)
}
