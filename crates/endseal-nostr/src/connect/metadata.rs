//! Claims of a client about itself.

use crate::json::scan::Scanner;
use crate::json::{JsonError, Text, write};
use crate::output::Sink;

/// Name, address and image that a client claims: to be shown, never to decide by (NIP-46).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "callers make them")]
pub struct Metadata<'a> {
    /// Name of the client, as it claims.
    pub name: Option<Text<'a>>,
    /// URL of the client, as it claims.
    pub url: Option<Text<'a>>,
    /// URL of a small image that represents the client, as it claims.
    pub image: Option<Text<'a>>,
}

impl<'a> Metadata<'a> {
    /// Parses a JSON object. Members of other names are ignored, `null` is as good as absent.
    ///
    /// # Errors
    /// [`JsonError`].
    pub fn parse(json: &'a [u8]) -> Result<Self, JsonError> {
        let mut metadata = Self::default();
        let mut scanner = Scanner::new(json)?;
        scanner.object(|scanner, member| {
            let mut fields = metadata.fields_mut();
            match fields.iter_mut().find(|(name, _)| member.is(name)) {
                Some((_, field)) if !scanner.null()? => **field = Some(scanner.string()?),
                Some(_) => {}
                None => scanner.skip()?,
            }
            Ok::<_, JsonError>(())
        })?;
        scanner.end()?;
        Ok(metadata)
    }

    /// Returns true if nothing is claimed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields().iter().all(|(_, field)| field.is_none())
    }

    /// Writes the metadata as a JSON object.
    pub fn write_to(&self, sink: &mut impl Sink) {
        sink.put(b"{");
        let mut is_first = true;
        for (name, field) in self.fields() {
            let Some(field) = field else { continue };
            if !is_first {
                sink.put(b",");
            }
            is_first = false;
            write::text(sink, name.into());
            sink.put(b":");
            write::text(sink, field);
        }
        sink.put(b"}");
    }

    /// Fields by their names, which are those of the parameters of `nostrconnect` too.
    pub(super) fn fields(&self) -> [(&'static str, Option<Text<'a>>); 3] {
        [("name", self.name), ("url", self.url), ("image", self.image)]
    }

    pub(super) fn fields_mut(&mut self) -> [(&'static str, &mut Option<Text<'a>>); 3] {
        [("name", &mut self.name), ("url", &mut self.url), ("image", &mut self.image)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Output;

    #[test]
    fn objects_are_read_and_written() {
        let json = r#"{"name":"My \"Client\"","icon":[1],"url":null,"image":"https://x"}"#;
        let metadata = Metadata::parse(json.as_bytes()).unwrap();
        assert!(metadata.name.unwrap().is("My \"Client\"") && metadata.url.is_none());
        let mut buffer = [0; 100];
        let mut output = Output::new(&mut buffer);
        metadata.write_to(&mut output);
        let written = output.finish().unwrap();
        assert_eq!(written, br#"{"name":"My \"Client\"","image":"https://x"}"#);
        assert_eq!(Metadata::parse(written), Ok(metadata));
        assert!(!metadata.is_empty() && Metadata::parse(b"{}").unwrap().is_empty());
    }

    #[test]
    fn other_json_is_refused() {
        for (json, error) in [
            ("", JsonError::Unexpected),
            ("\"x\"", JsonError::Unexpected),
            ("{\"name\":1}", JsonError::Unexpected),
            ("{\"name\":\"a\",\"name\":\"b\"}", JsonError::Duplicate),
            ("{\"name\":null,\"name\":\"b\"}", JsonError::Duplicate),
            ("{} {}", JsonError::Trailing),
        ] {
            assert_eq!(Metadata::parse(json.as_bytes()), Err(error), "{json}");
        }
    }
}
