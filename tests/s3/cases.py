"""Cases, and how each of them went."""

import fnmatch
import time
import traceback

OK, FAILED, SKIPPED = "ok", "FAILED", "skipped"

_registered = []


class Skip(Exception):
    """Raised by a case that cannot be run here; the text is the reason shown."""


def case(
    client, needs_proxy=False, needs_direct=False, needs_names=False, slow=False, name=None
):
    """Registers a function as a case. Its name is the fact that it shows.

    needs_proxy: about what lies behind the proxy; no sense in it with --direct.
    needs_direct: about the servers themselves.
    needs_names: about encrypted names; no sense in it without --names.
    slow: left out with --quick.
    """

    def register(function):
        _registered.append(
            Case(
                client,
                name or function.__name__,
                function,
                needs_proxy,
                needs_direct,
                needs_names,
                slow,
            )
        )
        return function

    return register


class Case:
    def __init__(self, client, name, function, needs_proxy, needs_direct, needs_names, slow):
        self.client = client
        self.name = name
        self.function = function
        self.needs_proxy = needs_proxy
        self.needs_direct = needs_direct
        self.needs_names = needs_names
        self.slow = slow

    def __str__(self):
        return f"{self.client}/{self.name}"


class Outcome:
    def __init__(self, result, reason="", seconds=0.0):
        self.result = result
        self.reason = reason
        self.seconds = seconds

    def __str__(self):
        return f"{self.result} ({self.reason})" if self.reason else self.result


def select(patterns):
    """The cases that match one of the patterns (`boto3/*`, `*multipart*`), or all."""
    chosen = [
        one
        for one in _registered
        if not patterns or any(fnmatch.fnmatch(str(one), f"*{it}*") for it in patterns)
    ]
    names = [str(one) for one in chosen]
    assert len(names) == len(set(names)), "two cases have one name"
    return chosen


def perform(one, world, limits):
    """Runs a case. What the server is known not to do is run all the same: the list cannot rot."""
    begin = time.monotonic()
    known = limits.get(str(one))

    def outcome(result, reason=""):
        return Outcome(result, reason, time.monotonic() - begin)

    if one.needs_proxy and world.proxy is None:
        return outcome(SKIPPED, "is about the proxy")
    if one.needs_direct and world.proxy is not None:
        return outcome(SKIPPED, "is about the server")
    if one.needs_names and not world.names:
        return outcome(SKIPPED, "--names")
    if one.slow and world.quick:
        return outcome(SKIPPED, "--quick")
    try:
        one.function(world)
    except Skip as reason:
        return outcome(SKIPPED, str(reason))
    except Exception as error:  # Whatever it is, the other cases are still run.
        if known:
            return outcome(SKIPPED, known)
        text = traceback.format_exc()
        world.complain(f"--- {one} on {world.server.name}\n{text}")
        return outcome(FAILED, f"{type(error).__name__}: {error}".split("\n")[0][:300])
    finally:
        world.tidy_up()
    return outcome(OK, "though listed in limits.py" if known else "")


def table(columns, rows):
    """Markdown: a row for each case, a column for each server; reasons below."""
    lines = ["| client | case | " + " | ".join(columns) + " |", "|---" * (2 + len(columns)) + "|"]
    notes = []
    for one, outcomes in rows:
        cells = []
        for column in columns:
            outcome = outcomes.get(column)
            cells.append(outcome.result if outcome else "-")
            if outcome and outcome.reason:
                notes.append(f"* {column}, {one}: {outcome}")
        lines.append(f"| {one.client} | {one.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines + ([""] + notes if notes else [])) + "\n"
