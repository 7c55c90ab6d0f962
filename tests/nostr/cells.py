"""Cells: a client, a flow and a relay; and the table that a run makes of them."""

import collections
import datetime
import os
import platform

from clients import VERSIONS
from limits import DEAF
from places import TABLE
from relays import RELAYS

Cell = collections.namedtuple("Cell", "relay client flow")

RELAY_RESTARTS = "relay restarts"
MAIN = "khatru"
HEAD = """\
# Clients of remote signing

Written by `tests/nostr/run --write`. Checks are tests of
[tests/nostr](../../tests/nostr/README.md), which describes clients, flows and relays. *yes*: the
client got what it asked for, or the error that it had to get. *late*: the same, after ten seconds.
*–*: the library has no such call, or the check is for the other flow. *no*: the library does not do
it; the last table has the reasons. Empty: not tried. `ms` is the slowest answer of the cell, with
the library's own delays.

At [khatru](https://github.com/fiatjaf/khatru):
""".splitlines()
RUN = ["relay", "", "run"]
REASONS = ["relay", "check", "what the library does not do"]
WORDS = {"passed": "yes", "failed": "NO", "skipped": "–", "xfailed": "no", "late": "late"}


class Results:
    def __init__(self):
        self.outcomes = collections.defaultdict(dict)
        self.slowest = collections.Counter()
        # Checks by the relay and the reason why a library cannot pass them.
        self.reasons = collections.defaultdict(set)

    def add(self, cell, check, outcome, reason):
        self.outcomes[cell][check] = outcome
        if outcome in ("xfailed", "late"):
            self.reasons[cell.relay, reason].add(check)
        if check == RELAY_RESTARTS and cell.client in DEAF:
            self.reasons[cell.relay, DEAF[cell.client]].add(check)

    def write(self, checks, signer):
        """Writes the cells of this run. What the document says of other cells is kept."""
        old = _Document(TABLE)
        head = ["client", "flow", *checks, "ms"]
        if not any(cell.relay == MAIN for cell in self.outcomes):
            head = old.head
        # Rows with other checks are of no use.
        kept = {of: row for of, row in old.rows.items() if of[0] in VERSIONS.values()}
        rows = kept if head == old.head else {}
        others = [it for it in RELAYS if it != MAIN]
        columns = {it: dict(old.columns[it]) for it in others}
        together = collections.defaultdict(dict)
        for cell, outcomes in self.outcomes.items():
            client = VERSIONS[cell.client]
            if cell.relay == MAIN:
                marks = [WORDS.get(outcomes.get(check), " ") for check in checks]
                rows[client, cell.flow] = [*marks, str(self.slowest[cell])]
            else:
                together[cell.relay].setdefault(client, []).extend(outcomes.items())
        for relay, clients in together.items():
            columns[relay] |= {client: _mark(outcomes) for client, outcomes in clients.items()}
        tried = {relay: {cell.client for cell in self.outcomes if cell.relay == relay} for relay in RELAYS}
        today = f"{datetime.date.today()}, {signer}, {machine()}"
        for relay, found, why in old.reasons:
            if len(tried[relay]) < len(VERSIONS):
                self.reasons[relay, why] |= set(found.split(", "))
        reasons = [[relay, ", ".join(sorted(it)), why] for (relay, why), it in self.reasons.items()]
        names = sorted(VERSIONS.values(), key=_order)
        lines = [*HEAD, ""]
        lines += _table(head, [[*of, *rows[of]] for of in sorted(rows, key=lambda it: (_order(it[0]), it[1]))])
        lines += _table(["client", *others], [[it, *(columns[relay].get(it, " ") for relay in others)] for it in names])
        run = {relay: today if tried[relay] else old.run.get(relay, "never") for relay in RELAYS}
        lines += _table(RUN, [[it, kind.version + kind.notes, run[it]] for it, kind in RELAYS.items()])
        lines += _table(REASONS, sorted(reasons))
        assert len(lines) <= 121, f"{len(lines)} lines"
        with open(TABLE, "w") as file:
            file.write("\n".join(lines))


class _Document:
    """What the document says: rows of cells at khatru, columns of other relays, their runs and reasons."""

    def __init__(self, path):
        self.head, self.rows, self.run, self.reasons = [], {}, {}, []
        self.columns = collections.defaultdict(dict)
        head = None
        with open(path) as file:
            for line in file:
                cells = [it.strip() for it in line.strip().strip("|").split("|")]
                if not line.startswith("|"):
                    head = None
                elif head is None:
                    head = cells
                elif set(cells) == {"---"}:
                    pass
                elif head[:2] == ["client", "flow"]:
                    self.head = head
                    self.rows[cells[0], cells[1]] = cells[2:]
                elif head == RUN:
                    self.run[cells[0]] = cells[2]
                elif head == REASONS:
                    self.reasons.append(cells)
                elif head[0] == "client":
                    for relay, mark in zip(head[1:], cells[1:]):
                        self.columns[relay][cells[0]] = mark


def _table(head, rows):
    lines = [f"| {' | '.join(it)} |" for it in [head, *rows]]
    return [lines[0], f"|{'---|' * len(head)}", *lines[1:], ""]


def _mark(outcomes):
    """One mark, if all checks have the same; else the checks of each mark but yes."""
    marks = collections.defaultdict(list)
    for check, outcome in outcomes:
        marks[WORDS[outcome]].append(check)
    if len(marks) == 1:
        return next(iter(marks))
    return "; ".join(f"{mark}: {', '.join(it)}" for mark, it in marks.items() if mark != "yes")


def _order(version):
    name, number = version.rsplit(" ", 1)
    return name, [int(it) for it in number.split(".")]


def machine():
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as info:
            found = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
            name = found[0] if found else name
    except OSError:
        pass
    return f"{name}, {os.cpu_count()} CPUs"
