"""Everything that persons do with each other over a hub, once."""

import json
import re
import shutil
import subprocess
import time
import traceback

from api import Api
from processes import TIMEOUT, Hub, NoKiller, Person, clean_environment, engine

CHECKS = []
CANARY = "canary in a text"


def check(function):
    CHECKS.append((function, None))
    return function


def check_of(name):
    """A check of hubs with one engine."""

    def add(function):
        CHECKS.append((function, name))
        return function

    return add


class World:
    """A hub, persons, and what they have done so far."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        folder.mkdir()
        self.hub = Hub(binary, folder, NoKiller())
        self.owner = Person(binary, folder, "owner", NoKiller())
        names = ("alice", "bob", "carol", "dave")
        self.people = {name: Person(binary, folder, name, NoKiller()) for name in names}
        self.identities = {}
        for name, person in self.people.items():
            person.ok("init", "--no-passphrase")
            self.identities[name] = person.ok("id", "show").out.strip()
        for name, person in self.people.items():
            for other, identity in self.identities.items():
                if other != name:
                    person.ok("contacts", "add", other, identity)

    def __getattr__(self, name):
        return self.people[name]

    def invite(self, name, *words):
        file = self.folder / f"{name}.invite"
        self.owner.ok("hub", "invite", name, "--at", self.hub.address, "-o", file, *words)
        return file

    def status(self, name, field):
        return json.loads(self.people[name].ok("--json", "status").out)[field]

    def sync(self, name):
        return json.loads(self.people[name].ok("--json", "sync").out)

    def inbox(self, name):
        return [(row["name"], row["text"]) for row in self.people[name].ok("--json", "inbox").lines()]

    def deliver(self, sender, receiver, *texts):
        """Texts that are said, sent, received and read."""
        for text in texts:
            self.people[sender].ok("say", receiver, text)
        self.sync(sender)
        self.sync(receiver)
        return self.inbox(receiver)

    def restart(self, meanwhile=lambda: None):
        """Stops the hub and starts it again, at the same address."""
        self.hub.stop()
        meanwhile()
        self.hub = Hub(self.binary, self.folder, NoKiller(), self.hub.address)


def fails(ran, code, words):
    assert ran.code == code, (ran.code, ran.err)
    assert words in ran.err, ran.err
    assert ran.out == "", ran.out


@check
def a_device_is_registered_nowhere_at_first(world):
    assert world.status("alice", "hub") is None


@check
def without_a_hub_nothing_is_sent(world):
    fails(world.alice.run("sync"), 4, "registered at no hub")


@check
def a_text_waits_before_there_is_a_hub(world):
    world.alice.ok("say", "bob", "early")
    assert world.status("alice", "unsent") == 1


@check
def an_invitation_in_a_file_lets_join(world):
    ran = world.alice.ok("join", world.invite("alice"))
    assert f"registered at {world.hub.address}" in ran.err, ran.err


@check
def status_names_the_hub(world):
    assert world.status("alice", "hub") == world.hub.address


@check
def joining_again_costs_nothing(world):
    world.alice.ok("join", world.folder / "alice.invite")


@check
def an_invitation_serves_once(world):
    fails(world.dave.run("join", world.folder / "alice.invite"), 1, "used up")


@check
def a_text_that_is_no_invitation_is_refused(world):
    fails(world.dave.run("join", "/dev/null"), 2, "holds no invitation")


@check
def an_invitation_that_was_cut_is_refused(world):
    text = world.invite("cut").read_bytes()
    fails(world.dave.run("join", stdin=text[:-9]), 2, "holds no invitation")


@check
def an_invitation_that_was_changed_is_refused(world):
    text = bytearray((world.folder / "cut.invite").read_bytes())
    text[40] = ord("q") if text[40] != ord("q") else ord("p")
    fails(world.dave.run("join", stdin=bytes(text)), 2, "holds no invitation")


@check
def an_invitation_of_another_hub_is_refused(world):
    other = world.folder / "other"
    other.mkdir()
    hub = Hub(world.binary, other, NoKiller())
    owner = Person(world.binary, other, "owner", NoKiller())
    owner.ok("hub", "invite", "x", "--at", world.hub.address, "-o", other / "x.invite")
    assert hub.stop() == 0
    fails(world.dave.run("join", other / "x.invite", "--timeout", "2s"), 1, "cannot connect")


@check
def a_person_who_has_not_joined_is_named(world):
    ran = world.alice.ok("sync")
    assert "bob has no device at the hub" in ran.err and "1 cannot be sent" in ran.err, ran.err


@check
def an_invitation_on_standard_input_lets_join(world):
    world.bob.ok("join", stdin=world.invite("bob").read_bytes())


@check
def a_text_from_before_arrives(world):
    assert world.sync("alice")["sent"] == 1
    assert world.sync("bob")["received"] == 1
    assert world.inbox("bob") == [("alice", "early")]


@check
def what_was_read_is_not_shown_again(world):
    assert world.inbox("bob") == []


@check
def nothing_comes_twice(world):
    assert world.sync("bob")["received"] == 0


@check
def an_answer_arrives(world):
    assert world.deliver("bob", "alice", "answer") == [("bob", "answer")]


@check
def many_texts_keep_their_order(world):
    lines = [f"line {number}" for number in range(300)]
    world.alice.ok("say", "bob", "-", "--lines", stdin="\n".join(lines).encode())
    assert world.sync("alice")["sent"] == 300
    world.sync("bob")
    assert world.inbox("bob") == [("alice", line) for line in lines]


@check
def a_text_of_several_lines_is_one(world):
    world.alice.ok("say", "bob", "-", stdin=b"one\ntwo\n")
    assert world.deliver("alice", "bob") == [("alice", "one\ntwo")]


@check
def an_empty_text_is_refused(world):
    fails(world.alice.run("say", "bob", ""), 2, "the text is empty")
    fails(world.alice.run("say", "bob", "-", stdin=b""), 2, "standard input has no text")


@check
def all_characters_arrive_in_json(world):
    text = "\u00e9\u6f22\U0001f43b \x1b[2J \u202e"
    world.alice.ok("say", "bob", "-", stdin=text.encode())
    assert world.deliver("alice", "bob") == [("alice", text)]


@check
def a_text_commands_no_terminal(world):
    world.alice.ok("say", "bob", "-", stdin=b"a \x1b[2J line\nbob> forged")
    world.sync("alice")
    world.sync("bob")
    shown = world.bob.ok("inbox").out
    assert "\x1b" not in shown and "\n    bob> forged" in shown, shown


@check
def the_longest_text_arrives(world):
    text = "x" * 800_000
    world.alice.ok("say", "bob", "-", stdin=text.encode())
    assert world.deliver("alice", "bob") == [("alice", text)]


@check
def a_longer_text_is_refused(world):
    fails(world.alice.run("say", "bob", "-", stdin=b"x" * 1_000_001), 2, "longer than")


@check
def bytes_that_are_no_text_are_refused(world):
    fails(world.alice.run("say", "bob", "-", stdin=b"\xff"), 2, "is not UTF-8")


@check
def of_lines_that_are_refused_none_is_taken(world):
    ran = world.alice.run("say", "bob", "-", "--lines", stdin=b"good\n\xff\n")
    fails(ran, 2, "text 2 is not UTF-8")
    assert world.status("alice", "unsent") == 0


@check
def an_unknown_contact_is_refused(world):
    fails(world.alice.run("say", "mallory", "x"), 2, "mallory")


@check
def lines_come_from_standard_input_alone(world):
    fails(world.alice.run("say", "bob", "x", "--lines"), 2, "--lines")


@check
def an_identity_serves_as_a_name(world):
    world.alice.ok("say", world.identities["bob"], "by identity")
    assert world.deliver("alice", "bob") == [("alice", "by identity")]


@check
def the_history_has_both_directions(world):
    rows = world.alice.ok("--json", "history", "bob").lines()
    assert [row["text"] for row in rows if not row["sent"]] == ["answer"]
    assert rows[0]["text"] == "early" and rows[0]["sent"]


@check
def the_history_is_searched_by_all_words(world):
    rows = world.alice.ok("--json", "history", "bob", "--search", "LINE 299").lines()
    assert [row["text"] for row in rows] == ["line 299"]


@check
def the_history_shows_the_last(world):
    rows = world.alice.ok("--json", "history", "bob", "--last", "1").lines()
    assert [row["text"] for row in rows] == ["by identity"]


@check
def a_text_is_delivered_when_its_receiver_says_so(world):
    def shown():
        return world.alice.ok("history", "bob", "--last", "1").out

    world.alice.ok("say", "bob", "arrived?")
    assert re.search(r"me \(not sent, [0-9]+\)> arrived\?", shown()), shown()
    world.sync("alice")
    assert "me (not delivered)> arrived?" in shown(), shown()
    assert world.status("alice", "undelivered") == 1
    world.sync("bob")
    assert world.sync("alice")["received"] == 0
    assert "me> arrived?" in shown(), shown()
    assert world.status("alice", "undelivered") == 0
    rows = world.alice.ok("--json", "history", "bob").lines()
    assert {row["delivery"] for row in rows if row["sent"]} == {"delivered"}, rows
    assert world.inbox("bob") == [("alice", "arrived?")]


@check
def the_history_of_others_is_empty(world):
    assert world.alice.ok("--json", "history", "carol").out == ""


@check
def texts_are_kept_unread(world):
    world.alice.ok("say", "bob", "kept")
    world.sync("alice")
    world.sync("bob")
    assert "kept" in world.bob.ok("inbox", "--keep").out
    assert world.status("bob", "unread") == 1
    assert world.inbox("bob") == [("alice", "kept")]


@check
def another_program_uses_a_running_node(world):
    command = [world.binary, "--home", world.folder / "alice", "up", "--log", "off"]
    up = subprocess.Popen(command, env=clean_environment(), stdout=subprocess.PIPE)
    try:
        assert up.stdout.readline().startswith(b"endseal up runs")
        api, text = Api(world.folder / "alice"), 'by\u00e9 \U0001f511 "api"\n'
        version = api.call("version")["result"]
        assert version["api"] == 1 and version["program"].startswith("endseal "), version
        with_bob = {"with": world.identities["bob"], "limit": 256}
        before = api.call("history", after=0, **with_bob)["result"]
        texts = {"to": world.identities["bob"], "texts": [text, ""]}
        said = api.call("say", **texts)["result"]
        assert said["texts"] == 2, said
        assert api.call("sync", attempts=3)["result"]["problems"] == 0
        status = api.call("status")["result"]
        assert (status["unsent"], status["connected"]) == (0, True), status
        rows, after = [], before["next"]
        while after is not None:
            page = api.call("history", after=after, **with_bob)["result"]
            rows, after = rows + page["rows"], page["next"]
        assert [row["text"] for row in rows][-2:] == [text, ""], rows
        assert [row["number"] for row in rows][-2:] == said["numbers"], (rows, said)
        assert rows[-1]["from"] == world.identities["alice"] and rows[-1]["is_sent"], rows
        error = api.call("shout")["error"]
        assert (error["code"], error["data"]) == (-32601, {"kind": "unknown_method"}), error
        error = api.call("unread")["error"]
        assert (error["code"], error["data"]["kind"]) == (-32602, "invalid_params"), error
        error = api.call("say", to=world.identities["bob"], texts=["x", "x" * 1_000_001])["error"]
        assert (error["code"], error["data"]) == (-32000, {"kind": "too_long", "text": 2}), error
        # Two requests before the first answer, and texts as they arrive.
        api.send("problems")
        api.send("follow", after=0)
        assert api.receive()["result"] == {"rows": [], "next": None}
        assert api.receive() == {"jsonrpc": "2.0", "id": "follow", "result": {}}
        world.sync("bob")
        assert world.inbox("bob")[-2:] == [("alice", text), ("alice", "")]
        world.bob.ok("say", "alice", "to the api")
        world.sync("bob")
        arrived = api.receive()
        assert arrived["method"] == "unread", arrived
        assert arrived["params"]["rows"][-1]["text"] == "to the api", arrived
        up.terminate()
        ended = api.receive()
        assert (ended["method"], ended["params"]["data"]["kind"]) == ("ended", "stopping"), ended
        api.close()
        assert up.wait(TIMEOUT) == 0
    finally:
        up.kill()
        up.wait()
        up.stdout.close()
    assert world.inbox("alice") == [("bob", "to the api")]


@check
def there_are_no_problems(world):
    assert world.alice.ok("inbox", "--problems").out == ""
    assert world.status("bob", "problems") == 0


@check
def an_invitation_may_serve_twice(world):
    file = world.invite("two", "--uses", "2")
    world.carol.ok("join", file)
    world.dave.ok("join", file)


@check
def two_who_begin_at_once_understand_each_other(world):
    world.carol.ok("say", "dave", "from carol")
    world.dave.ok("say", "carol", "from dave")
    for name in ("carol", "dave", "carol"):
        world.sync(name)
    assert world.inbox("dave") == [("carol", "from carol")]
    assert world.inbox("carol") == [("dave", "from dave")]


@check
def texts_of_two_writers_arrive(world):
    world.alice.ok("say", "dave", "from alice")
    world.bob.ok("say", "dave", "from bob")
    for name in ("alice", "bob", "dave"):
        world.sync(name)
    assert sorted(world.inbox("dave")) == [("alice", "from alice"), ("bob", "from bob")]


@check
def a_text_to_a_group_reaches_its_members(world):
    world.alice.ok("group", "create", "team", "bob", "carol")
    world.alice.ok("say", "team", CANARY)
    assert world.sync("alice")["sent"] == 1
    for name in ("bob", "carol"):
        assert world.sync(name)["received"] == 1
    row = world.bob.ok("--json", "inbox").lines()[0]
    assert (row["name"], row["group"], row["text"]) == ("alice", "team", CANARY)


@check
def the_roster_comes_with_the_conversation(world):
    assert world.inbox("carol") == [("alice", CANARY)]
    members = [row["name"] for row in json.loads(world.carol.ok("--json", "group", "show", "team").out)["members"]]
    assert sorted(members) == ["bob", "carol", "owner"], members


@check
def a_member_who_was_removed_is_not_heard(world):
    world.alice.ok("group", "remove", "team", "carol")
    world.sync("alice")
    world.carol.ok("say", "team", "still here")
    ran = world.carol.ok("sync")
    assert "no member of" in ran.err, ran.err
    world.alice.ok("say", "team", "without her")
    world.sync("alice")
    world.sync("bob")
    assert world.inbox("bob") == [("alice", "without her")]
    assert world.sync("carol")["received"] == 0
    world.carol.ok("unsend", "team", "--all")


@check
def an_outsider_is_named_by_identity(world):
    world.dave.ok("contacts", "remove", "carol")
    world.carol.ok("say", "dave", "who is it")
    world.sync("carol")
    world.sync("dave")
    row = world.dave.ok("--json", "inbox").lines()[0]
    assert (row["from"], row["name"]) == (world.identities["carol"], None)


@check
def the_owner_sees_who_has_joined(world):
    devices = json.loads(world.owner.ok("--json", "hub", "people").out)["devices"]
    assert {device["identity"] for device in devices} == set(world.identities.values())


@check
def the_owner_sees_what_waits(world):
    # Receipts of the first visits are fetched with the second.
    for name in 2 * list(world.people):
        world.sync(name)
    world.alice.ok("say", "bob", "waits")
    world.sync("alice")
    stats = json.loads(world.owner.ok("--json", "hub", "stats").out)
    assert (stats["people"], stats["waiting"]) == (4, 1)


@check
def the_database_is_whole(world):
    assert world.owner.ok("hub", "check").out == "the database is whole\n"


@check_of("sqlite")
def a_second_hub_of_the_folder_is_refused(world):
    fails(world.owner.run("hub", "serve", "--listen", "127.0.0.1:0"), 3, "runs already")


class More:
    """One more process of a hub, without the balancer."""

    def __init__(self, world, home="owner", **environment):
        command = [world.binary, "--home", world.folder / home, "hub", "serve"]
        self.process = subprocess.Popen(
            [*command, "--listen", "127.0.0.1:0"],
            env=world.owner.environment() | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def line(self):
        """The first line: peer id and address."""
        return self.process.stdout.readline().decode().strip()

    def end(self):
        """Asks it to stop. Returns its exit code, and what it wrote to standard error."""
        self.process.terminate()
        _, err = self.process.communicate(timeout=TIMEOUT)
        return self.process.returncode, err.decode()


@check_of("postgres")
def another_process_serves_at_another_port(world):
    more = More(world)
    try:
        peer, address = more.line().split("@")
        assert peer == json.loads(world.alice.ok("--json", "status").out)["hub_peer_id"]
        world.alice.ok("say", "bob", "by the other port")
        invitation = world.folder / "other-port.invite"
        world.owner.ok("hub", "invite", "other", "--at", address, "-o", invitation)
        world.alice.ok("join", invitation)
        assert world.status("alice", "hub") == address
        assert world.sync("alice")["sent"] == 1
        world.sync("bob")
        assert ("alice", "by the other port") in world.inbox("bob")
    finally:
        assert more.end()[0] == 0
    world.alice.ok("join", world.invite("back"))
    assert world.status("alice", "hub") == world.hub.address
    world.alice.ok("say", "bob", "waits")
    world.sync("alice")


@check_of("postgres")
def processes_that_start_at_once_make_one_hub(world):
    home = world.folder / "at-once"
    database = engine().environment(home)
    more = [More(world, "at-once/owner", **database) for _ in range(3)]
    lines = [one.line() for one in more]
    ended = [one.end() for one in more]
    assert all(code == 0 for code, _ in ended), ended
    assert len({line.split("@")[0] for line in lines}) == 1, lines


@check_of("postgres")
def a_hub_with_another_key_is_refused(world):
    more = More(world, "impostor")
    try:
        line = more.line()
    finally:
        code, err = more.end()
    assert line == "" and code in (1, 4) and "key" in err, (line, code, err)


@check_of("postgres")
def a_database_that_cannot_be_reached_is_an_error_without_the_password(world):
    url = engine().environment(world.folder)["ENDSEAL_HUB_DATABASE"]
    wrong = {
        "password": url.replace(engine().server.password, "wrong-password"),
        "port": url.replace(f":{engine().server.port}/", ":1/"),
        "database": url + "-that-is-absent",
    }
    for name, bad in wrong.items():
        more = More(world, ENDSEAL_HUB_DATABASE=bad)
        try:
            line = more.line()
        finally:
            code, err = more.end()
        assert line == "" and code == 3, (name, line, code, err)
        assert engine().server.password not in err and "wrong-password" not in err, err


@check_of("postgres")
def a_password_on_the_command_line_is_refused(world):
    url = engine().environment(world.folder)["ENDSEAL_HUB_DATABASE"]
    ran = world.owner.run("hub", "people", "--database", url)
    fails(ran, 2, "PGPASSWORD")
    assert engine().server.password not in ran.err


@check_of("postgres")
def a_database_of_another_program_is_refused(world):
    name = engine().server.create()
    engine().server.sql("CREATE TABLE device (id int)", name, "hub")
    ran = world.owner.run("hub", "people", "--database", engine().server.url(name))
    assert ran.code in (1, 2, 3, 4) and "database" in ran.err, (ran.code, ran.err)
    engine().server.drop(name)


@check_of("postgres")
def backups_are_made_by_pg_dump(world):
    file = world.folder / "refused.db"
    fails(world.owner.run("hub", "backup", file), 1, "pg_dump")
    assert not file.exists()
    file.write_bytes(b"")
    fails(world.owner.run("hub", "restore", file), 2, "pg_restore")


@check_of("postgres")
def a_restarted_server_loses_nothing(world):
    for mode in ("fast", "immediate"):
        world.alice.ok("say", "bob", f"before {mode}")
        world.sync("alice")
        engine().server.stop(mode)
        world.alice.ok("say", "bob", f"during {mode}")
        visit = world.alice.run("sync", "--once", "--timeout", "3s")
        assert visit.code != 0 and "error: " in visit.err, (visit.code, visit.err)
        engine().server.start()
        world.sync("alice")
        world.sync("bob")
        texts = [text for name, text in world.inbox("bob") if name == "alice"]
        assert texts[-2:] == [f"before {mode}", f"during {mode}"], texts
    world.alice.ok("say", "bob", "waits")
    world.sync("alice")


@check
def a_hub_that_restarts_loses_nothing(world):
    world.restart()
    world.sync("bob")
    assert world.inbox("bob") == [("alice", "waits")]


@check
def a_hub_that_is_killed_loses_nothing(world):
    world.alice.ok("say", "bob", "before the kill")
    world.sync("alice")
    world.hub.crash()
    time.sleep(0.5)
    world.sync("bob")
    assert world.inbox("bob") == [("alice", "before the kill")]


@check
def a_hub_that_is_away_is_an_error_in_bounded_time(world):
    def visit():
        started = time.monotonic()
        fails(world.alice.run("sync", "--once", "--timeout", "1s"), 3, "cannot connect")
        assert time.monotonic() - started < 10

    world.restart(visit)


@check
def texts_wait_while_the_hub_is_away(world):
    world.restart(lambda: world.alice.ok("say", "bob", "meanwhile"))
    assert world.deliver("alice", "bob") == [("alice", "meanwhile")]


@check
def two_commands_do_not_use_the_store_at_once(world):
    command = [world.binary, "--home", world.folder / "alice", "say", "bob", "-"]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    fails(world.alice.run("status"), 3, "another process")
    holder.communicate(b"held")
    assert holder.returncode == 0
    assert world.deliver("alice", "bob") == [("alice", "held")]


@check
def a_command_waits_for_the_store(world):
    command = [world.binary, "--home", world.folder / "alice", "say", "bob", "-"]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    waiting = subprocess.Popen(
        [world.binary, "--home", world.folder / "alice", "status", "--wait", "30s"],
        stdout=subprocess.DEVNULL,
    )
    time.sleep(0.3)
    holder.communicate(b"first")
    assert waiting.wait(60) == 0
    assert world.deliver("alice", "bob") == [("alice", "first")]


@check
def no_text_and_no_name_is_at_the_hub(world):
    world.alice.ok("contacts", "rename", "bob", "canary-name")
    world.alice.ok("say", "canary-name", CANARY)
    world.sync("alice")
    world.alice.ok("contacts", "rename", "canary-name", "bob")
    files = [path for path in (world.folder / "owner").rglob("*") if path.is_file()]
    files += engine().files()
    assert len(files) > 2, files
    for path in files:
        content = path.read_bytes()
        assert CANARY.encode() not in content and b"canary-name" not in content, path


@check
def no_text_is_in_the_clear_at_its_writer(world):
    files = [path for path in (world.folder / "alice" / "store").rglob("*") if path.is_file()]
    assert files and not any(CANARY.encode() in path.read_bytes() for path in files)
    world.sync("bob")
    assert world.inbox("bob") == [("alice", CANARY)]


@check
def a_flipped_byte_at_the_hub_is_a_problem(world):
    world.alice.ok("say", "bob", "damaged")
    world.sync("alice")
    world.restart(lambda: engine().damage(world.folder))
    assert world.sync("bob")["problems"] == 1
    assert " frame " in world.bob.ok("inbox", "--problems").out


@check
def what_comes_after_a_problem_arrives(world):
    assert world.deliver("alice", "bob", "after") == [("alice", "after")]
    assert world.sync("bob")["problems"] == 0


@check
def a_hub_with_yesterdays_database_is_found_out(world):
    copy = engine().back_up(world.folder, world.owner)
    world.deliver("alice", "bob", "today")
    world.restart(lambda: engine().put_back(world.folder, copy))
    assert "the hub was restored" in world.bob.ok("sync").err
    assert "has lost messages" in world.alice.ok("sync").err


@check
def that_is_told_once_and_kept(world):
    assert "has lost messages" not in world.alice.ok("sync").err
    assert " hub-forgot " in world.alice.ok("inbox", "--problems").out
    assert " gap-restored " in world.bob.ok("inbox", "--problems").out


@check
def texts_arrive_at_a_hub_that_lost_its_memory(world):
    # With the text that had been damaged: what no device confirmed is sent again.
    assert world.deliver("alice", "bob", "tomorrow")[-1] == ("alice", "tomorrow")


@check
def a_first_text_arrives_at_a_hub_that_lost_its_memory(world):
    assert world.deliver("carol", "bob", "hello") == [("carol", "hello")]


@check
def a_restored_store_does_not_send(world):
    world.carol.ok("store", "backup", world.folder / "carol.backup")
    world.deliver("carol", "bob", "after the backup")
    shutil.rmtree(world.folder / "carol" / "store")
    world.carol.ok("store", "restore", world.folder / "carol.backup")
    fails(world.carol.run("sync"), 1, "earlier copy")


@check
def a_new_device_of_the_person_joins(world):
    words = world.carol.ok("id", "paper", "--force").out if has_words(world) else None
    assert words, "init makes an identity with words"
    world.carol.ok("init", "--paper", "--force", "--no-passphrase", stdin=words.encode())
    world.carol.ok("join", world.invite("carol"))


def has_words(world):
    return world.carol.run("id", "paper", "--force").code == 0


@check
def texts_go_to_the_new_device(world):
    assert world.deliver("bob", "carol", "welcome back") == [("bob", "welcome back")]


@check
def the_hub_stops_when_it_is_asked(world):
    assert world.hub.stop() == 0


def run(binary, folder, *modules):
    """Plays the checks of these modules, in a world of its own each."""
    passed, failed = 0, 0
    for module in modules:
        world = module.World(binary, folder / module.__name__)
        for function, name in module.CHECKS:
            if name not in (None, engine().name):
                continue
            try:
                function(world)
                passed += 1
                print(f"ok      {function.__name__}")
            except Exception:
                failed += 1
                print(f"FAILED  {function.__name__}\n{traceback.format_exc()}")
        if not world.hub.stopping:
            world.hub.kill()
    print(f"{passed} passed, {failed} failed")
    return failed > 0
