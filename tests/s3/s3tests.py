"""ceph's s3-tests against versitygw: direct, through the proxy with its defaults, and with the
options that settle what the defaults change; and what differs.

Exit status 1: a test moved from passed to anything else, not by chance, and with both options or
not as the defaults have it.

The suite is not part of this repository: give the folder of a checkout of ceph/s3-tests.
"""

import argparse
import collections
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

import proxy as proxies
import servers
from main import built
from processes import clean_environment, stop_all, stop_at_exit

# 278 tests of test_s3.py: what a proxy touches, less what belongs to one server only.
MARKS = "not (%s)" % " or ".join(
    """lifecycle lifecycle_expiration lifecycle_transition bucket_logging bucket_logging_cleanup
    cloud_transition cloud_restore s3website s3website_routing_rules s3website_redirect_location
    sns s3select abac_test bucket_policy object_ownership storage_class appendobject
    fails_on_aws""".split()
)
WORDS = " or ".join(
    """multipart copy ranged checksum object_write object_read object_head object_set atomic sse
    object_metadata if_match ifmatch ifnonmatch object_raw post_object versioning
    object_attributes""".split()
)

SUITE = os.path.join("s3tests", "functional", "test_s3.py")

# The three ways, as the tables call them.
COLUMNS = {
    "direct": "direct",
    "defaults": "with the defaults",
    "options": "with MD5s as entity tags",
}

# And the rules of the proxy; none is without it.
RULES = {"direct": None, "defaults": {}, "options": {"tags": "md5"}}

# Sections of the suite's configuration, and their accounts, the same at server and proxy.
ACCOUNTS = {
    "s3 main": (servers.ACCESS, servers.SECRET),
    "s3 alt": ("altaccess", "alt-secret-0123456789abcdefghijklmn"),
    "s3 tenant": ("tenantaccess", "tenant-secret-0123456789abcdefghij"),
    "iam": ("iamaccess", "iam-secret-0123456789abcdefghijklmno"),
    "iam root": ("iamrootaccess", "iamroot-secret-0123456789abcdefghi"),
    "iam alt root": ("iamaltaccess", "iamalt-secret-0123456789abcdefghij"),
}


def configuration(path, port):
    """The suite's own file. With versitygw an account's id and name are its access key."""
    lines = [
        "[DEFAULT]",
        "host = 127.0.0.1",
        f"port = {port}",
        "is_secure = False",
        "ssl_verify = False",
        "[fixtures]",
        "bucket prefix = s3t-{random}-",
        "iam name prefix = s3t-",
        "iam path prefix = /s3t/",
    ]
    for section, (access, secret) in ACCOUNTS.items():
        lines += [
            f"[{section}]",
            f"access_key = {access}",
            f"secret_key = {secret}",
            f"user_id = {access}",
            f"display_name = {access}",
            f"email = {access}@example.org",
            f"api_name = {servers.REGION}",
            "tenant = tenant",
        ]
    lines += ["[webidentity]"]
    lines += [f"{it} = none" for it in "token aud sub azp user_token thumbprint KC_REALM".split()]
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")


def create_accounts(server):
    for access, secret in ACCOUNTS.values():
        if access == server.access:
            continue
        subprocess.run(
            [
                server._binary(),
                "admin",
                "--access",
                server.access,
                "--secret",
                server.secret,
                "--endpoint-url",
                server.url,
                "--region",
                servers.REGION,
                "create-user",
                "--access",
                access,
                "--secret",
                secret,
                "--role",
                "userplus",
            ],
            check=True,
            env=clean_environment(),
            stdout=subprocess.DEVNULL,
        )


def suite(options, folder, port, chosen):
    """Runs the tests that pytest's arguments choose.

    Test -> (passed, failed, error or skipped; first line of its message).
    """
    os.makedirs(folder, exist_ok=True)
    config = os.path.join(folder, "s3tests.conf")
    configuration(config, port)
    results = os.path.join(folder, "results.xml")
    # What pytest and the tests leave behind goes into a folder of ours.
    copy = os.path.join(folder, "suite")
    shutil.copytree(options.checkout, copy, ignore=shutil.ignore_patterns(".git"))
    with open(os.path.join(folder, "pytest.log"), "wb") as log:
        done = subprocess.run(
            [
                sys.executable,
                "-B",
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
                "--timeout",
                str(options.timeout),
                "--junitxml",
                results,
                *chosen,
            ],
            cwd=copy,
            env={**clean_environment(), "S3TEST_CONF": config, "AWS_EC2_METADATA_DISABLED": "true"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    # 1: some tests failed, which is what is counted here.
    if done.returncode not in (0, 1):
        with open(os.path.join(folder, "pytest.log"), errors="replace") as log:
            sys.exit(f"tests/s3: pytest ended with {done.returncode}:\n{log.read()[-2000:]}")
    return parse(results)


def subset(options):
    return ["-m", MARKS, "-k", options.words, SUITE]


def parse(path):
    found = {}
    for test in xml.etree.ElementTree.parse(path).iter("testcase"):
        result, message = "passed", ""
        for child in test:
            if child.tag in ("failure", "error", "skipped") and result in ("passed", "failed"):
                result = {"failure": "failed"}.get(child.tag, child.tag)
                message = (child.get("message") or "").split("\n")[0][:160]
        # A test whose clean-up failed is listed a second time: the worse counts.
        name = test.get("name")
        if found.get(name, ("passed",))[0] == "passed":
            found[name] = (result, message)
    return found


def begun(folder):
    server = servers.Versitygw(folder)
    server.start()
    create_accounts(server)
    return server


@contextlib.contextmanager
def way(options, folder, rule):
    """The port of a fresh server, or of a proxy before it with that rule for all buckets."""
    server = begun(folder)
    if rule is None:
        yield server.port
    else:
        front = fronted(options, folder, server, rule)
        yield front.port
        front.stop()
    server.stop()


def perform(options, folder, rule):
    with way(options, folder, rule) as port:
        return suite(options, folder, port, subset(options))


def fronted(options, folder, server, rule):
    ring = os.path.join(folder, "ring.key")
    proxies.new_ring(options.proxy_bin, ring)
    # Accounts of the same names on both sides: the suite compares owners with the names it knows.
    return proxies.Proxy(
        options.proxy_bin,
        server,
        os.path.join(folder, "proxy"),
        ring,
        clients=[(access, secret, access, secret) for access, secret in ACCOUNTS.values()],
        **rule,
    )


def repeated(options, folder, rule, names, before):
    """Runs tests alone some times more: test -> how often it passed, of how many times."""
    nodes = [f"{SUITE}::{name}" for name in names]
    passed = {name: int(before[name][0] == "passed") for name in names}
    with way(options, folder, rule) as port:
        for turn in range(options.repeat):
            results = suite(options, os.path.join(folder, str(turn)), port, nodes)
            for name in names:
                passed[name] += results.get(name, ("missing",))[0] == "passed"
    return {name: (passed[name], options.repeat + 1) for name in names}


def all_repeated(options, results):
    """What differs, again: directly, and what is chance there through the proxy too."""
    before = results["direct"]
    chances = {run: {} for run in COLUMNS}
    ways = {run: moved(before, results[run]) for run in COLUMNS if run != "direct" and results[run]}
    # A test that is missing on one side is no chance.
    names = {name for changes in ways.values() for name, *_ in changes if name in before}
    todo = {"direct": sorted(names)}
    while todo:
        run, names = todo.popitem()
        if names and options.repeat:
            chances[run] = in_folder(
                options,
                "repeated",
                lambda folder: repeated(options, folder, RULES[run], names, results[run]),
            )
        if run == "direct":
            doubtful = [it for it, (passed, times) in chances[run].items() if 0 < passed < times]
            for run, changes in ways.items():
                todo[run] = [name for name, *_ in changes if name in doubtful]
    return chances


def in_folder(options, name, perform):
    """What `perform` gives for a folder of its own, which is gone afterwards."""
    folder = tempfile.mkdtemp(prefix=f"endseal-s3tests-{name}-")
    try:
        return perform(folder)
    finally:
        stop_all()
        if options.keep:
            print(f"tests/s3: kept {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def moved(before, after):
    """Tests whose result is not the same: (name, before, after)."""
    nothing = ("missing", "")
    names = sorted(set(before) | set(after))
    pairs = [(it, before.get(it, nothing), after.get(it, nothing)) for it in names]
    return [it for it in pairs if it[1][0] != it[2][0]]


def counts(results):
    count = collections.Counter(result for result, _ in results.values())
    return ", ".join(
        f"{count[it]} {it}" for it in ("passed", "failed", "error", "skipped") if count[it]
    )


def cell(text):
    return text.replace("|", "\\|").replace("`", "'")


# What moves from passed with the defaults, and which option settles it.
OF_DEFAULTS = {
    "test_object_write_check_etag": (
        "wants the MD5 of the content as entity tag: by default that is `<tag of the server>-0`, as "
        "conditions on tags are decided at the server, which is not to learn an MD5 of content; "
        '`entity_tags = "md5"` seals it beside the object'
    ),
}

REASONS = {"defaults": OF_DEFAULTS, "options": {}}

INTRODUCTION = """\
# ceph's s3-tests, direct and through the proxy

278 tests of [ceph/s3-tests](https://github.com/ceph/s3-tests) (commit 8f0ae7b), those that a proxy
touches, against versitygw 1.8.0 three ways: direct; through the proxy with its defaults; and through
the proxy with `entity_tags = "md5"` for all buckets. What fails all ways
is what that server does not do (encryption by its own keys, forms, anonymous access and so on).

The rule is that no test may move from passed to anything else. With that option it has no
exception. The defaults have one that follows from them. A test that does not have the same result both ways is run
alone, directly, {repeat} times more: if it passes and fails there too, and as often run through the
proxy passes at least once, it does so by chance. Written by `tests/s3/s3tests`.
"""


def is_chance(name, run, chances):
    """Whether a test passes and fails without the proxy, and does not always fail with it."""
    passed, times = chances["direct"].get(name, (0, 0))
    through, _ = chances[run].get(name, (0, 0))
    return 0 < passed < times and through > 0


def worse(results, run, chances):
    """Tests that moved from passed to anything else, neither by chance nor with a reason."""
    changes = [it for it in moved(results["direct"], results[run]) if it[1][0] == "passed"]
    reasons = REASONS[run]
    return [it for it in changes if it[0] not in reasons and not is_chance(it[0], run, chances)]


def differences(results, run, chances):
    """What is not the same through the proxy, with the reasons."""
    lines = ["", f"## What differs {COLUMNS[run]}", ""]
    changes = moved(results["direct"], results[run])
    reasons = REASONS[run]
    if changes:
        lines += ["| test | direct | through the proxy | why |", "|---|---|---|---|"]
    for name, (one, first), (two, second) in changes:
        if is_chance(name, run, chances):
            reason = "chance: it passes {} of {} times directly, {} of {} so".format(
                *chances["direct"][name], *chances[run][name]
            )
        elif one == "passed" and name in reasons:
            reason = reasons[name]
        else:
            reason = f"`{cell(second or first)}`"
        lines.append(f"| `{name}` | {one} | {two} | {reason} |")
    if not changes:
        lines.append("Nothing.")
    return lines


def report(results, chances, options):
    columns = [(heading, results[run]) for run, heading in COLUMNS.items() if results[run]]
    lines = [INTRODUCTION.format(repeat=options.repeat)]
    lines += ["| | tests | result |", "|---|---|---|"]
    lines += [f"| {heading} | {len(it)} | {counts(it)} |" for heading, it in columns]
    for run in REASONS:
        if results[run]:
            lines += differences(results, run, chances)
    lines += ["", "## All tests", ""]
    lines += ["| test | " + " | ".join(heading for heading, _ in columns) + " |"]
    lines += ["|---" * (1 + len(columns)) + "|"]
    for name in sorted(set().union(*(it for _, it in columns))):
        cells = [it.get(name, ("missing", ""))[0] for _, it in columns]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    with open(options.out, "w") as file:
        file.write("\n".join(lines) + "\n")


def arguments():
    parser = argparse.ArgumentParser(prog="tests/s3/s3tests", description=__doc__)
    parser.add_argument("checkout", help="folder of ceph/s3-tests")
    parser.add_argument("--direct-only", action="store_true", help="makes the baseline")
    parser.add_argument("--baseline", metavar="FILE", help="JSON of an earlier direct run")
    parser.add_argument("--proxy-bin", default=built(), help="the program endseal")
    parser.add_argument("--out", default="s3-tests.md", metavar="FILE", help="the tables")
    parser.add_argument("--json", metavar="FILE", help="all lists with their messages")
    parser.add_argument("--words", default=WORDS, metavar="WORDS", help="instead of the subset's")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for one test")
    parser.add_argument(
        "--repeat", type=int, default=16, help="runs more of what differs; 0 finds no chance"
    )
    parser.add_argument("--keep", action="store_true", help="keeps folders and logs")
    options = parser.parse_args()
    options.checkout = os.path.abspath(options.checkout)
    if not os.path.exists(os.path.join(options.checkout, SUITE)):
        parser.error(f"{options.checkout} is no checkout of ceph/s3-tests")
    if not options.direct_only and options.proxy_bin is None:
        parser.error("no proxy: build it, name it by --proxy-bin, or make the baseline")
    return options


def main():
    options = arguments()
    stop_at_exit()
    results = {run: {} for run in COLUMNS}
    runs = ["direct"] if options.direct_only else list(COLUMNS)
    if options.baseline:
        with open(options.baseline) as file:
            results["direct"] = {name: tuple(it) for name, it in json.load(file)["direct"].items()}
        runs = [it for it in runs if it != "direct"]
    for run in runs:
        begin = time.monotonic()
        results[run] = in_folder(
            options, run, lambda folder: perform(options, folder, RULES[run])
        )
        seconds = time.monotonic() - begin
        print(f"{run}: {counts(results[run])} in {seconds:.0f} s", flush=True)
    return concluded(options, results, all_repeated(options, results))


def concluded(options, results, chances):
    report(results, chances, options)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({**results, "repeated": chances}, file, indent=1)
    failed = 0
    for run in [it for it in REASONS if results[it]]:
        for name, (one, _), (two, message) in moved(results["direct"], results[run]):
            if is_chance(name, run, chances):
                times = (*chances["direct"][name], *chances[run][name])
                print(f"{run}: by chance {one}, {two}: {name}:", end=" ")
                print("it passes {} of {} times directly, {} of {} so".format(*times))
            elif one == "passed":
                print(f"{run}: from passed to {two}: {name}: {REASONS[run].get(name, message)}")
        found = worse(results, run, chances)
        print(f"{run}: {len(results[run])} tests, {len(found)} against the rule")
        for name, *_ in found:
            print(f"{run}: against the rule: {name}")
        failed += len(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
