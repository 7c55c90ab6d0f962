//! Requests of unknown senders, in a line.

use endseal_crypto::ed25519::PublicKey;

use crate::names::Names;
use crate::printable::plural;

/// Requests that are named one by one.
const NAMED: usize = 3;

/// Describes requests: "2 requests of endseal1... and endseal1...".
pub(crate) fn text(persons: &[PublicKey], names: &Names) -> String {
    let count = plural(persons.len() as u64, "request");
    let named = persons.iter().take(NAMED).map(|person| names.identified(person));
    let named = named.collect::<Vec<_>>().join(", ");
    match persons.len().saturating_sub(NAMED) {
        0 => format!("{count} of {named}"),
        more => format!("{count} of {named} and {more} more"),
    }
}
