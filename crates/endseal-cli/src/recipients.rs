//! Recipients of a sealed file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use endseal_crypto::identity::PublicIdentity;
use endseal_envelope::Recipients;
use endseal_keyring::{Contacts, IdentityText, Name, ParseIdentityError};
use endseal_node::read_public;

use crate::ctx::Ctx;
use crate::failure::Failure;
use crate::typed::shown;

/// Limit on the length of a recipients file: more than 2^16 identities in the long form.
const MAX_FILE_LEN: usize = 128 << 20;

/// Options that name recipients.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Recipients")]
pub(crate) struct RecipientArgs {
    /// Seal to a contact or an identity (endseal1...); repeatable
    #[arg(short = 'r', long = "recipient", value_name = "NAME|IDENTITY")]
    pub(crate) recipient: Vec<String>,
    /// Seal to each contact or identity in a file, one a line; repeatable
    #[arg(short = 'R', long = "recipients-file", value_name = "FILE")]
    pub(crate) file: Vec<PathBuf>,
    /// Seal to the members of a group; repeatable
    #[arg(short = 'g', long = "group", value_name = "GROUP")]
    pub(crate) group: Vec<Name>,
}

/// Recipients that were found, and details for messages.
pub(crate) struct Resolved {
    pub(crate) recipients: Recipients,
    pub(crate) duplicates: usize,
    /// Names of recipients without a key for the post-quantum suite.
    pub(crate) without_pq: Vec<String>,
    /// Names of the recipients, each with its identity in the short form.
    pub(crate) named: Vec<String>,
}

/// Finds all recipients that the options name.
pub(crate) fn resolve(
    args: &RecipientArgs,
    own: Option<&PublicIdentity>,
    ctx: &Ctx,
) -> Result<Resolved, Failure> {
    let mut book = Book { ctx, contacts: None };
    let mut named: Vec<(String, PublicIdentity)> = Vec::new();
    for text in &args.recipient {
        named.push((shown(text), book.person(text)?.ok_or_else(|| unknown(text))?));
    }
    for path in &args.file {
        book.add_file(path, &mut named)?;
    }
    for group in &args.group {
        let roster = ctx.home()?.groups().current(group)?;
        for member in roster.members() {
            let identity = book.longest(member.identity())?;
            named.push((member.name().to_string(), identity));
        }
    }
    named.extend(own.map(|own| ("yourself".to_owned(), own.clone())));
    let recipients = Recipients::from_identities(named.iter().map(|(_, identity)| identity))?;
    let duplicates = named.len() - recipients.len();
    // A recipient who was named twice needs the key in one place only.
    let with_pq: BTreeSet<_> = named
        .iter()
        .filter(|(_, identity)| identity.mlkem768().is_some())
        .map(|(_, identity)| *identity.ed25519())
        .collect();
    let without_pq = named
        .iter()
        .filter(|(_, identity)| !with_pq.contains(identity.ed25519()))
        .map(|(name, _)| name.clone())
        .collect();
    let named = named.iter().map(|(name, identity)| {
        format!("{name}, {}", IdentityText::from(PublicIdentity::short(*identity.ed25519())))
    });
    Ok(Resolved { recipients, duplicates, without_pq, named: named.collect() })
}

/// Finds one person by the name of a contact or by the identity.
pub(crate) fn person(text: &str, ctx: &Ctx) -> Result<PublicIdentity, Failure> {
    known(text, ctx)?.ok_or_else(|| unknown(text))
}

/// Like [`person`], but returns `None` for a name that is not a contact.
pub(crate) fn known(text: &str, ctx: &Ctx) -> Result<Option<PublicIdentity>, Failure> {
    Book { ctx, contacts: None }.person(text)
}

/// Parses an identity.
pub(crate) fn identity(text: &str) -> Result<PublicIdentity, Failure> {
    let parsed = text.parse::<IdentityText>().map_err(|error| {
        let what = match error {
            // The secret is not printed again: it is in the shell's history already, and must not
            // get into a log.
            ParseIdentityError::Secret => {
                "a secret was given where a public identity belongs".into()
            }
            _ => format!("'{}' is not an identity", shown(text)),
        };
        let failure = Failure::usage(what).because(&error);
        let lower = text.to_lowercase();
        let is_name = lower != text && Name::new(&lower).is_ok();
        match error {
            ParseIdentityError::Secret | ParseIdentityError::Foreign(_) => failure,
            _ if Path::new(text).is_file() => failure.hint("-R FILE reads recipients from a file"),
            _ if is_name => failure.hint("names are written in lower case"),
            _ => failure,
        }
    })?;
    Ok(parsed.into_identity())
}

/// The contacts, which are read when they are first needed. Sealing to an identity needs no state
/// directory.
struct Book<'a> {
    ctx: &'a Ctx,
    contacts: Option<Contacts>,
}

impl Book<'_> {
    fn person(&mut self, text: &str) -> Result<Option<PublicIdentity>, Failure> {
        if Name::new(text).is_err() {
            return identity(text).map(Some);
        }
        Ok(self.contacts()?.find(text).cloned())
    }

    /// Returns the identity of a member, or the contact's if only that has the long form.
    fn longest(&mut self, member: &PublicIdentity) -> Result<PublicIdentity, Failure> {
        if member.mlkem768().is_some() {
            return Ok(member.clone());
        }
        let contacts = self.contacts()?;
        let contact = contacts.name_of(member.ed25519()).and_then(|it| contacts.find(it.as_str()));
        Ok(contact.unwrap_or(member).clone())
    }

    fn contacts(&mut self) -> Result<&Contacts, Failure> {
        let contacts = match self.contacts.take() {
            Some(contacts) => contacts,
            None => self.ctx.home()?.contacts()?,
        };
        Ok(self.contacts.insert(contacts))
    }

    /// Adds each contact or identity of a file.
    fn add_file(
        &mut self,
        path: &Path,
        named: &mut Vec<(String, PublicIdentity)>,
    ) -> Result<(), Failure> {
        let content = read_public(path, MAX_FILE_LEN)?;
        let before = named.len();
        for (index, line) in content.split(|byte| *byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let at = || Failure::usage(format!("'{}', line {}", path.display(), index + 1));
            let text = core::str::from_utf8(line)
                .map_err(|error| at().because(&error).hint(RECIPIENTS_FILE))?;
            let person = match Name::new(text) {
                Ok(_) => self.person(text)?.ok_or_else(|| at().because(&Unknown).hint(ADD))?,
                Err(_) => text
                    .parse::<IdentityText>()
                    .map_err(|error| at().because(&error).hint(RECIPIENTS_FILE))?
                    .into_identity(),
            };
            named.push((shown(text), person));
        }
        if named.len() == before {
            let message = format!("'{}' names no recipient", path.display());
            return Err(Failure::usage(message).hint(RECIPIENTS_FILE));
        }
        Ok(())
    }
}

fn unknown(text: &str) -> Failure {
    match text.parse::<IdentityText>() {
        // A key of another program can look like a name.
        Err(error @ ParseIdentityError::Foreign(_)) => {
            Failure::usage(format!("'{}' is not an identity", shown(text))).because(&error)
        }
        _ if Path::new(text).is_file() => {
            let message = format!("'{}': {Unknown}", shown(text));
            Failure::usage(message).hint("-R FILE reads recipients from a file")
        }
        _ => Failure::usage(format!("'{}': {Unknown}", shown(text))).hint(ADD),
    }
}

/// Error for a text that is neither a contact nor an identity.
#[derive(Debug)]
struct Unknown;

impl core::fmt::Display for Unknown {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("neither a contact nor an identity")
    }
}

impl core::error::Error for Unknown {}

const ADD: &str =
    "endseal contacts list shows all contacts; endseal contacts add NAME IDENTITY adds one";

const RECIPIENTS_FILE: &str = "such a file has one contact or identity a line; # begins a comment";
