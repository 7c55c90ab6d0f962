"""One process is killed at one fsync, and nothing is lost or comes twice.

A hub before PostgreSQL does no fsync: it is killed at each write to the server. Then the server is
stopped at moments that are spread evenly, as by a crash.
"""

import json
import shutil
import threading
import time

from processes import KILLED, TIMEOUT, Hub, Killer, NoKiller, Person, compiled_shim, engine

ROLES = ("hub", "alice", "bob")
# Crashes of the server, if no number is given.
CRASHES = 24
OTHER = {"alice": "bob", "bob": "alice"}
# A text of each of 20 `say`, the fourth of which has 50 lines, and visits in between.
LINES = [f"line {number}" for number in range(50)]


def script():
    """Steps: the person, and the texts of a `say` or None for a `sync`."""
    steps = []
    for number in range(10):
        texts = LINES if number == 3 else [f"alice {number}"]
        steps.append(("alice", texts))
        if number % 3 == 2:
            steps.append(("alice", None))
        steps.append(("bob", [f"bob {number}"]))
        if number % 4 == 3:
            steps.append(("bob", None))
    # The last one brings the last receipt.
    return steps + [(name, None) for name in ("alice", "bob", "alice", "bob", "alice", "bob")]


def said_by(name):
    return [text for person, texts in script() if person == name and texts for text in texts]


def prepare(binary, folder):
    """Alice and Bob, who have joined a hub that does not run any more. Returns its address."""
    folder.mkdir()
    hub = Hub(binary, folder, NoKiller())
    owner = Person(binary, folder, "owner", NoKiller())
    people = [Person(binary, folder, name, NoKiller()) for name in OTHER]
    for person in people:
        person.ok("init", "--no-passphrase")
    for person, other in zip(people, reversed(people)):
        identity = other.ok("id", "show").out.strip()
        person.ok("contacts", "add", other.name, identity)
        file = folder / f"{person.name}.invite"
        owner.ok("hub", "invite", person.name, "--at", hub.address, "-o", file)
        person.ok("join", file)
    hub.stop()
    return hub.address


class Case:
    def __init__(self, binary, folder, killer, address, is_patient=False):
        self.hub = Hub(binary, folder, killer, address)
        # Visits may fail, and are repeated.
        self.is_patient = is_patient
        self.people = {name: Person(binary, folder, name, killer) for name in OTHER}
        # Frames by sender and sequence.
        self.by_sequence = {}
        self.kills, self.reused = 0, 0

    def command(self, name, *words, stdin=b""):
        """Runs a command; False if it was killed."""
        started = time.monotonic()
        ran = self.people[name].run(*words, stdin=stdin)
        while self.is_patient and ran.code not in (0, KILLED):
            assert time.monotonic() - started < TIMEOUT, ran.err
            ran = self.people[name].run(*words, stdin=stdin)
        if ran.code == KILLED:
            self.kills += 1
            return False
        assert ran.code == 0, f"{name} {words}: {ran.code}: {ran.err}"
        return True

    def say(self, name, texts):
        stdin = "".join(f"{text}\n" for text in texts).encode()
        while not self.command(name, "say", OTHER[name], "-", "--lines", stdin=stdin):
            written = [row["text"] for row in self.history(name) if row["sent"]]
            taken = [text for text in texts if text in written]
            assert taken in ([], texts), f"a part was taken: {taken}"
            if taken:
                return

    def output(self, name, *words):
        while True:
            ran = self.people[name].run(*words)
            if ran.code != KILLED:
                assert ran.code == 0, ran.err
                return ran.out
            self.kills += 1

    def history(self, name):
        out = self.output(name, "--json", "history", OTHER[name])
        return [json.loads(line) for line in out.splitlines()]

    def look(self):
        """Remembers the frames that wait at the hub."""
        if self.is_patient:
            # The server may not run.
            return
        for frame in engine().frames(self.hub.folder):
            # docs/spec/frame.md, "Stored frame": the sequence and the sender are in its head.
            before = self.by_sequence.setdefault((frame[24:56], frame[8:16]), frame)
            self.reused += before != frame

    def run(self):
        for name, texts in script():
            if texts is not None:
                self.say(name, texts)
                continue
            while not self.command(name, "sync", "--timeout", "2s"):
                self.look()
            self.look()
        lost = twice = 0
        for name, other in OTHER.items():
            while not self.command(name, "inbox"):
                pass
            rows = self.history(name)
            arrived = [row["text"] for row in rows if not row["sent"]]
            expected = said_by(other)
            lost += len(set(expected) - set(arrived))
            twice += len(arrived) - len(set(arrived))
            assert lost or twice or arrived == expected, f"another order: {arrived}"
            delivery = {row["delivery"] for row in rows if row["sent"]}
            assert delivery == {"delivered"}, f"{name}: {delivery}"
            # A key of the group that was used twice is one that the receiver has deleted.
            problems = json.loads(self.output(name, "--json", "inbox", "--problems"))["problems"]
            self.reused += sum(row["class"] == "key-gone" for row in problems)
        self.hub.stop()
        return lost, twice


def count_frames():
    return len(said_by("alice")) + len(said_by("bob"))


def run(binary, folder, limit):
    shim = compiled_shim(folder)
    address = prepare(binary, folder / "template")

    place = folder / "case"

    def prepared():
        shutil.copytree(folder / "template", place)
        engine().copy(folder / "template", place)

    def remove():
        shutil.rmtree(place)
        engine().forget(place)

    def one(role, at):
        prepared()
        killer = Killer(shim, place, role, at)
        case = Case(binary, place, killer, address)
        lost, twice = case.run()
        # The texts, and receipts that a visit did not fetch at once.
        assert len(case.by_sequence) > count_frames(), len(case.by_sequence)
        kills = case.hub.starts - 1 if role == "hub" else case.kills
        count = killer.count()
        remove()
        return lost, twice, case.reused, kills, count

    def crash(fraction, whole):
        """Stops the server after a part of the time that a run takes."""
        prepared()
        case = Case(binary, place, NoKiller(), address, is_patient=True)
        timer = threading.Timer(fraction * whole, engine().server.restart, ["immediate"])
        timer.start()
        lost, twice = case.run()
        timer.join()
        remove()
        return lost, twice, case.reused, 1

    is_postgres = engine().name == "postgres"
    points = []
    for role in ROLES:
        *nothing, count = one(role, 0)
        assert nothing == [0, 0, 0, 0], nothing
        what = "writes to the server" if role == "hub" and is_postgres else "fsyncs"
        print(f"{role}: {count} {what}", flush=True)
        points += [(role, at) for at in range(1, count + 1)]
    if limit:
        points = [points[at * len(points) // limit] for at in range(min(limit, len(points)))]
    total = [0, 0, 0, 0]
    for role, at in points:
        *found, _ = one(role, at)
        total = [a + b for a, b in zip(total, found)]
        if any(found[:3]) or found[3] != 1:
            print(f"{role} at {at}: lost, twice, keys used twice, kills: {found}", flush=True)
    if is_postgres:
        started = time.monotonic()
        one("", 0)
        whole, crashes = time.monotonic() - started, limit or CRASHES
        for at in range(crashes):
            found = crash((at + 0.5) / crashes, whole)
            total = [a + b for a, b in zip(total, found)]
            if any(found[:3]):
                print(f"server at {at}: lost, twice, keys used twice: {found[:3]}", flush=True)
        print(f"{crashes} crashes of the server", flush=True)
    lost, twice, reused, kills = total
    print(f"{kills} kills, {lost} lost, {twice} twice, {reused} keys used twice")
    # The last fsyncs of a run are not in every run.
    return bool(lost or twice or reused or kills < len(points) * 3 // 4)
