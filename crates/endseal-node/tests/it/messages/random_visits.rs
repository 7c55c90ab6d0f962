//! Syncs that are interrupted at random points.

use core::pin::{Pin, pin};
use core::task::{Context, Poll};

use endseal_testing::SplitMix64;

use super::teams::{group, write};
use super::world::{Person, World};

/// A future that is dropped after a number of polls.
struct Cut<'f, F> {
    future: Pin<&'f mut F>,
    polls: u64,
}

impl<F: Future> Future for Cut<'_, F> {
    /// The output, and the number of polls that were left.
    type Output = Option<(F::Output, u64)>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.polls == 0 {
            return Poll::Ready(None);
        }
        self.polls -= 1;
        let polls = self.polls;
        self.future.as_mut().poll(context).map(|output| Some((output, polls)))
    }
}

/// Runs a sync that is dropped after a number of polls. Returns the polls that it needed if it
/// ended before.
async fn visit(person: &mut Person, world: &World, polls: u64) -> Option<u64> {
    let ((_, result), left) = Cut { future: pin!(person.try_sync(world)), polls }.await?;
    result.unwrap();
    Some(polls - left)
}

/// Texts to a person and to a team in both directions: each arrives once, and those of a
/// conversation arrive in order.
#[tokio::test(flavor = "multi_thread")]
async fn visits_that_are_cut_lose_and_repeat_nothing() {
    cut_visits(1).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "nightly: ten times as many visits as by default"]
async fn many_visits_that_are_cut_lose_and_repeat_nothing() {
    cut_visits(10).await;
}

async fn cut_visits(seeds: u64) {
    const ROUNDS: usize = 60;
    for seed in 1..=seeds {
        let mut random = SplitMix64::new(seed);
        let world = World::new();
        let (mut alice, mut bob) = (world.member("alice").await, world.member("bob").await);
        let id = *group(&mut [&mut alice, &mut bob], &[]).id();
        let identities = [alice.identity, bob.identity];
        let mut people = [Some(alice), Some(bob)];
        let (mut written, mut arrived) = ([0, 0], [Vec::new(), Vec::new()]);
        let (mut ended, mut polls) = (0, 20);
        for _ in 0..ROUNDS {
            let at = random.below(2_usize);
            let mut person = people[at].take().unwrap();
            for _ in 0..random.below(4) {
                written[at] += 1;
                if random.chance(50) {
                    person.say(&identities[1 - at], &format!("text {}", written[at]));
                } else {
                    write(&mut person, &id, &format!("team {}", written[at]));
                }
            }
            // Half of them may end. The number of polls depends on the machine's load, so that the
            // others are dropped within the polls that the last one needed.
            let allowed = if random.chance(50) { u64::MAX } else { random.below(polls) };
            if let Some(took) = visit(&mut person, &world, allowed).await {
                (ended, polls) = (ended + 1, took);
            }
            if random.chance(30) {
                person = person.restart();
            }
            if random.chance(20) {
                arrived[at].extend(person.read());
            }
            people[at] = Some(person);
        }
        assert!((ROUNDS / 10..ROUNDS * 9 / 10).contains(&ended), "{ended} of {ROUNDS} ended");
        for _ in 0..3 {
            for (person, arrived) in people.iter_mut().flatten().zip(&mut arrived) {
                person.sync(&world).await;
                arrived.extend(person.read());
            }
        }
        for (at, arrived) in arrived.iter().enumerate() {
            let numbers = |kind: &str| -> Vec<u32> {
                let texts = arrived.iter().filter_map(|(_, text)| text.strip_prefix(kind));
                texts.map(|number| number.trim().parse().unwrap()).collect()
            };
            let (texts, of_team) = (numbers("text"), numbers("team"));
            assert!(texts.is_sorted(), "seed {seed}: {texts:?}");
            assert!(of_team.is_sorted(), "seed {seed}: {of_team:?}");
            let mut all = [texts, of_team].concat();
            all.sort_unstable();
            assert_eq!(all, (1..=written[1 - at]).collect::<Vec<_>>(), "seed {seed}");
        }
    }
}
