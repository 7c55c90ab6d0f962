"""Runs the cases. Started by `run`, which installs what is needed."""

import argparse
import importlib
import json
import os
import shutil
import sys
import tempfile
import time

import cases
from limits import limits
from processes import stop_all, stop_at_exit
from servers import SERVERS
from world import World

MODULES = [
    "objects",
    "connections",
    "ranges",
    "names",
    "encrypted_names",
    "conditions",
    "copies",
    "listings",
    "checksums",
    "signatures",
    "presigned",
    "forms",
    "bypasses",
    "hostile_statuses",
    "multipart",
    "part_reading",
    "multipart_refusals",
    "aws_cli",
    "s3cmd",
    "rclone",
    "at_rest",
    "maintenance",
    "tampering",
    "breakdowns",
    "slowness",
    "memory",
]
# What there is in names: with --names, these.
WITH_NAMES = [
    "objects",
    "names",
    "encrypted_names",
    "copies",
    "listings",
    "presigned",
    "forms",
    "multipart",
    "multipart_refusals",
    "aws_cli",
    "s3cmd",
    "rclone",
]
USAGE, FAILURE, NOTHING = 2, 1, 3


def main():
    options = arguments()
    stop_at_exit()
    # Clients take settings from here that belong to the machine and not to the test.
    for name in list(os.environ):
        if name.startswith("AWS_"):
            del os.environ[name]
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    if options.direct and options.names:
        print("tests/s3: --names is about the proxy", file=sys.stderr)
        return USAGE
    for module in WITH_NAMES if options.names else MODULES:
        importlib.import_module(module)
    chosen = cases.select(options.only)
    if options.list:
        print("\n".join(str(one) for one in chosen))
        return 0
    if not options.direct and options.proxy_bin is None:
        print("tests/s3: no proxy; build it, or --proxy-bin FILE, or --direct", file=sys.stderr)
        return USAGE

    rows = [(one, {}) for one in chosen]
    columns = []
    for name in options.backend:
        column = name if options.direct else f"proxy + {name}"
        if options.names:
            column = f"names + {name}"
        columns.append(column)
        folder = tempfile.mkdtemp(prefix=f"endseal-s3-{name}-")
        try:
            run_on(name, column, folder, rows, options)
        finally:
            stop_all()
            if options.keep:
                print(f"tests/s3: kept {folder}", file=sys.stderr)
            else:
                shutil.rmtree(folder, ignore_errors=True)
    return report(columns, rows, options)


def run_on(name, column, folder, rows, options):
    server = SERVERS[name](folder)
    if reason := server.missing():
        print(f"{column}: skipped ({reason})", flush=True)
        for _, outcomes in rows:
            outcomes[column] = cases.Outcome(cases.SKIPPED, reason)
        return
    binary = None if options.direct else options.proxy_bin
    world = World(server, folder, binary, options.quick, options.full, options.names)
    world.start()
    begin = time.monotonic()
    for one, outcomes in rows:
        outcome = cases.perform(one, world, limits(name, options.direct, options.names))
        outcomes[column] = outcome
        print(f"{column:18} {str(one):58} {outcome.seconds:6.1f} s  {outcome}", flush=True)
        world.restart_if_dead()
    print(f"{column}: {time.monotonic() - begin:.0f} s in all", flush=True)
    world.stop()


def report(columns, rows, options):
    text = cases.table(columns, rows)
    if options.table:
        with open(options.table, "w") as file:
            file.write(text)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(
                {
                    column: {
                        str(one): [
                            it[column].result,
                            it[column].reason,
                            round(it[column].seconds, 2),
                        ]
                        for one, it in rows
                        if column in it
                    }
                    for column in columns
                },
                file,
                indent=1,
            )
    print("\n" + text)
    count = {cases.OK: 0, cases.FAILED: 0, cases.SKIPPED: 0}
    for _, outcomes in rows:
        for outcome in outcomes.values():
            count[outcome.result] += 1
    print(f"{count[cases.OK]} passed, {count[cases.FAILED]} failed, {count[cases.SKIPPED]} skipped")
    if count[cases.FAILED]:
        return FAILURE
    return 0 if count[cases.OK] else NOTHING


def arguments():
    parser = argparse.ArgumentParser(prog="tests/s3/run", description=__doc__)
    parser.add_argument("--direct", action="store_true", help="clients straight to the servers")
    parser.add_argument("--proxy-bin", default=built(), help="the program endseal")
    parser.add_argument("--backend", action="append", choices=sorted(SERVERS))
    parser.add_argument("--names", action="store_true", help="names are encrypted")
    parser.add_argument("--quick", action="store_true", help="without what takes long")
    parser.add_argument("--full", action="store_true", help="every byte flipped, 5 GiB for memory")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN")
    parser.add_argument("--list", action="store_true", help="the cases' names")
    parser.add_argument("--table", metavar="FILE", help="the table as Markdown")
    parser.add_argument("--json", metavar="FILE", help="results with reasons and seconds")
    parser.add_argument("--keep", action="store_true", help="keeps folders and logs")
    options = parser.parse_args()
    options.backend = list(dict.fromkeys(options.backend or ["versitygw"]))
    if options.proxy_bin:
        options.proxy_bin = os.path.abspath(options.proxy_bin)
    return options


def built():
    """The newer of the two builds, or None."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(root, "target"))
    found = [os.path.join(target, it, "endseal") for it in ("release", "debug")]
    found = [it for it in found if os.access(it, os.X_OK)]
    return max(found, key=os.path.getmtime, default=None)


if __name__ == "__main__":
    sys.exit(main())
