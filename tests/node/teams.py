"""Lives of teams, for tests/node/run --lives: people who leave, an owner who goes, two changes at once."""

import json
import shutil

from lives import life
from links import Link


def team_of(life, *names):
    """A team of the first of these people, in which all have read a text."""
    people = [life.person(name) for name in names]
    people[0].ok("group", "create", "team", *names[1:])
    say(life, names[0], "hello team", names[1:])
    visits(life, 2)
    return people


def say(life, sender, text, receivers, team="team"):
    """A text to a team, which these people must get, and no one else."""
    life.people[sender].ok("say", team, text)
    life.of_team = getattr(life, "of_team", {})
    life.of_team[text] = set(receivers)


def visits(life, times=1):
    for _ in range(times):
        life.visits()


def all_got_theirs(life):
    for text, receivers in life.of_team.items():
        got = [name for _, name, read in life.read if read == text]
        assert sorted(got) == sorted(receivers), f"{text}: {got} in the place of {receivers}"


def linked(life, name, phone):
    """Another device of a person."""
    link = Link(life, phone, life.address())
    life.people[name].ok("devices", "add", "--yes", "-", stdin=link.text)
    code, err = link.ended()
    assert code == 0, err
    return link.person


def show(person, team="team"):
    return person.ok("group", "show", team).out


@life()
def a_member_leaves_a_team(life, _):
    alice, bob, carol = team_of(life, "alice", "bob", "carol")
    phone = linked(life, "bob", "phone")
    visits(life)
    phone.ok("sync")
    refused = alice.run("group", "leave", "team")
    assert refused.code == 2 and "group owner" in refused.err, refused.err
    bob.ok("say", "team", "never sent")
    left = bob.ok("group", "leave", "team")
    assert "1 text cancelled" in left.out + left.err, left
    assert bob.run("say", "team", "once more").code != 0
    assert "you have left" in bob.ok("group", "list").out
    bob.ok("sync")
    assert "bob has left the group team" in alice.ok("sync").err
    assert "bob has left the group team" in carol.ok("sync").err
    assert "has left" in show(alice) and "has left" in show(carol)
    say(life, "alice", "without bob", ["carol"])
    visits(life, 2)
    # The other device has left, too.
    phone.ok("sync")
    assert phone.run("say", "team", "from the phone").code != 0
    assert "without bob" not in phone.ok("inbox").out
    # To invite him again takes a change without him first.
    refused = alice.run("group", "add", "team", "bob")
    assert refused.code == 2 and "has left" in refused.err, refused.err
    assert "has left team" in alice.ok("group", "rotate", "team").err
    assert "bob" not in show(alice)
    alice.ok("sync")
    alice.ok("group", "add", "team", "bob")
    say(life, "alice", "bob is back", ["bob", "carol"])
    visits(life, 2)
    phone.ok("sync")
    # The other device has shown it.
    assert "bob is back" not in phone.ok("inbox").out
    assert "bob is back" in phone.ok("history", "team").out
    say(life, "bob", "thank you", ["alice", "carol"])
    visits(life, 2)
    all_got_theirs(life)
    assert not any(text == "never sent" for _, _, text in life.read)


@life()
def a_team_is_deleted_on_a_device(life, _):
    alice, bob, carol = team_of(life, "alice", "bob", "carol")
    refused = bob.run("group", "delete", "team")
    assert refused.code == 1 and "group leave" in refused.err, refused.err
    bob.ok("group", "leave", "team")
    refused = bob.run("group", "delete", "team")
    assert refused.code == 1 and "endseal sync" in refused.err, refused.err
    bob.ok("sync")
    bob.ok("group", "delete", "team")
    visits(life, 2)
    assert "team" not in bob.ok("group", "list").out
    assert bob.run("history", "team").code == 2
    say(life, "carol", "without bob", ["alice"])
    visits(life, 2)
    # The owner ends it.
    refused = alice.run("group", "delete", "team")
    assert refused.code == 1 and "remove the others" in refused.err, refused.err
    alice.ok("group", "remove", "team", "carol")
    assert "no member of the conversation team" in _after(alice, carol).err
    alice.ok("group", "delete", "team")
    carol.ok("group", "delete", "team")
    visits(life, 2)
    for person in (alice, bob, carol):
        assert person.ok("group", "list").out == "", person.ok("group", "list").out
        assert "warning" not in person.ok("sync").err
    all_got_theirs(life)


def _after(first, second):
    first.ok("sync")
    return second.ok("sync")


@life()
def an_owner_hands_a_team_on_and_goes(life, _):
    alice, bob, carol = team_of(life, "alice", "bob", "carol")
    alice.ok("group", "owner", "team", "bob")
    alice.ok("group", "leave", "team")
    visits(life, 2)
    assert "owner  you" in show(bob) and "owner  bob" in show(carol)
    refused = alice.run("group", "rotate", "team")
    assert refused.code == 2 and "you have left" in refused.err, refused.err
    bob.ok("group", "rotate", "team")
    assert "owner" not in [row["name"] for row in _members(bob)], "alice, who has left"
    dora = life.person("dora")
    bob.ok("group", "add", "team", "dora")
    say(life, "bob", "to those who are here", ["carol", "dora"])
    visits(life, 2)
    all_got_theirs(life)
    assert "team" in dora.ok("group", "list").out


def _members(person, team="team"):
    return json.loads(person.ok("--json", "group", "show", team).out)["members"]


@life()
def an_admin_changes_a_team_while_the_owner_is_away(life, _):
    alice, bob, carol = team_of(life, "alice", "bob", "carol")
    assert bob.run("group", "remove", "team", "carol").code == 2
    alice.ok("group", "admin", "add", "team", "bob")
    alice.ok("sync")
    bob.ok("sync")
    assert [row["name"] for row in _members(bob) if row["is_admin"]] == ["bob"]
    life.person("dora")
    bob.ok("group", "add", "team", "dora")
    bob.ok("group", "remove", "team", "carol")
    refused = bob.run("group", "remove", "team", "owner")
    assert refused.code == 2, refused.err
    assert bob.run("group", "owner", "team", "bob").code == 2
    bob.ok("sync")
    say(life, "bob", "while she is away", ["alice", "dora"])
    visits(life, 2)
    assert {row["name"] for row in _members(alice)} == {"owner", "bob", "dora"}
    alice.ok("group", "admin", "remove", "team", "bob")
    visits(life, 2)
    assert bob.run("group", "remove", "team", "dora").code == 2
    all_got_theirs(life)


@life()
def two_devices_of_an_owner_change_a_team_at_once(life, _):
    alice, bob, carol = team_of(life, "alice", "bob", "carol")
    phone = linked(life, "alice", "phone")
    visits(life)
    phone.ok("sync")
    life.person("dora")
    life.knows(phone, "dora", life.people["dora"])
    alice.ok("group", "add", "team", "dora")
    phone.ok("group", "remove", "team", "carol")
    alice.ok("sync")
    said = phone.ok("sync").err
    assert "repeat it" in said, said
    assert {row["name"] for row in _members(phone)} == {"owner", "bob", "carol", "dora"}
    assert "not in force" in show(phone) and "not in force" in phone.ok("group", "list").out
    phone.ok("group", "remove", "team", "carol")
    assert "not in force" not in show(phone)
    phone.ok("sync")
    assert "repeat it" not in alice.ok("sync").err
    say(life, "alice", "with dora, without carol", ["bob", "dora"])
    visits(life, 2)
    phone.ok("say", "team", "from the phone")
    phone.ok("sync")
    visits(life, 2)
    assert ("owner", "bob", "from the phone") not in life.read
    assert [name for _, name, text in life.read if text == "from the phone"] == ["bob", "dora"]
    all_got_theirs(life)


@life()
def a_team_gets_another_name(life, _):
    alice, bob, carol = team_of(life, "alice", "bob", "carol")
    bob.ok("group", "rename", "team", "colleagues")
    alice.ok("group", "rename", "team", "work")
    say(life, "alice", "under a new name", ["bob", "carol"], team="work")
    visits(life, 2)
    assert [person.ok("group", "list").out.split()[0] for person in (alice, bob, carol)] == [
        "work",
        "colleagues",
        "work",
    ]
    say(life, "carol", "to work", ["alice", "bob"], team="work")
    visits(life, 2)
    # A name of a contact, or of another group, is not taken.
    assert alice.run("group", "rename", "work", "bob").code == 2
    alice.ok("group", "create", "other", "bob")
    before = show(alice, "work")
    assert alice.run("group", "rename", "work", "other").code == 2
    assert show(alice, "work") == before, "nothing is signed"
    all_got_theirs(life)


@life()
def an_owner_from_a_backup_writes_to_a_member_of_later(life, _):
    alice, bob = team_of(life, "alice", "bob")
    backup = life.folder / "alice.backup"
    alice.ok("backup", backup)
    life.person("carol")
    alice.ok("group", "add", "team", "carol")
    say(life, "alice", "welcome", ["bob", "carol"])
    visits(life, 2)
    shutil.rmtree(life.folder / "alice")
    words = life.words["alice"]
    alice.ok("restore", "--no-passphrase", "--revoke-others", backup, stdin=words)
    # She writes before she learns that there is Carol, who may get it or not.
    alice.ok("say", "team", "back again")
    visits(life, 3)
    assert ("alice", "bob", "back again") in life.read, life.read
    assert {row["name"] for row in _members(alice)} == {"owner", "bob", "carol"}
    say(life, "carol", "we are three", ["alice", "bob"])
    visits(life, 2)
    all_got_theirs(life)


def texts_of(person, team="team"):
    """What a person has read and can read in a team."""
    unread = [row["text"] for row in person.ok("--json", "inbox", "--keep").lines()]
    ran = person.run("--json", "history", team)
    return unread + [row["text"] for row in (ran.lines() if ran.code == 0 else [])]


@life()
def a_member_is_added_again_by_a_device_of_later(life, _):
    alice, _, carol = team_of(life, "alice", "bob", "carol")
    visits(life, 2)
    alice.ok("group", "remove", "team", "carol")
    visits(life, 2)
    phone = linked(life, "alice", "phone")
    for _ in range(2):
        phone.ok("sync")
        visits(life)
    phone.ok("group", "add", "team", "carol")
    phone.ok("say", "team", "carol is back")
    for _ in range(2):
        phone.ok("sync")
        visits(life)
    read = [text for _, reader, text in life.read if reader == "carol"]
    assert "carol is back" in read, read
    assert json.loads(carol.ok("--json", "inbox", "--problems").out)["problems"] == []


@life()
def left_on_one_device_and_invited_while_the_other_slept(life, _):
    alice, bob = team_of(life, "alice", "bob")
    phone = linked(life, "bob", "phone")
    visits(life)
    phone.ok("sync")
    visits(life)
    bob.ok("group", "leave", "team")
    life.visits_of("bob", "alice")
    alice.ok("group", "rotate", "team")
    alice.ok("sync")
    alice.ok("group", "add", "team", "bob")
    life.visits_of("alice", "bob")
    phone.ok("sync")
    say(life, "alice", "bob is back", ["bob"])
    for _ in range(2):
        visits(life)
        phone.ok("sync")
    assert "bob is back" in texts_of(phone), texts_of(phone)
    all_got_theirs(life)


@life("the hand-over comes first", "the departure comes first")
def a_team_is_handed_to_one_who_leaves(life, order):
    alice, bob, _ = team_of(life, "alice", "bob", "carol")
    visits(life, 2)
    alice.ok("group", "owner", "team", "bob")
    bob.ok("group", "leave", "team")
    notes = {}
    for name in ("alice", "bob") if "hand-over" in order else ("bob", "alice"):
        notes[name] = life.people[name].ok("sync").err
    visits(life, 3)
    # One of both is the owner, and learned that what the person wanted is not so.
    owner, other = ("bob", "alice") if "hand-over" in order else ("alice", "bob")
    assert "not in force" in notes[owner], notes
    life.people[owner].ok("group", "rotate", "team")
    assert life.people[other].run("group", "rotate", "team").code != 0
    visits(life, 2)
    say(life, owner, "I own it", [other, "carol"] if owner == "bob" else ["carol"])
    visits(life, 2)
    all_got_theirs(life)


@life()
def one_who_left_restores_a_backup(life, _):
    alice, bob, _ = team_of(life, "alice", "bob", "carol")
    visits(life, 2)
    bob.ok("backup", life.folder / "bob.backup")
    bob.ok("group", "leave", "team")
    visits(life, 2)
    shutil.rmtree(life.folder / "bob")
    words = ("--no-passphrase", "--revoke-others")
    bob.ok("restore", *words, life.folder / "bob.backup", stdin=life.words["bob"])
    bob.ok("say", "team", "am I here?")
    visits(life, 2)
    say(life, "alice", "without bob", ["carol"])
    visits(life, 2)
    assert "has left" in show(alice)
    assert "without bob" not in texts_of(bob), texts_of(bob)
    assert not any(text == "am I here?" for _, _, text in life.read)
    all_got_theirs(life)


@life()
def a_blocked_person_makes_a_team(life, _):
    alice, bob = life.friends()
    bob.ok("block", "alice")
    alice.ok("group", "create", "spam", "bob")
    alice.ok("say", "spam", "you cannot escape")
    alice.ok("sync")
    assert "1 problem" in bob.ok("sync").err
    assert "you cannot escape" not in bob.ok("inbox").out
    assert "spam" not in bob.ok("group", "list").out
    assert "is blocked, added you" in bob.ok("inbox", "--problems").out


@life()
def who_comes_back_removes_no_one(life, _):
    alice, bob, carol = team_of(life, "alice", "bob", "carol")
    visits(life, 2)
    bob.ok("group", "leave", "team")
    life.visits_of("bob", "alice")
    alice.ok("group", "rotate", "team")
    alice.ok("sync")
    alice.ok("group", "add", "team", "bob")
    life.visits_of("alice", "bob")
    alice.ok("say", "team", "bob is back")
    for _ in range(3):
        for person in (alice, bob, carol):
            assert "is no member" not in person.ok("sync").err
    for person in (bob, carol):
        assert "bob is back" in texts_of(person)
