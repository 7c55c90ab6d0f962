"""People who write over a hub while something is done to it.

Some people visit the hub, each time with a connection of their own, and others stay connected. At the
end all texts are compared with what was read.
"""

import subprocess
import threading
import time

from api import Api
from processes import TIMEOUT, Hub, NoKiller, Person, clean_environment

# Seconds between two texts of a person who stays connected, and between two visits.
EVERY, REST = 0.1, 0.1
# Options of the hub.
WORDS = ("--rate", "1000")


class Visitor:
    """Writes a text and visits the hub, again and again."""

    def __init__(self, person, other):
        self.person, self.other = person, other
        self.said, self.visits, self.failures, self.faults = [], 0, 0, []
        # The longest visit, and the longest time in which all visits failed.
        self.longest, self.outage = 0, 0

    def write(self, is_over):
        failing = None
        while not is_over.is_set():
            text = f"{self.person.name} {len(self.said)}"
            self.person.ok("say", self.other, text)
            self.said.append(text)
            started = time.monotonic()
            ran = self.person.run("sync", "--once", "--timeout", "2s")
            ended = time.monotonic()
            self.visits += 1
            self.longest = max(self.longest, ended - started)
            if ran.code == 0:
                self.outage = max(self.outage, ended - (failing or ended))
                failing = None
            else:
                self.failures += 1
                failing = failing or started
                errors = [line for line in ran.err.splitlines() if line.startswith(("error: ", "  because"))]
                self.faults.append(f"{ran.code} {' '.join(errors)}")
            time.sleep(REST)


class Connected:
    """Writes by the interface of a running node, and reads what arrives."""

    def __init__(self, person, other, identities):
        self.person, self.other, self.to = person, other, identities[other]
        command = [person.binary, "--home", person.folder / person.name, "up", "--log", "off"]
        self.up = subprocess.Popen(command, env=clean_environment(), stdout=subprocess.PIPE)
        assert self.up.stdout.readline().startswith(b"endseal up runs")
        # Times at which texts were said, and at which they arrived.
        self.said, self.times, self.arrived = [], {}, {}

    def write(self, is_over):
        api = Api(self.person.folder / self.person.name)
        while not is_over.is_set():
            text = f"{self.person.name} {len(self.said)}"
            self.times[text] = time.monotonic()
            answer = api.call("say", to=self.to, texts=[text])
            assert answer["result"]["texts"] == 1, answer
            self.said.append(text)
            time.sleep(EVERY)

    def read(self):
        api = Api(self.person.folder / self.person.name)
        api.send("follow", after=0)
        while True:
            message = api.receive()
            if message.get("method") == "ended":
                return
            for row in message.get("params", {}).get("rows", []):
                self.arrived.setdefault(row["text"], time.monotonic())

    def stop(self):
        self.up.terminate()
        code = self.up.wait(TIMEOUT)
        self.up.stdout.close()
        return code


class Load:
    """A hub, and pairs of people who visit it or stay connected."""

    def __init__(self, binary, folder, visitors, connected):
        folder.mkdir()
        self.binary, self.folder = binary, folder
        self.hub = Hub(binary, folder, NoKiller(), words=WORDS)
        self.owner = Person(binary, folder, "owner", NoKiller())
        names = [f"person{number}" for number in range(2 * (visitors + connected))]
        self.people = {name: Person(binary, folder, name, NoKiller()) for name in names}
        invitation = folder / "invitation"
        words = ("--at", self.hub.address, "--uses", str(len(names)), "-o", invitation)
        self.owner.ok("hub", "invite", "all", *words)
        for person in self.people.values():
            person.ok("init", "--no-passphrase")
        identities = {name: one.ok("id", "show").out.strip() for name, one in self.people.items()}
        pairs = list(zip(names[::2], names[1::2]))
        both = [(name, other) for pair in pairs for name, other in (pair, reversed(pair))]
        for name, other in both:
            self.people[name].ok("contacts", "add", other, identities[other])
            self.people[name].ok("join", invitation)
        self.visitors = [Visitor(self.people[name], other) for name, other in both[: 2 * visitors]]
        rest = both[2 * visitors :]
        self.connected = [Connected(self.people[name], other, identities) for name, other in rest]
        self.is_over = threading.Event()
        writing = [threading.Thread(target=it.write, args=[self.is_over]) for it in self.writers()]
        reading = [threading.Thread(target=it.read) for it in self.connected]
        self.threads, self.reading = writing, reading
        for thread in writing + reading:
            thread.start()

    def writers(self):
        return [*self.visitors, *self.connected]

    def close(self):
        """Ends the load, and lets all arrive."""
        self.is_over.set()
        for thread in self.threads:
            thread.join()
        ended = time.monotonic() + 30
        while time.monotonic() < ended and self.on_the_way():
            time.sleep(0.1)
        codes = [one.stop() for one in self.connected]
        for thread in self.reading:
            thread.join()
        assert not any(codes), codes
        for _ in range(3):
            for person in self.people.values():
                person.ok("sync")
        for person in self.people.values():
            # What is read is in the history.
            person.ok("inbox")

    def on_the_way(self):
        arrived = [set(it.arrived) for it in self.connected]
        return any(text not in set.union(*arrived) for it in self.connected for text in it.said)

    def outcome(self):
        """Texts that are lost, that came twice, and that came in another order."""
        lost = twice = disordered = 0
        for writer in self.writers():
            rows = self.people[writer.other].ok("--json", "history", writer.person.name).lines()
            arrived = [row["text"] for row in rows if not row["sent"]]
            lost += len(set(writer.said) - set(arrived))
            twice += len(arrived) - len(set(arrived))
            disordered += arrived != sorted(arrived, key=lambda text: int(text.split()[1]))
        return lost, twice, disordered

    def latest(self):
        """The longest time that a text of connected people was on its way."""
        arrived = {}
        for one in self.connected:
            arrived |= one.arrived
        said = [it for one in self.connected for it in one.times.items()]
        return max(arrived[text] - at for text, at in said if text in arrived)

    def kill(self):
        """Ends everything at once."""
        self.is_over.set()
        for one in self.connected:
            one.up.kill()
        self.hub.kill()

    def report(self):
        """A line of what happened to texts and visits. True if a text was lost or came twice."""
        lost, twice, disordered = self.outcome()
        for fault in sorted({fault for it in self.visitors for fault in it.faults}):
            print(f"  a visit failed: {fault}")
        said = sum(len(it.said) for it in self.writers())
        visits = sum(it.visits for it in self.visitors)
        failures = sum(it.failures for it in self.visitors)
        print(
            f"{len(self.people)} nodes, {said} texts: {lost} lost, {twice} twice, {disordered} persons in "
            f"another order; {visits} visits, {failures} failed, for at most {self.outage():.1f} s, the "
            f"longest took {self.longest():.1f} s; between connected people a text took at most "
            f"{self.latest():.1f} s"
        )
        return bool(lost or twice or disordered)

    def outage(self):
        return max(it.outage for it in self.visitors)

    def longest(self):
        return max(it.longest for it in self.visitors)
