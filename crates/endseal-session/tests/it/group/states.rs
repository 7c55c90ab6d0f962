//! A group that is stored and loaded behaves like the original.

use endseal_session::group::{Group, Opened};

use super::device::{NOW, Stored, device, group_of};

/// Pseudo-random steps, the same in every run.
struct Steps(u64);

impl Steps {
    fn below(&mut self, limit: u64) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % limit).unwrap()
    }
}

#[test]
fn a_group_loaded_at_any_point_is_like_its_unsaved_twin() {
    for seed in 0..6 {
        let mut steps = Steps(seed);
        let mut groups = group_of(3);
        let mut stored = Stored::default();
        let receiver = device(3);
        let mut kept = groups.pop().unwrap();
        let mut twin = kept.fork();
        stored.write(kept.save().unwrap());
        let mut late: Vec<Vec<u8>> = Vec::new();
        for step in 0..120 {
            let sender = steps.below(2);
            match steps.below(8) {
                0 => {
                    let commit = groups[sender].update(NOW).unwrap().commit;
                    groups[sender].accept_pending().unwrap();
                    groups[1 - sender].open(&commit).unwrap();
                    agree(&mut kept, &mut twin, &commit);
                }
                1 => late.push(groups[sender].seal(&[2; 30]).unwrap()),
                2 if !late.is_empty() => {
                    let message = late.remove(steps.below(late.len() as u64));
                    agree(&mut kept, &mut twin, &message);
                    agree(&mut kept, &mut twin, &message);
                }
                3 | 4 => {
                    stored.write(kept.save().unwrap());
                    if steps.below(2) == 0 {
                        kept = stored.load(&receiver);
                    }
                }
                5 => {
                    // A transaction that fails: the fork is dropped.
                    let message = groups[sender].seal(&[3; 10]).unwrap();
                    let mut fork = kept.fork();
                    fork.open(&message).unwrap();
                    let _ = fork.save().unwrap();
                    drop(fork);
                    agree(&mut kept, &mut twin, &message);
                }
                6 => {
                    let mut message = groups[sender].seal(&[4; 10]).unwrap();
                    let at = message.len() - 1;
                    message[at] ^= 1;
                    agree(&mut kept, &mut twin, &message);
                    message[at] ^= 1;
                    agree(&mut kept, &mut twin, &message);
                }
                _ => {
                    let message = groups[sender].seal(&[1; 50]).unwrap();
                    agree(&mut kept, &mut twin, &message);
                }
            }
            assert_eq!((kept.epoch(), kept.members()), (twin.epoch(), twin.members()), "{step}");
        }
        assert!(stored.epochs.len() <= 3);
    }
}

fn agree(kept: &mut Group, twin: &mut Group, message: &[u8]) {
    assert_eq!(kept.open(message), twin.open(message));
}

#[test]
fn a_pending_commit_is_stored() {
    let mut groups = group_of(2);
    let mut stored = Stored::default();
    let commit = groups[0].update(NOW).unwrap().commit;
    stored.write(groups[0].save().unwrap());
    let mut accepted = stored.load(&device(1));
    assert!(accepted.has_pending());
    accepted.accept_pending().unwrap();
    let mut echoed = stored.load(&device(1));
    assert!(matches!(echoed.open(&commit), Ok(Opened::Change(_))));
    groups[1].open(&commit).unwrap();
    let message = groups[1].seal(b"welcome back").unwrap();
    assert!(accepted.open(&message).is_ok());
    assert!(echoed.open(&message).is_ok());
    // The commit is recognised as its own after loading, too.
    stored.write(accepted.save().unwrap());
    let opened = stored.load(&device(1)).open(&commit);
    assert_eq!(opened, Err(endseal_session::group::OpenError::Own));
}

#[test]
fn a_sender_goes_on_where_it_was_stored() {
    let mut groups = group_of(2);
    let mut stored = Stored::default();
    let first = groups[0].seal(b"1").unwrap();
    stored.write(groups[0].save().unwrap());
    let second = stored.load(&device(1)).seal(b"2").unwrap();
    assert!(groups[1].open(&second).is_ok());
    assert!(groups[1].open(&first).is_ok());
}

#[test]
fn being_removed_is_stored() {
    let mut groups = group_of(2);
    let commit = groups[0].remove(&[device(2).address()], NOW).unwrap().commit;
    groups[1].open(&commit).unwrap();
    let mut stored = Stored::default();
    stored.write(groups[1].save().unwrap());
    assert!(!stored.load(&device(2)).is_member());
}

#[test]
fn a_damaged_state_is_refused() {
    let mut groups = group_of(2);
    let mut stored = Stored::default();
    stored.write(groups[0].save().unwrap());
    assert!(device(2).load(&stored.state, &stored.tree, []).is_err(), "another device's");
    for end in 0..stored.state.len() {
        assert!(device(1).load(&stored.state[..end], &stored.tree, []).is_err(), "{end}");
    }
}

#[test]
fn a_fork_leaves_the_original_alone() {
    let mut groups = group_of(2);
    let message = groups[0].seal(b"once in each").unwrap();
    let mut fork = groups[1].fork();
    assert!(fork.open(&message).is_ok());
    assert!(fork.open(&message).is_err());
    assert!(groups[1].open(&message).is_ok());
}

#[test]
fn groups_go_from_thread_to_thread() {
    fn is_send<T: Send + Sync>(_: &T) {}
    let mut groups = group_of(3);
    is_send(&groups[0]);
    let messages: Vec<_> = (0..50_u8).map(|i| groups[0].seal(&[i]).unwrap()).collect();
    // Copies of one group, which share their unchanged state, and another group.
    let forks = [groups[1].fork(), groups[1].fork(), groups.remove(2)];
    std::thread::scope(|scope| {
        for mut group in forks {
            let messages = &messages;
            scope.spawn(move || {
                for message in messages {
                    group.open(message).unwrap();
                }
                group.save().unwrap();
            });
        }
    });
}
