//! Power that fails at each step of a write.

use crate::board::{Rig, TestFlash};

const SECRET: &str = "0000000000000000000000000000000000000000000000000000000000000003";
const PUBLIC: &str = "f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9";

/// Public key and setting that a device has after a start.
fn state(flash: &TestFlash) -> (Option<String>, String) {
    let mut rig = Rig::start(flash);
    (rig.call("get_public_key", &[]).ok(), rig.call("get_confirmation", &[]).unwrap())
}

/// Runs a change with the power cut at each step. The state is the one before or the one after, and
/// the one after if the change was answered. Returns the number of steps.
fn cut(prepare: &[(&str, &[&str])], change: (&str, &[&str])) -> u32 {
    let prepared = || {
        let flash = TestFlash::new();
        let mut rig = Rig::start(&flash);
        for (method, params) in prepare {
            rig.call(method, params).unwrap();
        }
        flash
    };
    let flash = prepared();
    let before = state(&flash);
    flash.0.borrow_mut().used = 0;
    Rig::start(&flash).call(change.0, change.1).unwrap();
    let (after, steps) = (state(&flash), flash.0.borrow().used);
    assert_ne!(before, after);
    let mut seen = [0, 0];
    for step in 0..=steps {
        let flash = prepared();
        flash.0.borrow_mut().steps = Some(step);
        let answer = Rig::start(&flash).call(change.0, change.1);
        flash.0.borrow_mut().steps = None;
        let found = state(&flash);
        assert!(found == before || found == after, "step {step}: {found:?}");
        if answer.is_ok() {
            assert_eq!(found, after, "step {step}");
        }
        seen[usize::from(found == after)] += 1;
        // The device is not stuck: the next change is made.
        let next = if found.1 == "all" { "signatures" } else { "all" };
        Rig::start(&flash).call("set_confirmation", &[next]).unwrap();
        assert_eq!(state(&flash), (found.0, next.to_owned()), "step {step}");
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
    steps
}

#[test]
fn a_reset_at_any_step_leaves_the_state_before_or_after() {
    let key = ("import_key", &[SECRET][..]);
    let all = ("set_confirmation", &["all"][..]);
    let signatures = ("set_confirmation", &["signatures"][..]);
    let steps = [
        cut(&[], key),
        cut(&[all], key),
        cut(&[all, signatures], key),
        cut(&[key], signatures),
        cut(&[key, signatures], all),
        cut(&[key], ("erase_key", &[PUBLIC])),
        cut(&[all, key, signatures], ("erase_key", &[PUBLIC])),
    ];
    assert!(steps.iter().all(|steps| *steps > 256), "{steps:?}");
}

/// An erasure that was cut off between the sectors is completed by the next start.
#[test]
fn an_erased_key_is_gone_after_the_next_start() {
    let secret = [&[0; 31][..], &[3]].concat();
    let has_secret = |flash: &TestFlash| flash.0.borrow().bytes.windows(32).any(|it| it == secret);
    let mut completed = 0;
    for step in 0..600 {
        let flash = TestFlash::new();
        Rig::start(&flash).call("import_key", &[SECRET]).unwrap();
        flash.0.borrow_mut().steps = Some(step);
        let _ = Rig::start(&flash).call("erase_key", &[PUBLIC]);
        flash.0.borrow_mut().steps = None;
        let had_secret = has_secret(&flash);
        if state(&flash).0.is_none() {
            assert!(!has_secret(&flash), "step {step}");
            completed += u32::from(had_secret);
        }
    }
    assert!(completed > 0);
}

#[test]
fn a_flash_that_does_not_keep_what_is_written_is_an_error() {
    let flash = TestFlash::new();
    flash.0.borrow_mut().is_worn = true;
    let answer = Rig::start(&flash).call("create_key", &[]);
    assert_eq!(answer, Err("the flash cannot be written".to_owned()));
    assert_eq!(state(&flash).0, None);
}
