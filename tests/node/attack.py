"""Attacks by members and by unregistered peers: what the hub holds, and what an honest member beside
them notices."""

import os
import subprocess
import threading
import time

from drain import memory
from processes import Hub, NoKiller, Person, clean_environment, engine

# Limit on the memory of the shipped unit, in MiB.
MEMORY = 512
# An honest member's median put beside an attack may be this much longer than without, or this many
# milliseconds: on a machine with two cores the attackers take one of them.
SLOWER, SLOW_MS = 5, 25
SECONDS = 8

# Name, kinds of the attackers that run at the same time, each with further arguments.
ATTACKS = (
    ("subscriptions that do not read, one device", [("hold",)]),
    ("subscriptions that do not read, two devices", [("hold",), ("hold",)]),
    ("half frames, two devices", [("partial",), ("partial",)]),
    ("64 unregistered peers", [("unregistered",)]),
    ("64 unregistered peers and one device", [("unregistered",), ("hold",)]),
    ("bundles that replace others", [("publish",)]),
    ("fallback bundles", [("fallback",)]),
    ("the own record", [("record",)]),
    ("hello", [("hello",)]),
    ("find", [("find",)]),
    ("take", [("take",)]),
    ("long frames to itself", [("self",)]),
)


class World:
    def __init__(self, binary, attacker, folder, *words):
        self.binary, self.attacker, self.folder = binary, attacker, folder
        folder.mkdir(exist_ok=True)
        self.hub = Hub(binary, folder, NoKiller(), words=("--metrics", "127.0.0.1:0", *words))
        self.owner = Person(binary, folder, "owner", NoKiller())
        self.invitation = folder / "invitation"
        words = ("--at", self.hub.address, "--uses", "1000", "-o", self.invitation)
        self.owner.ok("hub", "invite", "all", *words)
        self.samples, self.is_over = [], False
        self.sampler = threading.Thread(target=self.sample, daemon=True)
        self.sampler.start()

    def sample(self):
        while not self.is_over:
            found = [memory(one.process.pid) for one in self.hub.servings]
            if any(found):
                self.samples.append(max(it[0] for it in found if it))
            time.sleep(0.05)

    def begin(self, kind, seconds, *words):
        command = [self.attacker, self.invitation, kind, str(seconds), *words]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, env=clean_environment(), text=True, **streams)

    def latency(self, seconds):
        """Median and P99 of an honest member's puts in milliseconds."""
        out, err = self.begin("latency", seconds).communicate(timeout=10 * seconds)
        line = out.splitlines()[-1] if out else ""
        assert line.count(" ") == 2, f"the honest member: {out} {err}"
        median, most, _ = map(int, line.split())
        return median / 1_000, most / 1_000

    def disk(self):
        return engine().size(self.folder)

    def close(self):
        self.is_over = True
        self.sampler.join()
        self.hub.stop()


def report(name, world, idle, beside, after):
    most = max(world.samples) / 1_024
    disk = world.disk() / (1 << 20)
    is_alive = world.hub.starts == 1
    bound = max(SLOWER * idle[0], SLOW_MS)
    faults = []
    if most > MEMORY * 0.8:
        faults.append(f"{most:.0f} MiB of memory")
    if beside[0] > bound:
        faults.append(f"a put takes {beside[0]:.1f} ms")
    if not is_alive:
        faults.append("the hub died")
    recovered = is_alive and after[0] <= bound
    print(
        f"{name}: {most:.0f} MiB, {disk:.0f} MiB of disk; puts {idle[0]:.1f}/{idle[1]:.1f} ms, "
        f"beside {beside[0]:.1f}/{beside[1]:.1f}, after {after[0]:.1f}/{after[1]:.1f}; "
        f"{'recovered' if recovered else 'NOT RECOVERED'}{''.join('; ' + it for it in faults)}",
        flush=True,
    )
    return bool(faults) or not recovered


def attack(binary, attacker, folder, name, kinds):
    world = World(binary, attacker, folder)
    try:
        idle = world.latency(3)
        running = [world.begin(kind, SECONDS, *words) for kind, *words in kinds]
        time.sleep(2)
        beside = world.latency(SECONDS - 4)
        for process in running:
            out, err = process.communicate(timeout=60)
            for line in (out + err).splitlines():
                print(f"  {line}")
        after = world.latency(2)
        return report(name, world, idle, beside, after)
    finally:
        world.close()


def full_disk(binary, attacker, folder):
    """Two members fill the disk of a hub. Others still write a little, and receive."""
    if engine().name == "postgres":
        # The disk is the server's, of which a hub knows nothing: its limit is an option.
        return filled(binary, attacker, folder, "--capacity", "48")
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m,mode=700", "tmpfs", folder], check=True)
    try:
        return filled(binary, attacker, folder, "--reserve", "48")
    finally:
        subprocess.run(["umount", folder], check=True)


def filled(binary, attacker, folder, *words):
    world = World(binary, attacker, folder, "--rate", "100000", *words)
    try:
        idle = world.latency(2)
        fillers = [world.begin("self", 4) for _ in range(2)]
        for process in fillers:
            out, err = process.communicate(timeout=60)
            print(f"  {(out + err).strip()}")
        beside = world.latency(2)
        room = world.hub.metric("room_bytes")
        print(f"  room for {room / (1 << 20):.1f} MiB more")
        return report("a full disk", world, idle, beside, world.latency(2))
    finally:
        world.close()


def idle_connections(binary, attacker, folder, count):
    world = World(binary, attacker, folder)
    try:
        idle = world.latency(2)
        time.sleep(0.5)
        before = world.samples[-1]
        process = world.begin("idle", 12, str(count))
        line = process.stdout.readline().strip()
        time.sleep(2)
        held = world.samples[-1] - before
        print(f"  {line}: {held / count:.1f} KiB each")
        beside = world.latency(4)
        process.kill()
        process.communicate()
        return report(f"{count} idle connections", world, idle, beside, world.latency(2))
    finally:
        world.close()


def killed_hub(binary, attacker, folder):
    """Nodes notice within 3 s that their hub was killed and started again."""
    world = World(binary, attacker, folder)
    try:
        person = Person(binary, folder, "alice", NoKiller())
        person.ok("init", "--no-passphrase")
        invitation = folder / "alice.invite"
        world.owner.ok("hub", "invite", "alice", "--at", world.hub.address, "-o", invitation)
        person.ok("join", invitation)
        command = [binary, "--home", folder / "alice", "up"]
        up = subprocess.Popen(command, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            seconds = []
            for _ in range(3):
                wait_for(lambda: world.hub.metric('connections{peer="registered"}') == 1, 30)
                world.hub.crash()
                started = time.monotonic()
                wait_for(lambda: reachable(world) and world.hub.metric('connections{peer="registered"}') == 1, 30)
                seconds.append(time.monotonic() - started)
        finally:
            up.kill()
            up.communicate()
        print(f"a killed hub: nodes are back after {', '.join(f'{it:.1f}' for it in seconds)} s")
        return max(seconds) > 4
    finally:
        world.close()


def reachable(world):
    try:
        world.hub.page()
        return True
    except OSError:
        return False


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def run(binary, folder, only=None):
    attacker = os.environ.get("ATTACKER") or binary.parent / "examples" / "attacker"
    assert os.path.exists(attacker), f"build it: cargo build -p endseal-hub --example attacker ({attacker})"
    cases = [(name, lambda place, name=name, kinds=kinds: attack(binary, attacker, place, name, kinds)) for name, kinds in ATTACKS]
    cases += [
        ("a full disk", lambda place: full_disk(binary, attacker, place)),
        ("idle connections", lambda place: idle_connections(binary, attacker, place, 1_000)),
        ("a killed hub", lambda place: killed_hub(binary, attacker, place)),
    ]
    failed = 0
    for number, (name, case) in enumerate(cases):
        if only and only not in name:
            continue
        failed += bool(case(folder / str(number)))
    print(f"{len(cases)} attacks, {failed} not withstood")
    return failed
