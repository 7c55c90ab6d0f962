"""A hub moves from SQLite to PostgreSQL and back, while people write.

Texts wait with the people while the hub does not run. Nothing is lost, nothing comes twice, what waits
at the hub moves with it, and no hub serves from a database that was left.
"""

import json
import subprocess
import time

from engines import Postgres, Sqlite
from load import WORDS, Load
from processes import TIMEOUT, Hub, NoKiller, clean_environment, engine, use

# Pairs of people who visit the hub, and of people who stay connected: 20 nodes.
VISITORS, CONNECTED = 4, 6
# Seconds of load between two moves, and after which a move is killed before it is done in full.
PAUSE, KILLS = 8, (0.02, 0.1, 0.3)


def stats(load):
    return json.loads(load.owner.ok("--json", "hub", "stats").out)


class Mover:
    def __init__(self, load, sqlite, postgres):
        self.load, self.sqlite, self.postgres = load, sqlite, postgres
        self.moves = []

    def move(self, to, source, target, left):
        """Moves the database, and starts the hub there. `left` are words that serve from the old one."""
        load = self.load
        load.hub.stop()
        before = stats(load)
        started = time.monotonic()
        for seconds in KILLS:
            load.owner.killed_after(seconds, "hub", "migrate", source, target)
        ran = load.owner.run("hub", "migrate", source, target)
        assert ran.code == 0, ran.err
        seconds = time.monotonic() - started
        # The same command once more has no effect.
        load.owner.ok("hub", "migrate", source, target)
        serve = [load.binary, "--home", load.folder / "owner", "hub", "serve"]
        refused = subprocess.run(
            [*serve, "--listen", "127.0.0.1:0", *left],
            env=clean_environment(),
            capture_output=True,
            timeout=TIMEOUT,
        )
        assert refused.returncode != 0 and b"moved" in refused.stderr, refused
        use(to)
        after = stats(load)
        for name in ("people", "devices", "waiting"):
            assert before.get(name) == after.get(name), (before, after)
        assert load.owner.ok("hub", "check").out == "the database is whole\n"
        load.hub = Hub(load.binary, load.folder, NoKiller(), load.hub.address, WORDS)
        self.moves.append(f"to {to.name} {seconds:.1f} s, with {after['waiting']} texts that waited")


def run(binary, folder):
    sqlite, postgres = Sqlite(), engine()
    assert isinstance(postgres, Postgres)
    use(sqlite)
    load = Load(binary, folder / "world", VISITORS, CONNECTED)
    mover = Mover(load, sqlite, postgres)
    file = sqlite.file(load.folder)
    url = postgres.server.url(postgres.database(load.folder))
    try:
        time.sleep(PAUSE)
        mover.move(postgres, file, url, [])
        time.sleep(PAUSE)
        # The file that was left is marked, and makes room for the new one.
        file.rename(file.with_name("left.db"))
        for end in ("-wal", "-shm"):
            file.with_name(file.name + end).unlink(missing_ok=True)
        mover.move(sqlite, url, file, ["--database", url])
        time.sleep(PAUSE)
        load.close()
        print(f"moved: {'; '.join(mover.moves)}")
        return load.report()
    finally:
        load.kill()
