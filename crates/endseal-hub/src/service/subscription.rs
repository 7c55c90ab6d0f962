//! Sends frames to a node.

use std::sync::PoisonError;
use std::sync::atomic::Ordering::{self, Relaxed};
use std::time::Duration;

use endseal_codec::hub::{Answer, CaughtUp, Code, Deliver, Gap, GapReason};
use endseal_crypto::peer_id::PeerId;
use endseal_delivery::Credit;
use endseal_delivery::hub::{Action, Exchange, Subscription};
use endseal_delivery::limit::MAX_PAYLOAD;
use endseal_transport::{Closed, FrameReceiver, Kind, SendError};
use tokio::sync::{oneshot, watch};
use tokio::time::sleep;

use super::ServiceState;
use super::answer::Answers;
use crate::command::{Command, MailboxEnd, refused};
use crate::reader::{Fetch, Read};
use crate::store::{Delivery, DeviceRow};

/// Maximum number of frames, and of their bytes, that are read at a time.
const PAGE_FRAMES: u64 = 256;
const PAGE_BYTES: u64 = 1 << 20;
/// Time that a node may take to receive a page while other nodes wait for memory.
const PAGE_TIME: Duration = Duration::from_secs(20);

/// Both halves of the exchange, and its state.
pub(super) struct Streams {
    pub(super) answers: Answers,
    pub(super) receiver: FrameReceiver,
    pub(super) exchange: Exchange,
}

/// Delivers a mailbox until the node ends the exchange, begins another subscription or is revoked.
pub(super) async fn serve(
    peer: PeerId,
    mut streams: Streams,
    service: ServiceState,
    after: u64,
    credit: Credit,
) {
    let mut replaced = replace(&service, peer);
    let delivered = tokio::select! {
        biased;
        // Wherever the subscription waits, it ends: a frame that is half sent resets the stream.
        _ = replaced.changed() => return,
        delivered = deliver(peer, &mut streams, &service, after, credit) => delivered,
    };
    let refusal = match delivered {
        Ok(code) => code,
        // The node has disconnected.
        Err(_) => return,
    };
    if let Some(code) = refusal {
        let _ = streams.answers.send(Answer::Refused(refused(code))).await;
    }
    streams.answers.end().await;
}

/// Delivers a mailbox. Returns the code of the refusal that ends the subscription, if one does.
async fn deliver(
    peer: PeerId,
    streams: &mut Streams,
    service: &ServiceState,
    after: u64,
    credit: Credit,
) -> Result<Option<Code>, SendError> {
    let Some(entry) = service.directory.entry(&peer) else { return Ok(Some(Code::REGISTERED)) };
    let Some(device) = entry.row() else { return Ok(Some(Code::REGISTERED)) };
    entry.has_expired.store(false, Ordering::Release);
    let Some(end) = acknowledge(service, peer, after, 0).await else {
        return Ok(Some(Code::STORAGE));
    };
    let mut subscription = Subscription::new(after, credit);
    let mut told = 0;
    if after > end.last {
        subscription.skip_to(0);
        let gap = Gap { count: 0, reason: GapReason::RESTORED, position: 0 };
        streams.answers.feed(Answer::Gap(gap)).await?;
    }
    if !tell(&mut subscription, end, &mut told, streams, service, peer).await? {
        return Ok(Some(Code::STORAGE));
    }
    loop {
        if entry.has_expired.swap(false, Ordering::AcqRel) {
            let Some(end) = acknowledge(service, peer, 0, told).await else {
                return Ok(Some(Code::STORAGE));
            };
            if !tell(&mut subscription, end, &mut told, streams, service, peer).await? {
                return Ok(Some(Code::STORAGE));
            }
        }
        if service.directory.entry(&peer).is_none_or(|entry| entry.is_revoked()) {
            return Ok(Some(Code::REVOKED));
        }
        if !advance(&mut subscription, device, service, &mut streams.answers).await? {
            return Ok(Some(Code::STORAGE));
        }
        tokio::select! {
            biased;
            received = streams.receiver.receive() => {
                let Ok(Some(frame)) = received else { return Ok(None) };
                if frame.kind() != Kind::Control {
                    return Ok(Some(Code::REQUEST));
                }
                let state = service.directory.state(&peer);
                let action = streams.exchange.request(&frame.payload, &peer, state);
                service.metrics.request(&action);
                match action {
                    Action::Credit(more) => subscription.add(more),
                    Action::Acknowledge(position) => {
                        let command = Command::Acknowledge { peer, position, told, answer: None };
                        if service.commands.send(command).await.is_err() {
                            return Ok(Some(Code::STORAGE));
                        }
                    }
                    Action::Refuse(code) => return Ok(Some(code)),
                    _ => return Ok(Some(Code::REQUEST)),
                }
            }
            // This branch comes last, so that a mailbox that fills constantly does not delay the
            // node's requests.
            () = entry.news.notified() => {}
        }
    }
}

/// Makes this the only subscription of a peer.
fn replace(service: &ServiceState, peer: PeerId) -> watch::Receiver<u64> {
    let mut all = service.subscriptions.lock().unwrap_or_else(PoisonError::into_inner);
    let sender = all.entry(peer).or_insert_with(|| watch::channel(0).0);
    sender.send_modify(|number| *number += 1);
    sender.subscribe()
}

/// Deletes the frames that the node has acknowledged. Returns the end of its mailbox.
async fn acknowledge(
    service: &ServiceState,
    peer: PeerId,
    position: u64,
    told: u64,
) -> Option<MailboxEnd> {
    let (answer, answered) = oneshot::channel();
    let command = Command::Acknowledge { peer, position, told, answer: Some(answer) };
    service.commands.send(command).await.ok()?;
    answered.await.ok()
}

/// Reports an expired gap, unless it was reported already. Returns false if the hub is stopping.
async fn tell(
    subscription: &mut Subscription,
    end: MailboxEnd,
    told: &mut u64,
    streams: &mut Streams,
    service: &ServiceState,
    peer: PeerId,
) -> Result<bool, SendError> {
    let (count, position) = end.gap;
    if count == 0 || position <= *told {
        return Ok(true);
    }
    *told = position;
    if position > subscription.position() {
        subscription.skip_to(position);
    }
    let gap = Gap { count, reason: GapReason::EXPIRED, position };
    streams.answers.feed(Answer::Gap(gap)).await?;
    let command = Command::Acknowledge { peer, position: 0, told: position, answer: None };
    Ok(service.commands.send(command).await.is_ok())
}

/// Sends as many frames as the credit allows. Returns false if the database failed.
async fn advance(
    subscription: &mut Subscription,
    device: DeviceRow,
    service: &ServiceState,
    answers: &mut Answers,
) -> Result<bool, SendError> {
    while subscription.is_open() {
        let credit = subscription.credit().bytes.min(PAGE_BYTES);
        let most = kib(credit + u64::from(MAX_PAYLOAD));
        let Ok(mut permit) = service.pages.acquire_many(most).await else { return Ok(false) };
        let Some(page) = fetch(subscription, device, service).await else { return Ok(false) };
        if page.is_empty() {
            if subscription.caught_up() {
                let position = subscription.position();
                answers.feed(Answer::CaughtUp(CaughtUp { position })).await?;
            }
            break;
        }
        let length: usize = page.iter().map(|it| it.frame.len()).sum();
        drop(permit.split(most.saturating_sub(kib(length as u64)) as usize));
        tokio::select! {
            biased;
            sent = send(page, subscription, answers) => sent?,
            () = stalled(service) => {
                tracing::info!(target: "hub", "a node that receives too slowly is disconnected");
                return Err(SendError::Closed(Closed::Here));
            }
        }
    }
    answers.flush().await?;
    Ok(true)
}

/// Sends the frames of a page. Returns when they are with the transport.
async fn send(
    page: Vec<Delivery>,
    subscription: &mut Subscription,
    answers: &mut Answers,
) -> Result<(), SendError> {
    for delivery in page {
        let Delivery { position, frame } = delivery;
        if !subscription.deliver(position, frame.len() as u64) {
            break;
        }
        let deliver = Deliver { position, frame: frame.into() };
        answers.feed(Answer::Deliver(deliver)).await?;
    }
    answers.flush().await
}

/// Returns when a page has been on its way for too long while others have no memory for theirs.
async fn stalled(service: &ServiceState) {
    sleep(PAGE_TIME).await;
    while service.pages.available_permits() >= kib(PAGE_BYTES) as usize {
        sleep(Duration::from_secs(1)).await;
    }
}

fn kib(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(1_024)).unwrap_or(u32::MAX)
}

async fn fetch(
    subscription: &Subscription,
    device: DeviceRow,
    service: &ServiceState,
) -> Option<Vec<Delivery>> {
    let (answer, answered) = oneshot::channel();
    let credit = subscription.credit();
    let fetch = Fetch {
        device,
        after: subscription.position(),
        frames: credit.frames.min(PAGE_FRAMES),
        bytes: credit.bytes.min(PAGE_BYTES),
        answer,
    };
    service.reads.mailboxes.send(Read::Frames(fetch)).await.ok()?;
    match answered.await.ok()? {
        Ok(page) => Some(page),
        Err(cause) => {
            service.metrics.read_errors.fetch_add(1, Relaxed);
            tracing::error!(target: "hub", %cause, "a mailbox cannot be read");
            None
        }
    }
}
