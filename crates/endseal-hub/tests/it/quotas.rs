//! Quotas that an operator gives single persons.

use std::time::Duration;

use endseal_codec::hub::Code;
use endseal_hub::{HubLimits, Quota};
use tokio::time::sleep;

use crate::bounds::{drain, fill};
use crate::world::{Node, World};

/// Time within which a running hub takes over a change of another process.
const ADOPTED: Duration = Duration::from_secs(13);

fn set(world: &World, of: &Node, quota: Quota) {
    let identity = *of.person.identity().ed25519().as_bytes();
    world.transact(move |it| it.set_quota(&identity, quota));
}

fn from(bytes: u64) -> Quota {
    Quota { from: Some(bytes), mailbox: None }
}

fn mailbox(bytes: u64) -> Quota {
    Quota { from: None, mailbox: Some(bytes) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_bounds_what_waits_from_a_person_and_no_other() {
    let mut world = World::new();
    let (mut alice, mut bob, carol) =
        (world.registered().await, world.registered().await, world.registered().await);
    // The hub runs while the operator gives the quota.
    set(&world, &alice, from(350_000));
    sleep(ADOPTED).await;
    assert_eq!(fill(&alice, &bob, 1, 100_000).await, (4, Code::SPACE));
    assert_eq!(fill(&alice, &carol, 100, 10).await, (0, Code::SPACE), "all mailboxes count");
    assert_eq!(drain(&bob).await, 4);
    assert_eq!(fill(&alice, &bob, 200, 100_000).await, (4, Code::SPACE));
    // It outlives a restart, and is lowered below what waits: that stays.
    world.stop().await;
    set(&world, &alice, from(1));
    world.start();
    alice.reconnect(&world).await;
    bob.reconnect(&world).await;
    assert_eq!(fill(&alice, &bob, 300, 10).await, (0, Code::SPACE));
    assert_eq!(drain(&bob).await, 4);
    // The longest text leaves even then, alone.
    assert_eq!(fill(&alice, &bob, 400, 1_000_000).await, (1, Code::SPACE));
    world.stop().await;
    set(&world, &alice, Quota::default());
    world.start();
    alice.reconnect(&world).await;
    bob.reconnect(&world).await;
    let (stored, _) = fill(&alice, &bob, 500, 1_000_000).await;
    assert!(stored > 100, "{stored}");
    assert!(world.faults().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_gives_a_person_more_of_the_database_than_is_left_for_others() {
    let mut limits = HubLimits::default();
    limits.database_bytes = 4 << 20;
    let mut world = World::with(limits);
    let (mut alice, mut bob) = (world.registered().await, world.registered().await);
    let (share, _) = fill(&alice, &bob, 1, 100_000).await;
    assert_eq!(drain(&bob).await as u64, share);
    world.stop().await;
    set(&world, &alice, from(1 << 40));
    world.start();
    alice.reconnect(&world).await;
    bob.reconnect(&world).await;
    let (stored, refusal) = fill(&alice, &bob, 1_000, 100_000).await;
    // The end of the database bounds it.
    assert!(refusal == Code::SPACE && stored > share + share / 4, "{stored} after {share}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_bounds_what_waits_for_a_person() {
    let mut limits = HubLimits::default();
    (limits.mailbox_frames, limits.mailbox_bytes) = (16, 16_000);
    let mut world = World::with(limits);
    let (mut alice, mut bob, mut carol) =
        (world.registered().await, world.registered().await, world.registered().await);
    world.stop().await;
    set(&world, &bob, mailbox(64_000));
    set(&world, &carol, mailbox(4_000));
    world.start();
    for node in [&mut alice, &mut bob, &mut carol] {
        node.reconnect(&world).await;
    }
    // One sender fills half of the 64 and of the 4 frames.
    assert_eq!(fill(&alice, &bob, 1, 10).await, (32, Code::FULL));
    assert_eq!(fill(&alice, &carol, 100, 10).await, (2, Code::FULL));
    assert_eq!(drain(&bob).await, 32);
    // Bytes count as well: three frames of 8,000 and some leave less than one sender may have.
    let (stored, refusal) = fill(&alice, &bob, 200, 8_000).await;
    assert!(refusal == Code::FULL && (3..=4).contains(&stored), "{stored}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_counts_what_waits_from_another_hub() {
    let mut world = World::new();
    if world.path().is_some() {
        return;
    }
    let (mut alice, mut bob) = (world.registered().await, world.registered().await);
    world.stop().await;
    set(&world, &alice, from(350_000));
    world.start();
    let other = world.beside();
    alice.reconnect(&world).await;
    bob.reconnect(&world).await;
    assert_eq!(fill(&alice, &bob, 1, 100_000).await, (4, Code::SPACE));
    // The other hub has started before, and reads the totals again.
    sleep(ADOPTED).await;
    alice.reconnect(&other).await;
    assert_eq!(fill(&alice, &bob, 100, 10).await, (0, Code::SPACE));
}
