//! `endseal hub move`: tells nodes another address of the hub.

use endseal_crypto::peer_id::PeerId;
use endseal_crypto::random::OsRandom;
use endseal_hub::HubStore;
use endseal_keyring::{AddressNote, PeerIdText, SignAddressesError};

use super::place::{self, Place};
use crate::ctx::{Ctx, Outcome};
use crate::failure::{Failure, Kind};
use crate::json::{self, Value};
use crate::peer_address::HostAddress;
use crate::time;

/// Tell nodes another address of this hub, or show what they are told
///
/// The hub keeps its key. While it serves at the old address, it gives the new one, some seconds
/// after this command, to each node that visits: to endseal sync with the next visit, to endseal up
/// within an hour. Its log names the devices that know it. Then end the hub, and start it at the
/// new address with the same folder. Nodes try both addresses until it answers at the new one. A
/// person who did not visit runs endseal join --hub. A second call replaces the first one. Several
/// hubs with one database give the same note: name the addresses of all.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Address at which nodes will reach the hub; up to four
    ///
    /// Without a port it is 4433.
    #[arg(value_name = "HOST[:PORT]", num_args = 0..=AddressNote::MAX_COUNT)]
    addresses: Vec<HostAddress>,
    #[command(flatten)]
    place: Place,
}

pub(super) fn run(args: &Args, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let folder = args.place.open(ctx)?;
    let (key, hub) = folder.signing_key()?;
    let mut store = args.place.store_of(&folder, ctx)?;
    if args.addresses.is_empty() {
        let note = read(&mut *store, &hub)?;
        let text = note.as_ref().map_or_else(
            || "nodes are told no other address\n".to_owned(),
            |note| format!("{}  since {}\n", note.addresses(), time::local(note.time())),
        );
        return Ok(Outcome::new(text, object(note.as_ref())));
    }
    let addresses: Vec<_> = args.addresses.iter().map(ToString::to_string).collect();
    let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
    let mut made = None;
    let stored = store.transact(&mut |transaction| {
        // Locks a row, so that the later one of two commands has the later time.
        transaction.probe()?;
        // A note that cannot be read is replaced.
        let before = transaction.address_note()?;
        let before = before.and_then(|bytes| AddressNote::open(&bytes, &hub).ok());
        // Also for the same addresses: in a database that was put back, nodes may have a note
        // that is later than this one.
        let earliest = before.map_or(0, |note| note.time().saturating_add(1));
        let note = AddressNote::sign(&key, ctx.now.max(earliest), &addresses, &mut OsRandom);
        if let Ok(note) = &note {
            transaction.set_address_note(note.as_bytes())?;
        }
        made = Some(note);
        Ok(())
    });
    stored.map_err(|error| place::storage(&error))?;
    let note = made.unwrap_or(Err(SignAddressesError::Addresses)).map_err(|error| match error {
        SignAddressesError::Addresses => {
            Failure::usage(error.to_string()).hint("hub.example.org:4433")
        }
        error => Failure::of(Kind::Environment, &error),
    })?;
    let first = note.addresses().split(' ').next().unwrap_or_default();
    let text = format!(
        "nodes that visit learn that this hub will be at {}; others: endseal join --hub {}@{first}",
        note.addresses(),
        PeerIdText::from(hub),
    );
    Ok(Outcome::done(text, object(Some(&note))))
}

/// Reads the note, which the key of the hub must have signed. `None` if there is none.
fn read(store: &mut dyn HubStore, hub: &PeerId) -> Result<Option<AddressNote>, Failure> {
    let mut bytes = None;
    let read = store.transact(&mut |transaction| {
        bytes = transaction.address_note()?;
        Ok(())
    });
    read.map_err(|error| place::storage(&error))?;
    let note = bytes.map(|bytes| AddressNote::open(&bytes, hub)).transpose();
    note.map_err(|error| {
        let failure = Failure::new(Kind::Configuration, "the address note cannot be used");
        failure.because(&error).hint("endseal hub move ADDRESS replaces it")
    })
}

fn object(note: Option<&AddressNote>) -> Value {
    json::object([
        ("addresses", note.map(|note| note.addresses().to_owned()).into()),
        ("time", note.map(|note| time::rfc3339(note.time())).into()),
    ])
}
