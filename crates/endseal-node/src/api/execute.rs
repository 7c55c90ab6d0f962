//! Execution of requests on a store.

use endseal_crypto::ed25519::PublicKey;
use endseal_keyring::device::Address;
use endseal_keyring::roster::GroupId;
use endseal_session::{Engine, EngineError};

use super::teams::{members, teams};
use super::{Error, ErrorKind, Forgotten, NodeStatus, Page, Reply, Request, Said, SecretText};
use super::{TextRow, UnsentRow, VERSION, Version};
use crate::home::Home;
use crate::messages::{
    Conversation, HistoryRow, SayError, Text, Unread, accept, answer, block, delete_texts,
    delete_texts_before, departures, devices, forget_problems, history_page, leave,
    mark_changes_seen, mark_read, muted, name_device, note_delivery, person_rules, problems,
    requests, say, set_muted, set_verified, settle_contacts, settle_inbox, status, unblock,
    unread_page, unseen_changes, unsend, unsend_all, waiting_page,
};

/// Rows that are read from the store at once.
const STEP: usize = 16;
/// Limit on the rows of a reply.
const ROWS: usize = 256;
/// Length of the plaintexts in bytes after which a reply has enough rows; the others are left for
/// the next reply. JSON needs up to six bytes for one, and a row is shorter than 1 MiB, so that the
/// reply fits into a line of 8 MiB.
const BYTES: usize = 1 << 20;
/// Limit on the changes of devices of a reply. Others follow when these are marked as seen.
const CHANGES: usize = 1_024;
/// Texts that are marked as read in one transaction.
const MARKS: usize = 1_024;

/// Carries out a request on the store of a state directory.
///
/// # Errors
/// Returns [`Error`] if the request is refused or the store fails. [`Request::Sync`],
/// [`Request::Follow`] and [`Request::Backup`] are refused, because they need the connection or the
/// keys of `endseal up`.
pub fn execute(engine: &mut Engine, home: &Home, request: Request) -> Result<Reply, Error> {
    Ok(match request {
        Request::Version {} => {
            let program = concat!("endseal ", env!("CARGO_PKG_VERSION")).to_owned();
            Reply::Version(Version { api: VERSION, program })
        }
        Request::Status {} => {
            settle_inbox(engine, home)?;
            let own = engine.address();
            Reply::Status(NodeStatus {
                identity: own.identity,
                device: own.device.number(),
                status: status(engine)?,
                connected: None,
                cause: None,
            })
        }
        Request::Say { to, texts } => {
            if let Conversation::Group(id) = &to {
                check_team(home, &engine.address().identity, id)?;
            }
            let numbers = say(engine, &to, &texts)?;
            // What is written to a person accepts the person's request.
            settle_inbox(engine, home)?;
            said(numbers)
        }
        Request::Answer { number, texts } => {
            let own = engine.address().identity;
            said(answer(engine, number, &texts, |id| check_team(home, &own, id))?)
        }
        Request::Unread { after } => {
            settle_inbox(engine, home)?;
            Reply::Texts(unread(engine, after)?)
        }
        Request::MarkRead { numbers } => {
            for some in numbers.chunks(MARKS) {
                mark_read(engine, some)?;
            }
            Reply::Done {}
        }
        Request::History { with, after, limit } => {
            Reply::Texts(history(engine, &with, after, limit)?)
        }
        Request::Unsent { after } => {
            let rows = waiting_page(engine, after)?.into_iter();
            let rows: Vec<_> = rows
                .map(|(number, conversation, can_unsend)| UnsentRow {
                    number,
                    conversation,
                    can_unsend,
                })
                .collect();
            let next = rows.last().map(|row| row.number);
            Reply::Unsent(Page { rows, next })
        }
        Request::Unsend { to, numbers } => forgotten(unsend(engine, &to, &numbers)?),
        Request::UnsendAll { to } => forgotten(unsend_all(engine, &to)?),
        Request::DeleteTexts { with, numbers } => forgotten(delete_texts(engine, &with, &numbers)?),
        Request::DeleteTextsBefore { with, time } => {
            forgotten(delete_texts_before(engine, &with, time)?)
        }
        Request::Requests { after } => {
            settle_inbox(engine, home)?;
            Reply::Texts(waiting_requests(engine, after)?)
        }
        Request::Accept { person } => {
            accept(engine, home, &person)?;
            Reply::Done {}
        }
        Request::Block { person } => {
            if person == engine.address().identity {
                return Err(Error::new(ErrorKind::Own, "this is your own identity"));
            }
            forgotten(block(engine, &person)?)
        }
        Request::Unblock { person } => forgotten(unblock(engine, &person)?.unwrap_or_default()),
        Request::Teams {} => Reply::Teams(teams(engine, home)?),
        Request::Members { team, after } => Reply::Members(members(home, &team, after)?),
        Request::Leave { team } => forgotten(leave(engine, home, &team)?),
        Request::Departures {} => Reply::Departures(Page::only(departures(engine)?)),
        Request::Mute { person, is_muted } => {
            set_muted(engine, &person, is_muted)?;
            Reply::Done {}
        }
        Request::Verify { person, is_verified } => {
            if person == engine.address().identity {
                return Err(Error::new(ErrorKind::Own, "this is your own identity"));
            }
            set_verified(engine, &person, is_verified)?;
            Reply::Done {}
        }
        Request::Persons {} => {
            settle_contacts(engine, home)?;
            Reply::Persons(Page::only(person_rules(engine)?))
        }
        Request::Problems {} => Reply::Problems(Page::only(problems(engine)?)),
        Request::ForgetProblems { last } => {
            forget_problems(engine, last)?;
            Reply::Done {}
        }
        Request::Devices { person } => Reply::Devices(devices(engine, &person)?),
        Request::NameDevice { device, name } => {
            name_device(engine, device, &name)?;
            Reply::Done {}
        }
        Request::DeviceChanges {} => {
            let mut rows = unseen_changes(engine)?;
            rows.truncate(CHANGES);
            Reply::DeviceChanges(Page::only(rows))
        }
        Request::MarkChangesSeen { last } => {
            mark_changes_seen(engine, last)?;
            Reply::Done {}
        }
        Request::Sync { .. } | Request::Follow { .. } | Request::Backup {} => {
            return Err(Error::new(ErrorKind::NeedsUp, "endseal up is not running"));
        }
    })
}

fn said(numbers: Vec<u64>) -> Reply {
    Reply::Said(Said { texts: numbers.len() as u64, numbers })
}

/// Fails if others would refuse texts of `own` to a team.
fn check_team(home: &Home, own: &PublicKey, id: &GroupId) -> Result<(), SayError> {
    match home.groups().known(id) {
        Ok(None) => Err(SayError::Group),
        Ok(Some((_, roster))) if roster.member_of_key(own).is_none() => Err(SayError::NotMember),
        // The next visit reports a roster that cannot be read.
        Ok(Some(_)) | Err(_) => Ok(()),
    }
}

fn forgotten(texts: u64) -> Reply {
    Reply::Forgotten(Forgotten { texts })
}

fn waiting_requests(engine: &mut Engine, after: u64) -> Result<Page<TextRow>, EngineError> {
    let own = engine.address().identity;
    let (mut rows, mut bytes, mut next) = (Vec::<TextRow>::new(), 0, None);
    for text in requests(engine)?.into_iter().filter(|it| it.number > after) {
        bytes += text.plaintext.len();
        if !rows.is_empty() && (bytes > BYTES || rows.len() == ROWS) {
            next = rows.last().map(|row| row.number);
            break;
        }
        let person = text.writer.identity;
        let read = Text::read(&text.plaintext, &person, &Conversation::Person(own));
        rows.push(TextRow::new(text.number, Conversation::Person(person), text.writer, read));
    }
    Ok(Page { rows, next })
}

fn unread(engine: &mut Engine, after: u64) -> Result<Page<TextRow>, EngineError> {
    let own = engine.address().identity;
    let muted = muted(engine)?;
    let (mut rows, mut bytes, mut at) = (Vec::<TextRow>::new(), 0, after);
    while rows.len() < ROWS {
        let (page, next) = unread_page(engine, at, STEP)?;
        let Some(next) = next else {
            return Ok(Page { rows, next: (at > after).then_some(at) });
        };
        at = next;
        for text in page {
            bytes += text.plaintext.len();
            if bytes > BYTES && !rows.is_empty() {
                // The next reply starts with this text.
                return Ok(Page { rows, next: Some(text.number - 1) });
            }
            let Unread { number, conversation, writer, .. } = text;
            // Texts of a muted person to a group are those of the group.
            let is_muted = matches!(&conversation, Conversation::Person(it) if muted.contains(it));
            let row = TextRow::new(number, conversation, writer, text.text(&own));
            rows.push(TextRow { is_muted, ..row });
        }
    }
    Ok(Page { rows, next: Some(at) })
}

fn history(
    engine: &mut Engine,
    with: &Conversation,
    after: u64,
    limit: u64,
) -> Result<Page<TextRow>, EngineError> {
    let (mut found, mut bytes, mut at) = (Vec::<HistoryRow>::new(), 0, after);
    let limit = usize::try_from(limit).unwrap_or(ROWS).min(ROWS);
    'pages: while found.len() < limit {
        let page = history_page(engine, with, at, STEP.min(limit - found.len()))?;
        let Some(last) = page.last() else { break };
        at = last.number;
        for row in page {
            bytes += row.plaintext.len();
            if bytes > BYTES && !found.is_empty() {
                break 'pages;
            }
            found.push(row);
        }
    }
    note_delivery(engine, with, &mut found)?;
    let own = engine.address().identity;
    let next = found.last().map(|it| it.number);
    let rows = found.iter().map(|row| TextRow {
        is_sent: row.is_sent,
        delivery: row.delivery,
        confirmed: row.confirmed,
        ..TextRow::new(row.number, *with, row.writer, row.text(&own, with))
    });
    Ok(Page { rows: rows.collect(), next })
}

impl TextRow {
    fn new(
        number: u64,
        conversation: Conversation,
        writer: Address,
        text: Option<Text<'_>>,
    ) -> Self {
        Self {
            number,
            conversation,
            from: writer.identity,
            device: writer.device.number(),
            is_sent: false,
            is_muted: false,
            time: text.map(|it| it.time),
            text: text.map(|it| SecretText::new(it.text.to_owned())),
            delivery: None,
            confirmed: None,
        }
    }
}
