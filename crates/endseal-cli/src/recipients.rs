//! Recipients of a sealed file.

mod file;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use endseal_crypto::identity::PublicIdentity;
use endseal_envelope::Recipients;
use endseal_keyring::roster::Member;
use endseal_keyring::{Contacts, IdentityText, Name, ParseIdentityError};
use endseal_node::{Home, HomeError};

use crate::ctx::Ctx;
use crate::departures::{Departures, OwnPart};
use crate::failure::{Failure, Kind};
use crate::printable::printable;
use crate::typed::shown;
use file::Entry;

/// Options that name recipients.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Recipients")]
pub(crate) struct RecipientArgs {
    /// Seal to a contact or an identity (endseal1...); repeatable
    #[arg(short = 'r', long = "recipient", value_name = "NAME|IDENTITY")]
    pub(crate) recipient: Vec<String>,
    /// Seal to each contact or identity in a file, or - for standard input; repeatable
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
    ctx: &mut Ctx,
) -> Result<Resolved, Failure> {
    let files: Result<Vec<_>, _> = args.file.iter().map(|path| file::read(path, ctx)).collect();
    let files = files?;
    let members = members(&args.group, own.is_some(), ctx)?;
    let ctx = &*ctx;
    let mut book = Book { ctx, contacts: None };
    let mut named: Vec<(String, PublicIdentity)> = Vec::new();
    for text in &args.recipient {
        named.push((shown(text), book.person(text)?.ok_or_else(|| unknown(text, ctx))?));
    }
    for (path, entries) in args.file.iter().zip(files) {
        for entry in &entries {
            named.push((shown(&entry.text), book.in_file(path, entry)?));
        }
    }
    for member in members {
        let identity = book.longest(member.identity())?;
        named.push((member.name().to_string(), identity));
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
    let mut seen = with_pq;
    let without_pq = named
        .iter()
        .filter(|(_, identity)| seen.insert(*identity.ed25519()))
        .map(|(name, _)| name.clone())
        .collect();
    let named = named.iter().map(|(name, identity)| {
        format!("{name}, {}", IdentityText::from(PublicIdentity::short(*identity.ed25519())))
    });
    Ok(Resolved { recipients, duplicates, without_pq, named: named.collect() })
}

/// Returns the members of groups, without those who are known to have left. Notes who that is, and
/// if this person cannot open what is sealed to a group.
fn members(groups: &[Name], to_self: bool, ctx: &mut Ctx) -> Result<Vec<Member>, Failure> {
    if groups.is_empty() {
        return Ok(Vec::new());
    }
    let home = ctx.home()?;
    let rosters: Result<Vec<_>, _> = groups.iter().map(|it| home.groups().current(it)).collect();
    let rosters = rosters?;
    let departures = match Departures::load(&home, ctx) {
        Err(failure) if failure.kind != Kind::Interrupted => {
            let why = failure.line();
            ctx.note(&printable(&format!("warning: it is not known who has left: {why}")));
            Departures::default()
        }
        loaded => loaded?,
    };
    let own = ctx.identity(&home).ok().map(|file| *file.public().ed25519());
    let mut members = Vec::new();
    for (group, roster) in groups.iter().zip(rosters) {
        let part = own.map(|own| OwnPart::of(&own, group, &roster, &departures, &home));
        if let Some(sentence) = part.and_then(OwnPart::sentence) {
            let hint = if to_self { "" } else { ": without --to-self you cannot open the file" };
            ctx.note(&format!("note: {sentence} {group}{hint}"));
        }
        for member in roster.members() {
            let (key, name) = (member.identity().ed25519(), member.name());
            if !departures.has(&roster, key) {
                members.push(member.clone());
            } else if own.as_ref() != Some(key) {
                ctx.note(&format!(
                    "note: {name} has left {group}: the file is not sealed to {name}"
                ));
            }
        }
    }
    Ok(members)
}

/// Finds one person by the name of a contact or by the identity.
pub(crate) fn person(text: &str, ctx: &Ctx) -> Result<PublicIdentity, Failure> {
    known(text, ctx)?.ok_or_else(|| unknown(text, ctx))
}

/// Like [`person`], but returns `None` for a name that is not a contact.
pub(crate) fn known(text: &str, ctx: &Ctx) -> Result<Option<PublicIdentity>, Failure> {
    Book { ctx, contacts: None }.person(text)
}

/// Parses an identity. Blanks, line breaks and a byte order mark, which mails and editors put into
/// long lines, are left out.
pub(crate) fn identity(text: &str) -> Result<PublicIdentity, Failure> {
    let parsed = parse(text).map_err(|error| {
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
            _ if text.starts_with("endsealpeer1") => failure.hint(
                "that is a peer id, by which machines connect: endseal peers add NAME PEERID; a \
                 contact needs what endseal id show prints",
            ),
            _ if text.split(',').count() > 1 => {
                failure.hint("name each one with an -r of its own: -r alice -r bob")
            }
            _ => failure,
        }
    })?;
    Ok(parsed.into_identity())
}

fn parse(text: &str) -> Result<IdentityText, ParseIdentityError> {
    let error = match text.parse() {
        Err(error @ (ParseIdentityError::Secret | ParseIdentityError::Foreign(_))) => {
            return Err(error);
        }
        Err(error) => error,
        parsed => return parsed,
    };
    let is_kept = |c: &char| !c.is_whitespace() && *c != BYTE_ORDER_MARK;
    let unwrapped: String = text.chars().filter(is_kept).collect();
    if unwrapped == text { Err(error) } else { unwrapped.parse() }
}

/// Mark at the start of text files of some Windows editors.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The contacts, which are read when they are first needed. Sealing to an identity needs no state
/// directory.
struct Book<'a> {
    ctx: &'a Ctx,
    contacts: Option<Contacts>,
}

impl Book<'_> {
    fn person(&mut self, text: &str) -> Result<Option<PublicIdentity>, Failure> {
        if Name::new(text).is_err() {
            return self.longest(&identity(text)?).map(Some);
        }
        let Some(contact) = self.contacts()?.find(text).cloned() else { return Ok(None) };
        self.longest(&contact).map(Some)
    }

    /// Returns a person's identity. If it is the short form, returns that of the contact, or of
    /// this person itself, which may be long. Without a state directory there are no contacts.
    fn longest(&mut self, person: &PublicIdentity) -> Result<PublicIdentity, Failure> {
        let home = match Home::open(&self.ctx.home_path()?) {
            _ if person.mlkem768().is_some() => return Ok(person.clone()),
            Err(HomeError::Missing(_)) => return Ok(person.clone()),
            home => home?,
        };
        let own = home.identity().ok().filter(|own| own.public().ed25519() == person.ed25519());
        if let Some(own) = own {
            return Ok(own.public().clone());
        }
        let contacts = self.contacts()?;
        let contact = contacts.name_of(person.ed25519()).and_then(|it| contacts.find(it.as_str()));
        Ok(contact.unwrap_or(person).clone())
    }

    fn contacts(&mut self) -> Result<&Contacts, Failure> {
        let contacts = match self.contacts.take() {
            Some(contacts) => contacts,
            None => self.ctx.home()?.contacts()?,
        };
        Ok(self.contacts.insert(contacts))
    }

    /// Finds the recipient of a line of a file.
    fn in_file(&mut self, path: &Path, entry: &Entry) -> Result<PublicIdentity, Failure> {
        let at = || file::at(path, entry.line);
        if Name::new(&entry.text).is_ok() {
            let contact = self.person(&entry.text)?;
            return contact.ok_or_else(|| at().because(&Unknown).hint(ADD));
        }
        let parsed = parse(&entry.text);
        let parsed = parsed.map_err(|error| at().because(&error).hint(file::FORMAT))?;
        self.longest(parsed.identity())
    }
}

fn unknown(text: &str, ctx: &Ctx) -> Failure {
    let is_group = || {
        let home = ctx.home().ok()?;
        home.groups().current(&Name::new(text).ok()?).ok()
    };
    match text.parse::<IdentityText>() {
        // A key of another program can look like a name.
        Err(error @ ParseIdentityError::Foreign(_)) => {
            Failure::usage(format!("'{}' is not an identity", shown(text))).because(&error)
        }
        _ if Path::new(text).is_file() => {
            let message = format!("'{}': {Unknown}", shown(text));
            Failure::usage(message).hint("-R FILE reads recipients from a file")
        }
        _ if is_group().is_some() => Failure::usage(format!("'{text}' is a group, not a contact"))
            .hint("endseal say takes a group; to seal to its members: -g GROUP"),
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
