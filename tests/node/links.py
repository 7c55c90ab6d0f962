"""Lives of people with a second device, for tests/node/run --lives."""

import json
import shutil
import subprocess

from lives import life, numbered
from processes import NoKiller, Person, clean_environment


class Link:
    """`devices link` on a new device, which waits."""

    def __init__(self, life, name, hub):
        self.person = Person(life.binary, life.folder, name, NoKiller())
        command = [life.binary, "--home", life.folder / name, "devices", "link"]
        self.process = subprocess.Popen(
            [*command, "--no-passphrase", hub],
            env=clean_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.text = self.process.stdout.readline()
        assert self.text.startswith(b"endseallink1"), self.text

    def ended(self):
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, err.decode()

    def kill(self):
        self.process.kill()
        self.process.communicate()


def texts(person):
    return person.ok("inbox", "--keep").out + person.ok("history", "bob").out


@life(0, 3_000)
def a_second_device_with_history(life, count):
    alice, bob = life.friends()
    if count:
        bob.ok("say", "alice", "--lines", "-", stdin="\n".join(numbered("old", count)).encode())
        life.said += [("bob", "alice", text) for text in numbered("old", count)]
        life.sync("bob")
        life.sync("alice")
    life.say("bob", "alice", "unread on both")
    life.sync("bob")
    alice.ok("sync")
    link = Link(life, "phone", life.address())
    added = alice.run("devices", "add", "--yes", "-", stdin=link.text)
    assert added.code == 0, added.err
    code, err = link.ended()
    assert code == 0 and "with" in err, err
    phone = link.person
    phone.ok("sync")
    assert "unread on both" in phone.ok("inbox").out
    shown = phone.ok("history", "bob").out
    assert "hello" in shown and "hi" in shown and "not delivered" not in shown, shown
    if count:
        assert shown.count("old ") == count
    life.say("bob", "alice", "to both")
    bob.ok("sync")
    phone.ok("sync")
    assert "to both" in phone.ok("inbox").out
    phone.ok("say", "bob", "from the phone")
    phone.ok("sync")
    bob.ok("sync")
    assert "from the phone" in bob.ok("inbox").out
    assert not phone.ok("inbox", "--problems").out
    for _ in range(2):
        life.visits()


@life()
def a_link_that_is_interrupted(life, _):
    alice, bob = life.friends()
    link = Link(life, "phone", life.address())
    text = link.text
    link.kill()
    # The text stays the same, also after the other device has added it.
    added = alice.run("devices", "add", "--yes", "-", stdin=text)
    assert added.code == 0, added.err
    link = Link(life, "phone", life.address())
    assert link.text == text
    code, err = link.ended()
    assert code == 0, err
    again = alice.run("devices", "add", "--yes", "-", stdin=text)
    assert again.code == 0, again.err
    link.person.ok("sync")
    assert "hello" in texts(link.person)
    assert not link.person.ok("inbox", "--problems").out
    assert len(alice.ok("devices", "list").out.splitlines()) == 2


@life()
def a_link_text_that_was_changed(life, _):
    alice, bob = life.friends()
    link = Link(life, "phone", life.address())
    for bad in (b"", b"hello", link.text[:-9], link.text.replace(b"q", b"p")):
        ran = alice.run("devices", "add", "--yes", "-", stdin=bad)
        assert ran.code == 2 and "link text" in ran.err, ran.err
    # Without a comparison nothing is added.
    ran = alice.run("devices", "add", "-", stdin=link.text)
    assert ran.code == 2 and "--yes" in ran.err, ran.err
    assert len(alice.ok("devices", "list").out.splitlines()) == 1
    link.kill()


@life()
def a_link_by_someone_else(life, _):
    alice, bob = life.friends()
    link = Link(life, "phone", life.address())
    assert bob.run("devices", "add", "--yes", "-", stdin=link.text).code == 0
    code, err = link.ended()
    # Who takes the text gets the device: that is why it is given to one's own device alone.
    assert code == 0, err
    phone = link.person
    identity = bob.ok("id", "show").out
    assert phone.ok("id", "show").out == identity
    ran = alice.run("devices", "add", "--yes", "-", stdin=link.text)
    assert ran.code == 1, ran.err


@life()
def a_link_text_on_two_devices(life, _):
    alice, _ = life.friends()
    phone, tablet = (Link(life, name, life.address()) for name in ("phone", "tablet"))
    for link in (phone, tablet):
        alice.ok("devices", "add", "--yes", "-", stdin=link.text)
        assert link.ended()[0] == 0
    tablet.person.ok("sync")
    tablet.person.ok("devices", "add", "--yes", "-", stdin=phone.text)
    phone.person.ok("sync")
    problems = json.loads(phone.person.ok("--json", "inbox", "--problems").out)["problems"]
    assert {row["class"] for row in problems} == {"archive"}, problems
    assert "devices add on two devices" in phone.person.ok("inbox", "--problems").out


@life()
def a_home_that_lost_its_identity_file(life, _):
    alice, _ = life.friends()
    (life.folder / "alice" / "identity.endseal").unlink()
    before = alice.ok("history", "bob").out
    ran = alice.run("devices", "link", "--no-passphrase", life.address_of(life.people["bob"]))
    assert ran.code == 2 and "has conversations" in ran.err and not ran.out, ran.err
    assert alice.ok("history", "bob").out == before


@life()
def a_linked_phone_that_is_stolen(life, _):
    alice, bob = life.friends()
    link = Link(life, "phone", life.address())
    named = ("--device", "7", "--name", "phone")
    alice.ok("devices", "add", "--yes", *named, "-", stdin=link.text)
    assert link.ended()[0] == 0
    link.person.ok("sync")
    for person in (alice, link.person):
        rows = json.loads(person.ok("--json", "devices", "list").out)["devices"]
        names = {row["device"]: row["name"] for row in rows}
        assert names.pop(7) == "phone" and None not in names.values(), rows
    alice.ok("devices", "revoke", "7")
    life.say("bob", "alice", "the door code")
    life.visits()
    ran = link.person.run("sync")
    assert ran.code == 1 and "revoked" in ran.err, ran.err
    assert "door code" not in texts(link.person)
    life.visits()


@life()
def a_laptop_that_died_after_a_phone_was_linked(life, _):
    alice, bob = life.friends()
    link = Link(life, "phone", life.address())
    alice.ok("devices", "add", "--yes", "-", stdin=link.text)
    assert link.ended()[0] == 0
    link.person.ok("sync")
    laptop = alice.ok("--json", "devices", "list").out
    shutil.rmtree(life.folder / "alice")
    shutil.move(life.folder / "phone", life.folder / "alice")
    number = next(row for row in json.loads(laptop)["devices"] if row["is_this"])["device"]
    alice.ok("devices", "revoke", str(number))
    life.say("bob", "alice", "are you there?")
    life.visits()
    life.say("alice", "bob", "yes, on the phone")
    life.visits()
    life.visits()
