//! A document as its elements with their places.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesRef, Event};

use super::XmlError;

/// Longest document, in bytes: 1,000 keys of 1,024 bytes, each byte escaped.
pub const MAX_DOCUMENT: usize = 8 << 20;
/// 10,000 parts of a number, a tag and a few checksums.
const MAX_ELEMENTS: usize = 100_000;
const MAX_DEPTH: usize = 16;

/// The name of a document's root, which tells an `Error` with status 200 from a result.
///
/// # Errors
/// [`XmlError`] if it is no document.
pub fn root_name(xml: &[u8]) -> Result<String, XmlError> {
    Ok(Tree::parse(xml)?.root().name().to_owned())
}

/// The elements of a document in its order.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    text: &'a str,
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    /// Offsets of the whole element, with its tags.
    start: usize,
    end: usize,
    /// Offsets of its content; both are equal for `<a/>`.
    inner_start: usize,
    inner_end: usize,
    name_end: usize,
    empty: bool,
    /// True if the content is text and references alone.
    plain: bool,
    /// The first node behind the element and all within.
    after: usize,
}

/// An element of a tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element<'t> {
    tree: &'t Tree<'t>,
    index: usize,
}

impl<'a> Tree<'a> {
    pub(super) fn parse(xml: &'a [u8]) -> Result<Self, XmlError> {
        if xml.len() > MAX_DOCUMENT {
            return Err(XmlError::TooLong);
        }
        let text = core::str::from_utf8(xml).map_err(|_| XmlError::NotUtf8)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut tree = Self { text, nodes: Vec::new() };
        tree.read()?;
        Ok(tree)
    }

    pub(super) fn root(&self) -> Element<'_> {
        Element { tree: self, index: 0 }
    }

    /// The root, if it has this name.
    pub(super) fn expect_root(&self, name: &str) -> Result<Element<'_>, XmlError> {
        let root = self.root();
        if root.name() == name { Ok(root) } else { Err(XmlError::UnexpectedRoot) }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    fn read(&mut self) -> Result<(), XmlError> {
        let mut reader = Reader::from_str(self.text);
        reader.config_mut().check_comments = true;
        let mut open: Vec<usize> = Vec::new();
        loop {
            let start = place(&reader)?;
            let event = reader.read_event().map_err(|_| XmlError::Syntax)?;
            let end = place(&reader)?;
            // Nothing but blanks, comments and instructions stands outside the root.
            let outside = open.is_empty();
            match event {
                Event::Start(tag) => {
                    let name_end = start + 1 + tag.name().as_ref().len();
                    let node = Node::new(start, end, name_end, false);
                    open.push(self.add(node, &open)?);
                }
                Event::Empty(tag) => {
                    let name_end = start + 1 + tag.name().as_ref().len();
                    let index = self.add(Node::new(start, end, name_end, true), &open)?;
                    self.nodes[index].after = index + 1;
                }
                Event::End(_) => {
                    let index = open.pop().ok_or(XmlError::Syntax)?;
                    let after = self.nodes.len();
                    let node = &mut self.nodes[index];
                    (node.inner_end, node.end, node.after) = (start, end, after);
                }
                Event::Text(text) => {
                    if outside && !text.as_ref().bytes().all(|it| it.is_ascii_whitespace()) {
                        return Err(XmlError::Syntax);
                    }
                }
                Event::GeneralRef(reference) => {
                    resolve(&reference)?;
                    if outside {
                        return Err(XmlError::Syntax);
                    }
                }
                Event::CData(_) | Event::Comment(_) | Event::PI(_) => {
                    if let Some(index) = open.last() {
                        self.nodes[*index].plain = false;
                    } else if matches!(event, Event::CData(_)) {
                        return Err(XmlError::Syntax);
                    }
                }
                Event::Decl(declaration) => {
                    let utf8 = declaration.encoding().is_none_or(|encoding| {
                        encoding.is_ok_and(|it| it.eq_ignore_ascii_case("utf-8"))
                    });
                    if start != 0 {
                        return Err(XmlError::Syntax);
                    }
                    if !utf8 {
                        return Err(XmlError::NotUtf8);
                    }
                }
                Event::DocType(_) => return Err(XmlError::DocumentType),
                Event::Eof => break,
            }
        }
        if !open.is_empty() || self.nodes.is_empty() {
            return Err(XmlError::Syntax);
        }
        Ok(())
    }

    fn add(&mut self, node: Node, open: &[usize]) -> Result<usize, XmlError> {
        if open.len() >= MAX_DEPTH || self.nodes.len() >= MAX_ELEMENTS {
            return Err(XmlError::TooComplex);
        }
        match open.last() {
            Some(parent) => self.nodes[*parent].plain = false,
            None if !self.nodes.is_empty() => return Err(XmlError::Syntax),
            None => {}
        }
        self.nodes.push(node);
        Ok(self.nodes.len() - 1)
    }
}

impl Node {
    fn new(start: usize, end: usize, name_end: usize, empty: bool) -> Self {
        Self {
            start,
            end,
            inner_start: end,
            inner_end: end,
            name_end,
            empty,
            plain: true,
            after: usize::MAX,
        }
    }
}

impl<'t> Element<'t> {
    fn node(&self) -> &'t Node {
        &self.tree.nodes[self.index]
    }

    /// The name without a namespace's prefix.
    pub(super) fn name(&self) -> &'t str {
        let name = self.tag();
        name.rsplit_once(':').map_or(name, |(_, local)| local)
    }

    /// The name as it stands.
    pub(super) fn tag(&self) -> &'t str {
        let node = self.node();
        &self.tree.text[node.start + 1..node.name_end]
    }

    pub(super) fn children(&self) -> impl Iterator<Item = Element<'t>> + use<'t> {
        let (tree, end) = (self.tree, self.node().after);
        let mut index = self.index + 1;
        core::iter::from_fn(move || {
            let child = (index < end).then_some(Element { tree, index })?;
            index = child.node().after;
            Some(child)
        })
    }

    /// The first child of this name.
    pub(super) fn child(&self, name: &str) -> Option<Self> {
        self.children().find(|child| child.name() == name)
    }

    /// The text within; only for elements without elements in them.
    pub(super) fn text(&self, name: &'static str) -> Result<Cow<'t, str>, XmlError> {
        let node = self.node();
        let inner = &self.tree.text[node.inner_start..node.inner_end];
        if node.plain {
            return unescape(inner).map_err(|_| XmlError::Invalid(name));
        }
        let mut out = String::new();
        let mut reader = Reader::from_str(inner);
        loop {
            match reader.read_event().map_err(|_| XmlError::Syntax)? {
                Event::Text(text) => out.push_str(&text),
                Event::CData(text) => out.push_str(&text),
                Event::GeneralRef(reference) => out.push(resolve(&reference)?),
                Event::Comment(_) | Event::PI(_) => {}
                Event::Eof => return Ok(out.into()),
                _ => return Err(XmlError::Invalid(name)),
            }
        }
    }

    /// The text of the first child of this name, if there is one.
    pub(super) fn child_text(&self, name: &'static str) -> Result<Option<Cow<'t, str>>, XmlError> {
        self.child(name).map(|child| child.text(name)).transpose()
    }

    /// The number in the first child of this name, if there is one.
    pub(super) fn child_number(&self, name: &'static str) -> Result<Option<u64>, XmlError> {
        let Some(text) = self.child_text(name)? else { return Ok(None) };
        let digits = text.trim();
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = plain.then(|| digits.parse().ok()).flatten();
        number.map(Some).ok_or(XmlError::Invalid(name))
    }

    /// Range of the whole element in the text, with its tags.
    pub(super) fn outer(&self) -> core::ops::Range<usize> {
        self.node().start..self.node().end
    }

    /// Range of the element's content in the text.
    pub(super) fn inner(&self) -> core::ops::Range<usize> {
        self.node().inner_start..self.node().inner_end
    }

    /// Returns true for an element without content, such as `<a/>`.
    pub(super) fn is_empty(&self) -> bool {
        self.node().empty
    }
}

fn place(reader: &Reader<&[u8]>) -> Result<usize, XmlError> {
    usize::try_from(reader.buffer_position()).map_err(|_| XmlError::TooLong)
}

/// The character that a reference stands for.
fn resolve(reference: &BytesRef<'_>) -> Result<char, XmlError> {
    if let Some(character) = reference.resolve_char_ref().map_err(|_| XmlError::Syntax)? {
        return Ok(character);
    }
    let named = resolve_predefined_entity(reference).and_then(|text| text.chars().next());
    named.ok_or(XmlError::DocumentType)
}
