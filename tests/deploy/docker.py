"""A Docker daemon of this test's own, with the images that the Dockerfiles make.

Registries cannot be reached, so the base image is made of Debian's packages. Buildah builds, as it can
replace the stage that compiles by the program under test; Docker's builder needs a newer daemon than
Debian's for that. Everything else is Docker: the daemon, its client, and compose.
"""

import json
import os
import re
import shlex
import shutil
import time

from tools import ROOT, Process, base_root, docker_programs, remove_groups, run, wait_for

BASE_IMAGE = "gcr.io/distroless/cc-debian12:nonroot"


class Docker:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        folder.mkdir()
        settings = folder / "storage.conf"
        settings.write_text(
            f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/buildah"\nrunroot = "{folder}/run"\n'
        )
        programs = docker_programs()
        self.environment = {
            **os.environ,
            "PATH": f"{programs}/usr/sbin:{programs}/usr/bin:{os.environ['PATH']}",
            "DOCKER_HOST": f"unix://{folder}/socket",
            "CONTAINERS_STORAGE_CONF": str(settings),
        }
        self.config = programs / "config"
        # What the stage "build" of the Dockerfiles leaves.
        self.stage = folder / "stage"
        (self.stage / "image/usr/local/bin").mkdir(parents=True)
        (self.stage / "data").mkdir()
        shutil.copy(program, self.stage / "image/usr/local/bin/endseal")

    def __enter__(self):
        words = ["dockerd", "--host", self.environment["DOCKER_HOST"], "--data-root", self.folder / "data"]
        words += ["--exec-root", self.folder / "exec", "--pidfile", self.folder / "pid"]
        self.daemon = Process(words, self.folder / "log", env=self.environment)
        try:
            wait_for("dockerd", lambda: (self.folder / "socket").exists())
            self.image_from(base_root(), BASE_IMAGE)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        containers = self.docker("ps", "--all", "--quiet").split()
        if containers:
            self.docker("rm", "--force", "--volumes", *containers)
        self.daemon.stop()
        remove_groups("docker")

    def docker(self, *words, **options):
        return run(["docker", "--config", self.config, *words], env=self.environment, **options)

    def shell(self, line, folder):
        """Runs a line of a README in a folder."""
        function = f'docker() {{ command docker --config {self.config} "$@"; }}'
        return run(["bash", "-c", f"set -e; {function}\n{line}"], env=self.environment, cwd=folder)

    def buildah(self, *words, **options):
        return run(["buildah", *words], env=self.environment, **options).strip()

    def image_from(self, root, name):
        """Makes an image with the files of a folder, for builds."""
        container = self.buildah("from", "scratch")
        self.buildah("copy", "--quiet", container, root, "/")
        self.buildah("commit", "--quiet", container, name)
        self.buildah("rm", container)

    def build(self, command):
        """Does what `docker build …` says in a Dockerfile, less its first stage."""
        words = shlex.split(command)
        assert words[:2] == ["docker", "build"] and words[-1] == ".", command
        stage = ["--pull-never", "--build-context", f"build={self.stage}"]
        self.buildah("build", "--quiet", "--isolation", "chroot", *stage, *words[2:], cwd=ROOT)
        name = words[words.index("-t") + 1]
        archive = self.folder / "image.tar"
        self.buildah("push", "--quiet", name, f"docker-archive:{archive}:{name}:latest")
        self.docker("load", "--quiet", "--input", archive)
        archive.unlink()

    def image_of(self, root, name, *entry):
        """Makes an image with the files of a folder for Docker, in the place of a registry's."""
        archive = self.folder / "root.tar"
        run(["tar", "--directory", root, "--create", "--file", archive, "."])
        changes = ["--change", f"ENTRYPOINT {json.dumps(entry)}"] if entry else []
        self.docker("import", *changes, archive, name)
        archive.unlink()

    def start(self, command, *options, folder):
        """Does what `docker run …` says, in the background."""
        words = shlex.split(command.replace("$PWD", str(folder)))
        assert words[:2] == ["docker", "run"], command
        self.docker("run", "--detach", *options, *words[2:])

    def pid(self, container):
        return int(self.docker("inspect", container, "--format", "{{.State.Pid}}"))

    def stop(self, container, limit=3):
        """Ends a container by SIGTERM. It must exit with 0 within `limit` seconds."""
        start = time.monotonic()
        self.docker("stop", "--time", "20", container)
        seconds = time.monotonic() - start
        code = self.docker("inspect", container, "--format", "{{.State.ExitCode}}").strip()
        assert code == "0" and seconds < limit, f"exit code {code} after {seconds:.1f} s"


def commands_of(dockerfile):
    """Returns the commands in the first comment of a Dockerfile."""
    comment = re.match(r"(#.*\n)+", dockerfile.read_text())[0]
    lines = [line.removeprefix("#") for line in comment.splitlines()]
    text = "\n".join(line.strip() for line in lines if line.startswith("   "))
    return text.replace("\\\n", "").splitlines()
