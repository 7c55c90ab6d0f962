//! Conversations in a classical suite, which this crate refuses outside of these tests. OpenMLS
//! follows them in `peers/rust-mls`. It knows the hybrid suite by another number.
//!
//! The program there sets `ENDSEAL_RECORDINGS` to a folder with `packages.json`: the key packages
//! of Bob's device. The tests write each conversation into a file of the folder. Without the
//! variable, Bob's device is one of this crate, too.

use core::cell::Cell;
use std::path::PathBuf;

use endseal_crypto::random::OsRandom;
use endseal_keyring::person::PersonChanges;
use endseal_keyring::roster::{GroupId, Member, RosterChanges};
use endseal_keyring::{Name, PersonRecord, Roster};
use mls_rs::extension::MlsExtension as _;
use mls_rs::extension::built_in::RequiredCapabilitiesExt;
use serde_json::{Value, json};

use super::hostile::{device, identity, number};
use super::rules::STATE_DIGEST;
use super::*;

const ALICE: u8 = 1;
const BOB: u8 = 2;
const CAROL: u8 = 3;
const DAVE: u8 = 4;

/// Extensions of the context of a conversation's group.
#[derive(Clone, Copy, PartialEq)]
enum Context {
    /// The digest alone, as the specification says.
    Digest,
    /// The digest, and the capabilities that its rules demand of each leaf.
    RequiredCapabilities,
}

thread_local! {
    /// The context of groups while conversations may have a classical suite.
    static CONTEXT: Cell<Option<Context>> = const { Cell::new(None) };
}

/// Returns true while a conversation may have a classical suite.
pub(super) fn is_allowed() -> bool {
    CONTEXT.get().is_some()
}

/// Returns the extension of the group context that names the capabilities of all leaves; `None`
/// while the context is that of the specification.
pub(super) fn required_capabilities() -> Option<Extension> {
    let is_wanted = CONTEXT.get() == Some(Context::RequiredCapabilities);
    let required = RequiredCapabilitiesExt::new(vec![STATE_DIGEST], vec![EVIDENCE], Vec::new());
    is_wanted.then(|| required.into_extension().unwrap())
}

/// Allows a classical suite in this thread, until it is dropped.
struct Allowed;

impl Allowed {
    fn with(context: Context) -> Self {
        CONTEXT.set(Some(context));
        Self
    }
}

impl Drop for Allowed {
    fn drop(&mut self) {
        CONTEXT.set(None);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Returns the folder in which OpenMLS looks for conversations.
fn folder() -> Option<PathBuf> {
    std::env::var_os("ENDSEAL_RECORDINGS").map(PathBuf::from)
}

fn record(person: u8, devices: &[u32]) -> PersonRecord {
    let (root, first) = (identity(person), identity(person + 100).public().clone());
    let record = PersonRecord::create(&root, number(devices[0]), &first, &mut OsRandom).unwrap();
    if devices.len() > 1 { next(&record, person, &devices[1..], &[]) } else { record }
}

/// Returns the record of a person's next epoch.
fn next(before: &PersonRecord, person: u8, added: &[u32], removed: &[u32]) -> PersonRecord {
    let root = identity(person);
    let mut changes = PersonChanges::new();
    for device in removed {
        changes.remove(number(*device));
    }
    for device in added {
        let seed = 100 + 10 * person + u8::try_from(*device).unwrap();
        changes.add(number(*device), identity(seed).public());
    }
    before.next_epoch(&root, &changes).unwrap()
}

fn name(person: u8) -> Name {
    Name::new(["alice", "bob", "carol", "dave"][usize::from(person) - 1]).unwrap()
}

fn member(person: u8) -> Member {
    Member::new(name(person), identity(person).public().clone())
}

/// The roster of Alice's team of three.
fn roster() -> Roster {
    let (owner, team) = (identity(ALICE), Name::new("team").unwrap());
    let id = GroupId::generate(&mut OsRandom, &owner, &team).unwrap();
    let members = [ALICE, BOB, CAROL].map(member).to_vec();
    let draft = Roster::create(team, id, *owner.public().ed25519(), members).unwrap();
    draft.sign(&owner, b"sealed").unwrap()
}

/// A key package with its secrets.
struct Package {
    public: Vec<u8>,
    secret: KeyPackageSecret,
    device: (u8, u32),
}

fn package(person: u8, number: u32, now: Duration) -> Package {
    let (public, secret) = device(person, number).key_package(Suite::X25519Aes128, now).unwrap();
    Package { public, secret, device: (person, number) }
}

/// A conversation of the team, and the steps in which Bob's device follows it.
struct Recording {
    /// Groups of all members but a device of OpenMLS.
    groups: Vec<Group>,
    steps: Vec<Value>,
    now: Duration,
    /// Key packages of OpenMLS for Bob's device.
    packages: Vec<Vec<u8>>,
}

impl Recording {
    /// Makes a conversation in which Alice has these devices. Alice's device 1 makes the group.
    fn new(file: &str, alice: &PersonRecord) -> Self {
        let packages = folder().map(|folder| std::fs::read(folder.join("packages.json")).unwrap());
        let input: Value =
            packages.map_or(Value::Null, |text| serde_json::from_slice(&text).unwrap());
        let packages = input[file].as_array().into_iter().flatten();
        let packages = packages.map(|it| from_hex(it.as_str().unwrap())).collect();
        let now = Duration::from_secs(input["now"].as_u64().unwrap_or(1_790_000_000));
        let members = Members::Team(Box::new(roster()));
        let records = [alice.clone(), record(BOB, &[1]), record(CAROL, &[1])];
        let state = MembershipState::new(members, &records).unwrap();
        let state = Some(Arc::new(state));
        let group = device(ALICE, 1).create_with(b"classical", Suite::X25519Aes128, state, now);
        Self { groups: vec![group.unwrap()], steps: Vec::new(), now, packages }
    }

    fn group_of(&mut self, person: u8, number: u32) -> &mut Group {
        let address = device(person, number).address();
        self.groups.iter_mut().find(|group| group.address() == address).unwrap()
    }

    /// Records a commit that takes evidence over, and adds devices by their key packages. Bob's
    /// device is added if `adds_bob`.
    fn change(
        &mut self,
        (person, number): (u8, u32),
        evidence: &Evidence,
        added: &[(u8, u32)],
        adds_bob: bool,
    ) {
        let now = self.now;
        let mut ours: Vec<_> = added.iter().map(|(who, at)| package(*who, *at, now)).collect();
        let mut theirs = None;
        match self.packages.pop() {
            Some(package) if adds_bob => theirs = Some(package),
            Some(package) => self.packages.push(package),
            None if adds_bob => ours.push(package(BOB, 1, now)),
            None => {}
        }
        let packages = ours.iter().map(|it| it.public.as_slice()).chain(theirs.as_deref());
        let commit = self.group_of(person, number).change(evidence, packages, now).unwrap();
        self.accept((person, number), &commit);
        let welcome = commit.welcome.first().cloned().unwrap_or_default();
        for Package { secret, device: (person, number), .. } in &ours {
            let find = |id: &[u8]| (id == secret.id).then(|| secret.data.clone());
            self.groups.push(device(*person, *number).join(&welcome, find).unwrap().group);
        }
        // OpenMLS takes a new extension of the context only if the context demands it of all.
        let is_refused = !evidence.is_empty() && required_capabilities().is_none();
        match (is_refused, adds_bob) {
            (false, false) => self.step("follow", &commit.commit),
            (false, true) => self.step("join", &welcome),
            (true, _) => {
                assert!(adds_bob, "it does not follow, and joins anew");
                self.steps.push(json!({ "step": "refuse", "bytes": hex(&commit.commit) }));
                self.step("join", &welcome);
            }
        }
    }

    /// Records a commit that replaces the keys of a device.
    fn update(&mut self, (person, number): (u8, u32)) {
        let now = self.now;
        let commit = self.group_of(person, number).update(now).unwrap();
        self.accept((person, number), &commit);
        self.step("follow", &commit.commit);
    }

    /// All members take a commit. Those that it removes are gone.
    fn accept(&mut self, (person, number): (u8, u32), commit: &Commit) {
        let by = device(person, number).address();
        for group in &mut self.groups {
            if group.address() == by {
                group.accept_pending().unwrap();
            } else {
                assert!(matches!(group.open(&commit.commit), Ok(Opened::Change(_))));
            }
        }
        self.groups.retain(Group::is_member);
    }

    /// Records a message to Bob's device, and what it knows after it. Our members agree on that.
    fn step(&mut self, step: &str, bytes: &[u8]) {
        let known = |group: &Group| {
            let exported = group.now.exported_for_notes().unwrap().to_vec();
            let authenticator = group.now.mls.epoch_authenticator().unwrap().to_vec();
            (group.epoch(), exported, authenticator, group.conversation().unwrap().digest())
        };
        let (epoch, exported, authenticator, digest) = known(&self.groups[0]);
        for group in &self.groups {
            assert_eq!(known(group), (epoch, exported.clone(), authenticator.clone(), digest));
        }
        let text = format!("in epoch {epoch}");
        let message = self.groups[0].seal(text.as_bytes()).unwrap();
        for group in &mut self.groups[1..] {
            assert!(matches!(group.open(&message), Ok(Opened::Message { .. })));
        }
        let mut members: Vec<_> =
            self.groups[0].members().iter().map(|it| hex(&bytes_of(it))).collect();
        members.sort();
        self.steps.push(json!({
            "step": step, "bytes": hex(bytes), "epoch": epoch, "exported": hex(&exported),
            "authenticator": hex(&authenticator), "digest": hex(&digest), "members": members,
            "message": hex(&message), "text": text,
        }));
    }

    fn write(self, file: &str) {
        let Some(folder) = folder() else { return };
        assert!(self.packages.is_empty(), "all key packages were used");
        let text = serde_json::to_vec(&self.steps).unwrap();
        std::fs::write(folder.join(format!("{file}.json")), text).unwrap();
    }
}

fn none() -> Evidence {
    Evidence::default()
}

/// Commits that add, replace and update, and evidence with a welcome.
#[test]
fn a_conversation_is_recorded_as_the_specification_has_it() {
    let _allowed = Allowed::with(Context::Digest);
    let alice = record(ALICE, &[1, 2]);
    let mut recording = Recording::new("digest", &alice);
    recording.change((ALICE, 1), &none(), &[(CAROL, 1)], true);
    recording.update((CAROL, 1));
    recording.change((CAROL, 1), &none(), &[(ALICE, 2)], false);
    recording.update((ALICE, 2));
    // Carol's device has lost its state.
    recording.change((ALICE, 2), &none(), &[(CAROL, 1)], false);
    let evidence = Evidence::new(None, vec![next(&alice, ALICE, &[3], &[1])]);
    recording.change((ALICE, 2), &evidence, &[(ALICE, 3)], true);
    recording.update((ALICE, 3));
    assert_eq!(recording.groups[0].epoch(), 7);
    recording.write("digest");
}

/// Commits that carry evidence: records that add and remove devices, and a roster that removes a
/// person and adds another one.
#[test]
fn a_conversation_is_recorded_with_required_capabilities() {
    let _allowed = Allowed::with(Context::RequiredCapabilities);
    let alice = record(ALICE, &[1]);
    let mut recording = Recording::new("required", &alice);
    recording.change((ALICE, 1), &none(), &[(CAROL, 1)], true);
    let second = next(&alice, ALICE, &[2], &[]);
    let evidence = Evidence::new(None, vec![second.clone()]);
    recording.change((CAROL, 1), &evidence, &[(ALICE, 2)], false);
    recording.update((ALICE, 2));
    let evidence = Evidence::new(None, vec![next(&second, ALICE, &[], &[1])]);
    recording.change((ALICE, 2), &evidence, &[], false);
    let Members::Team(team) = recording.groups[0].conversation().unwrap().members().clone() else {
        panic!("it is a team")
    };
    let mut changes = RosterChanges::new();
    changes.add(member(DAVE)).remove(name(CAROL));
    let later = team.next_epoch(&changes).unwrap().sign(&identity(ALICE), b"sealed").unwrap();
    let evidence = Evidence::new(Some(later), vec![record(DAVE, &[1])]);
    recording.change((ALICE, 2), &evidence, &[(DAVE, 1)], false);
    recording.update((DAVE, 1));
    assert_eq!(recording.groups[0].epoch(), 6);
    recording.write("required");
}

/// Outside of these tests, no device joins a conversation in a classical suite.
#[test]
fn a_conversation_in_a_classical_suite_is_not_joined() {
    let allowed = Allowed::with(Context::Digest);
    let mut recording = Recording::new("", &record(ALICE, &[1]));
    let Package { public, secret, .. } = package(BOB, 1, recording.now);
    let now = recording.now;
    let alices = recording.group_of(ALICE, 1);
    let commit = alices.change(&none(), [public.as_slice()], now).unwrap();
    drop(allowed);
    let find = |id: &[u8]| (id == secret.id).then(|| secret.data.clone());
    let joined = device(BOB, 1).join(&commit.welcome[0], find);
    assert!(matches!(joined, Err(GroupError::Membership)));
}
