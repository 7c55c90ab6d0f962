//! Conversations (docs/spec/conversation.md) that endseal-session makes in a classical suite, and
//! that an OpenMLS member follows to the same secrets.
//!
//! The library refuses such conversations, so that its own tests make them
//! (`crates/endseal-session/src/group/classical.rs`). This program gives them the key packages of
//! the OpenMLS member, Bob's device, and reads what they wrote.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::time::SystemTime;

use endseal_crypto::identity::{Identity, RootSeed};
use endseal_crypto::peer_id::PeerId;
use endseal_keyring::device::{Certificate, DeviceId, DeviceKeys};
use serde_json::{Value, json};

use crate::member::{Member, Reason, Seen, group_seed};
use crate::theirs::Theirs;

/// Number of Bob in the tests of endseal-session, from which his identity follows.
const BOB: u8 = 2;
/// Names of the conversations, and the numbers of key packages that they use.
const CONVERSATIONS: [(&str, usize); 2] = [("digest", 2), ("required", 1)];
/// Part of the error with which OpenMLS refuses evidence. It takes an extension of the group
/// context from a proposal only if `required_capabilities` in the same proposal names it
/// (openmls 0.9, `validate_group_context_extensions_proposal`). RFC 9420 does not ask for that, and
/// the contexts of conversations have the digest alone.
const REFUSAL: &str = "not listed in the required cap";

/// Folder that is deleted with its files.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Follows all conversations. Returns the number of epochs that were compared.
pub(crate) fn run() -> Result<usize, Reason> {
    let folder = env::temp_dir().join(format!("endseal-peers-mls-{}", process::id()));
    fs::create_dir(&folder).map_err(reason)?;
    let folder = Folder(folder);
    let now = SystemTime::UNIX_EPOCH.elapsed().map_err(reason)?;
    let mut input = json!({ "now": now.as_secs() });
    let mut members = Vec::new();
    for (name, packages) in CONVERSATIONS {
        let bob = bob()?;
        let packages = (0..packages).map(|_| bob.key_package_for_conversations());
        let packages: Vec<_> =
            packages.map(|it| it.map(|it| hex(&it))).collect::<Result<_, _>>()?;
        input[name] = json!(packages);
        members.push((name, bob));
    }
    fs::write(folder.0.join("packages.json"), input.to_string()).map_err(reason)?;
    record(&folder.0)?;
    let mut epochs = 0;
    for (name, mut bob) in members {
        let text = fs::read(folder.0.join(format!("{name}.json"))).map_err(reason)?;
        let steps: Vec<Value> = serde_json::from_slice(&text).map_err(reason)?;
        for (number, step) in steps.iter().enumerate() {
            let followed = follow(&mut bob, step);
            epochs += followed.map_err(|reason| format!("{name}, step {number}: {reason}"))?;
        }
    }
    Ok(epochs)
}

/// Returns Bob's device 1.
fn bob() -> Result<Theirs, Reason> {
    let root = Identity::from_root_seed(RootSeed::from_bytes(&[BOB; 32]));
    let group = endseal_session::group::GroupKey::from_seed(group_seed(BOB));
    let keys = DeviceKeys {
        device: DeviceId::new(1).ok_or("device 0")?,
        peer_id: PeerId::from_bytes(&[BOB; 32]),
        agreement: root.public().ed25519().to_x25519(),
        signing: *root.public().ed25519(),
        group: *group.public_key(),
    };
    let certificate = Certificate::issue(root.signing(), &keys, 1_790_000_000_000);
    Theirs::with(certificate, &group_seed(BOB))
}

/// Runs the tests of endseal-session that make the conversations.
fn record(folder: &Path) -> Result<(), Reason> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let done = Command::new(cargo)
        .args(["test", "--locked", "--quiet", "--manifest-path", manifest])
        .args(["-p", "endseal-session", "--lib", "group::classical::"])
        .env("ENDSEAL_RECORDINGS", folder)
        .output()
        .map_err(reason)?;
    if done.status.success() {
        return Ok(());
    }
    let output = [done.stdout, done.stderr].concat();
    Err(format!("endseal-session: {}", String::from_utf8_lossy(&output)))
}

/// Takes one step, and compares what the member knows with what the others know. Returns the number
/// of epochs that were compared.
fn follow(bob: &mut Theirs, step: &Value) -> Result<usize, Reason> {
    let bytes = bytes_of(step, "bytes")?;
    match text_of(step, "step")? {
        "join" => {
            bob.leave()?;
            bob.join(&bytes)?;
        }
        "follow" => match bob.open(&bytes)? {
            Seen::Change { .. } => {}
            seen => return Err(format!("{seen:?} instead of a change")),
        },
        "refuse" => {
            return match bob.open(&bytes) {
                Err(refusal) if refusal.contains(REFUSAL) => Ok(0),
                result => Err(format!("{result:?} instead of a refusal")),
            };
        }
        other => return Err(format!("no such step: {other}")),
    }
    let members = bob
        .members()
        .into_iter()
        .map(|it| hex(&[it.identity.as_bytes(), &it.device.number().to_le_bytes()[..]].concat()));
    let mut members: Vec<_> = members.collect();
    members.sort();
    let known = json!({
        "epoch": bob.epoch(),
        "exported": hex(&bob.exported()?),
        "authenticator": hex(&bob.authenticator()?),
        "digest": hex(&bob.state_digest().ok_or("no digest in the context")?),
        "members": members,
    });
    for (field, value) in known.as_object().into_iter().flatten() {
        if step[field] != *value {
            return Err(format!("{field} is {value} instead of {}", step[field]));
        }
    }
    match bob.open(&bytes_of(step, "message")?)? {
        Seen::Text { text, .. } if text == text_of(step, "text")?.as_bytes() => Ok(1),
        seen => Err(format!("{seen:?} instead of a text")),
    }
}

fn text_of<'v>(step: &'v Value, field: &str) -> Result<&'v str, Reason> {
    step[field].as_str().ok_or_else(|| format!("no text in the field {field}"))
}

fn bytes_of(step: &Value, field: &str) -> Result<Vec<u8>, Reason> {
    let digits = text_of(step, field)?.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    digits.map(byte).collect::<Option<_>>().ok_or_else(|| format!("{field} is not hexadecimal"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn reason(error: impl std::fmt::Display) -> Reason {
    error.to_string()
}
