"""Lives of people whose clock is wrong, for tests/node/run --lives."""

from lives import life
from processes import NoKiller, Person
from teams import all_got_theirs, say


def with_clock(life, offset, name):
    """A person whose program sees another time."""
    script = life.folder / f"{name}.sh"
    script.write_text(f"#!/bin/sh\nexec faketime -f '{offset}' '{life.binary}' \"$@\"\n")
    script.chmod(0o755)
    right, life.binary = life.binary, script
    try:
        return life.person(name)
    finally:
        life.binary = right


@life("+400d", "-400d", "+3h")
def a_wrong_clock(life, offset):
    life.person("alice")
    bob = with_clock(life, offset, "bob")
    life.say("alice", "bob", "from alice")
    life.say("bob", "alice", "from bob")
    said = bob.ok("sync").err
    assert "the clock of this device is" in said, said
    assert "400 days" in said or "3 hours" in said, said
    assert "clock" not in life.people["alice"].ok("sync").err
    life.visits()
    life.visits()
    # A team with one more person, and the clock is set right.
    carol = life.person("carol")
    bob.ok("group", "create", "team", "alice", "carol")
    say(life, "bob", "to the team", ["alice", "carol"])
    life.visits()
    life.visits()
    bob = life.people["bob"] = Person(life.binary, life.folder, "bob", NoKiller())
    assert "clock" not in bob.ok("sync").err
    life.say("alice", "bob", "it is right")
    life.say("bob", "alice", "thank you")
    say(life, "carol", "to all", ["alice", "bob"])
    life.visits()
    life.visits()
    assert carol.ok("inbox", "--problems").out == "", carol.ok("inbox", "--problems").out
    all_got_theirs(life)
