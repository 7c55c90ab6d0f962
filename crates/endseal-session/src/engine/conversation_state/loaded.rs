//! States of a conversation as loaded from the store.

use alloc::vec::Vec;

use endseal_keyring::device::DeviceId;
use endseal_store::SessionStatus;

use super::direct_conversation::RemoteDevice;
use super::parking::Parked;
use crate::group::Group;

/// State of a device or group in the store, or the parked messages of a conversation.
pub(in crate::engine) enum Loaded<R> {
    RemoteDevice(Box<RemoteDevice<R>>),
    /// Device with a row that cannot be decoded.
    DamagedPartner(DeviceId),
    Group(Option<(Group, SessionStatus)>),
    /// Group with a row that cannot be decoded.
    DamagedGroup,
    Parked(Vec<Parked>),
}
