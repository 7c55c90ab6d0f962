"""Lives of people whose hub gets another address, once or twice, told or not, also while a node is killed."""

import json
import socket
import time

from lives import life
from processes import Hub, NoKiller, engine


def free_address():
    """An address of this machine that is free."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return "{}:{}".format(*probe.getsockname())


def announce(life, *addresses):
    """Tells nodes an address, and waits until the hub has read its database again."""
    life.owner.ok("hub", "move", *addresses)
    time.sleep(13)


def restart_at(life, address):
    """Ends the hub, and starts it at another address."""
    life.hub.stop()
    life.hub = Hub(life.binary, life.folder, NoKiller(), address)


def state(person):
    return json.loads(person.ok("--json", "status").out)


def peer_of(life):
    return state(life.people["alice"])["hub_peer_id"]


@life()
def a_hub_that_moves_twice_in_two_years(life, _):
    alice, bob = life.friends()
    carol = life.person("carol")
    first, second, third = life.hub.address, free_address(), free_address()
    life.say("alice", "carol", "before the move")
    announce(life, second)
    life.sync("alice")
    life.sync("bob")
    restart_at(life, second)
    # Carol was away: her program does not find the hub, and keeps what she wrote.
    life.say("carol", "alice", "from the beach")
    ran = carol.run("sync", "--once", "--timeout", "1s")
    assert ran.code == 3 and "cannot connect" in ran.err, ran.err
    life.say("bob", "alice", "at the second address")
    life.visits_of("alice", "bob")
    assert state(alice)["hub"] == state(bob)["hub"] == second
    # The second move begins before Carol knows of the first.
    announce(life, third)
    life.visits_of("alice", "bob")
    carol.ok("join", "--hub", f"{peer_of(life)}@{second}")
    life.sync("carol")
    assert state(carol)["hub_moves_to"] == third
    restart_at(life, third)
    for _ in range(3):
        life.visits()
    assert {state(person)["hub"] for person in life.people.values()} == {third}, first


@life()
def an_operator_who_mistypes_and_stays(life, _):
    alice, bob = life.friends()
    old, wrong = life.hub.address, free_address()
    announce(life, wrong)
    life.visits()
    life.say("alice", "bob", "still here")
    restart_at(life, old)
    life.visits()
    life.visits()
    # The hub stays where it is: the note takes the wrong address back.
    announce(life, old)
    life.visits()
    for person in (alice, bob):
        assert (state(person)["hub"], state(person)["hub_moves_to"]) == (old, None)
        assert "the hub " not in person.ok("sync").err


@life(*(0.02 * number for number in range(1, 9)))
def a_node_killed_while_it_learns_the_address(life, seconds):
    life.friends()
    life.say("alice", "bob", "before the move")
    new = free_address()
    announce(life, new)
    life.people["alice"].killed_after(seconds, "sync")
    known = state(life.people["alice"])["hub_moves_to"]
    assert known in (None, new)
    life.visits()
    restart_at(life, new)
    life.people["alice"].killed_after(seconds, "sync")
    life.visits()
    life.visits()
    assert {state(person)["hub"] for person in life.people.values()} == {new}


@life()
def a_hub_on_another_machine_with_another_database(life, _):
    life.friends()
    backup = life.back_up_hub()
    life.say("alice", "bob", "after the backup")
    new = free_address()
    announce(life, new)
    life.visits()
    # The new machine gets the key, the note and the last backup of the database.
    life.hub.stop()
    engine().put_back(life.folder, backup)
    life.hub = Hub(life.binary, life.folder, NoKiller(), new)
    life.say("bob", "alice", "on the new machine")
    for _ in range(3):
        life.visits()
    assert {state(person)["hub"] for person in life.people.values()} == {new}
