//! Encryption to one device.

use alloc::vec::Vec;

use endseal_keyring::device::Certificate;
use endseal_store::SessionStatus;

use super::conversation_state::RemoteDevice;
use crate::{Binding, MAX_PLAINTEXT_LEN, Message, PlaintextHead, Ratchet, SendError};

/// Encrypts a text on the session that was used last, and returns the encoded message. `own` is the
/// certificate of this device, which is sent until the other side has answered.
pub(super) fn seal<R: Ratchet>(
    remote_device: &mut RemoteDevice<R>,
    own: &Certificate,
    text: &[u8],
) -> Result<Vec<u8>, SendError> {
    if text.len() > MAX_PLAINTEXT_LEN {
        return Err(SendError::TooLong);
    }
    let waits = remote_device.sessions.iter().any(|it| it.status == SessionStatus::NeedsReset);
    let session = remote_device
        .sessions
        .iter_mut()
        .filter(|it| it.status == SessionStatus::Active)
        .max_by_key(|it| it.used)
        .ok_or(if waits { SendError::Restored } else { SendError::NoSession })?;
    // Until the other side has answered, the head names both sides of the session.
    let is_first = !session.ratchet.has_received();
    let head = if is_first {
        let binding = Binding::of(own.as_bytes(), &remote_device.address, &session.agreement);
        PlaintextHead::Bound(binding)
    } else {
        PlaintextHead::Plain
    };
    let sealed = session.ratchet.seal(&head.before(text)).map_err(|_| SendError::Session)?;
    session.changed = true;
    if sealed.prekey != is_first {
        return Err(SendError::Session);
    }
    let message = if sealed.prekey {
        Message::Prekey { tag: session.tag, certificate: own.as_bytes(), body: &sealed.body }
    } else {
        Message::Ratchet { tag: session.tag, body: &sealed.body }
    };
    message.to_bytes().map_err(|_| SendError::TooLong)
}
