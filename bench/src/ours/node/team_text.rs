//! The case `team_text`: a text to a team, from the sender's request to the last member's inbox.

use core::cell::RefCell;
use core::time::Duration;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use endseal_keyring::roster::GroupId;
use endseal_node::api::{Client, Reply, Request, SecretText};
use endseal_node::messages::Conversation;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::runtime::Runtime;

use super::service::{Running, start};
use super::team::Team;
use crate::clock::Elapsed;
use crate::duplex::carrier::Wire;
use crate::duplex::relay::Relay;
use crate::s3::listen;
use crate::subject::{Checked, Extra, Failure, Prepared};

/// Time limit until all services are connected, and until a text has arrived everywhere.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A text in a member's inbox.
struct Arrived {
    at: Instant,
    text: String,
}

/// Bytes of frames that the hub has counted: put by the sender, and delivered.
#[derive(Clone, Copy)]
struct Counted {
    put: f64,
    delivered: f64,
}

/// Services of a sender and of members that are connected, each through its own relay.
pub(super) struct TeamText {
    team: Rc<RefCell<Team>>,
    group: GroupId,
    members: usize,
    /// Bytes of a text.
    bytes: usize,
    sender: Option<Running>,
    others: Vec<Running>,
    /// One relay for each service, the sender's first.
    relays: Vec<Relay>,
    /// Runtime of the relays.
    way: Runtime,
    arrivals: Receiver<Arrived>,
    written: u64,
    counted: Vec<Counted>,
}

impl TeamText {
    pub(super) fn new(
        team: Rc<RefCell<Team>>,
        members: usize,
        bytes: usize,
        round_trip: Duration,
    ) -> Result<Self, Failure> {
        let group = team.borrow_mut().group(members)?;
        let (arrived, arrivals) = channel();
        let mut own = Self {
            team,
            group,
            members,
            bytes,
            sender: None,
            others: Vec::new(),
            relays: Vec::new(),
            way: listen::runtime()?,
            arrivals,
            written: 0,
            counted: Vec::new(),
        };
        own.connect(round_trip / 2, &arrived)?;
        Ok(own)
    }

    fn connect(&mut self, delay: Duration, arrived: &Sender<Arrived>) -> Result<(), Failure> {
        raise_descriptors();
        let mut team = self.team.borrow_mut();
        let hub = team.server.address;
        self.relays = self.way.block_on(async {
            let mut relays = Vec::new();
            for _ in 0..=self.members {
                relays.push(Relay::start(Wire::Udp, hub, delay).await?);
            }
            Ok::<_, Failure>(relays)
        })?;
        let (connected, are_connected) = channel();
        let people: Vec<_> = team.members.drain(..self.members).collect();
        for (person, relay) in people.into_iter().zip(&self.relays[1..]) {
            let running = start(person, relay.address(), connected.clone())?;
            let (client, arrived) = (running.client.clone(), arrived.clone());
            self.others.push(running);
            let after = last_number(&client)?;
            // The thread ends with the service.
            let inbox = thread::Builder::new().name("inbox".to_owned());
            inbox.spawn(move || follow(&client, after, &arrived))?;
        }
        let sender = team.sender.take().ok_or("the sender's service runs")?;
        self.sender = Some(start(sender, self.relays[0].address(), connected)?);
        for _ in 0..=self.members {
            are_connected.recv_timeout(TIMEOUT).map_err(|_| "a service was not connected")?;
        }
        Ok(())
    }

    /// Sends one text. The first one makes the group. Returns the time until the last member has
    /// it, and the texts that arrived.
    fn send(&mut self) -> Result<(Duration, Vec<String>, String), Failure> {
        self.written += 1;
        let mut text = format!("{:08} ", self.written);
        text.extend(core::iter::repeat_n('x', self.bytes.saturating_sub(text.len())));
        let sender = self.sender.as_ref().ok_or("there is no sender")?;
        let to = Conversation::Group(self.group);
        let before = self.count()?;
        let begin = Instant::now();
        let texts = vec![SecretText::new(text.clone())];
        sender.client.call(&Request::Say { to, texts })?;
        let (mut last, mut texts) = (begin, Vec::new());
        while texts.len() < self.members {
            let Arrived { at, text } = self.arrivals.recv_timeout(TIMEOUT).map_err(|_| {
                format!("{} of {} members have the text", texts.len(), self.members)
            })?;
            last = last.max(at);
            texts.push(text);
        }
        let after = self.count()?;
        self.counted.push(Counted {
            put: after.put - before.put,
            delivered: after.delivered - before.delivered,
        });
        Ok((last - begin, texts, text))
    }

    fn count(&self) -> Result<Counted, Failure> {
        let team = self.team.borrow();
        let of = |name| team.server.counter(name);
        Ok(Counted { put: of("put_bytes_total")?, delivered: of("delivered_bytes_total")? })
    }
}

impl Drop for TeamText {
    fn drop(&mut self) {
        let mut team = self.team.borrow_mut();
        let people = self.others.drain(..).filter_map(|running| running.stop().ok());
        let people: Vec<_> = people.collect();
        // If a service did not return, too few members are left, and creating the next group
        // reports it.
        team.members.splice(0..0, people);
        team.sender = self.sender.take().and_then(|running| running.stop().ok());
    }
}

/// Returns the number of the last text in an inbox.
fn last_number(client: &Client) -> Result<u64, Failure> {
    let (mut last, mut after) = (0, 0);
    loop {
        let Reply::Texts(page) = client.call(&Request::Unread { after })? else {
            return Err("unread gave another reply".into());
        };
        last = page.rows.last().map_or(last, |it| it.number);
        match page.next {
            Some(next) => after = next,
            None => return Ok(last),
        }
    }
}

/// Reports each text that arrives in the inbox, until the service ends.
fn follow(client: &Client, after: u64, arrived: &Sender<Arrived>) {
    let Ok(mut followed) = client.follow(after) else { return };
    while let Ok(texts) = followed.next() {
        let at = Instant::now();
        for it in texts {
            let text = it.text.map(|it| it.expose_secret().to_owned()).unwrap_or_default();
            if arrived.send(Arrived { at, text }).is_err() {
                return;
            }
        }
    }
}

/// Raises the limit of open files and sockets of this process as far as permitted.
fn raise_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If it fails, a run with few members still works.
    let _ = setrlimit(Resource::Nofile, limit);
}

impl Prepared for TeamText {
    fn check(&mut self) -> Result<Checked, Failure> {
        let (_, texts, sent) = self.send()?;
        let round_trip = texts.len() == self.members && texts.iter().all(|it| *it == sent);
        self.counted.clear();
        Ok(Checked::round_trip(round_trip))
    }

    fn once(&mut self) -> Result<Elapsed, Failure> {
        let (wall, _, _) = self.send()?;
        Ok(Elapsed::new(wall.as_secs_f64() * 1e9, None))
    }

    #[allow(clippy::cast_precision_loss, reason = "bytes far below 2^53")]
    fn extra(&mut self) -> Result<Vec<Extra>, Failure> {
        let members = self.members as f64;
        let of = |value: &dyn Fn(&Counted) -> f64| self.counted.iter().map(value).collect();
        Ok(vec![
            Extra::less("up", "B", of(&|it| it.put)),
            Extra::less("down", "B", of(&|it| it.delivered / members)),
        ])
    }
}
