//! `endseal hub quota`: limits what may wait from and for a person.

use core::fmt::Write as _;
use std::collections::{BTreeMap, HashMap};

use endseal_hub::{HubLimits, HubStore, Quota};

use super::named;
use super::people::identity;
use super::place::{self, Place};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};

/// Limit what waits from and for a person, or list limits and what is used
///
/// A limit holds for all devices of the person, also later ones, and within 15 seconds, also while
/// the hub runs. What waits already stays. Without a limit, as much may wait from a person as
/// is left of the space for others, and 256 MiB in each of its mailboxes. The options that are
/// given change; the other limit stays.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Identity or name of the invitation of a person, or peer id of a device
    ///
    /// endseal hub people lists them. Without it, all people are listed.
    who: Option<String>,
    /// MiB of the person's texts that may wait in all mailboxes together
    ///
    /// A text counts once for each mailbox. Above it, the person's texts wait on their devices.
    #[arg(long, value_name = "MIB", requires = "who")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    from: Option<u64>,
    /// MiB that may wait in each mailbox of the person
    ///
    /// The number of frames changes in the same proportion, from 100,000.
    #[arg(long = "for", value_name = "MIB", requires = "who")]
    #[arg(value_parser = clap::value_parser!(u64).range(4..=1 << 40))]
    mailbox: Option<u64>,
    /// Remove both limits
    #[arg(long, requires = "who", conflicts_with_all = ["from", "mailbox"])]
    unset: bool,
    #[command(flatten)]
    place: Place,
}

/// Bytes that wait from and for a person.
#[derive(Default)]
struct PersonUse {
    name: String,
    from: u64,
    /// The fullest mailbox of the person.
    mailbox: u64,
    /// True if all devices are revoked.
    is_gone: bool,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let mut store = args.place.store(ctx)?;
    let devices = store.devices().map_err(|error| place::storage(&error))?;
    let totals = store
        .reader()
        .and_then(|mut reader| reader.totals())
        .map_err(|error| place::storage(&error))?;
    let totals: HashMap<_, _> = totals.into_iter().collect();
    let mut persons = BTreeMap::<_, PersonUse>::new();
    for device in &devices {
        let person = persons
            .entry(device.identity)
            .or_insert(PersonUse { is_gone: true, ..PersonUse::default() });
        person.is_gone &= device.is_revoked;
        if person.name.is_empty() {
            person.name.clone_from(&device.invitation);
        }
        person.from = totals.get(&device.identity).copied().unwrap_or_default();
        person.mailbox = person.mailbox.max(device.bytes);
    }
    if let Some(who) = &args.who {
        let named = named::find(devices, who)?;
        let named = named.devices.first().map(|device| device.identity);
        persons.retain(|identity, _| Some(*identity) == named);
    }
    let quotas = match persons.keys().next() {
        Some(identity) if args.unset || args.from.is_some() || args.mailbox.is_some() => {
            change(&mut *store, identity, args)?
        }
        _ => read(&mut *store)?,
    };
    let (mut text, mut list) = (String::new(), Vec::new());
    for (key, PersonUse { name, from, mailbox, is_gone }) in persons {
        let quota = quotas.get(&key).copied().unwrap_or_default();
        // Who comes back has the quota of before.
        if is_gone && args.who.is_none() && quota == Quota::default() {
            continue;
        }
        let identity = identity(&key);
        let limit_from = quota.from.map_or("no limit".to_owned(), |it| format!("of {it}"));
        let limit_for = match quota.mailbox {
            Some(limit) => format!("of {limit}"),
            None => format!("of {}, as for all", HubLimits::default().mailbox_bytes),
        };
        let head = if name.is_empty() { identity.clone() } else { format!("{name}  {identity}") };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{head}\n  from  {from} bytes, {limit_from}\n  for   {mailbox} bytes, {limit_for}"
        );
        list.push(json::object([
            ("identity", identity.into()),
            ("invitation", name.into()),
            ("from", from.into()),
            ("from_limit", quota.from.into()),
            ("for", mailbox.into()),
            ("for_limit", quota.mailbox.into()),
        ]));
    }
    Ok(Outcome::new(text, json::object([("people", Value::Array(list))])))
}

fn read(store: &mut dyn HubStore) -> Result<HashMap<[u8; 32], Quota>, Failure> {
    let mut quotas = Vec::new();
    let read = store.transact(&mut |transaction| {
        quotas = transaction.quotas()?;
        Ok(())
    });
    read.map_err(|error| place::storage(&error))?;
    Ok(quotas.into_iter().collect())
}

/// Changes the limits of a person in one transaction. Returns all quotas.
fn change(
    store: &mut dyn HubStore,
    identity: &[u8; 32],
    args: &Args,
) -> Result<HashMap<[u8; 32], Quota>, Failure> {
    let mut quotas = HashMap::new();
    let changed = store.transact(&mut |transaction| {
        let all = transaction.change_quota(identity, &|before| {
            let before = if args.unset { Quota::default() } else { before };
            Quota {
                from: args.from.map(|mib| mib << 20).or(before.from),
                mailbox: args.mailbox.map(|mib| mib << 20).or(before.mailbox),
            }
        })?;
        quotas = all.into_iter().collect();
        Ok(())
    });
    changed.map_err(|error| place::storage(&error))?;
    Ok(quotas)
}
