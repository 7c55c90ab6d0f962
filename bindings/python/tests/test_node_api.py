"""Programs at running nodes, and the bot of README, over a hub."""

from __future__ import annotations

import asyncio
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from endseal.node import (
    AsyncNode,
    Member,
    Node,
    NodeError,
    PersonRules,
    Problem,
    Report,
    Said,
    Status,
    Team,
    Text,
    Unsent,
    Version,
)
from endseal.node import _protocol, _rows
from scene import Scene, scene, until

ROOT = Path(__file__).parents[3]
README = Path(__file__).parents[1] / "README.md"
PREFIX = "you wrote: "


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    yield from scene(tmp_path_factory.mktemp("people"), "alice", "bob", "bot", "unknown")


def bot() -> str:
    (program,) = re.findall(r"^```python bot\n(.*?)^```", README.read_text(), re.M | re.S)
    return str(program)


def answers(scene: Scene, name: str, other: str = "bot") -> list[str]:
    rows = scene.history(name, other)
    return [row["text"] or "" for row in rows if (row["text"] or "").startswith(PREFIX)]


def answered(scene: Scene, name: str, texts: list[str], other: str = "bot") -> None:
    """Waits for the answers to these texts, in any order, and fails if one comes twice."""
    expected = sorted(PREFIX + text for text in texts)
    until(lambda: len(answers(scene, name, other)) >= len(texts), f"answers to {texts}")
    # A second answer would come right behind.
    time.sleep(0.5)
    assert sorted(answers(scene, name, other)) == expected


def test_the_bot_answers_each_text_once(people: Scene) -> None:
    alice, unknown = people.node("alice"), people.node("unknown")
    with pytest.raises(NodeError) as raised:
        alice.status()
    assert raised.value.code == "not_running" and not raised.value.is_refusal
    assert "endseal up" in str(raised.value)
    people.up("alice", "bob", "bot", "unknown")
    to = people.identities["bot"]
    said = ["", "\u00e9 \U0001f511\n\x1b[2J", "x" * 60_000]
    running = people.python("bot", bot())
    assert alice.say(to, said)["texts"] == 3
    answered(people, "alice", said)

    # Killed at any time, and two of it.
    for number in range(12):
        said.append(f"text {number}")
        alice.say(to, said[-1])
        running.kill()
        running.wait()
        running = people.python("bot", bot())
        time.sleep(0.02 * (number % 4))
    second = people.python("bot", bot())
    said += [f"to two {number}" for number in range(20)]
    alice.say(to, said[-20:])
    answered(people, "alice", said)
    second.kill()

    # The node ends in the middle, by a signal and killed; the bot goes on by itself.
    for sign in (signal.SIGTERM, signal.SIGKILL):
        more = [f"{sign.name} {number}" for number in range(30)]
        said += more
        alice.say(to, more)
        until(lambda: any(sign.name in text for text in answers(people, "alice")))
        people.down("bot", sign)
        time.sleep(0.5)
        people.up("bot")
        answered(people, "alice", said)
    assert running.poll() is None

    # Texts of a person whom the bot does not know wait until they are accepted.
    unknown.say(to, "who are you?")
    bots = people.node("bot")
    until(lambda: len(list(bots.requests())) == 1)
    (request,) = bots.requests()
    assert request["text"] == "who are you?" and request["from"] == people.identities["unknown"]
    assert list(bots.unread()) == [] and answers(people, "unknown") == []
    bots.accept(request["from"])
    answered(people, "unknown", ["who are you?"])

    # In a group, the answer goes to the group.
    people.run("alice", "group", "create", "team", "bob", "bot")
    (team,) = alice.teams()
    alice.say(team["team"], "hello all")
    answered(people, "bob", ["hello all"], team["team"])
    assert answers(people, "alice", team["team"]) == [PREFIX + "hello all"]
    names = [(member["name"], member["person"]) for member in bots.members(team["team"])]
    assert ("owner", people.identities["alice"]) in names and len(names) == 3
    assert running.poll() is None
    answered(people, "alice", said)
    running.kill()


def test_a_text_of_a_group_that_removed_the_bot_is_skipped(people: Scene) -> None:
    bots, alice = people.node("bot"), people.node("alice")
    people.run("alice", "group", "create", "other", "bob", "bot")
    team = next(row["team"] for row in alice.teams() if row["name"] == "other")
    running = people.python("bot", bot())
    alice.say(team, "first")
    answered(people, "bob", ["first"], team)
    running.kill()
    alice.say(team, "not answered")
    until(lambda: len(list(bots.unread())) == 1, "the text")
    people.run("alice", "group", "remove", "other", "bot")
    alice.sync()
    until(lambda: team in [row["team"] for row in bots.teams() if not row["is_member"]])
    people.python("bot", bot())
    until(lambda: not list(bots.unread()), "the bot's mark")
    assert answers(people, "bob", team) == [PREFIX + "first"]
    assert bots.status()["unsent"] == 0
    to, before = people.identities["bot"], len(answers(people, "alice"))
    alice.say(to, "and here?")
    until(lambda: len(answers(people, "alice")) == before + 1, "the answer")


def test_a_group_that_the_bot_has_left_does_not_stop_it(people: Scene) -> None:
    bots, alice = people.node("bot"), people.node("alice")
    team = next(row for row in bots.teams() if row["name"] == "team")
    people.down("bot")
    alice.say(team["team"], "before you leave")
    alice.sync()
    people.up("bot")
    bots.leave(team["team"])
    with pytest.raises(NodeError) as raised:
        bots.say(team["team"], "no")
    assert raised.value.code == "not_member" and raised.value.is_refusal
    to = people.identities["bot"]
    before = len(answers(people, "alice"))
    alice.say(to, "still there?")
    until(lambda: len(answers(people, "alice")) == before + 1)
    assert not any(row["is_member"] for row in bots.teams())


def test_every_method_works_and_rows_have_their_members(people: Scene) -> None:
    alice, bob = people.node("alice"), people.identities["bob"]
    has(alice.version(), Version)
    status = alice.status()
    has(status, Status)
    assert status["identity"] == people.identities["alice"] and status["connected"]
    said = alice.say(bob, ["one", "two"])
    has(said, Said)
    report = alice.sync(3)
    has(report, Report)
    rows = list(alice.history(bob))
    has(rows[-1], Text)
    assert [row["number"] for row in rows[-2:]] == said["numbers"]
    assert [row["text"] for row in rows[-2:]] == ["one", "two"] and rows[-1]["is_sent"]
    people.down("alice")
    people.hub.kill()
    people.hub.wait()
    people.up("alice")
    unsent = alice.say(bob, ["not sent", "never"])["numbers"]
    waiting = list(alice.unsent())
    has(waiting[0], Unsent)
    assert [row["number"] for row in waiting] == unsent
    with pytest.raises(NodeError) as raised:
        alice.sync()
    assert raised.value.code == "hub" and raised.value.data == {"is_transient": True}
    assert alice.unsend(bob, unsent[:1]) == 1
    with pytest.raises(NodeError) as raised:
        alice.unsend(bob, [unsent[0]])
    assert raised.value.code == "unknown_text" and raised.value.data == {"number": unsent[0]}
    assert alice.unsend_all(bob) == 1 and list(alice.unsent()) == []
    people.start_hub()
    assert alice.sync(100)["problems"] == 0
    assert alice.delete_texts(bob, said["numbers"][:1]) == 1
    assert alice.delete_texts_before(bob, int(time.time() * 1000) + 1) >= 1
    assert list(alice.history(bob)) == []
    with pytest.raises(NodeError) as raised:
        alice.say(bob, ["short", "x" * 800_001])
    assert raised.value.code == "too_long" and raised.value.data == {"text": 2}
    with pytest.raises(NodeError) as raised:
        alice.say(bob, "x" * (9 << 20))
    assert raised.value.code == "line_too_long"
    for method in (alice.block, lambda it: alice.verify(it, True)):
        with pytest.raises(NodeError) as raised:
            method(people.identities["alice"])
        assert raised.value.code == "own"
    alice.mute(bob, True)
    alice.verify(bob, True)
    (rules,) = alice.persons()
    has(rules, PersonRules)
    assert rules["person"] == bob and rules["is_muted"] and rules["is_verified"]
    alice.mute(bob, False)
    assert alice.block(bob) == 0
    with pytest.raises(NodeError) as raised:
        alice.say(bob, "no")
    assert raised.value.code == "blocked"
    assert alice.unblock(bob) == 0
    has(alice.teams()[0], Team)
    has(next(iter(alice.members(alice.teams()[0]["team"]))), Member)
    for problem in alice.problems():
        has(problem, Problem)
    alice.forget_problems(1)
    devices = alice.devices(people.identities["alice"])
    has(devices, _rows.Devices)
    alice.name_device(devices["numbers"][0], "laptop")
    assert alice.devices(people.identities["alice"])["names"][-1]["name"] == "laptop"
    changes = alice.device_changes()
    alice.mark_changes_seen(changes[-1]["number"] if changes else 0)
    assert alice.device_changes() == []
    assert isinstance(alice.departures(), list)
    backup = alice.backup()
    has(backup, _rows.Backup)
    assert (people.folder / "alice" / backup["file"]).stat().st_size > 0
    with pytest.raises(NodeError) as raised:
        alice.call("shout")
    assert raised.value.code == "unknown_method" and not raised.value.is_refusal
    assert "older program" in str(raised.value)


def has(row: object, of: type) -> None:
    """Fails if a result has other members than its type."""
    assert isinstance(row, dict) and set(row) == set(of.__annotations__), (row, of)


def test_both_clients_have_all_methods_of_the_specification() -> None:
    text = (ROOT / "docs/spec/node-api.md").read_text()
    table = text.split("## Requests")[1].split("An empty result")[0]
    methods = set(re.findall(r"^\| `(\w+)` \|", table, re.M))
    assert len(methods) == 32
    for client in (Node, AsyncNode):
        own = {name for name in vars(client) if not name.startswith("_")}
        assert own == methods | {"call"}
        documented = (getattr(client, name).__doc__ for name in own)
        assert all(documented)
    assert _protocol.REPEATABLE < methods


def test_asyncio(people: Scene) -> None:
    async def conversation() -> None:
        alice = AsyncNode(people.folder / "alice", wait=30)
        bob = AsyncNode(people.folder / "bob", wait=30)
        await alice.say(people.identities["bob"], ["ping 1", "ping 2"])
        got = []
        async for text in bob.follow():
            if text["from"] != people.identities["alice"] or text["conversation"] != text["from"]:
                continue
            got.append(text["text"])
            assert (await bob.answer(text["number"], "pong"))["texts"] == 1
            assert (await bob.answer(text["number"], "again"))["texts"] == 0
            if text["text"] == "ping 1":
                people.down("bob")
                people.up("bob")
            if text["text"] == "ping 2":
                break
        assert got[-2:] == ["ping 1", "ping 2"] and len(got) == len(set(got))
        await alice.sync()
        history = [row["text"] async for row in bob.history(people.identities["alice"])]
        assert history[-4:] == ["ping 1", "pong", "ping 2", "pong"]
        left = [row["conversation"] async for row in bob.unread()]
        assert people.identities["alice"] not in left
        with pytest.raises(NodeError) as raised:
            await alice.call("say", to="alice", texts=[])
        assert raised.value.code == "invalid_params"

    asyncio.run(conversation())
