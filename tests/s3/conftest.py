"""Options, servers, and the world that a test is given."""

import collections
import fnmatch
import os
import shutil
import tempfile

import pytest

import proxy
from children import stop_all, stop_at_exit
from limits import limits
from servers import SERVERS
from world import World

NOTHING = 3


def pytest_addoption(parser):
    group = parser.getgroup("S3 proxy")
    group.addoption("--backend", action="append", choices=sorted(SERVERS))
    group.addoption("--proxy-bin", default=proxy.built(), help="the program endseal")
    group.addoption("--direct", action="store_true", help="clients straight to the servers")
    group.addoption("--names", action="store_true", help="names are encrypted")
    group.addoption("--quick", action="store_true", help="without what takes long")
    group.addoption("--full", action="store_true", help="every byte flipped, 5 GB for memory")
    group.addoption("--all", action="store_true", help="also clients that take minutes to install")
    group.addoption("--soak", type=float, metavar="MINUTES", help="nothing but the soak test")
    group.addoption("--only", action="append", default=[], metavar="PATTERN", help="file/test")
    group.addoption("--keep", action="store_true", help="keeps folders and logs")


def pytest_configure(config):
    option = config.option
    option.backend = list(dict.fromkeys(option.backend or ["versitygw"]))
    if option.direct and option.names:
        raise pytest.UsageError("--names is about the proxy")
    if not option.direct and option.proxy_bin is None:
        raise pytest.UsageError("no proxy; build it, or --proxy-bin FILE, or --direct")
    option.proxy_bin = None if option.direct else os.path.abspath(option.proxy_bin)
    # Clients take settings from here that belong to the machine and not to the test.
    for name in list(os.environ):
        if name.startswith("AWS_"):
            del os.environ[name]
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    stop_at_exit()


def pytest_generate_tests(metafunc):
    if "backend" in metafunc.fixturenames:
        backends = metafunc.config.option.backend
        metafunc.parametrize("backend", backends, indirect=True, scope="session")


def fact(item):
    """`file/test[parameters]` without the server, as `--only` and limits.py have it."""
    name = item.name.removeprefix("test_")
    backend = server(item)
    name = (
        name.replace(f"[{backend}]", "").replace(f"[{backend}-", "[").replace(f"-{backend}]", "]")
    )
    return f"{item.path.stem.removeprefix('test_')}/{name}"


def server(item):
    return item.callspec.params["backend"] if hasattr(item, "callspec") else ""


def pytest_collection_modifyitems(config, items):
    option = config.option
    # A mark, and whether a test that has it makes no sense here.
    senseless = {
        "needs_proxy": option.direct,
        "needs_direct": not option.direct,
        "needs_names": not option.names,
        "other_client": not option.all,
        "soak": not option.soak,
    }
    chosen, others = [], []
    for item in items:
        name = fact(item)
        wanted = any(fnmatch.fnmatch(name, f"*{it}*") for it in option.only or ["*"])
        if option.names and not item.get_closest_marker("with_names"):
            wanted = False
        if any(away and item.get_closest_marker(mark) for mark, away in senseless.items()):
            wanted = False
        if option.soak and not item.get_closest_marker("soak"):
            wanted = False
        (chosen if wanted else others).append(item)
        if option.quick and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="--quick"))
        if known := limits(server(item), option.direct, option.names).get(name):
            item.add_marker(pytest.mark.xfail(reason=known, strict=True))
    items[:] = chosen
    config.hook.pytest_deselected(items=others)


@pytest.fixture(scope="session")
def backend(request):
    """A server with a folder of its own."""
    folder = tempfile.mkdtemp(prefix=f"endseal-s3-{request.param}-")
    one = SERVERS[request.param](folder)
    if reason := one.missing():
        pytest.skip(reason)
    one.start()
    yield one
    stop_all()
    if request.config.option.keep:
        print(f"tests/s3: kept {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def shared_world(request, backend):
    option = request.config.option
    folder = os.path.dirname(backend.folder)
    one = World(backend, folder, option.proxy_bin, option.quick, option.full, option.names)
    yield one
    one.stop()


@pytest.fixture
def world(shared_world):
    """The proxy with its default configuration before a server, and clients of both."""
    yield shared_world
    shared_world.tidy_up()
    shared_world.raise_if_dead()


def pytest_terminal_summary(terminalreporter):
    """Results by file and server."""
    counts = collections.defaultdict(collections.Counter)
    for result, reports in terminalreporter.stats.items():
        for report in reports:
            where = dict(getattr(report, "user_properties", [])).get("where")
            if where and result in ("passed", "failed", "error", "skipped", "xfailed"):
                counts[where][result] += 1
    for where, results in sorted(counts.items()):
        text = ", ".join(f"{number} {result}" for result, number in results.items())
        terminalreporter.write_line(f"{where:40} {text}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    item.user_properties.append(("where", f"{fact(item).split('/')[0]:24} {server(item)}"))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if (
        exitstatus == 0
        and not session.config.option.collectonly
        and not reporter.stats.get("passed")
    ):
        session.exitstatus = NOTHING
