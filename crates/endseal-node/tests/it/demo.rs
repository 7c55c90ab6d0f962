//! The demonstration finds out if something goes wrong.

use endseal_keyring::KdfParams;
use endseal_node::demo::{self, Outcome};

use endseal_testing::Scratch;

#[test]
fn all_steps_are_as_they_must_be() {
    let scratch = Scratch::new();
    for len in [0, 1, 100_000, 4 << 20] {
        let input = scratch.write("input", vec![7; len]);
        let folder = scratch.path(&format!("demo-{len}"));
        std::fs::create_dir(&folder).unwrap();
        let mut shown = 0;
        let steps = demo::run(&folder, &input, KdfParams::MINIMUM, &mut |_| shown += 1);
        assert_eq!((steps.len(), shown), (20, 20), "{:?}", steps.last());
        assert!(steps.iter().all(|step| step.outcome != Outcome::Failed));
    }
}

#[test]
fn the_first_step_that_fails_is_the_last() {
    let scratch = Scratch::new();
    let input = scratch.write("input", "x");
    // Somebody has put something in the way of the second roster.
    let folder = scratch.path("demo");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("team-2.roster"), "").unwrap();
    let steps = demo::run(&folder, &input, KdfParams::MINIMUM, &mut |_| ());
    let last = steps.last().unwrap();
    assert_eq!(last.outcome, Outcome::Failed);
    assert_eq!(last.title, "alice removes dave: epoch 2, with a new key");
    assert!(last.detail.contains("exists already"));
    assert!(steps[..steps.len() - 1].iter().all(|step| step.outcome != Outcome::Failed));
}
