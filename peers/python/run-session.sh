#!/bin/sh
# Runs this implementation on vectors/session, or on the directory given.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
vectors=${1:-$here/../../vectors/session}

"$here/prepare.sh"
exec "$here/.venv/bin/python" "$here/run_session.py" "$vectors"
