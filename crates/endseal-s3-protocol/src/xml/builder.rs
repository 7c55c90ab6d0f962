//! Builds XML documents that the proxy writes itself.

use super::text::escape_into;

/// Writes a document, element by element. [`finish`](Self::finish) closes what is open.
#[derive(Debug)]
pub struct Builder {
    out: String,
    open: Vec<&'static str>,
}

impl Builder {
    /// A document with this root, in S3's namespace.
    #[must_use]
    pub fn new(root: &'static str) -> Self {
        let out = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{root} \
             xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        );
        Self { out, open: vec![root] }
    }

    /// A document with this root and no namespace: `Error` has none.
    #[must_use]
    pub fn plain(root: &'static str) -> Self {
        let out = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{root}>");
        Self { out, open: vec![root] }
    }

    /// Elements to be put into another document.
    pub(super) fn fragment() -> Self {
        Self { out: String::new(), open: Vec::new() }
    }

    /// Opens an element; later elements are written into it until it is closed.
    pub fn open(&mut self, name: &'static str) -> &mut Self {
        self.out.push('<');
        self.out.push_str(name);
        self.out.push('>');
        self.open.push(name);
        self
    }

    /// Closes the element that was opened last.
    pub fn close(&mut self) -> &mut Self {
        if let Some(name) = self.open.pop() {
            self.out.push_str("</");
            self.out.push_str(name);
            self.out.push('>');
        }
        self
    }

    /// An element with text in it.
    pub fn leaf(&mut self, name: &'static str, text: &str) -> &mut Self {
        self.open(name);
        escape_into(text, &mut self.out);
        self.close()
    }

    /// Closes all open elements and returns the document.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        while !self.open.is_empty() {
            self.close();
        }
        self.out.into_bytes()
    }

    pub(super) fn finish_text(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.out
    }
}
