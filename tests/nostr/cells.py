"""Cells: a client, a flow and a relay; and the table that a run makes of them."""

import collections
import os
import platform

from clients import VERSIONS
from limits import DEAF
from places import TABLE

Cell = collections.namedtuple("Cell", "relay client flow")

RELAY_RESTARTS = "relay restarts"
WORDS = {"passed": "yes", "failed": "NO", "skipped": "–", "xfailed": "no", "late": "late"}


class Results:
    def __init__(self):
        self.outcomes = collections.defaultdict(dict)
        self.slowest = collections.Counter()
        # Checks by the reason why a library cannot pass them.
        self.reasons = collections.defaultdict(set)

    def add(self, cell, check, outcome, reason):
        self.outcomes[cell][check] = outcome
        if outcome in ("xfailed", "skipped", "late"):
            self.reasons[reason].add(check)
        if check == RELAY_RESTARTS and cell.client in DEAF:
            self.reasons[DEAF[cell.client]].add(check)

    def write(self, checks, signer, relays):
        cells = sorted(self.outcomes)
        versions = sorted({VERSIONS[cell.client] for cell in cells})
        lines = [
            "# Clients of remote signing",
            "",
            "Written by `tests/nostr/run --write`: a line for each client, flow and relay. Checks are tests",
            "of [tests/nostr](../../tests/nostr/README.md). *yes*: the client got what it asked for, or the",
            "error that it had to get. *late*: the same, after ten seconds; *no* and *–*: the library does not do",
            "it; see below. Empty: not tried. `ms` is the slowest answer of the cell, with the library's own",
            "delays. Older clients that encrypt requests by NIP-04 (NDK 2.18, nostr-tools 2.7.2) are tested by",
            "`test_legacy.py`; clients that take the bunker's key for the user's (nostr-login) need `--as-user-key`.",
            "",
            f"{signer}; {', '.join(relays)}; {', '.join(versions)}. {machine()}.",
            "",
            f"| relay | client | flow | {' | '.join(checks)} | ms |",
            f"|{'---|' * (len(checks) + 4)}",
        ]
        for cell in cells:
            marks = [WORDS.get(self.outcomes[cell].get(check), " ") for check in checks]
            lines.append(f"| {' | '.join([*cell, *marks, str(self.slowest[cell])])} |")
        lines += ["", "| check | what the library does not do |", "|---|---|"]
        lines += [f"| {', '.join(sorted(it))} | {why} |" for why, it in sorted(self.reasons.items())]
        assert len(lines) <= 120, f"{len(lines)} lines"
        with open(TABLE, "w") as file:
            file.write("\n".join(lines) + "\n")


def machine():
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as info:
            found = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
            name = found[0] if found else name
    except OSError:
        pass
    return f"{name}, {os.cpu_count()} CPUs"
