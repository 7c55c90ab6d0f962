//! Requests that a device with the user's key executes, after they were allowed.
//!
//! `docs/spec/signer.md`, "Devices". They wait in the same queue as those that wait for a person.
//! The event loop hands them to the devices one by one, and their answers come back in transactions
//! of their own.

use alloc::collections::BTreeMap;

use endseal_crypto::secret::Zeroizing;
use endseal_nostr::connect::{
    Answer, Call, DeviceFault, ExecuteError, MAX_REFUSAL, Refusal, Request,
};
use endseal_nostr::event::{Event, Template};
use endseal_nostr::key::PublicKey;
use endseal_nostr::policy::Action;

use super::batch::Batch;
use super::request::{Decided, ended};
use super::waiting::AtDevice;
use super::{Engine, Outgoing};
use crate::device::DeviceError;
use crate::error::StateError;
use crate::metrics::Outcome;
use crate::records::line::LogVerdict;

/// Seconds that a request has once a device has it: the button's 30, and time for long lines.
const DEVICE: u64 = 50;

/// Devices that are connected, and the apps that they served.
#[derive(Default)]
pub(super) struct Devices {
    connected: Vec<PublicKey>,
    /// When each app was served last, as a count, so that an app with many requests does not
    /// displace the others.
    served: BTreeMap<[u8; 32], u64>,
    count: u64,
}

impl Devices {
    pub(super) fn is_connected(&self, user: &PublicKey) -> bool {
        self.connected.contains(user)
    }
}

/// Request to a device, which has a method and parameters.
#[allow(missing_debug_implementations, reason = "it holds plaintexts")]
pub(crate) struct DeviceRequest {
    pub(crate) number: u32,
    /// JSON of a request.
    pub(crate) json: Zeroizing<Vec<u8>>,
}

impl Engine {
    /// Sets the keys of the devices that are connected now.
    pub(crate) fn set_devices(&mut self, connected: Vec<PublicKey>) {
        self.parts.devices.connected = connected;
    }

    /// Returns true if the key is that of a user whose key is on a device.
    pub(crate) fn has_device_user(&self, key: &PublicKey) -> bool {
        self.store.state().user(key).is_some_and(crate::User::is_on_device)
    }

    /// Returns true while a request waits for a device.
    pub(crate) fn is_at_device(&self, number: u32) -> bool {
        let mut entries = self.parts.waiting.entries().iter();
        entries.any(|it| it.number == number && it.device.is_some())
    }

    /// Returns the next request for the device with this key: of the app that was served least
    /// recently.
    pub(crate) fn next_for_device(&mut self, now: u64, key: &PublicKey) -> Option<DeviceRequest> {
        let Devices { served, count, .. } = &mut self.parts.devices;
        let waiting = self.parts.waiting.entries_mut();
        let of_device = waiting.iter_mut().filter(|it| {
            it.device.as_ref().is_some_and(|device| device.user == *key && !device.is_sent)
        });
        let next = of_device
            .min_by_key(|it| (served.get(&it.transport).copied().unwrap_or_default(), it.number))?;
        *count += 1;
        served.insert(next.transport, *count);
        if let Some(device) = &mut next.device {
            device.is_sent = true;
        }
        next.until = next.until.max(now.saturating_add(DEVICE));
        Some(DeviceRequest { number: next.number, json: next.json.clone() })
    }

    /// Answers a request with what the device answered.
    pub(crate) fn device_answered(
        &mut self,
        now: u64,
        number: u32,
        answer: &Result<Zeroizing<String>, DeviceError>,
    ) -> Vec<Outgoing> {
        let transacted = self.transact(now, |batch| batch.device_answered(number, answer));
        self.count_apps();
        transacted.outgoing
    }
}

impl Batch<'_> {
    /// Returns true if the key of the app's user is on a device.
    pub(super) fn is_on_device(&self, transport: &[u8; 32]) -> bool {
        let app = self.transaction.app(transport);
        let keys = self.parts.keys.as_ref();
        app.zip(keys).is_some_and(|(app, keys)| keys.is_on_device(app.app().user()))
    }

    /// Queues an allowed request for the device of its user. Without the device it is refused.
    pub(super) fn hand_over(
        &mut self,
        decided: &Decided<'_, '_>,
        call: &Call<'_>,
        rule: u32,
        is_new: bool,
    ) -> Result<(), StateError> {
        let Decided { transport, request, .. } = decided;
        let Some(app) = self.transaction.app(transport) else { return Ok(()) };
        let user = *app.app().user();
        let Ok(Some(action)) = Action::of(call) else {
            self.refuse_request(transport, request, Refusal::Failed(ExecuteError::Method));
            return Ok(());
        };
        if !self.parts.devices.is_connected(&user) {
            if is_new {
                let line = self.entry(decided, Some(&action), LogVerdict::Failed, rule);
                self.append(line)?;
            }
            self.refuse_request(transport, request, Refusal::Device(DeviceFault::Absent));
            return Ok(());
        }
        let device = AtDevice { user, rule, is_new, is_sent: false };
        if !self.parts.waiting.push_for_device(decided, &action, device, self.now) {
            self.refuse_request(transport, request, Refusal::Busy);
            return Ok(());
        }
        self.parts.metrics.request(request.method.name(), Outcome::Asked);
        if is_new {
            let line = self.entry(decided, Some(&action), LogVerdict::Asks, rule);
            self.append(line)?;
        }
        Ok(())
    }

    fn device_answered(
        &mut self,
        number: u32,
        answer: &Result<Zeroizing<String>, DeviceError>,
    ) -> Result<(), StateError> {
        let Some(entry) = self.parts.waiting.take_from_device(number) else { return Ok(()) };
        let Some(device) = &entry.device else { return Ok(()) };
        let mut json = entry.json.clone();
        // The JSON was written from a parsed request, so it parses.
        let Ok(request) = Request::parse(&mut json) else { return Ok(()) };
        let decided = entry.decided(&request);
        let transport = entry.transport;
        self.note(&transport, request.id);
        let app = self.transaction.app(&transport);
        if let Some(refusal) = app.and_then(|app| ended(app.app(), self.now)) {
            self.refuse_request(&transport, &request, refusal);
            return Ok(());
        }
        let outcome = match answer {
            Ok(text) => check(&request, &device.user, text).map(|signed| (text, signed)),
            Err(error) => Err(refusal(error)),
        };
        let verdict = match &outcome {
            Ok(_) => LogVerdict::Allowed,
            Err(Refusal::Denied) => LogVerdict::Denied,
            Err(Refusal::Timeout) => LogVerdict::Timeout,
            Err(_) => LogVerdict::Failed,
        };
        if device.is_new || verdict != LogVerdict::Allowed {
            let mut line = self.entry(&decided, Some(&entry.action), verdict, device.rule);
            if let Ok((_, signed)) = &outcome {
                line.signed = *signed;
            }
            self.append(line)?;
        }
        match outcome {
            Ok((text, _)) => self.succeed(&decided, &Answer::Text(text)),
            Err(refusal) => {
                let cause = answer.as_ref().err().map(ToString::to_string).unwrap_or_default();
                let mut text = [0; MAX_REFUSAL];
                let text = refusal.text(&mut text);
                tracing::warn!(target: "device", number, text, cause, "a request was not executed");
                self.refuse_request(&transport, &request, refusal);
            }
        }
        Ok(())
    }
}

/// Checks that a result is that of the request. Returns the id of the event that was signed.
fn check(request: &Request<'_>, user: &PublicKey, text: &str) -> Result<[u8; 32], Refusal> {
    let failed = || Refusal::Device(DeviceFault::Failed);
    let Ok(Call::SignEvent(template)) = request.call() else { return Ok([0; 32]) };
    let event = Event::parse(text.as_bytes()).map_err(|_| failed())?;
    let author = event.verify().map_err(|_| failed())?;
    let expected = Template { pubkey: None, ..template }.id(&user.to_bytes());
    if author != *user || event.id != expected {
        return Err(failed());
    }
    Ok(event.id)
}

fn refusal(error: &DeviceError) -> Refusal {
    match error {
        DeviceError::Answer(text) => match text.as_str() {
            "not allowed" => Refusal::Denied,
            "not allowed: no decision in time" | "withdrawn" => Refusal::Timeout,
            "decryption failed" => Refusal::Failed(ExecuteError::Decryption),
            "the text is empty or too long" => Refusal::Failed(ExecuteError::Plaintext),
            "the answer is too long" => Refusal::TooLarge,
            _ => Refusal::Device(DeviceFault::Failed),
        },
        DeviceError::TooLong => Refusal::Device(DeviceFault::Failed),
        _ => Refusal::Device(DeviceFault::Lost),
    }
}
