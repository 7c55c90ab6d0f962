"""A backlog of many frames: the memory of the hub that keeps it, and of the node that drains it."""

import json
import subprocess
import time

from processes import TIMEOUT, Hub, NoKiller, Person, clean_environment

SENDERS = ("alice", "carol")
# KiB that memory may grow from few frames to all, and that a hub may have.
GROWTH = 4 * 1024
HUB = 64 * 1024
FEW = 10_000
# Texts that a sender writes and sends at a time, and their length: the page caches of both databases
# are full before the first measurement.
TEXTS, LENGTH = 5_000, 1_000


def memory(pid):
    """Memory of a process in KiB: now, and at most so far. None if it has ended."""
    try:
        with open(f"/proc/{pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return tuple(int(fields[name].split()[0]) for name in ("VmRSS", "VmHWM"))
    except (FileNotFoundError, ProcessLookupError, KeyError):
        return None


class World:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        folder.mkdir()
        options = ("--metrics", "127.0.0.1:0", "--rate", "1000000")
        self.hub = Hub(binary, folder, NoKiller(), words=options)
        owner = Person(binary, folder, "owner", NoKiller())
        self.people = {name: Person(binary, folder, name, NoKiller()) for name in (*SENDERS, "bob")}
        for name, person in self.people.items():
            person.ok("init", "--no-passphrase")
            file = folder / f"{name}.invite"
            owner.ok("hub", "invite", name, "--at", self.hub.address, "-o", file)
            person.ok("join", file)
        identities = {name: one.ok("id", "show").out.strip() for name, one in self.people.items()}
        for name in SENDERS:
            self.people[name].ok("contacts", "add", "bob", identities["bob"])
            self.people["bob"].ok("contacts", "add", name, identities[name])
        self.written = {name: [] for name in SENDERS}

    def fill(self, frames):
        """Lets the senders write alternately until that many frames wait."""
        each = frames // len(SENDERS)
        while any(len(written) < each for written in self.written.values()):
            for name, written in self.written.items():
                more = min(each - len(written), TEXTS)
                texts = [f"{name} {len(written) + number} ".ljust(LENGTH, ".") for number in range(more)]
                stdin = "".join(f"{text}\n" for text in texts).encode()
                self.people[name].ok("say", "bob", "-", "--lines", stdin=stdin)
                sent = json.loads(self.people[name].ok("--json", "sync").out)["sent"]
                assert sent == more, (sent, more)
                written += texts
        waiting = self.hub.metric("waiting_frames")
        # Each has sent a welcome, too, before its first text.
        assert waiting == frames + len(SENDERS), (waiting, frames)

    def drain(self, frames):
        """Memory of the receiver: at most until few frames are acknowledged, and in the end."""
        command = [self.binary, "--home", self.folder / "bob", "--json", "sync"]
        environment = clean_environment()
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
        started, few, most, hub = time.monotonic(), None, 0, 0
        while (now := memory(process.pid)) is not None and process.poll() is None:
            assert time.monotonic() - started < 10 * TIMEOUT
            most = max(most, now[1])
            hub = max(hub, memory(self.hub.process.pid)[1])
            if few is None and self.hub.metric("waiting_frames") <= frames - FEW:
                few = memory(process.pid)[1]
            time.sleep(0.01)
        seconds = time.monotonic() - started
        report = json.loads(process.communicate()[0])
        assert process.returncode == 0
        assert (report["received"], report["problems"]) == (frames, 0), report
        # The last acknowledgement is in the hub's queue when the exchange ends.
        # Receipts wait for the senders, at most one for each of them and each batch.
        while self.hub.metric("waiting_frames") > len(SENDERS) * (frames // 1_000):
            assert time.monotonic() - started < 10 * TIMEOUT
            time.sleep(0.1)
        return few, most, hub, seconds

    def compare(self):
        """Each text is there once, those of a sender in their order."""
        arrived = {name: [] for name in SENDERS}
        for row in self.people["bob"].ok("--json", "inbox").lines():
            arrived[row["name"]].append(row["text"])
        assert arrived == self.written


def run(binary, folder, frames):
    world = World(binary, folder / "world")
    try:
        results = measure(world, frames)
    finally:
        world.hub.kill()
    print(f"{sum(results)} passed, {results.count(False)} failed")
    return not all(results)


def measure(world, frames):
    memories = {}
    for waiting in (FEW, frames):
        started = time.monotonic()
        world.fill(waiting)
        memories[waiting] = memory(world.hub.process.pid)
        (now, most), seconds = memories[waiting], time.monotonic() - started
        print(f"hub with {waiting} frames: {now} KiB, at most {most}; {seconds:.0f} s", flush=True)
    few, most, hub, seconds = world.drain(frames)
    print(f"node: {few} KiB after {FEW} frames, {most} after {frames}; {seconds:.0f} s", flush=True)
    world.compare()
    results = []
    for subject, kib, limit in (
        ("growth of the hub", memories[frames][1] - memories[FEW][1], GROWTH),
        ("the hub with all frames", memories[frames][1], HUB),
        ("the hub while they are fetched", hub, HUB),
        ("growth of the node", most - few, GROWTH),
    ):
        results.append(kib <= limit)
        verdict = "ok" if kib <= limit else "MISSED"
        print(f"{verdict:6}  {subject}: {kib} KiB, at most {limit}")
    return results
