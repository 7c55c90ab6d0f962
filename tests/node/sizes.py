"""Figures of a hub for docs/operate.md: bytes of devices, texts and connections, and texts a second.

The database has its size after SQLite's log was written back, and with PostgreSQL tables and indexes.
"""

import json
import os
import re
import sqlite3
import subprocess
import time

from attack import World as Attacked
from drain import memory
from processes import Hub, NoKiller, Person, clean_environment, engine

# Devices, texts, and pairs of members who send without a pause.
DEVICES, TEXTS, PAIRS = 20, 5_000, (1, 4, 16)
IDLE, SECONDS = (1_000, 5_000), 6
TEXT = "a text of one hundred characters, " * 3


def settled(folder):
    """The size of the database without pages that are free, while no hub runs."""
    if engine().name == "postgres":
        engine().server.sql("VACUUM FULL", engine().database(folder))
        return engine().size(folder)
    with sqlite3.connect(engine().file(folder)) as connection:
        number = lambda name: connection.execute(f"PRAGMA {name}").fetchone()[0]  # noqa: E731
        return (number("page_count") - number("freelist_count")) * number("page_size")


def sizes(binary, folder):
    folder.mkdir()
    hub = Hub(binary, folder, NoKiller(), words=("--rate", "1000000"))
    owner = Person(binary, folder, "owner", NoKiller())
    people = [Person(binary, folder, f"person{number}", NoKiller()) for number in range(DEVICES + 2)]
    try:
        invitation = folder / "invitation"
        words = ("--at", hub.address, "--uses", str(len(people)), "-o", invitation)
        owner.ok("hub", "invite", "all", *words)
        for person in people:
            person.ok("init", "--no-passphrase")

        def stopped():
            hub.stop()
            return settled(folder)

        def join(some):
            for person in some:
                person.ok("join", invitation)
                person.ok("sync")

        join(people[:2])
        before = stopped()
        hub = Hub(binary, folder, NoKiller(), hub.address, hub.words)
        join(people[2:])
        after = stopped()
        print(f"a device: {(after - before) / DEVICES / 1_024:.0f} KiB of the database")
        if engine().name == "postgres":
            rows = "SELECT count(*), avg(length(bundle))::int FROM prekey"
            print(f"  prekeys and their bytes: {engine().server.sql(rows, engine().database(folder))[0]}")
        hub = Hub(binary, folder, NoKiller(), hub.address, hub.words)
        alice, bob = people[:2]
        for person, other in ((alice, bob), (bob, alice)):
            person.ok("contacts", "add", other.name, other.ok("id", "show").out.strip())
        # The window of the sender is full from then on.
        full = "".join(f"{number}\n" for number in range(1_100)).encode()
        alice.ok("say", bob.name, "-", "--lines", stdin=full)
        for person in (alice, bob, alice):
            person.ok("sync")
        before = stopped()
        hub = Hub(binary, folder, NoKiller(), hub.address, hub.words)
        stdin = "".join(f"{TEXT[:100]}\n" for _ in range(TEXTS)).encode()
        alice.ok("say", bob.name, "-", "--lines", stdin=stdin)
        started = time.monotonic()
        sent = json.loads(alice.ok("--json", "sync").out)["sent"]
        seconds = time.monotonic() - started
        assert sent == TEXTS, sent
        after = stopped()
        each = (after - before) / TEXTS
        print(f"a text of 100 characters that waits: {each:.0f} bytes of the database")
        print(f"{TEXTS / seconds:.0f} texts a second from one node")
        hub = Hub(binary, folder, NoKiller(), hub.address, hub.words)
        started = time.monotonic()
        bob.ok("sync")
        print(f"{TEXTS / (time.monotonic() - started):.0f} texts a second to one node")
    finally:
        if not hub.stopping:
            hub.kill()


def processor(pid):
    """Seconds that a process has used."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def server_processor():
    """Seconds that PostgreSQL's processes have used, also those that ended."""
    if engine().name != "postgres":
        return 0
    parent = engine().server.process.pid
    total = 0
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(name) == parent or int(fields[1]) == parent:
            numbers = fields[11:15] if int(name) == parent else fields[11:13]
            total += sum(map(int, numbers)) / os.sysconf("SC_CLK_TCK")
    return total


def idle(binary, attacker, folder, count):
    world = Attacked(binary, attacker, folder)
    try:
        world.latency(2)
        time.sleep(0.5)
        pids = [one.process.pid for one in world.hub.servings]
        before = sum(memory(pid)[0] for pid in pids)
        # The first seconds are those of the handshakes.
        process = world.begin("idle", 25, str(count))
        line = process.stdout.readline().strip()
        time.sleep(4)
        held = sum(memory(pid)[0] for pid in pids) - before
        connected = world.hub.metric('connections{peer="registered"}')
        assert connected >= count, connected
        used, datagrams = sum(map(processor, pids)), received()
        time.sleep(15)
        used, datagrams = sum(map(processor, pids)) - used, received() - datagrams
        print(
            f"{line}: {held / count:.1f} KiB each, {used / 15 * 1e6 / count:.0f} us of a core each second, "
            f"{datagrams / 15 / count:.2f} datagrams each second (both ways, all of this machine)"
        )
        process.kill()
        process.communicate()
    finally:
        world.close()


def received():
    """Datagrams that this machine has received."""
    with open("/proc/net/snmp") as file:
        head, row = [line.split()[1:] for line in file if line.startswith("Udp:")]
    return int(row[head.index("InDatagrams")])


def rates(binary, attacker, folder, pairs):
    world = Attacked(binary, attacker, folder, "--rate", "1000000")
    try:
        pids = [one.process.pid for one in world.hub.servings]
        before = sum(map(processor, pids)), server_processor()
        out, err = world.begin("pairs", SECONDS, str(pairs)).communicate(timeout=60)
        after = sum(map(processor, pids)), server_processor()
        assert " confirmed, " in out, err
        confirmed, got = map(int, re.findall(r"\d+", out))
        hub, server = (1e6 * (b - a) / confirmed for a, b in zip(before, after))
        print(
            f"{pairs} pairs: {confirmed / SECONDS:.0f} texts a second confirmed, {got / SECONDS:.0f} "
            f"received; {hub:.0f} us of a core each in the hub, {server:.0f} us in the server"
        )
        world.samples.append(0)
        print(f"  memory of a process: {max(world.samples) / 1_024:.0f} MiB")
    finally:
        world.close()


def run(binary, folder):
    attacker = os.environ.get("ATTACKER") or binary.parent / "examples" / "attacker"
    version = subprocess.run([binary, "--version"], env=clean_environment(), capture_output=True, text=True)
    print(
        f"{version.stdout.strip()}, {engine().name}, {engine().processes} processes, {os.cpu_count()} cores"
    )
    sizes(binary, folder / "sizes")
    for count in IDLE:
        idle(binary, attacker, folder / f"idle{count}", count)
    for pairs in PAIRS:
        rates(binary, attacker, folder / f"pairs{pairs}", pairs)
