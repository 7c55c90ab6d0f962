"""Lives of people: a lost laptop, a folder from a backup, two copies of one folder, a hub that went back.

Each life says texts, and at its end every text is where it belongs, once, or its sender sees that it
is not delivered.
"""

import json
import shutil
import traceback

from processes import Hub, NoKiller, Person, engine

LIVES = []


def life(*arguments):
    """A life for each of the arguments, or one without."""

    def add(function):
        for argument in arguments or [None]:
            LIVES.append((function, argument))
        return function

    return add


class Life:
    """A hub, people, and what they have said and read."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        folder.mkdir()
        self.hub = Hub(binary, folder, NoKiller())
        self.owner = Person(binary, folder, "owner", NoKiller())
        self.people, self.words = {}, {}
        self.said, self.read = [], []
        self.locked_out = []

    def person(self, name):
        """A person with 24 words, who has joined and knows all others."""
        person = self.people[name] = Person(self.binary, self.folder, name, NoKiller())
        person.ok("init", "--no-passphrase")
        self.words[name] = person.ok("id", "paper", "--force").out.encode()
        person.ok("join", self.invite(name))
        for other, known in self.people.items():
            if other != name:
                self.knows(person, other, known)
                self.knows(known, name, person)
        return person

    def outsider(self, name):
        """A person who has joined, knows all others, and whom none of them knows."""
        person = Person(self.binary, self.folder, name, NoKiller())
        person.ok("init", "--no-passphrase")
        person.ok("join", self.invite(name))
        for other, known in self.people.items():
            self.knows(person, other, known)
        self.people[name] = person
        return person

    def knows(self, person, name, other):
        person.ok("contacts", "add", name, other.ok("id", "show", "--pq").out.strip())

    def friends(self):
        """Alice and Bob, who have written to each other."""
        alice, bob = self.person("alice"), self.person("bob")
        self.say("alice", "bob", "hello")
        self.say("bob", "alice", "hi")
        self.visits()
        self.visits()
        return alice, bob

    def invite(self, name):
        file = self.folder / f"{name}.invite"
        self.owner.ok("hub", "invite", name, "--at", self.hub.address, "-o", file)
        return file

    def address(self):
        return self.address_of(next(iter(self.people.values())))

    def address_of(self, person):
        line = person.ok("--json", "status").out
        status = json.loads(line)
        return f"{status['hub_peer_id']}@{status['hub']}"

    def say(self, sender, receiver, *texts):
        for text in texts:
            self.people[sender].ok("say", receiver, text)
            self.said.append((sender, receiver, text))

    def sync(self, name, home=None):
        """A visit, and everything that it brought is read. False if the program refuses to send."""
        person = self.people[home or name]
        ran = person.run("--json", "sync")
        for row in person.ok("--json", "inbox").lines():
            self.read.append((row["name"], name, row["text"]))
        assert ran.code in (0, 1), ran.err
        return ran.code == 0

    def visits(self):
        for name in list(self.people):
            self.sync(name)

    def visits_of(self, *names):
        for name in names:
            self.sync(name)

    def copy(self, name, to):
        shutil.copytree(self.folder / name, self.folder / to, ignore=shutil.ignore_patterns("*.sock"))

    def put_back(self, name, copy):
        shutil.rmtree(self.folder / name)
        self.copy(copy, name)

    def recover(self, name, *choice):
        """A new machine with the words of a person."""
        person = self.people[name]
        recover = ("recover", "--no-passphrase", *choice, self.address_of_hub)
        ran = person.run(*recover, stdin=self.words[name])
        if ran.code != 0:
            self.locked_out.append((name, ran.err))
        for other, known in self.people.items():
            if other != name:
                self.knows(person, other, known)
        return person

    def restart_hub(self, database=None, words=()):
        self.hub.stop()
        if database:
            engine().put_back(self.folder, database)
        self.hub = Hub(self.binary, self.folder, NoKiller(), self.hub.address, words)

    def back_up_hub(self):
        return engine().back_up(self.folder, self.owner)

    def is_read_elsewhere(self, sender, receiver, text):
        """True if another device of the receiver has shown a text, which is in the history here."""
        ran = self.people[receiver].run("--json", "history", sender)
        rows = ran.lines() if ran.code == 0 else []
        return any(row["text"] == text and not row["sent"] for row in rows)

    def outcome(self):
        """Texts that were lost in silence, shown twice, and falsely shown as delivered."""
        silent, twice, false = [], [], []
        for sender, receiver, text in self.said:
            times = self.read.count((sender, receiver, text))
            if times == 1 or (times == 0 and self.is_read_elsewhere(sender, receiver, text)):
                continue
            rows = self.people[sender].ok("--json", "history", receiver).lines()
            shown = [row["delivery"] for row in rows if row["text"] == text and row["sent"]]
            if times > 1:
                twice.append((sender, receiver, text))
            elif "delivered" in shown:
                false.append((sender, receiver, text))
            elif not shown:
                silent.append((sender, receiver, text))
            elif not {"unsent", "undelivered"} & set(shown):
                silent.append((sender, receiver, text))
        return silent, twice, false


def numbered(word, count):
    return [f"{word} {number}" for number in range(count)]


@life("--revoke-others", "--keep-others")
def lost_laptop(life, choice):
    alice, bob = life.friends()
    life.address_of_hub = life.address()
    life.say("alice", "bob", "before")
    life.sync("alice")
    shutil.move(life.folder / "bob", life.folder / "thief")
    life.recover("bob", choice)
    life.say("alice", "bob", "the new door code")
    life.visits()
    life.visits()
    life.visits()
    thief = Person(life.binary, life.folder, "thief", NoKiller())
    ran = thief.run("sync")
    # The other device has shown it.
    shown = thief.ok("inbox").out + thief.ok("history", "alice").out
    if choice == "--revoke-others":
        assert ran.code == 1 and "revoked" in ran.err, ran.err
        assert "door code" not in shown, shown
    else:
        assert "door code" in shown, shown


@life()
def words_of_someone_else(life, _):
    life.friends()
    life.address_of_hub = life.address()
    life.person("carol")
    outsider = Person(life.binary, life.folder, "outsider", NoKiller())
    outsider.ok("init", "--no-passphrase")
    words = outsider.ok("id", "paper", "--force").out.encode()
    other = Person(life.binary, life.folder, "other", NoKiller())
    ran = other.run("recover", "--no-passphrase", "--keep-others", life.address_of_hub, stdin=words)
    assert ran.code == 1 and "does not know" in ran.err, ran.err
    assert not (life.folder / "other" / "identity.endseal").exists()


@life(1, 10)
def a_sender_from_a_backup(life, count):
    life.friends()
    life.copy("alice", "backup")
    life.say("alice", "bob", *numbered("lost life", count))
    life.visits()
    life.put_back("alice", "backup")
    # What was said since is only in the other's inbox.
    life.said = [it for it in life.said if "lost life" not in it[2]]
    life.say("alice", "bob", *numbered("second life", count))
    life.say("bob", "alice", "an answer")
    life.sync("bob")
    assert not life.sync("alice")
    assert "restored" in life.people["alice"].ok("status").out
    life.people["alice"].ok("devices", "renew")
    assert "restored" not in life.people["alice"].ok("status").out
    for _ in range(3):
        life.visits()
    lost = [text for _, _, text in life.read if "lost life" in text]
    assert lost == numbered("lost life", count), lost


@life(1, 10)
def a_receiver_from_a_backup(life, count):
    life.friends()
    life.copy("bob", "backup")
    life.say("alice", "bob", *numbered("text", count))
    life.sync("alice")
    life.put_back("bob", "backup")
    # They wait, and a directory that is older than nothing at the hub is no older one.
    assert life.sync("bob")
    life.visits()


@life(1, 10)
def a_receiver_from_a_backup_after_reading(life, count):
    life.friends()
    life.copy("bob", "backup")
    life.say("alice", "bob", *numbered("read", count))
    life.visits()
    life.put_back("bob", "backup")
    life.say("alice", "bob", *numbered("unread", count))
    life.sync("alice")
    assert not life.sync("bob")
    life.people["bob"].ok("devices", "renew")
    for _ in range(3):
        life.visits()


@life()
def a_backup_without_anything_since(life, _):
    life.friends()
    life.copy("alice", "backup")
    life.put_back("alice", "backup")
    life.say("alice", "bob", "after")
    assert life.sync("alice")
    life.visits()


@life()
def two_copies_in_turns(life, _):
    life.friends()
    life.copy("alice", "clone")
    clone = life.people["clone"] = Person(life.binary, life.folder, "clone", NoKiller())
    life.say("alice", "bob", "from the first")
    life.sync("alice")
    ran = clone.ok("say", "bob", "from the second")
    ran = clone.run("sync")
    assert ran.code == 1 and "earlier copy" in ran.err, ran.err
    clone.ok("devices", "renew")
    del life.people["clone"]
    clone.ok("sync")
    ran = life.people["alice"].run("sync")
    assert ran.code == 1 and "revoked" in ran.err, ran.err
    life.sync("bob")
    texts = [text for _, name, text in life.read if name == "bob"]
    assert texts == ["hello", "from the first", "from the second"], texts


@life()
def a_phone_that_is_changed_twice(life, _):
    life.friends()
    life.address_of_hub = life.address()
    for number in (1, 2):
        shutil.move(life.folder / "bob", life.folder / f"phone{number}")
        life.say("alice", "bob", f"to phone {number}")
        life.sync("alice")
        life.recover("bob", "--revoke-others")
        life.visits()
        life.visits()


@life()
def a_device_is_revoked_by_another(life, _):
    life.friends()
    life.address_of_hub = life.address()
    shutil.move(life.folder / "bob", life.folder / "laptop")
    laptop = Person(life.binary, life.folder, "laptop", NoKiller())
    life.recover("bob", "--keep-others")
    laptop.ok("sync")
    rows = json.loads(life.people["bob"].ok("--json", "devices", "list").out)["devices"]
    others = [str(row["device"]) for row in rows if not row["is_this"] and not row["is_revoked"]]
    life.sync("bob")
    life.people["bob"].ok("devices", "revoke", *others)
    ran = laptop.run("sync")
    assert ran.code == 1 and "revoked" in ran.err, ran.err
    life.say("alice", "bob", "after the sale")
    life.visits()
    life.visits()


@life()
def two_devices_of_a_person(life, _):
    life.friends()
    life.address_of_hub = life.address()
    shutil.move(life.folder / "bob", life.folder / "laptop")
    laptop = Person(life.binary, life.folder, "laptop", NoKiller())
    life.recover("bob", "--keep-others")
    life.say("alice", "bob", "to both")
    life.visits()
    laptop.ok("sync")
    assert "to both" in laptop.ok("inbox").out
    life.visits()


@life(1, 10)
def a_hub_from_a_backup(life, count):
    life.friends()
    backup = life.back_up_hub()
    life.say("alice", "bob", *numbered("forgotten", count))
    life.sync("alice")
    life.restart_hub(backup)
    for _ in range(3):
        life.visits()


@life()
def a_hub_and_a_sender_from_a_backup(life, _):
    life.friends()
    backup = life.back_up_hub()
    life.copy("alice", "backup")
    life.say("alice", "bob", "in both lives")
    life.visits()
    life.restart_hub(backup)
    life.put_back("alice", "backup")
    life.said = [it for it in life.said if it[2] != "in both lives"]
    life.say("alice", "bob", "after both")
    for _ in range(3):
        life.visits()


@life()
def a_renewal_twice(life, _):
    life.friends()
    for number in (1, 2):
        life.say("alice", "bob", f"before {number}")
        life.people["alice"].ok("devices", "renew")
        life.say("alice", "bob", f"after {number}")
        life.visits()
        life.visits()


@life()
def a_renamed_contact_with_a_new_device(life, _):
    life.friends()
    life.address_of_hub = life.address()
    shutil.move(life.folder / "bob", life.folder / "old")
    life.recover("bob", "--revoke-others")
    life.people["alice"].ok("contacts", "rename", "bob", "robert")
    life.people["alice"].ok("contacts", "rename", "robert", "bob")
    life.say("alice", "bob", "to a new phone")
    life.visits()
    life.visits()


@life()
def a_hub_from_a_backup_with_newer_readers(life, _):
    life.friends()
    backup = life.back_up_hub()
    life.say("alice", "bob", "since the backup")
    life.say("bob", "alice", "since the backup, too")
    life.visits()
    life.visits()
    life.restart_hub(backup)
    for number in range(3):
        life.say("alice", "bob", f"after {number}")
        life.say("bob", "alice", f"back {number}")
        for name in ("alice", "bob", "alice", "bob"):
            assert life.sync(name), name


@life()
def a_text_that_waits_in_a_backup(life, _):
    life.friends()
    life.say("alice", "bob", "waits in the backup")
    life.copy("alice", "backup")
    life.visits()
    life.put_back("alice", "backup")
    life.say("alice", "bob", "of the second life")
    assert not life.sync("alice")
    life.people["alice"].ok("devices", "renew")
    for _ in range(3):
        life.visits()


@life()
def two_renewals_without_a_visit(life, _):
    life.friends()
    life.say("alice", "bob", "not confirmed yet")
    life.sync("alice")
    life.sync("bob")
    for _ in range(2):
        life.people["alice"].ok("devices", "renew")
    life.say("alice", "bob", "after both")
    for _ in range(3):
        life.visits()
    rows = json.loads(life.people["alice"].ok("--json", "devices", "list").out)["devices"]
    assert sum(not row["is_revoked"] for row in rows) == 1, rows


@life()
def a_letter_that_waits_for_a_renewed_device(life, _):
    alice, bob = life.friends()
    alice.ok("group", "create", "team", "bob")
    alice.ok("group", "export", "team", "-o", life.folder / "team.roster")
    bob.ok("group", "import", life.folder / "team.roster")
    alice.ok("say", "team", "a letter that waits")
    alice.ok("sync")
    bob.ok("devices", "renew")
    alice.ok("say", "team", "a letter after it")
    life.visits()
    texts = [text for _, name, text in life.read if name == "bob" and "letter" in text]
    assert texts == ["a letter that waits", "a letter after it"], texts


@life()
def a_recovery_that_the_hub_left(life, _):
    life.friends()
    life.address_of_hub = life.address()
    shutil.move(life.folder / "bob", life.folder / "old")
    life.say("alice", "bob", "to the next device")
    life.sync("alice")
    recover = ("recover", "--no-passphrase", "--revoke-others", life.address_of_hub)
    # Whatever is killed, the same command goes on.
    for milliseconds in (60, 120, 200, 300, 500):
        bob = life.people["bob"]
        bob.killed_after(milliseconds / 1000, *recover, stdin=life.words["bob"])
        if (life.folder / "bob" / "identity.endseal").exists():
            break
    ran = bob.run(*recover, stdin=life.words["bob"])
    assert ran.code == 0 or "exists already" in ran.err, ran.err
    life.knows(bob, "alice", life.people["alice"])
    for _ in range(3):
        life.visits()


def identity(person):
    return person.ok("id", "show").out.strip()


def requests(person):
    return [row["text"] for row in person.ok("--json", "inbox", "--requests").lines()]


def inbox(person):
    return [row["text"] for row in person.ok("--json", "inbox", "--keep").lines()]


@life()
def a_blocked_sender(life, _):
    alice, bob = life.friends()
    bob.ok("block", "alice")
    life.say("alice", "bob", "while blocked", "and again")
    life.sync("alice")
    said = bob.ok("sync").err
    assert "2 texts of alice, who is blocked, were dropped" in said, said
    assert inbox(bob) == [] and requests(bob) == []
    assert "while blocked" not in bob.ok("history", "alice").out
    rows = json.loads(bob.ok("--json", "block").out)["blocked"]
    assert [(row["name"], row["dropped"]) for row in rows] == [("alice", 2)], rows
    refused = bob.run("say", "alice", "no")
    assert refused.code == 1 and "endseal unblock" in refused.err, refused.err
    # The person is not told, and no device confirms.
    life.visits()
    rows = alice.ok("--json", "history", "bob").lines()
    states = [row["delivery"] for row in rows if row["text"] == "while blocked"]
    assert states == ["undelivered"], states
    assert "block" not in alice.ok("sync").err


@life()
def a_sender_who_is_unblocked_again(life, _):
    alice, bob = life.friends()
    bob.ok("block", "alice")
    life.say("alice", "bob", "meanwhile")
    life.sync("alice")
    life.sync("bob")
    bob.ok("unblock", "alice")
    life.say("alice", "bob", "after")
    life.visits()
    life.visits()
    texts = [text for _, name, text in life.read if name == "bob"]
    assert texts == ["hello", "after"], texts
    # A new device of the reader makes the writer send again what no device confirmed.
    bob.ok("devices", "renew")
    life.say("alice", "bob", "to the new device")
    for _ in range(3):
        life.visits()
    texts = sorted(text for _, name, text in life.read if name == "bob")
    assert texts == ["after", "hello", "meanwhile", "to the new device"], texts


@life()
def a_request_that_is_accepted(life, _):
    _, bob = life.friends()
    carol = life.outsider("carol")
    life.say("carol", "bob", "who is there", "it is me")
    life.sync("carol")
    said = bob.ok("sync")
    assert "0 received" in said.err and f"1 request of {identity(carol)}" in said.err, said.err
    assert f"1 request of {identity(carol)}: endseal inbox --requests" in bob.ok("inbox").err
    assert inbox(bob) == [] and requests(bob) == ["who is there", "it is me"]
    assert json.loads(bob.ok("--json", "status").out)["requests"] == 2
    life.say("carol", "bob", "still there?")
    life.sync("carol")
    life.knows(bob, "carol", carol)
    life.visits()
    life.visits()
    texts = [text for name, _, text in life.read if name == "carol"]
    assert texts == ["who is there", "it is me", "still there?"], texts
    assert requests(bob) == [] and "request" not in bob.ok("inbox").err
    life.sync("carol")
    states = {row["delivery"] for row in carol.ok("--json", "history", "bob").lines()}
    assert states == {"delivered"}, states


@life()
def a_request_that_is_blocked(life, _):
    _, bob = life.friends()
    carol = life.outsider("carol")
    life.say("carol", "bob", "buy this")
    life.sync("carol")
    life.sync("bob")
    assert requests(bob) == ["buy this"]
    said = bob.ok("block", identity(carol)).err
    assert "1 text of a request deleted" in said, said
    life.say("carol", "bob", "buy that")
    life.visits()
    life.visits()
    assert requests(bob) == [] and inbox(bob) == []
    bob.ok("unblock", identity(carol))
    life.say("carol", "bob", "one more")
    life.visits()
    life.visits()
    assert requests(bob) == ["one more"] and inbox(bob) == []


@life()
def texts_to_a_person_who_never_joined(life, _):
    alice, bob = life.friends()
    dora = Person(life.binary, life.folder, "dora", NoKiller())
    dora.ok("init", "--no-passphrase")
    life.knows(alice, "dora", dora)
    alice.ok("say", "dora", "one")
    alice.ok("say", "dora", "two")
    assert "has no device at the hub" in alice.ok("sync").err
    alice.ok("contacts", "remove", "dora")
    rows = json.loads(alice.ok("--json", "unsend").out)["unsent"]
    assert [row["can_unsend"] for row in rows] == [True, True], rows
    first = str(rows[0]["number"])
    assert f"not sent, {first}" in alice.ok("history", identity(dora)).out
    alice.ok("unsend", identity(dora), first)
    alice.ok("unsend", identity(dora), "--all")
    said = alice.ok("sync").err
    assert "has no device at the hub" not in said and "wait" not in said, said
    status = json.loads(alice.ok("--json", "status").out)
    assert (status["unsent"], status["undelivered"]) == (0, 0), status
    # What has left cannot be taken back.
    rows = alice.ok("--json", "history", "bob").lines()
    sent = next(str(row["number"]) for row in rows if row["sent"])
    refused = alice.run("unsend", "bob", sent)
    assert refused.code == 1 and "has left" in refused.err, refused.err
    dora.ok("join", life.invite("dora"))
    life.knows(alice, "dora", dora)
    life.knows(dora, "alice", alice)
    life.people["dora"] = dora
    life.say("alice", "dora", "three")
    life.visits()
    life.visits()
    assert [text for _, name, text in life.read if name == "dora"] == ["three"]


@life()
def texts_to_a_group_without_its_writer(life, _):
    alice, bob = life.friends()
    roster = life.folder / "team.roster"
    alice.ok("group", "create", "team", "bob")
    alice.ok("group", "export", "team", "-o", roster)
    bob.ok("group", "import", roster)
    bob.ok("say", "team", "one")
    bob.ok("say", "team", "two")
    alice.ok("group", "remove", "team", "bob")
    alice.ok("group", "export", "team", "-f", "-o", roster)
    bob.ok("group", "import", roster)
    assert "no member of team" in bob.ok("sync").err
    rows = json.loads(bob.ok("--json", "unsend").out)["unsent"]
    bob.ok("unsend", "team", str(rows[0]["number"]))
    # The group is gone from this device, and its id is what is left.
    shutil.rmtree(life.folder / "bob" / "groups" / "team")
    assert "roster" in bob.ok("sync").err
    assert bob.run("say", "team", "three").code == 2
    assert bob.run("say", rows[1]["to"], "three").code == 2
    bob.ok("unsend", rows[1]["to"], "--all")
    said = bob.ok("sync").err
    assert "roster" not in said and "wait" not in said, said
    assert json.loads(bob.ok("--json", "unsend").out)["unsent"] == []
    life.visits()
    assert not any(text in ("one", "two") for _, _, text in life.read)


@life()
def a_deleted_text_that_comes_again(life, _):
    alice, bob = life.friends()
    life.say("alice", "bob", "burn this")
    life.copy("alice", "backup")
    life.sync("alice")
    life.sync("bob")
    refused = bob.run("history", "alice", "--delete")
    assert refused.code == 2 and "--force" in refused.err, refused.err
    bob.ok("history", "alice", "--delete", "--force")
    assert bob.ok("history", "alice").out == ""
    # The text waits in the copy, whose device gets new keys and sends it under its id.
    life.put_back("alice", "backup")
    assert not life.sync("alice")
    alice.ok("devices", "renew")
    for _ in range(3):
        life.visits()
    assert bob.ok("history", "alice").out == ""
    assert [text for _, name, text in life.read if name == "bob"] == ["hello", "burn this"]


@life()
def a_renamed_contact_and_requests(life, _):
    alice, bob = life.friends()
    carol = life.outsider("carol")
    life.say("carol", "bob", "a request")
    life.sync("carol")
    life.sync("bob")
    # The name of a contact decides nothing: a request is of an identity.
    bob.ok("contacts", "rename", "alice", "carol")
    life.say("alice", "bob", "from alice")
    life.sync("alice")
    bob.ok("sync")
    assert inbox(bob) == ["from alice"] and requests(bob) == ["a request"]
    bob.ok("contacts", "rename", "carol", "alice")
    bob.ok("block", "alice")
    bob.ok("contacts", "rename", "alice", "mallory")
    life.say("alice", "bob", "while blocked")
    life.sync("alice")
    said = bob.ok("sync").err
    assert "1 text of mallory, who is blocked, was dropped" in said, said
    bob.ok("contacts", "rename", "mallory", "alice")
    life.knows(bob, "carol", carol)
    for _ in range(2):
        life.visits()
    texts = [(name, text) for name, reader, text in life.read if reader == "bob"]
    assert texts == [("alice", "hello"), ("alice", "from alice"), ("carol", "a request")], texts


@life()
def history_is_deleted_in_part(life, _):
    alice, bob = life.friends()
    life.say("bob", "alice", "first", "second")
    for _ in range(2):
        life.visits()
    rows = {row["text"]: str(row["number"]) for row in bob.ok("--json", "history", "alice").lines()}
    bob.ok("history", "alice", "--delete", "--force", "--number", rows["first"])
    bob.ok("history", "alice", "--delete", "--force", "--before", "1999-12-31")
    bob.ok("say", "alice", "waits")
    life.said.append(("bob", "alice", "waits"))
    assert "first" not in bob.ok("history", "alice").out
    bob.ok("history", "alice", "--delete", "--force", "--before", "2999-12-31")
    texts = [row["text"] for row in bob.ok("--json", "history", "alice").lines()]
    assert texts == ["waits"], texts
    assert json.loads(bob.ok("--json", "status").out)["undelivered"] == 0
    life.visits()
    life.visits()


def run(binary, folder, only=None):
    """Plays all lives, or as many, spread evenly."""
    lives = LIVES if only is None else LIVES[:: max(1, len(LIVES) // only)][:only]
    failed, silent, false, twice, locked_out = 0, 0, 0, 0, 0
    for number, (function, argument) in enumerate(lives):
        name = function.__name__ + ("" if argument is None else f" {argument}")
        life = None
        try:
            life = Life(binary, folder / f"life{number}")
            function(life, argument)
            lost, doubled, claimed = life.outcome()
            assert not (lost or doubled or claimed or life.locked_out), (
                f"lost {lost}, twice {doubled}, falsely delivered {claimed}, {life.locked_out}"
            )
            print(f"{name}: passed", flush=True)
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"{name}: FAILED", flush=True)
        finally:
            if life:
                lost, doubled, claimed = life.outcome()
                silent, twice = silent + len(lost), twice + len(doubled)
                false, locked_out = false + len(claimed), locked_out + len(life.locked_out)
                life.hub.stop()
    print(
        f"{len(lives)} lives, {silent} texts lost in silence, {twice} shown twice, {false} false "
        f"delivered, {locked_out} persons locked out; {len(lives) - failed} passed, {failed} failed"
    )
    return failed
