#!/bin/sh
# Runs this implementation on vectors/signer, or on the directory given.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
vectors=${1:-$here/../../vectors/signer}

"$here/prepare.sh"
exec "$here/.venv/bin/python" "$here/run_signer.py" "$vectors"
