//! Delivery of a text, as far as is known.

use serde::{Deserialize, Serialize};

/// Delivery of a text that was written here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "all are to be dealt with")]
pub enum TextDelivery {
    /// The hub does not have it yet, or not for all devices.
    Unsent,
    /// The hub has taken it, and no device of the person has confirmed it.
    Undelivered,
    /// At least one of the devices that the person has now has confirmed it.
    Delivered,
}
