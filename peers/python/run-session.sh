#!/bin/sh
# Runs this implementation on vectors/session, vectors/session-file and vectors/conversation, or on
# the three directories given.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
vectors=${1:-$here/../../vectors/session}
files=${2:-$here/../../vectors/session-file}
conversations=${3:-$here/../../vectors/conversation}

"$here/prepare.sh"
"$here/.venv/bin/python" "$here/run_session.py" "$vectors"
"$here/.venv/bin/python" "$here/run_session_file.py" "$files"
exec "$here/.venv/bin/python" "$here/run_conversation.py" "$conversations"
