//! Changes of the hub's address that a user learns of.

use serde::{Deserialize, Serialize};

/// A change of the hub's address that a visit found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum HubMove {
    /// The hub told new addresses, each `host:port` with a space between two. They are tried beside
    /// the known ones.
    Announced {
        /// The new addresses.
        addresses: String,
    },
    /// The hub has answered at a new address. The former ones are forgotten.
    Reached {
        /// The new addresses.
        addresses: String,
    },
    /// The hub sent a note that is earlier than the one that is known. It was dropped.
    Earlier {},
    /// The hub sent a note that is not valid. It was dropped.
    Refused {
        /// Class of the fault: `version`, `length`, `key`, `addresses` or `signature`.
        class: String,
    },
}
