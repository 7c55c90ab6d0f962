//! Exchanges that a peer has begun.

use endseal_transport::{Frame, FrameReceiver, FrameSender};

/// The first frame of an exchange, the rest of it, and the direction of the answers.
pub(super) type Request = (Frame, FrameReceiver, FrameSender);
