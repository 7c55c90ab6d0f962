"""The S3 proxy in its image and as a service, before versitygw."""

import json
import os
import shutil

import stand_ins
from checks import Skipped
from confined import check_confined
from docker import commands_of
from readme import Readme
from tools import ROOT, S3Server, check_s3, docker_programs, run, s3_server, signed, wait_for, wait_until_ready

FOLDER = ROOT / "deploy/s3"
SECRETS = "/run/credentials/endseal-s3.service"
BACKEND, CLIENT = "secret-of-the-backend", "the-secret-of-alice"
MEMORY = 1 << 30
PROJECT, URL = "endseal-s3", "http://127.0.0.1:9000"


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


def compose(engine, folder):
    """Runs the section "All of it with compose" of the README, less Prometheus and Grafana."""
    if not (docker_programs() / "config/cli-plugins/docker-compose").exists() or not s3_server().exists():
        raise Skipped("no docker compose or versitygw, and no Go to build them")
    readme = Readme("deploy/s3/README.md", ["All of it with compose"])
    place = folder / "s3-compose"
    shutil.copytree(FOLDER, place / "deploy/s3", ignore=shutil.ignore_patterns("secret"))
    built = place / "target/dist"
    built.mkdir(parents=True)
    shutil.copy(engine.program, built / "endseal")
    run(["bash", "-c", readme.take("cd deploy/s3 && compose/secrets")], cwd=place)
    place = place / "deploy/s3"
    build, _ = commands_of(FOLDER / "Dockerfile")
    engine.build(build)
    engine.docker("tag", "endseal", "endseal:local")
    settings = engine.docker("compose", "config", "--format", "json", cwd=place)
    stand_ins.make(engine, json.loads(settings))
    up = readme.take("docker compose up").replace(" --build", "")
    engine.shell(f"{up} balancer", place)
    wait_until_ready(f"{URL}/readyz")
    for proxy in ("proxy-1", "proxy-2"):
        check_confined(engine.pid(f"{PROJECT}-{proxy}-1"), "65532")
    client = ("alice", (place / "compose/secret/client.secret").read_text().strip())
    assert readme.take("aws --endpoint-url http://127.0.0.1:9000 s3 mb s3://photos-example")
    signed(client, f"{URL}/photos-example", "--request", "PUT")
    text, copy = folder / "s3-text", folder / "s3-copy"
    text.write_text("a text of the test\n" * 100)
    signed(client, f"{URL}/photos-example/object", "--upload-file", text)
    for proxy in ("proxy-1", "proxy-2"):
        # The other proxy serves while one is stopped.
        engine.stop(f"{PROJECT}-{proxy}-1")
        wait_for("the balancer", lambda: signed(client, f"{URL}/photos-example", expect=None) == "200")
        signed(client, f"{URL}/photos-example/object", "--output", copy)
        assert copy.read_bytes() == text.read_bytes()
        engine.docker("compose", "start", proxy, cwd=place)
        wait_for(proxy, lambda: has_two_proxies(engine))
    engine.docker("compose", "down", "--volumes", cwd=place)
    readme.all_were_run()


def has_two_proxies(engine):
    """True when the log of the balancer says that both proxies are up."""
    log = engine.docker("logs", f"{PROJECT}-balancer-1", both=True)
    down = {name: log.rfind(f"proxies/{name} is DOWN") for name in ("proxy-1", "proxy-2")}
    return all(log.rfind(f"proxies/{name} is UP") >= there for name, there in down.items())


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
