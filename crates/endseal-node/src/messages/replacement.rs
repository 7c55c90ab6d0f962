//! Notice that a group of a conversation replaces another one (docs/spec/node.md, "Groups of a
//! conversation").

use endseal_codec::{Codec as _, Content, ContentView, Limits, Message, Metadata, RichMessage};
use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::secret::Zeroizing;

use super::conversation::Conversation;
use super::payload::HubGroupId;

/// Key of the metadata that names the replaced group.
const REPLACES: &str = "endseal.replaces";

/// Reads the plaintext of a message of a group. `None` if it is not such a notice.
pub(super) fn read(plaintext: &[u8]) -> Option<HubGroupId> {
    let message = Message::view(plaintext, Limits::default()).ok()?;
    let Some(ContentView::Rich(rich)) = message.content else { return None };
    let replaced = rich.metadata.get(REPLACES).filter(|_| rich.body.is_none())?;
    replaced.try_into().ok()
}

/// Encodes the notice.
pub(super) fn plaintext(
    sender: &PublicKey,
    conversation: &Conversation,
    replaced: &HubGroupId,
) -> Option<Zeroizing<Vec<u8>>> {
    let mut metadata = Metadata::default();
    metadata.insert(REPLACES, &replaced[..]);
    let message = Message::from(Content::Rich(RichMessage {
        id: *replaced,
        conversation: conversation.as_bytes().into(),
        sender: *sender.as_bytes(),
        metadata,
        ..RichMessage::default()
    }));
    message.to_vec(Limits::default()).ok().map(Zeroizing::new)
}
