//! Exchanges that a peer has opened.

use endseal_transport::{Frame, FrameReceiver, FrameSender};

/// First frame of an exchange, the receiver of the rest, and the sender for the answers.
pub(super) type Request = (Frame, FrameReceiver, FrameSender);
