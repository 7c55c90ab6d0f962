//! Texts (docs/spec/node.md, "Texts").

use endseal_codec::{
    Body, BodyView, Codec as _, Content, ContentView, Limits, Message, RichMessage,
};
use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::secret::Zeroizing;

use super::conversation::Conversation;

/// Limit on the length of a text in bytes of UTF-8. With the padding of a group, which hides the
/// length, a message then has less than 1 MiB.
pub const MAX_TEXT_LEN: usize = 800_000;

/// A decoded text and its metadata.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "it is secret")]
#[non_exhaustive]
pub struct Text<'a> {
    /// Time at which it was written, in milliseconds since 1970, as its author claims.
    pub time: u64,
    /// Content of the text.
    pub text: &'a str,
    id: &'a [u8; 16],
}

impl<'a> Text<'a> {
    /// Decodes a plaintext that `sender` wrote to a person or group. Returns `None` if it has
    /// another form, or names another sender or receiver.
    #[must_use]
    pub fn read(plaintext: &'a [u8], sender: &PublicKey, to: &Conversation) -> Option<Self> {
        let message = Message::view(plaintext, Limits::default()).ok()?;
        let Some(ContentView::Rich(rich)) = message.content else { return None };
        if rich.sender != sender.as_bytes() || rich.conversation != to.as_bytes() {
            return None;
        }
        let text = rich.body.map(BodyView::as_str)?;
        Some(Self { time: rich.timestamp, text, id: rich.id })
    }

    /// Returns the id that the author assigned.
    pub(super) fn id(&self) -> &'a [u8; 16] {
        self.id
    }
}

/// Encodes a text that `sender` writes at `time`, in milliseconds since 1970. Returns `None` if it
/// is longer than [`MAX_TEXT_LEN`].
pub(super) fn plaintext(
    id: [u8; 16],
    sender: &PublicKey,
    to: &Conversation,
    time: u64,
    text: &str,
) -> Option<Zeroizing<Vec<u8>>> {
    if text.len() > MAX_TEXT_LEN {
        return None;
    }
    let message = Message::from(Content::Rich(RichMessage {
        id,
        conversation: to.as_bytes().into(),
        sender: *sender.as_bytes(),
        timestamp: time,
        body: Some(Body::Text(text.into())),
        ..RichMessage::default()
    }));
    message.to_vec(Limits::default()).ok().map(Zeroizing::new)
}
