"""ceph's s3-tests against versitygw, direct and through the proxy, and what differs.

The suite is not part of this repository: give the folder of a checkout of ceph/s3-tests.
"""

import argparse
import collections
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


def suite(checkout, folder, port, words, patience):
    """Runs the subset. Test -> (passed, failed, error or skipped; first line of its message)."""
    config = os.path.join(folder, "s3tests.conf")
    configuration(config, port)
    results = os.path.join(folder, "results.xml")
    # What pytest and the tests leave behind goes into a folder of ours.
    copy = os.path.join(folder, "suite")
    shutil.copytree(checkout, copy, ignore=shutil.ignore_patterns(".git"))
    begin = time.monotonic()
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
                str(patience),
                "--junitxml",
                results,
                "-m",
                MARKS,
                "-k",
                words,
                "s3tests/functional/test_s3.py",
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
    return parse(results), time.monotonic() - begin


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


def direct(options, folder):
    server = servers.Versitygw(folder)
    server.start()
    create_accounts(server)
    results = suite(options.checkout, folder, server.port, options.words, options.timeout)
    server.stop()
    return results


def proxied(options, folder, tags=None):
    server = servers.Versitygw(folder)
    server.start()
    create_accounts(server)
    ring = os.path.join(folder, "ring.key")
    proxies.new_ring(options.proxy_bin, ring)
    # Accounts of the same names on both sides: the suite compares owners with the names it knows.
    front = proxies.Proxy(
        options.proxy_bin,
        server,
        os.path.join(folder, "proxy"),
        ring,
        clients=[(access, secret, access, secret) for access, secret in ACCOUNTS.values()],
        # The suite looks for the ids that it was given, and completes with tags of parts that it
        # sent twice.
        uploads="recorded",
        tags=tags,
    )
    results = suite(options.checkout, folder, front.port, options.words, options.timeout)
    front.stop()
    server.stop()
    return results


def called_by_md5(options, folder):
    return proxied(options, folder, tags="md5")


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


# What cannot be otherwise without giving up a promise of the format, or is not the proxy's.
WHY = {
    "test_object_write_check_etag": (
        "wants the MD5 of the content as entity tag: without `entity_tags = \"md5\"` the format gives "
        "`<tag of the server>-0` (docs/spec/s3-object.md, Entity tags), as conditions on tags are "
        "decided at the server"
    ),
    "test_set_multipart_tagging": (
        "passes or fails with this server as the order of a map has it, with the proxy or without"
    ),
}

# Reasons that are none where objects are called by their MD5.
WITHOUT_MD5 = ("test_object_write_check_etag",)

INTRODUCTION = """\
# ceph's s3-tests, direct and through the proxy

278 tests of [ceph/s3-tests](https://github.com/ceph/s3-tests) (commit 8f0ae7b), those that a proxy
touches, against versitygw 1.8.0 and against the same server behind the proxy: with its usual rules,
and with `entity_tags = "md5"` for all buckets. What fails all ways is what that server does not do
(encryption by its own keys, forms, anonymous access and so on). The rule is that no test may move
from passed to anything else, but for those with a reason. The proxy records uploads (`uploads =
"recorded"`): without that, `test_list_multipart_upload` and `test_multipart_upload_resend_part`
fail. Written by `tests/s3/s3tests`.
"""


def differences(before, after, heading):
    """What is not the same through the proxy, with the reasons."""
    lines = ["", heading, ""]
    changes = moved(before, after)
    if changes:
        lines += ["| test | direct | through the proxy | why |", "|---|---|---|---|"]
    for name, (one, first), (two, second) in changes:
        reason = WHY.get(name) or f"`{cell(second or first)}`"
        lines.append(f"| `{name}` | {one} | {two} | {reason} |")
    if not changes:
        lines.append("Nothing.")
    return lines


def report(before, after, with_md5, out):
    lines = [INTRODUCTION]
    columns = [("direct", before), ("through the proxy", after), ("with MD5s as tags", with_md5)]
    columns = [it for it in columns if it[1]]
    lines += ["| | tests | result |", "|---|---|---|"]
    lines += [f"| {name} | {len(results)} | {counts(results)} |" for name, results in columns]
    if after:
        lines += differences(before, after, "## What differs")
    if with_md5:
        lines += differences(before, with_md5, "## What differs with MD5s as tags")
    lines += ["", "## All tests", ""]
    lines += ["| test | " + " | ".join(it for it, _ in columns) + " |"]
    lines += ["|---" * (1 + len(columns)) + "|"]
    for name in sorted(set().union(*(results for _, results in columns))):
        cells = [results.get(name, ("missing", ""))[0] for _, results in columns]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    with open(out, "w") as file:
        file.write("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(prog="tests/s3/s3tests", description=__doc__)
    parser.add_argument("checkout", help="folder of ceph/s3-tests")
    parser.add_argument("--direct-only", action="store_true", help="makes the baseline")
    parser.add_argument("--md5", action="store_true", help='also with entity_tags = "md5"')
    parser.add_argument("--baseline", metavar="FILE", help="JSON of an earlier direct run")
    parser.add_argument("--proxy-bin", default=built(), help="the program endseal")
    parser.add_argument("--out", default="s3-tests.md", metavar="FILE", help="the tables")
    parser.add_argument("--json", metavar="FILE", help="both lists with their messages")
    parser.add_argument("--words", default=WORDS, metavar="WORDS", help="instead of the subset's")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for one test")
    parser.add_argument("--keep", action="store_true", help="keeps folders and logs")
    options = parser.parse_args()
    options.checkout = os.path.abspath(options.checkout)
    if not os.path.exists(os.path.join(options.checkout, "s3tests", "functional", "test_s3.py")):
        parser.error(f"{options.checkout} is no checkout of ceph/s3-tests")
    if not options.direct_only and options.proxy_bin is None:
        parser.error("no proxy: build it, name it by --proxy-bin, or make the baseline")
    stop_at_exit()
    kept = {"direct": {}, "proxy": {}, "md5": {}}
    if options.baseline:
        with open(options.baseline) as file:
            kept["direct"] = {name: tuple(it) for name, it in json.load(file)["direct"].items()}
    todo = [] if options.baseline else [("direct", direct)]
    todo += [] if options.direct_only else [("proxy", proxied)]
    todo += [("md5", called_by_md5)] if options.md5 and not options.direct_only else []
    for name, perform in todo:
        folder = tempfile.mkdtemp(prefix=f"endseal-s3tests-{name}-")
        try:
            kept[name], seconds = perform(options, folder)
            print(f"{name}: {counts(kept[name])} in {seconds:.0f} s", flush=True)
        finally:
            stop_all()
            if options.keep:
                print(f"tests/s3: kept {folder}", file=sys.stderr)
            else:
                shutil.rmtree(folder, ignore_errors=True)
    report(kept["direct"], kept["proxy"], kept["md5"], options.out)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(kept, file, indent=1)
    if options.direct_only:
        return 0
    failed = 0
    for run in [it for it in ("proxy", "md5") if kept[it]]:
        # What has a reason without MD5s as tags has none with them.
        why = {it: WHY[it] for it in WHY if run == "proxy" or it not in WITHOUT_MD5}
        worse = [it for it in moved(kept["direct"], kept[run]) if it[1][0] == "passed"]
        for name, _, (result, message) in worse:
            print(f"{run}: from passed to {result}: {name}: {why.get(name, message)}")
        worse = [it for it in worse if it[0] not in why]
        print(f"{run}: {len(kept[run]) - len(worse)} passed, {len(worse)} failed")
        failed += len(worse)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
