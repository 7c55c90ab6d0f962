//! Receipts and read marks (docs/spec/node.md, "Receipts" and "Read marks").

use endseal_codec::{Codec as _, Content, ContentView, Limits, Message, Receipt, ReceiptKind};
use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::secret::Zeroizing;

use super::runs::Runs;
use super::text_id::{SERIES_LEN, TextId};

/// Limit on the runs of a receipt.
pub(super) const MAX_RUNS: usize = 32;

/// A receipt: the texts of a series that arrived at a device, or that a person has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextReceipt {
    pub(super) series: [u8; SERIES_LEN],
    pub(super) runs: Runs,
}

impl TextReceipt {
    /// Parses a plaintext in which a device of `sender` confirms texts of `writer`. Returns `None`
    /// if it is of another kind or form, or names others.
    #[must_use]
    pub fn read(
        kind: ReceiptKind,
        plaintext: &[u8],
        sender: &PublicKey,
        writer: &PublicKey,
    ) -> Option<Self> {
        let message = Message::view(plaintext, Limits::default()).ok()?;
        let Some(ContentView::Receipt(receipt)) = message.content else { return None };
        let is_of_both =
            receipt.sender == sender.as_bytes() && receipt.conversation == writer.as_bytes();
        if !is_of_both || receipt.kind != kind {
            return None;
        }
        let ids: Option<Vec<_>> =
            receipt.messages.iter().take(2 * MAX_RUNS + 1).map(TextId::read).collect();
        let ids = ids.filter(|ids| ids.len() <= 2 * MAX_RUNS)?;
        let (pairs, []) = ids.as_chunks::<2>() else { return None };
        let series = pairs.first()?[0].series;
        if ids.iter().any(|id| id.series != series) {
            return None;
        }
        let runs = pairs.iter().map(|[first, last]| (first.number, last.number)).collect();
        Some(Self { series, runs: Runs::new(runs)? })
    }

    /// Parses a plaintext in which another device of `own` says which texts were read. Returns them
    /// with the identity of their writer.
    pub(super) fn read_mark(plaintext: &[u8], own: &PublicKey) -> Option<(PublicKey, Self)> {
        let message = Message::view(plaintext, Limits::default()).ok()?;
        let Some(ContentView::Receipt(receipt)) = message.content else { return None };
        let writer = PublicKey::from_bytes(receipt.conversation.try_into().ok()?).ok()?;
        let read = Self::read(ReceiptKind::READ, plaintext, own, &writer)?;
        (writer != *own).then_some((writer, read))
    }

    /// Returns true if the plaintext is a receipt of any kind. Receipts are not shown.
    pub(super) fn is_in(plaintext: &[u8]) -> bool {
        let message = Message::view(plaintext, Limits::default()).ok();
        matches!(message.and_then(|it| it.content), Some(ContentView::Receipt(_)))
    }

    /// Encodes the plaintext in which a device of `sender` confirms texts of `writer`. Returns
    /// `None` if there are no runs, or more than [`MAX_RUNS`].
    pub(super) fn plaintext(
        &self,
        kind: ReceiptKind,
        sender: &PublicKey,
        writer: &PublicKey,
    ) -> Option<Zeroizing<Vec<u8>>> {
        let id = |number| TextId { series: self.series, number }.to_bytes();
        let ids: Vec<_> =
            self.runs.iter().flat_map(|(first, last)| [id(first), id(last)]).collect();
        if ids.len() > 2 * MAX_RUNS {
            return None;
        }
        let message = Message::from(Content::Receipt(Receipt {
            conversation: writer.as_bytes()[..].into(),
            sender: *sender.as_bytes(),
            kind,
            messages: ids,
            ..Receipt::default()
        }));
        message.to_vec(Limits::default()).ok().map(Zeroizing::new)
    }

    /// Returns the bytes of the series.
    #[must_use]
    pub fn series(&self) -> [u8; 8] {
        self.series
    }

    /// Returns the first and last number of each run of texts, in ascending order.
    pub fn runs(&self) -> impl Iterator<Item = (u64, u64)> {
        self.runs.iter()
    }
}
