"""The proxy under test: `endseal s3 serve` as a process."""

import json
import os
import subprocess

from children import clean_environment, free_port
from processes import Process
from servers import REGION, answers

# The clients' account. It is not the backend's, so that a request forwarded unsigned is found out.
ACCESS = "clientaccess"
SECRET = "client-secret-9876543210zyxwvutsrq"
# The line that names the host below which buckets are subdomains.
VIRTUAL_HOSTS = 'domains = ["localhost"]'


def built():
    """The newer of the two builds, or None."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(root, "target"))
    found = [os.path.join(target, it, "endseal") for it in ("release", "debug")]
    found = [it for it in found if os.access(it, os.X_OK)]
    return max(found, key=os.path.getmtime, default=None)


def new_ring(binary, path):
    """Makes a key ring; the proxies of one bucket share it."""
    subprocess.run(
        [binary, "s3", "key", "new", path],
        check=True,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
    )


def new_name_secret(binary, path):
    """Makes a name secret; the proxies of one bucket share it."""
    return command(binary, "names", "init", path)["check"]


def command(binary, *arguments, expect=0):
    """Runs `endseal s3 …`; what it reports."""
    done = subprocess.run(
        [binary, "--json", "s3", *arguments],
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=300,
    )
    if expect is not None and done.returncode != expect:
        said = (done.stdout + done.stderr).decode(errors="replace")
        raise AssertionError(f"s3 {arguments[0]} ended with {done.returncode}: {said[:1500]}")
    return json.loads(done.stdout)


def rotate(binary, ring):
    """Adds a key to a ring; its id."""
    return command(binary, "key", "rotate", ring)["keys"][-1]["id"]


def forget_old_keys(ring):
    """Leaves a ring the key that wraps (docs/spec/s3-key-ring.md, an open file)."""
    with open(ring) as file:
        lines = file.read().splitlines()
    newest = [it for it in lines if it.startswith("key ")][-1]
    with open(ring, "w") as file:
        file.write("\n".join([it for it in lines if not it.startswith("key ")] + [newest]) + "\n")


def secret_file(folder, name, secret):
    path = os.path.join(folder, name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(secret + "\n")
    return path


def configuration(server, folder, port, ring, extra="", clients=None, names=None, backend=""):
    """Writes the configuration and the secrets it names; the path of the configuration.

    `extra` goes before the tables, `backend` into that of the server. A client is access key and secret, and the same of the account
    at the server that stands for it, if that is not the one of [backend]. `names` is the file of the
    name secret of all buckets, if their names are encrypted.
    """
    clients = clients or [(ACCESS, SECRET)]
    lines = [f'listen = "127.0.0.1:{port}"', extra]
    lines += [
        "[backend]",
        f'url = "{server.url}"',
        f'region = "{REGION}"',
        f'access_key = "{server.access}"',
        f'secret_key_file = "{secret_file(folder, "backend.secret", server.secret)}"',
        f"trailers = {str(server.trailers).lower()}",
        backend,
        "[keys]",
        'provider = "ring"',
        f'file = "{ring}"',
    ]
    for number, (access, secret, *there) in enumerate(clients):
        path = secret_file(folder, f"client-{number}.secret", secret)
        lines += ["[[client]]", f'access_key = "{access}"', f'secret_key_file = "{path}"']
        if there:
            path = secret_file(folder, f"client-{number}.backend.secret", there[1])
            lines += [
                f'backend_access_key = "{there[0]}"',
                f'backend_secret_key_file = "{path}"',
            ]
    if names:
        lines += ["[[bucket]]", 'name = "*"', 'names = "encrypt"']
        lines += [f'name_secret_file = "{names}"']
    path = os.path.join(folder, "endseal-s3.toml")
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    return path


class Proxy:
    """One proxy process before a server."""

    def __init__(
        self,
        binary,
        server,
        folder,
        ring,
        extra="",
        clients=None,
        names=None,
        tls=None,
        backend="",
    ):
        """`tls` is the files of certificate, key and authority."""
        if tls:
            extra += f'\n[tls]\ncertificate = "{tls[0]}"\nkey = "{tls[1]}"\n'
        os.makedirs(folder, exist_ok=True)
        self.port = free_port()
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.log = os.path.join(folder, "proxy.log")
        path = configuration(server, folder, self.port, ring, extra, clients, names, backend)
        self.configuration = path
        self.binary, self.authority = binary, tls and tls[2]
        self.start()

    def start(self):
        """Starts it, or once more after `stop` or `kill`."""
        self.process = Process(
            [self.binary, "s3", "serve", "--config", self.configuration],
            self.log,
            ready=lambda: answers(self.port, "/readyz", (200,), self.authority),
            timeout=20,
        )

    def stop(self):
        return self.process.stop()

    def kill(self):
        self.process.kill()

    def peak_memory(self):
        return self.process.memory("VmHWM")

    def memory(self):
        return self.process.memory("VmRSS")

    def words(self):
        """All that it logged."""
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()
