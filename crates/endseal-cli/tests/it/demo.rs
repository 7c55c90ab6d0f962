//! The demonstrations.

use endseal_testing::Scratch;

use crate::people::{PROGRAM, program, run};

#[test]
#[ignore = "nightly: the whole demonstration, which other tests run with --json"]
fn the_demonstration_shows_what_it_must() {
    let scratch = Scratch::new();
    let file = scratch.write("file", vec![b'x'; 100_000]);
    let ran = run(program().args(["demo", "--json"]).arg(&file).env("TMPDIR", scratch.folder()));
    let shown = ran.ok().json();
    assert_eq!(shown["ok"], true);
    let steps = shown["steps"].as_array().unwrap();
    let refused: Vec<_> = steps.iter().filter(|step| step["outcome"] == "refused").collect();
    assert_eq!((steps.len(), refused.len()), (46, 10), "{shown}");
    assert!(steps.iter().all(|step| step["milliseconds"].as_f64().unwrap() > 0.0));
    assert_eq!(scratch.names(), ["file"], "the folder is removed");
}

#[test]
fn a_step_that_cannot_be_done_is_a_failed_demonstration() {
    let scratch = Scratch::new();
    let file = scratch.write("file", b"some words");
    // Without the program's file no process starts: the parts before it are done.
    let copy = scratch.path("endseal");
    std::fs::copy(PROGRAM, &copy).unwrap();
    let mut demo = std::process::Command::new(&copy);
    demo.arg("demo").arg(&file).env("TMPDIR", scratch.folder());
    demo.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = demo.spawn().unwrap();
    std::fs::remove_file(&copy).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("21 steps, FAILED"), "{text}");
    assert_eq!(scratch.names(), ["file"], "the folder is removed");
}

#[test]
fn an_unreadable_file_is_not_a_failed_demonstration() {
    run(program().args(["demo", "/no/such/file"])).fails(3, "cannot read '/no/such/file'");
}

#[test]
#[ignore = "nightly: the whole demonstration, which other tests run with --json"]
fn the_table_is_for_people() {
    let scratch = Scratch::new();
    let file = scratch.write("notes.txt", b"some words");
    let ran = run(program().arg("demo").arg(&file).env("TMPDIR", scratch.folder())).ok();
    assert!(ran.text().contains("alice seals notes.txt to the team"));
    assert!(ran.text().contains("46 steps, all as it must be"));
    assert!(ran.text().lines().all(|line| line.len() <= 120));
}

#[test]
#[ignore = "nightly: the whole demonstration, which other tests run with --json"]
fn the_demonstration_of_the_signer_shows_what_it_must() {
    let scratch = Scratch::new();
    let demo = ["demo", "signer", "--json"];
    let shown = run(program().args(demo).env("TMPDIR", scratch.folder())).ok().json();
    assert_eq!(shown["ok"], true);
    let steps = shown["steps"].as_array().unwrap();
    let refused = steps.iter().filter(|step| step["outcome"] == "refused");
    let refusals: Vec<_> = refused.map(|step| step["detail"].as_str().unwrap()).collect();
    let expected = [
        "\"not allowed\"",
        "no answer within 800 ms",
        "\"not allowed: the limit is reached\"",
        "\"this connection was revoked\"",
    ];
    assert_eq!(refusals, expected);
    assert_eq!(steps.len(), 14, "{shown}");
    assert!(scratch.names().is_empty(), "the folder is removed");
}

#[test]
#[ignore = "nightly: the whole demonstration, which other tests run with --json"]
fn a_file_of_the_name_signer_is_sealed_by_its_path() {
    let scratch = Scratch::new();
    scratch.write("signer", b"some words");
    let in_folder = |args: &[&str]| {
        let mut command = program();
        command.args(args).current_dir(scratch.folder()).env("TMPDIR", scratch.folder());
        run(&mut command)
    };
    assert!(in_folder(&["demo", "./signer"]).ok().text().contains("alice seals signer to"));
    let text = in_folder(&["demo", "signer"]).ok().text().to_owned();
    assert!(text.contains("refused"), "{text}");
    assert!(text.contains("14 steps, all as it must be"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 120), "{text}");
    for args in [["demo", "--keep", "signer"], ["demo", "signer", "signer"]] {
        assert_eq!(in_folder(&args).code, 2);
    }
}
