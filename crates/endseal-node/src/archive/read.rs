//! Reading of archives.

use core::num::NonZeroU32;
use std::io::{BufReader, Read};

use endseal_crypto::ed25519::PublicKey;
use endseal_crypto::identity::{Identity, PublicIdentity};
use endseal_crypto::peer_id::PeerId;
use endseal_crypto::secret::Zeroizing;
use endseal_envelope::{OpenReader, Opener, Policy};
use endseal_keyring::device::Certificate;
use endseal_keyring::{Contacts, IdentityFile, LinkSecret, Name, Peers, PersonRecord, Roster};
use endseal_session::Engine;

use super::entry::{Entry, tag};
use super::error::ReadArchiveError;
use super::{ArchiveContent, ArchiveKind, CONTEXT, Linked, VERSION, write};
use crate::home::{Home, HomeLock};
use crate::messages::{
    ArchivedItem, Membership, is_archived_item, restore_archived, settle_restored,
};
use crate::sessions::peer_id;

/// Bytes of the buffer for the input.
const BUFFER_LEN: usize = 256 * 1024;
/// Items of the store that are written in one transaction.
const PAGE: usize = 512;
/// Bytes of items after which a transaction has enough.
const PAGE_BYTES: usize = 8 << 20;

/// An archive whose writer was verified, and whose content was not read yet. `R` gives its
/// plaintext.
#[allow(missing_debug_implementations, reason = "holds keys and plaintext")]
pub struct Archive<R: Read> {
    reader: R,
    kind: ArchiveKind,
    time: u64,
    person: PersonRecord,
    /// First entry behind the person record, once it was read.
    next: Option<Entry>,
    /// Tag of the last entry.
    last: u8,
    linked: Option<Linked>,
}

/// Identity of a device for which a link was made.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "refers to a secret")]
#[allow(clippy::exhaustive_structs, reason = "an answer is compared with these")]
pub struct LinkTarget<'a> {
    /// Identity of the device.
    pub device: &'a PublicIdentity,
    /// Peer id of the device.
    pub peer_id: PeerId,
    /// Secret of its link text.
    pub secret: &'a LinkSecret,
}

/// Interpreted entry behind the person record.
enum Content {
    Hub(Membership),
    Contacts(Contacts),
    Peers(Peers),
    Roster(Name, Roster),
    Unread(Zeroizing<Vec<u8>>),
    Record { kind: u16, name: Vec<u8>, value: Zeroizing<Vec<u8>> },
}

impl<I: Read> Archive<OpenReader<'static, BufReader<I>>> {
    /// Opens a backup that is sealed to `root`, and reads the person record in it. It says
    /// whether its sender is a device of the person.
    ///
    /// # Errors
    /// Returns [`ReadArchiveError`] if the input is not a backup for `root`, another than its
    /// devices sealed it, or it has a later version.
    pub fn open(root: &Identity, input: I) -> Result<Self, ReadArchiveError> {
        let reader = open(root, input)?;
        Self::of_backup(root.public(), &reader.sender().clone(), reader)
    }

    /// Opens the answer to the link text of a device, and reads the keys in it.
    ///
    /// # Errors
    /// Returns [`ReadArchiveError`] if the input is not a link for `device`, has another secret
    /// than the text, or its parts do not belong to this device and to each other.
    pub fn open_link(
        device: &Identity,
        secret: &LinkSecret,
        input: I,
    ) -> Result<Self, ReadArchiveError> {
        let reader = open(device, input)?;
        let to = LinkTarget { device: device.public(), peer_id: peer_id(device), secret };
        Self::of_link(to, &reader.sender().clone(), reader)
    }
}

fn open<I: Read>(
    identity: &Identity,
    input: I,
) -> Result<OpenReader<'static, BufReader<I>>, ReadArchiveError> {
    let input = BufReader::with_capacity(BUFFER_LEN, input);
    Ok(Opener::new(identity, CONTEXT).reader(input, Policy::new())?)
}

impl<R: Read> Archive<R> {
    /// Reads the beginning of a backup from the plaintext of an envelope. The caller MUST have
    /// opened the envelope, with `sender` as its sender; [`Archive::open`] does both.
    ///
    /// # Errors
    /// Those of [`Archive::open`].
    pub fn of_backup(
        root: &PublicIdentity,
        sender: &PublicKey,
        plaintext: R,
    ) -> Result<Self, ReadArchiveError> {
        let archive = Self::begin(Some(root), sender, plaintext)?;
        if archive.kind != ArchiveKind::Backup {
            return Err(ReadArchiveError::Damaged("purpose"));
        }
        Ok(archive)
    }

    /// Reads the beginning of a link from the plaintext of an envelope, as [`Self::of_backup`].
    ///
    /// # Errors
    /// Those of [`Archive::open_link`].
    pub fn of_link(
        to: LinkTarget<'_>,
        sender: &PublicKey,
        plaintext: R,
    ) -> Result<Self, ReadArchiveError> {
        let damaged = |what| ReadArchiveError::Damaged(what);
        let mut archive = Self::begin(None, sender, plaintext)?;
        if archive.kind != ArchiveKind::Link {
            return Err(damaged("purpose"));
        }
        let root = archive.expect(tag::ROOT)?.ok_or(damaged("root"))?;
        let root = IdentityFile::parse(&root).ok().map(|it| it.open_without_passphrase());
        let root = root.and_then(|it| it.ok().flatten()).ok_or(damaged("root"))?;
        let link = archive.expect(tag::LINK)?.ok_or(damaged("link"))?;
        let (secret, certificate) = link.split_first_chunk().ok_or(damaged("link"))?;
        if LinkSecret::from_bytes(secret) != *to.secret {
            return Err(ReadArchiveError::OtherLink);
        }
        let certificate = Certificate::from_bytes(certificate).map_err(|_| damaged("link"))?;
        let person = &archive.person;
        let number = NonZeroU32::new(certificate.address().device.number());
        let listed = number.and_then(|number| person.device(number));
        if root.public() != person.identity()
            || certificate.address().identity != *root.public().ed25519()
            || listed != Some(to.device.ed25519())
            || certificate.keys().peer_id != to.peer_id
        {
            return Err(damaged("link"));
        }
        archive.linked = Some(Linked { root, certificate });
        Ok(archive)
    }

    /// Takes the keys of a link.
    #[must_use]
    pub fn linked(&mut self) -> Option<Linked> {
        self.linked.take()
    }

    /// Reads head and person record, which is of `root` if that is known.
    fn begin(
        root: Option<&PublicIdentity>,
        sender: &PublicKey,
        mut reader: R,
    ) -> Result<Self, ReadArchiveError> {
        let damaged = |what| ReadArchiveError::Damaged(what);
        let head = Entry::read(&mut reader)?.filter(|it| it.tag == tag::HEAD);
        let head = head.ok_or(damaged("head"))?;
        let (version, rest) = head.value.split_first().ok_or(damaged("head"))?;
        if *version != VERSION {
            return Err(ReadArchiveError::Version(*version));
        }
        let (kind, time) = match rest.split_first() {
            Some((&write::BACKUP, time)) => (ArchiveKind::Backup, time),
            Some((&write::LINK, time)) => (ArchiveKind::Link, time),
            _ => return Err(damaged("purpose")),
        };
        let time = u64::from_le_bytes(time.try_into().map_err(|_| damaged("head"))?);
        let entry = Entry::read(&mut reader)?.filter(|it| it.tag == tag::PERSON);
        let person = entry.and_then(|it| PersonRecord::parse(&it.value).ok());
        let person = person.filter(|it| root.is_none_or(|root| root == it.identity()));
        let person = person.ok_or(damaged("person record"))?;
        let is_device = person.devices().any(|(_, it)| it == sender);
        if !is_device && sender != person.identity().ed25519() {
            return Err(ReadArchiveError::Sender);
        }
        Ok(Self { reader, kind, time, person, next: None, last: tag::PERSON, linked: None })
    }

    /// Takes the next entry if it has this tag.
    fn expect(&mut self, tag: u8) -> Result<Option<Zeroizing<Vec<u8>>>, ReadArchiveError> {
        let entry = match self.next.take() {
            Some(entry) => Some(entry),
            None => Entry::read(&mut self.reader)?,
        };
        match entry {
            Some(entry) if entry.tag == tag => {
                self.last = tag;
                Ok(Some(entry.value))
            }
            other => {
                self.next = other;
                Ok(None)
            }
        }
    }

    /// Returns the person record of the archive.
    #[must_use]
    pub fn person(&self) -> &PersonRecord {
        &self.person
    }

    /// Reads the archive to its end, verifies every byte, and changes nothing.
    ///
    /// # Errors
    /// Returns [`ReadArchiveError`] if the archive was cut or changed, or is not valid.
    pub fn check(mut self) -> Result<ArchiveContent, ReadArchiveError> {
        let (mut hub, mut contacts, mut texts, mut rosters) = (None, 0, 0, 0);
        while let Some(content) = self.next()? {
            match content {
                Content::Hub(membership) => hub = Some(membership),
                Content::Contacts(book) => contacts = book.len(),
                Content::Peers(_) => {}
                Content::Roster(..) => rosters += 1,
                Content::Unread(_) => texts += 1,
                Content::Record { kind, name, value } => {
                    let item = ArchivedItem::Record { kind, name: &name, value: &value };
                    texts += u64::from(item.is_text());
                }
            }
        }
        Ok(ArchiveContent {
            kind: self.kind,
            time: self.time,
            person: self.person,
            hub,
            contacts,
            texts,
            rosters,
        })
    }

    /// Puts the content into the state directory of a new device, whose sessions are open as
    /// `engine`. The caller MUST have checked the whole archive with [`Self::check`], and MUST NOT
    /// have sent anything yet. Texts that waited in a backup, or that no device had confirmed, are
    /// sent with the next sync. May be called again.
    ///
    /// # Errors
    /// Returns [`ReadArchiveError`] if something cannot be read or written. The state directory is
    /// incomplete then.
    pub fn restore(
        mut self,
        home: &Home,
        engine: &mut Engine,
        lock: &HomeLock,
    ) -> Result<(), ReadArchiveError> {
        home.keep_person(&self.person, lock)?;
        let groups = home.groups();
        let mut items = Vec::new();
        let mut bytes = 0;
        while let Some(content) = self.next()? {
            match content {
                Content::Hub(_) => {}
                Content::Contacts(contacts) => home.store_contacts(&contacts, lock)?,
                Content::Peers(peers) => home.store_peers(&peers, lock)?,
                Content::Roster(name, roster) => {
                    let known = groups.epoch(&name, roster.epoch());
                    if known.is_ok_and(|known| known == roster) {
                        continue;
                    }
                    groups.import(roster.as_bytes(), Some(name), |_| true, lock)?;
                }
                Content::Unread(value) => {
                    bytes += value.len();
                    items.push((None, value));
                }
                Content::Record { kind, name, value } => {
                    bytes += value.len();
                    items.push((Some((kind, name)), value));
                }
            }
            if items.len() == PAGE || bytes > PAGE_BYTES {
                put(engine, &mut items)?;
                bytes = 0;
            }
        }
        put(engine, &mut items)?;
        Ok(settle_restored(engine, self.kind == ArchiveKind::Backup)?)
    }

    fn next(&mut self) -> Result<Option<Content>, ReadArchiveError> {
        let entry = match self.next.take() {
            Some(entry) => entry,
            None => match Entry::read(&mut self.reader)? {
                Some(entry) => entry,
                None => return Ok(None),
            },
        };
        if entry.tag < self.last {
            return Err(ReadArchiveError::Damaged("order of the entries"));
        }
        self.last = entry.tag;
        Content::of(entry).map(Some)
    }
}

/// Items of the store: kind and name of a record, or none of an unread text, and the value.
type Items = Vec<(Option<(u16, Vec<u8>)>, Zeroizing<Vec<u8>>)>;

fn put(engine: &mut Engine, items: &mut Items) -> Result<(), ReadArchiveError> {
    engine.transaction(|transaction| {
        for (of, value) in items.drain(..) {
            let item = match &of {
                Some((kind, name)) => ArchivedItem::Record { kind: *kind, name, value: &value },
                None => ArchivedItem::Unread { number: 0, value: &value },
            };
            restore_archived(transaction, item)?;
        }
        Ok(())
    })
}

impl Content {
    fn of(entry: Entry) -> Result<Self, ReadArchiveError> {
        let Entry { tag, name, value } = entry;
        let damaged = |what| Err(ReadArchiveError::Damaged(what));
        let content = match tag {
            tag::HUB => Membership::read(&value).map(Self::Hub),
            tag::CONTACTS => Contacts::parse(&value).ok().map(Self::Contacts),
            tag::PEERS => Peers::parse(&value).ok().map(Self::Peers),
            tag::ROSTER => {
                let name = name.split_first_chunk::<8>().and_then(|(epoch, name)| {
                    Some((u64::from_be_bytes(*epoch), Name::new(str::from_utf8(name).ok()?).ok()?))
                });
                let roster = Roster::parse(&value).ok();
                name.zip(roster)
                    .filter(|((epoch, _), roster)| *epoch == roster.epoch())
                    .map(|((_, name), roster)| Self::Roster(name, roster))
            }
            tag::UNREAD => {
                let number = name.as_slice().try_into().ok().map(u64::from_be_bytes);
                let item = |number| ArchivedItem::Unread { number, value: &value };
                let is_valid = number.is_some_and(|it| is_archived_item(&item(it)));
                is_valid.then(|| Self::Unread(value))
            }
            tag::RECORD => {
                let parts = name.split_first_chunk::<2>();
                let parts = parts.map(|(kind, name)| (u16::from_be_bytes(*kind), name));
                let is_valid = |(kind, name): &(u16, &[u8])| {
                    is_archived_item(&ArchivedItem::Record { kind: *kind, name, value: &value })
                };
                let parts = parts.filter(is_valid).map(|(kind, name)| (kind, name.to_vec()));
                parts.map(|(kind, name)| Self::Record { kind, name, value })
            }
            _ => return damaged("kind of an entry"),
        };
        content.ok_or(ReadArchiveError::Damaged(match tag {
            tag::HUB => "hub",
            tag::CONTACTS | tag::PEERS => "address book",
            tag::ROSTER => "roster",
            tag::UNREAD => "unread text",
            _ => "record",
        }))
    }
}
