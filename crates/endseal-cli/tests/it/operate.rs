//! Runs the commands of docs/operate.md: what they promise to people who run a hub.

use core::sync::atomic::{AtomicU16, Ordering};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use endseal_testing::Scratch;

use crate::people::{PROGRAM, Person, Ran, run};

const PAGE: &str = include_str!("../../../../docs/operate.md");
/// The title is the heading of the first block.
const TITLE: &str = "# Operating a hub";
const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Stands in for systemd: starts and ends the program of a unit in the background.
const SYSTEMCTL: &str = r#"#!/bin/sh
verb=$1
shift
for unit; do
    [ "$unit" = --now ] && continue
    port=${unit#*@}
    file=$UNITS/$(echo "$unit" | sed 's/@.*/@/').service
    [ -e "$file.d/processes.conf" ] && file=$file.d/processes.conf
    case $verb in stop | disable | restart)
        kill "$(cat "$unit.pid")" && tail -s 0.05 --pid="$(cat "$unit.pid")" -f /dev/null
        rm "$unit.pid"
    esac
    case $verb in start | enable | restart)
        command=$(sed -n 's/^ExecStart=\(..*\)/\1/p' "$file")
        command=$(echo "$command" | sed "s/%i/$port/g; s/0\.0\.0\.0/127.0.0.1/; $HERE")
        # The hub has its port when it has written the first line.
        $command > "$unit.out" 2> "$unit.err" &
        echo $! > "$unit.pid"
        until [ -s "$unit.out" ]; do
            kill -0 $! || { cat "$unit.err" >&2; exit 1; }
            sleep 0.02
        done
    esac
done
"#;

/// Returns the blocks of commands below a heading, which text separates.
fn blocks(heading: &str) -> Vec<String> {
    let found = PAGE.split("\n## ").find_map(|section| section.strip_prefix(heading));
    let section = found.unwrap_or_else(|| panic!("no section '{heading}'"));
    let mut blocks = vec![String::new()];
    for line in section.lines() {
        match line.strip_prefix("    ") {
            Some(command) => blocks.last_mut().unwrap().extend([command, "\n"]),
            None if blocks.last().unwrap().is_empty() => {}
            None => blocks.push(String::new()),
        }
    }
    blocks.retain(|block| !block.is_empty());
    assert!(!blocks.is_empty(), "no command in '{heading}'");
    blocks
}

/// The machine of an operator: folders in the place of those of the system.
struct Machine<'a> {
    scratch: &'a Scratch,
    /// A port with four digits that is free, and 1 before it as well, for each of the page.
    ports: [(&'static str, u16); 4],
    /// Texts of the page, and what stands for them.
    instead: Vec<(String, String)>,
}

impl<'a> Machine<'a> {
    fn new(scratch: &'a Scratch) -> Self {
        for folder in ["bin", "units", "state"] {
            fs::create_dir(scratch.path(folder)).unwrap();
        }
        fs::set_permissions(scratch.path("state"), fs::Permissions::from_mode(0o700)).unwrap();
        let systemctl = scratch.write("bin/systemctl", SYSTEMCTL);
        fs::set_permissions(systemctl, fs::Permissions::from_mode(0o755)).unwrap();
        fs::copy(PROGRAM, scratch.path("endseal")).unwrap();
        fs::copy(PROGRAM, scratch.path("bin/endseal")).unwrap();
        // Each test of the process has ports of its own.
        static MACHINES: AtomicU16 = AtomicU16::new(0);
        let first = 2_000 + 3_000 * (MACHINES.fetch_add(1, Ordering::Relaxed) % 2);
        let mut free = (first + u16::try_from(std::process::id() % 2_500).unwrap()..first + 3_000)
            .filter(|&port| UdpSocket::bind(("127.0.0.1", port)).is_ok())
            .filter(|&port| TcpListener::bind(("127.0.0.1", 10_000 + port)).is_ok());
        let ports = ["4433", "4434", "4435", "4436"].map(|it| (it, free.next().unwrap()));
        let path = |name: &str| scratch.path(name).to_str().unwrap().to_owned();
        let mut instead = vec![
            ("/usr/local/bin".to_owned(), path("bin")),
            ("/etc/systemd/system".to_owned(), path("units")),
            ("/var/lib/endseal-hub".to_owned(), path("state")),
            ("deploy/hub/".to_owned(), format!("{REPOSITORY}/deploy/hub/")),
            ("hub.example.org".to_owned(), "127.0.0.1".to_owned()),
            ("hub2.example.org".to_owned(), "127.0.0.1".to_owned()),
            ("9095".to_owned(), format!("1{}", ports[0].1)),
        ];
        instead.extend(ports.iter().map(|(port, own)| (port.to_string(), own.to_string())));
        let machine = Self { scratch, ports, instead };
        let unit = Path::new(REPOSITORY).join("deploy/hub/endseal-hub.service");
        fs::copy(unit, scratch.path("units/endseal-hub.service")).unwrap();
        let replace = machine.instead.iter().map(|(from, to)| format!("s|{from}|{to}|g"));
        let replace = replace.collect::<Vec<_>>().join("; ");
        scratch.write("env", format!("export UNITS={} HERE='{replace}'\n", path("units")));
        machine
    }

    fn here(&self, text: &str) -> String {
        let replace = |text: String, (from, to): &(String, String)| text.replace(from, to);
        self.instead.iter().fold(text.to_owned(), replace)
    }

    /// Runs all commands below a heading.
    fn play(&self, heading: &str) {
        for block in 0..blocks(heading).len() {
            self.play_block(heading, block);
        }
    }

    /// Runs one block of commands below a heading in a shell. What they export holds from then on.
    fn play_block(&self, heading: &str, block: usize) -> Ran {
        let lines = self.here(&blocks(heading)[block]);
        let ran = self.shell(&format!(". ./env\n{lines}\nexport -p > env\n"));
        assert_eq!(ran.code, 0, "{heading}: {lines}: {}", ran.err);
        ran
    }

    fn shell(&self, script: &str) -> Ran {
        let path =
            format!("{}:{}", self.scratch.path("bin").display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("sh");
        command.args(["-ec", script]).current_dir(self.scratch.folder()).stdin(Stdio::null());
        run(command.env("PATH", path).env_remove("HOME"))
    }

    /// A person who joins by a new invitation of the hub, at the port that the page names.
    fn join(&self, person: &Person<'_>, port: &str) {
        let own = self.ports.iter().find(|it| it.0 == port).unwrap().1;
        let file = format!("{}-{port}.invite", person.name);
        let invite = format!(
            "rm -f {file}; endseal hub invite {} --at 127.0.0.1:{own} -o {file}",
            person.name
        );
        let ran = self.shell(&format!(". ./env\n{invite}\n"));
        assert_eq!(ran.code, 0, "{}", ran.err);
        person.run(&["join", &file]).ok();
    }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        // Hubs that a failed test left.
        let _ran = self.shell("for pid in *.pid; do kill -9 $(cat $pid); done");
    }
}

/// A private PostgreSQL server, which ends with its standard input.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    /// Returns `None` if PostgreSQL is not installed: a test of Rust installs no packages.
    fn start() -> Option<Self> {
        if !Path::new("/usr/lib/postgresql").exists() {
            return None;
        }
        let program = Path::new(REPOSITORY).join("tests/node/postgres.py");
        let mut command = Command::new(program);
        command.args(["sh", "-c", "echo $ENDSEAL_HUB_DATABASE; cat"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Some(Self { child, url: url.trim_end().to_owned() })
    }

    /// Returns folder and port of its Unix socket, as they are in the URL.
    fn place(&self) -> (&str, &str) {
        let (_, rest) = self.url.split_once('@').unwrap();
        rest.split_once('/').unwrap().0.split_once(':').unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

/// Members of the hub.
struct Members<'a>([Person<'a>; 2]);

impl<'a> Members<'a> {
    fn new(scratch: &'a Scratch) -> Self {
        let people = ["bob", "carol"].map(|name| Person::new(name, scratch));
        people[0].knows(&people[1]);
        people[1].knows(&people[0]);
        Self(people)
    }

    /// Bob says a text, which waits at the hub.
    fn say(&self, text: &str) {
        self.0[0].run(&["say", "carol", text]).ok();
        self.0[0].run(&["sync"]).ok();
    }

    /// Carol reads all texts.
    fn read(&self) -> String {
        self.0[1].run(&["sync"]).ok();
        self.0[1].run(&["inbox"]).ok().text().to_owned()
    }

    fn reach(&self, text: &str) {
        self.say(text);
        let read = self.read();
        assert!(read.contains(text), "{text}: {read}");
    }
}

#[test]
fn a_hub_with_sqlite_is_started_backed_up_restored_and_moved() {
    let scratch = Scratch::new();
    let machine = Machine::new(&scratch);
    machine.play(TITLE);
    machine.play("Start");

    machine.play_block("Invite and remove people", 0);
    let alice = Person::new("alice", &scratch);
    alice.run(&["join", "alice.invite"]).ok();
    machine.play_block("Invite and remove people", 1);
    alice.run(&["sync"]).fails(1, "revoked");

    let members = Members::new(&scratch);
    for person in &members.0 {
        machine.join(person, "4433");
    }
    members.reach("before the backup");
    members.say("in the backup");
    let ran = machine.play_block("Back up", 0);
    assert!(ran.text().ends_with("the database is whole\n"), "{}", ran.text());
    assert!(members.read().contains("in the backup"));
    members.say("after the backup");
    machine.play("Restore");
    // A text that no device confirmed is sent again.
    for _ in 0..3 {
        for person in &members.0 {
            person.run(&["sync"]).ok();
        }
    }
    assert!(members.read().contains("after the backup"));

    members.say("on the move");
    machine.play_block("Move to another machine", 0);
    fs::remove_dir_all(scratch.path("state/hub")).unwrap();
    machine.play_block("Move to another machine", 1);
    assert!(members.read().contains("on the move"));
    machine.play("Watch");
}

#[test]
fn a_hub_moves_to_postgres_and_back_and_is_served_by_several_processes() {
    let scratch = Scratch::new();
    let Some(server) = Server::start() else { return };
    let mut machine = Machine::new(&scratch);
    let (folder, port) = server.place();
    let socket = format!("{folder}:{port}");
    machine.instead.insert(0, ("%2Fvar%2Frun%2Fpostgresql".to_owned(), socket));
    // What is not in the command line is found as it would be on the machine of a server.
    let folder = folder.replace("%2F", "/");
    let ran = machine
        .shell(&format!("echo 'export PGHOST={folder} PGPORT={port} PGUSER=postgres' >> env"));
    assert_eq!(ran.code, 0);
    machine.play(TITLE);
    machine.play("Start");
    let members = Members::new(&scratch);
    for person in &members.0 {
        machine.join(person, "4433");
    }
    members.reach("with SQLite");
    members.say("on the move");
    machine.play("Move to PostgreSQL");
    assert!(members.read().contains("on the move"));

    members.say("in the backup");
    machine.play_block("Back up and restore with PostgreSQL", 0);
    assert!(members.read().contains("in the backup"));
    members.say("after the backup");
    machine.play_block("Back up and restore with PostgreSQL", 1);
    for _ in 0..3 {
        for person in &members.0 {
            person.run(&["sync"]).ok();
        }
    }
    assert!(members.read().contains("after the backup"));

    scratch.write("endseal-hub.env", "");
    machine.play("Serve with several processes");
    machine.join(&members.0[0], "4434");
    machine.join(&members.0[1], "4435");
    members.reach("by two processes");
    machine.play("Restart and upgrade without a pause");
    members.reach("after the upgrade");
    members.say("on the way back");
    machine.play("Move back to SQLite");
    machine.join(&members.0[1], "4433");
    assert!(members.read().contains("on the way back"));
}
