//! `endseal session begin`

use core::time::Duration;
use std::path::{Path, PathBuf};

use endseal_node::read_bounded;
use endseal_session::PrekeyBundle;
use endseal_store::SessionStatus;

use super::{MAX_BUNDLE_LEN, Partner, called, with};
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json;
use crate::output::Input;

/// Begin a session with the device of a bundle
///
/// The bundle must be of the person that is named: it is signed by their identity. Messages to them
/// go on the new session from now on.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Contact or identity
    name: String,
    /// The bundle [default: standard input]
    bundle: Option<PathBuf>,
    /// Begin anew although there is a session with the device
    #[arg(short, long)]
    force: bool,
}

pub(crate) fn run(args: &Args, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let partner = Partner::find(&args.name, ctx)?;
    let path = args.bundle.as_deref().unwrap_or(Path::new("standard input"));
    let input = Input::open(args.bundle.as_deref(), ctx)?;
    let bytes = read_bounded(input.reader, path, MAX_BUNDLE_LEN)?;
    let bundle = PrekeyBundle::from_bytes(&bytes).map_err(|error| {
        Failure::new(Kind::Refused, format!("'{}' is not a prekey bundle", path.display()))
            .because(&error)
            .hint("ask for another copy; they make one with: endseal session bundle")
    })?;
    let theirs = bundle.certificate().address();
    if theirs.identity != partner.identity {
        let contacts = ctx.home()?.contacts()?;
        let whose = called(theirs.identity, &contacts);
        let message = format!("the bundle is not one of {}", partner.name);
        return Err(Failure::new(Kind::Refused, message).because_text(format!("it is of {whose}")));
    }
    let own = with(wait, ctx, |engine, _| {
        engine.transaction(|transaction| {
            let sessions = transaction.sessions(theirs)?;
            let is_there = sessions.iter().any(|it| it.standing == SessionStatus::Active);
            if is_there && !args.force {
                return Err(there_already(&partner, theirs.device.number()));
            }
            Ok(transaction.begin_session(theirs, &bundle)?)
        })?;
        Ok(engine.address().device.number())
    })?;
    let device = theirs.device.number();
    let text = format!("session with {}, device {device}", partner.name);
    let json = json::object([
        ("name", partner.name.into()),
        ("device", device.into()),
        ("own_device", own.into()),
    ]);
    Ok(Outcome::done(text, json))
}

/// A bundle that was used before, as one that is given twice, would begin a session that the other
/// side cannot open: what is written on it would be lost.
fn there_already(partner: &Partner, device: u32) -> Failure {
    let name = &partner.name;
    Failure::usage(format!("there is a session with {name}, device {device}")).hint(
        "write on it; if they lost theirs, begin anew with a new bundle of theirs and --force",
    )
}
