//! Versions of the database, and rows that must not stay in it.

use std::time::Duration;

use endseal_codec::hub::{Answer, Code, Hello, Publish, Register, Request, Take};
use endseal_crypto::identity::Identity;
use endseal_hub::{DeviceRow, SqliteStore};
use endseal_keyring::PersonRecord;
use endseal_keyring::device::PrekeyKind;
use endseal_testing::Scratch;
use rusqlite::Connection;
use tokio::time::{sleep, timeout};

use crate::directory::next_record;
use crate::puts::put_one;
use crate::world::{Node, World, identity, put};

#[test]
fn a_database_of_another_version_is_refused() {
    let scratch = Scratch::new();
    let path = scratch.path("hub.db");
    drop(SqliteStore::open(&path).unwrap());
    let database = Connection::open(&path).unwrap();
    let version: i32 = database.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, 9);
    for (change, cause) in [
        ("PRAGMA user_version = 8", "it has another version"),
        ("PRAGMA user_version = 10", "it has another version"),
        ("PRAGMA application_id = 7", "it is another database"),
    ] {
        database.execute_batch(change).unwrap();
        let error = SqliteStore::open(&path).unwrap_err().to_string();
        assert!(error.ends_with(cause), "{change}: {error}");
    }
}

/// Two devices of one person, and a device of another one that has exchanged frames and bundles
/// with both.
struct Team {
    world: World,
    root: Identity,
    both: PersonRecord,
    first: Node,
    second: Node,
    /// Key by which the second device signs bundles.
    signing: Identity,
}

impl Team {
    async fn new() -> Self {
        let (world, root) = (World::new(), identity());
        let (mut first, mut second) =
            (world.unregistered(&root, 1).await, world.unregistered(&root, 2).await);
        let (first_signing, signing) =
            (first.new_signing_key(&root), second.new_signing_key(&root));
        let token = world.invite(2, u64::MAX / 4);
        assert!(matches!(first.register(&token).await, Answer::Welcome(_)));
        let both = next_record(&root, &first.person, &[], &[(2, &second.device)]);
        let answer = second.register_as(&token, &second.certificate, &both).await;
        assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");

        let other = identity();
        let mut alice = world.unregistered(&other, 1).await;
        let alice_signing = alice.new_signing_key(&other);
        assert!(matches!(alice.register(&world.invite(1, u64::MAX / 4)).await, Answer::Welcome(_)));
        for (node, signing) in [(&first, &first_signing), (&second, &signing)] {
            publish(node, signing, 2).await;
            publish(&alice, &alice_signing, 1).await;
            take(&alice, node).await;
            take(node, &alice).await;
            let answer = put_one(node, put(&[&alice], &node.frame(1, b"text"))).await;
            assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
        }
        Self { world, root, both, first, second, signing }
    }
}

/// Returns the numbers of rows of each of [`TABLES`] for each device.
fn rows(world: &World, devices: [&Node; 2]) -> [[i64; 4]; 2] {
    let count = |node: &Node, table: &str| {
        let sql = format!("SELECT count(*) FROM {table}").replace("own", OWN);
        world.database.count(&sql, node.peer.as_bytes())
    };
    devices.map(|node| TABLES.map(|table| count(node, table)))
}

const OWN: &str = "(SELECT id FROM device WHERE peer = $1)";
/// Tables with rows of devices, and which rows are those of the devices `own`.
const TABLES: [&str; 4] = [
    "put WHERE device IN own",
    "prekey WHERE device IN own",
    "given WHERE device IN own",
    "taken WHERE device IN own OR asker IN own",
];

async fn publish(node: &Node, signing: &Identity, count: usize) {
    let bundle = || node.bundle(PrekeyKind::OneTime, signing).as_bytes()[..].into();
    let bundles = (0..count).map(|_| bundle()).collect();
    let answer =
        node.ask(Request::Publish(Publish { prekeys: bundles, ..Publish::default() })).await;
    assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");
}

async fn take(asker: &Node, device: &Node) {
    let answer = asker.ask(Request::Take(Take { peer: *device.peer.as_bytes() })).await;
    assert!(matches!(answer, Answer::Prekey(_)), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_revoked_device_stays_but_its_row() {
    let Team { world, root, both, first, second, .. } = Team::new().await;
    assert_eq!(rows(&world, [&first, &second]), [[1, 1, 1, 2]; 2]);
    let person = next_record(&root, &both, &[2], &[]).as_bytes().into();
    let answer = first.ask(Request::Publish(Publish { person, ..Publish::default() })).await;
    assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");
    assert_eq!(rows(&world, [&first, &second]), [[1, 1, 1, 2], [0; 4]]);
    assert!(world.faults().is_empty());
}

/// A device cannot leave bundles behind in the publication that revokes it.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_revokes_itself_publishes_nothing() {
    let Team { world, root, both, first, second, signing } = Team::new().await;
    let bundles = vec![second.bundle(PrekeyKind::OneTime, &signing).as_bytes()[..].into()];
    let person = next_record(&root, &both, &[2], &[]).as_bytes().into();
    let publication = Publish { person, prekeys: bundles, ..Publish::default() };
    let answer = second.ask(Request::Publish(publication)).await;
    assert!(matches!(&answer, Answer::Refused(it) if it.code == Code::REVOKED), "{answer:?}");
    assert_eq!(rows(&world, [&first, &second]), [[1, 1, 1, 2], [0; 4]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_digest_is_known_in_its_own_transaction() {
    let world = World::new();
    let _alice = world.registered().await;
    let row = world.in_store(|store| store.devices()).unwrap()[0].row;
    let mut noted = None;
    world.in_store(|store| {
        let done = store.transact(&mut |it| {
            it.note_put(row, 7, &[7; 16])?;
            noted = it.noted_put(row, 7)?;
            Ok(())
        });
        done.unwrap();
    });
    assert_eq!(noted, Some([7; 16]));
}

/// A page of a mailbox ends by its bytes, as memory is reserved for them.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_ends_by_its_bytes() {
    let world = World::new();
    let (alice, bob) = (world.registered().await, world.registered().await);
    for sequence in 1..=8 {
        let frame = alice.frame(sequence, &vec![7; 300_000]);
        assert!(matches!(put_one(&alice, put(&[&bob], &frame)).await, Answer::Stored(_)));
    }
    let row = row(&world, &bob);
    let page = world.in_store(|store| store.reader()?.deliveries(row, 0, 256, 1 << 20)).unwrap();
    assert_eq!(page.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_removed_device_is_deleted() {
    let world = World::new();
    let (alice, bob) = (world.registered().await, world.registered().await);
    let answer = put_one(&alice, put(&[&bob], &alice.frame(1, b"text"))).await;
    assert!(matches!(answer, Answer::Stored(_)), "{answer:?}");
    let row = row(&world, &bob);
    world.transact(|it| it.revoke_device(row));
    let sql = match world.path() {
        Some(_) => "SELECT count(*) FROM message WHERE ?1 IS NOT NULL",
        None => "SELECT count(*) FROM message WHERE $1::bytea IS NOT NULL",
    };
    let gone = async {
        while world.database.count(sql, b"") > 0 {
            sleep(Duration::from_millis(200)).await;
        }
    };
    timeout(Duration::from_secs(30), gone).await.expect("it is deleted");
    let answer = put_one(&alice, put(&[&bob], &alice.frame(2, b"text"))).await;
    assert!(matches!(&answer, Answer::Refused(it) if it.code == Code::MAILBOX), "{answer:?}");
    assert!(world.faults().is_empty());
}

fn row(world: &World, node: &Node) -> DeviceRow {
    let devices = world.in_store(|store| store.devices()).unwrap();
    devices.iter().find(|it| it.peer == node.peer).unwrap().row
}

/// A person registers another device after the command of the operator has found the person.
#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_registers_while_removed_is_out() {
    let world = World::new();
    let root = identity();
    let first = world.unregistered(&root, 1).await;
    assert!(matches!(first.register(&world.invite(1, u64::MAX / 4)).await, Answer::Welcome(_)));
    let second = world.unregistered(&root, 2).await;
    let person = *first.person.identity().ed25519().as_bytes();
    let record = next_record(&root, &first.person, &[], &[(2, &second.device)]);
    let register = Register {
        token: None,
        certificate: second.certificate.as_bytes()[..].into(),
        person: record.as_bytes().into(),
    };
    let answer = second.ask(Request::Register(register)).await;
    assert!(matches!(answer, Answer::Welcome(_)), "{answer:?}");
    world.transact(|it| it.remove_person(&person).map(|count| assert_eq!(count, 2)));
    for node in [&first, &second] {
        let answer = node.ask(Request::Hello(Hello { version: 1, ..Hello::default() })).await;
        assert!(matches!(answer, Answer::Refused(_)), "{answer:?}");
    }
}
