"""Lives of people with a backup, for tests/node/run --lives."""

import shutil
import subprocess

from lives import life, numbered
from processes import NoKiller, Person, clean_environment


def restored(life, name, *words, choice="--revoke-others"):
    """A new machine with the words and the backup of a person."""
    person = life.people[name] = Person(life.binary, life.folder, name, NoKiller())
    return person.run(
        "restore", "--no-passphrase", choice, life.folder / f"{name}.backup", *words,
        stdin=life.words[name],
    )


def lose(life, name):
    shutil.rmtree(life.folder / name)


@life(1, 30)
def a_disk_that_died(life, count):
    alice, bob = life.friends()
    life.say("bob", "alice", *numbered("unread", count))
    life.sync("bob")
    alice.ok("sync")
    life.say("alice", "bob", "waits in the backup", "is on the way")
    alice.ok("backup", life.folder / "alice.backup")
    alice.ok("sync")
    life.say("bob", "alice", "sent after the backup")
    life.sync("bob")
    lose(life, "alice")
    ran = restored(life, "alice")
    assert ran.code == 0, ran.err
    for _ in range(3):
        life.visits()
    rows = life.people["alice"].ok("--json", "history", "bob").lines()
    assert {"hello", "hi"} <= {row["text"] for row in rows}, rows
    life.say("alice", "bob", "from the new machine")
    life.visits()


@life()
def a_backup_while_up_runs(life, _):
    alice, bob = life.friends()
    command = [life.binary, "--home", life.folder / "alice", "up"]
    up = subprocess.Popen(
        command, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert b"runs" in up.stdout.readline()
    life.say("alice", "bob", "while up runs")
    alice.ok("backup", life.folder / "alice.backup")
    assert not list((life.folder / "alice").glob("backup*"))
    again = alice.run("backup", life.folder / "alice.backup")
    assert again.code == 2, again.err
    alice.ok("backup", "--force", life.folder / "alice.backup")
    up.terminate()
    up.wait()
    up.stdout.close()
    lose(life, "alice")
    assert restored(life, "alice").code == 0
    for _ in range(3):
        life.visits()


@life()
def a_backup_of_someone_else(life, _):
    alice, bob = life.friends()
    alice.ok("backup", life.folder / "bob.backup")
    lose(life, "bob")
    ran = restored(life, "bob")
    assert ran.code == 1 and "cannot open" in ran.err, ran.err
    assert not (life.folder / "bob").exists()
    life.address_of_hub = life.address_of(alice)
    life.recover("bob", "--revoke-others")
    for _ in range(3):
        life.visits()


@life()
def a_backup_that_was_changed(life, _):
    alice, bob = life.friends()
    life.say("alice", "bob", "kept")
    file = life.folder / "alice.backup"
    alice.ok("backup", file)
    whole = file.read_bytes()
    lose(life, "alice")
    step = max(1, len(whole) // 12)
    for at in range(0, len(whole), step):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        ran = restored(life, "alice")
        assert ran.code == 1, (at, ran.err)
        file.write_bytes(whole[:at])
        ran = restored(life, "alice")
        assert ran.code == 1, (at, ran.err)
        assert not (life.folder / "alice").exists()
    file.write_bytes(whole)
    assert restored(life, "alice").code == 0
    for _ in range(3):
        life.visits()


@life()
def a_restoration_while_the_hub_is_away(life, _):
    alice, bob = life.friends()
    life.say("bob", "alice", "read it before")
    life.sync("bob")
    life.sync("alice")
    alice.ok("backup", life.folder / "alice.backup")
    life.say("alice", "bob", "said after the backup")
    lose(life, "alice")
    life.said.pop()
    life.hub.stop()
    ran = restored(life, "alice", "--timeout", "1s")
    assert ran.code == 3 and "--offline" in ran.err, ran.err
    assert not (life.folder / "alice" / "identity.endseal").exists()
    # Without the hub nothing can be revoked.
    assert restored(life, "alice", "--offline").code == 2
    assert restored(life, "alice", "--offline", choice="--keep-others").code == 0
    rows = life.people["alice"].ok("--json", "history", "bob").lines()
    assert "read it before" in {row["text"] for row in rows}, rows
    life.say("alice", "bob", "said offline")
    life.restart_hub()
    assert not life.sync("alice")
    life.people["alice"].ok("devices", "renew")
    for _ in range(3):
        life.visits()


@life("--revoke-others", "--keep-others")
def a_second_machine_from_a_backup(life, choice):
    alice, bob = life.friends()
    alice.ok("backup", life.folder / "alice.backup")
    shutil.move(life.folder / "alice", life.folder / "first")
    first = Person(life.binary, life.folder, "first", NoKiller())
    assert restored(life, "alice", choice=choice).code == 0
    life.visits()
    life.say("bob", "alice", "to both")
    life.visits()
    life.visits()
    ran = first.run("sync")
    inbox = first.ok("inbox").out
    assert ("to both" in inbox) == (choice == "--keep-others"), (ran.err, inbox)


@life()
def a_text_to_a_receiver_who_is_renewed_later(life, _):
    life.friends()
    life.say("bob", "alice", "read before")
    life.visits()
    life.copy("alice", "backup")
    life.visits()
    life.address_of_hub = life.address()
    life.put_back("alice", "backup")
    # Bob's new device begins a session with a prekey, which a restored device does not have.
    lose(life, "bob")
    life.recover("bob", "--revoke-others")
    life.say("bob", "alice", "to a device that cannot open it")
    life.sync("bob")
    # Alice's device takes what waits, and is renewed. Bob writes nothing more.
    life.sync("alice")
    life.people["alice"].ok("devices", "renew")
    for _ in range(3):
        life.visits()


@life()
def a_group_in_a_backup(life, _):
    alice, bob = life.friends()
    alice.ok("group", "create", "team", "bob")
    alice.ok("group", "export", "team", "-o", life.folder / "team.roster")
    bob.ok("group", "import", life.folder / "team.roster")
    bob.ok("say", "team", "to the team")
    life.sync("bob")
    alice.ok("sync")
    alice.ok("backup", life.folder / "alice.backup")
    lose(life, "alice")
    assert restored(life, "alice").code == 0
    inbox = life.people["alice"].ok("inbox").out
    assert "bob in team> to the team" in inbox, inbox
    life.people["alice"].ok("group", "show", "team")
    life.people["alice"].ok("say", "team", "from the owner")
    life.sync("alice")
    bob.ok("sync")
    inbox = bob.ok("inbox").out
    assert "from the owner" in inbox, inbox
