"""What these tests need, and how they run commands."""

import os
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHES = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
CACHE = Path(os.environ.get("ENDSEAL_DEPLOY_CACHE", CACHES / "endseal-deploy"))
S3_CACHE = Path(os.environ.get("ENDSEAL_S3_CACHE", CACHES / "endseal-s3"))
# Seconds that a command may take on a busy machine.
TIMEOUT = 120
SUITE = "bookworm"
# Packages in the booted system, beside those that Debian calls required.
SYSTEM = ["systemd", "libssl3", "ca-certificates", "curl", "util-linux"]
# Packages in the image that the Dockerfiles begin with: those of gcr.io/distroless/cc-debian12.
BASE = ["base-files", "ca-certificates", "libc6", "libgcc-s1", "libssl3", "netbase", "tzdata", "zlib1g"]
COMPOSE = "github.com/docker/compose/v2/cmd@v2.32.4"
PACKAGES = {
    "buildah": "buildah",
    "runc": "runc",
    "debootstrap": "debootstrap",
    "systemd-nspawn": "systemd-container",
    "systemd-analyze": "systemd",
    "iptables": "iptables",
    "ip": "iproute2",
    "unshare": "util-linux",
    "curl": "curl",
}


def run(words, expect=0, stdin=b"", both=False, **options):
    """Runs a command to its end and returns what it wrote on standard output, or on both."""
    words = [str(word) for word in words]
    done = subprocess.run(words, input=stdin, capture_output=True, timeout=TIMEOUT, **options)
    said = (done.stdout + done.stderr).decode(errors="replace")
    assert expect is None or done.returncode == expect, f"{words}: {done.returncode}: {said[-2000:]}"
    return said if both else done.stdout.decode(errors="replace")


def wait_for(what, function, seconds=20):
    """Calls a function until it returns a value that is true, and returns that."""
    end = time.monotonic() + seconds
    while True:
        result = function()
        if result:
            return result
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.05)


def page(url):
    """Returns the text at a URL, or None if it cannot be had."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.read().decode()
    except OSError:
        return None


def remove_groups(*names):
    """Removes cgroups that Docker and systemd-nspawn leave, unless a process is in them."""
    for hierarchy in Path("/sys/fs/cgroup").iterdir():
        for name in names:
            groups = [group for group in (hierarchy / name).glob("**/") if group.is_dir()]
            for group in sorted(groups, reverse=True):
                try:
                    group.rmdir()
                except OSError:
                    pass


def wait_until_ready(url):
    return wait_for(url, lambda: page(url))


def install_programs():
    """Installs Debian's packages of programs that are missing."""
    missing = sorted({package for name, package in PACKAGES.items() if not shutil.which(name)})
    if missing:
        apt("update", "--quiet=2")
        apt("install", "--yes", "--quiet=2", "--no-install-recommends", *missing)


def apt(*words):
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", *words], env=environment, check=True, stdout=subprocess.DEVNULL)


def schema_checker():
    """Returns check-jsonschema, which pip installs."""
    folder = CACHE / "venv"
    program = folder / "bin/check-jsonschema"
    if not program.exists():
        run(["python3", "-m", "venv", folder])
        pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "check-jsonschema==0.39.0"], check=True)
    return program


def docker_programs():
    """Returns a folder with Docker's programs, of Debian, and its compose, which Go builds in ten minutes.

    The packages are not installed, since that would start a daemon.
    """
    folder = CACHE / "docker"
    note = CACHE / "docker.txt"
    if not note.exists():
        shutil.rmtree(folder, ignore_errors=True)
        unpack(["docker.io", "containerd", "tini"], folder)
        note.write_text("complete")
    plugin = folder / "config/cli-plugins/docker-compose"
    if not plugin.exists() and shutil.which("go"):
        environment = {**os.environ, "GOBIN": str(folder / "go")}
        run_here = {"env": environment, "cwd": "/", "check": True}
        subprocess.run(["go", "install", COMPOSE], **run_here)
        plugin.parent.mkdir(parents=True)
        (folder / "go/cmd").rename(plugin)
    return folder


def unpack(names, folder):
    """Unpacks Debian's packages into a folder."""
    packages = CACHE / "packages"
    shutil.rmtree(packages, ignore_errors=True)
    packages.mkdir(parents=True)
    # apt's own user may not write below root's home folder.
    unsandboxed = ["-o", "APT::Sandbox::User=root"]
    apt("update", "--quiet=2")
    run(["apt-get", *unsandboxed, "download", "--quiet=2", *names], cwd=packages)
    folder.mkdir(parents=True, exist_ok=True)
    for package in sorted(packages.glob("*.deb")):
        run(["dpkg-deb", "--extract", package, folder])
    shutil.rmtree(packages)


def system_root():
    """Returns the folder of a Debian with systemd, which debootstrap makes once: a minute and 250 MB."""
    folder = CACHE / f"system-{SUITE}"
    note = CACHE / f"system-{SUITE}.txt"
    wanted = " ".join(SYSTEM)
    if not note.exists() or note.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        note.unlink(missing_ok=True)
        CACHE.mkdir(parents=True, exist_ok=True)
        include = ",".join(SYSTEM)
        words = ["debootstrap", "--variant=minbase", f"--include={include}", SUITE, folder]
        log = CACHE / "debootstrap.log"
        with open(log, "wb") as output:
            done = subprocess.run([str(word) for word in words], stdout=output, stderr=output)
        assert done.returncode == 0, f"debootstrap failed: {log}"
        note.write_text(wanted)
    return folder


# What the entry of PostgreSQL's own image does with the variables that compose.yml sets.
POSTGRES_ENTRY = """#!/bin/bash
set -euo pipefail
programs=$(echo /usr/lib/postgresql/*/bin)
export PATH=$programs:$PATH
data=/var/lib/postgresql/data
install -d -m 0700 -o postgres $data
as() { setpriv --reuid postgres --regid postgres --clear-groups "$@"; }
if ! [ -e $data/PG_VERSION ]; then
    as initdb --pgdata $data --username "$POSTGRES_USER" --auth "$POSTGRES_HOST_AUTH_METHOD" >/dev/null
    as pg_ctl --pgdata $data --options "-c listen_addresses=" --wait start >/dev/null
    as createdb --username "$POSTGRES_USER" "$POSTGRES_DB" 2>/dev/null || true
    as pg_ctl --pgdata $data --wait stop >/dev/null
fi
exec setpriv --reuid postgres --regid postgres --clear-groups "$@" -D $data
"""


def servers_root():
    """Returns a folder with Debian's PostgreSQL and haproxy, for images that stand for registries'."""
    folder = CACHE / f"servers-{SUITE}"
    note = CACHE / f"servers-{SUITE}.txt"
    if not note.exists():
        shutil.rmtree(folder, ignore_errors=True)
        run(["cp", "--archive", system_root(), folder])
        # Without a cluster of its own.
        settings = folder / "etc/postgresql-common"
        settings.mkdir()
        (settings / "createcluster.conf").write_text("create_main_cluster = false\n")
        words = ["install", "--yes", "--quiet=2", "--no-install-recommends", "postgresql", "haproxy"]
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        log = CACHE / "servers.log"
        with open(log, "wb") as output:
            apt = ["chroot", folder, "apt-get", *words]
            done = subprocess.run(apt, env=environment, stdout=output, stderr=output)
        assert done.returncode == 0, f"packages cannot be installed: {log}"
        for useless in ("var/lib/apt/lists", "var/cache/apt", "usr/share/doc", "usr/share/locale", "usr/share/man"):
            shutil.rmtree(folder / useless)
        # pg_isready and pg_dump are called without a path.
        for program in (folder / "usr/lib/postgresql").glob("*/bin/*"):
            link = folder / "usr/local/bin" / program.name
            link.symlink_to(f"/{program.relative_to(folder)}")
        run(["chroot", folder, "install", "-d", "-m", "3777", "-o", "postgres", "/run/postgresql"])
        note.write_text("complete")
    entry = folder / "usr/local/bin/postgres-entry"
    entry.write_text(POSTGRES_ENTRY)
    entry.chmod(0o755)
    return folder


def base_root():
    """Returns a folder with the files of the base image, from Debian's packages."""
    folder = CACHE / f"base-{SUITE}"
    note = CACHE / f"base-{SUITE}.txt"
    wanted = " ".join(BASE)
    if not note.exists() or note.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        unpack(BASE, folder)
        (folder / "etc/passwd").write_text("nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")
        (folder / "etc/group").write_text("nonroot:x:65532:\n")
        note.write_text(wanted)
    return folder


def relay_program():
    """Returns the Nostr relay of the signer's tests, which Go builds."""
    program = ROOT / "peers/go/target/endseal-peers-go"
    if not program.exists() and shutil.which("go"):
        words = ["go", "build", "-buildvcs=false", "-o", program, "."]
        subprocess.run([str(word) for word in words], cwd=ROOT / "peers/go", check=True)
    return program if program.exists() else None


def built_program():
    """Builds the program."""
    run_here = {"cwd": ROOT, "check": True}
    subprocess.run(["cargo", "build", "--quiet", "--locked", "--package", "endseal-cli"], **run_here)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/endseal"


class Process:
    """A program in the background, which ends with this one."""

    def __init__(self, words, log, **options):
        self.log = log
        with open(log, "ab") as output:
            words = [str(word) for word in words]
            options = {"stdout": output, "stderr": output, "stdin": subprocess.DEVNULL} | options
            self.child = subprocess.Popen(words, **options)

    def stop(self, seconds=20):
        """Ends it, by force if it takes longer than `seconds`."""
        self.child.terminate()
        try:
            self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


class Person:
    """The program of a person, with a state folder of its own."""

    def __init__(self, program, folder, name):
        self.program, self.home, self.name = program, folder / name, name
        self.ok("init", "--no-passphrase")
        self.identity = self.ok("id", "show").strip()

    def ok(self, *words, stdin=b""):
        return run([self.program, "--home", self.home, *words], stdin=stdin)


def knows(one, other):
    one.ok("contacts", "add", other.name, other.identity)


def s3_server():
    """Returns versitygw, the S3 server of the proxy's tests, which Go builds in three minutes."""
    program = S3_CACHE / "bin/versitygw"
    if not program.exists() and shutil.which("go"):
        subprocess.run([ROOT / "tests/s3/install.sh", "versitygw"], check=True)
    return program


class S3Server:
    """versitygw with the account that the proxy's examples name, on all addresses of this test."""

    def __init__(self, program, folder, port, secret):
        self.account = ("endseal-proxy", secret)
        (folder / "objects").mkdir(parents=True)
        environment = {**os.environ, "ROOT_ACCESS_KEY": "endseal-proxy", "ROOT_SECRET_KEY": secret}
        words = [program, "--port", f":{port}", "--region", "us-east-1", "--quiet"]
        words += ["posix", folder / "objects"]
        self.url = f"http://127.0.0.1:{port}"
        self.process = Process(words, folder / "versitygw.log", env=environment)
        wait_for("versitygw", lambda: signed(self.account, self.url, expect=None) == "200")


def signed(account, url, *words, expect="200"):
    """Sends a request that curl signs. Returns the status, and checks it unless `expect` is None."""
    curl = ["curl", "--silent", "--show-error", "--aws-sigv4", "aws:amz:us-east-1:s3"]
    curl += ["--user", ":".join(account), "--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD"]
    if "--output" not in words:
        curl += ["--output", "/dev/null"]
    status = run([*curl, "--write-out", "%{http_code}", *words, url], expect=None)
    assert expect is None or status == expect, f"{url}: {status}"
    return status


def check_s3(proxy, server, client, folder, bucket):
    """Writes and reads an object through a proxy. What the server keeps must be another text."""
    text, copy, raw = (folder / name for name in ("text", "copy", "raw"))
    text.write_text("a text of the test\n" * 100)
    for file in (copy, raw):
        file.unlink(missing_ok=True)
    signed(server.account, f"{server.url}/{bucket}", "--request", "PUT", expect=None)
    signed(client, f"{proxy}/{bucket}/object", "--upload-file", text)
    signed(client, f"{proxy}/{bucket}/object", "--output", copy)
    signed(server.account, f"{server.url}/{bucket}/object", "--output", raw)
    assert copy.read_bytes() == text.read_bytes()
    assert b"a text" not in raw.read_bytes() and len(raw.read_bytes()) > len(text.read_bytes())
