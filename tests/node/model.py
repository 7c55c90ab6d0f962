"""A randomised model of people, their devices, a team, kills, copies, restorations, links and expiry.

Carol joins the team, is removed and leaves. She reads nothing that a device said after it had removed
her, or after it knew that she had left. At the end all devices have the same roster; if not, because
the hub deleted changes, a problem says so, and what it asks of the owner helps.

Each run is a random sequence of steps with a seed. At its end everybody visits the hub until
nothing moves. Then every text was shown once on some device of its receiver, also if the hub
deleted it on the way, and on no device twice; or it had arrived, and its directory was lost before
it was shown. A device that its receiver has had since before the text was said, and that did not
show it, says that the hub deleted texts.
"""

import json
import random
import shutil
import time
import traceback
from concurrent.futures import ThreadPoolExecutor, as_completed

from links import Link
from lives import Life

# Runs of steps, after which all visit.
STEPS = 24
# Visits of everybody at the end: sending again needs some.
SETTLING = 5
NAMES = ("alice", "bob")
TEAM = "team"
GUEST = "carol"
# The shortest time for which a hub keeps frames, and a pause after which all of them are older.
RETENTION, PAUSE = "1s", 1.1


class Device:
    """A state directory of a person, and how often its content was exchanged for another."""

    def __init__(self, person, name):
        self.person, self.name = person, name
        self.lineage, self.copy, self.is_restored = 0, None, False
        # A change of the team that the hub may not have, and what this device knows of Carol.
        self.is_changed, self.knows_departure = False, False


class Run(Life):
    def __init__(self, binary, folder, seed):
        super().__init__(binary, folder)
        self.random = random.Random(seed)
        self.devices, self.backups, self.log = {}, {}, []
        # A text: its sender, with device and lineage, and the devices of its receiver then.
        self.texts, self.reads, self.lineages = {}, [], 0
        # Texts that were confirmed by a directory, and lost with it before a person saw them.
        self.lost = set()
        self.friends()
        self.people["alice"].ok("group", "create", TEAM, "bob")
        for name in NAMES:
            self.devices[name] = [Device(self.people[name], name)]
        self.address_of_hub = self.address()
        self.guest = self.person(GUEST)
        self.devices[GUEST] = [Device(self.guest, GUEST)]
        # Texts that Carol must not read.
        self.without_guest, self.read_by_guest = set(), []
        # True from an addition on, of which other devices learn later, to the next removal.
        self.is_invited = False

    def play(self):
        steps = [
            (self.step_say, 10),
            (self.step_sync, 10),
            (self.step_kill, 3),
            (self.step_copy, 2),
            (self.step_put_back, 2),
            (self.step_backup, 2),
            (self.step_restore, 1),
            (self.step_recover, 1),
            (self.step_link, 1),
            (self.step_revoke, 1),
            (self.step_hub, 1),
            (self.step_expire, 2),
            (self.step_add, 2),
            (self.step_remove, 1),
            (self.step_leave, 1),
            (self.step_rotate, 1),
            (self.step_guest, 2),
        ]
        for _ in range(STEPS):
            step = self.random.choices(*zip(*steps))[0]
            self.note(step.__name__[5:])
            step(self.random.choice(NAMES))
        for _ in range(SETTLING):
            for name in (*NAMES, GUEST):
                for device in list(self.devices[name]):
                    self.visit(name, device)

    def note(self, what):
        self.log.append(what)

    def device(self, name):
        return self.random.choice(self.devices[name])

    def new_lineage(self, device):
        self.lineages += 1
        device.lineage, device.is_restored = self.lineages, False
        device.is_changed, device.knows_departure = True, False

    def other(self, name):
        return NAMES[1 - NAMES.index(name)]

    # ---------------------------------------------------------------------------------- steps

    def step_say(self, name):
        device, text = self.device(name), f"{len(self.texts)} by {name}"
        to = self.other(name)
        # A device that came without a backup learns of the team with its conversation.
        if self.random.random() < 0.4 and self.has_team(device):
            to = TEAM
        self.note(f"{device.name} says {text} to {to}")
        device.person.ok("say", to, text)
        if to == TEAM and not self.has_guest(device) and not self.is_invited:
            self.without_guest.add(text)
        receivers = [(it, it.lineage) for it in self.devices[self.other(name)]]
        self.texts[text] = (name, device, device.lineage, receivers, to)

    def has_team(self, device):
        groups = json.loads(device.person.ok("--json", "group", "list").out)["groups"]
        return any(group["group"] == TEAM for group in groups)

    def members(self, device):
        shown = device.person.ok("--json", "group", "show", TEAM).out
        return [row["name"] for row in json.loads(shown)["members"]]

    def has_guest(self, device):
        """True unless this device knows that the hub has taken the change without Carol."""
        if GUEST in self.members(device):
            return not device.knows_departure
        return device.is_changed

    def step_add(self, _):
        self.change("add")

    def step_remove(self, _):
        self.change("remove")

    def step_rotate(self, _):
        self.change("rotate")

    def change(self, command):
        """Alice changes the team, and visits the hub or does so later."""
        device = self.device("alice")
        if not self.has_team(device):
            return
        if command == "add":
            # What waits may be sent to her as a member again.
            self.visit(GUEST, self.devices[GUEST][0])
            self.check_guest()
            self.without_guest.clear()
        names = [] if command == "rotate" else [GUEST]
        ran = device.person.run("group", command, TEAM, *names)
        self.note(f"{device.name} changes the team: {command}, {ran.code}")
        assert ran.code in (0, 2), ran.err
        if ran.code == 0:
            device.is_changed = True
            if command != "rotate":
                self.is_invited = command == "add"
        if self.random.random() < 0.7:
            self.visit("alice", device)

    def check_guest(self):
        read = {text for text, name, _ in self.reads if name == GUEST}
        self.read_by_guest += sorted(self.without_guest & read)

    def step_leave(self, _):
        if self.has_team(self.devices[GUEST][0]):
            ran = self.guest.run("group", "leave", TEAM)
            self.note(f"{GUEST} leaves: {ran.code}")
            if ran.code == 0:
                self.is_invited = False

    def step_guest(self, _):
        self.visit(GUEST, self.devices[GUEST][0])

    def step_sync(self, name):
        self.visit(name, self.device(name))

    def step_kill(self, name):
        device = self.device(name)
        after = self.random.choice((0.01, 0.03, 0.06, 0.1, 0.2))
        self.note(f"{device.name} is killed after {after}")
        device.person.killed_after(after, "sync")

    def step_copy(self, name):
        device = self.device(name)
        device.copy = f"{device.name}.copy{len(self.log)}"
        self.copy(device.name, device.copy)

    def step_put_back(self, name):
        device = self.device(name)
        if device.copy:
            self.note(f"{device.name} is put back")
            self.lose(device)
            shutil.rmtree(self.folder / device.name)
            shutil.copytree(self.folder / device.copy, self.folder / device.name)
            self.new_lineage(device)

    def step_backup(self, name):
        device, file = self.device(name), self.folder / f"{name}.{len(self.log)}.backup"
        device.person.ok("backup", file)
        self.backups[name] = file

    def step_restore(self, name):
        if name in self.backups:
            self.come_back(name, "restore", self.backups[name])

    def step_recover(self, name):
        self.come_back(name, "recover", self.address_of_hub)
        other = self.other(name)
        self.knows(self.people[name], other, self.people[other])

    def come_back(self, name, command, argument):
        """All devices of a person are lost. A new one is made of the words."""
        self.note(f"{name} loses all and has {command}")
        for device in self.devices[name]:
            self.lose(device)
            shutil.rmtree(self.folder / device.name)
        device = Device(self.people[name], name)
        self.new_lineage(device)
        self.devices[name] = [device]
        words = self.words[name]
        ran = device.person.run(
            command, "--no-passphrase", "--revoke-others", argument, stdin=words
        )
        assert ran.code == 0, f"{name} is locked out: {ran.err}"

    def step_link(self, name):
        if len(self.devices[name]) == 3:
            return
        old = self.device(name)
        # A directory that went back must not send, and cannot put the history.
        self.visit(name, old)
        new = f"{name}{len(self.log)}"
        self.note(f"{old.name} links {new}")
        link = Link(self, new, self.address_of_hub)
        ran = old.person.run("devices", "add", "--yes", "-", stdin=link.text)
        assert ran.code == 0, ran.err
        code, err = link.ended()
        assert code == 0, err
        device = Device(link.person, new)
        self.new_lineage(device)
        self.devices[name].append(device)

    def step_revoke(self, name):
        if len(self.devices[name]) < 2:
            return
        by, lost = self.random.sample(self.devices[name], 2)
        if lost.name == name:
            return
        self.note(f"{by.name} revokes {lost.name}")
        rows = json.loads(lost.person.ok("--json", "devices", "list").out)["devices"]
        number = next((row["device"] for row in rows if row["is_this"]), None)
        ran = by.person.run("devices", "revoke", str(number))
        assert ran.code == 0 or "you have no device" in ran.err, ran.err
        if ran.code == 0:
            self.lose(lost)
            self.devices[name].remove(lost)

    def lose(self, device):
        """A directory is about to be lost, with the texts that nobody has read in it."""
        rows = device.person.ok("--json", "inbox", "--keep").lines()
        self.lost.update(row["text"] for row in rows)

    def step_hub(self, _):
        self.note("the hub starts again")
        self.restart_hub()

    def step_expire(self, _):
        """The hub deletes all frames that wait, as it does when it starts."""
        self.note("the hub deletes what waits")
        time.sleep(PAUSE)
        self.restart_hub(words=("--retention", RETENTION))

    # ------------------------------------------------------------------------------- visits

    def visit(self, name, device):
        ran = device.person.run("--json", "sync")
        if ran.code == 1 and "earlier copy" in ran.err:
            self.note(f"{device.name} is renewed")
            renewed = device.person.run("devices", "renew")
            assert renewed.code == 0, renewed.err
            ran = device.person.run("--json", "sync")
        if ran.code == 1 and "revoked" in ran.err:
            # A copy of a device that was renewed since comes back in the same way.
            self.note(f"{device.name} was revoked and is renewed")
            renewed = device.person.run("devices", "renew")
            assert renewed.code == 0, renewed.err
            ran = device.person.run("--json", "sync")
        assert ran.code == 0, f"{device.name}: {ran.err}"
        device.is_changed = False
        if name != GUEST and self.has_team(device):
            shown = device.person.ok("group", "show", TEAM).out
            device.knows_departure = "has left" in shown
        for row in device.person.ok("--json", "inbox").lines():
            self.reads.append((row["text"], device.name, device.lineage))

    # ------------------------------------------------------------------------------ outcome

    def faults(self):
        self.check_guest()
        found = [f"'{text}' is read by {GUEST}, who was no member" for text in self.read_by_guest]
        if len(self.rosters()) > 1:
            if not any(self.shows(device, "group") for device in self.all_devices()):
                found.append(f"the team is split in silence: {self.rosters()}")
            self.unite()
        if len(self.rosters()) > 1:
            found.append(f"the team is split: {self.rosters()}")
        for text, (sender, device, lineage, receivers, to) in self.texts.items():
            reads = [read for read in self.reads if read[0] == text]
            if len(set(reads)) < len(reads):
                found.append(f"'{text}' is shown twice: {reads}")
            guests = [read for read in reads if read[1] == GUEST]
            if len(reads) > len(guests):
                for receiver, before in receivers:
                    is_entitled = self.is_alive(self.other(sender), receiver, before)
                    # Its writer was revoked before this device came, and says so.
                    if not self.is_alive(sender, device, lineage) and self.shows(receiver, "record"):
                        continue
                    if is_entitled and (text, receiver.name, before) not in reads:
                        # What another device of the person has shown is read here, too.
                        rows = receiver.person.ok("--json", "history", to if to == TEAM else sender)
                        is_read = any(row["text"] == text for row in rows.lines())
                        if not is_read and not self.shows_expiry(receiver):
                            found.append(f"'{text}' is lost in silence on {receiver.name}")
                continue
            if not self.is_alive(sender, device, lineage):
                continue
            rows = device.person.ok("--json", "history", to).lines()
            shown = [row["delivery"] for row in rows if row["text"] == text]
            if shown == ["delivered"] and text in self.lost:
                continue
            if shown == ["delivered"]:
                found.append(f"'{text}' is shown as delivered, and nobody has read it")
            elif not shown:
                found.append(f"'{text}' is gone")
            elif shown[0] not in ("unsent", "undelivered"):
                found.append(f"'{text}' is {shown}, and nobody has read it")
            else:
                found.append(f"'{text}' still waits: {shown}")
        return found

    def all_devices(self):
        return [device for name in NAMES for device in self.devices[name]]

    def rosters(self):
        """Epochs and digests of the rosters that the devices of members have."""
        shown = [self.roster(device) for device in filter(self.has_team, self.all_devices())]
        return {(it["epoch"], it["digest"]) for it in shown}

    def roster(self, device):
        return json.loads(device.person.ok("--json", "group", "show", TEAM).out)

    def unite(self):
        """The hub deleted changes that were made at once: the owner does what the problem says."""
        owners = filter(self.has_team, self.devices["alice"])
        latest = max(owners, key=lambda device: self.roster(device)["epoch"])
        for _ in range(2):
            latest.person.ok("group", "rotate", TEAM)
            for _ in range(2):
                self.visit("alice", latest)
                for name in (*NAMES, GUEST):
                    for device in list(self.devices[name]):
                        self.visit(name, device)

    def is_alive(self, name, device, lineage):
        """True if a person still has a device, with the directory that it had."""
        return device in self.devices[name] and device.lineage == lineage

    def shows_expiry(self, device):
        return self.shows(device, "gap-expired")

    def shows(self, device, problem):
        problems = json.loads(device.person.ok("--json", "inbox", "--problems").out)["problems"]
        return any(row["class"] == problem for row in problems)


def run(binary, folder, count, seed=None, jobs=1):
    """Runs with the seeds from `seed` on, which is chosen by the clock if it is not given."""
    first = int(time.time()) if seed is None else seed
    failed = texts = expired = 0
    with ThreadPoolExecutor(jobs) as pool:
        seeds = range(first, first + count)
        for ended in as_completed([pool.submit(play, binary, folder, seed) for seed in seeds]):
            said, expiries, has_failed, report = ended.result()
            print(report, flush=True)
            texts, expired, failed = texts + said, expired + expiries, failed + has_failed
    print(
        f"{count} runs from seed {first}, {texts} texts, {expired} times the hub deleted what waited; "
        f"{count - failed} passed, {failed} failed"
    )
    return failed


def play(binary, folder, seed):
    """Plays one run: its texts, its expiries, true if it failed, and a report."""
    case = None
    try:
        case = Run(binary, folder / f"run{seed}", seed)
        case.play()
        faults = case.faults()
        assert not faults, faults
        has_failed, report = False, f"seed {seed}: passed, {len(case.texts)} texts"
    except Exception:
        log = "; ".join(case.log) if case else ""
        has_failed = True
        report = f"{traceback.format_exc()}seed {seed} FAILED after: {log}"
    finally:
        if case:
            case.hub.stop()
            shutil.rmtree(case.folder)
    return len(case.texts) if case else 0, case.log.count("expire") if case else 0, has_failed, report
