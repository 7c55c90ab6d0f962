"""Processes of a hub are restarted one after the other, while people write: first by SIGTERM, as an
upgrade, and then by SIGKILL, as a crash.

No text is lost or comes twice, and texts of a sender arrive in their order. At an upgrade no person is
without the hub for longer than 5 s. A killed process tells its nodes nothing, and the balancer sends
their packets to another one, which does not know their connections: they notice when the time is over
in which they get no packet.
"""

import time

from load import Load
from processes import engine

# Pairs of people who visit the hub, and of people who stay connected.
VISITORS, CONNECTED = 2, 3
ROUNDS = 2
# Seconds between two restarts, and for which visits may fail or a text may be on its way, by SIGTERM.
# A node doubles its wait with each refusal until a connection has lasted for 10 s, so that a node of
# several restarted processes waits longer than at the first one.
PAUSE, BOUND = 3, 5
# By SIGKILL, nodes wait for a packet for 10 s. The next process is killed after that, as otherwise a
# text can meet two killed processes: its sender's and its receiver's.
KILLED_PAUSE, KILLED_BOUND = 13, 13


def rolled(binary, folder, is_killed, pause, bound):
    load = Load(binary, folder, VISITORS, CONNECTED)
    restarts, slowest = 0, 0
    try:
        time.sleep(PAUSE)
        for _ in range(1 if is_killed else ROUNDS):
            for number in range(engine().processes):
                started = time.monotonic()
                load.hub.renew(number, is_killed)
                slowest = max(slowest, time.monotonic() - started)
                restarts += 1
                time.sleep(pause)
        load.close()
        how = "SIGKILL" if is_killed else "SIGTERM"
        print(f"{engine().processes} processes, {restarts} restarts by {how}, each up to {slowest:.1f} s")
        has_failed = load.report()
    finally:
        load.kill()
    longest = max(load.outage(), load.longest(), load.latest())
    verdict = "MISSED" if longest > bound else "ok"
    print(f"{verdict}: at most {longest:.1f} s without the hub, bound {bound}", flush=True)
    return has_failed or longest > bound


def run(binary, folder):
    failed = rolled(binary, folder / "upgraded", False, PAUSE, BOUND)
    return rolled(binary, folder / "crashed", True, KILLED_PAUSE, KILLED_BOUND) or failed
