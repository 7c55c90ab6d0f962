"""The program under test: hubs and persons."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

from engines import Sqlite

ROOT = Path(__file__).resolve().parents[2]
# Longer than anything here takes on a busy machine.
TIMEOUT = 120
KILLED = -9
# Where hubs of this run have their databases.
ENGINE = Sqlite()


def engine():
    return ENGINE


def use(chosen):
    """Chooses the engine of all hubs from now on."""
    global ENGINE
    ENGINE = chosen


def program(given):
    """The program that is given, or one that is built."""
    if given:
        return given.resolve()
    subprocess.run(
        ["cargo", "build", "--quiet", "--locked", "--package", "endseal-cli"], cwd=ROOT, check=True
    )
    target = os.environ.get("CARGO_TARGET_DIR", ROOT / "target")
    return Path(target) / "debug" / "endseal"


def compiled_shim(folder):
    library = folder / "kill.so"
    source = Path(__file__).with_name("kill.c")
    flags = ["-O1", "-Wall", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, "-o", library, source, "-ldl"], check=True)
    return library


class Killer:
    """Kills one role at one fsync, or a hub at one write to PostgreSQL; with 0 it only counts."""

    def __init__(self, shim, folder, role, at):
        self.shim, self.role, self.at = shim, role, at
        self.file = folder / "count"

    def environment(self, role):
        if role != self.role:
            return {}
        return {
            "LD_PRELOAD": str(self.shim),
            "KILL_COUNT": str(self.file),
            "KILL_AT": str(self.at),
            "KILL_CALL": "write" if role == "hub" and ENGINE.name == "postgres" else "fsync",
        }

    def count(self):
        return int(self.file.read_text()) if self.file.exists() else 0


class NoKiller:
    def environment(self, role):
        return {}


def clean_environment():
    drop = ("ENDSEAL_", "XDG_", "HOME")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(drop)}
    return kept | {"TZ": "UTC0"}


class Ran:
    def __init__(self, process, out, err):
        self.code, self.out, self.err = process.returncode, out.decode(), err.decode()

    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]


class Person:
    """`inside` are the words with which a program runs elsewhere, as in a network namespace."""

    def __init__(self, binary, folder, name, killer, inside=()):
        self.binary, self.folder, self.name, self.killer = binary, folder, name, killer
        self.inside = inside

    def environment(self):
        if self.name != "owner":
            return clean_environment()
        return clean_environment() | ENGINE.environment(self.folder)

    def run(self, *words, stdin=b""):
        """Runs a command to its end, which may be that it is killed."""
        command = [*self.inside, self.binary, "--home", self.folder / self.name, *words]
        environment = self.environment() | self.killer.environment(self.name)
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            out, err = process.communicate(stdin, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Ran(process, out, err)

    def killed_after(self, seconds, *words, stdin=b""):
        """Runs a command, and kills it after a time if it has not ended."""
        command = [*self.inside, self.binary, "--home", self.folder / self.name, *words]
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, cwd=self.folder, env=clean_environment(), **streams)
        try:
            process.communicate(stdin, timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()

    def ok(self, *words, stdin=b""):
        ran = self.run(*words, stdin=stdin)
        assert ran.code == 0, f"{self.name} {' '.join(map(str, words))}: {ran.code}: {ran.err}"
        return ran


def free_address():
    """An address of this machine that is free. A process has the same one after a restart."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return "{}:{}".format(*probe.getsockname())


class Serving:
    """One process of a hub, the first of which has the number 0."""

    def __init__(self, hub, number, address):
        self.hub, self.number, self.address = hub, number, address
        self.process, self.metrics, self.starts = None, None, 0

    def start(self):
        hub = self.hub
        words, environment = ENGINE.serve(hub.folder, self.number)
        if self.number == 0:
            environment = environment | hub.killer.environment("hub")
        serve = [*hub.inside, hub.binary, "--home", hub.folder / "owner", "hub", "serve"]
        with open(hub.log or os.devnull, "ab") as log:
            self.process = subprocess.Popen(
                [*serve, "--listen", self.address, *words, *hub.words],
                env=clean_environment() | environment,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self.starts += 1
        line = self.process.stdout.readline().decode()
        if "@" in line:
            self.address = line.strip().split("@")[1]
        if "--metrics" in hub.words and "@" in line:
            self.metrics = self.process.stdout.readline().decode().split()[-1]

    def page(self):
        """The text of its metrics."""
        with urllib.request.urlopen(self.metrics, timeout=TIMEOUT) as answer:
            return answer.read().decode()

    def metric(self, name):
        prefix = f"endseal_hub_{name} "
        lines = [line for line in self.page().splitlines() if line.startswith(prefix)]
        return float(lines[0].removeprefix(prefix))


class Balancer:
    """The address before several processes."""

    def __init__(self, front, backs):
        command = [sys.executable, Path(__file__).with_name("balancer.py"), front, *backs]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.address = self.process.stdout.readline().decode().strip()

    def stop(self):
        """Returns how many sources were moved to another process."""
        self.process.terminate()
        return int(self.process.communicate()[0])


class Hub:
    """A hub of one or several processes, which are started again when they were killed.

    `words` are further options, `log` a file; `inside` as for a person.
    """

    def __init__(self, binary, folder, killer, address="127.0.0.1:0", words=(), log=None, inside=()):
        self.binary, self.folder, self.killer = binary, folder, killer
        self.words, self.log, self.inside = words, log, inside
        self.stopping, self.balancer, self.lock = False, None, threading.Lock()
        if ENGINE.processes == 1:
            # The address is a part of the key of stateless resets with PostgreSQL.
            is_any = ENGINE.name == "postgres" and address.endswith(":0")
            self.servings = [Serving(self, 0, free_address() if is_any else address)]
        else:
            addresses = [free_address() for _ in range(ENGINE.processes)]
            self.servings = [Serving(self, *numbered) for numbered in enumerate(addresses)]
        # The first one makes the key.
        for one in self.servings:
            one.start()
        self.address = self.servings[0].address
        if ENGINE.processes > 1:
            self.balancer = Balancer(address, [one.address for one in self.servings])
            self.address = self.balancer.address
        self.watch = threading.Thread(target=self.restart, daemon=True)
        self.watch.start()

    @property
    def process(self):
        return self.servings[0].process

    @property
    def starts(self):
        """How often the process was started that was started most."""
        return max(one.starts for one in self.servings)

    def page(self):
        """The metrics of all processes."""
        return "".join(one.page() for one in self.servings)

    def metric(self, name):
        """A metric: of one process, as several have the same database, or the sum of connections."""
        if name.startswith("connections"):
            return sum(one.metric(name) for one in self.servings)
        return self.servings[0].metric(name)

    def restart(self):
        while not self.stopping:
            with self.lock:
                for one in self.servings:
                    if one.process.poll() is not None and not self.stopping:
                        one.process.stdout.close()
                        one.start()
            time.sleep(0.02)

    def crash(self):
        """Kills all processes, which are started again."""
        for one in self.servings:
            one.process.kill()

    def renew(self, number, is_killed=False):
        """Restarts one process: by SIGTERM, whose exit code must be 0, or by SIGKILL."""
        with self.lock:
            one = self.servings[number]
            one.process.kill() if is_killed else one.process.terminate()
            code = one.process.wait(TIMEOUT)
            one.process.stdout.close()
            assert is_killed or code == 0, code
            one.start()

    def stop(self):
        """Ends all processes by SIGTERM. Returns the highest exit code."""
        return self.end(lambda process: process.terminate())

    def kill(self):
        """Ends it at once, if it runs."""
        self.end(lambda process: process.kill())

    def end(self, ending):
        self.stopping = True
        self.watch.join()
        codes = []
        for one in self.servings:
            ending(one.process)
        for one in self.servings:
            codes.append(one.process.wait(TIMEOUT))
            one.process.stdout.close()
        if self.balancer:
            self.balancer.stop()
            self.balancer = None
        return max(codes)
