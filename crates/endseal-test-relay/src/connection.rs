//! One connection of a client.

use alloc::sync::Arc;
use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use endseal_crypto::random::{OsRandom, Random as _};
use endseal_nostr::event::Event;
use endseal_relay::auth;
use endseal_relay::message::{self, ClientMessage, MessageError};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time;
use tokio_websockets::{CloseCode, Message, Payload, ServerBuilder, WebSocketStream};

use crate::head::{Head, HeadFirst, read_head};
use crate::hub::{Hub, Member, Messages};
use crate::information;

/// Most keys that a connection authenticates.
const MAX_KEYS: usize = 1_000;

/// Most messages that are written before they are flushed.
const BATCH: usize = 64;

type Socket = WebSocketStream<HeadFirst<TcpStream>>;

/// The connection is over.
struct Over;

/// Serves a connection up to its end.
pub(crate) async fn run(stream: TcpStream, hub: Arc<Hub>, stopped: watch::Receiver<bool>) {
    let timeout = hub.settings().limits.timeout;
    if let Ok(Some(socket)) = time::timeout(timeout, accept(stream, &hub)).await
        && let Some(challenge) = new_challenge()
    {
        let (member, messages) = hub.add();
        let connection = Connection {
            socket,
            hub: &hub,
            member,
            challenge,
            keys: 0,
            events: 0,
            was_asked: false,
        };
        connection.serve(messages, stopped).await;
    }
}

/// Answers the first request. Returns a socket if it was for WebSocket.
async fn accept(mut stream: TcpStream, hub: &Hub) -> Option<Socket> {
    stream.set_nodelay(true).ok()?;
    let read = read_head(&mut stream).await.ok()?;
    let head = Head::parse(&read[..Head::end(&read)?])?;
    let mut line = head.first_line.split(' ');
    // tokio-websockets panics at a target that httparse accepts and http does not.
    let is_valid = line.next() == Some("GET") && line.next()?.parse::<http::Uri>().is_ok();
    let is_upgrade = head.headers("upgrade").any(|value| value.eq_ignore_ascii_case("websocket"));
    if !is_valid || !is_upgrade {
        let response = information::response(&head, hub.settings());
        stream.write_all(&response).await.ok()?;
        stream.shutdown().await.ok()?;
        return None;
    }
    let limits =
        tokio_websockets::Limits::default().max_payload_len(Some(hub.settings().limits.message));
    let accepted = ServerBuilder::new().limits(limits).accept(HeadFirst::new(read, stream)).await;
    accepted.ok().map(|(_, socket)| socket)
}

struct Connection<'h> {
    socket: Socket,
    hub: &'h Arc<Hub>,
    member: Member,
    challenge: String,
    keys: usize,
    /// Number of events that it sent.
    events: u64,
    was_asked: bool,
}

impl Connection<'_> {
    async fn serve(mut self, mut messages: Messages, mut stopped: watch::Receiver<bool>) {
        if self.wants_auth() && self.ask().await.is_err() {
            return;
        }
        let code = loop {
            let turn = tokio::select! {
                received = self.socket.next() => match received {
                    // A stop while it is served waits for that.
                    Some(Ok(received)) => self.received(received).await,
                    _ => Err(Over),
                },
                message = messages.next() => match message {
                    Some(message) => self.forward(message, &mut messages).await,
                    None => break CloseCode::POLICY_VIOLATION,
                },
                _ = stopped.changed() => break CloseCode::GOING_AWAY,
            };
            if turn.is_err() {
                break CloseCode::NORMAL_CLOSURE;
            }
        };
        let goodbye = async {
            // A socket that is dropped with unread messages resets the connection, and the client
            // may lose the goodbye.
            if self.socket.send(Message::close(Some(code), "")).await.is_ok() {
                while let Some(Ok(_)) = self.socket.next().await {}
            }
        };
        let _ = time::timeout(GOODBYE, goodbye).await;
    }

    fn wants_auth(&self) -> bool {
        self.hub.settings().auth || self.hub.faults().demand_auth
    }

    /// Sends the challenge.
    async fn ask(&mut self) -> Result<(), Over> {
        self.was_asked = true;
        self.send(message::challenge(&self.challenge)).await
    }

    async fn forward(&mut self, first: Bytes, messages: &mut Messages) -> Result<(), Over> {
        let mut next = Some(first);
        for _ in 0..BATCH {
            let Some(message) = next else { break };
            self.feed(message).await?;
            next = messages.try_next();
        }
        if let Some(message) = next {
            self.feed(message).await?;
        }
        self.flush().await
    }

    async fn received(&mut self, received: Message) -> Result<(), Over> {
        if received.is_ping() {
            // Or pongs to a client that does not read them would pile up.
            return self.flush().await;
        }
        if received.is_close() {
            return Err(Over);
        }
        if !received.is_text() {
            return self.send(message::notice("invalid: the message is binary")).await;
        }
        let frame = Bytes::from(received.into_payload());
        match ClientMessage::parse(&frame) {
            Ok(ClientMessage::Event(json)) => self.event(&frame.slice_ref(json.as_bytes())).await,
            Ok(ClientMessage::Request { subscription, filters }) => {
                let (id, faults) = (subscription.to_string(), self.hub.faults());
                if let Some(reason) = &faults.close_subscriptions {
                    return self.send(message::closed(&id, reason)).await;
                }
                if faults.demand_auth && self.keys == 0 {
                    return self.refuse(message::closed(&id, AUTH_REQUIRED)).await;
                }
                if let Some(delay) = faults.delay_subscriptions {
                    time::sleep(delay).await;
                }
                let Some(stored) = self.member.subscribe(&id, filters) else {
                    let reason = "rate-limited: too many subscriptions";
                    return self.send(message::closed(&id, reason)).await;
                };
                for event in stored {
                    self.feed(message::deliver(&id, &event)).await?;
                }
                if !faults.no_end_of_stored {
                    self.feed(message::end_of_stored(&id)).await?;
                }
                self.flush().await
            }
            Ok(ClientMessage::Close(id)) => {
                self.member.unsubscribe(&id.to_string());
                Ok(())
            }
            Ok(ClientMessage::Auth(json)) => self.auth(json.as_bytes()).await,
            // Kinds that this relay does not know either.
            Ok(_) => self.send(message::notice("unsupported: unknown type of message")).await,
            Err(error) => self.malformed(error).await,
        }
    }

    async fn malformed(&mut self, error: MessageError) -> Result<(), Over> {
        self.send(message::notice(&format!("invalid: {error}"))).await
    }

    async fn event(&mut self, json: &Bytes) -> Result<(), Over> {
        let faults = self.hub.faults();
        self.events += 1;
        if faults.close_longer.is_some_and(|len| json.len() >= len) {
            return Err(Over);
        }
        let event = match Event::parse(json) {
            Ok(event) => event,
            Err(error) => return self.send(message::notice(&format!("invalid: {error}"))).await,
        };
        let (accepted, reason) = if faults.demand_auth && self.keys == 0 {
            return self.refuse(message::result(&event.id, false, AUTH_REQUIRED)).await;
        } else if let Some(reason) = &faults.refuse {
            (false, reason.as_str())
        } else if faults.refuse_longer.is_some_and(|len| json.len() >= len) {
            (false, "invalid: the event is too large")
        } else if event.kind == auth::KIND {
            (false, "invalid: an answer to a challenge is no event")
        } else if event.verify().is_err() {
            (false, "invalid: the event is not authentic")
        } else if self.hub.publish(&event, json) {
            (true, "")
        } else {
            (true, "duplicate: the event, or a newer one, is stored")
        };
        if !faults.no_result {
            self.send(message::result(&event.id, accepted, reason)).await?;
        }
        if faults.close_after.is_some_and(|number| self.events >= number) {
            return Err(Over);
        }
        Ok(())
    }

    /// Refuses for want of authentication, and asks for it.
    async fn refuse(&mut self, message: Bytes) -> Result<(), Over> {
        if !self.was_asked {
            self.ask().await?;
        }
        self.send(message).await
    }

    async fn auth(&mut self, json: &[u8]) -> Result<(), Over> {
        let Ok(event) = Event::parse(json) else {
            return self.send(message::notice("invalid: the authentication is malformed")).await;
        };
        let settings = self.hub.settings();
        let verified = if self.keys == MAX_KEYS {
            Err("rate-limited: too many keys".to_owned())
        } else {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |at| at.as_secs());
            auth::verify(&event, &self.challenge, settings.url.as_ref(), now)
                .map_err(|error| format!("invalid: {error}"))
        };
        let result = match verified {
            Ok(key) => {
                self.keys += 1;
                self.member.authenticated(key.to_bytes());
                message::result(&event.id, true, "")
            }
            Err(reason) => message::result(&event.id, false, &reason),
        };
        if self.hub.faults().no_result { Ok(()) } else { self.send(result).await }
    }

    async fn send(&mut self, message: Bytes) -> Result<(), Over> {
        self.feed(message).await?;
        self.flush().await
    }

    async fn feed(&mut self, message: Bytes) -> Result<(), Over> {
        let timeout = self.hub.settings().limits.timeout;
        let message = Message::text(Payload::from(message));
        let fed = time::timeout(timeout, self.socket.feed(message)).await;
        fed.map_err(|_| Over)?.map_err(|_| Over)
    }

    async fn flush(&mut self) -> Result<(), Over> {
        let timeout = self.hub.settings().limits.timeout;
        time::timeout(timeout, self.socket.flush()).await.map_err(|_| Over)?.map_err(|_| Over)
    }
}

const AUTH_REQUIRED: &str = "auth-required: this relay wants to know its clients";

/// Longest time for a goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

/// 16 random bytes in hexadecimal digits.
fn new_challenge() -> Option<String> {
    let mut bytes = [0_u8; 16];
    OsRandom.fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
