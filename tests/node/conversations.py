"""Conversations of persons and teams over a hub. Each check goes on where the last one ended."""

import json
import subprocess

import checks
from checks import fails
from links import Link
from processes import TIMEOUT, Hub, NoKiller, Person, clean_environment, engine

CHECKS = []
NAMES = ("alice", "bob", "carol", "dora")
ALL_SCRIPTS = "\u00e9 \u05e9\u05dc\u05d5\u05dd \u6f22\u5b57 \U0001f469\u200d\U0001f469\u200d\U0001f467"


def check(function):
    CHECKS.append((function, None))
    return function


class World(checks.World):
    """A hub and persons who have joined it and know each other by their long identities."""

    def __init__(self, binary, folder, names=NAMES):
        self.binary, self.folder = binary, folder
        folder.mkdir()
        self.hub = Hub(binary, folder, NoKiller())
        self.owner = Person(binary, folder, "owner", NoKiller())
        self.people = {}
        invitation = self.invite("all", "--uses", str(len(names)))
        for name in names:
            self.new_person(name).ok("join", invitation)
        identities = {name: self.identity(name) for name in names}
        for name in names:
            for other in names:
                if other != name:
                    self.people[name].ok("contacts", "add", "--local", other, identities[other])

    def new_person(self, name):
        person = self.people[name] = Person(self.binary, self.folder, name, NoKiller())
        person.ok("init", "--no-passphrase")
        return person

    def identity(self, name):
        return self.people[name].ok("id", "show", "--pq").out.strip()

    def link(self, name, other, *words):
        """Links a further device to a person. This world has it among its people."""
        status = json.loads(self.people[name].ok("--json", "status").out)
        link = Link(self, other, f"{status['hub_peer_id']}@{status['hub']}")
        self.people[name].ok("devices", "add", "--yes", *words, "-", stdin=link.text)
        code, err = link.ended()
        assert code == 0, err
        self.people[other] = link.person

    def say(self, name, to, text):
        """Says a text, which is at the hub then."""
        said = self.people[name].ok("say", "--now", to, text).err
        assert f"1 text for {to} sent" in said, said

    def got(self, name):
        """The texts that are unread after a visit, which are read then: writer, team, text."""
        rows = self.people[name].ok("--json", "inbox", "--now").lines()
        return [(row["name"], row["group"], row["text"]) for row in rows]

    def gets(self, name, *texts):
        """Fails if other texts than these are unread after a visit."""
        got = self.got(name)
        assert got == list(texts), f"{name} gets {got}"

    def history(self, name, other):
        return [row["text"] for row in self.people[name].ok("--json", "history", other).lines()]

    def delivery(self, name, other, text):
        """The state of delivery, and how many of how many persons have confirmed the text."""
        rows = self.people[name].ok("--json", "history", other).lines()
        (row,) = [row for row in rows if row["text"] == text]
        return row["delivery"], row["confirmed"], row["receivers"]

    def team(self, name, team):
        return json.loads(self.people[name].ok("--json", "group", "show", team).out)

    def members(self, name, team):
        return sorted(row["name"] for row in self.team(name, team)["members"])

    def teams(self, name):
        groups = json.loads(self.people[name].ok("--json", "group", "list").out)["groups"]
        return sorted(row["group"] for row in groups)

    def visits(self, *names):
        for name in names:
            self.people[name].ok("sync")


# ----------------------------------------------------------------------------- a team, and delivery


@check
def a_person_creates_a_team(world):
    said = world.alice.ok("group", "create", "work", "bob", "carol").err
    assert "group work, epoch 1, 3 members" in said, said
    assert "the next endseal sync brings the change to the members" in said, said


@check
def a_team_reaches_its_members_without_a_file(world):
    assert world.teams("bob") == []
    world.visits("alice", "bob")
    assert world.members("bob", "work") == ["bob", "carol", "owner"]
    assert "owner  alice" in world.bob.ok("group", "show", "work").out


@check
def a_text_to_a_team_is_not_sent_before_a_visit(world):
    world.alice.ok("say", "work", "first")
    assert "me (not sent, " in world.alice.ok("history", "work").out
    assert world.delivery("alice", "work", "first")[0] == "unsent"


@check
def a_text_that_is_at_the_hub_is_delivered_to_no_one(world):
    assert world.sync("alice")["sent"] == 1
    assert world.status("alice", "waiting") == 0
    assert "me (not delivered)> first" in world.alice.ok("history", "work").out
    assert world.delivery("alice", "work", "first") == ("undelivered", 0, 2)


@check
def a_text_is_delivered_to_one_of_two_members(world):
    world.gets("bob", ("alice", "work", "first"))
    world.visits("alice")
    assert "me (delivered to 1 of 2)> first" in world.alice.ok("history", "work").out
    assert world.delivery("alice", "work", "first") == ("undelivered", 1, 2)


@check
def a_text_is_delivered_when_each_member_has_it(world):
    world.gets("carol", ("alice", "work", "first"))
    world.visits("alice")
    assert "me> first" in world.alice.ok("history", "work").out
    assert world.delivery("alice", "work", "first") == ("delivered", 2, 2)
    assert world.status("alice", "undelivered") == 0


@check
def a_text_of_a_member_reaches_all_others(world):
    world.say("bob", "work", "from bob")
    world.visits("alice")
    assert " bob in work> from bob\n" in world.alice.ok("inbox").out
    world.gets("carol", ("bob", "work", "from bob"))
    world.gets("dora")


@check
def a_text_to_a_person_is_not_one_to_the_team(world):
    world.say("bob", "carol", "between us")
    world.gets("carol", ("bob", None, "between us"))
    world.gets("alice")
    assert world.history("carol", "work") == ["first", "from bob"]


@check
def a_text_of_all_scripts_reaches_a_team(world):
    world.carol.ok("say", "--now", "work", "-", stdin=ALL_SCRIPTS.encode())
    for name in ("alice", "bob"):
        world.gets(name, ("carol", "work", ALL_SCRIPTS))


@check
def a_history_of_a_team_is_searched(world):
    assert "\u6f22\u5b57" in world.alice.ok("history", "work", "--search", "\u6f22\u5b57").out
    assert world.alice.ok("history", "work", "--search", "absent").out == ""


# --------------------------------------------------------------------------------- names and errors


@check
def a_name_of_a_team_has_small_letters_without_spaces(world):
    for name in ("Work", "our work", "k\u00fcche"):
        fails(world.alice.run("group", "create", name, "bob"), 2, "a name ")
    fails(world.alice.run("group", "create", "", "bob"), 2, "the name is empty")
    assert world.teams("alice") == ["work"]


@check
def a_name_of_a_contact_has_small_letters_without_spaces(world):
    identity = world.identity("dora")
    for name in ("Dora", "aunt dora", "zo\u00eb"):
        fails(world.alice.run("contacts", "add", name, identity), 2, "a name ")
    assert "zo" not in world.alice.ok("contacts", "list").out


@check
def a_name_in_use_is_refused_for_a_new_team(world):
    fails(world.alice.run("group", "create", "work", "bob"), 2, "hint: choose another name")
    fails(world.alice.run("group", "create", "bob", "carol"), 2, "give the group another name")
    assert world.teams("alice") == ["work"]


@check
def the_name_of_notes_to_oneself_is_refused_for_a_team(world):
    fails(world.alice.run("group", "create", "me", "bob"), 2, "hint: choose another name")
    fails(world.alice.run("group", "rename", "work", "me"), 2, "hint: choose another name")
    assert world.teams("alice") == ["work"]


@check
def an_unknown_team_is_named_with_a_hint(world):
    for words in (
        ("show", "absent"),
        ("add", "absent", "bob"),
        ("remove", "absent", "bob"),
        ("rename", "absent", "present"),
        ("leave", "absent"),
        ("delete", "absent"),
        ("owner", "absent", "bob"),
        ("admin", "add", "absent", "bob"),
        ("export", "absent"),
    ):
        ran = world.alice.run("group", *words)
        fails(ran, 2, "there is no group 'absent'")
        assert "hint: endseal group list" in ran.err, ran.err


@check
def a_text_to_an_unknown_name_is_refused_with_a_hint(world):
    ran = world.alice.run("say", "absent", "x")
    fails(ran, 2, "'absent' is no contact and no group")
    assert "endseal contacts add" in ran.err and "endseal group import" in ran.err, ran.err
    assert world.status("alice", "unsent") == 0


@check
def a_member_is_not_added_twice(world):
    ran = world.alice.run("group", "add", "work", "bob")
    fails(ran, 2, "two members have the name bob")
    assert "hint: endseal group show" in ran.err, ran.err
    ran = world.alice.run("group", "add", "work", f"robert={world.identity('bob')}")
    fails(ran, 2, "have the same key")
    assert "hint: endseal group show" in ran.err, ran.err
    assert world.team("alice", "work")["epoch"] == 1


@check
def a_person_who_is_no_contact_is_not_added(world):
    ran = world.alice.run("group", "add", "work", "mallory")
    fails(ran, 2, "neither a contact nor an identity")
    assert "hint: endseal contacts list" in ran.err, ran.err


@check
def a_person_who_is_no_member_is_not_removed(world):
    for words in (("remove",), ("owner",), ("admin", "add")):
        ran = world.alice.run("group", *words, "work", "dora")
        fails(ran, 2, "dora is not a member")
        assert "hint: endseal group show" in ran.err, ran.err
    assert world.team("alice", "work")["epoch"] == 1


@check
def a_member_who_is_not_the_owner_changes_nothing(world):
    for words in (("add", "work", "dora"), ("remove", "work", "carol"), ("rotate", "work")):
        ran = world.bob.run("group", *words)
        fails(ran, 2, "only the owner and the admins")
        assert "hint: ask one of them" in ran.err, ran.err
    for words in (("admin", "add", "work", "bob"), ("owner", "work", "bob")):
        fails(world.bob.run("group", *words), 2, "only the owner")
    assert world.team("bob", "work")["epoch"] == 1


# ---------------------------------------------------------------------------------- a second device


@check
def a_linked_device_joins_the_teams_of_its_person(world):
    world.link("bob", "phone", "--device", "7", "--name", "bob's ph\u00f6ne")
    world.visits("bob")
    world.say("alice", "work", "to both devices")
    world.gets("phone", ("alice", "work", "to both devices"))
    assert world.members("phone", "work") == ["bob", "carol", "owner"]
    world.gets("carol", ("alice", "work", "to both devices"))


@check
def a_linked_device_has_the_history(world):
    assert world.history("phone", "work") == ["first", "from bob", ALL_SCRIPTS, "to both devices"]
    assert world.history("phone", "carol") == ["between us"]


@check
def a_name_of_a_device_has_any_characters(world):
    rows = json.loads(world.bob.ok("--json", "devices", "list").out)["devices"]
    assert [row["name"] for row in rows if row["device"] == 7] == ["bob's ph\u00f6ne"], rows


@check
def what_one_device_has_read_is_read_on_the_other(world):
    # The phone has shown the text of the team; Bob's first device learns of it with its visit.
    world.visits("phone")
    world.gets("bob")
    assert world.history("bob", "work")[-1] == "to both devices"


@check
def what_was_read_of_a_person_is_read_on_the_other(world):
    world.say("alice", "bob", "for your eyes")
    world.visits("phone")
    world.gets("bob", ("alice", None, "for your eyes"))
    world.visits("bob")
    assert world.status("phone", "unread") == 1
    world.gets("phone")
    assert world.history("phone", "alice") == ["for your eyes"]


@check
def what_one_device_keeps_unread_is_unread_on_the_other(world):
    world.say("alice", "bob", "for later")
    world.visits("bob", "phone")
    assert "for later" in world.bob.ok("inbox", "--keep").out
    world.visits("bob")
    world.gets("phone", ("alice", None, "for later"))
    world.visits("phone")
    world.gets("bob")


@check
def what_one_writes_to_a_person_is_in_the_history_of_the_other_device(world):
    world.say("bob", "alice", "from the first device")
    world.gets("phone")
    assert " me (sent by another device)> from the first device" in world.phone.ok("history", "alice").out
    world.gets("alice", ("bob", None, "from the first device"))


@check
def what_one_writes_to_a_team_is_in_the_history_of_the_other_device(world):
    world.say("phone", "work", "from the phone")
    world.gets("bob")
    assert " me (sent by another device)> from the phone" in world.bob.ok("history", "work").out
    for name in ("alice", "carol"):
        world.gets(name, ("bob", "work", "from the phone"))


@check
def a_person_with_two_devices_counts_once(world):
    world.say("alice", "work", "two persons, three devices")
    assert world.delivery("alice", "work", "two persons, three devices") == ("undelivered", 0, 2)
    for name in ("bob", "phone"):
        world.visits(name, "alice")
        assert world.delivery("alice", "work", "two persons, three devices")[1] == 1
    world.visits("carol", "alice")
    assert world.delivery("alice", "work", "two persons, three devices") == ("delivered", 2, 2)
    for name in ("bob", "carol"):
        world.gets(name, ("alice", "work", "two persons, three devices"))


@check
def a_note_to_oneself_reaches_the_other_device(world):
    world.say("bob", "me", "buy \u6f22\u5b57")
    world.visits("phone")
    assert " me> buy \u6f22\u5b57" in world.phone.ok("history", "me").out
    assert world.status("phone", "unread") == 0


@check
def a_note_to_oneself_has_no_state_of_delivery(world):
    for name in ("bob", "phone"):
        assert world.delivery(name, "me", "buy \u6f22\u5b57") == (None, None, None)
    assert world.status("bob", "undelivered") == 0


@check
def a_note_to_oneself_reaches_no_one_else(world):
    for name in ("alice", "carol"):
        assert world.sync(name)["received"] == 0
        assert world.history(name, "bob").count("buy \u6f22\u5b57") == 0


@check
def a_person_with_one_device_writes_notes(world):
    world.say("carol", "me", "remember")
    assert world.history("carol", "me") == ["remember"]
    assert world.status("carol", "unsent") == 0


# -------------------------------------------------------------------------------- changes of a team


@check
def an_added_member_reads_what_is_said_after(world):
    world.alice.ok("group", "add", "work", "dora")
    world.say("alice", "work", "welcome dora")
    world.gets("dora", ("alice", "work", "welcome dora"))
    for name in ("bob", "carol"):
        world.gets(name, ("alice", "work", "welcome dora"))
        assert world.members(name, "work") == ["bob", "carol", "dora", "owner"]


@check
def an_added_member_reads_nothing_that_was_said_before(world):
    assert world.history("dora", "work") == ["welcome dora"]
    assert world.dora.ok("inbox", "--problems").out == ""


@check
def an_added_member_writes_to_all(world):
    world.say("dora", "work", "thank you")
    for name in ("alice", "bob", "carol"):
        world.gets(name, ("dora", "work", "thank you"))


@check
def an_admin_is_shown_to_all_members(world):
    world.alice.ok("group", "admin", "add", "work", "bob")
    world.visits("alice", "bob", "carol", "dora")
    for name in ("alice", "bob", "dora"):
        rows = world.team(name, "work")["members"]
        assert [row["name"] for row in rows if row["is_admin"]] == ["bob"], rows


@check
def a_member_is_appointed_once(world):
    ran = world.alice.run("group", "admin", "add", "work", "bob")
    fails(ran, 2, "bob is an admin already")
    assert "hint: endseal group show" in ran.err, ran.err
    ran = world.alice.run("group", "admin", "remove", "work", "carol")
    fails(ran, 2, "carol is not an admin")
    assert "hint: endseal group show" in ran.err, ran.err


@check
def an_admin_appoints_no_one_and_does_not_remove_the_owner(world):
    before = world.team("bob", "work")["digest"]
    for words in (("admin", "add", "work", "carol"), ("owner", "work", "bob"), ("remove", "work", "owner")):
        ran = world.bob.run("group", *words)
        fails(ran, 2, "ask the owner to do it")
    assert world.team("bob", "work")["digest"] == before


@check
def a_removed_member_is_informed(world):
    # By an admin, while the owner is away.
    world.bob.ok("group", "remove", "work", "dora")
    world.visits("bob")
    said = world.dora.ok("sync").err
    assert "note: this device is no member of the conversation work any more" in said, said
    assert world.members("dora", "work") == ["bob", "carol", "owner"]


@check
def a_removed_member_is_informed_once(world):
    assert "no member" not in world.dora.ok("sync").err


@check
def a_removed_member_reads_nothing_that_is_said_after(world):
    world.say("carol", "work", "without dora")
    assert world.sync("dora")["received"] == 0
    world.gets("dora")
    assert world.history("dora", "work") == ["welcome dora", "thank you"]
    for name in ("alice", "bob"):
        world.gets(name, ("carol", "work", "without dora"))


@check
def a_removed_member_writes_nothing_more(world):
    ran = world.dora.run("say", "work", "still here")
    fails(ran, 2, "you are no member of work: nothing was written")
    assert "hint: its owner can add you again" in ran.err, ran.err
    fails(world.dora.run("group", "leave", "work"), 2, "hint: ")
    assert world.status("dora", "unsent") == 0


@check
def a_text_that_a_removed_member_wrote_in_time_says_why_it_waits(world):
    world.alice.ok("group", "add", "work", "dora")
    world.visits("alice", "bob", "carol", "dora")
    world.dora.ok("say", "work", "too late")
    world.alice.ok("group", "remove", "work", "dora")
    world.visits("alice")
    said = world.dora.ok("sync").err
    assert "you are no member of work; its texts wait here" in said, said
    assert "1 cannot be sent now" in said, said
    assert "me (not sent, " in world.dora.ok("history", "work").out
    for name in ("alice", "bob", "carol"):
        world.gets(name)


@check
def a_text_that_cannot_be_sent_is_taken_back(world):
    world.dora.ok("unsend", "work", "--all")
    assert world.status("dora", "unsent") == 0
    assert "cannot be sent" not in world.dora.ok("sync").err


@check
def a_text_that_meets_a_removal_at_the_hub_goes_out_in_the_new_epoch(world):
    for number in range(2):
        world.alice.ok("group", "add", "work", "dora")
        world.visits("alice", "bob", "carol", "dora")
        text = f"at the same time {number}"
        world.alice.ok("group", "remove", "work", "dora")
        # Both are on their way at once: the hub takes one of them first.
        home = ("--home", world.folder / "carol")
        visit = subprocess.Popen(
            [world.binary, *home, "say", "--now", "work", text],
            env=clean_environment(),
            stderr=subprocess.PIPE,
        )
        world.visits("alice")
        _, err = visit.communicate(timeout=TIMEOUT)
        assert visit.returncode == 0, err
        # If the hub refused the text for its epoch, it is not sent until it was encrypted again.
        assert world.delivery("carol", "work", text)[0] in ("unsent", "undelivered")
        world.visits("carol")
        for name in ("alice", "bob"):
            world.gets(name, ("carol", "work", text))
        world.visits("carol")
        assert world.delivery("carol", "work", text) == ("delivered", 2, 2)
    # Dora has a text that the hub took before the removal, and nothing that was said after.
    world.say("alice", "work", "after both")
    assert ("alice", "work", "after both") not in world.got("dora")
    for name in ("bob", "carol"):
        world.gets(name, ("alice", "work", "after both"))


@check
def an_admin_who_was_dismissed_changes_nothing(world):
    world.alice.ok("group", "admin", "remove", "work", "bob")
    world.visits("alice", "bob", "carol")
    fails(world.bob.run("group", "remove", "work", "carol"), 2, "only the owner and the admins")
    assert not any(row["is_admin"] for row in world.team("carol", "work")["members"])


@check
def a_new_name_of_the_owner_reaches_the_members(world):
    world.alice.ok("group", "rename", "work", "office")
    world.visits("alice", "bob", "carol")
    for name in ("alice", "bob", "carol"):
        assert world.teams(name) == ["office"]
    assert "without dora" in world.history("bob", "office")
    fails(world.alice.run("say", "work", "x"), 2, "'work' is no contact and no group")


@check
def a_new_name_of_a_member_is_one_of_this_device(world):
    said = world.carol.ok("group", "rename", "office", "the-office").err
    assert "office is the-office on this device" in said, said
    world.say("carol", "the-office", "same team")
    for name in ("alice", "bob"):
        world.gets(name, ("carol", "office", "same team"))


@check
def a_name_in_use_is_no_new_name_of_a_team(world):
    world.alice.ok("group", "create", "other", "bob")
    before = world.team("alice", "office")["digest"]
    fails(world.alice.run("group", "rename", "office", "other"), 2, "hint: choose another name")
    fails(world.alice.run("group", "rename", "office", "bob"), 2, "give the group another name")
    assert world.team("alice", "office")["digest"] == before, "nothing is signed"


# ------------------------------------------------------------------------- leaving, and a new owner


@check
def an_owner_does_not_leave(world):
    ran = world.alice.run("group", "leave", "office")
    fails(ran, 2, "you own this group")
    assert "endseal group owner" in ran.err and "endseal group delete" in ran.err, ran.err
    assert world.members("alice", "office") == ["bob", "carol", "owner"]


@check
def a_team_with_others_in_it_is_not_deleted(world):
    fails(world.alice.run("group", "delete", "office"), 1, "hint: remove the others before")
    fails(world.bob.run("group", "delete", "office"), 1, "endseal group leave")
    assert "office" in world.teams("alice") and "office" in world.teams("bob")


@check
def a_member_leaves_and_the_others_are_informed(world):
    world.carol.ok("say", "the-office", "never sent")
    said = world.carol.ok("group", "leave", "the-office").err
    assert "you have left the-office; 1 text cancelled" in said, said
    world.visits("carol")
    for name in ("alice", "bob"):
        assert "carol has left the group office" in world.people[name].ok("sync").err
    world.gets("alice")


@check
def a_person_who_has_left_reads_nothing_that_is_said_after(world):
    world.say("alice", "office", "without carol")
    world.gets("carol")
    ran = world.carol.run("say", "the-office", "once more")
    assert ran.code in (1, 2) and "left" in ran.err and "hint: " in ran.err, (ran.code, ran.err)
    world.gets("bob", ("alice", "office", "without carol"))


@check
def a_person_who_has_left_is_invited_again(world):
    ran = world.alice.run("group", "add", "office", "carol")
    fails(ran, 2, "carol has left office")
    assert "hint: to invite again: endseal group remove" in ran.err, ran.err
    world.alice.ok("group", "remove", "office", "carol")
    world.visits("alice")
    world.alice.ok("group", "add", "office", "carol")
    world.say("alice", "office", "carol is back")
    world.gets("carol", ("alice", "the-office", "carol is back"))
    world.gets("bob", ("alice", "office", "carol is back"))


@check
def a_team_is_handed_on(world):
    ran = world.alice.run("group", "owner", "office", "owner")
    fails(ran, 2, "owner is the owner already")
    assert "hint: endseal group show" in ran.err, ran.err
    world.alice.ok("group", "owner", "office", "bob")
    world.visits("alice", "bob", "carol")
    assert "owner  you" in world.bob.ok("group", "show", "office").out
    assert "owner  bob" in world.carol.ok("group", "show", "the-office").out
    fails(world.alice.run("group", "rotate", "office"), 2, "only the owner and the admins")


@check
def a_former_owner_leaves_and_the_new_one_changes_the_team(world):
    world.alice.ok("group", "leave", "office")
    world.visits("alice", "bob")
    world.bob.ok("group", "add", "office", "dora")
    assert world.members("bob", "office") == ["bob", "carol", "dora"]
    world.say("bob", "office", "to carol and dora")
    world.gets("carol", ("bob", "the-office", "to carol and dora"))
    assert ("bob", "to carol and dora") in [(name, text) for name, _, text in world.got("dora")]
    world.gets("alice")


@check
def a_team_that_was_left_is_deleted_with_its_texts(world):
    assert "is deleted, with " in world.alice.ok("group", "delete", "office").err
    assert world.teams("alice") == ["other"]
    ran = world.alice.run("say", "office", "x")
    fails(ran, 2, "'office' is no contact and no group")
    assert "hint: endseal contacts add" in ran.err, ran.err
    fails(world.alice.run("history", "office"), 2, "'office' is no contact and no group")


@check
def an_owner_ends_a_team(world):
    world.visits("alice", "bob")
    assert "other" in world.teams("bob")
    world.alice.ok("group", "remove", "other", "bob")
    world.visits("alice")
    assert "no member of the conversation other any more" in world.bob.ok("sync").err
    for name in ("alice", "bob"):
        world.people[name].ok("group", "delete", "other")
        assert "other" not in world.teams(name)
    assert "warning" not in world.bob.ok("sync").err


# ------------------------------------------------------------------------------------- sealed files


@check
def a_file_is_sealed_to_the_members_in_force(world):
    world.alice.ok("group", "create", "files", "bob", "carol")
    world.visits("alice", "bob", "carol")
    world.alice.ok("group", "remove", "files", "carol")
    world.visits("alice", "bob")
    # Bob has got the new roster with the conversation.
    said = world.bob.ok("seal", "-g", "files", "-o", "plan.es", stdin=b"plan").err
    assert "sealed to 2 recipients" in said, said
    assert world.alice.ok("open", "plan.es").out == "plan"
    assert world.bob.ok("open", "plan.es").out == "plan"
    fails(world.carol.run("open", "plan.es"), 1, "not sealed to this identity")


@check
def a_file_is_not_sealed_to_an_unknown_team(world):
    ran = world.alice.run("seal", "-g", "absent", "-o", "absent.es", stdin=b"x")
    fails(ran, 2, "hint: endseal group list")
    assert not (world.folder / "absent.es").exists()


@check
def a_person_without_a_hub_imports_a_roster(world):
    erin = world.new_person("erin")
    world.alice.ok("contacts", "add", "--local", "erin", world.identity("erin"))
    world.alice.ok("group", "add", "files", "erin")
    world.alice.ok("group", "export", "files", "-o", "files.roster")
    ran = erin.run("group", "import", "files.roster")
    fails(ran, 1, "hint: verify the owner's key, then: endseal contacts add")
    erin.ok("contacts", "add", "--local", "alice", world.identity("alice"))
    erin.ok("group", "import", "files.roster")
    assert world.members("erin", "files") == ["bob", "erin", "owner"]


@check
def members_without_a_hub_seal_files_to_a_team(world):
    assert "sealed to 3 recipients" in world.erin.ok("seal", "-g", "files", "-o", "e.es", stdin=b"e").err
    assert world.alice.ok("open", "e.es").out == "e"
    world.alice.ok("seal", "-g", "files", "-o", "a.es", stdin=b"a")
    assert world.erin.ok("open", "a.es").out == "a"
    fails(world.dora.run("open", "a.es"), 1, "not sealed to this identity")


@check
def an_old_roster_is_not_imported(world):
    ran = world.erin.run("group", "import", "files.roster")
    fails(ran, 1, "the roster is known already")
    world.alice.ok("group", "rotate", "files")
    world.alice.ok("group", "export", "files", "-o", "later.roster")
    world.erin.ok("group", "import", "later.roster")
    ran = world.erin.run("group", "import", "files.roster")
    fails(ran, 1, "hint: nothing was changed")
    assert world.team("erin", "files")["digest"] == world.team("alice", "files")["digest"]


@check
def a_roster_that_was_changed_is_not_imported(world):
    roster = bytearray((world.folder / "later.roster").read_bytes())
    roster[len(roster) // 2] ^= 1
    (world.folder / "bad.roster").write_bytes(roster)
    ran = world.dora.run("group", "import", "bad.roster")
    assert ran.code != 0 and "hint: " in ran.err, (ran.code, ran.err)
    assert "files" not in world.teams("dora")
    fails(world.alice.run("group", "export", "files", "-o", "bad.roster"), 2, "--force")


@check
def a_member_without_a_hub_is_named_to_the_writer(world):
    world.alice.ok("say", "files", "who gets it")
    said = world.alice.ok("sync").err
    assert "note: erin has no device at the hub\n" in said and "1 sent" in said, said
    world.gets("bob", ("alice", "files", "who gets it"))


# ------------------------------------------------------------------ blocked and muted, and requests


@check
def a_text_of_a_blocked_person_is_dropped(world):
    world.carol.ok("block", "alice")
    world.say("alice", "carol", "while blocked")
    said = world.carol.ok("sync").err
    assert "1 text of alice, who is blocked, was dropped" in said, said
    world.gets("carol")
    world.visits("alice")
    assert world.delivery("alice", "carol", "while blocked")[0] == "undelivered"


@check
def a_text_to_a_blocked_person_is_refused(world):
    fails(world.carol.run("say", "alice", "no"), 1, "endseal unblock NAME")
    assert world.status("carol", "unsent") == 0


@check
def a_text_of_a_blocked_person_to_a_team_is_shown(world):
    world.alice.ok("group", "add", "files", "carol", "dora")
    world.say("alice", "files", "to dora, too")
    world.gets("carol", ("alice", "files", "to dora, too"))
    for name in ("bob", "dora"):
        assert ("alice", "files", "to dora, too") in world.got(name)


@check
def a_person_is_unblocked(world):
    world.carol.ok("unblock", "alice")
    world.say("alice", "carol", "after it")
    assert ("alice", None, "after it") in world.got("carol")


@check
def a_muted_person_is_in_the_inbox(world):
    world.carol.ok("contacts", "mute", "bob")
    assert world.carol.ok("contacts", "mute").out == "bob\n"
    world.say("bob", "carol", "quietly")
    world.gets("carol", ("bob", None, "quietly"))
    world.carol.ok("contacts", "unmute", "bob")
    assert world.carol.ok("contacts", "mute").out == ""


@check
def a_text_of_an_unknown_person_is_a_request(world):
    world.dora.ok("contacts", "remove", "carol")
    world.say("carol", "dora", "who is it")
    world.gets("dora")
    rows = world.dora.ok("--json", "inbox", "--requests").lines()
    assert [row["text"] for row in rows] == ["who is it"], rows
    world.dora.ok("contacts", "add", "--local", "carol", world.identity("carol"))
    world.gets("dora", ("carol", None, "who is it"))


# ------------------------------------------------------------------------------------ a lost device


@check
def a_revoked_device_gets_nothing_more(world):
    world.bob.ok("devices", "revoke", "7")
    world.say("alice", "bob", "the door code")
    world.say("alice", "files", "the door code of the team")
    fails(world.phone.run("sync"), 1, "this device was revoked")
    assert "door code" not in world.phone.ok("inbox").out
    team = ("alice", "files", "the door code of the team")
    world.gets("bob", ("alice", None, "the door code"), team)


@check
def a_revoked_device_writes_nothing_more(world):
    fails(world.phone.run("say", "--now", "alice", "from the thief"), 5, "revoked")
    world.gets("alice")
    assert "from the thief" not in world.history("alice", "bob")


@check
def a_revoked_device_is_told_what_to_do(world):
    assert "hint: " in world.phone.run("sync").err
    assert "endseal devices renew" in world.phone.run("sync").err


# --------------------------------------------------------------------------------------- forty days


def with_clock(world, name, **variables):
    """The program with another clock. The program faketime itself would take the signals."""
    library = subprocess.check_output(["faketime", "-m", "-f", "+0", "printenv", "LD_PRELOAD"])
    variables = {"LD_PRELOAD": library.decode().strip(), **variables}
    words = " ".join(f"{variable}='{value}'" for variable, value in variables.items())
    script = world.folder / f"{name}.sh"
    script.write_text(f"#!/bin/sh\nexec env {words} '{world.binary}' \"$@\"\n")
    script.chmod(0o755)
    return script


def restart_with(world, program):
    world.hub.stop()
    world.hub = Hub(program, world.folder, NoKiller(), world.hub.address)


@check
def a_hub_deletes_what_waits_for_forty_days(world):
    world.say("alice", "carol", "to carol, who is away")
    world.say("alice", "files", "to the team, without carol")
    world.gets("bob", ("alice", "files", "to the team, without carol"))
    # Dora is one of those who have left the team when Carol comes back.
    world.alice.ok("group", "remove", "files", "dora")
    world.visits("alice", "bob", "dora")

    def waiting():
        return json.loads(world.owner.ok("--json", "hub", "stats").out)["waiting"]

    assert waiting() > 0
    # A hub that was off for forty days would keep all this: its clock goes on while it runs.
    clock = world.folder / "clock"
    clock.write_text("+0\n")
    running = {"FAKETIME_TIMESTAMP_FILE": clock, "FAKETIME_NO_CACHE": "1"}
    restart_with(world, with_clock(world, "running", **running))
    clock.write_text("+40d\n")
    # It looks at its clock when it has something to do: it refuses a revoked device.
    for _ in range(20):
        world.phone.run("sync", "--once")
        if waiting() == 0:
            break
    assert waiting() == 0
    late = with_clock(world, "late", FAKETIME="+40d")
    restart_with(world, late)
    for person in (world.owner, *world.people.values()):
        person.binary = late


@check
def a_team_goes_on_while_a_member_is_away(world):
    world.say("alice", "files", "on day 40")
    world.gets("bob", ("alice", "files", "on day 40"))


@check
def a_member_who_was_away_is_told_what_was_lost(world):
    said = world.carol.ok("sync").err
    assert "messages waited too long at the hub, and are lost" in said, said
    assert " gap-expired " in world.carol.ok("inbox", "--problems").out


@check
def a_member_who_was_away_gets_what_was_not_confirmed(world):
    world.visits("alice", "carol", "alice")
    texts = world.got("carol")
    for text in (
        ("alice", None, "to carol, who is away"),
        ("alice", "files", "to the team, without carol"),
        ("alice", "files", "on day 40"),
    ):
        assert texts.count(text) == 1, texts


@check
def a_member_who_was_away_is_heard_again(world):
    world.say("carol", "files", "back again")
    for name in ("alice", "bob"):
        world.gets(name, ("carol", "files", "back again"))
    world.visits("carol")
    assert world.delivery("carol", "files", "back again") == ("delivered", 2, 2)


@check
def who_was_removed_meanwhile_reads_nothing(world):
    world.got("dora")
    texts = world.history("dora", "files")
    assert "to dora, too" in texts, texts
    assert "on day 40" not in texts and "back again" not in texts, texts


@check
def all_members_have_the_same_team_at_the_end(world):
    teams = [world.team(name, "files") for name in ("alice", "bob", "carol")]
    assert len({team["digest"] for team in teams}) == 1, teams
    assert world.status("alice", "unsent") == 0
