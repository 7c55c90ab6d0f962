"""The remote signer as a service, with a relay of another project."""

import json
from subprocess import PIPE

from checks import Skipped
from readme import Readme
from tools import Process, relay_program, run, wait_until_ready

MEMORY = 512 << 20
RELAY = "ws://127.0.0.1:7777"


def unit(system, folder):
    """Runs the sections on the service and on backups of the README in a booted system."""
    program = relay_program()
    if not program:
        raise Skipped("no relay, and no Go to build it")
    folder = folder / "signer-unit"
    folder.mkdir()
    # The relay ends with its standard input.
    relay = Process([program, "relay", "--listen", "127.0.0.1:7777"], folder / "relay.log", stdin=PIPE)
    readme = Readme("deploy/signer/README.md", ["As a service", "Backup and restore"])
    for start in ("install", "useradd", "install -d"):
        system.shell(readme.take(start))
    system.shell(readme.take("install -m 0600 /dev/stdin"), stdin=b"a passphrase of the test\n")
    key = folder / "nostr.key"
    run([system.program, "nostr", "key", "new", "-o", key])
    system.write("nostr.key", key.read_bytes())
    export = readme.take("export ENDSEAL_HOME")
    init = readme.take("endseal --passphrase-file").replace("wss://relay.example", RELAY)
    system.shell(f"{export}; {init}")
    system.shell(f"{export}; {readme.take('endseal --passphrase-file')}")
    for start in ("chown", "install"):
        system.shell(readme.take(start))
    name = "endseal-signer"
    enable = readme.take("systemctl daemon-reload")
    # The relay of the test has an address of this machine.
    system.edit_unit(name, "signer run", "signer run --allow-private")
    system.shell(enable)
    wait_until_ready("http://127.0.0.1:9092/healthz")
    system.shell(readme.take("curl"))
    system.check_verified(name)
    system.check_confined(name, f"/var/lib/{name}", MEMORY)
    system.define(readme.take("signer() {"))
    other = json.loads(run([system.program, "--json", "nostr", "key", "new"]))["public_key"]
    invite = readme.take("signer invite mail").replace("npub1...", other)
    url = next(word for word in system.shell(invite).split() if word.startswith("bunker://"))
    file = folder / "bunker.url"
    file.write_text(url + "\n")
    file.chmod(0o600)
    (folder / "note").write_text("a note of the test")
    sign(system.program, folder)
    assert "mail" in system.shell(readme.take("signer apps"))
    wait_until_ready("http://127.0.0.1:9092/readyz")
    system.check_stopped(name)
    system.shell(f"systemctl start {name}")
    wait_until_ready("http://127.0.0.1:9092/readyz")
    revoke = readme.take("signer revoke mail")
    system.shell(readme.take("signer backup"))
    system.shell(revoke)
    system.shell(readme.take("systemctl stop"))
    system.shell(readme.take("mv"))
    system.shell(f"cd /var/lib/endseal-signer && {readme.take('cp -a')}")
    system.shell(readme.take("systemctl start"))
    wait_until_ready("http://127.0.0.1:9092/readyz")
    # As the README says, what was revoked after the copy is there again.
    assert "mail" in system.shell("signer apps")
    system.check_memory(name)
    system.check_stopped(name)
    readme.all_were_run()
    relay.stop()


def sign(program, folder):
    out = run([program, "--home", folder / "client", "nostr", "event", "sign", "--bunker", folder / "bunker.url",
               "--kind", "1", folder / "note"])
    assert "a note of the test" in out and '"sig"' in out, out
