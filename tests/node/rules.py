"""Lives of people with two devices who block, mute, verify and accept, for tests/node/run --lives."""

import json
import shutil
import subprocess
import time

from lives import life
from processes import clean_environment
from teams import linked, visits


def with_phone(life):
    """Alice, and bob with a laptop and a phone with her texts on both."""
    alice, bob = life.friends()
    phone = linked(life, "bob", "phone")
    life.say("alice", "bob", "to both devices")
    visits(life, 2)
    phone.ok("sync")
    return alice, bob, phone


def blocked(person):
    return [row["name"] for row in json.loads(person.ok("--json", "block").out)["blocked"]]


@life()
def blocked_on_the_laptop_and_on_the_phone(life, _):
    alice, bob, phone = with_phone(life)
    bob.ok("block", "alice")
    assert blocked(phone) == []
    bob.ok("sync")
    phone.ok("sync")
    assert blocked(phone) == ["alice"]
    alice.ok("say", "bob", "while blocked")
    alice.ok("sync")
    for device in (bob, phone):
        device.ok("sync")
        assert "while blocked" not in device.ok("inbox").out
    phone.ok("unblock", "alice")
    phone.ok("sync")
    bob.ok("sync")
    assert blocked(bob) == []


@life()
def verified_on_the_phone_while_the_laptop_is_off(life, _):
    _, bob, phone = with_phone(life)
    bob.ok("contacts", "mute", "alice")
    phone.ok("contacts", "verify", "alice", "--confirm")
    for _ in range(2):
        bob.ok("sync")
        phone.ok("sync")
    for device in (bob, phone):
        assert device.ok("contacts", "mute").out == "alice\n"
        assert "verified" in device.ok("contacts", "list").out


def until(is_so, what):
    for _ in range(200):
        if is_so():
            return
        time.sleep(0.1)
    raise AssertionError(what)


@life()
def blocked_while_the_phone_is_connected(life, _):
    _, bob, phone = with_phone(life)
    command = [life.binary, "--home", life.folder / "phone", "up", "--log", "off"]
    up = subprocess.Popen(command, env=clean_environment(), stdout=subprocess.PIPE)
    try:
        assert up.stdout.readline().startswith(b"endseal up runs")
        bob.ok("block", "alice")
        bob.ok("sync")
        until(lambda: blocked(phone) == ["alice"], "the phone has not learned it")
        phone.ok("unblock", "alice")
        until(lambda: bob.ok("sync") and blocked(bob) == [], "the laptop has not learned it")
    finally:
        up.terminate()
        up.communicate()


@life()
def a_device_from_a_backup_learns_who_was_blocked_since(life, _):
    _, bob, phone = with_phone(life)
    bob.ok("backup", life.folder / "bob.backup")
    phone.ok("block", "alice")
    phone.ok("sync")
    shutil.rmtree(life.folder / "bob")
    words = ("--no-passphrase", "--keep-others")
    bob.ok("restore", *words, life.folder / "bob.backup", stdin=life.words["bob"])
    for _ in range(3):
        bob.ok("sync")
        phone.ok("sync")
    assert blocked(bob) == ["alice"]


@life()
def a_contact_that_was_added_on_the_laptop(life, _):
    bob = life.person("bob")
    phone = linked(life, "bob", "phone")
    eve = life.outsider("eve")
    life.knows(bob, "eve", eve)
    life.knows(eve, "bob", bob)
    bob.ok("sync")
    eve.ok("group", "create", "crew", "bob")
    eve.ok("say", "crew", "to the crew")
    eve.ok("say", "bob", "to bob")
    eve.ok("sync")
    for device in (phone, bob):
        device.ok("sync")
        # What is read on one is read on the other.
        shown = device.ok("inbox", "--keep").out
        assert "to the crew" in shown and "to bob" in shown, shown
    assert "crew" in phone.ok("group", "list").out
