"""The hub in its image, by compose, and as a service: each command of deploy/hub/README.md is run."""

import json
import re
import shlex
import shutil

from checks import Skipped
from confined import check_confined
from docker import commands_of
from readme import Readme
from tools import ROOT, Person, docker_programs, knows, run, servers_root, wait_until_ready

FOLDER = ROOT / "deploy/hub"
PROJECT = "endseal-hub"
METRICS = "http://127.0.0.1:9095"
MEMORY = 512 << 20


class People:
    """Alice and Bob, who write over a hub that an operator runs."""

    def __init__(self, program, folder):
        folder.mkdir()
        self.folder = folder
        self.alice, self.bob = (Person(program, folder, name) for name in ("alice", "bob"))
        knows(self.alice, self.bob)
        knows(self.bob, self.alice)
        self.sent = 0

    def join(self, invite):
        """`invite` returns the text of an invitation for a name."""
        for person in (self.alice, self.bob):
            text = next(line for line in invite(person.name).split() if line.startswith("endsealjoin1"))
            person.ok("join", "-", stdin=text.encode())

    def send(self):
        """Alice writes a text, which waits at the hub."""
        self.sent += 1
        self.alice.ok("say", "bob", f"text {self.sent}")
        self.alice.ok("sync")

    def receive(self, *numbers):
        self.bob.ok("sync")
        lines = self.bob.ok("--json", "inbox").splitlines()
        texts = [json.loads(line)["text"] for line in lines]
        assert texts == [f"text {number}" for number in numbers], texts


def image(engine, folder):
    """Builds and runs the image by the commands of the Dockerfile."""
    build, start = commands_of(FOLDER / "Dockerfile")
    engine.build(build)
    options = ["--name", "hub", "--memory", "512m", "--publish", "127.0.0.1:9095:9095"]
    engine.start(start, *options, folder=folder)
    wait_until_ready(f"{METRICS}/readyz")
    check_confined(engine.pid("hub"), "65532", MEMORY)
    people = People(engine.program, folder / "image")

    def hub(*words):
        return engine.docker("exec", "hub", "endseal", "hub", *words)

    people.join(lambda name: hub("invite", name, "--at", "hub.example.org:4433"))
    people.send()
    people.receive(1)
    people.send()
    engine.stop("hub")
    engine.docker("start", "hub")
    wait_until_ready(f"{METRICS}/readyz")
    people.receive(2)
    hub("backup", "/data/endseal/copy.db")
    assert "2" in hub("stats") and "endseal-hub" not in hub("check")
    engine.stop("hub")
    # Another container with the volume: the image itself keeps nothing.
    engine.docker("rm", "hub")
    engine.start(start, *options, folder=folder)
    wait_until_ready(f"{METRICS}/readyz")
    people.send()
    people.receive(3)
    engine.stop("hub")
    engine.docker("rm", "--volumes", "hub")
    engine.docker("volume", "rm", "--force", "endseal-hub")


def compose(engine, folder):
    """Runs the section "With compose" of the README."""
    readme = Readme("deploy/hub/README.md", ["With compose"])
    place = compose_folder(engine, folder / "compose")

    def shell(line):
        return run(["bash", "-c", line], cwd=place)

    def docker(line):
        # The image was built before, see `Docker.build`.
        words = [word for word in shlex.split(line) if word != "--build"]
        assert words[:2] == ["docker", "compose"], line
        return engine.docker(*words[1:], cwd=place)

    shell(readme.take("install -d"))
    docker(readme.take("docker compose up"))
    wait_until_ready(f"{METRICS}/readyz")
    container = f"{PROJECT}-hub-1"
    check_confined(engine.pid(container), "65532", MEMORY)
    hub = function(readme, "hub")
    invite = readme.take("hub invite alice")
    people = People(engine.program, folder / "composed")
    people.join(lambda name: docker(hub(invite.replace("alice", name))))
    people.send()
    people.receive(1)
    assert "endsealpeer1" in docker(readme.take("docker compose logs"))
    docker(hub(readme.take("hub backup")))
    shell(readme.take("install"))
    (place / "data/backup-1.db").rename(place / "backup-1.db")
    people.send()
    shutil.copy(place / "backup-1.db", place / "data/backup-1.db")
    shutil.chown(place / "data/backup-1.db", 65532, 65532)
    stopped = function(readme, "stopped")
    docker(readme.take("docker compose stop"))
    docker(stopped(readme.take("stopped restore")))
    docker(readme.take("docker compose start"))
    wait_until_ready(f"{METRICS}/readyz")
    # Text 2 was sent after the copy. Alice learns that the hub is older, and sends it again.
    people.alice.ok("sync")
    people.receive(2)
    # Another machine, which has the two files that were moved there.
    engine.docker("compose", "down", "--volumes", cwd=place)
    (place / "data").rename(place / "lost")
    shell("install -d -m 0700 -o 65532 -g 65532 data")
    engine.docker("compose", "up", "--detach", cwd=place)
    wait_until_ready(f"{METRICS}/readyz")
    docker(readme.take("docker compose stop"))
    shell(readme.take("install"))
    shell(readme.take("install"))
    docker(stopped(readme.take("stopped restore")))
    docker(readme.take("docker compose start"))
    wait_until_ready(f"{METRICS}/readyz")
    people.alice.ok("sync")
    people.send()
    people.receive(3)
    assert readme.take("git pull")
    docker(readme.take("docker compose up"))
    wait_until_ready(f"{METRICS}/readyz")
    people.send()
    people.receive(4)
    engine.stop(container)
    engine.docker("compose", "down", "--volumes", cwd=place)
    readme.all_were_run()


def processes(engine, folder):
    """Runs the section "Two processes" of the README, with Debian's PostgreSQL."""
    if b"ENDSEAL_HUB_DATABASE" not in engine.program.read_bytes():
        raise Skipped("this program knows no PostgreSQL")
    readme = Readme("deploy/hub/README.md", ["Two processes"])
    place = compose_folder(engine, folder / "processes")
    engine.image_of(servers_root(), "postgres:17-bookworm", "postgres-entry")

    def shell(line):
        return engine.shell(line.replace(" --build", ""), place)

    shell(readme.take("install -d"))
    shell(readme.take("docker compose --profile postgres up"))
    for port in (9095, 9096):
        wait_until_ready(f"http://127.0.0.1:{port}/readyz")
    check_confined(engine.pid(f"{PROJECT}-hub-2-1"), "65532", MEMORY)
    process = readme.take("process() {")
    invite = readme.take("process invite alice")
    people = People(engine.program, folder / "of-processes")
    people.join(lambda name: shell(f"{process}; {invite.replace('alice', name)}"))
    people.send()
    people.receive(1)
    # Each of the two stops once while a text waits.
    for one, other in (("hub-1", "hub-2"), ("hub-2", "hub-1")):
        people.send()
        # A node that has dialled both left a connection to one. The hub waits 2 s for its end.
        engine.stop(f"{PROJECT}-{one}-1", limit=5)
        people.receive(people.sent)
        people.send()
        shell(f"docker compose --profile postgres start {one}")
        wait_until_ready(f"http://127.0.0.1:{9095 if one == 'hub-1' else 9096}/readyz")
        people.receive(people.sent)
    shell(readme.take("docker compose exec -T postgres pg_dump"))
    assert (place / "hub.dump").read_bytes().startswith(b"PGDMP")
    shell("docker compose --profile postgres down --volumes")
    readme.all_were_run()


def compose_folder(engine, folder):
    """Returns a copy of deploy/hub, beside which files are written, after the image was built."""
    if not (docker_programs() / "config/cli-plugins/docker-compose").exists():
        raise Skipped("no docker compose, and no Go to build it")
    place = folder / "deploy/hub"
    shutil.copytree(FOLDER, place)
    build, _ = commands_of(FOLDER / "Dockerfile")
    engine.build(build)
    engine.docker("tag", "endseal-hub", "endseal-hub:local")
    return place


def function(readme, name):
    """Takes the definition of a shell function, and returns what it makes of a line."""
    line = readme.take(f"{name}() {{ docker compose ")
    words = re.fullmatch(rf'{name}\(\) {{ (.*) "\$@"; }}', line)[1]
    return lambda line: f"{words} {line.removeprefix(name)}"


def unit(system, folder):
    """Runs the sections "As a service" and "Backup and restore" of the README in a booted system."""
    readme = Readme("deploy/hub/README.md", ["As a service", "Backup and restore"])
    for start in ("install", "useradd", "install", "systemctl daemon-reload", "curl"):
        system.shell(readme.take(start))
    name = "endseal-hub"
    system.check_verified(name)
    pid = system.check_confined(name, f"/var/lib/{name}", MEMORY)
    system.define(readme.take("hub() {"))
    people = People(system.program, folder / "unit")
    invite = readme.take("hub invite alice")
    people.join(lambda name: system.shell(invite.replace("alice", name)))
    people.send()
    people.receive(1)
    assert "alice" in system.shell(readme.take("hub people"))
    system.shell(readme.take("hub invitations"))
    remove = readme.take("hub remove alice")
    assert "people" in system.shell(readme.take("hub stats"))
    # Unread, when the service ends and starts again.
    people.send()
    system.check_stopped(name)
    system.shell(f"systemctl start {name}")
    wait_until_ready(f"{METRICS}/readyz")
    people.receive(2)
    # A hub that is killed comes back by itself.
    system.shell(f"systemctl kill --signal KILL {name}")
    wait_until_ready(f"{METRICS}/readyz")
    assert system.pid(name) != pid
    system.shell(readme.take("hub backup"))
    system.shell(readme.take("hub check"))
    people.send()
    for start in ("systemctl stop", "hub restore", "systemctl start"):
        system.shell(readme.take(start))
    wait_until_ready(f"{METRICS}/readyz")
    people.alice.ok("sync")
    people.receive(3)
    system.shell(remove)
    assert re.search(r"alice .*\n.* revoked ", system.shell("hub people"))
    system.check_memory(name)
    system.check_stopped(name)
    readme.all_were_run()
