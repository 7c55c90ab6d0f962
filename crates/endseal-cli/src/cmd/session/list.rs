//! `endseal session list` and `endseal session show`: show devices and sessions.

use core::fmt::Write as _;
use core::time::Duration;

use endseal_node::sessions;
use endseal_session::{Correspondent, EngineError, SessionInfo};
use endseal_store::SessionStatus;

use super::{Partner, called};
use crate::ctx::{Ctx, Outcome};
use crate::failure::Failure;
use crate::json::{self, Value};
use crate::names::identity_text;
use crate::printable::plural;
use crate::sessions::with;

pub(crate) fn list(wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let contacts = ctx.home()?.contacts()?;
    with(wait, ctx, |engine, ctx| {
        if engine.store().is_restored() {
            ctx.note("the store was restored: sessions that await a reset do not send");
        }
        let known = engine.correspondents()?;
        let (mut text, mut entries) = (String::new(), Vec::new());
        for it in &known {
            let identity = it.address.identity;
            let name = called(identity, &contacts);
            let verified = sessions::is_verified(&known, &identity);
            let mark = if verified { ", verified" } else { "" };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name}  device {}, {}{mark}", it.address.device, status(it));
            entries.push(json::object([
                ("name", contacts.name_of(&identity).map(ToString::to_string).into()),
                ("identity", identity_text(identity).into()),
                ("device", it.address.device.number().into()),
                ("verified", verified.into()),
                ("sending", it.sending.into()),
                ("receiving", it.receiving.into()),
                ("awaiting_reset", it.awaiting_reset.into()),
            ]));
        }
        let json = json::object([
            ("device", engine.address().device.number().into()),
            ("restored", engine.store().is_restored().into()),
            ("devices", Value::Array(entries)),
        ]);
        Ok(Outcome::new(text, json))
    })
}

fn status(it: &Correspondent) -> String {
    let counts = [
        (it.sending, "sending"),
        (it.receiving, "only receiving"),
        (it.awaiting_reset, "awaiting a reset"),
    ];
    let parts: Vec<_> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", plural(*count as u64, "session")))
        .collect();
    if parts.is_empty() { "no session".to_owned() } else { parts.join(", ") }
}

pub(crate) fn show(name: &str, wait: Duration, ctx: &mut Ctx) -> Result<Outcome, Failure> {
    let partner = Partner::find(name, ctx)?;
    with(wait, ctx, |engine, _| {
        let known = partner.devices(engine)?;
        let verified = sessions::is_verified(&known, &partner.identity);
        let identity = identity_text(partner.identity);
        let mut text = format!(
            "name      {}\nidentity  {identity}\nverified  {}\n",
            partner.name,
            if verified { "yes" } else { "no" },
        );
        let mut devices = Vec::new();
        for it in &known {
            let found: Result<Vec<SessionInfo>, EngineError> =
                engine.transaction(|transaction| transaction.sessions(it.address));
            let found = found?;
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\ndevice {}", it.address.device);
            for session in &found {
                let answered = if session.answered { ", answered" } else { "" };
                let _ = writeln!(text, "  {}  {}{answered}", session.tag, word(session.status));
            }
            let sessions = found.iter().map(|session| {
                json::object([
                    ("tag", session.tag.to_string().into()),
                    ("status", word(session.status).into()),
                    ("answered", session.answered.into()),
                ])
            });
            devices.push(json::object([
                ("device", it.address.device.number().into()),
                ("sessions", Value::Array(sessions.collect())),
            ]));
        }
        let json = json::object([
            ("name", partner.name.into()),
            ("identity", identity.into()),
            ("verified", verified.into()),
            ("devices", Value::Array(devices)),
        ]);
        Ok(Outcome::new(text, json))
    })
}

fn word(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Active => "sends",
        SessionStatus::ReceiveOnly => "receives",
        _ => "awaits-reset",
    }
}
