//! Tests of both state machines, the hub's and the node's.
#![forbid(unsafe_code)]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::std_instead_of_alloc, reason = "tests have std")]

mod exchange;
mod simulator;
mod vectors;

use endseal_codec::frame::{Stamp, StoredFrame};
use endseal_codec::hub::{Answer, HubAnswer, HubRequest, Put, Request};
use endseal_codec::{Codec as _, Message, Scheme, Sealed, SealedMessage};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::{payload_limits, stored_limits};

pub(crate) fn peer(number: u8) -> PeerId {
    PeerId::from_bytes(&[number; 32])
}

pub(crate) fn request(request: Request) -> Vec<u8> {
    HubRequest::from(request).to_vec(payload_limits()).unwrap()
}

pub(crate) fn answer(answer: Answer) -> Vec<u8> {
    HubAnswer::from(answer).to_vec(payload_limits()).unwrap()
}

/// Builds a stored frame of a sender.
pub(crate) fn frame(sender: PeerId, sequence: u64, text: &[u8]) -> Vec<u8> {
    let message = SealedMessage {
        scheme: Scheme::PAIRWISE,
        ciphertext: text.into(),
        ..SealedMessage::default()
    };
    let stamp = Stamp { sequence, timestamp: 0, sender: *sender.as_bytes() };
    let sealed = Sealed::<Message>::from_message(message);
    StoredFrame::vouched(&sealed, stamp, stored_limits()).unwrap()
}

pub(crate) fn put(targets: &[PeerId], frame: &[u8]) -> Vec<u8> {
    let targets: Vec<u8> = targets.iter().flat_map(|it| *it.as_bytes()).collect();
    let put = Put { targets: targets.into(), frame: frame.into(), conversation: None };
    request(Request::Put(put))
}
