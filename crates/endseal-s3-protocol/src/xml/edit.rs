//! Changes of a document at their places.

use core::ops::Range;

use super::builder::Builder;
use super::text::escape_into;
use super::tree::{Element, Tree};

/// Changes of a document that do not overlap, to be applied together.
#[derive(Debug, Default)]
pub(super) struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    /// Replaces the content of an element by text.
    pub(super) fn set_text(&mut self, element: &Element<'_>, text: &str) {
        let mut escaped = String::with_capacity(text.len());
        escape_into(text, &mut escaped);
        self.set_inner(element, escaped);
    }

    /// Replaces an element's text where it has a child of that name.
    pub(super) fn set_child(&mut self, parent: &Element<'_>, name: &str, text: &str) {
        if let Some(child) = parent.child(name) {
            self.set_text(&child, text);
        }
    }

    /// Removes an element with all its content.
    pub(super) fn remove(&mut self, element: &Element<'_>) {
        self.0.push((element.outer(), String::new()));
    }

    /// Puts elements behind all others of an element.
    pub(super) fn append(&mut self, element: &Element<'_>, fragment: Builder) {
        let fragment = fragment.finish_text();
        if fragment.is_empty() {
            return;
        }
        if element.is_empty() {
            self.set_inner(element, fragment);
        } else {
            let end = element.inner().end;
            self.0.push((end..end, fragment));
        }
    }

    /// Inserts elements behind an element.
    pub(super) fn insert_behind(&mut self, element: &Element<'_>, fragment: Builder) {
        let end = element.outer().end;
        self.0.push((end..end, fragment.finish_text()));
    }

    /// Applies all changes, and returns the new document.
    pub(super) fn apply(mut self, tree: &Tree<'_>) -> Vec<u8> {
        // The sort is stable: texts inserted at one position stay in their order.
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let text = tree.text();
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for (range, replacement) in &self.0 {
            // A change within an element that was removed has no effect.
            if range.start < done {
                continue;
            }
            out.push_str(&text[done..range.start]);
            out.push_str(replacement);
            done = range.end;
        }
        out.push_str(&text[done..]);
        out.into_bytes()
    }

    fn set_inner(&mut self, element: &Element<'_>, inner: String) {
        if element.is_empty() {
            // `<a b="c"/>`: the slash becomes an end of its own.
            let end = element.outer().end;
            let tag = element.tag();
            self.0.push((end - 2..end, format!(">{inner}</{tag}>")));
        } else {
            self.0.push((element.inner(), inner));
        }
    }
}
