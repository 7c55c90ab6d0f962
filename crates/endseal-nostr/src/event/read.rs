//! Reads events from JSON.

use core::fmt;
use core::ops::Range;

use super::{Event, RawTags, Rumor, Tags, Template};
use crate::hex;
use crate::json::scan::{MAX_INTEGER, Scanner};
use crate::json::{JsonError, Text};

/// Cause why bytes are no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseError {
    /// The bytes are not the JSON of an event.
    Json(JsonError),
    /// The object lacks this member.
    Missing(Field),
    /// `id`, `pubkey` or `sig` is not lower-case hexadecimal of its length, or is escaped.
    Hex(Field),
    /// A rumor has a signature.
    Signed,
}

impl From<JsonError> for ParseError {
    fn from(error: JsonError) -> Self {
        Self::Json(error)
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => error.fmt(f),
            Self::Missing(field) => write!(f, "the event has no '{}'", field.name()),
            Self::Hex(field) => {
                write!(f, "'{}' of the event is not lower-case hexadecimal", field.name())
            }
            Self::Signed => f.write_str("the rumor is signed"),
        }
    }
}

impl core::error::Error for ParseError {}

/// Member of the JSON object of an event (NIP-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "NIP-01 has these")]
pub enum Field {
    /// `id`: the SHA-256 of the event.
    Id,
    /// `pubkey`: the author's public key.
    Pubkey,
    /// `created_at`: the time of creation.
    CreatedAt,
    /// `kind`: the number of the event's kind.
    Kind,
    /// `tags`: the list of tags.
    Tags,
    /// `content`: the content, as text.
    Content,
    /// `sig`: the signature, in hexadecimal.
    Sig,
}

impl Field {
    const ALL: [Self; 7] =
        [Self::Id, Self::Pubkey, Self::CreatedAt, Self::Kind, Self::Tags, Self::Content, Self::Sig];

    /// Name of the member in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Pubkey => "pubkey",
            Self::CreatedAt => "created_at",
            Self::Kind => "kind",
            Self::Tags => "tags",
            Self::Content => "content",
            Self::Sig => "sig",
        }
    }
}

/// Members of the object that were read so far.
#[derive(Default)]
struct Members<'a> {
    id: Option<Text<'a>>,
    pubkey: Option<Text<'a>>,
    created_at: Option<u64>,
    kind: Option<u16>,
    tags: Option<RawTags<'a>>,
    content: Option<(Text<'a>, Range<usize>)>,
    sig: Option<Text<'a>>,
}

impl<'a> Members<'a> {
    /// Reads the object. `ignored` may have any value.
    fn read(json: &'a [u8], ignored: &[Field]) -> Result<Self, JsonError> {
        let mut members = Self::default();
        let mut scanner = Scanner::new(json)?;
        scanner.object(|scanner, name| {
            let field = Field::ALL.into_iter().find(|field| name.is(field.name()));
            match field.filter(|field| !ignored.contains(field)) {
                None => scanner.skip()?,
                Some(Field::Id) => members.id = Some(scanner.string()?),
                Some(Field::Pubkey) => members.pubkey = Some(scanner.string()?),
                Some(Field::CreatedAt) => members.created_at = Some(scanner.integer(MAX_INTEGER)?),
                Some(Field::Kind) => {
                    let kind = scanner.integer(u16::MAX.into())?;
                    members.kind = Some(u16::try_from(kind).map_err(|_| JsonError::Integer)?);
                }
                Some(Field::Tags) => members.tags = Some(RawTags::read(scanner)?),
                Some(Field::Content) => members.content = Some(scanner.string_located()?),
                Some(Field::Sig) => members.sig = Some(scanner.string()?),
            }
            Ok::<_, JsonError>(())
        })?;
        scanner.end()?;
        Ok(members)
    }

    fn id(&self) -> Result<[u8; 32], ParseError> {
        digits(required(self.id, Field::Id)?, Field::Id)
    }

    fn pubkey(&self) -> Result<[u8; 32], ParseError> {
        digits(required(self.pubkey, Field::Pubkey)?, Field::Pubkey)
    }

    fn template(&self, pubkey: Option<[u8; 32]>) -> Result<Template<'a>, ParseError> {
        Ok(Template {
            pubkey,
            created_at: required(self.created_at, Field::CreatedAt)?,
            kind: required(self.kind, Field::Kind)?,
            tags: Tags::Raw(required(self.tags, Field::Tags)?),
            content: required(self.content.as_ref().map(|(text, _)| *text), Field::Content)?,
        })
    }

    fn rumor(&self) -> Result<Rumor<'a>, ParseError> {
        let (id, pubkey) = (self.id()?, self.pubkey()?);
        let template = self.template(Some(pubkey))?;
        Ok(Rumor {
            id,
            pubkey,
            created_at: template.created_at,
            kind: template.kind,
            tags: template.tags,
            content: template.content,
        })
    }
}

fn required<T>(member: Option<T>, field: Field) -> Result<T, ParseError> {
    member.ok_or(ParseError::Missing(field))
}

fn digits<const N: usize>(text: Text<'_>, field: Field) -> Result<[u8; N], ParseError> {
    let Text::Plain(text) = text else { return Err(ParseError::Hex(field)) };
    hex::array(text).ok_or(ParseError::Hex(field))
}

pub(super) fn template(json: &[u8]) -> Result<Template<'_>, ParseError> {
    let members = Members::read(json, &[Field::Id, Field::Sig])?;
    let pubkey = members.pubkey.filter(|pubkey| !pubkey.is(""));
    members.template(pubkey.map(|pubkey| digits(pubkey, Field::Pubkey)).transpose()?)
}

pub(super) fn rumor(json: &[u8]) -> Result<Rumor<'_>, ParseError> {
    let members = Members::read(json, &[])?;
    if members.sig.is_some() {
        return Err(ParseError::Signed);
    }
    members.rumor()
}

pub(super) fn event(json: &[u8]) -> Result<(Event<'_>, Range<usize>), ParseError> {
    let members = Members::read(json, &[])?;
    let rumor = members.rumor()?;
    let sig = digits(required(members.sig, Field::Sig)?, Field::Sig)?;
    let (_, place) = required(members.content, Field::Content)?;
    Ok((rumor.with_signature(sig), place))
}
