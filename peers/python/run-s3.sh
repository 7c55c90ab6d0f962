#!/bin/sh
# Runs this implementation on vectors/s3-object.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
"$here/prepare.sh"
"$here/.venv/bin/python" "$here/run_s3_object.py" "$here/../../vectors/s3-object"
