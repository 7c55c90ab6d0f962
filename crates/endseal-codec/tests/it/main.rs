//! Tests of the codec's public interface: published vectors through every way to read, and
//! properties that users rely on.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "these are tests")]
#![allow(clippy::cast_possible_truncation, reason = "random bits are cut to what is needed")]
#![allow(clippy::std_instead_of_alloc, reason = "tests run where there is an operating system")]

mod contract;
mod hostile;
mod live;
mod messages;
#[path = "../../examples/vectors/ml_dsa.rs"]
mod ml_dsa;
mod protection;
mod random;
mod replay;
mod stored;
mod vectors;

/// Runs a block for the message type of that name.
macro_rules! with_message {
    ($name:expr, $message:ident => $body:expr) => {
        match $name {
            "Message" => {
                type $message = endseal_codec::Message;
                $body
            }
            "SealedMessage" => {
                type $message = endseal_codec::SealedMessage;
                $body
            }
            other => panic!("message {other:?}"),
        }
    };
}
pub(crate) use with_message;
