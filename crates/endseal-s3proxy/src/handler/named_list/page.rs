//! A page of the backend's list, and what of it a client may see.

use bytes::Bytes;

use super::asked::{Asked, Position};
use crate::error::S3Error;
use crate::object::names::Names;
use crate::target::is_reserved;
use crate::xml::{self, EntryKind, ListHead};

/// An entry of a page.
pub(super) struct Item {
    pub(super) kind: EntryKind,
    /// As the backend has it.
    pub(super) stored: String,
    /// Version or upload.
    pub(super) id: Option<String>,
    /// What clients call it; none if no client can name it.
    pub(super) client: Option<String>,
    is_visible: bool,
}

/// A page, in the order of its document.
pub(super) struct Page {
    pub(super) document: Bytes,
    pub(super) head: ListHead,
    pub(super) items: Vec<Item>,
    /// The items in the order of the backend's keys: common prefixes are among the objects.
    order: Vec<usize>,
    /// How many have names that do not open.
    pub(super) foreign: u64,
    kind: super::Kind,
}

impl Page {
    /// Reads a page.
    ///
    /// # Errors
    /// If it is none.
    pub(super) fn read(
        document: Bytes,
        asked: &Asked,
        position: &Position,
        names: &Names,
    ) -> Result<Self, S3Error> {
        let wrong = |_| S3Error::internal();
        let head = ListHead::read(&document).map_err(wrong)?;
        let (mut items, mut foreign) = (Vec::new(), 0);
        xml::entries(&document, |entry| {
            let stored = entry.key.as_deref().unwrap_or_default().to_owned();
            let is_own = is_reserved(&stored);
            let client = names.open_key(&stored).ok().filter(|_| !is_own && !stored.is_empty());
            foreign += u64::from(client.is_none() && !is_own);
            let is_wanted = client.as_deref().is_some_and(|key| key.starts_with(&asked.prefix));
            let is_visible = is_wanted && position.done.as_deref() != Some(stored.as_str());
            let id = entry.version_id.as_deref().or(entry.upload_id.as_deref());
            let id = id.map(str::to_owned);
            items.push(Item { kind: entry.kind, stored, id, client, is_visible });
        })
        .map_err(wrong)?;
        let mut order: Vec<usize> = (0..items.len()).collect();
        // Stable: versions of one key stay in their order.
        order.sort_by(|a, b| items[*a].stored.cmp(&items[*b].stored));
        Ok(Self { document, head, items, order, foreign, kind: asked.kind })
    }

    /// How many entries the client may see.
    pub(super) fn visible(&self) -> usize {
        self.items.iter().filter(|item| item.is_visible).count()
    }

    /// Whether the client sees nothing of this page, and there are others.
    pub(super) fn is_vain(&self) -> bool {
        self.head.is_truncated && self.visible() == 0
    }

    /// The first `max` of what the client may see, in the order of the backend's keys.
    pub(super) fn shown(&self, max: usize) -> Vec<usize> {
        let visible = self.order.iter().copied().filter(|at| self.items[*at].is_visible);
        visible.take(max).collect()
    }

    /// The last entry that a client could name.
    pub(super) fn last_opened(&self) -> Option<&Item> {
        let items = self.order.iter().rev().map(|at| &self.items[*at]);
        items.into_iter().find(|item| item.client.is_some())
    }

    /// Where the next page begins.
    ///
    /// # Errors
    /// If the backend does not say, or where this one began.
    pub(super) fn next(&self, position: &Position) -> Result<Position, S3Error> {
        let head = &self.head;
        let done = position.done.clone();
        let next = match self.kind {
            super::Kind::Objects2 => {
                let token = Some(head.next_token.clone().ok_or_else(S3Error::internal)?);
                Position { token, done, ..Position::default() }
            }
            _ => {
                // Without a delimiter, S3 leaves it to who asks to take the last key.
                let last = || self.order.last().map(|at| self.items[*at].stored.clone());
                let key = head.next_key.clone().or_else(last).ok_or_else(S3Error::internal)?;
                Position { key: Some(key), id: head.next_id.clone(), done, ..Position::default() }
            }
        };
        if next == *position { Err(S3Error::internal()) } else { Ok(next) }
    }
}
