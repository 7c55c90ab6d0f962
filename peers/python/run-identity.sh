#!/bin/sh
# Runs this implementation on vectors/identity and vectors/roster.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
vectors=${1:-$here/../../vectors}

"$here/prepare.sh"
exec "$here/.venv/bin/python" "$here/run_identity.py" "$vectors"
