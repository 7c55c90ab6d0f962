"""Processes of a hub are restarted one after the other, while people write.

No text is lost or comes twice, texts of a sender arrive in their order, and no person is without the
hub for longer than `BOUND` seconds.
"""

import time

from load import Load
from processes import engine

# Pairs of people who visit the hub, and of people who stay connected.
VISITORS, CONNECTED = 2, 3
# Rounds over all processes: by SIGTERM, as an upgrade, and by SIGKILL, as a crash.
ROUNDS = (False, False, True)
# Seconds between two restarts, and for which visits may fail or a text may be on its way.
PAUSE, BOUND = 3, 3


def run(binary, folder):
    load = Load(binary, folder / "world", VISITORS, CONNECTED)
    restarts, slowest = 0, 0
    try:
        time.sleep(PAUSE)
        for is_killed in ROUNDS:
            for number in range(engine().processes):
                started = time.monotonic()
                load.hub.renew(number, is_killed)
                slowest = max(slowest, time.monotonic() - started)
                restarts += 1
                time.sleep(PAUSE)
        load.close()
        print(f"{engine().processes} processes, {restarts} restarts, the slowest took {slowest:.1f} s")
        has_failed = load.report()
    finally:
        load.kill()
    longest = max(load.outage(), load.longest(), load.latest())
    print(f"{'MISSED' if longest > BOUND else 'ok'}: at most {longest:.1f} s without the hub, bound {BOUND}")
    return has_failed or longest > BOUND
