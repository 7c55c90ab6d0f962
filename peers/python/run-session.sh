#!/bin/sh
# Runs this implementation on vectors/session and vectors/session-file, or on the two directories given.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
vectors=${1:-$here/../../vectors/session}
files=${2:-$here/../../vectors/session-file}

"$here/prepare.sh"
"$here/.venv/bin/python" "$here/run_session.py" "$vectors"
exec "$here/.venv/bin/python" "$here/run_session_file.py" "$files"
