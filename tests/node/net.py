"""Texts over a slow network that loses datagrams, to a hub that is started again twice."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from processes import Hub, NoKiller, Person, clean_environment

TEXTS = 5_000
DELAY_MS, LOSS = 25, 0.02
# A text a datagram in a new round trip each would take 250 s.
SECONDS = 180
PORT = 4_433
RELAY = Path(__file__).with_name("lossy.py")


class Network:
    """A namespace each for the hub, the nodes and the relay that all datagrams pass."""

    def __init__(self):
        self.prefix = f"es{os.getpid()}"
        self.made = []

    def name(self, place):
        return f"{self.prefix}{place}"

    def inside(self, place):
        """The words with which a program runs there."""
        return ("ip", "netns", "exec", self.name(place))

    def ip(self, *words):
        subprocess.run(["ip", *words], check=True)

    def add(self, place):
        self.ip("netns", "add", self.name(place))
        self.made.append(place)
        self.ip("-n", self.name(place), "link", "set", "lo", "up")

    def join(self, place, number):
        """Joins it to the relay: 10.77.NUMBER.1 is the relay there, .2 the place itself."""
        self.add(place)
        here, there = f"{self.prefix}{place[0]}", f"{self.prefix}{place[0]}r"
        pair = ("type", "veth", "peer", "name", there, "netns", self.name("relay"))
        self.ip("-n", self.name(place), "link", "add", here, *pair)
        for end, at, host in ((here, place, 2), (there, "relay", 1)):
            self.ip("-n", self.name(at), "addr", "add", f"10.77.{number}.{host}/24", "dev", end)
            self.ip("-n", self.name(at), "link", "set", end, "up")

    def close(self):
        for place in self.made:
            self.ip("netns", "del", self.name(place))


class Follower:
    """Reads the output of `inbox --follow` as it arrives. The command waits for `up`."""

    def __init__(self, person):
        self.texts = []
        self.process = start(person, "--json", "inbox", "--follow", stdout=subprocess.PIPE)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.texts.append(json.loads(line)["text"])

    def wait_for(self, count, end):
        while len(self.texts) < count:
            assert time.monotonic() < end, f"{len(self.texts)} of {TEXTS} after {SECONDS} s"
            time.sleep(0.05)


def start(person, *words, **options):
    command = [*person.inside, person.binary, "--home", person.folder / person.name, *words]
    return subprocess.Popen(command, env=clean_environment(), **options)


def run(binary, folder, loss):
    if os.geteuid() != 0:
        sys.exit("tests/node/run --net makes network namespaces, which only root may")
    network, processes = Network(), []
    try:
        return send(binary, folder / "world", network, loss, processes)
    finally:
        for process in processes:
            process.kill()
        network.close()


def running(process):
    """Waits until `up` says that it runs, and lets it say more."""
    line = process.stdout.readline()
    assert b"endseal up runs" in line, line
    threading.Thread(target=process.stdout.read, daemon=True).start()


def send(binary, folder, network, loss, processes):
    folder.mkdir()
    network.add("relay")
    for number, place in enumerate(("hub", "alice", "bob")):
        network.join(place, number)
    relay = subprocess.Popen(
        [*network.inside("relay"), sys.executable, "-B", RELAY, f"10.77.0.2:{PORT}"]
        + [f"10.77.{number}.1:{PORT}" for number in (1, 2)]
        + [str(DELAY_MS), str(loss)],
        stdout=subprocess.PIPE,
    )
    processes.append(relay)
    hub = Hub(binary, folder, NoKiller(), f"10.77.0.2:{PORT}", inside=network.inside("hub"))
    processes.append(hub)
    owner = Person(binary, folder, "owner", NoKiller(), network.inside("hub"))
    alice, bob = people = [
        Person(binary, folder, name, NoKiller(), network.inside(name)) for name in ("alice", "bob")
    ]
    for number, person in enumerate(people, 1):
        person.ok("init", "--no-passphrase")
        file = folder / f"{person.name}.invite"
        owner.ok("hub", "invite", person.name, "--at", f"10.77.{number}.1:{PORT}", "-o", file)
        person.ok("join", file)
    alice.ok("contacts", "add", "bob", bob.ok("id", "show").out.strip())
    bob.ok("contacts", "add", "alice", alice.ok("id", "show").out.strip())
    started = time.monotonic()
    for person in people:
        process = start(person, "up", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        processes.append(process)
        running(process)
    follower = Follower(bob)
    processes.append(follower.process)
    texts = [f"text {number}" for number in range(TEXTS)]
    alice.ok("say", "bob", "-", "--lines", stdin="".join(f"{text}\n" for text in texts).encode())
    for part, how in ((TEXTS // 4, signal.SIGTERM), (TEXTS // 2, signal.SIGKILL)):
        follower.wait_for(part, started + SECONDS)
        hub.process.send_signal(how)
    follower.wait_for(TEXTS, started + SECONDS)
    seconds = time.monotonic() - started
    # A duplicate would arrive with the next text.
    alice.ok("say", "bob", "the last")
    follower.wait_for(TEXTS + 1, time.monotonic() + SECONDS)
    arrived = follower.texts
    relay.terminate()
    passed, dropped = map(int, re.findall(rb"\d+", relay.communicate()[0]))
    lost = len(set(texts) - set(arrived))
    twice = len(arrived) - len(set(arrived))
    order = "in order" if lost or twice or arrived == [*texts, "the last"] else "in another order"
    print(f"{passed} datagrams, {dropped} dropped; the hub was started {hub.starts} times")
    print(f"{TEXTS} texts in {seconds:.0f} s: {lost} lost, {twice} twice, {order}")
    return bool(lost or twice or order != "in order" or hub.starts != 3 or dropped == 0)
