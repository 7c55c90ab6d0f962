//! Purposes of exchanges.

use endseal_codec::hub::RequestView;

/// Purpose of an exchange: its first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the table of permissions has these rows")]
pub enum Kind {
    /// `hello`
    Hello,
    /// `register`
    Register,
    /// `put`
    Put,
    /// `subscribe`
    Subscribe,
    /// `find`
    Find,
    /// `publish`
    Publish,
    /// `take`
    Take,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Hello,
        Self::Register,
        Self::Put,
        Self::Subscribe,
        Self::Find,
        Self::Publish,
        Self::Take,
    ];

    /// The exchange that a request begins, if it begins one.
    #[must_use]
    pub const fn begun_by(request: &RequestView<'_>) -> Option<Self> {
        Some(match request {
            RequestView::Hello(_) => Self::Hello,
            RequestView::Register(_) => Self::Register,
            RequestView::Put(_) => Self::Put,
            RequestView::Subscribe(_) => Self::Subscribe,
            RequestView::Find(_) => Self::Find,
            RequestView::Publish(_) => Self::Publish,
            RequestView::Take(_) => Self::Take,
            _ => return None,
        })
    }
}
