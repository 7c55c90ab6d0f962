//! Selection of a page of a sorted list out of entries that come in any order.

use std::collections::BTreeMap;

use endseal_s3_protocol::xml::{EntryKind, ListEntry};

use super::list_request::{ListKind, ListRequest};

/// Entry of a page, with the client's key.
pub(super) struct SelectedEntry {
    /// Kind of the entry. Keys that are grouped have [`EntryKind::CommonPrefix`].
    pub(super) kind: EntryKind,
    pub(super) key: String,
    pub(super) entry: ListEntry,
}

/// Key, and number of the entry among those that have the key.
type Place = (String, u64);

/// Keeps the first entries of a sorted page, and one more that shows whether the list goes on. It
/// needs memory for these alone, however many entries are added.
///
/// Keys are in the order of their bytes. Versions and uploads of one key stay in the order in which
/// they are added.
pub(super) struct Selection<'a> {
    asked: &'a ListRequest,
    /// Key, or common prefix, after which the page begins.
    after: Option<String>,
    /// Version or upload of this key after which the page begins.
    after_id: Option<String>,
    entries: BTreeMap<Place, SelectedEntry>,
    /// Entries of the key `after` that were added before the one with `after_id`. They are on the
    /// page if no entry has this id: it was deleted since the page before.
    before_id: Vec<(Place, SelectedEntry)>,
    is_id_found: bool,
    added: u64,
}

impl<'a> Selection<'a> {
    /// Creates a selection for the page that begins after a key and, for versions and uploads, an
    /// id of the backend.
    pub(super) fn new(
        asked: &'a ListRequest,
        after: Option<String>,
        after_id: Option<String>,
    ) -> Self {
        let after_id = after_id.filter(|_| after.is_some());
        let (entries, before_id) = (BTreeMap::new(), Vec::new());
        Self { asked, after, after_id, entries, before_id, is_id_found: false, added: 0 }
    }

    /// Adds an entry with the client's `key`. Keys without the request's prefix are ignored, and so
    /// are entries that were added before.
    pub(super) fn add(&mut self, key: &str, entry: ListEntry) {
        if !key.starts_with(&self.asked.prefix) {
            return;
        }
        let (name, kind) = match self.asked.common_prefix(key) {
            Some(prefix) => (prefix, EntryKind::CommonPrefix),
            None => (key, entry.kind),
        };
        let has_ids = matches!(self.asked.kind, ListKind::Versions | ListKind::Uploads);
        let has_id = has_ids && kind != EntryKind::CommonPrefix;
        self.added += 1;
        let place = (name.to_owned(), if has_id { self.added } else { 0 });
        let selected = SelectedEntry { kind, key: name.to_owned(), entry };
        if let Some(after) = self.after.as_deref() {
            if has_id && name == after && self.after_id.is_some() {
                if selected.entry.id == self.after_id {
                    self.is_id_found = true;
                    self.before_id = Vec::new();
                    return;
                }
                if !self.is_id_found {
                    if self.before_id.len() <= self.asked.max {
                        self.before_id.push((place, selected));
                    }
                    return;
                }
            } else if key <= after || name == after {
                // A common prefix that was on the page before is not shown again, whatever is in
                // it.
                return;
            }
        }
        self.insert(place, selected);
    }

    /// Returns true if no key in a folder, or behind it, can be on the page: all its entries are
    /// known.
    pub(super) fn ends_before(&self, folder: &str) -> bool {
        let last = self.entries.last_key_value();
        self.entries.len() > self.asked.max
            && last.is_some_and(|((last, _), _)| last.as_str() <= folder)
    }

    /// Returns true if keys in a folder can have the request's prefix, and be behind its marker.
    pub(super) fn can_have(&self, folder: &str) -> bool {
        let is_behind = |after: &String| folder > after.as_str() || after.starts_with(folder);
        folder.starts_with(&self.asked.prefix) && self.after.as_ref().is_none_or(is_behind)
    }

    fn insert(&mut self, place: Place, selected: SelectedEntry) {
        let is_full = self.entries.len() > self.asked.max;
        if is_full && self.entries.last_key_value().is_some_and(|(last, _)| *last <= place) {
            return;
        }
        // Servers differ in whether a page of versions begins with the last one of the page before.
        if place.1 > 0 {
            let mut same = self.entries.range((place.0.clone(), 0)..=(place.0.clone(), u64::MAX));
            if same.any(|(_, known)| known.entry.id == selected.entry.id) {
                return;
            }
        }
        self.entries.entry(place).or_insert(selected);
        if self.entries.len() > self.asked.max + 1 {
            self.entries.pop_last();
        }
    }

    /// Returns the entries of the page in their order, and true if the list goes on behind them.
    pub(super) fn finish(mut self) -> (Vec<SelectedEntry>, bool) {
        for (place, selected) in core::mem::take(&mut self.before_id) {
            self.insert(place, selected);
        }
        let goes_on = self.entries.len() > self.asked.max;
        (self.entries.into_values().take(self.asked.max).collect(), goes_on)
    }
}

#[cfg(test)]
mod tests {
    use endseal_s3_protocol::Query;
    use endseal_s3_protocol::xml::ListPage;

    use super::super::list_request::{ListKind, ListRequest};
    use super::Selection;

    /// Returns the entries of a list of versions: keys, and their ids from the newest on.
    fn versions(keys: &[(&str, &[&str])]) -> ListPage {
        let entries: String = keys
            .iter()
            .flat_map(|(key, ids)| ids.iter().map(move |id| (key, id)))
            .map(|(key, id)| {
                format!("<Version><Key>{key}</Key><VersionId>{id}</VersionId></Version>")
            })
            .collect();
        let document = format!("<ListVersionsResult>{entries}</ListVersionsResult>");
        ListPage::read(document.as_bytes()).unwrap()
    }

    /// Returns the ids of a page of `max` versions, and true if the list goes on.
    fn page(list: &ListPage, max: usize, after: Option<(&str, &str)>) -> (Vec<String>, bool) {
        let query = Query::new().with("max-keys", &max.to_string());
        let asked = ListRequest::of(&query, ListKind::Versions).unwrap();
        let (key, id) = after.unzip();
        let mut selection = Selection::new(&asked, key.map(str::to_owned), id.map(str::to_owned));
        for entry in &list.entries {
            selection.add(&entry.key, entry.clone());
        }
        let (entries, goes_on) = selection.finish();
        (entries.into_iter().filter_map(|it| it.entry.id).collect(), goes_on)
    }

    #[test]
    fn pages_of_versions_follow_each_other() {
        // The backend has them in another order, and one of them twice.
        let keys: [(&str, &[&str]); 4] = [
            ("z", &["z3", "z2", "z2", "z1"]),
            ("a", &["a4", "a3", "a2", "a1"]),
            ("m/n", &["n1"]),
            ("m", &["null"]),
        ];
        let list = versions(&keys);
        let expected = ["a4", "a3", "a2", "a1", "null", "n1", "z3", "z2", "z1"];
        let names = ["a", "a", "a", "a", "m", "m/n", "z", "z", "z"];
        for max in 1..=10 {
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let (ids, goes_on) = page(&list, max, after);
                found.extend(ids);
                if !goes_on {
                    break;
                }
                let last = found.len() - 1;
                after = Some((names[last], expected[last]));
            }
            assert_eq!(found, expected, "{max}");
        }
    }

    #[test]
    fn a_page_goes_on_behind_a_version_that_was_deleted() {
        let list = versions(&[("z", &["z1"]), ("a", &["a3", "a1"]), ("b", &["b1"])]);
        assert_eq!(page(&list, 2, Some(("a", "a2"))), (vec!["a3".into(), "a1".into()], true));
        assert_eq!(page(&list, 9, Some(("a", "a1"))).0, ["b1", "z1"]);
        assert_eq!(page(&list, 9, Some(("aa", "a1"))).0, ["b1", "z1"]);
        // More versions than fit on a page do not displace the entries behind them.
        let many: Vec<String> = (0..50).map(|number| format!("b{number:02}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let list = versions(&[("c", &["c1"]), ("b", &many)]);
        assert_eq!(page(&list, 2, Some(("b", "b49"))), (vec!["c1".into()], false));
        assert_eq!(page(&list, 2, Some(("b", "b48"))), (vec!["b49".into(), "c1".into()], false));
    }

    #[test]
    fn a_page_of_nothing_says_whether_there_is_more() {
        let list = versions(&[("a", &["a1"])]);
        assert_eq!(page(&list, 0, None), (Vec::new(), true));
        assert_eq!(page(&list, 0, Some(("a", "a1"))), (Vec::new(), false));
    }
}
