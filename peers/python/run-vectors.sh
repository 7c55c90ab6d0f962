#!/bin/sh
# Runs this implementation on vectors/envelope, or on the directory given.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
vectors=${1:-$here/../../vectors/envelope}

"$here/prepare.sh"
exec "$here/.venv/bin/python" "$here/run_vectors.py" "$vectors"
