//! `endseal hub stats`: counts persons, devices and waiting frames.

use super::place::{self, Place};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json;

/// Count people, devices and waiting frames
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut store = args.place.store(ctx)?;
    let devices = store.devices().map_err(|error| place::storage(&error))?;
    let registered: Vec<_> = devices.iter().filter(|device| !device.is_revoked).collect();
    let mut people: Vec<_> = registered.iter().map(|device| device.identity).collect();
    people.sort_unstable();
    people.dedup();
    let frames: u64 = registered.iter().map(|device| device.frames).sum();
    let bytes: u64 = registered.iter().map(|device| device.bytes).sum();
    let fullest = registered.iter().map(|device| device.frames).max().unwrap_or_default();
    let text = format!(
        "people           {}\ndevices          {}\nwaiting          {frames} frames, {bytes} bytes\n\
         fullest mailbox  {fullest} frames\n",
        people.len(),
        registered.len(),
    );
    let json = json::object([
        ("people", people.len().into()),
        ("devices", registered.len().into()),
        ("waiting", frames.into()),
        ("bytes", bytes.into()),
        ("fullest", fullest.into()),
    ]);
    Ok(Outcome::new(text, json))
}
