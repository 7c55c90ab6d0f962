"""What a process may not do."""

import os


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
