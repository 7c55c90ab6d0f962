"""Options, relays, signers, and the applications that a test is given."""

import fnmatch
import os
import shutil
import tempfile

import pytest

from browsers import PROGRAMS, Browser
from cells import Cell, Results
from children import stop_all, stop_at_exit
from clients import COMMANDS, FLOWS, USUAL, App
from limits import RELAY_CHECKS, SPECIAL, late_reason, lateness, limit, tried
from places import GO, built
from processes import Process
from relays import RELAYS
from signers import Endseal, StandIn, version

EVERYTHING = ["sign:1", "nip44_encrypt", "nip44_decrypt", "nip04_encrypt", "nip04_decrypt"]
results = Results()


def pytest_addoption(parser):
    group = parser.getgroup("remote signer")
    group.addoption("--relay", action="append", choices=sorted(RELAYS))
    group.addoption("--client", action="append", choices=sorted(COMMANDS))
    group.addoption("--browser", action="append", choices=sorted(PROGRAMS))
    group.addoption("--all", action="store_true", help="every client, every relay")
    group.addoption("--stand-in", action="store_true", help="NDK's signer in place of ours")
    group.addoption("--signer-bin", default=built(), help="the program endseal")
    group.addoption("--only", action="append", default=[], metavar="PATTERN", help="file/test")
    group.addoption("--write", action="store_true", help="writes docs/design/nostr-interop.md")
    group.addoption("--keep", action="store_true", help="keeps folders and logs")


def pytest_configure(config):
    option = config.option
    option.relay = option.relay or (sorted(RELAYS) if option.all else ["khatru"])
    option.browser = option.browser or (sorted(PROGRAMS) if option.all else ["chrome"])
    # In CI older versions and widgets have fewer checks.
    option.checks = {} if option.client or option.all else USUAL
    option.client = option.client or (sorted(COMMANDS) if option.all else list(USUAL))
    if not option.stand_in and option.signer_bin is None:
        raise pytest.UsageError("no signer; build it, or --signer-bin FILE, or --stand-in")
    if option.stand_in and option.write:
        raise pytest.UsageError("the table is about our signer")
    stop_at_exit()


def pytest_generate_tests(metafunc):
    option = metafunc.config.option
    if "browser_name" in metafunc.fixturenames:
        # Chromium alone in CI: Firefox takes seconds to start.
        metafunc.parametrize("browser_name", option.browser)
    if "cell" in metafunc.fixturenames:
        cells = [
            Cell(relay, client, flow)
            for relay in option.relay
            for client in option.client
            for flow in FLOWS[client][: 1 if relay in RELAY_CHECKS else None]
        ]
        if clients := getattr(metafunc.module, "CLIENTS", None):
            cells = [it for it in cells if it.client in clients and it.flow == "bunker"]
        # The clients differ in nothing that matters to these.
        if metafunc.module.__name__.endswith(("test_commands", "test_page")):
            cells = [it for it in cells if it.client == "nostr-tools"][:1] or cells[:1]
        metafunc.parametrize("cell", cells, ids="-".join, scope="session")


def check(item):
    mark = item.get_closest_marker("check")
    return mark.args[0] if mark else None


def pytest_collection_modifyitems(config, items):
    option = config.option
    chosen, others = [], []
    for item in items:
        name = f"{item.path.stem}/{item.name}".replace("test_", "")
        wanted = any(fnmatch.fnmatch(name, f"*{it}*") for it in option.only or ["*"])
        if option.stand_in and item.get_closest_marker("ours"):
            wanted = False
        cell = item.callspec.params.get("cell") if hasattr(item, "callspec") else None
        if cell and not isinstance(cell, Cell):
            # None of the chosen clients belongs to this file.
            others.append(item)
            continue
        if cell and not tried(cell, check(item), option.checks.get(cell.client)):
            wanted = False
        (chosen if wanted else others).append(item)
        if cell and (reason := limit(cell, check(item), option.stand_in)):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    items[:] = chosen
    config.hook.pytest_deselected(items=others)


class World:
    """A relay, and a signer that listens there."""

    def __init__(self, relay, option):
        self.folder = tempfile.mkdtemp(prefix=f"endseal-nostr-{relay}-")
        self.relay = RELAYS[relay](self.folder)
        kind = StandIn if option.stand_in else Endseal
        self.signer = kind(self.folder, self.relay, option.signer_bin)

    def stop(self):
        self.signer.stop()
        self.relay.stop()


@pytest.fixture(scope="session")
def worlds(request):
    option = request.config.option
    made = {}

    def world(relay):
        if relay not in made:
            made[relay] = World(relay, option)
        return made[relay]

    yield world
    for one in made.values():
        one.stop()
        if option.keep:
            print(f"tests/nostr: kept {one.folder}")
        else:
            shutil.rmtree(one.folder, ignore_errors=True)
    stop_all()


@pytest.fixture
def world(worlds, cell):
    return worlds(cell.relay)


@pytest.fixture
def pair(world, cell):
    """Makes an application that may do what a list says."""
    made = []

    def paired(allow):
        made.append(App(cell, world))
        made[-1].pair(allow)
        return made[-1]

    yield paired
    for app in made:
        results.slowest[cell] = max(results.slowest[cell], app.slowest)
        app.stop()


@pytest.fixture
def app(pair):
    """An application that may sign kind 1, encrypt and decrypt."""
    return pair(EVERYTHING)


@pytest.fixture(scope="session")
def running():
    browsers = {}
    yield browsers
    for one in browsers.values():
        one.stop()


@pytest.fixture
def browser(browser_name, running, world):
    if browser_name not in running:
        running[browser_name] = Browser(browser_name, world.folder)
    running[browser_name].fresh()
    return running[browser_name]


@pytest.fixture(scope="session")
def other():
    """go-nostr without a signer: its keys, ciphers and verification."""
    folder = tempfile.mkdtemp(prefix="endseal-nostr-other-")
    process = Process([GO, "interop"], os.path.join(folder, "log"))

    def ask(op, **fields):
        answer = process.ask({"op": op, **fields})
        assert answer["ok"], answer
        return answer

    yield ask
    process.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    cell = item.callspec.params.get("cell") if hasattr(item, "callspec") else None
    name = check(item)
    if not cell or not name or (report.when != "call" and report.passed):
        return
    outcome = "xfailed" if hasattr(report, "wasxfail") and report.skipped else report.outcome
    reason = getattr(report, "wasxfail", "")
    if outcome == "skipped":
        reason = report.longrepr[2].removeprefix("Skipped: ")
    if outcome == "passed" and lateness(cell):
        outcome, reason = "late", late_reason(cell)
    results.add(cell, name, outcome, reason)


def pytest_sessionfinish(session):
    if not session.config.option.write:
        return
    found = dict.fromkeys(name for it in session.items if (name := check(it)))
    checks = [it for it in found if it not in SPECIAL]
    option = session.config.option
    results.write(checks, version(option.signer_bin))


def pytest_unconfigure(config):
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or config.option.collectonly:
        return
    count = {name: len(reporter.stats.get(name, [])) for name in ("passed", "failed", "error")}
    print(f"{count['passed']} passed, {count['failed'] + count['error']} failed")
