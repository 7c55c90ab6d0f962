#!/bin/sh
# Makes the environment of these programs in `.venv`.  Non-interactive; needs Python 3.10 or newer,
# and installs python3-venv with apt only if it is missing.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
venv=$here/.venv
python=${PYTHON:-python3}

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    sudo=
    [ "$(id -u)" = 0 ] || sudo="sudo -n"
    $sudo apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends \
        python3 python3-venv
fi

# A venv whose requirements were installed completely carries a copy of them.
if ! cmp -s "$here/requirements.txt" "$venv/installed.txt"; then
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
        -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$venv/installed.txt"
fi
