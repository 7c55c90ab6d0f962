//! Lines about a hub that moves.

use endseal_node::messages::HubMove;

use crate::ctx::Ctx;
use crate::json::{self, Value};
use crate::printable::printable;

/// Returns the line about a change, and true if it is a warning.
pub(crate) fn line(hub_move: &HubMove) -> (bool, String) {
    match hub_move {
        HubMove::Announced { addresses } => {
            let addresses = printable(addresses);
            (
                false,
                format!("the hub moves to {addresses}: this device tries that, too, from now on"),
            )
        }
        HubMove::Reached { addresses } => {
            let addresses = printable(addresses);
            (false, format!("the hub is at {addresses} now, and its former address is forgotten"))
        }
        HubMove::Earlier {} => {
            (true, "the hub repeated an earlier address, which is not used".to_owned())
        }
        HubMove::Refused { class } => {
            let class = printable(class);
            let text = "the hub told another address in a note that is not valid";
            (true, format!("{text} ({class}), and not used: ask its operator"))
        }
        _ => (true, "the hub's address changed; this program does not know how".to_owned()),
    }
}

/// Notes the changes of a visit.
pub(crate) fn tell(moves: &[HubMove], ctx: &mut Ctx) {
    for hub_move in moves {
        let (is_warning, text) = line(hub_move);
        ctx.note(&format!("{}: {text}", if is_warning { "warning" } else { "note" }));
    }
}

/// Returns the changes as JSON.
pub(crate) fn rows(moves: &[HubMove]) -> Value {
    let row = |hub_move: &HubMove| {
        let (state, addresses, class) = match hub_move {
            HubMove::Announced { addresses } => ("announced", Some(addresses), None),
            HubMove::Reached { addresses } => ("reached", Some(addresses), None),
            HubMove::Earlier {} => ("earlier", None, None),
            HubMove::Refused { class } => ("refused", None, Some(class)),
            _ => ("unknown", None, None),
        };
        json::object([
            ("state", state.into()),
            ("addresses", addresses.cloned().into()),
            ("class", class.cloned().into()),
        ])
    };
    Value::Array(moves.iter().map(row).collect())
}
