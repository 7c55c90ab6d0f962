//! Lines about changes of teams that others made.

use endseal_crypto::ed25519::PublicKey;
use endseal_node::messages::{Conversation, TeamChange, TeamChangeKind};

use crate::names::Names;
use crate::printable::printable;

/// Formats a change for people: "alice added bob to the group team". `None` for a kind that this
/// version does not know.
pub(crate) fn line(change: &TeamChange, own: &PublicKey, names: &Names) -> Option<String> {
    let Conversation::Group(team) = &change.team else { return None };
    let group = names.group(team);
    let by = match &change.by {
        Some(by) if by == own => "you".to_owned(),
        Some(by) => names.person(by, Some(team)),
        None => "others".to_owned(),
    };
    // A former member who is no contact has no name in the newest roster.
    let whom = |person: &PublicKey, name: &str| match names.contact(person) {
        _ if person == own => "you".to_owned(),
        Some(contact) => contact,
        None if name.is_empty() => names.identified(person),
        None => format!("{} (no contact)", printable(name)),
    };
    Some(match &change.kind {
        TeamChangeKind::Joined { person } => {
            let owner = names.person(person, Some(team));
            format!("you are a member of the group {group}, which {owner} owns")
        }
        TeamChangeKind::Renamed { from, to } => {
            format!("{by} renamed the group {} to {}", printable(from), printable(to))
        }
        TeamChangeKind::Added { person, name } => {
            format!("{by} added {} to the group {group}", whom(person, name))
        }
        TeamChangeKind::Removed { person, name } => {
            format!("{by} removed {} from the group {group}", whom(person, name))
        }
        TeamChangeKind::Owner { person, name } => {
            format!("{by} handed the group {group} over to {}", whom(person, name))
        }
        TeamChangeKind::Appointed { person, name } => {
            format!("{by} made {} an admin of the group {group}", whom(person, name))
        }
        TeamChangeKind::Dismissed { person, name } => {
            format!("{by} made {} a plain member of the group {group}", whom(person, name))
        }
        _ => return None,
    })
}
