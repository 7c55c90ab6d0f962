//! Purposes of exchanges, each with the request that opens it.

use endseal_codec::hub::RequestView;

/// Purpose of an exchange: its first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the table of permissions has these rows")]
pub enum Kind {
    /// `hello`: asks for the state of the node at the hub.
    Hello,
    /// `register`: registers a device with its certificate.
    Register,
    /// `put`: stores frames in mailboxes.
    Put,
    /// `subscribe`: receives the frames of the node's own mailbox.
    Subscribe,
    /// `find`: looks for a person.
    Find,
    /// `publish`: publishes the device's certificate, person record and prekey bundles.
    Publish,
    /// `take`: takes a prekey bundle of another device.
    Take,
    /// `recover`: asks for one's own person record with a proof of the root key.
    Recover,
}

impl Kind {
    /// All kinds of exchanges, for tables and for counters.
    pub const ALL: [Self; 8] = [
        Self::Hello,
        Self::Register,
        Self::Put,
        Self::Subscribe,
        Self::Find,
        Self::Publish,
        Self::Take,
        Self::Recover,
    ];

    /// The exchange that a request begins, if it begins one.
    #[must_use]
    pub const fn started_by(request: &RequestView<'_>) -> Option<Self> {
        Some(match request {
            RequestView::Hello(_) => Self::Hello,
            RequestView::Register(_) => Self::Register,
            RequestView::Put(_) => Self::Put,
            RequestView::Subscribe(_) => Self::Subscribe,
            RequestView::Find(_) => Self::Find,
            RequestView::Publish(_) => Self::Publish,
            RequestView::Take(_) => Self::Take,
            RequestView::Recover(_) => Self::Recover,
            _ => return None,
        })
    }
}
