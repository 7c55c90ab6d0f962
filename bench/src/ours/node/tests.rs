//! Tests that a wrong count of frames or messages gives an error instead of a figure.

use std::rc::Rc;

use super::backlog::Backlog;
use super::database::Engine;
use super::put_world::{Shape, World};
use super::sync::{Form, Ready};
use crate::subject::Prepared as _;

#[test]
fn a_visit_that_brings_another_number_of_frames_has_no_time() {
    for form in [Form::Visit, Form::OneAtATime, Form::DecryptBatch] {
        let mut backlog = Backlog::new(6, 2).unwrap();
        // The last frame twice: one more than the backlog has.
        let again = backlog.frames.len() - 1;
        if form == Form::DecryptBatch {
            let known = &backlog.frames[again];
            let (id, group, body) = (known.id, known.group, known.body.clone());
            backlog.frames.push(super::backlog::Waiting { id, group, body });
        } else {
            backlog.frames.pop();
        }
        let mut ready = Ready::new(Rc::new(backlog), form, Engine::Sqlite);
        let refused = ready.run(1).unwrap_err().to_string();
        assert!(refused.contains("came out"), "{form:?}: {refused}");
    }
}

#[test]
fn frames_that_are_not_durable_have_no_rate() {
    let mut world =
        World::new(Engine::Sqlite, Shape { bytes: 100, frames: 20, senders: 2 }).unwrap();
    let mut frames = world.frames().unwrap();
    frames[1].pop();
    let refused = world.closed(&frames).err().unwrap().to_string();
    assert!(refused.contains("19 of 20"), "{refused}");
    assert!(!world.has_all(20).unwrap());
}
