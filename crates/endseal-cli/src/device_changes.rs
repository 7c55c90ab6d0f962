//! Lines about devices that persons have newly, or have no more.

use endseal_crypto::ed25519::PublicKey;
use endseal_node::messages::DeviceChange;

use crate::names::Names;
use crate::time;

/// A line for people: "bob has a new device 7 since TIME".
pub(crate) fn line(change: &DeviceChange, own: &PublicKey, names: &Names) -> String {
    let DeviceChange { device, is_new, time, .. } = *change;
    let name = change.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let (subject, has) = match change.person == *own {
        true => ("you".to_owned(), "have"),
        false => (names.person(&change.person, None), "has"),
    };
    let time = time::local(time);
    match is_new {
        true => format!("{subject} {has} a new device {device}{name} since {time}"),
        false => format!("{subject} {has} revoked device {device}{name} since {time}"),
    }
}
