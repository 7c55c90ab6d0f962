"""The program under test: hubs and persons."""

import json
import os
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Longer than anything here takes on a busy machine.
TIMEOUT = 120
KILLED = -9


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
    """Kills one role at one fsync; with 0 it only counts."""

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

    def run(self, *words, stdin=b""):
        """Runs a command to its end, which may be that it is killed."""
        command = [*self.inside, self.binary, "--home", self.folder / self.name, *words]
        environment = clean_environment() | self.killer.environment(self.name)
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


class Hub:
    """A hub that is started again when it was killed.

    `words` are further options, `log` a file; `inside` as for a person.
    """

    def __init__(self, binary, folder, killer, address="127.0.0.1:0", words=(), log=None, inside=()):
        self.binary, self.folder, self.killer, self.address = binary, folder, killer, address
        self.words, self.log, self.metrics, self.inside = words, log, None, inside
        self.starts, self.stopping = 0, False
        self.process = None
        self.start()
        self.watch = threading.Thread(target=self.restart, daemon=True)
        self.watch.start()

    def start(self):
        serve = [*self.inside, self.binary, "--home", self.folder / "owner", "hub", "serve"]
        with open(self.log or os.devnull, "ab") as log:
            self.process = subprocess.Popen(
                [*serve, "--listen", self.address, *self.words],
                env=clean_environment() | self.killer.environment("hub"),
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self.starts += 1
        line = self.process.stdout.readline().decode()
        if "@" in line:
            self.address = line.strip().split("@")[1]
        if "--metrics" in self.words and "@" in line:
            self.metrics = self.process.stdout.readline().decode().split()[-1]

    def page(self):
        """The text of its metrics."""
        with urllib.request.urlopen(self.metrics, timeout=TIMEOUT) as answer:
            return answer.read().decode()

    def metric(self, name):
        prefix = f"endseal_hub_{name} "
        lines = [line for line in self.page().splitlines() if line.startswith(prefix)]
        return float(lines[0].removeprefix(prefix))

    def restart(self):
        while not self.stopping:
            if self.process.poll() is not None and not self.stopping:
                self.start()
            time.sleep(0.02)

    def stop(self):
        self.stopping = True
        self.watch.join()
        self.process.terminate()
        code = self.process.wait(TIMEOUT)
        self.process.stdout.close()
        return code

    def kill(self):
        """Ends it at once, if it runs."""
        self.stopping = True
        self.watch.join()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def database(self):
        return self.folder / "owner" / "hub" / "hub.db"
