//! Encrypting to one device.

use alloc::vec::Vec;

use endseal_store::Standing;

use super::lane::Partner;
use crate::{Certificate, MAX_PLAINTEXT_LEN, Message, Ratchet, SendError};

/// The next message of the session that was used last, as it travels. `own` is the certificate of this
/// device, which the other side needs until it has answered.
pub(super) fn seal<R: Ratchet>(
    partner: &mut Partner<R>,
    own: &Certificate,
    plaintext: &[u8],
) -> Result<Vec<u8>, SendError> {
    if plaintext.len() > MAX_PLAINTEXT_LEN {
        return Err(SendError::TooLong);
    }
    let waits = partner.sessions.iter().any(|it| it.standing == Standing::AwaitsReset);
    let session = partner
        .sessions
        .iter_mut()
        .filter(|it| it.standing == Standing::Sends)
        .max_by_key(|it| it.used)
        .ok_or(if waits { SendError::Restored } else { SendError::NoSession })?;
    let sealed = session.ratchet.seal(plaintext).map_err(|_| SendError::Session)?;
    session.changed = true;
    let message = if sealed.prekey {
        Message::Prekey { tag: session.tag, certificate: own.as_bytes(), body: &sealed.body }
    } else {
        Message::Ratchet { tag: session.tag, body: &sealed.body }
    };
    message.to_bytes().map_err(|_| SendError::TooLong)
}
