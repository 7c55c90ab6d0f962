//! Payloads of frames (docs/spec/node.md, "Frames").

use endseal_codec::{Codec as _, Message, Scheme, Sealed, SealedMessage};
use endseal_delivery::stored_limits;

/// Id of an MLS group at a hub.
pub type HubGroupId = [u8; 16];

const MESSAGE: u8 = 1;
const WELCOME: u8 = 2;

/// Content of a frame of a group. Nothing in it is trusted until the group has authenticated it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "both are to be dealt with")]
pub enum PayloadKind {
    /// A message for members: a text, a note or a commit.
    Message,
    /// A welcome for devices that a commit added.
    Welcome,
}

/// Payload of a frame of a group.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Payload<'a> {
    /// Kind of the content.
    pub kind: PayloadKind,
    /// Group that the sender claims.
    pub group: &'a HubGroupId,
    /// Message or welcome of the group.
    pub body: &'a [u8],
}

impl<'a> Payload<'a> {
    /// Parses a payload. Returns `None` if it has another form.
    #[must_use]
    pub fn read(payload: &'a [u8]) -> Option<Self> {
        let sealed = SealedMessage::view(payload, stored_limits()).ok()?;
        let (kind, group) = sealed.context.split_first()?;
        let kind = match *kind {
            MESSAGE => PayloadKind::Message,
            WELCOME => PayloadKind::Welcome,
            _ => return None,
        };
        let group = group.try_into().ok()?;
        (sealed.scheme == Scheme::MLS).then_some(Self { kind, group, body: sealed.ciphertext })
    }

    /// Makes the payload for a message or a welcome of a group.
    #[must_use]
    pub fn seal(kind: PayloadKind, group: &HubGroupId, body: Vec<u8>) -> Sealed<Message> {
        let kind = match kind {
            PayloadKind::Message => MESSAGE,
            PayloadKind::Welcome => WELCOME,
        };
        Sealed::from_message(SealedMessage {
            scheme: Scheme::MLS,
            context: [&[kind][..], group].concat().into(),
            ciphertext: body.into(),
            ..SealedMessage::default()
        })
    }
}
