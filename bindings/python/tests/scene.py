"""A hub and people whose nodes run, by the program that `ENDSEAL_PROGRAM` names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from endseal.node import Node, Text

# Longer than anything here takes on a busy machine.
TIMEOUT = 60


def until(condition: Callable[[], bool], what: str = "it") -> None:
    """Waits for a condition."""
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen in {TIMEOUT} s"
        time.sleep(0.05)


def clean_environment() -> dict[str, str]:
    drop = ("ENDSEAL_", "XDG_", "HOME")
    return {name: value for name, value in os.environ.items() if not name.startswith(drop)}


class Scene:
    """A hub, and people who have joined it and know each other, except the one named `unknown`."""

    def __init__(self, folder: Path) -> None:
        self.program = os.environ["ENDSEAL_PROGRAM"]
        self.folder = folder
        self.children: list[subprocess.Popen[bytes]] = []
        self.nodes: dict[str, subprocess.Popen[bytes]] = {}
        self.address = "127.0.0.1:0"
        self.identities: dict[str, str] = {}

    def begin(self, *names: str) -> None:
        self.start_hub()
        invite = self.folder / "all.invite"
        words = ("--at", self.address, "--uses", str(len(names)), "-o", invite)
        self.run("owner", "hub", "invite", "all", *words)
        for name in names:
            self.run(name, "init", "--no-passphrase")
            self.run(name, "join", invite)
        self.identities = {name: self.run(name, "id", "show").strip() for name in names}
        long = {name: self.run(name, "id", "show", "--pq").strip() for name in names}
        for name in names:
            for other in names:
                if name != other and other != "unknown":
                    self.run(name, "contacts", "add", "--local", other, long[other])

    def run(self, name: str, *words: str | Path) -> str:
        """Runs a command to its end, and returns what it printed."""
        command = [self.program, "--home", self.folder / name, *words]
        environment = clean_environment()
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120
        )
        assert done.returncode == 0, f"{words}: {done.stderr.decode()}"
        return done.stdout.decode()

    def json(self, name: str, *words: str) -> Any:
        return json.loads(self.run(name, "--json", *words))

    def serve(self, *words: str | Path) -> tuple[subprocess.Popen[bytes], str]:
        """Starts a program that prints a line when it runs."""
        child = subprocess.Popen(
            [self.program, *words],
            env=clean_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.children.append(child)
        assert child.stdout is not None
        return child, child.stdout.readline().decode()

    def start_hub(self) -> None:
        words = ("--home", self.folder / "owner", "hub", "serve", "--listen", self.address)
        self.hub, line = self.serve(*words)
        self.address = line.strip().split("@")[1]

    def up(self, *names: str) -> None:
        for name in names:
            node, line = self.serve("--home", self.folder / name, "up")
            assert line.startswith("endseal up runs"), line
            self.nodes[name] = node

    def down(self, name: str, sign: signal.Signals = signal.SIGTERM) -> None:
        node = self.nodes.pop(name)
        node.send_signal(sign)
        node.wait(TIMEOUT)

    def node(self, name: str, wait: float = 0) -> Node:
        return Node(self.folder / name, wait=wait)

    def python(self, name: str, program: str) -> subprocess.Popen[bytes]:
        """Starts a Python program of a person, whose node it finds by itself."""
        environment = clean_environment() | {"ENDSEAL_HOME": str(self.folder / name)}
        with open(self.folder / f"{name}.log", "ab") as log:
            child = subprocess.Popen([sys.executable, "-c", program], env=environment, stderr=log)
        self.children.append(child)
        return child

    def history(self, name: str, other: str) -> list[Text]:
        """The texts of a conversation with a person or a group, also the unread ones."""
        node = self.node(name)
        with_ = self.identities.get(other, other)
        numbers = [row["number"] for row in node.unread() if row["conversation"] == with_]
        node.mark_read(numbers)
        return list(node.history(with_))

    def close(self) -> None:
        for child in reversed(self.children):
            child.kill()
            child.wait()
            if child.stdout:
                child.stdout.close()


def scene(folder: Path, *names: str) -> Iterator[Scene]:
    """A scene for a fixture, which ends with it."""
    made = Scene(folder)
    try:
        made.begin(*names)
        yield made
    finally:
        made.close()
