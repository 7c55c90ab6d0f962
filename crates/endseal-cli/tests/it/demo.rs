//! The demonstration.

use endseal_testing::Scratch;

use crate::people::{program, run};

#[test]
fn the_demonstration_shows_what_it_must() {
    let scratch = Scratch::new();
    let file = scratch.write("file", vec![b'x'; 100_000]);
    let ran = run(program().args(["demo", "--json"]).arg(&file).env("TMPDIR", scratch.folder()));
    let shown = ran.ok().json();
    assert_eq!(shown["ok"], true);
    let steps = shown["steps"].as_array().unwrap();
    let refused: Vec<_> = steps.iter().filter(|step| step["outcome"] == "refused").collect();
    assert_eq!((steps.len(), refused.len()), (20, 5), "{shown}");
    assert!(steps.iter().all(|step| step["milliseconds"].as_f64().unwrap() > 0.0));
    assert_eq!(scratch.names(), ["file"], "the folder is removed");
}

#[test]
fn an_unreadable_file_is_not_a_failed_demonstration() {
    run(program().args(["demo", "/no/such/file"])).fails(3, "cannot read '/no/such/file'");
}

#[test]
fn the_table_is_for_people() {
    let scratch = Scratch::new();
    let file = scratch.write("notes.txt", b"some words");
    let ran = run(program().arg("demo").arg(&file).env("TMPDIR", scratch.folder())).ok();
    assert!(ran.text().contains("alice seals notes.txt to the team"));
    assert!(ran.text().contains("20 steps, all as it must be"));
    assert!(ran.text().lines().all(|line| line.len() <= 100));
}
