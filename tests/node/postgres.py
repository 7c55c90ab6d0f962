#!/usr/bin/env python3
"""A private PostgreSQL server, with a database for each hub.

`tests/node/postgres.py [COMMAND …]` starts one, and runs a command with the URL of an empty database
in ENDSEAL_HUB_DATABASE: a shell, if there is none. `tests/node/postgres.py cargo test --workspace
--test hub` runs the tests of the hub over PostgreSQL.
"""

import atexit
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

# Debian keeps the programs of each version in a folder of its own.
PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda it: int(it.parent.name))
# The user of hubs, which owns their databases and nothing else.
OWNER = "hub"
# Seconds in which a server starts, also after a crash, or stops.
TIMEOUT = 60
# What an operator sets: durable commits are PostgreSQL's default, and are named as tests rely on them.
SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "password_encryption": "scram-sha-256",
    "timezone": "UTC",
    "max_connections": "200",
}
ACCESS = """
local all all trust
host all all 127.0.0.1/32 scram-sha-256
"""


def program(name):
    """The path of a program of PostgreSQL, which is installed if there is none."""
    global PROGRAMS
    if not PROGRAMS and not shutil.which(name):
        print("installs PostgreSQL", file=sys.stderr)
        # Without a cluster of the system's own, which would start at once.
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        Path("/etc/postgresql-common").mkdir(exist_ok=True)
        settings = Path("/etc/postgresql-common/createcluster.conf")
        if not settings.exists():
            settings.write_text("create_main_cluster = false\n")
        install = ["install", "--yes", "--quiet=2", "--no-install-recommends"]
        for words in (["update", "--quiet=2"], [*install, "postgresql"]):
            subprocess.run(["apt-get", *words], env=environment, check=True, stdout=sys.stderr)
        PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    path = PROGRAMS[-1] / name if PROGRAMS else None
    return str(path) if path and path.exists() else shutil.which(name)


class Server:
    """A server in a temporary folder, which listens on a Unix socket and on a port of 127.0.0.1."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="endseal-pg-"))
        self.data, self.log = self.folder / "data", self.folder / "log"
        self.process, self.number, self.lock = None, 0, threading.Lock()
        self.password = secrets.token_hex(16)
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        atexit.register(self.remove)
        # PostgreSQL does not run as root.
        self.user = None
        if os.geteuid() == 0:
            self.user = pwd.getpwnam("postgres")
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        initdb = [program("initdb"), "--pgdata", self.data, "--username", "postgres"]
        options = ["--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync"]
        self.run([*initdb, *options])
        lines = [f"{name} = '{value}'\n" for name, value in SETTINGS.items()]
        with open(self.data / "postgresql.conf", "a") as file:
            file.writelines(lines)
        (self.data / "pg_hba.conf").write_text(ACCESS)
        self.start()
        self.sql(f"CREATE ROLE {OWNER} LOGIN PASSWORD '{self.password}'")

    def run(self, command):
        """Runs a program of PostgreSQL as its user, to its end."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            user=self.user and self.user.pw_uid,
            group=self.user and self.user.pw_gid,
            extra_groups=[] if self.user else None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert done.returncode == 0, f"{command}: {done.stdout.decode()}"

    def start(self):
        command = [program("postgres"), "-D", self.data, "-k", self.folder, "-p", str(self.port)]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*command, "-h", "127.0.0.1"],
                cwd=self.folder,
                user=self.user and self.user.pw_uid,
                group=self.user and self.user.pw_gid,
                extra_groups=[] if self.user else None,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        started = time.monotonic()
        while not self.is_ready():
            assert self.process.poll() is None and time.monotonic() - started < TIMEOUT, self.tail()
            time.sleep(0.05)

    def is_ready(self):
        command = [program("pg_isready"), "--quiet", "-h", self.folder, "-p", str(self.port)]
        return subprocess.run(command, check=False).returncode == 0

    def tail(self):
        return self.log.read_text(errors="replace")[-2_000:]

    def stop(self, mode="fast"):
        """Stops the server: `fast` ends connections, `immediate` is a crash of the server."""
        signals = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}
        self.process.send_signal(signals[mode])
        self.process.wait(TIMEOUT)

    def restart(self, mode="fast"):
        self.stop(mode)
        self.start()

    def remove(self):
        """Ends the server, and deletes all that it had."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(TIMEOUT)
        shutil.rmtree(self.folder, ignore_errors=True)

    # ------------------------------------------------------------------------------ databases

    def sql(self, text, database="postgres", user="postgres"):
        """Runs a statement. Returns the rows, each a list of texts."""
        command = [program("psql"), "-h", self.folder, "-p", str(self.port), "-U", user, "-d", database]
        options = ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "-F", "\t"]
        done = subprocess.run(
            [*command, *options, "-v", "ON_ERROR_STOP=1", "-c", text],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{text}: {done.stderr}"
        return [line.split("\t") for line in done.stdout.splitlines()]

    def create(self, name=None, template="template0"):
        """Makes a database: an empty one, or a copy of one that no one is connected to."""
        with self.lock:
            self.number += 1
            name = name or f"hub{self.number}"
            self.sql(f"CREATE DATABASE {name} OWNER {OWNER} TEMPLATE {template}")
        return name

    def drop(self, name):
        self.sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def url(self, name):
        """The URL by the Unix socket, which needs no password."""
        return f"postgres://{OWNER}@{str(self.folder).replace('/', '%2F')}:{self.port}/{name}"

    def url_by_tcp(self, name):
        """The URL by TCP, which needs the password."""
        return f"postgres://{OWNER}@127.0.0.1:{self.port}/{name}"

    def url_with_password(self, name):
        return f"postgres://{OWNER}:{self.password}@127.0.0.1:{self.port}/{name}"

    def files(self):
        """All files of the server, after what is in memory was written into them."""
        self.sql("CHECKPOINT")
        return [path for path in self.folder.rglob("*") if path.is_file()]


def main():
    server = Server()
    environment = os.environ | {
        "ENDSEAL_HUB_DATABASE": server.url(server.create()),
        # The tests of the hub make databases.
        "ENDSEAL_TEST_POSTGRES": f"postgres://postgres@{str(server.folder).replace('/', '%2F')}:{server.port}",
    }
    words = sys.argv[1:] or [os.environ.get("SHELL", "sh")]
    return subprocess.run(words, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
