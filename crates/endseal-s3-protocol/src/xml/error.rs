//! Faults of an XML body.

use core::fmt;
use std::borrow::Cow;

/// Reason why an XML body was refused.
///
/// In a client's request all of them are `MalformedXML`; in the backend's answer they are a fault
/// of the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum XmlError {
    /// The document is longer than [`MAX_DOCUMENT`](super::MAX_DOCUMENT) bytes.
    TooLong,
    /// Elements within elements within elements, or more of them than any body needs.
    TooComplex,
    /// The document is not UTF-8.
    NotUtf8,
    /// The document is not well-formed XML.
    Syntax,
    /// A document type, or an entity that would have to be declared in one.
    DocumentType,
    /// The root is not that of the expected document.
    UnexpectedRoot,
    /// An element that must be there is not.
    Missing(&'static str),
    /// The content of an element is not what it must be.
    Invalid(&'static str),
    /// More entries than S3 takes.
    TooMany,
}

impl XmlError {
    /// The error code of S3 that clients receive for it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "MalformedXML"
    }

    /// The HTTP status that goes with it.
    #[must_use]
    pub fn status(&self) -> u16 {
        400
    }

    /// Returns what is wrong with the document, as the end of a sentence about it.
    #[must_use]
    pub fn reason(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::TooLong => "it is too long",
            Self::TooComplex => "it has too many or too deep elements",
            Self::NotUtf8 => "it is not UTF-8",
            Self::Syntax => "it is not well-formed",
            Self::DocumentType => "it has a document type or an unknown entity",
            Self::UnexpectedRoot => "it is another document",
            Self::Missing(name) => return Cow::Owned(format!("{name} is missing")),
            Self::Invalid(name) => return Cow::Owned(format!("{name} is invalid")),
            Self::TooMany => "it has too many entries",
        })
    }
}

impl fmt::Display for XmlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "The XML you provided was not well-formed or did not validate against our published \
             schema",
        )?;
        if *self == Self::Syntax { Ok(()) } else { write!(f, ": {}", self.reason()) }
    }
}

impl core::error::Error for XmlError {}
