//! An exchange, from its first request to its end.

use endseal_codec::Codec as _;
use endseal_codec::frame::StoredFrame;
use endseal_codec::hub::{
    ByView, Code, HubRequest, PublishView, PutView, RegisterView, RequestView,
};
use endseal_crypto::peer_id::PeerId;

use super::group_put::GroupPut;
use super::kind::Kind;
use super::registration_state::{RegistrationState, allows};
use crate::credit::Credit;
use crate::limit::MAX_UNANSWERED;
use crate::recovery::RecoveryProof;
use crate::targets::Targets;
use crate::{payload_limits, stored_limits};

/// Work that a request asks for. After all but `Put`, `Find`, `Credit` and `Acknowledge` its answer
/// is the last of the exchange, and after `Subscribe` the answers are those of a
/// [`Subscription`](super::Subscription).
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a hub that overlooks one answers nothing")]
pub enum Action<'a> {
    /// Report the state of the node at the hub, to a node whose newest address note has this time.
    Hello(u64),
    /// Register the device with its certificate and person record.
    Register(RegisterView<'a>),
    /// Store a frame: its sequence, its mailboxes, its bytes.
    Put(u64, Targets<'a>, &'a [u8]),
    /// Store a frame for members of a group.
    PutGroup(GroupPut<'a>),
    /// Deliver the frames behind a position.
    Subscribe(u64, Credit),
    /// Deliver more frames, as this additional credit allows.
    Credit(Credit),
    /// Delete the frames up to a position.
    Acknowledge(u64),
    /// Look for a person by their identity or by the peer id of one of their devices.
    Find(ByView<'a>),
    /// Publish data of the device that other nodes can find.
    Publish(PublishView<'a>),
    /// Give a prekey of a device.
    Take(PeerId),
    /// Give the person record of an identity, if its key signed for this peer.
    Recover(&'a [u8; 32], RecoveryProof),
    /// Refuse the frame of a sequence, and go on.
    RefuseFrame(u64, Code),
    /// Refuse the request, and end the exchange.
    Refuse(Code),
}

/// State of one exchange of a hub: its kind, and the frames that still need an answer.
#[derive(Debug, Default)]
pub struct Exchange {
    kind: Option<Kind>,
    /// True after a refusal that ends it, or after the only request of its kind.
    has_ended: bool,
    /// Sequence of the last frame.
    last: Option<u64>,
    /// Number of frames that have no answer yet; bounded by the protocol.
    unanswered: usize,
}

impl Exchange {
    /// An exchange without a request yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Kind of the exchange, which the first request decides.
    #[must_use]
    pub const fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// Takes the payload of a frame of kind `control` that came from `peer`.
    pub fn request<'a>(
        &mut self,
        payload: &'a [u8],
        peer: &PeerId,
        state: RegistrationState,
    ) -> Action<'a> {
        let action = match HubRequest::view(payload, payload_limits()) {
            Ok(message) if !self.has_ended => self.take(message.request, peer, state),
            _ => Action::Refuse(Code::REQUEST),
        };
        self.has_ended = !matches!(
            action,
            Action::Put(..)
                | Action::PutGroup(_)
                | Action::RefuseFrame(..)
                | Action::Subscribe(..)
                | Action::Find(_)
                | Action::Credit(_)
                | Action::Acknowledge(_)
        );
        action
    }

    /// Notes that a frame has its answer.
    pub const fn answered(&mut self) {
        self.unanswered = self.unanswered.saturating_sub(1);
    }

    fn take<'a>(
        &mut self,
        request: RequestView<'a>,
        peer: &PeerId,
        state: RegistrationState,
    ) -> Action<'a> {
        let started = Kind::started_by(&request);
        match (self.kind, started) {
            (None, Some(kind)) => {
                if let Err(code) = allows(state, kind) {
                    return Action::Refuse(code);
                }
                self.kind = Some(kind);
            }
            (Some(kind @ (Kind::Put | Kind::Find)), Some(next)) if kind == next => {
                // A device may be revoked while its exchange is open.
                if let Err(code) = allows(state, kind) {
                    return Action::Refuse(code);
                }
            }
            (Some(Kind::Subscribe), None) => {
                if let Err(code) = allows(state, Kind::Subscribe) {
                    return Action::Refuse(code);
                }
            }
            _ => return Action::Refuse(Code::REQUEST),
        }
        match request {
            RequestView::Hello(hello) => Action::Hello(hello.address_time),
            RequestView::Register(register) => Action::Register(register),
            RequestView::Put(put) => self.put(&put, peer),
            RequestView::Subscribe(it) => {
                Action::Subscribe(it.after, Credit { frames: it.frames, bytes: it.bytes })
            }
            RequestView::Credit(more) => {
                Action::Credit(Credit { frames: more.frames, bytes: more.bytes })
            }
            RequestView::Acknowledge(acknowledge) => Action::Acknowledge(acknowledge.position),
            RequestView::Find(find) => Action::Find(find.by),
            RequestView::Publish(publish) => Action::Publish(publish),
            RequestView::Take(take) => Action::Take(PeerId::from_bytes(take.peer)),
            RequestView::Recover(it) => match it.signature.try_into() {
                Ok(proof) => Action::Recover(it.identity, RecoveryProof::from_bytes(proof)),
                Err(_) => Action::Refuse(Code::REQUEST),
            },
            _ => Action::Refuse(Code::REQUEST),
        }
    }

    fn put<'a>(&mut self, put: &PutView<'a>, peer: &PeerId) -> Action<'a> {
        let parsed = StoredFrame::parse(put.frame, stored_limits());
        let Ok(frame) = parsed.and_then(|frame| frame.vouched_by(peer.as_bytes())) else {
            // The frame has no sequence, so a refusal could not name it.
            return Action::Refuse(Code::FRAME);
        };
        let sequence = frame.stamp().sequence;
        if self.last.is_some_and(|last| sequence <= last) || self.unanswered >= MAX_UNANSWERED {
            return Action::Refuse(Code::REQUEST);
        }
        self.last = Some(sequence);
        let action = match &put.conversation {
            None => Targets::read(put.targets)
                .map(|targets| Action::Put(sequence, targets, put.frame))
                .map_err(|_| Code::TARGETS),
            Some(conversation) => {
                GroupPut::read(sequence, put.targets, put.frame, conversation, peer)
                    .map(Action::PutGroup)
            }
        };
        match action {
            Ok(action) => {
                self.unanswered += 1;
                action
            }
            Err(code) => Action::RefuseFrame(sequence, code),
        }
    }
}
