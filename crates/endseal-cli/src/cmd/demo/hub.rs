//! The part of the demonstration with a hub: one writes, the other is away.

use std::path::Path;

use endseal_keyring::IdentityText;
use endseal_node::demo::{StepFailed, Steps};
use serde_json::Value;

use super::hub_world::{Hub, Person, flip_behind, text};

/// Texts for one who is away.
const TEXTS: usize = 500;

/// A hub and the people at it, all of them processes.
struct Cast {
    hub: Hub,
    alice: Person,
    bob: Person,
    carol: Person,
}

/// Runs the part in `folder`, which is made.
pub(super) fn play(folder: &Path, steps: &mut Steps<'_>) -> Result<(), StepFailed> {
    let mut hub = None;
    steps.done("hub serve: a hub starts, a process of its own", || {
        let started = hub.insert(Hub::start(Person::new(folder, "owner")?, "127.0.0.1:0")?);
        Ok(format!("UDP {}", started.address))
    })?;
    let hub = hub.ok_or(StepFailed)?;
    let mut people = Vec::new();
    steps.done("init, hub invite, join: alice, bob, carol", || {
        people = join(folder, &hub)?;
        Ok("3 devices registered, 100 prekeys each".to_owned())
    })?;
    let Ok([alice, bob, carol]) = <[Person; 3]>::try_from(people) else { return Err(StepFailed) };
    let cast = Cast { hub, alice, bob, carol };
    let sealed = cast.send(folder, steps)?;
    cast.receive(steps, &sealed)?;
    cast.damage(steps)
}

fn join(folder: &Path, hub: &Hub) -> Result<Vec<Person>, String> {
    const NAMES: [&str; 3] = ["alice", "bob", "carol"];
    let (mut people, mut identities) = (Vec::new(), Vec::new());
    for name in NAMES {
        let person = Person::new(folder, name)?;
        person.run(&["init", "--no-passphrase"])?;
        let invitation = folder.join(format!("{name}.invite")).display().to_string();
        hub.owner.run(&["hub", "invite", name, "--at", &hub.address, "-o", &invitation])?;
        person.run(&["join", &invitation])?;
        identities.push(identity(&person)?);
        people.push(person);
    }
    for (at, person) in people.iter().enumerate() {
        for (other, (name, identity)) in NAMES.iter().zip(&identities).enumerate() {
            if other != at {
                person.run(&["contacts", "add", name, identity])?;
            }
        }
    }
    Ok(people)
}

fn identity(person: &Person) -> Result<String, String> {
    let identity = person.field(&["id", "show"], "identity")?;
    identity.as_str().map(str::to_owned).ok_or_else(|| "no identity".to_owned())
}

/// The number of a field.
fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

impl Cast {
    /// Returns the texts in the order of writing.
    fn send(&self, folder: &Path, steps: &mut Steps<'_>) -> Result<Vec<String>, StepFailed> {
        let Self { alice, bob, carol, .. } = self;
        steps.done("alice founds a group, bob and carol import it", || {
            let roster = folder.join("team.roster").display().to_string();
            alice.run(&["group", "create", "team", "bob", "carol"])?;
            alice.run(&["group", "export", "team", "-o", &roster])?;
            bob.run(&["group", "import", &roster])?;
            carol.run(&["group", "import", &roster])?;
            Ok("its members get letters".to_owned())
        })?;
        let texts: Vec<_> = (1..=TEXTS).map(|number| format!("text {number}")).collect();
        steps.done("alice says 500 texts to bob, who is away", || {
            alice.feed(&["say", "bob", "-", "--lines"], texts.join("\n").as_bytes())?;
            Ok("in her store, encrypted".to_owned())
        })?;
        steps.done("and one to the group", || {
            alice.run(&["say", "team", "to all"])?;
            Ok("sealed once for both".to_owned())
        })?;
        steps.done("sync: alice sends", || {
            let sent = count(&alice.field(&["sync"], "sent")?);
            let expected = TEXTS as u64 + 1;
            let stats = self.hub.owner.field(&["hub", "stats"], "waiting")?;
            match sent == expected {
                true => Ok(format!("{sent} frames are on the hub's disk, {stats} deliveries")),
                false => Err(format!("{sent} frames instead of {expected}")),
            }
        })?;
        Ok(texts)
    }

    fn receive(&self, steps: &mut Steps<'_>, texts: &[String]) -> Result<(), StepFailed> {
        let Self { bob, carol, .. } = self;
        steps.done("sync: bob comes, and is killed with -9", || {
            match bob.kill_in_the_middle(&["sync"])? {
                Some(time) => Ok(format!("after {} ms", time.as_millis())),
                None => Ok("it had ended before".to_owned()),
            }
        })?;
        steps.done("sync: bob comes again", || {
            let received = count(&bob.field(&["sync"], "received")?);
            Ok(format!("{received} received in this visit"))
        })?;
        steps.done("inbox: each of the 501 is there once, in order", || {
            let inbox = bob.run(&["inbox"])?;
            let of = |group: bool| {
                let rows = inbox.iter().filter(move |row| row["group"].is_null() != group);
                rows.map(|row| row["text"].as_str().unwrap_or_default())
            };
            if !of(false).eq(texts.iter().map(String::as_str)) || !of(true).eq(["to all"]) {
                return Err(format!("{} texts, not those", inbox.len()));
            }
            Ok(format!("{} of alice, 1 of the group", texts.len()))
        })?;
        steps.done("carol gets the letter", || {
            carol.run(&["sync"])?;
            match carol.run(&["inbox"])?.as_slice() {
                [row] if row["text"] == "to all" && row["name"] == "alice" => {
                    Ok("alice in team> to all".to_owned())
                }
                rows => Err(format!("{} texts instead of one", rows.len())),
            }
        })
    }

    fn damage(self, steps: &mut Steps<'_>) -> Result<(), StepFailed> {
        let Self { hub, alice, bob, .. } = self;
        let mut restarted = None;
        steps.refused("one bit flipped in the hub's database, bob syncs", || {
            alice.run(&["say", "bob", "another"])?;
            alice.run(&["sync"])?;
            let (database, address) = (hub.database(), hub.address.clone());
            let owner = hub.stop()?;
            // It also moves what is in the database's log to its place.
            owner.run(&["hub", "check"])?;
            // Context of the payload: the sender's address. Behind it is the ciphertext.
            let sender: IdentityText = identity(&alice)?.parse().map_err(text)?;
            let sender = sender.into_identity();
            let mark = [&[0x12, 36], &sender.ed25519().as_bytes()[..]].concat();
            flip_behind(&database, &mark, 4 + 20)?;
            restarted = Some(Hub::start(owner, &address)?);
            let problems = count(&bob.field(&["sync"], "problems")?);
            match (problems, bob.run(&["inbox"])?.len()) {
                (1, 0) => Ok("not shown; inbox --problems has it".to_owned()),
                (problems, shown) => Err(format!("{problems} problems, {shown} texts shown")),
            }
        })?;
        let hub = restarted.ok_or(StepFailed)?;
        steps.done("what comes after it arrives, and the hub stops", || {
            alice.run(&["say", "bob", "the last"])?;
            alice.run(&["sync"])?;
            bob.run(&["sync"])?;
            match bob.run(&["inbox"])?.as_slice() {
                [row] if row["text"] == "the last" => {}
                rows => return Err(format!("{} texts instead of one", rows.len())),
            }
            hub.stop()?;
            Ok("alice> the last".to_owned())
        })
    }
}
