//! The whole path of a message in a client: JSON event, Base64, decryption, inbox, Protocol
//! Buffers.

use core::hint::black_box;
use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use endseal_codec::{Body, Codec as _, Content, Limits, Message, RichMessage};
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_session::Engine;
use serde::{Deserialize, Serialize};

use super::folder::Failure;
use super::world::{Backlog, Delivered, Names, World, all_delivered};
use crate::clock::{self, Elapsed};

/// Number of characters of a message.
const TEXT_LEN: usize = 100;
/// Type of the events that carry a message.
const KIND: &str = "conversation.message-add";
/// Number of inbox messages that are read at once.
const PAGE: usize = 256;

/// An event as a server sends it.
#[derive(Serialize, Deserialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    id: &'a str,
    conversation: &'a str,
    time: &'a str,
    data: Data<'a>,
}

#[derive(Serialize, Deserialize)]
struct Data<'a> {
    /// Ciphertext in Base64.
    text: &'a str,
}

/// Events of all backlogs.
pub(super) struct Events {
    by_backlog: Vec<Vec<String>>,
    /// Index of each conversation by its name in events.
    conversations: HashMap<String, usize>,
}

/// Returns the plaintext of a message: a text of [`TEXT_LEN`] characters in Protocol Buffers.
pub(super) fn content() -> Result<Vec<u8>, Failure> {
    let (mut id, mut letters) = ([0; 16], [0; TEXT_LEN]);
    OsRandom.fill(&mut id)?;
    OsRandom.fill(&mut letters)?;
    let text: String = letters.iter().map(|byte| char::from(b'a' + byte % 26)).collect();
    let rich = RichMessage {
        id,
        conversation: id.into(),
        body: Some(Body::Text(text.into())),
        ..RichMessage::default()
    };
    let mut encoded = Vec::new();
    Message::from(Content::Rich(rich)).append_to(Limits::default(), &mut encoded)?;
    Ok(encoded)
}

impl Events {
    pub(super) fn of(world: &World) -> Result<Self, Failure> {
        let names = |index| format!("conversation-{index}@example.org");
        let conversations =
            (0..world.shape.conversations).map(|index| (names(index), index)).collect();
        let event = |it: &Delivered| {
            serde_json::to_string(&Event {
                kind: KIND,
                id: &STANDARD.encode(it.id),
                conversation: &names(it.conversation),
                time: "2025-11-25T12:00:00.000Z",
                data: Data { text: &STANDARD.encode(&it.body) },
            })
        };
        let backlog = |it: &Backlog| it.messages.iter().map(event).collect::<Result<_, _>>();
        let by_backlog = world.backlogs.iter().map(backlog).collect::<Result<_, _>>()?;
        Ok(Self { by_backlog, conversations })
    }

    /// Runs one iteration. Opening the store is not timed.
    pub(super) fn iterate(&self, world: &World, n: usize) -> Result<Elapsed, Failure> {
        let mut receiver = world.open()?;
        let mut outcome = Ok(0);
        let show = |message| drop(black_box(message));
        let spent = clock::time_threads(|| outcome = self.receive(world, &mut receiver, n, show));
        receiver.into_store().close()?;
        let (found, wanted) = (outcome?, world.shape.messages);
        if found == wanted { Ok(spent) } else { Err(format!("{found} of {wanted} came").into()) }
    }

    /// Returns true if the messages that were read from a backlog are those that were written.
    pub(super) fn are_read(&self, world: &World) -> Result<bool, Failure> {
        let mut receiver = world.open()?;
        let mut found = Vec::new();
        self.receive(world, &mut receiver, 0, |message| found.push(message))?;
        receiver.into_store().close()?;
        let written = |content: &Vec<u8>| Message::decode(content, Limits::default());
        let written: Vec<_> =
            world.backlog(0).contents.iter().map(written).collect::<Result<_, _>>()?;
        Ok(found == written)
    }

    /// Processes a backlog's events up to messages. Returns their number.
    fn receive(
        &self,
        world: &World,
        receiver: &mut Engine,
        n: usize,
        mut taker: impl FnMut(Message),
    ) -> Result<usize, Failure> {
        let events = &self.by_backlog[n % self.by_backlog.len()];
        let delivered: Vec<Delivered> =
            events.iter().map(|event| self.parse(event)).collect::<Result<_, _>>()?;
        let names = Names::new(&world.shape);
        let envelopes = names.envelopes(&delivered);
        let report = receiver.decrypt_batch(&envelopes, &world.shape.options())?;
        all_delivered(&report, envelopes.len())?;
        let (mut after, mut count) = (0, 0);
        loop {
            let page = receiver.inbox().page(after, PAGE)?;
            let Some(last) = page.last() else { return Ok(count) };
            after = last.number;
            count += page.len();
            for row in &page {
                taker(Message::decode(&row.plaintext, Limits::default())?);
            }
        }
    }

    fn parse(&self, event: &str) -> Result<Delivered, Failure> {
        let event: Event<'_> = serde_json::from_str(event)?;
        if event.kind != KIND {
            return Err("another event".into());
        }
        let conversation = self.conversations.get(event.conversation);
        let conversation = *conversation.ok_or("a conversation is not known")?;
        let id = STANDARD.decode(event.id)?.try_into().map_err(|_| "an id of another length")?;
        Ok(Delivered { conversation, id, body: STANDARD.decode(event.data.text)? })
    }
}
