"""No text, name or file name of a person is at the hub, in its log and metrics, or on the way."""

import base64
import itertools
import secrets
import socket
import string
import time

from capture import Capture
from processes import Hub, NoKiller, Person

KINDS = ("text", "line", "document", "search", "contact", "invitation", "directory")
KINDS += ("team", "renamed", "shared")


def canary(kind):
    """A word that is nowhere by chance."""
    letters = "".join(secrets.choice(string.ascii_lowercase) for _ in range(12))
    return f"canary-{kind}-{letters}"


def encodings(word):
    """The word as bytes, in all forms in which it could be there."""
    plain = word.encode()
    forms = {
        "UTF-8": plain,
        "capitals": plain.upper(),
        "UTF-16LE": word.encode("utf-16-le"),
        "UTF-16BE": word.encode("utf-16-be"),
        "hex": plain.hex().encode(),
        "HEX": plain.hex().upper().encode(),
    }
    for shift in range(3):
        # The first and last characters depend on the neighbours.
        whole = base64.b64encode(b"\0" * shift + plain)
        first, last = -(-shift * 8 // 6), (shift + len(plain)) * 8 // 6
        forms[f"Base64 at {shift}"] = whole[first:last]
        forms[f"Base64url at {shift}"] = whole[first:last].translate(bytes.maketrans(b"+/", b"-_"))
    return forms


def search(words, files):
    """Finds words in files: their kind, the encoding, and the file."""
    found = []
    for file in files:
        content = file.read_bytes()
        for kind, word in words.items():
            for name, form in encodings(word).items():
                if form in content:
                    found.append((kind, name, file.name))
    return found


class World:
    def __init__(self, binary, folder, words):
        self.words, self.folder = words, folder
        folder.mkdir()
        self.log, self.metrics = folder / "log", folder / "metrics"
        options = ("--metrics", "127.0.0.1:0", "--log", "info")
        self.hub = Hub(binary, folder, NoKiller(), words=options, log=self.log)
        self.capture = Capture(self.hub.address, folder / "traffic")
        self.owner = Person(binary, folder, "owner", NoKiller())
        # The name of a state directory is one that a person chose.
        self.people = {
            name: Person(binary, folder, f"{name}-{words['directory']}", NoKiller())
            for name in ("alice", "bob", "carol")
        }

    def places(self):
        """Files of the hub, its log, pages of its metrics so far, datagrams."""
        stored = [path for path in (self.folder / "owner").rglob("*") if path.is_file()]
        return [*stored, self.log, self.metrics, self.capture.file]

    def look(self):
        """Reads the page of the metrics, and finds words in all places."""
        with open(self.metrics, "a") as file:
            file.write(self.hub.page())
        # Lines of the log are written by a thread of their own.
        time.sleep(0.3)
        return search(self.words, self.places())

    def join(self):
        words = self.words
        for name, person in self.people.items():
            person.ok("init", "--no-passphrase")
            file = self.folder / f"{name}-{words['invitation']}"
            self.owner.ok("hub", "invite", name, "--at", self.capture.address, "-o", file)
            person.ok("join", file)
        identities = {name: one.ok("id", "show").out.strip() for name, one in self.people.items()}
        for name, other in itertools.permutations(identities, 2):
            contact = f"{other}-{words['contact']}"
            self.people[name].ok("contacts", "add", contact, identities[other])

    def talk(self, sender, receiver):
        """Sends texts with all words, and leaves them at the hub."""
        words, person = self.words, self.people[sender]
        name = f"{receiver}-{words['contact']}"
        person.ok("say", name, words["text"])
        # Short and long, alone and behind each other, in a text and in many.
        lines = "".join(f"{words['line']} {number}\n" for number in range(100))
        person.ok("say", name, "-", "--lines", stdin=lines.encode())
        document = f"{words['document']}.pdf " * 20_000
        person.ok("say", name, "-", stdin=document.encode())
        person.ok("history", name, "--search", words["search"])
        person.ok("sync")

    def share(self):
        """A team writes and gets another name. Returns the lines of its rosters."""
        words, alice = self.words, self.people["alice"]
        others = [f"{name}-{words['contact']}" for name in ("bob", "carol")]
        alice.ok("group", "create", words["team"], *others)
        alice.ok("say", words["team"], words["shared"])
        alice.ok("sync")
        alice.ok("group", "rename", words["team"], words["renamed"])
        alice.ok("sync")
        rosters = (self.folder / alice.name).glob("groups/*/*.roster")
        lines = {line for file in rosters for line in file.read_text().splitlines()}
        # The line of the owner is in her person record, too.
        return {line for line in lines if len(line) > 20 and not line.startswith("owner ")}

    def read(self, name):
        """The words that are in what a person gets."""
        person = self.people[name]
        person.ok("sync")
        shown = person.ok("--json", "inbox").out
        assert len(shown.splitlines()) == 102, len(shown.splitlines())
        return {kind for kind, word in self.words.items() if word in shown}

    def stop(self):
        assert self.hub.stop() == 0
        self.capture.stop()


def plant(world):
    """Shows that the search finds each word in each encoding, in each of the places."""
    assert world.look() == [], "a word is there before it was said"
    planted = 0
    for kind, word in world.words.items():
        for name, form in encodings(word).items():
            around = secrets.token_bytes(100) + form + secrets.token_bytes(100)
            stored = world.folder / "owner" / "hub" / "planted"
            for place in (stored, world.log, world.metrics):
                before = place.read_bytes() if place.exists() else None
                place.write_bytes((before or b"") + around)
                found = search({kind: word}, world.places())
                assert (kind, name, place.name) in found, (kind, name, place, found)
                place.unlink() if before is None else place.write_bytes(before)
                planted += 1
    # On the way: a datagram that is none of QUIC, which the hub drops.
    form = encodings(world.words["text"])["Base64 at 1"]
    host, port = world.capture.address.rsplit(":", 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(form, (host, int(port)))
        time.sleep(0.5)
    found = world.look()
    assert ("text", "Base64 at 1", world.capture.file.name) in found, found
    world.capture.out.truncate(0)
    assert world.look() == [], "what was planted is gone"
    return planted + 1


def run(binary, folder):
    words = {kind: canary(kind) for kind in KINDS}
    world = World(binary, folder / "world", words)
    try:
        return bool(look_for(words, world))
    finally:
        world.hub.kill()


def look_for(words, world):
    print(f"{plant(world)} planted words found", flush=True)
    world.join()
    found, waiting = [], 0
    for sender, receiver in (("alice", "bob"), ("bob", "alice"), ("alice", "bob")):
        world.talk(sender, receiver)
        # The files are searched while messages wait, and again when none is left.
        waiting += world.hub.metric("waiting_frames")
        found += world.look()
        read = world.read(receiver)
        assert read == {"text", "line", "document", "contact"}, read
        found += world.look()
    lines = world.share()
    assert len(lines) >= 4, lines
    rosters = {f"'{line[:40]}' of a roster": line for line in lines}
    found += world.look()
    for name in ("bob", "carol"):
        world.people[name].ok("sync")
        shown = world.people[name].ok("--json", "inbox").out
        assert words["shared"] in shown, shown
        listed = world.people[name].ok("group", "list").out
        assert words["renamed"] in listed, listed
    found += world.look()
    world.owner.ok("hub", "backup", world.folder / "owner" / "copy.db")
    world.stop()
    places = world.places()
    found = sorted(set(found + search(words | rosters, places)))
    # The welcome, 3 times 102 texts, and the receipts for the first two times.
    assert waiting == 309, waiting
    assert min(world.capture.there, world.capture.back) > 100, "the nodes are behind the relay"
    # As long as what was sent, in both directions.
    assert world.capture.file.stat().st_size > 2 * 3 * 600_000
    for kind, name, place in found:
        print(f"FOUND   {kind} in {name}: {place}")
    size = sum(place.stat().st_size for place in places)
    print(f"{len(words)} words in {len(encodings('x'))} encodings, {size} bytes, {len(found)} found")
    return found
