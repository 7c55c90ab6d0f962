//! Tests of help texts, manual pages and completions.

use std::path::Path;
use std::process::Command;

use endseal_testing::Scratch;

use crate::people::{PROGRAM, Person, program, run};

#[test]
fn help_is_a_command_too() {
    let [command, option] =
        [["help", "seal"], ["seal", "--help"]].map(|args| run(program().args(args)).ok());
    assert_eq!(command.text(), option.text());
}

#[test]
fn help_documents_exit_codes_and_variables() {
    for flag in ["-h", "--help"] {
        let help = run(program().arg(flag)).ok();
        for part in ["Exit codes:", "  4    configuration", "ENDSEAL_HOME", "ENDSEAL_PASSPHRASE"] {
            assert!(help.text().contains(part), "{part}");
        }
    }
    let none = run(&mut program());
    assert_eq!(none.code, 2);
}

#[test]
fn commands_are_listed_by_tasks_and_have_examples() {
    for flag in ["-h", "--help", "help"] {
        let help = run(program().arg(flag)).ok();
        for part in
            ["Files:\n  init ", "Conversations over a hub:\n", "  For example: endseal seal"]
        {
            assert!(help.text().contains(part), "{part} of {}", help.text());
        }
    }
    let help = run(program().args(["say", "--help"])).ok();
    assert!(
        help.text().ends_with(
            "Examples:\n  endseal say bob 'at noon'\n  make 2>&1 | endseal say team -\n"
        ),
        "{}",
        help.text()
    );
    let short = run(program().args(["say", "-h"])).ok();
    assert!(!short.text().contains("Examples"), "{}", short.text());
}

#[test]
fn short_help_of_commands_leaves_the_options_of_every_command_out() {
    let pointer = "Options of every command: endseal --help";
    let shared = ["--home", "--json", "--quiet", "--verbose", "--color", "--passphrase-file"];
    for command in [&["seal"][..], &["session"], &["session", "prune"], &["s3", "key", "new"]] {
        let help = |flag| run(program().args(command).arg(flag)).ok().text().to_owned();
        let (short, long) = (help("-h"), help("--help"));
        assert!(short.ends_with(&format!("\n{pointer}\n")), "{short}");
        assert!(!long.contains(pointer), "{long}");
        assert!(shared.iter().all(|it| !short.contains(it) && long.contains(it)), "{short}{long}");
    }
    let root = run(program().arg("-h")).ok();
    assert!(shared.iter().all(|it| root.text().contains(it)), "{}", root.text());
    // They are options of the command, whatever their position.
    assert_eq!(run(program().args(["id", "--json", "show", "-v", "-q"])).code, 2);
}

#[test]
fn each_number_of_status_is_explained() {
    let scratch = Scratch::new();
    let alice = Person::new("alice", &scratch);
    let (shown, help) = (alice.run(&["status"]).ok(), run(program().args(["status", "--help"])));
    for line in shown.text().lines() {
        let name = line.split(' ').next().unwrap();
        assert!(help.text().lines().any(|it| it.starts_with(&format!("{name}: "))), "{name}");
    }
}

#[test]
fn manual_pages_of_all_commands_are_written_once() {
    let scratch = Scratch::new();
    let page = run(program().arg("man")).ok();
    assert!(page.text().contains(".TH endseal 1"));
    for section in [".SH \"EXIT STATUS\"", ".SH \"ENVIRONMENT\"", ".SH \"EXAMPLES\""] {
        assert!(page.text().contains(section), "{section} of {}", page.text());
    }
    let written = run(program().arg("man").arg(scratch.folder())).ok();
    let pages = written.text().lines().count();
    assert!((80..=160).contains(&pages), "{pages}");
    assert!(!written.text().contains("help"), "{}", written.text());
    for name in ["endseal.1", "endseal-seal.1", "endseal-group-add.1"] {
        assert!(scratch.has(name), "{name} of {:?}", scratch.names());
    }
    let page = String::from_utf8(scratch.read("endseal-seal.1")).unwrap();
    assert!(page.contains("passphrase\\-file") && !page.contains(".SH EXTRA"), "{page}");
    assert!(page.contains("endseal seal \\-r bob \\-o notes.es notes.txt"), "{page}");
    assert!(page.contains(".SH \"EXIT STATUS\""), "{page}");
    let option = String::from_utf8(scratch.read("endseal-contacts-add.1")).unwrap();
    assert!(option.contains("endseal contacts add bob bob.txt"), "{option}");
    run(program().arg("man").arg(scratch.folder())).fails(2, "exists already");
    run(program().args(["man", "--force"]).arg(scratch.folder())).ok();
    run(program().arg("man").arg(scratch.path("new/folder"))).ok();
    assert!(scratch.has("new/folder/endseal-seal.1"));
    run(program().arg("man").arg(scratch.path("endseal.1"))).fails(3, "cannot use the folder");
}

#[test]
fn completions_are_printed_for_each_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = run(program().args(["completions", shell])).ok();
        assert!(script.text().contains("endseal") && script.text().contains("passphrase-file"));
    }
    assert_eq!(run(program().args(["completions", "csh"])).code, 2);
}

/// A folder with the homes of Alice, who has contacts, a group and a peer, and of Bob.
fn home_with_names() -> Scratch {
    let scratch = Scratch::new();
    let [alice, bob] = ["alice", "bob"].map(|name| Person::new(name, &scratch));
    alice.knows(&bob);
    alice.run(&["contacts", "add", "berta", &Person::new("c", &scratch).identity()]).ok();
    alice.run(&["group", "create", "band", "bob"]).ok();
    alice.run(&["peers", "add", "desk", &bob.peer_id()]).ok();
    scratch
}

#[test]
fn zsh_completes_names() {
    if Command::new("zsh").arg("--version").output().is_err() {
        println!("not run: there is no zsh");
        return;
    }
    let scratch = home_with_names();
    let folder = Path::new(PROGRAM).parent().unwrap().display();
    // Outside of a completion the builtin `compadd` refuses to work; its arguments are printed.
    let complete = |words: &str| {
        let script = format!(
            "PATH='{folder}':$PATH; compdef() {{ :; }}; compadd() {{ print -r -- \"$@\"; }}; \
             source <(endseal completions zsh); _endseal() {{ print flags; }}; words=({words}); \
             CURRENT=$#words; _endseal_with_names"
        );
        let mut zsh = Command::new("zsh");
        zsh.args(["-fc", &script]).env("ENDSEAL_HOME", scratch.path("alice"));
        run(zsh.current_dir(scratch.folder())).ok().text().trim_end().to_owned()
    };
    assert_eq!(complete("endseal say ''"), "-- berta bob band");
    assert_eq!(complete("endseal seal -g ''"), "-- band");
    assert_eq!(complete("endseal send de"), "-S @ -- desk");
    assert_eq!(complete("endseal --home bob say b"), "--");
    assert_eq!(complete("endseal seal --to"), "flags");
    assert_eq!(complete("endseal con"), "flags");
}

#[test]
fn bash_completes_names() {
    let scratch = home_with_names();
    let folder = Path::new(PROGRAM).parent().unwrap().display();
    let complete = |words: &str| {
        let script = format!(
            "PATH='{folder}':$PATH; source <(endseal completions bash); COMP_WORDS=({words}); \
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); compopt() {{ :; }}; _endseal_with_names \
             endseal \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\" | sort | tr '\\n' ' '"
        );
        let mut bash = Command::new("bash");
        bash.args(["-c", &script]).env("ENDSEAL_HOME", scratch.path("alice"));
        run(bash.current_dir(scratch.folder())).ok().text().trim_end().to_owned()
    };
    assert_eq!(complete("endseal say b"), "band berta bob");
    assert_eq!(complete("endseal seal -r be"), "berta");
    assert_eq!(complete("endseal seal -g ''"), "band");
    assert_eq!(complete("endseal send de"), "desk@");
    assert_eq!(complete("endseal contacts verify bo"), "bob");
    assert_eq!(complete("endseal --home bob say b"), "");
    assert!(complete("endseal seal --to").contains("--to-self"));
    assert!(complete("endseal con").contains("contacts"));
}

#[test]
fn the_benchmark_is_a_program_of_its_own() {
    let says = "cargo endseal-bench --quick";
    run(program().args(["bench", "--quick"])).fails(2, says);
    run(program().args(["bench", "run", "--suite", "s3"])).fails(2, says);
    assert!(!run(program().arg("--help")).ok().text().contains("bench"));
}

#[test]
fn no_option_takes_a_passphrase() {
    let help = run(program().args(["init", "--help"])).ok();
    assert!(!help.text().contains("--passphrase <"));
}
