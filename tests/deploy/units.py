"""A Debian that systemd has booted in a container of systemd-nspawn, in which units run as they are."""

import os
import re
import subprocess
import time
from pathlib import Path

from confined import check_confined, memory_limit
from tools import ROOT, Process, remove_groups, run, system_root, wait_for

MEMORY_GROUPS = Path("/sys/fs/cgroup/memory")


class System:
    def __init__(self, program, folder):
        self.program, self.functions, self.group = program, [], None
        if MEMORY_GROUPS.exists():
            self.group = MEMORY_GROUPS / folder.name
            self.group.mkdir()
        words = ["systemd-nspawn", "--quiet", "--directory", system_root(), "--volatile=overlay", "--boot"]
        # No machined is asked: there is none on a machine that systemd has not booted.
        words += ["--register=no", "--keep-unit", "--console=pipe"]
        words += [f"--bind-ro={ROOT / 'deploy'}:/src/deploy", f"--bind-ro={program}:/src/target/dist/endseal"]
        self.process = Process(words, folder / "boot.log", preexec_fn=self.enter_group)
    def enter_group(self):
        if self.group:
            (self.group / "cgroup.procs").write_text(str(os.getpid()))

    def first_process(self):
        """The first process of the system, as it is called outside, or None while there is none."""
        pid = self.process.child.pid
        assert self.process.child.poll() is None, Path(self.process.log).read_text()[-2000:]
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            status = Path(f"/proc/{child}/status")
            if status.exists() and pids_of(status)[1:] == ["1"]:
                return int(child)
        return None

    def is_booted(self):
        state = self.shell("systemctl is-system-running", expect=None).strip()
        assert state != "degraded", self.shell("systemctl --failed --no-legend")
        return state == "running"

    def __enter__(self):
        try:
            self.leader = wait_for("a system", self.first_process)
            wait_for("the system", self.is_booted, 60)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        # systemd takes it for "halt".
        self.process.stop()
        remove_groups("payload", "supervisor")
        if self.group:
            self.group.rmdir()

    def shell(self, line, expect=0, stdin=b""):
        """Runs a line in the folder /src, which has deploy/ and the program."""
        inside = ["nsenter", "--target", self.leader, "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"]
        clean = ["env", "--ignore-environment", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        text = "\n".join(["set -e; cd /src", *self.functions, line])
        return run([*inside, *clean, "HOME=/root", "bash", "-c", text], expect=expect, stdin=stdin)

    def define(self, function):
        self.functions.append(function)

    def write(self, path, content):
        self.shell(f"umask 077; cat > {path}", stdin=content)

    def edit_unit(self, name, old, new):
        """Changes the command of a unit, as `systemctl edit` does."""
        unit = (ROOT / f"deploy/{name.removeprefix('endseal-')}/{name}.service").read_text()
        command = re.search(r"^ExecStart=.*", unit, re.MULTILINE)[0]
        assert old in command
        text = f"[Service]\nExecStart=\n{command.replace(old, new)}\n"
        folder = f"/etc/systemd/system/{name}.service.d"
        self.shell(f"mkdir -p {folder}; cat > {folder}/override.conf", stdin=text.encode())

    def show(self, name, entry):
        return self.shell(f"systemctl show --property {entry} --value {name}").strip()

    def pid(self, name):
        """The process of a service, as it is called outside of the system."""
        inside = self.show(name, "MainPID")
        assert inside != "0", self.shell(f"systemctl status {name}", expect=None)
        for status in Path("/proc").glob("[0-9]*/status"):
            pids = pids_of(status)
            if len(pids) > 1 and pids[-1] == inside:
                return int(status.parent.name)
        raise AssertionError(f"no process {inside}")

    def check_verified(self, name):
        said = self.shell(f"systemd-analyze verify /etc/systemd/system/{name}.service 2>&1")
        assert not said, said

    def check_confined(self, name, state, memory):
        """Checks what the sandbox of a service keeps from it, and returns the process."""
        pid = self.pid(name)
        check_confined(pid, None)
        root = Path(f"/proc/{pid}/root")
        self.shell("mkdir -p /home/person; touch /home/person/file /tmp/file")
        assert not list((root / "home").iterdir()), "the service sees /home"
        assert not (root / "tmp/file").exists(), "the service sees files of others in /tmp"
        for file in ("bin/true", "usr/bin/env"):
            done = subprocess.run(["test", "-x", root / file]).returncode
            try:
                subprocess.run([root / file], check=False)
            except PermissionError:
                continue
            raise AssertionError(f"{file} can be run by the service, {done}")
        if state:
            assert (root / state.removeprefix("/")).stat().st_mode & 0o777 == 0o700
        limits = (Path(f"/proc/{pid}/limits")).read_text()
        assert re.search(r"^Max core file size +0 +0 ", limits, re.MULTILINE), limits
        assert self.show(name, "MemoryMax") == str(memory)
        if memory_limit(pid) != memory:
            self.limit(memory)
        return pid

    def limit(self, memory):
        """Gives the whole system the memory of a service, where systemd cannot limit the service.

        That is so where the memory controller belongs to version 1 of cgroups: systemd-nspawn hands on
        version 2 only. The files of the system are in memory, too, and count.
        """
        (self.group / "memory.limit_in_bytes").write_text(str(memory))
        (self.group / "memory.max_usage_in_bytes").write_text("0")

    def check_memory(self, name):
        """Checks that the service had enough memory while it was limited."""
        if not self.group:
            return
        peak, limit = (int((self.group / f"memory.{it}_in_bytes").read_text()) for it in ("max_usage", "limit"))
        killed = re.search(r"^oom_kill (\d+)$", (self.group / "memory.oom_control").read_text(), re.MULTILINE)
        assert killed[1] == "0", f"{killed[1]} processes were killed"
        print(f"{name}: the system with it took {peak >> 20} MiB of {limit >> 20} MiB", flush=True)

    def check_stopped(self, name):
        """Stops a service by SIGTERM. It must end with 0 within 3 s."""
        start = time.monotonic()
        self.shell(f"systemctl stop {name}")
        seconds = time.monotonic() - start
        result = self.show(name, "Result"), self.show(name, "ExecMainStatus")
        assert result == ("success", "0") and seconds < 3, f"{result} after {seconds:.1f} s"

def pids_of(status):
    """The numbers of a process in this and in the inner namespaces, or none if it has ended."""
    try:
        return re.search(r"^NSpid:\s+(.*)$", status.read_text(), re.MULTILINE)[1].split()
    except OSError:
        return []
