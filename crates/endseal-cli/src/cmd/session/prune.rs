//! `endseal session prune`: deletes data of the store that is no longer needed.

use core::time::Duration;

use endseal_session::{PrunePolicy, Pruned};

use crate::ctx::{Ctx, Outcome};
use crate::duration::{self, DAY, WEEK};
use crate::failure::Failure;
use crate::json;
use crate::printable::plural;
use crate::sessions::{open, unlock, work_and_close};

/// Delete old notes of received messages, parked messages and key packages
///
/// Notes recognise repeated messages. A note is deleted if its message was taken from the inbox and
/// is older than --older-than. Its message is then refused if it comes again, because its key is
/// gone. Key packages are deleted 30 days after their lifetime, messages of unknown groups and
/// people after 30 days, sessions with a replaced device after 7 days. Age counts from the first
/// run: run it from time to time.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Age of notes that are deleted: longer than a message may be on its way
    #[arg(long, value_name = "TIME", default_value = "90d")]
    #[arg(value_parser = duration::between(DAY, 5_000 * WEEK))]
    older_than: Duration,
    /// Also delete sessions with people that have no message left
    #[arg(long)]
    unknown_senders: bool,
}

pub(crate) fn run(args: &Args, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let now = Duration::from_millis(ctx.now);
    let policy =
        PrunePolicy::new(now).tombstones(args.older_than).unknown_senders(args.unknown_senders);
    let (home, device) = unlock(ctx)?;
    let mut engine = open(&home, &device, wait)?;
    drop(device);
    let ended = engine.expire(ctx.now)? as u64;
    let all = work_and_close(engine, ctx, |engine, _| {
        let mut all = Pruned::default();
        loop {
            let pruned = engine.prune(&policy)?;
            all.tombstones += pruned.tombstones;
            all.key_packages += pruned.key_packages;
            all.parked += pruned.parked;
            all.sessions += pruned.sessions;
            all.dropped_sessions += pruned.dropped_sessions;
            all.damaged += pruned.damaged;
            if !pruned.more {
                return Ok(all);
            }
        }
    })?;
    if all.damaged > 0 {
        let rows = plural(all.damaged, "row");
        ctx.note(&format!("{rows} cannot be read and stay; see: endseal store check --read-data"));
    }
    let sessions = all.sessions + ended;
    let text = format!(
        "deleted: {}, {}, {}, {}",
        plural(all.tombstones + all.dropped_sessions, "note"),
        plural(all.parked, "parked message"),
        plural(all.key_packages, "key package"),
        plural(sessions, "session"),
    );
    let json = json::object([
        ("tombstones", all.tombstones.into()),
        ("dropped_sessions", all.dropped_sessions.into()),
        ("parked", all.parked.into()),
        ("damaged", all.damaged.into()),
        ("key_packages", all.key_packages.into()),
        ("sessions", sessions.into()),
    ]);
    Ok(Outcome::done(text, json))
}
