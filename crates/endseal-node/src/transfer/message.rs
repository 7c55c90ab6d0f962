//! Encoding of the messages of transfers.

use endseal_codec::{
    Codec as _, Content, FileAnswer, FileEnd, FileOffer, Limits, Message, Receipt, ReceiptKind,
    Unknown, Verdict,
};

use super::name::FileName;

pub(super) fn file_offer(
    transfer: [u8; 16],
    name: &FileName,
    size: Option<u64>,
    timestamp: u64,
) -> Vec<u8> {
    let name = name.as_str().into();
    let offer = FileOffer { transfer, name, size, timestamp, unknown: Unknown::default() };
    encode(Content::FileOffer(offer))
}

pub(super) fn file_answer(transfer: [u8; 16], verdict: Verdict) -> Vec<u8> {
    let answer = FileAnswer { transfer, verdict, unknown: Unknown::default() };
    encode(Content::FileAnswer(answer))
}

pub(super) fn file_end(transfer: [u8; 16], size: u64, digest: [u8; 32]) -> Vec<u8> {
    let end = FileEnd { transfer, size, digest, unknown: Unknown::default() };
    encode(Content::FileEnd(end))
}

/// Encodes a receipt for 1 to 1,024 ids of one conversation, whose length the caller has checked.
pub(super) fn delivered(
    conversation: &[u8],
    sender: [u8; 32],
    messages: Vec<[u8; 16]>,
    timestamp: u64,
) -> Vec<u8> {
    encode(Content::Receipt(Receipt {
        conversation: conversation.into(),
        sender,
        kind: ReceiptKind::DELIVERED,
        messages,
        timestamp,
        unknown: Unknown::default(),
    }))
}

#[allow(clippy::expect_used, reason = "the message is the proof")]
fn encode(content: Content) -> Vec<u8> {
    let bytes = Message::from(content).to_vec(Limits::default());
    bytes.expect("every field is within its bounds: by its type, or by the caller's contract")
}
