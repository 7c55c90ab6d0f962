"""The S3 proxy in its image and as a service, before versitygw."""

import os

from checks import Skipped
from confined import check_confined
from docker import commands_of
from readme import Readme
from tools import ROOT, S3Server, check_s3, run, s3_server, signed, wait_until_ready

FOLDER = ROOT / "deploy/s3"
SECRETS = "/run/credentials/endseal-s3.service"
BACKEND, CLIENT = "secret-of-the-backend", "secret-of-alice"
MEMORY = 1 << 30


def server(folder):
    program = s3_server()
    if not program.exists():
        raise Skipped("no versitygw, and no Go to build it")
    return S3Server(program, folder, 9002, BACKEND)


def image(engine, folder):
    """Builds and runs the image by the commands of the Dockerfile."""
    folder = folder / "s3-image"
    behind = server(folder)
    etc = folder / "etc"
    etc.mkdir()
    # The address of this test in Docker's network.
    text = (FOLDER / "minio.toml").read_text().replace(SECRETS, "/etc/endseal")
    text = text.replace("127.0.0.1:9002", "172.17.0.1:9002")
    (etc / "s3.toml").write_text(text.replace("127.0.0.1:9000", "0.0.0.0:9000"))
    (etc / "backend.secret").write_text(BACKEND + "\n")
    (etc / "client.secret").write_text(CLIENT + "\n")
    run([engine.program, "s3", "key", "new", etc / "ring.key"])
    for file in etc.iterdir():
        file.chmod(0o600)
        os.chown(file, 65532, 65532)
    build, start = commands_of(FOLDER / "Dockerfile")
    engine.build(build)
    engine.start(start, "--name", "s3", "--memory", "1g", folder=folder)
    wait_until_ready("http://127.0.0.1:9000/readyz")
    check_confined(engine.pid("s3"), "65532", MEMORY)
    check_s3("http://127.0.0.1:9000", behind, ("alice", CLIENT), folder, "photos-1")
    engine.stop("s3")
    engine.docker("start", "s3")
    wait_until_ready("http://127.0.0.1:9000/readyz")
    check_s3("http://127.0.0.1:9000", behind, ("alice", CLIENT), folder, "photos-1")
    engine.stop("s3")
    engine.docker("rm", "s3")
    behind.process.stop()


def unit(system, folder):
    """Runs the section "As a service" of the README in a booted system."""
    folder = folder / "s3-unit"
    behind = server(folder)
    readme = Readme("deploy/s3/README.md", ["As a service"])
    for start in ("install -m 0755", "install -d", "endseal s3 key new"):
        system.shell(readme.take(start))
    for secret in (BACKEND, CLIENT):
        system.shell(readme.take("install -m 0600 /dev/stdin"), stdin=f"{secret}\n".encode())
    for start in ("install", "install", "systemctl daemon-reload"):
        system.shell(readme.take(start))
    wait_until_ready("http://127.0.0.1:9000/readyz")
    assert system.shell(readme.take("curl")).strip() == "ok"
    name = "endseal-s3"
    system.check_verified(name)
    system.check_confined(name, None, MEMORY)
    check_s3("http://127.0.0.1:9000", behind, ("alice", CLIENT), folder, "photos-1")
    # The configuration is read again: a client more.
    system.shell("sed -i 's/\"alice\"/\"bert\"/' /etc/endseal/s3.toml && systemctl reload endseal-s3")
    check_s3("http://127.0.0.1:9000", behind, ("bert", CLIENT), folder, "photos-1")
    signed(("alice", CLIENT), "http://127.0.0.1:9000/photos-1/object", expect="403")
    system.check_memory(name)
    system.check_stopped(name)
    readme.all_were_run()
    behind.process.stop()
