"""ceph's s3-tests direct and through the proxy with its defaults: what passes one way and not the other.

Exit status 1: a test passes directly and not through the proxy, not by chance and without a reason in KNOWN.

The suite is not part of this repository: give the folder of a checkout of ceph/s3-tests.
"""

import argparse
import collections
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

import minio
import minio.credentials

import proxy as proxies
import servers
from children import clean_environment, stop_all, stop_at_exit

# Features that a proxy does not touch, or that one server alone has.
MARKS = "not (%s)" % " or ".join(
    """lifecycle lifecycle_expiration lifecycle_transition bucket_logging bucket_logging_cleanup
    cloud_transition cloud_restore s3website s3website_routing_rules s3website_redirect_location
    sns s3select abac_test bucket_policy object_ownership storage_class appendobject
    fails_on_aws auth_aws2""".split()
)
SUITE = "s3tests/functional/test_s3.py"
COMMIT = "8f0ae7b"

# Tests that pass directly and not through the proxy with its defaults; docs/design/s3-tests.md has the reasons.
KNOWN = (
    "test_encrypt*",
    "test_post_object_*",
    "test_object_write_check_etag",
    "test_put_object_if_match",
)

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
        if server.name == "minio":
            owner = minio.credentials.StaticProvider(server.access, server.secret)
            admin = minio.MinioAdmin(
                endpoint=f"127.0.0.1:{server.port}", credentials=owner, secure=False
            )
            admin.user_add(access, secret)
            admin.attach_policy(["readwrite"], user=access)
            continue
        who = ["--access", server.access, "--secret", server.secret]
        where = ["--endpoint-url", server.url, "--region", servers.REGION]
        user = ["create-user", "--access", access, "--secret", secret, "--role", "userplus"]
        subprocess.run(
            [server._binary(), "admin", *who, *where, *user],
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
    # Files that pytest and the tests leave behind go into a folder of ours.
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
    # 1: some tests failed, which is what is counted here. 5: none was chosen.
    if done.returncode not in (0, 1, 5):
        with open(os.path.join(folder, "pytest.log"), errors="replace") as log:
            sys.exit(f"tests/s3: pytest ended with {done.returncode}:\n{log.read()[-2000:]}")
    return parse(results)


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


def through(options, backend, tests=(SUITE,), direct=False):
    """Results of tests at a fresh server, or through a proxy before it."""
    folder = tempfile.mkdtemp(prefix=f"endseal-s3tests-{backend}-")
    try:
        server = front = servers.SERVERS[backend](folder)
        server.start()
        create_accounts(server)
        if not direct:
            ring = os.path.join(folder, "ring.key")
            proxies.new_ring(options.proxy_bin, ring)
            # Accounts of the same names on both sides: the suite compares owners with names it knows.
            clients = [(access, secret, access, secret) for access, secret in ACCOUNTS.values()]
            front = proxies.Proxy(
                options.proxy_bin,
                server,
                os.path.join(folder, "proxy"),
                ring,
                clients=clients,
            )
        # MinIO keeps what is locked, and every test removes all buckets first: these come last.
        results = {}
        for number, words in enumerate(("not object_lock", "object_lock")):
            words = f"({options.words}) and {words}" if options.words else words
            run = os.path.join(folder, f"run-{number}")
            results |= suite(options, run, front.port, ["-m", MARKS, "-k", words, *tests])
        return results
    finally:
        stop_all()
        if options.keep:
            print(f"tests/s3: kept {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def counts(results):
    count = collections.Counter(result for result, _ in results.values())
    return ", ".join(f"{number} {result}" for result, number in sorted(count.items()))


def timed(name, perform):
    begin = time.monotonic()
    results = perform()
    print(f"{name}: {counts(results)} in {time.monotonic() - begin:.0f} s", flush=True)
    return results


def compare(options, backend):
    """Runs all both ways, and what differs alone, `--repeat` times: lines of the report, and faults."""
    direct = timed(f"{backend}, direct", lambda: through(options, backend, direct=True))
    proxied = timed(f"{backend}, proxy", lambda: through(options, backend))
    names = sorted(direct)
    if names != sorted(proxied):
        sys.exit("tests/s3: not the same tests both ways")
    worse = [it for it in names if direct[it][0] == "passed" != proxied[it][0]]
    better = [it for it in names if direct[it][0] != "passed" == proxied[it][0]]
    nodes = [f"{SUITE}::{it}" for it in worse + better]

    def alone(**how):
        times = collections.Counter()
        for _ in range(options.repeat if nodes else 0):
            for name, (result, _) in through(options, backend, tests=nodes, **how).items():
                times[name] += result == "passed"
        return times

    again = {"direct": alone(direct=True), "proxy": alone()}
    lines = [
        f"## {backend}",
        "",
        f"direct         {counts(direct)}",
        f"through        {counts(proxied)}",
    ]
    faults = []
    for title, group in (("only direct", worse), ("only through the proxy", better)):
        lines += ["", f"### passed {title}, of {options.repeat} times alone: direct, proxy", ""]
        for name in group:
            one, two = again["direct"][name], again["proxy"][name]
            lines.append(f"{name}  {one}, {two}  {(direct[name][1] or proxied[name][1])}".rstrip())
            # One that passes and fails without the proxy, and does not always fail with it.
            chance = two == options.repeat or (one < options.repeat and two > 0)
            if group is worse and not chance and not any(fnmatch.fnmatch(name, it) for it in KNOWN):
                faults.append(f"{backend}: {name}: {proxied[name][1]}")
    return lines + [""], faults, {"direct": direct, "proxy": proxied}


def arguments():
    parser = argparse.ArgumentParser(prog="tests/s3/s3tests", description=__doc__)
    parser.add_argument("checkout", help="folder of ceph/s3-tests")
    parser.add_argument("--backend", action="append", choices=["versitygw", "minio"])
    parser.add_argument("--proxy-bin", default=proxies.built(), help="the program endseal")
    parser.add_argument("--out", default="ceph.txt", metavar="FILE", help="what differs")
    parser.add_argument("--json", metavar="FILE", help="all results with their messages")
    parser.add_argument("--words", metavar="WORDS", help="only tests that pytest's -k chooses")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for one test")
    parser.add_argument("--repeat", type=int, default=5, help="runs more of what differs")
    parser.add_argument("--keep", action="store_true", help="keeps folders and logs")
    options = parser.parse_args()
    options.checkout = os.path.abspath(options.checkout)
    if not os.path.exists(os.path.join(options.checkout, SUITE)):
        parser.error(f"{options.checkout} is no checkout of ceph/s3-tests")
    if options.proxy_bin is None:
        parser.error("no proxy: build it, or name it by --proxy-bin")
    return options


def main():
    options = arguments()
    stop_at_exit()
    lines, faults, results = [f"# ceph/s3-tests {COMMIT}, {SUITE}", ""], [], {}
    for backend in options.backend or ["versitygw", "minio"]:
        more, found, results[backend] = compare(options, backend)
        lines += more
        faults += found
        with open(options.out, "w") as file:
            file.write("\n".join(lines))
        if options.json:
            with open(options.json, "w") as file:
                json.dump(results, file, indent=1)
    for fault in faults:
        print(f"only direct: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
