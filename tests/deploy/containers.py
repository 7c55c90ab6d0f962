"""Podman with a storage of its own, which stands for Docker.

There is no Docker daemon and no registry. The same Dockerfile and compose.yml are used with podman
and podman-compose. The base image is made of Debian's packages, and the stage that compiles is
replaced by the program under test.
"""

import os
import re
import shlex
import shutil
import time

from tools import ROOT, base_root, page, remove_groups, run, wait_for

BASE_IMAGE = "gcr.io/distroless/cc-debian12:nonroot"
# A container of podman gets its limits of files and processes raised, which a machine like this refuses.
# Docker does not mount /tmp in a container whose root is read-only, podman does.
LIKE_DOCKER = ["--ulimit", "nproc=1024:1024", "--ulimit", "nofile=8192:8192", "--read-only-tmpfs=false"]


class Containers:
    def __init__(self, program, folder, tools):
        self.program, self.folder, self.tools = program, folder, tools
        folder.mkdir()
        (folder / "containers.conf").write_text(
            '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n'
            '[network]\nnetwork_backend = "netavark"\n'
        )
        (folder / "storage.conf").write_text(
            f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/storage"\nrunroot = "{folder}/run"\n'
        )
        (folder / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}\n')
        self.environment = {
            **os.environ,
            "CONTAINERS_CONF": str(folder / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
        }
        built = folder / "built"
        (built / "image/usr/local/bin").mkdir(parents=True)
        (built / "data").mkdir()
        shutil.copy(program, built / "image/usr/local/bin/endseal")
        self.built = built

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Removes containers, images and mounts."""
        self.podman("system", "reset", "--force", expect=None)
        remove_groups("libpod_parent")

    def podman(self, *words, **options):
        return run(["podman", *words], env=self.environment, **options)

    def image_from(self, root, name):
        """Makes an image with the files of a folder."""
        container = run(["buildah", "from", "scratch"], env=self.environment).strip()
        run(["buildah", "copy", "--quiet", container, root, "/"], env=self.environment)
        run(["buildah", "commit", "--quiet", container, name], env=self.environment)
        run(["buildah", "rm", container], env=self.environment)

    def build(self, command):
        """Runs `docker build …` without its first stage."""
        words = shlex.split(command)
        assert words[:2] == ["docker", "build"], command
        self.podman("build", "--quiet", *self.without_stage(), *words[2:], cwd=ROOT)

    def without_stage(self):
        """Options of a build that take the program from a folder instead of a stage."""
        return ["--pull=never", "--build-context", f"build={self.built}"]

    def start(self, command, *extra, folder):
        """Runs `docker run …` in the background and returns the id of the container."""
        words = shlex.split(command.replace("$PWD", str(folder)))
        assert words[:2] == ["docker", "run"], command
        return self.podman("run", "--detach", *LIKE_DOCKER, *extra, *words[2:]).strip()

    def pid(self, container):
        return int(self.podman("inspect", container, "--format", "{{.State.Pid}}"))

    def stop(self, container):
        """Ends a container by SIGTERM. It must exit with 0 within 3 s."""
        start = time.monotonic()
        self.podman("stop", "--time", "20", container)
        seconds = time.monotonic() - start
        code = self.podman("inspect", container, "--format", "{{.State.ExitCode}}").strip()
        assert code == "0" and seconds < 3, f"exit code {code} after {seconds:.1f} s"

    def log(self, container):
        return self.podman("logs", container)

    def compose(self, folder, *words, **options):
        """Runs `docker compose …` in a folder, with podman-compose."""
        # compose.yml says how many files it wants.
        start = shlex.join(LIKE_DOCKER[:2] + LIKE_DOCKER[4:])
        build = shlex.join(self.without_stage())
        program = [self.tools / "podman-compose", "--podman-run-args", start, "--podman-build-args", build]
        return run([*program, *words], env=self.environment, cwd=folder, **options)


def commands_of(dockerfile):
    """Returns the commands in the first comment of a Dockerfile."""
    comment = re.match(r"(#.*\n)+", dockerfile.read_text())[0]
    lines = [line.removeprefix("#") for line in comment.splitlines()]
    text = "\n".join(line.strip() for line in lines if line.startswith("   "))
    return text.replace("\\\n", "").splitlines()


def check_confined(pid, user, memory=None):
    """Checks the rights of a process, and returns its status as a table."""
    with open(f"/proc/{pid}/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file)
    assert status["Uid"].split() == [user] * 4 if user else status["Uid"].split()[0] != "0", status["Uid"]
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", status
    for rights in ("CapEff", "CapPrm", "CapBnd", "CapAmb"):
        assert int(status[rights], 16) == 0, f"{rights} {status[rights]}"
    for place in ("etc", "usr/local/bin", ""):
        file = f"/proc/{pid}/root/{place}/written-by-the-test"
        try:
            open(file, "w").close()
        except OSError as error:
            assert error.strerror == "Read-only file system", f"{file}: {error}"
        else:
            raise AssertionError(f"{file} could be written")
    if memory:
        limit = memory_limit(pid)
        assert limit == memory, f"memory limit {limit}"
    return status


def memory_limit(pid):
    """Returns the limit of the process's memory cgroup in bytes, or None if there is none."""
    with open(f"/proc/{pid}/cgroup") as file:
        groups = {line.split(":")[1]: line.rstrip("\n").split(":")[2] for line in file}
    for path in (
        f"/sys/fs/cgroup/memory{groups.get('memory', '')}/memory.limit_in_bytes",
        f"/sys/fs/cgroup{groups.get('', '')}/memory.max",
    ):
        if os.path.exists(path):
            with open(path) as file:
                text = file.read().strip()
            return int(text) if text != "max" and int(text) < 1 << 60 else None
    return None


def base_image(containers):
    containers.image_from(base_root(), BASE_IMAGE)


def wait_until_ready(url):
    return wait_for(url, lambda: page(url))
