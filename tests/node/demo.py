"""A demonstration, for tests/node/run --demo: three persons and four devices over a hub.

One person is away, one is removed, and one comes back from a backup; the hub and a node are killed.
"""

import resource
import shutil
import subprocess
import time

import conversations
from processes import clean_environment

# Seconds of processor time that all its programs may take together: it ends sooner on two cores.
LIMIT = 15


class Demo:
    """The world in which the story plays, and what was printed of it."""

    def __init__(self, binary, folder):
        self.started = time.monotonic()
        self.world = conversations.World(binary, folder, ("alice", "bob", "carol"))

    def tell(self, text):
        print(f"{time.monotonic() - self.started:5.1f} s  {text}", flush=True)


def story(demo):
    world = demo.world
    demo.tell("Alice, Bob and Carol have joined a hub, by one invitation")
    world.link("bob", "phone", "--name", "phone")
    demo.tell("Bob has linked a phone: contacts and history go there")

    world.alice.ok("group", "create", "team", "bob", "carol")
    world.say("alice", "team", "hello team")
    world.gets("bob", ("alice", "team", "hello team"))
    world.visits("bob")
    world.gets("phone")
    assert world.history("phone", "team") == ["hello team"]
    demo.tell("Alice wrote to a team: Bob has read it on his laptop, so it is read on his phone")

    # Carol is away, and the hub is killed with what waits for her.
    assert world.delivery("alice", "team", "hello team") == ("undelivered", 0, 2)
    world.visits("alice")
    assert world.delivery("alice", "team", "hello team") == ("undelivered", 1, 2)
    demo.tell("Carol is away: Alice sees that the text is delivered to 1 of 2 persons")
    world.hub.crash()
    world.gets("carol", ("alice", "team", "hello team"))
    world.visits("alice")
    assert world.delivery("alice", "team", "hello team") == ("delivered", 2, 2)
    demo.tell("The hub was killed and restarted: Carol came back and has the text")

    # A node is killed right after its start, at some point of its visit.
    world.bob.ok("say", "team", "sent once")
    command = [world.binary, "--home", world.folder / "bob", "up", "--log", "off"]
    node = subprocess.Popen(command, env=clean_environment(), stdout=subprocess.PIPE)
    assert node.stdout.readline().startswith(b"endseal up runs")
    node.kill()
    node.wait()
    node.stdout.close()
    world.visits("bob", "bob")
    for name in ("alice", "carol"):
        world.gets(name, ("bob", "team", "sent once"))
    demo.tell("Bob's node was killed with a text to send: Alice and Carol have the text, once")

    world.alice.ok("backup", world.folder / "alice.backup")
    world.alice.ok("group", "remove", "team", "carol")
    world.visits("alice")
    said = world.carol.ok("sync").err
    assert "no member of the conversation team any more" in said, said
    world.say("phone", "team", "without carol")
    world.gets("carol")
    assert world.history("carol", "team") == ["hello team", "sent once"]
    world.gets("alice", ("bob", "team", "without carol"))
    demo.tell("Alice removed Carol, who is informed, and reads nothing that Bob's phone said after")

    # A new machine has the backup from before the removal, and the 24 words.
    words = world.alice.ok("id", "paper", "--force").out.encode()
    shutil.rmtree(world.folder / "alice")
    restore = ("restore", "--no-passphrase", "--revoke-others", world.folder / "alice.backup")
    world.alice.ok(*restore, stdin=words)
    world.say("bob", "team", "are you back?")
    world.visits("alice", "bob")
    got = world.got("alice")
    assert got.count(("bob", "team", "are you back?")) == 1, got
    world.alice.ok("say", "team", "on a new machine")
    world.visits("alice", "bob", "alice", "bob", "phone")
    for name in ("bob", "phone"):
        assert world.history(name, "team").count("on a new machine") + sum(
            text == "on a new machine" for _, _, text in world.got(name)
        ) == 1, name
    world.gets("carol")
    assert world.members("alice", "team") == ["bob", "owner"]
    demo.tell("Alice lost her machine, restored an old backup, and writes; Carol stays removed")


def run(binary, folder):
    demo = Demo(binary, folder / "demo")
    try:
        story(demo)
    finally:
        demo.world.hub.stop()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = used.ru_utime + used.ru_stime
    demo.tell(f"done, with {taken:.1f} s of processor time, of at most {LIMIT} s")
    return taken > LIMIT
