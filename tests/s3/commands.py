"""Client programs as processes."""

import os
import subprocess

from children import clean_environment

# Files that are synchronised: names and lengths.
FILES = {
    "a.txt": 10,
    "empty": 0,
    "dir/b with space": 20_000,
    "dir/ö+%.bin": 100_000,
    "big": 12 << 20,
}


class CommandFailed(AssertionError):
    pass


def run(arguments, environment=None, folder=None, expect=0, stdin=None):
    """Runs a program to its end. Its standard output; what it said, when it failed."""
    done = subprocess.run(
        [str(it) for it in arguments],
        env={**clean_environment(), **(environment or {})},
        cwd=folder,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=600,
    )
    said = (done.stdout[-800:] + done.stderr[-1500:]).decode(errors="replace")
    if expect is not None and done.returncode != expect:
        name = " ".join(os.path.basename(str(it)) for it in arguments[:5])
        raise CommandFailed(f"{name} ended with {done.returncode}: {said}")
    return done


def output(*arguments, **options):
    return run(*arguments, **options).stdout.decode()


def write(folder, name, data):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def tree(folder):
    """Every file below a folder with its content."""
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            found[os.path.relpath(path, folder)] = read(path)
    return found
